//! Users who bring a certificate request.

use dcm_core::kubeconfig::Credential;
use dcm_core::pki::SystemKeys;
use dcm_core::port::key_source::KeySource as _;
use dcm_core::service::{Error, Kind};
use dcm_core::subject::Subject;
use serde_json::{Value, json};

use crate::service::editing::refusals;
use crate::service::support::{World, cluster, draft, name, user};

async fn subject(world: &World, user: &str) -> Subject {
    world.clouds.subject(&world.project, &name("shop"), &name(user)).await.unwrap()
}

/// A request of a key that only the user has.
fn request(subject: &Subject) -> String {
    SystemKeys.issue(subject).unwrap().request
}

fn with_request(request: &str) -> Value {
    let mut draft = draft();
    draft["spec"]["users"][0]["csr"] = request.into();
    draft
}

#[tokio::test]
async fn a_request_with_the_subject_that_was_told_is_used_and_no_key_is_kept() {
    let world = World::new(true).await;
    world.put(draft()).await.unwrap();
    let told = subject(&world, "ann").await;
    let own = request(&told);
    world.put(with_request(&own)).await.unwrap();
    world.apply("shop").await.unwrap();
    world.engine.finish();
    assert!(world.keys.made.lock().unwrap().is_empty());
    let found =
        world.clouds.kubeconfigs(&world.project, &name("shop"), Some(&name("ann")), None).await.unwrap();
    for cluster in found.access.clusters.values() {
        assert!(matches!(cluster.credential, Credential::Certificate { key: None, .. }));
    }
    let status = world.clouds.status(&world.project, &name("shop")).await.unwrap();
    assert!(status.credentials[&name("ann")].is_own_request);
    let documents = world.documents().await;
    let credential = &documents["credentials/retail/shop/0000000000000001/ann"]["material"];
    let nonce = &credential["nonce"];
    assert!(nonce.is_string());
    assert_eq!(*credential, json!({"type": "certificate", "request": own, "nonce": nonce}));
}

#[tokio::test]
async fn the_subject_is_told_before_the_user_is_there_and_stays_when_the_request_changes() {
    let world = World::new(true).await;
    let error = world.clouds.subject(&world.project, &name("shop"), &name("eve")).await.unwrap_err();
    assert!(matches!(error, Error::NotFound { kind: Kind::LogicalCloud, .. }));
    world.instantiated().await;
    let told = subject(&world, "eve").await;
    assert_eq!(told.common_name(), "dcm:retail:shop:0000000000000001:eve:1");
    let mut more = draft();
    more["spec"]["users"].as_array_mut().unwrap().push(json!({"name": "eve", "csr": request(&told)}));
    world.put(more.clone()).await.unwrap();
    world.apply("shop").await.unwrap();
    assert_eq!(subject(&world, "eve").await, told);
    more["spec"]["users"][2]["csr"] = request(&told).into();
    world.put(more).await.unwrap();
    world.apply("shop").await.unwrap();
    let steps = world.engine.only().requests(&cluster("one"));
    assert!(steps.iter().any(|(name, _)| &**name == "certificate/eve/1/2"), "{steps:?}");
}

#[tokio::test]
async fn a_user_who_takes_over_the_key_keeps_the_name_and_ours_is_forgotten() {
    let world = World::new(true).await;
    world.instantiated().await;
    let told = subject(&world, "ann").await;
    world.put(with_request(&request(&told))).await.unwrap();
    world.apply("shop").await.unwrap();
    let steps = world.engine.only().requests(&cluster("one"));
    assert_eq!(&*steps[0].0, "certificate/ann/1/2");
    let documents = world.documents().await;
    let credential = &documents["credentials/retail/shop/0000000000000001/ann"];
    assert_eq!(credential["material"]["key"], Value::Null);
}

#[tokio::test]
async fn a_request_with_another_subject_is_refused_with_the_one_that_it_must_have() {
    let world = World::new(true).await;
    world.instantiated().await;
    let before = world.documents().await;
    let wrong = Subject::new("system-administrator", None).unwrap();
    let refused = refusals(world.put(with_request(&request(&wrong))).await.unwrap_err());
    let refused = &refused.as_slice()[0];
    assert_eq!(refused.path, "spec.users[0].csr");
    let told = subject(&world, "ann").await.to_string();
    assert!(refused.rule.contains(&told), "{refused}");
    assert_eq!(world.documents().await, before);
}

#[tokio::test]
async fn the_requests_path_is_that_of_the_users_place_in_the_document() {
    let world = World::new(true).await;
    world.put(draft()).await.unwrap();
    let mut last = draft();
    let wrong = Subject::new("zoe", None).unwrap();
    last["spec"]["users"] = json!([user("zoe"), {"name": "bea", "csr": request(&wrong)}, user("ann")]);
    let refused = refusals(world.put(last).await.unwrap_err());
    assert_eq!(refused.as_slice()[0].path, "spec.users[1].csr");
}

#[tokio::test]
async fn the_first_put_of_a_cloud_has_no_subject_yet() {
    let world = World::new(true).await;
    let anything = Subject::new("ann", None).unwrap();
    let mut draft = with_request(&request(&anything));
    let refused = refusals(world.put(draft.clone()).await.unwrap_err());
    assert!(refused.to_string().contains("put the cloud without this user, ask for the subject"));
    draft["spec"]["users"][1]["type"] = "UNPW".into();
    let refused = refusals(world.put(draft).await.unwrap_err());
    let paths: Vec<_> = refused.into_iter().map(|refusal| refusal.path).collect();
    assert_eq!(paths, ["spec.users[1].type", "spec.users[0].csr"], "all refusals at once");
    assert!(world.cloud_paths().await.is_empty());
}

#[tokio::test]
async fn a_request_is_checked_again_when_the_identity_changed_before_it_was_applied() {
    let world = World::new(true).await;
    world.instantiated().await;
    let told = subject(&world, "ann").await;
    let own = request(&told);
    let mut without = draft();
    without["spec"]["users"] = json!([user("zoe")]);
    world.put(without).await.unwrap();
    let refused = refusals(world.put(with_request(&own)).await.unwrap_err());
    assert!(refused.to_string().contains("ann:2"), "the next epoch: {refused}");
    assert_eq!(subject(&world, "ann").await.common_name(), "dcm:retail:shop:0000000000000001:ann:2");
}
