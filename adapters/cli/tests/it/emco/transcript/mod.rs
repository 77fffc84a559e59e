//! What was recorded of EMCO's own services, asked again of ours: statuses and bodies are equal, but for the deliberate differences.

mod differences;
mod recorded;

use std::sync::LazyLock;

use dcm_testenv::{Environment, Route};
use regex::{Captures, Regex};
use serde_json::Value;

use crate::common::UNREACHABLE;
use crate::common::confined::Confined;
use crate::common::installation::until;
use crate::common::server::Server;
use differences::{DIFFERENCES, Difference};
use recorded::{Answer, Recorded};

/// Most deliberate differences.
const DIFFERENCES_MAX: usize = 15;

/// Where the list of differences begins and ends in the page.
const MARKS: (&str, &str) = ("<!-- differences -->\n", "<!-- end of differences -->");

/// What differs from run to run, and what is written for it.
static VARYING: LazyLock<Vec<(Regex, &str)>> = LazyLock::new(|| {
    let varying = [
        (r"\d{4}-\d{2}-\d{2}T\d{2}:\d{2}:\d{2}(\.\d+)?Z", "TIME"),
        (r#""(statusctxid|instance)":"\d+""#, r#""$1":"INSTANCE""#),
        (r"https://127\.0\.0\.1:\d+", "SERVER"),
        (r#"(-data: |-data":")[A-Za-z0-9+/=]{64,}"#, "${1}BASE64"),
        (r"\b[0-9a-f]{16}\b", "UID"),
    ];
    varying.into_iter().map(|(pattern, word)| (Regex::new(pattern).unwrap(), word)).collect()
});

/// An answer without what differs from run to run, and without an order that means nothing: that of members, and that of resources,
/// which are listed by their names.
fn settled(Answer { status, body }: &Answer) -> Answer {
    let settle =
        |text: String, (pattern, word): &(Regex, &str)| pattern.replace_all(&text, *word).into_owned();
    let mut body = VARYING.iter().fold(body.trim_end().to_owned(), settle);
    if body.starts_with("apiVersion:") {
        let file: Value = serde_saphyr::from_str(&body).unwrap();
        body = file.to_string();
    } else if let Ok(mut value) = serde_json::from_str::<Value>(&body) {
        sort_resources(&mut value);
        body = value.to_string();
    }
    Answer { status: *status, body }
}

fn sort_resources(value: &mut Value) {
    match value {
        Value::Object(members) => {
            if let Some(Value::Array(resources)) = members.get_mut("resources") {
                resources.sort_by_key(|one| format!("{}{}", one["GVK"]["Kind"], one["name"]));
            }
            members.values_mut().for_each(sort_resources);
        }
        Value::Array(items) => items.iter_mut().for_each(sort_resources),
        _ => {}
    }
}

/// Waits for the end of what was asked for: EMCO's was recorded once all was done.
async fn until_done(server: &Server, request: &str) {
    for (operation, done) in [("/instantiate", "Instantiated"), ("/terminate", "Terminated")] {
        if let Some(cloud) = request.strip_prefix("POST ").and_then(|path| path.strip_suffix(operation)) {
            let status = format!("GET {cloud}/status?output=summary");
            let told = format!("\"deployedStatus\":\"{done}\"");
            until(done, async || server.ask(&status).contains(&told).then_some(())).await;
        }
    }
}

/// A request with the kubeconfigs of the test's clusters.
fn filled(request: &str, kubeconfigs: &[(&str, String)]) -> String {
    static PLACE: LazyLock<Regex> = LazyLock::new(|| Regex::new(r"\{kubeconfig (\w+)\}").unwrap());
    let kubeconfig = |found: &Captures<'_>| {
        kubeconfigs.iter().find(|(name, _)| *name == &found[1]).unwrap().1.trim_end().to_owned()
    };
    PLACE.replace_all(request, kubeconfig).into_owned()
}

#[tokio::test(flavor = "multi_thread")]
async fn what_was_recorded_is_answered_again() {
    let environment = Environment::group("emco", 2).await.unwrap();
    let [one, other] = environment.clusters() else { panic!("two clusters are asked for") };
    let confined = |cluster| Confined::Standard.kubeconfig(cluster, "dcm-recorded", Route::Direct);
    let kubeconfigs = [
        ("c1", confined(one)),
        ("c2", confined(other)),
        // These two are in no logical cloud, and a cluster has one name.
        ("c3", UNREACHABLE.to_owned()),
        ("cprox", UNREACHABLE.to_owned()),
    ];
    let server = crate::emco::server();
    let mut used = vec![0; DIFFERENCES.len()];
    for Recorded { title, request, answer } in recorded::all() {
        let mut expected = settled(&answer);
        for (index, difference) in DIFFERENCES.iter().enumerate() {
            let changed = difference.applied(&request, &expected);
            used[index] += usize::from(changed != expected);
            expected = settled(&changed);
        }
        let answered = Answer::of(&server.ask(&filled(&request, &kubeconfigs)));
        assert_eq!(settled(&answered), expected, "{title}: {request}");
        until_done(&server, request.lines().next().unwrap()).await;
    }
    for (Difference { reason, .. }, used) in DIFFERENCES.iter().zip(used) {
        assert!(used > 0, "nothing differs by this: {reason}");
    }
    server.stop();
}

/// Holds the list of differences of the page against them, or writes it anew.
pub(crate) fn hold_page() {
    assert!(DIFFERENCES.len() <= DIFFERENCES_MAX);
    let rows = DIFFERENCES.iter().map(|one| format!("| {} | {} | {} |\n", one.of_emco, one.here, one.reason));
    let table = format!("| EMCO | Here | Why |\n|---|---|---|\n{}", rows.collect::<String>());
    crate::common::routes::replace("emco.md", MARKS, &crate::emco::EXCHANGES, &table);
}
