//! The life of a logical cloud whose cluster never answers: everything ends in time, and with its code.
#![allow(clippy::unwrap_used, reason = "a test fails by it")]

use std::io::{BufRead as _, BufReader, Read as _};
use std::path::Path;
use std::process::{Child, ChildStderr, ChildStdout, Stdio};

use crate::common::{Ran, UNREACHABLE, User, code_of, interrupt};

const DOCUMENT: &str = "{apiVersion: dcm.internal/v1, kind: LogicalCloud, metadata: {name: c, description: first}, spec: {clusters: [{provider: p, cluster: c}]}}";

fn registered() -> User {
    let user = User::new();
    let file = user.write("config", UNREACHABLE);
    user.run(["cluster", "add", "p/c", "--unchecked", "--kubeconfig", file.to_str().unwrap()]).done();
    user
}

/// `dcm apply` of a file, once it has written all these texts to standard error; with what else it writes there, and what it has written.
fn applying(user: &User, file: &Path, texts: &[&str]) -> (Child, BufReader<ChildStderr>, String) {
    let mut command = user.command();
    command.args(["apply", "-f"]).arg(file).stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::piped());
    let mut child = command.spawn().unwrap();
    let mut lines = BufReader::new(child.stderr.take().unwrap());
    let mut written = String::new();
    while !texts.iter().all(|text| written.contains(text)) {
        assert_ne!(lines.read_line(&mut written).unwrap(), 0, "{written}");
    }
    (child, lines, written)
}

#[test]
fn work_that_is_left_when_the_time_is_over_ends_with_code_4() {
    let user = registered();
    let file = user.write("c.yaml", DOCUMENT);
    let (child, ..) = applying(&user, &file, &["p/c: working, unreachable: "]);
    interrupt(&child);
    assert_eq!(code_of(child), Some(130));
    let ran = user.run(["apply", "--timeout", "1s", "-f", "c.yaml"]);
    assert!(ran.code == 4 && ran.out.contains("instantiating"), "{ran:#?}");
    assert!(ran.err.contains("work is left after 1s"), "{}", ran.err);
    assert!(ran.err.contains("p/c: working, unreachable: "), "{}", ran.err);
}

#[test]
fn a_stop_ends_the_waiting_of_others_with_code_5_and_says_how_it_goes_on() {
    let user = registered();
    let file = user.write("c.yaml", DOCUMENT);
    let (child, mut lines, mut text) = applying(&user, &file, &["p/c: "]);
    user.run(["stop", "c"]).done();
    assert_eq!(code_of(child), Some(5));
    lines.read_to_string(&mut text).unwrap();
    assert!(text.contains("stopped by ann: dcm resume c --project default goes on with it"), "{text}");
}

#[test]
fn clouds_of_one_name_in_two_projects_are_shown_apart() {
    let user = registered();
    let clouds = ["one", "two"].map(|project| {
        let named = DOCUMENT.replace("name: c,", &format!("name: c, project: {project},"));
        named.replace("spec: {", &format!("spec: {{namespace: {project}, "))
    });
    let file = user.write("clouds.yaml", &clouds.join("\n---\n"));
    let unreachable = ["one/c on p/c: working, unreachable: ", "two/c on p/c: working, unreachable: "];
    let (child, mut lines, mut text) = applying(&user, &file, &unreachable);
    interrupt(&child);
    lines.read_to_string(&mut text).unwrap();
    assert_eq!(code_of(child), Some(130));
    for project in ["one", "two"] {
        let title = format!("{project}/c on p/c: pending\n");
        assert_eq!(text.matches(&title).count(), 1, "{text}");
    }
}

#[test]
fn an_interrupt_ends_the_waiting_with_code_130_and_what_was_accepted_stays() {
    let user = registered();
    let file = user.write("c.yaml", DOCUMENT);
    let (child, mut lines, mut text) = applying(&user, &file, &["p/c: "]);
    interrupt(&child);
    lines.read_to_string(&mut text).unwrap();
    assert_eq!(code_of(child), Some(130));
    assert!(text.contains("interrupted: it goes on when a worker runs"), "{text}");
    assert!(user.run(["get", "c"]).done().contains("instantiating"));
}

#[test]
fn a_cloud_can_be_stopped_resumed_terminated_and_deleted_although_its_cluster_is_gone() {
    let user = registered();
    user.run_with_input(&["apply", "--no-wait", "-f", "-"], DOCUMENT).done();
    user.run(["delete", "c"]).ended_with(5);
    user.run(["cluster", "remove", "p/c"]).ended_with(5);
    user.run(["stop", "c"]).done();
    assert!(user.run(["status", "c"]).done().contains("stopped while instantiating"));
    user.run(["resume", "--no-wait", "c"]).done();
    assert!(user.run(["status", "c"]).done().contains("c (project default)  instantiating"));
    assert!(user.run(["terminate", "c"]).done().contains("terminated"));
    user.run(["delete", "c"]).done();
    user.run(["cluster", "remove", "p/c"]).done();
    assert_eq!(user.run(["cluster", "list"]).done(), "CLUSTER  SERVER  LABELS  WORK  ADDED\n");
}

#[test]
fn what_get_writes_apply_reads_and_finds_unchanged() {
    let user = registered();
    user.run_with_input(&["apply", "--no-wait", "-f", "-"], DOCUMENT).done();
    for form in ["yaml", "json"] {
        for arguments in [&["get", "c", "-o", form] as &[&str], &["get", "-o", form]] {
            let document = user.run(arguments).done();
            assert!(document.contains("first"), "{document}");
            let again = user.run_with_input(&["apply", "--no-wait", "-f", "-"], &document);
            assert!(again.code == 0 && again.err.contains("c: unchanged"), "{again:?}");
        }
    }
    let wide = user.run(["get", "-o", "wide"]).done();
    assert!(wide.contains("LEVEL") && wide.contains("standard") && wide.contains("ann"), "{wide}");
}

#[test]
fn the_clouds_of_all_projects_are_listed_when_that_is_asked_for() {
    let user = registered();
    user.run_with_input(&["apply", "--no-wait", "-f", "-"], DOCUMENT).done();
    user.run_with_input(
        &["apply", "--no-wait", "-p", "shop", "-f", "-"],
        DOCUMENT.replace("name: c,", "name: d,").as_str(),
    )
    .done();
    let first_words = |arguments: &[&str]| -> Vec<String> {
        let table = user.run(arguments).done();
        table.lines().map(|line| line.split_whitespace().take(2).collect::<Vec<_>>().join(" ")).collect()
    };
    assert_eq!(first_words(&["get"]), ["NAME STATE", "c instantiating"]);
    for form in ["table", "wide"] {
        let listed = first_words(&["get", "--all-projects", "-o", form]);
        assert_eq!(listed, ["PROJECT NAME", "default c", "shop d"]);
    }
    let documents = user.run(["get", "-A", "-o", "yaml"]).done();
    assert!(documents.contains("project: shop") && documents.contains("\n---\n"), "{documents}");
}

#[test]
fn what_was_accepted_before_another_cloud_failed_is_told() {
    let user = registered();
    let second = DOCUMENT.replace("name: c,", "name: d,").replace("spec: {", "spec: {namespace: c, ");
    let ran = user.run_with_input(&["apply", "-f", "-"], &format!("{DOCUMENT}\n---\n{second}\n"));
    let said = ran.ended_with(5);
    let accepted =
        "c (project default): accepted, and not waited for: it goes on when a worker runs (dcm serve)";
    assert!(
        said.contains(accepted)
            && said.contains("dcm: standard input: logical cloud d: namespace c of cluster p/c"),
        "{said}"
    );
}

#[test]
fn a_plan_says_which_clusters_could_not_be_looked_at() {
    let user = registered();
    let ran = user.run_with_input(&["plan", "-f", "-"], DOCUMENT);
    assert!(
        ran.code == 1 && ran.out.contains("p/c      unknown  -       the cluster could not be looked at"),
        "{ran:?}"
    );
    assert_eq!(user.run(["get"]).done().lines().count(), 1);
}

#[test]
fn a_plan_has_colours_where_they_are_shown_and_never_in_what_programs_read() {
    let user = registered();
    let file = user.write("c.yaml", DOCUMENT);
    let plan = |variables: &[(&str, &str)], form: &str| {
        let mut command = user.command();
        command.args(["plan", "-o", form, "-f"]).arg(&file).envs(variables.iter().copied());
        Ran::of(command.stdin(Stdio::null()).output().unwrap()).out
    };
    let is_painted = |text: &str| text.contains('\u{1b}');
    assert!(is_painted(&plan(&[("CLICOLOR_FORCE", "1")], "table")));
    assert!(!is_painted(&plan(&[], "table")), "it is no terminal");
    assert!(!is_painted(&plan(&[("NO_COLOR", "1"), ("TERM", "xterm")], "table")));
    assert!(!is_painted(&plan(&[("CLICOLOR_FORCE", "1")], "json")));
}

/// `dcm status --watch` on standard output, once it has shown something.
fn watched(user: &User, more: &[&str]) -> (Child, BufReader<ChildStdout>, String) {
    let mut command = user.command();
    command.args(["status", "--watch"]).args(more).stdin(Stdio::null()).stdout(Stdio::piped());
    let mut child = command.spawn().unwrap();
    let mut shown = BufReader::new(child.stdout.take().unwrap());
    let mut text = String::new();
    shown.read_line(&mut text).unwrap();
    (child, shown, text)
}

#[test]
fn a_watched_status_ends_well_when_nobody_reads_it_any_more() {
    let user = registered();
    user.run_with_input(&["apply", "--no-wait", "-f", "-"], DOCUMENT).done();
    for (form, change) in [("table", "stop"), ("json", "resume"), ("yaml", "stop")] {
        let (child, shown, _) = watched(&user, &["-o", form]);
        drop(shown);
        let more: &[&str] = if change == "resume" { &["--no-wait"] } else { &[] };
        user.run([&[change, "c"], more].concat()).done();
        assert_eq!(code_of(child), Some(0), "{form}");
    }
}

#[test]
fn a_watched_status_is_shown_again_when_it_changes_and_ends_with_an_interrupt() {
    let user = registered();
    user.run_with_input(&["apply", "--no-wait", "-f", "-"], DOCUMENT).done();
    let (child, mut shown, mut text) = watched(&user, &["c", "-o", "yaml"]);
    user.run(["stop", "c"]).done();
    while !text.contains("stopped:") {
        assert_ne!(shown.read_line(&mut text).unwrap(), 0, "{text}");
    }
    interrupt(&child);
    shown.read_to_string(&mut text).unwrap();
    assert_eq!(code_of(child), Some(130));
    let documents: Vec<&str> = text.split("---\n").collect();
    assert!(documents.len() > 1 && documents.windows(2).all(|two| two[0] != two[1]), "{text}");
    assert!(documents.iter().all(|document| document.matches("\nuid: ").count() == 1), "{text}");
}
