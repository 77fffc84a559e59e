//! A watch of a cluster as the shell polls it: each event with where it comes from, and its end.

use std::pin::Pin;
use std::task::{Context, Poll, ready};

use dcm_core::manifest::GroupVersionKind;
use dcm_core::name::ClusterId;
use dcm_core::port::cluster::{Error, Watch, WatchEvent};
use futures::channel::oneshot;
use futures::future::{AbortHandle, FutureExt as _};
use futures::stream::{Stream, StreamExt as _};

use super::io::Epoch;

/// An event of a watch.
pub(super) struct Told {
    pub(super) cluster: ClusterId,
    pub(super) epoch: Epoch,
    pub(super) kind: GroupVersionKind,
    /// None: it ended.
    pub(super) event: Result<Option<WatchEvent>, Error>,
    pub(super) turn: Turn,
}

/// The turn of an event: the next one of its watch comes when this is dropped.
pub(super) struct Turn {
    abort: AbortHandle,
    _ends: oneshot::Sender<()>,
}

impl Turn {
    /// True for a watch that counts for nothing any more.
    pub(super) fn is_over(&self) -> bool {
        self.abort.is_aborted()
    }
}

/// A stream of [`Told`]; the end of a watch is told once, as its error or as its end. A type of its own, as there are some
/// for each cluster: adapters of streams would keep room for whole events in each.
pub(super) struct Telling {
    cluster: ClusterId,
    epoch: Epoch,
    kind: GroupVersionKind,
    /// None when its end was told.
    watch: Option<Watch>,
    abort: AbortHandle,
    /// The turn of the last event.
    turn: Option<oneshot::Receiver<()>>,
}

impl Telling {
    pub(super) fn new(
        cluster: ClusterId,
        epoch: Epoch,
        kind: GroupVersionKind,
        watch: Watch,
        abort: AbortHandle,
    ) -> Self {
        Self { cluster, epoch, kind, watch: Some(watch), abort, turn: None }
    }
}

impl Stream for Telling {
    type Item = Told;

    fn poll_next(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Option<Told>> {
        if let Some(turn) = &mut self.turn {
            // It ends by being dropped.
            let _ = ready!(turn.poll_unpin(context));
            self.turn = None;
        }
        let Some(watch) = &mut self.watch else { return Poll::Ready(None) };
        let event = ready!(watch.poll_next_unpin(context)).transpose();
        if !matches!(event, Ok(Some(_))) {
            self.watch = None;
        }
        let (ends, turn) = oneshot::channel();
        self.turn = Some(turn);
        Poll::Ready(Some(Told {
            cluster: self.cluster.clone(),
            epoch: self.epoch,
            kind: self.kind.clone(),
            event,
            turn: Turn { abort: self.abort.clone(), _ends: ends },
        }))
    }
}

#[cfg(test)]
mod tests {
    use dcm_core::port::cluster::WatchEvent::Listed;
    use futures::stream;

    use super::*;

    fn telling(events: Vec<Result<WatchEvent, Error>>) -> Telling {
        let kind = GroupVersionKind::new("", "v1", "ConfigMap");
        let (abort, _) = AbortHandle::new_pair();
        Telling::new("p/c".parse().unwrap(), Epoch(1), kind, stream::iter(events).boxed(), abort)
    }

    async fn told(events: Vec<Result<WatchEvent, Error>>) -> Vec<Result<Option<WatchEvent>, Error>> {
        telling(events).map(|told| told.event).collect().await
    }

    #[tokio::test]
    async fn the_next_event_comes_when_the_turn_of_the_one_before_is_over() {
        let mut telling = telling(vec![Ok(WatchEvent::Relisting), Ok(WatchEvent::Relisting)]);
        let first = telling.next().await.unwrap();
        assert!(telling.next().now_or_never().is_none());
        drop(first);
        assert!(telling.next().now_or_never().is_some());
    }

    #[tokio::test]
    async fn the_end_of_a_watch_is_told_once_and_with_its_error_where_there_is_one() {
        let listed = || Ok(Listed(Vec::new()));
        let ended = told(vec![listed()]).await;
        assert!(matches!(&ended[..], [Ok(Some(Listed(_))), Ok(None)]), "{ended:?}");
        let forbidden = Error::Forbidden { message: "no".into() };
        let failed = told(vec![listed(), Err(forbidden)]).await;
        assert!(matches!(&failed[..], [Ok(Some(Listed(_))), Err(Error::Forbidden { .. })]), "{failed:?}");
    }
}
