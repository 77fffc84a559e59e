//! Refusing what no lane's record has room for.
//!
//! Said when it is handed over, before anything is written: a lane whose record is larger than a document can never come to its
//! end.

use std::collections::{BTreeMap, BTreeSet};

use dcm_core::app_context::{AppContext, Bundle};
use dcm_core::hash::ContentHash;
use dcm_core::manifest::Manifest;
use dcm_core::name::{AppName, ClusterId};
use dcm_core::port::store::DOCUMENT_BYTES_MAX;
use dcm_core::port::synchronizer::Error;

use crate::record::{Extent, Root};

/// Refuses a context that wants more of a cluster than the record of its lane can name.
pub(super) fn check(context: &AppContext) -> Result<(), Error> {
    let mut seen = BTreeSet::new();
    for (cluster, bundle) in &context.placements {
        if seen.insert(bundle.hash()) {
            let extent = Extent::of(bundle);
            limit(cluster, bundle, &extent, extent.bytes_max_renewed(), "")?;
        }
    }
    Ok(())
}

/// Refuses a context that takes the place of so much that the record of a lane can't name both: what a cluster is to hold is there
/// before what it held goes. `manifests` are those that the current root names.
pub(super) fn check_change(
    context: &AppContext,
    current: &Root,
    manifests: &BTreeMap<ContentHash, Manifest>,
) -> Result<(), Error> {
    let mut seen = BTreeSet::new();
    for (cluster, bundle) in &context.placements {
        let Some(held) = current.placed(cluster).filter(|held| *held != bundle.hash()) else { continue };
        if seen.insert((held, bundle.hash())) {
            let mut extent = Extent::of(bundle);
            extent.add_steps(current.placements.steps_of(&held), manifests);
            let bytes = extent.bytes_max();
            limit(cluster, bundle, &extent, bytes, ", together with what is there now")?;
        }
    }
    Ok(())
}

fn limit(
    cluster: &ClusterId,
    bundle: &Bundle,
    extent: &Extent<'_>,
    bytes: usize,
    together: &str,
) -> Result<(), Error> {
    if bytes <= DOCUMENT_BYTES_MAX {
        return Ok(());
    }
    let (objects, requests) = (extent.objects(), extent.requests());
    let most = largest_app(bundle).map(|(app, steps)| format!(", {steps} of them for app {app}"));
    let most = most.unwrap_or_default();
    let reason = format!(
        "cluster {cluster} is to hold {objects} objects and {requests} requests{together}{most}: the record of that may have \
         {bytes} bytes, more than {DOCUMENT_BYTES_MAX}; several app contexts have a record each"
    );
    Err(Error::Invalid { reason })
}

/// The app with the most steps.
fn largest_app(bundle: &Bundle) -> Option<(&AppName, usize)> {
    let mut steps: BTreeMap<&AppName, usize> = BTreeMap::new();
    for step in bundle.steps() {
        *steps.entry(&step.app).or_default() += 1;
    }
    steps.into_iter().max_by_key(|(_, steps)| *steps)
}
