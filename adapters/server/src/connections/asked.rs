//! What is asked on a connection.

use std::sync::Arc;
use std::task::{Context, Poll};

use futures::future::{BoxFuture, FutureExt as _, ready};
use tower::{BoxError, Service};

use super::places::State;

/// Answers what is asked on a connection. It is called when the whole head of a request is there: from then on the connection is not idle.
#[derive(Clone)]
pub(crate) struct Asked<S> {
    pub(super) service: S,
    pub(super) state: Arc<State>,
}

/// Its place went to another before the head of the request was there.
#[derive(Debug, thiserror::Error)]
#[error("the connection made room for another")]
struct Ended;

impl<S, R> Service<R> for Asked<S>
where
    S: Service<R>,
    S::Response: Send + 'static,
    S::Error: Into<BoxError> + 'static,
    S::Future: Send + 'static,
{
    type Response = S::Response;
    type Error = BoxError;
    type Future = BoxFuture<'static, Result<S::Response, BoxError>>;

    fn poll_ready(&mut self, context: &mut Context<'_>) -> Poll<Result<(), BoxError>> {
        self.service.poll_ready(context).map_err(Into::into)
    }

    fn call(&mut self, request: R) -> Self::Future {
        if !self.state.ask() {
            return ready(Err(Ended.into())).boxed();
        }
        let (answer, state) = (self.service.call(request), self.state.clone());
        let answered = answer.map(move |answered| {
            state.answer();
            answered.map_err(Into::into)
        });
        answered.boxed()
    }
}
