//! What limited callers may not grant.

use dcm_core::service::{
    Caller, EditOutcome, Error, Foreseen, Limits, POD_SECURITY, PartDraft, PartName, Precondition,
};
use serde_json::{Value, json};

use crate::service::support::{World, draft, name, permission, user};

/// The same world, whose caller has limits.
fn limited(world: World) -> World {
    World { caller: Caller::new("tenant").limited(Limits::default()), ..world }
}

async fn refused(world: &World, draft: Value) -> String {
    let before = world.documents().await;
    let error = world.put(draft).await.unwrap_err();
    assert!(matches!(error, Error::Forbidden(_)), "{error}");
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
        "spec.level: rights in a cloud of level privileged can't be granted by this caller: ask a platform admin to make this change \
         (found \"privileged\")"
    );
    let mut admin = json!({"metadata": {"name": "shop"}, "spec": {"level": "admin"}});
    admin["spec"]["clusters"] = draft()["spec"]["clusters"].clone();
    assert!(refused(&world, admin).await.starts_with("spec.level: rights in a cloud of level admin"));
    for verb in ["*", "bind", "escalate", "impersonate"] {
        let mut granting = draft();
        granting["spec"]["permissions"][0]["verbs"] = json!(["get", verb]);
        let error = refused(&world, granting).await;
        let rule = if verb == "*" { "a wildcard" } else { verb };
        assert!(error.starts_with(&format!("spec.permissions[0].verbs: {rule}")), "{error}");
    }
    let mut taking = draft();
    taking["spec"]["objectPolicies"] = json!({"Namespace": {"existing": "adopt"}});
    assert!(refused(&world, taking).await.starts_with("spec.objectPolicies: what is on clusters already"));
    for key in ["pod-security.kubernetes.io/enforce", "k8s.io/x"] {
        let mut labelled = draft();
        labelled["spec"]["labels"] = json!({key: "privileged", "tier": "gold"});
        assert!(
            refused(&world, labelled)
                .await
                .contains(&format!("the label {key} of a namespace can't be granted"))
        );
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
    of_permission["apiGroups"] = json!([group]);
    of_permission["resources"] = json!([resource]);
    of_permission["verbs"] = json!(verbs);
    granting
}

#[tokio::test]
async fn a_limited_caller_grants_only_to_read_what_reaches_beyond_the_namespace() {
    let world = limited(World::new(true).await);
    let core = [
        "namespaces",
        "namespaces/status",
        "resourcequotas",
        "resourcequotas/status",
        "limitranges",
        "endpoints",
        "pods/status",
        "services/status",
    ];
    let core = core.into_iter().map(|resource| ("", resource));
    for (group, resource) in core.chain([("discovery.k8s.io", "endpointslices")]) {
        for verb in ["create", "update", "patch", "delete", "deletecollection"] {
            let error = refused(&world, granting(group, resource, &["get", verb])).await;
            let expected = format!("spec.permissions[0].verbs: {verb} on {resource} of ");
            assert!(
                error.starts_with(&expected) && error.ends_with(&format!("(found \"{verb}\")")),
                "{error}"
            );
        }
        let reading = granting(group, resource, &["get", "list", "watch"]);
        world.put(reading).await.unwrap_or_else(|error| panic!("{group} {resource}: {error}"));
    }
    for (group, resource) in
        [("operators.coreos.com", "subscriptions"), ("kustomize.toolkit.fluxcd.io", "kustomizations")]
    {
        let error = refused(&world, granting(group, resource, &["create"])).await;
        assert!(error.starts_with("spec.permissions[0].apiGroups: create on "), "{error}");
        assert!(error.contains("the setting projectAdmins.permissions"), "{error}");
    }
    for (group, resource) in [("", "*"), ("", "*/status"), ("*", "pods"), ("apps", "*/scale")] {
        let error = refused(&world, granting(group, resource, &["get"])).await;
        assert!(error.contains("a wildcard can't be granted by this caller"), "{error}");
    }
    let using = granting("security.openshift.io", "securitycontextconstraints", &["use"]);
    assert!(refused(&world, using).await.starts_with("spec.permissions[0].apiGroups"));
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
        let error = refused(&world, with(api_version, kind, "theirs")).await;
        let expected =
            format!("spec.manifests[0].kind: an extra manifest of {api_version} {kind} can't be granted");
        assert!(error.starts_with(&expected), "{error}");
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
        ("", "services"),
        ("", "configmaps"),
        ("apps", "deployments/scale"),
        ("batch", "jobs"),
        ("networking.k8s.io", "networkpolicies"),
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
    assert!(matches!(put.unwrap_err(), Error::Forbidden(_)));
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
    assert!(refused(&world, relabelled).await.contains(label));
    let mut shared = wanted.clone();
    shared["spec"]["permissions"][1]["users"] = json!(["ann", "bot"]);
    assert!(
        refused(&world, shared).await.starts_with("spec.permissions[1].verbs: a wildcard can't be granted")
    );
    let mut taken_over = wanted.clone();
    taken_over["spec"]["users"][0] = json!({"name": "ann", "type": "token"});
    assert!(
        refused(&world, taken_over)
            .await
            .starts_with("spec.permissions[1].verbs: a wildcard can't be granted")
    );

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
    assert!(matches!(foresee(&taking).await, Err(Error::Forbidden(_))), "of a cloud that is not there");
    world.put(draft()).await.unwrap();
    assert!(matches!(foresee(&taking).await, Err(Error::Forbidden(_))), "of a change");
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
        assert!(
            refused(&world, labelled(&other))
                .await
                .contains(&format!("the label {key} of a namespace can't be granted"))
        );
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
    let limits = Limits {
        namespace_labels: [("team.example.com/kind".to_owned(), "tenant".to_owned())].into(),
        ..Limits::default()
    };
    let world = World { caller: Caller::new("tenant").limited(limits), ..world };
    refused(&world, labelled(&json!({"team.example.com/kind": "owner"}))).await;
    world.put(labelled(&json!({}))).await.unwrap();
    assert_eq!(labels(&world).await, json!({"team.example.com/kind": "tenant"}));

    let world = World::new(true).await;
    let limits = Limits { namespace_labels: [].into(), ..Limits::default() };
    let world = World { caller: Caller::new("tenant").limited(limits), ..world };
    world.put(labelled(&json!({}))).await.unwrap();
    assert_eq!(labels(&world).await, json!({}));
}

#[tokio::test]
async fn a_limited_caller_takes_no_namespace_of_a_system_and_sets_none_of_its_labels() {
    let world = limited(World::new(true).await);
    for namespace in
        ["cert-manager", "istio-system", "openshift-monitoring", "gatekeeper-system", "cattle-x", "argocd"]
    {
        let mut taking = draft();
        taking["spec"]["namespace"] = namespace.into();
        let error = refused(&world, taking).await;
        assert!(error.starts_with("spec.namespace: a namespace of a system ("), "{error}");
        assert!(error.ends_with(&format!("(found {namespace:?})")), "{error}");
    }
    let mut named = draft();
    named["metadata"]["name"] = "flux-system".into();
    named["spec"].as_object_mut().unwrap().remove("namespace");
    assert!(refused(&world, named).await.starts_with("spec.namespace: "), "by the name of the cloud");
    let mut meshed = draft();
    meshed["metadata"]["name"] = "system".into();
    meshed["spec"]["serviceMesh"] = json!({});
    let error = refused(&world, meshed).await;
    assert!(error.starts_with("spec.serviceMesh: a namespace of a system (istio-system) "), "{error}");
    for key in [
        "openshift.io/run-level",
        "admission.gatekeeper.sh/ignore",
        "istio-injection",
        "policy.cert-manager.io/x",
    ] {
        let error = refused(&world, labelled(&json!({key: "x"}))).await;
        assert!(error.starts_with(&format!("spec.labels[{key:?}]: ")), "{error}");
        assert!(error.contains("the setting projectAdmins.allowedLabels"), "{error}");
    }
    let mut limits = Limits::default();
    limits.reserved.allowed_labels.push("istio-injection".parse().unwrap());
    limits.reserved.namespaces.push("platform-*".parse().unwrap());
    limits.reserved.labels.push("example.com/*".parse().unwrap());
    let world = World { caller: Caller::new("tenant").limited(limits), ..world };
    world.put(labelled(&json!({"istio-injection": "enabled"}))).await.unwrap();
    refused(&world, labelled(&json!({"sub.example.com/x": "y"}))).await;
    let mut taking = draft();
    taking["spec"]["namespace"] = "platform-logs".into();
    refused(&world, taking).await;
}

#[tokio::test]
async fn what_a_platform_admin_has_granted_stays_as_it_is_for_limited_callers_who_edit_beside_it() {
    let world = World::new(true).await;
    let mut wanted =
        labelled(&json!({"istio-injection": "enabled", "pod-security.kubernetes.io/enforce": "baseline"}));
    wanted["spec"]["namespace"] = "istio-system".into();
    world.put(wanted.clone()).await.unwrap();
    let world = limited(world);
    wanted["spec"]["labels"] = json!({"team": "other"});
    world.put(wanted).await.unwrap();
    let expected = json!({"istio-injection": "enabled", "pod-security.kubernetes.io/enforce": "baseline", "team": "other"});
    assert_eq!(labels(&world).await, expected);
}

/// The usual cloud on one cluster, with something that only a platform admin may put into it.
fn strong() -> Vec<(&'static str, Value)> {
    let baseline = json!({"pod-security.kubernetes.io/enforce": "baseline"});
    let with = |change: &dyn Fn(&mut Value)| {
        let mut strong = labelled(&baseline);
        strong["spec"]["clusters"].as_array_mut().unwrap().pop();
        change(&mut strong["spec"]);
        strong
    };
    let widget = json!([{"apiVersion": "example.com/v1", "kind": "Widget", "metadata": {"name": "w"}}]);
    vec![
        (
            "the label",
            with(&|spec| spec["labels"] = json!({"pod-security.kubernetes.io/enforce": "privileged"})),
        ),
        ("the label", with(&|spec| spec["labels"] = json!({}))),
        ("the namespace", with(&|spec| spec["namespace"] = "cert-manager".into())),
        ("the user permission read", with(&|spec| spec["permissions"][0]["verbs"] = json!(["*"]))),
        ("the extra manifest", with(&|spec| spec["manifests"] = widget.clone())),
    ]
}

#[tokio::test]
async fn what_a_platform_admin_has_granted_holds_for_the_clusters_and_the_namespace_that_it_was_made_for() {
    for (what, wanted) in strong() {
        let world = World::new(true).await;
        world.put(wanted.clone()).await.unwrap();
        let world = limited(world);
        let mut added = wanted.clone();
        added["spec"]["clusters"]
            .as_array_mut()
            .unwrap()
            .push(json!({"provider": "sim", "cluster": "three"}));
        let mut replaced = wanted.clone();
        replaced["spec"]["clusters"][0]["cluster"] = "two".into();
        let mut selecting = wanted.clone();
        selecting["spec"]["clusterSelector"] = json!({"matchLabels": {"tier": "edge"}});
        let mut moved = wanted.clone();
        moved["spec"]["namespace"] = "elsewhere".into();
        for (field, edit) in [
            ("spec.clusters[1].cluster", &added),
            ("spec.clusters[0].cluster", &replaced),
            ("spec.clusterSelector", &selecting),
            ("spec.namespace", &moved),
        ] {
            if ["the namespace", "the extra manifest"].contains(&what) && field == "spec.namespace" {
                // In another namespace the first is no stronger than others, and the second is another manifest.
                continue;
            }
            let error = refused(&world, edit.clone()).await;
            assert!(error.starts_with(&format!("{field}: a cloud can't be granted another")), "{error}");
            assert!(error.contains(what), "{what}: {error}");
        }
        let reference =
            serde_json::from_value(json!({"name": "r3", "provider": "sim", "cluster": "three"})).unwrap();
        let part = PartDraft::Reference(reference);
        let (clouds, caller, project) = (&world.clouds, &world.caller, &world.project);
        let put = clouds.put_part(caller, project, &name("shop"), part, &Precondition::default()).await;
        assert!(matches!(put, Err(Error::Forbidden(_))), "{what}: {put:?}");

        // A platform admin makes the same changes, and a limited caller others.
        let mut edited = wanted.clone();
        edited["metadata"]["description"] = "edited".into();
        world.put(edited).await.unwrap();
        let platform = World { caller: Caller::new("platform"), ..world };
        platform.put(added.clone()).await.unwrap();
        platform.put(selecting.clone()).await.unwrap();
        let world = limited(platform);
        let mut narrowed = selecting.clone();
        narrowed["spec"]["clusterSelector"]["matchLabels"]["name"] = "two".into();
        world.put(narrowed.clone()).await.unwrap();
        assert!(refused(&world, selecting).await.starts_with("spec.clusterSelector: "), "{what}");
        world.put(wanted).await.unwrap();
    }
}

#[tokio::test]
async fn the_mesh_of_a_limited_caller_has_names_below_the_suffix_of_the_limits_or_none() {
    let meshed = |dns: Value| {
        let mut meshed = draft();
        meshed["spec"]["serviceMesh"] = dns;
        meshed
    };
    let zone = async |world: &World| {
        let cloud = world.clouds.get(&world.project, &name("shop")).await.unwrap().cloud;
        cloud.service_mesh().unwrap().dns().map(|dns| dns.zone().to_string())
    };
    let own = "shop.retail.mesh.internal";
    let world = limited(World::new(true).await);
    world.put(meshed(json!({}))).await.unwrap();
    assert_eq!(zone(&world).await.as_deref(), Some(own));
    let named = meshed(json!({"dns": {"zone": "shop"}}));
    let error = refused(&world, named.clone()).await;
    assert!(
        error.starts_with(&format!(
            "spec.serviceMesh.dns: the names of a mesh, but for those of its own zone ({own})"
        )),
        "{error}"
    );
    let limits = Limits { mesh_zone_suffix: Some("mesh.example".parse().unwrap()), ..Limits::default() };
    let world = World { caller: Caller::new("tenant").limited(limits), ..World::new(true).await };
    world.put(meshed(json!({}))).await.unwrap();
    assert_eq!(zone(&world).await.as_deref(), Some("shop.mesh.example"));
    world.put(meshed(json!({"dns": {"zone": own}}))).await.unwrap();
    refused(&world, named).await;
    refused(&world, meshed(json!({"dns": {"image": "example.com/other"}}))).await;
    // What a platform admin gives stays, and stays on its clusters.
    let platform = World { caller: Caller::new("platform"), ..world };
    let mut given = meshed(json!({"dns": {"zone": "shop", "image": "mirror.example/coredns"}}));
    given["spec"]["clusters"].as_array_mut().unwrap().pop();
    platform.put(given.clone()).await.unwrap();
    let world = limited(platform);
    given["spec"]["serviceMesh"] = json!({});
    world.put(given.clone()).await.unwrap();
    let cloud = world.clouds.get(&world.project, &name("shop")).await.unwrap().cloud;
    let dns = cloud.service_mesh().unwrap().dns().unwrap();
    assert_eq!((dns.zone().as_str(), dns.image()), ("shop", "mirror.example/coredns"));
    given["spec"]["clusters"].as_array_mut().unwrap().push(json!({"provider": "sim", "cluster": "three"}));
    assert!(refused(&world, given.clone()).await.contains("(the zone shop of its mesh)"));
    // A mesh without names stays one.
    given["spec"]["clusters"].as_array_mut().unwrap().pop();
    given["spec"]["serviceMesh"] = json!({"dns": {"enabled": false}});
    world.put(given.clone()).await.unwrap();
    given["spec"]["serviceMesh"] = json!({});
    world.put(given).await.unwrap();
    assert_eq!(zone(&world).await, None);
}

#[tokio::test]
async fn the_reserved_namespace_of_a_mesh_stays_on_the_clusters_that_it_was_made_for() {
    let world = World::new(true).await;
    let mut meshed = labelled(&json!({"pod-security.kubernetes.io/enforce": "baseline"}));
    meshed["spec"]["serviceMesh"] = json!({});
    world.put(meshed.clone()).await.unwrap();
    let mut limits = Limits::default();
    limits.reserved.namespaces.push("istio-*".parse().unwrap());
    let world = World { caller: Caller::new("tenant").limited(limits), ..world };
    meshed["spec"]["clusters"].as_array_mut().unwrap().push(json!({"provider": "sim", "cluster": "three"}));
    let error = refused(&world, meshed).await;
    assert!(error.contains("(the namespace istio-shop)"), "{error}");
}

#[tokio::test]
async fn where_the_limits_name_no_pod_security_any_level_but_the_strictest_is_a_strong_grant() {
    let limits = || Limits { namespace_labels: [].into(), ..Limits::default() };
    for (level, is_strong) in [("privileged", true), ("baseline", true), ("restricted", false)] {
        let platform = World::new(true).await;
        let mut wanted = labelled(&json!({POD_SECURITY.0: level}));
        platform.put(wanted.clone()).await.unwrap();
        let world = World { caller: Caller::new("tenant").limited(limits()), ..platform };
        wanted["spec"]["clusterSelector"] = json!({});
        if is_strong {
            assert!(refused(&world, wanted).await.contains("the label pod-security"), "{level}");
        } else {
            world.put(wanted).await.unwrap();
        }
    }
}

#[tokio::test]
async fn a_cloud_with_nothing_strong_goes_to_any_cluster_and_namespace() {
    let world = World::new(true).await;
    for level in ["baseline", "restricted"] {
        let labels = json!({"pod-security.kubernetes.io/enforce": level, "pod-security.kubernetes.io/warn": "restricted"});
        let platform = World { caller: Caller::new("platform"), ..world.clone() };
        platform.put(labelled(&labels)).await.unwrap();
        let limited = limited(platform);
        let mut moved = labelled(&labels);
        moved["spec"]["namespace"] = "elsewhere".into();
        moved["spec"]["clusterSelector"] = json!({});
        limited.put(moved).await.unwrap();
    }
}
