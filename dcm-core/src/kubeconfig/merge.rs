//! Putting a user's access into a person's own kubeconfig.

use std::collections::{BTreeMap, BTreeSet};

use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use super::access::{self, Access, NotWritten};
use super::document::{MARK_NAME, Mark};
use super::input::{self, Entry, Invalid, KUBECONFIG_BYTES_MAX};
use crate::secret::Secret;

/// Why a person's file was left as it is.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum MergeError {
    /// The file can't be read.
    #[error("the existing kubeconfig can't be merged into")]
    Existing(#[source] Invalid),
    /// There is an entry with one of our names that isn't marked as ours.
    #[error("`{list}` has an entry {name} that was not written by us; rename or remove it")]
    NameTaken {
        /// `clusters`, `contexts` or `users`.
        list: &'static str,
        /// The entry's name.
        name: String,
    },
    /// The result would be over [`KUBECONFIG_BYTES_MAX`], and so no later merge could read it.
    #[error("the kubeconfig would be over 8 MiB; write one of its own instead")]
    TooLarge,
    /// The result can't be written.
    #[error(transparent)]
    NotWritten(#[from] NotWritten),
}

/// Puts a user's access into a person's own kubeconfig and returns the whole new file, as YAML.
///
/// It acts as `kubectl config set-cluster`, `set-credentials` and `set-context` would:
/// - Entries are added, and those that an earlier merge for the same project, logical cloud and user wrote are replaced
///   as a whole, or removed when the user has no access to that cluster any more. An access without clusters thus
///   takes everything out again. The names are in the [module's](super) table; each entry is marked by an extension
///   [`MARK_NAME`].
/// - The cloud's cluster entries are shared by its users: one stays as long as any context names it.
/// - An entry with one of our names and without our mark is refused, and nothing is merged.
/// - A private key that the user added to an entry that was written without one is kept.
/// - `current-context` is set only if there is none, or if it named a context that is removed now.
/// - Everything else keeps its meaning, unknown fields included. Comments are lost, and so are anchors (their content
///   is written out) and the way texts were quoted.
///
/// An empty text is an empty file; a missing one is merged into as the empty text. The caller writes the result, with
/// mode 0600 and by renaming a new file over the old one.
///
/// # Errors
/// [`MergeError`]; none shows content of the file but the name of an entry that is taken.
pub fn merge(existing: &Secret, access: &Access) -> Result<Secret, MergeError> {
    let mut root = input::parse(existing).map_err(MergeError::Existing)?;
    let mut wanted = to_object(&access.for_merging().0)?;
    let users = replace(access, &mut root, &mut wanted, &USERS)?;
    let contexts = replace(access, &mut root, &mut wanted, &CONTEXTS)?;
    let mut clusters = replace(access, &mut root, &mut wanted, &CLUSTERS)?;
    let named: BTreeSet<&str> =
        contexts.entries.iter().filter_map(|entry| entry.body["context"]["cluster"].as_str()).collect();
    clusters
        .entries
        .retain(|entry| !clusters.dropped.contains(&entry.name) || named.contains(entry.name.as_str()));

    set_current_context(&mut root, &mut wanted, &contexts.dropped);
    for (list, merged) in [(&USERS, users), (&CONTEXTS, contexts), (&CLUSTERS, clusters)] {
        let bodies = merged.entries.into_iter().map(|entry| entry.body).collect();
        root.insert(list.name.to_owned(), Value::Array(bodies));
    }
    for (member, value) in wanted {
        root.entry(member).or_insert(value);
    }
    let merged = access::write_yaml(&root)?;
    if merged.expose().len() > KUBECONFIG_BYTES_MAX { Err(MergeError::TooLarge) } else { Ok(merged) }
}

/// One of the three lists of a kubeconfig.
struct List {
    /// Its member in the file.
    name: &'static str,
    /// The member of an entry that holds its content.
    content: &'static str,
    /// True when an entry belongs to one user, false when the cloud's users share it.
    is_of_user: bool,
}

const CLUSTERS: List = List { name: "clusters", content: "cluster", is_of_user: false };
const CONTEXTS: List = List { name: "contexts", content: "context", is_of_user: true };
const USERS: List = List { name: "users", content: "user", is_of_user: true };

/// A list after the merge.
#[derive(Default)]
struct Merged {
    /// What is in it. Entries that are [`Self::dropped`] are still there when they are shared.
    entries: Vec<Entry>,
    /// Names of our entries that are no longer wanted.
    dropped: BTreeSet<String>,
}

fn replace(
    access: &Access,
    root: &mut Map<String, Value>,
    wanted: &mut Map<String, Value>,
    list: &List,
) -> Result<Merged, MergeError> {
    let existing = input::take_entries(root, list.name).map_err(MergeError::Existing)?;
    let wanted = input::take_entries(wanted, list.name).map_err(|_| NotWritten)?;
    let places: BTreeMap<String, usize> =
        wanted.iter().enumerate().map(|(place, entry)| (entry.name.clone(), place)).collect();
    let mut wanted: Vec<Option<Entry>> = wanted.into_iter().map(Some).collect();
    let mut merged = Merged::default();
    for old in existing {
        let place = places.get(&old.name);
        match (place.is_some(), is_ours(access, &old, list)) {
            (true, false) => {
                return Err(MergeError::NameTaken { list: list.name, name: old.name });
            }
            (true, true) => {
                // A second entry of the same name finds nothing left to be replaced by, and goes.
                if let Some(mut new) = place.and_then(|place| wanted.get_mut(*place)?.take()) {
                    keep_own_key(&old, &mut new);
                    merged.entries.push(new);
                }
            }
            (false, true) => {
                merged.dropped.insert(old.name.clone());
                if !list.is_of_user {
                    merged.entries.push(old);
                }
            }
            (false, false) => merged.entries.push(old),
        }
    }
    merged.entries.extend(wanted.into_iter().flatten());
    Ok(merged)
}

fn is_ours(access: &Access, entry: &Entry, list: &List) -> bool {
    mark_of(&entry.body[list.content]).is_some_and(|mark| {
        mark.project == access.project.as_str()
            && mark.logical_cloud == access.logical_cloud.as_str()
            && (!list.is_of_user || mark.user.as_deref() == Some(access.user.as_str()))
    })
}

fn mark_of(content: &Value) -> Option<Mark> {
    let extensions = content["extensions"].as_array()?;
    let ours = extensions.iter().find(|extension| extension["name"] == MARK_NAME)?;
    Mark::deserialize(&ours["extension"]).ok()
}

/// A key that we never had can't be written again: it moves from the old entry to the new one.
fn keep_own_key(old: &Entry, new: &mut Entry) {
    let has_own_key = |entry: &Entry| mark_of(&entry.body["user"]).is_some_and(|mark| mark.has_own_key);
    if has_own_key(old) && has_own_key(new) {
        for member in ["client-key", "client-key-data"] {
            if let Some(key) = old.body["user"].get(member) {
                new.body["user"][member] = key.clone();
            }
        }
    }
}

fn set_current_context(
    root: &mut Map<String, Value>,
    wanted: &mut Map<String, Value>,
    dropped: &BTreeSet<String>,
) {
    let ours = wanted.remove("current-context").unwrap_or_default();
    let current = root.entry("current-context").or_insert(Value::Null);
    let is_none =
        current.as_str().map_or(current.is_null(), |name| name.is_empty() || dropped.contains(name));
    if is_none {
        *current = ours;
    }
}

fn to_object<T: Serialize>(value: &T) -> Result<Map<String, Value>, NotWritten> {
    match serde_json::to_value(value) {
        Ok(Value::Object(object)) => Ok(object),
        Ok(_) | Err(_) => Err(NotWritten),
    }
}
