//! Judging a simulation: what may never happen, looked at after each event, and what has to be in the end.

mod facts;
mod final_state;
mod invariants;

use std::fmt;
use std::sync::Arc;

use dcm_core::name::ClusterId;
use dcm_core::port::store::Write;
use jiff::Timestamp;

use super::events::{Deed, Event, Told};
use super::meddling::Meddled;
use super::world::World;
use crate::record::{Lane, path};
use facts::Facts;
pub(super) use final_state::{find_differences, find_right, is_quiet, recorded, rights};
pub use invariants::{INVARIANTS, Invariant};

/// Something that may never happen has happened.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Violation {
    /// The rule.
    pub invariant: &'static str,
    /// When.
    pub at: Timestamp,
    /// What happened.
    pub details: String,
}

impl fmt::Display for Violation {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} at {}: {}", self.invariant, self.at, self.details)
    }
}

/// Looks at all that happens.
pub(super) struct Judge {
    facts: Facts,
    pub(super) meddled: Meddled,
}

/// What an invariant may look at.
pub struct Scene<'a> {
    pub(super) facts: &'a Facts,
    pub(super) meddled: &'a Meddled,
    pub(super) world: &'a World<'a>,
}

impl Judge {
    pub(super) fn new() -> Self {
        Self { facts: Facts::default(), meddled: Meddled::default() }
    }

    /// Takes in what happened since the last time. The first violation ends a simulation: what comes after it means
    /// nothing.
    pub(super) fn look(
        &mut self,
        world: &World<'_>,
        told: &mut dyn FnMut(Told<'_>),
    ) -> Result<(), Violation> {
        for event in world.take_events() {
            told(Told::Event(world.now(), &event));
            self.hold(world, &event)?;
            self.note_late(world, &event);
            self.note_stopped(world, &event);
            self.note_recorded(world, &event);
            self.facts.take_in(&event, world.now());
        }
        Ok(())
    }

    /// True for an object that the engine made or wrote.
    pub(super) fn has_made(&self, cluster: &ClusterId, uid: &Arc<str>) -> bool {
        self.facts.object(cluster, uid).is_some()
    }

    /// True for an object that the engine made, and that is not adopted.
    pub(super) fn is_made(&self, cluster: &ClusterId, uid: &Arc<str>) -> bool {
        self.facts.object(cluster, uid).is_some_and(|known| known.is_made)
    }

    /// A cluster has lost what was written last.
    pub(super) fn note_loss(&mut self, cluster: &ClusterId, at: Timestamp) {
        self.facts.note_loss(cluster);
        self.meddled.note_loss(cluster, at);
    }

    /// What an earlier owner of a cluster deletes late is as if somebody else had done it.
    fn note_late(&mut self, world: &World<'_>, event: &Event) {
        let Event::Handled(handled) = event else { return };
        let Deed::Deleted { key, .. } = &handled.deed else { return };
        let scene = Scene { facts: &self.facts, meddled: &self.meddled, world };
        if invariants::is_late(&scene, handled) {
            self.meddled.note(&handled.cluster, key.clone(), world.now());
        }
    }

    /// What others do on a cluster that is paused can be known once it is resumed.
    fn note_stopped(&mut self, world: &World<'_>, event: &Event) {
        if let Event::Stored(Write::Update { path, .. }) = event
            && let Some(cluster) = path::cluster_of(path).filter(|cluster| self.facts.is_stopped(cluster))
        {
            self.meddled.note_hidden(&cluster, world.now());
        }
    }

    /// What a record names by its UID is ours if it was proved then.
    fn note_recorded(&mut self, world: &World<'_>, event: &Event) {
        let Event::Stored(Write::Create { path, document } | Write::Update { path, document, .. }) = event
        else {
            return;
        };
        let Some(cluster) = path::context_of_lane(path).and_then(|_| path::cluster_of(path)) else { return };
        let Ok(lane) = document.read::<Lane>() else { return };
        let uids = lane.objects.into_values().filter_map(|record| record.uid);
        let unknown: Vec<_> = uids.filter(|uid| !self.facts.is_ours(&cluster, uid)).collect();
        if unknown.is_empty() {
            return;
        }
        let Some(proofs) = world.proofs(&cluster) else { return };
        for object in world.objects(&cluster).into_iter().filter(|object| unknown.contains(&object.uid)) {
            if proofs.proves(&object.key, &object.body) {
                self.facts.note_proved(&cluster, object.uid);
            }
        }
    }

    fn hold(&self, world: &World<'_>, event: &Event) -> Result<(), Violation> {
        let scene = Scene { facts: &self.facts, meddled: &self.meddled, world };
        for invariant in INVARIANTS {
            (invariant.holds)(&scene, event).map_err(|details| Violation {
                invariant: invariant.name,
                at: world.now(),
                details,
            })?;
        }
        Ok(())
    }
}
