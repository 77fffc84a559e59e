//! `GET /v2/projects/{project}/logical-clouds/{cloud}/events`: its status, and each change of it, as they come (server-sent
//! events).
//!
//! The first event, `status`, has the whole status; each `change` after it a JSON merge patch (RFC 7396) of the status before.
//! `deleted` is the last one of a cloud that is no more, and `error` has a problem. After anything but `deleted` the connection
//! is to be made again: it begins with the whole status.

use std::convert::Infallible;
use std::time::Duration;

use axum::extract::State;
use axum::http::{StatusCode, Uri};
use axum::response::IntoResponse;
use axum::response::sse::{Event, KeepAlive, Sse};
use dcm_core::service::{CloudStatus, StatusStream};
use futures::future::{pending, select};
use futures::{FutureExt as _, StreamExt as _, stream};
use serde_json::Value;

use super::merge_patch;
use crate::access::Asker;
use crate::documented::openapi::Shape;
use crate::documented::openapi::{Answer, Operation};
use crate::documented::place::{Asked, At, InCloud, Nothing};
use crate::documented::problem::Problem;
use crate::documented::route::Shared;
use crate::services::Services;

/// How long one event is after another at least: what changes meanwhile is told together.
const PAUSE: Duration = Duration::from_millis(250);

/// How often a line is sent where there is nothing to tell, so that nobody between takes the connection for dead.
const KEEP_ALIVE: Duration = Duration::from_secs(15);

/// What the document says of it.
pub(in crate::documented) fn describe(it: Operation) -> Operation {
    it.says(
        "Follow a logical cloud",
        "Server-sent events. The first one, `status`, has the whole status; each `change` after it is a JSON merge patch (RFC 7396) of the \
         status before. `deleted` is the last one of a cloud that is no more, `error` has a problem. After anything but `deleted`, \
         connect again: it begins with the whole status.",
    )
    .answers(StatusCode::OK, Answer::empty("Events, without an end.").with("text/event-stream", Shape::Text))
}

pub(in crate::documented) async fn handle(
    State(services): State<Shared>,
    At(InCloud { project, cloud }): At<InCloud>,
    Asked(Nothing {}): Asked<Nothing>,
    uri: Uri,
    asker: Asker,
) -> Result<impl IntoResponse, Problem> {
    let statuses = services.clouds.follow(&project, &cloud).await?;
    let ended = ended(&services, &asker);
    let telling = Telling { services, path: uri.path().to_owned(), statuses, told: None, number: 0 };
    let events = stream::unfold(Some(telling), |telling| async {
        let (event, telling) = telling?.next().await;
        Some((Ok::<_, Infallible>(event), telling))
    });
    let events = events.take_until(ended);
    Ok(Sse::new(events).keep_alive(KeepAlive::new().interval(KEEP_ALIVE)))
}

/// Ends when the server is to stop, and when the caller may not ask any more.
fn ended(services: &Services, asker: &Asker) -> impl Future<Output = ()> + Send + use<> {
    let stop = services.stop.clone();
    let left = asker.until.map(|until| until.duration_since(services.clock.now()));
    let left = left.map(|left| Duration::try_from(left).unwrap_or_default());
    let over = left.map_or_else(|| pending().boxed(), |left| services.clock.sleep(left));
    select(stop, over).map(drop)
}

struct Telling {
    services: Shared,
    /// What was asked.
    path: String,
    statuses: StatusStream,
    /// The status that the caller knows.
    told: Option<Value>,
    /// How many events were told.
    number: u64,
}

impl Telling {
    /// The next event; nothing comes after one without itself.
    async fn next(mut self) -> (Event, Option<Self>) {
        loop {
            if self.told.is_some() {
                self.services.clock.sleep(PAUSE).await;
            }
            let numbered = Event::default().id(self.number.to_string());
            match self.statuses.next().await {
                None => return (numbered.event("deleted").data("{}"), None),
                Some(Err(error)) => {
                    let problem = Problem::from(error).text(&self.path);
                    return (numbered.event("error").data(problem), None);
                }
                Some(Ok(status)) => {
                    if let Some(event) = self.tell(numbered, &status) {
                        self.number += 1;
                        return (event, Some(self));
                    }
                }
            }
        }
    }

    /// What is new in a status; none where nothing is.
    fn tell(&mut self, event: Event, status: &CloudStatus) -> Option<Event> {
        let now = serde_json::to_value(status).unwrap_or_default();
        let (kind, data) = match &self.told {
            None => ("status", now.clone()),
            Some(told) => ("change", merge_patch::between(told, &now)?),
        };
        self.told = Some(now);
        Some(event.event(kind).data(data.to_string()))
    }
}
