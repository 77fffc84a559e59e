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

use dcm_core::logical_cloud::Level;
use dcm_core::name::{ClusterId, ClusterName, ClusterProviderName};
use dcm_core::port::cluster::{ClusterUid, Error};
use dcm_core::preflight::{InspectError, Needs, Unready};
use dcm_core::service::{self, OrphanError, RegisteredCluster, Registration};
use schemars::JsonSchema;
use serde::Deserialize;

use super::objects::ClusterAnswer;
use super::problem::{Kind, Problem};
use crate::access::Asker;
use crate::installation;
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

/// Refuses a cluster that is not ready, another one than is known by its name, and one that has another name. Gives which one
/// it is.
async fn must_be_ready(
    services: &Services,
    asker: &Asker,
    registration: &Registration,
    level: Level,
) -> Result<Option<ClusterUid>, Problem> {
    let inspected = services.look(asker)?.inspect(registration, &Needs::of_level(level)).await;
    let inspection = inspected.map_err(|error| {
        of_inspection(error, |error| of_what_was_sent(registration, "spec.kubeconfig", error))
    })?;
    inspection.must_be_ready().map_err(|unready| {
        let detail = match unready {
            Unready::Twin(twin) => return Problem::new(Kind::InUse, twin.to_string()),
            Unready::Other(other) => format!("{other}: register that one under another name"),
            Unready::Findings(_) => {
                format!("{} is {unready}; mend this, or say unchecked=true", registration.id)
            }
        };
        Problem::new(Kind::NotReady, detail)
    })?;
    Ok(inspection.uid)
}

/// Why a cluster could not be looked at. What its store did is not told as what it did.
fn of_inspection(error: InspectError, of_cluster: impl FnOnce(Error) -> Problem) -> Problem {
    match error {
        InspectError::Cluster(error) => of_cluster(error),
        InspectError::Store(source) => service::Error::Synchronizer(source).into(),
    }
}

/// Why a cluster could not be asked by the kubeconfig in this field of the body.
fn of_what_was_sent(registration: &Registration, field: &str, error: Error) -> Problem {
    match error {
        Error::Kubeconfig { reason } => Problem::field(field, reason),
        error => Problem::new(Kind::NotReady, installation::unasked_by_registrar(registration, &error)),
    }
}

/// Why a cluster that is registered could not be looked at.
fn of_registered(registration: &Registration, error: InspectError) -> Problem {
    of_inspection(error, |error| {
        installation::log_details(&registration.id, &error);
        Problem::new(
            Kind::NotReady,
            format!("{} can't be asked: {}", registration.id, installation::summary(&error)),
        )
    })
}

/// Why orphans could not be looked for, or cleared.
fn of_orphans(cluster: &ClusterId, error: OrphanError) -> Problem {
    match error {
        OrphanError::Cluster(ref source) | OrphanError::Object { ref source, .. } => {
            installation::log_details(cluster, &error);
            Problem::new(Kind::NotReady, format!("{cluster}: {error}: {}", installation::summary(source)))
        }
        OrphanError::Store(source) => service::Error::Synchronizer(source).into(),
        OrphanError::Audit(source) => service::Error::Audit(source).into(),
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use dcm_core::port::store;

    use super::*;

    #[test]
    fn a_store_that_fails_is_told_as_that_and_not_as_a_cluster_that_is_not_ready() {
        let registration = Registration::new("edge/one".parse().unwrap(), dcm_core::secret::Secret::new(""));
        let away = || Arc::new(std::fmt::Error);
        let store = InspectError::Store(store::Error::Unavailable { source: away() }.into());
        assert_eq!(of_registered(&registration, store).kind(), Kind::Unavailable);
        let cluster = InspectError::Cluster(Error::Unreachable { source: away() });
        assert_eq!(of_registered(&registration, cluster).kind(), Kind::NotReady);
    }
}
