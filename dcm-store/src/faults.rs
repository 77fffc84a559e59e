//! A store that fails on purpose, for tests of whoever uses one: the same seed and the same calls fail the same way.
//!
//! Every failure is one that the contract allows: a call that was not made, one that was made and whose answer is lost, the first
//! part of a batch (where batches are not atomic), a watch that ends as lost.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use async_trait::async_trait;
use dcm_core::port::clock::Seeded;
use dcm_core::port::store::{
    BatchError, Capabilities, Change, Entry, Error, Page, PageRequest, Path, Prefix, Store, Version, Watch,
    Write,
};
use futures::{StreamExt, future, stream};

/// How often what fails, in a thousand.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Faults {
    /// Calls that are not made.
    pub unsent: u16,
    /// Calls that are made, and whose answer is lost.
    pub unanswered: u16,
    /// Batches of a store without atomic batches of which only the first part is made. The answer is lost.
    pub cut_off: u16,
    /// Changes in whose place a watch ends as lost.
    pub lost: u16,
}

impl Faults {
    /// Something fails all the time, and most does not.
    pub const SOME: Self = Self { unsent: 20, unanswered: 20, cut_off: 20, lost: 20 };
}

/// What happens to a call.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Fate {
    Answered,
    Unsent,
    Unanswered,
    CutOff,
}

#[derive(Debug, thiserror::Error)]
#[error("{0}, on purpose")]
struct OnPurpose(&'static str);

/// A store that fails on purpose.
pub struct FaultyStore<S: ?Sized> {
    faults: Faults,
    random: Arc<Seeded>,
    is_healed: Arc<AtomicBool>,
    inner: Arc<S>,
}

impl<S: Store + ?Sized> FaultyStore<S> {
    /// Fails as often as said, by a seed.
    #[must_use]
    pub fn new(inner: Arc<S>, seed: u64, faults: Faults) -> Self {
        Self { faults, random: Arc::new(Seeded::new(seed)), is_healed: Arc::default(), inner }
    }

    /// Nothing fails from now on.
    pub fn heal(&self) {
        self.is_healed.store(true, Ordering::Relaxed);
    }

    fn fate(&self) -> Fate {
        let Faults { unsent, unanswered, cut_off, .. } = self.faults;
        if self.is_healed.load(Ordering::Relaxed) {
            return Fate::Answered;
        }
        match draw(&self.random) {
            drawn if drawn < unsent => Fate::Unsent,
            drawn if drawn < unsent + unanswered => Fate::Unanswered,
            drawn if drawn < unsent + unanswered + cut_off => Fate::CutOff,
            _ => Fate::Answered,
        }
    }

    async fn read<T>(&self, call: impl Future<Output = Result<T, Error>>) -> Result<T, Error> {
        match self.fate() {
            Fate::Unsent => Err(unavailable("the call was not made")),
            Fate::Unanswered => Err(unavailable("the answer was lost")),
            Fate::CutOff | Fate::Answered => call.await,
        }
    }

    /// How much of a batch is made, at least one write and not all.
    fn part<'b>(&self, batch: &'b [Write]) -> Option<&'b [Write]> {
        let most = batch.len().checked_sub(1).filter(|most| *most > 0)?;
        batch.get(..=usize::try_from(self.random.below(most as u64)).ok()?)
    }
}

/// A number below a thousand.
fn draw(random: &Seeded) -> u16 {
    u16::try_from(random.below(1000)).unwrap_or(u16::MAX)
}

fn unavailable(what: &'static str) -> Error {
    Error::Unavailable { source: Arc::new(OnPurpose(what)) }
}

#[async_trait]
impl<S: Store + ?Sized> Store for FaultyStore<S> {
    fn capabilities(&self) -> Capabilities {
        self.inner.capabilities()
    }

    async fn get(&self, path: &Path) -> Result<Option<Entry>, Error> {
        self.read(self.inner.get(path)).await
    }

    async fn list(&self, prefix: &Prefix, page: &PageRequest) -> Result<Page, Error> {
        self.read(self.inner.list(prefix, page)).await
    }

    async fn write(&self, batch: &[Write]) -> Result<Vec<Version>, BatchError> {
        let lost = |what| BatchError { applied: 0, source: unavailable(what) };
        match self.fate() {
            Fate::Answered => self.inner.write(batch).await,
            Fate::Unsent => Err(lost("the call was not made")),
            Fate::Unanswered => {
                let _ = self.inner.write(batch).await;
                Err(lost("the answer was lost"))
            }
            Fate::CutOff if self.capabilities().atomic_batches => self.inner.write(batch).await,
            Fate::CutOff => match self.part(batch) {
                None => self.inner.write(batch).await,
                Some(part) => {
                    let _ = self.inner.write(part).await;
                    Err(lost("the rest of the batch and the answer were lost"))
                }
            },
        }
    }

    async fn watch(&self, prefix: &Prefix) -> Result<Watch, Error> {
        let watch = self.read(self.inner.watch(prefix)).await?;
        let (lost, random, is_healed) = (self.faults.lost, self.random.clone(), self.is_healed.clone());
        let faulty = watch.map(move |change| {
            let is_lost = !is_healed.load(Ordering::Relaxed) && draw(&random) < lost;
            if is_lost { Change::Lost } else { change }
        });
        // Nothing comes behind the loss.
        let ended = faulty.flat_map(|change| {
            let last = (change == Change::Lost).then_some(None);
            stream::iter([Some(change)].into_iter().chain(last))
        });
        Ok(ended.take_while(|change| future::ready(change.is_some())).filter_map(future::ready).boxed())
    }
}
