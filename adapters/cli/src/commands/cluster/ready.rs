//! Whether a cluster is ready, before it is registered so.

use anyhow::Context as _;
use dcm_core::kubeconfig::Admin;
use dcm_core::port::cluster::{ClusterUid, Error};
use dcm_core::preflight::Needs;
use dcm_core::service::Registration;
use dcm_server::{Inspection, Other};

use super::check;
use crate::exit::{Ended, Exit};
use crate::session::Session;

/// Looks at the cluster and prints what is found. One that is not ready, or another one than before, is refused; `undone` says
/// what is then not done.
pub(super) async fn must_be(
    session: &Session,
    registration: &Registration,
    needs: &Needs,
    undone: &str,
) -> anyhow::Result<()> {
    let id = &registration.id;
    let looked = session.here()?.inspect(registration, needs).await;
    let looked =
        looked.map_err(|error| unasked(registration, error)).with_context(|| format!("{id} {undone}"));
    let Inspection { findings, other } = looked?;
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

/// Why it could not be asked, with the field of the kubeconfig that it comes from.
fn unasked(registration: &Registration, error: Error) -> anyhow::Error {
    let Registration { id, kubeconfig, .. } = registration;
    let field = match &error {
        Error::Kubeconfig { reason } => {
            return Ended::new(Exit::Refused, format!("kubeconfig: {reason}")).into();
        }
        Error::Unauthorized { .. } => "users[].user".to_owned(),
        _ => {
            let server =
                Admin::read(kubeconfig).map_or_else(|_| String::new(), |admin| admin.server().to_owned());
            format!("clusters[].cluster.server {server}")
        }
    };
    anyhow::Error::new(error).context(format!("{id} can't be asked")).context(field)
}
