//! `POST /v2/cluster-providers/{clusterProvider}/clusters`: a form with the cluster's document and its kubeconfig.

use axum::extract::State;
use axum::http::StatusCode;
use dcm_core::causes;
use dcm_core::logical_cloud::Level;
use dcm_core::name::{ClusterId, ClusterName};
use dcm_core::port::cluster::{ClusterUid, Error as ClusterError};
use dcm_core::preflight::{InspectError, Needs, Unready};
use dcm_core::service::{EditOutcome, Error, Kind, Registration};

use super::form::Form;
use crate::access::Asker;
use crate::emco::answer::Answer;
use crate::emco::body::checked;
use crate::emco::names::Names;
use crate::emco::objects::Cluster;
use crate::emco::problem::Problem;
use crate::request::Asking;
use crate::route::Shared;
use crate::services::Services;

pub(in crate::emco) async fn handle(
    State(services): State<Shared>,
    names: Names,
    asker: Asker,
    Asking(caller): Asking,
    Form { metadata, file }: Form,
) -> Result<Answer<Cluster>, Problem> {
    let sent: Cluster = checked(&metadata)?;
    let no_file = || Problem::new(StatusCode::UNPROCESSABLE_ENTITY, "Unable to process file");
    let kubeconfig = file.ok_or_else(no_file)?;
    let provider = names.provider().map_err(|_| Problem::no_parent())?;
    // The schema has the rule of names.
    let cluster = ClusterName::new(&sent.metadata.name).map_err(|_| Problem::internal())?;
    let id = ClusterId { provider, cluster };
    let there = || Error::AlreadyThere { kind: Kind::Cluster, name: id.to_string() };
    match services.registered.get(&id).await {
        Ok(_) => return Err(there().into()),
        Err(Error::NotFound { .. }) => {}
        Err(error) => return Err(error.into()),
    }
    services.providers.get(&id.provider).await.map_err(Problem::of_child)?;
    let registration = Registration { notes: sent.notes(), ..Registration::new(id.clone(), kubeconfig) };
    services.registered.check(&registration)?;
    let uid = look_at(&services, &asker, &registration).await?;
    let (made, outcome) = services.registered.add_seen(&caller, registration, uid.as_ref()).await?;
    if outcome == EditOutcome::Unchanged {
        return Err(there().into());
    }
    Ok(Answer(StatusCode::CREATED, made.registration.into()))
}

/// Refuses a cluster that answers and can never serve. One that does not answer may come up later: EMCO's clients register clusters
/// before they are reachable.
async fn look_at(
    services: &Services,
    asker: &Asker,
    registration: &Registration,
) -> Result<Option<ClusterUid>, Problem> {
    let id = &registration.id;
    let inspected = services.look(asker)?.inspect(registration, &Needs::of_level(Level::default())).await;
    let inspection = match inspected {
        Ok(inspection) => inspection,
        Err(InspectError::Cluster(ClusterError::Kubeconfig { reason })) => {
            return Err(Problem::invalid([format!("file: {reason}")]));
        }
        Err(InspectError::Cluster(error)) => {
            tracing::warn!(cluster = %id, error = causes::told(&error), "registered without a look at it");
            return Ok(None);
        }
        // Which cluster the name stands for is not known then.
        Err(InspectError::Store(source)) => return Err(Error::Synchronizer(source).into()),
    };
    inspection.must_be_ready().map_err(|unready| {
        Problem::conflict(match unready {
            Unready::Other(other) => other.to_string(),
            Unready::Twin(twin) => twin.to_string(),
            Unready::Findings(_) => format!("{id} is {unready}"),
        })
    })?;
    Ok(inspection.uid)
}
