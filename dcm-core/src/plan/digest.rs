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
use crate::hash::{ContentHash, InvalidHash};
use crate::hexadecimal::BYTES;
use crate::manifest::{GroupVersionKind, ObjectKey};
use crate::name::ClusterId;
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
        Some(marks) => desired.stamped(object, marks).body(),
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

/// What the plan of an app context is about.
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

/// What is not as in an earlier plan. In words, it names one cluster after the other.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Changes<'a> {
    /// Something else is wanted, or of other clusters. What became of clusters can't be told then.
    pub wanted: bool,
    /// Clusters that are not as they were, each with the number of its plan. Of many, some that are may be among them.
    pub clusters: Vec<(usize, &'a ClusterId)>,
}

impl PlanHash {
    /// The hash of the plan of one app context.
    #[must_use]
    pub fn of(part: Part<'_>) -> Self {
        let wanted = ContentHash::of(&part.wanted());
        let mut all = vec![wanted];
        let mut clusters = [0; BYTES - CLUSTERS];
        for (index, observed) in part.clusters.values().enumerate() {
            let state = observed.as_ref().map_or(ContentHash::of(&Value::Null), Observed::hash);
            clusters[place(0, index)] ^= state.bytes()[0];
            all.push(state);
        }
        Self::made_of(ContentHash::of(&json!(all)), wanted, clusters)
    }

    /// What several plans are recognised by together; one by its own hash.
    #[must_use]
    pub fn joined(plans: &[Self]) -> Self {
        if let [plan] = plans {
            return *plan;
        }
        let wanted: Vec<_> = plans.iter().map(|plan| &plan.0.bytes()[WANTED..CLUSTERS]).collect();
        let mut clusters = [0; BYTES - CLUSTERS];
        for (number, plan) in plans.iter().enumerate() {
            for (index, state) in plan.0.bytes()[CLUSTERS..].iter().enumerate() {
                clusters[place(number, index)] ^= state;
            }
        }
        Self::made_of(ContentHash::of(&json!(plans)), ContentHash::of(&json!(wanted)), clusters)
    }

    fn made_of(whole: ContentHash, wanted: ContentHash, clusters: [u8; BYTES - CLUSTERS]) -> Self {
        let mut bytes = [0; BYTES];
        bytes[..WANTED].copy_from_slice(&whole.bytes()[..WANTED]);
        bytes[WANTED..CLUSTERS].copy_from_slice(&wanted.bytes()[..CLUSTERS - WANTED]);
        bytes[CLUSTERS..].copy_from_slice(&clusters);
        Self(ContentHash::from_bytes(bytes))
    }

    /// What changed between earlier plans and these, which are about these clusters, in order.
    #[must_use]
    pub fn changes_since<'a, P>(&self, earlier: &Self, plans: P) -> Changes<'a>
    where
        P: IntoIterator<Item: IntoIterator<Item = &'a ClusterId>>,
    {
        let differs = |place: usize| self.0.bytes()[place] != earlier.0.bytes()[place];
        if (WANTED..CLUSTERS).any(differs) {
            return Changes { wanted: true, clusters: Vec::new() };
        }
        let mut clusters = Vec::new();
        for (number, plan) in plans.into_iter().enumerate() {
            let changed = plan.into_iter().enumerate();
            let changed = changed.filter(|(index, _)| differs(CLUSTERS + place(number, *index)));
            clusters.extend(changed.map(|(_, cluster)| (number, cluster)));
        }
        Changes { wanted: false, clusters }
    }
}

/// Where a cluster has its byte among those of clusters. Each plan begins with another one.
fn place(plan: usize, cluster: usize) -> usize {
    (plan % (BYTES - CLUSTERS) + cluster) % (BYTES - CLUSTERS)
}

impl fmt::Display for Changes<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.wanted {
            return f.write_str("something else is wanted than was planned, or of other clusters");
        }
        match &*self.clusters {
            [] => f.write_str("a cluster is not as it was"),
            [(_, first), others @ ..] => {
                write!(f, "{first} is not as it was")?;
                others.iter().try_for_each(|(_, cluster)| write!(f, ", {cluster} is not as it was"))
            }
        }
    }
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
