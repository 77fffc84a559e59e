//! The events of a watch: one JSON value on each line of a body that goes on.

use std::sync::Arc;
use std::time::Duration;

use dcm_core::port::cluster::Error;
use futures::stream::{self, BoxStream, StreamExt as _};
use hyper::body::Bytes;
use kube::core::WatchEvent;
use serde_json::Value;
use tokio::time::{Instant, timeout};

use crate::apart;
use crate::budget::{Budget, Held, SMALL_BYTES_MAX};
use crate::failure::{Failure, Large, Limit, unreadable};
use crate::slices::slice;
use crate::transport::{Received, Sizes, next_data};

/// How long a large event may take to come to its end, without the time in which it is not read. It holds memory that all clusters share.
const LARGE_EVENT_LIMIT: Duration = Duration::from_secs(30);

/// What a watch tells.
pub(crate) type Events = BoxStream<'static, Result<WatchEvent<Value>, Failure>>;

/// Reads events until the body ends. A last line without its end is left out: the connection broke in it. No event is larger
/// than an object may be; reading is paid for out of the budget.
pub(crate) fn read<B: Received>(body: B, budget: Arc<Budget>, sizes: Sizes) -> Events {
    let lines = Lines { body, budget, sizes, received: Vec::new(), searched: 0, held: None };
    stream::try_unfold(lines, |mut lines| async move {
        let Some(line) = lines.next().await? else {
            return Ok(None);
        };
        let bytes = line.len();
        let read = move || serde_json::from_slice(&line).map_err(|error| unreadable(&error));
        let event = apart::reading(bytes, read).await?;
        Ok(Some((event, lines)))
    })
    .boxed()
}

struct Lines<B> {
    body: B,
    budget: Arc<Budget>,
    sizes: Sizes,
    received: Vec<u8>,
    /// Up to here there is no end of a line.
    searched: usize,
    /// A place for what was received, where that is large, and how long the event may take on.
    held: Option<(Held, Duration)>,
}

impl<B: Received> Lines<B> {
    async fn next(&mut self) -> Result<Option<Vec<u8>>, Failure> {
        loop {
            if let Some(line) = self.take() {
                let values_max = self.sizes.values_max;
                let (is_within, line) = counted(line, values_max).await;
                self.check(is_within, Limit::Values(values_max))?;
                return Ok(Some(line));
            }
            self.check(
                self.received.len() <= self.sizes.object_bytes_max,
                Limit::Bytes(self.sizes.object_bytes_max),
            )?;
            let Some(data) = self.receive().await? else { return Ok(None) };
            if self.held.is_none() && self.received.len() + data.len() > SMALL_BYTES_MAX {
                let held = self.budget.hold(self.sizes.object_bytes_max).await;
                self.held = Some((held, LARGE_EVENT_LIMIT));
            }
            self.budget.pay(data.len()).await;
            self.received.extend_from_slice(&data);
        }
    }

    /// The next part of the body. A large event that does not end gives its place up.
    async fn receive(&mut self) -> Result<Option<Bytes>, Failure> {
        let next = next_data(&mut self.body);
        let Some((_, left)) = &mut self.held else { return next.await };
        let begun = Instant::now();
        let Ok(data) = timeout(*left, next).await else {
            return Err(Error::TimedOut { limit: LARGE_EVENT_LIMIT }.into());
        };
        *left = left.saturating_sub(begun.elapsed());
        data
    }

    fn check(&self, is_within: bool, limit: Limit) -> Result<(), Failure> {
        if is_within { Ok(()) } else { Err(Large { limit, items: 0 }.into()) }
    }

    /// Takes a whole line off what was received.
    fn take(&mut self) -> Option<Vec<u8>> {
        let new = &self.received[self.searched..];
        let Some(end) = new.iter().position(|byte| *byte == b'\n') else {
            self.searched = self.received.len();
            return None;
        };
        let rest = self.received.split_off(self.searched + end + 1);
        self.searched = 0;
        if rest.len() <= SMALL_BYTES_MAX {
            self.held = None;
        } else if let Some((_, left)) = &mut self.held {
            *left = LARGE_EVENT_LIMIT;
        }
        Some(std::mem::replace(&mut self.received, rest))
    }
}

/// A line, and whether it has no more values than it may have.
async fn counted(line: Vec<u8>, values_max: usize) -> (bool, Vec<u8>) {
    if line.len() <= values_max {
        return (true, line);
    }
    apart::reading(line.len(), move || (slice(&line, values_max).values <= values_max, line)).await
}

#[cfg(test)]
mod tests {
    use http_body_util::StreamBody;
    use hyper::body::Frame;
    use kube::client::Body;

    use super::*;
    use crate::options::Options;

    fn read(body: impl Received) -> Events {
        let options = Options { object_bytes_max: 300 * 1024, values_max: 1000, ..Options::default() };
        super::read(body, Arc::new(Budget::new(&options)), Sizes::of(&options))
    }

    #[tokio::test]
    async fn each_line_is_an_event_and_a_torn_one_is_left_out() {
        let line =
            |kind: &str, name: &str| format!("{{\"type\":\"{kind}\",\"object\":{{\"name\":\"{name}\"}}}}\n");
        let text = [line("ADDED", "a"), line("MODIFIED", "b"), line("DELETED", "torn")].concat();
        let body = Body::from(text.as_bytes()[..text.len() - 2].to_vec());
        let told: Vec<_> = read(body).collect().await;
        let names: Vec<String> = told
            .into_iter()
            .map(|event| match event.unwrap() {
                WatchEvent::Added(object) | WatchEvent::Modified(object) => object["name"].to_string(),
                event => panic!("{event:?}"),
            })
            .collect();
        assert_eq!(names, ["\"a\"", "\"b\""]);
    }

    #[tokio::test(start_paused = true)]
    async fn a_large_event_that_does_not_end_gives_its_place_up_and_a_small_one_may_take_its_time() {
        let begun = |bytes: usize| {
            let data = Frame::data(Bytes::from(vec![b' '; bytes]));
            let parts = stream::iter([Ok::<_, kube::Error>(data)]).chain(stream::pending());
            read(StreamBody::new(parts))
        };
        let started = Instant::now();
        let large = begun(SMALL_BYTES_MAX + 1).next().await.unwrap().map(|_| ());
        assert!(matches!(large, Err(Failure::Broken(Error::TimedOut { .. }))), "{large:?}");
        assert_eq!(started.elapsed(), LARGE_EVENT_LIMIT);
        let mut small = begun(SMALL_BYTES_MAX);
        assert!(timeout(10 * LARGE_EVENT_LIMIT, small.next()).await.is_err());
    }

    #[tokio::test(start_paused = true)]
    async fn the_time_of_a_large_event_is_its_own_and_none_in_which_nothing_is_read() {
        let event =
            format!("{{\"type\":\"ADDED\",\"object\":{{\"text\":\"{}\"}}}}\n", "x".repeat(SMALL_BYTES_MAX));
        let (first, second) = event.split_at(100);
        // The second event begins in the part with which the first ends.
        let parts = [first.to_owned(), format!("{second}{}", &event[..event.len() - 1]), "\n".to_owned()];
        let parts = stream::iter(parts).then(async |part| {
            tokio::time::sleep(LARGE_EVENT_LIMIT * 2 / 3).await;
            Ok::<_, kube::Error>(Frame::data(Bytes::from(part)))
        });
        let mut events = read(StreamBody::new(parts.boxed()));
        assert!(events.next().await.unwrap().is_ok());
        tokio::time::sleep(10 * LARGE_EVENT_LIMIT).await;
        assert!(events.next().await.unwrap().is_ok());
    }

    #[tokio::test]
    async fn what_is_no_event_or_too_long_is_an_error() {
        let garbage = read(Body::from(b"no\n".to_vec())).next().await.unwrap().map(|_| ());
        assert!(matches!(garbage, Err(Failure::Broken(Error::Server { .. }))), "{garbage:?}");
        let endless = vec![b' '; 300 * 1024 + 1];
        let many = format!("[{}0]\n", "0,".repeat(1000)).into_bytes();
        for large in [endless, many] {
            let large = read(Body::from(large)).next().await.unwrap().map(|_| ());
            assert!(matches!(large, Err(Failure::Large(_))), "{large:?}");
        }
    }
}
