//! Which clusters an apply brings a cloud to: those that it refers to and those that its selector selects.

use std::collections::{BTreeMap, BTreeSet};

use crate::logical_cloud::{ClusterReference, Draft, Level, LogicalCloud, ReferenceDraft};
use crate::name::{ClusterId, Namespace};
use crate::refusal::{Checks, Path, Refusals};

use super::documents::{ClusterDocument, read};
use super::error::Error;
use super::logical_clouds::LogicalClouds;

/// Namespace of an admin cloud in clusters that were registered without one.
pub const ADMIN_NAMESPACE_DEFAULT: &str = "default";

/// A cloud with all its clusters.
pub(super) struct Resolved {
    pub(super) cloud: LogicalCloud,
    /// The references that the selector added.
    pub(super) selected: Vec<ClusterReference>,
    pub(super) namespace: Option<Namespace>,
}

type Registered = BTreeMap<ClusterId, ClusterDocument>;

/// Where each cluster is in the draft, for the paths of refusals: a checked cloud has its references in another order.
pub(super) type Positions = BTreeMap<ClusterId, usize>;

pub(super) fn positions(draft: &Draft) -> Positions {
    let id = |reference: &ReferenceDraft| ClusterId::new(&reference.provider, &reference.cluster).ok();
    let clusters = draft.spec.clusters.iter().enumerate();
    clusters.filter_map(|(index, reference)| Some((id(reference)?, index))).collect()
}

impl LogicalClouds {
    pub(super) async fn resolve(
        &self,
        cloud: &LogicalCloud,
        positions: &Positions,
    ) -> Result<Resolved, Error> {
        let registered = self.registered(cloud).await?;
        all_registered(cloud, &registered, positions)?;
        let labels = registered.iter().map(|(id, document)| (id, &document.labels));
        let resolved = cloud.with_selected(labels)?;
        let own = clusters_of(cloud);
        let added = resolved.references().iter().filter(|reference| !own.contains(&reference.cluster));
        let selected = added.cloned().collect();
        let namespace = match resolved.level() {
            Level::Admin => admin_namespace(&resolved, &registered, positions)?,
            Level::Standard | Level::Privileged => resolved.namespace().cloned(),
        };
        Ok(Resolved { cloud: resolved, selected, namespace })
    }

    /// The registered clusters among those that the cloud may mean. A cluster that can't be read and is none of its own holds it up
    /// only where it may be selected.
    async fn registered(&self, cloud: &LogicalCloud) -> Result<Registered, Error> {
        let entries = match cloud.cluster_selector() {
            Some(_) => self.registrations_where(|_| true).await?,
            None => self.registrations(&clusters_of(cloud)).await?,
        };
        entries.into_iter().map(|(cluster, entry)| Ok((cluster, read(&entry)?))).collect()
    }
}

/// The clusters that a cloud refers to.
pub(super) fn clusters_of(cloud: &LogicalCloud) -> BTreeSet<&ClusterId> {
    cloud.references().iter().map(|reference| &reference.cluster).collect()
}

fn path_of(cluster: &ClusterId, positions: &Positions) -> Path {
    let spec = Path::root().field("spec");
    match positions.get(cluster) {
        Some(index) => spec.field("clusters").item(*index).field("cluster"),
        None => spec.field("clusterSelector"),
    }
}

fn all_registered(
    cloud: &LogicalCloud,
    registered: &Registered,
    positions: &Positions,
) -> Result<(), Refusals> {
    let mut checks = Checks::default();
    for ClusterReference { cluster, .. } in cloud.references() {
        if !registered.contains_key(cluster) {
            let rule = "is not registered: add the cluster first";
            checks.refuse(&path_of(cluster, positions), &cluster.to_string(), rule);
        }
    }
    checks.finish(Some(()))
}

/// The namespace that all clusters of an admin cloud have.
fn admin_namespace(
    cloud: &LogicalCloud,
    registered: &Registered,
    positions: &Positions,
) -> Result<Option<Namespace>, Refusals> {
    let mut checks = Checks::default();
    let mut first: Option<(&ClusterReference, &str)> = None;
    for reference in cloud.references() {
        let own = registered.get(&reference.cluster).and_then(|document| document.namespace.as_ref());
        let own = own.map_or(ADMIN_NAMESPACE_DEFAULT, Namespace::as_str);
        match first {
            Some((other, namespace)) if namespace != own => {
                let rule = format!(
                    "is registered with namespace {own}, and {} with {namespace}: an admin cloud has one",
                    other.cluster
                );
                checks.refuse(&path_of(&reference.cluster, positions), &reference.cluster.to_string(), rule);
            }
            Some(_) => {}
            None => first = Some((reference, own)),
        }
    }
    let namespace = first.and_then(|(_, namespace)| Namespace::new(namespace).ok());
    checks.finish(Some(()))?;
    Ok(namespace)
}
