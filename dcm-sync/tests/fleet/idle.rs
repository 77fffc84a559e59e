//! A fleet that is as it is wanted costs nothing but signs of life.

use std::collections::BTreeMap;
use std::time::Duration;

use allocation_counter::measure;
use dcm_sync::engine::Options;

use crate::support::{Worker, World, context, context_id, logical_cloud, namespace};

const CLUSTERS: usize = 1000;

/// With the clusters, ten thousand lanes.
const CONTEXTS: usize = 10;

const DAY: Duration = Duration::from_secs(24 * 3600);

/// Ten days of rest.
const REST: Duration = DAY.saturating_mul(10);

/// Less than a byte a lane: what a renewal, or a lane, leaves behind adds up to more.
const GROWTH_MAX: i64 = 4096;

/// All lanes are done, and nothing is left of the way there.
fn at_rest() -> (World, Worker) {
    let mut world = World::new(CLUSTERS);
    let worker = world.start_worker();
    world.apply(logical_cloud(1, CLUSTERS));
    for number in 2..=CONTEXTS {
        world.apply(context(number, CLUSTERS, vec![namespace(number)]));
    }
    (1..=CONTEXTS).for_each(|number| world.converge(&context_id(number)));
    // Maps that have grown on the way have found their size.
    world.pass(DAY);
    (world, worker)
}

#[test]
fn ten_thousand_lanes_at_rest_write_nothing_but_leases_and_keep_no_more_memory() {
    let (mut world, worker) = at_rest();
    let (requests, writes) = (worker.requests.sent(), worker.writes.by_folder());
    let grown = measure(|| world.pass(REST)).bytes_current;
    assert_eq!(worker.requests.sent(), requests, "clusters are asked for nothing");
    let written = since(&writes, &worker.writes.by_folder());
    let renewals = written.get("workers").copied().unwrap_or(0);
    assert!(written.len() == 1 && renewals <= renewals_max(), "{written:?}");
    assert!(grown <= GROWTH_MAX, "{grown} bytes more after {renewals} renewals");
}

/// As many renewals as fit into the rest when three make up a lease.
fn renewals_max() -> usize {
    usize::try_from(REST.as_millis() * 3 / Options::default().lease.as_millis()).unwrap() + 1
}

/// What was written since.
fn since(before: &BTreeMap<String, usize>, after: &BTreeMap<String, usize>) -> BTreeMap<String, usize> {
    let counts =
        after.iter().map(|(folder, count)| (folder, count - before.get(folder).copied().unwrap_or(0)));
    counts.filter(|(_, count)| *count > 0).map(|(folder, count)| (folder.clone(), count)).collect()
}
