//! Applying.

use dcm_core::app_context::{Generation, Request};
use dcm_core::logical_cloud::MetadataDraft;
use dcm_core::logical_cloud::life_cycle::Work;
use dcm_core::port::synchronizer::{Error as Failure, STOP_LIMIT};
use dcm_core::service::{ApplyOutcome, Caller, Error, Limits, Winner};
use dcm_core::status::Reason;
use serde_json::json;

use crate::service::editing::refusals;
use crate::service::support::{World, cluster, draft, name, permission, user};

fn steps(world: &World, cluster_name: &str) -> Vec<String> {
    let requests = world.engine.only().requests(&cluster(cluster_name));
    requests.into_iter().map(|(name, _)| name.to_string()).collect()
}

#[tokio::test]
async fn a_cloud_reaches_its_clusters_as_one_app_context_with_its_labels() {
    let world = World::new(true).await;
    world.put(draft()).await.unwrap();
    let applied = world.apply("shop").await.unwrap();
    assert_eq!((applied.snapshot, applied.generation), (1, Generation(1)));
    assert_eq!(applied.outcome, ApplyOutcome::Begun);
    assert_eq!(world.engine.calls(), ["apply"]);
    let held = world.engine.only();
    assert_eq!(held.clusters(), ["sim/one", "sim/two"]);
    assert_eq!(held.context.labels["dcm.internal/project"], "retail");
    assert_eq!(held.context.labels["dcm.internal/logical-cloud"], "shop");
    assert_eq!(steps(&world, "one"), ["certificate/ann/1/1", "token/bot/1/1"]);
    let bundles: Vec<_> = held.context.placements.values().collect();
    assert!(std::sync::Arc::ptr_eq(bundles[0], bundles[1]), "it is rendered once");
    assert_eq!(world.state("shop").await, "instantiating");
}

#[tokio::test]
async fn applying_again_changes_nothing_and_asks_for_another_try() {
    let world = World::new(true).await;
    world.instantiated().await;
    world.engine.calls();
    let before = world.documents().await;
    let applied = world.apply("shop").await.unwrap();
    assert_eq!((applied.outcome, applied.snapshot), (ApplyOutcome::Unchanged, 1));
    assert_eq!(world.documents().await, before);
    assert_eq!(world.engine.calls(), ["apply"], "the synchronizer tries again what is stuck");
    assert_eq!(world.keys.made.lock().unwrap().len(), 1, "no second key");
}

#[tokio::test]
async fn an_edit_is_rolled_out_by_the_next_apply_with_the_credentials_there_are() {
    let world = World::new(true).await;
    world.instantiated().await;
    let before = world.engine.only();
    let mut more = draft();
    more["spec"]["permissions"] = json!([permission("read"), permission("also")]);
    world.put(more).await.unwrap();
    let applied = world.apply("shop").await.unwrap();
    assert_eq!((applied.snapshot, applied.generation), (2, Generation(2)));
    let after = world.engine.only();
    assert_eq!(after.objects().difference(&before.objects()).count(), 2, "a role and a binding");
    assert_eq!(after.requests(&cluster("one")), before.requests(&cluster("one")));
    assert_eq!(world.state("shop").await, "updating");
    assert_eq!(world.paths(&["snapshots"]).await.len(), 1, "the earlier snapshot is gone");
}

#[tokio::test]
async fn editing_after_an_apply_does_not_reach_what_was_frozen() {
    let world = World::new(true).await;
    world.instantiated().await;
    let mut other = draft();
    other["spec"]["users"] = json!([user("zoe")]);
    other["spec"]["clusters"] = json!([{"name": "r3", "provider": "sim", "cluster": "three"}]);
    world.put(other).await.unwrap();
    let access = world.clouds.kubeconfigs(&world.project, &name("shop"), Some(&name("ann")), None).await;
    assert_eq!(access.unwrap().access.clusters.len(), 2);
    let error =
        world.clouds.kubeconfigs(&world.project, &name("shop"), Some(&name("zoe")), None).await.unwrap_err();
    assert_eq!(error.to_string(), "user zoe is not applied; apply the logical cloud first");
    world.apply("shop").await.unwrap();
    assert_eq!(world.engine.only().clusters(), ["sim/three"]);
}

#[tokio::test]
async fn a_cloud_without_clusters_is_not_applied_at_first_and_cleared_later() {
    let world = World::new(true).await;
    let mut bare = draft();
    bare["spec"]["clusters"] = json!([]);
    world.put(bare.clone()).await.unwrap();
    let error = world.apply("shop").await.unwrap_err();
    assert!(error.to_string().contains("it has no cluster reference; add one first"), "{error}");
    assert_eq!(world.engine.calls(), Vec::<String>::new());
    world.instantiated().await;
    world.put(bare).await.unwrap();
    world.apply("shop").await.unwrap();
    assert!(world.engine.only().clusters().is_empty());
    assert_eq!(world.state("shop").await, "updating");
    world.engine.finish();
    assert_eq!(world.state("shop").await, "instantiated");
    world.terminate("shop").await.unwrap();
    assert_eq!(world.state("shop").await, "terminated");
}

#[tokio::test]
async fn clusters_that_are_not_registered_are_refused_before_anything_happens() {
    let world = World::new(false).await;
    let mut unknown = draft();
    unknown["spec"]["clusters"][1]["cluster"] = "nowhere".into();
    world.put(unknown).await.unwrap();
    let before = world.documents().await;
    let refused = refusals(world.apply("shop").await.unwrap_err());
    assert_eq!(
        refused.to_string(),
        r#"spec.clusters[1].cluster: is not registered: add the cluster first (found "sim/nowhere")"#
    );
    assert_eq!(world.documents().await, before);
    assert!(world.keys.made.lock().unwrap().is_empty());
}

#[tokio::test]
async fn a_selector_is_resolved_at_each_apply() {
    let world = World::new(true).await;
    let mut selecting = draft();
    selecting["spec"]["clusters"] = json!([{"name": "r1", "provider": "sim", "cluster": "one"}]);
    selecting["spec"]["clusterSelector"] =
        json!({"matchExpressions": [{"key": "tier", "operator": "In", "values": ["edge"]}]});
    world.put(selecting).await.unwrap();
    world.apply("shop").await.unwrap();
    assert_eq!(world.engine.only().clusters(), ["sim/one", "sim/three", "sim/two"]);
    world.engine.finish();
    let access = world.clouds.kubeconfigs(&world.project, &name("shop"), Some(&name("bot")), None).await;
    let references: Vec<String> = access.unwrap().access.clusters.keys().map(ToString::to_string).collect();
    assert_eq!(references, ["r1", "three", "two"]);

    world.register("four", &[("tier", "edge")]).await;
    world.relabel("two", &[("tier", "core")]).await.unwrap();
    assert_eq!(world.engine.only().clusters().len(), 3, "nothing moves by itself");
    let applied = world.apply("shop").await.unwrap();
    assert_eq!(applied.outcome, ApplyOutcome::Begun);
    assert_eq!(world.engine.only().clusters(), ["sim/four", "sim/one", "sim/three"]);
    assert_eq!(world.apply("shop").await.unwrap().outcome, ApplyOutcome::Unchanged);
}

#[tokio::test]
async fn a_selector_that_selects_nothing_is_no_cluster() {
    let world = World::new(true).await;
    let mut selecting = draft();
    selecting["spec"]["clusters"] = json!([]);
    selecting["spec"]["clusterSelector"] = json!({"matchLabels": {"tier": "cloud"}});
    world.put(selecting).await.unwrap();
    assert!(matches!(world.apply("shop").await, Err(Error::WrongState(_))));
}

#[tokio::test]
async fn an_admin_cloud_changes_nothing_on_clusters_and_takes_their_namespace() {
    let world = World::new(true).await;
    let admin = json!({"metadata": {"name": "ops"}, "spec": {"level": "admin", "clusters": [
        {"name": "r1", "provider": "sim", "cluster": "one"},
        {"name": "r2", "provider": "sim", "cluster": "two"},
    ]}});
    world.put(admin.clone()).await.unwrap();
    world.apply("ops").await.unwrap();
    let held = world.engine.only();
    assert!(held.objects().is_empty());
    assert!(held.requests(&cluster("one")).is_empty());
    let status = world.clouds.status(&world.project, &name("ops")).await.unwrap();
    assert_eq!(status.namespace, Some(name("default")));

    let mut other = crate::service::support::registration("four", &[]);
    other.namespace = Some(name("team"));
    world.clusters.add(&world.caller, other).await.unwrap();
    let mut disagreeing = admin;
    disagreeing["spec"]["clusters"][1]["cluster"] = "four".into();
    world.put(disagreeing).await.unwrap();
    let error = world.apply("ops").await.unwrap_err();
    let rule = "is registered with namespace team, and sim/one with default: an admin cloud has one";
    assert!(error.to_string().contains(rule), "{error}");
}

#[tokio::test]
async fn a_taken_namespace_is_refused_with_the_cloud_that_has_it() {
    let world = World::new(true).await;
    world.instantiated().await;
    let mut other = draft();
    other["metadata"]["name"] = "rival".into();
    world.put(other).await.unwrap();
    for _ in 0..2 {
        let error = world.apply("rival").await.unwrap_err();
        let text = "namespace shop-ns of cluster sim/one belongs to logical cloud shop of project retail";
        assert_eq!(error.to_string(), text);
        assert!(!error.is_retryable());
        assert_eq!(world.state("rival").await, "created");
    }
    world.delete("rival").await.unwrap();
    assert!(world.cloud_paths().await.iter().all(|path| !path.contains("rival")));
}

#[tokio::test]
async fn a_limited_caller_is_not_told_of_another_projects_cloud() {
    let world = World::new(true).await;
    world.put(draft()).await.unwrap();
    world.apply("shop").await.unwrap();
    let world = World { caller: Caller::new("tenant").limited(Limits::default()), ..world };
    let mut rival = draft();
    rival["metadata"]["name"] = "rival".into();
    world.put(rival.clone()).await.unwrap();
    let error = world.apply("rival").await.unwrap_err();
    assert!(error.to_string().ends_with("belongs to logical cloud shop of project retail"), "{error}");

    let project = MetadataDraft { name: "wholesale".into(), ..MetadataDraft::default() };
    world.projects.put(&world.caller, project).await.unwrap();
    let world = World { project: name("wholesale"), ..world };
    world.put(rival).await.unwrap();
    let error = world.apply("rival").await.unwrap_err();
    assert_eq!(error.to_string(), "namespace shop-ns of cluster sim/one belongs to another project");
}

#[tokio::test]
async fn a_winner_that_is_no_logical_cloud_is_named_by_its_app_context() {
    let world = World::new(true).await;
    world.put(draft()).await.unwrap();
    let taken = Failure::NamespaceTaken {
        namespace: "shop-ns".into(),
        cluster: cluster("one"),
        winner: name("somebody-else"),
    };
    world.engine.fail_next(taken);
    let error = world.apply("shop").await.unwrap_err();
    let expected = Winner::AppContext(name("somebody-else"));
    assert!(matches!(&error, Error::NamespaceTaken { winner, .. } if *winner == expected), "{error}");
    assert_eq!(world.apply("shop").await.unwrap().outcome, ApplyOutcome::Begun);
    assert_eq!(steps(&world, "one"), ["certificate/ann/1/1", "token/bot/1/1"]);
}

#[tokio::test]
async fn the_key_is_stored_before_its_request_goes_anywhere() {
    let world = World::new(false).await;
    world.put(draft()).await.unwrap();
    let observer = world.clone();
    world.engine.before_apply(async move {
        let documents = observer.documents().await;
        let credential = &documents["credentials/retail/shop/0000000000000001/ann"];
        let made = observer.keys.made.lock().unwrap()[0].1.clone();
        assert_eq!(credential["material"]["request"], made.request);
        assert_eq!(credential["material"]["key"]["$secret"], made.key.expose());
    });
    world.apply("shop").await.unwrap();
    let requests = world.engine.only().requests(&cluster("one"));
    let made = world.keys.made.lock().unwrap()[0].1.clone();
    let Request::Certificate(sent) = &requests[0].1 else { panic!("a certificate is asked for") };
    assert_eq!(&*sent.csr_pem, made.request);
}

#[tokio::test]
async fn an_epoch_is_never_used_for_two_people() {
    let world = World::new(true).await;
    world.instantiated().await;
    let mut without = draft();
    without["spec"]["users"] = json!([user("zoe")]);
    world.put(without).await.unwrap();
    world.apply("shop").await.unwrap();
    let document = &world.documents().await["credentials/retail/shop/0000000000000001/ann"];
    assert_eq!(document["material"], json!({"type": "retired"}), "the key of who is gone is forgotten");
    world.put(draft()).await.unwrap();
    world.apply("shop").await.unwrap();
    assert_eq!(steps(&world, "one"), ["certificate/ann/2/1", "token/bot/2/1"]);

    // Gone and back between two applies is somebody else, too.
    let mut without = draft();
    without["spec"]["users"] = json!([user("zoe")]);
    world.put(without).await.unwrap();
    world.put(draft()).await.unwrap();
    world.apply("shop").await.unwrap();
    assert_eq!(steps(&world, "one"), ["certificate/ann/3/1", "token/bot/3/1"]);

    // So is another type of the same name.
    let mut other_type = draft();
    other_type["spec"]["users"][0]["type"] = "token".into();
    world.put(other_type).await.unwrap();
    world.apply("shop").await.unwrap();
    assert_eq!(steps(&world, "one"), ["token/ann/4/1", "token/bot/3/1"]);
}

#[tokio::test]
async fn another_lifetime_is_another_credential_of_the_same_person() {
    let world = World::new(true).await;
    world.instantiated().await;
    let mut shorter = draft();
    shorter["spec"]["users"][0]["lifetimeSeconds"] = 3600.into();
    shorter["spec"]["users"][1]["description"] = "only a note".into();
    world.put(shorter).await.unwrap();
    world.apply("shop").await.unwrap();
    assert_eq!(steps(&world, "one"), ["certificate/ann/1/2", "token/bot/1/1"]);
    let keys = world.keys.made.lock().unwrap();
    assert_eq!(keys.len(), 2);
    assert_eq!(keys[0].0, keys[1].0, "rights are bound to the same name");
}

#[tokio::test]
async fn a_cloud_that_was_terminated_and_is_applied_again_gets_new_credentials() {
    let world = World::new(true).await;
    world.instantiated().await;
    world.terminate("shop").await.unwrap();
    world.engine.finish();
    let applied = world.apply("shop").await.unwrap();
    assert_eq!((applied.snapshot, applied.outcome), (2, ApplyOutcome::Begun));
    assert_eq!(steps(&world, "one"), ["certificate/ann/1/2", "token/bot/1/2"]);
    assert_eq!(world.state("shop").await, "instantiating");
}

#[tokio::test]
async fn a_cloud_that_is_made_again_has_other_names_on_clusters() {
    let world = World::new(true).await;
    world.instantiated().await;
    world.terminate("shop").await.unwrap();
    world.engine.finish();
    world.delete("shop").await.unwrap();
    world.instantiated().await;
    let keys = world.keys.made.lock().unwrap();
    assert_ne!(keys[0].0, keys[1].0);
}

#[tokio::test]
async fn an_apply_takes_the_place_of_what_is_under_way_and_ends_a_pause() {
    let world = World::new(true).await;
    world.put(draft()).await.unwrap();
    world.apply("shop").await.unwrap();
    let mut more = draft();
    more["metadata"]["description"] = "a note is nothing on clusters".into();
    more["spec"]["labels"]["team"] = "other".into();
    world.put(more).await.unwrap();
    assert_eq!(world.apply("shop").await.unwrap().outcome, ApplyOutcome::Replaced(Work::Instantiate));
    world.clouds.stop(&world.caller, &world.project, &name("shop"), STOP_LIMIT).await.unwrap();
    assert_eq!(world.state("shop").await, "stopped while updating");
    assert_eq!(world.apply("shop").await.unwrap().outcome, ApplyOutcome::Replaced(Work::Update));
    assert!(!world.engine.only().paused);
    let status = world.clouds.status(&world.project, &name("shop")).await.unwrap();
    assert!(status.stopped.is_none());
}

#[tokio::test]
async fn what_is_being_terminated_is_not_applied() {
    let world = World::new(true).await;
    world.instantiated().await;
    world.terminate("shop").await.unwrap();
    let error = world.apply("shop").await.unwrap_err();
    let text = "can't apply a logical cloud that is terminating: it is being terminated; wait, or stop it and apply \
                it again";
    assert_eq!(error.to_string(), text);
    world.clouds.stop(&world.caller, &world.project, &name("shop"), STOP_LIMIT).await.unwrap();
    assert_eq!(world.apply("shop").await.unwrap().outcome, ApplyOutcome::Replaced(Work::Terminate));
}

#[tokio::test]
async fn a_failed_cloud_is_applied_again() {
    let world = World::new(true).await;
    world.put(draft()).await.unwrap();
    world.apply("shop").await.unwrap();
    world.engine.finish_in(&cluster("one"));
    world.engine.hinder(&cluster("two"), Reason::Denied, "no rights");
    assert_eq!(world.state("shop").await, "failed while instantiating");
    assert_eq!(world.apply("shop").await.unwrap().outcome, ApplyOutcome::Begun);
}

#[tokio::test]
async fn an_apply_that_the_synchronizer_never_took_is_shown_and_finished_by_the_next() {
    let world = World::new(true).await;
    world.put(draft()).await.unwrap();
    world.engine.fail_next(Failure::Contended { id: name("any") });
    assert!(world.apply("shop").await.unwrap_err().is_retryable());
    let status = world.clouds.status(&world.project, &name("shop")).await.unwrap();
    assert!(status.is_interrupted && status.is_edited);
    assert!(matches!(world.delete("shop").await, Err(Error::WrongState(_))));
    let stopped = world.clouds.stop(&world.caller, &world.project, &name("shop"), STOP_LIMIT).await;
    assert!(matches!(stopped, Err(Error::NotHandedOver { .. })));
    assert_eq!(world.apply("shop").await.unwrap().snapshot, 1);
    assert!(!world.clouds.status(&world.project, &name("shop")).await.unwrap().is_interrupted);
    assert_eq!(steps(&world, "one"), ["certificate/ann/1/1", "token/bot/1/1"]);
}

#[tokio::test]
async fn an_apply_that_the_synchronizer_never_took_can_be_terminated_and_deleted() {
    let world = World::new(true).await;
    world.put(draft()).await.unwrap();
    world.engine.fail_next(Failure::Contended { id: name("any") });
    world.apply("shop").await.unwrap_err();
    world.terminate("shop").await.unwrap();
    assert_eq!(world.state("shop").await, "created");
    world.delete("shop").await.unwrap();
    assert!(world.cloud_paths().await.is_empty());
}
