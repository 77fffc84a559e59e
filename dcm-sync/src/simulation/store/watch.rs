//! A watch on a simulated store. It holds no queue: it reads the store's list of changes.

use std::future::poll_fn;
use std::pin::pin;
use std::time::Duration;

use dcm_core::port::store::{Change, Prefix, Watch};
use futures::future::{Either, select};
use futures::stream::{self, StreamExt as _};
use jiff::Timestamp;

use super::database::{Place, Sight};
use super::{SimStore, State};
use crate::sim::Seeded;

struct Watcher {
    store: SimStore,
    prefix: Prefix,
    place: Place,
    is_lost: bool,
}

/// What a watcher does next.
enum Look {
    Tell(Change),
    /// Look again when something stirs, or at this time.
    Later {
        stirred: u64,
        at: Option<Timestamp>,
    },
}

pub(super) fn watch(store: SimStore, prefix: Prefix, place: Place) -> Watch {
    let watcher = Watcher { store, prefix, place, is_lost: false };
    stream::unfold(watcher, |mut watcher| async move {
        let change = watcher.next().await?;
        Some((change, watcher))
    })
    .boxed()
}

impl Watcher {
    async fn next(&mut self) -> Option<Change> {
        if self.is_lost {
            return None;
        }
        loop {
            match self.look() {
                Look::Tell(change) => return Some(change),
                Look::Later { stirred, at: None } => self.stirring(stirred).await,
                Look::Later { stirred, at: Some(at) } => {
                    let wait = at.duration_since(self.store.clock.now());
                    let sleep = self.store.clock.sleep(Duration::try_from(wait).unwrap_or_default());
                    // A later change of the same path may come meanwhile, or the end.
                    let (Either::Left(_) | Either::Right(_)) =
                        select(pin!(self.stirring(stirred)), sleep).await;
                }
            }
        }
    }

    fn look(&mut self) -> Look {
        let now = self.store.clock.now();
        let state = self.store.lock();
        let later = |at| Look::Later { stirred: state.database.stirred(), at };
        match state.database.look(&mut self.place, &self.prefix) {
            Sight::Lost => {
                self.is_lost = true;
                Look::Tell(Change::Lost)
            }
            Sight::Nothing => later(None),
            Sight::Changed(at, change) => match told(&state, &self.store, at) {
                told if told > now => later(Some(told)),
                _ if state.random.below(1000) < u64::from(state.faults.watch_lost) => {
                    self.is_lost = true;
                    Look::Tell(Change::Lost)
                }
                _ => {
                    self.place.pass();
                    Look::Tell(change)
                }
            },
        }
    }

    /// Waits until something has stirred since.
    async fn stirring(&self, stirred: u64) {
        poll_fn(|context| self.store.lock().database.poll_stirred(stirred, context)).await;
    }
}

/// When a watch tells of a change that happened at a time.
fn told(state: &State, store: &SimStore, at: Timestamp) -> Timestamp {
    let micros = u64::try_from(state.faults.watch_lag_max.as_micros()).unwrap_or(u64::MAX);
    let seed = u64::try_from(at.as_microsecond()).unwrap_or_default();
    let lag = Duration::from_micros(Seeded::new(seed).below(micros.saturating_add(1)));
    at.checked_add(store.settings.latency.max / 2 + lag).unwrap_or(Timestamp::MAX)
}
