//! What limited callers may not grant.

use dcm_core::service::{
    Caller, EditOutcome, Error, Foreseen, Limits, POD_SECURITY, PartDraft, PartName, Precondition,
};
use serde_json::{Value, json};

use crate::support::{World, draft, name, permission, user};

/// The same world, whose caller has limits.
fn limited(world: World) -> World {
    World { caller: Caller::new("tenant").limited(Limits::default()), ..world }
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

/// A cloud that grants these verbs on a resource of a group.
fn granting(group: &str, resource: &str, verbs: &[&str]) -> Value {
    let mut granting = draft();
    let of_permission = &mut granting["spec"]["permissions"][0];
    of_permission["apiGroups"] = json!(["apps", group]);
    of_permission["resources"] = json!(["deployments", resource]);
    of_permission["verbs"] = json!(verbs);
    granting
}

#[tokio::test]
async fn a_limited_caller_grants_only_to_read_what_reaches_beyond_the_namespace() {
    let world = limited(World::new(true).await);
    let core = [
        "namespaces",
        "namespaces/status",
        "namespaces/finalize",
        "resourcequotas",
        "resourcequotas/status",
        "limitranges",
        "endpoints",
        "services/status",
        "*",
        "*/status",
        "*/finalize",
    ];
    let core = core.into_iter().flat_map(|resource| [("", resource), ("*", resource)]);
    let slices = ["endpointslices", "*"].map(|resource| ("discovery.k8s.io", resource));
    for (group, resource) in core.chain(slices) {
        for verb in ["create", "update", "patch", "delete", "deletecollection"] {
            let told = refused(&world, granting(group, resource, &["get", verb])).await;
            assert!(told.starts_with(&format!("the verb {verb} of {resource} (user permission ")), "{told}");
        }
        let reading = granting(group, resource, &["get", "list", "watch"]);
        world.put(reading).await.unwrap_or_else(|error| panic!("{group} {resource}: {error}"));
    }
}

#[tokio::test]
async fn a_limited_caller_puts_no_addresses_where_traffic_goes_to() {
    let world = World::new(true).await;
    let with = |api_version: &str, kind: &str, name: &str| {
        let mut draft = draft();
        let metadata = json!({"name": name});
        draft["spec"]["manifests"] = json!([{"apiVersion": api_version, "kind": kind, "metadata": metadata}]);
        draft
    };
    world.put(with("v1", "Endpoints", "granted")).await.unwrap();
    let world = limited(world);
    for (api_version, kind) in [("v1", "Endpoints"), ("discovery.k8s.io/v1", "EndpointSlice")] {
        let told = refused(&world, with(api_version, kind, "theirs")).await;
        assert!(told.starts_with(&format!("{kind} theirs among extra manifests")), "{told}");
    }
    let mut edited = with("v1", "Endpoints", "granted");
    edited["metadata"]["description"] = "edited".into();
    world.put(edited).await.unwrap();
    world.put(with("v1", "Service", "theirs")).await.unwrap();
}

#[tokio::test]
async fn a_limited_caller_grants_what_stays_in_the_namespace() {
    let world = limited(World::new(true).await);
    let inside = [
        ("", "pods"),
        ("", "pods/exec"),
        ("", "pods/status"),
        ("", "services"),
        ("", "serviceaccounts/token"),
        ("*", "configmaps"),
        ("*", "*/scale"),
        ("apps", "*"),
        ("apps", "namespaces"),
        ("rbac.authorization.k8s.io", "rolebindings"),
    ];
    for (group, resource) in inside {
        let wanted = granting(group, resource, &["create", "get", "patch", "delete"]);
        world.put(wanted).await.unwrap_or_else(|error| panic!("{group} {resource}: {error}"));
    }
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
    let mut relabelled = wanted.clone();
    relabelled["spec"]["labels"] = json!({"pod-security.kubernetes.io/enforce": "privileged"});
    assert_eq!(refused(&world, relabelled).await, label);
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

/// What is stored of the labels of a cloud's namespace.
async fn labels(world: &World) -> Value {
    let described = world.clouds.get(&world.project, &name("shop")).await.unwrap();
    json!(described.cloud.labels())
}

fn labelled(labels: &Value) -> Value {
    let mut labelled = draft();
    labelled["spec"]["labels"] = labels.clone();
    labelled
}

#[tokio::test]
async fn a_cloud_that_a_limited_caller_makes_has_the_labels_of_the_limits_and_keeps_them() {
    let world = limited(World::new(true).await);
    let (key, value) = POD_SECURITY;
    let foreseen = |draft: Value| {
        let draft = serde_json::from_value(draft).unwrap();
        world.clouds.foresee(&world.caller, &world.project, draft)
    };
    let bundle = |foreseen: Foreseen| foreseen.context.placements.into_values().next().unwrap();
    let named = bundle(foreseen(labelled(&json!({key: value}))).await.unwrap());
    assert_eq!(bundle(foreseen(labelled(&json!({}))).await.unwrap()), named, "what is planned has them, too");
    for other in [json!({key: "privileged"}), json!({key: "restricted"}), json!({key: ""})] {
        assert!(refused(&world, labelled(&other)).await.starts_with(&format!("the label {key}")));
    }
    world.put(labelled(&json!({"tier": "gold"}))).await.unwrap();
    assert_eq!(labels(&world).await, json!({key: value, "tier": "gold"}));
    for same in [json!({"tier": "gold"}), json!({"tier": "gold", key: value})] {
        assert_eq!(world.put(labelled(&same)).await.unwrap().outcome, EditOutcome::Unchanged);
    }

    let platform = World { caller: Caller::new("platform"), ..world };
    platform.put(labelled(&json!({key: "restricted"}))).await.unwrap();
    let world = limited(platform);
    world.put(labelled(&json!({"tier": "silver"}))).await.unwrap();
    assert_eq!(labels(&world).await, json!({key: "restricted", "tier": "silver"}), "as others have set it");
    refused(&world, labelled(&json!({key: value}))).await;

    let platform = World { caller: Caller::new("platform"), ..world };
    platform.put(labelled(&json!({}))).await.unwrap();
    let world = limited(platform);
    let same = world.put(labelled(&json!({}))).await.unwrap();
    assert_eq!((same.outcome, labels(&world).await), (EditOutcome::Unchanged, json!({})));
}

#[tokio::test]
async fn where_there_was_no_namespace_of_the_clouds_a_limited_caller_gets_the_labels_of_the_limits() {
    let world = World::new(true).await;
    let mut admin = json!({"metadata": {"name": "shop"}, "spec": {"level": "admin"}});
    admin["spec"]["clusters"] = draft()["spec"]["clusters"].clone();
    world.put(admin.clone()).await.unwrap();
    let world = limited(world);
    assert_eq!(world.put(admin).await.unwrap().outcome, EditOutcome::Unchanged);
    world.put(labelled(&json!({}))).await.unwrap();
    let (key, value) = POD_SECURITY;
    assert_eq!(labels(&world).await, json!({key: value}));
}

#[tokio::test]
async fn limits_may_name_any_labels_or_none() {
    let world = World::new(true).await;
    let limits =
        Limits { namespace_labels: [("team.example.com/kind".to_owned(), "tenant".to_owned())].into() };
    let world = World { caller: Caller::new("tenant").limited(limits), ..world };
    refused(&world, labelled(&json!({"team.example.com/kind": "owner"}))).await;
    world.put(labelled(&json!({}))).await.unwrap();
    assert_eq!(labels(&world).await, json!({"team.example.com/kind": "tenant"}));

    let world = World::new(true).await;
    let limits = Limits { namespace_labels: [].into() };
    let world = World { caller: Caller::new("tenant").limited(limits), ..world };
    world.put(labelled(&json!({}))).await.unwrap();
    assert_eq!(labels(&world).await, json!({}));
}
