use std::sync::atomic::AtomicUsize;

use dcm_core::service::Kind;
use dcm_sync::runtime::TokioClock;
use futures::FutureExt as _;
use futures::channel::mpsc;
use serde_json::{Value, json};

use super::*;

/// Where who follows a cloud is told of it.
type Statuses = mpsc::UnboundedSender<Result<CloudStatus, Error>>;

/// A cloud that is followed.
struct Cloud {
    broadcasts: Broadcasts,
    clock: Arc<dyn Clock>,
    /// How often it was begun to follow it.
    begun: Arc<AtomicUsize>,
    /// By whom it is followed now.
    followed: Arc<Mutex<Option<Statuses>>>,
    /// Its status when somebody begins to follow it; none when it is gone.
    status: Arc<Mutex<Option<CloudStatus>>>,
}

fn status(edit: u64) -> CloudStatus {
    status_of(edit, "0000000000000001")
}

fn status_of(edit: u64, uid: &str) -> CloudStatus {
    let change = json!({"at": "2026-01-01T00:00:00Z", "by": "ann"});
    let status = json!({"project": "p", "name": "c", "uid": uid, "state": "created", "edit": edit, "isEdited": true,
        "isInterrupted": false, "created": change, "changed": change, "warnings": [], "clusters": {}, "credentials": {}});
    serde_json::from_value(status).unwrap()
}

impl Cloud {
    fn new() -> Self {
        Self {
            broadcasts: Broadcasts::default(),
            clock: Arc::new(TokioClock::new()),
            begun: Arc::default(),
            followed: Arc::default(),
            status: Arc::new(Mutex::new(Some(status(1)))),
        }
    }

    async fn join(&self) -> Result<Listener, Problem> {
        let follow = || -> Follow {
            let (begun, followed, status) = (self.begun.clone(), self.followed.clone(), self.status.clone());
            Box::new(move || {
                begun.fetch_add(1, Ordering::AcqRel);
                let (sender, later) = mpsc::unbounded();
                *followed.lock().unwrap() = Some(sender);
                let first = status.lock().unwrap().clone();
                let missing =
                    Error::NotFound { kind: Kind::LogicalCloud, name: "c".to_owned(), project: None };
                let statuses = first.ok_or(missing);
                let statuses = statuses.map(|first| futures::stream::iter([Ok(first)]).chain(later).boxed());
                futures::future::ready(statuses).boxed()
            })
        };
        let followed = ("p".parse().unwrap(), "c".parse().unwrap(), Reader::Member);
        self.broadcasts.join(&followed, &self.clock, follow).await
    }

    /// Is told to whoever follows.
    fn becomes(&self, status: CloudStatus) {
        *self.status.lock().unwrap() = Some(status.clone());
        self.followed.lock().unwrap().as_ref().unwrap().unbounded_send(Ok(status)).unwrap();
    }

    fn is_deleted(&self) {
        *self.status.lock().unwrap() = None;
        self.followed.lock().unwrap().take();
    }
}

fn data(event: &Bytes) -> (String, Value) {
    let text = std::str::from_utf8(event).unwrap();
    let field =
        |name: &str| text.lines().find_map(|line| line.strip_prefix(name)?.strip_prefix(": ")).unwrap();
    (field("event").to_owned(), serde_json::from_str(field("data")).unwrap())
}

#[tokio::test(start_paused = true)]
async fn all_who_follow_a_cloud_have_one_task_that_writes_each_change_once() {
    let cloud = Cloud::new();
    let joins: Vec<_> = (0..100).map(|_| cloud.join()).collect();
    let mut listeners: Vec<Listener> =
        futures::future::join_all(joins).await.into_iter().map(Result::unwrap).collect();
    // All began at once, and had one look.
    assert_eq!(cloud.begun.load(Ordering::Acquire), 1);
    let firsts: Vec<Bytes> = listeners.iter().map(Listener::first).collect();
    assert_eq!(data(&firsts[0]), ("status".to_owned(), serde_json::to_value(status(1)).unwrap()));
    assert!(firsts.iter().all(|first| first.as_ptr() == firsts[0].as_ptr()));
    cloud.becomes(status(2));
    let mut changes = Vec::new();
    for listener in &mut listeners {
        changes.push(listener.next().await.unwrap());
    }
    assert_eq!(data(&changes[0]), ("change".to_owned(), json!({"edit": 2})));
    assert!(changes.iter().all(|change| change.as_ptr() == changes[0].as_ptr()));
    assert_eq!(cloud.begun.load(Ordering::Acquire), 1);
}

#[tokio::test(start_paused = true)]
async fn who_begins_late_is_told_what_is_so_then_and_the_others_what_of_it_is_new() {
    let cloud = Cloud::new();
    let mut early = cloud.join().await.unwrap();
    // What changes with the time alone, nobody tells.
    *cloud.status.lock().unwrap() = Some(status(7));
    let late = cloud.join().await.unwrap();
    assert_eq!(data(&late.first()).1["edit"], 7);
    assert_eq!(data(&early.next().await.unwrap()), ("change".to_owned(), json!({"edit": 7})));
}

#[tokio::test(start_paused = true)]
async fn who_is_slow_has_the_newest_as_one_change() {
    let cloud = Cloud::new();
    let (mut quick, mut slow) = (cloud.join().await.unwrap(), cloud.join().await.unwrap());
    for edit in [2, 3, 4] {
        cloud.becomes(status(edit));
        assert_eq!(data(&quick.next().await.unwrap()).1, json!({"edit": edit}));
    }
    assert_eq!(data(&slow.next().await.unwrap()).1, json!({"edit": 4}));
}

#[tokio::test(start_paused = true)]
async fn it_ends_with_the_cloud_and_another_one_of_its_name_is_begun_anew() {
    let cloud = Cloud::new();
    let mut listener = cloud.join().await.unwrap();
    cloud.is_deleted();
    assert!(matches!(listener.next().await, Err(End::Deleted)));
    assert!(
        matches!(cloud.join().await, Err(problem) if problem.kind() == crate::documented::problem::Kind::NotFound)
    );
    *cloud.status.lock().unwrap() = Some(status(1));
    let mut listener = cloud.join().await.unwrap();
    *cloud.status.lock().unwrap() = Some(status_of(1, "0000000000000002"));
    let other = cloud.join().await.unwrap();
    assert!(matches!(listener.next().await, Err(End::Deleted)));
    assert_eq!(data(&other.first()).0, "status");
}

#[tokio::test(start_paused = true)]
async fn the_task_ends_when_nobody_follows() {
    let cloud = Cloud::new();
    let listeners = [cloud.join().await.unwrap(), cloud.join().await.unwrap()];
    let followed = cloud.followed.lock().unwrap().clone().unwrap();
    drop(listeners);
    tokio::task::yield_now().await;
    assert!(followed.is_closed());
}
