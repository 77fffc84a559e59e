//! Putting a user's access into a person's own kubeconfig.

use std::collections::{BTreeMap, BTreeSet};

use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use super::access::{self, Access, NotWritten};
use super::document::{MARK_NAME, Mark};
use super::input::{self, Entry, Invalid, KUBECONFIG_BYTES_MAX, Parsed};
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

/// Why the files of a person were left as they are.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{cause}")]
pub struct NotMerged {
    /// Which of the files it is about.
    pub file: usize,
    /// Why.
    #[source]
    pub cause: MergeError,
}

/// Which context is the current one after a merge.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum CurrentContext {
    /// The one before, or the first merged one if none was current.
    #[default]
    Keep,
    /// The first merged one.
    Use,
}

/// A person's files after a merge.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct MergedFiles {
    /// The new text of each file; none for one that stays as it is.
    pub texts: Vec<Option<Secret>>,
    /// The current context, which is removed: it was ours.
    pub removed_current: Option<String>,
}

/// Puts a user's access into a person's own kubeconfig and returns the whole new file, as YAML: [`merge_files`] for one file.
///
/// # Errors
/// [`MergeError`]; none shows content of the file but the name of an entry that is taken.
pub fn merge(existing: &Secret, access: &Access) -> Result<Secret, MergeError> {
    let merged = merge_files(std::slice::from_ref(existing), 0, access, CurrentContext::Keep);
    let text = merged.map_err(|NotMerged { cause, .. }| cause)?.texts.pop().flatten();
    Ok(text.unwrap_or_else(|| existing.clone()))
}

/// Puts a user's access into the files of a person's own kubeconfig, of which one takes new entries.
///
/// It acts as `kubectl config set-cluster`, `set-credentials` and `set-context` would:
/// - Entries that an earlier merge for the same project, logical cloud and user wrote are replaced as a whole, in the first file that has
///   them, or removed when the user has no access to that cluster any more. An access without clusters thus takes everything out again. New
///   ones go to the file for new entries. The names are in the [module's](super) table; each entry is marked by an extension [`MARK_NAME`].
/// - The cloud's cluster entries are shared by its users: one stays as long as any context names it.
/// - An entry with one of our names and without our mark is refused, and nothing is merged.
/// - A private key that the user added to an entry that was written without one is kept.
/// - `current-context` is set only if no file has one, or on request, in the file for new entries. One that names a context that is removed
///   now stays, as with `kubectl config delete-context`.
/// - Everything else keeps its meaning for kubectl, unknown fields included. Comments are lost, and so are anchors (their content
///   is written out) and the way texts were quoted. A file in which nothing changes is not written.
///
/// An empty text is an empty file; a missing one is merged into as the empty text.
///
/// # Errors
/// [`NotMerged`]; none shows content of a file but the name of an entry that is taken.
pub fn merge_files(
    files: &[Secret],
    for_new: usize,
    access: &Access,
    current: CurrentContext,
) -> Result<MergedFiles, NotMerged> {
    let in_file = |file| move |cause| NotMerged { file, cause };
    let of_new = || in_file(for_new);
    let mut roots = Vec::with_capacity(files.len());
    for (file, text) in files.iter().enumerate() {
        let parsed = input::parse(text).map_err(MergeError::Existing).map_err(in_file(file));
        roots.push(parsed.map(|Parsed { root, .. }| root)?);
    }
    let before = roots.clone();
    let mut wanted = to_object(&access.for_merging().0).map_err(MergeError::from).map_err(of_new())?;
    let lists = [&USERS, &CONTEXTS, &CLUSTERS];
    let [users, contexts, mut clusters] =
        lists.map(|list| replace(access, &mut roots, &mut wanted, list, for_new));
    let (users, contexts) = (users?, contexts?);
    clusters.as_mut().map_err(|error| error.clone())?.keep_named(&contexts);
    let removed_current = set_current_context(&mut roots, &mut wanted, for_new, current, &contexts.dropped);
    for (list, merged) in lists.into_iter().zip([users, contexts, clusters?]) {
        merged.write_back(list, &mut roots, &before);
    }
    if roots[for_new] != before[for_new] {
        for (member, value) in wanted {
            roots[for_new].entry(member).or_insert(value);
        }
    }
    let texts = roots.iter().zip(&before).enumerate().map(|(file, (root, before))| {
        if root == before { Ok(None) } else { written(root).map(Some).map_err(in_file(file)) }
    });
    Ok(MergedFiles { texts: texts.collect::<Result<_, _>>()?, removed_current })
}

fn written(root: &Map<String, Value>) -> Result<Secret, MergeError> {
    let merged = access::write_yaml(root)?;
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

/// A list of all files after the merge.
#[derive(Default)]
struct Merged {
    /// What is in it, for each file. Entries that are [`Self::dropped`] are still there when they are shared.
    entries: Vec<Vec<Entry>>,
    /// Names of our entries that are no longer wanted.
    dropped: BTreeSet<String>,
}

impl Merged {
    /// Of the clusters' entries that are no longer wanted, keeps those that a context names.
    fn keep_named(&mut self, contexts: &Self) {
        let named: BTreeSet<&str> = contexts
            .entries
            .iter()
            .flatten()
            .filter_map(|entry| entry.body["context"]["cluster"].as_str())
            .collect();
        for entries in &mut self.entries {
            entries
                .retain(|entry| !self.dropped.contains(&entry.name) || named.contains(entry.name.as_str()));
        }
    }

    /// Puts the list into the files. One that a file does not have, and does not need, is not made.
    fn write_back(self, list: &List, roots: &mut [Map<String, Value>], before: &[Map<String, Value>]) {
        for ((entries, root), before) in self.entries.into_iter().zip(roots).zip(before) {
            let bodies: Vec<_> = entries.into_iter().map(|entry| entry.body).collect();
            match before.get(list.name) {
                old @ (None | Some(Value::Null)) if bodies.is_empty() => {
                    root.extend(old.map(|old| (list.name.to_owned(), old.clone())));
                }
                _ => drop(root.insert(list.name.to_owned(), Value::Array(bodies))),
            }
        }
    }
}

fn replace(
    access: &Access,
    roots: &mut [Map<String, Value>],
    wanted: &mut Map<String, Value>,
    list: &List,
    for_new: usize,
) -> Result<Merged, NotMerged> {
    let in_file = |file, cause| NotMerged { file, cause };
    let wanted = input::take_entries(wanted, list.name).map_err(|_| in_file(for_new, NotWritten.into()))?;
    let places: BTreeMap<String, usize> =
        wanted.iter().enumerate().map(|(place, entry)| (entry.name.clone(), place)).collect();
    let mut wanted: Vec<Option<Entry>> = wanted.into_iter().map(Some).collect();
    let mut merged = Merged::default();
    for (file, root) in roots.iter_mut().enumerate() {
        let existing = input::take_entries(root, list.name);
        let mut entries = Vec::new();
        for old in existing.map_err(|invalid| in_file(file, MergeError::Existing(invalid)))? {
            let place = places.get(&old.name);
            match (place.is_some(), is_ours(access, &old, list)) {
                (true, false) => {
                    return Err(in_file(file, MergeError::NameTaken { list: list.name, name: old.name }));
                }
                (true, true) => {
                    // One of the same name in a later file finds nothing left to be replaced by, and goes.
                    if let Some(mut new) = place.and_then(|place| wanted.get_mut(*place)?.take()) {
                        keep_own_key(&old, &mut new);
                        entries.push(new);
                    }
                }
                (false, true) => {
                    merged.dropped.insert(old.name.clone());
                    if !list.is_of_user {
                        entries.push(old);
                    }
                }
                (false, false) => entries.push(old),
            }
        }
        merged.entries.push(entries);
    }
    if let Some(entries) = merged.entries.get_mut(for_new) {
        entries.extend(wanted.into_iter().flatten());
    }
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

/// Returns the current context where it is removed.
fn set_current_context(
    roots: &mut [Map<String, Value>],
    wanted: &mut Map<String, Value>,
    for_new: usize,
    current: CurrentContext,
    dropped: &BTreeSet<String>,
) -> Option<String> {
    const MEMBER: &str = "current-context";
    let ours = wanted.remove(MEMBER).filter(|ours| ours != "");
    let name = |root: &Map<String, Value>| root.get(MEMBER).and_then(Value::as_str).map(str::to_owned);
    let before = roots.iter().filter_map(name).find(|name| !name.is_empty());
    match (ours, before) {
        (Some(ours), before) if current == CurrentContext::Use || before.is_none() => {
            roots[for_new].insert(MEMBER.to_owned(), ours);
            None
        }
        (_, before) => before.filter(|before| dropped.contains(before)),
    }
}

fn to_object<T: Serialize>(value: &T) -> Result<Map<String, Value>, NotWritten> {
    match serde_json::to_value(value) {
        Ok(Value::Object(object)) => Ok(object),
        Ok(_) | Err(_) => Err(NotWritten),
    }
}
