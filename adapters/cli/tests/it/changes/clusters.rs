//! Clusters that come into a cloud and go out of it.

use dcm_testenv::{Cluster, Environment, Route};
use serde_json::{Value, json};

use crate::changes::{owned, spec};
use crate::common::Ran;
use crate::common::installation::{CLUSTERS, Installation, Worker, registered, until};
use crate::common::waiting::{INTERRUPTED, lane_in};

/// The document with these clusters, told by their place.
fn with_clusters(document: &Value, places: &[usize]) -> Value {
    let all = document["spec"]["clusters"].as_array().unwrap();
    let mut changed = document.clone();
    changed["spec"]["clusters"] = places.iter().map(|place| all[*place].clone()).collect();
    changed
}

/// Has two documents applied one after the other, by the command alone or by a worker, and gives the writes that the second cost each
/// cluster.
async fn writes_of_the_second(
    installation: &Installation<'_>,
    documents: [&Value; 2],
    by_worker: bool,
) -> Vec<Vec<String>> {
    let [first, second] = documents;
    let worker = if by_worker { Some(installation.served(first).await) } else { None };
    installation.apply(first).done();
    let cloud = first["metadata"]["name"].as_str().unwrap();
    // A worker clears answered requests away after the cloud is done.
    until("clusters without requests for certificates", async || {
        let all = installation.clusters().iter().flat_map(|cluster| owned(cluster, cloud));
        (!all.into_iter().any(|object| object.starts_with("certificate"))).then_some(())
    })
    .await;
    let before = installation.moment();
    installation.apply(second).done();
    let (writes, requests) = (installation.writes(&before), installation.requests(&before));
    worker.into_iter().for_each(Worker::stop);
    assert!(requests.iter().all(|requests| !requests.is_empty()), "each is looked at: {requests:#?}");
    writes
}

async fn add_the_second_cluster(cloud: &str, by_worker: bool) {
    let environment = Environment::group("changes", CLUSTERS).await.unwrap();
    let installation = Installation::new(&environment, cloud);
    let all = installation.document(cloud, spec());
    let documents = [&with_clusters(&all, &[0, 2]), &all];
    let writes = writes_of_the_second(&installation, documents, by_worker).await;
    assert_eq!((writes[0].len(), writes[2].len()), (0, 0), "{writes:#?}");
    assert!(writes[1].iter().any(|write| write.starts_with("create namespaces")), "{writes:#?}");
}

#[tokio::test]
async fn a_cluster_is_added_without_a_write_to_the_others() {
    add_the_second_cluster("added-second", false).await;
}

#[tokio::test]
async fn a_worker_adds_a_cluster_without_a_write_to_the_others() {
    add_the_second_cluster("added-by-worker", true).await;
}

async fn take_the_second_cluster_out(cloud: &str, by_worker: bool) {
    let environment = Environment::group("changes", CLUSTERS).await.unwrap();
    let installation = Installation::new(&environment, cloud);
    let all = installation.document(cloud, spec());
    let documents = [&all, &with_clusters(&all, &[0, 2])];
    let writes = writes_of_the_second(&installation, documents, by_worker).await;
    assert_eq!((writes[0].len(), writes[2].len()), (0, 0), "{writes:#?}");
    let left: Vec<usize> = installation.clusters().iter().map(|one| owned(one, cloud).len()).collect();
    assert!(left[0] > 0 && left[1] == 0 && left[2] == left[0], "{left:?}");
    let status = installation.status(cloud);
    assert_eq!(status["clusters"].as_object().unwrap().len(), CLUSTERS - 1, "{status:#}");
}

#[tokio::test]
async fn a_cluster_that_is_taken_out_is_cleared_without_a_write_to_the_others() {
    take_the_second_cluster_out("out", false).await;
}

#[tokio::test]
async fn a_worker_clears_a_cluster_that_is_taken_out_without_a_write_to_the_others() {
    take_the_second_cluster_out("out-by-worker", true).await;
}

#[tokio::test]
async fn a_cloud_without_its_last_cluster_can_be_changed_filled_again_and_terminated() {
    let environment = Environment::group("changes", CLUSTERS).await.unwrap();
    let installation = Installation::new(&environment, "hollow");
    let all = installation.document("hollow", spec());
    installation.apply(&all).done();
    let cleared = |ran: Ran| {
        assert!(ran.done().contains("instantiated  0/0"));
        assert!(installation.clusters().iter().all(|cluster| owned(cluster, "hollow").is_empty()));
    };
    let mut none = with_clusters(&all, &[]);
    cleared(installation.apply(&none));
    none["spec"]["labels"] = json!({});
    cleared(installation.apply(&none));
    installation.apply(&all).done();
    assert!(installation.clusters().iter().all(|cluster| !owned(cluster, "hollow").is_empty()));
    cleared(installation.apply(&none));
    assert!(installation.terminate("hollow").done().contains("terminated"));
    installation.person.run(["delete", "hollow"]).done();
}

/// Three clusters, one of which can be cut off: another one in each test, as all others are reached past the proxies.
fn with_a_proxy<'a>(environment: &'a Environment, name: &str, place: usize) -> Installation<'a> {
    Installation::by(environment, name, |other| if other == place { Route::Proxy } else { Route::Direct })
}

/// Waits until a worker has brought a cloud so far on a cluster.
async fn lane_is(installation: &Installation<'_>, cloud: &str, cluster: &Cluster, state: &str) {
    until(state, async || (installation.lane(cloud, cluster)["state"] == state).then_some(())).await;
}

/// Applies a document without a cluster that is cut off. Once all that can be done is done, applies it again and waits in vain.
async fn taken_out(installation: &Installation<'_>, cloud: &str, rest: &Value, cut: &Cluster) -> Ran {
    let applying = installation.begin_to_apply(rest);
    until("all but the cluster that is cut off to be done", async || {
        let status = installation.status(cloud);
        let removed = lane_in(&status, cut);
        let others = installation.clusters().iter().filter(|cluster| cluster.name() != cut.name());
        let are_done = others.map(|cluster| lane_in(&status, cluster)).all(|lane| lane["state"] == "done");
        (are_done && removed["state"] == "removing" && !removed["cause"].is_null()).then_some(())
    })
    .await;
    applying.interrupt().ended_with(INTERRUPTED);
    installation.apply_until_shown("updating  2/3", rest).await
}

#[tokio::test]
async fn a_cloud_without_a_cluster_that_is_cut_off_can_be_changed_and_terminated() {
    let environment = Environment::group("changes", CLUSTERS).await.unwrap();
    let installation = with_a_proxy(&environment, "severed", 1);
    let all = installation.document("severed", spec());
    installation.apply(&all).done();
    let [first, cut, third] = installation.clusters() else { panic!("there are three") };
    cut.proxy().cut().await.unwrap();

    // Out it goes: the others have nothing to do, and the command can't wait for what it can't reach.
    let mut rest = with_clusters(&all, &[0, 2]);
    let removed = installation.moment();
    let ran = taken_out(&installation, "severed", &rest, cut).await;
    assert_eq!(ran.code, 4, "{ran:#?}");
    let title = format!("{} (no longer referred to)  removing", registered(cut));
    assert!(ran.err.contains(&title), "{}", ran.err);

    // A change reaches the others meanwhile.
    let worker = installation.serve();
    rest["spec"]["permissions"][0]["verbs"] = json!(["get"]);
    installation.person.run_with_input(&["apply", "--no-wait", "-f", "-"], &rest.to_string()).done();
    let changed = [vec!["patch roles look".to_owned()], vec![], vec!["patch roles look".to_owned()]];
    until("the change on the others", async || (installation.writes(&removed) == changed).then_some(()))
        .await;

    let cause = until("why the cluster is not cleared", async || {
        let lane = installation.lane("severed", cut);
        (lane["state"] == "removing" && !lane["cause"].is_null()).then(|| lane["cause"].clone())
    })
    .await;
    assert!(cause["reason"] == "unreachable" && cause["nextTry"].is_string(), "{cause:#}");

    // So does the end of the cloud; the rest of it comes when the cluster is back.
    installation.person.run(["terminate", "--no-wait", "severed"]).done();
    for cluster in [first, third] {
        lane_is(&installation, "severed", cluster, "removed").await;
        assert_eq!(owned(cluster, "severed"), Vec::<String>::new());
    }
    assert!(!owned(cut, "severed").is_empty());
    cut.proxy().pass().await.unwrap();
    installation.terminate("severed").done();
    assert_eq!(owned(cut, "severed"), Vec::<String>::new());
    installation.person.run(["delete", "severed"]).done();
    worker.stop();
}

#[tokio::test]
async fn a_cluster_that_was_taken_out_while_it_was_cut_off_is_cleared_when_it_is_back() {
    let environment = Environment::group("changes", CLUSTERS).await.unwrap();
    let installation = with_a_proxy(&environment, "returned", 2);
    let all = installation.document("returned", spec());
    installation.apply(&all).done();
    let cut = &installation.clusters()[2];
    cut.proxy().cut().await.unwrap();
    let rest = with_clusters(&all, &[0, 1]);
    taken_out(&installation, "returned", &rest, cut).await.ended_with(4);
    let back = installation.moment();
    cut.proxy().pass().await.unwrap();
    installation.apply(&rest).done();
    assert_eq!(owned(cut, "returned"), Vec::<String>::new());
    let writes = installation.writes(&back);
    assert_eq!((&writes[0], &writes[1]), (&Vec::new(), &Vec::new()));
    assert_eq!(installation.status("returned")["clusters"].as_object().unwrap().len(), CLUSTERS - 1);
    // As good as new: it can come into the cloud again.
    installation.apply(&all).done();
    assert_eq!(owned(cut, "returned").len(), owned(&installation.clusters()[0], "returned").len());
}
