//! Pausing work, and waiting until no request is under way.
//!
//! Each worker that was there when the pause was stored has to say that it has seen it and that nothing is under way: in
//! its session for an app context, in the shard's record for a cluster. One whose session ended begins nothing any more; that
//! of one that shows no sign of life for the length of its lease is ended.

use std::collections::{BTreeMap, BTreeSet};
use std::time::Duration;

use dcm_core::name::{ClusterId, ContextId};
use dcm_core::port::store::{self, Change, Entry, Path, Prefix, StoreExt as _, Version, Watch, Write};
use dcm_core::port::synchronizer::{Error, STOP_LIMIT};
use futures::StreamExt as _;
use futures::future::{Either, select};
use futures::stream;
use jiff::Timestamp;

use super::Contexts;
use crate::engine::LEASE_MAX;
use crate::record::{self, Pause, Root, Shard, Worker, WorkerId, path};

/// Where a worker says that nothing is under way.
enum Sign<'a> {
    /// In its session: of this context, whose root has this version or a later one.
    Session(&'a ContextId, Version),
    /// In the record of this cluster's shard.
    Shard(&'a ClusterId),
}

/// Workers that have not said it yet.
struct Awaited<'a> {
    sign: Sign<'a>,
    workers: BTreeMap<WorkerId, Heard>,
    /// Somebody else went on with the work.
    is_resumed: bool,
}

/// The last that was heard of a worker.
struct Heard {
    version: Version,
    since: Timestamp,
    lease: Duration,
}

/// The lease of a worker whose session can't be read: another version may have written it, and knows how long it lives. So
/// nobody ends it here, and whoever waits for it is told its name.
const LEASE_UNKNOWN: Duration = Duration::from_secs(24 * 3600);

impl Contexts {
    pub(super) async fn stop_context(&self, id: &ContextId, limit: Duration) -> Result<(), Error> {
        // Also where it is paused already: workers tell it anew with each version of the root.
        let (_, version) = self
            .change(id, |root| {
                root.paused = true;
                true
            })
            .await?;
        self.wait_for_workers(Sign::Session(id, version), None, limit).await
    }

    pub(super) async fn stop_all_on(&self, cluster: &ClusterId, limit: Duration) -> Result<(), Error> {
        let shard = self.change_shard(cluster, |shard| match (shard.pause, &shard.owner) {
            (Some(_), _) => {}
            (None, Some(_)) => shard.pause = Some(Pause::Asked),
            (None, None) => shard.pause = Some(Pause::Quiet),
        });
        let shard = shard.await?;
        match shard.owner {
            Some(owner) if shard.pause == Some(Pause::Asked) => {
                self.wait_for_workers(Sign::Shard(cluster), Some(owner), limit).await
            }
            _ => Ok(()),
        }
    }

    pub(super) async fn resume_all_on(&self, cluster: &ClusterId) -> Result<(), Error> {
        self.change_shard(cluster, |shard| shard.pause = None).await.map(drop)
    }

    pub(super) async fn is_stopped_on(&self, cluster: &ClusterId) -> Result<bool, Error> {
        let entry = self.store.get(&path::shard(cluster)).await?;
        let shard = entry.as_ref().map(record::read::<Shard>).transpose()?;
        Ok(shard.is_some_and(|shard| shard.pause.is_some()))
    }

    pub(super) async fn all_stopped(&self) -> Result<BTreeSet<ClusterId>, Error> {
        let mut stopped = BTreeSet::new();
        for entry in self.store.list_all(&path::shards()).await? {
            match record::read::<Shard>(&entry) {
                Ok(shard) => stopped.extend(path::cluster_of(&entry.path).filter(|_| shard.pause.is_some())),
                Err(error) => {
                    let error = &error as &dyn std::error::Error;
                    tracing::warn!(error, "whether the work on a cluster is paused is not known");
                }
            }
        }
        Ok(stopped)
    }

    /// Changes a cluster's record, or makes one, and gives it.
    pub(super) async fn change_shard(
        &self,
        cluster: &ClusterId,
        change: impl Fn(&mut Shard) + Send + Sync,
    ) -> Result<Shard, Error> {
        self.change_record(path::shard(cluster), change).await
    }

    /// Waits until every worker has read a root of this version, and has no request under way for an older one.
    pub(super) async fn wait_until_read(&self, id: &ContextId, version: Version) -> Result<(), Error> {
        self.wait_for_workers(Sign::Session(id, version), None, STOP_LIMIT).await
    }

    /// Waits for all workers that there are, or for one of them.
    async fn wait_for_workers(
        &self,
        sign: Sign<'_>,
        only: Option<WorkerId>,
        limit: Duration,
    ) -> Result<(), Error> {
        let end = self.clock.now() + limit;
        let mut awaited = Awaited { sign, workers: BTreeMap::new(), is_resumed: false };
        // First the watch, so that nothing is missed.
        let mut changes = self.changes_of(&awaited.sign).await?;
        for entry in self.store.list_all(&path::workers()).await? {
            awaited.expect(&entry, only.as_ref(), self.clock.now());
        }
        awaited.look_at_pause(self).await?;
        loop {
            if awaited.is_resumed {
                return Err(Error::Resumed);
            }
            let now = self.clock.now();
            self.end_lapsed(&mut awaited, now).await?;
            let Some(lapse) = awaited.workers.values().map(Heard::until).min() else { return Ok(()) };
            if now >= end {
                let workers = awaited.workers.keys().map(ToString::to_string).collect();
                return Err(Error::StillUnderWay { limit, workers });
            }
            let wait = lapse.min(end).duration_since(now).try_into().unwrap_or_default();
            match select(changes.next(), self.clock.sleep(wait)).await {
                Either::Left((Some(Change::Lost) | None, _)) => {
                    changes = self.changes_of(&awaited.sign).await?;
                    awaited.look(self).await?;
                }
                Either::Left((Some(change), _)) => awaited.follow(&change, self.clock.now())?,
                Either::Right(_) => {}
            }
        }
    }

    /// Ends the sessions of those that show no sign of life, as another worker would: one that only stood still begins a new
    /// session, and reads everything anew.
    async fn end_lapsed(&self, awaited: &mut Awaited<'_>, now: Timestamp) -> Result<(), Error> {
        let lapsed = awaited.workers.iter().filter(|(_, heard)| now >= heard.until());
        let lapsed: Vec<_> = lapsed.map(|(worker, heard)| (worker.clone(), heard.version)).collect();
        for (worker, version) in lapsed {
            let end = Write::Delete { path: path::worker(&worker), version };
            match self.store.write_one(end).await {
                Ok(_) | Err(store::Error::Conflict { found: None, .. }) => {
                    awaited.workers.remove(&worker);
                }
                // It goes on, and that was not told yet.
                Err(store::Error::Conflict { .. }) => awaited.look(self).await?,
                Err(error) => return Err(error.into()),
            }
        }
        Ok(())
    }

    async fn changes_of(&self, sign: &Sign<'_>) -> Result<Watch, Error> {
        let workers = self.store.watch(&path::workers()).await?;
        let paused = self.store.watch(&sign.folder()).await?;
        Ok(stream::select(workers, paused).boxed())
    }
}

impl Sign<'_> {
    /// Where the record lies that says that the work is paused.
    fn path(&self) -> Path {
        match self {
            Self::Session(id, _) => path::root(id),
            Self::Shard(cluster) => path::shard(cluster),
        }
    }

    fn folder(&self) -> Prefix {
        match self {
            Self::Session(id, _) => Prefix::below(&path::context_folder(id)),
            Self::Shard(_) => path::shards(),
        }
    }
}

impl Heard {
    /// Until when it may begin something.
    fn until(&self) -> Timestamp {
        self.since + self.lease
    }
}

impl Awaited<'_> {
    /// A worker was there when the pause had been stored; it may have told already.
    fn expect(&mut self, session: &Entry, only: Option<&WorkerId>, now: Timestamp) {
        let Some(worker) = path::worker_of(&session.path) else { return };
        if only.is_none_or(|only| *only == worker) {
            let lease = record::read::<Worker>(session)
                .map_or(LEASE_UNKNOWN, |session| Duration::from_millis(session.lease_ms).min(LEASE_MAX));
            self.workers.insert(worker, Heard { version: session.version, since: now, lease });
            self.session(&session.path, Some(session), now);
        }
    }

    /// Reads what was not heard of. Each answer counts from when it is there: what it tells is no older than the question.
    async fn look(&mut self, contexts: &Contexts) -> Result<(), Error> {
        for worker in self.workers.keys().cloned().collect::<Vec<_>>() {
            match contexts.store.get(&path::worker(&worker)).await? {
                Some(entry) => self.follow(&Change::Put(entry), contexts.clock.now())?,
                None => drop(self.workers.remove(&worker)),
            }
        }
        self.look_at_pause(contexts).await
    }

    /// Reads the record that says that the work is paused.
    async fn look_at_pause(&mut self, contexts: &Contexts) -> Result<(), Error> {
        let path = self.sign.path();
        let paused = contexts.store.get(&path).await?;
        self.follow(&paused.map_or(Change::Deleted(path), Change::Put), contexts.clock.now())
    }

    fn follow(&mut self, change: &Change, now: Timestamp) -> Result<(), Error> {
        let (path, entry) = match change {
            Change::Put(entry) => (&entry.path, Some(entry)),
            Change::Deleted(path) => (path, None),
            Change::Lost => return Ok(()),
        };
        if *path == self.sign.path() {
            return self.paused(entry);
        }
        if path::workers().contains(path) {
            self.session(path, entry, now);
        }
        Ok(())
    }

    /// The record changed that says that the work is paused.
    fn paused(&mut self, entry: Option<&Entry>) -> Result<(), Error> {
        match (&self.sign, entry) {
            (_, None) => self.is_resumed = true,
            (Sign::Session(..), Some(entry)) => {
                self.is_resumed = !record::read::<Root>(entry)?.waits_for_workers();
            }
            (Sign::Shard(_), Some(entry)) => {
                let shard: Shard = record::read(entry)?;
                self.is_resumed = shard.pause.is_none();
                let is_asked = shard.pause == Some(Pause::Asked);
                self.workers.retain(|worker, _| is_asked && shard.owner.as_ref() == Some(worker));
            }
        }
        Ok(())
    }

    /// A worker's session changed, or ended.
    fn session(&mut self, path: &Path, entry: Option<&Entry>, now: Timestamp) {
        let Some(worker) = path::worker_of(path) else { return };
        let (Some(heard), Some(entry)) = (self.workers.get_mut(&worker), entry) else {
            self.workers.remove(&worker);
            return;
        };
        // What can't be read has told nothing.
        let session = record::read::<Worker>(entry).ok();
        let has_told = match self.sign {
            Sign::Session(id, version) => {
                let told = session.as_ref().and_then(|session| session.quiet.get(id));
                told.is_some_and(|told| *told >= version.0)
            }
            Sign::Shard(_) => false,
        };
        if has_told {
            self.workers.remove(&worker);
        } else if entry.version > heard.version {
            (heard.version, heard.since) = (entry.version, now);
        }
    }
}
