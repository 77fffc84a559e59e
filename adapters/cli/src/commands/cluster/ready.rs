//! Whether a cluster is ready, before it is registered so.

use anyhow::Context as _;
use dcm_core::port::cluster::{ClusterUid, Error};
use dcm_core::preflight::{InspectError, Inspection, Unready};
use dcm_core::service::Registration;
use dcm_server::Installation as _;

use super::check::{self, Purpose};
use crate::exit::{Ended, Exit};
use crate::place::{self, Place};
use crate::session::Session;

/// Looks at the cluster, prints what is found, and gives which one it is. One that is not ready, another one than before, or
/// registered under another name is refused; `undone` says what is then not done.
pub(super) async fn must_be(
    session: &Session,
    registration: &Registration,
    purpose: &Purpose,
    undone: &str,
) -> anyhow::Result<Option<ClusterUid>> {
    let id = &registration.id;
    let looked = look(session, registration, purpose).await;
    let inspection = looked.with_context(|| format!("{id} {undone}"))?;
    check::print(session, id, &inspection)?;
    inspection.must_be_ready().map_err(|unready| {
        let message = match unready {
            Unready::Twin(twin) => format!("{id} {undone}: {twin}"),
            Unready::Findings(_) => format!("{id} {undone}: mend this, or say --unchecked"),
            Unready::Other(other) => format!(
                "{id} {undone}: {other}; register that one under another name; or, where it takes the other one's place, \
                 say --unchecked here and then dcm cluster accept {id}"
            ),
        };
        anyhow::Error::from(Ended::new(Exit::Stuck, message))
    })?;
    Ok(inspection.uid)
}

async fn look(
    session: &Session,
    registration: &Registration,
    purpose: &Purpose,
) -> anyhow::Result<Inspection> {
    match session.place() {
        Place::Here(deployment) => {
            let looked = deployment.inspect(registration, &purpose.needs()).await;
            looked.map_err(|error| of_inspection(error, |error| unasked(registration, &error)))
        }
        Place::There(client) => {
            let check = purpose.asked(Some(registration.kubeconfig.clone()))?;
            Ok(client.clusters().check(&registration.id, &check).await.map_err(place::Error::from)?)
        }
    }
}

/// Why a cluster could not be looked at. What the store did is not told as what the cluster did.
pub(super) fn of_inspection(
    error: InspectError,
    of_cluster: impl FnOnce(Error) -> anyhow::Error,
) -> anyhow::Error {
    match error {
        InspectError::Cluster(error) => of_cluster(error),
        InspectError::Store(error) => place::Error::from(error).into(),
    }
}

/// Why it could not be asked, with the field of the kubeconfig that it comes from.
fn unasked(registration: &Registration, error: &Error) -> anyhow::Error {
    match error {
        Error::Kubeconfig { reason } => Ended::new(Exit::Refused, format!("kubeconfig: {reason}")).into(),
        _ => anyhow::Error::msg(dcm_server::unasked(registration, error)),
    }
}
