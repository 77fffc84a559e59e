//! What a cluster serves decides what its roles, permissions and quotas name, on a real API server.
#![allow(clippy::unwrap_used, reason = "a test fails by it")]

use dcm_testenv::{Cluster, Environment, Route};
use serde_json::{Value, json};

use crate::common::Ran;
use crate::common::installation::{Installation, kubectl, make, timeout, until};

/// One is enough: each case is about what one API server serves.
const CLUSTERS: usize = 1;

/// Kinds whose resources Kubernetes would not guess.
const KINDS: [(&str, &str); 7] = [
    ("Box", "boxes"),
    ("Mesh", "meshes"),
    ("Relay", "relays"),
    ("Gateway", "gateways"),
    ("Datum", "data"),
    ("Mouse", "mice"),
    ("Sheep", "sheep"),
];

/// Makes the definitions of all kinds in a group, and waits until they are served.
async fn define(cluster: &Cluster, group: &str) {
    for (kind, plural) in KINDS {
        let schema = json!({"type": "object", "x-kubernetes-preserve-unknown-fields": true});
        let version =
            json!({"name": "v1", "served": true, "storage": true, "schema": {"openAPIV3Schema": schema}});
        make(
            cluster,
            &json!({"apiVersion": "apiextensions.k8s.io/v1", "kind": "CustomResourceDefinition",
                "metadata": {"name": format!("{plural}.{group}")},
                "spec": {"group": group, "scope": "Namespaced", "versions": [version],
                         "names": {"kind": kind, "plural": plural, "singular": kind.to_lowercase()}}}),
        );
    }
    until("served definitions", async || {
        let served =
            kubectl(cluster, &["api-resources", "--api-group", group, "-o", "name", "--cached=false"]);
        (served.lines().count() == KINDS.len()).then_some(())
    })
    .await;
}

/// The resources of a role that are in a group.
fn resources_of(role: &Value, group: &str) -> Vec<String> {
    let rules = role["items"][0]["rules"].as_array().unwrap().iter();
    let of_group = rules.filter(|rule| rule["apiGroups"] == json!([group]));
    let resources = of_group.flat_map(|rule| rule["resources"].as_array().unwrap());
    let mut resources: Vec<String> = resources.map(|one| one.as_str().unwrap().to_owned()).collect();
    resources.sort();
    resources
}

/// A document with an object of each kind, and a role that its cluster may need for it.
fn document(installation: &Installation<'_>, name: &str, group: &str) -> Value {
    let object = |(kind, _): &(&str, &str)| json!({"apiVersion": format!("{group}/v1"), "kind": kind, "metadata": {"name": "one"}});
    let manifests: Vec<Value> = KINDS.iter().map(object).collect();
    installation.document(name, json!({"users": [{"name": "ann"}], "manifests": manifests}))
}

#[tokio::test]
async fn discovery_names_the_resources_of_roles_and_checks_and_without_it_a_guess_is_marked() {
    let environment = Environment::group("served", CLUSTERS).await.unwrap();
    let installation = Installation::new(&environment, "served");
    let [cluster] = installation.clusters() else { panic!() };
    let (group, person) = ("served.example.com", &installation.person);
    define(cluster, group).await;
    let document = document(&installation, "served", group);
    let file = person.write("served.json", &document.to_string());
    let admin = person.write("admin", &cluster.admin_kubeconfig(Route::Direct));
    let (file, admin) = (file.to_str().unwrap(), admin.to_str().unwrap());

    let role = |more: &[&str]| {
        let arguments = ["cluster", "role", "--name", "served", "--for", file, "-o", "json"];
        let ran = person.run(arguments.iter().chain(more));
        let said = ran.err.clone();
        (serde_json::from_str::<Value>(&ran.done()).unwrap(), said)
    };
    let guessed_of =
        |role: &Value| role["items"][0]["metadata"]["annotations"]["dcm.internal/guessed-resources"].clone();
    let (guessed, said) = role(&[]);
    let guesses = ["boxs", "datums", "gatewaies", "meshs", "mouses", "relaies", "sheeps"];
    assert_eq!(resources_of(&guessed, group), guesses);
    for guess in guesses {
        assert!(said.contains(&format!("{guess}.{group} is guessed of {group}/v1 ")), "{guess}: {said}");
        assert!(guessed_of(&guessed).as_str().unwrap().contains(&format!("{guess}.{group}")), "{guessed:#}");
    }
    let (least, said) = role(&["--kubeconfig", admin]);
    let mut plurals = KINDS.map(|(_, plural)| plural);
    plurals.sort_unstable();
    assert_eq!(resources_of(&least, group), plurals);
    assert!(guessed_of(&least).is_null() && !said.contains("guess"), "{said}");

    // A user with the guessed role lacks what discovery names; one with the other role lacks nothing, and works.
    for (role, user, is_ready) in [(guessed, "served-guess", false), (least, "served-least", true)] {
        let mut role = role;
        role["items"][0]["metadata"]["name"] = json!(user);
        make(cluster, &role["items"][0]);
        make(
            cluster,
            &json!({"apiVersion": "rbac.authorization.k8s.io/v1", "kind": "ClusterRoleBinding", "metadata": {"name": user},
                "roleRef": {"apiGroup": "rbac.authorization.k8s.io", "kind": "ClusterRole", "name": user},
                "subjects": [{"apiGroup": "rbac.authorization.k8s.io", "kind": "User", "name": user}]}),
        );
        let kubeconfig = cluster.kubeconfig(&cluster.issue(user, &[]).unwrap(), Route::Direct);
        let kubeconfig = person.write(user, &kubeconfig);
        let update = [
            "cluster",
            "update",
            "real/cluster-1",
            "--unchecked",
            "--kubeconfig",
            kubeconfig.to_str().unwrap(),
        ];
        person.run(update).done();
        let check = || person.run(["cluster", "check", "real/cluster-1", "--for", file]);
        if is_ready {
            // An API server hears of a binding a little later.
            until("a cluster that is ready", async || (check().code == 0).then_some(())).await;
        } else {
            let Ran { out, .. } = check();
            assert!(plurals.iter().all(|plural| out.contains(&format!("  - {plural}\n"))), "{out}");
            assert!(!out.contains("boxs"), "{out}");
        }
    }
    installation.apply(&document).done();
    installation.terminate("served").done();
    // What the cluster does not serve stays a guess in the answer.
    let other = document_of_kind(&installation, "absent.example.com", "Fox");
    let other = person.write("other.json", &other.to_string());
    let ran = person.run(["cluster", "check", "real/cluster-1", "--for", other.to_str().unwrap()]);
    assert!(
        ran.out.contains(
            "guess   foxs.absent.example.com: the cluster is not known to serve absent.example.com/v1 Fox"
        ),
        "{ran:#?}"
    );
}

fn document_of_kind(installation: &Installation<'_>, group: &str, kind: &str) -> Value {
    let object = json!({"apiVersion": format!("{group}/v1"), "kind": kind, "metadata": {"name": "one"}});
    installation.document("other", json!({"users": [{"name": "ann"}], "manifests": [object]}))
}

/// What a plan warns of on the only cluster, with the objects.
fn warned(ran: Ran) -> Vec<(String, String)> {
    let plan: Value = serde_json::from_str(&ran.done()).unwrap();
    let steps = plan["clouds"][0]["clusters"]["real/cluster-1"]["steps"].as_array().unwrap().iter();
    let text = |step: &Value, member: &str| step[member].as_str().unwrap().to_owned();
    let warned = steps.filter(|step| step["action"] == "warn");
    warned.map(|step| (text(step, "object"), text(step, "why"))).collect()
}

fn plan(installation: &Installation<'_>, document: &Value) -> Ran {
    installation.person.run_with_input(&["plan", "-o", "json", "-f", "-"], &document.to_string())
}

#[tokio::test]
async fn a_plan_warns_of_permissions_that_permit_nothing_on_the_cluster() {
    let environment = Environment::group("served", CLUSTERS).await.unwrap();
    let installation = Installation::new(&environment, "permits");
    let [cluster] = installation.clusters() else { panic!() };
    let group = "permits.example.com";
    define(cluster, group).await;
    let permission = |name: &str, group: &str, resource: &str, verb: &str| json!({"name": name, "apiGroups": [group], "resources": [resource], "verbs": [verb]});
    let mut named = permission("named", "", "configmaps", "create");
    named["resourceNames"] = json!(["one"]);
    let cases = [
        (
            permission("group", "absent.example.com", "boxes", "get"),
            "does not serve the API group absent.example.com",
        ),
        (
            permission("guess", group, "boxs", "get"),
            "does not serve boxs.permits.example.com; it serves boxes.permits.example.com",
        ),
        (
            permission("kind", group, "relay", "get"),
            "does not serve relay.permits.example.com; it serves relays.permits.example.com",
        ),
        (
            permission("other", "", "deployments", "get"),
            "does not serve deployments; it serves deployments.apps",
        ),
        (permission("below", "", "pods/logs", "get"), "does not serve pods/logs"),
        (permission("verb", "", "pods/log", "list"), "pods/log can't be asked to list"),
        (permission("word", "apps", "deployments", "read"), "deployments can't be asked to read"),
        (permission("wide", "", "nodes", "get"), "nodes are in no namespace, so a Role never permits them"),
        (named, "configmaps: with resourceNames, a POST is never permitted"),
    ];
    let good = [
        permission("good", group, "boxes", "get"),
        permission("exec", "", "pods/exec", "create"),
        permission("all", "*", "*", "*"),
    ];
    let permissions: Vec<Value> = cases.iter().map(|(one, _)| one.clone()).chain(good).collect();
    let document =
        installation.document("permits", json!({"users": [{"name": "ann"}], "permissions": permissions}));
    let first = warned(plan(&installation, &document));
    for (permission, expected) in &cases {
        let name = permission["name"].as_str().unwrap();
        let of_it: Vec<_> = first.iter().filter(|(object, _)| object.contains(&format!("/{name}"))).collect();
        assert!(of_it.iter().any(|(_, why)| why.contains(expected)), "{name}: {of_it:?} of {first:#?}");
    }
    assert_eq!(first.len(), cases.len(), "{first:#?}");

    // It says so again when everything is as desired.
    installation.apply(&document).done();
    assert_eq!(warned(plan(&installation, &document)), first);
    let shown = installation.person.run_with_input(&["plan", "-f", "-"], &document.to_string()).done();
    assert!(shown.contains("everything is as desired") && shown.contains("warn"), "{shown}");
}

#[tokio::test]
async fn a_plan_warns_of_quotas_that_count_nothing_on_the_cluster() {
    let environment = Environment::group("served", CLUSTERS).await.unwrap();
    let installation = Installation::new(&environment, "counts");
    let [cluster] = installation.clusters() else { panic!() };
    let group = "counts.example.com";
    define(cluster, group).await;
    let serves_devices =
        kubectl(cluster, &["api-versions"]).lines().any(|one| one.starts_with("resource.k8s.io/"));
    let cases = [
        (format!("count/boxs.{group}"), format!("does not serve boxs.{group}; it serves boxes.{group}")),
        (format!("count/relay.{group}"), format!("does not serve relay.{group}; it serves relays.{group}")),
        ("count/boxes.absent.example.com".to_owned(), "does not serve boxes.absent.example.com".to_owned()),
        (
            "count/volumesnapshots.snapshot.storage.k8s.io".to_owned(),
            "does not serve volumesnapshots.snapshot.storage.k8s.io".to_owned(),
        ),
        ("count/virtualservices.networking.istio.io".to_owned(), "does not serve virtualservices".to_owned()),
        (
            "count/clusterroles.rbac.authorization.k8s.io".to_owned(),
            "these objects are in no namespace".to_owned(),
        ),
    ];
    let mut hard = json!({"limits.cpu": 4, format!("count/boxes.{group}"): 1, "count/deployments.apps": 1});
    for (key, _) in &cases {
        hard[key] = json!(1);
    }
    hard["gpu.deviceclass.resource.k8s.io/devices"] = json!(1);
    let spec = json!({"users": [{"name": "ann"}], "quotas": [{"name": "all", "hard": hard}]});
    let document = installation.document("counts", spec);
    let warned = warned(plan(&installation, &document));
    for (key, expected) in &cases {
        let is_told = |(_, why): &&(String, String)| {
            why.starts_with(&format!("spec.hard.{key}: ")) && why.contains(expected)
        };
        assert_eq!(warned.iter().filter(is_told).count(), 1, "{key}: {warned:#?}");
    }
    assert_eq!(warned.len(), cases.len() + usize::from(!serves_devices), "{warned:#?}");
    assert!(installation.apply_within(&timeout(), &document).code == 0);
}
