//! What the engine knows of an app context on a cluster, as it is stored.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use dcm_core::app_context::{Edited, Generation, Stage};
use dcm_core::hash::ContentHash;
use dcm_core::manifest::{GroupVersionKind, ObjectKey};
use dcm_core::name::DNS_SUBDOMAIN_MAX;
use dcm_core::plan::{Answered, Recorded, Records};
use dcm_core::port::cluster::{CONTENTS_SAMPLE_MAX, Contents, Fence, Origin};
use dcm_core::port::synchronizer::Issued;
use dcm_core::status::{Cause, Intent, LaneState};
use jiff::Timestamp;
use serde::{Deserialize, Serialize};

use super::{Root, SCHEMA, Schema};

/// The engine's state for one (app context, cluster).
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub(crate) struct Lane {
    pub schema: Schema,
    pub state: LaneState,
    /// The bundle that `state` speaks of; none: removal.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub bundle: Option<ContentHash>,
    /// The generation whose work was begun last.
    pub generation: Generation,
    /// The root's attempt that was worked on last. While the state is `done`: the last attempt that saw every object as desired.
    #[serde(default)]
    pub attempt: u64,
    /// The root's attempt in which all namespaces were there last: a later one may make again what is gone.
    #[serde(default)]
    pub settled: u64,
    /// What was planned last ([`Planned::number`](super::Planned::number)) of that for which something may have been written, as
    /// the cluster was found to be in the state that it was planned on, or for which all was done; 0: nothing.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub checked: u64,
    /// Fence of the worker that wrote this.
    pub fence: Fence,
    pub since: Timestamp,
    /// When an attempt last saw every object as desired; none before the first.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub seen: Option<Timestamp>,
    /// Kinds of what may have been made on the cluster: written before the first request that may make one. While
    /// empty, nothing of ours can be there.
    #[serde(default, skip_serializing_if = "BTreeSet::is_empty")]
    pub kinds: BTreeSet<GroupVersionKind>,
    /// Namespaces, in their order, that the lane may have made, and so may hold claims for: named together with the kinds. When the lane
    /// ends, the claims on those that are not desired are dropped, and then their names.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub namespaces: Vec<Arc<str>>,
    /// Until when a request that was lost may still make something.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub uncertain_until: Option<Timestamp>,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub causes: Vec<Cause>,
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty", with = "objects")]
    pub objects: Records,
    /// The edits of objects of other clients that may have been written: named before the first write.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub edits: Vec<Edited>,
    /// The requests that are answered; their results are stored.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub issued: Vec<Answer>,
    /// Names of requests whose results are good no more, as what they are bound to was replaced: those go as soon as this is
    /// stored, and are asked for again.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub lapsed: Vec<Arc<str>>,
    /// Requests whose results may be stored, though they are not answered, or are desired no more: named together with the
    /// kinds. Their results are deleted once this was stored in a state that drops them. Who finds that does it again.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub dropping: Vec<Arc<str>>,
    /// Namespaces that were kept for what others have in them.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub kept: BTreeMap<Arc<str>, Kept>,
    /// A generation that the cluster was found to hold, and the store did not know of: nothing is written until a person
    /// has said whose state is true.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub ahead: Option<Generation>,
    /// The oldest generation of which a request was without an answer when this was stored, where that is an earlier one: it may
    /// take effect after that of a later generation.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub unanswered: Option<Generation>,
    /// The last withdrawal of rights ([`Root::withdraws`]) that is carried out.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub withdrawn: Option<Generation>,
    /// Answered requests may still be on the cluster: who finds this clears them away.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub untidy: bool,
}

/// What others have in a namespace that was kept.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub(crate) struct Kept {
    /// How many objects.
    pub objects: usize,
    /// The namespace's UID: the next apply of the same app context takes this one back, and no other one of its name.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub uid: Option<Arc<str>>,
    /// The names of RoleBindings among them ([`Contents::bindings`](dcm_core::port::cluster::Contents::bindings)).
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub bindings: Vec<Arc<str>>,
}

impl Kept {
    /// What was found there. The names are others': they are cut, and lose what JSON does not write as it is.
    pub(crate) fn of(contents: &Contents, uid: &Arc<str>) -> Self {
        let written = |c: char| if c.is_control() || matches!(c, '"' | '\\') { '?' } else { c };
        let told = |name: &Arc<str>| {
            let mut told = String::new();
            for c in name.chars().map(written) {
                if told.len() + c.len_utf8() > DNS_SUBDOMAIN_MAX {
                    break;
                }
                told.push(c);
            }
            told.into()
        };
        let bindings = contents.bindings.iter().take(CONTENTS_SAMPLE_MAX).map(told).collect();
        Self { objects: contents.count, uid: Some(uid.clone()), bindings }
    }
}

impl Lane {
    /// A lane to which nothing has happened.
    pub(crate) fn untouched(now: Timestamp) -> Self {
        Self {
            schema: SCHEMA,
            state: LaneState::Pending,
            bundle: None,
            generation: Generation::default(),
            attempt: 0,
            settled: 0,
            checked: 0,
            fence: Fence::default(),
            since: now,
            seen: None,
            kinds: BTreeSet::new(),
            namespaces: Vec::new(),
            uncertain_until: None,
            causes: Vec::new(),
            objects: Records::new(),
            edits: Vec::new(),
            issued: Vec::new(),
            lapsed: Vec::new(),
            dropping: Vec::new(),
            kept: BTreeMap::new(),
            ahead: None,
            unanswered: None,
            withdrawn: None,
            untidy: false,
        }
    }

    /// Adds namespaces that the lane may create; keeps the list sorted and without duplicates.
    pub(crate) fn add_namespaces(&mut self, names: impl IntoIterator<Item = Arc<str>>) {
        for name in names {
            if let Err(place) = self.namespaces.binary_search(&name) {
                self.namespaces.insert(place, name);
            }
        }
    }

    /// True when a result of this request may be stored.
    pub(crate) fn may_have_result(&self, name: &Arc<str>) -> bool {
        self.is_answered(name) || self.lapsed.contains(name) || self.dropping.contains(name)
    }

    /// What is answered, by the request's name.
    pub(crate) fn answers(&self) -> BTreeMap<&str, Answered<'_>> {
        self.issued.iter().map(|answer| (&*answer.name, Answered::by(answer.account.as_ref()))).collect()
    }

    /// True when this request is answered.
    pub(crate) fn is_answered(&self, name: &Arc<str>) -> bool {
        self.issued.iter().any(|answer| answer.name == *name)
    }

    /// True in a state in which nothing takes the place of what is not desired any more.
    pub(crate) fn drops_results(&self) -> bool {
        matches!(self.state, LaneState::Done | LaneState::Removing | LaneState::Removed)
    }

    /// Forgets what was issued before the context was forgotten and came back. What a late write of it stored goes with what is
    /// desired no more.
    pub(crate) fn forget_results(&mut self, root: &Root) {
        if !self.has_results(root) {
            self.dropping.extend(self.issued.drain(..).map(|answer| answer.name));
            self.dropping.append(&mut self.lapsed);
        }
    }

    /// True when the results are stored that the lane says it has.
    pub(crate) fn has_results(&self, root: &Root) -> bool {
        Some(self.generation) > root.without_results
    }

    /// Takes the store's state as the truth over what the cluster was found to hold, when a person has said so: what is
    /// ours is then told by our marks, too, as what was recorded of it may be about objects that were replaced since.
    pub(crate) fn overrule(&mut self, root: &Root) -> bool {
        let is_overruled = self.ahead.is_some() && root.overrules >= self.ahead;
        if is_overruled {
            self.ahead = None;
            self.objects.values_mut().for_each(|record| record.may_be_gone = true);
        }
        is_overruled
    }

    /// True when the lane was given up, and nobody has asked for another try since. What was given up while the context
    /// itself stays is tried on and on; each change of the context would ask for it again.
    pub(crate) fn is_abandoned(&self, root: &Root) -> bool {
        let is_as_asked = self.attempt == root.attempt && self.generation == root.generation;
        self.state == LaneState::Abandoned && (root.intent == Intent::Present || is_as_asked)
    }

    /// The causes that an abandoned lane has, now that these are in its way. It is tried so often, and perhaps for so
    /// long, that only another kind of cause is news: no times, and nothing that changes with each try. So the messages are those of the first try.
    pub(crate) fn lasting(&self, causes: Vec<Cause>) -> Vec<Cause> {
        let same = |(one, other): (&Cause, &Cause)| one.reason == other.reason && one.object == other.object;
        let is_same = causes.len() == self.causes.len() && self.causes.iter().zip(&causes).all(same);
        // While a try is under way, what was in the way before is not known to be gone.
        if is_same || causes.is_empty() {
            return self.causes.clone();
        }
        causes.into_iter().map(|cause| Cause { next_try: None, ..cause }).collect()
    }

    /// True when nothing happens by itself: somebody has to change something, or to ask for another try.
    pub(crate) fn needs_somebody(&self) -> bool {
        self.causes.iter().any(|cause| cause.reason.needs_somebody())
    }

    /// True when the lane has what is wanted, and the root's last attempt saw that.
    pub(crate) fn is_seen_at(&self, wanted: Option<ContentHash>, root: &Root) -> bool {
        self.is_at(wanted) && (wanted.is_none() || self.attempt == root.attempt)
    }

    /// True when the lane has what is wanted.
    pub(crate) fn is_at(&self, wanted: Option<ContentHash>) -> bool {
        match wanted {
            Some(hash) => self.state == LaneState::Done && self.bundle == Some(hash),
            None => self.state == LaneState::Removed || self.kinds.is_empty(),
        }
    }
}

/// A request that is answered.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub(crate) struct Answer {
    pub name: Arc<str>,
    /// UID of the ServiceAccount that a token is bound to.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub account: Option<Arc<str>>,
}

/// A recorded object as it is stored: a list reads better than a map with composite keys.
#[derive(Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct ObjectRecord {
    version: Arc<str>,
    #[serde(flatten)]
    key: ObjectKey,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    uid: Option<Arc<str>>,
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    may_be_gone: bool,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    manifest: Option<ContentHash>,
    #[serde(default, skip_serializing_if = "is_created")]
    origin: Origin,
    stage: Stage,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    stored: Option<Box<ContentHash>>,
}

impl ObjectRecord {
    pub(super) fn of(key: &ObjectKey, record: &Recorded) -> Self {
        Self {
            version: record.kind.version.clone(),
            key: key.clone(),
            uid: record.uid.clone(),
            may_be_gone: record.may_be_gone,
            manifest: record.manifest,
            origin: record.origin,
            stage: record.stage,
            stored: record.stored.clone(),
        }
    }
}

#[allow(clippy::trivially_copy_pass_by_ref)] // serde's signature
pub(super) fn is_zero(number: &u64) -> bool {
    *number == 0
}

#[allow(clippy::trivially_copy_pass_by_ref)] // serde's signature
fn is_created(origin: &Origin) -> bool {
    *origin == Origin::Created
}

mod objects {
    use super::*;
    use serde::{Deserializer, Serializer};

    pub(super) fn serialize<S: Serializer>(records: &Records, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_seq(records.iter().map(|(key, record)| ObjectRecord::of(key, record)))
    }

    pub(super) fn deserialize<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Records, D::Error> {
        let list = Vec::<ObjectRecord>::deserialize(deserializer)?;
        Ok(list.into_iter().map(restore).collect())
    }

    fn restore(record: ObjectRecord) -> (ObjectKey, Recorded) {
        let (group, kind) = (record.key.group.clone(), record.key.kind.clone());
        let kind = GroupVersionKind::of_parts(group, record.version, kind);
        let recorded = Recorded {
            kind,
            uid: record.uid,
            may_be_gone: record.may_be_gone,
            manifest: record.manifest,
            origin: record.origin,
            stage: record.stage,
            stored: record.stored,
        };
        (record.key, recorded)
    }
}

/// What a cluster issued for a request.
#[derive(Debug, Clone, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub(crate) struct Outcome {
    pub schema: Schema,
    pub name: Arc<str>,
    pub issued: Issued,
}

#[cfg(test)]
mod tests {
    use dcm_core::secret::Secret;
    use jiff::Timestamp;

    use super::*;

    #[test]
    fn what_a_cluster_issued_is_not_shown() {
        let token = Secret::new("hunter2");
        let issued = Issued::Token { token, expires: Timestamp::UNIX_EPOCH, received: None, tried: true };
        let outcome = Outcome { schema: SCHEMA, name: "token/ci".into(), issued };
        assert!(serde_json::to_string(&outcome).unwrap().contains(r#"{"$secret":"hunter2"}"#));
        assert!(!format!("{outcome:?} {outcome:#?}").contains("hunter2"));
    }

    #[test]
    fn names_of_others_are_cut_and_bounded_and_written_as_they_are() {
        let long: Arc<str> = "\u{1}é\"\\".repeat(1000).into();
        let bindings = vec![long; 2 * CONTENTS_SAMPLE_MAX];
        let kept = Kept::of(&Contents { count: 20, bindings, ..Contents::default() }, &"u".into());
        assert_eq!((kept.objects, kept.bindings.len()), (20, CONTENTS_SAMPLE_MAX));
        let name = &kept.bindings[0];
        assert!(name.starts_with("?é??") && name.len() <= DNS_SUBDOMAIN_MAX, "{name}");
        assert_eq!(serde_json::to_string(name).unwrap().len(), name.len() + 2);
    }
}
