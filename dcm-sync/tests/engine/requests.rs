//! How little is asked of a store: to hand an app context over, and when one lane changes.

use std::collections::BTreeSet;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use async_trait::async_trait;
use dcm_core::manifest::Manifest;
use dcm_core::name::ClusterId;
use dcm_core::port::store::{
    BATCH_WRITES_MAX, BatchError, Capabilities, Entry, Error, Page, PageRequest, Path, Prefix, Store,
    Version, Watch, Write,
};
use dcm_core::port::synchronizer::Synchronizer as _;
use dcm_store::MemoryStore;
use dcm_sync::Contexts;
use dcm_sync::engine::{LEASE_MAX, Options};
use dcm_sync::sim::cluster_id;

use crate::fixture::*;

/// More than fill one batch with their claims.
const CLUSTERS: usize = 300;

/// Most requests that the change of one lane may take.
const LANE_CHANGE_MAX: usize = 2;

/// A worker that asked for nothing for so long has nothing to do.
const QUIET: Duration = Duration::from_secs(30);

/// One request, and the paths and prefixes that it was about.
#[derive(Debug, Clone)]
struct Asked {
    writes: bool,
    places: Vec<String>,
}

/// A store that notes what it is asked.
struct Noted {
    inner: Arc<dyn Store>,
    asked: Mutex<Vec<Asked>>,
}

impl Noted {
    fn over(inner: Arc<dyn Store>) -> Arc<Self> {
        Arc::new(Self { inner, asked: Mutex::default() })
    }

    /// What was asked since this was last said.
    fn take(&self) -> Vec<Asked> {
        std::mem::take(&mut *self.asked.lock().unwrap())
    }

    fn note(&self, writes: bool, places: Vec<String>) {
        self.asked.lock().unwrap().push(Asked { writes, places });
    }

    /// Waits until nothing more is asked.
    async fn quiet(&self) {
        loop {
            let before = self.asked.lock().unwrap().len();
            tokio::time::sleep(QUIET).await;
            if self.asked.lock().unwrap().len() == before {
                return;
            }
        }
    }
}

#[async_trait]
impl Store for Noted {
    fn capabilities(&self) -> Capabilities {
        self.inner.capabilities()
    }

    async fn get(&self, path: &Path) -> Result<Option<Entry>, Error> {
        self.note(false, vec![path.to_string()]);
        self.inner.get(path).await
    }

    async fn list(&self, prefix: &Prefix, page: &PageRequest) -> Result<Page, Error> {
        self.note(false, vec![prefix.to_string()]);
        self.inner.list(prefix, page).await
    }

    async fn write(&self, batch: &[Write]) -> Result<Vec<Version>, BatchError> {
        self.note(true, batch.iter().map(|write| write.path().to_string()).collect());
        self.inner.write(batch).await
    }

    async fn watch(&self, prefix: &Prefix) -> Result<Watch, Error> {
        self.note(false, vec![prefix.to_string()]);
        self.inner.watch(prefix).await
    }
}

/// Keys of clusters other than this one, and lists that have such among them.
fn of_others(asked: &[Asked], cluster: &ClusterId) -> Vec<String> {
    let own = format!("/{}/{}/", cluster.provider, cluster.cluster);
    let is_of_a_cluster = |place: &&String| {
        ["lanes/", "results/", "claims/", "shards/"].iter().any(|room| place.starts_with(room))
    };
    let places = asked.iter().flat_map(|asked| &asked.places).filter(is_of_a_cluster);
    places.filter(|place| !format!("/{place}/").contains(&own)).cloned().collect()
}

#[tokio::test(start_paused = true)]
async fn handing_a_context_over_takes_as_many_writes_as_its_keys_fill_batches_and_two_more() {
    for atomic_batches in [true, false] {
        let world = World::new(1);
        let memory = MemoryStore::builder().atomic_batches(atomic_batches).build();
        let store = Noted::over(Arc::new(memory));
        let contexts = Contexts::new(store.clone(), world.clock.clone());
        contexts.apply(&context(steps(), 1..=CLUSTERS)).await.unwrap();
        let writes: Vec<Asked> = store.take().into_iter().filter(|asked| asked.writes).collect();
        let keys: BTreeSet<&String> = writes.iter().flat_map(|asked| &asked.places).collect();
        assert!(keys.len() > CLUSTERS, "a claim for each cluster, and more: {}", keys.len());
        let most = keys.len().div_ceil(BATCH_WRITES_MAX) + 2;
        assert!(
            writes.len() <= most,
            "{} writes for {} keys, atomic: {atomic_batches}",
            writes.len(),
            keys.len()
        );
    }
}

#[tokio::test(start_paused = true)]
async fn the_change_of_one_lane_takes_two_requests_and_none_about_another_lane() {
    let world = World::new(3);
    let store = Noted::over(world.store.clone());
    // Signs of life are no change of a lane.
    let options = Options { lease: LEASE_MAX, ..Options::default() };
    let (engine, _) = world.engine_between(store.clone(), world.fleet.clone(), options);
    let contexts = Contexts::new(world.store.clone(), world.clock.clone());
    contexts.apply(&context(steps(), 1..=3)).await.unwrap();
    contexts.wait_until_done(&context_id()).await.unwrap();
    contexts.wait_until_tidy(&context_id()).await.unwrap();
    store.quiet().await;
    let work = store.take();
    assert!(!of_others(&work, &cluster_id(1)).is_empty(), "all lanes were brought about through this store");

    let role = Manifest::new(role_body("reader", &["get", "list"])).unwrap();
    let cluster = world.fleet.cluster(&cluster_id(1)).unwrap();
    cluster.server(|server| server.delete_as_other(role.kind(), role.key())).unwrap();
    until_so(|| world.body(1, role.kind(), role.key()).is_some()).await;
    store.quiet().await;
    let asked = store.take();
    assert!((1..=LANE_CHANGE_MAX).contains(&asked.len()), "{asked:?}");
    assert_eq!(of_others(&asked, &cluster_id(1)), [""; 0]);
    engine.shutdown().await;
}
