//! The worker's session, and the sessions of other workers.
//!
//! A session lives as long as its record changes. Who sees a record unchanged for the length of a lease deletes it by
//! compare-and-swap: from then on its worker has no right to any shard, and learns so from its next renewal. Only
//! time that one worker measured by itself counts, so clocks need not agree.
//!
//! A session that is not known is not one that has ended: watches may be late. Who is named as an owner and not known
//! is looked up before anything is taken from them.

use std::collections::{BTreeMap, BTreeSet};
use std::time::Duration;

use dcm_core::name::ContextId;
use dcm_core::port::store::{self, Version};
use jiff::Timestamp;

use super::Machine;
use super::timers::Alarm;
use crate::engine::Safeguard;
use crate::engine::io::{Effect, Sign};
use crate::engine::options::{Acquire, LEASE_MAX};
use crate::record::{SCHEMA, Worker, WorkerId};

/// A session is renewed this many times in the length of a lease, so that one lost renewal does no harm.
const RENEWALS_PER_LEASE: u32 = 3;

/// How long a worker tells that nothing is under way of a paused app context: longer than anybody waits for it.
const QUIET_TOLD: Duration = Duration::from_secs(120);

pub(super) struct Session {
    pub(super) worker: WorkerId,
    version: Option<Version>,
    beat: u64,
    saving: bool,
    sent: Timestamp,
    /// Until when our shards are ours for sure.
    valid_until: Timestamp,
    peers: BTreeMap<WorkerId, Peer>,
    /// Workers whose sessions have ended: for ever, as nobody's name is used again.
    ended: BTreeSet<WorkerId>,
    /// Workers who are being looked up.
    asked: BTreeSet<WorkerId>,
    /// Sessions of our own that have ended, as far as their records may still be there.
    former: BTreeSet<WorkerId>,
    /// How many sessions were stored so far, this one included.
    pub(super) number: u64,
    /// Paused contexts of which nothing is under way, with the version that was read, and since when.
    quiet: BTreeMap<ContextId, (Version, Timestamp)>,
    /// There is something to tell that the record under way does not tell.
    untold: bool,
}

/// What is known of a worker.
pub(super) enum Life {
    /// Its session goes on, as far as is known.
    Alive,
    /// Its session has ended.
    Ended,
    /// Nothing was heard of its session.
    Unknown,
}

struct Peer {
    sign: Sign,
    changed: Timestamp,
}

impl Peer {
    /// When its session has ended, should it give no sign of life.
    fn end(&self, own_lease: Duration) -> Timestamp {
        self.changed + self.sign.lease.unwrap_or(own_lease).min(LEASE_MAX)
    }
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
            ended: BTreeSet::new(),
            asked: BTreeSet::new(),
            former: BTreeSet::new(),
            number: 0,
            quiet: BTreeMap::new(),
            untold: false,
        }
    }

    /// Begins another session, as this one has ended. What is known of others stays.
    pub(super) fn begin_anew(&mut self, random: u64) {
        let Self { worker, peers, ended, asked, former, number, .. } =
            std::mem::replace(self, Self::new(random));
        (self.peers, self.ended, self.asked, self.number) = (peers, ended, asked, number);
        self.former = former;
        self.former.insert(worker.clone());
        self.ended.insert(worker);
    }

    /// Nothing is under way of a paused context that has this version.
    pub(super) fn tell_quiet(&mut self, context: &ContextId, version: Version, now: Timestamp) {
        self.quiet.insert(context.clone(), (version, now));
        self.untold = true;
    }

    /// The other workers that take every cluster.
    pub(super) fn serving(&self) -> impl Iterator<Item = &WorkerId> {
        self.peers.iter().filter(|(_, peer)| peer.sign.serves).map(|(worker, _)| worker)
    }

    pub(super) fn life_of(&self, worker: &WorkerId) -> Life {
        if *worker == self.worker || self.peers.contains_key(worker) {
            Life::Alive
        } else if self.ended.contains(worker) {
            Life::Ended
        } else {
            Life::Unknown
        }
    }
}

impl Machine {
    /// True while nobody else can have taken our shards.
    pub(super) fn session_is_valid(&self) -> bool {
        self.now < self.session.valid_until || !self.options.keeps(Safeguard::SessionKept)
    }

    pub(super) fn renew_session(&mut self) {
        if self.session.saving || self.stopped {
            return;
        }
        let now = self.now;
        let session = &mut self.session;
        session.saving = true;
        session.untold = false;
        session.sent = now;
        session.beat += 1;
        session.quiet.retain(|_, (_, since)| now < *since + QUIET_TOLD);
        let record = Worker {
            schema: SCHEMA,
            beat: session.beat,
            at: now,
            serves: self.options.acquire == Acquire::All && self.stopping.is_none(),
            lease_ms: u64::try_from(self.options.lease.as_millis()).unwrap_or(u64::MAX),
            quiet: session.quiet.iter().map(|(context, (version, _))| (context.clone(), version.0)).collect(),
        };
        let worker = session.worker.clone();
        self.effects.push(Effect::SaveSession { worker, record, version: session.version });
    }

    pub(super) fn session_saved(&mut self, saved: &Result<Version, store::Error>) {
        self.session.saving = false;
        let renewal = self.options.lease / RENEWALS_PER_LEASE;
        match saved {
            &Ok(version) => {
                let was_valid = self.session_is_valid();
                let is_new = self.session.version.replace(version).is_none();
                self.session.valid_until = self.session.sent + self.options.lease;
                self.timers.set(self.session.sent + renewal, Alarm::Session);
                if is_new {
                    self.session.number += 1;
                    self.load_all();
                }
                if !was_valid {
                    self.claim_all();
                    self.wake_all();
                }
            }
            // Others only delete it: an earlier renewal had no answer, and took place.
            &Err(store::Error::Conflict { found: Some(version), .. }) if self.session.version.is_some() => {
                self.session.version = Some(version);
                self.renew_session();
            }
            Err(store::Error::Conflict { .. }) => {
                // Somebody saw no sign of life and ended this session.
                self.lose_all();
                self.renew_session();
            }
            Err(error) => {
                tracing::error!(
                    error = error as &dyn std::error::Error,
                    "can't renew the worker's session; without one it does nothing"
                );
                self.timers.set(self.now + renewal, Alarm::Session);
            }
        }
        if self.session.untold && saved.is_ok() {
            self.renew_session();
        }
    }

    pub(super) fn worker_changed(&mut self, worker: WorkerId, sign: Option<Sign>) {
        if worker == self.session.worker {
            return;
        }
        match sign {
            Some(sign) => {
                let known = self.session.peers.get(&worker).map(|peer| peer.sign);
                if known != Some(sign) {
                    self.holdings.changed |= known.is_none_or(|known| known.serves != sign.serves);
                    let peer = Peer { sign, changed: self.now };
                    self.timers.set(peer.end(self.options.lease), Alarm::Peer(worker.clone()));
                    self.session.peers.insert(worker, peer);
                }
            }
            None => {
                self.holdings.changed |= self.session.peers.remove(&worker).is_some();
                // Whom no shard names any more nobody asks about.
                let shards = self.shards.values().filter_map(|shard| shard.record.as_ref());
                let owners: BTreeSet<_> = shards.filter_map(|(record, _)| record.owner.as_ref()).collect();
                self.session.ended.retain(|ended| owners.contains(ended));
                self.session.ended.insert(worker);
                self.claim_all();
            }
        }
    }

    /// Looks up the session of somebody who is named as an owner, or a former one of our own.
    pub(super) fn ask_about(&mut self, worker: &WorkerId) {
        let is_open =
            self.session.former.contains(worker) || matches!(self.session.life_of(worker), Life::Unknown);
        if is_open && self.session.asked.insert(worker.clone()) {
            self.effects.push(Effect::LoadSession(worker.clone()));
        }
    }

    pub(super) fn session_loaded(&mut self, worker: WorkerId, loaded: &Result<Option<Sign>, store::Error>) {
        self.session.asked.remove(&worker);
        if self.session.former.contains(&worker) {
            return self.end_former(worker, loaded);
        }
        // What the watch has told meanwhile is as good.
        if !matches!(self.session.life_of(&worker), Life::Unknown) {
            return;
        }
        match loaded {
            Ok(sign) => self.worker_changed(worker, *sign),
            Err(_) => self.timers.set(self.now + self.options.retry_min, Alarm::Owner(worker)),
        }
    }

    /// A renewal whose answer was lost leaves a record behind that nobody renews any more: who began it deletes it.
    fn end_former(&mut self, worker: WorkerId, loaded: &Result<Option<Sign>, store::Error>) {
        match loaded {
            Ok(None) => drop(self.session.former.remove(&worker)),
            Ok(Some(Sign { version, .. })) => {
                let version = *version;
                self.effects.push(Effect::DeleteSession { worker: worker.clone(), version });
                self.timers.set(self.now + self.options.retry_min, Alarm::Owner(worker));
            }
            Err(_) => self.timers.set(self.now + self.options.retry_min, Alarm::Owner(worker)),
        }
    }

    pub(super) fn check_peer(&mut self, worker: &WorkerId) {
        let Some(peer) = self.session.peers.get(worker) else { return };
        let end = peer.end(self.options.lease);
        if self.now < end {
            return self.timers.set(end, Alarm::Peer(worker.clone()));
        }
        let version = peer.sign.version;
        self.effects.push(Effect::DeleteSession { worker: worker.clone(), version });
        // If the deletion is lost on the way, it is tried again; if it conflicts, the worker has come back.
        self.timers.set(self.now + self.options.lease, Alarm::Peer(worker.clone()));
    }

    /// Tells that this worker takes nothing any more, so that others take what it gives back at once.
    pub(super) fn tell_stopping(&mut self) {
        if self.session.version.is_some() || self.session.saving {
            self.session.untold = true;
        }
        if self.session.version.is_some() {
            self.renew_session();
        }
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
