//! What is asked for while something goes wrong, and what there is in the end.

use std::collections::BTreeSet;
use std::ops::RangeInclusive;
use std::time::Duration;

use dcm_core::app_context::{AppContext, Existing, Step};
use dcm_core::manifest::Manifest;
use dcm_core::port::synchronizer::{Condition, Disposal, Error, Removal, STOP_LIMIT, Synchronizer as _};
use dcm_core::status::{Progress, Reason};
use dcm_sync::engine::{Engine, Options};
use dcm_sync::planning::{Planner, Rehearsing};
use dcm_sync::sim::{Link, cluster_id};
use serde_json::{Value, json};

use crate::fixture::*;

/// Who writes on clusters beside us.
const SOMEBODY: &str = "kubectl-edit";

/// How long is waited for what need not come: it is there already after a mishap.
const A_WHILE: Duration = Duration::from_secs(20);

/// How much longer requests take where they are to be met under way: long enough to be seen.
const ON_THE_WAY: Duration = Duration::from_millis(500);

/// What a workflow asks for. It is asked for again after a death, as a user would.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Workflow {
    BringAbout,
    Change,
    /// Changed as it was planned then; planned again where something is not so any more.
    ChangeAsPlanned,
    Remove,
    /// Brought about, and given up in the middle.
    GiveUp,
    /// Something that is there already is taken over.
    Adopt,
    /// What was taken over is given back, and all else is removed.
    GiveBack,
    /// Removed, and all objects stay.
    Keep,
    /// Removed, and RoleBindings of other clients are removed from the namespaces that are kept.
    Unbind,
    /// An app context is stopped, and goes on.
    StopContext,
    /// A cluster is stopped, and goes on.
    StopCluster,
    /// What somebody else changed and deleted is brought back.
    Correct,
    /// The store is an old copy, and is said to be right.
    Reconcile,
    /// A cluster is another one than before, and is accepted.
    AcceptCluster,
    /// A cluster that was abandoned is there again.
    Bury,
}

impl Workflow {
    /// What is there before.
    pub async fn prepare(self) -> World {
        let world = World::new(3);
        match self {
            Self::BringAbout | Self::GiveUp => {}
            Self::Change | Self::ChangeAsPlanned | Self::Remove | Self::Keep => {
                bring_about(&world, &context(steps(), 1..=2)).await;
            }
            Self::Unbind => {
                bring_about(&world, &context(steps(), 1..=2)).await;
                bind(&world);
            }
            Self::StopContext | Self::StopCluster => {
                bring_about(&world, &context(steps(), 1..=2)).await;
                slow_down(&world);
            }
            Self::Adopt => furnish(&world),
            Self::GiveBack => {
                furnish(&world);
                bring_about(&world, &with_adopted()).await;
            }
            Self::Correct => {
                bring_about(&world, &context(steps(), 1..=2)).await;
                meddle(&world);
            }
            Self::Reconcile => {
                bring_about(&world, &context(steps(), 1..=2)).await;
                let copy = world.copy().await;
                bring_about(&world, &context(changed_steps(), 1..=2)).await;
                return world.restored(&copy).await;
            }
            Self::AcceptCluster => {
                bring_about(&world, &context(steps(), 1..=2)).await;
                return world.with_other_clusters();
            }
            Self::Bury => abandon(&world).await,
        }
        world
    }

    /// What is asked for after the mishap.
    pub fn then(self) -> Self {
        match self {
            Self::GiveUp => Self::Remove,
            other => other,
        }
    }

    /// How whoever finishes the work runs: as a command, which waits for its own changes alone; where what is stored is no
    /// change of its own, as one that serves.
    pub fn options(self) -> Options {
        match self {
            Self::Correct | Self::Reconcile | Self::AcceptCluster | Self::Bury => Options::default(),
            _ => one_shot(),
        }
    }

    pub async fn ask(self, engine: &Engine, world: &World) {
        if let Err(error) = self.ask_once(engine, world).await {
            assert!(error.is_retryable(), "{error:?}");
            self.ask_once(engine, world).await.unwrap();
        }
    }

    async fn ask_once(self, engine: &Engine, world: &World) -> Result<(), Error> {
        let (contexts, id) = (engine.contexts(), context_id());
        match self {
            Self::BringAbout | Self::GiveUp => {
                contexts.apply(&context(steps(), 1..=2)).await?;
            }
            Self::Change => {
                contexts.apply(&context(changed_steps(), 2..=3)).await?;
            }
            Self::ChangeAsPlanned => change_as_planned(engine, world).await?,
            Self::Remove | Self::GiveBack => {
                contexts.remove(&id, Removal::default()).await?;
            }
            Self::Adopt => {
                contexts.apply(&with_adopted()).await?;
            }
            Self::Keep => {
                contexts.remove(&id, Removal { objects: Some(Disposal::Keep), ..Removal::default() }).await?;
            }
            Self::Unbind => {
                contexts.remove(&id, Removal { remove_others_bindings: true, ..Removal::default() }).await?;
            }
            Self::StopContext => {
                change_midway(engine, world).await?;
                contexts.stop(&id, STOP_LIMIT).await?;
                stands_still(world, 1..=2).await;
                contexts.resume(&id).await?;
            }
            Self::StopCluster => {
                change_midway(engine, world).await?;
                contexts.stop_cluster(&cluster_id(1), STOP_LIMIT).await?;
                stands_still(world, 1..=1).await;
                contexts.resume_cluster(&cluster_id(1)).await?;
            }
            Self::Correct => {
                contexts.apply(&context(steps(), 1..=2)).await?;
            }
            Self::Reconcile => {
                hindered(engine, Reason::StoreBehind).await;
                contexts.reconcile(&id).await?;
            }
            Self::AcceptCluster => {
                contexts.apply(&context(steps(), 1..=2)).await?;
                hindered(engine, Reason::ClusterChanged).await;
                for number in 1..=2 {
                    contexts.accept_cluster(&cluster_id(number), &world.uid(number)).await?;
                }
            }
            Self::Bury => {}
        }
        Ok(())
    }

    /// Waits until it is done.
    pub async fn finish(self, engine: &Engine, world: &World) {
        if self == Self::Bury {
            let is_buried = async {
                while !engine.contexts().tombstones(&cluster_id(2)).await.unwrap().is_empty() {
                    tokio::time::sleep(LOOK_AGAIN).await;
                }
            };
            return tokio::time::timeout(SOON, is_buried).await.unwrap();
        }
        if matches!(self, Self::Reconcile | Self::Correct) {
            return until_so(|| (1..=2).all(|number| is_as_before(world, number))).await;
        }
        if self == Self::ChangeAsPlanned {
            return tokio::time::timeout(SOON, planned_until_done(engine, world)).await.unwrap();
        }
        done(engine, &context_id()).await;
    }

    /// Where something is at the end.
    pub fn clusters(self) -> BTreeSet<usize> {
        match self {
            Self::Change | Self::ChangeAsPlanned => [2, 3].into(),
            Self::Remove | Self::GiveUp | Self::GiveBack | Self::Keep | Self::Unbind | Self::Bury => {
                BTreeSet::new()
            }
            _ => [1, 2].into(),
        }
    }

    /// How many objects are there of ours, where there are any.
    pub fn expected(self) -> usize {
        match self {
            Self::Change | Self::ChangeAsPlanned | Self::StopContext | Self::StopCluster => 4,
            Self::Adopt => 2,
            _ => 5,
        }
    }

    /// Fewer calls that change something would mean that some were missed: of a session, shards, roots, lanes and objects.
    pub fn calls_min(self) -> i64 {
        match self {
            Self::Bury => 4,
            Self::Correct | Self::Reconcile => 8,
            _ => 16,
        }
    }

    /// What else there is in the end.
    pub fn check(self, world: &World, case: &str) {
        let is_there = |number: usize, name: &str| {
            let (kind, key) = namespace(name);
            world.body(number, &kind, &key).is_some()
        };
        let theirs = |number: usize| {
            let (kind, key) = config_map("default", "shared");
            world.body(number, &kind, &key).map(|body| body["data"].clone())
        };
        match self {
            Self::Keep => assert!(is_there(1, "team") && is_there(2, "team"), "{case}"),
            Self::Unbind => {
                for number in 1..=2 {
                    assert!(is_there(number, "team"), "{case}");
                    assert_eq!(bound_in_team(world, number), [("held".to_owned(), 0)].into(), "{case}");
                }
            }
            Self::Adopt => assert_eq!(theirs(1), Some(json!({"theirs": "1", "ours": "1"})), "{case}"),
            Self::GiveBack => assert_eq!(theirs(1), Some(json!({"theirs": "1"})), "{case}"),
            _ => {}
        }
    }
}

/// A quota key and a verb less.
fn changed_steps() -> Vec<Step> {
    let mut steps = steps();
    steps[1] = apply(1, quota_body(&json!({"pods": "10"})));
    steps[2] = apply(1, role_body("reader", &["get"]));
    steps.remove(3);
    steps
}

/// Looks at all clusters, and applies what was planned then; once more where another apply was quicker.
async fn change_as_planned(engine: &Engine, world: &World) -> Result<(), Error> {
    let contexts = engine.contexts();
    let planner = Planner::new(contexts.clone(), world.fleet.clone(), Options::default().owner);
    loop {
        let planned = planner.plan_one(context(changed_steps(), 2..=3), Rehearsing::Nothing).await?;
        match contexts.apply_on(&planned.context, &Condition::AsPlanned(planned.state())).await {
            Err(Error::Stale { .. }) => {}
            applied => return applied.map(drop),
        }
    }
}

/// Plans again where a cluster is not as it was, until all is done.
async fn planned_until_done(engine: &Engine, world: &World) {
    loop {
        let status = engine.contexts().wait_until_done(&context_id()).await.unwrap();
        if status.progress == Progress::Done {
            return;
        }
        let mut causes = status.lanes.values().filter_map(|lane| lane.cause.as_ref());
        assert!(causes.all(|cause| cause.reason == Reason::PlanStale), "{status:#?}");
        Workflow::ChangeAsPlanned.ask(engine, world).await;
    }
}

fn shared(data: &Value) -> Value {
    let metadata = json!({"name": "shared", "namespace": "default"});
    json!({"apiVersion": "v1", "kind": "ConfigMap", "metadata": metadata, "data": data})
}

fn with_adopted() -> AppContext {
    let adopted = apply_or(1, shared(&json!({"ours": "1"})), Existing::Adopt);
    context(vec![apply(0, namespace_body("team")), adopted], 1..=2)
}

/// Somebody made what is to be adopted.
fn furnish(world: &World) {
    let (kind, key) = config_map("default", "shared");
    for number in 1..=2 {
        let cluster = world.fleet.cluster(&cluster_id(number)).unwrap();
        let body = shared(&json!({"theirs": "1"}));
        cluster.server(|server| server.create_as(SOMEBODY, &kind, &key, &body)).unwrap();
    }
}

/// Another client makes RoleBindings; a finalizer holds one of them.
fn bind(world: &World) {
    for (number, finalizers) in
        [(1, None), (2, None), (1, Some("example.org/hold")), (2, Some("example.org/hold"))]
    {
        let name = if finalizers.is_some() { "held" } else { "theirs" };
        let binding = manifest(binding_in_team(name, finalizers.as_slice()));
        let cluster = world.fleet.cluster(&cluster_id(number)).unwrap();
        let (kind, key, body) = (binding.kind(), binding.key(), binding.body());
        cluster.server(|server| server.create_as(SOMEBODY, kind, key, body)).unwrap();
    }
}

/// Somebody takes rights, and deletes a quota.
fn meddle(world: &World) {
    let (role, quota) = (manifest(role_body("reader", &[])), manifest(quota_body(&json!({}))));
    let of = |number: usize| world.fleet.cluster(&cluster_id(number)).unwrap();
    of(1).server(|server| server.edit_as(SOMEBODY, role.kind(), role.key(), &json!({"rules": []}))).unwrap();
    of(2).server(|server| server.delete_as_other(quota.kind(), quota.key())).unwrap();
}

/// True when rights and quota are as they were brought about at first.
fn is_as_before(world: &World, number: usize) -> bool {
    let (role, quota) = (manifest(role_body("reader", &[])), manifest(quota_body(&json!({}))));
    let body = |of: &Manifest| world.body(number, of.kind(), of.key()).unwrap_or_default();
    body(&role)["rules"][0]["verbs"] == json!(["get", "list"])
        && body(&quota)["spec"]["hard"] == json!({"pods": "10", "requests.cpu": "4"})
}

fn manifest(body: Value) -> Manifest {
    Manifest::new(body).unwrap()
}

/// Requests take long enough to be met under way.
fn slow_down(world: &World) {
    for id in world.fleet.ids() {
        world.fleet.cluster(id).unwrap().set_link(Link::Delay(ON_THE_WAY));
    }
}

/// Asks for a change, and waits until it is under way.
async fn change_midway(engine: &Engine, world: &World) -> Result<(), Error> {
    let before = world.writes();
    engine.contexts().apply(&context(changed_steps(), 1..=2)).await?;
    begun(world, before).await;
    Ok(())
}

/// Waits until clusters have heard of more writes than before, whose answers are on their way; not for ever, since all may be
/// done already.
pub async fn begun(world: &World, before: u64) {
    let _ = tokio::time::timeout(A_WHILE, until_so(|| world.writes() > before)).await;
}

/// Nothing more is written to clusters.
async fn stands_still(world: &World, numbers: RangeInclusive<usize>) {
    let writes = |number| {
        let cluster = world.fleet.cluster(&cluster_id(number)).unwrap();
        cluster.server(|server| server.requests().writes())
    };
    let count = || numbers.clone().map(writes).sum::<u64>();
    let before = count();
    tokio::time::sleep(4 * ON_THE_WAY).await;
    assert_eq!(count(), before, "it was stopped");
}

async fn bring_about(world: &World, wanted: &AppContext) {
    let engine = world.engine();
    engine.contexts().apply(wanted).await.unwrap();
    done(&engine, &context_id()).await;
    tidied(&engine).await;
    engine.shutdown().await;
}

/// Leaves something behind on a cluster that could not be reached in time, and can be now.
async fn abandon(world: &World) {
    bring_about(world, &context(steps(), 1..=2)).await;
    let cluster = world.fleet.cluster(&cluster_id(2)).unwrap();
    cluster.set_link(Link::Cut);
    let engine = world.engine();
    let removal = Removal { deadline_seconds: Some(10), ..Removal::default() };
    engine.contexts().remove(&context_id(), removal).await.unwrap();
    until(&engine, |status| status.progress == Progress::Done).await;
    engine.shutdown().await;
    cluster.set_link(Link::Up);
}

/// Waits until a cluster is hindered for this reason; not for ever, since it may not be any more.
async fn hindered(engine: &Engine, reason: Reason) {
    let is_so = async {
        loop {
            let status = engine.contexts().status(&context_id()).await.ok().flatten();
            let mut lanes = status.iter().flat_map(|status| status.lanes.values());
            if lanes.any(|lane| lane.cause.as_ref().is_some_and(|cause| cause.reason == reason)) {
                return;
            }
            tokio::time::sleep(LOOK_AGAIN).await;
        }
    };
    let _ = tokio::time::timeout(A_WHILE, is_so).await;
}
