//! Taking a logical cloud off real API servers always ends, whatever is in the way; and a store that was lost, or restored
//! from an old copy, takes nothing off them.
#![allow(clippy::unwrap_used, reason = "a test fails by it")]

use crate::common;

use std::collections::BTreeMap;
use std::time::Duration;

use common::installation::{CLUSTERS, Installation, kubectl, make, registered, timeout, until};
use common::leftovers::{copy, document, lost, namespaces, orphaned, owned, restore, store_of};
use common::waiting::lane_in;
use common::{Ran, UNREACHABLE};
use dcm_testenv::{Cluster, Environment, Fault, Route};
use serde_json::{Value, json};
use tokio::time::Instant;

/// The exit code where a cluster was given up.
const ABANDONED: i32 = 7;

/// The cluster that a test lets fail.
const BROKEN: usize = 1;

/// The one that a test lets hang.
const HANGING: usize = 2;

/// How much of a deadline is left when it is set: healthy clusters are done by then.
const LEFT: Duration = Duration::from_secs(2);

#[tokio::test]
async fn a_cluster_that_is_cut_off_is_given_up_at_the_deadline_and_cleared_when_it_returns() {
    Failing { name: "abandoned", place: BROKEN, fault: Fault::Cut }.is_given_up_and_cleared().await;
}

#[tokio::test]
async fn a_cluster_that_hangs_is_given_up_at_the_deadline_and_cleared_when_it_returns() {
    Failing { name: "swallowed", place: HANGING, fault: Fault::Swallow }.is_given_up_and_cleared().await;
}

/// A cluster that fails while a cloud is taken off it.
struct Failing {
    name: &'static str,
    place: usize,
    fault: Fault,
}

impl Failing {
    /// How late a deadline may be, and how soon a cluster is found again, is proved in virtual time (dcm-sync, `engine/ending.rs`).
    async fn is_given_up_and_cleared(&self) {
        let Self { name, place: failing, fault } = *self;
        let environment = Environment::group("ending", CLUSTERS).await.unwrap();
        let route = |place| if place == failing { Route::Proxy } else { Route::Direct };
        let installation = Installation::by(&environment, name, route);
        let broken = &installation.clusters()[failing];
        let document = document(&installation, name);
        installation.apply(&document).done();
        broken.proxy().set(fault).await.unwrap();
        // It is there before the command, and so does all the work.
        let worker = installation.served(&document).await;

        let asked = Instant::now();
        installation.person.run(["terminate", name, "--no-wait"]).done();
        removed_but_for(&installation, name, broken, |cause| cause["reason"] == "unreachable").await;
        let deadline = asked.elapsed() + LEFT;
        let ran = given_up(&installation, &[name], deadline);
        assert!(asked.elapsed() >= whole_seconds(deadline), "{ran:#?}");
        assert!(
            ran.err.contains(&format!("abandoned at the deadline: {}", registered(broken))),
            "{}",
            ran.err
        );
        let lane = installation.lane(name, broken);
        assert_eq!((&lane["state"], &lane["cause"]["reason"]), (&json!("abandoned"), &json!("unreachable")));
        for cluster in installation.clusters().iter().filter(|cluster| cluster.name() != broken.name()) {
            assert_eq!(namespaces(cluster, name), "");
        }
        installation.person.run(["delete", name]).done();
        let kept = installation.person.run(["cluster", "remove", &registered(broken)]).ended_with(5);
        assert!(kept.contains("which is cleared when it returns"), "{kept}");
        self.is_cleared(&installation).await;
        worker.stop();
    }

    /// The cluster is asked again after it has returned, and nothing is left of the cloud.
    async fn is_cleared(&self, installation: &Installation<'_>) {
        let broken = &installation.clusters()[self.place];
        broken.proxy().pass().await.unwrap();
        until("the cluster to be cleared", async || namespaces(broken, self.name).is_empty().then_some(()))
            .await;
        until("the tombstone to go", async || {
            let ran = installation.person.run(["cluster", "remove", &registered(broken)]);
            (ran.code == 0).then_some(())
        })
        .await;
    }
}

/// Waits until a cloud is removed from all clusters but one, where something that the test expects is in the way.
async fn removed_but_for(
    installation: &Installation<'_>,
    name: &str,
    broken: &Cluster,
    is_expected: impl Fn(&Value) -> bool,
) {
    until("removal from all clusters but one", async || {
        let status = installation.status(name);
        let is_so = |cluster: &Cluster| {
            let lane = lane_in(&status, cluster);
            if cluster.name() == broken.name() {
                lane["state"] == "removing" && is_expected(&lane["cause"])
            } else {
                lane["state"] == "removed"
            }
        };
        installation.clusters().iter().all(is_so).then_some(())
    })
    .await;
}

/// A deadline is given in whole seconds.
fn whole_seconds(deadline: Duration) -> Duration {
    Duration::from_secs(deadline.as_secs())
}

/// Gives a removal that has begun this deadline, from its beginning, and waits until the broken cluster is given up.
fn given_up(installation: &Installation<'_>, removal: &[&str], deadline: Duration) -> Ran {
    let deadline = format!("{}s", deadline.as_secs());
    let ran = installation.person.run([&["terminate", "--deadline", &deadline], removal].concat());
    assert!(ran.code == ABANDONED && ran.out.contains("terminated  2/3"), "{ran:#?}");
    ran
}

#[tokio::test]
async fn a_finalizer_of_another_program_is_named_and_everything_else_is_gone() {
    let environment = Environment::group("ending", CLUSTERS).await.unwrap();
    let installation = Installation::new(&environment, "held");
    let broken = &installation.clusters()[BROKEN];
    installation.apply(&document(&installation, "held")).done();
    let held = json!({"apiVersion": "v1", "kind": "ConfigMap",
        "metadata": {"name": "theirs", "namespace": "held", "finalizers": ["example.com/hold"]}});
    make(broken, &held);

    let removal = ["held", "--delete-contents"];
    let asked = Instant::now();
    // No worker serves the store: the first command does the work.
    let removing = installation.person.begin(&[&["terminate"], &removal[..]].concat(), "");
    let names_all = |cause: &Value| {
        let text = cause["detail"].as_str().unwrap_or_default();
        let words =
            ["NamespaceFinalizersRemaining", "example.com/hold in 1 resource instances", "configmaps."];
        words.iter().all(|words| text.contains(words))
    };
    removed_but_for(&installation, "held", broken, names_all).await;
    let deadline = asked.elapsed() + LEFT;
    given_up(&installation, &removal, deadline);
    assert!(asked.elapsed() >= whole_seconds(deadline));
    removing.end().ended_with(ABANDONED);
    let lane = installation.lane("held", broken);
    assert_eq!(
        (&lane["state"], &lane["cause"]["object"]["kind"]),
        (&json!("abandoned"), &json!("Namespace")),
        "{lane:#}"
    );
    assert!(names_all(&lane["cause"]), "{lane:#}");
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
    let environment = Environment::group("ending", CLUSTERS).await.unwrap();
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
    let environment = Environment::group("ending", CLUSTERS).await.unwrap();
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

    let ran = person.run(["reconcile", "restored", "--timeout", &timeout()]);
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
    // Of its own: the orphans of the whole cluster are listed, and the engine gives itself rights in their namespaces.
    let environment = Environment::group("lost", 1).await.unwrap();
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
