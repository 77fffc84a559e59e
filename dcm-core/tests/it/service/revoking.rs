//! Revoking users.

use dcm_core::app_context::Generation;
use dcm_core::causes::Reader;
use dcm_core::logical_cloud::Epoch;
use dcm_core::pki::SystemKeys;
use dcm_core::port::key_source::KeySource as _;
use dcm_core::port::synchronizer::{Error as Failure, STOP_LIMIT};
use dcm_core::service::{BoundName, Error, OtherBindings, Revoked};
use dcm_core::status::{Intent, LaneStatus};
use serde_json::{Value, json};

use crate::service::support::{World, cluster, draft, later, name, permission};

async fn revoke(world: &World, user: &str) -> Result<Revoked, Error> {
    world.clouds.revoke(&world.caller, &world.project, &name("shop"), &name(user)).await
}

fn steps(world: &World) -> Vec<String> {
    let requests = world.engine.only().requests(&cluster("one"));
    requests.into_iter().map(|(name, _)| name.to_string()).collect()
}

/// Whom the bindings name, sorted; ServiceAccounts without the random end of their names.
fn bound(world: &World) -> Vec<String> {
    let objects = world.engine.only().objects();
    let objects = objects.iter().map(|object| serde_json::from_str::<Value>(object).unwrap());
    let subjects = objects.flat_map(|object| object["subjects"].as_array().cloned().unwrap_or_default());
    let mut names: Vec<String> = subjects
        .map(|subject| {
            let name = subject["name"].as_str().unwrap();
            if subject["kind"] == "ServiceAccount" { without_hash(name) } else { name }.to_owned()
        })
        .collect();
    names.sort();
    names
}

fn without_hash(account: &str) -> &str {
    account.rsplit_once('-').unwrap().0
}

const ANN: &str = "dcm:retail:shop:0000000000000001:ann";

#[tokio::test]
async fn the_rights_of_a_revoked_user_are_bound_to_the_next_identity_alone() {
    let world = World::new(true).await;
    world.instantiated().await;
    assert_eq!(bound(&world), ["bot-e1", &format!("{ANN}:1")]);
    let revoked = revoke(&world, "ann").await.unwrap();
    assert_eq!(bound(&world), ["bot-e1", &format!("{ANN}:2")]);
    assert_eq!(steps(&world), ["certificate/ann/2/1", "token/bot/1/1"]);
    assert_eq!(revoked.epoch, Epoch(2));
    assert_eq!(revoked.earlier[0], BoundName::User { name: format!("{ANN}:1") });
    assert_eq!(revoked.clusters, [cluster("one"), cluster("two")].into());
    assert!(!revoked.needs_request);
}

#[tokio::test]
async fn the_account_of_a_revoked_token_user_goes() {
    let world = World::new(true).await;
    world.instantiated().await;
    let revoked = revoke(&world, "bot").await.unwrap();
    let BoundName::ServiceAccount { namespace, name } = &revoked.earlier[0] else { panic!("{revoked:?}") };
    assert_eq!((&**namespace, without_hash(name)), ("shop-ns", "bot-e1"));
    let objects = world.engine.only().objects();
    assert!(objects.iter().all(|object| !object.contains("bot-e1")), "{objects:?}");
    assert_eq!(steps(&world), ["certificate/ann/1/1", "token/bot/2/1"]);
}

#[tokio::test]
async fn nothing_that_was_issued_before_is_handed_out_after_a_revocation() {
    let world = World::new(true).await;
    world.instantiated().await;
    revoke(&world, "ann").await.unwrap();
    let ann = name("ann");
    let access = async || world.clouds.kubeconfigs(&world.project, &name("shop"), Some(&ann), None).await;
    assert!(matches!(access().await, Err(Error::NotIssued { .. })));
    world.engine.finish();
    assert_eq!(access().await.unwrap().access.clusters.len(), 2);
}

#[tokio::test]
async fn a_revocation_brings_no_edit_to_clusters_and_stays_over_the_next_apply() {
    let world = World::new(true).await;
    world.instantiated().await;
    let before = world.engine.only().objects().len();
    let mut edited = draft();
    edited["spec"]["permissions"] = json!([permission("read"), permission("more")]);
    world.put(edited).await.unwrap();
    revoke(&world, "ann").await.unwrap();
    assert_eq!(world.engine.only().objects().len(), before);
    world.apply("shop").await.unwrap();
    assert_eq!(steps(&world), ["certificate/ann/2/1", "token/bot/1/1"]);
    assert!(!bound(&world).contains(&format!("{ANN}:1")));
}

#[tokio::test]
async fn a_user_who_was_taken_out_of_the_documents_is_revoked_while_it_is_on_clusters() {
    let world = World::new(true).await;
    world.instantiated().await;
    let mut without = draft();
    without["spec"]["users"].as_array_mut().unwrap().remove(0);
    world.put(without).await.unwrap();
    revoke(&world, "ann").await.unwrap();
    assert_eq!(bound(&world), ["bot-e1", &format!("{ANN}:2")]);
}

#[tokio::test]
async fn a_paused_cloud_goes_on_with_a_revocation() {
    let world = World::new(true).await;
    world.put(draft()).await.unwrap();
    world.apply("shop").await.unwrap();
    world.clouds.stop(&world.caller, &world.project, &name("shop"), STOP_LIMIT).await.unwrap();
    revoke(&world, "ann").await.unwrap();
    assert!(!world.engine.only().paused);
}

#[tokio::test]
async fn who_is_not_there_or_not_applied_is_told() {
    let world = World::new(true).await;
    let message = |revoked: Result<Revoked, Error>| revoked.unwrap_err().to_string();
    assert_eq!(message(revoke(&world, "ann").await), "there is no logical cloud shop in project retail");
    world.put(draft()).await.unwrap();
    let not_applied = "logical cloud shop is not applied; apply the logical cloud first";
    assert_eq!(message(revoke(&world, "ann").await), not_applied);
    world.apply("shop").await.unwrap();
    assert_eq!(message(revoke(&world, "eve").await), "there is no user eve");
}

#[tokio::test]
async fn a_user_who_keeps_the_key_is_revoked_and_brings_another_request() {
    let world = World::new(true).await;
    world.put(draft()).await.unwrap();
    let put_request = async || {
        let subject = world.clouds.subject(&world.project, &name("shop"), &name("ann")).await.unwrap();
        let mut own = draft();
        own["spec"]["users"][0]["csr"] = SystemKeys.issue(&subject).unwrap().request.into();
        world.put(own).await.unwrap();
        world.apply("shop").await
    };
    put_request().await.unwrap();
    world.engine.finish();
    let revoked = revoke(&world, "ann").await.unwrap();
    assert!(revoked.needs_request);
    assert_eq!(steps(&world), ["token/bot/1/1"], "the old request is for the old identity");
    assert_eq!(bound(&world), ["bot-e1", &format!("{ANN}:2")]);
    let (shop, ann) = (name("shop"), name("ann"));
    let missing = world.clouds.kubeconfigs(&world.project, &shop, Some(&ann), None).await.unwrap_err();
    assert!(missing.to_string().ends_with("a new certificate request is needed"), "{missing}");
    // The request in the document is for the identity that was revoked.
    assert!(matches!(world.apply("shop").await, Err(Error::Refused(_))));
    put_request().await.unwrap();
    assert_eq!(steps(&world), ["certificate/ann/2/2", "token/bot/1/1"]);
}

#[tokio::test]
async fn a_binding_that_somebody_else_changed_is_told_as_pending_though_its_lane_is_done() {
    let world = World::new(true).await;
    world.instantiated().await;
    let revoked = revoke(&world, "ann").await.unwrap();
    let lane = |kind: &str, state: &str| -> LaneStatus {
        let object = json!({"group": "rbac.authorization.k8s.io", "kind": kind, "namespace": "shop-ns", "name": "look", "state": state,
            "cause": {"reason": "drifted", "message": "subjects is held by rancher"}});
        let generation = revoked.generation;
        serde_json::from_value(
            json!({"observedGeneration": generation, "state": "done", "since": "2026-01-01T00:00:00Z",
            "objects": [object], "requests": []}),
        )
        .unwrap()
    };
    for (kind, state, is_done) in [
        ("RoleBinding", "drifted", false),
        ("ClusterRoleBinding", "drifted", false),
        ("RoleBinding", "pending", false),
        ("Role", "drifted", true),
        ("RoleBinding", "applied", true),
    ] {
        let lane = lane(kind, state);
        assert_eq!(revoked.is_done_in(&lane), is_done, "{kind} {state}");
        let told = revoked.cause_in(&lane).map(|cause| &*cause.message);
        assert_eq!(told, (!is_done).then_some("subjects is held by rancher"), "{kind} {state}");
    }
}

#[tokio::test]
async fn a_revocation_that_was_cut_off_is_not_told_as_done() {
    let world = World::new(true).await;
    world.instantiated().await;
    world.engine.finish();
    world.engine.fail_next(Failure::Contended { id: name("any") });
    revoke(&world, "ann").await.unwrap_err();
    assert!(bound(&world).contains(&format!("{ANN}:1")));
    assert!(!is_reported_as_done(&world).await);
    revoke(&world, "ann").await.unwrap();
    world.engine.finish();
    assert!(!bound(&world).contains(&format!("{ANN}:1")));
    assert!(is_reported_as_done(&world).await);
}

/// What the report of the revocation of `ann` says of the cluster `one`.
async fn is_reported_as_done(world: &World) -> bool {
    let (revoked, context) =
        world.clouds.revocation(&world.project, &name("shop"), &name("ann")).await.unwrap();
    let others = [(cluster("one"), Ok(OtherBindings::default()))].into();
    let report = revoked.report(others, |id| context.as_ref()?.lanes.get(id), Reader::PlatformAdmin);
    report.clusters[&cluster("one")].is_revoked
}

#[tokio::test]
async fn a_user_of_a_terminated_cloud_is_revoked_and_gets_another_identity_with_the_next_apply() {
    for ends_first in [false, true] {
        let world = World::new(true).await;
        world.instantiated().await;
        world.terminate("shop").await.unwrap();
        if ends_first {
            world.engine.finish();
        }
        let revoked = revoke(&world, "ann").await.unwrap();
        assert_eq!((revoked.epoch, revoked.earlier.len()), (Epoch(2), 2));
        assert_eq!(revoked.earlier[0], BoundName::User { name: format!("{ANN}:1") });
        assert_eq!(revoked.clusters, [cluster("one"), cluster("two")].into());
        assert_eq!(revoke(&world, "ann").await.unwrap(), revoked, "the same again");
        let (told, _) = world.clouds.revocation(&world.project, &name("shop"), &name("ann")).await.unwrap();
        assert_eq!(told, revoked);
        world.engine.finish();
        world.apply("shop").await.unwrap();
        assert_eq!(bound(&world), ["bot-e1", &format!("{ANN}:2")]);
        assert_eq!(steps(&world), ["certificate/ann/2/1", "token/bot/1/2"]);
    }
}

#[tokio::test]
async fn a_user_is_revoked_by_what_was_applied_whatever_was_edited_since_the_termination() {
    let world = World::new(true).await;
    world.instantiated().await;
    world.terminate("shop").await.unwrap();
    world.engine.finish();
    let mut without = draft();
    without["spec"]["users"].as_array_mut().unwrap().remove(0);
    world.put(without).await.unwrap();
    let revoked = revoke(&world, "ann").await.unwrap();
    assert_eq!(revoked.earlier[0], BoundName::User { name: format!("{ANN}:1") });
    world.put(draft()).await.unwrap();
    world.apply("shop").await.unwrap();
    assert!(!bound(&world).contains(&format!("{ANN}:1")));
    assert_eq!(world.paths(&["snapshots"]).await.len(), 1, "what ended is not kept any longer");
}

#[tokio::test]
async fn a_paused_termination_goes_on_with_a_revocation_and_one_that_was_cut_off_is_handed_over() {
    let world = World::new(true).await;
    world.instantiated().await;
    world.engine.finish();
    world.engine.fail_next(Failure::Contended { id: name("any") });
    world.terminate("shop").await.unwrap_err();
    assert_eq!(world.engine.only().intent, Intent::Present);
    revoke(&world, "ann").await.unwrap();
    assert_eq!(world.engine.only().intent, Intent::Absent);
    world.clouds.stop(&world.caller, &world.project, &name("shop"), STOP_LIMIT).await.unwrap();
    revoke(&world, "bot").await.unwrap();
    assert!(!world.engine.only().paused);
    let status = world.clouds.status(&world.project, &name("shop")).await.unwrap();
    assert_eq!(status.stopped, None);
}

#[tokio::test]
async fn what_is_applied_while_a_revocation_takes_a_terminated_cloud_off_stays_on_its_clusters() {
    let world = World::new(true).await;
    world.instantiated().await;
    world.engine.finish();
    world.engine.fail_next(Failure::Contended { id: name("any") });
    world.terminate("shop").await.unwrap_err();
    let other = world.clone();
    world.engine.before_remove(async move {
        let mut edited = draft();
        edited["spec"]["permissions"] = json!([permission("read"), permission("more")]);
        other.put(edited).await.unwrap();
        other.apply("shop").await.unwrap();
    });
    let revoked = revoke(&world, "ann").await.unwrap();
    assert_eq!(world.engine.only().intent, Intent::Present);
    let epoch = revoked.epoch.0;
    assert!(bound(&world).contains(&format!("{ANN}:{epoch}")) && epoch > 1, "{revoked:?}");
    assert_eq!(world.state("shop").await, "updating");
}

#[tokio::test]
async fn a_revocation_in_a_termination_that_was_cut_off_is_not_told_as_done() {
    let world = World::new(true).await;
    world.instantiated().await;
    world.engine.finish();
    world.engine.fail_next(Failure::Contended { id: name("any") });
    world.terminate("shop").await.unwrap_err();
    assert!(!is_reported_as_done(&world).await);
    world.engine.fail_next(Failure::Contended { id: name("any") });
    revoke(&world, "ann").await.unwrap_err();
    assert!(!is_reported_as_done(&world).await);
    revoke(&world, "ann").await.unwrap();
    world.engine.finish();
    assert!(is_reported_as_done(&world).await);
}

/// How far two calls are shifted against each other: more than either has steps.
const SHIFTS: usize = 60;

#[tokio::test]
async fn an_apply_at_the_same_moment_gives_nothing_back_to_a_user_of_a_terminated_cloud_who_was_revoked() {
    let (mut before, mut after) = (0, 0);
    for atomic_batches in [true, false] {
        for shift in 0..2 * SHIFTS {
            let world = World::new(atomic_batches).await;
            world.instantiated().await;
            world.terminate("shop").await.unwrap();
            world.engine.finish();
            let applying = async {
                later(shift.saturating_sub(SHIFTS)).await;
                world.apply("shop").await
            };
            let revoking = async {
                later(SHIFTS.saturating_sub(shift)).await;
                revoke(&world, "ann").await
            };
            let (applied, revoked) = tokio::join!(applying, revoking);
            let revoked = revoked.unwrap();
            match applied {
                Ok(_) => assert_eq!(world.engine.only().intent, Intent::Present, "shift {shift}"),
                Err(error) => assert!(error.is_retryable(), "{error}"),
            }
            world.apply("shop").await.unwrap();
            assert!(!bound(&world).contains(&format!("{ANN}:1")), "shift {shift}");
            let epoch = revoked.epoch.0;
            assert!(bound(&world).contains(&format!("{ANN}:{epoch}")), "shift {shift}");
            let is_of_ended = revoked.generation == Generation(2);
            (before, after) = (before + usize::from(is_of_ended), after + usize::from(!is_of_ended));
        }
    }
    assert!(before > 0 && after > 0, "the revocation came before and after the apply: {before}, {after}");
}
