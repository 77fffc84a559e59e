//! Clusters that hang slow nobody: the others are done in the time that they take when nothing hangs. And that time is no
//! longer than the limit over all clusters makes it.

use std::sync::LazyLock;
use std::time::Duration;

use dcm_core::status::{ContextStatus, LaneState};
use dcm_sync::engine::Options;
use dcm_sync::sim::{Link, cluster_id};
use jiff::Timestamp;

use crate::support::{LATENCY, Worker, World, context_id, logical_cloud};

const CLUSTERS: usize = 1000;

/// The most that the sound clusters may take, in tenths of the time in which nothing hangs.
const TENTHS_MAX: u32 = 11;

/// How long a request that hangs counts for the limit.
const HANGING: Duration = Duration::from_secs(2);

/// Every fifth cluster hangs, when any does.
fn hanging() -> impl Iterator<Item = usize> {
    (1..=CLUSTERS).filter(|number| number % 5 == 0)
}

/// How long the sound clusters take when all are sound.
static UNDISTURBED: LazyLock<Duration> = LazyLock::new(|| {
    let (mut world, _) = begun(Options::default());
    time_of_the_sound(&mut world)
});

/// A worker that is about to give all clusters a logical cloud.
fn begun(options: Options) -> (World, Worker) {
    let mut world = World::new(CLUSTERS);
    let worker = world.start_worker_with(options);
    world.apply(logical_cloud(1, CLUSTERS));
    (world, worker)
}

fn time_of_the_sound(world: &mut World) -> Duration {
    let status = world.until(&context_id(1), |status| last_of_the_sound(status).is_some());
    last_of_the_sound(&status).unwrap().duration_since(Timestamp::UNIX_EPOCH).try_into().unwrap()
}

/// When the last of the sound clusters was done; none: not all of them are.
fn last_of_the_sound(status: &ContextStatus) -> Option<Timestamp> {
    let sound = (1..=CLUSTERS).filter(|number| number % 5 != 0);
    let done = sound.map(|number| {
        let lane = &status.lanes[&cluster_id(number)];
        (lane.state == LaneState::Done).then_some(lane.since)
    });
    done.collect::<Option<Vec<_>>>()?.into_iter().max()
}

/// A fifth of the clusters begins to hang after this time: the others are done as soon as ever.
fn assert_nobody_is_slowed(after: Duration) -> World {
    let (mut world, _) = begun(Options::default());
    world.pass(after);
    world.set_links(hanging(), Link::Hang);
    let time = time_of_the_sound(&mut world);
    let most = *UNDISTURBED * TENTHS_MAX / 10;
    assert!(time <= most, "{time:?} in place of {:?} when some hang after {after:?}", *UNDISTURBED);
    let status = world.status(&context_id(1));
    let is_done = |number: &usize| status.lanes[&cluster_id(*number)].state == LaneState::Done;
    let done = hanging().filter(is_done).count();
    assert!(done < hanging().count() / 2, "{done} were done before they hung");
    world
}

#[test]
fn the_limit_over_all_clusters_is_kept_and_used() {
    let (mut world, worker) = begun(Options::default());
    let time = time_of_the_sound(&mut world);
    let limit = Options::default().requests_max;
    assert_eq!(worker.requests.most_under_way(), limit, "there is more to be sent than the limit");
    let rounds = u32::try_from(worker.requests.sent().div_ceil(limit)).unwrap();
    assert!(time <= LATENCY.max * rounds, "{time:?} for {rounds} times as many requests as the limit");
}

#[test]
fn more_clusters_than_the_limit_may_hang() {
    let limit = hanging().count() / 2;
    let (mut world, worker) = begun(Options { requests_max: limit, ..Options::default() });
    world.set_links(hanging(), Link::Hang);
    let time = time_of_the_sound(&mut world);
    let rounds = u32::try_from(worker.requests.sent().div_ceil(limit)).unwrap();
    let most = HANGING * 2 + (LATENCY.min + LATENCY.max) / 2 * rounds;
    assert!(time < most, "{time:?} for {rounds} times as many requests as the limit");
}

#[test]
fn clusters_that_hang_from_the_beginning_slow_nobody_and_are_done_when_they_answer() {
    let mut world = assert_nobody_is_slowed(Duration::ZERO);
    world.set_links(hanging(), Link::Up);
    world.converge(&context_id(1));
}

#[test]
fn clusters_that_hang_when_they_are_listed_slow_nobody() {
    assert_nobody_is_slowed(Duration::from_millis(100));
}

#[test]
fn clusters_that_hang_in_the_middle_of_their_writes_slow_nobody() {
    assert_nobody_is_slowed(Duration::from_millis(400));
}
