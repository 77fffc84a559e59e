//! What is printed: a table for people, and one line of JSON for programs.

use comfy_table::{Table, presets};
use serde_json::{Map, Value};

use crate::recover::Recovery;
use crate::requests::Counts;
use crate::scale::Scale;
use crate::wall::Contestant::{Document, Floor, Kubectl, Memory, Sqlite};
use crate::wall::Walls;

/// Figures by key, with what they are and what they are to be, in the order of their table.
#[derive(Debug, Default)]
pub(crate) struct Report(Vec<Row>);

#[derive(Debug)]
struct Row {
    key: &'static str,
    about: &'static str,
    value: f64,
    at_most: Option<f64>,
}

impl Report {
    fn add(&mut self, key: &'static str, about: &'static str, value: f64, at_most: impl Into<Option<f64>>) {
        self.0.push(Row { key, about, value, at_most: at_most.into() });
    }

    pub(crate) fn add_walls(&mut self, walls: &Walls) {
        let (one, many) = (&walls.one, &walls.many);
        let floor = one.milliseconds(Floor);
        self.add("floor_ms", "1 cloud: floor, ms", floor, None);
        self.add("wall_over_floor", "1 cloud: memory store / floor", one.ratio(Memory, Floor), 1.3);
        self.add("wall_over_floor_sqlite", "1 cloud: SQLite / floor", one.ratio(Sqlite, Floor), 1.6);
        self.add("wall_over_kubectl", "1 cloud: memory store / kubectl", one.ratio(Memory, Kubectl), 0.125);
        let document = one.ratio(Document, Floor);
        self.add(
            "wall_over_floor_document",
            "1 cloud: document to kubeconfigs, SQLite / floor",
            document,
            None,
        );
        self.add("cold_over_floor", "first cloud of a new engine / floor", walls.cold / floor, None);
        self.add("floor_20_ms", "20 at once: floor, ms", many.milliseconds(Floor), None);
        self.add("wall_over_floor_20", "20 at once: memory store / floor", many.ratio(Memory, Floor), 1.3);
        self.add("wall_over_floor_sqlite_20", "20 at once: SQLite / floor", many.ratio(Sqlite, Floor), 1.6);
        let kubectl = many.ratio(Memory, Kubectl);
        self.add("wall_over_kubectl_20", "20 at once: memory store / kubectl", kubectl, 0.125);
    }

    pub(crate) fn add_requests(&mut self, counts: &Counts) {
        let each = |requests: usize| requests as f64 / counts.clusters as f64;
        self.add(
            "writes_per_cluster",
            "instantiate: writes a cluster",
            each(counts.instantiate.writes),
            None,
        );
        self.add("reads_per_cluster", "instantiate: reads a cluster", each(counts.instantiate.reads), None);
        self.add("noop_writes", "applied again unchanged: writes", counts.unchanged.writes as f64, 0.0);
        self.add("noop_reads", "applied again unchanged: reads", counts.unchanged.reads as f64, None);
        let changed = counts.permission_changed;
        self.add(
            "changed_writes_per_cluster",
            "one permission changed: writes a cluster",
            each(changed.writes),
            1.0,
        );
        self.add(
            "changed_reads_per_cluster",
            "one permission changed: reads a cluster",
            each(changed.reads),
            None,
        );
    }

    pub(crate) fn add_recovery(&mut self, recovery: &Recovery) {
        self.add("deleted_role_ms", "a deleted Role is there again after, ms", recovery.deleted, None);
        self.add("changed_quota_ms", "a changed quota is as before after, ms", recovery.changed, None);
        self.add("revoked_ms", "a revoked certificate is refused after, ms", recovery.revoked, None);
    }

    pub(crate) fn add_scale(&mut self, scale: &Scale) {
        let [small, middle, large] = &scale.engine;
        self.add("lane_cpu_us_100", "100 lanes: CPU a lane, µs", small.cpu_us_a_lane(), None);
        self.add("lane_cpu_us_1000", "1,000 lanes: CPU a lane, µs", middle.cpu_us_a_lane(), None);
        self.add("lane_cpu_us_10000", "10,000 lanes: CPU a lane, µs", large.cpu_us_a_lane(), 300.0);
        self.add(
            "lane_bytes_10000",
            "10,000 lanes: bytes a lane, store apart",
            large.bytes_a_lane(),
            10_240.0,
        );
        let with_store = large.bytes_a_lane_with_store();
        self.add(
            "lane_bytes_10000_with_store",
            "10,000 lanes: with the memory store's documents",
            with_store,
            None,
        );
        self.add("growth_exponent", "growth of CPU, 100 to 10,000", scale.growth_exponent(), 1.1);
        let simulated = &scale.simulated;
        self.add(
            "sim_lane_cpu_us_10000",
            "simulated clusters: CPU a lane, µs",
            simulated.cpu_us_a_lane(),
            None,
        );
        self.add("sim_lane_bytes_10000", "simulated clusters: bytes a lane", simulated.bytes_a_lane(), None);
        if let Some(percent) = simulated.idle_cpu_percent() {
            self.add("idle_cpu_percent_10000", "10,000 lanes at rest: CPU, % of a core", percent, 2.0);
        }
    }

    /// The table.
    pub(crate) fn table(&self) -> String {
        let mut table = Table::new();
        table.load_style(presets::ASCII_MARKDOWN).set_header(["measured", "value", "at most", "key"]);
        for row in &self.0 {
            let at_most = row.at_most.map(text).unwrap_or_default();
            table.add_row([row.about.to_owned(), text(row.value), at_most, row.key.to_owned()]);
        }
        table.to_string()
    }

    /// All keys with their values.
    pub(crate) fn json(&self) -> String {
        let members = self.0.iter().map(|row| (row.key.to_owned(), Value::from(rounded(row.value))));
        Value::Object(Map::from_iter(members)).to_string()
    }
}

/// Three decimals say more than the measurement knows.
fn rounded(value: f64) -> f64 {
    (value * 1e3).round() / 1e3
}

fn text(value: f64) -> String {
    if value >= 100.0 { format!("{value:.0}") } else { rounded(value).to_string() }
}
