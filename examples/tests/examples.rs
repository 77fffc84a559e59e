//! Every example runs, ends by itself or when it is interrupted, and shows what its page says.
#![allow(clippy::unwrap_used, reason = "a test fails by it")]

use std::io::{BufRead as _, BufReader};
use std::path::Path;
use std::process::{Command, Stdio};

fn run(example: &str) -> String {
    let output = Command::new(example).stdin(Stdio::null()).output().unwrap();
    let said = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{example}: {said}");
    String::from_utf8(output.stdout).unwrap()
}

#[test]
fn embed_gives_a_kubeconfig_and_ends_with_nothing() {
    let out = run(env!("CARGO_BIN_EXE_embed"));
    assert!(out.starts_with("shop has 1 users\n"), "{out}");
    assert!(out.contains("shop: instantiated on 2 clusters\nkubeconfig for 2 clusters"), "{out}");
    assert!(out.contains("shop: terminated"), "{out}");
}

#[test]
fn foreign_orchestrator_changes_what_it_placed() {
    let out = run(env!("CARGO_BIN_EXE_foreign_orchestrator"));
    let expected = "generation 1: Done\nsim/cluster-1: Done, 2 objects\nsim/cluster-2: Done, 2 objects\n\
                    sim/cluster-3: Done, 2 objects\nsim/cluster-1: 0 steps\nsim/cluster-2: 0 steps\n\
                    sim/cluster-3: 2 steps\ngeneration 2: 2 clusters hold it\nremoved: 0 clusters hold it\n";
    assert_eq!(out, expected);
}

#[test]
fn own_store_has_what_was_written_before_it_was_opened() {
    let out = run(env!("CARGO_BIN_EXE_own_store"));
    assert_eq!(out, "projects/p1 in version 1: {\"description\":\"ours\"}\n");
}

#[test]
fn render_only_prints_the_same_manifests_each_time() {
    let out = run(env!("CARGO_BIN_EXE_render_only"));
    assert!(out.starts_with("--- # stage 0\napiVersion: v1\nkind: Namespace\n"), "{out}");
    assert_eq!(out.matches("kind: RoleBinding").count(), 3, "{out}");
    assert_eq!(run(env!("CARGO_BIN_EXE_render_only")), out);
}

#[test]
fn real_clusters_shows_an_allowed_and_a_refused_request_on_each_with_both_stores() {
    let out = run(env!("CARGO_BIN_EXE_real_clusters"));
    let (in_file, in_memory) = out.split_once("store: memory\n").unwrap();
    for out in [in_file.strip_prefix("store: sqlite\n").unwrap(), in_memory] {
        assert!(out.starts_with("shop is on 3 clusters\n"), "{out}");
        assert_eq!(out.matches("allowed: resourcequota/compute\n").count(), 3, "{out}");
        let refused = out.matches("refused: Error from server (Forbidden): pods is forbidden").count();
        assert_eq!(refused, 3, "{out}");
        assert!(out.ends_with("shop: terminated\n"), "{out}");
    }
}

#[test]
fn fleet_serves_its_clusters_until_it_is_interrupted() {
    let mut fleet = Command::new(env!("CARGO_BIN_EXE_fleet"));
    let mut fleet = fleet.args(["3", "127.0.0.1:0"]).stdout(Stdio::piped()).spawn().unwrap();
    let mut lines = BufReader::new(fleet.stdout.take().unwrap()).lines().map(Result::unwrap);
    let first = lines.next().unwrap();
    assert!(first.starts_with("status page at http://127.0.0.1:") && first.ends_with("/ui/"), "{first}");
    assert_eq!(lines.next().unwrap(), "12 clusters, all logical clouds are handed over");
    assert!(Command::new("kill").args(["-INT", &fleet.id().to_string()]).status().unwrap().success());
    assert!(fleet.wait().unwrap().success());
}

#[test]
fn the_document_of_the_demonstration_is_the_example() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    let read = |path: &str| std::fs::read_to_string(root.join(path)).unwrap();
    assert_eq!(read("documents/payments.yaml"), read("../adapters/cli/documents/payments.yaml"));
}
