//! A watch of a cluster as the shell polls it: each event with where it comes from, and its end.

use std::pin::Pin;
use std::task::{Context, Poll, ready};

use dcm_core::manifest::GroupVersionKind;
use dcm_core::name::ClusterId;
use dcm_core::port::cluster::{Error, Watch, WatchEvent};
use futures::stream::{Stream, StreamExt as _};

use super::io::Epoch;

/// What a watch told; none: it ended.
pub(super) type Told = (ClusterId, Epoch, GroupVersionKind, Result<Option<WatchEvent>, Error>);

/// A stream of [`Told`]. A type of its own, as there are some for each cluster: adapters of streams would keep room for
/// whole events in each.
pub(super) struct Telling {
    cluster: ClusterId,
    epoch: Epoch,
    kind: GroupVersionKind,
    /// None when its end was told.
    watch: Option<Watch>,
}

impl Telling {
    pub(super) fn new(cluster: ClusterId, epoch: Epoch, kind: GroupVersionKind, watch: Watch) -> Self {
        Self { cluster, epoch, kind, watch: Some(watch) }
    }
}

impl Stream for Telling {
    type Item = Told;

    fn poll_next(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Option<Told>> {
        let Some(watch) = &mut self.watch else { return Poll::Ready(None) };
        let told = match ready!(watch.poll_next_unpin(context)) {
            Some(event) => event.map(Some),
            None => {
                self.watch = None;
                Ok(None)
            }
        };
        Poll::Ready(Some((self.cluster.clone(), self.epoch, self.kind.clone(), told)))
    }
}
