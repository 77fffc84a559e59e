//! Taking a logical cloud off real API servers always ends, whatever is in the way; and a store that was lost, or restored
//! from an old copy, takes nothing off them.
#![allow(clippy::unwrap_used, reason = "a test fails by it")]

mod common;

use std::collections::BTreeMap;
use std::time::Duration;

use common::UNREACHABLE;
use common::installation::{CLUSTERS, Installation, kubectl, make, registered, until};
use common::leftovers::{copy, document, lost, namespaces, orphaned, owned, restore, store_of};
use dcm_testenv::{Environment, Fault, Route};
use jiff::Timestamp;
use serde_json::{Value, json};
use tokio::time::Instant;

/// The cluster that a test lets fail.
const BROKEN: usize = 1;

/// The one that a test lets hang. The proxies are shared, so it is another one.
const HANGING: usize = 2;

/// By when the first request comes after a cluster has returned.
const FOUND: Duration = Duration::from_secs(5);

/// By when the command ends after the deadline. It takes some tenths of a second: the worker's alarm, its write, and the
/// command that sees it and begins and ends as a process. The rest is for a machine of two cores on which everything
/// else runs as well. A connection that hangs takes longer: who waited for one would be seen.
const TOLD: Duration = Duration::from_secs(4);

/// By when a cluster is cleared after it has returned.
const CLEARED: Duration = Duration::from_secs(30);

#[tokio::test]
async fn a_cluster_that_is_cut_off_is_given_up_at_the_deadline_and_cleared_when_it_returns() {
    Failing { name: "abandoned", place: BROKEN, fault: Fault::Cut, deadline: Duration::from_secs(8) }
        .is_given_up_and_found()
        .await;
}

#[tokio::test]
async fn a_cluster_that_hangs_is_given_up_at_the_deadline_and_found_as_soon_as_one_that_refuses() {
    // Long enough for one try to fail, so that there is a cause to tell.
    let failing = Failing {
        name: "swallowed",
        place: HANGING,
        fault: Fault::Swallow,
        deadline: Duration::from_secs(12),
    };
    failing.is_given_up_and_found().await;
}

/// A cluster that fails while a cloud is taken off it.
struct Failing {
    name: &'static str,
    place: usize,
    fault: Fault,
    deadline: Duration,
}

impl Failing {
    async fn is_given_up_and_found(&self) {
        let Self { name, place: failing, fault, deadline } = *self;
        let environment = Environment::shared(CLUSTERS).await.unwrap();
        let route = |place| if place == failing { Route::Proxy } else { Route::Direct };
        let installation = Installation::by(&environment, name, route);
        let broken = &installation.clusters()[failing];
        let document = document(&installation, name);
        installation.apply(&document).done();
        broken.proxy().set(fault).await.unwrap();
        // It is there before the command, and so does all the work.
        let worker = installation.served(&document).await;

        let asked = Instant::now();
        let seconds = format!("{}s", deadline.as_secs());
        let ran = installation.person.run(["terminate", name, "--deadline", &seconds]);
        let took = asked.elapsed();
        assert!(ran.code == 7 && ran.out.contains("terminated  2/3"), "{ran:#?}");
        assert!(
            ran.err.contains(&format!("given up at the deadline: {}", registered(broken))),
            "{}",
            ran.err
        );
        assert!(took >= deadline && took <= deadline + TOLD, "{took:?}");
        let lane = installation.lane(name, broken);
        assert_eq!((&lane["state"], &lane["cause"]["reason"]), (&json!("abandoned"), &json!("unreachable")));
        for cluster in installation.clusters().iter().filter(|cluster| cluster.name() != broken.name()) {
            assert_eq!(namespaces(cluster, name), "");
        }
        installation.person.run(["delete", name]).done();
        let kept = installation.person.run(["cluster", "remove", &registered(broken)]).ended_with(5);
        assert!(kept.contains("which is cleared when it returns"), "{kept}");
        self.is_found(&installation).await;
        worker.stop();
    }

    /// It is asked soon after it has returned, and nothing is left of the cloud.
    async fn is_found(&self, installation: &Installation<'_>) {
        let broken = &installation.clusters()[self.place];
        let since = installation.moment();
        let returned = Timestamp::now();
        broken.proxy().pass().await.unwrap();
        let first = until("a request to the cluster that returned", async || {
            installation.events(&since)[self.place].iter().map(|event| event.request_received).min()
        })
        .await;
        assert!(first.duration_since(returned).unsigned_abs() <= FOUND, "{first} after {returned}");
        until("the cluster to be cleared", async || namespaces(broken, self.name).is_empty().then_some(()))
            .await;
        assert!(Timestamp::now().duration_since(returned).unsigned_abs() <= CLEARED);
        until("the tombstone to go", async || {
            let ran = installation.person.run(["cluster", "remove", &registered(broken)]);
            (ran.code == 0).then_some(())
        })
        .await;
    }
}

#[tokio::test]
async fn a_finalizer_of_somebody_else_is_named_and_everything_else_is_gone() {
    let environment = Environment::shared(CLUSTERS).await.unwrap();
    let installation = Installation::new(&environment, "held");
    let broken = &installation.clusters()[BROKEN];
    installation.apply(&document(&installation, "held")).done();
    let held = json!({"apiVersion": "v1", "kind": "ConfigMap",
        "metadata": {"name": "theirs", "namespace": "held", "finalizers": ["example.com/hold"]}});
    make(broken, &held);

    let ran = installation.person.run(["terminate", "held", "--delete-contents", "--deadline", "15s"]);
    assert!(ran.code == 7 && ran.out.contains("terminated  2/3"), "{ran:#?}");
    let lane = installation.lane("held", broken);
    assert_eq!(
        (&lane["state"], &lane["cause"]["object"]["kind"]),
        (&json!("abandoned"), &json!("Namespace")),
        "{lane:#}"
    );
    let told = lane["cause"]["message"].as_str().unwrap();
    for words in ["NamespaceFinalizersRemaining", "example.com/hold in 1 resource instances", "configmaps."] {
        assert!(told.contains(words), "{told}");
    }
    assert_eq!(owned(broken, "held"), "");
    for place in [0, 2] {
        assert_eq!(namespaces(&installation.clusters()[place], "held"), "");
    }
    let free = r#"{"metadata":{"finalizers":null}}"#;
    kubectl(broken, &["patch", "configmap", "theirs", "-n", "held", "--type", "merge", "-p", free]);
    installation.terminate("held").done();
    assert_eq!(namespaces(broken, "held"), "");
}

#[tokio::test]
async fn objects_that_are_to_be_kept_stay_without_our_marks_and_give_no_rights() {
    let environment = Environment::shared(CLUSTERS).await.unwrap();
    let installation = Installation::new(&environment, "kept");
    installation.apply(&document(&installation, "kept")).done();
    installation.person.run(["terminate", "kept", "--keep-objects"]).done();
    for cluster in installation.clusters() {
        assert_eq!(owned(cluster, "kept"), "");
        let roles = kubectl(cluster, &["get", "roles", "-n", "kept", "-o", "json", "--show-managed-fields"]);
        let roles: Value = serde_json::from_str(&roles).unwrap();
        let metadata = &roles["items"][0]["metadata"];
        assert!(metadata["name"].is_string() && !metadata.to_string().contains("dcm"), "{metadata:#}");
        assert_eq!(kubectl(cluster, &["get", "rolebindings", "-n", "kept", "-o", "name"]), "");
        kubectl(cluster, &["delete", "namespace", "kept", "--wait=false"]);
    }
}

/// The document with another quota, and with or without a second permission.
fn changed(installation: &Installation<'_>, name: &str, pods: u32, more: bool) -> Value {
    let mut document = document(installation, name);
    document["spec"]["quotas"] = json!([{"name": "q", "hard": {"pods": pods}}]);
    if more {
        let run = json!({"name": "run", "apiGroups": [""], "resources": ["pods"], "verbs": ["create"]});
        document["spec"]["permissions"].as_array_mut().unwrap().push(run);
    }
    document
}

/// What the causes of a reason say, by the kinds and names of the objects that they are about.
fn causes(lane: &Value, reason: &str) -> BTreeMap<String, String> {
    let objects = lane["objects"].as_array().unwrap().iter().filter(|one| one["cause"]["reason"] == reason);
    let text = |value: &Value| value.as_str().unwrap().to_owned();
    objects
        .map(|one| (format!("{} {}", text(&one["kind"]), text(&one["name"])), text(&one["cause"]["message"])))
        .collect()
}

#[tokio::test]
async fn a_store_that_is_three_changes_old_takes_nothing_away_tells_what_differs_and_goes_on_when_told() {
    let environment = Environment::shared(CLUSTERS).await.unwrap();
    let installation = Installation::new(&environment, "restored");
    let person = &installation.person;
    installation.apply(&changed(&installation, "restored", 1, false)).done();
    let copied = person.home().join("copy");
    copy(&store_of(&installation), &copied);
    for (pods, more) in [(2, false), (2, true), (3, true)] {
        installation.apply(&changed(&installation, "restored", pods, more)).done();
    }
    restore(&installation, &copied);

    let since = installation.moment();
    let halted = installation.apply(&changed(&installation, "restored", 9, false));
    assert!(halted.code == 5 && halted.out.contains("failed while updating  0/3"), "{halted:#?}");
    assert_eq!(installation.writes(&since), vec![Vec::<String>::new(); CLUSTERS]);
    for cluster in installation.clusters() {
        let lane = installation.lane("restored", cluster);
        let halted: BTreeMap<String, String> = causes(&lane, "store-behind");
        assert!(halted.values().all(|told| told.contains("the cluster holds generation 4")), "{halted:#?}");
        for (object, difference) in [
            ("ResourceQuota q", "it is another one, and would be overwritten"),
            ("Role run", "it is not wanted, and would be deleted"),
            ("RoleBinding run", "it is not wanted, and would be deleted"),
        ] {
            assert!(
                halted.get(object).is_some_and(|told| told.contains(difference)),
                "{object}: {halted:#?}"
            );
        }
    }

    let ran = person.run(["reconcile", "restored", "--timeout", "60s"]);
    assert!(ran.code == 0 && ran.out.contains("instantiated  3/3"), "{ran:#?}");
    for cluster in installation.clusters() {
        let quota = ["get", "resourcequota", "-n", "restored", "-o", "jsonpath={.items[*].spec.hard.pods}"];
        assert_eq!(kubectl(cluster, &quota), "9");
        assert!(!owned(cluster, "restored").contains("/run"), "{}", owned(cluster, "restored"));
    }
    installation.terminate("restored").done();
}

#[tokio::test]
async fn what_a_lost_store_has_left_is_listed_and_removed_only_when_somebody_says_so() {
    let environment = Environment::shared(CLUSTERS).await.unwrap();
    let installation = Installation::new(&environment, "lost");
    let person = &installation.person;
    let dead = person.write("dead", UNREACHABLE);
    person.run(["cluster", "add", "a/dead", "--unchecked", "--kubeconfig", dead.to_str().unwrap()]).done();
    let mut document = document(&installation, "lost");
    // Of a kind that only an extra manifest can have.
    document["spec"]["manifests"] = json!([{"apiVersion": "policy/v1", "kind": "PodDisruptionBudget",
        "metadata": {"name": "extra"}, "spec": {"minAvailable": 1, "selector": {"matchLabels": {"a": "b"}}}}]);
    lost(&installation, &document);

    let ran = person.run(["orphans", "list", "-o", "json"]);
    let listed: Value = serde_json::from_str(&ran.out).unwrap();
    assert!(listed["a/dead"]["error"].is_string(), "{listed:#}");
    assert!(ran.ended_with(1).contains("a/dead could not be looked through: "));
    for cluster in installation.clusters() {
        let context = orphaned(&listed, cluster, "lost");
        let removed = person.run(["orphans", "remove", &registered(cluster), &context]).done();
        for object in [" PodDisruptionBudget.policy lost/extra ", " Namespace lost "] {
            let line = removed.lines().find(|line| line.contains(object)).unwrap();
            assert!(line.ends_with(" deleted"), "{removed}");
        }
        until("the namespace to go", async || namespaces(cluster, "lost").is_empty().then_some(())).await;
    }
}
