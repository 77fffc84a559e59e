//! Names on clusters, and in certificates.
//!
//! A name follows from the thing's own name, never from a place in a list. API names are wider than Kubernetes' names,
//! so a name that is not legal on a cluster is brought into form and gets a hash of what it came from; so does one that
//! merely looks as if it had such a hash, hence no two names become one.
//!
//! Names inside the cloud's namespace need no more: nobody else makes objects of ours there. Names outside
//! (cluster-scoped, or in a namespace of somebody else) carry project and cloud, and always a hash over these and the
//! cloud's UID: a join of names by itself would be ambiguous.

use std::collections::BTreeMap;
use std::sync::Arc;

use serde_json::{Value, json};

use crate::hash::ContentHash;
use crate::logical_cloud::{AccountSeed, Epoch, LogicalCloud, LogicalCloudUid, RequestNonce, Serial};
use crate::name::{
    ClusterId, ContextId, DNS_LABEL_MAX, DNS_SUBDOMAIN_MAX, LogicalCloudName, PermissionName, ProjectName,
    QuotaName, TrustDomain, UserName, is_dns_label, is_dns_subdomain, is_label_value,
};
use crate::subject::{SUBJECT_PART_MAX, Subject};

/// Label: the project that an object belongs to. Informative.
pub const LABEL_PROJECT: &str = "dcm.internal/project";
/// Label: the logical cloud that an object belongs to. Informative.
pub const LABEL_LOGICAL_CLOUD: &str = "dcm.internal/logical-cloud";

/// Name of the LimitRange that gives pods their defaults.
pub const LIMIT_RANGE: &str = "dcm-defaults";

/// Beginning of names outside the cloud's namespace, of common names and of organizations: tells people whose it is,
/// and keeps a project called `system` from making names that Kubernetes keeps for itself.
const PREFIX: &str = "dcm";

/// Hexadecimal digits of a hash in a name: 64 bits, too many to find a second name with the same ones.
const HASH_DIGITS: usize = 16;

/// Hexadecimal digits of a hash in a common name: 128 bits, as rights are bound to it.
const SUBJECT_HASH_DIGITS: usize = 32;

/// Which logical cloud names are for.
#[derive(Debug, Clone, Copy)]
pub struct Identity<'a> {
    /// Its project.
    pub project: &'a ProjectName,
    /// Its name.
    pub cloud: &'a LogicalCloudName,
    /// What tells it from another one of that name.
    pub uid: LogicalCloudUid,
}

impl<'a> Identity<'a> {
    /// The identity of a logical cloud.
    #[must_use]
    pub fn of(cloud: &'a LogicalCloud) -> Self {
        Self { project: cloud.project(), cloud: cloud.name(), uid: cloud.uid() }
    }

    /// The app context of this cloud, for ever.
    #[must_use]
    pub fn context_id(&self) -> ContextId {
        let text = self.outside("context", &[], DNS_LABEL_MAX);
        ContextId::new(text).expect("a DNS label is a label value")
    }

    /// Informative labels for every object of this cloud.
    #[must_use]
    pub fn labels(&self) -> BTreeMap<String, String> {
        BTreeMap::from([
            (LABEL_PROJECT.to_owned(), label_value(self.project.as_str())),
            (LABEL_LOGICAL_CLOUD.to_owned(), label_value(self.cloud.as_str())),
        ])
    }

    /// The subject of a user's certificate, in one epoch of the user.
    #[must_use]
    pub fn subject(&self, user: &UserName, epoch: Epoch) -> Subject {
        Subject::new(&self.common_name(user, epoch), Some(&self.organization())).expect("made to fit")
    }

    /// The Kubernetes user that a certificate user is in one epoch: `dcm:project:cloud:uid:user:epoch`. API names have
    /// no colon, so it is never ambiguous. Where it is longer than a common name may be, it is the beginning of the
    /// user's name with a hash of everything: `dcm:user:hash:epoch`.
    #[must_use]
    pub fn common_name(&self, user: &UserName, epoch: Epoch) -> String {
        let Self { project, cloud, uid } = self;
        let readable = format!("{PREFIX}:{project}:{cloud}:{uid}:{user}:{epoch}");
        if readable.len() <= SUBJECT_PART_MAX {
            readable
        } else {
            let hash = self.hash("common-name", &[user.as_str().into(), epoch.0.into()]);
            let end = format!(":{}:{epoch}", hash.short(SUBJECT_HASH_DIGITS));
            let room = SUBJECT_PART_MAX - PREFIX.len() - 1 - end.len();
            format!("{PREFIX}:{}{end}", cut(user.as_str(), room))
        }
    }

    /// The organization in certificates: `dcm:project:cloud`, for people who read them. Nothing is bound to it.
    #[must_use]
    pub fn organization(&self) -> String {
        let readable = format!("{PREFIX}:{}:{}", self.project, self.cloud);
        if readable.len() <= SUBJECT_PART_MAX {
            readable
        } else {
            let hash = self.hash("organization", &[]).short(SUBJECT_HASH_DIGITS);
            let room = SUBJECT_PART_MAX - PREFIX.len() - 2 - hash.len();
            format!("{PREFIX}:{}:{hash}", cut(self.cloud.as_str(), room))
        }
    }

    /// The trust domain of the cloud's mesh: `cloud.project`, each with a hash where it is no DNS label.
    #[must_use]
    pub fn trust_domain(&self) -> TrustDomain {
        let [cloud, project] = [self.cloud.as_str(), self.project.as_str()].map(label);
        TrustDomain::new(format!("{cloud}.{project}")).expect("two DNS labels are a trust domain")
    }

    /// The subject of the cloud's root authority.
    #[must_use]
    pub fn root_subject(&self) -> Subject {
        self.authority_subject("root")
    }

    /// The subject of the cloud's authority for one cluster.
    #[must_use]
    pub fn intermediate_subject(&self, cluster: &ClusterId) -> Subject {
        self.authority_subject(&cluster.to_string())
    }

    /// `dcm:project:cloud:uid:part` or, where that is longer than a common name may be, `dcm:part:hash`. A cluster's part has a slash, so
    /// that it is never the root's.
    fn authority_subject(&self, part: &str) -> Subject {
        let Self { project, cloud, uid } = self;
        let readable = format!("{PREFIX}:{project}:{cloud}:{uid}:{part}");
        let name = if readable.len() <= SUBJECT_PART_MAX {
            readable
        } else {
            let hash = self.hash("authority", &[part.into()]);
            let room = SUBJECT_PART_MAX - PREFIX.len() - 2 - SUBJECT_HASH_DIGITS;
            format!("{PREFIX}:{}:{}", cut(part, room), hash.short(SUBJECT_HASH_DIGITS))
        };
        Subject::new(&name, Some(&self.organization())).expect("made to fit")
    }

    /// A role and its binding outside the cloud's namespace: a ClusterRole, or a Role in another namespace.
    #[must_use]
    pub fn role_outside(&self, permission: &PermissionName) -> String {
        self.outside("role", &[permission.as_str().into()], DNS_SUBDOMAIN_MAX)
    }

    /// The CertificateSigningRequest of one credential: its hash covers the random part, so that the name can't be computed
    /// from the names of other requests.
    #[must_use]
    pub fn certificate_request(
        &self,
        user: &UserName,
        epoch: Epoch,
        serial: Serial,
        nonce: RequestNonce,
    ) -> String {
        let shown = [user.as_str().into(), epoch.0.into(), serial.0.into()];
        let mut hashed = shown.to_vec();
        hashed.push(nonce.to_string().into());
        let hash = self.hash("certificate-request", &hashed);
        with_hash(&self.readable(&shown), &hash, DNS_SUBDOMAIN_MAX)
    }

    /// A DNS label or subdomain that carries project, cloud and parts, and a hash over them, the UID and the purpose.
    fn outside(&self, purpose: &str, parts: &[Value], longest: usize) -> String {
        with_hash(&self.readable(parts), &self.hash(purpose, parts), longest)
    }

    fn readable(&self, parts: &[Value]) -> String {
        let mut text = format!("{PREFIX}-{}-{}", self.project, self.cloud);
        for part in parts {
            let part = part.as_str().map_or_else(|| part.to_string(), str::to_owned);
            text.push('-');
            text.push_str(&part);
        }
        text
    }

    fn hash(&self, purpose: &str, parts: &[Value]) -> ContentHash {
        let Self { project, cloud, uid } = self;
        ContentHash::of(&json!([purpose, project.as_str(), cloud.as_str(), uid.to_string(), parts]))
    }
}

/// The network of a cluster, as Istio's labels name it: `provider.cluster`, or else the beginning of that with a hash.
#[must_use]
pub fn network(cluster: &ClusterId) -> String {
    let readable = format!("{}.{}", cluster.provider, cluster.cluster);
    // With a dot in the provider's name it could be another cluster's.
    if cluster.provider.as_str().contains('.') {
        with_hash(&readable, &ContentHash::of_bytes(cluster.to_string().as_bytes()), DNS_LABEL_MAX)
    } else {
        label_value(&readable)
    }
}

/// A ResourceQuota in the cloud's namespace.
#[must_use]
pub fn resource_quota(quota: &QuotaName) -> String {
    subdomain(quota.as_str())
}

/// A Role and its RoleBinding in the cloud's namespace.
#[must_use]
pub fn role(permission: &PermissionName) -> String {
    subdomain(permission.as_str())
}

/// The ServiceAccount of a token user in one epoch: a new epoch is another account, so that the tokens of the earlier
/// one end with it. The hash at its end covers the seed, so that the name of one account does not give away the next.
#[must_use]
pub fn service_account(user: &UserName, epoch: Epoch, accounts: AccountSeed) -> String {
    let hash = ContentHash::of(&json!(["service-account", accounts.to_string(), user.as_str(), epoch.0]));
    with_hash(&format!("{user}-e{epoch}"), &hash, DNS_SUBDOMAIN_MAX)
}

/// The request for a user's certificate, in the cloud's app context.
#[must_use]
pub fn certificate_step(user: &UserName, epoch: Epoch, serial: Serial) -> Arc<str> {
    format!("certificate/{user}/{epoch}/{serial}").into()
}

/// The request for a user's token, in the cloud's app context.
#[must_use]
pub fn token_step(user: &UserName, epoch: Epoch, serial: Serial) -> Arc<str> {
    format!("token/{user}/{epoch}/{serial}").into()
}

/// An API name as a label's value: itself where it is legal.
#[must_use]
pub fn label_value(name: &str) -> String {
    if is_label_value(name) && !ends_with_hash(name) {
        return name.to_owned();
    }
    with_hash(name, &ContentHash::of_bytes(name.as_bytes()), DNS_LABEL_MAX)
}

/// A name as a DNS label: itself where it is legal.
pub(super) fn label(name: &str) -> String {
    if is_dns_label(name) && !ends_with_hash(name) {
        return name.to_owned();
    }
    with_hash(name, &ContentHash::of_bytes(name.as_bytes()), DNS_LABEL_MAX)
}

/// A name as a DNS subdomain: itself where it is legal.
fn subdomain(name: &str) -> String {
    if is_dns_subdomain(name) && !ends_with_hash(name) {
        return name.to_owned();
    }
    with_hash(name, &ContentHash::of_bytes(name.as_bytes()), DNS_SUBDOMAIN_MAX)
}

/// True for what [`with_hash`] could have made.
fn ends_with_hash(name: &str) -> bool {
    name.rsplit_once('-').is_some_and(|(_, end)| {
        end.len() == HASH_DIGITS && end.bytes().all(|byte| matches!(byte, b'0'..=b'9' | b'a'..=b'f'))
    })
}

/// A text in lower case, with a hyphen for what a DNS label can't have, cut, and with a hash at its end.
fn with_hash(text: &str, hash: &ContentHash, longest: usize) -> String {
    let label = |byte: u8| {
        if byte.is_ascii_alphanumeric() { byte.to_ascii_lowercase() } else { b'-' }
    };
    let form: String = text.bytes().map(|byte| char::from(label(byte))).collect();
    format!("{}-{}", cut(&form, longest - HASH_DIGITS - 1), hash.short(HASH_DIGITS))
}

/// The beginning of an ASCII text, without separators at its end.
fn cut(text: &str, longest: usize) -> &str {
    text[..text.len().min(longest)].trim_end_matches(['-', '.', '_'])
}

#[cfg(test)]
mod tests {
    use super::*;

    fn names(project: &str, cloud: &str, user: &str) -> (ProjectName, LogicalCloudName, UserName) {
        (
            ProjectName::new(project).unwrap(),
            LogicalCloudName::new(cloud).unwrap(),
            UserName::new(user).unwrap(),
        )
    }

    #[test]
    fn a_common_name_is_readable_where_it_fits_and_hashed_where_not() {
        let uid = LogicalCloudUid::from_random(7);
        let (project, cloud, user) = names("retail", "shop", "ann");
        let identity = Identity { project: &project, cloud: &cloud, uid };
        let subject = identity.subject(&user, Epoch(1));
        assert_eq!(subject.common_name(), "dcm:retail:shop:0000000000000007:ann:1");
        assert_eq!(subject.organization(), Some("dcm:retail:shop"));

        let (project, cloud, user) = names(&"p".repeat(128), &"c".repeat(128), &"u".repeat(128));
        let identity = Identity { project: &project, cloud: &cloud, uid };
        let subject = identity.subject(&user, Epoch(u32::MAX));
        assert_eq!(subject.common_name().len(), SUBJECT_PART_MAX);
        assert!(subject.common_name().starts_with("dcm:uuu"));
        assert!(subject.organization().unwrap().len() <= SUBJECT_PART_MAX);
    }

    #[test]
    fn authorities_of_clouds_and_of_clusters_have_subjects_of_their_own_and_clouds_their_trust_domains() {
        let uid = LogicalCloudUid::from_random(7);
        let (project, cloud, _) = names("retail", "shop", "ann");
        let identity = Identity { project: &project, cloud: &cloud, uid };
        let [one, other] = ["aws/edge-1", "aws/edge-2"].map(|name| name.parse::<ClusterId>().unwrap());
        assert_eq!(identity.root_subject().common_name(), "dcm:retail:shop:0000000000000007:root");
        assert_eq!(
            identity.intermediate_subject(&one).common_name(),
            "dcm:retail:shop:0000000000000007:aws/edge-1"
        );
        assert_eq!(identity.trust_domain().as_str(), "shop.retail");

        let (project, long, _) = names(&"p".repeat(128), &"c".repeat(128), "u");
        let identity = Identity { project: &project, cloud: &long, uid };
        let subjects = [
            identity.root_subject(),
            identity.intermediate_subject(&one),
            identity.intermediate_subject(&other),
        ];
        for (index, subject) in subjects.iter().enumerate() {
            assert!(subject.common_name().len() <= SUBJECT_PART_MAX, "{subject}");
            assert!(!subjects[..index].contains(subject), "{subject}");
        }
        // A dot in a name makes no other cloud's domain.
        let (dotted, project, _) = names("b.c", "a", "u");
        let (plain, cloud, _) = names("c", "a.b", "u");
        let domains = [
            Identity { project: &dotted, cloud: &project, uid }.trust_domain(),
            Identity { project: &plain, cloud: &cloud, uid }.trust_domain(),
        ];
        assert_ne!(domains[0], domains[1]);
    }

    #[test]
    fn each_cluster_has_a_network_of_its_own_that_may_be_the_value_of_a_label() {
        let long = "x".repeat(128);
        let names = ["aws/edge-1", "a.b/c", "a/b.c", "a/b", &format!("{long}/a"), &format!("{long}/b")];
        let networks = names.map(|name| network(&name.parse().unwrap()));
        assert_eq!((&*networks[0], &*networks[2]), ("aws.edge-1", "a.b.c"));
        for (index, name) in networks.iter().enumerate() {
            assert!(is_label_value(name), "{name}");
            assert!(!networks[..index].contains(name), "{name}");
        }
    }

    #[test]
    fn a_project_called_system_makes_no_name_of_kubernetes() {
        let (project, cloud, user) = names("system", "masters", "admin");
        let identity = Identity { project: &project, cloud: &cloud, uid: LogicalCloudUid::from_random(1) };
        let subject = identity.subject(&user, Epoch(0));
        assert!(subject.common_name().starts_with("dcm:system:"));
        assert_eq!(subject.organization(), Some("dcm:system:masters"));
    }

    #[test]
    fn a_name_that_looks_hashed_is_hashed_again() {
        let changed = role(&PermissionName::new("Read_All").unwrap());
        assert!(changed.starts_with("read-all-"), "{changed}");
        assert_ne!(role(&PermissionName::new(&changed).unwrap()), changed);
        assert_eq!(role(&PermissionName::new("read-all").unwrap()), "read-all");
    }

    #[test]
    fn renewal_keeps_the_common_name_and_revocation_does_not() {
        let (project, cloud, user) = names("p", "c", "u");
        let identity = Identity { project: &project, cloud: &cloud, uid: LogicalCloudUid::from_random(1) };
        let request = |serial, nonce| {
            identity.certificate_request(&user, Epoch(1), Serial(serial), RequestNonce::from_random(nonce))
        };
        assert_ne!(request(1, 1), request(2, 1));
        assert_ne!(request(1, 1), request(1, 2), "what is drawn is part of the name");
        assert_ne!(identity.common_name(&user, Epoch(1)), identity.common_name(&user, Epoch(2)));
        let account = |epoch, seed| service_account(&user, Epoch(epoch), AccountSeed::from_random(seed));
        assert_ne!(account(1, 1), account(2, 1));
        assert_ne!(account(1, 1), account(1, 2));
    }
}
