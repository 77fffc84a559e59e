//! A store with a cloud that is done, and ways to break it.

use std::sync::Arc;

use dcm_core::check::{Finding, Rule};
use dcm_core::hash::ContentHash;
use dcm_core::name::UserName;
use dcm_core::port::clock::{Clock, Seeded};
use dcm_core::port::store::{Document, Entry, Path, Prefix, Store, StoreExt as _, Write};
use dcm_server::{CheckReport, StoreCheck};
use dcm_store::EncryptedStore;
use dcm_store::encrypted::{KEY_BYTES, Keyring, KeyringSource};
use dcm_sync::engine::Acquire;
use dcm_sync::runtime::TokioClock;
use serde_json::Value;

use crate::common::kept::Kept;
use crate::common::{Ground, World, everything, spec};

pub(crate) fn keyring(id: &str) -> Arc<Keyring> {
    Arc::new(Keyring::new(id.parse().unwrap(), &[1; KEY_BYTES]))
}

/// An installation whose documents lie encrypted in a store that is looked at.
pub(crate) struct Installation {
    pub(crate) kept: Arc<Kept>,
    pub(crate) world: World,
}

impl Installation {
    pub(crate) async fn new() -> Self {
        Self::around(|kept| kept).await
    }

    /// With something around the store.
    pub(crate) async fn around(around: impl FnOnce(Arc<dyn Store>) -> Arc<dyn Store>) -> Self {
        let kept = Kept::new();
        let sealed = around(kept.clone());
        let ground = Ground {
            store: Arc::new(EncryptedStore::with_keys(sealed, Arc::new(keyring("k1")))),
            clock: Arc::new(TokioClock::new()),
            random: Arc::new(Seeded::new(1)),
        };
        let world = World::on(ground, 1, |fleet| fleet).await;
        Self { kept, world }
    }

    /// With a cloud whose users have their kubeconfigs, and nobody who works on it any more.
    pub(crate) async fn at_rest() -> Self {
        let installation = Self::new().await;
        let Self { world, .. } = &installation;
        let engine = world.deployment.engine(Acquire::All);
        world.put(spec(&everything())).await;
        world.apply().await;
        world.done().await;
        let (clouds, ann) = (world.deployment.clouds(), UserName::new("ann").unwrap());
        let given = clouds.kubeconfigs(&world.project, &world.cloud, Some(&ann), None).await.unwrap();
        clouds.handed_out(&world.caller, &given.access).await.unwrap();
        world.deployment.contexts().wait_until_tidy(&installation.context().await).await.unwrap();
        engine.shutdown().await;
        installation
    }

    /// The app context of the cloud.
    pub(crate) async fn context(&self) -> dcm_core::name::ContextId {
        let described =
            self.world.deployment.clouds().get(&self.world.project, &self.world.cloud).await.unwrap();
        dcm_core::render::naming::Identity::of(&described.cloud).context_id()
    }

    pub(crate) async fn check(&self) -> CheckReport {
        self.check_with("k1").await
    }

    /// With the key under another id.
    pub(crate) async fn check_with(&self, key: &str) -> CheckReport {
        let clock: Arc<dyn Clock> = Arc::new(TokioClock::new());
        let keys: Arc<dyn KeyringSource> = Arc::new(keyring(key));
        StoreCheck::over(self.kept.clone(), None, Some(&keys), clock).run().await.unwrap()
    }

    /// What is found, with the room of each path.
    pub(crate) async fn found(&self) -> Vec<(String, Rule)> {
        let found = self.check().await.findings;
        found.into_iter().map(|Finding { path, rule, .. }| (room(&path), rule)).collect()
    }

    /// The first document whose path begins and ends so, as a client with the keys reads it.
    pub(crate) async fn entry(&self, beginning: &str, end: &str) -> Entry {
        let entries = self.world.store.list_all(&Prefix::everything()).await.unwrap();
        let is_it =
            |entry: &Entry| entry.path.as_str().starts_with(beginning) && entry.path.as_str().ends_with(end);
        entries.into_iter().find(is_it).unwrap_or_else(|| panic!("nothing is at {beginning}…{end}"))
    }

    /// Puts another text in the place of a document, as a client with the keys that has a fault.
    pub(crate) async fn replace(&self, entry: &Entry, text: &str) {
        let document = Document::from_stored(text);
        let (path, version) = (entry.path.clone(), entry.version);
        self.world.store.write_one(Write::Update { path, version, document }).await.unwrap();
    }

    /// The same below the encryption, as a client without the keys.
    pub(crate) async fn forge(&self, entry: &Entry, text: &str) {
        let document = Document::from_stored(text);
        let (path, version) = (entry.path.clone(), entry.version);
        self.kept.write_one(Write::Update { path, version, document }).await.unwrap();
    }

    /// Changes a document.
    pub(crate) async fn edit(&self, beginning: &str, end: &str, edit: impl FnOnce(&mut Value)) {
        let entry = self.entry(beginning, end).await;
        let mut value: Value = entry.document.read().unwrap();
        edit(&mut value);
        self.replace(&entry, &value.to_string()).await;
    }

    pub(crate) async fn delete(&self, beginning: &str, end: &str) {
        let Entry { path, version, .. } = self.entry(beginning, end).await;
        self.world.store.write_one(Write::Delete { path, version }).await.unwrap();
    }

    pub(crate) async fn create(&self, path: &str, value: &Value) {
        let (path, document) = (Path::new(path).unwrap(), Document::from_value(value).unwrap());
        self.world.store.write_one(Write::Create { path, document }).await.unwrap();
    }

    /// A copy of a document at another path, changed.
    pub(crate) async fn copy(
        &self,
        beginning: &str,
        end: &str,
        to: impl FnOnce(&str) -> String,
        edit: impl FnOnce(&mut Value),
    ) {
        let entry = self.entry(beginning, end).await;
        let mut value: Value = entry.document.read().unwrap();
        edit(&mut value);
        self.create(&to(entry.path.as_str()), &value).await;
    }
}

pub(crate) fn room(path: &Path) -> String {
    path.segments().next().unwrap().to_owned()
}

/// The name of a part or snapshot that is never changed.
pub(crate) fn named(number: u64, value: &Value) -> String {
    format!("{number}-{}", ContentHash::of(value).short(32))
}
