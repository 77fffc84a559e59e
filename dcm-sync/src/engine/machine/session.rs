//! The worker's session, and the sessions of other workers.
//!
//! A session lives as long as its record changes. Who sees a record unchanged for the length of a lease deletes it by
//! compare-and-swap: from then on its worker has no right to any shard, and learns so from its next renewal. Only
//! time that one worker measured by itself counts, so clocks need not agree.

use std::collections::BTreeMap;

use dcm_core::port::store::{self, Version};
use jiff::Timestamp;

use super::Machine;
use super::timers::Alarm;
use crate::engine::io::Effect;
use crate::engine::options::Acquire;
use crate::record::{SCHEMA, Worker, WorkerId};

/// A session is renewed this many times in the length of a lease, so that one lost renewal does no harm.
const RENEWALS_PER_LEASE: u32 = 3;

pub(super) struct Session {
    pub(super) worker: WorkerId,
    version: Option<Version>,
    beat: u64,
    saving: bool,
    sent: Timestamp,
    /// Until when our shards are ours for sure.
    valid_until: Timestamp,
    peers: BTreeMap<WorkerId, Peer>,
}

struct Peer {
    version: Version,
    changed: Timestamp,
}

impl Session {
    pub(super) fn new(random: u64) -> Self {
        Self {
            worker: WorkerId::from_random(random),
            version: None,
            beat: 0,
            saving: false,
            sent: Timestamp::MIN,
            valid_until: Timestamp::MIN,
            peers: BTreeMap::new(),
        }
    }

    pub(super) fn is_alive(&self, worker: &WorkerId) -> bool {
        *worker == self.worker || self.peers.contains_key(worker)
    }
}

impl Machine {
    /// True while nobody else can have taken our shards.
    pub(super) fn session_is_valid(&self) -> bool {
        self.now < self.session.valid_until
    }

    pub(super) fn renew_session(&mut self) {
        if self.session.saving || self.stopped {
            return;
        }
        self.session.saving = true;
        self.session.sent = self.now;
        self.session.beat += 1;
        let serves = self.options.acquire == Acquire::All;
        let record = Worker { schema: SCHEMA, beat: self.session.beat, at: self.now, serves };
        let worker = self.session.worker.clone();
        self.effects.push(Effect::SaveSession { worker, record, version: self.session.version });
    }

    pub(super) fn session_saved(&mut self, saved: &Result<Version, store::Error>) {
        self.session.saving = false;
        let renewal = self.options.lease / RENEWALS_PER_LEASE;
        match saved {
            &Ok(version) => {
                let was_valid = self.session_is_valid();
                self.session.version = Some(version);
                self.session.valid_until = self.session.sent + self.options.lease;
                self.timers.set(self.session.sent + renewal, Alarm::Session);
                if !was_valid {
                    self.claim_all();
                    self.wake_all();
                }
            }
            Err(store::Error::Conflict { .. }) => {
                // Somebody saw no sign of life and ended this session.
                let peers = std::mem::take(&mut self.session.peers);
                let next = Session { peers, ..Session::new(self.jitter.next()) };
                self.lose_all(next);
                self.renew_session();
            }
            Err(_) => self.timers.set(self.now + renewal, Alarm::Session),
        }
    }

    pub(super) fn worker_changed(&mut self, worker: WorkerId, version: Option<Version>) {
        if worker == self.session.worker {
            return;
        }
        match version {
            Some(version) => {
                let known = self.session.peers.get(&worker).map(|peer| peer.version);
                if known != Some(version) {
                    let peer = Peer { version, changed: self.now };
                    self.session.peers.insert(worker.clone(), peer);
                    self.timers.set(self.now + self.options.lease, Alarm::Peer(worker));
                }
            }
            None => {
                self.session.peers.remove(&worker);
                self.claim_all();
            }
        }
    }

    pub(super) fn check_peer(&mut self, worker: &WorkerId) {
        let Some(peer) = self.session.peers.get(worker) else { return };
        let end = peer.changed + self.options.lease;
        if self.now < end {
            return self.timers.set(end, Alarm::Peer(worker.clone()));
        }
        let version = peer.version;
        self.effects.push(Effect::DeleteSession { worker: worker.clone(), version });
        // If the deletion is lost on the way, it is tried again; if it conflicts, the worker has come back.
        self.timers.set(self.now + self.options.lease, Alarm::Peer(worker.clone()));
    }

    /// Ends the session when nothing is under way and every shard is given back.
    pub(super) fn stop_when_idle(&mut self) {
        let under_way = !self.pending.is_empty() || !self.held.is_empty() || self.session.saving;
        if self.stopping.is_none() || self.stopped || under_way {
            return;
        }
        self.stopped = true;
        if let Some(version) = self.session.version {
            self.effects.push(Effect::DeleteSession { worker: self.session.worker.clone(), version });
        }
        self.effects.push(Effect::Stopped);
    }
}
