//! Whole files: their lists, their form and their encoding.

use serde_json::{Value, json};

use super::kit::{Case, Kit, encoded, kubectl_alone, same};

pub(super) fn cases(kit: &Kit) -> Vec<Case> {
    [contexts(kit), entries(kit), kinds(kit), forms(kit), encodings(kit)].into_iter().flatten().collect()
}

fn contexts(kit: &Kit) -> Vec<Case> {
    const CURRENT: &str = "`current-context`";
    const NAMESPACE: &str = "`namespace` of a context";
    const USER: &str = "`user` of a context";
    let good = kit.with_certificate("");
    let current = |value: &str| good.replace("current-context: c\n", value);
    let context = |members: &str| good.replace("cluster: c, user: u}", members);
    vec![
        same(CURRENT, "absent", current(""), false),
        same(CURRENT, "null", current("current-context: null\n"), false),
        same(CURRENT, "empty", current("current-context: ''\n"), false),
        same(CURRENT, "the name of no context", current("current-context: other\n"), false),
        same(CURRENT, "a number", current("current-context: 1\n"), false),
        same(
            CURRENT,
            "twice: the last one is good",
            current("current-context: other\ncurrent-context: c\n"),
            true,
        ),
        same(NAMESPACE, "empty", context("cluster: c, user: u, namespace: ''}"), true),
        same(NAMESPACE, "null", context("cluster: c, user: u, namespace: }"), true),
        same(
            NAMESPACE,
            "a boolean of YAML 1.1 (`no`)",
            context("cluster: c, user: u, namespace: no}"),
            false,
        ),
        same(NAMESPACE, "a number", context("cluster: c, user: u, namespace: 1}"), false),
        same(USER, "absent", context("cluster: c}"), false),
        same(
            USER,
            "absent, beside a user without a name",
            context("cluster: c}").replace("- name: u\n  user:", "- user:"),
            true,
        ),
        same(USER, "the name of no user", context("cluster: c, user: other}"), false),
        same("`cluster` of a context", "the name of no cluster", context("cluster: other, user: u}"), false),
        same("`context`", "null", good.replace("context: {cluster: c, user: u}", "context: null"), false),
        same("`context`", "a text", good.replace("context: {cluster: c, user: u}", "context: c"), false),
    ]
}

fn entries(kit: &Kit) -> Vec<Case> {
    const LISTS: &str = "`clusters`, `contexts`, `users`";
    const NAME: &str = "`name` of an entry";
    const UNUSED: &str = "an entry that nothing uses";
    let good = kit.with_certificate("");
    let also = |entry: &str| format!("{good}- {entry}\n");
    vec![
        same(LISTS, "null", "clusters: null\ncontexts: null\nusers: null\ncurrent-context: c\n", false),
        same(LISTS, "a mapping", good.replace("contexts:\n- name: c\n  context", "contexts:\n  c"), false),
        same(LISTS, "an entry that is null", also("null"), true),
        same(LISTS, "an entry that is a text", also("u"), false),
        same(
            NAME,
            "a number",
            good.replace("- name: c\n", "- name: 1\n").replace("cluster: c,", "cluster: 1,"),
            false,
        ),
        same(NAME, "a boolean of YAML 1.1 (`y`)", also("{name: y}"), false),
        same(NAME, "that of another entry", also("{name: u, user: {}}"), false),
        same(NAME, "that of another entry, in capital letters", also("{name: U, user: {}}"), true),
        same(NAME, "absent in one entry", also("{user: {}}"), true),
        same(NAME, "absent in two entries", also("{user: {}}\n- {name: ''}"), false),
        same(
            UNUSED,
            "a program and a file",
            also("{name: a, user: {exec: {command: a}, tokenFile: a}}"),
            true,
        ),
        same(UNUSED, "a number as token", also("{name: a, user: {token: 12345}}"), false),
        same(UNUSED, "data that is no base64", also("{name: a, user: {client-key-data: '%'}}"), false),
        same(UNUSED, "no certificate", also("{name: a, user: {client-certificate-data: QUJD}}"), true),
    ]
}

fn kinds(kit: &Kit) -> Vec<Case> {
    let good = kit.with_certificate("");
    let kind = |value: &str| good.replace("kind: Config\n", value);
    let version = |value: &str| good.replace("apiVersion: v1\n", value);
    vec![
        same("`kind`", "absent", kind(""), true),
        same("`kind`", "null", kind("kind: null\n"), true),
        same("`kind`", "empty", kind("kind: ''\n"), true),
        same("`kind`", "another one", kind("kind: Pod\n"), false),
        same("`apiVersion`", "absent", version(""), true),
        same("`apiVersion`", "empty", version("apiVersion: ''\n"), true),
        same("`apiVersion`", "another one", version("apiVersion: v2\n"), false),
        same("`preferences`", "null", format!("{good}preferences: null\n"), true),
        same("`preferences`", "an empty mapping", format!("{good}preferences: {{}}\n"), true),
        same("`preferences`", "a text", format!("{good}preferences: a\n"), false),
        same(
            "a field of the file that is not known",
            "anything",
            format!("{good}unknown: {{a: [1]}}\n"),
            true,
        ),
    ]
}

fn as_json(kit: &Kit) -> Value {
    json!({
        "apiVersion": "v1", "kind": "Config", "current-context": "c",
        "contexts": [{"name": "c", "context": {"cluster": "c", "user": "u"}}],
        "clusters": [{"name": "c", "cluster": {
            "server": kit.server, "certificate-authority-data": encoded(&kit.authority),
        }}],
        "users": [{"name": "u", "user": {"token": kit.token}}],
    })
}

fn forms(kit: &Kit) -> Vec<Case> {
    const FILE: &str = "the file";
    let good = kit.with_token("");
    let anchors = good.replace("user:\n    ", "user: &u\n    ") + "- name: other\n  user: *u\n";
    let merged = good.replace("  cluster:\n    server", "  cluster:\n    <<: {server: wrong}\n    server");
    vec![
        same(FILE, "JSON in one line", as_json(kit).to_string(), true),
        same(FILE, "JSON in several lines", serde_json::to_string_pretty(&as_json(kit)).unwrap(), true),
        same(FILE, "lines that end with CR LF", good.replace('\n', "\r\n"), true),
        same(FILE, "no line break at the end", good.trim_end(), true),
        same(FILE, "comments", good.replace('\n', " # comment\n"), true),
        same(FILE, "anchors and aliases", anchors, true),
        same(FILE, "merge keys (`<<`)", merged, true),
        same(FILE, "`---` before and `...` after", format!("---\n{good}...\n"), true),
        same(FILE, "a second document, which is not read", format!("{good}---\nusers: []\n"), true),
        same(FILE, "a second document that is broken", format!("{good}---\na: [\n"), true),
        same(FILE, "an empty document first", format!("---\n---\n{good}"), false),
        same(FILE, "empty", "", false),
        same(FILE, "a comment alone", "# nothing\n", false),
        same(FILE, "a list", format!("- {}\n", good.trim_end().replace('\n', "\n  ")), false),
        same(FILE, "a text", "kubeconfig\n", false),
        same(FILE, "cut off in a text", good[..good.len() - 20].replace("token: ", "token: '"), false),
        same(FILE, "indented by tabs", good.replace("    token", "\ttoken"), false),
        same(FILE, "null as a key", format!("{good}~: a\n"), false),
        same(FILE, "`.inf` in a field that is not known", format!("{good}unknown: .inf\n"), false),
    ]
}

fn encodings(kit: &Kit) -> Vec<Case> {
    const FILE: &str = "the encoding";
    const UTF_8: &str = "Files are UTF-8: another encoding is refused by its name (exit code 3)";
    let good = kit.with_token("");
    let utf_16 = |mark: [u8; 2], to_bytes: fn(u16) -> [u8; 2]| -> Vec<u8> {
        mark.into_iter().chain(good.encode_utf16().flat_map(to_bytes)).collect()
    };
    let without_mark: Vec<u8> = good.encode_utf16().flat_map(u16::to_le_bytes).collect();
    let latin_1 = [good.as_bytes(), b"# Z\xfcrich\n"].concat();
    let marked = [b"\xef\xbb\xbf", good.as_bytes()].concat();
    vec![
        same(FILE, "UTF-8 with a byte order mark", marked, true),
        same(FILE, "UTF-8 with other letters in a comment", format!("# Zürich, 北京\n{good}"), true),
        kubectl_alone(FILE, "UTF-16, little endian", utf_16([0xff, 0xfe], u16::to_le_bytes), UTF_8),
        kubectl_alone(FILE, "UTF-16, big endian", utf_16([0xfe, 0xff], u16::to_be_bytes), UTF_8),
        same(FILE, "UTF-16 without a byte order mark", without_mark, false),
        same(FILE, "Latin-1", latin_1, false),
        same(
            FILE,
            "a byte that is cut off from its letter",
            [good.as_bytes(), b"# \xe5\x8c\n"].concat(),
            false,
        ),
    ]
}
