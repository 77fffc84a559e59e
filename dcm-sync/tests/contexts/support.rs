//! App contexts over a polite store, and what must hold of their records at any time.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use dcm_core::app_context::{Action, AppContext, Bundle, Drift, Existing, Stage, Step};
use dcm_core::manifest::Manifest;
use dcm_core::name::{AppName, ClusterId, ContextId};
use dcm_core::port::store::{Prefix, StoreExt as _};
use dcm_core::port::synchronizer::Removal;
use dcm_store::MemoryStore;
use dcm_sync::Contexts;
use dcm_sync::runtime::TokioClock;
use serde_json::{Value, json};

use crate::polite::Polite;

pub(crate) struct World {
    pub(crate) store: Arc<Polite>,
    pub(crate) contexts: Contexts,
}

impl World {
    pub(crate) fn new(atomic_batches: bool) -> Self {
        let memory = MemoryStore::builder().atomic_batches(atomic_batches).build();
        let store = Arc::new(Polite::over(memory));
        Self { contexts: Contexts::new(store.clone(), Arc::new(TokioClock::new())), store }
    }

    /// All records.
    pub(crate) async fn records(&self) -> BTreeMap<String, Value> {
        let entries = self.store.list_all(&Prefix::everything()).await.unwrap();
        entries.into_iter().map(|entry| (entry.path.to_string(), entry.document.read().unwrap())).collect()
    }

    /// The manifests that the root names and that are not stored.
    pub(crate) async fn missing(&self) -> BTreeSet<String> {
        let records = self.records().await;
        let Some(root) = records.get("contexts/lc-1/root") else { return BTreeSet::new() };
        let outlines = root["placements"].as_array().unwrap().iter();
        let steps = outlines.flat_map(|outline| outline["steps"].as_array().unwrap());
        let named = steps.map(|step| step["apply"]["manifest"].as_str().unwrap().to_owned());
        named.filter(|hash| !records.contains_key(&format!("manifests/lc-1/{hash}"))).collect()
    }
}

pub(crate) fn id() -> ContextId {
    ContextId::new("lc-1").unwrap()
}

pub(crate) fn cluster(number: usize) -> ClusterId {
    ClusterId::new("sim", format!("c{number}")).unwrap()
}

/// A context with a namespace, and these config maps in it, on some clusters.
pub(crate) fn context(maps: &[&str], clusters: std::ops::RangeInclusive<usize>) -> AppContext {
    let namespace = json!({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": "team"}});
    let map = |name: &&str| json!({"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": name, "namespace": "team"}});
    let bodies = std::iter::once(namespace).chain(maps.iter().map(map));
    let steps = bodies.enumerate().map(|(stage, body)| Step {
        app: AppName::new("app").unwrap(),
        stage: Stage(u16::from(stage > 0)),
        action: Action::Apply {
            manifest: Manifest::new(body).unwrap(),
            existing: Existing::Refuse,
            drift: Drift::default(),
        },
    });
    let bundle = Arc::new(Bundle::new(steps.collect()).unwrap());
    let placements = clusters.map(|number| (cluster(number), bundle.clone())).collect();
    AppContext { id: id(), labels: BTreeMap::new(), removal: Removal::default(), placements }
}

/// Lets others go first this many times.
pub(crate) async fn later(times: usize) {
    for _ in 0..times {
        tokio::task::yield_now().await;
    }
}
