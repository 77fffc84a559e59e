//! Promises about `watch`.

use std::collections::BTreeMap;
use std::pin::pin;

use dcm_core::manifest::{GroupVersionKind, ObjectKey};
use dcm_core::port::cluster::{Error, LABEL_OWNER, Object, Selection, Watch, WatchEvent};
use futures::StreamExt as _;
use futures::future::{Either, select};
use serde_json::json;

use super::subject::{Subject, config_map, key, kind, must};

/// Objects of a long list: more than a page of the simulated clusters has, and than tests ask real ones for.
pub(super) const LONG: usize = 8;

/// Keeps what a watch tells, and watches again when it ends: what a user of the port does.
pub(super) struct Follower<'a> {
    subject: &'a Subject,
    selection: Selection,
    watch: Watch,
    known: BTreeMap<ObjectKey, Object>,
    /// What has come of a list that goes on.
    listing: Vec<Object>,
}

impl<'a> Follower<'a> {
    pub(super) async fn new(subject: &'a Subject, kind: GroupVersionKind) -> Self {
        let selection = Selection { kind, owner: subject.call.owner.clone() };
        let watch = must(subject.cluster.watch(&subject.call, &selection).await, "watch");
        Self { subject, selection, watch, known: BTreeMap::new(), listing: Vec::new() }
    }

    /// The next thing told, within the subject's patience.
    async fn next(&mut self, what: &str) -> Option<Result<WatchEvent, Error>> {
        let patience = self.subject.clock.sleep(self.subject.patience);
        match select(pin!(self.watch.next()), patience).await {
            Either::Left((item, _)) => item,
            Either::Right(((), _)) => panic!("waited {:?} for {what}", self.subject.patience),
        }
    }

    /// The list that the watch begins with.
    async fn list(&mut self) -> Vec<Object> {
        loop {
            match self.next("the list").await {
                Some(Ok(WatchEvent::Listing(objects))) => self.listing.extend(objects),
                Some(Ok(WatchEvent::Relisting)) => self.listing.clear(),
                Some(Ok(WatchEvent::Listed(objects))) => {
                    return std::mem::take(&mut self.listing).into_iter().chain(objects).collect();
                }
                other => panic!("the watch begins with no list: {other:?}"),
            }
        }
    }

    /// Follows until what is known is so.
    pub(super) async fn until(&mut self, what: &str, is_so: impl Fn(&BTreeMap<ObjectKey, Object>) -> bool) {
        let began = self.subject.clock.now();
        while !is_so(&self.known) {
            let waited = self.subject.clock.now().duration_since(began).unsigned_abs();
            assert!(waited < self.subject.patience, "waited {waited:?} for {what}");
            match self.next(what).await {
                Some(Ok(event)) => self.take(event),
                Some(Err(_)) | None => {
                    let watch = self.subject.cluster.watch(&self.subject.call, &self.selection).await;
                    self.watch = must(watch, "watch again");
                    self.listing.clear();
                }
            }
        }
    }

    fn take(&mut self, event: WatchEvent) {
        match event {
            WatchEvent::Relisting => self.listing.clear(),
            WatchEvent::Listing(objects) => self.listing.extend(objects),
            WatchEvent::Listed(objects) => {
                let listed = std::mem::take(&mut self.listing).into_iter().chain(objects);
                self.known = listed.map(|object| (object.key.clone(), object)).collect();
            }
            WatchEvent::Applied(object) => {
                self.known.insert(object.key.clone(), object);
            }
            WatchEvent::Deleted(object) => {
                self.known.remove(&object.key);
            }
        }
    }
}

/// The first event is `Listed`, with all there is of the kind and owner, and nothing else.
pub async fn a_watch_begins_with_what_is_there(subject: &Subject) {
    let namespace = subject.namespace("watch-list").await;
    let ours = config_map(&namespace, "ours", &json!({"color": "red"}));
    let theirs = config_map(&namespace, "theirs", &json!({"color": "red"}));
    let made = subject.create(&ours).await;
    must(subject.other.create(&theirs).await, "a creation by somebody else");
    let mut follower = Follower::new(subject, kind(&ours)).await;
    let objects = follower.list().await;
    let listed: Vec<&Object> =
        objects.iter().filter(|object| object.key.namespace.as_deref() == Some(&namespace)).collect();
    assert_eq!(listed.len(), 1, "{listed:?}");
    assert_eq!((&listed[0].key, &listed[0].uid), (&made.key, &made.uid));
    assert_eq!(listed[0].marks, made.marks);
    assert_eq!(listed[0].body["data"]["color"], "red");
    subject.clean_up("watch-list").await;
}

/// A list that has several pages is told page by page, each object once, and then its end.
pub async fn a_watch_tells_a_long_list_in_pages(subject: &Subject) {
    let namespace = subject.namespace("watch-pages").await;
    let bodies: Vec<_> =
        (0..LONG).map(|n| config_map(&namespace, &format!("c{n}"), &json!({"color": "red"}))).collect();
    for body in &bodies {
        subject.create(body).await;
    }
    let mut follower = Follower::new(subject, kind(&bodies[0])).await;
    let objects = follower.list().await;
    let listed = objects.iter().filter(|object| object.key.namespace.as_deref() == Some(&namespace));
    let mut listed: Vec<_> = listed.map(|object| object.key.clone()).collect();
    listed.sort();
    assert_eq!(listed, bodies.iter().map(key).collect::<Vec<_>>());
    subject.delete(&bodies[0]).await;
    follower.known = objects.into_iter().map(|object| (object.key.clone(), object)).collect();
    follower.until("what was deleted to go", |known| !known.contains_key(&key(&bodies[0]))).await;
    subject.clean_up("watch-pages").await;
}

/// What is made, changed and deleted after the list is told.
pub async fn a_watch_tells_later_changes(subject: &Subject) {
    let namespace = subject.namespace("watch").await;
    let body = config_map(&namespace, "c", &json!({"color": "red"}));
    let mut follower = Follower::new(subject, kind(&body)).await;
    let color = |known: &BTreeMap<ObjectKey, Object>| {
        known
            .get(&key(&body))
            .map(|object| object.body["data"]["color"].as_str().unwrap_or_default().to_owned())
    };
    subject.create(&body).await;
    follower.until("what was made", |known| color(known).as_deref() == Some("red")).await;
    subject.edit(&body, json!({"data": {"color": "blue"}})).await;
    follower.until("what somebody else changed", |known| color(known).as_deref() == Some("blue")).await;
    subject.delete(&body).await;
    follower.until("what was deleted to go", |known| color(known).is_none()).await;
    subject.clean_up("watch").await;
}

/// Objects of others, and without an owner, are not told; what loses our label is told as deleted.
pub async fn a_watch_sees_its_owner_only(subject: &Subject) {
    let namespace = subject.namespace("watch-owner").await;
    let ours = config_map(&namespace, "ours", &json!({}));
    let mut theirs = config_map(&namespace, "theirs", &json!({}));
    theirs["metadata"]["labels"] = json!({LABEL_OWNER: "another-owner"});
    let mut follower = Follower::new(subject, kind(&ours)).await;
    must(subject.other.create(&theirs).await, "a creation by somebody else");
    must(
        subject.other.create(&config_map(&namespace, "nobodys", &json!({}))).await,
        "a creation by somebody else",
    );
    subject.create(&ours).await;
    follower.until("what is ours", |known| known.contains_key(&key(&ours))).await;
    let inside = follower.known.keys().filter(|key| key.namespace.as_deref() == Some(&namespace)).count();
    assert_eq!(inside, 1, "{:?}", follower.known.keys());
    subject.edit(&ours, json!({"metadata": {"labels": {LABEL_OWNER: null}}})).await;
    follower.until("what is not ours any more to go", |known| !known.contains_key(&key(&ours))).await;
    subject.clean_up("watch-owner").await;
}
