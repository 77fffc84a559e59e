//! What limited callers may not grant.

use dcm_core::service::{Caller, Error, PartDraft, PartName, Precondition};
use serde_json::{Value, json};

use crate::support::{World, draft, name, permission, user};

/// The same world, whose caller has limits.
fn limited(world: World) -> World {
    World { caller: Caller::new("tenant").limited(), ..world }
}

async fn refused(world: &World, draft: Value) -> String {
    let before = world.documents().await;
    let error = world.put(draft).await.unwrap_err();
    assert!(matches!(error, Error::Forbidden { .. }), "{error}");
    assert_eq!(world.documents().await, before);
    error.to_string()
}

#[tokio::test]
async fn a_limited_caller_grants_no_rights_beyond_the_cloud_and_none_that_give_more() {
    let world = limited(World::new(true).await);
    let mut privileged = draft();
    privileged["spec"]["level"] = "privileged".into();
    assert_eq!(
        refused(&world, privileged.clone()).await,
        "rights in a cloud of level privileged can't be granted by this caller"
    );
    let mut admin = json!({"metadata": {"name": "shop"}, "spec": {"level": "admin"}});
    admin["spec"]["clusters"] = draft()["spec"]["clusters"].clone();
    assert!(refused(&world, admin).await.starts_with("rights in a cloud of level admin"));
    for verb in ["*", "bind", "escalate", "impersonate"] {
        let mut granting = draft();
        granting["spec"]["permissions"][0]["verbs"] = json!(["get", verb]);
        let told = refused(&world, granting).await;
        assert!(told.starts_with(&format!("the verb {verb} (user permission ")), "{told}");
    }
    let mut taking = draft();
    taking["spec"]["objectPolicies"] = json!({"Namespace": {"existing": "adopt"}});
    assert!(refused(&world, taking).await.starts_with("what is on clusters already"));
    for key in ["pod-security.kubernetes.io/enforce", "k8s.io/x"] {
        let mut labelled = draft();
        labelled["spec"]["labels"] = json!({key: "privileged", "tier": "gold"});
        assert!(refused(&world, labelled).await.starts_with(&format!("the label {key}")));
    }
    let mut allowed = draft();
    allowed["spec"]["labels"] = json!({"tier": "gold", "notkubernetes.io/x": "y"});
    allowed["spec"]["objectPolicies"] = json!({"ResourceQuota": {"drift": "report"}});
    world.put(allowed).await.unwrap();
    assert!(refused(&world, privileged).await.contains("privileged"));
}

#[tokio::test]
async fn of_a_cloud_with_such_rights_a_limited_caller_edits_what_grants_nothing() {
    let world = World::new(true).await;
    let mut privileged = draft();
    privileged["spec"]["level"] = "privileged".into();
    world.put(privileged.clone()).await.unwrap();
    let world = limited(world);
    privileged["metadata"]["description"] = "edited".into();
    privileged["spec"]["quotas"] = json!([{"name": "less", "hard": {"pods": "1"}}]);
    world.put(privileged).await.unwrap();
    let (caller, project, shop, any) =
        (&world.caller, &world.project, &name("shop"), &Precondition::default());
    let clouds = &world.clouds;
    let part = PartDraft::Permission(serde_json::from_value(permission("more")).unwrap());
    let put = clouds.put_part(caller, project, shop, part, any).await;
    assert!(matches!(put.unwrap_err(), Error::Forbidden { .. }));
    clouds.delete_part(caller, project, shop, &PartName::Quota(name("less")), any).await.unwrap();
    // What others have granted may be brought to clusters, and taken off.
    world.apply("shop").await.unwrap();
    world.terminate("shop").await.unwrap();
}

#[tokio::test]
async fn a_limited_caller_edits_a_cloud_beside_what_others_have_granted_in_it() {
    let world = World::new(true).await;
    let mut wanted = draft();
    wanted["spec"]["labels"] = json!({"pod-security.kubernetes.io/enforce": "restricted", "tier": "gold"});
    wanted["spec"]["users"] = json!([user("ann"), {"name": "bot", "type": "token"}]);
    let mut all = permission("all");
    all["verbs"] = json!(["*"]);
    all["users"] = json!(["ann"]);
    wanted["spec"]["permissions"] = json!([permission("read"), all]);
    world.put(wanted.clone()).await.unwrap();
    let world = limited(world);

    let label = "the label pod-security.kubernetes.io/enforce of a namespace can't be granted by this caller";
    for labels in [json!({"tier": "gold"}), json!({"pod-security.kubernetes.io/enforce": "privileged"})] {
        let mut relabelled = wanted.clone();
        relabelled["spec"]["labels"] = labels;
        assert_eq!(refused(&world, relabelled).await, label);
    }
    let mut shared = wanted.clone();
    shared["spec"]["permissions"][1]["users"] = json!(["ann", "bot"]);
    assert!(refused(&world, shared).await.starts_with("the verb * (user permission all)"));
    let mut taken_over = wanted.clone();
    taken_over["spec"]["users"][0] = json!({"name": "ann", "type": "token"});
    assert!(refused(&world, taken_over).await.starts_with("the verb * (user permission all)"));

    wanted["spec"]["labels"]["tier"] = "silver".into();
    wanted["spec"]["users"].as_array_mut().unwrap().push(user("eve"));
    wanted["spec"]["permissions"].as_array_mut().unwrap().push(permission("more"));
    wanted["spec"]["clusters"].as_array_mut().unwrap().pop();
    world.put(wanted.clone()).await.unwrap();
    wanted["spec"]["permissions"].as_array_mut().unwrap().remove(1);
    world.put(wanted).await.unwrap();
}

#[tokio::test]
async fn what_a_limited_caller_may_not_put_is_not_foreseen_either() {
    let world = limited(World::new(true).await);
    let mut taking = draft();
    taking["spec"]["objectPolicies"] = json!({"ConfigMap": {"existing": "overwrite"}});
    let foresee = async |draft: &Value| {
        let draft = serde_json::from_value(draft.clone()).unwrap();
        world.clouds.foresee(&world.caller, &world.project, draft).await
    };
    assert!(matches!(foresee(&taking).await, Err(Error::Forbidden { .. })), "of a cloud that is not there");
    world.put(draft()).await.unwrap();
    assert!(matches!(foresee(&taking).await, Err(Error::Forbidden { .. })), "of a change");
    assert!(foresee(&draft()).await.is_ok());
}
