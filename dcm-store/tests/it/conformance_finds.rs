//! The suite finds what is wrong: a store with one fault fails the rule about it. A suite that passes everything would
//! tell nobody anything.
#![allow(clippy::unwrap_used)]
#![cfg(all(feature = "memory", feature = "conformance"))]

use std::collections::{BTreeMap, BTreeSet};
use std::panic::AssertUnwindSafe;
use std::sync::{Arc, Mutex};

use async_trait::async_trait;
use dcm_core::port::store::{
    BatchError, Capabilities, Change, Document, Entry, Error, Page, PageRequest, Path, Prefix, Store,
    StoreExt as _, Version, Watch, Write,
};
use dcm_store::conformance::{self, Subject};
use dcm_store::{MemoryStore, memory};
use futures::{FutureExt, StreamExt, future, stream};

/// What is wrong with the store.
#[derive(Debug, Clone, Copy, PartialEq)]
enum Fault {
    None,
    WritesBlindly,
    AppliesHalfABatch,
    CountsVersionsForEachDocument,
    TellsOnlyPuts,
    TellsEverythingBelowTheLetters,
    TellsLate,
    WatchesFromTheSecondChangeOn,
    ListsBelowTheLetters,
    RepeatsTheLastOfAPage,
    SaysNothingOfTheNextPage,
    HoldsSecretsUnasked,
    WritesWhatCanNotBeRead,
    PagesByPlace,
    TellsTheFirstHundred,
    GoesOnBehindALoss,
    ForgetsWhenItIsOpened,
    KeepsWhatItDoesNotDeclare,
    SharesWhatItDoesNotDeclare,
    HearsNothingOfOthers,
    HidesWhatIsThere,
    ForgetsTheFirstOfABatch,
    ForgetsWhenItIsAway,
    AsksAgain,
    SaysThatNothingHappened,
    EndsSilentlyWhenItIsAway,
    ListsNothingBesideWhatIsDamaged,
    PassesOverWhatIsDamaged,
    ForbidsWritesBesideWhatIsDamaged,
}

/// A handle on a store in memory, which outlives it: it is durable and shared by all its handles.
struct Faulty {
    inner: Arc<MemoryStore>,
    fault: Fault,
    /// Not the handle that was opened first.
    is_other: bool,
    /// How many documents lie up to where a page ended.
    places: Mutex<BTreeMap<Path, usize>>,
    /// What can't be read, whichever handle is asked.
    damaged: Arc<Mutex<BTreeSet<Path>>>,
}

impl Faulty {
    /// The write without its expectation.
    async fn blind(&self, write: &Write) -> Write {
        let found = self.inner.get(write.path()).await.unwrap().map(|entry| entry.version);
        match (write.clone(), found) {
            (Write::Create { path, document }, Some(version)) => Write::Update { path, version, document },
            (Write::Update { path, document, .. }, Some(version)) => {
                Write::Update { path, version, document }
            }
            (Write::Delete { path, .. }, Some(version)) => Write::Delete { path, version },
            (write, _) => write,
        }
    }

    /// A page that begins behind as many documents as there were up to the last one.
    async fn page_by_place(&self, prefix: &Prefix, page: &PageRequest) -> Result<Page, Error> {
        let all = self.inner.list(prefix, &PageRequest::default()).await?.entries;
        let place = page.after.as_ref().and_then(|after| self.places.lock().unwrap().get(after).copied());
        let (from, limit) = (place.unwrap_or(0), page.limit.unwrap_or(all.len()));
        let entries: Vec<Entry> = all.iter().skip(from).take(limit).cloned().collect();
        let to = from + entries.len();
        let next = entries.last().filter(|_| to < all.len()).map(|last| last.path.clone());
        self.places.lock().unwrap().extend(next.clone().map(|next| (next, to)));
        Ok(Page { entries, next })
    }

    /// The document as it is kept, which may be damaged.
    fn kept(&self, entry: Entry) -> Entry {
        if !self.damaged.lock().unwrap().contains(&entry.path) {
            return entry;
        }
        Entry { document: Document::unreadable(unreadable(&entry.path)), ..entry }
    }

    /// A page with what is damaged, as it is or as one that has the fault shows it.
    fn page_with_damage(&self, page: Page) -> Result<Page, Error> {
        let mut entries: Vec<Entry> = page.entries.into_iter().map(|entry| self.kept(entry)).collect();
        let damaged = entries.iter().find(|entry| entry.document.text().is_err());
        match (self.fault, damaged) {
            (Fault::ListsNothingBesideWhatIsDamaged, Some(damaged)) => return Err(unreadable(&damaged.path)),
            (Fault::PassesOverWhatIsDamaged, _) => entries.retain(|entry| entry.document.text().is_ok()),
            _ => {}
        }
        Ok(Page { entries, ..page })
    }

    /// A batch that had no answer.
    async fn unanswered(&self, batch: &[Write], failed: BatchError) -> Result<Vec<Version>, BatchError> {
        match self.fault {
            Fault::AsksAgain => self.inner.write(batch).await,
            Fault::SaysThatNothingHappened => {
                let path = batch[0].path().clone();
                Err(BatchError { applied: 0, source: Error::Conflict { path, found: None } })
            }
            _ => Err(failed),
        }
    }
}

fn unreadable(path: &Path) -> Error {
    Error::Failed { reason: format!("{path} can't be read"), source: None }
}

/// Everything whose text begins as the prefix without its last slash.
fn below_the_letters(prefix: &Prefix, path: &Path) -> bool {
    path.as_str().starts_with(prefix.as_str().trim_end_matches('/'))
}

#[async_trait]
impl Store for Faulty {
    fn capabilities(&self) -> Capabilities {
        Capabilities {
            holds_secrets: self.fault != Fault::HoldsSecretsUnasked,
            durable: !matches!(
                self.fault,
                Fault::KeepsWhatItDoesNotDeclare | Fault::SharesWhatItDoesNotDeclare
            ),
            shared: self.fault != Fault::SharesWhatItDoesNotDeclare,
            ..self.inner.capabilities()
        }
    }

    async fn get(&self, path: &Path) -> Result<Option<Entry>, Error> {
        Ok(self.inner.get(path).await?.map(|entry| self.kept(entry)))
    }

    async fn list(&self, prefix: &Prefix, page: &PageRequest) -> Result<Page, Error> {
        let mut found = match self.fault {
            Fault::ListsBelowTheLetters => self.inner.list(&Prefix::everything(), page).await?,
            Fault::PagesByPlace => self.page_by_place(prefix, page).await?,
            _ => self.inner.list(prefix, page).await?,
        };
        match self.fault {
            Fault::ListsBelowTheLetters => {
                found.entries.retain(|entry| below_the_letters(prefix, &entry.path));
            }
            Fault::RepeatsTheLastOfAPage if found.entries.len() > 1 => {
                found.next =
                    found.next.and(found.entries.iter().rev().nth(1).map(|entry| entry.path.clone()));
            }
            Fault::SaysNothingOfTheNextPage => found.next = None,
            _ => {}
        }
        self.page_with_damage(found)
    }

    async fn write(&self, batch: &[Write]) -> Result<Vec<Version>, BatchError> {
        let mut batch = batch.to_vec();
        if self.fault == Fault::WritesBlindly {
            for write in &mut batch {
                *write = self.blind(write).await;
            }
        }
        if self.fault == Fault::WritesWhatCanNotBeRead {
            for write in &mut batch {
                if let Write::Create { document, .. } | Write::Update { document, .. } = write {
                    *document = Document::from_stored(document.as_str());
                }
            }
        }
        let damaged = self.damaged.lock().unwrap().first().cloned();
        if let (Fault::ForbidsWritesBesideWhatIsDamaged, Some(damaged)) = (self.fault, damaged) {
            return Err(BatchError { applied: 0, source: unreadable(&damaged) });
        }
        if self.fault == Fault::AppliesHalfABatch && batch.len() > 2 {
            self.inner.write(&batch[..1]).await?;
            self.inner.write(&batch[1..]).await?;
        }
        if self.fault == Fault::ForgetsTheFirstOfABatch && batch.len() > 1 {
            let written = self.inner.write(&batch[1..]).await?;
            return Ok([Version(1)].into_iter().chain(written).collect());
        }
        let versions = match self.inner.write(&batch).await {
            Err(failed) if failed.source.is_retryable() => return self.unanswered(&batch, failed).await,
            Err(BatchError { applied, source: Error::Conflict { path, .. } })
                if self.fault == Fault::HidesWhatIsThere =>
            {
                return Err(BatchError { applied, source: Error::Conflict { path, found: None } });
            }
            written => written?,
        };
        for write in &batch {
            self.damaged.lock().unwrap().remove(write.path());
        }
        if self.fault == Fault::CountsVersionsForEachDocument {
            return Ok(vec![Version(1); versions.len()]);
        }
        Ok(versions)
    }

    async fn watch(&self, prefix: &Prefix) -> Result<Watch, Error> {
        let below = prefix.clone();
        let inner = self.inner.watch(prefix).await?;
        Ok(match self.fault {
            Fault::TellsOnlyPuts => inner.filter(|c| future::ready(matches!(c, Change::Put(_)))).boxed(),
            Fault::WatchesFromTheSecondChangeOn => inner.skip(1).boxed(),
            Fault::TellsTheFirstHundred => inner.take(100).chain(stream::pending()).boxed(),
            Fault::GoesOnBehindALoss => stream::iter([Change::Lost]).chain(inner).boxed(),
            Fault::HearsNothingOfOthers if self.is_other => stream::pending().boxed(),
            Fault::EndsSilentlyWhenItIsAway => inner.take(1).chain(stream::pending()).boxed(),
            Fault::TellsEverythingBelowTheLetters => {
                let all = self.inner.watch(&Prefix::everything()).await?;
                let told = move |change: &Change| match change {
                    Change::Put(Entry { path, .. }) | Change::Deleted(path) => {
                        below_the_letters(&below, path)
                    }
                    Change::Lost => true,
                };
                all.filter(move |change| future::ready(told(change))).boxed()
            }
            // Tells each change once more after the next one.
            Fault::TellsLate => {
                let twice = inner.scan(None, |earlier, change| {
                    let late: Option<Change> = earlier.replace(change.clone());
                    future::ready(Some(stream::iter(std::iter::once(change).chain(late))))
                });
                twice.flatten().boxed()
            }
            _ => inner,
        })
    }
}

fn subject(fault: Fault) -> Subject {
    let inner = Arc::new(MemoryStore::new());
    let damaged = Arc::<Mutex<BTreeSet<Path>>>::default();
    let damage = damaged.clone();
    let handle = move |inner: &Arc<MemoryStore>, is_other| -> Arc<dyn Store> {
        let (inner, damaged) = (inner.clone(), damaged.clone());
        Arc::new(Faulty { inner, fault, is_other, places: Mutex::default(), damaged })
    };
    let (opened, disturbed) = (inner.clone(), inner.clone());
    Subject::new(handle(&inner, false))
        .opened_by(async move || match fault {
            Fault::ForgetsWhenItIsOpened => handle(&Arc::new(MemoryStore::new()), true),
            _ => handle(&opened, true),
        })
        .disturbed_by(async move || {
            if fault == Fault::ForgetsWhenItIsAway {
                for Entry { path, version, .. } in disturbed.list_all(&Prefix::everything()).await.unwrap() {
                    disturbed.write_one(Write::Delete { path, version }).await.unwrap();
                }
            }
            disturbed.fail_after(1, memory::Fault::Unanswered);
        })
        .damaged_by(async move |path| {
            damage.lock().unwrap().insert(path);
        })
}

macro_rules! finds {
    ($($test:ident: $fault:ident breaks $rule:ident;)*) => {
        $(
            // The clock stands still and jumps when nothing is left to do: waiting in vain takes no time.
            #[tokio::test(start_paused = true)]
            async fn $test() {
                conformance::$rule(&subject(Fault::None)).await;
                let subject = subject(Fault::$fault);
                let held = AssertUnwindSafe(conformance::$rule(&subject)).catch_unwind().await;
                assert!(held.is_err(), "the rule misses the fault");
            }
        )*
    };
}

finds! {
    a_create_over_another: WritesBlindly breaks create_needs_that_there_is_none;
    a_blind_update: WritesBlindly breaks update_needs_the_version_that_it_names;
    a_blind_deletion: WritesBlindly breaks delete_needs_the_version_that_it_names;
    two_winners: WritesBlindly breaks compare_and_swap_has_one_winner_per_round;
    half_a_batch: AppliesHalfABatch breaks a_failed_batch_says_what_stays;
    a_version_twice: CountsVersionsForEachDocument breaks versions_grow_and_are_never_used_again;
    untold_deletions: TellsOnlyPuts breaks a_watch_sees_every_later_change;
    a_missed_first_change: WatchesFromTheSecondChangeOn breaks a_watch_sees_every_later_change;
    changes_beside_the_folder: TellsEverythingBelowTheLetters breaks a_watch_sees_its_own_folder_only;
    a_watch_that_goes_back: TellsLate breaks a_watch_never_goes_back_and_ends_at_the_truth;
    a_lossy_follower: WatchesFromTheSecondChangeOn breaks a_list_after_a_watch_loses_nothing;
    documents_beside_the_folder: ListsBelowTheLetters breaks a_prefix_holds_what_is_below_its_folder_only;
    a_document_on_two_pages: RepeatsTheLastOfAPage breaks lists_come_in_pages_without_gaps_or_repeats;
    a_page_that_says_it_is_the_last: SaysNothingOfTheNextPage breaks a_page_has_at_most_the_maximum;
    a_document_that_moved_to_another_page:
        PagesByPlace breaks a_list_neither_misses_nor_repeats_what_stays_while_others_write;
    a_loss_that_is_not_told: TellsTheFirstHundred breaks a_reader_who_falls_behind_is_told_all_or_that_it_lost;
    a_lost_watch_that_goes_on: GoesOnBehindALoss breaks a_reader_who_falls_behind_is_told_all_or_that_it_lost;
    a_store_that_begins_anew: ForgetsWhenItIsOpened breaks what_was_acknowledged_is_there_when_it_is_opened_again;
    undeclared_durability:
        KeepsWhatItDoesNotDeclare breaks what_was_acknowledged_is_there_when_it_is_opened_again;
    an_unshared_store: ForgetsWhenItIsOpened breaks another_handle_reads_and_watches_what_one_writes;
    a_process_that_hears_nothing: HearsNothingOfOthers breaks another_handle_reads_and_watches_what_one_writes;
    undeclared_sharing:
        SharesWhatItDoesNotDeclare breaks another_handle_reads_and_watches_what_one_writes;
    two_owners_of_a_lease: WritesBlindly breaks of_many_who_take_a_lease_one_has_it;
    a_loser_who_is_not_told: HidesWhatIsThere breaks of_many_who_take_a_lease_one_has_it;
    a_whole_with_a_hole: ForgetsTheFirstOfABatch breaks a_cut_list_of_batches_is_finished_by_the_next;
    a_backend_that_comes_back_empty:
        ForgetsWhenItIsAway breaks a_store_whose_backend_was_away_is_the_same_when_it_is_back;
    a_conflict_with_its_own_write:
        AsksAgain breaks a_write_without_an_answer_happened_or_not_and_can_be_told_by_reading;
    a_write_that_is_said_not_to_have_happened:
        SaysThatNothingHappened breaks a_write_without_an_answer_happened_or_not_and_can_be_told_by_reading;
    a_watch_that_falls_silent:
        EndsSilentlyWhenItIsAway breaks a_watch_whose_backend_was_away_tells_all_or_that_it_lost;
    a_secret_that_must_not_be_held: HoldsSecretsUnasked breaks clear_secrets_are_held_or_refused_by_capability;
    a_list_that_fails_as_a_whole:
        ListsNothingBesideWhatIsDamaged breaks a_damaged_document_hides_no_other_and_says_so;
    a_damaged_document_that_is_not_there:
        PassesOverWhatIsDamaged breaks a_damaged_document_hides_no_other_and_says_so;
    a_write_that_is_refused_for_another_one:
        ForbidsWritesBesideWhatIsDamaged breaks a_damaged_document_hides_no_other_and_says_so;
    a_content_that_stands_for_none: WritesWhatCanNotBeRead breaks a_content_that_can_not_be_read_is_refused;
}
