//! `dcm cluster add`: registers a cluster.

use std::collections::BTreeMap;
use std::path::PathBuf;

use dcm_core::name::{ClusterId, Namespace};
use dcm_core::service::{EditOutcome, Registration};

use super::check::Wanted;
use super::users::{self, Users};
use super::{label, ready};
use crate::arguments::Global;
use crate::exit::{Ended, Exit};
use crate::output;
use crate::own_kubeconfig;
use crate::place::{Look, Place};
use crate::session::Session;

#[derive(Debug, clap::Args)]
pub(crate) struct Arguments {
    /// Name of the cluster: its provider, and its name there.
    #[arg(value_name = "PROVIDER/CLUSTER")]
    id: ClusterId,
    /// Kubeconfig with the engine's credential. Default: the files in KUBECONFIG, otherwise ~/.kube/config.
    #[arg(long, value_name = "FILE")]
    kubeconfig: Option<PathBuf>,
    /// Context of the kubeconfig. Default: its current context.
    #[arg(long, value_name = "NAME")]
    kube_context: Option<String>,
    /// Label for cluster selectors. May be repeated.
    #[arg(long = "label", value_name = "KEY=VALUE", value_parser = label)]
    labels: Vec<(String, String)>,
    /// Namespace for admin clouds. Default: default.
    #[arg(long, value_name = "NAME")]
    namespace: Option<Namespace>,
    #[command(flatten)]
    users: Users,
    /// Registers the cluster without checking its rights, version and clock.
    #[arg(long)]
    unchecked: bool,
    #[command(flatten)]
    wanted: Wanted,
}

pub(crate) async fn run(global: &Global, arguments: &Arguments) -> anyhow::Result<Exit> {
    let purpose = arguments.wanted.purpose(global)?;
    let kubeconfig =
        own_kubeconfig::read(arguments.kubeconfig.as_deref(), arguments.kube_context.as_deref())?;
    let session = Session::open(global).await?;
    let labels: BTreeMap<String, String> = arguments.labels.iter().cloned().collect();
    let (id, namespace) = (arguments.id.clone(), arguments.namespace.clone());
    let user_endpoint = arguments.users.endpoint()?;
    let registration = Registration { user_endpoint, labels, namespace, ..Registration::new(id, kubeconfig) };
    // What is refused is refused before anything is sent.
    match session.place() {
        Place::Here(deployment) => deployment.registered().check(&registration)?,
        Place::There(_) => registration.check()?,
    }
    let look = match arguments.unchecked {
        true => None,
        false => {
            let uid = ready::must_be(&session, &registration, &purpose, "was not registered").await?;
            Some(Look { level: purpose.level(), uid })
        }
    };
    Box::pin(register(&session, registration, look)).await
}

async fn register(session: &Session, registration: Registration, look: Option<Look>) -> anyhow::Result<Exit> {
    let (id, warnings) = (registration.id.clone(), registration.warnings());
    let outcome = match session.clusters().add(registration, look).await {
        Err(error) if error.is_already_there() => {
            let message = format!("{error}, registered otherwise: dcm cluster update {id} changes it");
            return Err(Ended::new(Exit::Stuck, message).into());
        }
        outcome => outcome?,
    };
    output::note(match outcome {
        EditOutcome::Unchanged => format!("{id}: is registered so already"),
        EditOutcome::Created | EditOutcome::Changed => format!("{id}: registered"),
    });
    users::warn(&id, warnings);
    Ok(Exit::Done)
}
