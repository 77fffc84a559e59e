//! A logical cloud that is followed.

use std::time::Duration;

use dcm_core::service::CloudStatus;
use futures::stream::{self, BoxStream, Stream, StreamExt as _};
use http::StatusCode;
use http_body_util::BodyDataStream;
use hyper::body::{Bytes, Incoming};
use serde::Deserialize as _;
use serde_json::Value;
use sse_stream::{Sse, SseByteStream};

use crate::connection::{ANSWER_BYTES_MAX, Connection};
use crate::error::Error;
use crate::problem::Problem;

/// How long nothing may come: a server gives a sign of life every 15 seconds.
pub const SILENCE_MAX: Duration = Duration::from_secs(45);

/// What is told of a logical cloud that is followed.
#[derive(Debug, Clone, PartialEq)]
#[non_exhaustive]
pub enum Event {
    /// Its status, at first and after each change.
    Status(Box<CloudStatus>),
    /// It is no more. Nothing follows.
    Deleted,
}

/// What is told of a logical cloud that is followed, as it comes. It ends when the server ends it, and after an error.
pub type Events = BoxStream<'static, Result<Event, Error>>;

/// The events of an answer.
pub(crate) fn of(connection: Connection, body: Incoming) -> Events {
    let read = SseByteStream::new(Box::pin(lively(BodyDataStream::new(body))));
    let told = Told { connection, status: Value::Null };
    let events = stream::unfold(Some((read, told)), |reading| async {
        let (mut read, mut told) = reading?;
        loop {
            let event = match read.next().await? {
                Ok(raw) => told.hear(raw),
                Err(error) => Err(told.connection.silent(error)),
            };
            let rest = match &event {
                Ok(Some(Event::Status(_)) | None) => Some((read, told)),
                Ok(Some(Event::Deleted)) | Err(_) => None,
            };
            match (event.transpose(), rest) {
                (Some(event), rest) => return Some((event, rest)),
                (None, Some(again)) => (read, told) = again,
                (None, None) => return None,
            }
        }
    });
    events.boxed()
}

/// Pieces of an answer, which fails when nothing comes for too long, or an event has no end.
fn lively<S>(pieces: S) -> impl Stream<Item = Result<Bytes, std::io::Error>>
where
    S: Stream<Item = Result<Bytes, hyper::Error>> + Unpin,
{
    stream::unfold(Some((pieces, 0)), |reading| async {
        let (mut pieces, mut bytes) = reading?;
        match tokio::time::timeout(SILENCE_MAX, pieces.next()).await {
            Ok(None) => None,
            Ok(Some(Ok(piece))) => {
                bytes = length_after(bytes, &piece);
                if bytes > ANSWER_BYTES_MAX {
                    return Some((Err(std::io::ErrorKind::FileTooLarge.into()), None));
                }
                Some((Ok(piece), Some((pieces, bytes))))
            }
            Ok(Some(Err(error))) => Some((Err(std::io::Error::other(error)), None)),
            Err(_) => Some((Err(std::io::ErrorKind::TimedOut.into()), None)),
        }
    })
}

/// How many bytes of an event there are after a piece, by the empty line that ends one. Where that is cut by two pieces it is not seen:
/// then the next one counts.
fn length_after(before: usize, piece: &[u8]) -> usize {
    match piece.windows(2).rposition(|pair| pair == b"\n\n") {
        Some(end) => piece.len() - end - 2,
        None => before.saturating_add(piece.len()),
    }
}

/// What was told so far.
struct Told {
    connection: Connection,
    /// The last status, as it came.
    status: Value,
}

impl Told {
    /// What an event of the server means; nothing for one that is not known here.
    fn hear(&mut self, event: Sse) -> Result<Option<Event>, Error> {
        let data = event.data.unwrap_or_default();
        let unreadable = |error| self.connection.unreadable(StatusCode::OK, error);
        match event.event.as_deref() {
            Some("status") => self.status = serde_json::from_str(&data).map_err(unreadable)?,
            Some("change") => {
                let patch = serde_json::from_str(&data).map_err(unreadable)?;
                json_patch::merge(&mut self.status, &patch);
            }
            Some("deleted") => return Ok(Some(Event::Deleted)),
            Some("error") => {
                let problem = Problem::read(StatusCode::INTERNAL_SERVER_ERROR, data.as_bytes());
                return Err(Error::Problem(Box::new(problem)));
            }
            _ => return Ok(None),
        }
        let status = CloudStatus::deserialize(&self.status).map_err(unreadable)?;
        Ok(Some(Event::Status(Box::new(status))))
    }
}
