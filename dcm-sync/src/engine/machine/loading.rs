//! App contexts and lanes as they come from the store.

use std::collections::BTreeMap;
use std::sync::Arc;

use dcm_core::app_context::Bundle;
use dcm_core::hash::ContentHash;
use dcm_core::name::{ClusterId, ContextId};
use dcm_core::port::store::Version;

use super::lane::Lane;
use super::timers::Alarm;
use super::{Context, Machine};
use crate::contexts::{LoadError, Loaded};
use crate::engine::io::{Effect, LaneId};
use crate::engine::options::Acquire;
use crate::record;

impl Context {
    /// The bundle that a cluster is to hold.
    pub(super) fn bundle(&self, cluster: &ClusterId) -> Option<Arc<Bundle>> {
        self.bundles.get(&self.root.wanted(cluster)?).cloned()
    }

    pub(super) fn wanted(&self, cluster: &ClusterId) -> Option<ContentHash> {
        self.root.wanted(cluster)
    }
}

/// A context that is being read.
pub(super) struct Loading {
    /// It changed meanwhile, and is read again afterwards.
    changed: bool,
    /// How much had been heard of shards when it was begun.
    news: u64,
    /// In which session it was begun; 0: it waits for the first.
    session: u64,
}

impl Machine {
    pub(super) fn context_changed(&mut self, id: ContextId) {
        match self.loading.get_mut(&id) {
            Some(loading) => loading.changed = true,
            None => self.load_context(id),
        }
    }

    pub(super) fn load_context(&mut self, id: ContextId) {
        let (news, session) = (self.shard_news, self.session.number);
        self.loading.insert(id.clone(), Loading { changed: false, news, session });
        // Before all shards are known it could not be said whose lanes are read; before the first session is stored, a
        // pause might be missed.
        if session > 0 {
            self.effects.push(Effect::LoadContext(id));
        }
    }

    /// A session was stored: reads what was heard of before, and again what an earlier session read.
    pub(super) fn load_all(&mut self) {
        let (news, session) = (self.shard_news, self.session.number);
        for (id, loading) in &mut self.loading {
            if loading.session == 0 {
                (loading.news, loading.session) = (news, session);
                self.effects.push(Effect::LoadContext(id.clone()));
            } else {
                loading.changed = true;
            }
        }
        let read: Vec<ContextId> = self.contexts.keys().cloned().collect();
        read.into_iter().for_each(|id| self.context_changed(id));
    }

    pub(super) fn context_loaded(&mut self, id: ContextId, loaded: Result<Option<Loaded>, LoadError>) {
        let Some(Loading { changed, news, session }) = self.loading.remove(&id) else { return };
        match loaded {
            Ok(Some(loaded)) => self.adopt_context(&id, loaded, news, session),
            Ok(None) => self.drop_context(&id),
            Err(error) => {
                tracing::warn!(context = %id, error = &error as &dyn std::error::Error, "can't load an app context");
                // It counts as being read until it is: whoever doubts what is known of it waits.
                self.loading.insert(id.clone(), Loading { changed: false, news, session });
                return self.timers.set(self.now + self.options.retry_min, Alarm::Load(id));
            }
        }
        if changed {
            self.context_changed(id);
        }
    }

    fn adopt_context(&mut self, id: &ContextId, loaded: Loaded, news: u64, session: u64) {
        let Loaded { root, version, bundles, lanes } = loaded;
        if let Some(known) = self.contexts.get(id) {
            if known.version > version {
                return;
            }
            // It was forgotten and made anew: its lanes are none of those that are known.
            if known.root.begun != root.begun && !known.root.is_unused() {
                self.drop_context(id);
            }
        }
        let was_paused = self.contexts.get(id).is_some_and(|known| known.root.paused);
        if was_paused && !root.paused {
            self.restart_deadlines(id);
        }
        let doubted = self.contexts.get(id).and_then(|known| known.doubted);
        let now = self.now;
        let untouched = |cluster: &ClusterId| (cluster.clone(), (record::Lane::untouched(now), None));
        let mut all: BTreeMap<_, _> = root.concerned().map(untouched).collect();
        all.extend(lanes.into_iter().map(|(cluster, (record, version))| (cluster, (record, Some(version)))));
        let removal = root.removal();
        let before = self.contexts.insert(id.clone(), Context { root, version, bundles, doubted, session });
        for (cluster, (record, version)) in all {
            let lane = LaneId { cluster: cluster.clone(), context: id.clone() };
            self.add_lane(&lane, record, version, news);
            self.lane_mut(&lane).into_iter().for_each(Lane::encourage);
            if before.as_ref().is_some_and(|before| before.root.removal() != removal) {
                // A count may also be the removal of bindings.
                self.lane_mut(&lane).into_iter().for_each(|lane| lane.contents.clear());
            }
            self.forget_results(&lane);
            let attempt = before.as_ref().map(|before| before.root.attempt);
            self.look_where_asked(&lane, attempt);
            let before = before.as_ref().and_then(|before| before.bundle(&cluster));
            self.forget_uncompared(&lane, before.as_deref());
            self.read_unread(&cluster, id);
            self.list_cut(&cluster);
            self.open_watches(&cluster, Some(id));
            self.claim(&cluster);
            self.ready.insert(LaneId { cluster, context: id.clone() });
        }
        self.see_to_paused_context(id);
        self.bury_soon(id);
    }

    /// Adds a lane that is not known yet, as it was read. One that another worker may have written since is read again
    /// when the shard is ours.
    fn add_lane(&mut self, id: &LaneId, record: record::Lane, version: Option<Version>, news: u64) {
        let is_owned = self.shards.get(&id.cluster).is_some_and(|shard| self.owns(shard));
        let shard = self.shard_mut(&id.cluster);
        if shard.lanes.contains_key(&id.context) {
            return;
        }
        let is_old = shard.news > news;
        let mut lane = Lane::new(record, version);
        lane.read_under = if is_old { None } else { shard.free_fence() };
        shard.lanes.insert(id.context.clone(), Box::new(lane));
        self.note_holding(&id.cluster);
        if is_owned && is_old {
            self.reload_lane(id);
        }
    }

    /// A lane was read, or its context was: results that are gone with a forgotten context are asked for again.
    pub(super) fn forget_results(&mut self, id: &LaneId) {
        let root = self.contexts.get(&id.context).map(|context| &context.root);
        let lane = self.shards.get_mut(&id.cluster).and_then(|shard| shard.lanes.get_mut(&id.context));
        if let (Some(root), Some(lane)) = (root, lane) {
            lane.record.forget_results(root);
        }
    }

    fn drop_context(&mut self, id: &ContextId) {
        self.contexts.remove(id);
        let clusters = self.shards.iter().filter(|(_, shard)| shard.lanes.contains_key(id));
        let clusters: Vec<ClusterId> = clusters.map(|(cluster, _)| cluster.clone()).collect();
        for cluster in clusters {
            let Some(shard) = self.shards.get_mut(&cluster) else { continue };
            // What is seen of it stays known: should it be made anew, no watch would tell of that again.
            if let Some(mut lane) = shard.lanes.remove(id) {
                let under_way = lane.interrupt(|_| false);
                shard.requests = shard.requests.saturating_sub(under_way.len());
                under_way.iter().for_each(|ticket| drop(self.pending.remove(*ticket)));
                self.queue.answered(&cluster, shard);
            }
            self.note_holding(&cluster);
            self.release_if_idle(&cluster);
        }
    }

    pub(super) fn lane_mut(&mut self, id: &LaneId) -> Option<&mut Lane> {
        self.shards.get_mut(&id.cluster)?.lanes.get_mut(&id.context).map(Box::as_mut)
    }

    /// True when a lane is not where it is to be, or not tidied up.
    pub(super) fn has_work(&self, id: &LaneId) -> bool {
        let lane = self.shards.get(&id.cluster).and_then(|shard| shard.lanes.get(&id.context));
        let context = self.contexts.get(&id.context);
        match (lane, context) {
            (Some(lane), Some(context)) => {
                let (record, root) = (&lane.record, &context.root);
                let is_seen = record.is_seen_at(context.wanted(&id.cluster), root);
                let is_done = is_seen && !root.is_leaving(&id.cluster, record);
                let at_rest = is_done && !record.untidy;
                !context.root.paused && !at_rest
            }
            _ => false,
        }
    }

    /// True when this worker is to own a shard.
    pub(super) fn wants(&self, cluster: &ClusterId) -> bool {
        let Some(shard) = self.shards.get(cluster).filter(|_| self.stopping.is_none()) else { return false };
        match &self.options.acquire {
            Acquire::All => !shard.lanes.is_empty(),
            Acquire::PendingOf(contexts) => contexts
                .iter()
                .any(|context| self.has_work(&LaneId { cluster: cluster.clone(), context: context.clone() })),
        }
    }

    /// A shard that is not wanted any more, or goes to another worker, is given back when nothing is under way there.
    pub(super) fn release_if_idle(&mut self, cluster: &ClusterId) {
        let Some(shard) = self.shards.get(cluster) else { return };
        // What has been begun may have been done: it is finished.
        let is_kept = !shard.giving_back && self.wants(cluster) && !self.leaving.contains_key(cluster);
        // Once it is being given back no lane can be saved any more, and none is waited for. Whether lanes are being saved is
        // asked last, as it takes longest to answer.
        if !is_kept && shard.requests == 0 && (shard.giving_back || !shard.is_saving_lanes()) {
            self.give_back(cluster);
        }
    }
}
