//! What is certain after a history: which writes happened, by when, and in which versions.

use std::collections::{BTreeMap, BTreeSet};

use dcm_core::port::store::{Path, Prefix, Version};

use super::check::{Rule, Violation};
use super::content::WriteId;
use super::history::{Call, History, Moment, Outcome, Request, Sighting, Told};

/// A write of a document.
#[derive(Debug)]
pub(super) struct Put<'h> {
    pub(super) write: WriteId,
    pub(super) path: &'h Path,
    pub(super) expects: Option<Version>,
    /// The version that it gave, where anybody was told.
    pub(super) version: Option<Version>,
    pub(super) invoked: Moment,
    /// When it had happened for certain: somebody was told that it did.
    pub(super) done_by: Option<Moment>,
    /// The place of its call in the history.
    pub(super) call: usize,
    is_refused: bool,
}

/// A deletion that was not refused.
#[derive(Debug)]
pub(super) struct Deletion<'h> {
    pub(super) path: &'h Path,
    pub(super) version: Version,
    pub(super) invoked: Moment,
    /// When it was acknowledged.
    pub(super) done_by: Option<Moment>,
}

/// What a call saw of a document.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum View {
    Nothing,
    Document(WriteId, Version),
    /// All that a conflict says.
    Version(Version),
}

/// What is certain after a history.
pub(super) struct Facts<'h> {
    pub(super) history: &'h History,
    pub(super) puts: BTreeMap<WriteId, Put<'h>>,
    pub(super) deletions: Vec<Deletion<'h>>,
    /// All paths that were to be written.
    pub(super) paths: BTreeSet<&'h Path>,
    /// Who gave which version.
    pub(super) versions: BTreeMap<(&'h Path, Version), WriteId>,
}

/// True when a call was told that this one of its writes did not happen.
pub(super) fn is_refused(call: &Call, place: usize, atomic: bool) -> bool {
    match &call.answer {
        Some((_, Outcome::Conflict { applied, .. })) => atomic || place >= *applied,
        _ => false,
    }
}

impl<'h> Facts<'h> {
    /// Collects what is certain.
    ///
    /// # Errors
    /// When something was seen that was not written, or one write in two versions.
    pub(super) fn gather(history: &'h History) -> Result<Self, Violation> {
        let mut facts = Self {
            history,
            puts: BTreeMap::new(),
            deletions: Vec::new(),
            paths: BTreeSet::new(),
            versions: BTreeMap::new(),
        };
        for place in 0..history.calls.len() {
            facts.add_writes(place);
        }
        for (call, seen_by) in history.calls.iter().zip(0..) {
            let Some((at, outcome)) = &call.answer else { continue };
            for sighting in sightings(outcome) {
                facts.see(sighting, *at, || history.calls.get(seen_by).map(Call::to_string))?;
            }
        }
        for session in &history.sessions {
            for (at, told) in &session.told {
                if let Told::Put(sighting) = told {
                    let show = || Some(format!("[{}] {} was told: {told}", at.0, session.id.client));
                    facts.see(sighting, *at, show)?;
                }
            }
        }
        for put in facts.puts.values() {
            if let Some(version) = put.version {
                facts.versions.insert((put.path, version), put.write);
            }
        }
        Ok(facts)
    }

    fn add_writes(&mut self, place: usize) {
        let call = &self.history.calls[place];
        let acknowledged = match &call.answer {
            Some((at, Outcome::Written(versions))) => Some((*at, versions)),
            _ => None,
        };
        let done_by = acknowledged.map(|(at, _)| at);
        for (number, piece) in call.pieces().iter().enumerate() {
            self.paths.insert(&piece.path);
            let (path, invoked, expects) = (&piece.path, call.invoked, piece.expects);
            let is_refused = is_refused(call, number, self.history.atomic_batches);
            match (piece.puts, expects) {
                (Some(write), _) => {
                    let version = acknowledged.and_then(|(_, versions)| versions.get(number).copied());
                    let call = place;
                    let put = Put { write, path, expects, version, invoked, done_by, call, is_refused };
                    self.puts.insert(write, put);
                }
                (None, Some(version)) if !is_refused => {
                    self.deletions.push(Deletion { path, version, invoked, done_by });
                }
                _ => {}
            }
        }
    }

    /// Takes note that a document was seen, and refuses what can't be.
    fn see(
        &mut self,
        sighting: &Sighting,
        at: Moment,
        show: impl Fn() -> Option<String>,
    ) -> Result<(), Violation> {
        let calls = &self.history.calls;
        let put = sighting.write.and_then(|write| self.puts.get_mut(&write));
        let shown = |put: Option<&Put<'_>>| {
            let written = put.and_then(|put| calls.get(put.call)).map(Call::to_string);
            written.into_iter().chain(show()).collect()
        };
        let Some(put) = put else {
            return Err(Violation::new(Rule::Written, "what was seen was never written", shown(None)));
        };
        if put.path != &sighting.path || put.invoked > at {
            let what = "what was seen was written elsewhere or later";
            return Err(Violation::new(Rule::Written, what, shown(Some(put))));
        }
        if put.is_refused {
            let is_part = calls.get(put.call).is_some_and(|call| call.pieces().len() > 1);
            let rule = if is_part { Rule::Batches } else { Rule::Written };
            return Err(Violation::new(rule, "what was seen had been refused", shown(Some(put))));
        }
        if put.version.is_some_and(|version| version != sighting.version) {
            let what = "one write was given two versions";
            return Err(Violation::new(Rule::Versions, what, shown(Some(put))));
        }
        put.version = Some(sighting.version);
        put.done_by = Some(put.done_by.map_or(at, |earlier| earlier.min(at)));
        Ok(())
    }

    /// The writes of a path whose versions are known, in the order of these.
    pub(super) fn puts_of(&self, path: &Path) -> Vec<&Put<'h>> {
        let known = self.puts.values().filter(|put| put.path == path && put.version.is_some());
        let mut puts: Vec<&Put<'h>> = known.collect();
        puts.sort_by_key(|put| (put.version, put.write));
        puts
    }

    /// What a call saw of each document.
    pub(super) fn views(&self, call: &'h Call) -> Vec<(&'h Path, View)> {
        let Some((_, outcome)) = &call.answer else { return Vec::new() };
        let view = |seen: Option<&Sighting>| match seen {
            Some(Sighting { write: Some(write), version, .. }) => View::Document(*write, *version),
            // What nobody wrote was refused before.
            Some(Sighting { version, .. }) => View::Version(*version),
            None => View::Nothing,
        };
        match (&call.request, outcome) {
            (Request::Get(path), Outcome::Got(found)) => vec![(path, view(found.as_ref()))],
            (Request::List { folder, after, .. }, Outcome::Listed { entries, next }) => {
                let prefix = Prefix::below(folder);
                let is_behind = |path: &&&Path| after.as_ref().is_none_or(|after| **path > after);
                let is_before = |path: &&&Path| next.as_ref().is_none_or(|next| **path <= next);
                let covered = self.paths.iter().filter(|path| prefix.contains(path));
                let covered = covered.filter(is_behind).filter(is_before);
                let entry = |path: &Path| entries.iter().find(|entry| entry.path == *path);
                covered.map(|path| (*path, view(entry(path)))).collect()
            }
            (_, Outcome::Conflict { path, found, .. }) => {
                vec![(path, found.map_or(View::Nothing, View::Version))]
            }
            _ => Vec::new(),
        }
    }

    /// True when a version of this path was named that nobody is known to have given: some write happened of which nobody was
    /// told.
    pub(super) fn has_unknown_versions(&self, path: &Path) -> bool {
        let is_unknown = |version: &Version| !self.versions.contains_key(&(path, *version));
        let found = self.history.calls.iter().flat_map(|call| self.views(call));
        let mut found = found.filter(|(seen, _)| *seen == path).filter_map(|(_, view)| match view {
            View::Version(version) | View::Document(_, version) => Some(version),
            View::Nothing => None,
        });
        let puts = self.puts.values().filter(|put| put.path == path && !put.is_refused);
        let deletions = self.deletions.iter().filter(|deletion| deletion.path == path);
        let mut expected =
            puts.filter_map(|put| put.expects).chain(deletions.map(|deletion| deletion.version));
        found.any(|version| is_unknown(&version)) || expected.any(|version| is_unknown(&version))
    }

    /// The calls at these places.
    pub(super) fn show(&self, places: impl IntoIterator<Item = usize>) -> Vec<String> {
        places.into_iter().filter_map(|place| self.history.calls.get(place)).map(Call::to_string).collect()
    }
}

/// The documents that an answer shows.
fn sightings(outcome: &Outcome) -> &[Sighting] {
    match outcome {
        Outcome::Got(found) => found.as_slice(),
        Outcome::Listed { entries, .. } => entries,
        _ => &[],
    }
}
