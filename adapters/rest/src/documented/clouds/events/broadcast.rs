//! One task for each cloud that is followed, for all who follow it.
//!
//! It puts the status together and writes what changes of it; those who follow only pass on its last event. So the cost of a change does not
//! depend on how many follow, and a slow follower gets the newest event and misses those between. The events depend on the cloud and on the reader: members
//! of the project have one task, and platform admins another, which has the details of causes. Who may follow at all is decided before.
//!
//! Who begins to follow is told what is so *then*: they have the task look again, as what changes with the time is else told with the next change only.
//! All who begin within one pause have one look.

use std::collections::BTreeMap;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError, Weak};
use std::time::Duration;

use axum::body::Bytes;
use dcm_core::causes::Reader;
use dcm_core::name::{LogicalCloudName, ProjectName};
use dcm_core::port::clock::Clock;
use dcm_core::service::{CloudStatus, Error, StatusStream};
use futures::StreamExt as _;
use futures::future::{BoxFuture, Either, select};
use tokio::sync::{Notify, watch};
use tokio::task::AbortHandle;

use super::told::Told;
use crate::documented::problem::Problem;

/// How long one event is after another at least: what changes meanwhile is told together.
const PAUSE: Duration = Duration::from_millis(250);

/// Which cloud, and what may be read of its causes.
pub(super) type Followed = (ProjectName, LogicalCloudName, Reader);

/// Begins to follow it, in the core.
pub(super) type Follow = Box<dyn Fn() -> BoxFuture<'static, Result<StatusStream, Error>> + Send + Sync>;

/// The tasks of a listener. Each lives as long as somebody follows what it tells.
#[derive(Default)]
pub(crate) struct Broadcasts(Mutex<BTreeMap<Followed, Weak<Broadcast>>>);

/// What one task tells.
struct Broadcast {
    news: watch::Receiver<News>,
    looks: Arc<Looks>,
    task: AbortHandle,
}

impl Drop for Broadcast {
    fn drop(&mut self) {
        self.task.abort();
    }
}

/// The newest.
#[derive(Clone, Default)]
struct News {
    /// How many of the [`Looks`] that were asked for are answered.
    looks: u64,
    told: Option<Arc<Told>>,
    end: Option<End>,
}

/// How it ended.
#[derive(Debug, Clone)]
pub(super) enum End {
    /// The cloud is gone.
    Deleted,
    /// It could not be followed any more.
    Failed(Problem),
}

/// Looks that were asked for.
#[derive(Default)]
struct Looks {
    count: AtomicU64,
    more: Notify,
}

impl Looks {
    /// Asks for another one; gives its number.
    fn ask(&self) -> u64 {
        let number = self.count.fetch_add(1, Ordering::AcqRel) + 1;
        self.more.notify_one();
        number
    }

    fn count(&self) -> u64 {
        self.count.load(Ordering::Acquire)
    }

    async fn beyond(&self, count: u64) {
        while self.count() <= count {
            // One that was asked for since then is remembered.
            self.more.notified().await;
        }
    }
}

impl Broadcasts {
    /// Begins to follow a cloud.
    ///
    /// # Errors
    /// It can't be followed, such as one that is not there.
    pub(super) async fn join(
        &self,
        followed: &Followed,
        clock: &Arc<dyn Clock>,
        follow: impl Fn() -> Follow,
    ) -> Result<Listener, Problem> {
        loop {
            let (broadcast, is_own) = self.broadcast(followed, clock, &follow);
            let look = broadcast.looks.ask();
            let mut news = broadcast.news.clone();
            let is_new = |news: &News| news.end.is_some() || (news.looks >= look && news.told.is_some());
            // It ends without a word where it broke off.
            let found = news.wait_for(is_new).await.map_err(|_| Problem::unexpected())?.clone();
            match (found.end, found.told) {
                (Some(End::Failed(problem)), _) if is_own => return Err(problem),
                (None, Some(told)) => return Ok(Listener { news, told, _broadcast: broadcast }),
                // It ended for those who began before, or of a cloud that is another one by now.
                _ => {}
            }
        }
    }

    /// The one that goes on, or a new one; and whether it is new.
    fn broadcast(
        &self,
        followed: &Followed,
        clock: &Arc<dyn Clock>,
        follow: impl Fn() -> Follow,
    ) -> (Arc<Broadcast>, bool) {
        let mut all = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let going_on = all.get(followed).and_then(Weak::upgrade);
        if let Some(broadcast) = going_on.filter(|broadcast| broadcast.news.borrow().end.is_none()) {
            return (broadcast, false);
        }
        all.retain(|_, broadcast| broadcast.strong_count() > 0);
        let (tell, news) = watch::channel(News::default());
        let looks = Arc::new(Looks::default());
        let telling = Telling { clock: clock.clone(), follow: follow(), looks: looks.clone(), tell };
        let task = tokio::spawn(telling.run()).abort_handle();
        let broadcast = Arc::new(Broadcast { news, looks, task });
        all.insert(followed.clone(), Arc::downgrade(&broadcast));
        (broadcast, true)
    }
}

/// The task.
struct Telling {
    clock: Arc<dyn Clock>,
    follow: Follow,
    looks: Arc<Looks>,
    tell: watch::Sender<News>,
}

impl Telling {
    async fn run(self) {
        let end = loop {
            if let Err(end) = self.follow_until_asked().await {
                break end;
            }
        };
        self.tell.send_modify(|news| news.end = Some(end));
    }

    /// Tells what changes, until somebody asks for another look.
    async fn follow_until_asked(&self) -> Result<(), End> {
        let looks = self.looks.count();
        let mut statuses = match (self.follow)().await {
            Err(Error::NotFound { .. }) if self.tell.borrow().told.is_some() => return Err(End::Deleted),
            statuses => statuses.map_err(|error| End::Failed(error.into()))?,
        };
        loop {
            let asked = Box::pin(self.looks.beyond(looks));
            let status = match select(statuses.next(), asked).await {
                Either::Left((status, _)) => status.ok_or(End::Deleted)?,
                Either::Right(((), _)) => return Ok(()),
            };
            self.tell(&status.map_err(|error| End::Failed(error.into()))?, looks)?;
            self.clock.sleep(PAUSE).await;
        }
    }

    fn tell(&self, status: &CloudStatus, looks: u64) -> Result<(), End> {
        let before = self.tell.borrow().told.clone();
        if before.as_ref().is_some_and(|before| before.uid != status.uid) {
            return Err(End::Deleted);
        }
        let told = Some(Told::after(before, status));
        self.tell.send_modify(|news| *news = News { looks, told, end: None });
        Ok(())
    }
}

/// Somebody who follows.
pub(super) struct Listener {
    news: watch::Receiver<News>,
    /// What they know.
    told: Arc<Told>,
    _broadcast: Arc<Broadcast>,
}

impl Listener {
    /// The first event: the whole status.
    pub(super) fn first(&self) -> Bytes {
        self.told.whole()
    }

    /// The next event. What is begun and dropped is lost nothing of.
    pub(super) async fn next(&mut self) -> Result<Bytes, End> {
        loop {
            let known = &self.told;
            let is_new = |news: &News| {
                news.end.is_some() || news.told.as_ref().is_some_and(|told| !Arc::ptr_eq(told, known))
            };
            let broken_off = |_| End::Failed(Problem::unexpected());
            let news = self.news.wait_for(is_new).await.map_err(broken_off)?.clone();
            if let Some(end) = news.end {
                return Err(end);
            }
            let Some(told) = news.told else { continue };
            let event = told.since(&self.told);
            self.told = told;
            if let Some(event) = event {
                return Ok(event);
            }
        }
    }
}

#[cfg(test)]
mod tests;
