//! Calls at the same moment.

use dcm_core::logical_cloud::{QuotaDraft, UserDraft};
use dcm_core::name::LogicalCloudName;
use dcm_core::port::synchronizer::Removal;
use dcm_core::service::{EditOutcome, Error, PartDraft, Precondition};
use dcm_core::status::Intent;
use futures::future::join_all;
use serde_json::{Value, json};

use crate::service::support::{World, draft, later, name, permission};

/// How far two calls are shifted against each other: more than either has steps.
const SHIFTS: usize = 40;

#[tokio::test]
async fn edits_of_different_parts_at_the_same_moment_are_all_kept() {
    for atomic_batches in [true, false] {
        let world = World::new(atomic_batches).await;
        world.put(draft()).await.unwrap();
        let names = ["a", "b", "c", "d"];
        let shop: &LogicalCloudName = &name("shop");
        let any = Precondition::default();
        let edits = names.map(|name| {
            let part = PartDraft::User(UserDraft { name: name.into(), ..UserDraft::default() });
            world.clouds.put_part(&world.caller, &world.project, shop, part, &any)
        });
        for edited in join_all(edits).await {
            assert_eq!(edited.unwrap().outcome, EditOutcome::Created);
        }
        let read = world.clouds.get(&world.project, shop).await.unwrap();
        assert_eq!((read.cloud.users().len(), read.edit), (6, 5));
        world.put(draft()).await.unwrap();
        assert_eq!(world.paths(&["parts"]).await.len(), 11, "nothing of lost races is left");
    }
}

#[tokio::test]
async fn a_reader_never_sees_half_an_edit() {
    let world = World::new(false).await;
    let numbered = |number: usize| {
        let mut draft = draft();
        draft["spec"]["users"][0]["description"] = number.to_string().into();
        draft["spec"]["quotas"][0]["description"] = number.to_string().into();
        draft
    };
    world.put(numbered(0)).await.unwrap();
    let write = async {
        for number in 1..30 {
            world.put(numbered(number)).await.unwrap();
        }
    };
    let read = async {
        let mut seen = std::collections::BTreeSet::new();
        for _ in 0..60 {
            match world.clouds.get(&world.project, &name("shop")).await {
                Ok(read) => {
                    let user = read.cloud.user(&name("ann")).unwrap().metadata.description.clone();
                    assert_eq!(read.cloud.quotas()[0].metadata.description, user);
                    seen.insert(user);
                }
                Err(error) => assert!(error.is_retryable(), "{error}"),
            }
            later(3).await;
        }
        seen
    };
    let ((), seen) = tokio::join!(write, read);
    assert!(seen.len() > 5, "the two did meet: {seen:?}");
}

#[tokio::test]
async fn a_cloud_that_two_create_at_once_is_one_cloud() {
    for shift in 0..SHIFTS {
        let world = World::new(false).await;
        let other = async {
            later(shift).await;
            world.put(draft()).await
        };
        let (one, other) = tokio::join!(world.put(draft()), other);
        let (one, other) = (one.unwrap(), other.unwrap());
        assert_eq!(one.cloud, other.cloud, "shift {shift}");
        let created = [one.outcome, other.outcome].iter().filter(|did| **did == EditOutcome::Created).count();
        assert_eq!(created, 1, "shift {shift}");
        world.delete("shop").await.unwrap();
        assert!(world.cloud_paths().await.is_empty(), "shift {shift}");
    }
}

#[tokio::test]
async fn no_cloud_comes_into_a_project_that_is_deleted() {
    let (mut gone, mut kept) = (0, 0);
    for shift in 0..SHIFTS {
        for put_first in [true, false] {
            let world = World::new(false).await;
            let put = async {
                later(if put_first { 0 } else { shift }).await;
                world.put(draft()).await
            };
            let delete = async {
                later(if put_first { shift } else { 0 }).await;
                world.projects.delete(&world.caller, &world.project).await
            };
            let (put, deleted) = tokio::join!(put, delete);
            let project = world.paths(&["projects"]).await;
            match deleted {
                Ok(()) => {
                    assert!(matches!(put, Err(Error::NotFound { .. })), "shift {shift}");
                    assert!(world.cloud_paths().await.is_empty(), "shift {shift}");
                    assert!(project.is_empty());
                    gone += 1;
                }
                Err(error) => {
                    assert!(matches!(error, Error::NotEmpty { .. } | Error::Contended { .. }), "{error}");
                    assert_eq!(project.len(), 1, "shift {shift}");
                    world.put(draft()).await.unwrap();
                    kept += 1;
                }
            }
        }
    }
    assert!(gone > 1 && kept > 1, "both come about: {gone} and {kept}");
}

#[tokio::test]
async fn a_cloud_that_is_put_and_deleted_at_once_is_there_whole_or_not_at_all() {
    for shift in 0..SHIFTS {
        let world = World::new(false).await;
        world.put(draft()).await.unwrap();
        let mut changed = draft();
        changed["spec"]["users"] = json!([]);
        let put = async {
            later(shift).await;
            world.put(changed).await
        };
        let (deleted, put) = tokio::join!(world.delete("shop"), put);
        deleted.unwrap();
        if put.is_ok() {
            world.clouds.get(&world.project, &name("shop")).await.map(drop).or_else(missing).unwrap();
        }
        match world.delete("shop").await {
            Ok(()) => {}
            Err(error) => missing(error).unwrap(),
        }
        assert!(world.cloud_paths().await.is_empty(), "shift {shift}");
    }
}

fn missing(error: Error) -> Result<(), Error> {
    if matches!(error, Error::NotFound { .. }) { Ok(()) } else { Err(error) }
}

fn with_quota(pods: &str) -> Value {
    let mut draft = draft();
    draft["spec"]["quotas"][0]["hard"]["pods"] = pods.into();
    draft
}

fn pods(world: &World) -> bool {
    world.engine.only().objects().iter().any(|object| object.contains(r#""pods":"99""#))
}

#[tokio::test]
async fn an_apply_that_hands_over_late_never_takes_the_place_of_a_newer_one() {
    let world = World::new(true).await;
    world.instantiated().await;
    world.put(with_quota("50")).await.unwrap();
    let other = world.clone();
    world.engine.before_apply(async move {
        other.put(with_quota("99")).await.unwrap();
        other.apply("shop").await.unwrap();
    });
    world.apply("shop").await.unwrap();
    assert!(pods(&world), "the newer quota stays");
    let status = world.clouds.status(&world.project, &name("shop")).await.unwrap();
    assert!(!status.is_edited && !status.is_interrupted);
    assert_eq!(status.applied.unwrap().snapshot, 3);
}

#[tokio::test]
async fn so_does_a_repeated_apply_that_hands_over_late() {
    let world = World::new(true).await;
    world.instantiated().await;
    let other = world.clone();
    world.engine.before_apply(async move {
        let mut newer = with_quota("99");
        newer["spec"]["users"].as_array_mut().unwrap().push(json!({"name": "eve"}));
        other.put(newer).await.unwrap();
        other.apply("shop").await.unwrap();
    });
    world.apply("shop").await.unwrap();
    assert!(pods(&world), "the newer quota stays");
    assert!(!world.clouds.status(&world.project, &name("shop")).await.unwrap().is_edited);
}

#[tokio::test]
async fn two_applies_at_once_end_with_the_last_edit_applied() {
    for shift in 0..SHIFTS {
        let world = World::new(false).await;
        world.put(draft()).await.unwrap();
        let other = async {
            later(shift).await;
            world.put(with_quota("99")).await.unwrap();
            world.apply("shop").await
        };
        let (one, other) = tokio::join!(world.apply("shop"), other);
        assert!(one.is_ok() && other.is_ok(), "shift {shift}: {one:?} {other:?}");
        assert!(pods(&world), "shift {shift}");
        let status = world.clouds.status(&world.project, &name("shop")).await.unwrap();
        assert!(!status.is_edited && !status.is_interrupted, "shift {shift}");
    }
}

#[tokio::test]
async fn an_apply_of_what_is_terminated_meanwhile_leaves_nothing_wanted() {
    let world = World::new(true).await;
    world.put(draft()).await.unwrap();
    let other = world.clone();
    world.engine.before_apply(async move { other.terminate("shop").await.unwrap() });
    let error = world.apply("shop").await.unwrap_err();
    assert_eq!(error.to_string(), "logical cloud shop was terminated while it was being applied");
    assert_eq!(world.engine.only().intent, Intent::Absent);
    world.engine.finish();
    assert_eq!(world.state("shop").await, "terminated");
}

#[tokio::test]
async fn an_apply_of_what_is_deleted_meanwhile_leaves_nothing_wanted_and_no_document() {
    let world = World::new(true).await;
    world.put(draft()).await.unwrap();
    let other = world.clone();
    world.engine.before_apply(async move {
        other.terminate("shop").await.unwrap();
        other.delete("shop").await.unwrap();
    });
    let error = world.apply("shop").await.unwrap_err();
    assert!(matches!(error, Error::TerminatedMeanwhile { .. }), "{error}");
    assert!(world.engine.held().is_empty(), "nobody would ask about it any more");
    assert!(world.cloud_paths().await.is_empty());
}

#[tokio::test]
async fn apply_and_delete_at_once_leave_no_key_without_a_cloud() {
    let (mut gone, mut kept) = (0, 0);
    for shift in 0..SHIFTS {
        let world = World::new(false).await;
        world.put(draft()).await.unwrap();
        let delete = async {
            later(shift).await;
            world.delete("shop").await
        };
        let (_, deleted) = tokio::join!(world.apply("shop"), delete);
        if deleted.is_ok() {
            assert!(world.cloud_paths().await.is_empty(), "shift {shift}");
            assert!(world.engine.held().values().all(|held| held.intent == Intent::Absent), "shift {shift}");
            gone += 1;
        } else {
            assert_eq!(world.state("shop").await, "instantiating", "shift {shift}");
            kept += 1;
        }
    }
    assert!(gone > 1 && kept > 1, "both come about: {gone} and {kept}");
}

#[tokio::test]
async fn an_edit_during_an_apply_waits_for_the_next() {
    let world = World::new(true).await;
    world.put(draft()).await.unwrap();
    let other = world.clone();
    let mut more = draft();
    more["spec"]["permissions"] = json!([permission("later")]);
    world.engine.before_apply(async move { drop(other.put(more).await.unwrap()) });
    assert_eq!(world.apply("shop").await.unwrap().snapshot, 1);
    assert!(world.engine.only().objects().iter().all(|object| !object.contains("later")));
    assert!(world.clouds.status(&world.project, &name("shop")).await.unwrap().is_edited);
    assert_eq!(world.apply("shop").await.unwrap().snapshot, 2);
}

#[tokio::test]
async fn a_quota_and_a_user_that_are_put_at_once_come_from_two_callers() {
    let world = World::new(true).await;
    world.put(draft()).await.unwrap();
    let shop: &LogicalCloudName = &name("shop");
    let quota =
        QuotaDraft { name: "more".into(), hard: [("pods".into(), 5.into())].into(), ..QuotaDraft::default() };
    let (any, part) = (Precondition::default(), PartDraft::Quota(quota));
    let one = world.clouds.put_part(&world.caller, &world.project, shop, part, &any);
    let user = UserDraft { name: "eve".into(), ..UserDraft::default() };
    let part = PartDraft::User(user);
    let other = world.clouds.put_part(&world.caller, &world.project, shop, part, &any);
    let (one, other) = tokio::join!(one, other);
    assert_ne!(one.unwrap().edit, other.unwrap().edit);
}

#[tokio::test]
async fn the_contents_that_a_termination_deletes_stay_to_be_deleted_when_an_apply_comes_late() {
    let world = World::new(true).await;
    world.put(draft()).await.unwrap();
    let other = world.clone();
    let everything = Removal { delete_contents: true, ..Removal::default() };
    world.engine.before_apply(async move {
        let (caller, project) = (&other.caller, &other.project);
        other.clouds.terminate(caller, project, &name("shop"), everything).await.unwrap();
    });
    assert!(matches!(world.apply("shop").await, Err(Error::TerminatedMeanwhile { .. })));
    let held = world.engine.only();
    assert_eq!((held.intent, held.removal), (Intent::Absent, everything));
}

#[tokio::test]
async fn what_is_applied_again_is_not_taken_off_for_an_earlier_termination() {
    let world = World::new(true).await;
    world.put(draft()).await.unwrap();
    let other = world.clone();
    world.engine.before_apply(async move {
        other.terminate("shop").await.unwrap();
        let again = other.clone();
        other.engine.before_remove(async move {
            again.apply("shop").await.unwrap();
        });
    });
    assert_eq!(world.apply("shop").await.unwrap().snapshot, 1);
    assert_eq!(world.engine.only().intent, Intent::Present);
    let status = world.clouds.status(&world.project, &name("shop")).await.unwrap();
    assert_eq!((status.applied.unwrap().snapshot, status.is_edited), (2, false));
}
