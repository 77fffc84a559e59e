//! The figures of what was measured, and what they are to be.

use dcm_benches::report::Bound::AtMost;
use dcm_benches::report::Report;
use dcm_benches::statistics::median;

use super::memory::Memory;
use super::rates::{KINDS, Rate, Rates, STORES};

/// What is taken of a measurement.
type Of = fn(&Rate) -> f64;

/// How many times the CPU time of a handler that does nothing each kind of request may take, in the order of [`KINDS`], where no disk has a say. One
/// machine gave 10.3, 3.4, 8.5 and 38.1. Of another, twice as fast, only whole microseconds are known: some 10.8, 3.3, 12.5 and 74. This is a half
/// more than the greater ones, and for the last a quarter.
const CPU_OVER_EMPTY_MAX: [f64; KINDS.len()] = [17.0, 5.5, 19.0, 92.0];

/// What a server may grow by between a tenth of the requests and all of them: what the allocator keeps varies.
const GROWTH_MAX: f64 = 8.0 * 1024.0 * 1024.0;

pub(crate) fn add_rates(report: &mut Report, all: &[Rates]) {
    let empty =
        |of: Of| median(all.iter().flat_map(|rates| rates.rounds.iter().map(move |round| of(&round[0]))));
    report.add(
        "empty_per_second",
        "a handler that does nothing, a second",
        empty(|rate| rate.load.per_second()),
        None,
    );
    report.add(
        "empty_p99_ms",
        "a handler that does nothing, p99, ms",
        empty(|rate| rate.load.p99_ms()),
        None,
    );
    report.add(
        "empty_cpu_us",
        "a handler that does nothing, CPU of the server, µs",
        empty(|rate| rate.cpu_us),
        None,
    );
    for rates in all {
        add(report, rates);
    }
    let slowest =
        all.iter().filter(|rates| rates.store == 0).map(|rates| own(rates, |rate| rate.load.p99_ms()));
    report.add("p99_ms", "SQLite: the slowest of these, p99, ms", slowest.fold(f64::NAN, f64::max), None);
}

fn add(report: &mut Report, rates: &Rates) {
    let ((store, store_name), (_, kind, about, _)) = (STORES[rates.store], KINDS[rates.kind]);
    let (key, about) = (format!("{store}{kind}"), format!("{store_name}: {about}"));
    let over =
        median(rates.rounds.iter().map(|[empty, own]| empty.load.per_second() / own.load.per_second()));
    report.add(
        format!("{key}_over_empty_handler"),
        format!("{about} / a handler that does nothing"),
        over,
        None,
    );
    let cpu = median(rates.rounds.iter().map(|[empty, own]| own.cpu_us / empty.cpu_us));
    let bound = (rates.store != 0).then_some(AtMost(CPU_OVER_EMPTY_MAX[rates.kind]));
    let told = format!("{about} / a handler that does nothing, CPU of the server");
    report.add(format!("{key}_cpu_over_empty_handler"), told, cpu, bound);
    let figures: [(&str, &str, Of); 3] = [
        ("per_second", "a second", |rate| rate.load.per_second()),
        ("p99_ms", "p99, ms", |rate| rate.load.p99_ms()),
        ("cpu_us", "CPU of the server, µs", |rate| rate.cpu_us),
    ];
    for (name, what, of) in figures {
        report.add(format!("{key}_{name}"), format!("{about}, {what}"), own(rates, of), None);
    }
}

/// The median of what was measured of the API itself.
fn own(rates: &Rates, of: impl Fn(&Rate) -> f64) -> f64 {
    median(rates.rounds.iter().map(|[_, own]| of(own)))
}

pub(crate) fn add_memory(report: &mut Report, memory: &Memory) {
    let mebibytes = |bytes: u64| bytes as f64 / 1024.0 / 1024.0;
    let about = |requests: u64| format!("memory after {requests} requests, MiB");
    report.add("memory_tenth_mib", about(memory.requests / 10), mebibytes(memory.tenth), None);
    report.add("memory_whole_mib", about(memory.requests), mebibytes(memory.whole), None);
    let growth = memory.whole as f64 - memory.tenth as f64;
    report.add("memory_growth_bytes", "memory, growth between these, bytes", growth, AtMost(GROWTH_MAX));
}
