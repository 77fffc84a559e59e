//! What is needed to try credentials, and what a status says of that.

use dcm_core::name::ContextId;
use dcm_core::pki::SystemKeys;
use dcm_core::port::key_source::KeySource as _;
use dcm_core::port::trial::PrivateKeys as _;
use dcm_core::service::{Error, Issuance, Missing, StoredKeys};
use dcm_core::status::Reason;
use serde_json::json;

use crate::service::support::{World, cluster, draft, name};

async fn key(world: &World, request: &str) -> Option<String> {
    let context = world.engine.held().keys().next().unwrap().clone();
    let keys = StoredKeys::new(world.store.clone());
    keys.private_key(&context, request).await.unwrap().map(|key| key.expose().to_owned())
}

#[tokio::test]
async fn the_private_key_of_each_request_is_found_and_that_of_an_earlier_one_too() {
    let world = World::new(true).await;
    world.instantiated().await;
    let made = |number: usize| world.keys.made.lock().unwrap()[number].1.key.expose().to_owned();
    assert_eq!(key(&world, "certificate/ann/1/1").await, Some(made(0)));
    world.clouds.renew(&world.caller, &world.project, &name("shop"), Some(&name("ann"))).await.unwrap();
    assert_eq!(key(&world, "certificate/ann/1/2").await, Some(made(1)));
    assert_eq!(key(&world, "certificate/ann/1/1").await, Some(made(0)));
    for request in ["certificate/ann/2/1", "certificate/eve/1/1", "token/bot/1/1", "developer", ""] {
        assert_eq!(key(&world, request).await, None, "{request}");
    }
    let keys = StoredKeys::new(world.store.clone());
    let other = ContextId::new("lc-of-nobody").unwrap();
    assert!(keys.private_key(&other, "certificate/ann/1/1").await.unwrap().is_none());
}

#[tokio::test]
async fn the_private_key_of_a_user_who_keeps_it_is_not_found() {
    let world = World::new(true).await;
    world.put(draft()).await.unwrap();
    let subject = world.clouds.subject(&world.project, &name("shop"), &name("ann")).await.unwrap();
    let mut own = draft();
    own["spec"]["users"][0]["csr"] = SystemKeys.issue(&subject).unwrap().request.into();
    world.put(own).await.unwrap();
    world.apply("shop").await.unwrap();
    assert_eq!(key(&world, "certificate/ann/1/1").await, None);
}

#[tokio::test]
async fn a_credential_that_its_cluster_refuses_is_withheld_with_the_reason() {
    let world = World::new(true).await;
    world.put(draft()).await.unwrap();
    world.apply("shop").await.unwrap();
    world.engine.hinder(&cluster("one"), Reason::NotAccepted, "the API server does not accept it");
    let (cloud, user, reference) = (name("shop"), name("ann"), name("r1"));
    let handed_out = world.clouds.kubeconfigs(&world.project, &cloud, Some(&user), Some(&reference)).await;
    let Err(Error::NotIssued { missing, .. }) = handed_out else { panic!("nothing is handed out") };
    let Missing::NotIssued { cause: Some(cause) } = *missing else { panic!("{missing:?}") };
    assert_eq!(cause.reason, Reason::NotAccepted);
}

#[tokio::test]
async fn the_status_says_whether_a_credential_was_tried_and_whether_a_token_is_shortened() {
    // The cluster gives an hour, whatever was asked for.
    let world = World::with_credentials(86_400, 3600).await;
    let status = world.clouds.status(&world.project, &name("shop")).await.unwrap();
    for user in ["ann", "bot"] {
        let issuance = &status.credentials[&name(user)].clusters[&cluster("one")];
        let Issuance::Issued { is_tried, is_shortened, .. } = issuance else { panic!("{issuance:?}") };
        assert_eq!((*is_tried, *is_shortened), (true, true), "{user}");
    }
    let text = serde_json::to_value(&status).unwrap();
    assert_eq!(
        text["credentials"]["bot"]["clusters"][cluster("one").to_string()]["isShortened"],
        json!(true)
    );
}
