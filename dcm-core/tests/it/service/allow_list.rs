//! Of 2,000 generated grants a limited caller makes those that the allow list holds, by each use case, and no other one.

use dcm_core::service::{Caller, Error, Limits, PartDraft, Precondition};
use serde_json::{Value, json};

use crate::service::support::grants::{GRANTS, Grant, What, generated};
use crate::service::support::{World, draft, name};

/// The usual cloud with one grant more.
fn granting(grant: &Grant) -> Value {
    let mut wanted = draft();
    match &grant.what {
        What::Permission(rule) => {
            let mut permission = rule.clone();
            permission["name"] = "generated".into();
            wanted["spec"]["permissions"].as_array_mut().unwrap().push(permission);
        }
        What::Manifest(body) => wanted["spec"]["manifests"] = json!([body]),
    }
    wanted
}

/// Checks that a grant is accepted or refused as it has to be, and that a refusal names a field and the way out.
fn hold<T>(grant: &Grant, made: Result<T, Error>) {
    match made {
        Ok(_) => assert!(grant.is_inside, "accepted: {grant:?}"),
        Err(Error::Forbidden(refusal)) => {
            assert!(!grant.is_inside, "{refusal}: {grant:?}");
            let field = refusal.path.rsplit('.').next().unwrap();
            assert!(["apiGroups", "resources", "verbs", "kind"].contains(&field), "{refusal}");
            assert!(refusal.rule.contains("ask a platform admin"), "{refusal}");
        }
        Err(error) => panic!("{error}: {grant:?}"),
    }
}

#[tokio::test]
async fn of_2000_generated_grants_those_in_the_allow_list_are_made_and_no_other_one() {
    let world = World::new(true).await;
    let world = World { caller: Caller::new("tenant").limited(Limits::default()), ..world };
    let (clouds, caller, project) = (&world.clouds, &world.caller, &world.project);
    world.put(draft()).await.unwrap();
    let grants = generated();
    let inside = grants.iter().filter(|grant| grant.is_inside).count();
    assert_eq!(grants.len(), GRANTS);
    assert!((800..1_200).contains(&inside), "{inside}");
    for grant in &grants {
        let wanted = granting(grant);
        let foreseen = clouds.foresee(caller, project, serde_json::from_value(wanted.clone()).unwrap());
        hold(grant, foreseen.await);
        if let What::Permission(rule) = &grant.what {
            let mut part = rule.clone();
            part["name"] = "generated".into();
            let part = PartDraft::Permission(serde_json::from_value(part).unwrap());
            let any = Precondition::default();
            hold(grant, clouds.put_part(caller, project, &name("shop"), part, &any).await);
        }
        hold(grant, world.put(wanted.clone()).await);
        let mut made = wanted;
        made["metadata"]["name"] = "another".into();
        made["spec"]["namespace"] = "another-ns".into();
        hold(grant, clouds.foresee(caller, project, serde_json::from_value(made).unwrap()).await);
    }
}

#[tokio::test]
async fn settings_widen_the_list_by_groups_resources_verbs_and_kinds() {
    let mut limits = Limits::default();
    limits.allow_list.permit(&["example.com"], &["widgets", "gadgets"], &["get", "use"]);
    limits.allow_list.permit(&["example.org"], &["*"], &["get"]);
    limits.allow_list.permit_kinds(&["example.com"], &["Widget"]);
    let world = World::new(true).await;
    let world = World { caller: Caller::new("tenant").limited(limits), ..world };
    let permission = |group: &str, resource: &str, verb: &str, is_inside| Grant {
        is_inside,
        what: What::Permission(json!({"apiGroups": [group], "resources": [resource], "verbs": [verb]})),
    };
    let manifest = |kind: &str, is_inside| Grant {
        is_inside,
        what: What::Manifest(
            json!({"apiVersion": "example.com/v1", "kind": kind, "metadata": {"name": "x"}}),
        ),
    };
    for grant in [
        permission("example.com", "widgets", "use", true),
        permission("example.com", "widgets", "list", false),
        permission("example.com", "others", "get", false),
        permission("example.org", "anything/below", "get", true),
        // What the settings name by a wildcard a caller names one by one.
        permission("example.org", "*", "get", false),
        permission("", "pods", "use", false),
        manifest("Widget", true),
        manifest("Gadget", false),
    ] {
        hold(&grant, world.put(granting(&grant)).await);
    }
}
