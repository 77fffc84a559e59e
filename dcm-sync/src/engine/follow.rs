//! Follows a part of the store, over lost watches.

use std::collections::BTreeSet;
use std::sync::Arc;
use std::time::Duration;

use dcm_core::port::clock::Clock;
use dcm_core::port::store::{Change, Entry, Path, Prefix, Store, StoreExt, Watch};
use futures::StreamExt as _;
use futures::stream::{self, BoxStream};

/// How long to wait after the store could not be watched or listed.
pub(super) const RETRY_WAIT: Duration = Duration::from_secs(1);

/// What a follower is told.
pub(super) enum Followed {
    /// The document is now so.
    Put(Entry),
    /// The document is gone.
    Deleted(Path),
    /// All documents there are have been told, for the first time or again after a lost watch.
    Listed,
}

struct Follower {
    store: Arc<dyn Store>,
    clock: Arc<dyn Clock>,
    prefix: Prefix,
    known: BTreeSet<Path>,
    watch: Option<Watch>,
}

/// Tells all documents below a prefix, and from then on every change. Never ends.
pub(super) fn follow(
    store: Arc<dyn Store>,
    clock: Arc<dyn Clock>,
    prefix: Prefix,
) -> BoxStream<'static, Followed> {
    let follower = Follower { store, clock, prefix, known: BTreeSet::new(), watch: None };
    let batches = stream::unfold(follower, |mut follower| async move {
        let batch = follower.next().await;
        Some((stream::iter(batch), follower))
    });
    batches.flatten().boxed()
}

impl Follower {
    async fn next(&mut self) -> Vec<Followed> {
        loop {
            let Some(watch) = &mut self.watch else { return self.begin().await };
            match watch.next().await {
                Some(Change::Put(entry)) => {
                    self.known.insert(entry.path.clone());
                    return vec![Followed::Put(entry)];
                }
                Some(Change::Deleted(path)) => {
                    self.known.remove(&path);
                    return vec![Followed::Deleted(path)];
                }
                Some(Change::Lost) | None => self.watch = None,
            }
        }
    }

    /// Watches first and lists then, so that nothing falls between.
    async fn begin(&mut self) -> Vec<Followed> {
        loop {
            match self.try_begin().await {
                Ok(entries) => return self.listed(entries),
                Err(error) => {
                    tracing::warn!(prefix = %self.prefix, error = &error as &dyn std::error::Error,
                        "can't follow the store");
                    self.clock.sleep(RETRY_WAIT).await;
                }
            }
        }
    }

    async fn try_begin(&mut self) -> Result<Vec<Entry>, dcm_core::port::store::Error> {
        let watch = self.store.watch(&self.prefix).await?;
        let entries = self.store.list_all(&self.prefix).await?;
        self.watch = Some(watch);
        Ok(entries)
    }

    fn listed(&mut self, entries: Vec<Entry>) -> Vec<Followed> {
        let now: BTreeSet<Path> = entries.iter().map(|entry| entry.path.clone()).collect();
        let gone: Vec<Path> = self.known.difference(&now).cloned().collect();
        self.known = now;
        let mut told: Vec<Followed> = gone.into_iter().map(Followed::Deleted).collect();
        told.extend(entries.into_iter().map(Followed::Put));
        told.push(Followed::Listed);
        told
    }
}
