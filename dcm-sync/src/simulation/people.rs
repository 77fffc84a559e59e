//! People who want something of app contexts: what a command does for them.

use std::sync::Arc;
use std::time::Duration;

use dcm_core::port::clock::Clock;
use dcm_core::port::synchronizer::{Error, Removal, Synchronizer as _};
use dcm_core::status::Progress;

use super::wish::{Wish, context_id};
use crate::contexts::Contexts;

/// How long people wait before they try again what failed in a way that may pass.
const TRY_AGAIN: Duration = Duration::from_secs(2);

/// How often they try.
const TRIES: usize = 20;

/// How often somebody who waits for a wish asks again for what is stuck.
const NUDGES: usize = 5;

/// Asks for something, again while it fails in a way that may pass. What is refused is refused.
pub(super) async fn ask(
    contexts: &Contexts,
    clock: &Arc<dyn Clock>,
    number: usize,
    clusters: usize,
    wish: Wish,
) {
    for _ in 0..TRIES {
        match ask_once(contexts, number, clusters, wish).await {
            Err(error) if error.is_retryable() => clock.sleep(TRY_AGAIN).await,
            Ok(()) | Err(_) => return,
        }
    }
}

async fn ask_once(contexts: &Contexts, number: usize, clusters: usize, wish: Wish) -> Result<(), Error> {
    let id = context_id(number);
    match wish {
        Wish::Apply(variant) => contexts.apply(&variant.of(number, clusters)).await.map(drop),
        Wish::Remove { delete_contents } => {
            contexts.remove(&id, Removal { delete_contents, ..Removal::default() }).await.map(drop)
        }
        Wish::Stop => contexts.stop(&id).await,
        Wish::Resume => contexts.resume(&id).await,
        Wish::Forget => contexts.forget(&id).await,
    }
}

/// Asks for something and sees to it that it comes about: what is stuck is asked for again, and what is gone is
/// forgotten.
pub(super) async fn insist(
    contexts: &Contexts,
    clock: &Arc<dyn Clock>,
    number: usize,
    clusters: usize,
    wish: Wish,
) {
    let id = context_id(number);
    for _ in 0..NUDGES {
        ask(contexts, clock, number, clusters, Wish::Resume).await;
        ask(contexts, clock, number, clusters, wish).await;
        match contexts.wait_until_done(&id).await {
            Ok(status) if status.progress == Progress::Done => break,
            // A cluster may know later changes than the store: they say whose state is true. Whether that was in the way
            // is seen by the next look.
            Ok(_) => drop(contexts.reconcile(&id).await),
            Err(_) => clock.sleep(TRY_AGAIN).await,
        }
    }
    if matches!(wish, Wish::Remove { .. }) {
        ask(contexts, clock, number, clusters, Wish::Forget).await;
    }
}
