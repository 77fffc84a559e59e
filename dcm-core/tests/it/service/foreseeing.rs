//! What is foreseen is what an apply then does.

use std::collections::BTreeMap;

use dcm_core::app_context::{Action, Step};
use dcm_core::logical_cloud::{Draft, Epoch, Serial};
use dcm_core::name::UserName;
use dcm_core::render::naming::Identity;
use dcm_core::service::Foreseen;
use serde_json::{Value, json};

use crate::service::support::{World, draft, name, user};

type Credentials = BTreeMap<UserName, (Epoch, Serial)>;

fn credentials(users: &[(&str, u32, u32)]) -> Credentials {
    users.iter().map(|(user, epoch, serial)| (name(user), (Epoch(*epoch), Serial(*serial)))).collect()
}

async fn foreseen(world: &World, draft: &Value) -> Credentials {
    let draft: Draft = serde_json::from_value(draft.clone()).unwrap();
    asked_for(&world.clouds.foresee(&world.caller, &world.project, draft).await.unwrap())
}

/// The credentials that its steps ask for: `KIND/USER/EPOCH/SERIAL`.
fn asked_for(foreseen: &Foreseen) -> Credentials {
    let steps = foreseen.context.placements.values().flat_map(|bundle| bundle.steps());
    let of_step = |step: &Step| {
        let Action::Request { name: request, .. } = &step.action else { return None };
        let [_, user, epoch, serial] = request.split('/').collect::<Vec<_>>().try_into().unwrap();
        Some((name(user), (Epoch(epoch.parse().unwrap()), Serial(serial.parse().unwrap()))))
    };
    steps.filter_map(of_step).collect()
}

/// Puts and applies a draft that was foreseen so.
async fn applied_as(world: &World, draft: &Value, expected: &[(&str, u32, u32)]) {
    let before = world.documents().await;
    assert_eq!(foreseen(world, draft).await, credentials(expected));
    assert_eq!(world.documents().await, before);
    world.put(draft.clone()).await.unwrap();
    world.apply("shop").await.unwrap();
    let status = world.clouds.status(&world.project, &name("shop")).await.unwrap();
    let applied = status.credentials.into_iter().map(|(user, one)| (user, (one.epoch, one.serial)));
    assert_eq!(applied.collect::<Credentials>(), credentials(expected));
}

#[tokio::test]
async fn a_cloud_that_is_not_there_is_foreseen_under_a_uid_that_none_has() {
    let world = World::new(true).await;
    let wanted: Draft = serde_json::from_value(draft()).unwrap();
    let foreseen = world.clouds.foresee(&world.caller, &world.project, wanted).await.unwrap();
    assert!(foreseen.is_new);
    let stored = world.put(draft()).await.unwrap().cloud;
    assert_ne!(foreseen.context.id, Identity::of(&stored).context_id());
    let clusters: Vec<_> = foreseen.context.placements.keys().collect();
    assert_eq!(clusters, stored.references().iter().map(|one| &one.cluster).collect::<Vec<_>>());
    assert_eq!(asked_for(&foreseen), credentials(&[("ann", 1, 1), ("bot", 1, 1)]));
}

#[tokio::test]
async fn epochs_and_serials_are_foreseen_as_an_apply_takes_them() {
    let world = World::new(true).await;
    let mut draft = draft();
    draft["spec"]["permissions"] = json!([]);
    world.put(draft.clone()).await.unwrap();
    applied_as(&world, &draft, &[("ann", 1, 1), ("bot", 1, 1)]).await;
    // Nothing changed, another lifetime, a user who goes, and comes back as another one.
    applied_as(&world, &draft, &[("ann", 1, 1), ("bot", 1, 1)]).await;
    let bot = draft["spec"]["users"][1].clone();
    let mut ann = user("ann");
    ann["lifetimeSeconds"] = 7200.into();
    draft["spec"]["users"] = json!([ann, bot]);
    applied_as(&world, &draft, &[("ann", 1, 2), ("bot", 1, 1)]).await;
    draft["spec"]["users"] = json!([ann]);
    applied_as(&world, &draft, &[("ann", 1, 2)]).await;
    draft["spec"]["users"] = json!([ann, bot]);
    applied_as(&world, &draft, &[("ann", 1, 2), ("bot", 2, 1)]).await;
}

#[tokio::test]
async fn a_cloud_that_comes_back_to_its_clusters_is_foreseen_with_new_serials() {
    let world = World::new(true).await;
    world.instantiated().await;
    world.terminate("shop").await.unwrap();
    world.engine.finish();
    applied_as(&world, &draft(), &[("ann", 1, 2), ("bot", 1, 2)]).await;
}
