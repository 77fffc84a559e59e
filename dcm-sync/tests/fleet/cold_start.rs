//! A worker that starts anew, over a fleet that is as it is wanted, only reads; and what is known is told at once.

use std::sync::{Arc, Mutex};
use std::time::Duration;

use dcm_core::status::ContextStatus;
use dcm_sync::engine::Options;
use dcm_sync::sim::{Link, RequestLog};

use crate::support::{Worker, World, context_id, logical_cloud};

const CLUSTERS: usize = 1000;
const CONTEXTS: usize = 2;

/// Kinds of the logical cloud's objects, that of its request for a certificate among them: each is listed once.
const KINDS: usize = 5;

/// A dead worker's lease, and all that the next one reads.
const START: Duration = Duration::from_secs(60);

/// The longest time between two tries to reach a cluster, and what is read then.
const REACHED: Duration = Duration::from_secs(180);

/// A fleet that is as it is wanted, and whose only worker died.
struct Bereft {
    world: World,
    /// How everything was before.
    before: Vec<ContextStatus>,
    /// What is told of it from then on.
    told: Vec<Arc<Mutex<Vec<ContextStatus>>>>,
}

impl Bereft {
    fn new() -> Self {
        let mut world = World::new(CLUSTERS);
        let worker = world.start_worker();
        (1..=CONTEXTS).for_each(|number| world.apply(logical_cloud(number, CLUSTERS)));
        (1..=CONTEXTS).for_each(|number| world.converge(&context_id(number)));
        world.kill(&worker);
        world.forget_arrivals();
        let before = (1..=CONTEXTS).map(|number| world.status(&context_id(number))).collect();
        let told = (1..=CONTEXTS).map(|number| world.follow(&context_id(number))).collect();
        world.pass(Duration::ZERO);
        Self { world, before, told }
    }

    /// What is told is what was so before, whether somebody asks for it or follows it.
    fn assert_told_as_before(&mut self) {
        for (before, told) in self.before.iter().zip(&self.told) {
            assert!(self.world.status(&before.id) == *before, "{} is told as another", before.id);
            let told = told.lock().unwrap();
            assert!(!told.is_empty() && told.iter().all(|told| told == before), "{} flickered", before.id);
        }
    }

    /// Every cluster was looked at, and nothing was written but who looks at it.
    fn assert_only_read(&mut self, worker: &Worker) {
        let reads = u64::try_from(CLUSTERS * (1 + KINDS)).unwrap();
        assert_eq!(self.world.connected(worker), u64::try_from(CLUSTERS).unwrap());
        assert_eq!(self.world.arrived(RequestLog::reads), reads, "identity and kinds of each cluster");
        assert_eq!(worker.requests.writes(), 0);
        let mut written = worker.writes.by_folder();
        assert!(written.remove("workers").is_some(), "signs of life, and the end of the dead worker's");
        assert_eq!(written.into_iter().collect::<Vec<_>>(), [("shards".to_owned(), CLUSTERS)]);
    }
}

#[test]
fn a_cold_start_reads_each_cluster_once_within_the_limit_and_writes_only_whose_it_is() {
    let mut bereft = Bereft::new();
    let worker = bereft.world.start_worker();
    bereft.world.pass(START);
    bereft.assert_only_read(&worker);
    bereft.assert_told_as_before();
    let (most, limit) = (worker.requests.most_under_way(), Options::default().requests_max);
    assert!(most <= limit, "{most} requests were under way at once");
}

#[test]
fn after_a_cold_start_all_is_told_as_before_though_no_cluster_answers_and_while_they_are_read() {
    let mut bereft = Bereft::new();
    bereft.world.set_links(1..=CLUSTERS, Link::Hang);
    let worker = bereft.world.start_worker();
    bereft.assert_told_as_before();
    bereft.world.pass(START);
    assert!(worker.requests.sent() > 0, "they are asked");
    assert_eq!(bereft.world.arrived(RequestLog::reads), 0, "and don't answer");
    bereft.assert_told_as_before();
    bereft.world.set_links(1..=CLUSTERS, Link::Up);
    bereft.world.pass(REACHED);
    bereft.assert_only_read(&worker);
    bereft.assert_told_as_before();
}
