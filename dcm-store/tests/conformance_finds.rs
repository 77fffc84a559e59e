//! The suite finds what is wrong: a store with one fault fails the rule about it. A suite that passes everything would
//! tell nobody anything.
#![allow(clippy::unwrap_used)]
#![cfg(all(feature = "memory", feature = "conformance"))]

use std::panic::AssertUnwindSafe;
use std::sync::Arc;

use async_trait::async_trait;
use dcm_core::port::store::{
    BatchError, Capabilities, Change, Entry, Error, Page, PageRequest, Path, Prefix, Store, Version, Watch,
    Write,
};
use dcm_store::MemoryStore;
use dcm_store::conformance::{self, Subject};
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
}

struct Faulty {
    inner: MemoryStore,
    fault: Fault,
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
}

/// Everything whose text begins as the prefix without its last slash.
fn below_the_letters(prefix: &Prefix, path: &Path) -> bool {
    path.as_str().starts_with(prefix.as_str().trim_end_matches('/'))
}

#[async_trait]
impl Store for Faulty {
    fn capabilities(&self) -> Capabilities {
        Capabilities { holds_secrets: self.fault != Fault::HoldsSecretsUnasked, ..self.inner.capabilities() }
    }

    async fn get(&self, path: &Path) -> Result<Option<Entry>, Error> {
        self.inner.get(path).await
    }

    async fn list(&self, prefix: &Prefix, page: &PageRequest) -> Result<Page, Error> {
        let mut found = match self.fault {
            Fault::ListsBelowTheLetters => self.inner.list(&Prefix::everything(), page).await?,
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
        Ok(found)
    }

    async fn write(&self, batch: &[Write]) -> Result<Vec<Version>, BatchError> {
        let mut batch = batch.to_vec();
        if self.fault == Fault::WritesBlindly {
            for write in &mut batch {
                *write = self.blind(write).await;
            }
        }
        if self.fault == Fault::AppliesHalfABatch && batch.len() > 2 {
            self.inner.write(&batch[..1]).await?;
            self.inner.write(&batch[1..]).await?;
        }
        let versions = self.inner.write(&batch).await?;
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
    Subject::new(Arc::new(Faulty { inner: MemoryStore::new(), fault }))
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
    a_secret_that_must_not_be_held: HoldsSecretsUnasked breaks clear_secrets_are_held_or_refused_by_capability;
}
