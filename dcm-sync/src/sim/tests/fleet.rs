use std::collections::BTreeSet;

use dcm_core::port::clock::Clock as _;
use dcm_core::port::cluster::{Clusters as _, Deletion, Error, Selection, WatchEvent};
use futures::{StreamExt as _, poll};

use super::super::{Fleet, NullFleet, cluster_id};
use super::*;

#[tokio::test(start_paused = true)]
async fn ten_thousand_clusters_are_ten_thousand_different_ones() {
    let fleet = Fleet::builder(TestClock::new()).clusters(10_000).build();
    assert_eq!(fleet.ids().count(), 10_000);
    let mut uids = BTreeSet::new();
    for number in 1..=10_000 {
        let cluster = fleet.connect(&cluster_id(number)).await.unwrap();
        uids.insert(cluster.uid(&call()).await.unwrap().0);
    }
    assert_eq!(uids.len(), 10_000);
}

#[tokio::test(start_paused = true)]
async fn a_cluster_is_the_same_at_each_connection_and_others_are_not_there() {
    let names = ["eu/one", "us/two"].map(|name| name.parse().unwrap());
    let fleet = Fleet::builder(TestClock::new()).named(names.clone()).build();
    let body = config_map("c", &json!({}));
    fleet.connect(&names[0]).await.unwrap().create(&call(), &stamped(&body)).await.unwrap();
    let again = fleet.connect(&names[0]).await.unwrap();
    assert!(again.get(&call(), &kind(&body), &key(&body)).await.unwrap().is_some());
    let other = fleet.connect(&names[1]).await.unwrap();
    assert!(other.get(&call(), &kind(&body), &key(&body)).await.unwrap().is_none());
    assert!(matches!(fleet.connect(&cluster_id(1)).await, Err(Error::Kubeconfig { .. })));
}

#[tokio::test(start_paused = true)]
async fn a_null_fleet_says_yes_and_counts() {
    let fleet = NullFleet::new(TestClock::new());
    let cluster = fleet.connect(&cluster_id(1)).await.unwrap();
    let body = config_map("c", &json!({"a": "1"}));
    let made = cluster.create(&call(), &stamped(&body)).await.unwrap();
    assert_eq!((&made.key, made.marks.as_ref()), (&key(&body), Some(&stamped(&body).marks)));
    let updated = cluster.update(&call(), &stamped(&body), &precondition(&made), false).await.unwrap();
    assert_eq!(updated.uid, made.uid);
    assert_ne!(updated.resource_version, made.resource_version);
    let deleted = cluster.delete(&call(), &made.kind, &made.key, &precondition(&updated)).await;
    assert_eq!(deleted.unwrap(), Deletion::Gone);
    let request = json!({
        "apiVersion": "certificates.k8s.io/v1", "kind": "CertificateSigningRequest", "metadata": {"name": "r"},
        "spec": {"request": "", "signerName": "kubernetes.io/kube-apiserver-client", "usages": ["client auth"]},
    });
    let asked = cluster.create(&call(), &stamped(&request)).await.unwrap();
    let approved = cluster.approve(&call(), &asked.key, &precondition(&asked)).await.unwrap();
    assert_eq!((&approved.marks, &approved.body["spec"]), (&asked.marks, &asked.body["spec"]));
    let unknown = cluster.approve(&call(), &made.key, &precondition(&made)).await;
    assert!(matches!(unknown, Err(Error::NotFound)), "{unknown:?}");
    assert!(approved.body["status"]["certificate"].is_string());
    let selection = Selection { kind: kind(&body), owner: call().owner };
    let mut watch = cluster.watch(&call(), &selection).await.unwrap();
    assert!(matches!(watch.next().await, Some(Ok(WatchEvent::Listed(objects))) if objects.is_empty()));
    assert!(poll!(watch.next()).is_pending());
    assert_eq!((fleet.reads(), fleet.writes()), (1, 5));
}

#[tokio::test(start_paused = true)]
async fn a_null_fleet_that_is_far_away_answers_late_and_many_at_once() {
    let clock = TestClock::new();
    let latency = Duration::from_millis(50);
    let fleet = NullFleet::new(clock.clone()).with_latency(latency);
    let began = clock.now();
    let cluster = fleet.connect(&cluster_id(1)).await.unwrap();
    assert_eq!(clock.now(), began, "connecting sends nothing");
    let body = config_map("c", &json!({"a": "1"}));
    let (call, object, key) = (call(), stamped(&body), key(&body));
    let creation = cluster.create(&call, &object);
    let count = cluster.contents(&call, "team", None);
    let (made, counted) = tokio::join!(creation, count);
    assert!(made.is_ok_and(|made| made.key == key) && counted.is_ok());
    assert_eq!(clock.now().duration_since(began), latency.try_into().unwrap());
    assert_eq!((fleet.reads(), fleet.writes()), (1, 1));
}
