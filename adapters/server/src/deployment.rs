//! Services, wired over one store, or over one for documents and one for app contexts.

use std::io::ErrorKind;
use std::iter;
use std::ops::Deref;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use dcm_core::app_context::Generation;
use dcm_core::audit::StoredAudit;
use dcm_core::name::ClusterId;
use dcm_core::port::audit::AuditLog;
use dcm_core::port::clock::{Clock, Random};
use dcm_core::port::cluster::{self, Call, Cluster, Clusters, Fence};
use dcm_core::port::room::Room;
use dcm_core::port::store::{Error, Store};
use dcm_core::service::{
    Controllers, KubeconfigCheck, LogicalClouds, Projects, Providers, RegisteredClusters, Registration,
    StoredKeys,
};
use dcm_kube::{KubeClusters, Options as KubeOptions};
use dcm_manager::UseCases;
use dcm_store::encrypted::{self, KeyFile, KeyringError, KeyringSource, KeysError};
use dcm_store::{EncryptedStore, Keyring, OpenError as StoreError, StoreUrl};
use dcm_sync::Contexts;
use dcm_sync::engine::{Acquire, Engine, Options};
use dcm_sync::planning::{Planner, Turns as _};
use dcm_sync::runtime::{OsRandom, TokioClock, TokioThreads};

use crate::audit::{AUDIT_DAYS, Logged};
use crate::configuration::{Configuration, Keys};
use crate::kubeconfigs::{Registered, check_for};
use crate::looks::Looks;
use crate::metrics::CountedStores;

/// Why a deployment can't be opened.
#[derive(Debug, thiserror::Error)]
pub enum OpenError {
    /// The store.
    #[error("the store can't be opened")]
    Store(#[source] StoreError),
    /// The store of app contexts.
    #[error("the store of app contexts can't be opened")]
    ContextsStore(#[source] StoreError),
    /// The file of keys.
    #[error("the keys of the store can't be used")]
    Keys(#[source] KeyringError),
    /// Secrets in the store are encrypted, and there is no file of keys.
    #[error("secrets in the store are encrypted, and the key file {} is not there", file.display())]
    KeysMissing {
        /// The file.
        file: PathBuf,
    },
    /// Secrets in a store are encrypted with other keys.
    #[error("these are not the keys of {store}")]
    WrongKeys {
        /// Which one: the store, or the store of app contexts.
        store: &'static str,
        /// What the first attempt to open one said.
        #[source]
        source: Error,
    },
    /// Reading and making the file of keys was cut off.
    #[error("the key file {} could not be read", file.display())]
    KeysUnread {
        /// The file.
        file: PathBuf,
    },
    /// An environment variable holds no keys.
    #[error("the environment variable {name} holds no keys: {reason}")]
    KeysVariable {
        /// Its name.
        name: String,
        /// What is wrong with its value, without it.
        reason: String,
    },
}

impl OpenError {
    /// True when the same call may succeed later without anybody changing anything.
    #[must_use]
    pub fn is_retryable(&self) -> bool {
        match self {
            Self::Store(StoreError::Store(source)) | Self::ContextsStore(StoreError::Store(source)) => {
                source.is_retryable()
            }
            Self::KeysUnread { .. } => true,
            Self::Store(_)
            | Self::ContextsStore(_)
            | Self::Keys(_)
            | Self::KeysMissing { .. }
            | Self::WrongKeys { .. }
            | Self::KeysVariable { .. } => false,
        }
    }
}

/// What a deployment is made of. Whoever wants to put something around a part, such as a cache or a fault, opens the
/// parts of a configuration, replaces that one, and gives them to [`Deployment::over`].
pub struct Parts {
    /// Holds documents. It holds secrets.
    pub store: Arc<dyn Store>,
    /// Holds app contexts and the engine's records; often the same. It holds secrets.
    pub contexts_store: Arc<dyn Store>,
    /// The clusters.
    pub clusters: Arc<dyn Clusters>,
    /// What a kubeconfig must be to be registered.
    pub check: KubeconfigCheck,
    /// Settings of engines; which shards they take is said when they are started.
    pub engine: Options,
    /// The time.
    pub clock: Arc<dyn Clock>,
    /// Randomness for identities.
    pub random: Arc<dyn Random>,
}

impl Parts {
    /// Opens the stores, and makes all else that a configuration says. Must be called on a tokio runtime.
    ///
    /// # Errors
    /// [`OpenError`].
    pub async fn open(configuration: &Configuration) -> Result<Self, OpenError> {
        let mut stores = Stores::open(configuration).await?;
        if let Some(keys) = stores.keys(&configuration.keys).await? {
            stores.note_keys(&keys).await?;
            stores = stores.opened_with(&keys);
        }
        let store = stores.documents;
        let contexts_store = stores.contexts.unwrap_or_else(|| store.clone());
        let clock: Arc<dyn Clock> = Arc::new(TokioClock::new());
        let check = check_for(configuration.kubeconfigs.clone());
        let contexts = Arc::new(Contexts::new(contexts_store.clone(), clock.clone()));
        let registered = RegisteredClusters::new(store.clone(), contexts, clock.clone(), check.clone());
        let options = KubeOptions {
            allowed: configuration.kubeconfigs.clone(),
            withheld_variables: configuration.keys.variable().into_iter().map(str::to_owned).collect(),
            proxy: configuration.proxy.clone(),
            denied_networks: configuration.denied_networks.clone(),
            ignored_contents: configuration.ignored_contents.clone(),
            ..KubeOptions::default()
        };
        let registered = Registered { clusters: registered, allowed: configuration.kubeconfigs.clone() };
        let clusters = Arc::new(KubeClusters::new(Arc::new(registered), options));
        let engine = configuration.engine();
        Ok(Self { store, contexts_store, clusters, check, engine, clock, random: Arc::new(OsRandom) })
    }
}

/// Services, wired. Cheap to clone.
#[derive(Clone)]
pub struct Deployment {
    parts: Arc<Parts>,
    use_cases: UseCases,
    contexts: Contexts,
    audit: StoredAudit,
    audit_days: u16,
    stores: CountedStores,
    looks: Arc<Looks>,
}

impl Deployment {
    /// Opens the stores and wires everything over them. Must be called on a tokio runtime.
    ///
    /// # Errors
    /// [`OpenError`].
    pub async fn open(configuration: &Configuration) -> Result<Self, OpenError> {
        let deployment = Self::over(Parts::open(configuration).await?);
        Ok(deployment.keeping_audit(configuration.audit_days))
    }

    /// Wires everything over given parts.
    #[must_use]
    pub fn over(parts: Parts) -> Self {
        let stores = CountedStores::over(parts.store, parts.contexts_store);
        let (store, contexts_store) = (stores.documents.clone(), stores.contexts.clone());
        let parts = Parts { store, contexts_store, ..parts };
        let Parts { store, contexts_store, clock, random, check, .. } = &parts;
        let contexts = Contexts::new(contexts_store.clone(), clock.clone());
        let synchronizer = Arc::new(contexts.clone());
        let audit = StoredAudit::new(store.clone(), random.clone());
        let log: Arc<dyn AuditLog> = Arc::new(Logged(audit.clone()));
        let use_cases =
            UseCases::new(store.clone(), synchronizer, clock.clone(), random.clone(), check.clone());
        Self {
            use_cases: use_cases.audited_by(&log),
            contexts,
            audit,
            audit_days: AUDIT_DAYS,
            stores,
            looks: Arc::new(Looks::new()),
            parts: Arc::new(parts),
        }
    }

    /// The use cases of logical clouds.
    #[must_use]
    pub fn clouds(&self) -> &LogicalClouds {
        &self.use_cases.clouds
    }

    /// The use cases of registered clusters.
    #[must_use]
    pub fn registered(&self) -> &RegisteredClusters {
        &self.use_cases.clusters
    }

    /// The use cases of projects.
    #[must_use]
    pub fn projects(&self) -> &Projects {
        &self.use_cases.projects
    }

    /// The use cases of cluster providers.
    #[must_use]
    pub fn providers(&self) -> &Providers {
        &self.use_cases.providers
    }

    /// The use cases of controllers' records.
    #[must_use]
    pub fn controllers(&self) -> &Controllers {
        &self.use_cases.controllers
    }

    /// The same deployment, whose worker keeps entries of the audit log for so many days.
    #[must_use]
    pub fn keeping_audit(self, days: u16) -> Self {
        Self { audit_days: days, ..self }
    }

    /// How many days entries of the audit log are kept.
    pub(crate) fn audit_days(&self) -> u16 {
        self.audit_days
    }

    /// What its stores are asked is counted here.
    pub(crate) fn stores(&self) -> &CountedStores {
        &self.stores
    }

    /// The audit log.
    #[must_use]
    pub fn audit(&self) -> &StoredAudit {
        &self.audit
    }

    /// The app contexts.
    #[must_use]
    pub fn contexts(&self) -> &Contexts {
        &self.contexts
    }

    /// The clusters themselves.
    #[must_use]
    pub fn clusters(&self) -> &Arc<dyn Clusters> {
        &self.parts.clusters
    }

    /// Plans what an apply would do.
    #[must_use]
    pub fn planner(&self) -> Planner {
        let Parts { clusters, engine, .. } = &*self.parts;
        Planner::new(self.contexts.clone(), clusters.clone(), engine.owner.clone())
            .in_turn(self.looks.clone())
    }

    /// Connects to a cluster that is looked at for somebody who asks, when its turn comes.
    pub(crate) async fn reach(&self, cluster: &ClusterId) -> Result<Reached, cluster::Error> {
        let turn = self.looks.begin(cluster).await;
        Ok(Reached { cluster: self.clusters().connect(cluster).await?, _turn: turn })
    }

    /// The same by what is to be registered of it, or is.
    pub(crate) async fn reach_as(&self, registration: &Registration) -> Result<Reached, cluster::Error> {
        let Registration { id, kubeconfig, .. } = registration;
        let turn = self.looks.begin(id).await;
        Ok(Reached { cluster: self.clusters().connect_with(id, kubeconfig).await?, _turn: turn })
    }

    /// The time.
    #[must_use]
    pub fn clock(&self) -> &Arc<dyn Clock> {
        &self.parts.clock
    }

    /// Randomness.
    #[must_use]
    pub fn random(&self) -> &Arc<dyn Random> {
        &self.parts.random
    }

    /// Settings of engines.
    #[must_use]
    pub fn options(&self) -> &Options {
        &self.parts.engine
    }

    /// For requests that are made outside any app context, such as a preflight.
    #[must_use]
    pub fn call(&self) -> Call {
        let owner = self.parts.engine.owner.clone();
        Call { owner, context: None, generation: Generation::default(), fence: Fence::default() }
    }

    /// Starts an engine that works on the app contexts. Must be called on a tokio runtime.
    #[must_use]
    pub fn engine(&self, acquire: Acquire) -> Engine {
        let Parts { store, contexts_store, clusters, engine, clock, random, .. } = &*self.parts;
        let options = Options { acquire, ..engine.clone() };
        let keys = Arc::new(StoredKeys::new(store.clone()));
        let builder = Engine::builder(contexts_store.clone(), clusters.clone()).options(options);
        let builder = builder.private_keys(keys).threads(Arc::new(TokioThreads::new()));
        let (engine, run) = builder.build(clock.clone(), &**random);
        tokio::spawn(run);
        engine
    }
}

/// A cluster that is looked at; its turn ends with it.
pub(crate) struct Reached {
    cluster: Arc<dyn Cluster>,
    _turn: Box<dyn Send>,
}

impl Deref for Reached {
    type Target = dyn Cluster;

    fn deref(&self) -> &Self::Target {
        &*self.cluster
    }
}

/// What lies where in the stores of an installation.
#[must_use]
pub fn rooms() -> Vec<Room> {
    let rooms = dcm_core::service::ROOMS.into_iter().chain(dcm_sync::ROOMS);
    rooms.chain([dcm_core::audit::ROOM, encrypted::ROOM]).collect()
}

/// A store of an installation by its URL ([`dcm_store::open`]), without its keys: what is encrypted there stays so.
///
/// # Errors
/// When it can't be opened.
pub async fn open_sealed(url: &str) -> Result<Arc<dyn Store>, dcm_store::OpenError> {
    dcm_store::open_with_rooms(url, &rooms()).await
}

/// The same for a store that somebody has used before ([`dcm_store::open_existing`]).
///
/// # Errors
/// When it can't be opened.
pub async fn open_sealed_existing(url: &str) -> Result<Arc<dyn Store>, dcm_store::OpenError> {
    dcm_store::open_existing(url, &rooms()).await
}

/// Which store something lies in.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Side {
    Documents,
    Contexts,
}

impl Side {
    fn unopened(self, error: StoreError) -> OpenError {
        match self {
            Self::Documents => OpenError::Store(error),
            Self::Contexts => OpenError::ContextsStore(error),
        }
    }

    fn of_keys(self, error: KeysError) -> OpenError {
        let store = match self {
            Self::Documents => "the store",
            Self::Contexts => "the store of app contexts",
        };
        match error {
            KeysError::Wrong(source) => OpenError::WrongKeys { store, source },
            KeysError::Store(error) => self.unopened(StoreError::Store(error)),
        }
    }
}

/// The stores of a configuration, as they are without their keys.
pub(crate) struct Stores {
    pub(crate) documents: Arc<dyn Store>,
    /// None: app contexts lie in the same store.
    pub(crate) contexts: Option<Arc<dyn Store>>,
}

impl Stores {
    pub(crate) async fn open(configuration: &Configuration) -> Result<Self, OpenError> {
        Self::open_with(configuration, open_sealed).await
    }

    /// The same for stores that somebody has used before.
    pub(crate) async fn open_existing(configuration: &Configuration) -> Result<Self, OpenError> {
        Self::open_with(configuration, open_sealed_existing).await
    }

    async fn open_with(
        configuration: &Configuration,
        open: impl AsyncFn(&str) -> Result<Arc<dyn Store>, StoreError>,
    ) -> Result<Self, OpenError> {
        let Configuration { store, contexts_store, .. } = configuration;
        let open =
            async |url: &StoreUrl, side: Side| open(url.as_str()).await.map_err(|error| side.unopened(error));
        let documents = open(store, Side::Documents).await?;
        let contexts = match contexts_store.as_ref().filter(|other| *other != store) {
            Some(url) => Some(open(url, Side::Contexts).await?),
            None => None,
        };
        Ok(Self { documents, contexts })
    }

    pub(crate) fn all(&self) -> impl Iterator<Item = (Side, &Arc<dyn Store>)> {
        let contexts = self.contexts.iter().map(|store| (Side::Contexts, store));
        iter::once((Side::Documents, &self.documents)).chain(contexts)
    }

    /// Those that hold no secrets in clear.
    fn sealed(&self) -> impl Iterator<Item = (Side, &Arc<dyn Store>)> {
        self.all().filter(|(_, store)| !store.capabilities().holds_secrets)
    }

    /// The keys of a configuration; none where no store needs any. A file of keys is made where there is none and nothing is sealed
    /// yet.
    pub(crate) async fn keys(&self, keys: &Keys) -> Result<Option<Arc<dyn KeyringSource>>, OpenError> {
        match (self.existing_keys(keys).await?, keys) {
            (None, Keys::File(file)) if self.sealed().next().is_some() => {
                Ok(Some(Arc::new(on_file(file, KeyFile::open_or_create).await?)))
            }
            (existing, _) => Ok(existing),
        }
    }

    /// The same; none also where there is no file of keys, and nothing is sealed yet.
    pub(crate) async fn existing_keys(
        &self,
        keys: &Keys,
    ) -> Result<Option<Arc<dyn KeyringSource>>, OpenError> {
        if self.sealed().next().is_none() {
            return Ok(None);
        }
        Ok(match keys {
            Keys::File(file) => {
                self.key_file(file).await?.map(|file| Arc::new(file) as Arc<dyn KeyringSource>)
            }
            Keys::Variable(name) => Some(Arc::new(Arc::new(keys_in(name)?))),
            Keys::Source(source) => Some(source.clone()),
        })
    }

    async fn key_file(&self, file: &Path) -> Result<Option<KeyFile>, OpenError> {
        match on_file(file, KeyFile::open).await {
            Err(OpenError::Keys(KeyringError::Read { source, .. }))
                if source.kind() == ErrorKind::NotFound => {}
            opened => return opened.map(Some),
        }
        for (side, store) in self.sealed() {
            let is_sealed = encrypted::is_sealed(&**store).await;
            if is_sealed.map_err(|error| side.unopened(StoreError::Store(error)))? {
                return Err(OpenError::KeysMissing { file: file.to_path_buf() });
            }
        }
        Ok(None)
    }

    /// The same, with their secrets in clear.
    fn opened_by(
        &self,
        keys: &Arc<dyn KeyringSource>,
    ) -> impl Iterator<Item = (Side, EncryptedStore<dyn Store>)> {
        self.sealed().map(|(side, store)| (side, EncryptedStore::with_keys(store.clone(), keys.clone())))
    }

    /// Sees that these are the keys of all that is sealed.
    pub(crate) async fn check_keys(&self, keys: &Arc<dyn KeyringSource>) -> Result<(), OpenError> {
        for (side, store) in self.opened_by(keys) {
            store.check_keys().await.map_err(|error| side.of_keys(error))?;
        }
        Ok(())
    }

    /// The same, and notes which keys they are where nobody has: once they are known to be right for all of them.
    pub(crate) async fn note_keys(&self, keys: &Arc<dyn KeyringSource>) -> Result<(), OpenError> {
        // One store tries them itself before it notes anything.
        if self.sealed().nth(1).is_some() {
            self.check_keys(keys).await?;
        }
        for (side, store) in self.opened_by(keys) {
            store.note_keys().await.map_err(|error| side.of_keys(error))?;
        }
        Ok(())
    }

    /// The stores with their secrets in clear.
    fn opened_with(self, keys: &Arc<dyn KeyringSource>) -> Self {
        let open = |store: Arc<dyn Store>| -> Arc<dyn Store> {
            match store.capabilities().holds_secrets {
                true => store,
                false => Arc::new(EncryptedStore::with_keys(store, keys.clone())),
            }
        };
        Self { documents: open(self.documents), contexts: self.contexts.map(open) }
    }
}

async fn on_file(
    file: &Path,
    open: fn(PathBuf) -> Result<KeyFile, KeyringError>,
) -> Result<KeyFile, OpenError> {
    let path = file.to_path_buf();
    let opened = tokio::task::spawn_blocking(move || open(path)).await;
    opened.map_err(|_| OpenError::KeysUnread { file: file.to_path_buf() })?.map_err(OpenError::Keys)
}

/// The keys in an environment variable.
fn keys_in(name: &str) -> Result<Keyring, OpenError> {
    let malformed = |reason| OpenError::KeysVariable { name: name.to_owned(), reason };
    let text = std::env::var(name).map_err(|_| malformed("it is not set, or no UTF-8".to_owned()))?;
    Keyring::from_json(&text).map_err(malformed)
}
