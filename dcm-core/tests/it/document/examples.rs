//! The examples at the root of the repository, and what a text may look like.

use std::path::PathBuf;

use dcm_core::document::{Document, Limits, REFUSALS_MAX, parse};
use dcm_core::logical_cloud::{Level, LogicalCloud, LogicalCloudUid, UserType};
use dcm_core::name::{ClusterId, ProjectName};

use super::read;

pub(crate) const NAMES: [&str; 5] = ["admin", "minimal", "payments", "privileged", "web"];

pub(crate) fn text(name: &str) -> String {
    let path = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join(format!("../examples/documents/{name}.yaml"));
    std::fs::read_to_string(&path).unwrap_or_else(|error| panic!("{}: {error}", path.display()))
}

pub(crate) fn cloud(document: Document) -> LogicalCloud {
    LogicalCloud::new(document.project, LogicalCloudUid::from_random(7), document.draft).unwrap().0
}

fn example(name: &str) -> LogicalCloud {
    let mut documents = read(text(name)).unwrap();
    assert_eq!(documents.len(), 1, "{name}");
    cloud(documents.remove(0))
}

#[test]
fn the_example_of_payments_says_what_it_seems_to_say() {
    let payments = example("payments");
    assert_eq!((payments.project().as_str(), payments.name().as_str()), ("shop", "payments"));
    let kind = |kind: &UserType| payments.users().iter().filter(|user| user.kind == *kind).count();
    assert_eq!(kind(&UserType::Certificate { own_request: None }), 2);
    assert_eq!(kind(&UserType::Token), 1);
    assert_eq!(payments.permissions().len(), 3);
    assert_eq!(payments.quotas()[0].hard["limits.cpu"].to_string(), "8");
    let names: Vec<&str> =
        payments.references().iter().map(|reference| reference.metadata.name.as_str()).collect();
    assert_eq!(names, ["edge-1", "main"]);
    assert_eq!(payments.key_values()[0].pairs.to_maps().len(), 3);
    assert_eq!(
        payments.manifests()[0].key().to_string(),
        "NetworkPolicy.networking.k8s.io payments/only-from-this-namespace"
    );
    let selector = payments.cluster_selector().unwrap();
    let labels =
        |tier: &str| [("region", "eu"), ("tier", tier)].map(|(k, v)| (k.to_owned(), v.to_owned())).into();
    assert!(selector.matches(&labels("edge")) && !selector.matches(&labels("core")));
}

#[test]
fn the_examples_have_the_levels_that_they_are_named_after() {
    assert_eq!(example("admin").level(), Level::Admin);
    assert_eq!(example("privileged").level(), Level::Privileged);
    assert_eq!(example("minimal").level(), Level::Standard);
    assert_eq!(
        example("minimal").references()[0].cluster,
        "on-premises/edge-1".parse::<ClusterId>().unwrap()
    );
}

#[test]
fn only_the_examples_that_may_surprise_have_warnings() {
    for (name, paths) in [
        ("admin", vec!["spec.clusterSelector"]),
        ("minimal", vec!["spec.users", "spec.quotas"]),
        ("payments", vec![]),
        ("privileged", vec![]),
    ] {
        let document = read(text(name)).unwrap().remove(0);
        let found: Vec<String> = document.warnings.into_iter().map(|warning| warning.path).collect();
        assert_eq!(found, paths, "{name}");
    }
}

#[test]
fn several_documents_are_divided_by_dashes_or_are_the_items_of_a_list() {
    let yaml = |name: &str| {
        format!("apiVersion: dcm.internal/v1\nkind: LogicalCloud\nmetadata: {{name: {name}}}\nspec: {{}}\n")
    };
    let json = |name: &str| {
        format!(
            "{{\n\t\"apiVersion\": \"dcm.internal/v1\",\n\t\"kind\": \"LogicalCloud\",\n\t\"metadata\": {{\"name\": \"{name}\"}},\n\t\"spec\": {{}}\n}}"
        )
    };
    for text in [
        format!("{}---\n{}", yaml("a"), yaml("b")),
        format!("# a comment\n---\n{}...\n---\n# nothing here\n---\n---\n{}---\n", yaml("a"), yaml("b")),
        format!("\u{feff}{}---\r\n{}", yaml("a"), yaml("b")).replace('\n', "\r\n"),
        format!("{}\n---\n{}", json("a"), yaml("b")),
        format!("[{}, {}]", json("a"), json("b")),
        format!("[{}]\n---\n[]\n---\n{}", json("a"), yaml("b")),
    ] {
        let names: Vec<String> = read(&text)
            .unwrap_or_else(|error| panic!("{text}\n{error}"))
            .into_iter()
            .map(|document| document.draft.metadata.name)
            .collect();
        assert_eq!(names, ["a", "b"], "{text}");
    }
}

#[test]
fn aliases_say_a_thing_once() {
    let text = "{apiVersion: dcm.internal/v1, kind: LogicalCloud, metadata: {name: a}, spec: {users: [{name: &u dev}],
        permissions: [{name: p, users: &all [*u], apiGroups: [''], resources: [pods], verbs: [get]},
                      {name: q, users: *all, apiGroups: [''], resources: [pods], verbs: [list]}]}}";
    let document = read(text).unwrap().remove(0);
    assert_eq!(document.draft.spec.permissions[1].users, Some(vec!["dev".to_owned()]));
}

#[test]
fn words_that_older_yaml_takes_for_booleans_are_texts() {
    let text = "{apiVersion: dcm.internal/v1, kind: LogicalCloud, metadata: {name: 'no', description: no}, spec: {labels: {a: yes, b: on}}}";
    let document = read(text).unwrap().remove(0);
    assert_eq!(document.draft.metadata.description, "no");
    assert_eq!(document.draft.spec.labels["a"], "yes");
}

#[test]
fn the_project_is_the_documents_or_the_default() {
    let of = |metadata: &str| {
        let text =
            format!("{{apiVersion: dcm.internal/v1, kind: LogicalCloud, metadata: {metadata}, spec: {{}}}}");
        read(text).unwrap().remove(0).project.to_string()
    };
    assert_eq!(of("{name: a}"), "default");
    assert_eq!(of("{name: a, project: shop}"), "shop");
}

#[test]
fn limits_are_the_callers_to_choose() {
    let text = "{apiVersion: dcm.internal/v1, kind: LogicalCloud, metadata: {name: a}, spec: {clusters: [], labels: {}}}";
    let project = ProjectName::new("default").unwrap();
    let within = Limits { text_bytes_max: text.len(), documents_max: 1, depth_max: 3, aliased_nodes_max: 0 };
    assert!(parse(text.as_bytes(), &project, &within).is_ok());
    for below in [
        Limits { text_bytes_max: text.len() - 1, ..within },
        Limits { documents_max: 0, ..within },
        Limits { depth_max: 2, ..within },
    ] {
        assert!(parse(text.as_bytes(), &project, &below).is_err(), "{below:?}");
    }
}

#[test]
fn one_answer_names_so_many_refusals_and_no_more() {
    let users = "{nam: a},".repeat(5 * REFUSALS_MAX);
    let spec = format!("{{users: [{users}]}}");
    let text =
        format!("{{apiVersion: dcm.internal/v1, kind: LogicalCloud, metadata: {{name: a}}, spec: {spec}}}");
    assert_eq!(read(text).unwrap_err().as_slice().len(), REFUSALS_MAX);
}
