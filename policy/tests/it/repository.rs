//! What git keeps: no secret, nothing that holds only on one machine, nothing that is not about the product.
//!
//! Words that must not be found are put together from parts here, so that these rules can be kept in the repository.

use std::fs;
use std::path::Path;
use std::process::Command;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use dcm_policy::source::Source;
use dcm_policy::{history, root, tracked_files};
use regex::Regex;

/// Written by cargo and go: names and sums of what others published.
const LOCK_FILES: [&str; 2] = ["Cargo.lock", "go.sum"];

/// Endings of files that hold keys.
const KEY_FILES: [&str; 7] = [".key", ".p12", ".pfx", ".jks", ".keystore", ".kubeconfig", ".ppk"];

/// What secrets look like.
const SECRETS: [(&str, &str); 6] = [
    (
        "a private key",
        concat!("-----BEGIN ([A-Z0-9]+ )*PRIVATE", r#" KEY-----(\\n|[\s"'\\])*[A-Za-z0-9+/]{32,}"#),
    ),
    (
        "a private key in DER",
        "(MHcCAQEE|MIGHAgEAMBMGByqG|MC4CAQAwBQYDK2Vw|IBADANBgkqhkiG9w0BAQEFAASC)[A-Za-z0-9+/]{8,}",
    ),
    ("a token", r"\beyJ[A-Za-z0-9_-]{10,}\.eyJ[A-Za-z0-9_-]{10,}\.[A-Za-z0-9_-]{10,}"),
    (
        "a token",
        r"\b(AKIA[0-9A-Z]{16}|gh[pousr]_[A-Za-z0-9]{36}|glpat-[A-Za-z0-9_-]{20}|xox[abprs]-[A-Za-z0-9-]{10,})",
    ),
    ("a token", r"\bBearer [A-Za-z0-9_.~+/-]{40,}"),
    (
        "a kubeconfig's secret",
        r#"\b(client-key-data|token|password)\b["']?\s*[:=]\s*["']?[A-Za-z0-9+/_.-]{40,}={0,2}["'\s]"#,
    ),
];

/// Base64 of PEM: what a kubeconfig holds.
const ENCODED_PEM: &str = "LS0tLS1CRUdJTi[A-Za-z0-9+/]{40,}";

/// What does not belong into the repository.
const UNWANTED: [(&str, &str); 8] = [
    ("a path of one machine", concat!(r"(^|[^\w.~$/-])/(ro", "ot|wo", "rk|ho", "me|Us", r"ers)/[\w.-]")),
    (
        "a path outside of the repository",
        concat!(r"\.\./sha", "red|\\bsee", "ds/|\\b(HELP", "ERS|sty", "le|des", r"ign)\.md\b"),
    ),
    (
        "the host of a package registry",
        concat!(
            r"(?i)\b(crates",
            r"\.io|(proxy|sum)\.golang",
            r"\.org|npm",
            r"js\.(org|com)|py",
            r"pi\.org|python",
            r"hosted\.org|maven",
            r"\.(apache\.)?org|debian",
            r"\.org)\b"
        ),
    ),
    (
        "a tool that texts may be made with",
        concat!(
            "(?i)\\b(clau",
            "de|anthro",
            "pic|open",
            "ai|chat ?g",
            "pt|g",
            "pt-[0-9]|co",
            "pilot|l",
            "lms?|language mo",
            "dels?|artificial intel",
            "ligence|a",
            "i[- ]generated|a",
            "i assistant|sub-?ag",
            "ents?)\\b"
        ),
    ),
    (
        "how the work was done",
        concat!(
            "(?i)\\b(issue",
            "s? #?[0-9]+|decision",
            "s? [0-9]+|done ",
            "when|the br",
            "ief|ce",
            "o|work",
            "trees?)\\b"
        ),
    ),
    ("who did the work", concat!("(?i)(co-author", "ed-by|signed-off", "-by|@auth", "or\\b)")),
    ("a mail address", r"\b[\w.%+-]+@([\w-]+\.)+[A-Za-z]{2,}\b"),
    ("something left to do", concat!(r"\b(TO", "DO|FIX", "ME|X", r"XX)\b")),
];

/// Mail addresses in these domains are nobody's.
const NOBODYS: &str = r"@([\w-]+\.)*(example(\.(com|net|org))?|test|invalid|internal|localhost|local)$";

/// What must not be left in code.
const LEFTOVERS: [&str; 3] = [concat!("to", "do!("), concat!("db", "g!("), "unimplemented!("];

fn pattern(text: &str) -> Regex {
    Regex::new(text).unwrap_or_else(|error| panic!("{error}"))
}

/// All text files with their content.
fn texts() -> Vec<(String, String)> {
    let files = tracked_files().unwrap_or_else(|error| panic!("{error}"));
    let read = |file: String| {
        let bytes = fs::read(root().join(&file)).unwrap_or_else(|error| panic!("{file}: {error}"));
        Some((file, String::from_utf8(bytes).ok()?))
    };
    files.into_iter().filter_map(read).collect()
}

fn is_lock_file(file: &str) -> bool {
    LOCK_FILES.iter().any(|name| file.rsplit('/').next() == Some(name))
}

/// Where in a text something was found, without the finding itself: it may be a secret.
fn place(file: &str, text: &str, offset: usize) -> String {
    format!("{file}:{}", 1 + text[..offset].matches('\n').count())
}

/// The patterns of secrets, ready to search with.
struct Secrets {
    plain: Vec<(&'static str, Regex)>,
    encoded: Regex,
}

impl Secrets {
    fn new() -> Self {
        let plain = SECRETS.iter().map(|(what, text)| (*what, pattern(text))).collect();
        Self { plain, encoded: pattern(ENCODED_PEM) }
    }

    /// Where secrets are in a text, and of what kind.
    fn find(&self, file: &str, text: &str) -> Vec<String> {
        let mut found = Vec::new();
        for (what, secret) in &self.plain {
            let places = secret.find_iter(text).map(|secret| place(file, text, secret.start()));
            found.extend(places.map(|place| format!("{place}: {what}")));
        }
        let keys = self.encoded.find_iter(text).filter(|encoded| is_encoded_key(encoded.as_str()));
        found.extend(keys.map(|key| format!("{}: an encoded private key", place(file, text, key.start()))));
        found
    }
}

#[test]
fn git_keeps_no_private_key_token_or_kubeconfig_with_one() {
    let (secrets, texts) = (Secrets::new(), texts());
    let files = texts.iter().filter(|(file, _)| !is_lock_file(file));
    let offenders: Vec<_> = files.flat_map(|(file, text)| secrets.find(file, text)).collect();
    assert!(offenders.is_empty(), "{offenders:#?}");
}

#[test]
fn git_never_kept_a_private_key_token_or_kubeconfig_with_one() {
    let offenders = Secrets::new().find("git log --patch", &history(&root()).unwrap());
    assert!(offenders.is_empty(), "{offenders:#?}");
}

/// Runs git in a folder, as nobody and without anybody's settings.
fn git(folder: &Path, arguments: &str) {
    let mut git = Command::new("git");
    git.current_dir(folder).env("GIT_CONFIG_GLOBAL", "/dev/null").env("GIT_CONFIG_NOSYSTEM", "1");
    git.args(["-c", "user.name=nobody", "-c", "user.email=nobody@localhost"]).args(arguments.split(' '));
    let output = git.output().unwrap_or_else(|error| panic!("git: {error}"));
    assert!(output.status.success(), "git {arguments}: {}", String::from_utf8_lossy(&output.stderr));
}

#[test]
fn the_history_has_what_was_added_by_a_merge_alone_and_removed_later() {
    let folder = tempfile::tempdir().unwrap();
    let (folder, file) = (folder.path(), folder.path().join("file"));
    let commit = |text: &str| {
        fs::write(&file, text).unwrap();
        git(folder, "add file");
        git(folder, "commit --message one");
    };
    git(folder, "init --initial-branch main");
    commit("base\n");
    git(folder, "checkout -b other");
    commit("base\nof the other\n");
    git(folder, "checkout main");
    fs::write(folder.join("more"), "of main\n").unwrap();
    git(folder, "add more");
    git(folder, "commit --message two");
    git(folder, "merge --no-commit other");
    commit("base\nof the merge\n");
    commit("base\n");
    let history = history(folder).unwrap();
    for line in ["base", "of the other", "of main", "of the merge"] {
        assert_eq!(history.lines().filter(|one| *one == line).count(), 1, "{line}: {history}");
    }
}

fn is_encoded_key(base64: &str) -> bool {
    let whole = &base64[..base64.len() / 4 * 4];
    let decoded = STANDARD.decode(whole).unwrap_or_default();
    String::from_utf8_lossy(&decoded)
        .lines()
        .next()
        .is_some_and(|line| line.contains(concat!("PRIVATE", " KEY")))
}

#[test]
fn git_keeps_no_file_that_is_made_for_keys() {
    let files = tracked_files().unwrap();
    let found: Vec<_> =
        files.iter().filter(|file| KEY_FILES.iter().any(|ending| file.ends_with(ending))).collect();
    assert!(found.is_empty(), "{found:#?}");
}

#[test]
fn the_repository_speaks_of_the_product_alone_and_holds_on_any_machine() {
    let unwanted: Vec<_> = UNWANTED.iter().map(|(what, text)| (what, pattern(text))).collect();
    let nobodys = pattern(NOBODYS);
    let mut offenders = Vec::new();
    for (file, text) in texts().iter().filter(|(file, _)| !is_lock_file(file)) {
        for (what, pattern) in &unwanted {
            let found = pattern.find_iter(text).filter(|found| !nobodys.is_match(found.as_str()));
            offenders.extend(
                found.map(|found| {
                    format!("{}: {what}: {:?}", place(file, text, found.start()), found.as_str())
                }),
            );
        }
    }
    assert!(offenders.is_empty(), "{offenders:#?}");
}

#[test]
fn nothing_is_left_unfinished_in_code() {
    let mut offenders = Vec::new();
    for (file, text) in texts().iter().filter(|(file, _)| file.ends_with(".rs")) {
        let source = Source::read(text);
        let left = LEFTOVERS.iter().filter(|leftover| source.holds(leftover));
        offenders.extend(left.map(|leftover| format!("{file}: {leftover}")));
    }
    assert!(offenders.is_empty(), "{offenders:#?}");
}

/// What a killed or failing process does is written as a test that only another test starts, as a process of its own.
#[test]
fn a_test_is_passed_over_only_where_another_one_runs_it() {
    let passed_over = pattern(r"#\[ignore[^\]]*\]\s*(?:#\[[^\]]*\]\s*)*(?:async )?fn (\w+)");
    let mut offenders = Vec::new();
    for (file, text) in texts().iter().filter(|(file, _)| file.ends_with(".rs")) {
        let names = passed_over.captures_iter(text).map(|found| found[1].to_owned());
        let switched_off = names.filter(|name| {
            !pattern(&format!(r#""--exact", "(?:\w+::)*{name}", "--ignored""#)).is_match(text)
        });
        offenders.extend(switched_off.map(|name| format!("{file}: {name}")));
        let ignored = Source::read(text).count(concat!("#[", "ignore"));
        assert_eq!(ignored, passed_over.find_iter(text).count(), "{file}: not understood");
    }
    assert!(offenders.is_empty(), "{offenders:#?}");
}

#[test]
fn a_key_is_found_in_each_form_and_a_public_part_is_not() {
    let secrets = Secrets::new();
    let body = concat!("MIGHAgEAMBMG", "ByqGSM49AgEGCCqGSM49AwEHBG0wawIBAQQg");
    let pem = |what: &str, body: &str| format!("-----BEGIN {what}-----\n{body}\n-----END {what}-----\n");
    let private = concat!("PRIVATE", " KEY");
    let public = "CERTIFICATE REQUEST";
    let unknown = "A".repeat(64);
    let encoded = |text: String| STANDARD.encode(text);
    let (key, certificate) = ("client-key-data", "client-certificate-data");
    for secret in [
        pem(private, &unknown),
        pem(&format!("EC {private}"), &unknown),
        pem(private, &unknown).replace('\n', "\\n"),
        body.to_owned(),
        encoded(pem(private, body)),
        format!("{key}: {}\n", encoded(pem(public, &unknown))),
        format!("{}: {unknown}\n", concat!("tok", "en")),
    ] {
        assert_eq!(secrets.find("a", &secret).len(), 1, "{secret}");
    }
    for harmless in [pem(public, &unknown), format!("{certificate}: {}\n", encoded(pem(public, &unknown)))] {
        assert!(secrets.find("a", &harmless).is_empty(), "{harmless}");
    }
}
