//! `POST /v2/cluster-providers/{provider}/clusters/{cluster}/accept`: another cluster takes the place of the one that its name stood
//! for, or the cluster is reached at another endpoint.

use axum::extract::State;
use axum::http::StatusCode;
use dcm_core::port::cluster::ClusterUid;
use dcm_core::service::RegisteredCluster;
use schemars::JsonSchema;
use serde::Deserialize;

use super::{OneCluster, of_registered};
use crate::access::Asker;
use crate::documented::openapi::{Answer, Operation};
use crate::documented::place::{Asked, At};
use crate::documented::problem::{Kind, Problem};
use crate::documented::route::Shared;
use crate::documented::tag::Unconditional;
use crate::request::Asking;

/// Which other cluster.
#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(in crate::documented) struct Which {
    /// The UID of its `kube-system` namespace, as a check tells it.
    uid: String,
}

/// What the document says of it.
pub(in crate::documented) fn describe(it: Operation) -> Operation {
    it.says(
        "Accept another cluster, or another endpoint",
        "Another cluster takes the place of the one that the name stood for: from then on, what was there before is not expected any more. \
         Where the kubeconfig leads to another server, or trusts other authorities, than before, it is used from then on.",
    )
    .answers(StatusCode::NO_CONTENT, Answer::empty("It is the one from now on."))
    .fails(&[Kind::WrongState, Kind::InUse, Kind::NotReady])
}

pub(in crate::documented) async fn handle(
    State(services): State<Shared>,
    At(cluster): At<OneCluster>,
    Asked(Which { uid }): Asked<Which>,
    asker: Asker,
    Asking(caller): Asking,
    Unconditional: Unconditional,
) -> Result<StatusCode, Problem> {
    let RegisteredCluster { registration, is_moved, .. } = services.registered.get(&cluster.id()).await?;
    let identified = services.look(&asker)?.identify(&registration).await;
    let (found, other) = identified.map_err(|error| of_registered(&registration, error))?;
    if other.is_none() && !is_moved {
        let detail = format!("{} is no other cluster than before", registration.id);
        return Err(Problem::new(Kind::WrongState, detail));
    }
    if *found.0 != *uid {
        let ClusterUid(found) = found;
        return Err(Problem::new(Kind::WrongState, format!("the cluster that was found is {found}")));
    }
    services.installation.accept(&caller, &registration, &found).await?;
    Ok(StatusCode::NO_CONTENT)
}
