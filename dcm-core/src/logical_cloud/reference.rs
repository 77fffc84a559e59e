//! Cluster references: which clusters a logical cloud is in.

use std::fmt;
use std::net::IpAddr;

use serde::{Deserialize, Serialize};

use crate::name::{ClusterId, ClusterName, ClusterProviderName, ReferenceName};
use crate::refusal::{Checks, Path, Refusals};

use super::check::Part;
use super::draft::ReferenceDraft;
use super::metadata::Metadata;

/// Membership of one cluster in one logical cloud.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(try_from = "ReferenceDraft", into = "ReferenceDraft")]
#[non_exhaustive]
pub struct ClusterReference {
    /// Name, unique in the cloud, and notes.
    pub metadata: Metadata<ReferenceName>,
    /// The cluster; a cloud has one reference to it at most.
    pub cluster: ClusterId,
    /// Where the mesh's load balancer is in this cluster.
    pub load_balancer: LoadBalancer,
}

/// Address of a load balancer.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum LoadBalancer {
    /// Not known: nothing, an empty text or an unspecified address (`0.0.0.0`, `::`) was given.
    #[default]
    Unknown,
    /// Known.
    Address(IpAddr),
}

impl LoadBalancer {
    /// The address, when it is known.
    #[must_use]
    pub fn address(self) -> Option<IpAddr> {
        match self {
            Self::Unknown => None,
            Self::Address(address) => Some(address),
        }
    }
}

impl fmt::Display for LoadBalancer {
    /// The address; `0.0.0.0` when it is not known, as the documented API has it.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Unknown => f.write_str("0.0.0.0"),
            Self::Address(address) => address.fmt(f),
        }
    }
}

impl Part for ClusterReference {
    type Draft = ReferenceDraft;
    type Name = ReferenceName;

    fn metadata(&self) -> &Metadata<ReferenceName> {
        &self.metadata
    }

    fn check(draft: &ReferenceDraft, at: &Path, checks: &mut Checks) -> Option<Self> {
        let metadata = Metadata::check(draft.metadata(), at, checks);
        let provider = ClusterProviderName::new(&draft.provider);
        let provider = checks.accept(&at.field("provider"), &draft.provider, provider);
        let cluster = checks.accept(&at.field("cluster"), &draft.cluster, ClusterName::new(&draft.cluster));
        let load_balancer = load_balancer(draft.load_balancer.as_deref(), &at.field("loadBalancer"), checks)?;
        let cluster = ClusterId { provider: provider?, cluster: cluster? };
        Some(Self { metadata: metadata?, cluster, load_balancer })
    }
}

fn load_balancer(text: Option<&str>, at: &Path, checks: &mut Checks) -> Option<LoadBalancer> {
    let Some(text) = text.filter(|text| !text.is_empty()) else {
        return Some(LoadBalancer::Unknown);
    };
    match text.parse::<IpAddr>() {
        Ok(address) if address.is_unspecified() => Some(LoadBalancer::Unknown),
        Ok(address) => Some(LoadBalancer::Address(address)),
        Err(_) => {
            checks.refuse(at, text, "must be an IPv4 or IPv6 address; leave it out when it is not known");
            None
        }
    }
}

impl TryFrom<ReferenceDraft> for ClusterReference {
    type Error = Refusals;

    fn try_from(draft: ReferenceDraft) -> Result<Self, Refusals> {
        super::checked(|checks| Self::check(&draft, &Path::root(), checks))
    }
}

impl From<ClusterReference> for ReferenceDraft {
    fn from(reference: ClusterReference) -> Self {
        Self {
            provider: reference.cluster.provider.into(),
            cluster: reference.cluster.cluster.into(),
            load_balancer: reference.load_balancer.address().map(|address| address.to_string()),
            ..Self::with_metadata(reference.metadata.into())
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_load_balancer_is_an_address_or_unknown() {
        let read = |text: Option<&str>| {
            let load_balancer = text.map(str::to_owned);
            let (name, provider, cluster) = ("r".to_owned(), "p".to_owned(), "c".to_owned());
            let draft =
                ReferenceDraft { name, provider, cluster, load_balancer, ..ReferenceDraft::default() };
            ClusterReference::try_from(draft).map(|reference| reference.load_balancer)
        };
        for unknown in [None, Some(""), Some("0.0.0.0"), Some("::")] {
            assert_eq!(read(unknown), Ok(LoadBalancer::Unknown), "{unknown:?}");
        }
        for known in ["10.0.0.1", "2001:db8::1"] {
            assert_eq!(read(Some(known)), Ok(LoadBalancer::Address(known.parse().unwrap())));
        }
        assert!(read(Some("lb.example.com")).is_err());
    }
}
