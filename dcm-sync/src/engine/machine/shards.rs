//! Taking, reaching, losing and giving back shards.

use std::ops::Bound;

use dcm_core::manifest::GroupVersionKind;
use dcm_core::name::{ClusterId, ContextId};
use dcm_core::port::cluster::{self, ClusterUid, Fence, WatchEvent};
use dcm_core::port::store::{self, Version};
use dcm_core::status::{Cause, Reason};

use super::Machine;
use super::lane::signing_requests;
use super::session::{Life, Session};
use super::shard::{Known, Link, Shard, Watch};
use super::steps::reason_of;
use super::timers::Alarm;
use crate::engine::Safeguard;
use crate::engine::bucket::Bucket;
use crate::engine::event::What;
use crate::engine::io::{Effect, Epoch, LaneId};
use crate::record::{self, SCHEMA};

impl Machine {
    pub(super) fn shard_mut(&mut self, cluster: &ClusterId) -> &mut Shard {
        let (options, now) = (&self.options, self.now);
        self.shards.entry(cluster.clone()).or_insert_with(|| {
            let bucket = Bucket::new(options.writes_per_second, options.writes_burst, now);
            Box::new(Shard::new(bucket))
        })
    }

    /// True when the shard's record says that it is ours and nobody can have taken it.
    pub(super) fn owns(&self, shard: &Shard) -> bool {
        let recorded = shard.record.as_ref().and_then(|(record, _)| record.owner.as_ref());
        recorded == Some(&self.session.worker)
    }

    pub(super) fn fence(shard: &Shard) -> Fence {
        shard.record.as_ref().map(|(record, _)| record.fence).unwrap_or_default()
    }

    pub(super) fn claim_all(&mut self) {
        let clusters: Vec<ClusterId> = self.shards.keys().cloned().collect();
        for cluster in clusters {
            self.claim(&cluster);
        }
    }

    /// Another try after a while, whatever is known of the record: to take the shard, or to give it back.
    pub(super) fn claim_again(&mut self, cluster: &ClusterId) {
        self.shard_mut(cluster).write_failed = false;
        self.claim(cluster);
        self.release_if_idle(cluster);
    }

    /// Takes a shard that is wanted and free: never owned, given back, or its owner's session ended.
    pub(super) fn claim(&mut self, cluster: &ClusterId) {
        if !self.listed || self.stopping.is_some() || !self.session_is_valid() || !self.wants(cluster) {
            return;
        }
        let Some(shard) = self.shards.get(cluster) else { return };
        if shard.saving.is_some() || shard.write_failed {
            return;
        }
        let owner = shard.record.as_ref().and_then(|(record, _)| record.owner.as_ref());
        match owner.map_or(Life::Ended, |owner| self.session.life_of(owner)) {
            Life::Ended => {}
            Life::Alive => return,
            Life::Unknown if !self.options.keeps(Safeguard::OwnerLookedUp) => {}
            Life::Unknown => {
                return owner.cloned().into_iter().for_each(|owner| self.ask_about(&owner));
            }
        }
        let mut record = shard.record.as_ref().map(|(record, _)| record.clone()).unwrap_or_default();
        let inherited = owner.is_some();
        record.schema = SCHEMA;
        record.owner = Some(self.session.worker.clone());
        record.fence = Fence(record.fence.0 + 1);
        self.shard_mut(cluster).inherited = inherited;
        self.save_shard(cluster, record);
    }

    pub(super) fn save_shard(&mut self, cluster: &ClusterId, record: record::Shard) {
        let Some(shard) = self.shards.get_mut(cluster) else { return };
        self.held.insert(cluster.clone());
        shard.saving = Some(record.clone());
        let version = shard.record.as_ref().map(|(_, version)| *version);
        self.effects.push(Effect::SaveShard { cluster: cluster.clone(), record, version });
    }

    pub(super) fn shard_saved(&mut self, cluster: &ClusterId, saved: &Result<Version, store::Error>) {
        let owned_before = self.shards.get(cluster).is_some_and(|shard| self.owns(shard));
        let Some(shard) = self.shards.get_mut(cluster) else { return };
        let Some(record) = shard.saving.take() else { return };
        match saved {
            &Ok(version) => {
                let newer = shard.record.as_ref().is_none_or(|(_, known)| *known < version);
                if newer {
                    shard.record = Some((record, version));
                    self.note_news(cluster);
                }
            }
            // Somebody else changed the record, or it could not be written, or nobody knows: what it is now comes by the
            // watch.
            Err(_) => {
                shard.write_failed = true;
                self.timers.set(self.now + self.options.retry_min, Alarm::Claim(cluster.clone()));
            }
        }
        self.ownership_changed(cluster, owned_before);
    }

    pub(super) fn shard_changed(&mut self, cluster: &ClusterId, record: Option<(record::Shard, Version)>) {
        let owned_before = self.shards.get(cluster).is_some_and(|shard| self.owns(shard));
        let shard = self.shard_mut(cluster);
        let newer = match (&record, &shard.record) {
            (Some((_, version)), Some((_, known))) => version > known,
            _ => true,
        };
        if newer {
            let is_another = shard.stands_for_another(record.as_ref().map(|(record, _)| record));
            shard.record = record;
            shard.write_failed = false;
            self.note_news(cluster);
            self.ownership_changed(cluster, owned_before);
            if is_another {
                self.begin_anew(cluster);
            }
        }
    }

    fn note_news(&mut self, cluster: &ClusterId) {
        self.shard_news += 1;
        let news = self.shard_news;
        self.shard_mut(cluster).news = news;
    }

    fn ownership_changed(&mut self, cluster: &ClusterId, owned_before: bool) {
        self.note_held(cluster);
        let Some(shard) = self.shards.get(cluster) else { return };
        match (owned_before, self.owns(shard)) {
            (false, true) => self.acquired(cluster),
            (true, false) => self.lost(cluster),
            (false, false) => self.claim(cluster),
            (true, true) => {}
        }
        self.release_if_idle(cluster);
    }

    fn note_held(&mut self, cluster: &ClusterId) {
        let held = self.shards.get(cluster).is_some_and(|shard| self.owns(shard) || shard.saving.is_some());
        if held {
            self.held.insert(cluster.clone());
        } else {
            self.held.remove(cluster);
        }
    }

    fn acquired(&mut self, cluster: &ClusterId) {
        self.publish(cluster, None, What::Acquired);
        let (now, until) = (self.now, self.now + self.options.late_request_limit);
        let reads_again = self.options.keeps(Safeguard::RecordsReadAgain);
        let shard = self.shard_mut(cluster);
        shard.acquired = now;
        if shard.inherited {
            shard.lanes.values_mut().for_each(|lane| lane.inherit(until));
        }
        // Whoever takes a shard raises its fence by one: nobody else did since these were read.
        let before = Self::fence(shard).0.checked_sub(1).map(Fence);
        let mut stale = Vec::new();
        for (context, lane) in &mut shard.lanes {
            lane.stale |= lane.read_under != before && reads_again;
            if lane.stale {
                stale.push(context.clone());
            }
        }
        for context in stale {
            self.reload_lane(&LaneId { cluster: cluster.clone(), context });
        }
        self.connect(cluster);
    }

    fn lost(&mut self, cluster: &ClusterId) {
        self.disconnect(cluster, Link::Down);
        self.publish(cluster, None, What::Lost);
        // Another worker writes these lanes from now on.
        for lane in self.shard_mut(cluster).lanes.values_mut() {
            lane.stale = true;
        }
        self.claim(cluster);
    }

    /// Goes on with a new session: what the old one owned is another's now.
    pub(super) fn lose_all(&mut self, session: Session) {
        let owned =
            self.held.iter().filter(|cluster| self.shards.get(cluster).is_some_and(|shard| self.owns(shard)));
        let owned: Vec<ClusterId> = owned.cloned().collect();
        self.session = session;
        for cluster in owned {
            self.note_held(&cluster);
            self.lost(&cluster);
        }
    }

    /// Gives a shard back that this worker does not need any more.
    pub(super) fn give_back(&mut self, cluster: &ClusterId) {
        let Some(shard) = self.shards.get(cluster) else { return };
        let is_writable = shard.saving.is_none() && !shard.write_failed;
        if !self.owns(shard) || !is_writable || self.is_tidying_up(cluster, shard) {
            return;
        }
        let Some((record, _)) = &shard.record else { return };
        let record = record::Shard { owner: None, ..record.clone() };
        self.save_shard(cluster, record);
    }

    /// Gives all shards back, each as soon as nothing is under way there.
    pub(super) fn give_back_all(&mut self) {
        for cluster in self.held.clone() {
            self.release_if_idle(&cluster);
        }
    }

    pub(super) fn connect(&mut self, cluster: &ClusterId) {
        let Some(shard) = self.shards.get(cluster) else { return };
        if !self.owns(shard) || matches!(shard.link, Link::Up | Link::Connecting) {
            return;
        }
        let shard = self.shard_mut(cluster);
        shard.link = Link::Connecting;
        shard.epoch = Epoch(shard.epoch.0 + 1);
        self.open(cluster, None);
    }

    pub(super) fn connected(
        &mut self,
        cluster: &ClusterId,
        epoch: Epoch,
        connected: Result<ClusterUid, cluster::Error>,
    ) {
        if !self.is_current(cluster, epoch) {
            return;
        }
        match connected {
            Ok(uid) => self.identified(cluster, uid),
            Err(error) => self.break_link(cluster, &error),
        }
    }

    /// A cluster failed as a whole: all its lanes wait, and one connection is tried again after a while.
    pub(super) fn break_link(&mut self, cluster: &ClusterId, error: &cluster::Error) {
        let random = self.jitter.next();
        let (now, min, max) = (self.now, self.options.retry_min, self.reconnect_wait(cluster));
        let next_try = now + self.shard_mut(cluster).row.breaks(now, min, max, random);
        let cause = Cause {
            reason: reason_of(error),
            message: words(error).into(),
            object: None,
            next_try: Some(next_try),
        };
        self.break_until(cluster, cause, next_try);
    }

    pub(super) fn break_until(&mut self, cluster: &ClusterId, cause: Cause, next_try: jiff::Timestamp) {
        self.disconnect(cluster, Link::Broken(cause.clone()));
        self.timers.set(next_try, Alarm::Connect(cluster.clone()));
        self.publish(cluster, None, What::Hindered(cause));
        self.wake_lanes(cluster);
    }

    /// Drops a connection with everything that was under way on it.
    fn disconnect(&mut self, cluster: &ClusterId, link: Link) {
        if !matches!(link, Link::Broken(_)) {
            self.searched.remove(cluster);
        }
        let shard = self.shard_mut(cluster);
        shard.link = link;
        shard.epoch = Epoch(shard.epoch.0 + 1);
        shard.watches.clear();
        shard.objects.clear();
        shard.unread.clear();
        shard.requests = 0;
        shard.openings = 0;
        shard.connection_is_held = false;
        shard.starved.clear();
        let mut under_way = Vec::new();
        for lane in shard.lanes.values_mut() {
            under_way.extend(lane.interrupt());
        }
        for ticket in under_way {
            if let Some(pending) = self.pending.remove(ticket) {
                self.uncertain(&pending.lane, &pending.step);
            }
        }
        self.leave_queue(cluster);
        self.effects.push(Effect::Disconnect(cluster.clone()));
    }

    /// Opens the watches that one of the shard's lanes, or all of them, need and don't have open.
    pub(super) fn open_watches(&mut self, cluster: &ClusterId, only: Option<&ContextId>) {
        let Some(shard) = self.shards.get(cluster).filter(|shard| shard.is_up()) else { return };
        let mut missing = std::collections::BTreeSet::new();
        let (first, last) = match only {
            Some(only) => (Bound::Included(only), Bound::Included(only)),
            None => (Bound::Unbounded, Bound::Unbounded),
        };
        for (context, lane) in shard.lanes.range::<ContextId, _>((first, last)) {
            let bundle = self.contexts.get(context).and_then(|context| context.bundle(cluster));
            lane.kinds(bundle.as_deref(), &mut |kind| {
                if !shard.watches.get(kind).is_some_and(|watch| watch.is_open) {
                    missing.insert(kind.clone());
                }
            });
        }
        for kind in missing {
            self.open_watch(cluster, &kind);
        }
    }

    pub(super) fn open_watch(&mut self, cluster: &ClusterId, kind: &GroupVersionKind) {
        let Some(shard) = self.shards.get_mut(cluster).filter(|shard| shard.is_up()) else { return };
        let watch = shard.watches.entry(kind.clone()).or_insert_with(Watch::new);
        if std::mem::replace(&mut watch.is_open, true) {
            return;
        }
        watch.has_listed = false;
        self.open(cluster, Some(kind));
    }

    /// Lists objects again that are watched already: a list has what a late watch has not told yet.
    pub(super) fn list_anew(&mut self, cluster: &ClusterId, kinds: &[GroupVersionKind]) {
        for kind in kinds {
            let watches = self.shards.get_mut(cluster).map(|shard| &mut shard.watches);
            let watch = watches.and_then(|watches| watches.get_mut(kind));
            if let Some(watch) = watch.filter(|watch| matches!(watch.known, Known::Listed)) {
                watch.known = Known::Nothing;
                watch.is_open = false;
                self.open_watch(cluster, kind);
            }
        }
    }

    pub(super) fn watched(
        &mut self,
        cluster: &ClusterId,
        epoch: Epoch,
        kind: GroupVersionKind,
        told: Result<Option<WatchEvent>, cluster::Error>,
    ) {
        if !self.is_current(cluster, epoch) {
            return;
        }
        match told {
            Ok(Some(WatchEvent::Listed(objects))) => {
                let now = self.now;
                self.shard_mut(cluster).forget_kind(&kind);
                for object in &objects {
                    self.sight(cluster, object);
                }
                let shard = self.shard_mut(cluster);
                if let Some(watch) = shard.watches.get_mut(&kind) {
                    watch.known = Known::Listed;
                    watch.has_listed = true;
                    watch.row.holds(now);
                }
                self.wake_lanes(cluster);
            }
            Ok(Some(WatchEvent::Applied(object))) => self.object_seen(cluster, &object),
            Ok(Some(WatchEvent::Deleted(object))) => self.object_gone(cluster, &object),
            Ok(None) => self.watch_broken(cluster, kind, None),
            Err(error) if error.is_about_cluster() => self.break_link(cluster, &error),
            Err(error) => self.watch_broken(cluster, kind, Some(&error)),
        }
    }

    fn watch_broken(&mut self, cluster: &ClusterId, kind: GroupVersionKind, error: Option<&cluster::Error>) {
        let random = self.jitter.next();
        let (now, min, max) = (self.now, self.options.retry_min, self.options.retry_max);
        let Some(watch) = self.shard_mut(cluster).watches.get_mut(&kind) else { return };
        if !std::mem::replace(&mut watch.is_open, false) {
            return;
        }
        let next_try = now + watch.row.breaks(now, min, max, random);
        match error {
            None if matches!(watch.known, Known::Listed) => {}
            // The next try lists anew.
            Some(cluster::Error::Forbidden { .. }) if watch.has_listed => {}
            Some(cluster::Error::UnknownKind { .. }) => watch.known = Known::NoKind,
            error => {
                let message = error.map_or_else(|| "the watch ended".to_owned(), words);
                let cause = Box::new(Cause {
                    reason: error.map_or(Reason::Retrying, reason_of),
                    message: format!("watching {kind}: {message}").into(),
                    object: None,
                    next_try: Some(next_try),
                });
                // A request for a certificate is answered by the cluster: who may not follow it waits for ever.
                let may_read =
                    matches!(error, Some(cluster::Error::Forbidden { .. })) && kind != *signing_requests();
                watch.known = if may_read { Known::ByName(cause) } else { Known::Hidden(cause) };
                self.timers.set(now + self.options.read_interval, Alarm::Read(cluster.clone(), kind.clone()));
            }
        }
        self.timers.set(next_try, Alarm::Watch(cluster.clone(), kind));
        self.wake_lanes(cluster);
    }

    pub(super) fn wake_lanes(&mut self, cluster: &ClusterId) {
        let Some(shard) = self.shards.get(cluster) else { return };
        let lanes =
            shard.lanes.keys().map(|context| LaneId { cluster: cluster.clone(), context: context.clone() });
        self.ready.extend(lanes);
        self.wake_starved(cluster);
    }

    /// Wakes the lane whose turn it is of those that could not send all they wanted. Only one: planning all of them
    /// whenever there is room for a request would cost more than the requests. Whatever becomes of it, the next one is
    /// woken after it, until one has to wait again; what that one waits for wakes it.
    pub(super) fn wake_starved(&mut self, cluster: &ClusterId) {
        let cluster_max = self.options.cluster_requests_max;
        let Some(shard) = self.shards.get_mut(cluster).filter(|shard| shard.requests < cluster_max) else {
            return;
        };
        while let Some(context) = shard.starved.pop_front() {
            if let Some(lane) = shard.lanes.get_mut(&context).filter(|lane| lane.queued) {
                lane.queued = false;
                self.ready.insert(LaneId { cluster: cluster.clone(), context });
                return;
            }
        }
    }

    /// Puts a lane into the queue: behind the others when it was its turn, before them when it got nothing.
    pub(super) fn queue(&mut self, id: &LaneId, was_served: bool) {
        let Some(shard) = self.shards.get_mut(&id.cluster) else { return };
        let Some(lane) = shard.lanes.get_mut(&id.context).filter(|lane| !lane.queued) else { return };
        lane.queued = true;
        if was_served {
            shard.starved.push_back(id.context.clone());
        } else {
            shard.starved.push_front(id.context.clone());
        }
    }

    pub(super) fn wake_all(&mut self) {
        let clusters: Vec<ClusterId> = self.shards.keys().cloned().collect();
        for cluster in clusters {
            self.wake_lanes(&cluster);
        }
    }
}

/// An error with what lies below it, in one line.
pub(super) fn words(error: &cluster::Error) -> String {
    let mut text = error.to_string();
    let mut source = std::error::Error::source(error);
    while let Some(below) = source {
        text.push_str(": ");
        text.push_str(&below.to_string());
        source = below.source();
    }
    text
}
