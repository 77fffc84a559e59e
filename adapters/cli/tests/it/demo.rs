//! The demonstration, from outside.
#![allow(clippy::unwrap_used, reason = "a test fails by it")]

use std::io::{BufRead as _, BufReader, Read as _};
use std::process::Stdio;

use crate::common::reader::{assert_excerpt, blocks, page};
use crate::common::{User, code_of, interrupt};

#[test]
fn the_demonstration_ends_with_one_line_that_counts_all_clusters() {
    let user = User::new();
    for (arguments, clusters) in [(&["demo"] as &[&str], 3), (&["demo", "--clusters", "1"], 1)] {
        let out = user.run(arguments).done();
        let line = format!(
            "demo: {clusters}/{clusters} clusters instantiated, {clusters}/{clusters} terminated, 0 objects left"
        );
        assert_eq!(out.lines().last(), Some(&*line));
        assert_eq!(out.matches("demo: ").count(), 1, "{out}");
    }
    // It leaves nothing, not even a folder.
    assert_eq!(std::fs::read_dir(user.home()).unwrap().count(), 0);
}

#[test]
fn an_interrupt_ends_the_whole_demonstration_with_code_130() {
    let user = User::new();
    let mut command = user.command();
    command.args(["demo", "--clusters", "1000"]).stdin(Stdio::null());
    let mut child = command.stdout(Stdio::piped()).stderr(Stdio::null()).spawn().unwrap();
    let mut shown = BufReader::new(child.stdout.take().unwrap());
    let mut text = String::new();
    while !text.contains("apply: ") {
        assert_ne!(shown.read_line(&mut text).unwrap(), 0, "{text}");
    }
    interrupt(&child);
    shown.read_to_string(&mut text).unwrap();
    assert_eq!(code_of(child), Some(130), "{text}");
    assert!(!text.contains("status\n") && !text.contains("terminate"), "{text}");
}

#[test]
fn the_readme_shows_what_the_demonstration_prints() {
    let readme = page("README.md");
    let shown: Vec<_> = blocks(&readme).into_iter().filter(|(kind, _)| *kind == "text").collect();
    let [(_, shown)] = shown[..] else { panic!("{shown:?}") };
    assert_excerpt(shown, &User::new().run(["demo"]).done());
}

#[test]
fn the_demonstration_shows_the_status_and_what_the_credentials_may_do() {
    let out = User::new().run(["demo"]).done();
    assert!(out.contains("payments (project shop)  instantiated, namespace payments"), "{out}");
    assert_eq!(out.matches("Namespace payments  applied").count(), 3, "{out}");
    let row = |question: &str| -> Vec<String> {
        let line = out.lines().find(|line| line.starts_with(question));
        let line = line.unwrap_or_else(|| panic!("{question}: {out}"));
        line[question.len()..].split_whitespace().map(str::to_owned).collect()
    };
    // As the document says: columns are ci, developer, operator.
    assert_eq!(row("list pods in payments"), ["yes", "yes", "yes"]);
    assert_eq!(row("create deployments.apps in payments"), ["yes", "-", "yes"]);
    assert_eq!(row("delete pods in payments"), ["-", "yes", "yes"]);
    assert_eq!(row("list pods in default"), ["-", "-", "-"]);
    assert_eq!(row("list pods in all namespaces"), ["-", "-", "-"]);
    assert_eq!(row("be known to another cluster"), ["-", "-", "-"]);
}
