//! The events of a watch: one JSON value on each line of a body that goes on.

use dcm_core::port::cluster::Error;
use futures::stream::{self, BoxStream, StreamExt as _};
use http_body_util::BodyExt as _;
use kube::client::Body;
use kube::core::WatchEvent;
use serde_json::Value;

use crate::failure::{Failure, error_of_client, unreadable};

/// Longest line. An object is at most 1.5 MiB where it is stored, and its JSON is little more; without a limit a broken
/// cluster could take all memory.
const LINE_BYTES_MAX: usize = 16 * 1024 * 1024;

/// What a watch tells.
pub(crate) type Events = BoxStream<'static, Result<WatchEvent<Value>, Failure>>;

/// Reads events until the body ends. A last line without its end is left out: the connection broke in it.
pub(crate) fn read(body: Body) -> Events {
    let lines = Lines { body, received: Vec::new(), searched: 0 };
    stream::try_unfold(lines, |mut lines| async move {
        let Some(line) = lines.next().await? else {
            return Ok(None);
        };
        let event = serde_json::from_slice(&line).map_err(|error| unreadable(&error))?;
        Ok(Some((event, lines)))
    })
    .boxed()
}

struct Lines {
    body: Body,
    received: Vec<u8>,
    /// Up to here there is no end of a line.
    searched: usize,
}

impl Lines {
    async fn next(&mut self) -> Result<Option<Vec<u8>>, Failure> {
        loop {
            if let Some(line) = self.take() {
                return Ok(Some(line));
            }
            if self.received.len() > LINE_BYTES_MAX {
                let what = format!("an event of more than {LINE_BYTES_MAX} bytes");
                return Err(Error::Unsupported { what }.into());
            }
            match self.body.frame().await {
                None => return Ok(None),
                Some(Err(error)) => return Err(error_of_client(error)),
                Some(Ok(frame)) => self.received.extend(frame.into_data().unwrap_or_default()),
            }
        }
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
        Some(std::mem::replace(&mut self.received, rest))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

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

    #[tokio::test]
    async fn what_is_no_event_or_too_long_is_an_error() {
        let garbage = read(Body::from(b"no\n".to_vec())).next().await.unwrap().map(|_| ());
        assert!(matches!(garbage, Err(Failure::Broken(Error::Server { .. }))), "{garbage:?}");
        let endless = Body::from(vec![b' '; LINE_BYTES_MAX + 1]);
        let endless = read(endless).next().await.unwrap().map(|_| ());
        assert!(matches!(endless, Err(Failure::Broken(Error::Unsupported { .. }))), "{endless:?}");
    }
}
