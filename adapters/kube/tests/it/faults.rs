//! What is said when a real API server goes away, hangs and comes back.
#![allow(clippy::unwrap_used, reason = "a test says where it failed")]

use std::time::Duration;

use crate::common::*;
use dcm_core::port::cluster::{Call, Cluster as _, Error, Object, Watch, WatchEvent};
use dcm_kube::{KubeCluster, Options};
use dcm_testenv::effort::patience;
use dcm_testenv::{Cluster as Server, Environment, Route};
use futures::StreamExt as _;
use serde_json::json;

/// Two clients through a proxy that is made to fail, one fault after the other.
struct Faulty<'a> {
    server: &'a Server,
    cluster: KubeCluster,
    /// With short limits, for what is to reach them. On a busy machine, any call may.
    hasty: KubeCluster,
    call: Call,
    made: Object,
}

#[tokio::test(flavor = "multi_thread")]
async fn a_cluster_that_goes_away_is_told_and_found_again() {
    let environment = Environment::builder().clusters(1).start().await.unwrap();
    let server = &environment.clusters()[0];
    let kubeconfig = server.admin_kubeconfig(Route::Proxy);
    let patient = Options { request_time_limit: patience(), ..Options::default() };
    let hasty = Options {
        request_time_limit: Duration::from_millis(1500),
        silence_limit: Duration::from_secs(2),
        ..Options::default()
    };
    let (cluster, hasty) = (connect(&kubeconfig, &patient).await, connect(&kubeconfig, &hasty).await);
    let call = call("faults");
    namespace(&cluster, &call, "faults").await;
    let made = cluster.create(&call, &data(&call, "faults", "c", &json!({}))).await.unwrap();
    let faulty = Faulty { server, cluster, hasty, call, made };
    faulty.a_watch_survives_a_dropped_connection().await;
    faulty.a_cut_is_told_at_once_and_ends_a_watch().await;
    faulty.a_hang_ends_calls_at_their_limit_and_a_watch_after_silence().await;
    faulty.a_restarted_server_is_found_again().await;
}

/// What came within short limits; none when they were reached.
fn in_time<T>(result: Result<T, Error>) -> Option<T> {
    match result {
        Ok(value) => Some(value),
        Err(Error::TimedOut { .. }) => None,
        Err(error) => panic!("{error}"),
    }
}

impl Faulty<'_> {
    async fn watch(&self) -> Watch {
        let mut watch = self.watch_by(&self.cluster).await.unwrap();
        assert!(matches!(self.next(&mut watch).await, Some(Ok(WatchEvent::Listed(_)))));
        watch
    }

    async fn watch_by(&self, cluster: &KubeCluster) -> Result<Watch, Error> {
        cluster.watch(&self.call, &selection(&self.call, &config_map())).await
    }

    /// Returns the next event of a watch, which must come.
    async fn next(&self, watch: &mut Watch) -> Option<Result<WatchEvent, Error>> {
        within(patience(), watch.next()).await
    }

    async fn get(&self) -> Result<Option<Object>, Error> {
        self.get_by(&self.cluster).await
    }

    async fn get_by(&self, cluster: &KubeCluster) -> Result<Option<Object>, Error> {
        cluster.get(&self.call, &self.made.kind, &self.made.key).await
    }

    /// Waits until the client with short limits has found the server again.
    async fn is_found_hastily(&self) {
        let found = async {
            loop {
                if let Some(found) = in_time(self.get_by(&self.hasty).await) {
                    return found;
                }
            }
        };
        assert!(within(patience(), found).await.is_some());
    }

    async fn a_watch_survives_a_dropped_connection(&self) {
        let mut watch = self.watch().await;
        self.server.proxy().reset().await;
        let second = data(&self.call, "faults", "second", &json!({}));
        let second = within(patience(), async {
            loop {
                match self.cluster.create(&self.call, &second).await {
                    Ok(made) => return made,
                    Err(error) => assert!(error.outcome_is_unknown(), "{error}"),
                }
            }
        });
        let second = second.await;
        let told = async {
            loop {
                match watch.next().await.expect("the watch goes on").unwrap() {
                    WatchEvent::Listed(objects) if objects.len() == 2 => return,
                    WatchEvent::Applied(object) if object.uid == second.uid => return,
                    WatchEvent::Listed(_) => {}
                    event => panic!("{event:?}"),
                }
            }
        };
        within(patience(), told).await;
    }

    async fn a_cut_is_told_at_once_and_ends_a_watch(&self) {
        let mut watch = self.watch().await;
        self.server.proxy().cut().await.unwrap();
        let error = self.get().await.unwrap_err();
        assert!(matches!(error, Error::Unreachable { .. }), "{error}");
        assert!(std::error::Error::source(&error).is_some());
        let error = self.next(&mut watch).await.unwrap().unwrap_err();
        assert!(matches!(error, Error::Unreachable { .. }), "{error}");
        assert!(watch.next().await.is_none());
        let error = self.watch_by(&self.cluster).await.err().unwrap();
        assert!(matches!(error, Error::Unreachable { .. }), "{error}");
        self.server.proxy().pass().await.unwrap();
        assert!(self.get().await.unwrap().is_some());
    }

    /// Writes the object anew, which a watch is told.
    async fn touch(&self, value: &str) -> Object {
        let wanted = data(&self.call, "faults", "c", &json!({"a": value}));
        let live = self.get().await.unwrap().unwrap();
        self.cluster.update(&self.call, &wanted, &observed(&live), false).await.unwrap()
    }

    /// Returns a watch of the client with short limits after its first change; none when it reached its limits before.
    async fn hasty_watch(&self) -> Option<Watch> {
        let mut watch = in_time(self.watch_by(&self.hasty).await)?;
        let listed = self.next(&mut watch).await.expect("the watch goes on");
        assert!(matches!(in_time(listed)?, WatchEvent::Listed(_)));
        // Two values, so that one of them is new in each try.
        self.touch("0").await;
        self.touch("1").await;
        let applied = self.next(&mut watch).await.expect("the watch goes on");
        assert!(matches!(in_time(applied)?, WatchEvent::Applied(_)));
        Some(watch)
    }

    async fn a_hang_ends_calls_at_their_limit_and_a_watch_after_silence(&self) {
        let mut watch = within(patience(), async {
            loop {
                if let Some(watch) = self.hasty_watch().await {
                    return watch;
                }
            }
        })
        .await;
        self.server.proxy().hang().await.unwrap();
        let error = self.get_by(&self.hasty).await.unwrap_err();
        assert!(matches!(error, Error::TimedOut { .. }), "{error}");
        let error = self.until_it_ends(&mut watch).await;
        assert!(matches!(error, Error::TimedOut { .. }), "{error}");
        self.server.proxy().pass().await.unwrap();
        assert!(self.get().await.unwrap().is_some());
        self.is_found_hastily().await;
    }

    /// Returns why a watch ends, after the events that it still has.
    async fn until_it_ends(&self, watch: &mut Watch) -> Error {
        loop {
            match self.next(watch).await.expect("it says why") {
                Ok(WatchEvent::Applied(_)) => {}
                Ok(event) => panic!("{event:?}"),
                Err(error) => return error,
            }
        }
    }

    async fn a_restarted_server_is_found_again(&self) {
        let mut watch = self.watch().await;
        self.touch("2").await;
        assert!(matches!(self.next(&mut watch).await, Some(Ok(WatchEvent::Applied(_)))));
        self.server.kill();
        self.server.restart().await.unwrap();
        let changed = self.touch("3").await;
        // Nobody asked the watch for anything meanwhile, so it has all its attempts.
        let told = async {
            loop {
                match watch.next().await.expect("the watch goes on").unwrap() {
                    WatchEvent::Applied(object) if object.resource_version == changed.resource_version => {
                        return;
                    }
                    WatchEvent::Listed(objects)
                        if objects.iter().any(|object| object.body == changed.body) =>
                    {
                        return;
                    }
                    _ => {}
                }
            }
        };
        within(patience(), told).await;
    }
}
