//! Editing one label or one set of key-value pairs of a registered cluster: the same as replacing all of them.

use std::collections::BTreeSet;

use crate::logical_cloud::limits::{CLUSTER_KEY_VALUES_BYTES_MAX, CLUSTER_KEY_VALUES_MAX};
use crate::logical_cloud::{KeyValues, KeyValuesDraft};
use crate::name::{ClusterId, KeyValuesName};
use crate::port::audit::{Action, TEXT_MAX};
use crate::refusal::{Checks, Path};

use super::caller::Caller;
use super::clusters::{RegisteredClusters, Registration};
use super::error::{Error, Kind};
use super::precondition::Presence;
use super::put::EditOutcome;

impl RegisteredClusters {
    /// Gives a cluster a label. One that is there keeps its value; a new one has none, so that selectors find it by its key alone.
    ///
    /// # Errors
    /// [`Error::NotFound`]; [`Error::AlreadyThere`] where the label is to be absent; [`Error::Refused`];
    /// [`Error::Contended`]; [`Error::Store`].
    pub async fn put_label(
        &self,
        caller: &Caller,
        id: &ClusterId,
        label: &str,
        presence: Presence,
    ) -> Result<EditOutcome, Error> {
        let put = |mut old: Registration| {
            presence.check(Kind::ClusterLabel, label, old.labels.contains_key(label))?;
            old.labels.entry(label.to_owned()).or_default();
            Ok(old)
        };
        let detail = shortened(&format!("label {label}"));
        self.audited(caller, (Action::UpdateCluster, &detail), id, self.change(caller, id, put)).await
    }

    /// Takes a label from a cluster, whatever its value.
    ///
    /// # Errors
    /// [`Error::NotFound`] for the cluster or the label; [`Error::Contended`]; [`Error::Store`].
    pub async fn delete_label(&self, caller: &Caller, id: &ClusterId, label: &str) -> Result<(), Error> {
        let delete = |mut old: Registration| match old.labels.remove(label) {
            Some(_) => Ok(old),
            None => Err(Error::not_found(Kind::ClusterLabel, label)),
        };
        let detail = shortened(&format!("without label {label}"));
        let deleting = self.change(caller, id, delete);
        self.audited(caller, (Action::UpdateCluster, &detail), id, deleting).await.map(drop)
    }

    /// Gives a cluster a set of key-value pairs, or replaces the one of its name.
    ///
    /// # Errors
    /// [`Error::NotFound`]; [`Error::AlreadyThere`] where the set is to be absent; [`Error::Refused`], where paths of the set
    /// begin in the set; [`Error::Contended`]; [`Error::Store`].
    pub async fn put_key_values(
        &self,
        caller: &Caller,
        id: &ClusterId,
        draft: KeyValuesDraft,
        presence: Presence,
    ) -> Result<EditOutcome, Error> {
        let values = KeyValues::try_from(draft)?;
        let name = &values.metadata.name;
        let put = |mut old: Registration| {
            let at = old.key_values.iter().position(|one| one.metadata.name == *name);
            presence.check(Kind::ClusterKeyValues, name, at.is_some())?;
            match at {
                Some(index) => old.key_values[index] = values.clone(),
                None => old.key_values.push(values.clone()),
            }
            old.key_values.sort_by_cached_key(|one| one.metadata.name.clone());
            Ok(old)
        };
        let detail = format!("key-value pairs {name}");
        self.audited(caller, (Action::UpdateCluster, &detail), id, self.change(caller, id, put)).await
    }

    /// Takes a set of key-value pairs from a cluster.
    ///
    /// # Errors
    /// [`Error::NotFound`] for the cluster or the set; [`Error::Contended`]; [`Error::Store`].
    pub async fn delete_key_values(
        &self,
        caller: &Caller,
        id: &ClusterId,
        name: &KeyValuesName,
    ) -> Result<(), Error> {
        let delete = |mut old: Registration| {
            match old.key_values.iter().position(|values| values.metadata.name == *name) {
                Some(index) => drop(old.key_values.remove(index)),
                None => return Err(Error::not_found(Kind::ClusterKeyValues, name)),
            }
            Ok(old)
        };
        let detail = format!("without key-value pairs {name}");
        let deleting = self.change(caller, id, delete);
        self.audited(caller, (Action::UpdateCluster, &detail), id, deleting).await.map(drop)
    }
}

/// Checks what the sets of a cluster may be together.
pub(super) fn check_key_values(sets: &[KeyValues], checks: &mut Checks) {
    let at = Path::root().field("keyValues");
    if sets.len() > CLUSTER_KEY_VALUES_MAX {
        checks.refuse(&at, "", format!("must be at most {CLUSTER_KEY_VALUES_MAX} sets"));
    }
    if sets.iter().map(KeyValues::bytes).sum::<usize>() > CLUSTER_KEY_VALUES_BYTES_MAX {
        let rule = format!("must be at most {CLUSTER_KEY_VALUES_BYTES_MAX} bytes of JSON together");
        checks.refuse(&at, "", rule);
    }
    let mut names = BTreeSet::new();
    for (index, values) in sets.iter().enumerate() {
        if !names.insert(&values.metadata.name) {
            let at = at.item(index).field("name");
            checks.refuse(&at, values.metadata.name.as_str(), "is used twice in this list");
        }
    }
}

fn shortened(detail: &str) -> String {
    detail.chars().take(TEXT_MAX).collect()
}
