//! What a client asks next: it follows from the seed and from what the client was answered.

use std::collections::BTreeMap;

use dcm_core::port::store::{PAGE_MAX, Path, Version};

use super::content::WriteId;
use super::history::{Client, Outcome, Piece, Request, Sighting};
use super::seeded::Seeded;

/// So few documents that clients meet, some in a folder of their own.
const NAMES: [&str; 5] = ["a", "b", "c", "d/e", "d/f"];

/// The folder of some of them.
const INNER: &str = "d";

/// Sizes of pages: small ones, so that lists have several, and one that holds all.
const LIMITS: [usize; 4] = [1, 2, 3, PAGE_MAX];

/// A client of a history.
pub(super) struct Workload {
    seeded: Seeded,
    client: Client,
    folder: Path,
    paths: Vec<Path>,
    writes: u32,
    /// What it believes to be there.
    known: BTreeMap<Path, Option<Version>>,
    /// What was there before that, now and then used as if it still were.
    older: BTreeMap<Path, Version>,
    /// What it learned about last: mostly, that is what it writes next.
    fresh: Option<Path>,
    /// The rest of the list that it reads.
    rest: Option<Request>,
}

/// A path below another one.
pub(super) fn below(folder: &Path, name: &str) -> Path {
    Path::new(format!("{folder}/{name}")).expect("a path")
}

impl Workload {
    pub(super) fn new(seed: u64, client: Client, folder: &Path) -> Self {
        Self {
            seeded: Seeded::new(seed, u64::from(client.0)),
            client,
            folder: folder.clone(),
            paths: NAMES.iter().map(|name| below(folder, name)).collect(),
            writes: 0,
            known: BTreeMap::new(),
            older: BTreeMap::new(),
            fresh: None,
            rest: None,
        }
    }

    /// What it asks next.
    pub(super) fn next(&mut self) -> Request {
        let rest = self.rest.take();
        match (self.seeded.below(20), rest) {
            (0..15, Some(rest)) => rest,
            (0..4, _) => Request::Get(self.path()),
            (4..8, _) => self.list(),
            (8..14, _) => {
                let path = self.fresh.take().unwrap_or_else(|| self.path());
                Request::Write(vec![self.piece(path)])
            }
            _ => self.batch(),
        }
    }

    /// A short look at one document, to see whether the store is there.
    pub(super) fn look(&mut self) -> Request {
        Request::Get(self.path())
    }

    /// How long it pauses before the next call, in milliseconds.
    pub(super) fn pause(&mut self) -> u64 {
        if self.seeded.once_in(4) { self.seeded.below(4) } else { 0 }
    }

    fn path(&mut self) -> Path {
        self.seeded.pick(&self.paths).unwrap_or(&self.folder).clone()
    }

    fn list(&mut self) -> Request {
        let folder = if self.seeded.once_in(4) { below(&self.folder, INNER) } else { self.folder.clone() };
        let limit = self.seeded.pick(&LIMITS).copied().unwrap_or(PAGE_MAX);
        Request::List { folder, after: None, limit }
    }

    /// Writes of several documents, in any order.
    fn batch(&mut self) -> Request {
        let mut left = self.paths.clone();
        let size = 2 + self.seeded.below(3);
        let mut pieces = Vec::new();
        if let Some(fresh) = self.fresh.take() {
            left.retain(|path| *path != fresh);
            pieces.push(self.piece(fresh));
        }
        while (pieces.len() as u64) < size {
            let place = usize::try_from(self.seeded.below(left.len() as u64)).unwrap_or_default();
            let path = left.swap_remove(place);
            pieces.push(self.piece(path));
        }
        Request::Write(pieces)
    }

    /// A write that mostly goes by what it believes to be there.
    fn piece(&mut self, path: Path) -> Piece {
        let known = self.known.get(&path).copied().flatten();
        let older = self.older.get(&path).copied();
        let expects = match self.seeded.below(16) {
            0 => None,
            1 => older.or(known),
            _ => known,
        };
        let is_deleted = expects.is_some() && self.seeded.once_in(4);
        Piece { path, expects, puts: (!is_deleted).then(|| self.write()) }
    }

    fn write(&mut self) -> WriteId {
        self.writes += 1;
        WriteId { client: self.client, number: self.writes }
    }

    /// Takes note of an answer.
    pub(super) fn learn(&mut self, request: &Request, outcome: &Outcome) {
        match (request, outcome) {
            (Request::Get(path), Outcome::Got(found)) => {
                self.note(path, found.as_ref().map(|sighting| sighting.version));
            }
            (Request::List { folder, limit, .. }, Outcome::Listed { entries, next }) => {
                for Sighting { path, version, .. } in entries {
                    self.note(path, Some(*version));
                }
                self.rest = next.as_ref().map(|next| Request::List {
                    folder: folder.clone(),
                    after: Some(next.clone()),
                    limit: *limit,
                });
            }
            (Request::Write(pieces), Outcome::Written(versions)) => {
                for (piece, version) in pieces.iter().zip(versions) {
                    self.note(&piece.path, piece.puts.map(|_| *version));
                }
            }
            (_, Outcome::Conflict { path, found, .. }) => self.note(path, *found),
            _ => {}
        }
    }

    fn note(&mut self, path: &Path, found: Option<Version>) {
        self.fresh = Some(path.clone());
        if let Some(Some(older)) = self.known.insert(path.clone(), found) {
            self.older.insert(path.clone(), older);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn asked(seed: u64, client: u32) -> Vec<Request> {
        let folder = Path::new("h").unwrap();
        let mut workload = Workload::new(seed, Client(client), &folder);
        (0..200).map(|_| workload.next()).collect()
    }

    #[test]
    fn a_seed_asks_the_same_again_and_clients_differ() {
        assert_eq!(asked(7, 1), asked(7, 1));
        assert!(asked(7, 1) != asked(7, 2) && asked(7, 1) != asked(8, 1));
    }

    #[test]
    fn all_kinds_of_calls_come_and_no_batch_writes_a_path_twice() {
        let asked = asked(1, 1);
        assert!(asked.iter().any(|request| matches!(request, Request::Get(_))));
        assert!(asked.iter().any(|request| matches!(request, Request::List { .. })));
        for request in asked {
            let Request::Write(pieces) = request else { continue };
            let paths: std::collections::BTreeSet<_> = pieces.iter().map(|piece| &piece.path).collect();
            assert_eq!(paths.len(), pieces.len());
        }
    }

    #[test]
    fn what_was_learned_is_what_writes_expect_and_a_list_goes_on() {
        let folder = Path::new("h").unwrap();
        let mut workload = Workload::new(3, Client(1), &folder);
        for name in NAMES {
            let path = below(&folder, name);
            let found = Sighting { path: path.clone(), version: Version(9), write: None };
            workload.learn(&Request::Get(path), &Outcome::Got(Some(found)));
        }
        let pieces: Vec<Piece> = (0..100)
            .filter_map(|_| match workload.next() {
                Request::Write(pieces) => Some(pieces),
                _ => None,
            })
            .flatten()
            .collect();
        let is_update = |piece: &&Piece| piece.expects == Some(Version(9));
        assert!(pieces.iter().filter(is_update).count() > pieces.len() / 2);
        assert!(pieces.iter().any(|piece| piece.puts.is_none()));
        let list = Request::List { folder: folder.clone(), after: None, limit: 1 };
        let next = Some(below(&folder, "b"));
        let goes_on = (0..20).filter(|_| {
            workload.learn(&list, &Outcome::Listed { entries: Vec::new(), next: next.clone() });
            matches!(workload.next(), Request::List { after, .. } if after == next)
        });
        assert!(goes_on.count() > 10);
    }
}
