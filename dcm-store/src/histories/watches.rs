//! What watches tell: what was, never going back, and at last the truth.

use std::collections::BTreeMap;

use dcm_core::port::store::{Path, Version};

use super::check::{Rule, Violation};
use super::facts::{Facts, Put, View};
use super::history::{Client, History, Moment, Outcome, Session, Told};
use super::shapes;

pub(super) fn check(facts: &Facts<'_>) -> Result<(), Violation> {
    for session in &facts.history.sessions {
        for told in &session.told {
            if !session.follows(told.1.path()) {
                return Err(violation(Rule::WatchOrder, "tells of another folder", session, told.1.path()));
            }
        }
        for path in facts.paths.iter().filter(|path| session.follows(path)) {
            order(&Track::new(facts, path), session)
                .map_err(|what| violation(Rule::WatchOrder, what, session, path))?;
        }
    }
    truth(facts)
}

/// True when nothing is to be waited for any more: each watch that is still read has told the last of what was written, or
/// something is wrong anyhow.
pub(super) fn are_through(history: &History) -> bool {
    shapes::check(history).is_err() || Facts::gather(history).is_ok_and(|facts| truth(&facts).is_ok())
}

fn violation(rule: Rule, what: &str, session: &Session, path: &Path) -> Violation {
    let what = format!("the watch of {} by {} {what} ({path})", session.folder, session.id.client);
    Violation::new(rule, what, session.show(path))
}

/// The states of a path, as far as they are known: nothing, then the writes in the order of their versions, and after each of
/// them perhaps nothing.
struct Track<'f, 'h> {
    facts: &'f Facts<'h>,
    path: &'h Path,
    puts: Vec<&'f Put<'h>>,
    has_unknown_versions: bool,
}

/// A state of a path: after so many of its writes, and whether it was deleted then.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
struct State {
    puts: usize,
    is_gone: bool,
}

impl<'f, 'h> Track<'f, 'h> {
    fn new(facts: &'f Facts<'h>, path: &'h Path) -> Self {
        let has_unknown_versions = facts.has_unknown_versions(path);
        Self { facts, path, puts: facts.puts_of(path), has_unknown_versions }
    }

    /// The latest state that was there for certain at some time before a moment.
    fn certain_before(&self, moment: Moment) -> State {
        let is_before = |put: &&Put<'_>| put.done_by.is_some_and(|at| at < moment);
        let puts = self.puts.iter().rposition(is_before).map_or(0, |last| last + 1);
        let version = puts.checked_sub(1).and_then(|last| self.puts[last].version);
        let mut deletions = self.facts.deletions.iter().filter(|deletion| deletion.path == self.path);
        let is_gone = puts == 0
            || deletions.any(|deletion| {
                Some(deletion.version) == version && deletion.done_by.is_some_and(|at| at < moment)
            });
        State { puts, is_gone }
    }

    /// True when there may have been nothing after so many writes, by a moment.
    fn could_be_gone(&self, puts: usize, by: Moment) -> bool {
        let Some(version) = puts.checked_sub(1).map(|last| self.puts[last].version) else { return true };
        if self.puts.get(puts).is_some_and(|next| next.expects == version && version.is_some()) {
            return false;
        }
        self.has_unknown_versions
            || self.facts.deletions.iter().any(|deletion| {
                deletion.path == self.path && Some(deletion.version) == version && deletion.invoked <= by
            })
    }
}

/// Each told state is the one before it, or a later one.
fn order(track: &Track<'_, '_>, session: &Session) -> Result<(), &'static str> {
    let places: BTreeMap<Version, usize> =
        track.puts.iter().zip(1..).filter_map(|(put, place)| Some((put.version?, place))).collect();
    let mut state = track.certain_before(session.invoked);
    let about_path = session.told.iter().filter(|(_, told)| told.path() == track.path);
    for (at, told) in about_path {
        match told {
            Told::Put(sighting) => {
                // What nobody wrote was refused before.
                let Some(place) = places.get(&sighting.version) else { continue };
                let put = State { puts: *place, is_gone: false };
                if put < state {
                    return Err("goes back");
                }
                state = put;
            }
            Told::Deleted(_) if state.is_gone => {}
            Told::Deleted(_) => {
                let gone = (state.puts..=track.puts.len()).find(|puts| track.could_be_gone(*puts, *at));
                let Some(puts) = gone else { return Err("tells of a deletion that never was") };
                state = State { puts, is_gone: true };
            }
        }
    }
    Ok(())
}

/// The last that watches told which are still read is what there is.
fn truth(facts: &Facts<'_>) -> Result<(), Violation> {
    let Some(listed) = last_list(facts) else { return Ok(()) };
    let views: BTreeMap<&Path, View> = facts.views(&facts.history.calls[listed]).into_iter().collect();
    for session in facts.history.sessions.iter().filter(|session| session.ended.is_none()) {
        for path in facts.paths.iter().filter(|path| session.follows(path)) {
            let Some(view) = views.get(path) else { continue };
            if let Err(what) = told_truth(facts, session, path, (listed, *view)) {
                let mut violation = violation(Rule::WatchTruth, what, session, path);
                violation.shown.extend(facts.show([listed]));
                return Err(violation);
            }
        }
    }
    Ok(())
}

/// The place of the last list of all, when everybody else was through.
fn last_list(facts: &Facts<'_>) -> Option<usize> {
    facts.history.calls.iter().rposition(|call| {
        let is_whole = matches!(&call.answer, Some((_, Outcome::Listed { next: None, .. })));
        call.id.client == Client::LAST && is_whole
    })
}

fn told_truth(
    facts: &Facts<'_>,
    session: &Session,
    path: &Path,
    (listed, truth): (usize, View),
) -> Result<(), &'static str> {
    let listing = facts.history.calls[listed].invoked;
    let last = session.told.iter().rev().find(|(_, told)| told.path() == path);
    let is_old = match (last, truth) {
        (Some((_, Told::Put(told))), View::Document(_, version) | View::Version(version)) => {
            told.version < version
        }
        // A write may be late, and so be told after the list.
        (Some((_, Told::Put(told))), View::Nothing) => {
            let put = told.write.and_then(|write| facts.puts.get(&write));
            put.and_then(|put| put.done_by).is_some_and(|at| at < listing)
        }
        (Some((at, Told::Deleted(_))), View::Document(_, version) | View::Version(version)) => {
            let is_late = |version| {
                facts.deletions.iter().any(|deletion| deletion.path == path && deletion.version == version)
            };
            *at < listing || !is_late(version)
        }
        (Some((_, Told::Deleted(_))), View::Nothing) => false,
        (None, truth) => saw_otherwise(facts, session, path, truth),
    };
    if is_old {
        return Err("never tells the last change");
    }
    let since = last.map_or(session.began, |(at, _)| (*at).max(session.began));
    let is_later_put = |put: &Put<'_>| put.path == path && put.done_by.is_some() && put.invoked > since;
    let mut deletions = facts.deletions.iter().filter(|deletion| deletion.path == path);
    let is_untold = facts.puts.values().any(is_later_put)
        || deletions.any(|deletion| deletion.done_by.is_some() && deletion.invoked > since);
    if is_untold { Err("tells nothing after a later change") } else { Ok(()) }
}

/// True when somebody saw, after the watch began, another state than the last.
fn saw_otherwise(facts: &Facts<'_>, session: &Session, path: &Path, truth: View) -> bool {
    let later = facts.history.calls.iter().filter(|call| call.invoked >= session.began);
    let mut views = later.flat_map(|call| facts.views(call)).filter(|(seen, _)| *seen == path);
    views.any(|(_, view)| version(view) != version(truth))
}

fn version(view: View) -> Option<Version> {
    match view {
        View::Nothing => None,
        View::Document(_, version) | View::Version(version) => Some(version),
    }
}
