//! Validated names.
//!
//! Each kind of thing has a name type of its own, with one fallible constructor that serde goes through, so a
//! value of such a type is proof that the rule holds. API names follow EMCO's rule
//! (`^([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9]$`, at most 128 characters); what is written to a cluster follows
//! Kubernetes' rule for its kind and is derived from them.

use std::fmt;
use std::str::FromStr;
use std::sync::Arc;

use serde::{Deserialize, Serialize};

/// Longest API name, in characters (EMCO's limit for `metadata.name`).
pub const API_NAME_MAX: usize = 128;

/// Longest DNS label, in characters (RFC 1123; Kubernetes uses it for namespaces).
pub const DNS_LABEL_MAX: usize = 63;

/// Longest DNS subdomain, in characters (RFC 1123; Kubernetes uses it for most object names).
pub const DNS_SUBDOMAIN_MAX: usize = 253;

/// Why a text is not a name of the kind that was asked for.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{value:?} is not a valid {kind}: {rule}")]
pub struct InvalidName {
    /// What the name was to be, such as `namespace`.
    pub kind: &'static str,
    /// The refused text, cut to [`API_NAME_MAX`] characters.
    pub value: String,
    /// The rule that it breaks.
    pub rule: &'static str,
}

/// The rule of API names.
pub const API_NAME_RULE: &str =
    "1 to 128 of letters, digits, '-', '_' and '.', beginning and ending with a letter or digit";

/// The rule of DNS labels.
pub const DNS_LABEL_RULE: &str = "1 to 63 of lower-case letters, digits and '-', beginning and ending with a letter or digit (RFC 1123 label)";

/// The rule of label values that are not empty.
pub const LABEL_VALUE_RULE: &str = "1 to 63 of letters, digits, '-', '_' and '.', beginning and ending with a letter or digit (Kubernetes label value)";

/// The rule of zones of the DNS.
pub const DNS_ZONE_RULE: &str = "at most 253 characters: labels of 1 to 63 lower-case letters, digits and '-', each beginning and ending with a letter \
     or digit, joined by dots; the last one must have a letter and must not be `arpa`, `local`, `localhost` or `svc`";

/// Longest trust domain, in bytes (SPIFFE ID, section 2.3).
pub const TRUST_DOMAIN_MAX: usize = 255;

/// The rule of trust domains (SPIFFE ID, section 2.1).
pub const TRUST_DOMAIN_RULE: &str = "1 to 255 of lower-case letters, digits, '-', '_' and '.'";

/// [`TRUST_DOMAIN_RULE`] as a regular expression (ECMA-262), for schemas.
pub const TRUST_DOMAIN_PATTERN: &str = "^[a-z0-9._-]{1,255}$";

/// [`API_NAME_RULE`] as a regular expression (ECMA-262), for schemas.
pub const API_NAME_PATTERN: &str = "^[A-Za-z0-9]([-A-Za-z0-9_.]{0,126}[A-Za-z0-9])?$";

/// [`DNS_LABEL_RULE`] as a regular expression (ECMA-262), for schemas.
pub const DNS_LABEL_PATTERN: &str = "^[a-z0-9]([-a-z0-9]{0,61}[a-z0-9])?$";

/// [`LABEL_VALUE_RULE`] as a regular expression (ECMA-262), for schemas.
pub const LABEL_VALUE_PATTERN: &str = "^[A-Za-z0-9]([-A-Za-z0-9_.]{0,61}[A-Za-z0-9])?$";

/// [`DNS_ZONE_RULE`] without the names that are reserved, as a regular expression (ECMA-262), for schemas.
pub const DNS_ZONE_PATTERN: &str =
    "^[a-z0-9]([-a-z0-9]{0,61}[a-z0-9])?(\\.[a-z0-9]([-a-z0-9]{0,61}[a-z0-9])?)*$";

/// Last labels that no zone may have: resolvers answer them by themselves (RFC 6761, RFC 6762), they hold the names of addresses
/// (RFC 3172), or they end the short names of Services in Kubernetes.
const RESERVED_LABELS: [&str; 4] = ["arpa", "local", "localhost", "svc"];

/// True when the text follows [`LABEL_VALUE_RULE`].
#[must_use]
pub fn is_label_value(text: &str) -> bool {
    text.len() <= DNS_LABEL_MAX && is_api_name(text)
}

/// True when the text follows [`API_NAME_RULE`].
#[must_use]
pub fn is_api_name(text: &str) -> bool {
    let inner = |byte: u8| byte.is_ascii_alphanumeric() || matches!(byte, b'-' | b'_' | b'.');
    let bytes = text.as_bytes();
    bytes.len() <= API_NAME_MAX
        && bytes.first().is_some_and(u8::is_ascii_alphanumeric)
        && bytes.last().is_some_and(u8::is_ascii_alphanumeric)
        && bytes.iter().all(|byte| inner(*byte))
}

/// True when the text follows [`DNS_LABEL_RULE`].
#[must_use]
pub fn is_dns_label(text: &str) -> bool {
    let edge = |byte: &u8| byte.is_ascii_lowercase() || byte.is_ascii_digit();
    let bytes = text.as_bytes();
    bytes.len() <= DNS_LABEL_MAX
        && bytes.first().is_some_and(edge)
        && bytes.last().is_some_and(edge)
        && bytes.iter().all(|byte| edge(byte) || *byte == b'-')
}

/// True when the text is a DNS subdomain (RFC 1123): labels joined by dots, at most 253 characters.
#[must_use]
pub fn is_dns_subdomain(text: &str) -> bool {
    text.len() <= DNS_SUBDOMAIN_MAX
        && !text.is_empty()
        && text.split('.').all(|label| {
            let edge = |byte: &u8| byte.is_ascii_lowercase() || byte.is_ascii_digit();
            let bytes = label.as_bytes();
            bytes.first().is_some_and(edge)
                && bytes.last().is_some_and(edge)
                && bytes.iter().all(|byte| edge(byte) || *byte == b'-')
        })
}

/// True when the text follows [`DNS_ZONE_RULE`].
#[must_use]
pub fn is_dns_zone(text: &str) -> bool {
    let last = text.rsplit('.').next().unwrap_or(text);
    text.len() <= DNS_SUBDOMAIN_MAX
        && text.split('.').all(is_dns_label)
        && last.bytes().any(|byte| byte.is_ascii_lowercase())
        && !RESERVED_LABELS.contains(&last)
}

/// True when the text follows [`TRUST_DOMAIN_RULE`].
#[must_use]
pub fn is_trust_domain(text: &str) -> bool {
    let is_legal = |byte: u8| byte.is_ascii_lowercase() || byte.is_ascii_digit() || b"-_.".contains(&byte);
    (1..=TRUST_DOMAIN_MAX).contains(&text.len()) && text.bytes().all(is_legal)
}

fn invalid(kind: &'static str, value: &str, rule: &'static str) -> InvalidName {
    InvalidName { kind, value: value.chars().take(API_NAME_MAX).collect(), rule }
}

macro_rules! name_type {
    ($(#[$doc:meta])* $type:ident, $kind:literal, $check:path, $rule:expr, $pattern:expr) => {
        $(#[$doc])*
        #[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
        #[serde(try_from = "String", into = "String")]
        pub struct $type(Arc<str>);

        impl $type {
            /// What a name of this type names, for messages.
            pub const KIND: &'static str = $kind;
            /// The rule that a name of this type follows, for messages.
            pub const RULE: &'static str = $rule;

            /// Parses a name.
            ///
            /// # Errors
            /// [`InvalidName`] when the text breaks [`Self::RULE`].
            pub fn new(text: impl AsRef<str>) -> Result<Self, InvalidName> {
                let text = text.as_ref();
                if $check(text) { Ok(Self(text.into())) } else { Err(invalid($kind, text, $rule)) }
            }

            /// The name as text.
            #[must_use]
            pub fn as_str(&self) -> &str {
                &self.0
            }
        }

        impl fmt::Display for $type {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str(&self.0)
            }
        }

        impl fmt::Debug for $type {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                fmt::Debug::fmt(&*self.0, f)
            }
        }

        impl AsRef<str> for $type {
            fn as_ref(&self) -> &str {
                &self.0
            }
        }

        impl FromStr for $type {
            type Err = InvalidName;

            fn from_str(text: &str) -> Result<Self, InvalidName> {
                Self::new(text)
            }
        }

        impl TryFrom<String> for $type {
            type Error = InvalidName;

            fn try_from(text: String) -> Result<Self, InvalidName> {
                Self::new(text)
            }
        }

        impl From<$type> for String {
            fn from(name: $type) -> Self {
                name.0.as_ref().to_owned()
            }
        }

        text_form!($type, $pattern);
    };
}

name_type!(
    /// Name of a project, the owner of logical clouds.
    ProjectName, "project name", is_api_name, API_NAME_RULE, API_NAME_PATTERN
);
name_type!(
    /// Name of a logical cloud, unique in its project.
    LogicalCloudName, "logical cloud name", is_api_name, API_NAME_RULE, API_NAME_PATTERN
);
name_type!(
    /// Name of a user, unique in its logical cloud.
    UserName, "user name", is_api_name, API_NAME_RULE, API_NAME_PATTERN
);
name_type!(
    /// Name of a user permission, unique in its logical cloud.
    PermissionName, "permission name", is_api_name, API_NAME_RULE, API_NAME_PATTERN
);
name_type!(
    /// Name of a quota, unique in its logical cloud.
    QuotaName, "quota name", is_api_name, API_NAME_RULE, API_NAME_PATTERN
);
name_type!(
    /// Name of a set of key-value pairs, unique in its logical cloud.
    KeyValuesName, "key-value pairs name", is_api_name, API_NAME_RULE, API_NAME_PATTERN
);
name_type!(
    /// Name of a cluster reference, unique in its logical cloud.
    ReferenceName, "cluster reference name", is_api_name, API_NAME_RULE, API_NAME_PATTERN
);
name_type!(
    /// Name of a cluster provider.
    ClusterProviderName, "cluster provider name", is_api_name, API_NAME_RULE, API_NAME_PATTERN
);
name_type!(
    /// Name of a cluster, unique in its provider.
    ClusterName, "cluster name", is_api_name, API_NAME_RULE, API_NAME_PATTERN
);
name_type!(
    /// Name of a controller, unique in its group.
    ControllerName, "controller name", is_api_name, API_NAME_RULE, API_NAME_PATTERN
);
name_type!(
    /// Name of an app inside an app context; a logical cloud's app context has one, `logical-cloud`.
    AppName, "app name", is_api_name, API_NAME_RULE, API_NAME_PATTERN
);
name_type!(
    /// Name of a Kubernetes namespace.
    Namespace, "namespace", is_dns_label, DNS_LABEL_RULE, DNS_LABEL_PATTERN
);
name_type!(
    /// Identifies one app context for ever: chosen by whoever decides, unique in the engine's store. It is written to
    /// every object as a label's value.
    ContextId, "app context id", is_label_value, LABEL_VALUE_RULE, LABEL_VALUE_PATTERN
);
name_type!(
    /// A zone of the DNS whose names resolve from cluster to cluster, such as `lc1` or `lc1.example.org`. Lower case, without a last dot.
    DnsZone, "DNS zone", is_dns_zone, DNS_ZONE_RULE, DNS_ZONE_PATTERN
);
name_type!(
    /// A trust domain: the workloads whose identities one root authority vouches for. It is the host of their SPIFFE IDs.
    TrustDomain, "trust domain", is_trust_domain, TRUST_DOMAIN_RULE, TRUST_DOMAIN_PATTERN
);
name_type!(
    /// Names an installation of the engine: what it owns on clusters carries it as a label.
    OwnerId, "owner id", is_dns_label, DNS_LABEL_RULE, DNS_LABEL_PATTERN
);

fn is_within(domain: &str, parent: &str) -> bool {
    let rest = domain.strip_suffix(parent);
    rest.is_some_and(|rest| rest.is_empty() || rest.ends_with('.'))
}

impl DnsZone {
    /// True when this zone is a domain (lower case, without a last dot), or contains it.
    #[must_use]
    pub fn contains(&self, domain: &str) -> bool {
        is_within(domain, self.as_str())
    }

    /// True when this zone is in a domain (lower case, without a last dot), or is it.
    #[must_use]
    pub fn is_within(&self, domain: &str) -> bool {
        is_within(self.as_str(), domain)
    }
}

/// A cluster is always named by its provider and its name. Its text form is `provider/cluster`.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub struct ClusterId {
    /// Where the cluster comes from.
    pub provider: ClusterProviderName,
    /// Its name there.
    pub cluster: ClusterName,
}

text_form!(
    ClusterId,
    "^[A-Za-z0-9]([-A-Za-z0-9_.]{0,126}[A-Za-z0-9])?/[A-Za-z0-9]([-A-Za-z0-9_.]{0,126}[A-Za-z0-9])?$"
);

impl ClusterId {
    /// Parses both parts.
    ///
    /// # Errors
    /// [`InvalidName`] for the part that breaks its rule.
    pub fn new(provider: impl AsRef<str>, cluster: impl AsRef<str>) -> Result<Self, InvalidName> {
        Ok(Self { provider: ClusterProviderName::new(provider)?, cluster: ClusterName::new(cluster)? })
    }
}

impl fmt::Display for ClusterId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}/{}", self.provider, self.cluster)
    }
}

impl FromStr for ClusterId {
    type Err = InvalidName;

    fn from_str(text: &str) -> Result<Self, InvalidName> {
        let (provider, cluster) =
            text.split_once('/').ok_or_else(|| invalid("cluster", text, "written as provider/cluster"))?;
        Self::new(provider, cluster)
    }
}

impl TryFrom<String> for ClusterId {
    type Error = InvalidName;

    fn try_from(text: String) -> Result<Self, InvalidName> {
        text.parse()
    }
}

impl From<ClusterId> for String {
    fn from(id: ClusterId) -> Self {
        id.to_string()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn api_names_follow_the_wire_rule() {
        for good in ["a", "A1", "lc-1", "a.b_c", &"x".repeat(API_NAME_MAX)] {
            assert!(ProjectName::new(good).is_ok(), "{good}");
        }
        for bad in ["", "-a", "a-", ".", "a/b", "a b", "é", &"x".repeat(API_NAME_MAX + 1)] {
            assert!(ProjectName::new(bad).is_err(), "{bad}");
        }
    }

    #[test]
    fn a_refusal_names_the_kind_the_value_and_the_rule() {
        let error = Namespace::new("Team_A").unwrap_err();
        assert_eq!(error.kind, "namespace");
        assert_eq!(error.value, "Team_A");
        assert_eq!(error.rule, DNS_LABEL_RULE);
    }

    #[test]
    fn a_cluster_is_written_as_provider_and_name() {
        let id: ClusterId = "aws/edge-1".parse().unwrap();
        assert_eq!(id.to_string(), "aws/edge-1");
        assert!("edge-1".parse::<ClusterId>().is_err());
        assert!("aws/edge/1".parse::<ClusterId>().is_err());
    }

    #[test]
    fn a_zone_has_labels_and_is_none_that_resolvers_keep_for_themselves() {
        let long = [&"x".repeat(63); 4].map(String::as_str).join(".");
        for good in ["lc1", "lc1.example.org", "svc.example", "1.a", "xn--bcher-kva.example", &long[..253]] {
            assert!(DnsZone::new(good).is_ok(), "{good}");
        }
        let no_labels = ["", ".", "lc1.", ".lc1", "a..b", "Lc1", "a_b", "-a", "a/b", "10.0.0.1", "7"];
        let reserved = ["local", "cluster.local", "localhost", "a.arpa", "svc", "default.svc"];
        for bad in no_labels.into_iter().chain(reserved).chain([long.as_str(), &"x".repeat(64)]) {
            assert_eq!(DnsZone::new(bad).unwrap_err().rule, DNS_ZONE_RULE, "{bad}");
        }
    }

    #[test]
    fn a_zone_contains_itself_and_what_ends_with_its_labels() {
        let zone = DnsZone::new("b.c").unwrap();
        for (domain, contains) in
            [("b.c", true), ("a.b.c", true), ("ab.c", false), ("c", false), ("b.c.d", false)]
        {
            assert_eq!(zone.contains(domain), contains, "{domain}");
            if let Ok(other) = DnsZone::new(domain) {
                assert_eq!(other.is_within("b.c"), contains, "{domain}");
            }
        }
    }

    #[test]
    fn serde_goes_through_the_constructor() {
        assert!(serde_json::from_str::<Namespace>("\"ok\"").is_ok());
        assert!(serde_json::from_str::<Namespace>("\"Not-ok\"").is_err());
    }
}
