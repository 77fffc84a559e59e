//! Labels of a logical cloud's namespace.

use std::collections::BTreeMap;

use crate::name::{is_dns_subdomain, is_label_value};
use crate::refusal::{Checks, Path};

use super::limits::LABELS_MAX;

/// Prefix of the labels that mark objects as ours.
const OWN_PREFIX: &str = "dcm.internal";

/// The label that the API server writes to every namespace itself.
const NAMESPACE_NAME: &str = "kubernetes.io/metadata.name";

/// The rule of label keys and ResourceQuota keys.
pub(super) const QUALIFIED_NAME_RULE: &str = "must be a Kubernetes qualified name: an optional DNS subdomain and '/', then 1 to 63 of letters, digits, '-', \
     '_' and '.', beginning and ending with a letter or digit";

/// The rule of label values.
pub(super) const LABEL_VALUE_RULE: &str = "a label value is empty, or 1 to 63 of letters, digits, '-', '_' and '.', beginning and ending with a letter or \
     digit";

/// True for Kubernetes qualified names, such as `tier` and `example.com/tier`.
pub(crate) fn is_qualified_name(text: &str) -> bool {
    match text.split_once('/') {
        None => is_label_value(text),
        Some((prefix, name)) => is_dns_subdomain(prefix) && is_label_value(name),
    }
}

/// Checks labels by Kubernetes' rules; what we and the API server write ourselves is refused.
pub(crate) fn check(labels: &BTreeMap<String, String>, at: &Path, checks: &mut Checks) {
    if labels.len() > LABELS_MAX {
        checks.refuse(at, "", format!("must be at most {LABELS_MAX} labels"));
    }
    for (key, value) in labels.iter().take(LABELS_MAX) {
        let at = at.key(key);
        if !is_qualified_name(key) {
            checks.refuse(&at, key, QUALIFIED_NAME_RULE);
        } else if key == NAMESPACE_NAME {
            checks.refuse(&at, key, "is written by the API server itself");
        } else if key.split_once('/').is_some_and(|(prefix, _)| prefix == OWN_PREFIX) {
            checks.refuse(&at, key, "labels under dcm.internal mark what is ours");
        }
        if !value.is_empty() && !is_label_value(value) {
            checks.refuse(&at, value, LABEL_VALUE_RULE);
        }
    }
}
