//! Work that stands still: of an app context, or on a cluster. Who asked for it is told when nothing is under way.
//!
//! An app context may have lanes with several workers. Each tells in its session that it has seen the pause and has no
//! request under way; and a worker reads every context after its session was stored. So whoever has stored a pause
//! knows from the sessions that are there then whom to wait for. A cluster has one owner, who tells it in the shard's
//! record; the next owner has to change that record, and so knows of the pause.

use dcm_core::name::{ClusterId, ContextId};
use dcm_core::status::{Cause, Reason};

use super::Machine;
use super::shard::{Link, Shard};
use crate::engine::Safeguard;
use crate::engine::io::{Effect, LaneId, Scope};
use crate::record::{self, Pause};

impl Machine {
    /// True while nothing may be asked of a cluster for a lane.
    pub(super) fn is_paused(&self, id: &LaneId) -> bool {
        let context = self.contexts.get(&id.context);
        let is_stopped = context.is_some_and(|context| context.root.paused);
        let is_on_stopped = self.shards.get(&id.cluster).is_some_and(|shard| shard.is_paused());
        (is_stopped || is_on_stopped) && self.options.keeps(Safeguard::PauseKept)
    }

    /// A context was read: if somebody waits until every worker has done so, that is told when nothing is under way for it.
    pub(super) fn see_to_paused_context(&mut self, id: &ContextId) {
        if self.contexts.get(id).is_some_and(|context| context.root.waits_for_workers()) {
            self.effects.push(Effect::AwaitQuiet(Scope::Context(id.clone())));
        }
    }

    /// A shard's record changed, or could not be changed: if it is paused, that is told when nothing is under way there.
    pub(super) fn see_to_paused_cluster(&mut self, cluster: &ClusterId) {
        let Some(shard) = self.shards.get(cluster).filter(|shard| self.owns(shard)) else { return };
        if shard.pause() == Some(Pause::Asked) && shard.saving.is_none() && !shard.write_failed {
            self.effects.push(Effect::AwaitQuiet(Scope::Cluster(cluster.clone())));
        }
    }

    /// The pause of a cluster that is ours began or ended: its lanes tell it, or go on.
    pub(super) fn pause_changed(&mut self, cluster: &ClusterId) {
        if !self.shards.get(cluster).is_some_and(|shard| self.owns(shard)) {
            return;
        }
        self.connect(cluster);
        self.wait_again(cluster);
        self.open_watches(cluster, None);
        self.wake_lanes(cluster);
    }

    /// Nothing is under way any more.
    pub(super) fn quiet(&mut self, scope: &Scope) {
        match scope {
            Scope::Context(id) => {
                if let Some(context) =
                    self.contexts.get(id).filter(|context| context.root.waits_for_workers())
                {
                    self.session.tell_quiet(id, context.version, self.now);
                    self.renew_session();
                }
            }
            Scope::Cluster(cluster) => self.cluster_quiet(cluster),
        }
    }

    fn cluster_quiet(&mut self, cluster: &ClusterId) {
        let Some(shard) = self.shards.get(cluster).filter(|shard| self.owns(shard)) else { return };
        let Some((record, _)) = &shard.record else { return };
        if shard.pause() != Some(Pause::Asked) || shard.saving.is_some() || shard.write_failed {
            return;
        }
        let record = record::Shard { pause: Some(Pause::Quiet), ..record.clone() };
        // A watch is a request that goes on.
        self.disconnect(cluster, Link::Down);
        self.save_shard(cluster, record);
    }
}

impl Shard {
    pub(super) fn pause(&self) -> Option<Pause> {
        self.record.as_ref()?.0.pause
    }

    pub(super) fn is_paused(&self) -> bool {
        self.pause().is_some()
    }
}

/// What a lane waits for whose cluster is paused.
pub(super) fn stopped_cluster() -> Cause {
    let message = "the work on this cluster is paused until it is resumed";
    Cause::new(Reason::Paused, message)
}
