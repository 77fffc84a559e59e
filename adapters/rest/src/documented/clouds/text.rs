//! The declarative document of a logical cloud, as a body: JSON or YAML.

use std::num::NonZero;
use std::sync::LazyLock;

use axum::body::Bytes;
use axum::extract::{FromRequest, Request};
use axum::http::HeaderMap;
use dcm_core::document::{self, Document, Limits, Refused, RefusedText, TEXT_BYTES_MAX};
use dcm_core::refusal::Refusal;
use tokio::sync::Semaphore;

use super::notation::{MEDIA_TYPES, YAML_TYPES};
use crate::documented::body::{bytes, essence, is_json};
use crate::documented::openapi::{Input, Operation, Shape};
use crate::documented::place::InCloud;
use crate::documented::problem::{Kind, Problem};

/// Texts of so many bytes are read in a few milliseconds, less than it takes to wait for another thread under load.
const AT_ONCE_BYTES_MAX: usize = 64 * 1024;

/// Those who read larger ones: as many as there are processors, whoever sends how many, and each holds one text.
static READERS: LazyLock<Semaphore> =
    LazyLock::new(|| Semaphore::new(std::thread::available_parallelism().map_or(1, NonZero::get)));

/// A text that is a document.
pub(in crate::documented) struct Text(Bytes);

impl<S: Send + Sync> FromRequest<S> for Text {
    type Rejection = Problem;

    async fn from_request(request: Request, state: &S) -> Result<Self, Problem> {
        if !is_document(request.headers()) {
            let detail = "say `Content-Type: application/json` or `application/yaml`";
            return Err(Problem::new(Kind::UnsupportedMediaType, detail));
        }
        bytes(request, state, TEXT_BYTES_MAX).await.map(Self)
    }
}

/// The shape of a declarative document.
pub(super) const DOCUMENT: Shape = Shape::Sent(|| "LogicalCloudDocument".into(), document::json_schema, &[]);

impl Input for Text {
    fn describe(operation: Operation) -> Operation {
        operation.takes_body(&MEDIA_TYPES, DOCUMENT, TEXT_BYTES_MAX)
    }
}

impl Text {
    /// The one document of the text, which must be that of the path. A large one keeps no other request from its answer.
    pub(super) async fn read(self, place: &InCloud) -> Result<Document, Problem> {
        if self.0.len() <= AT_ONCE_BYTES_MAX {
            return self.read_at_once(place);
        }
        // Nobody closes it. Waited for here, as whoever asks may leave: nothing stops what has begun.
        let reader = READERS.acquire().await;
        let place = place.clone();
        let reading = tokio::task::spawn_blocking(move || {
            let _reader = reader;
            self.read_at_once(&place)
        });
        reading.await.unwrap_or_else(|error| {
            tracing::error!(error = &error as &dyn std::error::Error, "reading a document broke off");
            Err(Problem::new(Kind::Internal, "the document could not be read"))
        })
    }

    fn read_at_once(&self, InCloud { project, cloud }: &InCloud) -> Result<Document, Problem> {
        let documents =
            document::parse(&self.0, project, &Limits::default()).map_err(|text| refused(&text))?;
        let Ok([document]) = <[Document; 1]>::try_from(documents) else {
            return Err(Problem::new(Kind::Malformed, "the body must be one document"));
        };
        if document.project != *project {
            let rule = format!("must be {project}");
            return Err(Problem::field("metadata.project", rule).told_as(Kind::NameMismatch));
        }
        Problem::of_names(&document.draft.metadata.name, cloud.as_str())?;
        Ok(document)
    }
}

/// What is wrong with a text: that it is none, or which of its fields break rules, each with its place.
pub(in crate::documented) fn refused(text: &RefusedText) -> Problem {
    let refused = text.as_slice();
    if refused.iter().all(|one| one.refusal.path.is_empty()) {
        return Problem::new(Kind::Malformed, text.to_string());
    }
    let placed = |one: &Refused| {
        let Refusal { path, value, rule } = one.refusal.clone();
        Refusal { path, value, rule: format!("{rule} ({})", one.place) }
    };
    Problem::of_refusals(refused.iter().map(placed).collect())
}

fn is_document(headers: &HeaderMap) -> bool {
    is_json(headers) || YAML_TYPES.contains(&&*essence(headers))
}

#[cfg(test)]
mod tests {
    use futures::FutureExt as _;

    use super::*;

    #[tokio::test]
    async fn a_large_text_waits_for_a_reader_and_a_small_one_is_read_at_once() {
        let place = InCloud { project: "p".parse().unwrap(), cloud: "c".parse().unwrap() };
        let text = |items| Text(["a:\n", &"- {}\n".repeat(items)].concat().into_bytes().into());
        let all = READERS.available_permits();
        let readers: Vec<_> = (0..all).map(|_| READERS.try_acquire().unwrap()).collect();
        let mut reading = std::pin::pin!(text(AT_ONCE_BYTES_MAX).read(&place));
        assert!(reading.as_mut().now_or_never().is_none());
        assert!(text(1).read(&place).now_or_never().unwrap().is_err());
        drop(readers);
        assert!(reading.await.is_err());
    }
}
