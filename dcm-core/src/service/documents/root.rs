//! The root document of a logical cloud.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use crate::app_context::Generation;
use crate::logical_cloud::{AccountSeed, Level, LogicalCloudUid, MetadataDraft};
use crate::name::Namespace;
use crate::port::synchronizer::Removal;
use crate::service::caller::Change;
use crate::service::history::Milestone;
use crate::service::precondition::EditId;

use super::{DocumentId, Schema};

/// What a name stands for.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "stage", rename_all = "kebab-case")]
pub(in crate::service) enum RootDocument {
    /// A cloud's parts are being written for the first time; there is no cloud yet. Taking the UID first is what lets
    /// a later try find and clean up what an earlier one left.
    Reserved { schema: Schema, uid: LogicalCloudUid, changed: Change },
    /// There is a cloud.
    Standing(Box<Root>),
    /// The cloud is gone, and what belonged to it is being removed.
    Deleting { schema: Schema, uid: LogicalCloudUid, changed: Change },
}

/// A standing cloud: what lists show of it, and which parts it has.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub(in crate::service) struct Root {
    pub schema: Schema,
    pub uid: LogicalCloudUid,
    /// What the names of its ServiceAccounts are made with.
    pub accounts: AccountSeed,
    pub metadata: MetadataDraft,
    pub level: Level,
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub labels: BTreeMap<String, String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub namespace: Option<Namespace>,
    /// How many users it has.
    pub users: usize,
    /// How many cluster references it has.
    pub references: usize,
    pub created: Change,
    pub changed: Change,
    /// The number of its last edit.
    pub edit: u64,
    /// The list of its parts.
    pub contents: DocumentId,
    /// How often it was brought to clusters from nothing.
    pub incarnation: u64,
    /// The number of its last snapshot.
    pub snapshots: u64,
    /// A snapshot that may have been handed over.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub applying: Option<SnapshotReference>,
    /// Snapshots that may have been handed over before `applying` took their place, the newest last. When `applying`
    /// is refused, the last of them is what may be on clusters.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub replaced: Vec<SnapshotReference>,
    /// The snapshot that was handed over last, and is wanted on clusters.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub applied: Option<AppliedReference>,
    /// What was on its clusters before it was wanted off them; none while something is wanted there.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub ended: Option<Ended>,
    /// Who paused it, when it was paused.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub stopped: Option<Change>,
    /// Who wanted it off its clusters, since it was applied last.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub terminated: Option<Change>,
    /// Who wanted it deleted as soon as it is off them.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub leaving: Option<Change>,
    /// How it is to be taken off them.
    #[serde(default)]
    pub removal: Removal,
    /// What was decided about its clusters, the newest last.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub history: Vec<Milestone>,
}

/// Names a snapshot.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub(in crate::service) struct SnapshotReference {
    pub id: DocumentId,
    /// The edit that it froze.
    pub edit: u64,
    /// The parts that it froze.
    pub contents: DocumentId,
    /// Who applied it.
    pub made: Change,
}

/// A snapshot that was handed over.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub(in crate::service) struct AppliedReference {
    pub snapshot: SnapshotReference,
    /// The generation that the synchronizer gave it.
    pub generation: Generation,
    /// True when it took the place of an earlier one.
    pub updates: bool,
}

/// What is wanted on clusters no more.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub(in crate::service) struct Ended {
    /// The newest snapshot that was, or may have been, on them.
    pub snapshot: SnapshotReference,
    /// How often users were revoked since. An apply that has read a credential before can't commit after that.
    #[serde(default)]
    pub revocations: u64,
}

/// How many unfinished applies are remembered: the oldest are the least likely to be on clusters.
const REPLACED_MAX: usize = 16;

impl Root {
    /// Names its last edit.
    pub(in crate::service) fn edit_id(&self) -> EditId {
        EditId { uid: self.uid, edit: self.edit }
    }

    /// The newest snapshot that is, or may be, wanted on clusters.
    pub(in crate::service) fn newest(&self) -> Option<&SnapshotReference> {
        self.applying.as_ref().or(self.applied_snapshot())
    }

    /// The snapshot that was handed over last, and is wanted on clusters.
    pub(in crate::service) fn applied_snapshot(&self) -> Option<&SnapshotReference> {
        self.applied.as_ref().map(|applied| &applied.snapshot)
    }

    /// The newest snapshot that is, or was, wanted on clusters.
    pub(in crate::service) fn latest(&self) -> Option<&SnapshotReference> {
        self.newest().or(self.ended.as_ref().map(|ended| &ended.snapshot))
    }

    /// What ends when all is wanted off clusters.
    pub(in crate::service) fn end(&self) -> Option<Ended> {
        let newest = self.newest().map(|newest| Ended { snapshot: newest.clone(), revocations: 0 });
        newest.or_else(|| self.ended.clone())
    }

    /// Counts a revocation after all was wanted off clusters, which ends a pause; false when something is wanted there.
    pub(in crate::service) fn count_revocation(&mut self) -> bool {
        if self.newest().is_some() {
            return false;
        }
        let Some(ended) = &mut self.ended else { return false };
        ended.revocations += 1;
        self.stopped = None;
        true
    }

    /// Lets a snapshot be applied; the one that was to be until now may have been handed over.
    pub(in crate::service) fn begin(&mut self, snapshot: SnapshotReference) {
        self.replaced.extend(self.applying.replace(snapshot));
        let oldest = self.replaced.len().saturating_sub(REPLACED_MAX);
        self.replaced.drain(..oldest);
    }

    /// A renewal that is under way, or was cut off: what is being applied brings no edit. Whoever applies one does that
    /// anew.
    pub(in crate::service) fn cut_off_renewal(&self) -> Option<&SnapshotReference> {
        let applied = self.applied_snapshot()?;
        self.applying.as_ref().filter(|applying| applying.contents == applied.contents)
    }

    /// Says of what was applied that it is about to be handed over as another generation; false when nothing is applied.
    pub(in crate::service) fn begin_again(&mut self, made: &Change) -> bool {
        let again = self.applied_snapshot().cloned();
        self.applying = again.map(|snapshot| SnapshotReference { made: made.clone(), ..snapshot });
        self.applying.is_some()
    }

    /// True while that is under way, or was cut off.
    pub(in crate::service) fn is_begun_again(&self) -> bool {
        let applied = self.applied_snapshot().map(|snapshot| &snapshot.id);
        self.applying.as_ref().is_some_and(|applying| Some(&applying.id) == applied)
    }

    /// What was applied has this generation now; false when it had it already.
    pub(in crate::service) fn take_generation(&mut self, generation: Generation) -> bool {
        let was_under_way = self.applying.take().is_some();
        let earlier =
            self.applied.as_mut().map(|applied| std::mem::replace(&mut applied.generation, generation));
        was_under_way || earlier.is_some_and(|earlier| earlier != generation)
    }

    /// Takes back that a snapshot is being applied: what it took the place of is so again. False when it is not.
    pub(in crate::service) fn give_up(&mut self, id: &DocumentId) -> bool {
        if self.applying.as_ref().is_some_and(|applying| applying.id == *id) {
            self.applying = self.replaced.pop();
        } else if let Some(index) = self.replaced.iter().position(|replaced| replaced.id == *id) {
            self.replaced.remove(index);
        } else {
            return false;
        }
        self.incarnation -= u64::from(self.newest().is_none());
        true
    }

    /// All snapshots that are, or may be, wanted on clusters.
    fn wanted_snapshots(&self) -> impl Iterator<Item = &SnapshotReference> {
        self.applying.iter().chain(&self.replaced).chain(self.applied_snapshot())
    }

    /// Lists of parts that are, or may be, wanted on clusters or at the next apply.
    pub(in crate::service) fn wanted_contents(&self) -> impl Iterator<Item = &DocumentId> {
        std::iter::once(&self.contents).chain(self.wanted_snapshots().map(|snapshot| &snapshot.contents))
    }

    /// All snapshots that are, or may be, wanted on clusters, and the last that was.
    pub(in crate::service) fn used_snapshots(&self) -> impl Iterator<Item = &SnapshotReference> {
        self.wanted_snapshots().chain(self.ended.as_ref().map(|ended| &ended.snapshot))
    }

    /// Lists of parts that are in use.
    pub(in crate::service) fn used_contents(&self) -> impl Iterator<Item = &DocumentId> {
        std::iter::once(&self.contents).chain(self.used_snapshots().map(|snapshot| &snapshot.contents))
    }
}
