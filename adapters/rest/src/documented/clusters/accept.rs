//! `POST /v2/cluster-providers/{provider}/clusters/{cluster}/accept`: another cluster takes the place of the one that its name stood
//! for.

use axum::extract::State;
use axum::http::StatusCode;
use dcm_core::port::cluster::ClusterUid;
use dcm_core::service::Error;
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
        "Accept another cluster",
        "It takes the place of the one that the name stood for: from then on, what was there before is not expected any more.",
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
    let found = services.registered.get(&cluster.id()).await?.registration;
    let other = services.look(&asker)?.other(&found).await;
    match other.map_err(|error| of_registered(&found, error))? {
        None => Err(Problem::new(Kind::WrongState, format!("{} is no other cluster than before", found.id))),
        Some(other) if *other.found.0 != *uid => {
            let ClusterUid(found) = other.found;
            Err(Problem::new(Kind::WrongState, format!("the cluster that was found is {found}")))
        }
        Some(other) => {
            let accepted = services.installation.accept(&caller, &found.id, &other.found).await;
            accepted.map_err(Error::Synchronizer)?;
            Ok(StatusCode::NO_CONTENT)
        }
    }
}
