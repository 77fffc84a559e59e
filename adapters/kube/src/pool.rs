//! The connections of one client. A request goes only over a connection whose server was asked which cluster it is, on that very
//! connection, where the client expects one ([`Identity`]).
//!
//! Over HTTP/2 all requests share one connection; over HTTP/1.1 each has one of its own, and those without a request are kept for a
//! while. A request whose connection turns out to be closed before anything of it was sent goes over another one; no request is sent
//! twice. hyper-util's own client is not used, as it lets nothing happen on a connection between its beginning and its first
//! request.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use dcm_core::port::cluster::Error;
use futures::FutureExt as _;
use futures::future::{BoxFuture, Shared};
use http::{Request, Response, Uri};
use hyper::body::Incoming;
use kube::client::Body;
use tokio::time::Instant;

use crate::budget::Budget;
use crate::identity::{self, Identifies, Identity, question};
use crate::link::{Link, Unanswered};

/// How long a connection is kept without being used: something on the way may have forgotten it.
const UNUSED_TIME: Duration = Duration::from_secs(90);

/// Makes a connection, within a limit of its own.
pub(crate) type Connect = Box<dyn Fn() -> BoxFuture<'static, Result<Link, Error>> + Send + Sync>;

/// A connection that is being made, for all that wait for it.
type Making = Shared<BoxFuture<'static, Result<Made, Error>>>;

pub(crate) struct Pool {
    connect: Connect,
    /// By which a server is asked which cluster it is.
    question: Uri,
    idle_max: usize,
    identity: Arc<Identity>,
    budget: Arc<Budget>,
    state: Mutex<State>,
}

#[derive(Default)]
struct State {
    way: Way,
    /// Connections of HTTP/1.1 without a request, and since when.
    idle: Vec<(Link, Instant)>,
}

/// How the next connection comes about, when none is idle.
#[derive(Default)]
enum Way {
    /// One is made, and others wait for it: they may share it.
    #[default]
    Unknown,
    Making(Making),
    /// There is one to share, used last at this time.
    Shared(Link, Instant),
    /// The server speaks HTTP/1.1: each request makes its own.
    Own,
}

/// A connection that was made, for the first that takes it.
type Made = Arc<Mutex<Option<Link>>>;

/// A connection for a request.
struct Taken {
    link: Link,
    /// It was there before: that it is closed shows only when it is used.
    is_reused: bool,
}

/// Why a request was not answered over a connection.
enum Failed {
    /// The connection was closed before anything of the request was sent.
    Unsent(Box<Request<Body>>, Error),
    Final(Error),
}

impl Pool {
    pub(crate) fn new(
        connect: Connect,
        question: Uri,
        idle_max: usize,
        identity: Arc<Identity>,
        budget: Arc<Budget>,
    ) -> Self {
        Self { connect, question, idle_max, identity, budget, state: Mutex::default() }
    }

    /// Sends a request, and takes the head of its answer. The connection is in the answer's extensions, as [`identity::Asked`].
    pub(crate) async fn send(
        self: Arc<Self>,
        mut request: Request<Body>,
    ) -> Result<Response<Incoming>, Error> {
        loop {
            // Before a connection is made, too.
            self.identity.is_expected()?;
            let Taken { mut link, is_reused } = self.take().await?;
            match self.send_over(&mut link, request).await {
                Ok(mut answer) => {
                    answer.extensions_mut().insert(link.asked.clone());
                    self.keep(link);
                    return Ok(answer);
                }
                Err(Failed::Unsent(unsent, _)) if is_reused => {
                    self.forget(&link);
                    request = *unsent;
                }
                Err(Failed::Unsent(_, error) | Failed::Final(error)) => return Err(error),
            }
        }
    }

    /// Sends a request over a connection, whose server is asked before where that was not done.
    async fn send_over(&self, link: &mut Link, request: Request<Body>) -> Result<Response<Incoming>, Failed> {
        let is_identifying = request.extensions().get::<Identifies>().is_some();
        if !is_identifying && self.identity.is_expected().map_err(Failed::Final)? {
            let asked = link.asked.clone();
            let ask = self.ask(link, question(&self.question, request.headers()));
            match asked.once(ask).await {
                Ok(()) => {}
                Err(Failed::Unsent(_, error)) => return Err(Failed::Unsent(Box::new(request), error)),
                Err(failed) => return Err(failed),
            }
        }
        link.send(request).await.map_err(Failed::from)
    }

    /// Asks the server behind a connection which cluster it is.
    async fn ask(&self, link: &mut Link, question: Request<Body>) -> Result<(), Failed> {
        let answer = link.send(question).await?;
        let uid = identity::read(answer, &self.budget).await.map_err(Failed::Final)?;
        self.identity.answered(&uid).map_err(Failed::Final)
    }

    /// A connection that is there, or a new one.
    async fn take(self: &Arc<Self>) -> Result<Taken, Error> {
        let making = {
            let mut state = self.state();
            if let Some(link) = state.ready() {
                return Ok(Taken { link, is_reused: true });
            }
            match &state.way {
                Way::Own => None,
                // One that has an outcome and is still here was broken off: the task ended with its runtime, or in a panic.
                Way::Making(making) if making.peek().is_none() => Some(making.clone()),
                Way::Making(_) | Way::Unknown | Way::Shared(..) => {
                    let making = self.make();
                    state.way = Way::Making(making.clone());
                    Some(making)
                }
            }
        };
        let made = match making {
            Some(making) => take_made(&making.await?),
            None => None,
        };
        let link = match made {
            Some(link) => link,
            None => self.note((self.connect)().await)?,
        };
        Ok(Taken { link, is_reused: false })
    }

    /// Makes a connection, also when the request that it is made for is given up: others wait for it.
    fn make(self: &Arc<Self>) -> Making {
        let pool = self.clone();
        let task = tokio::spawn(async move {
            let link = pool.note((pool.connect)().await)?;
            Ok(Arc::new(Mutex::new(Some(link))))
        });
        let made =
            task.map(|made| made.unwrap_or_else(|error| Err(Error::Unreachable { source: Arc::new(error) })));
        made.boxed().shared()
    }

    /// Notes which version of HTTP the server speaks. A connection of HTTP/2 is kept, for all requests.
    fn note(&self, made: Result<Link, Error>) -> Result<Link, Error> {
        let way = match made.as_ref().map(Link::share) {
            Ok(Some(shared)) => Way::Shared(shared, Instant::now()),
            Ok(None) => Way::Own,
            Err(_) => Way::Unknown,
        };
        let mut state = self.state();
        // A failure says nothing of a connection that was made meanwhile.
        if made.is_ok() || matches!(state.way, Way::Making(_)) {
            state.way = way;
        }
        made
    }

    /// Keeps a connection of HTTP/1.1 for another request, once the answer was read.
    fn keep(self: Arc<Self>, mut link: Link) {
        if link.share().is_some() {
            return;
        }
        let pool = Arc::downgrade(&self);
        tokio::spawn(async move {
            if link.ready().await.is_ok()
                && let Some(pool) = pool.upgrade()
            {
                pool.state().idle(link, pool.idle_max);
            }
        });
    }

    /// Has a connection that is closed not used again.
    fn forget(&self, link: &Link) {
        let mut state = self.state();
        if matches!(&state.way, Way::Shared(shared, _) if shared.asked.is_of(&link.asked)) {
            state.way = Way::Unknown;
        }
    }

    fn state(&self) -> MutexGuard<'_, State> {
        // Nothing panics while it is locked.
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl State {
    /// A connection that a request can be sent over now.
    fn ready(&mut self) -> Option<Link> {
        if let Way::Shared(link, used) = &mut self.way
            && link.is_ready()
            && used.elapsed() < UNUSED_TIME
        {
            *used = Instant::now();
            return link.share();
        }
        self.tidy();
        self.idle.pop().map(|(link, _)| link)
    }

    /// Takes in a connection without a request, if there is room.
    fn idle(&mut self, link: Link, max: usize) {
        self.tidy();
        if self.idle.len() < max {
            self.idle.push((link, Instant::now()));
        }
    }

    /// Drops what is closed, or was not used for long.
    fn tidy(&mut self) {
        self.idle.retain(|(link, since)| link.is_ready() && since.elapsed() < UNUSED_TIME);
    }
}

/// The connection, for as many as can share it, else for the first.
fn take_made(made: &Made) -> Option<Link> {
    let mut made = made.lock().unwrap_or_else(PoisonError::into_inner);
    made.as_ref().and_then(Link::share).or_else(|| made.take())
}

impl From<Unanswered> for Failed {
    fn from(Unanswered { unsent, error }: Unanswered) -> Self {
        let error = Error::Unreachable { source: Arc::new(error) };
        match unsent {
            Some(request) => Self::Unsent(request, error),
            None => Self::Final(error),
        }
    }
}

#[cfg(test)]
mod tests {
    use std::sync::atomic::{AtomicUsize, Ordering};

    use futures::future::join_all;
    use tokio::time::{sleep, timeout};

    use super::*;
    use crate::options::Options;

    const SLOW: Duration = Duration::from_secs(2);

    /// A pool whose connections all fail after a while, and how many were tried. The first one panics where that is wanted.
    fn failing(panics: bool) -> (Arc<Pool>, Arc<AtomicUsize>) {
        let tried = Arc::new(AtomicUsize::new(0));
        let counted = tried.clone();
        let connect: Connect = Box::new(move || {
            let number = counted.fetch_add(1, Ordering::Relaxed);
            async move {
                sleep(SLOW).await;
                assert!(!panics || number > 0, "the first one panics");
                Err(Error::Kubeconfig { reason: number.to_string() })
            }
            .boxed()
        });
        let budget = Arc::new(Budget::new(&Options::default()));
        let pool = Pool::new(connect, Uri::from_static("http://c/"), 1, Arc::default(), budget);
        (Arc::new(pool), tried)
    }

    async fn ask(pool: &Arc<Pool>) -> Error {
        pool.clone().send(Request::new(Body::empty())).await.unwrap_err()
    }

    #[tokio::test(start_paused = true)]
    async fn those_that_wait_for_a_connection_share_its_failure_and_the_next_one_tries_anew() {
        let (pool, tried) = failing(false);
        for round in 0..2 {
            let failed = join_all((0..10).map(|_| ask(&pool))).await;
            let reason =
                |error: &Error| matches!(error, Error::Kubeconfig { reason } if *reason == round.to_string());
            assert!(failed.iter().all(reason), "{failed:?}");
            assert_eq!(tried.load(Ordering::Relaxed), round + 1);
        }
    }

    #[tokio::test(start_paused = true)]
    async fn a_request_that_is_given_up_leaves_its_connection_to_the_next() {
        let (pool, tried) = failing(false);
        assert!(timeout(SLOW / 2, ask(&pool)).await.is_err());
        let started = Instant::now();
        ask(&pool).await;
        assert_eq!((tried.load(Ordering::Relaxed), started.elapsed()), (1, SLOW / 2));
    }

    #[tokio::test(start_paused = true)]
    async fn a_connection_that_was_broken_off_fails_those_that_wait_for_it_alone() {
        let (pool, tried) = failing(true);
        assert!(matches!(ask(&pool).await, Error::Unreachable { .. }));
        assert!(matches!(ask(&pool).await, Error::Kubeconfig { .. }));
        assert_eq!(tried.load(Ordering::Relaxed), 2);
    }

    #[tokio::test(start_paused = true)]
    async fn once_another_cluster_answered_no_connection_is_made() {
        let (pool, tried) = failing(false);
        let uid = |text: &str| dcm_core::port::cluster::ClusterUid(text.into());
        pool.identity.answered(&uid("a")).unwrap();
        pool.identity.answered(&uid("b")).unwrap_err();
        assert!(matches!(ask(&pool).await, Error::Moved));
        assert_eq!(tried.load(Ordering::Relaxed), 0);
    }
}
