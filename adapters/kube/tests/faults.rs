//! What is said when a real API server goes away, hangs and comes back.

mod common;

use std::time::Duration;

use common::*;
use dcm_core::port::cluster::{Cluster as _, Error, WatchEvent};
use dcm_kube::Options;
use dcm_testenv::{Environment, Route};
use futures::StreamExt as _;
use serde_json::json;

const LIMIT: Duration = Duration::from_secs(60);

/// One test with one environment: its steps make the proxy fail, one after the other.
#[tokio::test(flavor = "multi_thread")]
async fn a_cluster_that_goes_away_is_told_and_found_again() {
    let environment = Environment::builder().clusters(1).start().await.unwrap();
    let server = &environment.clusters()[0];
    let options = Options {
        request_time_limit: Duration::from_millis(1500),
        silence_limit: Duration::from_secs(2),
        ..Options::default()
    };
    let cluster = connect(&server.admin_kubeconfig(Route::Proxy), &options).await;
    let (proxy, call) = (server.proxy(), call("faults"));
    namespace(&cluster, &call, "faults").await;
    let made = cluster
        .create(&call, &data(&call, "faults", "c", &json!({})))
        .await
        .unwrap();
    let selection = selection(&call, &config_map());

    // A dropped connection: the watch goes on with a list.
    let mut watch = cluster.watch(&call, &selection).await.unwrap();
    assert!(matches!(watch.next().await, Some(Ok(WatchEvent::Listed(objects))) if objects.len() == 1));
    proxy.reset().await;
    let second = within(LIMIT, async {
        loop {
            match cluster
                .create(&call, &data(&call, "faults", "second", &json!({})))
                .await
            {
                Ok(made) => return made,
                Err(error) => assert!(error.outcome_is_unknown(), "{error}"),
            }
        }
    })
    .await;
    within(LIMIT, async {
        loop {
            match watch.next().await.expect("the watch goes on").unwrap() {
                WatchEvent::Listed(objects) if objects.len() == 2 => return,
                WatchEvent::Applied(object) if object.uid == second.uid => return,
                WatchEvent::Listed(_) => {}
                event => panic!("{event:?}"),
            }
        }
    })
    .await;

    // A cut: calls say so at once, and the watch ends with the error.
    proxy.cut().await.unwrap();
    let error = cluster.get(&call, &made.kind, &made.key).await.unwrap_err();
    assert!(matches!(error, Error::Unreachable { .. }), "{error}");
    assert!(std::error::Error::source(&error).is_some());
    let error = within(LIMIT, watch.next()).await.unwrap().unwrap_err();
    assert!(matches!(error, Error::Unreachable { .. }), "{error}");
    assert!(watch.next().await.is_none());
    let error = cluster.watch(&call, &selection).await.err().unwrap();
    assert!(matches!(error, Error::Unreachable { .. }), "{error}");

    // The same client finds it again.
    proxy.pass().await.unwrap();
    assert!(cluster.get(&call, &made.kind, &made.key).await.unwrap().is_some());

    // A hang: calls end at their limit, and a watch on a silent connection is not followed for ever.
    let mut watch = cluster.watch(&call, &selection).await.unwrap();
    assert!(matches!(watch.next().await, Some(Ok(WatchEvent::Listed(_)))));
    let changed = data(&call, "faults", "c", &json!({"a": "1"}));
    cluster
        .update(&call, &changed, &observed(&made), false)
        .await
        .unwrap();
    assert!(matches!(watch.next().await, Some(Ok(WatchEvent::Applied(_)))));
    proxy.hang().await.unwrap();
    let error = cluster.get(&call, &made.kind, &made.key).await.unwrap_err();
    assert!(matches!(error, Error::TimedOut { .. }), "{error}");
    let error = within(LIMIT, watch.next()).await.unwrap().unwrap_err();
    assert!(matches!(error, Error::TimedOut { .. }), "{error}");
    proxy.pass().await.unwrap();
    assert!(cluster.get(&call, &made.kind, &made.key).await.unwrap().is_some());

    // A restart of the server: its data is there, and a watch is resumed or made again.
    let mut watch = within(LIMIT, async {
        loop {
            if let Ok(watch) = cluster.watch(&call, &selection).await {
                return watch;
            }
        }
    })
    .await;
    server.kill();
    server.restart().await.unwrap();
    within(LIMIT, async {
        loop {
            match watch.next().await {
                Some(Ok(_)) => {}
                // It took longer than the watch tries.
                Some(Err(_)) | None => break,
            }
            if cluster.get(&call, &made.kind, &made.key).await.is_ok() {
                break;
            }
        }
    })
    .await;
    assert!(cluster.get(&call, &made.kind, &made.key).await.unwrap().is_some());
}
