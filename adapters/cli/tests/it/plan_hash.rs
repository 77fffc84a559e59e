//! What was planned is what happens, or nothing does: `apply --plan-hash`, on real API servers.
#![allow(clippy::unwrap_used, reason = "a test fails by it")]

use crate::common;

use common::Ran;
use common::installation::{CLUSTERS, Installation, kubectl, make, registered, timeout, until};
use common::requests::Moment;
use dcm_testenv::{Cluster, Environment, Fault, Route};
use rusqlite::types::Value as Cell;
use rusqlite::{Connection, OpenFlags};
use serde_json::{Value, json};

const STALE: i32 = 8;

/// A document with a quota of so many pods.
fn document(installation: &Installation<'_>, name: &str, pods: u32) -> Value {
    let spec = json!({
        "users": [{"name": "ann"}],
        "permissions": [{"name": "look", "apiGroups": [""], "resources": ["pods"], "verbs": ["get"]}],
        "quotas": [{"name": "compute", "hard": {"pods": pods, "secrets": 9}}],
    });
    installation.document(name, spec)
}

/// A plan for programs; it ends with this code.
fn plan(installation: &Installation<'_>, document: &Value, code: i32) -> Value {
    let ran = installation.person.run_with_input(&["plan", "-o", "json", "-f", "-"], &document.to_string());
    assert_eq!(ran.code, code, "{ran:#?}");
    serde_json::from_str(&ran.out).unwrap()
}

fn hash(installation: &Installation<'_>, document: &Value) -> String {
    plan(installation, document, 0)["hash"].as_str().unwrap().to_owned()
}

fn apply(installation: &Installation<'_>, document: &Value, hash: &str) -> Ran {
    let arguments = ["apply", "--timeout", &timeout(), "--plan-hash", hash, "-f", "-"];
    installation.person.run_with_input(&arguments, &document.to_string())
}

/// All that an installation's store holds.
fn stored(installation: &Installation<'_>) -> Vec<Vec<Cell>> {
    let file = installation.person.home().join(".local/share/dcm/store.db");
    let database = Connection::open_with_flags(file, OpenFlags::SQLITE_OPEN_READ_ONLY).unwrap();
    let mut tables = database.prepare("SELECT name FROM sqlite_schema WHERE type = 'table'").unwrap();
    let tables: Vec<String> = tables.query_map([], |row| row.get(0)).unwrap().map(Result::unwrap).collect();
    let mut rows = Vec::new();
    for table in tables {
        let mut all = database.prepare(&format!("SELECT * FROM \"{table}\" ORDER BY 1, 2")).unwrap();
        let columns = all.column_count();
        let cells = all.query_map([], |row| (0..columns).map(|column| row.get(column)).collect());
        rows.extend(cells.unwrap().map(Result::<Vec<Cell>, _>::unwrap));
    }
    assert!(!rows.is_empty(), "the store holds something");
    rows
}

/// Applies a plan that must be stale: nothing is written, neither to a cluster nor to the store. Gives what is said.
fn refused(installation: &Installation<'_>, document: &Value, hash: &str) -> String {
    let (since, before) = (installation.moment(), stored(installation));
    let ran = apply(installation, document, hash);
    assert!(ran.out.contains("Plan hash: ") && !ran.out.contains(hash), "{ran:#?}");
    let now = ran.out.rsplit_once("Plan hash: ").unwrap().1.trim().to_owned();
    let said = ran.ended_with(STALE);
    assert!(
        !said.contains(UNNAMED) || now[CLUSTER_DIGITS..] == hash[CLUSTER_DIGITS..],
        "{now} {hash} {said}"
    );
    assert_eq!(installation.writes(&since), vec![Vec::<String>::new(); CLUSTERS]);
    assert!(!asked(installation, &since).is_empty(), "the clusters are looked at");
    let after = stored(installation);
    let written: Vec<&Cell> =
        after.iter().filter(|row| !before.contains(row)).filter_map(|row| row.first()).collect();
    assert!(written.is_empty() && after.len() == before.len(), "the store was written: {written:?}");
    said
}

/// What is said when clusters differ, and no byte of the hash shows which. UIDs are random, so that happens one time in 256.
const UNNAMED: &str = "nothing was changed: a cluster is not as it was";

/// Where the digits for clusters begin in a hash.
const CLUSTER_DIGITS: usize = 40;

/// True for a message that names this change, or no cluster at all, which [`refused`] allows only where it must be so.
fn tells_of(said: &str, change: &str) -> bool {
    said.contains(change) || said.contains(UNNAMED)
}

fn asked(installation: &Installation<'_>, since: &Moment) -> Vec<String> {
    installation.requests(since).concat()
}

fn quota(cluster: &Cluster, namespace: &str, path: &str) -> String {
    let path = format!("jsonpath={{{path}}}");
    kubectl(cluster, &["get", "resourcequota/compute", "-n", namespace, "-o", &path])
}

fn edit(cluster: &Cluster, namespace: &str, patch: &Value) {
    let patch = patch.to_string();
    let object = ["patch", "resourcequota/compute", "-n", namespace, "--type=merge"];
    kubectl(cluster, &[&object[..], &["--field-manager", "a-person", "-p", &patch]].concat());
}

#[tokio::test]
async fn the_hash_of_a_plan_applies_and_after_a_change_of_ours_on_any_cluster_it_is_stale_and_nothing_is_written()
 {
    let environment = Environment::group("plan_hash", CLUSTERS).await.unwrap();
    let installation = Installation::new(&environment, "planned");
    let first = document(&installation, "planned", 10);
    let hash_of_first = hash(&installation, &first);
    let since = installation.moment();
    apply(&installation, &first, &hash_of_first).done();
    let dry_runs = installation.events(&since).concat().into_iter().filter(|event| event.dry_run).count();
    assert_eq!(dry_runs, 0, "what nobody is shown is not rehearsed");
    for cluster in installation.clusters() {
        assert_eq!(quota(cluster, "planned", ".spec.hard.pods"), "10");
    }
    let steps = plan(&installation, &first, 0)["clouds"][0]["clusters"]["real/cluster-1"]["steps"].take();
    assert_eq!(steps, json!([]), "everything is as desired");
    let said = refused(&installation, &first, &hash_of_first);
    assert!(said.contains("something else is wanted than was planned"), "{said}");

    let second = document(&installation, "planned", 11);
    let planned = hash(&installation, &second);
    edit(&installation.clusters()[1], "planned", &json!({"spec": {"hard": {"pods": "99"}}}));
    let said = refused(&installation, &second, &planned);
    assert!(tells_of(&said, "real/cluster-2 is not as it was (planned)"), "{said}");
    assert!(!said.contains("cluster-1") && !said.contains("cluster-3"), "{said}");
    assert_eq!(quota(&installation.clusters()[1], "planned", ".spec.hard.pods"), "99");

    apply(&installation, &second, &hash(&installation, &second)).done();
    for cluster in installation.clusters() {
        assert_eq!(quota(cluster, "planned", ".spec.hard.pods"), "11");
    }
    installation.terminate("planned").done();
}

#[tokio::test]
async fn a_cluster_that_changes_after_that_was_checked_halts_alone_until_it_is_applied_anew() {
    let environment = Environment::group("plan_hash", CLUSTERS).await.unwrap();
    let installation = Installation::new(&environment, "bound");
    let first = document(&installation, "bound", 10);
    let worker = installation.served(&first).await;
    installation.apply(&first).done();
    let changed = &installation.clusters()[1];
    // What the worker would do there at once, it does later.
    installation.person.run(["cluster", "stop", &registered(changed)]).done();
    let second = document(&installation, "bound", 11);
    let planned = hash(&installation, &second);
    let arguments = ["apply", "--no-wait", "--plan-hash", &planned, "-f", "-"];
    installation.person.run_with_input(&arguments, &second.to_string()).done();
    edit(changed, "bound", &json!({"spec": {"hard": {"pods": "99"}}}));
    let since = installation.moment();
    installation.person.run(["cluster", "resume", &registered(changed)]).done();
    let cause = until("that it halts", async || {
        let mut lane = installation.lane("bound", changed);
        (lane["cause"]["reason"] == "plan-stale").then(|| lane["cause"].take())
    })
    .await;
    assert!(cause["message"].as_str().unwrap().contains("plan again"), "{cause}");
    for (cluster, pods) in installation.clusters().iter().zip(["11", "99", "11"]) {
        until("what is to be there", async || {
            (quota(cluster, "bound", ".spec.hard.pods") == pods).then_some(())
        })
        .await;
    }
    assert_eq!(installation.writes(&since)[1], Vec::<String>::new());
    installation.apply(&second).done();
    assert_eq!(quota(changed, "bound", ".spec.hard.pods"), "11");
    installation.terminate("bound").done();
    worker.stop();
}

#[tokio::test]
async fn a_plan_names_the_fields_that_would_change_and_what_can_not_be_checked_yet_and_writes_nothing() {
    let environment = Environment::group("plan_hash", CLUSTERS).await.unwrap();
    let installation = Installation::new(&environment, "rehearsed");
    let step = |document: &Value, kind: &str| {
        let steps =
            plan(&installation, document, 0)["clouds"][0]["clusters"]["real/cluster-2"]["steps"].take();
        let steps = steps.as_array().unwrap().iter();
        let mut of_kind = steps.filter(|step| step["object"].as_str().unwrap().contains(kind));
        of_kind.next().unwrap().clone()
    };
    let first = document(&installation, "rehearsed", 10);
    let since = installation.moment();
    assert_eq!(step(&first, "Namespace ")["changes"], json!([]));
    let unchecked = "can't be checked before its namespace exists";
    assert_eq!(step(&first, "ResourceQuota ")["unchecked"], unchecked);
    assert_eq!(installation.writes(&since), vec![Vec::<String>::new(); CLUSTERS]);
    installation.apply(&first).done();
    let second = document(&installation, "rehearsed", 11);
    let since = installation.moment();
    let changed = json!([{"path": "spec.hard.pods", "before": "10", "after": "11"}]);
    assert_eq!(step(&second, "ResourceQuota ")["changes"], changed);
    let table = installation.person.run_with_input(&["plan", "-f", "-"], &second.to_string()).done();
    assert!(table.contains(r#"; spec.hard.pods "10" → "11""#), "{table}");
    assert_eq!(installation.writes(&since), vec![Vec::<String>::new(); CLUSTERS]);
    assert_eq!(quota(&installation.clusters()[1], "rehearsed", ".spec.hard.pods"), "10");
    installation.terminate("rehearsed").done();
}

#[tokio::test]
async fn a_change_of_a_quotas_status_alone_does_not_make_a_plan_stale() {
    let environment = Environment::group("plan_hash", CLUSTERS).await.unwrap();
    let installation = Installation::new(&environment, "counted");
    installation.apply(&document(&installation, "counted", 10)).done();
    let cluster = &installation.clusters()[0];
    until("what the quota counts", async || {
        (quota(cluster, "counted", ".status.used.secrets") == "0").then_some(())
    })
    .await;
    let second = document(&installation, "counted", 11);
    let planned = hash(&installation, &second);
    let version = quota(cluster, "counted", ".metadata.resourceVersion");
    make(
        cluster,
        &json!({"apiVersion": "v1", "kind": "Secret", "metadata": {"name": "s", "namespace": "counted"}}),
    );
    until("that the quota counts one more", async || {
        (quota(cluster, "counted", ".status.used.secrets") == "1").then_some(())
    })
    .await;
    assert_ne!(quota(cluster, "counted", ".metadata.resourceVersion"), version);
    apply(&installation, &second, &planned).done();
    assert_eq!(quota(cluster, "counted", ".spec.hard.pods"), "11");
    installation.person.run(["terminate", "counted", "--delete-contents", "--timeout", &timeout()]).done();
}

#[tokio::test]
async fn a_cluster_that_can_not_be_reached_is_in_the_plan_by_its_name_and_its_return_makes_it_stale() {
    let environment = Environment::group("plan_hash", CLUSTERS).await.unwrap();
    let route = |place| if place == 2 { Route::Proxy } else { Route::Direct };
    let installation = Installation::by(&environment, "away", route);
    let document = document(&installation, "away", 10);
    let away = &installation.clusters()[2];
    away.proxy().set(Fault::Cut).await.unwrap();
    let planned = plan(&installation, &document, 1);
    let clusters = &planned["clouds"][0]["clusters"];
    assert!(clusters[registered(away)]["unknown"].is_string(), "{planned:#}");
    assert!(clusters[registered(&installation.clusters()[0])]["steps"].is_array(), "{planned:#}");
    assert_eq!(plan(&installation, &document, 1)["hash"], planned["hash"]);
    away.proxy().set(Fault::None).await.unwrap();
    let said = refused(&installation, &document, planned["hash"].as_str().unwrap());
    assert!(tells_of(&said, "real/cluster-3 is not as it was (away)"), "{said}");
}
