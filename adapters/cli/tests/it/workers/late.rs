//! A request that a worker sent takes effect when another worker has taken everything away.

use dcm_testenv::{AuditEvent, Cluster, Environment, Route, Stage, Standalone};
use rustix::process::Signal;

use crate::common::User;
use crate::common::installation::{CLUSTERS, Installation, Worker, registered, until};
use crate::common::leftovers::namespaces;
use crate::common::requests::Moment;
use crate::workers::{SHORT, all_done, document};

/// The cloud that comes late, and the one by which workers know the clusters before and after.
const NAME: &str = "late";
const OTHER: &str = "late-other";

#[tokio::test(flavor = "multi_thread")]
async fn what_is_created_late_is_found_and_removed() {
    let environment = Environment::group("workers", CLUSTERS).await.unwrap();
    let etcd = Standalone::etcd().await.unwrap();
    let person = User::with([("DCM_STORE", format!("etcd://{}", etcd.address()))]);
    let by_proxy = |index| if index == 0 { Route::Proxy } else { Route::Direct };
    let installation = Installation::of_by(&environment, NAME, person, by_proxy);
    let cluster = &installation.clusters()[0];
    let slow = installation.serve_with_lease(SHORT);
    installation.hand_over(&document(&installation, OTHER, 10));
    all_done(&installation, 1).await;

    // It sends to all clusters at once, so what is for the first one is on its way when the others are done.
    cluster.proxy().hang().await.unwrap();
    installation.hand_over(&document(&installation, NAME, 10));
    until("the other clusters to be done", async || {
        let mut others = installation.clusters()[1..].iter().map(|other| installation.lane(NAME, other));
        others.all(|lane| lane["state"] == "done").then_some(())
    })
    .await;
    slow.signal(Signal::STOP);
    installation.update(cluster, Route::Direct);
    let since = installation.moment();
    installation.person.run(["terminate", NAME, "--no-wait"]).done();
    let quick = installation.serve_with_lease(SHORT);
    let has_done =
        async |verb| until(verb, async || has_done(&installation, &since, verb).then_some(())).await;
    has_done("list").await;
    assert_eq!(namespaces(cluster, NAME), "", "there is nothing to remove yet");

    cluster.proxy().pass().await.unwrap();
    has_done("create").await;
    has_done("delete").await;
    installation.terminate(NAME).done();
    assert_eq!(namespaces(cluster, NAME), "");
    slow.signal(Signal::CONT);
    installation.terminate(OTHER).done();
    [slow, quick].into_iter().for_each(Worker::stop);
    assert_eq!(namespaces(cluster, NAME), "");
}

/// True when this was done to namespaces of the first cluster since then.
fn has_done(installation: &Installation<'_>, since: &Moment, verb: &str) -> bool {
    let is_done = |event: &AuditEvent| {
        let is_it = event.verb == verb && event.resource.as_deref() == Some("namespaces");
        is_it && event.stage == Stage::ResponseComplete && event.code.is_some_and(|code| code < 300)
    };
    installation.events(since)[0].iter().any(is_done)
}

impl Installation<'_> {
    /// From now on the cluster is reached by another route.
    fn update(&self, cluster: &Cluster, route: Route) {
        let file = self.kubeconfig(cluster, route);
        let file = file.to_str().unwrap();
        self.person.run(["cluster", "update", &registered(cluster), "--kubeconfig", file]).done();
        self.person.run(["cluster", "accept", &registered(cluster)]).done();
    }
}
