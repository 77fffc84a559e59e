//! The command line, and what is refused before anything happens.
#![allow(clippy::unwrap_used, reason = "a test fails by it")]

use std::collections::BTreeSet;

use crate::common::{UNREACHABLE, User};

#[test]
fn the_help_names_subcommands_and_exit_codes() {
    let help = User::new().run(["--help"]).done();
    for word in [
        "cluster",
        "apply",
        "plan",
        "get",
        "status",
        "kubeconfig",
        "terminate",
        "serve",
        "demo",
        "Exit codes:",
    ] {
        assert!(help.contains(word), "{word}: {help}");
    }
}

/// The long options in the help of a command.
fn options(of: &[&str]) -> BTreeSet<String> {
    let help = User::new().run(of.iter().chain(&["--help"])).done();
    let words = help.split([' ', ',', '\n']).filter(|word| word.starts_with("--") && word.len() > 2);
    let names = words.map(|word| word.split(['=', '[', '.', ')']).next().unwrap().to_owned());
    names.filter(|name| !matches!(&**name, "--help" | "--version")).collect()
}

#[test]
fn the_page_of_the_server_names_each_of_its_options() {
    let of_all = options(&["completions"]);
    let page = std::fs::read_to_string(concat!(env!("CARGO_MANIFEST_DIR"), "/../../docs/server.md")).unwrap();
    for option in options(&["serve"]).difference(&of_all) {
        assert!(page.contains(option.as_str()), "{option}");
    }
    assert!(of_all.contains("--why"), "{of_all:?}");
}

#[test]
fn without_arguments_it_says_what_it_is_and_what_to_do_next() {
    let welcome = User::new().run([] as [&str; 0]).ended_with(2);
    assert!(welcome.starts_with("dcm gives a tenant one logical cloud"), "{welcome}");
    for command in ["dcm demo", "dcm cluster add", "dcm apply", "dcm --help"] {
        assert!(welcome.contains(command), "{command}: {welcome}");
    }
}

#[test]
fn a_misspelt_name_is_answered_with_a_similar_one() {
    let user = User::new();
    let kubeconfig = user.write("config", UNREACHABLE);
    user.run(["cluster", "add", "p/edge-1", "--unchecked", "--kubeconfig", kubeconfig.to_str().unwrap()])
        .done();
    let document = "{apiVersion: dcm.internal/v1, kind: LogicalCloud, metadata: {name: payments}, spec: {clusters: [{provider: p, cluster: edge-1}]}}";
    user.run_with_input(&["apply", "--no-wait", "-f", "-"], document).done();
    for (arguments, expected) in [
        (
            &["status", "payment"][..],
            "dcm: there is no logical cloud payment in project default; did you mean payments?\n",
        ),
        (&["cluster", "check", "p/edge1"], "dcm: there is no cluster p/edge1; did you mean p/edge-1?\n"),
        (&["get", "shop"], "dcm: there is no logical cloud shop in project default\n"),
    ] {
        assert_eq!(user.run(arguments).ended_with(6), expected);
    }
    let misspelt = document.replace("clusters", "cluster");
    let refused = user.run_with_input(&["plan", "-f", "-"], &misspelt).ended_with(3);
    assert!(
        refused.contains("spec.cluster: unknown field; expected one of clusterSelector, clusters, "),
        "{refused}"
    );
    assert!(refused.contains("; did you mean clusters?"), "{refused}");
}

#[test]
fn who_asks_for_a_plugin_is_told_when_its_file_is_out_of_date() {
    let help = User::new().run(["kubeconfig", "--help"]).done();
    let words = help.split_whitespace().collect::<Vec<_>>().join(" ");
    let until = "The addresses of clusters and their certificate authorities are in the file all the same.";
    assert!(words.contains(until) && !words.contains("never goes stale"), "{help}");
}

#[test]
fn a_wrong_command_line_ends_with_code_2() {
    let user = User::new();
    for arguments in [
        &["fly"] as &[&str],
        &["apply"],
        &["status", "a b"],
        &["cluster", "add", "no-provider"],
        &["cluster", "update", "p/c"],
        &["cluster", "update", "p/c", "--kube-context", "a"],
        &["demo", "--clusters", "0"],
        &["apply", "-f", "x", "--timeout", "soon"],
        &["kubeconfig", "c", "--file", "a", "--merge=b"],
    ] {
        user.run(arguments).ended_with(2);
    }
    assert_eq!(std::fs::read_dir(user.home()).unwrap().count(), 0);
}

#[test]
fn a_refused_document_ends_with_code_3_names_all_fields_and_makes_no_store() {
    let user = User::new();
    let file = user.write(
        "bad.yaml",
        "apiVersion: dcm.internal/v1\nkind: LogicalCloud\nmetadata: {name: c}\nspec:\n  level: none\n  users: [{name: a b}]\n",
    );
    for arguments in [&["apply", "-f"] as &[&str], &["plan", "-f"], &["plan", "--offline", "-f"]] {
        let mut arguments = arguments.to_vec();
        arguments.push(file.to_str().unwrap());
        let said = user.run(&arguments).ended_with(3);
        assert!(said.contains("bad.yaml: document 1, line 5") && said.contains("spec.level"), "{said}");
        assert!(said.contains("spec.users[0].name"), "{said}");
    }
    assert_eq!(std::fs::read_dir(user.home()).unwrap().count(), 1);
}

#[test]
fn an_unknown_cluster_is_refused_and_nothing_is_stored() {
    let user = User::new();
    let document = "{apiVersion: dcm.internal/v1, kind: LogicalCloud, metadata: {name: c}, spec: {clusters: [{provider: p, cluster: known}, {provider: p, cluster: a}]}}";
    let kubeconfig = user.write("config", UNREACHABLE);
    let added = ["cluster", "add", "p/known", "--unchecked", "--kubeconfig", kubeconfig.to_str().unwrap()];
    user.run(added).done();
    let said = user.run_with_input(&["apply", "-f", "-"], document).ended_with(3);
    assert!(said.contains("spec.clusters[1].cluster: is not registered"), "{said}");
    assert_eq!(user.run(["get"]).done(), "NAME  STATE  CLUSTERS DONE  NAMESPACE  CHANGED\n");
}

#[test]
fn what_is_not_there_ends_with_code_6() {
    let user = User::new();
    for arguments in [
        &["status", "c"] as &[&str],
        &["get", "c"],
        &["terminate", "c"],
        &["stop", "c"],
        &["resume", "c"],
        &["delete", "c"],
        &["kubeconfig", "c"],
        &["kubeconfig", "--merge", "c"],
        &["kubeconfig", "c", "--merge=b"],
        &["subject", "c", "u"],
        &["cluster", "remove", "p/c"],
        &["cluster", "update", "p/c", "--no-labels"],
        &["cluster", "check", "p/c"],
    ] {
        let said = user.run(arguments).ended_with(6);
        assert!(said.starts_with("dcm: there is no "), "{arguments:?}: {said}");
        let of_cloud = !arguments.contains(&"cluster");
        assert_eq!(said.trim_end().ends_with("logical cloud c in project default"), of_cloud, "{said}");
    }
}

#[test]
fn the_store_and_its_keys_are_for_their_owner_only() {
    use std::os::unix::fs::PermissionsExt as _;
    let user = User::new();
    user.run(["cluster", "list"]).done();
    for (path, mode) in [
        (".local/share/dcm", 0o700),
        (".local/share/dcm/store.db", 0o600),
        (".config/dcm", 0o700),
        (".config/dcm/keys.json", 0o600),
    ] {
        let found = user.home().join(path).metadata().unwrap_or_else(|error| panic!("{path}: {error}"));
        assert_eq!(found.permissions().mode() & 0o777, mode, "{path}");
    }
}

#[test]
fn a_kubeconfig_is_never_shown_and_its_token_is_nowhere_in_clear() {
    let user = User::new();
    let file = user.write("config", UNREACHABLE);
    let added = ["cluster", "add", "p/c", "--unchecked", "--label", "tier=edge", "-vvv", "--kubeconfig"];
    let mut added = added.to_vec();
    added.push(file.to_str().unwrap());
    let ran = user.run(&added);
    assert!(ran.code == 0 && !ran.err.contains("hunter2"), "{ran:?}");
    for form in ["table", "wide", "json", "yaml"] {
        let out = user.run(["cluster", "list", "-o", form]).done();
        assert!(out.contains("https://127.0.0.1:1") && !out.contains("hunter2"), "{out}");
    }
    for file in std::fs::read_dir(user.home().join(".local/share/dcm")).unwrap() {
        let bytes = std::fs::read(file.unwrap().path()).unwrap();
        assert!(!bytes.windows(7).any(|window| window == b"hunter2"));
    }
}

#[test]
fn a_cluster_that_does_not_answer_is_not_registered() {
    let user = User::new();
    let file = user.write("config", UNREACHABLE);
    let said = user.run(["cluster", "add", "p/c", "--kubeconfig", file.to_str().unwrap()]).ended_with(1);
    assert!(said.starts_with("dcm: p/c was not registered: "), "{said}");
    assert!(!said.contains("hunter2"));
    assert_eq!(user.run(["cluster", "list"]).done(), "CLUSTER  SERVER  LABELS  WORK  ADDED\n");
}

#[test]
fn a_kubeconfig_that_can_not_be_handed_on_is_refused() {
    let user = User::new();
    for (from, to, rule) in [
        (
            "current-context: main",
            "current-context: other",
            "current-context: contexts has no entry \"other\"",
        ),
        ("server: 'https://127.0.0.1:1'", "server: 'http://127.0.0.1:1'", "https://"),
        (
            "server: 'https://127.0.0.1:1'",
            "server: 'https://127.0.0.1:1', insecure-skip-tls-verify: true",
            "authority",
        ),
        ("apiVersion: v1", "apiVersion: [", "well-formed"),
    ] {
        let file = user.write("config", &UNREACHABLE.replace(from, to));
        let arguments = ["cluster", "add", "p/c", "--unchecked", "--kubeconfig", file.to_str().unwrap()];
        let said = user.run(arguments).ended_with(3);
        assert!(said.contains(rule) && !said.contains("hunter2"), "{said}");
    }
}

#[test]
fn the_schema_is_json_and_completions_are_a_script() {
    let user = User::new();
    let schema: serde_json::Value = serde_json::from_str(&user.run(["schema"]).done()).unwrap();
    assert_eq!(schema["title"], "LogicalCloud");
    assert!(user.run(["completions", "bash"]).done().contains("_dcm()"));
    assert_eq!(std::fs::read_dir(user.home()).unwrap().count(), 0);
}

#[test]
fn an_offline_plan_shows_what_is_rendered() {
    let user = User::new();
    let document = include_str!("../../documents/payments.yaml");
    let file = user.write("payments.yaml", document);
    let plan = |form: &str| user.run(["plan", "--offline", "-o", form, "-f", file.to_str().unwrap()]).done();
    let table = plan("table");
    assert!(table.contains("payments       0      Namespace payments\n"), "{table}");
    assert!(table.contains("RoleBinding.rbac.authorization.k8s.io payments/look"), "{table}");
    assert!(table.contains("request certificate/developer/1/1"), "{table}");
    assert!(plan("yaml").starts_with("apiVersion: v1\nkind: Namespace\n"));
    let json: serde_json::Value = serde_json::from_str(&plan("json")).unwrap();
    assert_eq!(json[0]["clusters"], serde_json::json!(["on-premises/edge-1", "aws/eu-central-1"]));
    assert_eq!(std::fs::read_dir(user.home()).unwrap().count(), 1);
}

#[test]
fn the_least_role_can_be_printed_for_a_cluster_to_come() {
    let user = User::new();
    let role = user.run(["cluster", "role", "--level", "privileged"]).done();
    let written = "  - clusterrolebindings\n  - rolebindings\n";
    assert!(role.contains(written) && role.contains("escalate"), "{role}");
    assert!(!user.run(["cluster", "role"]).done().contains(written));
}

#[test]
fn the_least_role_for_a_document_covers_its_manifests() {
    let user = User::new();
    let file = user.write("payments.yaml", include_str!("../../documents/payments.yaml"));
    let role = user.run(["cluster", "role", "--for", file.to_str().unwrap()]).done();
    assert!(role.contains("networkpolicies"), "{role}");
    assert!(!user.run(["cluster", "role"]).done().contains("networkpolicies"));
}

#[test]
fn the_guard_for_a_document_allows_the_level_of_pod_security_that_it_asks_for() {
    let user = User::new();
    let lowest = |more: &[&str]| {
        let arguments = [&["cluster", "role", "--guard", "--user", "dcm"], more].concat();
        let printed = user.run(arguments).done();
        let (_, rest) = printed.split_once(" >= variables.levels.indexOf('").unwrap();
        rest.split_once('\'').unwrap().0.to_owned()
    };
    assert_eq!(lowest(&[]), "baseline");
    assert_eq!(lowest(&["--pod-security", "restricted"]), "restricted");
    for (asked, allowed) in [("privileged", "privileged"), ("restricted", "baseline")] {
        let document = format!(
            "{{\"apiVersion\": \"dcm.internal/v1\", \"kind\": \"LogicalCloud\", \"metadata\": {{\"name\": \"c\"}}, \"spec\": \
             {{\"labels\": {{\"pod-security.kubernetes.io/enforce\": \"{asked}\"}}, \"clusters\": [{{\"provider\": \"p\", \"cluster\": \"c\"}}]}}}}"
        );
        let file = user.write("cloud.json", &document);
        assert_eq!(lowest(&["--for", file.to_str().unwrap()]), allowed);
    }
    user.run(["cluster", "role", "--guard", "--user", "dcm", "--pod-security", "none"]).ended_with(2);
}

#[test]
fn a_users_own_request_must_have_the_subject_that_is_told() {
    let user = User::new();
    let file = user.write("config", UNREACHABLE);
    user.run(["cluster", "add", "p/c", "--unchecked", "--kubeconfig", file.to_str().unwrap()]).done();
    let apply = |csr: Option<&str>| {
        let csr =
            csr.map_or_else(String::new, |csr| format!(", \"csr\": {}", serde_json::to_string(csr).unwrap()));
        let document = format!(
            "{{\"apiVersion\": \"dcm.internal/v1\", \"kind\": \"LogicalCloud\", \"metadata\": {{\"name\": \"c\"}}, \"spec\": \
             {{\"users\": [{{\"name\": \"ann\"{csr}}}], \"clusters\": [{{\"provider\": \"p\", \"cluster\": \"c\"}}]}}}}"
        );
        user.run_with_input(&["apply", "--no-wait", "-f", "-"], &document)
    };
    let key = rcgen::KeyPair::generate().unwrap();
    let request = |subject: &serde_json::Value| {
        let mut parameters = rcgen::CertificateParams::default();
        parameters.distinguished_name = rcgen::DistinguishedName::new();
        let name = &mut parameters.distinguished_name;
        name.push(rcgen::DnType::OrganizationName, subject["organization"].as_str().unwrap());
        name.push(rcgen::DnType::CommonName, subject["commonName"].as_str().unwrap());
        parameters.serialize_request(&key).unwrap().pem().unwrap()
    };
    let wrong = serde_json::json!({"organization": "o", "commonName": "ann"});
    let said = apply(Some(&request(&wrong))).ended_with(3);
    assert!(said.contains("spec.users[0].csr: its subject holds the UID"), "{said}");

    apply(None).done();
    let said = apply(Some(&request(&wrong))).ended_with(3);
    assert!(said.contains("spec.users[0].csr: "), "{said}");
    let subject = user.run(["subject", "c", "ann", "-o", "json"]).done();
    let subject: serde_json::Value = serde_json::from_str(&subject).unwrap();
    apply(Some(&request(&subject))).done();
    let text = user.run(["subject", "c", "ann"]).done();
    assert_eq!(text, format!("O=dcm:default:c, CN={}\n", subject["commonName"].as_str().unwrap()));
}
