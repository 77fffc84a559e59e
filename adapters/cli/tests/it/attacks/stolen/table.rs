//! Each verb of the least role by which something is written, for each resource, in each place: what a client with the engine's kubeconfig
//! may do.

use super::*;

/// A namespace of the engine; one of others; one of the cluster.
const PLACES: usize = 3;

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
        // What is read, and what is written by other verbs of the same request.
        "get" | "list" | "watch" | "bind" | "escalate" | "approve" => return None,
        other => panic!("say what a client tries with {other}"),
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
        other => panic!("say what a {other} is"),
    };
    object["metadata"] = json!({"name": NAME, "labels": labels});
    object
}

/// Makes the object as an administrator, and tries all that the verbs allow; the number of attempts.
fn tried(
    thief: &Thief<'_>,
    resource: &str,
    verbs: &[Value],
    is_own: bool,
    place: Option<&str>,
    name: &str,
) -> usize {
    let labels = if is_own { marks() } else { json!({}) };
    let mut object = sample(resource, &labels);
    object["metadata"]["name"] = name.into();
    if let Some(place) = place {
        object["metadata"]["namespace"] = place.into();
    }
    make(thief.cluster, &object);
    let place: Vec<&str> = place.iter().flat_map(|place| ["--namespace", place]).collect();
    let mut count = 0;
    for verb in verbs {
        let Some((arguments, input)) = attempt(verb.as_str().unwrap(), &object, &place) else { continue };
        let arguments: Vec<&str> = arguments.iter().map(String::as_str).collect();
        let ran = thief.attacker.kubectl(&arguments, &input);
        let is_refused = ran.code != 0 && ran.err.contains(guard::REFUSAL);
        assert!(if is_own { ran.code == 0 } else { is_refused }, "{resource} {verb} {place:?}: {ran:#?}");
        count += 1;
    }
    count
}

#[tokio::test(flavor = "multi_thread")]
async fn what_the_least_role_allows_the_guard_lets_pass_in_namespaces_of_the_engine_alone() {
    let environment = environment().await;
    let printed = User::new().run(["cluster", "role", "-o", "json"]).done();
    let mut printed: Value = serde_json::from_str(&printed).unwrap();
    let rules = printed["items"][0]["rules"].take();
    let thief = Thief::with(&environment, "standard", "stolen-table".to_owned(), &rules).await;
    let [own, other] = &thief.namespaces();
    let mut count = 0;
    for rule in rules.as_array().unwrap() {
        let verbs = rule["verbs"].as_array().unwrap();
        for resource in rule["resources"].as_array().unwrap().iter().map(|name| name.as_str().unwrap()) {
            let is_written = verbs.iter().any(|verb| verb == "create");
            if !is_written {
                continue;
            }
            if matches!(resource, "namespaces" | "certificatesigningrequests") {
                for (name, is_own) in [("dcm-table-own", true), ("dcm-table-other", false)] {
                    count += tried(&thief, resource, verbs, is_own, None, name);
                }
                continue;
            }
            for (place, is_own) in [(own.as_str(), true), (other, false), ("kube-system", false)] {
                count += tried(&thief, resource, verbs, is_own, Some(place), NAME);
            }
        }
    }
    assert!(count >= 5 * PLACES * 4, "{count}");
    for resource in ["resourcequotas", "limitranges", "serviceaccounts", "roles", "rolebindings"] {
        kubectl(thief.cluster, &["--namespace", "kube-system", "delete", resource, NAME, "--wait=false"]);
    }
    for name in ["dcm-table-own", "dcm-table-other"] {
        kubectl(thief.cluster, &["delete", "namespace", name, "--wait=false"]);
        kubectl(thief.cluster, &["delete", "certificatesigningrequest", name, "--wait=false"]);
    }
}
