//! `dcm credential`: a credential plugin for clients of Kubernetes.

use dcm_core::name::ReferenceName;

use crate::arguments::Global;
use crate::exit::{Ended, Exit};
use crate::output;
use crate::session::{NamedUser, Session};

#[derive(Debug, clap::Args)]
pub(crate) struct Arguments {
    #[command(flatten)]
    named: NamedUser,
    /// Name of the cluster reference.
    #[arg(value_name = "CLUSTER_REFERENCE")]
    reference: ReferenceName,
    #[command(flatten)]
    pub(crate) secret: InEnvironment,
}

/// What a kubeconfig does not say of the stores, as it holds a password: the environment has to. `dcm kubeconfig --exec` writes these
/// words into it.
#[derive(Debug, clap::Args)]
pub(crate) struct InEnvironment {
    /// A store alone is asked, by the URL in DCM_STORE: no server, whatever else the environment says.
    #[arg(long, hide = true)]
    store_in_environment: bool,
    /// App contexts are in another store, by the URL in DCM_CONTEXTS_STORE.
    #[arg(long, hide = true)]
    contexts_store_in_environment: bool,
}

impl InEnvironment {
    /// Says that it is the store's URL.
    pub(crate) const STORE: &str = "--store-in-environment";

    /// Says that it is the URL of the store of app contexts.
    pub(crate) const CONTEXTS_STORE: &str = "--contexts-store-in-environment";

    /// Whether a store is named by it.
    pub(crate) fn is_store(&self) -> bool {
        self.store_in_environment
    }

    /// Fails where the environment does not say it. Otherwise something else would be asked in its place.
    fn must_be_there(&self, global: &Global) -> anyhow::Result<()> {
        let missing = if self.store_in_environment && global.store.is_none() {
            "DCM_STORE"
        } else if self.contexts_store_in_environment && global.contexts_store.is_none() {
            "DCM_CONTEXTS_STORE"
        } else {
            return Ok(());
        };
        let message = format!(
            "the store's URL is not in the kubeconfig, as it may hold a password: put it into {missing}"
        );
        Err(Ended::new(Exit::Stuck, message).into())
    }
}

pub(crate) async fn run(global: &Global, arguments: &Arguments) -> anyhow::Result<Exit> {
    arguments.secret.must_be_there(global)?;
    let session = Session::open(global).await?;
    let Arguments { named: NamedUser { cloud, user }, reference, .. } = arguments;
    let said = session.clouds().credential(&session.project, &cloud.name, user, reference).await?;
    output::print(said.expose())?;
    Ok(Exit::Done)
}
