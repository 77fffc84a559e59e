//! What the stores of a deployment are asked.

use std::sync::Arc;

use dcm_core::port::store::Store;
use dcm_store::TracedStore;
use dcm_store::trace::{Ended, Kind};

/// How requests of one kind to one store ended.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Asked {
    /// `documents` or `contexts`.
    pub(super) store: &'static str,
    pub(super) kind: Kind,
    pub(super) ended: Ended,
}

/// The stores of a deployment, and how often they were asked what. Where both are one, the requests are told apart all the same.
#[derive(Clone)]
pub(crate) struct CountedStores {
    pub(crate) documents: Arc<TracedStore<dyn Store>>,
    pub(crate) contexts: Arc<TracedStore<dyn Store>>,
}

impl CountedStores {
    pub(crate) fn over(documents: Arc<dyn Store>, contexts: Arc<dyn Store>) -> Self {
        let [documents, contexts] = [documents, contexts].map(|store| Arc::new(TracedStore::new(store)));
        Self { documents, contexts }
    }

    /// What was asked of each of them up to now.
    pub(super) fn asked(&self) -> Vec<Asked> {
        let stores = [("documents", &self.documents), ("contexts", &self.contexts)].into_iter();
        let asked = stores.flat_map(|(name, store)| {
            Kind::ALL.map(|kind| Asked { store: name, kind, ended: store.ended(kind) })
        });
        asked.collect()
    }
}
