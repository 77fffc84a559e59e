//! `dcm cluster update`: changes what is registered of a cluster, also while logical clouds are on it.

use std::path::PathBuf;

use dcm_core::name::{ClusterId, Namespace};
use dcm_core::service::{EditOutcome, Registration};

use super::check::Wanted;
use super::{label, ready};
use crate::arguments::Global;
use crate::exit::Exit;
use crate::output;
use crate::own_kubeconfig;
use crate::session::Session;

#[derive(Debug, clap::Args)]
pub(crate) struct Arguments {
    /// The cluster.
    #[arg(value_name = "PROVIDER/CLUSTER")]
    id: ClusterId,
    #[command(flatten)]
    changes: Changes,
    /// Changes the kubeconfig without a look at the cluster.
    #[arg(long)]
    unchecked: bool,
    #[command(flatten)]
    wanted: Wanted,
}

/// What is not said stays as it is.
#[derive(Debug, clap::Args)]
#[group(required = true, multiple = true)]
struct Changes {
    /// The kubeconfig to reach it with, such as one whose credential is newer. It must lead to the same cluster.
    #[arg(long, value_name = "FILE")]
    kubeconfig: Option<PathBuf>,
    /// Which context of it. Default: its current one.
    #[arg(long, value_name = "NAME", requires = "kubeconfig")]
    kube_context: Option<String>,
    /// A label, which cluster selectors look at at the next apply. May be repeated; takes the place of all labels.
    #[arg(long = "label", value_name = "KEY=VALUE", value_parser = label)]
    labels: Vec<(String, String)>,
    /// Takes all labels away.
    #[arg(long, conflicts_with = "labels")]
    no_labels: bool,
    /// The namespace that admin clouds use there from their next apply on.
    #[arg(long, value_name = "NAME")]
    namespace: Option<Namespace>,
}

impl Changes {
    /// What is to be registered instead.
    fn of(&self, mut old: Registration) -> anyhow::Result<Registration> {
        if self.kubeconfig.is_some() {
            old.kubeconfig = own_kubeconfig::read(self.kubeconfig.as_deref(), self.kube_context.as_deref())?;
        }
        if self.no_labels || !self.labels.is_empty() {
            old.labels = self.labels.iter().cloned().collect();
        }
        old.namespace = self.namespace.clone().or(old.namespace);
        Ok(old)
    }
}

pub(crate) async fn run(global: &Global, arguments: &Arguments) -> anyhow::Result<Exit> {
    let needs = arguments.wanted.needs(global)?;
    let session = Session::open(global).await?;
    let id = &arguments.id;
    let old = session.here()?.registered().get(id).await?.registration;
    let new = arguments.changes.of(old.clone())?;
    // What is refused is refused before anything is sent.
    session.here()?.registered().check(&new)?;
    if new.kubeconfig != old.kubeconfig && !arguments.unchecked {
        ready::must_be(&session, &new, &needs, "was not changed").await?;
    }
    write(&session, new).await
}

async fn write(session: &Session, new: Registration) -> anyhow::Result<Exit> {
    let (registered, caller) = (session.here()?.registered(), &session.caller);
    let Registration { id, kubeconfig, labels, namespace, .. } = new;
    let outcomes = [
        registered.replace_kubeconfig(caller, &id, kubeconfig).await?,
        registered.replace_labels(caller, &id, labels).await?,
        registered.replace_namespace(caller, &id, namespace).await?,
    ];
    let changed = outcomes.iter().any(|outcome| *outcome != EditOutcome::Unchanged);
    output::note(format_args!("{id}: {}", if changed { "changed" } else { "is registered so already" }));
    Ok(Exit::Done)
}
