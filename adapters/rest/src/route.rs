//! A route: how it is asked, and what answers.

use std::sync::Arc;
use std::time::Duration;

use axum::Router;
use axum::extract::{DefaultBodyLimit, RawPathParams, Request};
use axum::handler::Handler;
use axum::http::Method;
use axum::middleware::{Next, from_fn};
use axum::response::IntoResponse;
use axum::routing::{MethodFilter, MethodRouter, on};

use crate::access::{self, Denied, Need, NotAdmitted};
use crate::services::Services;
use crate::shares::{Share, Shares};

/// What handlers are given.
pub(crate) type Shared = Arc<Services>;

/// A route of the API.
#[derive(Clone)]
pub struct Route {
    method: Method,
    path: String,
    need: Need,
    looks: bool,
    serve: MethodRouter<Shared>,
}

/// How many requests that look at clusters one caller may have under way who proves who they are: those of others wait for the same clusters.
const LOOKING_PER_CALLER_MAX: usize = 64;

/// When one too many may be sent again.
const LOOKING_PAUSE: Duration = Duration::from_secs(1);

/// The places of requests that look at clusters. Of all of them only the looks themselves have a limit.
pub(crate) fn looking() -> Shares {
    Shares::new(usize::MAX, LOOKING_PER_CALLER_MAX)
}

impl Route {
    pub(crate) fn new<H: Handler<T, Shared>, T: 'static>(
        method: Method,
        path: &str,
        need: Need,
        handler: H,
    ) -> Self {
        let filter = MethodFilter::try_from(method.clone()).unwrap_or(MethodFilter::TRACE);
        Self { method, path: path.to_owned(), need, looks: false, serve: on(filter, handler) }
    }

    /// The same, whose answer takes looks at clusters.
    pub(crate) fn looking(self) -> Self {
        Self { looks: true, ..self }
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
        looking: &Shares,
    ) -> Router<Shared> {
        let (need, looking) = (self.need, self.looks.then(|| looking.clone()));
        let guard = move |names: Result<RawPathParams, _>, request: Request, next: Next| {
            let looking = looking.clone();
            async move {
                let checked = access::check(need, names.ok().as_ref(), request.extensions());
                match checked.and_then(|()| place(looking.as_ref(), &request)) {
                    Ok(_place) => next.run(request).await,
                    Err(denied) => denied.told_as::<P>(),
                }
            }
        };
        router.route(&self.path, self.serve.route_layer(from_fn(guard)))
    }
}

/// The place of a request among those of its caller that look at clusters; none for one that looks at none.
fn place(looking: Option<&Shares>, request: &Request) -> Result<Option<Share>, Denied> {
    let Some(looking) = looking else { return Ok(None) };
    let mut place = looking.of(access::admitted(request.extensions())?);
    let too_often = |_| Denied::NotAdmitted(NotAdmitted::TooOften { after: LOOKING_PAUSE });
    place.take(1).map_err(too_often)?;
    Ok(Some(place))
}
