//! Which crate may depend on which.
//!
//! Dependencies point inward: the core knows nobody, and only the server and the command know everyone. What tests
//! need (development dependencies) is free, and so are the crates that nobody can depend on.

use cargo_metadata::{Dependency, DependencyKind, Package};
use dcm_policy::Workspace;
use dcm_policy::crates::{DATABASES, matches};

/// What a crate may depend on, of ours.
enum Inside {
    /// These, and no others.
    Only(&'static [&'static str]),
    /// Any: it is never published, so nobody can depend on it in turn.
    Any,
}

/// Every crate of the workspace has its place here, also the planned ones.
const ROOMS: [(&str, Inside); 17] = [
    ("dcm-core", Inside::Only(&[])),
    ("dcm-store", Inside::Only(&["dcm-core"])),
    ("dcm-sync", Inside::Only(&["dcm-core"])),
    ("dcm-tls", Inside::Only(&["dcm-core"])),
    ("dcm-identity", Inside::Only(&["dcm-core", "dcm-tls"])),
    ("dcm-kube", Inside::Only(&["dcm-core", "dcm-tls"])),
    ("dcm-client", Inside::Only(&["dcm-core", "dcm-tls"])),
    ("dcm-manager", Inside::Only(&["dcm-core", "dcm-sync"])),
    ("dcm-rest", Inside::Only(&["dcm-core", "dcm-sync"])),
    ("dcm-grpc", Inside::Only(&["dcm-core", "dcm-sync"])),
    ("dcm-emco", Inside::Only(&["dcm-core", "dcm-sync"])),
    (
        "dcm-server",
        Inside::Only(&[
            "dcm-core",
            "dcm-store",
            "dcm-sync",
            "dcm-identity",
            "dcm-kube",
            "dcm-manager",
            "dcm-rest",
            "dcm-grpc",
            "dcm-emco",
        ]),
    ),
    (
        "dcm-cli",
        Inside::Only(&[
            "dcm-core",
            "dcm-store",
            "dcm-sync",
            "dcm-client",
            "dcm-identity",
            "dcm-kube",
            "dcm-manager",
            "dcm-rest",
            "dcm-grpc",
            "dcm-emco",
            "dcm-server",
        ]),
    ),
    // Useful to any project that talks to Kubernetes, so it knows none of ours.
    ("dcm-testenv", Inside::Only(&[])),
    ("dcm-examples", Inside::Any),
    ("dcm-benches", Inside::Any),
    ("dcm-policy", Inside::Any),
];

/// Crates of others that have one home; a trailing `*` stands for any ending.
const HOMES: [(&[&str], &[&str]); 6] = [
    // The benches measure against the bare client.
    (&["kube", "kube-*"], &["dcm-kube", "dcm-benches"]),
    (&["tonic", "tonic-*"], &["dcm-grpc", "dcm-store"]),
    (&["axum", "axum-*"], &["dcm-rest", "dcm-server"]),
    (DATABASES, &["dcm-store"]),
    // Who asks is found out in one place.
    (&["jsonwebtoken", "openidconnect"], &["dcm-identity"]),
    // Libraries make spans; who runs a program decides where they go.
    (&["opentelemetry*", "tracing-opentelemetry"], &["dcm-cli"]),
];

/// What is built into the crate for its users, whatever the platform and the features.
fn shipped(package: &Package) -> impl Iterator<Item = &Dependency> {
    package.dependencies.iter().filter(|dependency| dependency.kind != DependencyKind::Development)
}

fn inside(name: &str) -> Option<&'static Inside> {
    ROOMS.iter().find(|(room, _)| *room == name).map(|(_, inside)| inside)
}

#[test]
fn every_crate_has_its_place_in_the_rules() {
    let workspace = Workspace::load().unwrap();
    for package in workspace.members() {
        assert!(
            inside(&package.name).is_some(),
            "{}: a new crate has to be placed in the rules: say in {} what it may depend on",
            package.name,
            file!()
        );
    }
}

#[test]
fn crates_depend_only_on_those_further_inside() {
    let workspace = Workspace::load().unwrap();
    let mut offenders = Vec::new();
    for package in workspace.members() {
        let Some(Inside::Only(allowed)) = inside(&package.name) else { continue };
        let ours = shipped(package)
            .map(|dependency| &*dependency.name)
            .filter(|name| workspace.member(name).is_some());
        let forbidden = ours.filter(|name| !allowed.contains(name));
        offenders.extend(forbidden.map(|name| format!("{} must not depend on {name}", package.name)));
    }
    assert!(offenders.is_empty(), "{offenders:#?}");
}

#[test]
fn what_can_be_published_depends_on_nothing_that_is_free_of_the_rules() {
    let workspace = Workspace::load().unwrap();
    for package in workspace.members() {
        if matches!(inside(&package.name), Some(Inside::Any)) {
            assert_eq!(
                package.publish.as_deref(),
                Some(&[][..]),
                "{} must say `publish = false`",
                package.name
            );
        }
    }
}

#[test]
fn clients_and_servers_of_others_stay_in_their_homes() {
    let workspace = Workspace::load().unwrap();
    let mut offenders = Vec::new();
    for package in workspace.members() {
        for dependency in shipped(package) {
            let home =
                HOMES.iter().find(|(names, _)| names.iter().any(|name| matches(name, &dependency.name)));
            if let Some((_, homes)) = home
                && !homes.contains(&package.name.as_str())
            {
                offenders.push(format!(
                    "{} depends on {}, which belongs into {homes:?}",
                    package.name, dependency.name
                ));
            }
        }
    }
    assert!(offenders.is_empty(), "{offenders:#?}");
}

#[test]
fn a_crate_that_changes_is_checked_with_all_that_depend_on_it() {
    let workspace = Workspace::load().unwrap();
    let with = |name: &str| workspace.with_dependants([name.to_owned()].into()).unwrap();
    assert_eq!(with("dcm-cli"), ["dcm-cli".to_owned()].into());
    let above_the_core = with("dcm-core");
    for name in ["dcm-core", "dcm-store", "dcm-sync", "dcm-cli", "dcm-benches"] {
        assert!(above_the_core.contains(name), "{name}");
    }
    assert!(!above_the_core.contains("dcm-testenv"));
    let unknown = workspace.with_dependants(["dcm-nothing".to_owned()].into());
    assert_eq!(unknown.unwrap_err(), "package \"dcm-nothing\" is not in this workspace");
}
