//! Cluster references.

pub(super) mod create;
pub(super) mod delete;
pub(super) mod get;
pub(super) mod kubeconfig;
pub(super) mod list;

use std::collections::BTreeMap;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use dcm_core::logical_cloud::LogicalCloud;
use dcm_core::name::ReferenceName;
use dcm_core::service::{Error, LogicalClouds};

use super::problem::Problem;

/// What clusters issued for the first user, as far as they did, as EMCO writes it: for one reference or for all.
async fn certificates(
    clouds: &LogicalClouds,
    cloud: &LogicalCloud,
    reference: Option<&ReferenceName>,
) -> Result<BTreeMap<ReferenceName, String>, Problem> {
    let Some(user) = cloud.users().first() else { return Ok(BTreeMap::new()) };
    let (project, name, user) = (cloud.project(), cloud.name(), &user.metadata.name);
    match clouds.certificates(project, name, user, reference).await {
        Ok(all) => Ok(all.into_iter().map(|(name, pem)| (name, STANDARD.encode(pem))).collect()),
        // Nothing is on clusters, or not this.
        Err(Error::NotApplied { .. } | Error::NotFound { .. }) => Ok(BTreeMap::new()),
        Err(error) => Err(error.into()),
    }
}
