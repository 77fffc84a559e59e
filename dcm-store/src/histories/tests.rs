//! Small histories by hand: legal ones that look suspicious, and illegal ones.

use dcm_core::port::store::{PAGE_MAX, Path, Version};

use super::*;

/// A history in the making.
struct Story {
    atomic_batches: bool,
    events: Vec<Event>,
    calls: u32,
}

fn path(name: &str) -> Path {
    Path::new(format!("h/{name}")).unwrap()
}

fn write(number: u32) -> WriteId {
    WriteId { client: Client(0), number }
}

fn create(name: &str, number: u32) -> Piece {
    Piece { path: path(name), expects: None, puts: Some(write(number)) }
}

fn update(name: &str, version: u64, number: u32) -> Piece {
    Piece { expects: Some(Version(version)), ..create(name, number) }
}

fn delete(name: &str, version: u64) -> Piece {
    Piece { path: path(name), expects: Some(Version(version)), puts: None }
}

fn seen(name: &str, number: u32, version: u64) -> Sighting {
    Sighting { path: path(name), version: Version(version), write: Some(write(number)) }
}

fn written(versions: &[u64]) -> Outcome {
    Outcome::Written(versions.iter().copied().map(Version).collect())
}

fn conflict(applied: usize, name: &str, found: Option<u64>) -> Outcome {
    Outcome::Conflict { applied, path: path(name), found: found.map(Version) }
}

const UNKNOWN: Outcome = Outcome::Unavailable { applied: 0 };

impl Story {
    /// On a store with atomic batches.
    fn new() -> Self {
        Self { atomic_batches: true, events: Vec::new(), calls: 0 }
    }

    fn weak() -> Self {
        Self { atomic_batches: false, ..Self::new() }
    }

    fn invoke(&mut self, at: u64, request: Request) -> CallId {
        self.calls += 1;
        let call = CallId { client: Client(self.calls), number: 0 };
        self.events.push(Event::Invoked { call, at: Moment(at), request });
        call
    }

    fn call(mut self, from: u64, to: u64, request: Request, outcome: Outcome) -> Self {
        let call = self.invoke(from, request);
        self.events.push(Event::Returned { call, at: Moment(to), outcome });
        self
    }

    fn batch(self, from: u64, to: u64, pieces: &[Piece], outcome: Outcome) -> Self {
        self.call(from, to, Request::Write(pieces.to_vec()), outcome)
    }

    fn write(self, from: u64, to: u64, piece: Piece, version: u64) -> Self {
        self.batch(from, to, &[piece], written(&[version]))
    }

    fn get(self, from: u64, to: u64, name: &str, found: Option<(u32, u64)>) -> Self {
        let found = found.map(|(number, version)| seen(name, number, version));
        self.call(from, to, Request::Get(path(name)), Outcome::Got(found))
    }

    fn page(self, from: u64, to: u64, entries: &[Sighting]) -> Self {
        let request = Request::List { folder: Path::new("h").unwrap(), after: None, limit: PAGE_MAX };
        self.call(from, to, request, Outcome::Listed { entries: entries.to_vec(), next: None })
    }

    /// What there is when everybody is through.
    fn end(mut self, from: u64, entries: &[Sighting]) -> Self {
        let call = CallId { client: Client::LAST, number: 0 };
        let request = Request::List { folder: Path::new("h").unwrap(), after: None, limit: PAGE_MAX };
        self.events.push(Event::Invoked { call, at: Moment(from), request });
        let outcome = Outcome::Listed { entries: entries.to_vec(), next: None };
        self.events.push(Event::Returned { call, at: Moment(from + 1), outcome });
        self
    }

    fn watch(mut self, from: u64, to: u64, told: &[(u64, Told)]) -> Self {
        let call = self.invoke(from, Request::Watch(Path::new("h").unwrap()));
        self.events.push(Event::Returned { call, at: Moment(to), outcome: Outcome::Watching });
        let told = told.iter().map(|(at, told)| Event::Told { call, at: Moment(*at), told: told.clone() });
        self.events.extend(told);
        self
    }

    /// The rule that it violates.
    fn broken(self) -> Option<Rule> {
        check(&History::new(self.atomic_batches, self.events)).err().map(|violation| violation.rule)
    }

    #[track_caller]
    fn holds(self) {
        let judged = check(&History::new(self.atomic_batches, self.events));
        assert!(judged.is_ok(), "{}", judged.unwrap_err());
    }
}

fn put(name: &str, number: u32, version: u64) -> Told {
    Told::Put(seen(name, number, version))
}

fn gone(name: &str) -> Told {
    Told::Deleted(path(name))
}

#[test]
fn calls_at_the_same_time_may_be_in_any_order() {
    Story::new()
        .write(1, 10, create("a", 1), 5)
        .get(2, 3, "a", None)
        .get(4, 5, "a", Some((1, 5)))
        .batch(2, 9, &[create("a", 2)], conflict(0, "a", Some(5)))
        .holds();
}

#[test]
fn a_read_of_what_was_replaced_before_it_began_is_found() {
    let story = || Story::new().write(1, 2, create("a", 1), 5).write(3, 4, update("a", 5, 2), 6);
    story().get(5, 6, "a", Some((2, 6))).holds();
    assert_eq!(story().get(5, 6, "a", Some((1, 5))).broken(), Some(Rule::Documents));
    assert_eq!(story().get(5, 6, "a", None).broken(), Some(Rule::Documents));
    assert_eq!(story().page(5, 6, &[seen("a", 1, 5)]).broken(), Some(Rule::Documents));
    assert_eq!(story().page(5, 6, &[]).broken(), Some(Rule::Documents));
}

#[test]
fn a_read_that_goes_back_behind_another_one_is_found() {
    let story = Story::new().write(1, 2, create("a", 1), 5).write(3, 9, update("a", 5, 2), 6);
    let story = story.get(4, 5, "a", Some((2, 6))).get(6, 7, "a", Some((1, 5)));
    assert_eq!(story.broken(), Some(Rule::Documents));
}

#[test]
fn a_write_without_an_answer_may_come_late_or_never() {
    let story = || Story::new().write(1, 2, create("a", 1), 5).batch(3, 4, &[update("a", 5, 2)], UNKNOWN);
    story().get(5, 6, "a", Some((1, 5))).holds();
    story().get(5, 6, "a", Some((2, 6))).holds();
    story().get(5, 6, "a", Some((1, 5))).get(7, 8, "a", Some((2, 6))).holds();
    // But not more than once.
    let story = story().get(5, 6, "a", Some((2, 6))).get(7, 8, "a", Some((1, 5)));
    assert_eq!(story.broken(), Some(Rule::Documents));
}

#[test]
fn a_deletion_without_an_answer_may_come_late_or_never() {
    let story = || Story::new().write(1, 2, create("a", 1), 5).batch(3, 4, &[delete("a", 5)], UNKNOWN);
    story().get(5, 6, "a", Some((1, 5))).get(7, 8, "a", None).write(9, 10, create("a", 2), 6).holds();
    story().write(9, 10, update("a", 5, 2), 6).get(11, 12, "a", Some((2, 6))).holds();
    let story = story().get(5, 6, "a", None).get(7, 8, "a", Some((1, 5)));
    assert_eq!(story.broken(), Some(Rule::Documents));
}

#[test]
fn a_version_that_only_a_conflict_names_is_that_of_a_write_without_an_answer() {
    let story = || Story::new().batch(1, 2, &[create("a", 1)], UNKNOWN);
    let story = || story().batch(3, 4, &[create("a", 2)], conflict(0, "a", Some(7)));
    story().write(5, 6, delete("a", 7), 7).write(7, 8, create("a", 3), 8).holds();
    let twice = story().batch(5, 6, &[create("a", 4)], conflict(0, "a", Some(9)));
    assert_eq!(twice.broken(), Some(Rule::Documents), "one write has one version");
    let nobody = Story::new().write(1, 2, create("a", 1), 5);
    let nobody = nobody.batch(3, 4, &[create("a", 2)], conflict(0, "a", Some(7)));
    assert_eq!(nobody.broken(), Some(Rule::Documents));
}

#[test]
fn two_winners_of_one_version_are_found() {
    let story = Story::new().write(1, 2, create("a", 1), 5).write(3, 9, update("a", 5, 2), 6);
    assert_eq!(story.write(4, 8, update("a", 5, 3), 7).broken(), Some(Rule::Documents));
}

#[test]
fn a_lost_write_that_was_acknowledged_is_found() {
    let story = Story::new().write(1, 2, create("a", 1), 5).write(3, 4, update("a", 5, 2), 6);
    assert_eq!(story.end(9, &[seen("a", 1, 5)]).broken(), Some(Rule::Documents));
}

#[test]
fn versions_are_used_once_and_grow() {
    let story = || Story::new().write(1, 2, create("a", 1), 5).write(3, 4, delete("a", 5), 5);
    story().write(5, 6, create("a", 2), 6).holds();
    assert_eq!(story().write(5, 6, create("a", 2), 5).broken(), Some(Rule::Versions));
    assert_eq!(story().write(5, 6, create("a", 2), 4).broken(), Some(Rule::Versions));
    let two = Story::new().write(1, 9, create("a", 1), 5).get(2, 3, "a", Some((1, 6)));
    assert_eq!(two.broken(), Some(Rule::Versions));
}

#[test]
fn what_was_refused_or_never_written_is_not_seen() {
    let refused = Story::new().write(1, 2, create("a", 1), 5);
    let refused = refused.batch(3, 4, &[create("a", 2)], conflict(0, "a", Some(5)));
    assert_eq!(refused.get(5, 6, "a", Some((2, 6))).broken(), Some(Rule::Written));
    assert_eq!(Story::new().get(5, 6, "a", Some((2, 6))).broken(), Some(Rule::Written));
    let early = Story::new().get(1, 2, "a", Some((1, 5))).write(3, 4, create("a", 1), 5);
    assert_eq!(early.broken(), Some(Rule::Written));
}

#[test]
fn a_page_and_a_batch_of_an_atomic_store_are_of_one_moment() {
    let both = [create("a", 1), create("b", 2)];
    let (a, b) = (seen("a", 1, 5), seen("b", 2, 6));
    Story::new().batch(1, 9, &both, written(&[5, 6])).page(2, 3, &[]).page(4, 5, &[a.clone(), b]).holds();
    let part = Story::new().batch(1, 9, &both, written(&[5, 6])).page(2, 3, std::slice::from_ref(&a));
    assert_eq!(part.broken(), Some(Rule::Moments));
    let weak = Story::weak().batch(1, 9, &both, written(&[5, 6])).page(2, 3, std::slice::from_ref(&a));
    weak.holds();
    let gets = Story::new().batch(1, 9, &both, written(&[5, 6]));
    let gets = gets.get(2, 3, "a", Some((1, 5))).get(4, 5, "b", None);
    assert_eq!(gets.broken(), Some(Rule::Moments), "the first read saw the batch");
}

#[test]
fn a_batch_without_an_answer_happened_as_a_whole_or_not_at_all() {
    let both = [create("a", 1), create("b", 2)];
    let story = || Story::new().batch(1, 2, &both, UNKNOWN);
    story().page(3, 4, &[]).page(5, 6, &[seen("a", 1, 5), seen("b", 2, 5)]).holds();
    story().get(3, 4, "a", None).get(5, 6, "b", None).holds();
    let half = story().get(3, 4, "a", Some((1, 5))).get(5, 6, "b", None);
    assert_eq!(half.broken(), Some(Rule::Batches));
}

#[test]
fn where_batches_are_not_atomic_the_writes_before_the_failed_one_stay() {
    let all = [create("a", 1), create("b", 2), create("c", 3)];
    let story = |outcome| Story::weak().write(1, 2, create("b", 9), 4).batch(3, 4, &all, outcome);
    story(conflict(1, "b", Some(4))).get(5, 6, "a", Some((1, 5))).get(5, 6, "c", None).holds();
    let missing = story(conflict(1, "b", Some(4))).get(5, 6, "a", None);
    assert_eq!(missing.broken(), Some(Rule::Batches));
    let behind = story(conflict(1, "b", Some(4))).get(5, 6, "c", Some((3, 6)));
    assert_eq!(behind.broken(), Some(Rule::Batches));
    assert_eq!(story(conflict(0, "b", Some(4))).broken(), Some(Rule::Batches));
}

#[test]
fn of_a_batch_that_is_not_atomic_and_has_no_answer_a_beginning_may_stay_also_late() {
    let all = [create("a", 1), create("b", 2), create("c", 3)];
    let story = || Story::weak().batch(1, 2, &all, UNKNOWN);
    story().get(3, 4, "a", None).get(5, 6, "a", Some((1, 5))).get(5, 6, "b", None).holds();
    story().get(3, 4, "b", Some((2, 6))).get(5, 6, "a", Some((1, 5))).holds();
    let gap = story().get(3, 4, "b", Some((2, 6))).get(5, 6, "a", None);
    assert_eq!(gap.broken(), Some(Rule::Batches));
    let said = Story::weak().batch(1, 2, &all, Outcome::Unavailable { applied: 1 });
    assert_eq!(said.get(3, 4, "a", None).broken(), Some(Rule::Batches));
}

#[test]
fn a_page_is_in_order_and_within_what_was_asked() {
    let story = || Story::new().write(1, 2, create("a", 1), 5).write(3, 4, create("b", 2), 6);
    let (a, b) = (seen("a", 1, 5), seen("b", 2, 6));
    story().page(5, 6, &[a.clone(), b.clone()]).holds();
    assert_eq!(story().page(5, 6, &[b.clone(), a.clone()]).broken(), Some(Rule::Pages));
    let list = |after: Option<&str>, limit, entries: Vec<Sighting>, next: Option<&str>| {
        let request = Request::List { folder: Path::new("h").unwrap(), after: after.map(path), limit };
        story().call(5, 6, request, Outcome::Listed { entries, next: next.map(path) })
    };
    list(None, 1, vec![a.clone()], Some("a")).holds();
    list(Some("a"), 1, vec![b.clone()], None).holds();
    assert_eq!(list(None, 1, vec![a.clone(), b.clone()], None).broken(), Some(Rule::Pages));
    assert_eq!(list(Some("a"), 2, vec![a.clone(), b.clone()], None).broken(), Some(Rule::Pages));
    assert_eq!(list(None, 2, vec![a, b], Some("a")).broken(), Some(Rule::Pages));
    assert_eq!(list(None, 1, Vec::new(), Some("a")).broken(), Some(Rule::Documents), "it passes over one");
}

#[test]
fn an_answer_that_no_legal_request_gets_is_found() {
    let failed = Story::new().call(1, 2, Request::Get(path("a")), Outcome::Failed("no".into()));
    assert_eq!(failed.broken(), Some(Rule::Answers));
    let wanted = Story::new().write(1, 2, create("a", 1), 5);
    let wanted = wanted.batch(3, 4, &[update("a", 5, 2)], conflict(0, "a", Some(5)));
    assert_eq!(wanted.broken(), Some(Rule::Answers));
}

#[test]
fn a_watch_may_join_changes_and_tell_again_what_is() {
    let story = || Story::new().write(1, 2, create("a", 1), 5).write(5, 6, update("a", 5, 2), 6);
    let end = [seen("a", 2, 6)];
    story().watch(3, 4, &[(9, put("a", 2, 6))]).end(20, &end).holds();
    story()
        .watch(3, 4, &[(5, put("a", 1, 5)), (9, put("a", 2, 6)), (10, put("a", 2, 6))])
        .end(20, &end)
        .holds();
    let gone_between = story().write(11, 12, delete("a", 6), 6).write(13, 14, create("a", 3), 7);
    gone_between.watch(3, 4, &[(15, gone("a")), (16, put("a", 3, 7))]).end(20, &[seen("a", 3, 7)]).holds();
}

#[test]
fn a_watch_that_goes_back_is_found() {
    let story = || Story::new().write(1, 2, create("a", 1), 5).write(5, 6, update("a", 5, 2), 6);
    let back = story().watch(3, 4, &[(9, put("a", 2, 6)), (10, put("a", 1, 5))]);
    assert_eq!(back.broken(), Some(Rule::WatchOrder));
    let older = story().watch(7, 8, &[(9, put("a", 1, 5))]);
    assert_eq!(older.broken(), Some(Rule::WatchOrder), "it is older than the watch");
    let never = story().watch(3, 4, &[(9, put("a", 2, 6)), (10, gone("a"))]);
    assert_eq!(never.broken(), Some(Rule::WatchOrder), "nobody deleted it");
    let deleted = story().write(11, 12, delete("a", 6), 6);
    let revived = deleted.watch(3, 4, &[(13, gone("a")), (14, put("a", 2, 6))]);
    assert_eq!(revived.broken(), Some(Rule::WatchOrder));
}

#[test]
fn a_watch_that_never_ends_at_the_truth_is_found() {
    let story = || Story::new().write(1, 2, create("a", 1), 5).write(5, 6, update("a", 5, 2), 6);
    let end = [seen("a", 2, 6)];
    assert_eq!(story().watch(3, 4, &[]).end(20, &end).broken(), Some(Rule::WatchTruth));
    let stale = story().watch(3, 4, &[(9, put("a", 1, 5))]).end(20, &end);
    assert_eq!(stale.broken(), Some(Rule::WatchTruth));
    story().watch(7, 8, &[]).end(20, &end).holds();
    let deleted = || story().write(11, 12, delete("a", 6), 6);
    assert_eq!(deleted().watch(7, 8, &[]).end(20, &[]).broken(), Some(Rule::WatchTruth));
    assert_eq!(deleted().watch(3, 4, &[(9, put("a", 2, 6))]).end(20, &[]).broken(), Some(Rule::WatchTruth));
    deleted().watch(7, 8, &[(13, gone("a"))]).end(20, &[]).holds();
    let again = || deleted().write(13, 14, create("a", 3), 7);
    let untold = again().watch(7, 8, &[(12, gone("a"))]).end(20, &[seen("a", 3, 7)]);
    assert_eq!(untold.broken(), Some(Rule::WatchTruth));
}

#[test]
fn what_a_watch_tells_of_a_late_write_after_the_end_is_no_lie() {
    let story = Story::new().write(1, 2, create("a", 1), 5).batch(3, 4, &[update("a", 5, 2)], UNKNOWN);
    let story = story.watch(1, 2, &[(3, put("a", 1, 5)), (30, put("a", 2, 6))]);
    story.end(20, &[seen("a", 1, 5)]).holds();
    let story = Story::new().write(1, 2, create("a", 1), 5).batch(3, 4, &[delete("a", 5)], UNKNOWN);
    story.watch(5, 6, &[(30, gone("a"))]).end(20, &[seen("a", 1, 5)]).holds();
}

#[test]
fn a_violation_shows_the_calls_that_are_concerned() {
    let story = Story::new().write(1, 2, create("a", 1), 5).write(3, 4, update("a", 5, 2), 6);
    let story = story.get(5, 6, "a", Some((1, 5)));
    let violation = check(&History::new(true, story.events)).unwrap_err();
    let expected = "rule Documents: no order of the calls explains what was seen of h/a
    [1 to 2] client 1: create h/a #0.1 -> version 5
    [3 to 4] client 2: update h/a #0.2 over version 5 -> version 6
    then h/a is #0.2 in version 6, and none of these can be next:
    [5 to 6] client 3: get h/a -> h/a #0.1 in version 5";
    assert_eq!(violation.to_string(), expected);
}
