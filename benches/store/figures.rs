//! The figures of what was measured, and what they are to be.

use dcm_benches::report::Bound::{self, AtLeast, AtMost};
use dcm_benches::report::Report;
use dcm_benches::statistics::median;

use super::counted::Asked;
use super::engines::{CLUSTERS, Rate, Rates};
use super::places::Backend;
use super::{lists, requests};

/// Most requests of a lane that changes.
const LANE_CHANGE_MAX: f64 = 2.0;

/// How many writes the services' `apply` may add to what the hand-over may cost, whatever the number of clusters: two for the audit log, one of
/// credentials and snapshot before the hand-over, and one that says behind it that it is done.
const SERVICE_WRITES: u64 = 4;

/// How many times as fast as one engine so many have to be.
const SPEED_UPS: [(u32, f64); 3] = [(2, 1.7), (4, 3.0), (8, 5.0)];

/// How fast eight have to be beside one where the machine is the limit.
const NO_SLOWER: f64 = 0.9;

/// How much memory a list may take beyond a store that was opened, and asked for one document. A page of 500 documents of 1 kB is
/// half a MiB, and is there some times at once: as it was received, as it was read, and as it is given; what was freed is not given
/// back to the system at once. The whole list would take 100 MiB, that of MongoDB 10 MiB.
const LIST_GROWTH_MAX: f64 = 8.0 * 1024.0 * 1024.0;

/// A figure of requests.
struct Figure {
    /// The key, behind the backend's.
    key: &'static str,
    about: &'static str,
    /// What it is with so many clusters; none where that is not measured.
    value: fn(&requests::Costs) -> Option<f64>,
    bound: fn(&requests::Costs) -> Option<Bound>,
}

const fn figure(
    key: &'static str,
    about: &'static str,
    value: fn(&requests::Costs) -> Option<f64>,
    bound: fn(&requests::Costs) -> Option<Bound>,
) -> Figure {
    Figure { key, about, value, bound }
}

/// For each backend.
const FIGURES: [Figure; 17] = [
    figure(
        "instantiate_writes",
        "instantiate, writes",
        |costs| Some(costs.instantiate.writes as f64),
        |costs| Some(AtMost(costs.writes_max as f64)),
    ),
    figure("instantiate_reads", "instantiate, reads", |costs| Some(costs.instantiate.reads as f64), free),
    figure(
        "instantiate_wire_requests",
        "instantiate, requests by its own count",
        |costs| costs.wire.map(|requests| requests as f64),
        free,
    ),
    figure(
        "instantiate_documents",
        "instantiate, documents written",
        |costs| Some(costs.instantiate.documents_written() as f64),
        free,
    ),
    figure("instantiate_bytes", "instantiate, bytes", |costs| Some(costs.instantiate.bytes() as f64), free),
    figure(
        "cloud_requests",
        "document to app context, requests",
        |costs| Some(costs.cloud.requests() as f64),
        free,
    ),
    figure(
        "cloud_put_writes",
        "document to app context, writes of `put`",
        |costs| Some(costs.cloud.put.writes as f64),
        free,
    ),
    figure(
        "cloud_apply_writes",
        "document to app context, writes of `apply`",
        |costs| Some(costs.cloud.apply.writes as f64),
        |costs| Some(AtMost((costs.writes_max + SERVICE_WRITES) as f64)),
    ),
    figure("cloud_bytes", "document to app context, bytes", |costs| Some(costs.cloud.bytes() as f64), free),
    figure(
        "work_requests_a_lane",
        "a worker that begins, requests a lane",
        |costs| Some(a_lane(&costs.work, costs)),
        free,
    ),
    figure(
        "lane_change_requests",
        "one lane changes, requests",
        |costs| Some(costs.change.requests() as f64),
        |_| Some(AtMost(LANE_CHANGE_MAX)),
    ),
    figure("lane_change_bytes", "one lane changes, bytes", |costs| Some(costs.change.bytes() as f64), free),
    figure(
        "lane_change_other_lanes",
        "one lane changes, other lanes touched",
        |costs| Some(costs.other_lanes as f64),
        |_| Some(AtMost(0.0)),
    ),
    figure(
        "edit_requests_a_lane",
        "an edited permission, requests a lane",
        |costs| Some(a_lane(&costs.edit, costs)),
        free,
    ),
    figure(
        "removal_requests_a_lane",
        "taken off its clusters, requests a lane",
        |costs| costs.removal.as_ref().map(|removal| a_lane(removal, costs)),
        free,
    ),
    figure("status_requests", "status, requests", |costs| Some(costs.status.requests() as f64), free),
    figure("status_bytes", "status, bytes", |costs| Some(costs.status.bytes() as f64), free),
];

/// Nobody has said what it is to be.
fn free(_: &requests::Costs) -> Option<Bound> {
    None
}

fn a_lane(asked: &Asked, costs: &requests::Costs) -> f64 {
    asked.requests() as f64 / f64::from(costs.clusters)
}

pub(crate) fn add_requests(report: &mut Report, backend: Backend, costs: &[requests::Costs]) {
    let (key, name) = (backend.key(), backend.name());
    for figure in FIGURES {
        let of_size =
            |costs: &requests::Costs| Some((costs.clusters, (figure.value)(costs)?, (figure.bound)(costs)));
        let sizes: Vec<_> = costs.iter().filter_map(of_size).collect();
        if !sizes.is_empty() {
            report.add_sizes(format!("{key}_{}", figure.key), format!("{name}: {}", figure.about), sizes);
        }
    }
    let most = costs.iter().map(|costs| costs.change.requests()).max().unwrap_or_default();
    let about = format!("{name}: one lane changes, requests at most");
    report.add(format!("{key}_lane_change_requests"), about, most as f64, AtMost(LANE_CHANGE_MAX));
}

pub(crate) fn add_engines(report: &mut Report, rates: &Rates) {
    let far = |engines| rates.far.iter().find(|rate| rate.engines == engines);
    let each = rates.far.iter().map(|rate| (rate.engines, rate.lanes_a_second, None));
    report.add_sizes("etcd_engines_lanes_a_second", "engines, clusters at 50 ms: lanes a second", each);
    let most = rates.far.iter().map(|rate| (rate.engines, rate.clusters_max as f64, None));
    let about = format!("engines: clusters of {CLUSTERS} of the one with the most");
    report.add_sizes("etcd_engines_clusters_max", about, most);
    for (engines, at_least) in SPEED_UPS {
        if let (Some(one), Some(several)) = (far(1), far(engines)) {
            let key = format!("etcd_engines_{engines}_over_1");
            let about = format!("{engines} engines / one, clusters at 50 ms");
            report.add(key, about, several.lanes_a_second / one.lanes_a_second, AtLeast(at_least));
        }
    }
    let [one, eight] = [0, 1].map(|place| median(rates.near.iter().map(|round| round[place].lanes_a_second)));
    report.add_sizes(
        "etcd_engines_lanes_a_second_no_latency",
        "engines, clusters that answer at once: lanes a second",
        [(1, one, None), (8, eight, None)],
    );
    let ratio = |[one, eight]: &[Rate; 2]| eight.lanes_a_second / one.lanes_a_second;
    report.add(
        "etcd_engines_8_over_1_no_latency",
        "8 engines / one, clusters that answer at once",
        median(rates.near.iter().map(ratio)),
        AtLeast(NO_SLOWER),
    );
}

pub(crate) fn add_lists(report: &mut Report, costs: &lists::Costs) {
    let (key, name, documents) = (costs.backend.key(), costs.backend.name(), costs.documents);
    let kinds = [
        (format!("{key}_list_{documents}_ms"), format!("{key}_list"), "page by page", costs.whole),
        (
            format!("{key}_list_prefix_ms"),
            format!("{key}_list_prefix"),
            "a half of them by prefix",
            costs.folder,
        ),
    ];
    for (time, growth, what, cost) in kinds {
        let about = format!("{name}: {documents} documents, {what}");
        report.add(time, format!("{about}, ms"), cost.milliseconds, None);
        if let Some(bytes) = cost.growth_bytes {
            let about = format!("{about}, memory, bytes");
            report.add(format!("{growth}_growth_bytes"), about, bytes as f64, AtMost(LIST_GROWTH_MAX));
        }
    }
}
