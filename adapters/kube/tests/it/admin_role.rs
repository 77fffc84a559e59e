//! What project admins may grant by default is what the role `admin` of a real API server holds.
#![allow(clippy::unwrap_used, reason = "a test fails by it")]

use std::collections::BTreeSet;
use std::time::Duration;

use dcm_core::service::AllowList;
use dcm_testenv::effort::patience;
use dcm_testenv::{Cluster, Environment};
use serde_json::Value;

/// API group, resource and verb.
type Right = (String, String, String);

fn kubectl(server: &Cluster, arguments: &[&str]) -> String {
    let output = server.kubectl().args(arguments).output().unwrap();
    assert!(output.status.success(), "{arguments:?}: {}", String::from_utf8_lossy(&output.stderr));
    String::from_utf8(output.stdout).unwrap()
}

fn rights(rules: &Value) -> BTreeSet<Right> {
    let texts = |rule: &Value, field: &str| -> Vec<String> {
        let list = rule[field].as_array().into_iter().flatten();
        list.map(|text| text.as_str().unwrap().to_owned()).collect()
    };
    let mut rights = BTreeSet::new();
    for rule in rules.as_array().into_iter().flatten() {
        assert!(rule.get("resourceNames").is_none() && rule.get("nonResourceURLs").is_none(), "{rule}");
        for group in texts(rule, "apiGroups") {
            for resource in texts(rule, "resources") {
                rights.extend(
                    texts(rule, "verbs").into_iter().map(|verb| (group.clone(), resource.clone(), verb)),
                );
            }
        }
    }
    rights
}

/// The rights of a role by its own rules.
fn of_role(server: &Cluster, role: &str) -> BTreeSet<Right> {
    let role = kubectl(server, &["get", "clusterrole", role, "-o", "json"]);
    rights(&serde_json::from_str::<Value>(&role).unwrap()["rules"])
}

/// The rights of `admin`, once all that is aggregated to it is in it.
async fn of_admin(server: &Cluster) -> BTreeSet<Right> {
    let parts = ["system:aggregate-to-admin", "system:aggregate-to-edit", "system:aggregate-to-view"];
    let aggregated: BTreeSet<Right> = parts.iter().flat_map(|part| of_role(server, part)).collect();
    let aggregate = async {
        loop {
            let rights = of_role(server, "admin");
            if rights.is_superset(&aggregated) {
                return rights;
            }
            tokio::time::sleep(Duration::from_millis(200)).await;
        }
    };
    tokio::time::timeout(patience(), aggregate).await.expect("the role admin is put together")
}

/// API group, resource and kind of all that is in namespaces.
fn served(server: &Cluster) -> Vec<(String, String, String)> {
    let table = kubectl(server, &["api-resources", "--namespaced=true", "--no-headers"]);
    let row = |line: &str| {
        let columns: Vec<&str> = line.split_whitespace().collect();
        let [.., version, _, kind] = columns[..] else { panic!("{line}") };
        let group = version.split_once('/').map_or("", |(group, _)| group);
        (group.to_owned(), columns[0].to_owned(), kind.to_owned())
    };
    table.lines().map(row).collect()
}

#[tokio::test]
async fn the_default_allow_list_is_the_role_admin_of_kubernetes() {
    let environment = Environment::shared(1).await.unwrap();
    let server = &environment.clusters()[0];
    let list = AllowList::default();
    let ours: BTreeSet<Right> = list
        .permissions()
        .map(|(group, resource, verb)| (group.into(), resource.into(), verb.into()))
        .collect();
    let theirs = of_admin(server).await;
    let missing: Vec<_> = theirs.difference(&ours).collect();
    let beyond: Vec<_> = ours.difference(&theirs).collect();
    assert!(missing.is_empty() && beyond.is_empty(), "missing: {missing:?}; beyond: {beyond:?}");

    let kinds: BTreeSet<(String, String)> =
        list.kinds().map(|(group, kind)| (group.into(), kind.into())).collect();
    let creatable =
        served(server).into_iter().filter(|(group, resource, _)| list.allows(group, resource, "create"));
    // An access review is answered, and no object.
    let creatable = creatable.filter(|(group, ..)| group != "authorization.k8s.io");
    let creatable: BTreeSet<(String, String)> = creatable.map(|(group, _, kind)| (group, kind)).collect();
    assert_eq!(kinds, creatable);
}
