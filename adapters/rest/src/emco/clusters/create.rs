//! `POST /v2/cluster-providers/{clusterProvider}/clusters`: a form with the cluster's document and its kubeconfig.

use axum::extract::State;
use axum::http::StatusCode;
use dcm_core::causes;
use dcm_core::logical_cloud::Level;
use dcm_core::name::{ClusterId, ClusterName};
use dcm_core::port::cluster::{ClusterUid, Error as ClusterError};
use dcm_core::preflight::Needs;
use dcm_core::service::{EditOutcome, Error, Kind, Registration};

use super::form::Form;
use crate::emco::answer::Answer;
use crate::emco::body::checked;
use crate::emco::names::Names;
use crate::emco::objects::Cluster;
use crate::emco::problem::Problem;
use crate::installation::{Inspection, Other, hindered};
use crate::request::Asking;
use crate::route::Shared;
use crate::services::Services;

pub(in crate::emco) async fn handle(
    State(services): State<Shared>,
    names: Names,
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
    look_at(&services, &registration).await?;
    let (made, outcome) = services.registered.add(&caller, registration).await?;
    if outcome == EditOutcome::Unchanged {
        return Err(there().into());
    }
    Ok(Answer(StatusCode::CREATED, made.registration.into()))
}

/// Refuses a cluster that answers and can never serve. One that does not answer may come up later: EMCO's clients register clusters
/// before they are reachable.
async fn look_at(services: &Services, registration: &Registration) -> Result<(), Problem> {
    let id = &registration.id;
    let inspected = services.installation.inspect(registration, &Needs::of_level(Level::default())).await;
    let Inspection { findings, other } = match inspected {
        Ok(inspection) => inspection,
        Err(ClusterError::Kubeconfig { reason }) => {
            return Err(Problem::invalid([format!("file: {reason}")]));
        }
        Err(error) => {
            tracing::warn!(cluster = %id, error = causes::told(&error), "registered without a look at it");
            return Ok(());
        }
    };
    if let Some(Other { known: ClusterUid(known), found: ClusterUid(found) }) = other {
        let detail = format!("the kubeconfig leads to another cluster ({found}) than before ({known})");
        return Err(Problem::conflict(detail));
    }
    match findings.is_ready() {
        true => Ok(()),
        false => Err(Problem::conflict(format!("{id} is not ready: {}", hindered(&findings)))),
    }
}
