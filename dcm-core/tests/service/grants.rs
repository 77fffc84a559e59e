//! What limited callers may not grant.

use dcm_core::service::{Caller, Error, PartDraft, PartName, Precondition};
use serde_json::{Value, json};

use crate::support::{World, draft, name, permission};

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
