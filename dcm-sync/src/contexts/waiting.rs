//! Waiting for the work on a context: its lanes are listed once, and then follow their changes.

use std::collections::{BTreeMap, BTreeSet};

use dcm_core::name::{ClusterId, ContextId};
use dcm_core::port::store::{Change, Entry, StoreExt as _, Version};
use dcm_core::port::synchronizer::{Error, Synchronizer as _};
use dcm_core::status::{ContextStatus, Progress};
use futures::StreamExt as _;

use super::{Contexts, status};
use crate::record::{self, Lane, Root, path};

impl Contexts {
    /// As [`Synchronizer::wait_until_done`](dcm_core::port::synchronizer::Synchronizer::wait_until_done): lanes are listed once.
    pub(super) async fn wait_for_lanes(&self, id: &ContextId) -> Result<ContextStatus, Error> {
        let not_found = || Error::NotFound { id: id.clone() };
        loop {
            if !self.wait_until(id, |work| work.progress() != Progress::Working).await? {
                return Err(not_found());
            }
            let status = self.status(id).await?.ok_or_else(not_found)?;
            if status.progress != Progress::Working {
                return Ok(status);
            }
        }
    }

    /// Waits until nothing is left on a context's clusters of what its work needed on the way, such as answered
    /// signing requests. Nobody has to wait for that: it is cleared away behind the work, by whoever does the work. A
    /// program that ends when its work is done waits for it with a bound. While the work is paused there is nothing to
    /// wait for.
    ///
    /// # Errors
    /// [`Error::Store`].
    pub async fn wait_until_tidy(&self, id: &ContextId) -> Result<(), Error> {
        self.wait_until(id, |work| work.untidy == 0 || work.root.paused).await.map(drop)
    }

    /// Waits until the work is so far; false when the context is gone.
    async fn wait_until(&self, id: &ContextId, is_so: impl Fn(&Work) -> bool + Send) -> Result<bool, Error> {
        loop {
            // First the watch, so that nothing is missed; its first batch is empty.
            let mut changes = status::changes(self, id).await?;
            let Some(mut work) = self.work(id).await? else { return Ok(false) };
            while let Some(batch) = changes.next().await {
                let is_lost = batch.contains(&Change::Lost);
                for change in batch {
                    if !work.follow(change)? {
                        return Ok(false);
                    }
                }
                if is_so(&work) {
                    return Ok(true);
                }
                if is_lost {
                    break;
                }
            }
        }
    }

    async fn work(&self, id: &ContextId) -> Result<Option<Work>, Error> {
        let Some((root, version)) = self.known_root(id).await? else { return Ok(None) };
        let mut work = Work {
            root,
            root_version: version,
            lanes: BTreeMap::new(),
            verdicts: BTreeMap::new(),
            working: 0,
            stuck: 0,
            untidy: 0,
        };
        for entry in self.store.list_all(&path::lanes(id)).await? {
            work.lane(&entry)?;
        }
        work.judge_all();
        Ok(Some(work))
    }
}

/// How far a context is, kept up to date change by change: with thousands of lanes, reading all of them after each
/// change would cost more than the work.
struct Work {
    root: Root,
    root_version: Version,
    lanes: BTreeMap<ClusterId, (Version, Lane)>,
    verdicts: BTreeMap<ClusterId, Verdict>,
    /// How many lanes are working, stuck and untidy.
    working: usize,
    stuck: usize,
    untidy: usize,
}

#[derive(Clone, Copy)]
struct Verdict {
    progress: Progress,
    untidy: bool,
}

impl Work {
    fn progress(&self) -> Progress {
        match (self.working, self.stuck) {
            (0, 0) => Progress::Done,
            (0, _) => Progress::Stuck,
            _ => Progress::Working,
        }
    }

    /// Takes a change in; false when the context is gone. What is older than what was listed is passed over.
    fn follow(&mut self, change: Change) -> Result<bool, Error> {
        match change {
            Change::Put(entry) if path::context_of_root(&entry.path).is_some() => {
                if entry.version > self.root_version {
                    self.root = record::read(&entry)?;
                    self.root_version = entry.version;
                    if self.root.forgotten {
                        return Ok(false);
                    }
                    self.judge_all();
                }
            }
            Change::Put(entry) => {
                if let Some(cluster) = self.lane(&entry)? {
                    self.judge(&cluster);
                }
            }
            Change::Deleted(path) if path::context_of_root(&path).is_some() => return Ok(false),
            Change::Deleted(path) => {
                if let Some(cluster) = path::cluster_of(&path) {
                    self.lanes.remove(&cluster);
                    self.judge(&cluster);
                }
            }
            Change::Lost => {}
        }
        Ok(true)
    }

    /// Keeps what a lane's record says of its progress; gives its cluster when that is news.
    fn lane(&mut self, entry: &Entry) -> Result<Option<ClusterId>, Error> {
        let Some(cluster) = path::cluster_of(&entry.path) else { return Ok(None) };
        if self.lanes.get(&cluster).is_some_and(|(version, _)| *version >= entry.version) {
            return Ok(None);
        }
        let mut lane: Lane = record::read(entry)?;
        lane.objects.clear();
        self.lanes.insert(cluster.clone(), (entry.version, lane));
        Ok(Some(cluster))
    }

    fn judge_all(&mut self) {
        let named = self.root.concerned();
        let clusters: BTreeSet<ClusterId> =
            named.chain(self.lanes.keys()).chain(self.verdicts.keys()).cloned().collect();
        clusters.iter().for_each(|cluster| self.judge(cluster));
    }

    fn judge(&mut self, cluster: &ClusterId) {
        let lane = self.lanes.get(cluster).map(|(_, lane)| lane);
        let progress = status::progress_of(&self.root, cluster, lane);
        let verdict = Verdict { progress, untidy: lane.is_some_and(|lane| lane.untidy) };
        if let Some(before) = self.verdicts.insert(cluster.clone(), verdict) {
            self.count(before, |counted| counted - 1);
        }
        self.count(verdict, |counted| counted + 1);
    }

    fn count(&mut self, verdict: Verdict, change: impl Fn(usize) -> usize) {
        match verdict.progress {
            Progress::Working => self.working = change(self.working),
            Progress::Stuck => self.stuck = change(self.stuck),
            Progress::Done => {}
        }
        if verdict.untidy {
            self.untidy = change(self.untidy);
        }
    }
}
