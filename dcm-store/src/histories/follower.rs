//! Follows a folder as the contract says: watch first, list then, and both again when the watch ends.

use std::sync::Arc;
use std::time::Duration;

use dcm_core::port::store::{PAGE_MAX, Path, Store};
use futures::StreamExt as _;

use super::history::{Client, Outcome, Request};
use super::recorder::{Caller, Recorder};
use super::seeded::Seeded;
use super::workload::below;

/// How long it waits before it asks again what did not answer.
const RETRY: Duration = Duration::from_millis(10);

/// Pages of its lists, which are of several pages mostly.
const LIMIT: usize = 3;

/// One that watches.
pub(super) struct Follower {
    caller: Caller,
    seeded: Seeded,
    folder: Path,
}

impl Follower {
    /// Every other one follows the inner folder alone.
    pub(super) fn new(
        store: Arc<dyn Store>,
        recorder: Recorder,
        client: Client,
        seed: u64,
        folder: &Path,
    ) -> Self {
        let folder = if client.0 % 2 == 1 { below(folder, "d") } else { folder.clone() };
        let seeded = Seeded::new(seed, u64::from(client.0));
        Self { caller: Caller::new(store, recorder, client), seeded, folder }
    }

    /// Follows until it is stopped from outside.
    pub(super) async fn run(mut self) {
        loop {
            if self.session().await.is_none() {
                tokio::time::sleep(RETRY).await;
            }
        }
    }

    /// One watch, to its end or until it has enough of it; none when there was no answer.
    async fn session(&mut self) -> Option<()> {
        let (call, mut watch) = self.caller.watch(&self.folder).await?;
        // A list that is not answered makes no difference: what is told is checked all the same.
        list_all(&mut self.caller, &self.folder, LIMIT).await;
        loop {
            let change = watch.next().await;
            if !self.caller.told(call, change) {
                return Some(());
            }
            if self.seeded.once_in(16) {
                self.caller.ended(call);
                return Some(());
            }
            if self.seeded.once_in(4) {
                // A slow reader is told of joined changes.
                tokio::time::sleep(Duration::from_millis(self.seeded.below(5))).await;
            }
        }
    }
}

/// Reads all pages of a list; false when one was not answered.
pub(super) async fn list_all(caller: &mut Caller, folder: &Path, limit: usize) -> bool {
    let mut after = None;
    loop {
        let request =
            Request::List { folder: folder.clone(), after: after.clone(), limit: limit.min(PAGE_MAX) };
        match caller.call(&request).await {
            // A page that goes on where it began would never end.
            Outcome::Listed { next: Some(next), .. } if after.as_ref() < Some(&next) => after = Some(next),
            Outcome::Listed { .. } => return true,
            _ => return false,
        }
    }
}
