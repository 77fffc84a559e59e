//! The rules that an object must keep, as far as our manifests can break them.

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use dcm_core::manifest::ObjectKey;
use dcm_core::name;
use dcm_core::port::answer::Answer;
use dcm_core::port::cluster::Error;
use serde_json::Value;

use super::kind::{Kind, NameRule, RBAC_GROUP};
use super::limits;

/// Shortest lifetime that may be asked for, in seconds: Kubernetes' own limit, for certificates and tokens.
pub(super) const LIFETIME_SECONDS_MIN: i64 = 600;

/// Finalizers without a domain that are Kubernetes' own.
const STANDARD_FINALIZERS: [&str; 3] = ["kubernetes", "orphan", "foregroundDeletion"];

pub(super) fn invalid(message: impl Into<String>) -> Error {
    Error::Invalid { message: Answer::of_rule(message) }
}

/// Checks the name and whether there is a namespace where there must be one.
pub(super) fn key(kind: &Kind, key: &ObjectKey) -> Result<(), Error> {
    let name = &*key.name;
    let is_good = match kind.names {
        NameRule::Label => name::is_dns_label(name),
        NameRule::Subdomain => name::is_dns_subdomain(name),
        NameRule::PathSegment => {
            !name.is_empty() && !matches!(name, "." | "..") && !name.contains(['/', '%'])
        }
    };
    if !is_good {
        return Err(invalid(format!("metadata.name: {name:?} is no name of a {}", kind.gvk.kind)));
    }
    match (&key.namespace, kind.namespaced) {
        (Some(_), true) | (None, false) => Ok(()),
        (None, true) => Err(invalid(format!("metadata.namespace: a {} needs one", kind.gvk.kind))),
        (Some(_), false) => Err(invalid(format!("metadata.namespace: a {} has none", kind.gvk.kind))),
    }
}

/// Checks that the members which are maps or lists are so, before defaults are filled in.
pub(super) fn shape(body: &Value) -> Result<(), Error> {
    let maps = [
        "/metadata",
        "/metadata/labels",
        "/metadata/annotations",
        "/spec",
        "/spec/hard",
        "/data",
        "/roleRef",
    ];
    let lists = ["/metadata/finalizers", "/rules", "/subjects", "/spec/limits", "/spec/usages"];
    let wrong = |paths: &[&'static str], is: fn(&Value) -> bool| {
        paths
            .iter()
            .copied()
            .find(|path| body.pointer(path).is_some_and(|value| !value.is_null() && !is(value)))
    };
    match wrong(&maps, Value::is_object).or(wrong(&lists, Value::is_array)) {
        Some(path) => Err(invalid(format!("{path}: is of another type"))),
        None => Ok(()),
    }
}

/// Checks an object as it would be stored.
pub(super) fn object(kind: &Kind, body: &Value) -> Result<(), Error> {
    metadata(&body["metadata"])?;
    match &*kind.gvk.kind {
        "Role" | "ClusterRole" => rules(&body["rules"], kind.namespaced),
        "LimitRange" => limits::range(&body["spec"]["limits"]),
        "ConfigMap" => config_map(&body["data"]),
        "RoleBinding" | "ClusterRoleBinding" => binding(body),
        "CertificateSigningRequest" => certificate_request(&body["spec"]),
        "ResourceQuota" => limits::quota(&body["spec"]["hard"]),
        "Deployment" => deployment(&body["spec"]),
        _ => Ok(()),
    }
}

/// Checks what must not change.
pub(super) fn change(kind: &Kind, before: &Value, after: &Value) -> Result<(), Error> {
    let immutable: &[&str] = match &*kind.gvk.kind {
        "RoleBinding" | "ClusterRoleBinding" => &["/roleRef"],
        "CertificateSigningRequest" => &["/spec"],
        "Deployment" => &["/spec/selector"],
        _ => &[],
    };
    match immutable.iter().find(|path| before.pointer(path) != after.pointer(path)) {
        Some(path) => Err(invalid(format!("{path}: can't be changed"))),
        None => Ok(()),
    }
}

fn metadata(metadata: &Value) -> Result<(), Error> {
    for (key, value) in metadata["labels"].as_object().into_iter().flatten() {
        if !is_qualified(key) {
            return Err(invalid(format!("metadata.labels: {key:?} is no label key")));
        }
        if !value.as_str().is_some_and(|text| text.is_empty() || name::is_label_value(text)) {
            return Err(invalid(format!("metadata.labels: {value} is no label value")));
        }
    }
    for finalizer in metadata["finalizers"].as_array().into_iter().flatten() {
        let is_known = finalizer.as_str().is_some_and(|name| name.contains('/') && is_qualified(name));
        if !is_known && !STANDARD_FINALIZERS.contains(&finalizer.as_str().unwrap_or_default()) {
            return Err(invalid(format!("metadata.finalizers: {finalizer} must be domain/name")));
        }
    }
    for (key, value) in metadata["annotations"].as_object().into_iter().flatten() {
        if !is_qualified(&key.to_ascii_lowercase()) || !value.is_string() {
            return Err(invalid(format!("metadata.annotations: {key:?} is no annotation")));
        }
    }
    Ok(())
}

/// `name` or `prefix/name`.
pub(super) fn is_qualified(key: &str) -> bool {
    match key.split_once('/') {
        Some((prefix, name)) => name::is_dns_subdomain(prefix) && name::is_label_value(name),
        None => name::is_label_value(key),
    }
}

fn texts(value: &Value) -> usize {
    value.as_array().map_or(0, |items| items.iter().filter(|item| item.is_string()).count())
}

fn rules(rules: &Value, namespaced: bool) -> Result<(), Error> {
    for rule in rules.as_array().into_iter().flatten() {
        if texts(&rule["verbs"]) == 0 {
            return Err(invalid("rules.verbs: at least one"));
        }
        let is_about_urls = texts(&rule["nonResourceURLs"]) > 0;
        if is_about_urls && namespaced {
            return Err(invalid("rules.nonResourceURLs: have no namespace"));
        }
        let is_about_resources = texts(&rule["resources"]) > 0 && texts(&rule["apiGroups"]) > 0;
        if !is_about_resources && !is_about_urls {
            return Err(invalid("rules: needs apiGroups and resources"));
        }
    }
    Ok(())
}

fn binding(body: &Value) -> Result<(), Error> {
    let reference = &body["roleRef"];
    let is_role = matches!(reference["kind"].as_str(), Some("Role" | "ClusterRole"));
    if reference["apiGroup"] != RBAC_GROUP || !is_role || !is_text(&reference["name"]) {
        return Err(invalid("roleRef: must name a Role or ClusterRole"));
    }
    if reference["kind"] == "Role" && body["kind"] == "ClusterRoleBinding" {
        return Err(invalid("roleRef.kind: a ClusterRoleBinding refers to a ClusterRole"));
    }
    for subject in body["subjects"].as_array().into_iter().flatten() {
        let is_good = match subject["kind"].as_str() {
            // In a namespace it is the binding's own when it is missing.
            Some("ServiceAccount") => {
                let is_placed = body["kind"] == "RoleBinding" || is_text(&subject["namespace"]);
                is_placed && subject["apiGroup"].as_str().unwrap_or_default().is_empty()
            }
            Some("User" | "Group") => subject["apiGroup"] == RBAC_GROUP,
            _ => false,
        };
        if !is_good || !is_text(&subject["name"]) {
            return Err(invalid("subjects: must be a User, Group or ServiceAccount with its name"));
        }
    }
    Ok(())
}

fn is_text(value: &Value) -> bool {
    value.as_str().is_some_and(|text| !text.is_empty())
}

fn certificate_request(spec: &Value) -> Result<(), Error> {
    if csr_pem(spec).is_none() {
        return Err(invalid("spec.request: must be a PKCS #10 request in PEM"));
    }
    let signer = spec["signerName"].as_str().and_then(|signer| signer.split_once('/'));
    if signer.is_none_or(|(domain, path)| domain.is_empty() || path.is_empty()) {
        return Err(invalid("spec.signerName: must be domain/path"));
    }
    if texts(&spec["usages"]) == 0 {
        return Err(invalid("spec.usages: at least one"));
    }
    match spec["expirationSeconds"].as_i64() {
        Some(seconds) if seconds < LIFETIME_SECONDS_MIN => {
            Err(invalid(format!("spec.expirationSeconds: at least {LIFETIME_SECONDS_MIN}")))
        }
        _ => Ok(()),
    }
}

/// The PEM text in a CSR's `spec.request`.
pub(super) fn csr_pem(spec: &Value) -> Option<String> {
    let pem = String::from_utf8(STANDARD.decode(spec["request"].as_str()?).ok()?).ok()?;
    let inner = pem.trim().strip_prefix("-----BEGIN CERTIFICATE REQUEST-----")?;
    let inner = inner.strip_suffix("-----END CERTIFICATE REQUEST-----")?;
    let encoded: String = inner.split_ascii_whitespace().collect();
    let is_der = STANDARD.decode(encoded).is_ok_and(|der| !der.is_empty());
    is_der.then_some(pem)
}

fn config_map(data: &Value) -> Result<(), Error> {
    let is_key = |key: &str| key.bytes().all(|byte| byte.is_ascii_alphanumeric() || b"-_.".contains(&byte));
    for (key, value) in data.as_object().into_iter().flatten() {
        if key.is_empty() || !is_key(key) || !value.is_string() {
            return Err(invalid(format!(
                "data[{key}]: must be a text under letters, digits, '-', '_' and '.'"
            )));
        }
    }
    Ok(())
}

fn deployment(spec: &Value) -> Result<(), Error> {
    let selector = spec["selector"]["matchLabels"].as_object();
    let labels = &spec["template"]["metadata"]["labels"];
    if selector.is_none() && spec["selector"]["matchExpressions"].is_null() {
        return Err(invalid("spec.selector: is needed"));
    }
    if selector.into_iter().flatten().any(|(key, value)| labels[key] != *value) {
        return Err(invalid("spec.template.metadata.labels: the selector does not match them"));
    }
    let containers = spec["template"]["spec"]["containers"].as_array();
    let is_whole = |container: &Value| is_text(&container["name"]) && is_text(&container["image"]);
    if !containers.is_some_and(|containers| !containers.is_empty() && containers.iter().all(is_whole)) {
        return Err(invalid("spec.template.spec.containers: at least one, each with its name and image"));
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn key_of(kind: &str, namespace: Option<&str>, name: &str) -> Result<(), Error> {
        let kind = Kind::named(kind);
        key(kind, &ObjectKey::of_kind(&kind.gvk, namespace, name))
    }

    #[test]
    fn each_kind_has_its_rule_for_names() {
        assert!(key_of("Namespace", None, "team-a").is_ok());
        assert!(key_of("Namespace", None, "team.a").is_err());
        assert!(key_of("ConfigMap", Some("n"), "team.a").is_ok());
        assert!(key_of("ConfigMap", Some("n"), "Team").is_err());
        assert!(key_of("Role", Some("n"), "Team:view").is_ok());
        assert!(key_of("Role", Some("n"), "a/b").is_err());
        assert!(key_of("ClusterRole", None, "..").is_err());
    }

    #[test]
    fn a_namespace_is_given_where_it_belongs() {
        assert!(key_of("ConfigMap", None, "c").is_err());
        assert!(key_of("ClusterRole", Some("n"), "c").is_err());
    }

    #[test]
    fn labels_and_annotations_follow_their_rules() {
        assert!(metadata(&json!({"labels": {"a.io/b": "c", "d": ""}})).is_ok());
        assert!(metadata(&json!({"labels": {"a/b/c": "d"}})).is_err());
        assert!(metadata(&json!({"labels": {"a": "no spaces"}})).is_err());
        assert!(metadata(&json!({"labels": {"a": 1}})).is_err());
        assert!(metadata(&json!({"annotations": {"a.io/B": "any text"}})).is_ok());
        assert!(metadata(&json!({"annotations": {"": "any text"}})).is_err());
    }

    #[test]
    fn a_role_rule_needs_verbs_groups_and_resources() {
        let check = |rule: Value| object(Kind::named("Role"), &json!({"metadata": {}, "rules": [rule]}));
        assert!(check(json!({"apiGroups": [""], "resources": ["pods"], "verbs": ["get"]})).is_ok());
        assert!(check(json!({"apiGroups": [""], "resources": ["pods"], "verbs": []})).is_err());
        assert!(check(json!({"resources": ["pods"], "verbs": ["get"]})).is_err());
    }

    #[test]
    fn what_is_of_another_type_is_refused_and_not_read() {
        assert!(shape(&json!({"spec": "text"})).is_err());
        assert!(shape(&json!({"subjects": {}})).is_err());
        assert!(shape(&json!({"spec": {}, "rules": null})).is_ok());
    }
}
