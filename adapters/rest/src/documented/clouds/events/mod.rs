//! `GET /v2/projects/{project}/logical-clouds/{cloud}/events`: its status, and each change of it, as they come (server-sent
//! events).
//!
//! The first event, `status`, has the whole status; each `change` after it a JSON merge patch (RFC 7396) of the status before.
//! `deleted` is the last one of a cloud that is no more, and `error` has a problem. After anything but `deleted` the connection
//! is to be made again: it begins with the whole status.

mod broadcast;
mod merge_patch;
mod told;

use std::convert::Infallible;
use std::time::Duration;

use axum::body::{Body, Bytes};
use axum::extract::State;
use axum::http::header::{CACHE_CONTROL, CONTENT_TYPE};
use axum::http::{StatusCode, Uri};
use axum::response::IntoResponse;
use dcm_core::service::{CloudStatus, Error};
use futures::future::{Either, pending, select};
use futures::{FutureExt as _, StreamExt as _, stream};

use crate::access::Asker;
use crate::documented::openapi::Shape;
use crate::documented::openapi::{Answer, Operation};
use crate::documented::place::{Asked, At, InCloud, Nothing};
use crate::documented::problem::{Kind, Problem};
use crate::documented::route::Shared;
use crate::services::Services;
use crate::shares::{Share, TooMuch};

pub(crate) use broadcast::Broadcasts;
use broadcast::{End, Listener};

/// How often a line is sent where there is nothing to tell, so that nobody between takes the connection for dead.
const KEEP_ALIVE: Duration = Duration::from_secs(15);

/// The media type of events.
const EVENTS: &str = "text/event-stream";

/// What the document says of it.
pub(in crate::documented) fn describe(it: Operation) -> Operation {
    it.says(
        "Follow a logical cloud",
        "Server-sent events. The first one, `status`, has the whole status; each `change` after it is a JSON merge patch (RFC 7396) of the \
         status before. `deleted` is the last one of a cloud that is no more, `error` has a problem. After anything but `deleted`, \
         connect again: it begins with the whole status.",
    )
    .answers(StatusCode::OK, Answer::empty("Events, without an end.").with(EVENTS, Shape::Text))
}

pub(in crate::documented) async fn handle(
    State(services): State<Shared>,
    At(InCloud { project, cloud }): At<InCloud>,
    Asked(Nothing {}): Asked<Nothing>,
    uri: Uri,
    asker: Asker,
) -> Result<impl IntoResponse, Problem> {
    let place = services.followers.place(&asker).map_err(too_many)?;
    let followed = (project, cloud, asker.reader());
    let follow = || -> broadcast::Follow {
        let (clouds, (project, cloud, reader)) = (services.clouds.clone(), followed.clone());
        Box::new(move || {
            let (clouds, project, cloud) = (clouds.clone(), project.clone(), cloud.clone());
            let restricted = move |status: Result<CloudStatus, Error>| Ok(status?.restricted_to(reader));
            let following = async move {
                let statuses = clouds.follow(&project, &cloud).await?;
                Ok(statuses.map(restricted).boxed())
            };
            following.boxed()
        })
    };
    let listener = services.followers.broadcasts.join(&followed, &services.clock, follow).await?;
    let ended = ended(&services, &asker);
    let first = stream::iter([listener.first()]);
    let passing_on = PassingOn { services, path: uri.path().to_owned(), listener, _place: place };
    let later = stream::unfold(Some(passing_on), |passing_on| async { Some(passing_on?.next().await) });
    let events = first.chain(later).map(Ok::<_, Infallible>).take_until(ended);
    Ok(([(CONTENT_TYPE, EVENTS), (CACHE_CONTROL, "no-cache")], Body::from_stream(events)))
}

/// Ends when the server is to stop, and when the caller may not ask any more.
fn ended(services: &Services, asker: &Asker) -> impl Future<Output = ()> + Send + use<> {
    let stop = services.stop.clone();
    let left = asker.until.map(|until| until.duration_since(services.clock.now()));
    let left = left.map(|left| Duration::try_from(left).unwrap_or_default());
    let over = left.map_or_else(|| pending().boxed(), |left| services.clock.sleep(left));
    select(stop, over).map(drop)
}

fn too_many(too_much: TooMuch) -> Problem {
    match too_much {
        TooMuch::InAll => Problem::new(Kind::Unavailable, "too many follow events now"),
        TooMuch::OfCaller => Problem::new(Kind::TooManyRequests, "you follow too many events at once"),
    }
}

/// Passes on what is told of a cloud.
struct PassingOn {
    services: Shared,
    /// What was asked.
    path: String,
    listener: Listener,
    /// As long as it goes on.
    _place: Share,
}

impl PassingOn {
    /// The next event, or a sign of life; nothing comes after one without itself.
    async fn next(mut self) -> (Bytes, Option<Self>) {
        let silence = self.services.clock.sleep(KEEP_ALIVE);
        let next = match select(Box::pin(self.listener.next()), silence).await {
            Either::Left((next, _)) => next,
            Either::Right(_) => Ok(Bytes::from_static(b":\n\n")),
        };
        match next {
            Ok(event) => (event, Some(self)),
            Err(End::Deleted) => (told::event(None, "deleted", "{}"), None),
            Err(End::Failed(problem)) => (told::event(None, "error", &problem.text(&self.path)), None),
        }
    }
}
