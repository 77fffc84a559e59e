//! Lists, status and watches.

use dcm_core::service::{Error, Issuance};
use dcm_core::status::{LaneState, Reason};
use futures::StreamExt as _;
use serde_json::json;

use crate::service::support::{World, cluster, draft, name};

#[tokio::test]
async fn a_list_shows_summaries_in_pages_and_nothing_that_is_half_there() {
    let world = World::new(true).await;
    for cloud in ["b", "c", "a"] {
        let mut one = draft();
        one["metadata"]["name"] = cloud.into();
        one["spec"]["namespace"] = cloud.into();
        world.put(one).await.unwrap();
    }
    world.apply("b").await.unwrap();
    let page = world.clouds.list(&world.project, None, Some(2)).await.unwrap();
    let shown: Vec<_> = page
        .clouds
        .iter()
        .map(|cloud| (cloud.metadata.name.as_str(), cloud.users, cloud.references, cloud.snapshot))
        .collect();
    assert_eq!(shown, [("a", 2, 2, None), ("b", 2, 2, Some(1))]);
    let page = world.clouds.list(&world.project, page.next.as_ref(), Some(2)).await.unwrap();
    assert_eq!((page.clouds.len(), page.next), (1, None));
    assert!(world.clouds.list(&name("nowhere"), None, None).await.is_err());
}

#[tokio::test]
async fn status_tells_what_is_where_who_did_it_and_what_is_missing() {
    let world = World::new(true).await;
    world.put(draft()).await.unwrap();
    world.apply("shop").await.unwrap();
    world.engine.finish_in(&cluster("one"));
    world.engine.hinder(&cluster("two"), Reason::SignerSilent, "approved, and not signed");
    let status = world.clouds.status(&world.project, &name("shop")).await.unwrap();
    assert_eq!(status.state.to_string(), "instantiating");
    assert!(!status.is_edited && !status.is_interrupted);
    let applied = status.applied.as_ref().unwrap();
    assert_eq!((applied.snapshot, applied.edit, applied.applied.by.as_str()), (1, 1, "tester"));
    let one = &status.clusters[&cluster("one")];
    assert_eq!(
        (one.reference.clone(), one.lane.as_ref().unwrap().state),
        (Some(name("r1")), LaneState::Done)
    );
    let ann = &status.credentials[&name("ann")];
    assert_eq!(
        (&*ann.kind, ann.epoch.0, ann.serial.0, ann.made.by.as_str()),
        ("certificate", 1, 1, "tester")
    );
    let Issuance::Issued { not_after, .. } = &ann.clusters[&cluster("one")] else { panic!("it is issued") };
    assert_eq!(not_after.to_string(), "2027-01-01T00:00:00Z");
    let Issuance::Missing { cause: Some(cause), .. } = &ann.clusters[&cluster("two")] else {
        panic!("it is missing with a cause")
    };
    assert_eq!(cause.reason, Reason::SignerSilent);

    let mut edited = draft();
    edited["spec"]["quotas"] = json!([]);
    edited["spec"]["clusters"].as_array_mut().unwrap().remove(1);
    world.put(edited).await.unwrap();
    let status = world.clouds.status(&world.project, &name("shop")).await.unwrap();
    assert!(status.is_edited);
    assert_eq!(status.clusters.len(), 2, "what is applied is shown until it is gone");
    assert_eq!(status.warnings[0].path, "spec.quotas");
    let text = serde_json::to_value(&status).unwrap();
    assert_eq!(text["state"], "instantiating");
    assert_eq!(text["credentials"]["ann"]["clusters"]["sim/one"]["state"], "issued");
}

#[tokio::test]
async fn a_watch_follows_the_work_and_ends_with_the_cloud() {
    let world = World::new(true).await;
    world.put(draft()).await.unwrap();
    let early = world.clouds.watch(&world.project, &name("shop")).await;
    assert_eq!(
        early.err().unwrap().to_string(),
        "logical cloud shop is not applied; apply the logical cloud first"
    );
    world.apply("shop").await.unwrap();
    let mut events = world.clouds.watch(&world.project, &name("shop")).await.unwrap();
    assert_eq!(events.next().await.unwrap().unwrap().state.to_string(), "instantiating");
    world.engine.finish();
    assert_eq!(events.next().await.unwrap().unwrap().state.to_string(), "instantiated");
    world.terminate("shop").await.unwrap();
    let event = events.next().await.unwrap().unwrap();
    assert_eq!(event.state.to_string(), "terminating");
    assert_eq!(event.context.lanes.len(), 2);
    world.engine.finish();
    assert_eq!(events.next().await.unwrap().unwrap().state.to_string(), "terminated");
    world.delete("shop").await.unwrap();
    assert!(events.next().await.is_none());
}

#[tokio::test]
async fn a_status_is_followed_from_the_first_document_to_the_last() {
    let world = World::new(true).await;
    let absent = world.clouds.follow(&world.project, &name("shop")).await;
    assert!(matches!(absent.err().unwrap(), Error::NotFound { .. }));
    world.put(draft()).await.unwrap();
    let mut statuses = world.clouds.follow(&world.project, &name("shop")).await.unwrap();
    let mut until = async |state: &str, edit: u64| loop {
        let status = statuses.next().await.unwrap().unwrap();
        if status.state.to_string() == state && status.edit == edit {
            return status;
        }
    };
    assert_eq!(until("created", 1).await.clusters.len(), 2);
    // Documents and clusters alike.
    let mut edited = draft();
    edited["metadata"]["description"] = "edited".into();
    world.put(edited).await.unwrap();
    until("created", 2).await;
    world.apply("shop").await.unwrap();
    until("instantiating", 2).await;
    world.engine.finish();
    until("instantiated", 2).await;
    // It is gone, and another one of its name is another one.
    world.terminate("shop").await.unwrap();
    world.engine.finish();
    until("terminated", 2).await;
    world.delete("shop").await.unwrap();
    world.put(draft()).await.unwrap();
    assert!(statuses.next().await.is_none());
}
