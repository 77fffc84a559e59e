//! Registered clusters.

pub(super) mod accept;
pub(super) mod check;
pub(super) mod check_for;
pub(super) mod clear_orphans;
pub(super) mod create;
pub(super) mod delete;
pub(super) mod get;
pub(super) mod list;
pub(super) mod orphans;
pub(super) mod put;
pub(super) mod resume;
pub(super) mod stop;

use dcm_core::causes;
use dcm_core::logical_cloud::Level;
use dcm_core::name::{ClusterId, ClusterName, ClusterProviderName};
use dcm_core::port::cluster::{ClusterUid, Error};
use dcm_core::preflight::Needs;
use dcm_core::service::{self, OrphanError, RegisteredCluster, Registration};
use schemars::JsonSchema;
use serde::Deserialize;

use super::objects::ClusterAnswer;
use super::problem::{Kind, Problem};
use crate::access::Asker;
use crate::installation::{self, Inspection, Other, hindered};
use crate::services::Services;

/// A cluster.
#[derive(Deserialize, JsonSchema)]
pub(super) struct OneCluster {
    /// The cluster provider.
    provider: ClusterProviderName,
    /// The cluster.
    cluster: ClusterName,
}

impl OneCluster {
    fn id(self) -> ClusterId {
        ClusterId { provider: self.provider, cluster: self.cluster }
    }
}

/// How what is to be registered is looked at.
#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct Looking {
    /// It is registered without a look at it.
    #[serde(default)]
    unchecked: bool,
    /// The highest level of logical clouds that will be on it.
    #[serde(default)]
    level: Level,
}

/// What is answered of a cluster.
async fn answer(
    services: &Services,
    asker: &Asker,
    cluster: RegisteredCluster,
) -> Result<ClusterAnswer, service::Error> {
    let is_stopped = services.registered.is_stopped(&cluster.registration.id).await?;
    Ok(ClusterAnswer::of(cluster, is_stopped, asker))
}

/// Refuses a cluster that is not ready, or another one than is known by its name.
async fn must_be_ready(
    services: &Services,
    registration: &Registration,
    level: Level,
) -> Result<(), Problem> {
    let Inspection { findings, other } =
        services.installation.inspect(registration, &Needs::of_level(level)).await.map_err(|error| {
            match error {
                Error::Kubeconfig { reason } => Problem::field("spec.kubeconfig", reason),
                error => Problem::new(Kind::NotReady, installation::unasked(registration, &error)),
            }
        })?;
    if let Some(Other { known: ClusterUid(known), found: ClusterUid(found) }) = other {
        let detail = format!(
            "the kubeconfig leads to another cluster ({found}) than before ({known}): register that one under another name"
        );
        return Err(Problem::new(Kind::NotReady, detail));
    }
    if findings.is_ready() {
        return Ok(());
    }
    let detail = format!(
        "{} is not ready: {}; mend this, or say unchecked=true",
        registration.id,
        hindered(&findings)
    );
    Err(Problem::new(Kind::NotReady, detail))
}

/// Why a cluster that is registered could not be asked.
fn unasked(registration: &Registration, error: &Error) -> Problem {
    let detail = format!("{} can't be asked: {}", registration.id, causes::told(error));
    Problem::new(Kind::NotReady, detail)
}

/// Why orphans could not be looked for, or cleared.
fn of_orphans(cluster: &ClusterId, error: OrphanError) -> Problem {
    match error {
        OrphanError::Cluster(_) | OrphanError::Object { .. } => {
            Problem::new(Kind::NotReady, format!("{cluster}: {}", causes::told(&error)))
        }
        OrphanError::Store(source) => service::Error::Synchronizer(source).into(),
        OrphanError::Audit(source) => service::Error::Audit(source).into(),
    }
}
