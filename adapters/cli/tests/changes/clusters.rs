//! Clusters that come into a cloud and go out of it.

use dcm_testenv::{Cluster, Environment, Route};
use serde_json::{Value, json};

use crate::common::Ran;
use crate::common::installation::{CLUSTERS, Installation, Worker, registered, until};
use crate::{owned, spec};

/// The document with these clusters, told by their place.
fn with_clusters(document: &Value, places: &[usize]) -> Value {
    let all = document["spec"]["clusters"].as_array().unwrap();
    let mut changed = document.clone();
    changed["spec"]["clusters"] = places.iter().map(|place| all[*place].clone()).collect();
    changed
}

/// Has the documents applied one after the other, and gives the requests of the last but for watches.
async fn requests_of_the_last(installation: &Installation<'_>, documents: &[Value]) -> Vec<Vec<String>> {
    let (last, before) = documents.split_last().unwrap();
    before.iter().for_each(|document| drop(installation.apply(document).done()));
    // A worker clears answered requests away after the cloud is done.
    for cluster in installation.clusters() {
        until("a cluster without requests for certificates", async || {
            let owned = owned(cluster, document_name(last));
            (!owned.iter().any(|object| object.starts_with("certificate"))).then_some(())
        })
        .await;
    }
    let before = installation.moment();
    installation.apply(last).done();
    let mut requests = installation.requests(&before);
    requests.iter_mut().for_each(|requests| requests.retain(|request| !request.starts_with("watch ")));
    requests
}

fn document_name(document: &Value) -> &str {
    document["metadata"]["name"].as_str().unwrap()
}

/// Adds the second cluster to a cloud, by the command alone or by a worker.
async fn add_a_cluster(name: &str, served: bool) {
    let environment = Environment::shared(CLUSTERS).await.unwrap();
    let installation = Installation::new(&environment, name);
    let worker = served.then(|| installation.serve());
    let all = installation.document(name, spec());
    let requests = requests_of_the_last(&installation, &[with_clusters(&all, &[0, 2]), all]).await;
    assert_eq!((requests[0].len(), requests[2].len()), (0, 0), "{requests:#?}");
    assert!(requests[1].contains(&"create namespaces -".to_owned()), "{requests:#?}");
    worker.into_iter().for_each(Worker::stop);
}

#[tokio::test]
async fn a_cluster_is_added_without_a_request_to_the_others() {
    add_a_cluster("added", false).await;
}

#[tokio::test]
async fn a_worker_adds_a_cluster_without_a_request_to_the_others_but_for_its_watches() {
    add_a_cluster("added-by-worker", true).await;
}

/// Takes the second cluster out of a cloud, by the command alone or by a worker.
async fn take_a_cluster_out(name: &str, served: bool) {
    let environment = Environment::shared(CLUSTERS).await.unwrap();
    let installation = Installation::new(&environment, name);
    let worker = served.then(|| installation.serve());
    let all = installation.document(name, spec());
    let documents = [all.clone(), with_clusters(&all, &[0, 2])];
    let requests = requests_of_the_last(&installation, &documents).await;
    assert_eq!((requests[0].len(), requests[2].len()), (0, 0), "{requests:#?}");
    let left: Vec<usize> = installation.clusters().iter().map(|one| owned(one, name).len()).collect();
    assert!(left[0] > 0 && left[1] == 0 && left[2] == left[0], "{left:?}");
    let status = installation.status(name);
    assert_eq!(status["clusters"].as_object().unwrap().len(), CLUSTERS - 1, "{status:#}");
    worker.into_iter().for_each(Worker::stop);
}

#[tokio::test]
async fn a_cluster_that_is_taken_out_is_cleared_without_a_request_to_the_others() {
    take_a_cluster_out("out", false).await;
}

#[tokio::test]
async fn a_worker_clears_a_cluster_that_is_taken_out_without_a_request_to_the_others_but_for_its_watches() {
    take_a_cluster_out("out-by-worker", true).await;
}

#[tokio::test]
async fn a_cloud_without_its_last_cluster_can_be_changed_filled_again_and_terminated() {
    let environment = Environment::shared(CLUSTERS).await.unwrap();
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

#[tokio::test]
async fn a_cloud_without_a_cluster_that_is_cut_off_can_be_changed_and_terminated() {
    let environment = Environment::shared(CLUSTERS).await.unwrap();
    let installation = with_a_proxy(&environment, "severed", 1);
    let all = installation.document("severed", spec());
    installation.apply(&all).done();
    let [first, cut, third] = installation.clusters() else { panic!("there are three") };
    cut.proxy().cut().await.unwrap();

    // Out it goes: the others have nothing to do, and the command can't wait for what it can't reach.
    let mut rest = with_clusters(&all, &[0, 2]);
    let removed = installation.moment();
    let ran = installation.apply_within("2s", &rest);
    assert!(ran.code == 4 && ran.out.contains("updating  2/3"), "{ran:#?}");
    let lane = installation.lane("severed", cut);
    assert_eq!((&lane["state"], &lane["cause"]["reason"]), (&"removing".into(), &"unreachable".into()));
    assert!(lane["cause"]["nextTry"].is_string(), "{lane:#}");
    let title = format!("{} (no longer referred to)  removing", registered(cut));
    assert!(ran.err.contains(&title), "{}", ran.err);

    // A change reaches the others meanwhile.
    let worker = installation.serve();
    rest["spec"]["permissions"][0]["verbs"] = json!(["get"]);
    installation.person.run_with_input(&["apply", "--no-wait", "-f", "-"], &rest.to_string()).done();
    let changed = [vec!["patch roles look".to_owned()], vec![], vec!["patch roles look".to_owned()]];
    until("the change on the others", async || (installation.writes(&removed) == changed).then_some(()))
        .await;

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
    worker.stop();
}

#[tokio::test]
async fn a_cluster_that_was_taken_out_while_it_was_cut_off_is_cleared_when_it_is_back() {
    let environment = Environment::shared(CLUSTERS).await.unwrap();
    let installation = with_a_proxy(&environment, "returned", 2);
    let all = installation.document("returned", spec());
    installation.apply(&all).done();
    let cut = &installation.clusters()[2];
    cut.proxy().cut().await.unwrap();
    let rest = with_clusters(&all, &[0, 1]);
    installation.apply_within("1s", &rest).ended_with(4);
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
