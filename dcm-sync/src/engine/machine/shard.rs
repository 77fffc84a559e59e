//! One cluster with all its lanes: who owns it, how it is reached, what is known of it.

use std::collections::{BTreeMap, BTreeSet, VecDeque};
use std::sync::Arc;
use std::time::Duration;

use dcm_core::manifest::{GroupVersionKind, ObjectKey};
use dcm_core::name::ContextId;
use dcm_core::plan::Sighting;
use dcm_core::port::cluster::{ClusterUid, Fence, Object};
use dcm_core::port::store::Version;
use dcm_core::status::Cause;
use jiff::Timestamp;

use super::admission::Place;
use super::lane::Lane;
use super::listing::Listing;
use super::seeing::Sighted;
use super::trials::Rounds;
use super::unread::Unread;
use crate::engine::backoff::Row;
use crate::engine::bucket::Bucket;
use crate::engine::io::Epoch;
use crate::record;

/// What is known of one context's objects. Boxed, like lanes: a map has room for eleven contexts even when there is one.
pub(super) type Objects = Box<BTreeMap<ObjectKey, (GroupVersionKind, Sighting)>>;

pub(super) struct Shard {
    /// The record as it was seen last.
    pub record: Option<(record::Shard, Version)>,
    /// When there was news of the record last, counted over all shards.
    pub news: u64,
    /// What our write under way makes of the record. Boxed: hardly ever is one under way.
    pub saving: Option<Box<record::Shard>>,
    /// We have begun to give it back, and don't know yet what became of that: it may be another's already.
    pub giving_back: bool,
    /// Our last write of the record failed: before there is news of it, or a while is over, another one is in vain.
    pub write_failed: bool,
    /// Since when it is nobody's, as far as is known.
    pub free_since: Option<Timestamp>,
    /// It was taken beyond this worker's share: until when it stays, as nobody else wanted it.
    pub kept_until: Timestamp,
    /// How the worker left it that had it before.
    pub left: Left,
    pub link: Link,
    /// What the cluster said it is, when it was reached last.
    pub told: Option<ClusterUid>,
    pub epoch: Epoch,
    /// When this worker took it.
    pub acquired: Timestamp,
    pub row: Row,
    pub watches: BTreeMap<GroupVersionKind, Watch>,
    pub objects: BTreeMap<ContextId, Objects>,
    /// Objects of contexts that are not loaded yet: until then it is not known what is desired of them.
    pub unread: Unread,
    pub bucket: Bucket,
    pub requests: usize,
    /// Objects that are gone, or not ours any more, by their UIDs, while a late answer or watch may still tell of them.
    /// Boxed, like lanes.
    pub gone: BTreeMap<Arc<str>, Box<Gone>>,
    /// What is under way to open the connection, and watches on it.
    pub openings: usize,
    /// The connection waits for room to be opened.
    pub connection_waits: bool,
    /// Its place among those that wait for room.
    pub place: Place,
    /// Lanes that could not send all they wanted, in the order in which it is their turn.
    pub starved: VecDeque<ContextId>,
    /// The trials of the credentials that it issued.
    pub trials: Rounds,
    /// The cluster asked for fewer requests until then.
    pub hold_until: Option<Timestamp>,
    /// Boxed, like shards: a map has room for eleven of them even when there is one.
    pub lanes: BTreeMap<ContextId, Box<Lane>>,
}

/// How a worker left a shard.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Left {
    /// It gave it back when all that it had sent was answered.
    Answered,
    /// It gave it back, and what it had sent without an answer may still take effect for so long.
    Unanswered(Duration),
    /// It gave no sign of life: whatever it had sent, to the cluster and to the store, may still take effect.
    Dead,
}

/// How a cluster is reached.
pub(super) enum Link {
    Down,
    /// Since then.
    Connecting(Timestamp),
    Up,
    /// Not reached; tried again at the cause's next try. Boxed: most clusters are reached.
    Broken(Box<Cause>),
}

/// A watch on the objects of one kind.
pub(super) struct Watch {
    pub known: Known,
    /// A stream is open, or being opened. Without one an alarm is set for the next try.
    pub is_open: bool,
    /// It waits for room to be opened.
    pub waits: bool,
    /// It has listed since it was opened.
    pub has_listed: bool,
    /// What has come of a list that has not come to its end. Boxed: hardly ever is one under way.
    pub listing: Option<Box<Listing>>,
    pub row: Row,
}

/// What is known of the objects of one kind.
pub(super) enum Known {
    /// Nothing yet.
    Nothing,
    /// All of them. They stay known when the stream ends: writes are guarded by what was seen, so that may be a little
    /// old.
    Listed,
    /// The cluster had no such kind when it was listed last: there were none.
    NoKind,
    /// They can't be listed. Boxed: almost every watch is without a cause.
    Hidden(Box<Cause>),
    /// We may not list them: what is recorded is read by its name now and then.
    ByName(Box<Cause>),
}

/// An object that went.
pub(super) struct Gone {
    kind: GroupVersionKind,
    /// Its watch has told that.
    is_told: bool,
    /// The list that is under way was made before that.
    is_being_listed: bool,
    /// In which version its watch has told that.
    version: Option<Arc<str>>,
}

impl Watch {
    pub(super) fn new() -> Self {
        Self {
            known: Known::Nothing,
            is_open: false,
            waits: false,
            has_listed: false,
            listing: None,
            row: Row::default(),
        }
    }

    /// True when what is known of its objects may be older than this moment: all but what a list brings that is not begun.
    pub(super) fn may_be_late(&self) -> bool {
        match self.known {
            Known::Nothing => self.is_open,
            Known::Listed | Known::ByName(_) => true,
            // Nothing is taken to be there.
            Known::NoKind | Known::Hidden(_) => false,
        }
    }
}

impl Shard {
    /// What the cluster said it is, as far as that is stored, or being stored.
    pub(super) fn identity(&self) -> Option<&ClusterUid> {
        let record = self.record.as_ref().map(|(record, _)| record);
        self.saving.as_deref().or(record)?.identity.as_ref()
    }

    pub(super) fn new(bucket: Bucket) -> Self {
        Self {
            record: None,
            news: 0,
            saving: None,
            giving_back: false,
            write_failed: false,
            free_since: None,
            kept_until: Timestamp::MIN,
            left: Left::Answered,
            link: Link::Down,
            told: None,
            epoch: Epoch::default(),
            acquired: Timestamp::MIN,
            row: Row::default(),
            watches: BTreeMap::new(),
            objects: BTreeMap::new(),
            unread: Unread::default(),
            bucket,
            requests: 0,
            gone: BTreeMap::new(),
            openings: 0,
            connection_waits: false,
            place: Place::default(),
            starved: VecDeque::new(),
            trials: Rounds::default(),
            hold_until: None,
            lanes: BTreeMap::new(),
        }
    }

    /// True when the worker that had it before may have sent what has not taken effect yet.
    pub(super) fn is_inherited(&self) -> bool {
        self.left != Left::Answered
    }

    /// Until when what the worker before it sent may still take effect.
    pub(super) fn late_until(&self, limit: Duration) -> Timestamp {
        let lasts = match self.left {
            Left::Answered => Duration::ZERO,
            Left::Unanswered(lasts) => lasts.min(limit),
            Left::Dead => limit,
        };
        self.acquired + lasts
    }

    /// The fence of a shard that nobody owns.
    pub(super) fn free_fence(&self) -> Option<Fence> {
        match &self.record {
            None => Some(Fence::default()),
            Some((record, _)) => record.owner.is_none().then_some(record.fence),
        }
    }

    pub(super) fn is_up(&self) -> bool {
        matches!(self.link, Link::Up)
    }

    pub(super) fn is_broken(&self) -> bool {
        matches!(self.link, Link::Broken(_))
    }

    /// True when all objects of a kind that carry our marks are known.
    pub(super) fn is_listed(&self, kind: &GroupVersionKind) -> bool {
        self.watches.get(kind).is_some_and(|watch| matches!(watch.known, Known::Listed))
    }

    /// True for a kind that the cluster did not serve when it was listed last.
    pub(super) fn is_unserved(&self, kind: &GroupVersionKind) -> bool {
        self.watches.get(kind).is_some_and(|watch| matches!(watch.known, Known::NoKind))
    }

    /// True when this state of an object, or a later one, is known already.
    pub(super) fn knows(&self, object: &Object) -> bool {
        let known =
            object.marks.as_ref().and_then(|marks| self.objects.get(&marks.context)?.get(&object.key));
        known.is_some_and(|(_, sighting)| {
            let (told, known) = (&object.resource_version, &sighting.resource_version);
            is_older(told, known) || (sighting.uid == object.uid && told == known)
        })
    }

    /// True when a later state of an object was read by its name, and it was none of ours, or not there any more.
    pub(super) fn has_read_later(&self, object: &Object) -> bool {
        let lane = object.marks.as_ref().and_then(|marks| self.lanes.get(&marks.context));
        let Some(lane) = lane else { return false };
        match lane.looked.get(&object.key) {
            Some(Some(found)) => is_older(&object.resource_version, &found.resource_version),
            Some(None) => {
                let record = lane.record.objects.get(&object.key);
                record.is_some_and(|record| record.uid.as_ref() == Some(&object.uid))
            }
            None => false,
        }
    }

    /// True when a context's record has an object.
    pub(super) fn has_recorded(&self, context: &ContextId, key: &ObjectKey) -> bool {
        self.lanes.get(context).is_some_and(|lane| lane.record.objects.contains_key(key))
    }

    /// What was seen of an object of ours.
    pub(super) fn sighting(&self, context: &ContextId, key: &ObjectKey) -> Option<&Sighting> {
        self.objects.get(context)?.get(key).map(|(_, sighting)| sighting)
    }

    /// Remembers an object that carries our marks, unless a later state of it is known.
    pub(super) fn remember(&mut self, sighted: Sighted) -> Option<ContextId> {
        let Sighted { context, kind, key, sighting } = sighted;
        if self.gone.contains_key(&sighting.uid) {
            return None;
        }
        let known = self.objects.entry(context.clone()).or_default();
        // Versions of one kind go on over all its objects: an earlier one that had the name is older, too.
        let is_late = known
            .get(&key)
            .is_some_and(|(_, known)| is_older(&sighting.resource_version, &known.resource_version));
        if !is_late {
            known.insert(key, (kind, sighting));
        }
        Some(context)
    }

    /// Forgets an object, and says whether it was on its way out.
    pub(super) fn forget(&mut self, context: &ContextId, key: &ObjectKey) -> Option<Sighting> {
        let known = self.objects.get_mut(context)?;
        let forgotten = known.remove(key).map(|(_, sighting)| sighting);
        if known.is_empty() {
            self.objects.remove(context);
        }
        forgotten
    }

    /// We made an object go: what its watch tells before it tells that, or an older answer, does not bring it back.
    pub(super) fn note_gone(&mut self, kind: &GroupVersionKind, uid: &Arc<str>) {
        let watch = self.watches.get(kind);
        let is_told = !watch.is_some_and(|watch| matches!(watch.known, Known::Listed | Known::Nothing));
        let is_being_listed = watch.is_some_and(|watch| watch.is_open && !watch.has_listed);
        let gone = Gone { kind: kind.clone(), is_told, is_being_listed, version: None };
        self.gone.insert(uid.clone(), Box::new(gone));
        self.forget_gone();
    }

    /// A watch told that an object went.
    pub(super) fn told_gone(&mut self, object: &Object) {
        let version = Some(object.resource_version.clone());
        let gone = Gone { kind: object.kind.clone(), is_told: true, is_being_listed: false, version };
        self.gone.insert(object.uid.clone(), Box::new(gone));
        self.forget_gone();
    }

    /// True when an object of an answer is gone, as an answer may come late. One in the version in which it left what is ours, or
    /// in a later one, is there: it lost its marks alone.
    pub(super) fn is_gone(&mut self, answered: &Object) -> bool {
        let Some(gone) = self.gone.get(&answered.uid) else { return false };
        let version = &answered.resource_version;
        let is_there = gone.version.as_ref().is_some_and(|gone| gone == version || is_older(gone, version));
        if is_there {
            self.gone.remove(&answered.uid);
        }
        !is_there
    }

    /// The app context among whose objects this one is known, in an earlier state than this.
    pub(super) fn context_of(&self, object: &Object) -> Option<ContextId> {
        let is_known = |known: &Objects| {
            known.get(&object.key).is_some_and(|(_, sighting)| {
                sighting.uid == object.uid && !is_older(&object.resource_version, &sighting.resource_version)
            })
        };
        self.objects.iter().find(|(_, known)| is_known(known)).map(|(context, _)| context.clone())
    }

    /// A kind was listed: its watch tells nothing older any more. What a list has that was made after an object went is
    /// there again, on a server that lost its last writes.
    pub(super) fn told_all(&mut self, kind: &GroupVersionKind, listed: &BTreeSet<Arc<str>>) {
        for gone in self.gone.values_mut().filter(|gone| gone.kind == *kind) {
            gone.is_told |= !std::mem::take(&mut gone.is_being_listed);
        }
        for uid in listed {
            if self.gone.get(uid).is_some_and(|gone| gone.is_told) {
                self.gone.remove(uid);
            }
        }
        self.forget_gone();
    }

    /// Forgets what nothing late can tell of any more.
    pub(super) fn forget_gone(&mut self) {
        if self.requests == 0 {
            self.gone.retain(|_, gone| !gone.is_told);
        }
    }

    /// Forgets all objects of a kind.
    pub(super) fn forget_kind(&mut self, kind: &GroupVersionKind) {
        for known in self.objects.values_mut() {
            known.retain(|key, _| key.kind != kind.kind || key.group != kind.group);
        }
        self.objects.retain(|_, known| !known.is_empty());
    }

    /// The kinds that the cluster does not serve.
    pub(super) fn unserved(&self) -> Vec<&GroupVersionKind> {
        self.watches.keys().filter(|kind| self.is_unserved(kind)).collect()
    }

    /// Marks an object as being deleted.
    pub(super) fn going(&mut self, context: &ContextId, key: &ObjectKey) {
        let known = self.objects.get_mut(context).and_then(|known| known.get_mut(key));
        if let Some((_, sighting)) = known {
            sighting.remarks.get_or_insert_default().deleting.get_or_insert_default();
        }
    }
}

/// Versions of objects are opaque by contract, and numbers in practice: where both are, an older one can be told.
fn is_older(version: &Arc<str>, known: &Arc<str>) -> bool {
    match (version.parse::<u64>(), known.parse::<u64>()) {
        (Ok(version), Ok(known)) => version < known,
        _ => false,
    }
}
