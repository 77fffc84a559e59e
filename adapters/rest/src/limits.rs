//! What requests may take, so that none takes what the others need.

use std::error::Error;
use std::time::Duration;

use axum::Router;
use axum::error_handling::HandleErrorLayer;
use axum::http::HeaderMap;
use axum::http::header::CONTENT_LENGTH;
use axum::response::Response;
use tower::limit::GlobalConcurrencyLimitLayer;
use tower::{BoxError, ServiceBuilder};
use tower_http::timeout::{RequestBodyDeadlineLayer, TimeoutError};

use crate::route::Shared;

/// Limits of the requests of a router.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Limits {
    /// How long a body may take to arrive. The largest one does so at 1.2 Mbit/s; one that is sent slowly on purpose holds its place no longer.
    pub body_timeout: Duration,
    /// How many requests may be under way at once: a further one is refused, and may be sent again a second later. Each holds its body in
    /// memory, and waits for the store. An answer that goes on, as that of events, is not under way any more.
    pub requests_max: usize,
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
            followers_max: 1024,
            followers_per_caller_max: 128,
        }
    }
}

impl Limits {
    /// Holds all requests of a router to the limits. One too many gets the answer `overloaded`.
    pub(crate) fn hold(self, router: Router<Shared>, overloaded: fn() -> Response) -> Router<Shared> {
        let admission = ServiceBuilder::new()
            .layer(HandleErrorLayer::new(move |_: BoxError| std::future::ready(overloaded())))
            .load_shed()
            // One for all routes: each is wrapped alone.
            .layer(GlobalConcurrencyLimitLayer::new(self.requests_max));
        router.layer(RequestBodyDeadlineLayer::new(self.body_timeout)).layer(admission)
    }
}

/// True when it is about a body that took too long.
pub(crate) fn is_late(error: &(dyn Error + 'static)) -> bool {
    std::iter::successors(Some(error), |&error| error.source()).any(<dyn Error>::is::<TimeoutError>)
}

/// True for a body that is said to have more bytes than this: nothing of it need be read.
pub(crate) fn is_said_to_exceed(headers: &HeaderMap, bytes_max: usize) -> bool {
    let said = headers.get(CONTENT_LENGTH).and_then(|length| length.to_str().ok()?.parse::<u64>().ok());
    said.is_some_and(|bytes| bytes > bytes_max as u64)
}
