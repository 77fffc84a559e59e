//! The engine works with the least ClusterRole that the preflight prints, and with nothing less.
#![allow(clippy::unwrap_used, reason = "a test fails by it")]

use crate::common;

use common::{SOON, World, everything, spec};
use dcm_core::logical_cloud::Level;
use dcm_core::port::cluster::{ANNOTATION_MANIFEST, Access, Error, NAMESPACE_BINDING, Object};
use dcm_core::port::synchronizer::Synchronizer as _;
use dcm_core::preflight::{self, Guard, Needs};
use dcm_core::status::Progress;
use dcm_sync::engine::Acquire;
use dcm_sync::sim::{Identity, Logged, Rights, Server, cluster_id};
use futures::StreamExt as _;
use serde_json::{Value, json};

/// Whom the role is bound to.
fn engine() -> Identity {
    Identity::user("engine")
}

/// Gives the engine a ClusterRole of these accesses on the first cluster, and nothing else but the role for namespaces to bind.
async fn confine(world: &World, accesses: impl IntoIterator<Item = &Access>) {
    world.make(serde_json::to_value(preflight::namespace_role()).unwrap()).await;
    confine_without_namespaces(world, accesses).await;
}

/// The same where there is no role for namespaces.
async fn confine_without_namespaces(world: &World, accesses: impl IntoIterator<Item = &Access>) {
    let role = preflight::cluster_role("least", preflight::rules(accesses));
    world.make(serde_json::to_value(role).unwrap()).await;
    world
        .make(json!({
            "apiVersion": "rbac.authorization.k8s.io/v1", "kind": "ClusterRoleBinding", "metadata": {"name": "least"},
            "roleRef": {"apiGroup": "rbac.authorization.k8s.io", "kind": "ClusterRole", "name": "least"},
            "subjects": [{"apiGroup": "rbac.authorization.k8s.io", "kind": "User", "name": "engine"}],
        }))
        .await;
    server(world, |server| server.set_rights(Rights::Of(engine())));
}

fn server<T>(world: &World, ask: impl FnOnce(&mut Server) -> T) -> T {
    world.fleet.cluster(&cluster_id(1)).unwrap().server(ask)
}

/// The cloud's objects of kinds that are desired, and not only asked for.
fn objects(server: &Server) -> Vec<Object> {
    let owner = |object: &Object| object.marks.as_ref().is_some_and(|marks| marks.owner.as_str() == "dcm");
    let ours = server.objects().filter(owner);
    ours.filter(|object| &*object.key.kind != "CertificateSigningRequest").collect()
}

/// Somebody takes off each object what tells that it is as desired.
fn tamper(world: &World) {
    let patch = json!({"metadata": {"annotations": {ANNOTATION_MANIFEST: null}}});
    server(world, |server| {
        for object in objects(server) {
            server.edit_as("somebody", &object.kind, &object.key, &patch).unwrap();
        }
    });
}

fn is_repaired(world: &World) -> bool {
    let is_whole = |object: &Object| object.marks.as_ref().is_some_and(|marks| marks.manifest.is_some());
    server(world, |server| objects(server).iter().all(is_whole))
}

/// True when a request of the engine was refused for want of a right.
fn is_refused(world: &World) -> bool {
    let is_forbidden = |line: &Logged| matches!(line.error, Some(Error::Forbidden { .. }));
    server(world, |server| server.requests().lines().any(is_forbidden))
}

/// Waits until the cloud's cluster is as wanted, true, or refuses something.
async fn is_let(world: &World) -> bool {
    let cloud = world.deployment.clouds().get(&world.project, &world.cloud).await.unwrap().cloud;
    let context = dcm_core::render::naming::Identity::of(&cloud).context_id();
    // What the engine is refused, and what it has repaired, it records.
    let mut statuses = world.deployment.contexts().watch(&context).await.unwrap();
    let wait = async {
        loop {
            let status = statuses.next().await.unwrap().unwrap();
            if is_refused(world) {
                return false;
            }
            if status.progress == Progress::Done && is_repaired(world) {
                return true;
            }
        }
    };
    tokio::time::timeout(SOON, wait).await.unwrap()
}

/// From nothing, over changes by us and by others, to nothing; false when the cluster refuses something on the way.
async fn lives(world: &World, permission: &Value) -> bool {
    world.put(spec(permission)).await;
    world.apply().await;
    if !is_let(world).await {
        return false;
    }
    tamper(world);
    if !is_let(world).await {
        return false;
    }
    let mut changed = spec(permission);
    changed["quotas"] = json!([{"name": "other", "hard": {"pods": 1}}]);
    world.put(changed).await;
    world.apply().await;
    if !is_let(world).await {
        return false;
    }
    world.terminate().await;
    is_let(world).await
}

/// With all that a level needs.
async fn live(level: Level, permission: Value) {
    let world = World::new(1).await;
    let needs = Needs::of_level(level);
    confine(&world, needs.accesses()).await;
    let engine = world.deployment.engine(Acquire::All);
    assert!(lives(&world, &permission).await);
    assert_eq!(world.owned(), 0);
    engine.shutdown().await;
}

#[tokio::test(start_paused = true)]
async fn the_preflight_finds_the_least_role_of_a_level_enough() {
    for level in [Level::Standard, Level::Privileged] {
        let world = World::new(1).await;
        let needs = Needs::of_level(level);
        confine(&world, needs.accesses()).await;
        let cluster = world.deployment.clusters().connect(&cluster_id(1)).await.unwrap();
        let (call, clock) = (world.deployment.call(), world.deployment.clock());
        let findings = preflight::check(&*cluster, &call, &needs, &**clock).await.unwrap();
        assert!(findings.is_ready() && findings.guard == Guard::Absent, "{findings:?}");
        assert!(!is_refused(&world), "what is rehearsed is within the role");
    }
}

/// Those accesses of a level without which a cloud lives and ends all the same.
async fn not_missed(level: Level, permission: Value, asked: impl Iterator<Item = &Access>) -> Vec<String> {
    let needs = Needs::of_level(level);
    let mut not_missed = Vec::new();
    for access in asked {
        let world = World::new(1).await;
        confine(&world, needs.accesses().filter(|other| *other != access)).await;
        assert!(!server(&world, |server| server.may(&engine(), access)), "{access:?}");
        let engine = world.deployment.engine(Acquire::All);
        if lives(&world, &permission).await {
            not_missed.push(format!("{} {}", access.verb, access.resource));
        }
        engine.shutdown().await;
    }
    not_missed
}

/// The accesses that a cloud needs only at times. A certificate request is read if another client changed it. The preflight reads the
/// ClusterRole that is bound in namespaces. ClusterRoles and ClusterRoleBindings are listed for orphans and by a revocation.
const ON_OCCASION: [&str; 4] =
    ["get certificatesigningrequests", "get clusterroles", "list clusterrolebindings", "list clusterroles"];

#[tokio::test(start_paused = true)]
async fn without_any_one_access_of_the_least_role_a_standard_cloud_is_refused_something() {
    let needs = Needs::of_level(Level::Standard);
    let not_missed = not_missed(Level::Standard, everything(), needs.accesses()).await;
    assert_eq!(not_missed, ON_OCCASION);
}

#[tokio::test(start_paused = true)]
async fn without_any_one_access_more_of_its_least_role_a_privileged_cloud_is_refused_something() {
    let (needs, less) = (Needs::of_level(Level::Privileged), Needs::of_level(Level::Standard));
    let more = needs.accesses().filter(|access| !less.accesses().any(|other| other == *access));
    let mut permission = everything();
    permission["clusterWide"] = true.into();
    assert_eq!(not_missed(Level::Privileged, permission, more).await, [""; 0]);
}

#[tokio::test(start_paused = true)]
async fn a_standard_cloud_lives_and_ends_with_the_least_role_of_its_level() {
    live(Level::Standard, everything()).await;
}

#[tokio::test(start_paused = true)]
async fn a_privileged_cloud_lives_and_ends_with_the_least_role_of_its_level() {
    let mut permission = everything();
    permission["clusterWide"] = true.into();
    live(Level::Privileged, permission).await;
}

#[tokio::test(start_paused = true)]
async fn whether_the_guard_is_in_force_is_unknown_where_the_user_may_not_write_what_it_refuses() {
    for level in [Level::Standard, Level::Admin] {
        let world = World::new(1).await;
        confine(&world, Needs::of_level(Level::Admin).accesses()).await;
        let cluster = world.deployment.clusters().connect(&cluster_id(1)).await.unwrap();
        let (call, clock) = (world.deployment.call(), world.deployment.clock());
        let findings = preflight::check(&*cluster, &call, &Needs::of_level(level), &**clock).await.unwrap();
        assert_eq!(findings.guard, Guard::Unknown);
        assert!(!is_refused(&world), "what the user may not do is not tried");
    }
}

#[tokio::test(start_paused = true)]
async fn the_preflight_prints_what_is_missing_and_only_that() {
    let world = World::new(1).await;
    confine(&world, Needs::of_level(Level::Standard).accesses()).await;
    let cluster = world.deployment.clusters().connect(&cluster_id(1)).await.unwrap();
    let (call, clock) = (world.deployment.call(), world.deployment.clock());
    let needs = Needs::of_level(Level::Privileged);
    let findings = preflight::check(&*cluster, &call, &needs, &**clock).await.unwrap();
    let resources: Vec<&str> = findings
        .missing
        .iter()
        .flat_map(|rule| rule.resources.iter().flatten())
        .map(String::as_str)
        .collect();
    assert_eq!(resources, ["clusterroles", "clusterrolebindings"]);
    assert!(!findings.is_ready());
}

/// The binding by which the engine has rights in the cloud's namespace; none where there is none.
fn own_binding(world: &World) -> Option<Object> {
    let is_own = |object: &Object| object.key.is_binding() && &*object.key.name == NAMESPACE_BINDING;
    server(world, |server| server.objects().find(is_own))
}

fn subjects(binding: &Object) -> Value {
    binding.body["subjects"].clone()
}

#[tokio::test(start_paused = true)]
async fn the_engine_binds_the_role_for_namespaces_to_itself_alone_and_the_binding_goes_with_the_namespace() {
    let world = World::new(1).await;
    confine(&world, Needs::of_level(Level::Standard).accesses()).await;
    let in_namespace = |namespace: &str| {
        let of = |access: Access| Access { namespace: Some(namespace.into()), ..access };
        Access::in_namespaces().map(of)
    };
    let engine_has = |namespace: &str| {
        in_namespace(namespace).map(|access| server(&world, |server| server.may(&engine(), &access)))
    };
    let running = world.deployment.engine(Acquire::All);
    world.put(spec(&everything())).await;
    world.apply().await;
    assert!(is_let(&world).await);
    let binding = own_binding(&world).unwrap();
    let user = json!([{"apiGroup": "rbac.authorization.k8s.io", "kind": "User", "name": "engine"}]);
    assert_eq!((subjects(&binding), binding.marks), (user, None));
    let namespace = binding.key.namespace.as_deref().unwrap();
    assert_eq!([engine_has(namespace), engine_has("kube-system")], [[true; 2], [false; 2]]);
    world.terminate().await;
    assert!(is_let(&world).await);
    tokio::time::sleep(SOON).await;
    assert!(own_binding(&world).is_none() && world.owned() == 0);
    running.shutdown().await;
}

#[tokio::test(start_paused = true)]
async fn another_user_of_the_engine_takes_the_place_of_the_earlier_one_in_the_binding() {
    let world = World::new(1).await;
    confine(&world, Needs::of_level(Level::Standard).accesses()).await;
    let running = world.deployment.engine(Acquire::All);
    world.put(spec(&everything())).await;
    world.apply().await;
    assert!(is_let(&world).await);
    let before = own_binding(&world).unwrap();
    let mut changed = spec(&everything());
    changed["users"] = json!([{"name": "ci", "type": "token"}, {"name": "next", "type": "token"}]);
    let patch =
        json!({"subjects": [{"apiGroup": "rbac.authorization.k8s.io", "kind": "User", "name": "earlier"}]});
    server(&world, |server| server.edit_as("person", &before.kind, &before.key, &patch).unwrap());
    world.put(changed).await;
    world.apply().await;
    assert!(is_let(&world).await);
    assert_eq!(subjects(&own_binding(&world).unwrap()), subjects(&before));
    running.shutdown().await;
}

#[tokio::test(start_paused = true)]
async fn without_the_role_for_namespaces_the_preflight_prints_it_and_no_token_is_made() {
    let world = World::new(1).await;
    let needs = Needs::of_level(Level::Standard);
    confine_without_namespaces(&world, needs.accesses()).await;
    let cluster = world.deployment.clusters().connect(&cluster_id(1)).await.unwrap();
    let (call, clock) = (world.deployment.call(), world.deployment.clock());
    let findings = preflight::check(&*cluster, &call, &needs, &**clock).await.unwrap();
    assert_eq!(findings.missing, []);
    assert_eq!(Some(findings.missing_in_namespaces.clone()), preflight::namespace_role().rules);
    assert!(!findings.is_ready());
    let running = world.deployment.engine(Acquire::All);
    assert!(!lives(&world, &everything()).await);
    running.shutdown().await;
}

#[tokio::test(start_paused = true)]
async fn an_administrator_needs_neither_the_role_for_namespaces_nor_a_binding() {
    let world = World::new(1).await;
    let cluster = world.deployment.clusters().connect(&cluster_id(1)).await.unwrap();
    let (call, clock) = (world.deployment.call(), world.deployment.clock());
    let needs = Needs::of_level(Level::Standard);
    let findings = preflight::check(&*cluster, &call, &needs, &**clock).await.unwrap();
    assert!(findings.is_ready(), "{findings:?}");
    let running = world.deployment.engine(Acquire::All);
    world.put(spec(&everything())).await;
    world.apply().await;
    assert!(is_let(&world).await);
    assert!(own_binding(&world).is_none());
    running.shutdown().await;
}
