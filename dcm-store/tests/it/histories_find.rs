//! Histories find what is wrong: of a store with one fault that shows now and then, one of the first seeds fails by the rule about
//! it. And they find nothing where there is nothing: a store that is as bad as the contract allows passes.
#![allow(clippy::unwrap_used)]
#![cfg(all(feature = "memory", feature = "conformance"))]

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use async_trait::async_trait;
use dcm_core::port::store::{
    BatchError, Capabilities, Change, Entry, Error, Page, PageRequest, Path, Prefix, Store, StoreExt as _,
    Version, Watch, Write,
};
use dcm_store::MemoryStore;
use dcm_store::histories::{Backend, Play, Progress, Rule, Seeded, seeds};
use dcm_store::memory::MadeToFail;
use futures::{StreamExt as _, future, stream};

/// The seeds of which one has to find a fault.
const SEEDS: std::ops::Range<u64> = 0..20;

/// What is wrong with the store, now and then.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Fault {
    None,
    /// Answers are lost, and writes come late.
    LosesAnswers,
    LosesUpdates,
    GetsWhatWas,
    ListsWhatWas,
    PassesOverDocuments,
    UsesVersionsAgain,
    WritesWhatItRefuses,
    AppliesBatchesInTwo,
    LeavesTheBeginOfBatches,
    Miscounts,
    CountsWhatIsNotThere,
    TellsLate,
    TellsNotAll,
    FallsSilent,
    TellsOfDeletionsThatWereNone,
    /// At a crash.
    LosesTheLastWrite,
    FailsForGood,
    RepeatsPages,
}

/// How a store is made.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Batches {
    Atomic,
    NotAtomic,
}

struct Faulty {
    inner: Arc<MemoryStore>,
    fault: Fault,
    seeded: Arc<Mutex<Seeded>>,
    seen: Mutex<BTreeMap<Path, Entry>>,
    /// Held over the parts of a batch, so that nobody writes in between.
    writing: tokio::sync::Mutex<()>,
}

fn unavailable(applied: usize) -> BatchError {
    BatchError { applied, source: Error::Unavailable { source: Arc::new(MadeToFail) } }
}

fn below(seeded: &Mutex<Seeded>, bound: u64) -> u64 {
    seeded.lock().unwrap().below(bound)
}

/// Something takes its time.
async fn pause(seeded: &Mutex<Seeded>) {
    let pause = below(seeded, 3);
    tokio::time::sleep(Duration::from_millis(pause)).await;
}

/// Applies what is left of a batch later: none of it, all or, where it is not atomic, a part.
async fn apply_late(inner: Arc<MemoryStore>, batch: Vec<Write>, seeded: Arc<Mutex<Seeded>>) {
    let most = batch.len() as u64;
    let count =
        if inner.capabilities().atomic_batches { most * below(&seeded, 2) } else { below(&seeded, most + 1) };
    let batch = &batch[..usize::try_from(count).unwrap()];
    if inner.capabilities().atomic_batches {
        let late = below(&seeded, 40);
        tokio::time::sleep(Duration::from_millis(late)).await;
        let _ = inner.write(batch).await;
        return;
    }
    for write in batch {
        let late = below(&seeded, 40);
        tokio::time::sleep(Duration::from_millis(late)).await;
        if inner.write_one(write.clone()).await.is_err() {
            return;
        }
    }
}

impl Faulty {
    /// True now and then, when this is what is wrong.
    fn shows(&self, fault: Fault, once_in: u64) -> bool {
        self.fault == fault && below(&self.seeded, once_in) == 0
    }

    /// What there was when somebody looked last.
    fn earlier(&self, entry: &Entry) -> Option<Entry> {
        self.seen.lock().unwrap().insert(entry.path.clone(), entry.clone())
    }

    /// The write as if it expected what there is.
    async fn blind(&self, write: &Write) -> Write {
        let found = self.inner.get(write.path()).await.unwrap().map(|entry| entry.version);
        match (write.clone(), found) {
            (Write::Create { path, document } | Write::Update { path, document, .. }, Some(version)) => {
                Write::Update { path, version, document }
            }
            (write, _) => write,
        }
    }

    async fn apply(&self, batch: &[Write]) -> Result<Vec<Version>, BatchError> {
        let _writing = self.writing.lock().await;
        let written = match self.fault {
            Fault::AppliesBatchesInTwo | Fault::LeavesTheBeginOfBatches if batch.len() > 1 => {
                return self.apply_in_two(batch).await;
            }
            Fault::UsesVersionsAgain => return self.apply_with_halves(batch).await,
            _ => self.inner.write(batch).await,
        };
        let Err(BatchError { applied, source }) = written else { return written };
        let is_one = batch.len() == 1;
        if is_one && self.shows(Fault::LosesUpdates, 4) {
            return self.inner.write(&[self.blind(&batch[0]).await]).await;
        }
        if is_one && self.shows(Fault::WritesWhatItRefuses, 4) {
            let _ = self.inner.write(&[self.blind(&batch[0]).await]).await;
        }
        if applied > 0 && self.shows(Fault::Miscounts, 2) {
            return Err(BatchError { applied: applied - 1, source });
        }
        Err(BatchError { applied, source })
    }

    async fn apply_in_two(&self, batch: &[Write]) -> Result<Vec<Version>, BatchError> {
        let (first, rest) = batch.split_at(1);
        if self.fault == Fault::AppliesBatchesInTwo {
            // Those that fail, fail as a whole.
            for write in batch {
                let found = self.inner.get(write.path()).await.unwrap().map(|entry| entry.version);
                let expected = match write {
                    Write::Create { .. } => None,
                    Write::Update { version, .. } | Write::Delete { version, .. } => Some(*version),
                };
                if found != expected {
                    return self.inner.write(batch).await;
                }
            }
        }
        let mut versions = self.inner.write(first).await?;
        if self.fault == Fault::AppliesBatchesInTwo {
            tokio::time::sleep(Duration::from_millis(1)).await;
        }
        versions.extend(self.inner.write(rest).await?);
        Ok(versions)
    }

    /// Gives only half as many versions.
    async fn apply_with_halves(&self, batch: &[Write]) -> Result<Vec<Version>, BatchError> {
        let mut doubled = batch.to_vec();
        for write in &mut doubled {
            let found = self.inner.get(write.path()).await.unwrap().map(|entry| entry.version);
            if let Write::Update { version, .. } | Write::Delete { version, .. } = write {
                *version = found.filter(|found| halved(*found) == *version).unwrap_or(Version(u64::MAX));
            }
        }
        let written = self.inner.write(&doubled).await.map_err(|error| match error.source {
            Error::Conflict { path, found } => {
                let source = Error::Conflict { path, found: found.map(halved) };
                BatchError { source, ..error }
            }
            _ => error,
        })?;
        Ok(written.into_iter().map(halved).collect())
    }

    /// The entry as it is told.
    fn shown(&self, entry: Entry) -> Entry {
        let is_halved = self.fault == Fault::UsesVersionsAgain;
        let version = if is_halved { halved(entry.version) } else { entry.version };
        Entry { version, ..entry }
    }

    async fn crash(&self) {
        if self.fault == Fault::LosesTheLastWrite {
            let all = self.inner.list_all(&Prefix::everything()).await.unwrap();
            let last = all.into_iter().max_by_key(|entry| entry.version).unwrap();
            self.inner.write_one(Write::Delete { path: last.path, version: last.version }).await.unwrap();
        }
    }
}

fn halved(version: Version) -> Version {
    Version(version.0.div_ceil(2))
}

#[async_trait]
impl Store for Faulty {
    fn capabilities(&self) -> Capabilities {
        self.inner.capabilities()
    }

    async fn get(&self, path: &Path) -> Result<Option<Entry>, Error> {
        pause(&self.seeded).await;
        if self.shows(Fault::FailsForGood, 50) {
            return Err(Error::Failed { reason: "no".into(), source: None });
        }
        let found = self.inner.get(path).await?.map(|entry| self.shown(entry));
        let earlier = found.as_ref().and_then(|entry| self.earlier(entry));
        pause(&self.seeded).await;
        Ok(if self.shows(Fault::GetsWhatWas, 2) { earlier.or(found) } else { found })
    }

    async fn list(&self, prefix: &Prefix, page: &PageRequest) -> Result<Page, Error> {
        pause(&self.seeded).await;
        let mut page = self.inner.list(prefix, page).await?;
        for entry in &mut page.entries {
            *entry = self.shown(entry.clone());
            let earlier = self.earlier(entry);
            if let Some(earlier) = earlier
                && self.shows(Fault::ListsWhatWas, 2)
            {
                *entry = earlier;
            }
        }
        if self.shows(Fault::PassesOverDocuments, 4) && !page.entries.is_empty() {
            page.entries.remove(0);
        }
        if self.shows(Fault::RepeatsPages, 2) && page.entries.len() > 1 {
            page.next = page.next.and(Some(page.entries[0].path.clone()));
        }
        pause(&self.seeded).await;
        Ok(page)
    }

    async fn write(&self, batch: &[Write]) -> Result<Vec<Version>, BatchError> {
        pause(&self.seeded).await;
        if self.shows(Fault::LosesAnswers, 4) {
            tokio::spawn(apply_late(self.inner.clone(), batch.to_vec(), self.seeded.clone()));
            pause(&self.seeded).await;
            return Err(unavailable(0));
        }
        if batch.len() > 1 && self.shows(Fault::CountsWhatIsNotThere, 4) {
            return Err(unavailable(1));
        }
        let written = self.apply(batch).await;
        pause(&self.seeded).await;
        written
    }

    async fn watch(&self, prefix: &Prefix) -> Result<Watch, Error> {
        pause(&self.seeded).await;
        let inner = self.inner.watch(prefix).await?;
        pause(&self.seeded).await;
        let (fault, seeded) = (self.fault, self.seeded.clone());
        let now_and_then = move |which| fault == which && below(&seeded, 8) == 0;
        let is_halved = fault == Fault::UsesVersionsAgain;
        let shown = inner.map(move |change| match change {
            Change::Put(entry) if is_halved => Change::Put(Entry { version: halved(entry.version), ..entry }),
            change => change,
        });
        Ok(match self.fault {
            Fault::LosesAnswers => {
                shown.map(move |change| if now_and_then(fault) { Change::Lost } else { change }).boxed()
            }
            Fault::TellsNotAll => shown.filter(move |_| future::ready(!now_and_then(fault))).boxed(),
            Fault::FallsSilent => shown
                .then(move |change| {
                    let is_silent = now_and_then(fault);
                    async move { if is_silent { future::pending().await } else { change } }
                })
                .boxed(),
            Fault::TellsLate => {
                let twice = shown.scan(None, move |earlier: &mut Option<Change>, change| {
                    let late = earlier.replace(change.clone()).filter(|_| now_and_then(fault));
                    future::ready(Some(stream::iter(std::iter::once(change).chain(late))))
                });
                twice.flatten().boxed()
            }
            Fault::TellsOfDeletionsThatWereNone => {
                let with_more = shown.flat_map(move |change| {
                    let gone = match &change {
                        Change::Put(entry) if now_and_then(fault) => {
                            Some(Change::Deleted(entry.path.clone()))
                        }
                        _ => None,
                    };
                    stream::iter(gone.into_iter().chain([change]))
                });
                with_more.boxed()
            }
            _ => shown.boxed(),
        })
    }
}

struct Shared(Arc<Faulty>);

#[async_trait]
impl Backend for Shared {
    async fn open(&self) -> Arc<dyn Store> {
        self.0.clone()
    }

    async fn disturb(&self, mut progress: Progress, mut seeded: Seeded) {
        progress.reach(20 + usize::try_from(seeded.below(60)).unwrap()).await;
        self.0.crash().await;
    }
}

/// The rule that a seed breaks.
async fn broken(seed: u64, fault: Fault, batches: Batches) -> Option<Rule> {
    let inner = MemoryStore::builder().atomic_batches(batches == Batches::Atomic).build();
    let seeded = Arc::new(Mutex::new(Seeded::new(seed, 1 << 40)));
    let store =
        Faulty { inner: Arc::new(inner), fault, seeded, seen: Mutex::default(), writing: Default::default() };
    let played = Play::of(seed).run(Arc::new(Shared(Arc::new(store)))).await;
    let failure = played.err()?;
    let shown = failure.to_string();
    assert!(shown.starts_with(&format!("seed {seed}: rule {}", failure.violation.rule)), "{shown}");
    Some(failure.violation.rule)
}

macro_rules! finds {
    ($($test:ident: $fault:ident with $batches:ident batches breaks $rule:ident;)*) => {
        $(
            // The clock stands still and jumps when nothing is left to do: a run follows from its seed.
            #[tokio::test(start_paused = true)]
            async fn $test() {
                for seed in SEEDS {
                    if let Some(rule) = broken(seed, Fault::$fault, Batches::$batches).await {
                        assert_eq!(rule, Rule::$rule, "seed {seed}");
                        return;
                    }
                }
                panic!("no seed finds it");
            }
        )*
    };
}

finds! {
    a_lost_update: LosesUpdates with Atomic batches breaks Documents;
    an_old_document: GetsWhatWas with Atomic batches breaks Documents;
    an_old_document_in_a_list: ListsWhatWas with NotAtomic batches breaks Documents;
    a_document_that_a_list_misses: PassesOverDocuments with NotAtomic batches breaks Documents;
    a_version_used_again: UsesVersionsAgain with Atomic batches breaks Versions;
    a_refused_write_that_happened: WritesWhatItRefuses with Atomic batches breaks Written;
    a_batch_of_two_moments: AppliesBatchesInTwo with Atomic batches breaks Moments;
    a_refused_batch_of_which_some_stays: LeavesTheBeginOfBatches with Atomic batches breaks Batches;
    a_miscount_of_what_stays: Miscounts with NotAtomic batches breaks Batches;
    a_count_of_what_is_not_there: CountsWhatIsNotThere with NotAtomic batches breaks Batches;
    a_watch_that_goes_back: TellsLate with Atomic batches breaks WatchOrder;
    a_deletion_that_was_none: TellsOfDeletionsThatWereNone with Atomic batches breaks WatchOrder;
    a_watch_that_misses_a_last_change: TellsNotAll with Atomic batches breaks WatchTruth;
    a_watch_that_never_ends_at_the_truth: FallsSilent with Atomic batches breaks WatchTruth;
    an_acknowledged_write_that_a_crash_loses: LosesTheLastWrite with Atomic batches breaks Documents;
    a_failure_for_good: FailsForGood with Atomic batches breaks Answers;
    a_page_that_is_repeated: RepeatsPages with Atomic batches breaks Pages;
}

#[tokio::test(start_paused = true)]
async fn nothing_is_found_where_there_is_nothing() {
    for seed in seeds(50) {
        for (fault, batches) in [
            (Fault::None, Batches::Atomic),
            (Fault::None, Batches::NotAtomic),
            (Fault::LosesAnswers, Batches::Atomic),
            (Fault::LosesAnswers, Batches::NotAtomic),
        ] {
            assert_eq!(broken(seed, fault, batches).await, None, "seed {seed}, {fault:?}, {batches:?}");
        }
    }
}
