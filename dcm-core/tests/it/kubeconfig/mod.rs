//! Kubeconfigs that cost more than their size are refused by a limit, whatever they are read for.
#![cfg(feature = "logical-cloud")]

pub(crate) mod bombs;

use std::collections::BTreeMap;

use dcm_core::kubeconfig::{Access, Admin, Invalid, MergeError, merge};
use dcm_core::name::{LogicalCloudName, Namespace, ProjectName, UserName};
use dcm_core::secret::Secret;
use dcm_core::yaml;
use serde_json::Value;

/// Of a cluster at an address that is reserved for documentation, so nothing answers there.
const GOOD: &str = "apiVersion: v1\nkind: Config\ncurrent-context: c\n\
    contexts: [{name: c, context: {cluster: c, user: u}}]\n\
    clusters: [{name: c, cluster: {server: 'https://192.0.2.1'}}]\n\
    users: [{name: u, user: {token: hunter2}}]\n";

fn access() -> Access {
    Access {
        project: ProjectName::new("shop").unwrap(),
        logical_cloud: LogicalCloudName::new("payments").unwrap(),
        user: UserName::new("ann").unwrap(),
        namespace: Namespace::new("payments").unwrap(),
        clusters: BTreeMap::new(),
    }
}

#[test]
fn a_bomb_is_refused_by_its_limit_wherever_a_kubeconfig_is_read() {
    for (name, text, limit) in bombs::small(GOOD).into_iter().chain(bombs::large(GOOD)) {
        let text = Secret::new(text);
        let Access { project, logical_cloud, .. } = access();
        let refused = [
            Admin::read(&text).unwrap_err(),
            Access::read(project, logical_cloud, &text).unwrap_err(),
            match merge(&text, &access()).unwrap_err() {
                MergeError::Existing(invalid) => invalid,
                other => panic!("{name}: {other}"),
            },
        ];
        for invalid in refused {
            let Invalid::Limit { rule, line, .. } = &invalid else { panic!("{name}: {invalid}") };
            assert_eq!((rule.as_str(), *line > 6), (limit, true), "{name}");
            assert!(!format!("{invalid:?} {invalid}").contains("hunter2"), "{name}");
        }
    }
}

#[test]
fn of_very_many_duplicate_keys_the_first_places_are_named_and_the_rest_counted() {
    let text = format!("{GOOD}unknown: {{{}}}\n", "a,".repeat(1000));
    let warnings = Admin::warnings(&Secret::new(text));
    assert_eq!(warnings.len(), 11);
    assert!(warnings[0].starts_with("line 7, column "), "{}", warnings[0]);
    assert_eq!(warnings[10], "989 more duplicate keys");
}

#[test]
fn a_file_of_the_caller_is_refused_by_the_same_limits_in_the_same_words() {
    for (name, text, limit) in bombs::small(GOOD).into_iter().chain(bombs::merges(GOOD)) {
        let error = yaml::read_own::<Value>(&text).unwrap_err().to_string();
        assert_eq!(error, yaml::read::<Value>(&text).unwrap_err().to_string(), "{name}");
        assert!(error.starts_with("line ") && error.ends_with(&format!(": it {limit}")), "{name}: {error}");
    }
    let error = yaml::read_own::<BTreeMap<String, u8>>("a: many").unwrap_err().to_string();
    assert!(error.contains("line 1"), "{error}");
}

#[test]
fn aliases_and_many_entries_within_the_limits_are_read() {
    let cluster =
        |number: u32| format!("- {{name: c{number}, cluster: {{<: 1, server: 'https://c{number}'}}}}\n");
    let clusters: String = (0..2000).map(cluster).collect();
    let text = format!(
        "current-context: c7\ncontexts: [{{name: c7, context: &c {{cluster: c7}}}}, {{name: same, context: *c}}]\nclusters:\n{clusters}"
    );
    assert_eq!(Admin::read(&Secret::new(text.as_str())).unwrap().server(), "https://c7");
    let merged = merge(&Secret::new(text), &access()).unwrap();
    assert_eq!(Admin::read(&merged).unwrap().server(), "https://c7");
}
