//! Single labels and sets of key-value pairs of registered clusters.

use std::collections::BTreeMap;

use dcm_core::logical_cloud::KeyValuesDraft;
use dcm_core::logical_cloud::limits::{CLUSTER_KEY_VALUES_MAX, KEY_VALUES_BYTES_MAX};
use dcm_core::service::{EditOutcome, Error, Kind, Presence, Registration};
use serde_json::json;

use crate::service::editing::refusals;
use crate::service::support::{World, cluster, registration};

async fn read(world: &World) -> Registration {
    world.clusters.get(&cluster("one")).await.unwrap().registration
}

#[tokio::test]
async fn a_label_comes_without_a_value_and_a_given_one_is_kept() {
    let (world, one) = (World::empty(true), cluster("one"));
    world.register("one", &[("tier", "edge")]).await;
    let put =
        async |label: &str, presence| world.clusters.put_label(&world.caller, &one, label, presence).await;
    assert_eq!(put("east", Presence::Absent).await.unwrap(), EditOutcome::Changed);
    assert_eq!(put("tier", Presence::Any).await.unwrap(), EditOutcome::Unchanged);
    assert!(matches!(put("tier", Presence::Absent).await, Err(Error::AlreadyThere { .. })));
    assert_eq!(refusals(put("two words", Presence::Any).await.unwrap_err()).as_slice().len(), 1);
    let labels: BTreeMap<String, String> =
        [("east".into(), String::new()), ("tier".into(), "edge".into())].into();
    assert_eq!(read(&world).await.labels, labels);
    world.clusters.delete_label(&world.caller, &one, "tier").await.unwrap();
    let error = world.clusters.delete_label(&world.caller, &one, "tier").await.unwrap_err();
    assert!(matches!(error, Error::NotFound { kind: Kind::ClusterLabel, .. }), "{error}");
    assert!(!read(&world).await.labels.contains_key("tier"));
    let absent = world.clusters.put_label(&world.caller, &cluster("two"), "east", Presence::Any).await;
    assert!(matches!(absent, Err(Error::NotFound { kind: Kind::Cluster, .. })));
}

#[tokio::test]
async fn sets_of_key_value_pairs_are_kept_in_the_order_of_their_names() {
    let (world, one) = (World::empty(true), cluster("one"));
    world.register("one", &[]).await;
    let set = |name: &str, value: &str| -> KeyValuesDraft {
        serde_json::from_value(json!({"name": name, "kv": [{"address": value}]})).unwrap()
    };
    let put = async |set, presence| world.clusters.put_key_values(&world.caller, &one, set, presence).await;
    for name in ["mesh", "csr", "sgx"] {
        assert_eq!(put(set(name, "a"), Presence::Absent).await.unwrap(), EditOutcome::Changed);
    }
    assert!(matches!(put(set("csr", "b"), Presence::Absent).await, Err(Error::AlreadyThere { .. })));
    assert_eq!(put(set("csr", "b"), Presence::Any).await.unwrap(), EditOutcome::Changed);
    assert_eq!(put(set("csr", "b"), Presence::Present).await.unwrap(), EditOutcome::Unchanged);
    let told = read(&world).await.key_values.into_iter().map(|values| {
        let value = values.pairs.to_maps()[0]["address"].as_str().unwrap().to_owned();
        format!("{}={value}", values.metadata.name)
    });
    assert_eq!(told.collect::<Vec<_>>(), ["csr=b", "mesh=a", "sgx=a"]);
    let delete =
        async || world.clusters.delete_key_values(&world.caller, &one, &"mesh".parse().unwrap()).await;
    delete().await.unwrap();
    let error = delete().await.unwrap_err();
    assert!(matches!(error, Error::NotFound { kind: Kind::ClusterKeyValues, .. }), "{error}");
    assert_eq!(read(&world).await.key_values.len(), 2);
}

#[tokio::test]
async fn the_numbers_of_key_value_pairs_keep_their_digits_in_a_registration() {
    let (world, one) = (World::empty(true), cluster("one"));
    world.register("one", &[]).await;
    for number in ["123456789012345678901234", "3.14159265358979323846", "1.50", "12e4", "-0", "7"] {
        let draft = KeyValuesDraft {
            name: "k".into(),
            kv: format!(r#"[{{"n":{number}}}]"#).parse().unwrap(),
            ..KeyValuesDraft::default()
        };
        let put = world.clusters.put_key_values(&world.caller, &one, draft, Presence::Any).await;
        assert_eq!(put.unwrap(), EditOutcome::Changed);
        assert_eq!(read(&world).await.key_values[0].pairs.as_json(), format!(r#"[{{"n":{number}}}]"#));
    }
}

#[tokio::test]
async fn what_a_cluster_has_of_key_value_pairs_is_bounded() {
    let world = World::empty(true);
    let sets = |count: usize, text: &str| {
        let one = |index: usize| json!({"name": format!("set-{index}"), "kv": [{"text": text}]});
        let sets = (0..count).map(|index| serde_json::from_value(one(index)).unwrap()).collect();
        Registration { key_values: sets, ..registration("one", &[]) }
    };
    let large = "x".repeat(KEY_VALUES_BYTES_MAX - 20);
    for bad in [sets(CLUSTER_KEY_VALUES_MAX + 1, ""), sets(5, &large)] {
        let refused = world.clusters.check(&bad).unwrap_err();
        assert_eq!(refused.as_slice()[0].path, "keyValues", "{refused}");
    }
    let mut twice = sets(2, "");
    twice.key_values[1] = twice.key_values[0].clone();
    assert_eq!(world.clusters.check(&twice).unwrap_err().as_slice()[0].path, "keyValues[1].name");
    world.clusters.add(&world.caller, sets(4, &large)).await.unwrap();
}
