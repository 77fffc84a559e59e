//! The figures of what was measured, and what they are to be.

use dcm_benches::report::Bound::AtMost;
use dcm_benches::report::Report;

use super::recover::Recovery;
use super::requests::Counts;
use super::scale::Scale;
use super::wall::Contestant::{Bare, Document, Floor, Kubectl, Memory, Sqlite};
use super::wall::Walls;

/// The CPU of the engine for each lane, relative to the CPU of the floor's client for each cluster.
pub(crate) fn add_lane_over_floor(report: &mut Report, scale: &Scale, walls: &Walls, clusters: usize) {
    let [.., large] = &scale.engine;
    let floor = walls.one.cpu_us(Floor) / clusters as f64;
    report.add("floor_cpu_us", "1 cloud: floor, CPU of the client a cluster, µs", floor, None);
    report.add(
        "lane_cpu_over_floor",
        "10,000 lanes: CPU a lane / that of the floor's client",
        large.cpu_us_a_lane() / floor,
        AtMost(0.25),
    );
}

pub(crate) fn add_walls(report: &mut Report, walls: &Walls) {
    let (one, many) = (&walls.one, &walls.many);
    let floor = one.milliseconds(Floor);
    report.add("floor_ms", "1 cloud: floor, ms", floor, None);
    report.add("wall_over_floor", "1 cloud: memory store / floor", one.ratio(Memory, Floor), AtMost(1.25));
    report.add("wall_over_floor_sqlite", "1 cloud: SQLite / floor", one.ratio(Sqlite, Floor), AtMost(1.4));
    report.add(
        "wall_over_kubectl",
        "1 cloud: memory store / kubectl",
        one.ratio(Memory, Kubectl),
        AtMost(0.125),
    );
    let document = one.ratio(Document, Floor);
    report.add(
        "wall_over_floor_document",
        "1 cloud: document to kubeconfigs, SQLite / floor",
        document,
        None,
    );
    report.add("cold_over_floor", "first cloud of a new engine / floor", walls.cold / floor, None);
    report.add("floor_20_ms", "20 at once: floor, ms", many.milliseconds(Floor), None);
    report.add(
        "marks_over_bare_20",
        "20 at once: floor / without marks",
        many.ratio(Floor, Bare),
        AtMost(1.4),
    );
    report.add(
        "wall_over_floor_20",
        "20 at once: memory store / floor",
        many.ratio(Memory, Floor),
        AtMost(1.3),
    );
    report.add(
        "wall_over_floor_sqlite_20",
        "20 at once: SQLite / floor",
        many.ratio(Sqlite, Floor),
        AtMost(1.4),
    );
    let kubectl = many.ratio(Memory, Kubectl);
    report.add("wall_over_kubectl_20", "20 at once: memory store / kubectl", kubectl, AtMost(0.125));
}

pub(crate) fn add_requests(report: &mut Report, counts: &Counts) {
    let each = |requests: usize| requests as f64 / counts.clusters as f64;
    report.add("writes_per_cluster", "instantiate: writes a cluster", each(counts.instantiate.writes), None);
    report.add("reads_per_cluster", "instantiate: reads a cluster", each(counts.instantiate.reads), None);
    report.add("noop_writes", "applied again unchanged: writes", counts.unchanged.writes as f64, AtMost(0.0));
    report.add("noop_reads", "applied again unchanged: reads", counts.unchanged.reads as f64, None);
    let changed = counts.permission_changed;
    report.add(
        "changed_writes_per_cluster",
        "one permission changed: writes a cluster",
        each(changed.writes),
        AtMost(1.0),
    );
    report.add(
        "changed_reads_per_cluster",
        "one permission changed: reads a cluster",
        each(changed.reads),
        None,
    );
}

pub(crate) fn add_recovery(report: &mut Report, recovery: &Recovery) {
    report.add("deleted_role_ms", "a deleted Role is there again after, ms", recovery.deleted, None);
    report.add("changed_quota_ms", "a changed quota is as before after, ms", recovery.changed, None);
    report.add("revoked_ms", "a revoked certificate is refused after, ms", recovery.revoked, None);
}

pub(crate) fn add_scale(report: &mut Report, scale: &Scale) {
    let [small, middle, large] = &scale.engine;
    report.add("lane_cpu_us_100", "100 lanes: CPU a lane, µs", small.cpu_us_a_lane(), None);
    report.add("lane_cpu_us_1000", "1,000 lanes: CPU a lane, µs", middle.cpu_us_a_lane(), None);
    report.add("lane_cpu_us_10000", "10,000 lanes: CPU a lane, µs", large.cpu_us_a_lane(), None);
    report.add(
        "lane_bytes_10000",
        "10,000 lanes: bytes a lane, store apart",
        large.bytes_a_lane(),
        AtMost(10_240.0),
    );
    let with_store = large.bytes_a_lane_with_store();
    report.add(
        "lane_bytes_10000_with_store",
        "10,000 lanes: with the memory store's documents",
        with_store,
        None,
    );
    report.add("growth_exponent", "growth of CPU, 100 to 10,000", scale.growth_exponent(), AtMost(1.1));
    let simulated = &scale.simulated;
    report.add(
        "sim_lane_cpu_us_10000",
        "simulated clusters: CPU a lane, µs",
        simulated.cpu_us_a_lane(),
        None,
    );
    report.add("sim_lane_bytes_10000", "simulated clusters: bytes a lane", simulated.bytes_a_lane(), None);
    if let Some(percent) = simulated.idle_cpu_percent() {
        report.add("idle_cpu_percent_10000", "10,000 lanes at rest: CPU, % of a core", percent, None);
        // 0.33 % of a core at rest and 586 µs a lane, measured when there was no bound for it yet, make 2.
        report.add(
            "idle_hour_over_instantiate",
            "simulated clusters: CPU of an hour at rest / of instantiating",
            percent / 100.0 * 3600.0 * 1e6 / simulated.cpu_us(),
            AtMost(3.0),
        );
    }
}
