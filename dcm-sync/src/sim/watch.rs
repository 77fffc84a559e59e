//! A watch on a simulated cluster: a list, then the changes after it. It holds no queue of its own: it reads the
//! server's bounded log, and ends with `Gone` when it is too far behind.

use std::future::poll_fn;
use std::pin::pin;
use std::sync::Arc;
use std::time::Duration;

use dcm_core::port::cluster::{Error, Object, Selection, Watch, WatchEvent};
use futures::StreamExt as _;
use futures::future::{Either, select};
use futures::stream;
use jiff::Timestamp;

use super::site::{Look, Site};

/// How far one watch is.
struct Watcher {
    site: Arc<Site>,
    id: u64,
    /// The start of the server that it belongs to.
    start: u64,
    selection: Selection,
    revision: u64,
    listed: Option<Vec<Object>>,
    is_broken: bool,
}

impl Drop for Watcher {
    fn drop(&mut self) {
        self.site.drop_watcher(self.id);
    }
}

/// Follows what happens after a list.
pub(super) fn watch(site: Arc<Site>, selection: Selection, listed: Vec<Object>, revision: u64) -> Watch {
    let (id, start) = site.add_watcher();
    let watcher = Watcher { site, id, start, selection, revision, listed: Some(listed), is_broken: false };
    stream::unfold(watcher, |mut watcher| async move {
        let item = watcher.next().await?;
        Some((item, watcher))
    })
    .boxed()
}

impl Watcher {
    async fn next(&mut self) -> Option<Result<WatchEvent, Error>> {
        if let Some(objects) = self.listed.take() {
            return Some(Ok(WatchEvent::Listed(objects)));
        }
        if self.is_broken {
            return None;
        }
        loop {
            match self.site.look(self.start, self.revision, &self.selection) {
                Look::Saw(seen) => {
                    let (revision, event) = *seen;
                    self.revision = revision;
                    if let Some((_, event)) = event {
                        return Some(Ok(event));
                    }
                }
                Look::Broken(error) => {
                    self.is_broken = true;
                    return error.map(Err);
                }
                Look::Later { stirred, at } => self.wait(stirred, at).await,
            }
        }
    }

    async fn wait(&self, stirred: u64, at: Option<Timestamp>) {
        let stirring = poll_fn(|context| self.site.poll_stirred(self.id, stirred, context));
        match at {
            None => stirring.await,
            Some(at) => {
                let left =
                    Duration::try_from(at.duration_since(self.site.clock.now())).unwrap_or(Duration::ZERO);
                match select(pin!(stirring), self.site.clock.sleep(left)).await {
                    Either::Left(((), _)) | Either::Right(((), _)) => {}
                }
            }
        }
    }
}
