//! Following the objects of one kind and owner.
//!
//! A list, page by page, then the changes from its resource version on. A watch that ends or breaks goes on where it
//! was: when a load balancer restarts, all clusters behind it would else be listed at once. One whose past is no longer
//! kept, or whose events can't be read, begins again with a list. When that fails [`ATTEMPTS_MAX`] times in a row, the stream ends
//! with the error: a cluster that went away is not hidden.
//!
//! Before each list the server is asked which cluster it is, where the client knows which one it is to reach: one GET for each
//! list. Objects of another cluster are none of this one, and that they are missing there is no drift.

use std::sync::Arc;
use std::time::Duration;

use dcm_core::manifest::GroupVersionKind;
use dcm_core::port::cluster::{Call, Error, LABEL_OWNER, Object, Selection, Watch, WatchEvent};
use futures::stream::{self, StreamExt as _};
use kube::core::WatchEvent as Told;
use serde_json::Value;
use tokio::time::Instant;

use crate::events::Events;
use crate::failure::{Failure, Refused, UNREADABLE};
use crate::list::{Page, Pages};
use crate::object;
use crate::resource::{Resource, escape};
use crate::server;
use crate::transport::{JSON, Request, Transport};

/// Most beginnings in a row that bring nothing.
const ATTEMPTS_MAX: u32 = 3;

/// Wait between them; the first comes at once.
const ATTEMPT_WAIT: Duration = Duration::from_secs(1);

/// How long the server keeps one watch open. It is short enough for a watch over HTTP/1.1, which has no pings, to be
/// renewed from time to time.
const WATCH_TIME: Duration = Duration::from_secs(300);

/// How much longer we wait for its end before we take it for dead.
const WATCH_GRACE: Duration = Duration::from_secs(30);

/// A watch that ended too early, or not at all.
#[derive(Debug, thiserror::Error)]
#[error("the watch {0}")]
struct Broken(&'static str);

/// Begins to follow: the first page of the list is made before this returns, and read when it is asked for.
pub(crate) async fn follow(
    transport: Arc<Transport>,
    call: Call,
    resource: &Resource,
    selection: &Selection,
) -> Result<Watch, Failure> {
    let selector = format!("{LABEL_OWNER}={}", selection.owner);
    let mut follower = Follower {
        transport,
        call,
        path: resource.collection(None),
        query: format!("&labelSelector={}", escape(&selector)),
        kind: selection.kind.clone(),
        state: State::Ended,
        version: String::new(),
        attempts: 0,
        has_told_pages: false,
    };
    let mut pages = follower.pages();
    server::confirm(&follower.transport, &follower.call).await?;
    let first = pages.page(&follower.transport, &follower.call).await?;
    follower.state = State::Listing(Box::new((pages, Some(first))));
    let events = stream::unfold(follower, |mut follower| async {
        let event = follower.next().await?;
        Some((event, follower))
    });
    Ok(events.boxed())
}

struct Follower {
    transport: Arc<Transport>,
    call: Call,
    path: String,
    query: String,
    kind: GroupVersionKind,
    state: State,
    /// The resource version that was reached.
    version: String,
    attempts: u32,
    /// Pages were sent to the stream of a list whose last page is still to come.
    has_told_pages: bool,
}

enum State {
    /// To list next.
    List,
    /// In the middle of a list, with a page that is still to be sent to the stream. Boxed: almost every watch is beyond its list.
    Listing(Box<(Pages, Option<Page>)>),
    /// To open a watch next.
    Open,
    /// Watching, until this time.
    Watching(Events, Instant),
    /// It ended with an error.
    Ended,
}

impl Follower {
    async fn next(&mut self) -> Option<Result<WatchEvent, Error>> {
        loop {
            let step = match &mut self.state {
                State::Ended => return None,
                State::List => Ok(self.list_again()),
                State::Listing(_) => self.list().await,
                State::Open => self.open().await,
                State::Watching(events, until) => {
                    let until = *until;
                    match tokio::time::timeout_at(until, events.next()).await {
                        Ok(Some(told)) => told.and_then(|told| self.told(told)),
                        Ok(None) => self.ended(until),
                        Err(_) => Err(broken("did not end in time")),
                    }
                }
            };
            match step {
                Ok(Some(event)) => return Some(Ok(event)),
                Ok(None) => {}
                Err(failure) => {
                    if let Err(error) = self.recover(failure).await {
                        self.state = State::Ended;
                        return Some(Err(error));
                    }
                }
            }
        }
    }

    fn pages(&self) -> Pages {
        Pages::new(&self.transport, self.path.clone(), self.query.clone(), JSON, self.kind.to_string())
    }

    /// Begins a list. The pages of an earlier list that broke off no longer count.
    fn list_again(&mut self) -> Option<WatchEvent> {
        self.state = State::Listing(Box::new((self.pages(), None)));
        std::mem::take(&mut self.has_told_pages).then_some(WatchEvent::Relisting)
    }

    /// Returns the event for the next page.
    async fn list(&mut self) -> Result<Option<WatchEvent>, Failure> {
        let State::Listing(listing) = &mut self.state else { return Ok(None) };
        let (pages, page) = &mut **listing;
        let page = match page.take() {
            Some(page) => page,
            None if !pages.is_begun() => {
                server::confirm(&self.transport, &self.call).await?;
                pages.page(&self.transport, &self.call).await?
            }
            None => pages.page(&self.transport, &self.call).await?,
        };
        let objects = page.objects(&self.kind).await?;
        self.has_told_pages = !pages.is_over();
        if self.has_told_pages {
            return Ok(Some(WatchEvent::Listing(objects)));
        }
        self.version = page.version;
        self.state = State::Open;
        Ok(Some(WatchEvent::Listed(objects)))
    }

    async fn open(&mut self) -> Result<Option<WatchEvent>, Failure> {
        let uri = format!(
            "{}?watch=true&allowWatchBookmarks=true&timeoutSeconds={}{}&resourceVersion={}",
            self.path,
            WATCH_TIME.as_secs(),
            self.query,
            escape(&self.version)
        );
        let events = self.transport.events(&self.call, Request::get(uri)).await?;
        self.state = State::Watching(events, Instant::now() + WATCH_TIME + WATCH_GRACE);
        Ok(None)
    }

    /// A watch that ends in order goes on where it was. One that ends early and told nothing counts as an attempt.
    fn ended(&mut self, until: Instant) -> Result<Option<WatchEvent>, Failure> {
        let lasted = Instant::now() + WATCH_TIME + WATCH_GRACE - until;
        if lasted >= WATCH_TIME / 2 {
            self.attempts = 0;
        } else if self.attempts > 0 {
            return Err(broken("ended without telling anything"));
        } else {
            self.attempts = 1;
        }
        self.state = State::Open;
        Ok(None)
    }

    fn told(&mut self, told: Told<Value>) -> Result<Option<WatchEvent>, Failure> {
        let event = match told {
            Told::Added(body) | Told::Modified(body) => WatchEvent::Applied(self.object(body)?),
            Told::Deleted(body) => WatchEvent::Deleted(self.object(body)?),
            Told::Bookmark(bookmark) => {
                self.version = bookmark.metadata.resource_version;
                self.attempts = 0;
                return Ok(None);
            }
            Told::Error(status) => return Err(Refused::from(*status).into()),
        };
        self.attempts = 0;
        Ok(Some(event))
    }

    fn object(&mut self, body: Value) -> Result<Object, Failure> {
        let object = object::read(&self.kind, body)?;
        object.resource_version.as_ref().clone_into(&mut self.version);
        Ok(object)
    }

    /// Makes ready to go on or to list again, or gives up.
    async fn recover(&mut self, failure: Failure) -> Result<(), Error> {
        let error = failure.about(&self.kind);
        self.attempts += 1;
        if !error.is_retryable() || self.attempts > ATTEMPTS_MAX {
            return Err(error);
        }
        if self.attempts > 1 {
            tokio::time::sleep(ATTEMPT_WAIT).await;
        }
        self.state = if self.can_go_on(&error) { State::Open } else { State::List };
        Ok(())
    }

    /// True when everything up to the version that was reached is told, and the server can tell what came after it.
    fn can_go_on(&self, error: &Error) -> bool {
        let is_listing = matches!(self.state, State::List | State::Listing(_));
        let is_past_lost = matches!(error, Error::Gone | Error::Server { code: UNREADABLE, .. });
        !is_listing && !is_past_lost && !self.version.is_empty()
    }
}

fn broken(what: &'static str) -> Failure {
    Error::Unreachable { source: Arc::new(Broken(what)) }.into()
}
