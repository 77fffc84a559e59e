//! What the workspace is built from: one table of dependencies, one version of each, licences that bind no user, and
//! nothing that needs a later compiler than we promise.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;

use cargo_metadata::semver::Version;
use cargo_metadata::{DependencyKind, Package, PackageId};
use dcm_policy::{Workspace, root};

/// Licences that ask no more than to be named. A crate that may be had under one of them may be used.
const LICENCES: [&str; 11] = [
    "Apache-2.0",
    "MIT",
    "MIT-0",
    "BSD-2-Clause",
    "BSD-3-Clause",
    "ISC",
    "Zlib",
    "0BSD",
    "CC0-1.0",
    "Unicode-3.0",
    "CDLA-Permissive-2.0",
];

/// The feature with which safeguards of the engine can be taken away.
const PLANTED: &str = "planted-faults";

/// The tables of a manifest that hold dependencies.
const TABLES: [&str; 3] = ["dependencies", "dev-dependencies", "build-dependencies"];

fn manifest(package: &Package) -> toml::Table {
    let text = fs::read_to_string(&package.manifest_path).unwrap_or_else(|error| panic!("{error}"));
    text.parse().unwrap_or_else(|error| panic!("{}: {error}", package.manifest_path))
}

/// All dependencies that a manifest declares, also those of one platform.
fn declared(manifest: &toml::Table) -> Vec<(String, toml::Value)> {
    let platforms = manifest.get("target").and_then(toml::Value::as_table).into_iter().flatten();
    let places = platforms.filter_map(|(_, platform)| platform.as_table()).chain([manifest]);
    let tables = places.flat_map(|place| TABLES.iter().filter_map(|table| place.get(*table)?.as_table()));
    tables.flatten().map(|(name, value)| (name.clone(), value.clone())).collect()
}

/// A member that tests with another one which depends on it names that by its path alone: cargo leaves such a dependency
/// out of what is published, where a version would make a circle.
fn is_circle_broken(package: &Package, name: &str, value: &toml::Value) -> bool {
    let development = package.dependencies.iter().filter(|dependency| dependency.name == name);
    let only_for_tests =
        development.into_iter().all(|dependency| dependency.kind == DependencyKind::Development);
    only_for_tests
        && name.starts_with("dcm-")
        && value.get("path").is_some()
        && value.get("version").is_none()
}

#[test]
fn every_dependency_comes_from_the_workspace_table() {
    let workspace = Workspace::load().unwrap();
    let mut offenders = Vec::new();
    for package in workspace.members() {
        for (name, value) in declared(&manifest(package)) {
            let inherited = value.get("workspace").and_then(toml::Value::as_bool) == Some(true);
            if !inherited && !is_circle_broken(package, &name, &value) {
                offenders.push(format!("{}: {name} must be `workspace = true`", package.name));
            }
        }
    }
    assert!(offenders.is_empty(), "{offenders:#?}");
}

#[test]
fn nothing_that_ships_can_lose_a_safeguard() {
    let workspace = Workspace::load().unwrap();
    let mut offenders = Vec::new();
    for package in workspace.members() {
        let asks = package.dependencies.iter().filter(|dependency| {
            dependency.kind != DependencyKind::Development
                && dependency.features.iter().any(|feature| feature == PLANTED)
        });
        offenders.extend(asks.map(|dependency| format!("{} asks {} for it", package.name, dependency.name)));
        let enables = package.features.iter().filter(|(name, enabled)| {
            *name != PLANTED && enabled.iter().any(|feature| feature.split('/').next_back() == Some(PLANTED))
        });
        offenders.extend(enables.map(|(name, _)| format!("{} has it with {name}", package.name)));
    }
    assert!(offenders.is_empty(), "the feature {PLANTED} is for tests alone: {offenders:#?}");
}

#[test]
fn members_agree_on_one_version_of_each_dependency() {
    let workspace = Workspace::load().unwrap();
    let members: BTreeSet<&PackageId> = workspace.metadata.workspace_members.iter().collect();
    let resolve = workspace.metadata.resolve.as_ref().unwrap();
    let mut versions: BTreeMap<&str, BTreeSet<&Version>> = BTreeMap::new();
    for node in resolve.nodes.iter().filter(|node| members.contains(&node.id)) {
        for dependency in &node.deps {
            let package = &workspace.metadata[&dependency.pkg];
            versions.entry(&package.name).or_default().insert(&package.version);
        }
    }
    versions.retain(|_, versions| versions.len() > 1);
    assert!(versions.is_empty(), "used in several versions: {versions:#?}");
}

#[test]
fn every_licence_in_the_tree_is_permissive() {
    let workspace = Workspace::load().unwrap();
    let offenders: Vec<String> = workspace.metadata.packages.iter().filter_map(refused_licence).collect();
    assert!(offenders.is_empty(), "{offenders:#?}");
}

fn refused_licence(package: &Package) -> Option<String> {
    let licence = package.license.as_deref().unwrap_or_default();
    // Lax: `MIT/Apache-2.0` is how older crates say `OR`.
    let expression = spdx::Expression::parse_mode(licence, spdx::ParseMode::LAX);
    let allowed = expression.is_ok_and(|expression| {
        expression.evaluate(|requirement| {
            requirement.license.id().is_some_and(|licence| LICENCES.contains(&licence.name))
        })
    });
    (!allowed).then(|| format!("{} {}: {licence:?}", package.name, package.version))
}

#[test]
fn nothing_needs_a_later_compiler_than_we_promise() {
    let workspace = Workspace::load().unwrap();
    let promised = workspace.member("dcm-core").and_then(|core| core.rust_version.clone()).unwrap();
    let later = |package: &&Package| package.rust_version.as_ref().is_some_and(|needed| *needed > promised);
    let offenders: Vec<String> = workspace
        .metadata
        .packages
        .iter()
        .filter(later)
        .map(|package| format!("{} {} needs {:?}", package.name, package.version, package.rust_version))
        .collect();
    assert!(offenders.is_empty(), "we promise {promised}, but {offenders:#?}");
}

#[test]
fn everything_comes_from_the_default_registry() {
    let workspace = Workspace::load().unwrap();
    let elsewhere = |package: &&Package| package.source.as_ref().is_some_and(|source| !source.is_crates_io());
    let offenders: Vec<String> =
        workspace.metadata.packages.iter().filter(elsewhere).map(|package| package.id.to_string()).collect();
    assert!(offenders.is_empty(), "no mirror, no git: {offenders:#?}");
}

#[test]
fn debug_information_is_kept_small() {
    let table: toml::Table = fs::read_to_string(root().join("Cargo.toml")).unwrap().parse().unwrap();
    let profiles = &table["profile"];
    assert_eq!(profiles["dev"]["debug"].as_str(), Some("line-tables-only"));
    // That of dependencies would be linked into each program.
    assert_eq!(profiles["dev"]["package"]["*"]["debug"].as_bool(), Some(false));
    assert!(profiles.get("test").is_none(), "tests are built by the profile dev");
}
