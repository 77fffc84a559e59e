//! A simulated store with the contract of real ones: documents that outlive processes, behind a link with latency and
//! faults, in virtual time.

mod database;
mod watch;

use serde::{Deserialize, Serialize};
use std::collections::{BTreeMap, BTreeSet};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use async_trait::async_trait;
use dcm_core::port::clock::Clock;
use dcm_core::port::store::{
    BATCH_BYTES_MAX, BATCH_WRITES_MAX, BatchError, Capabilities, Entry, Error, PAGE_MAX, Page, PageRequest,
    Path, Prefix, Store, Version, Watch, Write,
};

use jiff::Timestamp;

use crate::sim::{Latency, Seeded, share};
use database::Database;

/// What goes wrong between a process and the store: chances in a thousand for each call.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields, default)]
pub struct StoreFaults {
    /// The call never arrives.
    pub lost_request: u16,
    /// It happens, and the caller hears that the store is not available.
    pub lost_reply: u16,
    /// A batch ends in the middle, where batches are not atomic; else as `lost_request`.
    pub cut_batch: u16,
    /// It arrives later by up to [`StoreFaults::delay_max`], even when the caller has died by then.
    pub delayed: u16,
    /// The longest delay.
    pub delay_max: Duration,
    /// A watch loses something, and says so, instead of telling a change.
    pub watch_lost: u16,
    /// The longest time by which watches are late.
    pub watch_lag_max: Duration,
}

/// How a simulated store behaves.
#[derive(Debug, Clone, Copy)]
pub struct StoreSettings {
    /// Whether a batch is applied as a whole or not at all.
    pub atomic_batches: bool,
    /// How far away it is.
    pub latency: Latency,
}

/// Hears of every write that is applied, in their order.
pub trait StoreWitness: Send + Sync + 'static {
    /// A write was applied.
    fn applied(&self, write: &Write);
}

/// A simulated store. A clone is the same store.
#[derive(Clone)]
pub struct SimStore {
    clock: Arc<dyn Clock>,
    settings: StoreSettings,
    state: Arc<Mutex<State>>,
}

pub(super) struct State {
    pub(super) database: Database,
    pub(super) faults: StoreFaults,
    /// Nobody reaches it.
    pub(super) is_down: bool,
    pub(super) random: Seeded,
    witness: Option<Arc<dyn StoreWitness>>,
    in_transit: BTreeMap<(Timestamp, u64), InTransit>,
    /// Answers to writes that are not taken yet.
    answers: BTreeMap<u64, Result<Vec<Version>, BatchError>>,
    sent: u64,
}

/// A batch on its way. Once it has left, it arrives, whatever becomes of its sender.
struct InTransit {
    batch: Vec<Write>,
    fault: Fault,
}

/// What one call meets.
struct Trip {
    there: Duration,
    back: Duration,
    fault: Fault,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Fault {
    None,
    LostRequest,
    LostReply,
    CutBatch,
    Delayed,
}

/// Why a call did not come through.
#[derive(Debug, Clone, Copy, thiserror::Error)]
#[error("simulated: {0}")]
struct Broken(&'static str);

fn unavailable(what: &'static str) -> Error {
    Error::Unavailable { source: Arc::new(Broken(what)) }
}

impl SimStore {
    /// An empty store.
    #[must_use]
    pub fn new(clock: Arc<dyn Clock>, settings: StoreSettings, seed: u64) -> Self {
        let state = State {
            database: Database::default(),
            faults: StoreFaults::default(),
            is_down: false,
            random: Seeded::new(seed),
            witness: None,
            in_transit: BTreeMap::new(),
            answers: BTreeMap::new(),
            sent: 0,
        };
        Self { clock, settings, state: Arc::new(Mutex::new(state)) }
    }

    /// Who hears of the writes.
    pub fn set_witness(&self, witness: Arc<dyn StoreWitness>) {
        self.lock().witness = Some(witness);
    }

    /// Sets the chances of faults.
    pub fn set_faults(&self, faults: StoreFaults) {
        self.lock().faults = faults;
    }

    /// Takes the store away from everybody, or gives it back. Watches are lost.
    pub fn set_down(&self, is_down: bool) {
        let mut state = self.lock();
        state.is_down = is_down;
        if is_down {
            state.database.lose_watches();
        }
    }

    /// All documents below a prefix, as they are now.
    #[must_use]
    pub fn documents(&self, prefix: &Prefix) -> Vec<Entry> {
        self.lock().database.below(prefix).collect()
    }

    /// No code of others but the witness runs under the lock, and that one does not panic half way.
    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn trip(&self) -> Result<Trip, Error> {
        let state = self.lock();
        if state.is_down {
            return Err(unavailable("the store is down"));
        }
        let (random, faults) = (&state.random, &state.faults);
        let table = [
            (faults.lost_request, Fault::LostRequest),
            (faults.lost_reply, Fault::LostReply),
            (faults.cut_batch, Fault::CutBatch),
            (faults.delayed, Fault::Delayed),
        ];
        let mut number = random.below(1000);
        let mut fault = Fault::None;
        for (chance, kind) in table {
            match number.checked_sub(u64::from(chance)) {
                Some(rest) => number = rest,
                None => {
                    fault = kind;
                    break;
                }
            }
        }
        let one_way = || self.settings.latency.one_way(random);
        let late = if fault == Fault::Delayed { share(faults.delay_max, random) } else { Duration::ZERO };
        Ok(Trip { there: one_way() + late, back: one_way(), fault })
    }

    async fn pause(&self, duration: Duration) {
        if !duration.is_zero() {
            self.clock.sleep(duration).await;
        }
    }

    /// Goes there, reads something, and comes back.
    async fn ask<T>(&self, read: impl FnOnce(&mut State) -> T) -> Result<T, Error> {
        let trip = self.trip()?;
        self.pause(trip.there).await;
        if trip.fault == Fault::LostRequest || self.lock().is_down {
            return Err(unavailable("the request was lost"));
        }
        self.advance();
        let answer = read(&mut self.lock());
        self.pause(trip.back).await;
        if trip.fault == Fault::LostReply || self.lock().is_down {
            return Err(unavailable("the answer was lost"));
        }
        Ok(answer)
    }

    /// Lets arrive what is due by now. Otherwise it arrives when somebody looks.
    pub fn advance(&self) {
        let now = self.clock.now();
        let mut state = self.lock();
        while let Some(entry) = state.in_transit.first_entry().filter(|entry| entry.key().0 <= now) {
            let ((at, number), transit) = entry.remove_entry();
            if !state.is_down {
                let answer = self.apply(&mut state, &transit, at);
                state.answers.insert(number, answer);
            }
        }
    }

    /// Sends a batch, and says when it arrives under which number.
    fn send(&self, batch: &[Write], trip: &Trip) -> u64 {
        let mut state = self.lock();
        state.sent += 1;
        let number = state.sent;
        let at = self.clock.now().checked_add(trip.there).unwrap_or(Timestamp::MAX);
        state.in_transit.insert((at, number), InTransit { batch: batch.to_vec(), fault: trip.fault });
        number
    }

    fn apply(
        &self,
        state: &mut State,
        transit: &InTransit,
        at: Timestamp,
    ) -> Result<Vec<Version>, BatchError> {
        let (batch, atomic) = (&transit.batch, self.settings.atomic_batches);
        let limit = match transit.fault {
            Fault::CutBatch if atomic => Some(0),
            Fault::CutBatch => usize::try_from(state.random.below(batch.len() as u64)).ok(),
            Fault::None | Fault::LostRequest | Fault::LostReply | Fault::Delayed => None,
        };
        let failed = |applied, source| BatchError { applied, source };
        if atomic {
            for write in batch {
                state.database.check(write).map_err(|error| failed(0, error))?;
            }
        }
        let mut versions = Vec::with_capacity(batch.len());
        for (applied, write) in batch.iter().enumerate() {
            if limit == Some(applied) {
                return Err(failed(applied, unavailable("the batch was cut off")));
            }
            state.database.check(write).map_err(|error| failed(applied, error))?;
            versions.push(state.database.apply(write, at));
            if let Some(witness) = &state.witness {
                witness.applied(write);
            }
        }
        Ok(versions)
    }
}

/// Checks the limits of the contract.
fn check_batch(batch: &[Write]) -> Result<(), Error> {
    let refuse = |reason: String| Err(Error::Invalid { reason });
    if batch.len() > BATCH_WRITES_MAX {
        return refuse(format!("a batch of {} writes", batch.len()));
    }
    let mut paths = BTreeSet::new();
    for write in batch {
        if !paths.insert(write.path()) {
            return refuse(format!("two writes of {} in one batch", write.path()));
        }
        if write.document().is_some_and(|document| document.text().is_err()) {
            return refuse(format!("{} is to become what can't be read", write.path()));
        }
    }
    if batch.iter().map(Write::bytes).sum::<usize>() > BATCH_BYTES_MAX {
        return refuse("the documents are too large".into());
    }
    Ok(())
}

#[async_trait]
impl Store for SimStore {
    fn capabilities(&self) -> Capabilities {
        Capabilities {
            atomic_batches: self.settings.atomic_batches,
            durable: true,
            shared: true,
            holds_secrets: true,
        }
    }

    async fn get(&self, path: &Path) -> Result<Option<Entry>, Error> {
        self.ask(|state| state.database.get(path)).await
    }

    async fn list(&self, prefix: &Prefix, page: &PageRequest) -> Result<Page, Error> {
        let limit = page.limit.unwrap_or(PAGE_MAX).min(PAGE_MAX);
        if limit == 0 {
            return Err(Error::Invalid { reason: "a page has at least one document".into() });
        }
        self.ask(|state| state.database.page(prefix, page.after.as_ref(), limit)).await
    }

    async fn write(&self, batch: &[Write]) -> Result<Vec<Version>, BatchError> {
        let whole = |source| BatchError { applied: 0, source };
        check_batch(batch).map_err(whole)?;
        let trip = self.trip().map_err(whole)?;
        if trip.fault == Fault::LostRequest {
            self.pause(trip.there).await;
            return Err(whole(unavailable("the request was lost")));
        }
        let number = self.send(batch, &trip);
        self.pause(trip.there).await;
        self.advance();
        let answer = self.lock().answers.remove(&number);
        self.pause(trip.back).await;
        match answer {
            Some(answer) if trip.fault != Fault::LostReply && !self.lock().is_down => answer,
            Some(_) | None => Err(whole(unavailable("the answer was lost"))),
        }
    }

    async fn watch(&self, prefix: &Prefix) -> Result<Watch, Error> {
        self.ask(|state| state.database.watch())
            .await
            .map(|start| watch::watch(self.clone(), prefix.clone(), start))
    }
}
