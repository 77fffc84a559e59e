//! A route: how it is asked, and what answers.

use std::sync::Arc;

use axum::Router;
use axum::extract::DefaultBodyLimit;
use axum::handler::Handler;
use axum::http::Method;
use axum::routing::{MethodFilter, MethodRouter, on};

use crate::services::Services;

/// What handlers are given.
pub(crate) type Shared = Arc<Services>;

/// A route of the API.
#[derive(Clone)]
pub struct Route {
    method: Method,
    path: String,
    serve: MethodRouter<Shared>,
}

impl Route {
    pub(crate) fn new<H: Handler<T, Shared>, T: 'static>(method: Method, path: &str, handler: H) -> Self {
        let filter = MethodFilter::try_from(method.clone()).unwrap_or(MethodFilter::TRACE);
        Self { method, path: path.to_owned(), serve: on(filter, handler) }
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

    pub(crate) fn add_to(self, router: Router<Shared>) -> Router<Shared> {
        router.route(&self.path, self.serve)
    }
}
