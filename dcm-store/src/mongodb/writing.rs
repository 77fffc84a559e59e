//! Batches of writes as one list of updates, each of which finds what it expects or ends the list.
//!
//! MongoDB goes on after an update that found nothing, but not after one that fails. So each is told to make the record that it
//! does not find, and can't: a creation because the record is there already, another one because it would have to make it under
//! another name. Then what there is instead is read.

use std::collections::BTreeMap;
use std::time::SystemTime;

use dcm_core::port::room::Room;
use dcm_core::port::store::{BatchError, Error, Path, Version, Write};
use mongodb::bson::{Bson, Document, doc};

use super::failure::unavailable;
use super::record::{self, CHANGED, DELETED, DOCUMENT, Head, ID, TEXT, VERSION};
use super::server::{Find, Freshness, Server, Stopped};
use super::versions;
use crate::rules;

/// How often a batch is begun again because others were faster, yet left things as it expects them.
const TRIES_MAX: usize = 16;

/// Applies writes in order and gives the version of each.
pub(super) async fn apply(
    server: &Server,
    rooms: &[Room],
    batch: &[Write],
) -> Result<Vec<Version>, BatchError> {
    let mut given = Vec::with_capacity(batch.len());
    let mut deleted = None;
    for _ in 0..TRIES_MAX {
        let rest = &batch[given.len()..];
        let failed = |source| BatchError { applied: given.len(), source };
        let planned = plan(rest, deleted, server.now()).map_err(failed)?;
        let updates = planned.iter().map(|planned| planned.update(rooms)).collect();
        let Err(stopped) = server.update(updates).await.map_err(failed)? else {
            given.extend(planned.iter().map(Planned::given));
            return Ok(given);
        };
        let heads = heads(server, rest).await.map_err(failed)?;
        let (applied, next) = settle(&planned, &stopped, &heads);
        given.extend(planned[..applied].iter().map(Planned::given));
        let source = match (next, stopped.error) {
            (Next::Again(after), None) => {
                deleted = after;
                continue;
            }
            (Next::Refused(refusal), None) => refusal,
            (Next::Unknown, _) => unavailable("nobody knows how much of the batch was written"),
            (Next::Again(_) | Next::Refused(_), Some(error)) => error,
        };
        return Err(BatchError { applied: given.len(), source });
    }
    Err(BatchError { applied: given.len(), source: unavailable("too many write the same documents") })
}

/// A write, and the version that it gives.
struct Planned<'a> {
    write: &'a Write,
    version: Version,
}

/// Gives each write a version; the first one makes what was deleted in that version, if any.
fn plan(writes: &[Write], deleted: Option<Version>, now: SystemTime) -> Result<Vec<Planned<'_>>, Error> {
    let mut planned = Vec::with_capacity(writes.len());
    for (place, write) in writes.iter().enumerate() {
        let after = match write {
            Write::Create { .. } => deleted.filter(|_| place == 0),
            Write::Update { version, .. } | Write::Delete { version, .. } => Some(*version),
        };
        let random = getrandom::u64().map_err(|_| Error::Failed {
            reason: "the system gives no random numbers".into(),
            source: None,
        })?;
        planned.push(Planned { write, version: versions::next(after, now, random) });
    }
    Ok(planned)
}

impl Planned<'_> {
    /// The version that the caller is given.
    fn given(&self) -> Version {
        match self.write {
            Write::Delete { version, .. } => *version,
            Write::Create { .. } | Write::Update { .. } => self.version,
        }
    }

    /// The update that does it.
    fn update(&self, rooms: &[Room]) -> Document {
        let id = self.write.path().as_str();
        let mut set = doc! { VERSION: versions::number(self.version) };
        let mut now = doc! { CHANGED: { "$type": "timestamp" } };
        let (asked, unset) = match self.write {
            Write::Create { document, .. } => {
                let (content, mut unset) = record::content(document);
                set.extend(content);
                set.extend(record::keys(rooms, self.write.path()));
                unset.insert(DELETED, "");
                let below = doc! { "$lt": versions::number(self.version) };
                (doc! { ID: id, DELETED: { "$exists": true }, VERSION: below }, unset)
            }
            Write::Update { version, document, .. } => {
                let (content, unset) = record::content(document);
                set.extend(content);
                (doc! { ID: id, VERSION: only(*version) }, unset)
            }
            Write::Delete { version, .. } => {
                now.insert(DELETED, true);
                (doc! { ID: id, VERSION: only(*version) }, doc! { DOCUMENT: "", TEXT: "" })
            }
        };
        let mut update = doc! { "$set": set, "$unset": unset, "$currentDate": now };
        if !matches!(self.write, Write::Create { .. }) {
            update.insert("$setOnInsert", doc! { ID: "" });
        }
        doc! { "q": asked, "u": update, "upsert": true }
    }

    /// What to do when the write did not find what it expects, and there is this.
    fn next(&self, found: Option<&Head>) -> Next {
        let path = self.write.path();
        let (deleted, live) = match found {
            Some(head) if head.is_deleted => (Some(head.version), None),
            found => (None, found.map(|head| head.version)),
        };
        let in_the_way = match self.write {
            Write::Create { .. } => deleted.or(live),
            Write::Update { .. } | Write::Delete { .. } => live,
        };
        match self.write {
            _ if in_the_way == Some(Version::UNREADABLE) => Next::Refused(rules::unreadable_version(path)),
            Write::Create { .. } if live.is_none() => Next::Again(deleted),
            Write::Update { version, .. } | Write::Delete { version, .. } if live == Some(*version) => {
                Next::Again(None)
            }
            _ => Next::Refused(Error::Conflict { path: path.clone(), found: live }),
        }
    }
}

/// What a record's version has to be; none is one that no document has.
fn only(version: Version) -> Bson {
    versions::number(version).map_or_else(|| doc! { "$in": [] }.into(), Into::into)
}

/// What becomes of the writes that were not applied.
#[derive(Debug)]
enum Next {
    /// There is now what the first of them expects. A document that it makes was deleted in this version.
    Again(Option<Version>),
    Refused(Error),
    /// Some of them may have been applied.
    Unknown,
}

/// How many of the planned writes were applied when they stopped, and what becomes of the first one that was not.
fn settle(planned: &[Planned<'_>], stopped: &Stopped, heads: &BTreeMap<Path, Head>) -> (usize, Next) {
    let found = |planned: &Planned<'_>| heads.get(planned.write.path());
    let is_seen = |planned: &Planned<'_>| found(planned).is_some_and(|head| head.version == planned.version);
    let seen = planned.iter().rposition(is_seen).map_or(0, |last| last + 1);
    let applied = stopped.place.unwrap_or(seen);
    let Some(failed) = planned.get(applied) else { return (seen, Next::Unknown) };
    // One that was applied and written over has a version above ours; so may one that was not.
    let may_be_applied = found(failed).is_some_and(|head| head.version > failed.version);
    let is_last = applied + 1 == planned.len();
    if stopped.place.is_none() && may_be_applied && !is_last {
        return (seen, Next::Unknown);
    }
    (applied, failed.next(found(failed)))
}

/// What there is where these are written.
async fn heads(server: &Server, writes: &[Write]) -> Result<BTreeMap<Path, Head>, Error> {
    let ids: Vec<&str> = writes.iter().map(|write| write.path().as_str()).collect();
    let find = Find {
        filter: doc! { ID: { "$in": ids } },
        fields: record::head_fields(),
        sort: doc! { ID: 1 },
        limit: writes.len(),
        freshness: Freshness::Latest,
    };
    let (records, _) = server.find(find).await?;
    let heads = records.iter().filter_map(record::head);
    Ok(heads.map(|head| (head.path.clone(), head)).collect())
}

#[cfg(test)]
mod tests {
    use dcm_core::port::store;

    use super::*;

    const OURS: [Version; 3] = [Version(100), Version(200), Version(300)];

    /// Updates of three documents, each in version 1.
    fn writes() -> Vec<Write> {
        let path = |name| Path::new(name).unwrap();
        let document = || store::Document::from_stored("{}");
        ["a", "b", "c"]
            .map(|name| Write::Update { path: path(name), version: Version(1), document: document() })
            .to_vec()
    }

    /// How many of three updates were applied, when this is there after they stopped.
    fn settled(writes: &[Write], place: Option<usize>, there: [Option<u64>; 3]) -> (usize, Next) {
        let planned: Vec<Planned<'_>> =
            writes.iter().zip(OURS).map(|(write, version)| Planned { write, version }).collect();
        let head = |(write, version): (&Write, Option<u64>)| {
            let path = write.path().clone();
            let head = Head { path: path.clone(), version: Version(version?), is_deleted: false };
            Some((path, head))
        };
        let heads = writes.iter().zip(there).filter_map(head).collect();
        settle(&planned, &Stopped { place, error: None }, &heads)
    }

    fn conflict_at(name: &str, next: &Next) -> Option<Version> {
        match next {
            Next::Refused(Error::Conflict { path, found }) if path.as_str() == name => *found,
            other => panic!("{other:?}"),
        }
    }

    #[test]
    fn a_server_that_says_where_it_stopped_is_believed() {
        let writes = writes();
        let (applied, next) = settled(&writes, Some(1), [Some(100), Some(9), Some(1)]);
        assert_eq!((applied, conflict_at("b", &next)), (1, Some(Version(9))));
        // The first one was written over since.
        let (applied, next) = settled(&writes, Some(1), [Some(999), None, Some(1)]);
        assert_eq!((applied, conflict_at("b", &next)), (1, None));
    }

    #[test]
    fn of_another_one_what_is_there_says_it() {
        let writes = writes();
        let (applied, next) = settled(&writes, None, [Some(100), Some(9), Some(1)]);
        assert_eq!((applied, conflict_at("b", &next)), (1, Some(Version(9))));
        let (applied, next) = settled(&writes, None, [Some(999), Some(200), Some(301)]);
        assert_eq!((applied, conflict_at("c", &next)), (2, Some(Version(301))), "no other one is left");
    }

    #[test]
    fn where_what_is_there_does_not_say_it_nobody_knows() {
        let (applied, next) = settled(&writes(), None, [Some(100), Some(999), Some(1)]);
        assert!(applied == 1 && matches!(next, Next::Unknown), "the second one may have been written over");
    }

    #[test]
    fn what_is_as_expected_again_is_written_again() {
        let writes = writes();
        let (applied, next) = settled(&writes, None, [Some(100), Some(1), Some(1)]);
        assert!(applied == 1 && matches!(next, Next::Again(None)));
        let path = Path::new("a").unwrap();
        let creation = Write::Create { path: path.clone(), document: store::Document::from_stored("{}") };
        let planned = Planned { write: &creation, version: Version(5) };
        let deleted = Head { path, version: Version(7), is_deleted: true };
        assert!(matches!(planned.next(Some(&deleted)), Next::Again(Some(Version(7)))));
        assert!(matches!(planned.next(None), Next::Again(None)));
    }

    #[test]
    fn what_has_no_version_is_written_by_nobody_and_asking_again_is_no_use() {
        let path = Path::new("a").unwrap();
        let creation = Write::Create { path: path.clone(), document: store::Document::from_stored("{}") };
        let deletion = Write::Delete { path: path.clone(), version: Version::UNREADABLE };
        for (write, is_deleted) in [(&creation, false), (&creation, true), (&deletion, false)] {
            let planned = Planned { write, version: Version(5) };
            let head = Head { path: path.clone(), version: Version::UNREADABLE, is_deleted };
            let next = planned.next(Some(&head));
            assert!(matches!(next, Next::Refused(Error::Failed { .. })), "{write:?}: {next:?}");
        }
    }
}
