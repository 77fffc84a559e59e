//! Cluster references: which clusters a logical cloud is in.

use std::collections::{BTreeMap, BTreeSet};
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
        let provider = ClusterProviderName::new(&draft.provider);
        let provider = checks.accept(&at.field("provider"), &draft.provider, provider);
        let cluster = checks.accept(&at.field("cluster"), &draft.cluster, ClusterName::new(&draft.cluster));
        let load_balancer = load_balancer(draft.load_balancer.as_deref(), &at.field("loadBalancer"), checks);
        // An absent name comes from the cluster's, so a cluster without a legal name is refused for that alone.
        let named = !draft.name.is_empty() || (provider.is_some() && cluster.is_some());
        let metadata = named.then(|| Metadata::check(draft.metadata(), at, checks)).flatten();
        let cluster = ClusterId { provider: provider?, cluster: cluster? };
        Some(Self { metadata: metadata?, cluster, load_balancer: load_balancer? })
    }
}

/// Names the references that have no name: by the cluster's name or, where the cloud has another reference of that name
/// or a cluster of that name from another provider, by `provider-cluster`.
pub(super) fn name_unnamed(references: &mut [ReferenceDraft], at: &Path, checks: &mut Checks) {
    // Each name with the cluster that it was given to by default; none when it was written down.
    let mut taken: BTreeMap<String, Option<ClusterId>> = BTreeMap::new();
    let mut providers: BTreeMap<String, BTreeSet<String>> = BTreeMap::new();
    for ReferenceDraft { name, provider, cluster, .. } in references.iter() {
        if name.is_empty() {
            providers.entry(cluster.clone()).or_default().insert(provider.clone());
        } else {
            taken.insert(name.clone(), None);
        }
    }
    for (index, reference) in references.iter_mut().enumerate() {
        let ReferenceDraft { name, provider, cluster, .. } = reference;
        let (true, Ok(id)) = (name.is_empty(), ClusterId::new(&provider, &cluster)) else {
            continue;
        };
        let ambiguous = matches!(taken.get(cluster), Some(None)) || providers[cluster].len() > 1;
        *name = if ambiguous { format!("{provider}-{cluster}") } else { cluster.clone() };
        let id = Some(id);
        if taken.insert(name.clone(), id.clone()).is_some_and(|other| other != id) {
            let rule = "is the default name of this reference and another one's name: give it a name";
            checks.refuse(&at.item(index).field("name"), name, rule);
        }
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

    /// The names of references that are given as `provider/cluster`, with `name=` before it when it has one.
    fn named(references: &[&str]) -> Result<Vec<String>, String> {
        let mut drafts: Vec<ReferenceDraft> = references
            .iter()
            .map(|text| {
                let (name, id) = text.split_once('=').unwrap_or(("", text));
                let (provider, cluster) = id.split_once('/').unwrap();
                let (name, provider, cluster) = (name.to_owned(), provider.to_owned(), cluster.to_owned());
                ReferenceDraft { name, provider, cluster, ..ReferenceDraft::default() }
            })
            .collect();
        let mut checks = Checks::default();
        name_unnamed(&mut drafts, &Path::root().field("clusters"), &mut checks);
        let names = drafts.into_iter().map(|draft| draft.name).collect();
        checks.finish(Some(names)).map_err(|refusals| refusals.as_slice()[0].path.clone())
    }

    #[test]
    fn a_reference_without_a_name_is_named_by_its_cluster_and_where_that_is_ambiguous_by_both() {
        for (references, names) in [
            (&["p/a", "p/b"] as &[&str], &["a", "b"] as &[&str]),
            (&["x=p/a", "p/b"], &["x", "b"]),
            (&["p/a", "q/a", "q/b"], &["p-a", "q-a", "b"]),
            (&["a=p/b", "p/a"], &["a", "p-a"]),
            (&["p/a", "p/a"], &["a", "a"]),
            (&["p/a b"], &[""]),
        ] {
            assert_eq!(named(references).unwrap(), names, "{references:?}");
        }
        for (references, refused) in [
            (&["a=p/b", "p-a=p/c", "p/a"] as &[&str], "clusters[2].name"),
            (&["a-b/c", "a/b-c", "x/c", "x/b-c"], "clusters[1].name"),
        ] {
            assert_eq!(named(references), Err(refused.into()), "{references:?}");
        }
    }

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
