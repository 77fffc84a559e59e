//! A watch on a simulated cluster: a list in pages, then the changes after it. It holds no queue of its own: it reads the
//! server's bounded log, and ends with `Gone` when it is too far behind.

use std::collections::VecDeque;
use std::future::poll_fn;
use std::pin::pin;
use std::sync::Arc;
use std::time::Duration;

use dcm_core::port::cluster::{Error, Object, Selection, Watch, WatchEvent};
use futures::StreamExt as _;
use futures::future::{Either, select};
use futures::stream;
use jiff::Timestamp;

use super::site::{Look, NextPage, Site};

/// Objects on a page of a list: few, so that lists have pages.
pub(super) const PAGE_OBJECTS: usize = 5;

/// How far one watch is.
struct Watcher {
    site: Arc<Site>,
    id: u64,
    /// The start of the server that it belongs to.
    start: u64,
    selection: Selection,
    revision: u64,
    /// What is not told of the list.
    listed: Option<VecDeque<Object>>,
    /// A page was told of a list that goes on.
    is_listing: bool,
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
    let listed = Some(listed.into());
    let watcher =
        Watcher { site, id, start, selection, revision, listed, is_listing: false, is_broken: false };
    stream::unfold(watcher, |mut watcher| async move {
        let item = watcher.next().await?;
        Some((item, watcher))
    })
    .boxed()
}

impl Watcher {
    async fn next(&mut self) -> Option<Result<WatchEvent, Error>> {
        if self.is_broken {
            return None;
        }
        if let Some(objects) = self.listed.take() {
            return self.list(objects);
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

    /// Tells the next page. The link may break between two, and the server may not keep the list so long.
    fn list(&mut self, mut objects: VecDeque<Object>) -> Option<Result<WatchEvent, Error>> {
        if self.is_listing {
            match self.site.page(self.start, &self.selection) {
                NextPage::AsListed => {}
                NextPage::Anew(listed, revision) => {
                    (self.listed, self.revision, self.is_listing) = (Some(listed.into()), revision, false);
                    return Some(Ok(WatchEvent::Relisting));
                }
                NextPage::Broken(error) => {
                    self.is_broken = true;
                    return Some(Err(error));
                }
            }
        }
        self.is_listing = objects.len() > PAGE_OBJECTS;
        let page = objects.drain(..objects.len().min(PAGE_OBJECTS)).collect();
        if !self.is_listing {
            return Some(Ok(WatchEvent::Listed(page)));
        }
        self.listed = Some(objects);
        Some(Ok(WatchEvent::Listing(page)))
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
