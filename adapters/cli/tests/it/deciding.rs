//! What somebody has to decide, on real API servers: whether another cluster takes a name over, and what becomes of
//! objects that no document speaks of any more.
#![allow(clippy::unwrap_used, reason = "a test fails by it")]

use crate::common;

use common::confined::Confined;
use common::installation::{Installation, kubectl, registered, until};
use common::leftovers::{document, lost, namespaces, orphaned, owned};
use dcm_testenv::{Cluster, Environment, Route};
use serde_json::{Value, json};

/// How many clusters the tests share that look at their own clouds alone.
const CLUSTERS: usize = 2;

/// The only cluster of clouds that are on one.
const FIRST: usize = 0;

/// The cluster that comes in its place.
const OTHER: usize = 1;

/// The document on one cluster alone.
fn on_one(mut document: Value, place: usize) -> Value {
    let reference = document["spec"]["clusters"][place].take();
    document["spec"]["clusters"] = json!([reference]);
    document
}

/// From now on the name of a cluster leads to another server.
fn replace(installation: &Installation<'_>, cluster: &Cluster, other: &Cluster) {
    let file = installation.kubeconfig(other, Route::Direct);
    let update = ["cluster", "update", &registered(cluster), "--unchecked", "--kubeconfig"];
    installation.person.run(update.iter().copied().chain([file.to_str().unwrap()])).done();
}

/// What the command's own engine decided, by the audit log: the actions, and why.
fn decided(installation: &Installation<'_>) -> Vec<(String, String)> {
    let entries: Value =
        serde_json::from_str(&installation.person.run(["audit", "-o", "json"]).done()).unwrap();
    let asked = entries.as_array().unwrap().iter().map(|entry| &entry["asked"]);
    let text = |value: &Value| value.as_str().unwrap_or_default().to_owned();
    asked
        .filter(|asked| asked["who"] == "engine")
        .map(|asked| (text(&asked["action"]), text(&asked["why"])))
        .collect()
}

#[tokio::test]
async fn a_cluster_that_is_another_one_is_left_alone_until_it_is_accepted() {
    let environment = Environment::group("deciding", CLUSTERS).await.unwrap();
    let installation = Installation::new(&environment, "moved");
    let (first, other) = (&installation.clusters()[FIRST], &installation.clusters()[OTHER]);
    let document = on_one(document(&installation, "moved"), FIRST);
    installation.apply(&document).done();
    replace(&installation, first, other);

    let since = installation.moment();
    let mut changed = document.clone();
    changed["spec"]["permissions"][0]["verbs"] = json!(["get", "list"]);
    let halted = installation.apply(&changed).ended_with(5);
    assert!(halted.contains("dcm cluster accept"), "{halted}");
    assert_eq!(installation.lane("moved", first)["cause"]["reason"], "cluster-changed");
    assert_eq!(installation.writes(&since), vec![Vec::<String>::new(); CLUSTERS]);
    let decisions = decided(&installation);
    let [(action, why)] = &decisions[..] else { panic!("{decisions:?}") };
    assert!(action == "halt" && why.contains("leads to another server"), "{decisions:?}");

    let checked = installation.person.run(["cluster", "check", &registered(first), "-o", "json"]);
    let told: Value = serde_json::from_str(&checked.out).unwrap();
    assert_eq!((checked.code, &told["isReady"]), (5, &json!(false)), "{checked:?}");
    assert!(told["other"].is_string() && told["known"].is_string(), "{told:#}");

    let refused = installation.person.run(["cluster", "accept", &registered(first)]).ended_with(5);
    assert!(refused.contains(&format!("registered as {}", registered(other))), "{refused}");
    installation.person.run(["cluster", "remove", &registered(other)]).done();
    let accepted = installation.person.run(["cluster", "accept", &registered(first)]);
    assert!(accepted.code == 0 && accepted.err.contains(": stands for "), "{accepted:?}");
    installation.apply(&changed).done();
    let verbs = ["get", "role/look", "-n", "moved", "-o", "jsonpath={.rules[*].verbs}"];
    assert_eq!(kubectl(other, &verbs), r#"["get","list"]"#);
    assert_eq!(kubectl(first, &verbs), r#"["get"]"#, "on the old one nothing is changed");
    installation.terminate("moved").done();
    assert_eq!(namespaces(other, "moved"), "");
    assert_eq!(installation.writes(&since)[FIRST], Vec::<String>::new());
    let again = installation.person.run(["cluster", "accept", &registered(first)]);
    assert!(again.code == 0 && again.err.contains("is no other cluster than before"), "{again:?}");
    kubectl(first, &["delete", "namespace", "moved", "--wait=false"]);
}

#[tokio::test]
async fn what_a_lost_store_has_left_stays_without_our_marks_when_it_is_released_and_a_cloud_can_adopt_it() {
    // Of its own: the engine gives itself rights in the namespaces of all orphans that it lists.
    let environment = Environment::group("given-back", 1).await.unwrap();
    let installation = Installation::confined(&environment, "given-back", Confined::Unguarded);
    let person = &installation.person;
    let first = &installation.clusters()[FIRST];
    let mut document = on_one(document(&installation, "given-back"), FIRST);
    lost(&installation, &document);
    let list = || -> Value {
        let listed = person.run(["orphans", "list", &registered(first), "-o", "json"]).done();
        serde_json::from_str(&listed).unwrap()
    };
    let context = orphaned(&list(), first, "given-back");
    let before = owned(first, "given-back");
    let released = person.run(["orphans", "release", &registered(first), &context]).done();
    // Nobody keeps a right.
    let word = |line: &str| if line.contains("RoleBinding") { " deleted" } else { " released" };
    assert!(released.lines().skip(1).all(|line| line.ends_with(word(line))), "{released}");
    assert_eq!(kubectl(first, &["get", "rolebindings", "-n", "given-back", "-o", "name"]), "");
    // The namespace, and what is in it.
    assert!(released.lines().count() > before.lines().count(), "{released}");
    assert_eq!(owned(first, "given-back"), "");
    assert_ne!(namespaces(first, "given-back"), "");
    let orphans = list()[registered(first)]["orphans"].take();
    assert!(!orphans.to_string().contains("given-back"), "{orphans:#}");

    let refused = installation.apply(&document);
    assert!(
        refused.code != 0 && refused.err.contains("it was there before, and is not ours"),
        "{refused:#?}"
    );
    let kinds = ["Namespace", "LimitRange", "ResourceQuota", "ServiceAccount", "Role", "RoleBinding"];
    document["spec"]["objectPolicies"] =
        kinds.iter().map(|kind| (*kind, json!({"existing": "adopt"}))).collect::<Value>();
    installation.apply(&document).done();
    assert_ne!(owned(first, "given-back"), "");
    installation.terminate("given-back").done();
    assert_ne!(namespaces(first, "given-back"), "", "what was adopted is never deleted");
    kubectl(first, &["delete", "namespace", "given-back", "--wait=false"]);
}

#[tokio::test]
async fn a_cluster_is_removed_with_what_is_left_on_it_when_that_is_said_and_then_it_is_an_orphan() {
    // Of its own: the orphans of the whole cluster are listed.
    let environment = Environment::group("behind", 1).await.unwrap();
    let installation = Installation::by(&environment, "behind", |_| Route::Proxy);
    let person = &installation.person;
    let broken = &installation.clusters()[FIRST];
    let name = registered(broken);
    installation.apply(&document(&installation, "behind")).done();
    broken.proxy().cut().await.unwrap();
    let removing = person.begin(&["terminate", "behind"], "");
    until("a first try that fails", async || {
        let lane = installation.lane("behind", broken);
        (lane["state"] == "removing" && !lane["cause"].is_null()).then_some(())
    })
    .await;
    person.run(["terminate", "behind", "--deadline", "1s"]).ended_with(7);
    removing.end().ended_with(7);
    let decisions = decided(&installation);
    let [(action, why)] = &decisions[..] else { panic!("{decisions:?}") };
    assert!(action == "abandon" && why.contains("the cluster can't be reached"), "{decisions:?}");
    person.run(["delete", "behind"]).done();

    let refused = person.run(["cluster", "remove", &name]).ended_with(5);
    assert!(refused.contains("are left on cluster"), "{refused}");
    let left = person.run(["cluster", "remove", &name, "--leave-behind"]);
    assert!(left.code == 0 && left.err.contains("left behind: Namespace behind of "), "{left:#?}");
    assert!(left.err.contains(&format!("{name}: removed")), "{left:#?}");
    assert!(!person.run(["cluster", "list"]).done().contains(&name));

    broken.proxy().pass().await.unwrap();
    let file = installation.kubeconfig(broken, Route::Direct);
    person.run(["cluster", "add", &name, "--kubeconfig", file.to_str().unwrap()]).done();
    let listed = person.run(["orphans", "list", &name, "-o", "json"]).done();
    let context = orphaned(&serde_json::from_str(&listed).unwrap(), broken, "behind");
    person.run(["orphans", "remove", &name, &context]).done();
    until("the namespace to go", async || namespaces(broken, "behind").is_empty().then_some(())).await;
}

#[tokio::test]
async fn a_document_that_keeps_its_objects_leaves_them_at_the_end_and_not_what_is_taken_out_of_it() {
    let environment = Environment::group("deciding", CLUSTERS).await.unwrap();
    let installation = Installation::new(&environment, "keeping");
    let mut document = document(&installation, "keeping");
    document["spec"]["removal"] = json!({"objects": "keep"});
    let run = json!({"name": "run", "apiGroups": [""], "resources": ["pods"], "verbs": ["create"]});
    let mut more = document.clone();
    more["spec"]["permissions"].as_array_mut().unwrap().push(run);
    let rights = |cluster: &Cluster| -> Vec<Value> {
        let arguments = ["get", "roles,rolebindings", "-n", "keeping", "-o", "json", "--show-managed-fields"];
        let mut listed: Value = serde_json::from_str(&kubectl(cluster, &arguments)).unwrap();
        listed["items"].take().as_array().unwrap().clone()
    };
    let kinds = |cluster: &Cluster| -> Vec<String> {
        let told = |one: &Value| {
            format!("{} {}", one["kind"].as_str().unwrap(), one["metadata"]["name"].as_str().unwrap())
        };
        rights(cluster).iter().map(told).collect()
    };
    installation.apply(&more).done();
    assert!(installation.clusters().iter().all(|cluster| kinds(cluster).join(" ").contains("Role run")));
    installation.apply(&document).done();
    for cluster in installation.clusters() {
        assert!(!kinds(cluster).join(" ").contains("run"), "{:?}", kinds(cluster));
    }
    let before: Vec<_> = installation.clusters().iter().map(kinds).collect();

    installation.terminate("keeping").done();
    for (cluster, before) in installation.clusters().iter().zip(before) {
        // What is kept gives nobody a right any more.
        let (bindings, kept): (Vec<_>, Vec<_>) =
            before.into_iter().partition(|one| one.starts_with("RoleBinding "));
        assert_eq!(kinds(cluster), kept);
        assert!(kept.iter().any(|one| one == "Role look") && !bindings.is_empty(), "{kept:?} {bindings:?}");
        assert_eq!(owned(cluster, "keeping"), "");
        for one in rights(cluster) {
            assert!(!one["metadata"].to_string().contains("dcm"), "{one:#}");
        }
        kubectl(cluster, &["delete", "namespace", "keeping", "--wait=false"]);
    }
}
