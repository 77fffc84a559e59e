//! Distinguished names: made of a subject, and compared with the subject that they must be.

use rcgen::{DistinguishedName, DnType};
use x509_parser::oid_registry::{OID_X509_COMMON_NAME, OID_X509_ORGANIZATION_NAME};
use x509_parser::x509::X509Name;

use crate::subject::Subject;

/// Characters of a foreign subject that a message shows.
const SHOWN_MAX: usize = 200;

/// The name that a request or a certificate has for a subject.
pub(crate) fn of(subject: &Subject) -> DistinguishedName {
    let mut name = DistinguishedName::new();
    if let Some(organization) = subject.organization() {
        name.push(DnType::OrganizationName, organization);
    }
    name.push(DnType::CommonName, subject.common_name());
    name
}

/// True when the name has the subject's common name, its organization if it has one, and nothing else. The order, and
/// how the parts are grouped, mean nothing to Kubernetes.
pub(super) fn is_exactly(name: &X509Name<'_>, subject: &Subject) -> bool {
    let mut common_names = 0;
    let mut organizations = 0;
    for attribute in name.iter_attributes() {
        let value = attribute.as_str().ok();
        if *attribute.attr_type() == OID_X509_COMMON_NAME && value == Some(subject.common_name()) {
            common_names += 1;
        } else if *attribute.attr_type() == OID_X509_ORGANIZATION_NAME
            && value.is_some()
            && value == subject.organization()
        {
            organizations += 1;
        } else {
            return false;
        }
    }
    common_names == 1 && organizations == usize::from(subject.organization().is_some())
}

/// The name for a message: at most 200 characters, control characters escaped.
pub(crate) fn shown(name: &X509Name<'_>) -> String {
    let text = name.to_string();
    if text.is_empty() { "empty".to_owned() } else { text.escape_debug().take(SHOWN_MAX).collect() }
}
