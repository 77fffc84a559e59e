//! The page about metrics says what there is.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;
use std::time::Duration;

use dcm_core::manifest::{GroupVersionKind, ObjectKey};
use dcm_core::port::cluster::Error;
use dcm_core::port::store::Store;
use dcm_core::status::{Cause, LaneState, Reason};
use dcm_store::MemoryStore;
use dcm_sync::engine::What;
use dcm_sync::engine::metrics::{Code, Durations, Metrics, Verb};
use dcm_sync::sim::cluster_id;

use super::answers::{Counted, Dialect, NO_ROUTE};
use super::stores::CountedStores;
use super::text::{DaysLeft, render};

/// Labels whose values are too many to be named.
const FORMS: [(&str, &str); 3] = [
    ("dcm_cluster_requests_total", "cluster"),
    ("dcm_http_requests_total", "route"),
    ("dcm_http_requests_total", "code"),
];

/// What is said of one metric.
#[derive(Debug, PartialEq, Eq)]
struct Said {
    kind: String,
    labels: BTreeSet<String>,
    is_seconds: bool,
    meaning: String,
}

fn page() -> String {
    let file = concat!(env!("CARGO_MANIFEST_DIR"), "/../../docs/metrics.md");
    std::fs::read_to_string(file).unwrap()
}

/// Every verb: with one that is missing here the match does not compile.
fn verbs() -> [Verb; 11] {
    use Verb::{Approve, Connect, Contents, Create, Delete, Get, Release, Token, Try, Update, Watch};
    let all = [Connect, Watch, Get, Create, Update, Delete, Release, Approve, Token, Try, Contents];
    for verb in all {
        match verb {
            Connect | Watch | Get | Create | Update | Delete | Release | Approve | Token | Try | Contents => {
            }
        }
    }
    all
}

/// Every code that an answer may count as.
fn codes_told() -> BTreeSet<Code> {
    let kind = GroupVersionKind::new("", "v1", "ConfigMap");
    let text = String::new;
    let refusals = [
        Error::Unreachable { source: Arc::new(std::fmt::Error) },
        Error::TimedOut { limit: Duration::ZERO },
        Error::Unauthorized { message: text().into() },
        Error::Forbidden { message: text().into() },
        Error::NotFound,
        Error::UnknownKind { kind },
        Error::AlreadyExists,
        Error::Conflict,
        Error::FieldConflict { manager: text(), field: text() },
        Error::Gone,
        Error::Invalid { message: text().into() },
        Error::TooManyRequests { retry_after: None },
        Error::Unsupported { what: text() },
        Error::Kubeconfig { reason: text() },
        Error::Moved,
    ];
    let failures = (0..600).map(|code| Error::Server { code, message: text().into() });
    let failed = refusals.into_iter().chain(failures).map(|error| Code::of::<()>(&Err(error)));
    failed.chain([Code::of(&Ok(()))]).collect()
}

/// One event of each kind: with one that is missing here the match does not compile.
fn events() -> Vec<What> {
    let key = || ObjectKey::of_kind(&GroupVersionKind::new("", "v1", "ConfigMap"), Some("n"), "c");
    let cause = || Cause::new(Reason::Retrying, "");
    let all = vec![
        What::Lane(LaneState::Done),
        What::Created(key()),
        What::Updated(key()),
        What::Adopted(key()),
        What::Drifted(cause()),
        What::Corrected(key()),
        What::Deleted(key()),
        What::Released(key()),
        What::Edited(key()),
        What::Issued("".into()),
        What::Lapsed("".into()),
        What::Hindered(cause()),
        What::Acquired,
        What::TakenOver,
        What::Lost,
        What::Connected,
    ];
    for what in &all {
        match what {
            What::Lane(_) | What::Drifted(_) | What::Hindered(_) | What::Issued(_) | What::Lapsed(_) => {}
            What::Created(_) | What::Updated(_) | What::Adopted(_) | What::Corrected(_) => {}
            What::Deleted(_) | What::Released(_) | What::Edited(_) => {}
            What::Acquired | What::TakenOver | What::Lost | What::Connected => {}
        }
    }
    all
}

/// Everything that may be told, with all values of all labels.
fn told() -> String {
    let codes = codes_told();
    let counted = verbs().into_iter().flat_map(|verb| codes.iter().map(move |code| ((verb, *code), 1)));
    let metrics = Metrics {
        requests: BTreeMap::from([(cluster_id(1), counted.collect())]),
        durations: verbs().map(|verb| (verb, Durations::default())).into(),
        events: events().iter().map(|what| (what.name(), 1)).collect(),
        ..Metrics::default()
    };
    let memory: Arc<dyn Store> = Arc::new(MemoryStore::new());
    let stores = CountedStores::over(memory.clone(), memory);
    let dialects = [Dialect::Documented, Dialect::Emco];
    let methods = ["GET", "HEAD", "POST", "PUT", "DELETE", "CONNECT", "OPTIONS", "TRACE", "PATCH", "_OTHER"];
    let answers = Counted {
        requests: dialects
            .map(|dialect| {
                let counts = methods.map(|method| ((method, 200), 1)).into();
                (dialect, BTreeMap::from([(NO_ROUTE.to_owned(), counts)]))
            })
            .into(),
        took: dialects
            .iter()
            .flat_map(|one| methods.map(|method| ((*one, method), Durations::default())))
            .collect(),
    };
    render(metrics, DaysLeft::default(), stores.asked(), answers).unwrap()
}

/// The pairs of label and value of a series.
fn labels_of(series: &str) -> Vec<(String, String)> {
    let labels = series.split_once('{').and_then(|(_, rest)| rest.split_once('}'));
    let pairs = labels.into_iter().flat_map(|(labels, _)| labels.split("\","));
    let pairs = pairs.filter_map(|pair| pair.split_once("=\""));
    pairs.map(|(label, value)| (label.to_owned(), value.trim_end_matches('"').to_owned())).collect()
}

/// The series of a metric; a histogram has some of other names.
fn series<'a>(text: &'a str, name: &'a str) -> impl Iterator<Item = &'a str> {
    let is_of = move |line: &&str| {
        line.strip_prefix(name)
            .is_some_and(|rest| rest.starts_with(['{', ' ']) || rest.starts_with("_count{"))
    };
    text.lines().filter(is_of)
}

fn in_registry() -> BTreeMap<String, Said> {
    let text = told();
    let help = |name: &str| {
        let lines = text.lines().filter_map(|line| line.strip_prefix("# HELP "));
        let mut of_name = lines.filter_map(|line| line.strip_prefix(name)?.strip_prefix(' '));
        of_name.next().unwrap().trim_end_matches('.').to_owned()
    };
    let types = text.lines().filter_map(|line| line.strip_prefix("# TYPE ")?.split_once(' '));
    let said = types.map(|(family, kind)| {
        let name = if kind == "counter" { format!("{family}_total") } else { family.to_owned() };
        let labels = series(&text, &name).flat_map(labels_of).map(|(label, _)| label).collect();
        let is_seconds = family.ends_with("_seconds");
        (name, Said { kind: kind.to_owned(), labels, is_seconds, meaning: help(family) })
    });
    said.collect()
}

/// The rows of the page's tables that have so many columns.
fn rows(page: &str, columns: usize) -> Vec<Vec<String>> {
    let rows = page.lines().filter_map(|line| line.strip_prefix('|')?.strip_suffix('|'));
    let rows = rows.map(|row| row.split('|').map(|cell| cell.trim().to_owned()).collect::<Vec<_>>());
    rows.filter(|row| row.len() == columns && row[0].starts_with('`')).collect()
}

/// What is in a cell as code.
fn codes(cell: &str) -> BTreeSet<String> {
    cell.split('`').skip(1).step_by(2).map(str::to_owned).collect()
}

#[test]
fn the_page_has_every_metric_with_its_type_labels_unit_and_meaning_and_no_other() {
    let on_page = rows(&page(), 5).into_iter().map(|row| {
        let [name, kind, labels, unit, meaning] = <[String; 5]>::try_from(row).unwrap();
        let (labels, is_seconds) = (codes(&labels), unit == "seconds");
        (name.trim_matches('`').to_owned(), Said { kind, labels, is_seconds, meaning })
    });
    assert_eq!(on_page.collect::<BTreeMap<_, _>>(), in_registry());
}

#[test]
fn the_page_has_the_values_of_every_label() {
    let (page, text) = (page(), told());
    let rows = rows(&page, 3);
    let values = |name: &str, label: &str| {
        let mut rows =
            rows.iter().filter(|row| codes(&row[0]).contains(name) && codes(&row[1]).contains(label));
        codes(&rows.next().unwrap_or_else(|| panic!("{name} {label}"))[2])
    };
    for (name, said) in in_registry() {
        for label in said.labels {
            let found = series(&text, &name).flat_map(labels_of).filter(|(one, _)| *one == label);
            let found: BTreeSet<String> = found.map(|(_, value)| value).collect();
            let on_page = values(&name, &label);
            // What is on the page is their form.
            if !FORMS.contains(&(&*name, &*label)) {
                assert_eq!(found, on_page, "{name} {label}");
            }
        }
    }
    let codes_max = format!("At most {} for a verb and a cluster", codes_told().len());
    assert!(page.contains(&codes_max), "{codes_max}");
}
