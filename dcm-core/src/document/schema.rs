//! The JSON Schema of the document: its types, with the model's limits and patterns.

use std::sync::LazyLock;

use serde_json::{Value, json};

use crate::app_context::Existing;
use crate::logical_cloud::{CONTAINER_RESOURCES, limits};
use crate::name::{API_NAME_MAX, DNS_LABEL_MAX, DNS_SUBDOMAIN_MAX, DNS_ZONE_PATTERN};
use crate::port::key_source::KeyType;
use crate::shape::{EMBEDDED_RESOURCE, schema_of};

use super::written::Written;
use super::{API_VERSION, KIND};

const API_NAME: &str = "^[A-Za-z0-9]([-A-Za-z0-9_.]*[A-Za-z0-9])?$";
const DNS_LABEL: &str = "^[a-z0-9]([-a-z0-9]*[a-z0-9])?$";
const LABEL_VALUE: &str = "^([A-Za-z0-9]([-A-Za-z0-9_.]*[A-Za-z0-9])?)?$";
const QUALIFIED_NAME: &str = r"^([a-z0-9]([-a-z0-9]*[a-z0-9])?(\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*/)?[A-Za-z0-9]([-A-Za-z0-9_.]{0,61}[A-Za-z0-9])?$";
/// Labels of a namespace that are not the document's to say.
const OWN_LABEL: &str = r"^(dcm\.internal/|kubernetes\.io/metadata\.name$)";
const API_GROUP: &str = r"^(\*|[a-z0-9]([-a-z0-9]*[a-z0-9])?(\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*)?$";
const RESOURCE: &str = r"^(\*|[-a-z0-9.]+)(/[-a-z0-9.]+)?$";
const OBJECT_NAME: &str = "^[!-.0-~]+$";
const POLICY_TARGET: &str = r"^[A-Z][A-Za-z0-9]*(\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*(/[-A-Za-z0-9._:~]+)?$";
const VERB: &str = r"^(\*|[-a-z0-9.]+)$";
const QUANTITY: &str = r"^\+?([0-9]+(\.[0-9]*)?|\.[0-9]+)([numkMGTPE]|[KMGTPE]i|[eE][+-]?[0-9]+)?$";
const REQUEST: &str =
    r"^(\s*|[\s\S]*\n)-----BEGIN CERTIFICATE REQUEST-----[\s\S]*-----END CERTIFICATE REQUEST-----\s*$";

/// The JSON Schema (draft 2020-12) of the document.
///
/// It accepts every document that [`to_yaml`](super::to_yaml) and [`to_json`](super::to_json) write. It refuses much of
/// what [`parse`](super::parse()) refuses, but not all: a schema can't say that a name is used twice. It is a little
/// stricter than the reader, too: it knows no empty text in the place of an absent one.
#[must_use]
pub fn json_schema() -> &'static Value {
    static SCHEMA: LazyLock<Value> = LazyLock::new(generate);
    &SCHEMA
}

fn generate() -> Value {
    let mut schema = schema_of::<Written>();
    for (pointer, keywords) in rules() {
        let target = schema.pointer_mut(&pointer).and_then(Value::as_object_mut);
        debug_assert!(target.is_some(), "the schema has no {pointer}");
        if let (Some(target), Value::Object(keywords)) = (target, keywords) {
            target.extend(keywords);
        }
    }
    schema
}

/// Keywords to add, each with the JSON pointer of the schema that gets them.
fn rules() -> Vec<(String, Value)> {
    let mut rules = vec![
        (String::new(), root()),
        ("/properties/apiVersion".to_owned(), json!({"const": API_VERSION})),
        ("/properties/kind".to_owned(), json!({"const": KIND})),
        ("/properties/metadata/properties/project".to_owned(), api_name()),
    ];
    notes("/properties/metadata", &["name"], &mut rules);
    spec(&mut rules);
    policies(&mut rules);
    users(&mut rules);
    permissions(&mut rules);
    quotas_and_key_values(&mut rules);
    clusters(&mut rules);
    manifests(&mut rules);
    rules
}

/// The document's fields, and that the name of a cloud without a namespace of its own is one.
fn root() -> Value {
    let is_admin = json!({"properties": {"level": {"enum": ["admin", "0"]}}, "required": ["level"]});
    json!({
        "required": ["apiVersion", "kind", "metadata", "spec"],
        "if": {"properties": {"spec": {"anyOf": [{"required": ["namespace"]}, is_admin]}}},
        "else": {"properties": {"metadata": {"properties": {"name": namespace()}}}},
    })
}

fn namespace() -> Value {
    json!({"pattern": DNS_LABEL, "maxLength": DNS_LABEL_MAX, "not": {"pattern": "^(default$|kube-)"}})
}

fn api_name() -> Value {
    json!({"pattern": API_NAME, "maxLength": API_NAME_MAX})
}

fn labels(most: usize) -> Value {
    let value = json!({"type": "string", "pattern": LABEL_VALUE, "maxLength": DNS_LABEL_MAX});
    json!({"propertyNames": {"pattern": QUALIFIED_NAME}, "maxProperties": most, "additionalProperties": value})
}

/// Name and notes of something, and which fields it must have.
fn notes(of: &str, required: &[&str], rules: &mut Vec<(String, Value)>) {
    rules.push((of.to_owned(), json!({"required": required})));
    let mut field = |name: &str, keywords| rules.push((format!("{of}/properties/{name}"), keywords));
    field("name", api_name());
    field("description", json!({"maxLength": limits::DESCRIPTION_MAX}));
    field("userData1", json!({"maxLength": limits::USER_DATA_MAX}));
    field("userData2", json!({"maxLength": limits::USER_DATA_MAX}));
}

/// A list of the specification and the pointer of its items.
fn list(name: &str, most: usize, required: &[&str], rules: &mut Vec<(String, Value)>) -> String {
    rules.push((format!("/properties/spec/properties/{name}"), json!({"maxItems": most})));
    let items = format!("/properties/spec/properties/{name}/items");
    notes(&items, required, rules);
    items
}

fn spec(rules: &mut Vec<(String, Value)>) {
    let mut field = |name: &str, keywords| rules.push((format!("/properties/spec{name}"), keywords));
    field("/properties/namespace", namespace());
    field("/properties/removal/properties/objects", json!({"enum": ["delete", "keep"]}));
    let seconds = json!({"minimum": limits::DEADLINE_SECONDS_MIN, "maximum": limits::DEADLINE_SECONDS_MAX});
    field("/properties/removal/properties/deadlineSeconds", seconds);
    field("/properties/level", json!({"enum": ["standard", "privileged", "admin", "1", "0"]}));
    for sort in ["requests", "limits"] {
        let amounts =
            json!({"propertyNames": {"enum": CONTAINER_RESOURCES}, "additionalProperties": quantity()});
        field(&format!("/properties/containerDefaults/properties/{sort}"), amounts);
    }
    field("/properties/serviceMesh/properties/key", key_type());
    field(
        "/properties/serviceMesh/properties/dns/properties/zone",
        json!({"pattern": DNS_ZONE_PATTERN, "maxLength": DNS_SUBDOMAIN_MAX}),
    );
    field("/properties/labels", labels(limits::LABELS_MAX));
    let key = json!({"pattern": QUALIFIED_NAME, "not": {"pattern": OWN_LABEL}});
    field("/properties/labels", json!({"propertyNames": key}));
    let none = json!({"maxItems": 0});
    field(
        "",
        json!({"allOf": [
            {
                "if": {"properties": {"level": {"enum": ["admin", "0"]}}, "required": ["level"]},
                "then": {"properties": {
                    "namespace": false, "objectPolicies": {"maxProperties": 0}, "containerDefaults": false, "labels": {"maxProperties": 0}, "users": none,
                    "permissions": none, "quotas": none, "manifests": none, "serviceMesh": false,
                }},
            },
            {
                "if": {"properties": {"level": {"const": "standard"}}},
                "then": {"properties": {"permissions": {"items": {"properties": {"clusterWide": {"const": false}}}}}},
            },
        ]}),
    );
}

fn policies(rules: &mut Vec<(String, Value)>) {
    let policies = "/properties/spec/properties/objectPolicies";
    let named = json!({
        "maxProperties": limits::POLICIES_MAX,
        "propertyNames": {"pattern": POLICY_TARGET, "maxLength": limits::POLICY_TARGET_BYTES_MAX},
    });
    rules.push((policies.to_owned(), named));
    let mut field =
        |name: &str, keywords| rules.push((format!("{policies}/additionalProperties{name}"), keywords));
    field("/properties/existing", json!({"enum": Existing::ALL.map(Existing::as_str)}));
    field("/properties/drift", json!({"enum": ["correct", "report"]}));
    field("/properties/reportOnly", json!({"maxItems": limits::REPORT_ONLY_MAX}));
    let reports = json!({"properties": {"drift": {"const": "report"}}, "required": ["drift"]});
    field("", json!({"if": reports, "then": {"properties": {"reportOnly": {"maxItems": 0}}}}));
}

fn users(rules: &mut Vec<(String, Value)>) {
    let items = list("users", limits::USERS_MAX, &["name"], rules);
    let token = any_case("token");
    let kinds = format!("^({}|{token})$", any_case("certificate"));
    let mut field = |name: &str, keywords| rules.push((format!("{items}{name}"), keywords));
    field("/properties/type", json!({"pattern": kinds}));
    field("/properties/csr", json!({"pattern": REQUEST, "maxLength": limits::CSR_PEM_BYTES_MAX}));
    field(
        "/properties/lifetimeSeconds",
        json!({"minimum": limits::LIFETIME_SECONDS_MIN, "maximum": limits::LIFETIME_SECONDS_MAX}),
    );
    field("/properties/key", key_type());
    let is_token = json!({"properties": {"type": {"pattern": format!("^{token}$")}}, "required": ["type"]});
    field(
        "",
        json!({"if": is_token, "then": {"properties": {"csr": false, "key": false}}, "not": {"required": ["csr", "key"]}}),
    );
}

fn key_type() -> Value {
    json!({"enum": KeyType::ALL.map(KeyType::as_str)})
}

/// A pattern of a word in any case.
fn any_case(word: &str) -> String {
    word.chars().map(|letter| format!("[{}{letter}]", letter.to_ascii_uppercase())).collect()
}

fn permissions(rules: &mut Vec<(String, Value)>) {
    let required = ["name", "apiGroups", "resources", "verbs"];
    let items = list("permissions", limits::PERMISSIONS_MAX, &required, rules);
    let mut field = |name: &str, keywords| rules.push((format!("{items}{name}"), keywords));
    let text = |pattern: &str| json!({"type": "string", "pattern": pattern, "maxLength": DNS_SUBDOMAIN_MAX});
    for (name, pattern, least) in [
        ("apiGroups", API_GROUP, 1),
        ("resources", RESOURCE, 1),
        ("resourceNames", OBJECT_NAME, 0),
        ("verbs", VERB, 1),
    ] {
        let keywords = json!({"minItems": least, "maxItems": limits::RULE_ITEMS_MAX, "items": text(pattern)});
        field(&format!("/properties/{name}"), keywords);
    }
    field("/properties/nonResourceURLs", json!({"maxItems": 0}));
    field("/properties/users", json!({"minItems": 1}));
    field("/properties/users/items", api_name());
    field("/properties/namespace", json!({"pattern": DNS_LABEL, "maxLength": DNS_LABEL_MAX}));
    let both =
        json!({"properties": {"clusterWide": {"const": true}}, "required": ["clusterWide", "namespace"]});
    field("", json!({"not": both}));
}

fn quantity() -> Value {
    json!({"type": ["string", "number"], "pattern": QUANTITY, "minimum": 0})
}

fn quotas_and_key_values(rules: &mut Vec<(String, Value)>) {
    let items = list("quotas", limits::QUOTAS_MAX, &["name", "hard"], rules);
    let hard = json!({
        "minProperties": 1, "maxProperties": limits::QUOTA_KEYS_MAX,
        "propertyNames": {"pattern": QUALIFIED_NAME}, "additionalProperties": quantity(),
    });
    rules.push((format!("{items}/properties/hard"), hard));
    list("keyValues", limits::KEY_VALUES_MAX, &["name", "kv"], rules);
}

fn clusters(rules: &mut Vec<(String, Value)>) {
    let items = list("clusters", limits::REFERENCES_MAX, &["provider", "cluster"], rules);
    let mut field = |name: &str, keywords| rules.push((format!("{items}/properties/{name}"), keywords));
    field("provider", api_name());
    field("cluster", api_name());
    field("loadBalancer", json!({"pattern": "^[0-9A-Fa-f:.]*$"}));
    let selector = "/properties/spec/properties/clusterSelector";
    let mut field = |name: &str, keywords| rules.push((format!("{selector}/properties/{name}"), keywords));
    field("matchLabels", labels(limits::SELECTOR_TERMS_MAX));
    field("matchExpressions", json!({"maxItems": limits::SELECTOR_TERMS_MAX}));
    let value = json!({"type": "string", "pattern": LABEL_VALUE, "maxLength": DNS_LABEL_MAX});
    field("matchExpressions/items/properties/key", json!({"pattern": QUALIFIED_NAME}));
    field(
        "matchExpressions/items/properties/operator",
        json!({"enum": ["In", "NotIn", "Exists", "DoesNotExist"]}),
    );
    field(
        "matchExpressions/items/properties/values",
        json!({"maxItems": limits::SELECTOR_VALUES_MAX, "items": value}),
    );
    field(
        "matchExpressions/items",
        json!({
            "required": ["key", "operator"],
            "if": {"properties": {"operator": {"enum": ["In", "NotIn"]}}},
            "then": {"required": ["values"], "properties": {"values": {"minItems": 1}}},
            "else": {"properties": {"values": {"maxItems": 0}}},
        }),
    );
}

fn manifests(rules: &mut Vec<(String, Value)>) {
    let text = json!({"type": "string", "minLength": 1});
    let metadata = json!({
        "type": "object", "required": ["name"], "properties": {"name": text, "namespace": {"type": "string"}},
    });
    let refused = json!({"apiVersion": {"const": "v1"}, "kind": {"enum": ["Namespace", "Node", "PersistentVolume", "Secret"]}});
    let object = json!({
        "type": "object", "required": ["apiVersion", "kind", "metadata"], EMBEDDED_RESOURCE: true,
        "properties": {"apiVersion": text, "kind": text, "metadata": metadata},
        "not": {"properties": refused, "required": ["apiVersion", "kind"]},
    });
    let keywords = json!({"maxItems": limits::MANIFESTS_MAX, "items": object});
    rules.push(("/properties/spec/properties/manifests".to_owned(), keywords));
}
