//! Whether a cluster is ready, before it is registered so.

use anyhow::Context as _;
use dcm_client::Checked;
use dcm_core::port::cluster::{ClusterUid, Error};
use dcm_core::service::Registration;
use dcm_server::{Inspection, Other};

use super::check::{self, Purpose};
use crate::exit::{Ended, Exit};
use crate::place::{self, Place};
use crate::session::Session;

/// Looks at the cluster and prints what is found. One that is not ready, or another one than before, is refused; `undone` says
/// what is then not done.
pub(super) async fn must_be(
    session: &Session,
    registration: &Registration,
    purpose: &Purpose,
    undone: &str,
) -> anyhow::Result<()> {
    let id = &registration.id;
    let looked = look(session, registration, purpose).await;
    let Inspection { findings, other } = looked.with_context(|| format!("{id} {undone}"))?;
    check::print(session, id, &findings)?;
    if !findings.is_ready() {
        return Err(Ended::new(Exit::Stuck, format!("{id} {undone}: mend this, or say --unchecked")).into());
    }
    let Some(Other { known: ClusterUid(known), found: ClusterUid(found) }) = other else { return Ok(()) };
    let message = format!(
        "{id} {undone}: the kubeconfig leads to another cluster ({found}) than before ({known}); register that one under \
         another name; or, where it takes the other one's place, say --unchecked here and then dcm cluster accept {id}"
    );
    Err(Ended::new(Exit::Stuck, message).into())
}

async fn look(
    session: &Session,
    registration: &Registration,
    purpose: &Purpose,
) -> anyhow::Result<Inspection> {
    match session.place() {
        Place::Here(deployment) => {
            let looked = deployment.inspect(registration, &purpose.needs()).await;
            looked.map_err(|error| unasked(registration, &error))
        }
        Place::There(client) => {
            let check = purpose.asked(Some(registration.kubeconfig.clone()))?;
            let checked = client.clusters().check(&registration.id, &check).await;
            let Checked { findings, other, known, .. } = checked.map_err(place::Error::from)?;
            let other = known.zip(other).map(|(known, found)| Other { known, found });
            Ok(Inspection { findings, other })
        }
    }
}

/// Why it could not be asked, with the field of the kubeconfig that it comes from.
fn unasked(registration: &Registration, error: &Error) -> anyhow::Error {
    match error {
        Error::Kubeconfig { reason } => Ended::new(Exit::Refused, format!("kubeconfig: {reason}")).into(),
        _ => anyhow::Error::msg(dcm_server::unasked(registration, error)),
    }
}
