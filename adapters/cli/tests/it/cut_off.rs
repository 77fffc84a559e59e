//! One of three clusters is cut off, or accepts connections and answers nothing, on real API servers.
#![allow(clippy::unwrap_used, reason = "a test fails by it")]

use crate::common;

use std::io::{BufRead as _, BufReader, Read as _, Write as _};
use std::net::TcpStream;
use std::process::Stdio;
use std::time::Duration;

use common::installation::{CLUSTERS, Installation, registered, until};
use common::requests::Moment;
use common::waiting::{INTERRUPTED, lane_in};
use common::{code_of, interrupt};
use dcm_testenv::{Cluster, Environment, Fault, Route};
use jiff::Timestamp;
use serde_json::{Value, json};

/// The shortest time that a wait for the broken cluster adds.
///
/// A process that waits for a cluster that answers nothing waits for 30 seconds (the limit of a request), or for 10 (that of a connection)
/// where not even a connection is accepted; one that waits until the cluster is done waits for ever. So the healthy clusters then get their
/// last request later than without a fault by this time at least.
const SHORTEST_WAIT: Duration = Duration::from_secs(10);

/// An installation of which one cluster can be made to fail. Each test takes another one, as they share the servers.
struct Tested<'a> {
    installation: Installation<'a>,
    cloud: &'static str,
    broken: &'a Cluster,
    healthy: Vec<usize>,
}

impl<'a> Tested<'a> {
    fn new(environment: &'a Environment, cloud: &'static str, broken: usize) -> Self {
        let route = |place| if place == broken { Route::Proxy } else { Route::Direct };
        let installation = Installation::by(environment, cloud, route);
        let healthy = (0..CLUSTERS).filter(|place| *place != broken).collect();
        Self { broken: &installation.clusters()[broken], installation, cloud, healthy }
    }

    fn document(&self, name: &str) -> Value {
        let look = json!({"name": "look", "apiGroups": [""], "resources": ["pods"], "verbs": ["get"]});
        let users = json!([{"name": "ann"}, {"name": "ci", "type": "token"}]);
        self.installation.document(name, json!({"users": users, "permissions": [look]}))
    }

    /// What the healthy clusters were asked to write since then: verbs and resources, without names.
    fn written(&self, since: &Moment) -> Vec<Vec<String>> {
        let writes = self.installation.writes(since);
        let unnamed = |write: &String| write.rsplit_once(' ').unwrap().0.to_owned();
        self.healthy.iter().map(|place| writes[*place].iter().map(unnamed).collect()).collect()
    }

    /// How long it took until the healthy clusters got their last request.
    fn last_request(&self, begun: Timestamp, since: &Moment) -> Duration {
        let events = self.installation.events(since);
        let healthy = self.healthy.iter().flat_map(|place| &events[*place]);
        let last = healthy.map(|event| event.request_received).max().unwrap();
        last.duration_since(begun).unsigned_abs()
    }

    /// Waits until the healthy clusters are done, with so many writes, and the reason why the broken one is not done is known.
    async fn until_only_the_broken_one_is_left(&self, since: &Moment, writes: &[Vec<String>]) {
        until("all but the broken cluster to be done", async || {
            let status = self.installation.status_so_far(self.cloud)?;
            let lane = |place: &usize| lane_in(&status, &self.installation.clusters()[*place]);
            let are_done = self.healthy.iter().all(|place| lane(place)["state"] == "done");
            let is_known = !lane_in(&status, self.broken)["cause"].is_null();
            let written = self.written(since);
            let are_tidy = written.iter().zip(writes).all(|(written, all)| written.len() >= all.len());
            (are_done && is_known && are_tidy).then_some(())
        })
        .await;
    }

    /// Applies while one cluster fails: the others are done as without that, and as soon, and the command reports what is left.
    async fn apply_in_spite_of(&self, fault: Fault) {
        let (begun, before) = (Timestamp::now(), self.installation.moment());
        self.installation.apply(&self.document(&format!("{}-before", self.cloud))).done();
        let (without_fault, took) = (self.written(&before), self.last_request(begun, &before));
        self.broken.proxy().set(fault).await.unwrap();

        let (begun, since) = (Timestamp::now(), self.installation.moment());
        let document = self.document(self.cloud);
        let applying = self.installation.begin_to_apply(&document);
        self.until_only_the_broken_one_is_left(&since, &without_fault).await;
        applying.interrupt().ended_with(INTERRUPTED);
        assert_eq!(self.written(&since), without_fault);
        let last = self.last_request(begun, &since);
        // A wait for the broken cluster shows, but on a machine on which all takes so long.
        assert!(last < SHORTEST_WAIT.max(took * 3), "{last:?}, and {took:?} without a fault");

        let ran = self.installation.apply_until_shown("instantiating  2/3", &document).await;
        assert_eq!(ran.code, 4, "{ran:#?}");
        let left = "work is left after 3s: it goes on when a worker runs";
        assert!(ran.err.contains(left), "{}", ran.err);
    }

    /// The status says why the broken cluster is not done, and when the next try is; and that the others are.
    fn status_tells(&self, why: &str) {
        let status = self.installation.status(self.cloud);
        let lane = |cluster: &Cluster| &status["clusters"][registered(cluster)]["lane"];
        for place in &self.healthy {
            assert_eq!(lane(&self.installation.clusters()[*place])["state"], "done", "{status:#}");
        }
        let cause = &lane(self.broken)["cause"];
        assert_eq!(cause["reason"], "unreachable", "{status:#}");
        assert!(cause["detail"].as_str().unwrap().contains(why), "{cause:#}");
        let since: Timestamp = lane(self.broken)["since"].as_str().unwrap().parse().unwrap();
        let next_try: Timestamp = cause["nextTry"].as_str().unwrap().parse().unwrap();
        assert!(next_try > since, "{status:#}");
        let tree = self.installation.person.run(["status", self.cloud]).done();
        let told = tree.lines().find(|line| line.contains("unreachable: ")).unwrap();
        assert!(told.contains("; next try in ") || told.ends_with("; trying again"), "{tree}");
    }

    /// Users of the healthy clusters are served meanwhile, and told what is missing.
    fn gives_out_what_there_is(&self) {
        let ran = self.installation.person.run(["kubeconfig", self.cloud, "--user", "ann"]);
        let left_out = format!("{} is left out: it is not issued yet", self.broken.name());
        assert!(ran.err.contains(&left_out), "{}", ran.err);
        assert_eq!(ran.done().matches("client-key-data: ").count(), CLUSTERS - 1);
    }

    /// Waits until so many clusters of all are done.
    async fn until_done(&self, clusters: usize) {
        let done = format!("{clusters}/{CLUSTERS}");
        until("clusters that are done", async || {
            let shown = self.installation.person.run(["get", self.cloud]).done();
            shown.contains(&done).then_some(())
        })
        .await;
    }

    /// A worker finishes by itself when the cluster is back, and asks nothing more of the others.
    async fn is_finished_by_a_worker(&self) {
        let since = self.installation.moment();
        let worker = self.installation.serve();
        self.broken.proxy().pass().await.unwrap();
        self.until_done(CLUSTERS).await;
        assert_eq!(self.written(&since), vec![Vec::<String>::new(); CLUSTERS - 1]);
        self.installation.terminate(self.cloud).done();
        worker.stop();
    }
}

#[tokio::test]
async fn a_cluster_that_is_cut_off_delays_no_other_and_is_finished_when_it_is_back() {
    let environment = Environment::group("cut_off", CLUSTERS).await.unwrap();
    let tested = Tested::new(&environment, "cut", 1);
    tested.apply_in_spite_of(Fault::Cut).await;
    tested.status_tells("the cluster can't be reached");
    tested.gives_out_what_there_is();
    tested.is_finished_by_a_worker().await;
}

#[tokio::test]
async fn a_cluster_that_answers_nothing_delays_no_other_and_is_finished_when_it_is_back() {
    let environment = Environment::group("cut_off", CLUSTERS).await.unwrap();
    // The first: whoever goes from one to the next meets it before the others.
    let tested = Tested::new(&environment, "silent", 0);
    tested.apply_in_spite_of(Fault::Hang).await;
    tested.status_tells("there was no connection within 10s");
    tested.gives_out_what_there_is();
    tested.is_finished_by_a_worker().await;
}

/// How many requests to clusters of a worker are not answered yet.
fn under_way(metrics: &str) -> u64 {
    let mut stream = TcpStream::connect(metrics).unwrap();
    write!(stream, "GET /metrics HTTP/1.0\r\nHost: {metrics}\r\n\r\n").unwrap();
    let mut answer = String::new();
    stream.read_to_string(&mut answer).unwrap();
    let told = answer.lines().find_map(|line| line.strip_prefix("dcm_cluster_requests_under_way "));
    told.unwrap_or_else(|| panic!("{answer}")).parse().unwrap()
}

#[tokio::test]
async fn a_second_interrupt_ends_a_worker_that_waits_for_a_cluster() {
    let environment = Environment::group("cut_off", CLUSTERS).await.unwrap();
    let tested = Tested::new(&environment, "waits", 2);
    let Tested { installation, broken, .. } = &tested;
    let document = |pods: u32| {
        installation.document("waits", json!({"quotas": [{"name": "compute", "hard": {"pods": pods}}]}))
    };
    let mut command = installation.person.command();
    command.args(["serve", "--metrics-listen", "127.0.0.1:0"]).stdin(Stdio::null()).stderr(Stdio::piped());
    let mut worker = command.spawn().unwrap();
    let mut said = BufReader::new(worker.stderr.take().unwrap()).lines().map(Result::unwrap);
    let told = said.find_map(|line| Some(line.strip_prefix("metrics at http://")?.to_owned())).unwrap();
    let metrics = told.strip_suffix("/metrics").unwrap();
    installation.hand_over(&document(10));
    tested.until_done(CLUSTERS).await;

    broken.proxy().hang().await.unwrap();
    installation.hand_over(&document(20));
    tested.until_done(CLUSTERS - 1).await;
    until("a request that is not answered", async || (under_way(metrics) > 0).then_some(())).await;
    interrupt(&worker);
    assert!(said.any(|line| line == "stopping; interrupt again to end at once"));
    interrupt(&worker);
    assert_eq!(code_of(worker), Some(130));
}
