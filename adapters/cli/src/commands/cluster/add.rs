//! `dcm cluster add`: registers a cluster.

use std::collections::BTreeMap;
use std::path::PathBuf;

use anyhow::Context as _;
use dcm_core::kubeconfig::Admin;
use dcm_core::name::{ClusterId, Namespace};
use dcm_core::port::cluster::Error;
use dcm_core::preflight::{Findings, Needs};
use dcm_core::service::{EditOutcome, Registration};
use dcm_kube::kubeconfig::Allowed;
use dcm_kube::{KubeCluster, Options};

use super::check::{self, Wanted};
use crate::arguments::Global;
use crate::exit::{Ended, Exit};
use crate::output;
use crate::own_kubeconfig;
use crate::session::Session;

#[derive(Debug, clap::Args)]
pub(crate) struct Arguments {
    /// The cluster: where it comes from, and its name there.
    #[arg(value_name = "PROVIDER/CLUSTER")]
    id: ClusterId,
    /// The kubeconfig to reach it with. Default: the first file of KUBECONFIG, or the one in the home folder.
    #[arg(long, value_name = "FILE")]
    kubeconfig: Option<PathBuf>,
    /// Which context of it. Default: its current one.
    #[arg(long, value_name = "NAME")]
    context: Option<String>,
    /// A label, which cluster selectors look at. May be repeated.
    #[arg(long = "label", value_name = "KEY=VALUE", value_parser = label)]
    labels: Vec<(String, String)>,
    /// The namespace that admin clouds use there. Default: default.
    #[arg(long, value_name = "NAME")]
    namespace: Option<Namespace>,
    /// Registers the cluster without a look at it.
    #[arg(long)]
    unchecked: bool,
    #[command(flatten)]
    wanted: Wanted,
}

fn label(text: &str) -> Result<(String, String), String> {
    let (key, value) = text.split_once('=').ok_or("must be KEY=VALUE")?;
    Ok((key.to_owned(), value.to_owned()))
}

pub(crate) async fn run(global: &Global, arguments: &Arguments) -> anyhow::Result<Exit> {
    let needs = arguments.wanted.needs(global)?;
    let kubeconfig = own_kubeconfig::read(arguments.kubeconfig.as_deref(), arguments.context.as_deref())?;
    let session = Session::open(global).await?;
    let labels: BTreeMap<String, String> = arguments.labels.iter().cloned().collect();
    let (id, namespace) = (arguments.id.clone(), arguments.namespace.clone());
    let registration = Registration { id, kubeconfig, labels, namespace };
    // What is refused is refused before anything is sent.
    session.deployment.registered().check(&registration)?;
    if !arguments.unchecked {
        let looked = look(&session, &registration, &needs).await;
        let findings = looked.with_context(|| format!("{} was not registered", arguments.id))?;
        check::print(&session, &arguments.id, &findings)?;
        if !findings.is_ready() {
            let message = format!("{} was not registered: mend this, or say --unchecked", arguments.id);
            return Err(Ended::new(Exit::Stuck, message).into());
        }
    }
    register(&session, registration).await
}

/// Looks whether the cluster is ready. An error names the field of the kubeconfig that it comes from.
async fn look(session: &Session, registration: &Registration, needs: &Needs) -> anyhow::Result<Findings> {
    let Registration { id, kubeconfig, .. } = registration;
    let options = Options { allowed: Allowed::everything(), ..Options::default() };
    let looked = async {
        let cluster = KubeCluster::connect(kubeconfig, &options).await?;
        check::ask(session, id, &cluster, needs).await
    };
    looked.await.map_err(|error| match error.downcast_ref() {
        Some(Error::Kubeconfig { reason }) => {
            Ended::new(Exit::Refused, format!("kubeconfig: {reason}")).into()
        }
        Some(Error::Unauthorized { .. }) => error.context("users[].user"),
        _ => {
            let server =
                Admin::read(kubeconfig).map_or_else(|_| String::new(), |admin| admin.server().to_owned());
            error.context(format!("clusters[].cluster.server {server}"))
        }
    })
}

async fn register(session: &Session, registration: Registration) -> anyhow::Result<Exit> {
    let id = registration.id.clone();
    let outcome = session.deployment.registered().add(&session.caller, registration).await?;
    output::note(match outcome {
        EditOutcome::Unchanged => format!("{id}: is registered so already"),
        EditOutcome::Created | EditOutcome::Changed => format!("{id}: registered"),
    });
    Ok(Exit::Done)
}
