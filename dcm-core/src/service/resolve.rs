//! Which clusters an apply brings a cloud to: those that it refers to and those that its selector selects.

use std::collections::{BTreeMap, BTreeSet};

use crate::logical_cloud::{ClusterReference, Draft, Level, LogicalCloud, ReferenceDraft};
use crate::name::{ClusterId, Namespace};
use crate::port::store::{self, Entry, StoreExt};
use crate::refusal::{Checks, Path, Refusals};

use super::documents::{ClusterDocument, read};
use super::error::Error;
use super::logical_clouds::LogicalClouds;
use super::path;

/// Up to so many clusters are read one by one; more are listed, those that the cloud doesn't need included.
const SINGLE_READS_MAX: usize = 64;

/// Namespace of an admin cloud in clusters that were registered without one.
pub const ADMIN_NAMESPACE_DEFAULT: &str = "default";

/// A cloud with all its clusters.
pub(super) struct Resolved {
    pub(super) cloud: LogicalCloud,
    /// The references that the selector added.
    pub(super) selected: Vec<ClusterReference>,
    pub(super) namespace: Option<Namespace>,
}

pub(super) type Registered = BTreeMap<ClusterId, ClusterDocument>;

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
        let own: BTreeSet<&ClusterId> = cloud.references().iter().map(|own| &own.cluster).collect();
        let added = resolved.references().iter().filter(|reference| !own.contains(&reference.cluster));
        let selected = added.cloned().collect();
        let namespace = match resolved.level() {
            Level::Admin => admin_namespace(&resolved, &registered, positions)?,
            Level::Standard | Level::Privileged => resolved.namespace().cloned(),
        };
        Ok(Resolved { cloud: resolved, selected, namespace })
    }

    /// The registered clusters among those that the cloud may mean.
    pub(super) async fn registered(&self, cloud: &LogicalCloud) -> Result<Registered, Error> {
        let mut registered = Registered::new();
        if cloud.cluster_selector().is_some() || cloud.references().len() > SINGLE_READS_MAX {
            let own: BTreeSet<store::Path> =
                cloud.references().iter().map(|reference| path::cluster(&reference.cluster)).collect();
            // A cluster that can't be read and is none of its own holds up a cloud only where it may be selected.
            let concerns = |entry: &Entry| cloud.cluster_selector().is_some() || own.contains(&entry.path);
            for entry in
                self.documents.list_all(&path::clusters()).await?.iter().filter(|entry| concerns(entry))
            {
                let document: ClusterDocument = read(entry)?;
                registered.insert(document.id.clone(), document);
            }
            return Ok(registered);
        }
        for reference in cloud.references() {
            if let Some(entry) = self.documents.get(&path::cluster(&reference.cluster)).await? {
                registered.insert(reference.cluster.clone(), read(&entry)?);
            }
        }
        Ok(registered)
    }
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
