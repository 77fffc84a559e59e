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

/// A stream of [`Told`]; the end of a watch is told once, as its error or as its end. A type of its own, as there are some
/// for each cluster: adapters of streams would keep room for whole events in each.
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
        let told = ready!(watch.poll_next_unpin(context)).transpose();
        if !matches!(told, Ok(Some(_))) {
            self.watch = None;
        }
        Poll::Ready(Some((self.cluster.clone(), self.epoch, self.kind.clone(), told)))
    }
}

#[cfg(test)]
mod tests {
    use dcm_core::port::cluster::WatchEvent::Listed;
    use futures::stream;

    use super::*;

    async fn told(events: Vec<Result<WatchEvent, Error>>) -> Vec<Result<Option<WatchEvent>, Error>> {
        let kind = GroupVersionKind::new("", "v1", "ConfigMap");
        let watch = stream::iter(events).boxed();
        let telling = Telling::new("p/c".parse().unwrap(), Epoch(1), kind, watch);
        telling.map(|(_, _, _, told)| told).collect().await
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
