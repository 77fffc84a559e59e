//! What single answers show: they are of the form that was asked for.

use dcm_core::port::store::{Path, Prefix, Version};

use super::check::{Rule, Violation};
use super::history::{History, Outcome, Piece, Request, Sighting};

/// What is wrong with an answer.
type Fault = (Rule, &'static str);

pub(super) fn check(history: &History) -> Result<(), Violation> {
    for call in &history.calls {
        let Some((_, outcome)) = &call.answer else { continue };
        if let Err((rule, what)) = answer(&call.request, outcome, history.atomic_batches) {
            return Err(Violation::new(rule, what, vec![call.to_string()]));
        }
    }
    Ok(())
}

fn answer(request: &Request, outcome: &Outcome, atomic: bool) -> Result<(), Fault> {
    match (request, outcome) {
        (_, Outcome::Failed(_)) => Err((Rule::Answers, "a legal request failed for good")),
        (Request::Get(path), Outcome::Got(found)) => match found {
            Some(sighting) if sighting.path != *path => Err((Rule::Answers, "another document was read")),
            _ => Ok(()),
        },
        (Request::List { folder, after, limit }, Outcome::Listed { entries, next }) => {
            page(&Prefix::below(folder), after.as_ref(), *limit, entries, next.as_ref())
        }
        (Request::Write(pieces), Outcome::Written(versions)) => written(pieces, versions),
        (Request::Write(pieces), Outcome::Conflict { applied, path, found }) => {
            conflict(pieces, *applied, path, *found, atomic)
        }
        (Request::Write(pieces), Outcome::Unavailable { applied }) => {
            let most = if atomic { 0 } else { pieces.len() };
            if *applied <= most { Ok(()) } else { Err((Rule::Batches, "more stays of a batch than can be")) }
        }
        (_, Outcome::Unavailable { .. }) | (Request::Watch(_), Outcome::Watching) => Ok(()),
        _ => Err((Rule::Answers, "the answer is to another question")),
    }
}

fn written(pieces: &[Piece], versions: &[Version]) -> Result<(), Fault> {
    if pieces.len() != versions.len() {
        return Err((Rule::Answers, "there is not one version for each write"));
    }
    let deleted = pieces.iter().zip(versions).filter(|(piece, _)| piece.puts.is_none());
    for (piece, version) in deleted {
        if piece.expects != Some(*version) {
            return Err((Rule::Answers, "a deletion gives another version than the document had"));
        }
    }
    Ok(())
}

fn conflict(
    pieces: &[Piece],
    applied: usize,
    path: &Path,
    found: Option<Version>,
    atomic: bool,
) -> Result<(), Fault> {
    let Some(place) = pieces.iter().position(|piece| piece.path == *path) else {
        return Err((Rule::Answers, "the conflict is about a document that was not to be written"));
    };
    if pieces[place].expects == found {
        return Err((Rule::Answers, "the conflict found what was expected"));
    }
    match applied {
        0 if atomic => Ok(()),
        applied if !atomic && applied == place => Ok(()),
        _ => Err((Rule::Batches, "more or less stays of a batch than the writes before the failed one")),
    }
}

fn page(
    prefix: &Prefix,
    after: Option<&Path>,
    limit: usize,
    entries: &[Sighting],
    next: Option<&Path>,
) -> Result<(), Fault> {
    let fault = |what| Err((Rule::Pages, what));
    if entries.len() > limit {
        return fault("a page has more documents than asked for");
    }
    let mut last = after;
    for Sighting { path, .. } in entries {
        if !prefix.contains(path) {
            return fault("a page has a document of another folder");
        }
        if last >= Some(path) {
            return fault("the documents of a page are not in order behind where it begins");
        }
        last = Some(path);
    }
    match next {
        Some(next) if last > Some(next) => fault("the next page begins before the end of this one"),
        Some(next) if after >= Some(next) => fault("the next page begins where this one did"),
        _ => Ok(()),
    }
}
