//! People who want something of app contexts: what a command does for them.

use std::pin::pin;
use std::sync::Arc;
use std::time::Duration;

use dcm_core::name::{ClusterId, ContextId};
use dcm_core::port::clock::Clock;
use dcm_core::port::synchronizer::{Error, Removal, STOP_LIMIT, Synchronizer as _};
use dcm_core::status::Progress;
use futures::future::{Either, select};

use super::events::{Events, Halt};
use super::wish::{Wish, context_id};
use crate::contexts::Contexts;

/// How long people wait before they try again what failed in a way that may pass.
const TRY_AGAIN: Duration = Duration::from_secs(2);

/// How long people wait for what is to be forgotten.
const FORGOTTEN_WITHIN: Duration = Duration::from_secs(90);

/// How often they try.
const TRIES: usize = 20;

/// How often somebody who waits for a wish asks again for what is stuck.
const NUDGES: usize = 5;

/// Somebody who wants something, with what they reach it through.
pub(super) struct Person {
    pub(super) contexts: Contexts,
    pub(super) clock: Arc<dyn Clock>,
    pub(super) events: Events,
    /// How many clusters there are.
    pub(super) clusters: usize,
}

impl Person {
    /// Asks for something, again while it fails in a way that may pass. What is refused is refused.
    async fn ask_with<F: Future<Output = Result<(), Error>> + Send>(
        &self,
        once: impl Fn() -> F + Send + Sync,
    ) {
        for _ in 0..TRIES {
            match once().await {
                Err(error) if error.is_retryable() => self.clock.sleep(TRY_AGAIN).await,
                Ok(()) | Err(_) => return,
            }
        }
    }

    /// Asks for something of an app context.
    pub(super) async fn ask(&self, context: usize, wish: Wish) {
        self.ask_with(|| self.ask_once(context, wish)).await;
    }

    async fn ask_once(&self, number: usize, wish: Wish) -> Result<(), Error> {
        let (contexts, id) = (&self.contexts, context_id(number));
        match wish {
            Wish::Apply(variant) => contexts.apply(&variant.of(number, self.clusters)).await.map(drop),
            Wish::Remove { delete_contents, deadline } => {
                let removal = Removal { delete_contents, deadline_seconds: deadline, objects: None };
                contexts.remove(&id, removal).await.map(drop)
            }
            Wish::Stop => {
                contexts.stop(&id, STOP_LIMIT).await?;
                self.events.halted(Halt::Context(id));
                Ok(())
            }
            Wish::Resume => contexts.resume(&id).await,
            Wish::Forget => self.forget(&id).await,
        }
    }

    /// Drops what is known of an app context, as soon as it is gone.
    async fn forget(&self, id: &ContextId) -> Result<(), Error> {
        let gone = self.contexts.wait_until_done(id);
        match select(pin!(gone), self.clock.sleep(FORGOTTEN_WITHIN)).await {
            // What is not known may have been asked for half way.
            Either::Left((Ok(_) | Err(Error::NotFound { .. }), _)) | Either::Right(_) => {
                self.contexts.forget(id).await
            }
            Either::Left((Err(error), _)) => Err(error),
        }
    }

    /// Pauses the work on a cluster.
    pub(super) async fn stop_cluster(&self, cluster: &ClusterId) {
        let stop = || async {
            self.contexts.stop_cluster(cluster, STOP_LIMIT).await?;
            self.events.halted(Halt::Cluster(cluster.clone()));
            Ok(())
        };
        self.ask_with(stop).await;
    }

    /// Goes on with the work on a cluster.
    pub(super) async fn resume_cluster(&self, cluster: &ClusterId) {
        self.ask_with(|| self.contexts.resume_cluster(cluster)).await;
    }

    /// Asks for something and sees to it that it comes about: what is stuck is asked for again, and what is gone is
    /// forgotten.
    pub(super) async fn insist(&self, context: usize, wish: Wish) {
        let id = context_id(context);
        for _ in 0..NUDGES {
            self.ask(context, Wish::Resume).await;
            self.ask(context, wish).await;
            match self.contexts.wait_until_done(&id).await {
                Ok(status) if status.progress == Progress::Done => break,
                // A cluster may know later changes than the store: they say whose state is true. Whether that was in the
                // way is seen by the next look.
                Ok(_) => drop(self.contexts.reconcile(&id).await),
                Err(_) => self.clock.sleep(TRY_AGAIN).await,
            }
        }
        if matches!(wish, Wish::Remove { .. }) {
            self.ask(context, Wish::Forget).await;
        }
    }
}
