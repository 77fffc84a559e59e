//! What bodies under way take of memory: it is counted as it arrives, so that nobody takes it by saying how much will come.

use std::sync::{Arc, Mutex, PoisonError};

use axum::body::{Body, HttpBody as _};
use axum::extract::{Request, State};
use axum::middleware::Next;
use axum::response::Response;
use futures::StreamExt as _;
use tower::BoxError;

use crate::access;
use crate::shares::{Shares, TooMuch};

/// So much of each body is not counted: most bodies have less, and none of them is refused while others send large ones.
pub(crate) const UNCOUNTED_BYTES: usize = 64 * 1024;

/// There is no room for more of a body.
#[derive(Debug, thiserror::Error)]
#[error("there is no room for more of the body")]
pub(crate) struct NoRoom(pub(crate) TooMuch);

/// Counts what arrives of the body of a request until it is answered. A body for which there is no room breaks off with [`NoRoom`].
pub(crate) async fn count(State(bodies): State<Shares>, request: Request, next: Next) -> Response {
    let is_small = request.body().size_hint().upper().is_some_and(|bytes| bytes <= UNCOUNTED_BYTES as u64);
    let asker = access::admitted(request.extensions());
    // Nothing is read of what somebody sends who is not let in.
    let (false, Ok(asker)) = (is_small, asker) else { return next.run(request).await };
    let share = Arc::new(Mutex::new(bodies.of(asker)));
    let (parts, body) = request.into_parts();
    let (taking, mut uncounted) = (share.clone(), UNCOUNTED_BYTES);
    let counted = body.into_data_stream().map(move |piece| {
        let piece = piece?;
        let free = uncounted.min(piece.len());
        uncounted -= free;
        let mut share = taking.lock().unwrap_or_else(PoisonError::into_inner);
        share.take(piece.len() - free).map_err(NoRoom)?;
        Ok::<_, BoxError>(piece)
    });
    let response = next.run(Request::from_parts(parts, Body::from_stream(counted))).await;
    // What was read of it is kept as long as it is worked on.
    drop(share);
    response
}
