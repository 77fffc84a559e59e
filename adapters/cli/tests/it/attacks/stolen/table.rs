//! Each write that the least role allows, for each resource, in each place: what the guard lets a client with the engine's kubeconfig do.

use std::collections::BTreeSet;

use super::*;

/// Resources that are written in namespaces: tried in one of the engine, one of others, and one of the cluster.
const NAMESPACED: [&str; 5] = ["resourcequotas", "limitranges", "serviceaccounts", "roles", "rolebindings"];

/// Resources of the cluster: tried with the engine's marks, and without.
const OF_THE_CLUSTER: [&str; 2] = ["namespaces", "certificatesigningrequests"];

/// Writes that other tests try with more than one object: approvals, signers, and rights that are bound.
const TRIED_ELSEWHERE: [&str; 3] = ["certificatesigningrequests/approval", "signers", "clusterroles"];

/// Writes that the least role does not allow.
const NEVER_UPDATED: [(&str, &str); 2] =
    [("certificatesigningrequests", "update"), ("certificatesigningrequests", "patch")];

/// Verbs of writes.
const WRITES: [&str; 4] = ["create", "update", "patch", "delete"];

/// The prefix of the names of all objects here.
const NAME: &str = "dcm-table";

/// What a verb does to an object that exists or not, as arguments of kubectl.
fn attempt(verb: &str, object: &Value, place: &[&str]) -> Option<(Vec<String>, Value)> {
    let kind = object["kind"].as_str().unwrap();
    let name = object["metadata"]["name"].as_str().unwrap();
    let arguments = |these: &[&str]| -> Vec<String> {
        [these, place, &["--dry-run=server"]].concat().into_iter().map(str::to_owned).collect()
    };
    let (arguments, input) = match verb {
        "create" => {
            let mut another = object.clone();
            another["metadata"]["name"] = format!("{name}-new").into();
            (arguments(&["create", "-f", "-"]), another)
        }
        "update" => (arguments(&["replace", "-f", "-"]), object.clone()),
        "patch" => (arguments(&["label", "--overwrite", kind, name, "team=a"]), Value::Null),
        "delete" => (arguments(&["delete", kind, name, "--wait=false"]), Value::Null),
        // Reads, and conditions of writes.
        "get" | "list" | "watch" | "bind" | "escalate" => return None,
        other => panic!("no attempt for the verb {other}"),
    };
    Some((arguments, input))
}

/// An object of each resource of the least role.
fn sample(resource: &str, labels: &Value) -> Value {
    let rbac = "rbac.authorization.k8s.io";
    let mut object = match resource {
        "namespaces" => json!({"apiVersion": "v1", "kind": "Namespace"}),
        "resourcequotas" => {
            json!({"apiVersion": "v1", "kind": "ResourceQuota", "spec": {"hard": {"pods": "1"}}})
        }
        "limitranges" => json!({"apiVersion": "v1", "kind": "LimitRange",
            "spec": {"limits": [{"type": "Container", "default": {"cpu": "1"}}]}}),
        "serviceaccounts" => json!({"apiVersion": "v1", "kind": "ServiceAccount"}),
        "roles" => json!({"apiVersion": format!("{rbac}/v1"), "kind": "Role", "rules": []}),
        "rolebindings" => json!({"apiVersion": format!("{rbac}/v1"), "kind": "RoleBinding", "subjects": [],
            "roleRef": {"apiGroup": rbac, "kind": "Role", "name": NAME}}),
        "certificatesigningrequests" => request(NAME, &[(DnType::CommonName, USER)]),
        other => panic!("no sample of {other}"),
    };
    object["metadata"] = json!({"name": NAME, "labels": labels});
    object
}

/// Makes the object as an administrator, and tries each verb by which it is written; returns those.
fn tried(
    thief: &Thief<'_>,
    resource: &str,
    verbs: &[Value],
    is_own: bool,
    place: Option<&str>,
    name: &str,
) -> Vec<String> {
    let labels = if is_own { marks() } else { json!({}) };
    let mut object = sample(resource, &labels);
    object["metadata"]["name"] = name.into();
    if let Some(place) = place {
        object["metadata"]["namespace"] = place.into();
    }
    make(thief.cluster, &object);
    let place: Vec<&str> = place.iter().flat_map(|place| ["--namespace", place]).collect();
    let mut tried = Vec::new();
    for verb in verbs {
        let Some((arguments, input)) = attempt(verb.as_str().unwrap(), &object, &place) else { continue };
        let arguments: Vec<&str> = arguments.iter().map(String::as_str).collect();
        let ran = thief.attacker.kubectl(&arguments, &input);
        let is_refused = ran.code != 0 && ran.err.contains(guard::REFUSAL);
        assert!(if is_own { ran.code == 0 } else { is_refused }, "{resource} {verb} {place:?}: {ran:#?}");
        tried.push(verb.as_str().unwrap().to_owned());
    }
    tried
}

#[tokio::test(flavor = "multi_thread")]
async fn what_the_least_role_allows_the_guard_lets_pass_in_namespaces_of_the_engine_alone() {
    let environment = environment().await;
    let printed = User::new().run(["cluster", "role", "-o", "json"]).done();
    let mut printed: Value = serde_json::from_str(&printed).unwrap();
    let rules = printed["items"][0]["rules"].take();
    let thief = Thief::with(&environment, "standard", "stolen-table".to_owned(), &rules).await;
    let [own, other] = &thief.namespaces();
    let cluster = "kube-system".to_owned();
    let mut tried_verbs = BTreeSet::new();
    for rule in rules.as_array().unwrap() {
        let verbs = rule["verbs"].as_array().unwrap();
        for resource in rule["resources"].as_array().unwrap().iter().map(|name| name.as_str().unwrap()) {
            let is_read = verbs.iter().all(|verb| ["get", "list", "watch"].contains(&verb.as_str().unwrap()));
            if is_read || TRIED_ELSEWHERE.contains(&resource) {
                continue;
            }
            let tries = if OF_THE_CLUSTER.contains(&resource) {
                vec![("dcm-table-own", true, None), ("dcm-table-other", false, None)]
            } else {
                assert!(NAMESPACED.contains(&resource), "{resource} is not in the table");
                vec![(NAME, true, Some(own)), (NAME, false, Some(other)), (NAME, false, Some(&cluster))]
            };
            for (name, is_own, place) in tries {
                let verbs = tried(&thief, resource, verbs, is_own, place.map(String::as_str), name);
                tried_verbs.extend(verbs.into_iter().map(|verb| (resource.to_owned(), verb)));
            }
        }
    }
    let all = NAMESPACED.iter().chain(&OF_THE_CLUSTER);
    let all = all.flat_map(|resource| WRITES.map(|verb| ((*resource).to_owned(), verb.to_owned())));
    let left: Vec<_> = all.filter(|wanted| !tried_verbs.contains(wanted)).collect();
    assert_eq!(left, NEVER_UPDATED.map(|(resource, verb)| (resource.to_owned(), verb.to_owned())));
    for resource in NAMESPACED {
        kubectl(thief.cluster, &["--namespace", &cluster, "delete", resource, NAME, "--wait=false"]);
    }
    for name in ["dcm-table-own", "dcm-table-other"] {
        kubectl(thief.cluster, &["delete", "namespace", name, "--wait=false"]);
        kubectl(thief.cluster, &["delete", "certificatesigningrequest", name, "--wait=false"]);
    }
}
