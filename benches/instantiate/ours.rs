//! Our engine over the real API servers.

use std::sync::Arc;

use anyhow::{Result, ensure};
use dcm_benches::cloud::CREDENTIALS;
use dcm_core::app_context::AppContext;
use dcm_core::name::OwnerId;
use dcm_core::port::store::Store;
use dcm_core::port::synchronizer::Synchronizer as _;
use dcm_core::status::Progress;
use dcm_kube::KubeClusters;
use dcm_sync::engine::{Engine, Options};
use futures::future::try_join_all;

use super::scale::unlimited;
use super::servers::Servers;

pub(crate) struct Ours {
    engine: Engine,
}

impl Ours {
    /// Starts an engine, without a write budget. Its owner tells it from others on the same servers.
    pub(crate) fn start(servers: &Servers, owner: &str, store: Arc<dyn Store>) -> Result<Self> {
        let clusters = KubeClusters::new(Arc::new(servers.kubeconfigs()?), dcm_kube::Options::default());
        let options = Options { owner: OwnerId::new(owner)?, ..unlimited() };
        Ok(Self { engine: Engine::builder(store, Arc::new(clusters)).options(options).spawn() })
    }

    /// Hands app contexts over, all at once, and waits until every certificate and token is stored.
    pub(crate) async fn instantiate(&self, contexts: &[AppContext]) -> Result<()> {
        try_join_all(contexts.iter().map(|context| self.apply(context))).await?;
        Ok(())
    }

    async fn apply(&self, context: &AppContext) -> Result<()> {
        let synchronizer = self.engine.contexts();
        synchronizer.apply(context).await?;
        let status = synchronizer.wait_until_done(&context.id).await?;
        ensure!(status.progress == Progress::Done, "{status:#?}");
        let results = synchronizer.results(&context.id).await?;
        let complete = results.len() == context.placements.len()
            && results.values().all(|issued| issued.len() == CREDENTIALS);
        ensure!(complete, "credentials are missing in {}", context.id);
        Ok(())
    }

    pub(crate) async fn stop(self) {
        self.engine.shutdown().await;
    }
}
