//! What a watch of etcd tells, as ours does.

use dcm_core::port::store::{Change, Error, Watch};
use futures::{StreamExt as _, stream};
use tonic::Streaming;

use super::api::{EVENT_DELETE, Event, WatchCreateRequest, WatchRequest, WatchResponse, method};
use super::connection::Connection;
use super::keys::{Keys, Range};

/// Follows a range after a revision. It is known to the member that is asked when this returns.
pub(super) async fn follow(
    connection: &Connection,
    keys: Keys,
    range: Range,
    revision: i64,
) -> Result<Watch, Error> {
    let create = WatchCreateRequest {
        key: range.first,
        range_end: range.end,
        start_revision: revision + 1,
        fragment: true,
    };
    let answers = connection.follow(method::WATCH, WatchRequest { create: Some(create) }).await?;
    Ok(told(answers, keys))
}

/// Tells changes until something may be missed.
fn told(answers: Streaming<WatchResponse>, keys: Keys) -> Watch {
    let next = move |following: Option<Streaming<WatchResponse>>| {
        let keys = keys.clone();
        async move {
            let mut answers = following?;
            Some(match answers.message().await {
                Ok(Some(answer)) if !answer.canceled => (changes(answer, &keys), Some(answers)),
                _ => (vec![Change::Lost], None),
            })
        }
    };
    stream::unfold(Some(answers), next).flat_map(stream::iter).boxed()
}

/// What an answer tells of our keys.
fn changes(answer: WatchResponse, keys: &Keys) -> Vec<Change> {
    answer.events.into_iter().filter_map(|event| change(event, keys)).collect()
}

fn change(Event { kind, kv }: Event, keys: &Keys) -> Option<Change> {
    let kv = kv?;
    if kind == EVENT_DELETE {
        return keys.path(&kv.key).map(Change::Deleted);
    }
    keys.entry(kv).map(Change::Put)
}
