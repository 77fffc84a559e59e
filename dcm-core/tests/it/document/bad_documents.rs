//! Documents that are refused, and how. Plain data: other crates' tests can include this file and run it, too.
#![allow(clippy::too_many_lines, reason = "it is a table")]

/// A text that is refused.
pub(crate) struct BadDocument {
    /// What is bad about it.
    pub(crate) name: &'static str,
    /// The text.
    pub(crate) text: Vec<u8>,
    /// Who can see it.
    pub(crate) seen_by: SeenBy,
    /// All refusals, as they are shown.
    pub(crate) refusals: &'static [&'static str],
}

/// Who can see what is bad about a text.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum SeenBy {
    /// The reader, and whoever has the published schema.
    Schema,
    /// The reader alone: the text is no YAML, or the rule is none that a schema can say.
    Reader,
}

use SeenBy::{Reader, Schema};

/// A document with this metadata, which begins on line 4 and column 3, and this specification.
fn document(metadata: &str, spec: &str) -> String {
    format!("apiVersion: dcm.internal/v1\nkind: LogicalCloud\nmetadata:\n  {metadata}\nspec:\n  {spec}\n")
}

/// A document with this metadata, which begins on line 4 and column 3.
fn metadata(metadata: &str) -> String {
    document(metadata, "{}")
}

/// A document with this specification, which begins on line 6 and column 3.
fn spec(spec: &str) -> String {
    document("name: bad", spec)
}

fn bad(
    name: &'static str,
    text: impl Into<Vec<u8>>,
    seen_by: SeenBy,
    refusals: &'static [&'static str],
) -> BadDocument {
    BadDocument { name, text: text.into(), seen_by, refusals }
}

/// All of them.
pub(crate) fn table() -> Vec<BadDocument> {
    let parts = [
        texts(),
        kinds(),
        fields(),
        names_and_notes(),
        namespaces_levels_and_labels(),
        users(),
        permissions(),
        quotas(),
        key_values_and_manifests(),
        clusters(),
        several(),
    ];
    parts.into_iter().flatten().collect()
}

fn texts() -> Vec<BadDocument> {
    vec![
        bad("an empty text", "", Schema, &["line 1, column 1: the text holds no document"]),
        bad(
            "comments alone",
            "# nothing\n---\n# nothing\n",
            Schema,
            &["line 1, column 1: the text holds no document"],
        ),
        bad(
            "a text that is no UTF-8",
            b"apiVersion: dcm.internal/v1\nkind: \xff\n".to_vec(),
            Reader,
            &["line 2, column 7: the text must be UTF-8"],
        ),
        bad(
            "a text of more than 8 MiB",
            " ".repeat(8 * 1024 * 1024 + 1),
            Schema,
            &["line 1, column 1: the text must be at most 8388608 bytes long"],
        ),
        bad(
            "more than 1000 documents",
            "---\na: b\n".repeat(1001),
            Reader,
            &["line 1, column 1: the text must hold at most 1000 documents"],
        ),
        bad(
            "lists and mappings 65 deep",
            spec(&format!("keyValues: [{{name: a, kv: [{{a: {}{}}}]}}]", "[".repeat(59), "]".repeat(59))),
            Reader,
            &["document 1, line 6, column 92: spec.keyValues[0].kv[0].a: must be nested at most 64 deep"],
        ),
        bad(
            "more than 250,000 nodes",
            spec(&format!("users: [{}]", "a,".repeat(250_000))),
            Reader,
            &["document 1, line 6, column 499985: spec.users[249987]: must have at most 250000 nodes"],
        ),
        bad(
            "aliases that stand for millions of nodes",
            spec(
                "keyValues: [{name: a, kv: [{\n    a: &a [x, x, x, x, x, x, x, x, x, x],\n    b: &b [*a, *a, *a, *a, *a, *a, *a, *a, *a, *a],\n    c: &c [*b, *b, *b, *b, *b, *b, *b, *b, *b, *b],\n    d: &d [*c, *c, *c, *c, *c, *c, *c, *c, *c, *c],\n    e: &e [*d, *d, *d, *d, *d, *d, *d, *d, *d, *d]\n  }]}]",
            ),
            Reader,
            &[
                "document 1, line 10, column 40: spec.keyValues[0].kv[0].d: must have aliases (*…) for at most 10000 nodes in all",
            ],
        ),
        bad(
            "an alias without its anchor",
            spec("users: *everybody"),
            Reader,
            &["document 1, line 6, column 10: spec.users: names an anchor (&…) that isn't there"],
        ),
        bad(
            "an alias of what it is in",
            spec("users: &users [{name: *users}]"),
            Reader,
            &[
                "document 1, line 6, column 25: spec.users[0].name: must be well-formed, with texts as keys and nothing that is part of itself",
            ],
        ),
        bad(
            "merge keys",
            spec("users: [&base {type: token}]\n  quotas: [{<<: *base, name: a}]"),
            Schema,
            &[
                r#"document 1, line 7, column 13: spec.quotas[0]["<<"]: must not have merge keys (<<): write the fields out"#,
            ],
        ),
        bad(
            "tags",
            spec("namespace: !!python/name:os.system a"),
            Reader,
            &["document 1, line 6, column 38: spec.namespace: must not have tags (!…)"],
        ),
        bad(
            "aliases that stand for millions of bytes",
            spec(&format!(
                "keyValues: [{{name: a, kv: [{{a: &a {}}}, {{b: [{}]}}]}}]",
                "x".repeat(1024 * 1024),
                "*a, ".repeat(9)
            )),
            Reader,
            &[
                "document 1, line 6, column 1048653: spec.keyValues[0].kv[1].b: must have aliases (*…) for at most 8388608 bytes in all",
            ],
        ),
        bad(
            "tags of scalars in quotes",
            metadata("name: a\n  description: !!int \"3\""),
            Schema,
            &["document 1, line 5, column 22: metadata.description: must not have tags (!…)"],
        ),
        bad(
            "a number without end",
            spec("manifests: [{apiVersion: v1, kind: ConfigMap, metadata: {name: a}, more: {a: .inf}}]"),
            Reader,
            &[
                r#"document 1, line 6, column 80: spec.manifests[0].more.a: must be a finite number, or put it in quotes (found ".inf")"#,
            ],
        ),
        bad(
            "scalars that kubectl reads otherwise",
            spec(
                "quotas: [{name: a, hard: {pods: 010}}]\n  manifests: [{apiVersion: v1, kind: ServiceAccount, metadata: {name: a}, automountServiceAccountToken: no}]",
            ),
            Reader,
            &[
                r#"document 1, line 6, column 35: spec.quotas[0].hard["pods"]: is 8 for kubectl and 10 here: write 8 or 0o10, or put it in quotes (found "010")"#,
                r#"document 1, line 7, column 105: spec.manifests[0].automountServiceAccountToken: is false for kubectl and the text "no" here: write false, or put it in quotes (found "no")"#,
            ],
        ),
        bad(
            "tabs as indentation",
            spec("users:\n\t- name: a"),
            Reader,
            &[
                "document 1, line 7, column 2: spec.users: must be well-formed YAML or JSON: tabs disallowed within this context (block indentation)",
            ],
        ),
        bad(
            "an open bracket",
            spec("users: [{name: a}"),
            Reader,
            &[
                "document 1, line 6, column 10: spec.users: must be well-formed YAML or JSON: unclosed bracket '['",
            ],
        ),
        bad(
            "a colon too many",
            spec("namespace: a: b"),
            Reader,
            &[
                "document 1, line 6, column 15: spec.namespace: must be well-formed YAML or JSON: mapping values are not allowed in this context",
            ],
        ),
        bad(
            "documents of JSON without anything between them",
            "{}\n{}\n",
            Reader,
            &[
                "document 1, line 1, column 1: apiVersion: must be dcm.internal/v1",
                "document 1, line 1, column 1: kind: must be LogicalCloud",
                "document 2, line 2, column 1: the document must be well-formed YAML or JSON: did not find expected <document start>",
            ],
        ),
        bad(
            "keys that are there twice",
            spec(
                "namespace: a\n  users:\n  - name: a\n    type: token\n    name: b\n  labels: {tier: a, tier: b}\n  namespace: b",
            ),
            Reader,
            &[
                "document 1, line 10, column 5: spec.users[0].name: is there twice",
                r#"document 1, line 11, column 21: spec.labels["tier"]: is there twice"#,
                "document 1, line 12, column 3: spec.namespace: is there twice",
            ],
        ),
        bad(
            "keys that are there twice in JSON",
            r#"{"apiVersion": "dcm.internal/v1", "kind": "LogicalCloud", "kind": "LogicalCloud", "metadata": {"name": "a", "name": "a"}, "spec": {}}"#,
            Reader,
            &[
                "document 1, line 1, column 59: kind: is there twice",
                "document 1, line 1, column 109: metadata.name: is there twice",
            ],
        ),
        bad(
            "keys that are no texts",
            spec("labels: {[a]: b}"),
            Reader,
            &[
                "document 1, line 6, column 12: spec.labels: must be well-formed, with texts as keys and nothing that is part of itself",
            ],
        ),
        bad(
            "a key that is no text, and a syntax error in another document",
            "a: b\n---\n{[a]: b}\n---\nc: ]\n",
            Reader,
            &[
                "document 1, line 1, column 1: apiVersion: must be dcm.internal/v1",
                "document 1, line 1, column 1: kind: must be LogicalCloud",
                "document 2, line 3, column 2: the document must be well-formed, with texts as keys and nothing that is part of itself",
                "document 3, line 5, column 4: c: must be well-formed YAML or JSON: misplaced bracket",
            ],
        ),
        bad(
            "a text instead of a document",
            "just words",
            Schema,
            &[
                "document 1, line 1, column 1: a document must be a mapping, with apiVersion, kind, metadata and spec",
            ],
        ),
        bad(
            "what is wrong in the second document",
            "apiVersion: dcm.internal/v1\nkind: LogicalCloud\nmetadata: {name: a}\nspec: {}\n---\n# empty\n---\napiVersion: dcm.internal/v1\nkind: LogicalCloud\nmetadata: {name: b}\nspec: {level: high}\n",
            Reader,
            &[
                r#"document 2, line 11, column 8: spec.level: must be standard, privileged or admin (or EMCO's 1 or 0) (found "high")"#,
            ],
        ),
        bad(
            "what is wrong in an item of a list",
            r#"[{"apiVersion": "dcm.internal/v1", "kind": "LogicalCloud", "metadata": {"name": "a"}, "spec": {}},
 {"apiVersion": "dcm.internal/v1", "kind": "LogicalCloud", "metadata": {"name": "b"}, "spec": {"level": "high"}}]"#,
            Schema,
            &[
                r#"document 2, line 2, column 96: spec.level: must be standard, privileged or admin (or EMCO's 1 or 0) (found "high")"#,
            ],
        ),
        bad(
            "two documents of one cloud",
            "apiVersion: dcm.internal/v1\nkind: LogicalCloud\nmetadata: {name: a}\nspec: {}\n---\napiVersion: dcm.internal/v1\nkind: LogicalCloud\nmetadata: {name: a, project: default}\nspec: {}\n",
            Reader,
            &[r#"document 2, line 8, column 12: metadata.name: is the name of document 1, too (found "a")"#],
        ),
        bad(
            "a syntax error after a wrong document",
            "apiVersion: dcm.internal/v1\nkind: LogicalCloud\nmetadata: {name: a}\nspec: {level: high}\n---\na: ]\n",
            Reader,
            &[
                r#"document 1, line 4, column 8: spec.level: must be standard, privileged or admin (or EMCO's 1 or 0) (found "high")"#,
                "document 2, line 6, column 4: a: must be well-formed YAML or JSON: misplaced bracket",
            ],
        ),
    ]
}

fn kinds() -> Vec<BadDocument> {
    vec![
        bad(
            "no apiVersion and no kind",
            "metadata: {name: a}\nspec: {}\n",
            Schema,
            &[
                "document 1, line 1, column 1: apiVersion: must be dcm.internal/v1",
                "document 1, line 1, column 1: kind: must be LogicalCloud",
            ],
        ),
        bad(
            "another version",
            "apiVersion: dcm.internal/v2\nkind: LogicalCloud\nmetadata: {name: a}\nspec: {}\n",
            Schema,
            &[
                r#"document 1, line 1, column 1: apiVersion: must be dcm.internal/v1 (found "dcm.internal/v2")"#,
            ],
        ),
        bad(
            "another kind",
            "apiVersion: dcm.internal/v1\nkind: Deployment\nmetadata: {name: a, labels: {}}\nspec: {replicas: 1}\n",
            Schema,
            &[r#"document 1, line 2, column 1: kind: must be LogicalCloud (found "Deployment")"#],
        ),
        bad(
            "a kind that is a mapping",
            "apiVersion: dcm.internal/v1\nkind: {token: secret}\nmetadata: {name: a}\nspec: {}\n",
            Schema,
            &["document 1, line 2, column 1: kind: must be LogicalCloud"],
        ),
        bad(
            "a version that is a number",
            "apiVersion: 1\nkind: LogicalCloud\nmetadata: {name: a}\nspec: {}\n",
            Schema,
            &[r#"document 1, line 1, column 1: apiVersion: must be dcm.internal/v1 (found "1")"#],
        ),
    ]
}

fn fields() -> Vec<BadDocument> {
    vec![
        bad(
            "no metadata and no spec",
            "apiVersion: dcm.internal/v1\nkind: LogicalCloud\n",
            Schema,
            &[
                "document 1, line 1, column 1: metadata: is missing",
                "document 1, line 1, column 1: spec: is missing",
            ],
        ),
        bad(
            "an unknown field of the document",
            "apiVersion: dcm.internal/v1\nkind: LogicalCloud\nmetadata: {name: a}\nspec: {}\nstatus: {}\n",
            Schema,
            &[
                "document 1, line 5, column 1: status: unknown field; expected one of apiVersion, kind, metadata, spec",
            ],
        ),
        bad(
            "an unknown field of the metadata",
            metadata("namespace: a\n  name: a"),
            Schema,
            &[
                "document 1, line 4, column 3: metadata.namespace: unknown field; expected one of description, name, project, userData1, userData2",
            ],
        ),
        bad(
            "an unknown field of the spec",
            spec("user: [{name: a}]"),
            Schema,
            &[
                "document 1, line 6, column 3: spec.user: unknown field; expected one of clusterSelector, clusters, containerDefaults, keyValues, labels, level, manifests, namespace, objectPolicies, permissions, quotas, removal, serviceMesh, users; did you mean users?",
            ],
        ),
        bad(
            "an unknown field of a user",
            spec("users: [{name: a, password: secret}]"),
            Schema,
            &[
                "document 1, line 6, column 21: spec.users[0].password: unknown field; expected one of csr, description, key, lifetimeSeconds, name, type, userData1, userData2",
            ],
        ),
        bad(
            "an unknown field of a permission",
            spec("permissions: [{name: a, role: admin, apiGroups: [''], resources: [pods], verbs: [get]}]"),
            Schema,
            &[
                "document 1, line 6, column 27: spec.permissions[0].role: unknown field; expected one of apiGroups, clusterWide, description, name, namespace, nonResourceURLs, resourceNames, resources, userData1, userData2, users, verbs",
            ],
        ),
        bad(
            "an unknown field of a quota",
            spec("quotas: [{name: a, hard: {pods: 1}, soft: {}}]"),
            Schema,
            &[
                "document 1, line 6, column 39: spec.quotas[0].soft: unknown field; expected one of description, hard, name, userData1, userData2",
            ],
        ),
        bad(
            "an unknown field of a cluster",
            spec("clusters: [{provider: a, cluster: b, labels: {}}]"),
            Schema,
            &[
                "document 1, line 6, column 40: spec.clusters[0].labels: unknown field; expected one of cluster, description, loadBalancer, name, provider, userData1, userData2",
            ],
        ),
        bad(
            "an unknown field of a selector",
            spec("clusterSelector: {matchLabel: {a: b}}"),
            Schema,
            &[
                "document 1, line 6, column 21: spec.clusterSelector.matchLabel: unknown field; expected one of matchExpressions, matchLabels; did you mean matchLabels?",
            ],
        ),
        bad(
            "an unknown field of a selector's expression",
            spec("clusterSelector: {matchExpressions: [{key: a, operator: Exists, value: b}]}"),
            Schema,
            &[
                "document 1, line 6, column 67: spec.clusterSelector.matchExpressions[0].value: unknown field; expected one of key, operator, values; did you mean values?",
            ],
        ),
        bad(
            "an unknown field of key-value pairs",
            spec("keyValues: [{name: a, kv: [], keys: []}]"),
            Schema,
            &[
                "document 1, line 6, column 33: spec.keyValues[0].keys: unknown field; expected one of description, kv, name, userData1, userData2",
            ],
        ),
        bad(
            "an unknown field that is a whole text",
            spec(r#""name: a\ntype: token": b"#),
            Schema,
            &[
                r#"document 1, line 6, column 3: spec["name: a\ntype: token"]: unknown field; expected one of clusterSelector, clusters, containerDefaults, keyValues, labels, level, manifests, namespace, objectPolicies, permissions, quotas, removal, serviceMesh, users"#,
            ],
        ),
        bad(
            "no name and nothing that a permission permits",
            spec(
                "users: [{type: token}]\n  permissions: [{users: [a]}]\n  quotas: [{}]\n  clusters: [{name: a}]\n  keyValues: [{}]\n  clusterSelector: {matchExpressions: [{}]}",
            ),
            Schema,
            &[
                "document 1, line 6, column 11: spec.users[0].name: is missing",
                "document 1, line 7, column 17: spec.permissions[0].name: is missing",
                "document 1, line 7, column 17: spec.permissions[0].apiGroups: is missing",
                "document 1, line 7, column 17: spec.permissions[0].resources: is missing",
                "document 1, line 7, column 17: spec.permissions[0].verbs: is missing",
                "document 1, line 8, column 12: spec.quotas[0].name: is missing",
                "document 1, line 8, column 12: spec.quotas[0].hard: is missing",
                "document 1, line 9, column 14: spec.clusters[0].provider: is missing",
                "document 1, line 9, column 14: spec.clusters[0].cluster: is missing",
                "document 1, line 10, column 15: spec.keyValues[0].name: is missing",
                "document 1, line 10, column 15: spec.keyValues[0].kv: is missing",
                "document 1, line 11, column 40: spec.clusterSelector.matchExpressions[0].key: is missing",
                "document 1, line 11, column 40: spec.clusterSelector.matchExpressions[0].operator: is missing",
            ],
        ),
        bad(
            "fields without a value",
            spec(
                "users:\n  permissions: [{name: a, users: , apiGroups: [''], resources: [pods], verbs: [get]}]\n  labels: {a: }",
            ),
            Schema,
            &[
                "document 1, line 6, column 3: spec.users: has no value: give it one, or leave it out",
                "document 1, line 7, column 27: spec.permissions[0].users: has no value: give it one, or leave it out",
                r#"document 1, line 8, column 12: spec.labels["a"]: has no value: give it one, or leave it out"#,
            ],
        ),
        bad(
            "a mapping and a list instead of a text",
            metadata("name: {a: b}\n  description: [c]"),
            Schema,
            &[
                "document 1, line 4, column 3: metadata.name: must be a text",
                "document 1, line 5, column 3: metadata.description: must be a text",
            ],
        ),
        bad(
            "a text instead of a list",
            spec("users: developer"),
            Schema,
            &["document 1, line 6, column 3: spec.users: must be a list"],
        ),
        bad(
            "a mapping instead of a list",
            spec("users: {name: developer}"),
            Schema,
            &["document 1, line 6, column 3: spec.users: must be a list"],
        ),
        bad(
            "a list instead of a mapping",
            spec("labels: [a, b]"),
            Schema,
            &["document 1, line 6, column 3: spec.labels: must be a mapping"],
        ),
        bad(
            "a text instead of a mapping",
            spec("users: [developer]"),
            Schema,
            &["document 1, line 6, column 11: spec.users[0]: must be a mapping"],
        ),
        bad(
            "a text instead of a boolean",
            spec(
                "permissions: [{name: a, clusterWide: 'true', apiGroups: [''], resources: [pods], verbs: [get]}]",
            ),
            Schema,
            &["document 1, line 6, column 27: spec.permissions[0].clusterWide: must be true or false"],
        ),
        bad(
            "a fraction instead of a whole number",
            spec("users: [{name: a, lifetimeSeconds: 3600.5}]"),
            Schema,
            &[
                r#"document 1, line 6, column 21: spec.users[0].lifetimeSeconds: must be a whole number (found "3600.5")"#,
            ],
        ),
        bad(
            "a number with too many digits",
            spec("users: [{name: a, lifetimeSeconds: 99999999999999999999}]"),
            Schema,
            &[
                r#"document 1, line 6, column 21: spec.users[0].lifetimeSeconds: must be a whole number (found "1e+20")"#,
            ],
        ),
        bad(
            "a boolean instead of a quantity",
            spec("quotas: [{name: a, hard: {pods: true}}]"),
            Schema,
            &[
                r#"document 1, line 6, column 29: spec.quotas[0].hard["pods"]: must be a text or a number (found "true")"#,
            ],
        ),
    ]
}

fn names_and_notes() -> Vec<BadDocument> {
    vec![
        bad(
            "an empty name",
            metadata("name: ''"),
            Schema,
            &[
                "document 1, line 4, column 3: metadata.name: a logical cloud name is 1 to 128 of letters, digits, '-', '_' and '.', beginning and ending with a letter or digit",
            ],
        ),
        bad(
            "a name with a space",
            metadata("name: my cloud"),
            Schema,
            &[
                r#"document 1, line 4, column 3: metadata.name: a logical cloud name is 1 to 128 of letters, digits, '-', '_' and '.', beginning and ending with a letter or digit (found "my cloud")"#,
            ],
        ),
        bad(
            "a name with a slash and a namespace",
            document("name: a/b", "namespace: a"),
            Schema,
            &[
                r#"document 1, line 4, column 3: metadata.name: a logical cloud name is 1 to 128 of letters, digits, '-', '_' and '.', beginning and ending with a letter or digit (found "a/b")"#,
            ],
        ),
        bad(
            "a name of 129 characters",
            document(&format!("name: {}", "a".repeat(129)), "namespace: a"),
            Schema,
            &[
                r#"document 1, line 4, column 3: metadata.name: a logical cloud name is 1 to 128 of letters, digits, '-', '_' and '.', beginning and ending with a letter or digit (found "aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa…")"#,
            ],
        ),
        bad(
            "a project with a space",
            metadata("name: a\n  project: my project"),
            Schema,
            &[
                r#"document 1, line 5, column 3: metadata.project: a project name is 1 to 128 of letters, digits, '-', '_' and '.', beginning and ending with a letter or digit (found "my project")"#,
            ],
        ),
        bad(
            "notes that are too long",
            metadata(&format!(
                "name: a\n  description: {}\n  userData1: {}\n  userData2: {}",
                "d".repeat(1025),
                "1".repeat(513) + "a",
                "2".repeat(513) + "a"
            )),
            Schema,
            &[
                r#"document 1, line 5, column 3: metadata.description: must be at most 1024 characters long (found "dddddddddddddddddddddddddddddddddddddddddddddddddddddddddddddddd…")"#,
                r#"document 1, line 6, column 3: metadata.userData1: must be at most 512 characters long (found "1111111111111111111111111111111111111111111111111111111111111111…")"#,
                r#"document 1, line 7, column 3: metadata.userData2: must be at most 512 characters long (found "2222222222222222222222222222222222222222222222222222222222222222…")"#,
            ],
        ),
    ]
}

fn namespaces_levels_and_labels() -> Vec<BadDocument> {
    vec![
        bad(
            "a name that is no namespace, and none given",
            metadata("name: Team_A"),
            Schema,
            &[
                r#"document 1, line 5, column 1: spec.namespace: must be given, as the cloud's name is no legal namespace (1 to 63 of lower-case letters, digits and '-', beginning and ending with a letter or digit (RFC 1123 label)) (found "Team_A")"#,
            ],
        ),
        bad(
            "a namespace with capitals",
            spec("namespace: Payments"),
            Schema,
            &[
                r#"document 1, line 6, column 3: spec.namespace: a namespace is 1 to 63 of lower-case letters, digits and '-', beginning and ending with a letter or digit (RFC 1123 label) (found "Payments")"#,
            ],
        ),
        bad(
            "a namespace of 64 characters",
            spec(&format!("namespace: {}", "a".repeat(64))),
            Schema,
            &[
                r#"document 1, line 6, column 3: spec.namespace: a namespace is 1 to 63 of lower-case letters, digits and '-', beginning and ending with a letter or digit (RFC 1123 label) (found "aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa")"#,
            ],
        ),
        bad(
            "the namespace default",
            spec("namespace: default"),
            Schema,
            &[
                r#"document 1, line 6, column 3: spec.namespace: default and kube-* belong to the cluster itself; only admin clouds work there (found "default")"#,
            ],
        ),
        bad(
            "a namespace of the cluster itself",
            spec("namespace: kube-system"),
            Schema,
            &[
                r#"document 1, line 6, column 3: spec.namespace: default and kube-* belong to the cluster itself; only admin clouds work there (found "kube-system")"#,
            ],
        ),
        bad(
            "a name that is a namespace of the cluster itself",
            metadata("name: kube-public"),
            Schema,
            &[
                r#"document 1, line 5, column 1: spec.namespace: default and kube-* belong to the cluster itself; only admin clouds work there (found "kube-public")"#,
            ],
        ),
        bad(
            "an unknown level",
            spec("level: superuser"),
            Schema,
            &[
                r#"document 1, line 6, column 3: spec.level: must be standard, privileged or admin (or EMCO's 1 or 0) (found "superuser")"#,
            ],
        ),
        bad(
            "defaults for what no container has",
            spec("containerDefaults: {limits: {pods: 1}}"),
            Schema,
            &[
                r#"document 1, line 6, column 32: spec.containerDefaults.limits["pods"]: must be one of cpu, ephemeral-storage, memory (found "pods")"#,
            ],
        ),
        bad(
            "a default that is no quantity",
            spec("containerDefaults: {requests: {cpu: many}}"),
            Schema,
            &[
                r#"document 1, line 6, column 34: spec.containerDefaults.requests["cpu"]: must be a Kubernetes quantity such as 2, 500m, 1.5Gi or 1e3 (found "many")"#,
            ],
        ),
        bad(
            "a default request above the default limit",
            spec("containerDefaults: {requests: {cpu: 2}, limits: {cpu: 1}}"),
            Reader,
            &[
                r#"document 1, line 6, column 34: spec.containerDefaults.requests["cpu"]: must not be above the limit, 1 (found "2")"#,
            ],
        ),
        bad(
            "a key of a mesh that no authority can have",
            spec("serviceMesh: {key: ed25519}"),
            Schema,
            &[
                r#"document 1, line 6, column 17: spec.serviceMesh.key: must be ecdsa-p256, rsa-2048, rsa-3072 or rsa-4096 (found "ed25519")"#,
            ],
        ),
        bad(
            "a mesh in the namespace of the logical cloud",
            spec("namespace: istio-bad\n  serviceMesh: {}"),
            Reader,
            &[
                r#"document 1, line 7, column 3: spec.serviceMesh: the namespace of the mesh must differ from that of the logical cloud; give the cloud another one (found "istio-bad")"#,
            ],
        ),
        bad(
            "an unknown way with existing namespaces",
            spec("objectPolicies: {Namespace: {existing: take}}"),
            Schema,
            &[
                r#"document 1, line 6, column 32: spec.objectPolicies["Namespace"].existing: must be refuse, adopt, adopt-if-equal or overwrite (found "take")"#,
            ],
        ),
        bad(
            "an unknown way with drift",
            spec("objectPolicies: {Namespace: {drift: ignore}}"),
            Schema,
            &[
                r#"document 1, line 6, column 32: spec.objectPolicies["Namespace"].drift: must be correct or report (found "ignore")"#,
            ],
        ),
        bad(
            "fields to report where all is reported",
            spec("objectPolicies: {Namespace: {drift: report, reportOnly: [spec]}}"),
            Schema,
            &[
                r#"document 1, line 6, column 47: spec.objectPolicies["Namespace"].reportOnly: with drift: report every field is only reported; leave this out"#,
            ],
        ),
        bad(
            "a field to report that is none",
            spec("objectPolicies: {ResourceQuota: {reportOnly: ['spec.hard.', spec.hard.requests/cpu]}}"),
            Reader,
            &[
                r#"document 1, line 6, column 49: spec.objectPolicies["ResourceQuota"].reportOnly[0]: must be names divided by dots, such as spec.hard.pods, others quoted: spec.hard["requests.cpu"] (found "spec.hard.")"#,
                r#"document 1, line 6, column 63: spec.objectPolicies["ResourceQuota"].reportOnly[1]: must be names divided by dots, such as spec.hard.pods, others quoted: spec.hard["requests.cpu"] (found "spec.hard.requests/cpu")"#,
            ],
        ),
        bad(
            "a policy for what is no kind",
            spec("objectPolicies: {roles: {drift: report}}"),
            Schema,
            &[
                r#"document 1, line 6, column 20: spec.objectPolicies["roles"]: must be a kind such as Role, with its API group such as Certificate.cert-manager.io, or an object such as Role/reader"#,
            ],
        ),
        bad(
            "a policy for an object without a name",
            spec("objectPolicies: {Role/: {drift: report}}"),
            Schema,
            &[
                r#"document 1, line 6, column 20: spec.objectPolicies["Role/"]: must be a kind such as Role, with its API group such as Certificate.cert-manager.io, or an object such as Role/reader"#,
            ],
        ),
        bad(
            "an unknown way of removal, and no time for it",
            spec("removal: {objects: orphan, deadlineSeconds: 0}"),
            Schema,
            &[
                r#"document 1, line 6, column 13: spec.removal.objects: must be delete or keep (found "orphan")"#,
                r#"document 1, line 6, column 30: spec.removal.deadlineSeconds: must be from 1 to 31622400 (found "0")"#,
            ],
        ),
        bad(
            "an admin cloud with users and more",
            spec(
                "level: admin\n  namespace: a\n  objectPolicies: {Namespace: {existing: adopt}}\n  containerDefaults: {limits: {cpu: 1}}\n  labels: {a: b}\n  users: [{name: a}]\n  permissions: [{name: a, apiGroups: [''], resources: [pods], verbs: [get]}]\n  quotas: [{name: a, hard: {pods: 1}}]\n  manifests: [{apiVersion: v1, kind: ConfigMap, metadata: {name: a}}]\n  serviceMesh: {}",
            ),
            Schema,
            &[
                "document 1, line 7, column 3: spec.namespace: an admin cloud uses its clusters as they are and has none of this",
                "document 1, line 8, column 3: spec.objectPolicies: an admin cloud uses its clusters as they are and has none of this",
                "document 1, line 9, column 3: spec.containerDefaults: an admin cloud uses its clusters as they are and has none of this",
                "document 1, line 10, column 3: spec.labels: an admin cloud uses its clusters as they are and has none of this",
                "document 1, line 11, column 3: spec.users: an admin cloud uses its clusters as they are and has none of this",
                "document 1, line 12, column 3: spec.permissions: an admin cloud uses its clusters as they are and has none of this",
                "document 1, line 13, column 3: spec.quotas: an admin cloud uses its clusters as they are and has none of this",
                "document 1, line 14, column 3: spec.manifests: an admin cloud uses its clusters as they are and has none of this",
                "document 1, line 15, column 3: spec.serviceMesh: an admin cloud uses its clusters as they are and has none of this",
            ],
        ),
        bad(
            "labels that Kubernetes would refuse",
            spec("labels: {'a b': c, a: '-', 'A/b': c}"),
            Schema,
            &[
                r#"document 1, line 6, column 12: spec.labels["a b"]: must be a Kubernetes qualified name: an optional DNS subdomain and '/', then 1 to 63 of letters, digits, '-', '_' and '.', beginning and ending with a letter or digit (found "a b")"#,
                r#"document 1, line 6, column 22: spec.labels["a"]: a label value is empty, or 1 to 63 of letters, digits, '-', '_' and '.', beginning and ending with a letter or digit (found "-")"#,
                r#"document 1, line 6, column 30: spec.labels["A/b"]: must be a Kubernetes qualified name: an optional DNS subdomain and '/', then 1 to 63 of letters, digits, '-', '_' and '.', beginning and ending with a letter or digit (found "A/b")"#,
            ],
        ),
        bad(
            "labels that are not the document's to say",
            spec("labels:\n    kubernetes.io/metadata.name: a\n    dcm.internal/owner: a"),
            Schema,
            &[
                r#"document 1, line 7, column 5: spec.labels["kubernetes.io/metadata.name"]: is written by the API server itself (found "kubernetes.io/metadata.name")"#,
                r#"document 1, line 8, column 5: spec.labels["dcm.internal/owner"]: labels under dcm.internal mark what is ours (found "dcm.internal/owner")"#,
            ],
        ),
        bad(
            "65 labels",
            spec(&format!(
                "labels: {{{}}}",
                (0..65).map(|index| format!("a{index}: b,")).collect::<String>()
            )),
            Schema,
            &["document 1, line 6, column 3: spec.labels: must be at most 64 labels"],
        ),
    ]
}

fn users() -> Vec<BadDocument> {
    vec![
        bad(
            "a user's name with a slash",
            spec("users: [{name: a/b}]"),
            Schema,
            &[
                r#"document 1, line 6, column 12: spec.users[0].name: a user name is 1 to 128 of letters, digits, '-', '_' and '.', beginning and ending with a letter or digit (found "a/b")"#,
            ],
        ),
        bad(
            "two users of one name",
            spec("users: [{name: a}, {name: b}, {name: a, type: token}]"),
            Reader,
            &[r#"document 1, line 6, column 34: spec.users[2].name: is used twice in this list (found "a")"#],
        ),
        bad(
            "an unknown type of user",
            spec("users: [{name: a, type: password}]"),
            Schema,
            &[
                r#"document 1, line 6, column 21: spec.users[0].type: must be certificate or token (found "password")"#,
            ],
        ),
        bad(
            "user name and password",
            spec("users: [{name: a, type: UNPW}]"),
            Schema,
            &[
                r#"document 1, line 6, column 21: spec.users[0].type: user name and password can't be served: Kubernetes dropped basic authentication in 1.19; use certificate or token (found "UNPW")"#,
            ],
        ),
        bad(
            "a type of key that is made nowhere",
            spec("users: [{name: a, key: rsa-1024}]"),
            Schema,
            &[
                r#"document 1, line 6, column 21: spec.users[0].key: must be ecdsa-p256, rsa-2048, rsa-3072 or rsa-4096 (found "rsa-1024")"#,
            ],
        ),
        bad(
            "a key for a token user",
            spec("users: [{name: a, key: rsa-3072, type: token}]"),
            Schema,
            &[
                r#"document 1, line 6, column 21: spec.users[0].key: a token user has no key (found "rsa-3072")"#,
            ],
        ),
        bad(
            "a lifetime under ten minutes",
            spec("users: [{name: a, lifetimeSeconds: 599}]"),
            Schema,
            &[
                r#"document 1, line 6, column 21: spec.users[0].lifetimeSeconds: must be 600 to 2147483647 seconds (found "599")"#,
            ],
        ),
        bad(
            "a lifetime that no request can hold",
            spec("users: [{name: a, lifetimeSeconds: 2147483648}]"),
            Schema,
            &[
                r#"document 1, line 6, column 21: spec.users[0].lifetimeSeconds: must be 600 to 2147483647 seconds (found "2147483648")"#,
            ],
        ),
        bad(
            "a signing request that is none",
            spec("users: [{name: a, csr: please sign}]"),
            Schema,
            &[
                "document 1, line 6, column 21: spec.users[0].csr: must be one PEM block of type CERTIFICATE REQUEST, with no other block before it and nothing after it",
            ],
        ),
        bad(
            "a signing request of a token user",
            spec("users: [{name: a, type: token, csr: please sign}]"),
            Schema,
            &[
                "document 1, line 6, column 34: spec.users[0].csr: a token user has no certificate signing request",
            ],
        ),
        bad(
            "a private key instead of a signing request",
            spec(&format!(
                "users:\n  - name: a\n    csr: |\n      -----BEGIN {0}-----\n      AAAA\n      -----END {0}-----",
                "PRIVATE KEY"
            )),
            Schema,
            &[
                "document 1, line 8, column 5: spec.users[0].csr: holds a private key: consider it lost, make a new one, and send the certificate signing request alone",
            ],
        ),
        bad(
            "a signing request of more than 16 KiB",
            spec(&format!("users: [{{name: a, csr: {}}}]", "a".repeat(16 * 1024 + 1))),
            Schema,
            &["document 1, line 6, column 21: spec.users[0].csr: must be at most 16384 bytes long"],
        ),
        bad(
            "501 users",
            spec(&format!(
                "users: [{}]",
                (0..501).map(|index| format!("{{name: a{index}}},")).collect::<String>()
            )),
            Schema,
            &[r#"document 1, line 6, column 3: spec.users: must have at most 500 entries (found "501")"#],
        ),
    ]
}

fn permissions() -> Vec<BadDocument> {
    vec![
        bad(
            "a permission that permits nothing",
            spec("permissions: [{name: a, apiGroups: [], resources: [], verbs: []}]"),
            Schema,
            &[
                "document 1, line 6, column 27: spec.permissions[0].apiGroups: must not be empty: the permission would permit nothing",
                "document 1, line 6, column 42: spec.permissions[0].resources: must not be empty: the permission would permit nothing",
                "document 1, line 6, column 57: spec.permissions[0].verbs: must not be empty: the permission would permit nothing",
            ],
        ),
        bad(
            "a permission for nobody",
            spec(
                "users: [{name: a}]\n  permissions: [{name: a, users: [], apiGroups: [''], resources: [pods], verbs: [get]}]",
            ),
            Schema,
            &[
                "document 1, line 7, column 27: spec.permissions[0].users: must name at least one user; leave it out when the permission holds for all",
            ],
        ),
        bad(
            "a permission for somebody unknown",
            spec(
                "users: [{name: a}]\n  permissions: [{name: a, users: [a, b], apiGroups: [''], resources: [pods], verbs: [get]}]",
            ),
            Reader,
            &[
                r#"document 1, line 7, column 38: spec.permissions[0].users[1]: is not a user of this logical cloud (found "b")"#,
            ],
        ),
        bad(
            "two permissions of one name",
            spec(
                "permissions:\n  - {name: a, apiGroups: [''], resources: [pods], verbs: [get]}\n  - {name: a, apiGroups: [''], resources: [pods], verbs: [get]}",
            ),
            Reader,
            &[
                r#"document 1, line 8, column 6: spec.permissions[1].name: is used twice in this list (found "a")"#,
            ],
        ),
        bad(
            "a cluster-wide permission in a standard cloud",
            spec(
                "level: standard\n  permissions: [{name: a, clusterWide: true, apiGroups: [''], resources: [pods], verbs: [get]}]",
            ),
            Schema,
            &[
                r#"document 1, line 7, column 27: spec.permissions[0].clusterWide: a standard cloud's permissions stay in its namespace; make the cloud privileged (found "true")"#,
            ],
        ),
        bad(
            "a permission elsewhere in a standard cloud",
            spec(
                "permissions: [{name: a, namespace: other, apiGroups: [''], resources: [pods], verbs: [get]}]",
            ),
            Reader,
            &[
                r#"document 1, line 6, column 27: spec.permissions[0].namespace: a standard cloud's permissions stay in its namespace; make the cloud privileged (found "other")"#,
            ],
        ),
        bad(
            "a permission here and everywhere",
            spec(
                "level: privileged\n  permissions: [{name: a, namespace: other, clusterWide: true, apiGroups: [''], resources: [pods], verbs: [get]}]",
            ),
            Schema,
            &[
                r#"document 1, line 7, column 27: spec.permissions[0].namespace: a permission holds in a namespace or cluster-wide, not both (found "other")"#,
            ],
        ),
        bad(
            "a permission in a namespace without a name",
            spec(
                "level: privileged\n  permissions: [{name: a, namespace: '', apiGroups: [''], resources: [pods], verbs: [get]}]",
            ),
            Schema,
            &[
                "document 1, line 7, column 27: spec.permissions[0].namespace: must not be empty: leave it out for the cloud's namespace, or say clusterWide",
            ],
        ),
        bad(
            "groups, resources, names and verbs that are none",
            spec(
                "permissions:\n  - {name: a, apiGroups: [/v1], resources: [Pods, pods/, pods/*], resourceNames: [a/b], verbs: [GET]}",
            ),
            Schema,
            &[
                r#"document 1, line 7, column 27: spec.permissions[0].apiGroups[0]: must be empty (the core group), a DNS subdomain such as apps, or * (found "/v1")"#,
                r#"document 1, line 7, column 45: spec.permissions[0].resources[0]: must be a resource in lower case such as pods, pods/log or */scale, or * (found "Pods")"#,
                r#"document 1, line 7, column 51: spec.permissions[0].resources[1]: must be a resource in lower case such as pods, pods/log or */scale, or * (found "pods/")"#,
                r#"document 1, line 7, column 58: spec.permissions[0].resources[2]: must be a resource in lower case such as pods, pods/log or */scale, or * (found "pods/*")"#,
                r#"document 1, line 7, column 83: spec.permissions[0].resourceNames[0]: must be an object's name: not empty, no '/' and no white space, at most 253 characters (found "a/b")"#,
                r#"document 1, line 7, column 97: spec.permissions[0].verbs[0]: must be a verb in lower case such as get, or * (found "GET")"#,
            ],
        ),
        bad(
            "paths of the API server",
            spec(
                "permissions: [{name: a, nonResourceURLs: [/metrics], apiGroups: [''], resources: [pods], verbs: [get]}]",
            ),
            Schema,
            &[
                r#"document 1, line 6, column 27: spec.permissions[0].nonResourceURLs: is not supported: paths of the API server belong to no logical cloud (found "/metrics")"#,
            ],
        ),
        bad(
            "101 verbs",
            spec(&format!(
                "permissions: [{{name: a, apiGroups: [apps], resources: [pods], verbs: [{}]}}]",
                "get,".repeat(101)
            )),
            Schema,
            &["document 1, line 6, column 65: spec.permissions[0].verbs: must have at most 100 entries"],
        ),
    ]
}

fn quotas() -> Vec<BadDocument> {
    vec![
        bad(
            "a quota of nothing",
            spec("quotas: [{name: a, hard: {}}]"),
            Schema,
            &["document 1, line 6, column 22: spec.quotas[0].hard: must have 1 to 100 keys"],
        ),
        bad(
            "two quotas of one name",
            spec("quotas: [{name: a, hard: {pods: 1}}, {name: a, hard: {pods: 2}}]"),
            Reader,
            &[
                r#"document 1, line 6, column 41: spec.quotas[1].name: is used twice in this list (found "a")"#,
            ],
        ),
        bad(
            "quantities that are none",
            spec("quotas: [{name: a, hard: {limits.cpu: much, limits.memory: 1 GB, requests.cpu: 1e30}}]"),
            Schema,
            &[
                r#"document 1, line 6, column 29: spec.quotas[0].hard["limits.cpu"]: must be a Kubernetes quantity such as 2, 500m, 1.5Gi or 1e3 (found "much")"#,
                r#"document 1, line 6, column 47: spec.quotas[0].hard["limits.memory"]: must be a Kubernetes quantity such as 2, 500m, 1.5Gi or 1e3 (found "1 GB")"#,
                r#"document 1, line 6, column 68: spec.quotas[0].hard["requests.cpu"]: must be at most 2^63-1 in magnitude, with no more digits than can be held exactly (found "1e30")"#,
            ],
        ),
        bad(
            "a negative quota",
            spec("quotas: [{name: a, hard: {limits.cpu: -1}}]"),
            Schema,
            &[
                r#"document 1, line 6, column 29: spec.quotas[0].hard["limits.cpu"]: must not be negative (found "-1")"#,
            ],
        ),
        bad(
            "a fraction of a pod",
            spec("quotas: [{name: a, hard: {pods: 1.5}}]"),
            Reader,
            &[
                r#"document 1, line 6, column 29: spec.quotas[0].hard["pods"]: counts objects and must be a whole number (found "1.5")"#,
            ],
        ),
        bad(
            "a quota key that Kubernetes doesn't know",
            spec("quotas: [{name: a, hard: {pod: 1, 'a b/c': 1}}]"),
            Schema,
            &[
                r#"document 1, line 6, column 29: spec.quotas[0].hard["pod"]: is no ResourceQuota key: without a domain it must be one that Kubernetes knows (found "pod")"#,
                r#"document 1, line 6, column 37: spec.quotas[0].hard["a b/c"]: must be a Kubernetes qualified name: an optional DNS subdomain and '/', then 1 to 63 of letters, digits, '-', '_' and '.', beginning and ending with a letter or digit (found "a b/c")"#,
            ],
        ),
    ]
}

fn key_values_and_manifests() -> Vec<BadDocument> {
    vec![
        bad(
            "two sets of key-value pairs of one name",
            spec("keyValues: [{name: a, kv: []}, {name: a, kv: []}]"),
            Reader,
            &[
                r#"document 1, line 6, column 35: spec.keyValues[1].name: is used twice in this list (found "a")"#,
            ],
        ),
        bad(
            "key-value pairs that are texts",
            spec("keyValues: [{name: a, kv: [a=b]}]"),
            Schema,
            &["document 1, line 6, column 30: spec.keyValues[0].kv[0]: must be a mapping"],
        ),
        bad(
            "more than 64 KiB of key-value pairs",
            spec(&format!("keyValues: [{{name: a, kv: [{{a: {}}}]}}]", "a".repeat(64 * 1024))),
            Reader,
            &["document 1, line 6, column 25: spec.keyValues[0].kv: must be at most 65536 bytes of JSON"],
        ),
        bad(
            "a manifest without a kind and a name",
            spec("manifests: [{apiVersion: v1, metadata: {}}]"),
            Schema,
            &[
                "document 1, line 6, column 15: spec.manifests[0].kind: is missing",
                "document 1, line 6, column 32: spec.manifests[0].metadata.name: is missing",
            ],
        ),
        bad(
            "a manifest that is a Namespace",
            spec("manifests: [{apiVersion: v1, kind: Namespace, metadata: {name: a}}]"),
            Schema,
            &[
                r#"document 1, line 6, column 32: spec.manifests[0].kind: has no namespace: an extra manifest lives in the cloud's namespace (found "Namespace")"#,
            ],
        ),
        bad(
            "a manifest that is a Secret",
            spec("manifests: [{apiVersion: v1, kind: Secret, metadata: {name: a}}]"),
            Schema,
            &[
                r#"document 1, line 6, column 32: spec.manifests[0].kind: would lie in the documents in clear: create Secrets in the cluster (found "Secret")"#,
            ],
        ),
        bad(
            "a manifest that gives rights",
            spec("manifests: [{apiVersion: rbac.authorization.k8s.io/v1, kind: Role, metadata: {name: a}}]"),
            Reader,
            &[
                r#"document 1, line 6, column 58: spec.manifests[0].kind: gives rights: say it as a permission, or make the cloud privileged (found "Role")"#,
            ],
        ),
        bad(
            "a manifest that gives rights in the whole cluster",
            spec(
                "level: privileged\n  manifests: [{apiVersion: rbac.authorization.k8s.io/v1, kind: ClusterRole, metadata: {name: a}}]",
            ),
            Reader,
            &[
                r#"document 1, line 7, column 58: spec.manifests[0].kind: has no namespace: an extra manifest lives in the cloud's namespace (found "ClusterRole")"#,
            ],
        ),
        bad(
            "a manifest that changes limits",
            spec("manifests: [{apiVersion: v1, kind: ResourceQuota, metadata: {name: a}}]"),
            Reader,
            &[
                r#"document 1, line 6, column 32: spec.manifests[0].kind: changes limits: say it as a quota, or make the cloud privileged (found "ResourceQuota")"#,
            ],
        ),
        bad(
            "a manifest in another namespace",
            spec("manifests: [{apiVersion: v1, kind: ConfigMap, metadata: {name: a, namespace: other}}]"),
            Reader,
            &[
                r#"document 1, line 6, column 69: spec.manifests[0].metadata.namespace: must be bad, the cloud's namespace; left out, it is filled in (found "other")"#,
            ],
        ),
        bad(
            "a manifest that a cluster wrote",
            spec("manifests:\n  - apiVersion: v1\n    kind: ConfigMap\n    metadata: {name: a, uid: 1-2-3}"),
            Reader,
            &[
                "document 1, line 9, column 25: spec.manifests[0].metadata.uid: is written by the API server, not desired",
            ],
        ),
        bad(
            "a list of manifests as a manifest",
            spec("manifests: [{apiVersion: v1, kind: ConfigMapList, metadata: {name: a}, items: []}]"),
            Reader,
            &[
                r#"document 1, line 6, column 32: spec.manifests[0].kind: is a list: give each object by itself (found "ConfigMapList")"#,
            ],
        ),
        bad(
            "one manifest twice",
            spec(
                "manifests:\n  - {apiVersion: v1, kind: ConfigMap, metadata: {name: a}}\n  - {apiVersion: v1, kind: ConfigMap, metadata: {name: a, namespace: bad}}",
            ),
            Reader,
            &[
                r#"document 1, line 8, column 5: spec.manifests[1]: is in the list twice (found "ConfigMap bad/a")"#,
            ],
        ),
    ]
}

fn clusters() -> Vec<BadDocument> {
    vec![
        bad(
            "a cluster's name with a space",
            spec("clusters: [{provider: a, cluster: my cluster}]"),
            Schema,
            &[
                r#"document 1, line 6, column 28: spec.clusters[0].cluster: a cluster name is 1 to 128 of letters, digits, '-', '_' and '.', beginning and ending with a letter or digit (found "my cluster")"#,
            ],
        ),
        bad(
            "a provider's name with a slash",
            spec("clusters: [{name: a, provider: a/b, cluster: c}]"),
            Schema,
            &[
                r#"document 1, line 6, column 24: spec.clusters[0].provider: a cluster provider name is 1 to 128 of letters, digits, '-', '_' and '.', beginning and ending with a letter or digit (found "a/b")"#,
            ],
        ),
        bad(
            "two references of one name",
            spec("clusters: [{name: a, provider: p, cluster: b}, {name: a, provider: p, cluster: c}]"),
            Reader,
            &[
                r#"document 1, line 6, column 51: spec.clusters[1].name: is used twice in this list (found "a")"#,
            ],
        ),
        bad(
            "two references to one cluster",
            spec("clusters: [{name: a, provider: p, cluster: c}, {name: b, provider: p, cluster: c}]"),
            Reader,
            &[
                r#"document 1, line 6, column 73: spec.clusters[1].cluster: is in the cloud already, by another reference (found "p/c")"#,
            ],
        ),
        bad(
            "a default name that is taken",
            spec(
                "clusters:\n  - {name: c, provider: p, cluster: a}\n  - {name: p-c, provider: p, cluster: b}\n  - {provider: p, cluster: c}",
            ),
            Reader,
            &[
                r#"document 1, line 9, column 5: spec.clusters[2].name: is the default name of this reference and another one's name: give it a name (found "p-c")"#,
            ],
        ),
        bad(
            "a load balancer's name instead of its address",
            spec("clusters: [{provider: p, cluster: c, loadBalancer: lb.example.com}]"),
            Schema,
            &[
                r#"document 1, line 6, column 40: spec.clusters[0].loadBalancer: must be an IPv4 or IPv6 address; leave it out when it is not known (found "lb.example.com")"#,
            ],
        ),
        bad(
            "a selector with labels that Kubernetes would refuse",
            spec("clusterSelector: {matchLabels: {'a b': c, a: '-'}}"),
            Schema,
            &[
                r#"document 1, line 6, column 35: spec.clusterSelector.matchLabels["a b"]: must be a Kubernetes qualified name: an optional DNS subdomain and '/', then 1 to 63 of letters, digits, '-', '_' and '.', beginning and ending with a letter or digit (found "a b")"#,
                r#"document 1, line 6, column 45: spec.clusterSelector.matchLabels["a"]: a label value is empty, or 1 to 63 of letters, digits, '-', '_' and '.', beginning and ending with a letter or digit (found "-")"#,
            ],
        ),
        bad(
            "a selector's operator in another spelling",
            spec("clusterSelector: {matchExpressions: [{key: a, operator: in, values: [b]}]}"),
            Schema,
            &[
                r#"document 1, line 6, column 49: spec.clusterSelector.matchExpressions[0].operator: must be In, NotIn, Exists or DoesNotExist (found "in")"#,
            ],
        ),
        bad(
            "a selector without the values that it needs",
            spec("clusterSelector: {matchExpressions: [{key: a, operator: NotIn}]}"),
            Schema,
            &[
                "document 1, line 6, column 40: spec.clusterSelector.matchExpressions[0].values: must not be empty for In and NotIn",
            ],
        ),
        bad(
            "a selector with values that it can't use",
            spec("clusterSelector: {matchExpressions: [{key: a, operator: Exists, values: [b]}]}"),
            Schema,
            &[
                "document 1, line 6, column 67: spec.clusterSelector.matchExpressions[0].values: must be empty for Exists and DoesNotExist",
            ],
        ),
        bad(
            "65 terms of a selector",
            spec(&format!(
                "clusterSelector: {{matchLabels: {{{}}}}}",
                (0..65).map(|index| format!("a{index}: b,")).collect::<String>()
            )),
            Schema,
            &["document 1, line 6, column 3: spec.clusterSelector: must have at most 64 terms"],
        ),
    ]
}

fn several() -> Vec<BadDocument> {
    vec![bad(
        "several mistakes at once",
        spec(
            "level: high\n  namespace: A\n  users: [{name: a, type: UNPW}]\n  permissions: [{name: a/b, users: [c], apiGroups: [''], resources: [pods], verbs: []}]\n  clusters: [{provider: p, cluster: c, loadBalancer: here}]",
        ),
        Schema,
        &[
            r#"document 1, line 6, column 3: spec.level: must be standard, privileged or admin (or EMCO's 1 or 0) (found "high")"#,
            r#"document 1, line 7, column 3: spec.namespace: a namespace is 1 to 63 of lower-case letters, digits and '-', beginning and ending with a letter or digit (RFC 1123 label) (found "A")"#,
            r#"document 1, line 8, column 21: spec.users[0].type: user name and password can't be served: Kubernetes dropped basic authentication in 1.19; use certificate or token (found "UNPW")"#,
            r#"document 1, line 9, column 18: spec.permissions[0].name: a permission name is 1 to 128 of letters, digits, '-', '_' and '.', beginning and ending with a letter or digit (found "a/b")"#,
            r#"document 1, line 9, column 37: spec.permissions[0].users[0]: is not a user of this logical cloud (found "c")"#,
            "document 1, line 9, column 77: spec.permissions[0].verbs: must not be empty: the permission would permit nothing",
            r#"document 1, line 10, column 40: spec.clusters[0].loadBalancer: must be an IPv4 or IPv6 address; leave it out when it is not known (found "here")"#,
        ],
    )]
}
