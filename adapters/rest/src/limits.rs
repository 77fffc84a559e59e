//! What requests may take, so that none takes what the others need.

use std::error::Error;
use std::time::Duration;

use axum::Router;
use axum::error_handling::HandleErrorLayer;
use axum::http::HeaderMap;
use axum::http::header::CONTENT_LENGTH;
use axum::middleware::from_fn_with_state;
use axum::response::Response;
use tower::limit::GlobalConcurrencyLimitLayer;
use tower::{BoxError, ServiceBuilder};
use tower_http::timeout::{RequestBodyDeadlineLayer, TimeoutError};

use crate::bodies::{self, NoRoom};
use crate::route::Shared;
use crate::shares::{Shares, TooMuch};

/// Limits of the requests of a router.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Limits {
    /// How long a body may take to arrive. The largest one does so at 1.2 Mbit/s; one that is sent slowly on purpose holds its place no longer.
    pub body_timeout: Duration,
    /// How many requests may be under way at once: a further one is refused, and may be sent again a second later. Each waits for the store, and
    /// holds the first 64 KiB of its body in memory. An answer that goes on, as that of events, is not under way any more.
    pub requests_max: usize,
    /// How many bytes bodies under way may have together beyond those 64 KiB. A body that has no room is refused, and may be sent again a second
    /// later. At least [`Limits::BODY_BYTES_MIN`]. Callers who prove who they are have a quarter of it each, and at least that much.
    pub body_bytes_max: usize,
    /// How many callers may follow events at once. Each has a connection, and holds the status that it was told last.
    pub followers_max: usize,
    /// How often one caller may do so, where callers prove who they are: a page follows one cloud, and a program some.
    pub followers_per_caller_max: usize,
}

impl Default for Limits {
    fn default() -> Self {
        Self {
            body_timeout: Duration::from_secs(60),
            requests_max: 4096,
            body_bytes_max: 64 * 1024 * 1024,
            followers_max: 1024,
            followers_per_caller_max: 128,
        }
    }
}

/// How many callers who prove who they are have to send large bodies to take the room of all.
const CALLERS_MIN: usize = 4;

impl Limits {
    /// Bodies have room for one of the largest, in bytes: for a declarative document.
    pub const BODY_BYTES_MIN: usize = dcm_core::document::TEXT_BYTES_MAX;

    /// Holds all requests of a router to the limits. One too many gets the answer `overloaded`.
    pub(crate) fn hold(self, router: Router<Shared>, overloaded: fn() -> Response) -> Router<Shared> {
        let admission = ServiceBuilder::new()
            .layer(HandleErrorLayer::new(move |_: BoxError| std::future::ready(overloaded())))
            .load_shed()
            // One for all routes: each is wrapped alone.
            .layer(GlobalConcurrencyLimitLayer::new(self.requests_max));
        let of_caller = (self.body_bytes_max / CALLERS_MIN).max(Self::BODY_BYTES_MIN);
        let bodies = Shares::new(self.body_bytes_max, of_caller);
        router
            .layer(RequestBodyDeadlineLayer::new(self.body_timeout))
            .layer(from_fn_with_state(bodies, bodies::count))
            .layer(admission)
    }
}

/// Which limit a body breaks while it is read.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Broken {
    /// It took too long.
    Late,
    /// There is no room for it now.
    NoRoom(TooMuch),
}

impl Broken {
    /// The limit that a body was not read for; none where it was not read for another reason.
    pub(crate) fn of(error: &(dyn Error + 'static)) -> Option<Self> {
        std::iter::successors(Some(error), |&error| error.source()).find_map(|error| {
            if error.is::<TimeoutError>() {
                return Some(Self::Late);
            }
            error.downcast_ref().map(|NoRoom(why)| Self::NoRoom(*why))
        })
    }
}

/// True for a body that is said to have more bytes than this: nothing of it need be read.
pub(crate) fn is_said_to_exceed(headers: &HeaderMap, bytes_max: usize) -> bool {
    let said = headers.get(CONTENT_LENGTH).and_then(|length| length.to_str().ok()?.parse::<u64>().ok());
    said.is_some_and(|bytes| bytes > bytes_max as u64)
}
