//! A route: how it is asked, and what answers.

use std::sync::Arc;

use axum::Router;
use axum::extract::{DefaultBodyLimit, RawPathParams, Request};
use axum::handler::Handler;
use axum::http::Method;
use axum::middleware::{Next, from_fn};
use axum::response::IntoResponse;
use axum::routing::{MethodFilter, MethodRouter, on};

use crate::access::{self, Denied, Need};
use crate::services::Services;

/// What handlers are given.
pub(crate) type Shared = Arc<Services>;

/// A route of the API.
#[derive(Clone)]
pub struct Route {
    method: Method,
    path: String,
    need: Need,
    serve: MethodRouter<Shared>,
}

impl Route {
    pub(crate) fn new<H: Handler<T, Shared>, T: 'static>(
        method: Method,
        path: &str,
        need: Need,
        handler: H,
    ) -> Self {
        let filter = MethodFilter::try_from(method.clone()).unwrap_or(MethodFilter::TRACE);
        Self { method, path: path.to_owned(), need, serve: on(filter, handler) }
    }

    /// The same for larger bodies, of at most so many bytes.
    pub(crate) fn with_body_max(self, bytes_max: usize) -> Self {
        Self { serve: self.serve.layer(DefaultBodyLimit::max(bytes_max)), ..self }
    }

    /// The method; one that gets answers to HEAD, too.
    #[must_use]
    pub fn method(&self) -> &Method {
        &self.method
    }

    /// The path, with names of its parameters in braces.
    #[must_use]
    pub fn path(&self) -> &str {
        &self.path
    }

    /// What whoever asks needs.
    #[must_use]
    pub fn need(&self) -> Need {
        self.need
    }

    /// Adds it to a router. Who lacks what it needs is told so in the words of a dialect, before the handler sees anything.
    pub(crate) fn add_to<P: for<'a> From<&'a Denied> + IntoResponse + 'static>(
        self,
        router: Router<Shared>,
    ) -> Router<Shared> {
        let need = self.need;
        let guard = move |names: Result<RawPathParams, _>, request: Request, next: Next| async move {
            match access::check(need, names.ok().as_ref(), request.extensions()) {
                Ok(()) => next.run(request).await,
                Err(denied) => denied.told_as::<P>(),
            }
        };
        router.route(&self.path, self.serve.route_layer(from_fn(guard)))
    }
}
