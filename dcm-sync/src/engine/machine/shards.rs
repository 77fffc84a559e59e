//! Taking, reaching, losing and giving back shards.

use std::time::Duration;

use dcm_core::causes;
use dcm_core::name::ClusterId;
use dcm_core::port::clock::Random as _;
use dcm_core::port::cluster::{self, Fence};
use dcm_core::port::store::{self, Version};
use dcm_core::status::Cause;
use jiff::SignedDuration;

use super::Machine;
use super::session::Life;
use super::shard::{Left, Link, Shard};
use super::sharing::FREE_LIMIT;
use super::steps::reason_of;
use super::storing::Reading;
use super::timers::Alarm;
use super::unread::Unread;
use crate::engine::Safeguard;
use crate::engine::bucket::Bucket;
use crate::engine::event::What;
use crate::engine::io::{Effect, Epoch, Identified, LaneId};
use crate::record::{self, SCHEMA};

/// Whole milliseconds, and not less than the time.
fn millis_up(time: SignedDuration) -> u64 {
    u64::try_from(time.as_millis()).unwrap_or(0) + 1
}

impl Machine {
    pub(super) fn shard_mut(&mut self, cluster: &ClusterId) -> &mut Shard {
        let (options, now) = (&self.options, self.now);
        self.shards.entry(cluster.clone()).or_insert_with(|| {
            let bucket = Bucket::new(options.writes_per_second, options.writes_burst, now);
            Box::new(Shard::new(bucket))
        })
    }

    /// True when the shard's record, as it was read last, says that it is ours. Nobody can have taken it while our session is valid,
    /// unless we have begun to give it back ([`Shard::giving_back`]).
    pub(super) fn owns(&self, shard: &Shard) -> bool {
        let recorded = shard.record.as_ref().and_then(|(record, _)| record.owner.as_ref());
        recorded == Some(&self.session.worker)
    }

    pub(super) fn fence(shard: &Shard) -> Fence {
        shard.record.as_ref().map(|(record, _)| record.fence).unwrap_or_default()
    }

    pub(super) fn claim_all(&mut self) {
        for cluster in self.in_own_order(self.shards.keys().cloned().collect()) {
            self.claim(&cluster);
        }
    }

    /// Another try after a while, whatever is known of the record: to take the shard, to say what it is, or to give it back.
    pub(super) fn claim_again(&mut self, cluster: &ClusterId) {
        self.shard_mut(cluster).write_failed = false;
        self.claim(cluster);
        self.note_identity(cluster);
        self.see_to_paused_cluster(cluster);
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
        let left = match (&record.owner, std::mem::take(&mut record.unanswered_ms)) {
            (Some(_), _) => Left::Dead,
            (None, 0) => Left::Answered,
            (None, unanswered) => Left::Unanswered(Duration::from_millis(unanswered)),
        };
        if !self.may_take(cluster) {
            return;
        }
        record.schema = SCHEMA;
        record.owner = Some(self.session.worker.clone());
        record.fence = Fence(record.fence.0 + 1);
        self.leaving.remove(cluster);
        self.shard_mut(cluster).left = left;
        self.save_shard(cluster, record);
    }

    /// True when this worker has less than its share of the clusters, or nobody else takes this one, which is free.
    fn may_take(&mut self, cluster: &ClusterId) -> bool {
        let is_beyond = self.has_its_share();
        let (now, lease) = (self.now, self.options.lease);
        let shard = self.shard_mut(cluster);
        let waits_until = *shard.free_since.get_or_insert(now) + FREE_LIMIT;
        if !is_beyond {
            return true;
        }
        if now < waits_until {
            self.timers.set(waits_until, Alarm::Claim(cluster.clone()));
            return false;
        }
        shard.kept_until = now + lease;
        true
    }

    pub(super) fn save_shard(&mut self, cluster: &ClusterId, record: record::Shard) {
        let Some(shard) = self.shards.get_mut(cluster) else { return };
        shard.saving = Some(Box::new(record.clone()));
        let version = shard.record.as_ref().map(|(_, version)| *version);
        self.note_held(cluster);
        self.effects.push(Effect::SaveShard { cluster: cluster.clone(), record, version });
    }

    pub(super) fn shard_saved(&mut self, cluster: &ClusterId, saved: &Result<Version, store::Error>) {
        let owned_before = self.shards.get(cluster).is_some_and(|shard| self.owns(shard));
        let Some(shard) = self.shards.get_mut(cluster) else { return };
        let Some(record) = shard.saving.take().map(|record| *record) else { return };
        match saved {
            &Ok(version) => {
                shard.giving_back = false;
                let newer = shard.record.as_ref().is_none_or(|(_, known)| *known < version);
                if newer {
                    shard.record = Some((record, version));
                    self.note_news(cluster);
                }
                // It may have been reached before we heard that it is ours.
                self.note_identity(cluster);
            }
            // Somebody else changed the record, or it could not be written, or nobody knows: what it is now comes by the
            // watch.
            Err(_) => {
                shard.write_failed = true;
                self.timers.set(self.now + self.options.retry_min, Alarm::Claim(cluster.clone()));
            }
        }
        self.ownership_changed(cluster, owned_before);
        self.see_to_paused_cluster(cluster);
    }

    pub(super) fn shard_changed(&mut self, cluster: &ClusterId, record: Option<(record::Shard, Version)>) {
        let owned_before = self.shards.get(cluster).is_some_and(|shard| self.owns(shard));
        let shard = self.shard_mut(cluster);
        let was_paused = shard.is_paused();
        let newer = match (&record, &shard.record) {
            (Some((_, version)), Some((_, known))) => version > known,
            _ => true,
        };
        if newer {
            let is_another = shard.stands_for_another(record.as_ref().map(|(record, _)| record));
            let is_given_up = shard.is_given_up(record.as_ref().map(|(record, _)| record));
            shard.record = record;
            shard.write_failed = false;
            let stays = std::mem::take(&mut shard.giving_back);
            if is_given_up {
                // The cluster may be registered under another name, and is that one's then.
                self.disconnect(cluster, Link::Down);
            }
            self.note_news(cluster);
            self.ownership_changed(cluster, owned_before);
            if is_another {
                self.begin_anew(cluster);
            }
            if stays {
                self.wake_lanes(cluster);
            }
            if self.shard_mut(cluster).is_paused() != was_paused {
                self.pause_changed(cluster);
            }
            self.see_to_paused_cluster(cluster);
        }
    }

    fn note_news(&mut self, cluster: &ClusterId) {
        self.shard_news += 1;
        let news = self.shard_news;
        let shard = self.shard_mut(cluster);
        shard.news = news;
        shard.free_since = None;
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
        self.note_holding(cluster);
    }

    fn acquired(&mut self, cluster: &ClusterId) {
        self.publish(cluster, None, What::Acquired);
        let (now, limit) = (self.now, self.options.late_request_limit);
        let reads_again = self.options.keeps(Safeguard::RecordsReadAgain);
        let shard = self.shard_mut(cluster);
        shard.acquired = now;
        let until = shard.late_until(limit);
        if shard.is_inherited() {
            shard.lanes.values_mut().for_each(|lane| lane.inherit(now, until));
        }
        if shard.left == Left::Dead {
            self.publish(cluster, None, What::TakenOver);
        }
        let shard = self.shard_mut(cluster);
        // Whoever takes a shard raises its fence by one: nobody else did since these were read.
        let before = Self::fence(shard).0.checked_sub(1).map(Fence);
        let mut stale = Vec::new();
        for (context, lane) in &mut shard.lanes {
            if lane.read_under != before && reads_again {
                lane.reading.outdate();
            }
            if lane.reading == Reading::Stale {
                stale.push(context.clone());
            }
        }
        for context in stale {
            self.reload_lane(&LaneId { cluster: cluster.clone(), context });
        }
        if self.shard_mut(cluster).is_inherited() && reads_again {
            self.timers.set(until, Alarm::Reread(cluster.clone()));
        }
        self.connect(cluster);
        // The deadline of a removal counts from now, also where the cluster never answers.
        self.wake_lanes(cluster);
    }

    /// Reads the records once more that this worker has not written since it took a shard from one that gave no sign of
    /// life: what that one had sent to the store may have come late, and nothing else would tell of it.
    pub(super) fn read_late_records(&mut self, cluster: &ClusterId) {
        let Some(shard) = self.shards.get(cluster).filter(|shard| self.owns(shard) && shard.is_inherited())
        else {
            return;
        };
        // It was taken once more since the alarm was set.
        let until = shard.late_until(self.options.late_request_limit);
        if until > self.now {
            return self.timers.set(until, Alarm::Reread(cluster.clone()));
        }
        let fence = Self::fence(shard);
        let lanes = shard.lanes.iter().filter(|(_, lane)| lane.record.fence != fence);
        let lanes: Vec<_> = lanes.map(|(context, _)| context.clone()).collect();
        for context in lanes {
            let id = LaneId { cluster: cluster.clone(), context };
            self.lane_mut(&id).into_iter().for_each(|lane| lane.reading.outdate());
            self.reload_lane(&id);
        }
    }

    fn lost(&mut self, cluster: &ClusterId) {
        self.disconnect(cluster, Link::Down);
        self.publish(cluster, None, What::Lost);
        // Another worker writes these lanes from now on.
        for lane in self.shard_mut(cluster).lanes.values_mut() {
            lane.reading.outdate();
        }
        self.claim(cluster);
    }

    /// Goes on with a new session: what the old one owned is another's now.
    pub(super) fn lose_all(&mut self) {
        let owned =
            self.held.iter().filter(|cluster| self.shards.get(cluster).is_some_and(|shard| self.owns(shard)));
        let owned: Vec<ClusterId> = owned.cloned().collect();
        let random = self.jitter.next();
        let former = self.session.worker.clone();
        self.session.begin_anew(random);
        self.ask_about(&former);
        for cluster in owned {
            self.note_held(&cluster);
            self.lost(&cluster);
        }
    }

    /// Gives a shard back that this worker does not need any more.
    pub(super) fn give_back(&mut self, cluster: &ClusterId) {
        let Some(shard) = self.shards.get(cluster) else { return };
        let is_writable = shard.saving.is_none() && !shard.write_failed;
        // What has been begun is finished, whatever is still to be tidied up: nothing is until it is known whose the cluster is.
        let waits = !shard.giving_back && self.is_tidying_up(cluster, shard);
        if !self.owns(shard) || !is_writable || waits {
            return;
        }
        let Some((record, _)) = &shard.record else { return };
        let unanswered = shard.lanes.values().filter_map(|lane| lane.unanswered_until(self.now)).max();
        let unanswered_ms = unanswered.map_or(0, |until| millis_up(until.duration_since(self.now)));
        let record = record::Shard { owner: None, unanswered_ms, ..record.clone() };
        self.shard_mut(cluster).giving_back = true;
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
        let is_open = matches!(shard.link, Link::Up | Link::Connecting(_));
        if !self.owns(shard) || is_open || shard.is_paused() {
            return;
        }
        let now = self.now;
        let shard = self.shard_mut(cluster);
        shard.link = Link::Connecting(now);
        shard.epoch = Epoch(shard.epoch.0 + 1);
        self.open(cluster, None);
    }

    pub(super) fn connected(
        &mut self,
        cluster: &ClusterId,
        epoch: Epoch,
        connected: Result<Identified, cluster::Error>,
    ) {
        if !self.is_current(cluster, epoch) {
            return;
        }
        match connected {
            Ok(identified) => self.identified(cluster, identified),
            Err(error) => self.break_link(cluster, &error.of_identity()),
        }
    }

    /// A cluster failed as a whole: all its lanes wait, and one connection is tried again after a while.
    pub(super) fn break_link(&mut self, cluster: &ClusterId, error: &cluster::Error) {
        let next_try = self.next_connect(cluster);
        let cause = Cause { next_try: Some(next_try), ..Cause::new(reason_of(error), error.sentence()) };
        self.break_until(cluster, cause.detailed(causes::told(error)), next_try);
    }

    pub(super) fn break_until(&mut self, cluster: &ClusterId, cause: Cause, next_try: jiff::Timestamp) {
        self.disconnect(cluster, Link::Broken(Box::new(cause.clone())));
        self.timers.set(next_try, Alarm::Connect(cluster.clone()));
        self.publish(cluster, None, What::Hindered(cause));
        self.wake_lanes(cluster);
    }

    /// Drops a connection with everything that was under way on it.
    pub(super) fn disconnect(&mut self, cluster: &ClusterId, link: Link) {
        if !matches!(link, Link::Broken(_)) {
            self.searched.remove(cluster);
        }
        let shard = self.shard_mut(cluster);
        shard.link = link;
        shard.epoch = Epoch(shard.epoch.0 + 1);
        shard.watches.clear();
        shard.objects.clear();
        shard.unread = Unread::default();
        shard.requests = 0;
        shard.gone.clear();
        shard.openings = 0;
        shard.connection_waits = false;
        shard.starved.clear();
        let (mut under_way, pending) = (Vec::new(), &self.pending);
        let lanes = self.shards.get_mut(cluster).map(|shard| shard.lanes.values_mut());
        for lane in lanes.into_iter().flatten() {
            under_way.extend(lane.interrupt(|ticket| pending.is_token(ticket)));
        }
        for ticket in under_way {
            if let Some(pending) = self.pending.remove(ticket) {
                self.uncertain(&pending.lane, &pending.step, pending.generation);
            }
        }
        self.leave_queue(cluster);
        self.effects.push(Effect::Disconnect(cluster.clone()));
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
