//! Each crate that is meant for others can be published as it is.

use std::collections::BTreeSet;
use std::fs;

use cargo_metadata::{Dependency, DependencyKind, Package};
use dcm_policy::{Workspace, root};

/// Most keywords that a crate may have, and the most characters in each.
const KEYWORDS_MAX: usize = 5;
const KEYWORD_LENGTH_MAX: usize = 20;

fn is_published(package: &Package) -> bool {
    package.publish.as_ref().is_none_or(|registries| !registries.is_empty())
}

#[test]
fn published_crates_describe_themselves() {
    let workspace = Workspace::load().unwrap();
    for package in workspace.members().into_iter().filter(|package| is_published(package)) {
        let name = &package.name;
        assert!(package.description.as_ref().is_some_and(|text| text.len() >= 20), "{name}: description");
        assert_eq!(package.license.as_deref(), Some("Apache-2.0"), "{name}: license");
        let readme = package.readme().unwrap_or_else(|| panic!("{name}: readme"));
        assert!(readme.is_file(), "{name}: {readme} is missing");
        assert!((1..=KEYWORDS_MAX).contains(&package.keywords.len()), "{name}: keywords");
        assert!(package.keywords.iter().all(|word| word.len() <= KEYWORD_LENGTH_MAX), "{name}: keywords");
        assert!(!package.categories.is_empty(), "{name}: categories");
        assert!(package.authors.is_empty(), "{name}: authors");
    }
}

#[test]
fn every_crate_has_the_version_the_edition_and_the_compiler_of_the_workspace() {
    let workspace = Workspace::load().unwrap();
    let core = workspace.member("dcm-core").unwrap();
    for package in workspace.members() {
        assert_eq!(package.version, core.version, "{}", package.name);
        assert_eq!(package.edition, core.edition, "{}", package.name);
        assert!(package.rust_version.is_some(), "{}", package.name);
        assert_eq!(package.rust_version, core.rust_version, "{}", package.name);
    }
}

#[test]
fn every_crate_takes_the_lints_of_the_workspace() {
    let table: toml::Table = fs::read_to_string(root().join("Cargo.toml")).unwrap().parse().unwrap();
    let lints = &table["workspace"]["lints"]["rust"];
    assert_eq!(lints["unsafe_code"].as_str(), Some("forbid"));
    assert_eq!(lints["missing_docs"].as_str(), Some("deny"));
    for package in Workspace::load().unwrap().members() {
        let manifest: toml::Table = fs::read_to_string(&package.manifest_path).unwrap().parse().unwrap();
        let inherited = manifest.get("lints").and_then(|lints| lints.get("workspace")?.as_bool());
        assert_eq!(inherited, Some(true), "{}: `[lints] workspace = true`", package.name);
    }
}

/// A crate of ours, named by its path. Those that only tests need, without a version, are left out of what is published.
fn published_paths(package: &Package) -> impl Iterator<Item = &Dependency> {
    package.dependencies.iter().filter(|dependency| {
        let left_out =
            dependency.kind == DependencyKind::Development && dependency.req.comparators.is_empty();
        dependency.path.is_some() && !left_out
    })
}

#[test]
fn paths_between_crates_come_with_versions() {
    let workspace = Workspace::load().unwrap();
    for package in workspace.members().into_iter().filter(|package| is_published(package)) {
        for dependency in published_paths(package) {
            let (name, other) = (&package.name, &dependency.name);
            let target = workspace.member(other).unwrap_or_else(|| panic!("{name}: {other} is no member"));
            assert!(is_published(target), "{name} is to be published, and {other} is not");
            assert!(!dependency.req.comparators.is_empty(), "{name}: {other} has a path and no version");
            assert!(dependency.req.matches(&target.version), "{name}: {other} is not {}", dependency.req);
        }
    }
}

/// What tests need by version has to be there first, too: cargo looks it up when it packs a crate.
#[test]
fn crates_can_be_published_one_after_the_other() {
    let workspace = Workspace::load().unwrap();
    let mut waiting: Vec<&Package> =
        workspace.members().into_iter().filter(|package| is_published(package)).collect();
    let mut done: BTreeSet<&str> = BTreeSet::new();
    while !waiting.is_empty() {
        let (ready, blocked): (Vec<_>, Vec<_>) = waiting.into_iter().partition(|package| {
            published_paths(package).all(|dependency| done.contains(dependency.name.as_str()))
        });
        let names: Vec<_> = blocked.iter().map(|package| package.name.as_str()).collect();
        assert!(!ready.is_empty(), "these wait for each other: {names:?}");
        done.extend(ready.iter().map(|package| package.name.as_str()));
        waiting = blocked;
    }
}

#[test]
fn crates_of_ours_are_taken_without_their_default_features() {
    let workspace = Workspace::load().unwrap();
    for package in workspace.members().into_iter().filter(|package| is_published(package)) {
        for dependency in
            package.dependencies.iter().filter(|dependency| dependency.kind == DependencyKind::Normal)
        {
            let target = workspace.member(&dependency.name);
            let has_defaults = target.is_some_and(|target| target.features.contains_key("default"));
            assert!(
                !has_defaults || !dependency.uses_default_features,
                "{} takes {} with features that it may not need",
                package.name,
                dependency.name
            );
        }
    }
}

#[test]
fn the_change_log_speaks_of_this_version() {
    let workspace = Workspace::load().unwrap();
    let version = &workspace.member("dcm-core").unwrap().version;
    let log = fs::read_to_string(root().join("CHANGELOG.md")).unwrap();
    let heading = format!("## [{version}]");
    assert!(log.lines().any(|line| line.starts_with(&heading)), "CHANGELOG.md has no {heading}");
}
