//! People who want something: what a command does for them.

use std::collections::BTreeSet;
use std::pin::pin;
use std::sync::Arc;
use std::time::Duration;

use dcm_core::name::{ClusterId, ContextId};
use dcm_core::port::clock::Clock;
use dcm_core::port::cluster::ClusterUid;
use dcm_core::port::synchronizer::{Error, STOP_LIMIT, Synchronizer as _};
use dcm_core::status::{ContextStatus, Progress, Reason};
use futures::channel::oneshot;
use futures::future::{Either, select};

use super::api::{Client, Refused};
use super::events::{Events, Halt};
use super::wish::Wish;
use crate::contexts::Contexts;

/// How long people wait before they try again what failed in a way that may pass.
const TRY_AGAIN: Duration = Duration::from_secs(2);

/// How long people wait for what is to be forgotten.
const FORGOTTEN_WITHIN: Duration = Duration::from_secs(90);

/// How long a command takes at most.
const COMMAND_WITHIN: Duration = Duration::from_secs(60);

/// How often they try.
const TRIES: usize = 20;

/// How often somebody who waits for a wish asks again for what is stuck.
const NUDGES: usize = 5;

/// Somebody who wants something, with what they reach it through.
pub(super) struct Person {
    pub(super) client: Arc<dyn Client>,
    pub(super) contexts: Contexts,
    pub(super) clock: Arc<dyn Clock>,
    pub(super) events: Events,
}

impl Person {
    /// Asks for something, again while it fails in a way that may pass. What is refused is refused.
    async fn ask_with<F: Future<Output = Result<(), Refused>> + Send>(
        &self,
        once: impl Fn() -> F + Send + Sync,
    ) {
        for _ in 0..TRIES {
            match once().await {
                Err(refused) if refused.is_retryable => self.clock.sleep(TRY_AGAIN).await,
                Ok(()) | Err(_) => return,
            }
        }
    }

    /// Asks for something of the thing of a number.
    pub(super) async fn ask(&self, number: usize, wish: Wish) {
        self.ask_with(|| self.ask_once(number, wish)).await;
    }

    async fn ask_once(&self, number: usize, wish: Wish) -> Result<(), Refused> {
        if wish == Wish::Forget
            && let Some(id) = self.client.context(number).await?
        {
            self.wait_until_gone(&id).await?;
        }
        self.client.ask(number, wish).await?;
        if wish == Wish::Stop
            && let Some(id) = self.client.context(number).await?
        {
            self.events.halted(Halt::Context(id));
        }
        Ok(())
    }

    /// Waits until an app context is gone, but not for ever. What is not known may have been asked for half way.
    async fn wait_until_gone(&self, id: &ContextId) -> Result<(), Error> {
        match select(pin!(self.contexts.wait_until_done(id)), self.clock.sleep(FORGOTTEN_WITHIN)).await {
            Either::Left((Ok(_) | Err(Error::NotFound { .. }), _)) | Either::Right(_) => Ok(()),
            Either::Left((Err(error), _)) => Err(error),
        }
    }

    /// Asks for something, says which app context that is, and waits until it is done, but not for ever.
    pub(super) async fn command(
        &self,
        number: usize,
        wish: Wish,
        asked: oneshot::Sender<BTreeSet<ContextId>>,
    ) {
        self.ask(number, wish).await;
        let Ok(Some(id)) = self.client.context(number).await else { return };
        // Whoever works for him has ended where nobody listens.
        let _ = asked.send([id.clone()].into());
        let _ = select(pin!(self.contexts.wait_until_done(&id)), self.clock.sleep(COMMAND_WITHIN)).await;
    }

    /// Registers a cluster.
    pub(super) async fn register(&self, cluster: &ClusterId, uid: &ClusterUid) {
        self.ask_with(|| async { Ok(self.contexts.hold_identity(cluster, uid).await?) }).await;
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
        self.ask_with(|| async { Ok(self.contexts.resume_cluster(cluster).await?) }).await;
    }

    /// Asks for something and sees to it that it comes about: what is stuck is asked for again, and what is gone is
    /// forgotten.
    pub(super) async fn insist(&self, number: usize, wish: Wish) {
        for _ in 0..NUDGES {
            self.ask(number, Wish::Resume).await;
            self.ask(number, wish).await;
            let Ok(Some(id)) = self.client.context(number).await else { break };
            match self.contexts.wait_until_done(&id).await {
                Ok(status) if status.progress == Progress::Done && !is_stale(&status) => break,
                // A cluster that was given up counts as done, and may wait for another plan: the next one who asks makes it.
                Ok(status) if status.progress == Progress::Done => self.clock.sleep(TRY_AGAIN).await,
                // A cluster may know later changes than the store: they say whose state is true. Whether that was in the
                // way is seen by the next look.
                Ok(_) => drop(self.client.reconcile(number).await),
                Err(_) => self.clock.sleep(TRY_AGAIN).await,
            }
        }
        if matches!(wish, Wish::Remove { .. }) {
            self.ask(number, Wish::Forget).await;
        }
    }
}

/// True when a cluster waits for another plan.
fn is_stale(status: &ContextStatus) -> bool {
    let mut causes = status.lanes.values().filter_map(|lane| lane.cause.as_ref());
    causes.any(|cause| cause.reason == Reason::PlanStale)
}
