//! `dcm cluster update`: changes what is registered of a cluster, also while logical clouds are on it.

use std::collections::BTreeMap;
use std::path::PathBuf;

use dcm_client::{ClusterChange, ClusterChanged, Clusters};
use dcm_core::kubeconfig::UserEndpoint;
use dcm_core::name::{ClusterId, Namespace};
use dcm_core::secret::Secret;
use dcm_core::service::{EditOutcome, Precondition, RegisteredCluster, Registration};
use dcm_server::Deployment;

use super::check::{MOVED, Purpose, Wanted};
use super::users::{self, Users};
use super::{label, ready};
use crate::arguments::Global;
use crate::exit::Exit;
use crate::output;
use crate::own_kubeconfig;
use crate::place::{self, Place};
use crate::session::Session;

/// What is said of a cluster that is not ready.
const NOT_CHANGED: &str = "was not changed";

#[derive(Debug, clap::Args)]
pub(crate) struct Arguments {
    /// Name of the cluster.
    #[arg(value_name = "PROVIDER/CLUSTER")]
    id: ClusterId,
    #[command(flatten)]
    changes: Changes,
    #[command(flatten)]
    users: Users,
    /// Changes the kubeconfig without checking the cluster.
    #[arg(long)]
    unchecked: bool,
    #[command(flatten)]
    wanted: Wanted,
}

/// What is not said stays as it is.
#[derive(Debug, clap::Args)]
#[group(required = true, multiple = true, arg = "user_server")]
struct Changes {
    /// New kubeconfig, for example with a newer credential. It must lead to the same cluster.
    ///
    /// A kubeconfig with another server or other authorities takes effect when you accept it: dcm cluster accept.
    #[arg(long, value_name = "FILE")]
    kubeconfig: Option<PathBuf>,
    /// Context of the kubeconfig. Default: its current context.
    #[arg(long, value_name = "NAME", requires = "kubeconfig")]
    kube_context: Option<String>,
    /// Resets the URL for users to that of the kubeconfig.
    #[arg(long, conflicts_with = "user_server")]
    no_user_server: bool,
    /// Label for cluster selectors, from the next apply on. May be repeated; replaces all labels.
    #[arg(long = "label", value_name = "KEY=VALUE", value_parser = label)]
    labels: Vec<(String, String)>,
    /// Removes all labels.
    #[arg(long, conflicts_with = "labels")]
    no_labels: bool,
    /// Namespace for admin clouds, from their next apply on.
    #[arg(long, value_name = "NAME")]
    namespace: Option<Namespace>,
}

impl Arguments {
    /// Where users reach the cluster; none where that stays as it is.
    fn user_endpoint(&self) -> anyhow::Result<Option<Option<UserEndpoint>>> {
        if self.changes.no_user_server { Ok(Some(None)) } else { Ok(self.users.endpoint()?.map(Some)) }
    }
}

impl Changes {
    fn kubeconfig(&self) -> anyhow::Result<Option<Secret>> {
        let Some(file) = &self.kubeconfig else { return Ok(None) };
        own_kubeconfig::read(Some(file), self.kube_context.as_deref()).map(Some)
    }

    fn labels(&self) -> Option<BTreeMap<String, String>> {
        (self.no_labels || !self.labels.is_empty()).then(|| self.labels.iter().cloned().collect())
    }
}

pub(crate) async fn run(global: &Global, arguments: &Arguments) -> anyhow::Result<Exit> {
    let purpose = arguments.wanted.purpose(global)?;
    let session = Session::open(global).await?;
    let Changed { is_changed, is_moved, warnings } = match session.place() {
        Place::Here(deployment) => change(&session, deployment, arguments, &purpose).await?,
        Place::There(client) => change_there(&session, client.clusters(), arguments, &purpose).await?,
    };
    let (id, outcome) = (&arguments.id, if is_changed { "changed" } else { "is registered so already" });
    output::note(format_args!("{id}: {outcome}"));
    users::warn(id, warnings);
    if is_moved {
        output::note(format_args!("{id}: {MOVED}: dcm cluster accept {id}"));
    }
    Ok(Exit::Done)
}

/// What became of a registration.
struct Changed {
    /// False where it is so already.
    is_changed: bool,
    /// Its endpoint is not accepted.
    is_moved: bool,
    /// What is perhaps not meant.
    warnings: Vec<String>,
}

/// Changes what a store has.
async fn change(
    session: &Session,
    deployment: &Deployment,
    arguments: &Arguments,
    purpose: &Purpose,
) -> anyhow::Result<Changed> {
    let Arguments { id, changes, unchecked, .. } = arguments;
    let (registered, caller) = (deployment.registered(), &session.caller);
    let old = registered.get(id).await?.registration;
    let new = Registration {
        kubeconfig: changes.kubeconfig()?.unwrap_or_else(|| old.kubeconfig.clone()),
        user_endpoint: arguments.user_endpoint()?.unwrap_or_else(|| old.user_endpoint.clone()),
        labels: changes.labels().unwrap_or_else(|| old.labels.clone()),
        namespace: changes.namespace.clone().or_else(|| old.namespace.clone()),
        ..old.clone()
    };
    // What is refused is refused before anything is sent.
    registered.check_change(&new, Some(&old))?;
    let uid = match new.kubeconfig != old.kubeconfig && !unchecked {
        true => ready::must_be(session, &new, purpose, NOT_CHANGED).await?,
        false => None,
    };
    let next = |old| Registration {
        kubeconfig: new.kubeconfig.clone(),
        user_endpoint: new.user_endpoint.clone(),
        labels: new.labels.clone(),
        namespace: new.namespace.clone(),
        ..old
    };
    let edited = registered.edit_seen(caller, id, &Precondition::default(), uid.as_ref(), next).await;
    let (RegisteredCluster { registration, is_moved, .. }, outcome) = edited?;
    let warnings = registration.warnings();
    Ok(Changed { is_changed: outcome != EditOutcome::Unchanged, is_moved, warnings })
}

/// The same of a server, which keeps the old kubeconfig to itself: a new one is looked at in any case.
async fn change_there(
    session: &Session,
    clusters: Clusters<'_>,
    arguments: &Arguments,
    purpose: &Purpose,
) -> anyhow::Result<Changed> {
    let Arguments { id, changes, unchecked, .. } = arguments;
    let before = clusters.tag(id).await.map_err(place::Error::from)?;
    let (kubeconfig, user_endpoint) = (changes.kubeconfig()?, arguments.user_endpoint()?);
    if let Some(kubeconfig) = &kubeconfig {
        let labels = changes.labels().unwrap_or_default();
        let user_endpoint = user_endpoint.clone().flatten();
        let new = Registration { user_endpoint, labels, ..Registration::new(id.clone(), kubeconfig.clone()) };
        new.check()?;
        if !unchecked {
            ready::must_be(session, &new, purpose, NOT_CHANGED).await?;
        }
    }
    let (labels, namespace) = (changes.labels(), changes.namespace.clone());
    let change = ClusterChange { kubeconfig, user_endpoint, labels, namespace };
    let look = (!unchecked).then(|| purpose.level());
    let ClusterChanged { tag, warnings, .. } =
        clusters.change(id, &change, look).await.map_err(place::Error::from)?;
    let is_moved = clusters.get(id).await.map_err(place::Error::from)?.status.moved;
    Ok(Changed { is_changed: tag != before, is_moved, warnings })
}
