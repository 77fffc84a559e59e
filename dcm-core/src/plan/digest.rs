//! The hash of a plan: what is wanted, and what was observed of the fields that are ours.
//!
//! Two plans with one hash lead to the same writes. Nothing that changes by itself is in it: no status, no
//! `resourceVersion`, no time of a managed field; and no object through which a certificate is asked for, as Kubernetes
//! removes those by itself.
//!
//! The 32 bytes of a hash are in three parts, so that whoever holds an old one can be told what changed since: 16 of
//! everything, 4 of what is wanted, and 12 of clusters. Each cluster has one of those 12, its own as long as there are no
//! more than 12.

use std::collections::BTreeMap;
use std::fmt;
use std::str::FromStr;
use std::sync::Arc;

use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

use super::request::is_request;
use super::view::{Desired, Sighting};
use crate::app_context::AppContext;
use crate::fields;
use crate::hash::{BYTES, ContentHash, InvalidHash};
use crate::manifest::{GroupVersionKind, ObjectKey};
use crate::name::{ClusterId, ContextId};
use crate::port::cluster::{ClusterUid, Object};

/// Hexadecimal digits that tell one state of a cluster from another: 64 bits, and a few bytes for each of thousands of
/// clusters.
const STATE_DIGITS: usize = 16;

/// Where the part of what is wanted begins.
const WANTED: usize = 16;

/// Where the part of clusters begins.
const CLUSTERS: usize = 20;

/// What was observed of one cluster, without any value.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Observed {
    identity: ClusterUid,
    objects: BTreeMap<ObjectKey, Option<ContentHash>>,
}

impl Observed {
    /// Nothing yet, of a cluster that says that it is this one.
    #[must_use]
    pub fn new(identity: ClusterUid) -> Self {
        Self { identity, objects: BTreeMap::new() }
    }

    /// What the cluster says that it is.
    #[must_use]
    pub fn identity(&self) -> &ClusterUid {
        &self.identity
    }

    /// Takes up that an object is not there.
    pub fn absent(&mut self, kind: &GroupVersionKind, key: &ObjectKey) {
        self.take(kind, key, None);
    }

    /// Takes up an object that is there, and what is desired of it.
    pub fn present(&mut self, object: &Object, desired: Option<&Desired>) {
        self.take(&object.kind, &object.key, Some(observed_state(object, desired)));
    }

    /// Takes up the state of an object (see [`observed_state`]), or that it is not there.
    pub fn take(&mut self, kind: &GroupVersionKind, key: &ObjectKey, state: Option<ContentHash>) {
        if !is_request(kind) {
            self.objects.insert(key.clone(), state);
        }
    }

    /// The state of an object as it was seen; none where it was not there, or nobody looked at it.
    #[must_use]
    pub fn state_of(&self, key: &ObjectKey) -> Option<ContentHash> {
        self.objects.get(key).copied().flatten()
    }

    /// True when both say the same of each object that both know of, and what one of them alone knows of is not there: what
    /// can't be named yet when something is planned can't be there either.
    #[must_use]
    pub fn agrees_with(&self, other: &Self) -> bool {
        let agrees = |one: &Self, other: &Self| {
            one.objects.iter().all(|(key, state)| other.objects.get(key).unwrap_or(&None) == state)
        };
        self.identity == other.identity && agrees(self, other) && agrees(other, self)
    }

    /// What is the same as long as nothing changes that is ours, in as few digits as tell.
    #[must_use]
    pub fn state(&self) -> Arc<str> {
        self.hash().short(STATE_DIGITS).into()
    }

    fn hash(&self) -> ContentHash {
        let objects: BTreeMap<String, Option<ContentHash>> =
            self.objects.iter().map(|(key, state)| (key.to_string(), *state)).collect();
        ContentHash::of(&json!({"identity": self.identity, "objects": objects}))
    }
}

/// The state of an object, as far as it is ours: which object it is, whose marks it has, the values of our fields, and
/// who took any of them.
#[must_use]
pub fn observed_state(object: &Object, desired: Option<&Desired>) -> ContentHash {
    let written = desired.map(|desired| match &object.marks {
        Some(marks) => desired.stamped(marks).body(),
        None => desired.manifest.body().clone(),
    });
    let sighting = Sighting::of(object, desired);
    let taken: Vec<String> = sighting.fields().iter().map(ToString::to_string).collect();
    let marks = object
        .marks
        .as_ref()
        .map(|marks| json!([marks.owner, marks.context, marks.generation, marks.manifest, marks.origin]));
    ContentHash::of(&json!({
        "uid": object.uid,
        "deleting": object.deleting.is_some(),
        "marks": marks,
        "fields": fields::owned(&object.body, written.as_ref()),
        "taken": taken,
    }))
}

/// One app context of a plan.
#[derive(Debug, Clone, Copy)]
pub struct Part<'a> {
    /// What is wanted.
    pub context: &'a AppContext,
    /// What was observed of each cluster that it concerns; none of one that could not be looked at.
    pub clusters: &'a BTreeMap<ClusterId, Option<Observed>>,
}

impl Part<'_> {
    fn wanted(&self) -> Value {
        let AppContext { id, labels, removal, placements } = self.context;
        let bundle = |cluster| placements.get(cluster).map(|bundle| bundle.hash());
        let clusters: BTreeMap<String, Option<ContentHash>> =
            self.clusters.keys().map(|cluster| (cluster.to_string(), bundle(cluster))).collect();
        json!({"context": id, "labels": labels, "removal": removal, "clusters": clusters})
    }
}

/// What a plan is recognised by. Its text form is 64 lower-case hexadecimal digits.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema), schemars(inline))]
#[serde(transparent)]
pub struct PlanHash(ContentHash);

/// What is not as in an earlier plan.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Changes<'a> {
    /// Something else is wanted, or of other clusters. What became of clusters can't be told then.
    pub wanted: bool,
    /// Clusters that are not as they were. Of many, some that are may be among them.
    pub clusters: Vec<(&'a ContextId, &'a ClusterId)>,
}

impl PlanHash {
    /// The hash of a plan of these app contexts.
    #[must_use]
    pub fn of(parts: &[Part<'_>]) -> Self {
        let wanted = ContentHash::of(&parts.iter().map(Part::wanted).collect());
        let mut bytes = [0; BYTES];
        let mut all = vec![wanted];
        bytes[WANTED..CLUSTERS].copy_from_slice(&wanted.bytes()[..CLUSTERS - WANTED]);
        for (index, (.., observed)) in clusters(parts).enumerate() {
            let state = observed.map_or(ContentHash::of(&Value::Null), Observed::hash);
            bytes[place(index)] ^= state.bytes()[0];
            all.push(state);
        }
        let whole = ContentHash::of(&json!(all));
        bytes[..WANTED].copy_from_slice(&whole.bytes()[..WANTED]);
        Self(ContentHash::from_bytes(bytes))
    }

    /// What changed between an earlier plan and this one, whose parts these are.
    #[must_use]
    pub fn changes_since<'a>(&self, earlier: &Self, parts: &[Part<'a>]) -> Changes<'a> {
        let differs = |place: usize| self.0.bytes()[place] != earlier.0.bytes()[place];
        if (WANTED..CLUSTERS).any(differs) {
            return Changes { wanted: true, clusters: Vec::new() };
        }
        let changed = clusters(parts).enumerate().filter(|(index, _)| differs(place(*index)));
        Changes {
            wanted: false,
            clusters: changed.map(|(_, (context, cluster, _))| (context, cluster)).collect(),
        }
    }
}

/// Where the cluster with this number has its byte.
fn place(index: usize) -> usize {
    CLUSTERS + index % (BYTES - CLUSTERS)
}

fn clusters<'a>(
    parts: &[Part<'a>],
) -> impl Iterator<Item = (&'a ContextId, &'a ClusterId, Option<&'a Observed>)> {
    parts.iter().flat_map(|part| {
        let context = &part.context.id;
        part.clusters.iter().map(move |(cluster, observed)| (context, cluster, observed.as_ref()))
    })
}

impl fmt::Display for PlanHash {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}

impl FromStr for PlanHash {
    type Err = InvalidHash;

    fn from_str(text: &str) -> Result<Self, InvalidHash> {
        text.parse().map(Self)
    }
}

#[cfg(test)]
#[path = "digest_tests.rs"]
mod tests;
