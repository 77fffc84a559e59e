//! What holds for every request: it has an id and a caller, and is in the log when it is done.

use std::sync::Arc;
use std::time::Duration;

use axum::extract::{FromRequestParts, MatchedPath, Request, State};
use axum::http::request::Parts;
use axum::http::{Extensions, HeaderName, HeaderValue};
use axum::middleware::Next;
use axum::response::Response;
use dcm_core::service::Caller;
use tracing::Instrument as _;

use crate::access::{self, Asker};
use crate::metrics::Answered;
use crate::services::Services;
use crate::span::{self, Asked};

/// Names a request in the answer, in the log and in the audit log. Callers may send their own.
const REQUEST_ID: HeaderName = HeaderName::from_static("x-request-id");

/// Says why something is done, for the audit log.
const REASON: HeaderName = HeaderName::from_static("x-reason");

/// Longest id that a caller may send, in bytes; a longer one is replaced.
const REQUEST_ID_MAX: usize = 128;

/// How long a stop waits for what is under way. What takes longer is accepted all the same: nothing new begins.
pub(crate) const STOP_WAIT: Duration = Duration::from_secs(10);

/// Gives a request its id and its caller, and logs and counts its end.
pub(crate) async fn begin(
    State(services): State<Arc<Services>>,
    mut request: Request,
    next: Next,
) -> Response {
    let sent = request.headers().get(&REQUEST_ID).filter(|id| is_an_id(id)).cloned();
    let id = sent.or_else(|| HeaderValue::from_str(&format!("{:016x}", services.random.next())).ok());
    let text = id.as_ref().and_then(|id| id.to_str().ok()).unwrap_or_default();
    let why = request.headers().get(&REASON).map(|why| String::from_utf8_lossy(why.as_bytes()));
    let caller = caller(request.extensions()).because(why.unwrap_or_default()).with_request_id(text);
    let span = span::open(request.headers(), text, caller.who());
    let asked = Asked::of(&request);
    let (method, path) = (request.method().clone(), request.uri().path().to_owned());
    let route = request.extensions().get::<MatchedPath>().cloned();
    request.extensions_mut().insert(Asking(caller));
    let mut response = async {
        let began = services.clock.now();
        let response = next.run(request).await;
        let took = services.clock.now().duration_since(began).unsigned_abs();
        let (status, route) = (response.status().as_u16(), route.as_ref().map(MatchedPath::as_str));
        tracing::info!(%method, path, status, seconds = took.as_secs_f64(), "answered");
        services.metrics.answered(&Answered { method: span::told(&method), route, status, took });
        response
    }
    .instrument(span.clone())
    .await;
    if let Some(asked) = asked {
        asked.record(&span, response.status());
    }
    if let Some(id) = id {
        response.headers_mut().insert(REQUEST_ID, id);
    }
    response
}

/// Who asks, as the services know it.
fn caller(extensions: &Extensions) -> Caller {
    let nobody = Asker::nobody();
    let asker = access::admitted(extensions).unwrap_or(&nobody);
    let caller = Caller::new(&asker.name);
    if asker.rights.has_all() { caller } else { caller.limited(asker.limits.clone()) }
}

/// Visible ASCII, not too long: it is written to logs as it is.
fn is_an_id(id: &HeaderValue) -> bool {
    (1..=REQUEST_ID_MAX).contains(&id.len()) && id.as_bytes().iter().all(u8::is_ascii_graphic)
}

/// Who asks.
#[derive(Clone)]
pub(crate) struct Asking(pub(crate) Caller);

impl<S: Send + Sync> FromRequestParts<S> for Asking {
    type Rejection = std::convert::Infallible;

    async fn from_request_parts(parts: &mut Parts, _: &S) -> Result<Self, Self::Rejection> {
        Ok(parts.extensions.get().cloned().unwrap_or_else(|| Self(caller(&parts.extensions))))
    }
}
