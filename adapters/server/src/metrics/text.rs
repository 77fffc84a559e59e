//! Figures as text, in the form of OpenMetrics, which Prometheus reads.
//! What there is, how many series at most, and what it means is in `docs/metrics.md`, which a test holds against what is
//! written here.

use std::fmt;
use std::sync::Arc;
use std::time::Duration;

use dcm_core::status::LaneState;
use dcm_store::trace::{Ended, Kind};
use dcm_sync::engine::metrics::{DURATION_BOUNDS, Durations, Metrics};
use jiff::{SignedDuration, Timestamp};
use prometheus_client::collector::Collector;
use prometheus_client::encoding::{DescriptorEncoder, MetricEncoder, NoLabelSet, text};
use prometheus_client::metrics::MetricType;
use prometheus_client::registry::Registry;

use super::answers::Counted;
use super::stores::Asked;

/// The ranges of what is left of credentials, by the days below which they are.
const RANGES: [(&str, i64); 6] = [
    ("ended", 0),
    ("under 1", 1),
    ("1 to 6", 7),
    ("7 to 29", 30),
    ("30 to 89", 90),
    ("90 or more", i64::MAX),
];

const DAY: i64 = 24 * 3600;

/// How many credentials are in each of the ranges.
#[derive(Debug, Clone, Default)]
pub(crate) struct DaysLeft([u64; RANGES.len()]);

impl DaysLeft {
    /// Counts ends by what is left until then.
    pub(super) fn count(ends: impl Iterator<Item = Timestamp>, now: Timestamp) -> Self {
        let mut counts = Self::default();
        for end in ends {
            let left: SignedDuration = end.duration_since(now);
            let is_below = |(_, days): &(&str, i64)| left.as_secs() < days.saturating_mul(DAY);
            counts.0[RANGES.iter().position(is_below).unwrap_or(RANGES.len() - 1)] += 1;
        }
        counts
    }
}

/// Writes everything.
pub(super) fn render(
    metrics: Metrics,
    credentials: DaysLeft,
    stores: Vec<Asked>,
    answers: Counted,
) -> Result<String, fmt::Error> {
    let mut registry = Registry::with_prefix("dcm");
    registry.register_collector(Box::new(Arc::new(Told { metrics, credentials, stores, answers })));
    let mut text = String::new();
    text::encode(&mut text, &registry)?;
    Ok(text)
}

#[derive(Debug)]
struct Told {
    metrics: Metrics,
    credentials: DaysLeft,
    stores: Vec<Asked>,
    answers: Counted,
}

impl Collector for Told {
    fn encode(&self, mut encoder: DescriptorEncoder<'_>) -> fmt::Result {
        self.lanes(&mut encoder)?;
        let help = "The longest time for which one step held the engine's loop, in which all clusters wait";
        let longest = self.metrics.longest_step.as_secs_f64();
        encoder
            .encode_descriptor("engine_longest_step_seconds", help, None, MetricType::Gauge)?
            .encode_gauge(&longest)?;
        self.clusters(&mut encoder)?;
        self.objects(&mut encoder)?;
        self.requests(&mut encoder)?;
        self.stores(&mut encoder)?;
        self.answers(&mut encoder)?;
        let events = self.metrics.events.iter().map(|(what, count)| ([("what", *what)], *count));
        let help = "What the engine did and saw, by what happened";
        counters(encoder.encode_descriptor("events", help, None, MetricType::Counter)?, events)?;
        let ranges = RANGES.iter().zip(self.credentials.0);
        let help = "Users' credentials by the days until the first of each user's ends, on any cluster";
        let ranges = ranges.map(|((range, _), count)| ([("days_left", *range)], count));
        gauges(encoder.encode_descriptor("credentials", help, None, MetricType::Gauge)?, ranges)
    }
}

impl Told {
    fn lanes(&self, encoder: &mut DescriptorEncoder<'_>) -> fmt::Result {
        let metrics = &self.metrics;
        let count = |state| metrics.lanes.get(state).copied().unwrap_or_default();
        // All of them are always told: a sum over nothing is no zero.
        let states = LaneState::ALL.map(LaneState::as_str).into_iter();
        let states = states.map(|state| ([("state", state)], count(state)));
        let help = "Lanes (one app context in one cluster) by state";
        gauges(encoder.encode_descriptor("lanes", help, None, MetricType::Gauge)?, states)?;
        let age = metrics.oldest_waiting.unwrap_or_default().as_secs();
        for (name, help, value) in [
            ("lanes_drifted", "Lanes with objects that another client changed", metrics.lanes_drifted),
            ("lanes_queued", "Lanes that wait for requests of their cluster's budget", metrics.lanes_queued),
            (
                "oldest_waiting_lane_age_seconds",
                "For how long the oldest unfinished lane is in its state",
                age,
            ),
        ] {
            encoder.encode_descriptor(name, help, None, MetricType::Gauge)?.encode_gauge(&value)?;
        }
        Ok(())
    }

    /// Objects that were read and not kept.
    fn objects(&self, encoder: &mut DescriptorEncoder<'_>) -> fmt::Result {
        let metrics = &self.metrics;
        for (name, help, value) in [
            (
                "objects_unproved",
                "Objects on clusters with our owner label and marks without a valid proof, each time that one is read",
                metrics.objects_unproved,
            ),
            (
                "objects_unkept",
                "Objects of unknown app contexts that were read and not kept",
                metrics.objects_unkept,
            ),
        ] {
            let mut counter = encoder.encode_descriptor(name, help, None, MetricType::Counter)?;
            counter.encode_counter::<NoLabelSet, _, u64>(&value, None)?;
        }
        Ok(())
    }

    fn clusters(&self, encoder: &mut DescriptorEncoder<'_>) -> fmt::Result {
        let Metrics { clusters_held, clusters_connected, requests_under_way, .. } = &self.metrics;
        let help = "Clusters of this worker: held, and of these connected";
        let states = [("held", *clusters_held), ("connected", *clusters_connected)];
        let states = states.into_iter().map(|(state, count)| ([("state", state)], count));
        gauges(encoder.encode_descriptor("clusters", help, None, MetricType::Gauge)?, states)?;
        let help = "Requests to clusters that are not answered yet";
        let under_way =
            encoder.encode_descriptor("cluster_requests_under_way", help, None, MetricType::Gauge);
        under_way?.encode_gauge(requests_under_way)
    }

    fn requests(&self, encoder: &mut DescriptorEncoder<'_>) -> fmt::Result {
        let help = "Requests to clusters";
        let mut requests = encoder.encode_descriptor("cluster_requests", help, None, MetricType::Counter)?;
        for (cluster, counts) in &self.metrics.requests {
            let cluster = cluster.to_string();
            for ((verb, code), count) in counts {
                let code = code.to_string();
                let labels = [("cluster", &*cluster), ("verb", verb.as_str()), ("code", &*code)];
                requests.encode_family(&labels)?.encode_counter::<NoLabelSet, _, u64>(count, None)?;
            }
        }
        let (name, help) = ("cluster_request_duration_seconds", "How long requests to clusters took");
        let durations = encoder.encode_descriptor(name, help, None, MetricType::Histogram)?;
        let took = self.metrics.durations.iter().map(|(verb, took)| ([("verb", verb.as_str())], took));
        histograms(durations, took)
    }

    fn answers(&self, encoder: &mut DescriptorEncoder<'_>) -> fmt::Result {
        let help = "Requests to the HTTP API that were answered";
        let mut requests = encoder.encode_descriptor("http_requests", help, None, MetricType::Counter)?;
        for (dialect, counts) in &self.answers.requests {
            for (route, counts) in counts {
                for ((method, status), count) in counts {
                    let status = status.to_string();
                    let labels = [
                        ("api", dialect.as_str()),
                        ("route", &**route),
                        ("method", method),
                        ("code", &*status),
                    ];
                    requests.encode_family(&labels)?.encode_counter::<NoLabelSet, _, u64>(count, None)?;
                }
            }
        }
        let (name, help) = (
            "http_request_duration_seconds",
            "How long requests to the HTTP API took until the answer began",
        );
        let durations = encoder.encode_descriptor(name, help, None, MetricType::Histogram)?;
        let took = self.answers.took.iter();
        histograms(
            durations,
            took.map(|((dialect, method), took)| ([("api", dialect.as_str()), ("method", *method)], took)),
        )
    }

    fn stores(&self, encoder: &mut DescriptorEncoder<'_>) -> fmt::Result {
        let requests = self.stores.iter().flat_map(|asked| {
            let labels =
                |outcome| [("store", asked.store), ("kind", asked.kind.as_str()), ("outcome", outcome)];
            let outcomes = outcomes(asked.kind, &asked.ended).into_iter();
            outcomes.map(move |(outcome, count)| (labels(outcome), count))
        });
        let help = "Requests to the stores";
        counters(encoder.encode_descriptor("store_requests", help, None, MetricType::Counter)?, requests)?;
        let (name, help) =
            ("store_request_duration_seconds", "How long requests to the stores took, together");
        let mut durations = encoder.encode_descriptor(name, help, None, MetricType::Counter)?;
        for Asked { store, kind, ended } in &self.stores {
            let labels = [("store", *store), ("kind", kind.as_str())];
            let took = ended.took.as_secs_f64();
            durations.encode_family(&labels)?.encode_counter::<NoLabelSet, _, u64>(&took, None)?;
        }
        Ok(())
    }
}

/// The outcomes that requests of a kind may have, with how many had each of them.
fn outcomes(kind: Kind, ended: &Ended) -> Vec<(&'static str, u64)> {
    let mut outcomes = vec![("done", ended.done), ("failed", ended.failures)];
    if kind == Kind::Write {
        outcomes.push(("conflict", ended.conflicts));
    }
    outcomes
}

fn histograms<'a, const LABELS: usize>(
    mut encoder: MetricEncoder<'_>,
    values: impl Iterator<Item = ([(&'a str, &'a str); LABELS], &'a Durations)>,
) -> fmt::Result {
    for (labels, took) in values {
        let (sum, count) = (took.sum.as_secs_f64(), took.counts.iter().sum());
        let mut family = encoder.encode_family(&labels)?;
        family.encode_histogram::<NoLabelSet>(sum, count, &buckets(took), None)?;
    }
    Ok(())
}

/// The ranges with their upper bounds in seconds.
fn buckets(took: &Durations) -> Vec<(f64, u64)> {
    let seconds = DURATION_BOUNDS.iter().map(|bound| Duration::from_millis(*bound).as_secs_f64());
    seconds.chain([f64::INFINITY]).zip(took.counts).collect()
}

fn gauges<'a>(
    mut encoder: MetricEncoder<'_>,
    values: impl Iterator<Item = ([(&'a str, &'a str); 1], u64)>,
) -> fmt::Result {
    for (labels, value) in values {
        encoder.encode_family(&labels)?.encode_gauge(&value)?;
    }
    Ok(())
}

fn counters<'a, const LABELS: usize>(
    mut encoder: MetricEncoder<'_>,
    values: impl Iterator<Item = ([(&'a str, &'a str); LABELS], u64)>,
) -> fmt::Result {
    for (labels, value) in values {
        encoder.encode_family(&labels)?.encode_counter::<NoLabelSet, _, u64>(&value, None)?;
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn credentials_are_counted_by_whole_days_until_they_end() {
        let now: Timestamp = "2026-06-01T00:00:00Z".parse().unwrap();
        let hours = [-1, 0, 23, 24, 7 * 24 - 1, 7 * 24, 30 * 24, 90 * 24, 9000];
        let ends = hours.map(|hours| now + SignedDuration::from_hours(hours));
        assert_eq!(DaysLeft::count(ends.into_iter(), now).0, [1, 2, 2, 1, 1, 2]);
    }

    #[test]
    fn durations_add_up_to_the_last_range_and_what_is_nothing_is_told_as_zero() {
        let mut metrics = Metrics::default();
        let mut took = Durations { sum: Duration::from_millis(1500), ..Durations::default() };
        took.counts[0] = 2;
        took.counts[DURATION_BOUNDS.len()] = 1;
        metrics.durations.insert(dcm_sync::engine::metrics::Verb::Get, took);
        let text = render(metrics, DaysLeft::default(), Vec::new(), Counted::default()).unwrap();
        for line in [
            "dcm_cluster_request_duration_seconds_sum{verb=\"get\"} 1.5",
            "dcm_cluster_request_duration_seconds_count{verb=\"get\"} 3",
            "dcm_cluster_request_duration_seconds_bucket{le=\"0.005\",verb=\"get\"} 2",
            "dcm_cluster_request_duration_seconds_bucket{le=\"+Inf\",verb=\"get\"} 3",
            "dcm_lanes{state=\"abandoned\"} 0",
            "dcm_credentials{days_left=\"ended\"} 0",
            "# EOF",
        ] {
            assert!(text.lines().any(|one| one == line), "{line}: {text}");
        }
    }
}
