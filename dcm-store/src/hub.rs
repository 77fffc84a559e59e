//! Tells watches what changed. A watch keeps the latest change of each path until its reader takes it, so a slow reader
//! costs as much as it has paths, however often they change. Beyond a bound it is told [`Change::Lost`].

use std::collections::{BTreeMap, VecDeque};
use std::pin::Pin;
use std::sync::{Arc, Mutex, Weak};
use std::task::{Context, Poll, Waker};

use dcm_core::port::store::{Change, Path, Prefix, Watch};
use futures::Stream;

use crate::lock::lock;

/// Most paths whose change a slow reader has not taken yet: the whole of a large store.
pub(crate) const PENDING_MAX: usize = 100_000;

/// Most bytes of documents that a slow reader has not taken yet.
pub(crate) const PENDING_BYTES_MAX: usize = 64 * 1024 * 1024;

/// Where changes go in, and watches come out.
pub(crate) struct Hub {
    subscriptions: Arc<Mutex<Subscriptions>>,
    pending_max: usize,
}

/// The queues by the prefix that they follow: a change looks up the folders above it, not all watches.
#[derive(Default)]
struct Subscriptions {
    numbered: u64,
    by_prefix: BTreeMap<Box<str>, BTreeMap<u64, Arc<Mutex<Queue>>>>,
}

impl Hub {
    /// A hub whose watches keep at most so many paths.
    pub(crate) fn new(pending_max: usize) -> Self {
        Self { subscriptions: Arc::default(), pending_max }
    }

    /// True when nobody watches.
    #[cfg(any(feature = "sqlite", feature = "mongodb"))]
    pub(crate) fn is_empty(&self) -> bool {
        lock(&self.subscriptions).by_prefix.is_empty()
    }

    /// True when somebody is told what becomes of it.
    #[cfg(feature = "mongodb")]
    pub(crate) fn is_followed(&self, path: &Path) -> bool {
        let subscriptions = lock(&self.subscriptions);
        folders(path).any(|folder| subscriptions.by_prefix.contains_key(folder))
    }

    /// Follows what is published from now on.
    pub(crate) fn subscribe(&self, prefix: &Prefix) -> Watch {
        let prefix: Box<str> = prefix.as_str().into();
        let queue = Arc::new(Mutex::new(Queue::new(self.pending_max)));
        let mut subscriptions = lock(&self.subscriptions);
        subscriptions.numbered += 1;
        let number = subscriptions.numbered;
        subscriptions.by_prefix.entry(prefix.clone()).or_default().insert(number, queue.clone());
        Box::pin(Subscription { queue, hub: Arc::downgrade(&self.subscriptions), prefix, number })
    }

    /// Tells all watches that follow these paths. The caller keeps the order: later calls tell later states.
    pub(crate) fn publish(&self, changes: &[Change]) {
        let mut wakers = Vec::new();
        let subscriptions = lock(&self.subscriptions);
        if subscriptions.by_prefix.is_empty() {
            return;
        }
        for change in changes {
            let path = match change {
                Change::Put(entry) => &entry.path,
                Change::Deleted(path) => path,
                Change::Lost => continue,
            };
            for folder in folders(path) {
                for queue in subscriptions.by_prefix.get(folder).into_iter().flat_map(BTreeMap::values) {
                    wakers.extend(lock(queue).push(path, change));
                }
            }
        }
        // Waking can run code of others, which may drop a watch: not under the lock.
        drop(subscriptions);
        wakers.into_iter().for_each(Waker::wake);
    }

    /// Ends all watches: something may have been missed.
    pub(crate) fn lose_all(&self) {
        let ended = std::mem::take(&mut lock(&self.subscriptions).by_prefix);
        let queues = ended.values().flat_map(BTreeMap::values);
        let wakers: Vec<Waker> = queues.filter_map(|queue| lock(queue).lose()).collect();
        wakers.into_iter().for_each(Waker::wake);
    }
}

impl Drop for Hub {
    fn drop(&mut self) {
        self.lose_all();
    }
}

/// The prefixes that hold a path.
fn folders(path: &Path) -> impl Iterator<Item = &str> {
    let text = path.as_str();
    std::iter::once("").chain(text.match_indices('/').map(move |(slash, _)| &text[..=slash]))
}

/// What one watch has not told yet.
struct Queue {
    state: State,
    pending_max: usize,
    waker: Option<Waker>,
}

enum State {
    /// The latest change of each path, the paths in the order of their first untold change, and how many bytes of documents
    /// that is.
    Following { latest: BTreeMap<Path, Change>, order: VecDeque<Path>, bytes: usize },
    /// To be told that it lost something.
    Lost,
    /// Told so; nothing comes any more.
    Ended,
}

impl Queue {
    fn new(pending_max: usize) -> Self {
        let state = State::Following { latest: BTreeMap::new(), order: VecDeque::new(), bytes: 0 };
        Self { state, pending_max, waker: None }
    }

    fn push(&mut self, path: &Path, change: &Change) -> Option<Waker> {
        let State::Following { latest, order, bytes } = &mut self.state else {
            return None;
        };
        *bytes += bytes_of(change);
        match latest.insert(path.clone(), change.clone()) {
            Some(earlier) => *bytes -= bytes_of(&earlier),
            None => order.push_back(path.clone()),
        }
        if latest.len() > self.pending_max || *bytes > PENDING_BYTES_MAX {
            self.state = State::Lost;
        }
        self.waker.take()
    }

    fn lose(&mut self) -> Option<Waker> {
        if let State::Following { .. } = self.state {
            self.state = State::Lost;
        }
        self.waker.take()
    }

    fn pop(&mut self) -> Poll<Option<Change>> {
        match &mut self.state {
            State::Following { latest, order, bytes } => {
                match order.pop_front().and_then(|path| latest.remove(&path)) {
                    Some(change) => {
                        *bytes -= bytes_of(&change);
                        Poll::Ready(Some(change))
                    }
                    None => Poll::Pending,
                }
            }
            State::Lost => {
                self.state = State::Ended;
                Poll::Ready(Some(Change::Lost))
            }
            State::Ended => Poll::Ready(None),
        }
    }
}

pub(crate) fn bytes_of(change: &Change) -> usize {
    match change {
        Change::Put(entry) => entry.document.as_str().len(),
        Change::Deleted(_) | Change::Lost => 0,
    }
}

/// The reader's side of a queue.
struct Subscription {
    queue: Arc<Mutex<Queue>>,
    hub: Weak<Mutex<Subscriptions>>,
    prefix: Box<str>,
    number: u64,
}

impl Stream for Subscription {
    type Item = Change;

    fn poll_next(self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Option<Change>> {
        let mut queue = lock(&self.queue);
        let next = queue.pop();
        if next.is_pending() {
            queue.waker = Some(context.waker().clone());
        }
        next
    }
}

impl Drop for Subscription {
    fn drop(&mut self) {
        let Some(hub) = self.hub.upgrade() else { return };
        let mut subscriptions = lock(&hub);
        let Some(queues) = subscriptions.by_prefix.get_mut(&self.prefix) else {
            return;
        };
        queues.remove(&self.number);
        if queues.is_empty() {
            subscriptions.by_prefix.remove(&self.prefix);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use dcm_core::port::store::{Document, Entry, Version};
    use futures::{FutureExt, StreamExt};

    fn put(path: &str, version: u64) -> Change {
        let document = Document::from_stored("{}");
        Change::Put(Entry { path: Path::new(path).unwrap(), version: Version(version), document })
    }

    fn told(watch: &mut Watch) -> Vec<Change> {
        std::iter::from_fn(|| watch.next().now_or_never().flatten()).collect()
    }

    fn below(folder: &str) -> Prefix {
        Prefix::below(&Path::new(folder).unwrap())
    }

    #[test]
    fn a_slow_reader_gets_the_latest_of_each_path_and_no_path_starves() {
        let hub = Hub::new(PENDING_MAX);
        let mut watch = hub.subscribe(&Prefix::everything());
        hub.publish(&[put("b", 1), put("a", 2), put("b", 3), put("a", 4)]);
        assert_eq!(told(&mut watch), [put("b", 3), put("a", 4)]);
    }

    #[test]
    fn a_reader_that_is_too_slow_is_told_that_it_lost_something() {
        let hub = Hub::new(2);
        let mut watch = hub.subscribe(&below("x"));
        hub.publish(&[put("x/a", 1), put("x/b", 2), put("y", 3), put("x/c", 4), put("x/a", 5)]);
        assert_eq!(told(&mut watch), [Change::Lost]);
        assert_eq!(watch.next().now_or_never(), Some(None));
    }

    #[test]
    fn large_documents_that_nobody_takes_are_lost_before_they_fill_the_memory() {
        let hub = Hub::new(PENDING_MAX);
        let mut watch = hub.subscribe(&Prefix::everything());
        let document = Document::from_stored("x".repeat(PENDING_BYTES_MAX / 4));
        let put = |path: &str, version| {
            let path = Path::new(path).unwrap();
            Change::Put(Entry { path, version: Version(version), document: document.clone() })
        };
        for version in 0..8 {
            hub.publish(&[put("a", version), put("b", version), put("c", version)]);
        }
        assert_eq!(told(&mut watch), [put("a", 7), put("b", 7), put("c", 7)]);
        hub.publish(&["a", "b", "c", "d"].map(|path| put(path, 8)));
        assert_eq!(told(&mut watch).len(), 4);
        hub.publish(&["a", "b", "c", "d", "e"].map(|path| put(path, 9)));
        assert_eq!(told(&mut watch), [Change::Lost]);
    }

    #[test]
    fn a_watch_sees_its_own_folder_only() {
        let hub = Hub::new(PENDING_MAX);
        let mut watch = hub.subscribe(&below("x/y"));
        hub.publish(&[put("x/y", 1), put("x/y/z", 2), put("x/y2", 3), put("x/y/z/z", 4)]);
        assert_eq!(told(&mut watch), [put("x/y/z", 2), put("x/y/z/z", 4)]);
        #[cfg(feature = "mongodb")]
        assert_eq!(
            ["x/y", "x/y/z", "x/y2", "x/y/z/z"].map(|path| hub.is_followed(&Path::new(path).unwrap())),
            [false, true, false, true]
        );
    }

    #[test]
    fn a_dropped_watch_leaves_nothing_behind_and_a_dropped_hub_ends_its_watches() {
        let hub = Hub::new(PENDING_MAX);
        drop(hub.subscribe(&below("x")));
        assert!(lock(&hub.subscriptions).by_prefix.is_empty());
        let mut watch = hub.subscribe(&below("x"));
        drop(hub);
        assert_eq!(told(&mut watch), [Change::Lost]);
    }
}
