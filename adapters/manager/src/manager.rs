//! The use cases and the engine, wired over one store or two.

use std::future::Future;
use std::pin::pin;
use std::sync::Arc;

use dcm_core::name::OwnerId;
use dcm_core::port::audit::AuditLog;
use dcm_core::port::clock::{Clock, Random};
use dcm_core::port::cluster::Clusters;
use dcm_core::port::store::Store;
use dcm_core::port::threads::Threads;
use dcm_core::service::{
    Caller, Controllers, KubeconfigCheck, LogicalClouds, Projects, Providers, RegisteredClusters, StoredKeys,
};
use dcm_sync::engine::{Engine, Lost, Options};
use futures::future::{join, select};

use crate::{UseCases, keep_swept, keep_tended};

/// Logical clouds over one store, with an engine that does their work. Cheap to clone.
///
/// Each use case takes a [`Caller`] and returns when its change is accepted; follow the work with
/// [`LogicalClouds::wait_until_done`] or [`LogicalClouds::watch`]. Several managers, in one process or in many, may share a store:
/// their engines divide the clusters among them. The manager stops when it is shut down, or when its last copy is dropped.
#[derive(Clone)]
pub struct Manager {
    engine: Engine,
    use_cases: UseCases,
}

impl Manager {
    /// Begins to describe a manager over a store of documents, which holds secrets, and a source of clusters.
    pub fn builder(store: Arc<dyn Store>, clusters: Arc<dyn Clusters>) -> Builder {
        Builder {
            contexts_store: store.clone(),
            store,
            clusters,
            options: Options::default(),
            check: Arc::new(|_| Ok(())),
            audit: None,
        }
    }

    /// Returns the use cases of logical clouds.
    #[must_use]
    pub fn clouds(&self) -> &LogicalClouds {
        &self.use_cases.clouds
    }

    /// Returns the use cases of registered clusters.
    #[must_use]
    pub fn clusters(&self) -> &RegisteredClusters {
        &self.use_cases.clusters
    }

    /// Returns the use cases of projects.
    #[must_use]
    pub fn projects(&self) -> &Projects {
        &self.use_cases.projects
    }

    /// Returns the use cases of cluster providers.
    #[must_use]
    pub fn providers(&self) -> &Providers {
        &self.use_cases.providers
    }

    /// Returns the use cases of the records of controllers.
    #[must_use]
    pub fn controllers(&self) -> &Controllers {
        &self.use_cases.controllers
    }

    /// Returns the engine: events, metrics, plans, and app contexts that are not of logical clouds.
    #[must_use]
    pub fn engine(&self) -> &Engine {
        &self.engine
    }

    /// Finishes the requests under way, gives the clusters back to other engines, and waits until that is done.
    pub async fn shutdown(&self) {
        self.engine.shutdown().await;
    }

    /// Waits until the engine has ended; then credentials are no longer renewed either.
    ///
    /// # Errors
    /// [`Lost`] when it was not shut down, but broke off.
    pub async fn stopped(&self) -> Result<(), Lost> {
        self.engine.stopped().await
    }
}

/// Describes a manager.
pub struct Builder {
    store: Arc<dyn Store>,
    contexts_store: Arc<dyn Store>,
    clusters: Arc<dyn Clusters>,
    options: Options,
    check: KubeconfigCheck,
    audit: Option<Arc<dyn AuditLog>>,
}

impl Builder {
    /// Names the installation: objects on clusters carry this name. Default `dcm`.
    #[must_use]
    pub fn owner(mut self, owner: OwnerId) -> Self {
        self.options.owner = owner;
        self
    }

    /// Replaces all settings of the engine, the owner among them.
    #[must_use]
    pub fn options(self, options: Options) -> Self {
        Self { options, ..self }
    }

    /// Keeps app contexts and the engine's records in a store of their own. Default: the store of documents.
    #[must_use]
    pub fn contexts_store(self, contexts_store: Arc<dyn Store>) -> Self {
        Self { contexts_store, ..self }
    }

    /// Sets a further check of kubeconfigs that are registered, such as `dcm_kube::kubeconfig::check`, which refuses those that run
    /// programs or read files. Default: none; `dcm-kube` refuses them when it connects.
    #[must_use]
    pub fn kubeconfig_check(self, check: KubeconfigCheck) -> Self {
        Self { check, ..self }
    }

    /// Keeps each decision of a caller in an audit log, before its effect and after it. Decisions of the engine are not kept, and no entry
    /// is deleted: the caller bounds the log. Default: none is kept.
    #[must_use]
    pub fn audited_by(self, log: Arc<dyn AuditLog>) -> Self {
        Self { audit: Some(log), ..self }
    }

    /// Returns the manager, and the future that does its work: poll it on any runtime. It ends with the engine.
    ///
    /// Keys, UIDs and jitter come from `random`, which is that of the operating system outside of tests. `threads` does work that
    /// takes long, such as comparing objects of a megabyte.
    pub fn build(
        self,
        clock: Arc<dyn Clock>,
        random: Arc<dyn Random>,
        threads: Arc<dyn Threads>,
    ) -> (Manager, impl Future<Output = ()> + Send + use<>) {
        let Self { store, contexts_store, clusters, options, check, audit } = self;
        let caller = Caller::new(&options.owner).because("tending logical clouds");
        let engine = Engine::builder(contexts_store, clusters)
            .options(options)
            .private_keys(Arc::new(StoredKeys::new(store.clone())))
            .threads(threads);
        let (engine, run) = engine.build(clock.clone(), &*random);
        let contexts = Arc::new(engine.contexts().clone());
        let use_cases = UseCases::new(store, contexts, clock.clone(), random, check);
        let use_cases = match &audit {
            Some(log) => use_cases.audited_by(log),
            None => use_cases,
        };
        let clouds = use_cases.clouds.clone();
        let work = async move {
            let tending = keep_tended(&clouds, &*clock, &caller, |_| {});
            let duties = join(tending, keep_swept(&clouds, &*clock));
            // Only the engine ends.
            select(pin!(run), pin!(duties)).await;
        };
        (Manager { engine, use_cases }, work)
    }

    /// Starts the manager on the current tokio runtime.
    ///
    /// # Panics
    /// Outside a tokio runtime.
    #[cfg(feature = "tokio")]
    #[must_use]
    pub fn spawn(self) -> Manager {
        use dcm_sync::runtime::{OsRandom, TokioClock, TokioThreads};

        let (clock, threads) = (Arc::new(TokioClock::new()), Arc::new(TokioThreads::new()));
        let (manager, work) = self.build(clock, Arc::new(OsRandom), threads);
        tokio::spawn(work);
        manager
    }
}
