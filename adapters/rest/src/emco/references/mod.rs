//! Cluster references.

pub(super) mod create;
pub(super) mod delete;
pub(super) mod get;
pub(super) mod kubeconfig;
pub(super) mod list;

use std::collections::BTreeMap;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use dcm_core::kubeconfig::Credential;
use dcm_core::logical_cloud::LogicalCloud;
use dcm_core::name::ReferenceName;
use dcm_core::service::{Error, LogicalClouds};

use super::objects::ClusterReference;
use super::problem::Problem;

/// The references of a logical cloud, each with the certificate that its cluster issued for the first user.
async fn all(clouds: &LogicalClouds, cloud: &LogicalCloud) -> Result<Vec<ClusterReference>, Problem> {
    let mut certificates = certificates(clouds, cloud).await?;
    let with_certificate = |reference: &dcm_core::logical_cloud::ClusterReference| {
        let certificate = certificates.remove(&reference.metadata.name).unwrap_or_default();
        ClusterReference::of(reference, certificate)
    };
    Ok(cloud.references().iter().map(with_certificate).collect())
}

/// What clusters issued for the first user, as far as they did.
async fn certificates(
    clouds: &LogicalClouds,
    cloud: &LogicalCloud,
) -> Result<BTreeMap<ReferenceName, String>, Problem> {
    let Some(user) = cloud.users().first() else { return Ok(BTreeMap::new()) };
    let (project, name) = (cloud.project(), cloud.name());
    let access = match clouds.kubeconfigs(project, name, Some(&user.metadata.name), None).await {
        Ok(given) => given.access,
        Err(
            Error::NotApplied { .. }
            | Error::NotFound { .. }
            | Error::NotIssued { .. }
            | Error::Certificate { .. }
            | Error::Kubeconfig { .. },
        ) => return Ok(BTreeMap::new()),
        Err(error) => return Err(error.into()),
    };
    let certificate = |credential| match credential {
        Credential::Certificate { certificate, .. } => Some(STANDARD.encode(certificate)),
        Credential::Token(_) | Credential::Plugin(_) => None,
    };
    let each = access.clusters.into_iter();
    Ok(each.filter_map(|(name, access)| Some((name, certificate(access.credential)?))).collect())
}
