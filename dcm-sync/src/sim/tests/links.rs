use std::task::Poll;

use dcm_core::port::clock::Clock as _;
use dcm_core::port::cluster::{Cluster as _, Error, Selection, Watch, WatchEvent};
use futures::{StreamExt as _, poll};

use super::super::{Faults, Fleet, FleetBuilder, Latency, Link, SimCluster, Verb, cluster_id};
use super::*;

const LIMIT: Duration = Duration::from_secs(30);

fn cluster(build: impl FnOnce(FleetBuilder) -> FleetBuilder) -> (SimCluster, Arc<TestClock>) {
    let clock = TestClock::new();
    let fleet = build(Fleet::builder(clock.clone()).clusters(1).seed(7)).build();
    (fleet.cluster(&cluster_id(1)).unwrap().clone(), clock)
}

fn body() -> Value {
    config_map("c", &json!({"a": "1"}))
}

fn is_there(cluster: &SimCluster) -> bool {
    cluster.server(|server| server.object(&kind(&body()), &key(&body())).unwrap().is_some())
}

async fn create(cluster: &SimCluster) -> Result<Object, Error> {
    cluster.create(&call(), &stamped(&body())).await
}

async fn watch(cluster: &SimCluster) -> Watch {
    let selection = Selection { kind: kind(&body()), owner: call().owner };
    let mut watch = cluster.watch(&call(), &selection).await.unwrap();
    assert!(matches!(watch.next().await, Some(Ok(WatchEvent::Listed(_)))));
    watch
}

#[tokio::test(start_paused = true)]
async fn a_round_trip_takes_as_long_as_the_cluster_is_far() {
    let (cluster, clock) = cluster(|fleet| fleet.latency(Latency::fixed(Duration::from_millis(80))));
    create(&cluster).await.unwrap();
    assert_eq!(clock.now(), TestClock::beginning() + Duration::from_millis(80));
    cluster.set_link(Link::Delay(Duration::from_secs(1)));
    let began = clock.now();
    cluster.uid(&call()).await.unwrap();
    assert_eq!(clock.now(), began + Duration::from_millis(2080));
}

#[tokio::test(start_paused = true)]
async fn a_cut_cluster_is_unreachable_and_its_watches_break() {
    let (cluster, _) = cluster(|fleet| fleet);
    let mut open = watch(&cluster).await;
    assert!(poll!(open.next()).is_pending());
    cluster.set_link(Link::Cut);
    assert!(matches!(create(&cluster).await, Err(Error::Unreachable { .. })));
    assert!(!is_there(&cluster));
    assert!(matches!(open.next().await, Some(Err(Error::Unreachable { .. }))));
    assert!(open.next().await.is_none());
    cluster.set_link(Link::Up);
    assert!(create(&cluster).await.is_ok());
}

#[tokio::test(start_paused = true)]
async fn a_hanging_cluster_answers_with_the_time_limit_and_its_watches_are_silent() {
    let (cluster, clock) = cluster(|fleet| fleet);
    let mut open = watch(&cluster).await;
    cluster.set_link(Link::Hang);
    let began = clock.now();
    assert!(matches!(create(&cluster).await, Err(Error::TimedOut { limit: LIMIT })));
    assert_eq!(clock.now(), began + LIMIT);
    assert!(!is_there(&cluster));
    cluster
        .server(|server| server.create_as("dcm", &kind(&body()), &key(&body()), &stamped(&body()).body()))
        .unwrap();
    assert!(poll!(open.next()).is_pending());
    cluster.set_link(Link::Up);
    assert!(matches!(open.next().await, Some(Ok(WatchEvent::Applied(_)))), "it goes on where it was");
}

#[tokio::test(start_paused = true)]
async fn with_a_reset_link_requests_happen_and_answers_do_not_come() {
    let (cluster, _) = cluster(|fleet| fleet);
    let mut open = watch(&cluster).await;
    cluster.set_link(Link::Reset);
    assert!(matches!(create(&cluster).await, Err(Error::Unreachable { .. })));
    assert!(is_there(&cluster));
    assert!(matches!(open.next().await, Some(Err(Error::Unreachable { .. }))));
}

#[tokio::test(start_paused = true)]
async fn a_link_that_is_cut_under_way_loses_the_answer() {
    let (cluster, _) = cluster(|fleet| fleet.latency(Latency::fixed(Duration::from_secs(2))));
    let cut = async {
        tokio::time::sleep(Duration::from_millis(1500)).await;
        cluster.set_link(Link::Cut);
    };
    let (result, ()) = futures::join!(create(&cluster), cut);
    assert!(matches!(result, Err(Error::Unreachable { .. })));
    assert!(is_there(&cluster));
}

#[tokio::test(start_paused = true)]
async fn a_lost_request_does_not_happen_and_one_with_a_lost_reply_does() {
    let (cluster, _) = cluster(|fleet| fleet);
    cluster.set_faults(Faults { lost_request: 1000, ..Faults::NONE });
    assert!(matches!(create(&cluster).await, Err(Error::Unreachable { .. })));
    assert!(!is_there(&cluster));
    cluster.set_faults(Faults { lost_reply: 1000, ..Faults::NONE });
    assert!(matches!(create(&cluster).await, Err(Error::Unreachable { .. })));
    assert!(is_there(&cluster));
}

#[tokio::test(start_paused = true)]
async fn a_duplicate_arrives_twice_and_the_first_answer_counts() {
    let (cluster, _) = cluster(|fleet| fleet);
    cluster.set_faults(Faults { duplicated: 1000, ..Faults::NONE });
    create(&cluster).await.unwrap();
    assert_eq!(cluster.server(|server| server.requests().count(Verb::Create)), 2);
}

#[tokio::test(start_paused = true)]
async fn a_request_that_is_late_happens_after_its_caller_gave_up() {
    let (cluster, clock) = cluster(|fleet| fleet.time_limit(Duration::from_millis(1)));
    let mut open = watch(&cluster).await;
    cluster.set_faults(Faults { delayed: 1000, delay_max: Duration::from_secs(60), ..Faults::NONE });
    assert!(matches!(create(&cluster).await, Err(Error::TimedOut { .. })));
    assert!(!is_there(&cluster), "the seed makes it late");
    assert!(matches!(open.next().await, Some(Ok(WatchEvent::Applied(_)))));
    assert!(clock.now() <= TestClock::beginning() + Duration::from_secs(61));
    assert!(is_there(&cluster));
}

#[tokio::test(start_paused = true)]
async fn errors_are_what_a_server_would_answer_and_refused_requests_do_not_happen() {
    let (cluster, _) = cluster(|fleet| fleet);
    let faults = [
        Faults { unauthorized: 1000, ..Faults::NONE },
        Faults { forbidden: 1000, ..Faults::NONE },
        Faults { not_found: 1000, ..Faults::NONE },
        Faults { invalid: 1000, ..Faults::NONE },
        Faults { too_many_requests: 1000, ..Faults::NONE },
    ];
    let mut errors = Vec::new();
    for faults in faults {
        cluster.set_faults(faults);
        errors.push(create(&cluster).await.unwrap_err().to_string());
        assert!(!is_there(&cluster));
    }
    let expected = [
        "our credential is not accepted: injected fault",
        "not allowed: injected fault",
        "there is no such object",
        "refused: injected fault",
        "the cluster asks for fewer requests",
    ];
    assert_eq!(errors, expected);
}

#[tokio::test(start_paused = true)]
async fn a_failing_server_did_it_or_not() {
    let mut happened = 0;
    for seed in 0..20 {
        let (cluster, _) = cluster(|fleet| fleet.seed(seed));
        cluster.set_faults(Faults { server_error: 1000, ..Faults::NONE });
        assert!(matches!(create(&cluster).await, Err(Error::Server { code: 500, .. })));
        happened += i32::from(is_there(&cluster));
    }
    assert!((1..20).contains(&happened), "{happened} of 20 happened");
}

#[tokio::test(start_paused = true)]
async fn a_watch_can_be_broken_instead_of_telling_a_change() {
    let (cluster, _) = cluster(|fleet| fleet);
    cluster.set_faults(Faults { watch_broken: 1000, ..Faults::NONE });
    let mut open = watch(&cluster).await;
    assert!(poll!(open.next()).is_pending());
    create(&cluster).await.unwrap();
    assert!(matches!(poll!(open.next()), Poll::Ready(None)));
}

#[tokio::test(start_paused = true)]
async fn a_watch_can_be_too_far_behind() {
    let (cluster, _) = cluster(|fleet| fleet);
    cluster.set_faults(Faults { watch_gone: 1000, ..Faults::NONE });
    let mut open = watch(&cluster).await;
    create(&cluster).await.unwrap();
    assert!(matches!(open.next().await, Some(Err(Error::Gone))));
    assert!(open.next().await.is_none());
}

#[tokio::test(start_paused = true)]
async fn a_watch_tells_a_change_as_late_as_the_cluster_is_far() {
    let (cluster, clock) = cluster(|fleet| fleet.latency(Latency::fixed(Duration::from_millis(80))));
    let mut open = watch(&cluster).await;
    let changed = clock.now();
    cluster
        .server(|server| server.create_as("dcm", &kind(&body()), &key(&body()), &stamped(&body()).body()))
        .unwrap();
    assert!(matches!(open.next().await, Some(Ok(WatchEvent::Applied(_)))));
    assert_eq!(clock.now(), changed + Duration::from_millis(40));
}

#[tokio::test(start_paused = true)]
async fn a_dropped_call_leaves_the_cluster_whole() {
    let (cluster, _) = cluster(|fleet| fleet.latency(Latency::fixed(Duration::from_secs(1))));
    drop(tokio::time::timeout(Duration::from_millis(100), create(&cluster)).await);
    assert!(!is_there(&cluster), "it was still under way");
    drop(tokio::time::timeout(Duration::from_millis(700), create(&cluster)).await);
    assert!(is_there(&cluster), "it had arrived");
}

#[tokio::test(start_paused = true)]
async fn a_seed_repeats_a_whole_run() {
    async fn run(seed: u64) -> Vec<String> {
        let latency = Latency { min: Duration::ZERO, max: Duration::from_millis(200) };
        let (cluster, clock) = cluster(|fleet| fleet.seed(seed).latency(latency));
        cluster.set_faults(Faults { lost_request: 200, lost_reply: 200, server_error: 200, ..Faults::NONE });
        let mut outcomes = Vec::new();
        for number in 0..20 {
            let object = stamped(&config_map(&format!("c{number}"), &json!({})));
            let result = cluster.create(&call(), &object).await.map(|object| object.uid);
            outcomes.push(format!("{:?} {result:?}", clock.now().duration_since(TestClock::beginning())));
        }
        outcomes
    }
    assert_eq!(run(7).await, run(7).await);
    assert_ne!(run(7).await, run(8).await);
}
