//! Every write of every call fails once, in each way a write can fail, and the call is made again: the end is the same
//! as without, and nothing is left over.

use std::collections::BTreeMap;

use dcm_core::logical_cloud::{LogicalCloud, MetadataDraft};
use dcm_core::port::synchronizer::STOP_LIMIT;
use dcm_core::service::{Error, PartName};
use dcm_store::memory::Fault;
use serde_json::{Value, json};

use crate::support::{World, cluster, draft, name, permission, registration, user};

/// One call of a scenario.
#[derive(Debug, Clone, Copy)]
enum Call {
    PutProject,
    AddClusters,
    Put,
    Edit,
    DeleteUser,
    Apply,
    Terminate,
    Stop,
    Resume,
    Relabel,
    Delete,
    RemoveCluster,
    DeleteProject,
    /// The engine does its work.
    Finish,
    /// The documents are compared with those of the undisturbed run.
    Compare,
}

/// A whole life, with each call at least once. What is left of a failed clean-up the next call removes, so each
/// comparison comes after a repeated call.
const LIFE: [Call; 38] = {
    use Call::*;
    [
        PutProject,
        AddClusters,
        Put,
        Put,
        Compare,
        Apply,
        Apply,
        Compare,
        Finish, //
        Edit,
        DeleteUser,
        Apply,
        Stop,
        Resume,
        Apply,
        Compare,
        Finish,
        Relabel, //
        Put,
        Put,
        Apply,
        Apply,
        Finish,
        Terminate,
        Compare,
        Finish,
        Apply,
        Apply,
        Compare, //
        Terminate,
        Finish,
        Delete,
        Compare,
        Put,
        Delete,
        RemoveCluster,
        DeleteProject,
        Compare,
    ]
};

/// A small cloud: each of its documents is a write that fails.
fn first() -> Value {
    let mut first = draft();
    for part in ["labels", "quotas", "keyValues", "manifests"] {
        first["spec"].as_object_mut().unwrap().remove(part);
    }
    first
}

fn edited() -> Value {
    let mut edited = first();
    edited["spec"]["users"] = json!([user("bot"), user("eve"), user("zoe")]);
    edited["spec"]["permissions"] = json!([permission("other")]);
    edited["spec"]["clusters"][1]["cluster"] = "three".into();
    edited
}

async fn call(world: &World, call: Call) -> Result<(), Error> {
    let (clouds, caller, project, shop) = (&world.clouds, &world.caller, &world.project, &name("shop"));
    match call {
        Call::PutProject => {
            let project = MetadataDraft { name: "retail".into(), ..MetadataDraft::default() };
            world.projects.put(caller, project).await.map(drop)
        }
        Call::AddClusters => {
            for name in ["one", "two", "three"] {
                world.clusters.add(caller, registration(name, &[("tier", "edge")])).await?;
            }
            Ok(())
        }
        Call::Put => world.put(first()).await.map(drop),
        Call::Edit => world.put(edited()).await.map(drop),
        Call::DeleteUser => {
            match clouds.delete_part(caller, project, shop, &PartName::User(name("zoe"))).await {
                // The failed try did it, and could not say so.
                Err(Error::NotFound { .. }) if world.store.has_failed() => Ok(()),
                other => other.map(drop),
            }
        }
        Call::Apply => world.apply("shop").await.map(drop),
        Call::Terminate => world.terminate("shop").await,
        Call::Stop => clouds.stop(caller, project, shop, STOP_LIMIT).await,
        Call::Resume => clouds.resume(caller, project, shop).await,
        Call::Relabel => {
            let labels = [("tier".to_owned(), "core".to_owned())].into();
            world.clusters.replace_labels(caller, &cluster("one"), labels).await.map(drop)
        }
        Call::Delete => gone(world.delete("shop").await, world),
        Call::RemoveCluster => gone(
            world.clusters.remove(&world.caller, &cluster("two"), Default::default()).await.map(drop),
            world,
        ),
        Call::DeleteProject => gone(world.projects.delete(caller, project).await, world),
        Call::Finish | Call::Compare => Ok(()),
    }
}

/// After a failure, what is to be deleted may be gone.
fn gone(deleted: Result<(), Error>, world: &World) -> Result<(), Error> {
    match deleted {
        Err(Error::NotFound { .. }) if world.store.has_failed() => Ok(()),
        other => other,
    }
}

/// What a reader sees after a failure is a whole cloud, before or after the call that failed, or none.
async fn check_readable(world: &World, clouds: &[LogicalCloud]) {
    match world.clouds.get(&world.project, &name("shop")).await {
        Ok(read) => assert!(clouds.contains(&read.cloud), "a cloud that nobody wrote: {:?}", read.cloud),
        Err(Error::NotFound { .. }) => return,
        Err(error) => panic!("a cloud can't be read: {error}"),
    }
    world.clouds.status(&world.project, &name("shop")).await.unwrap();
}

/// The clouds that the scenario writes.
fn written(world: &World) -> Vec<LogicalCloud> {
    let mut without = edited();
    without["spec"]["users"].as_array_mut().unwrap().pop();
    let cloud = |draft: Value| {
        let uid = "0000000000000001".parse().unwrap();
        LogicalCloud::new(world.project.clone(), uid, serde_json::from_value(draft).unwrap()).unwrap().0
    };
    [first(), edited(), without].map(cloud).into()
}

/// What is compared: all documents, without what is random, and what the engine has.
type Outcome = (BTreeMap<String, Value>, Vec<String>);

async fn outcome(world: &World) -> Outcome {
    let mut documents = world.documents().await;
    documents.values_mut().for_each(mask);
    let engine = world.engine.held().into_values().map(|held| {
        let requests: Vec<_> =
            held.context.placements.keys().map(|cluster| names(&held.requests(cluster))).collect();
        format!("{:?} {:?} {:?} {requests:?} {:?}", held.intent, held.paused, held.clusters(), held.objects())
    });
    (documents, engine.collect())
}

fn names<T>(requests: &[(std::sync::Arc<str>, T)]) -> Vec<String> {
    requests.iter().map(|(name, _)| name.to_string()).collect()
}

/// Keys and the requests made with them are random.
fn mask(value: &mut Value) {
    match value {
        Value::Object(members) => {
            for (member, value) in members {
                if matches!(&**member, "$secret" | "request") {
                    *value = Value::Null;
                } else {
                    mask(value);
                }
            }
        }
        Value::Array(items) => items.iter_mut().for_each(mask),
        _ => {}
    }
}

/// Runs the scenario; each call that fails is made again, at most three times.
async fn live(world: &World) -> Vec<Outcome> {
    world.random.freeze();
    let clouds = written(world);
    let mut outcomes = Vec::new();
    for (index, step) in LIFE.into_iter().enumerate() {
        let mut tries = 0;
        while let Err(error) = call(world, step).await {
            world.store.start_again();
            assert!(error.is_retryable(), "call {index}, {step:?}: {error}");
            check_readable(world, &clouds).await;
            tries += 1;
            assert!(tries < 3, "call {index}, {step:?} does not recover: {error}");
        }
        match step {
            Call::Finish => world.engine.finish(),
            Call::Compare => outcomes.push(outcome(world).await),
            _ => {}
        }
        world.store.start_again();
    }
    outcomes
}

async fn fails_at_each_write(atomic_batches: bool, fault: Fault, dies: bool) {
    let undisturbed = live(&World::empty(atomic_batches)).await;
    let last = undisturbed.last().unwrap();
    let left: Vec<&String> = last.0.keys().collect();
    assert_eq!(left, ["clusters/sim/one", "clusters/sim/three"], "nothing of the cloud is left over");
    for writes in 0.. {
        let world = World::empty(atomic_batches);
        world.store.fail_after(writes, fault, dies);
        let outcomes = live(&world).await;
        if !world.store.has_failed() {
            assert!(writes > 30, "the scenario has more than {writes} writes");
            return;
        }
        for (index, (outcome, expected)) in outcomes.iter().zip(&undisturbed).enumerate() {
            let place = format!("write {writes}, comparison {index}");
            assert!(outcome.0.keys().eq(expected.0.keys()), "{place}: {:?}", outcome.0.keys());
            assert_eq!(outcome, expected, "{place}");
        }
    }
}

#[tokio::test]
async fn a_process_that_dies_at_any_write_of_a_batch_leaves_what_repeating_finishes() {
    fails_at_each_write(false, Fault::NotWritten, true).await;
}

#[tokio::test]
async fn a_process_that_dies_right_after_any_write_of_a_batch_leaves_what_repeating_finishes() {
    fails_at_each_write(false, Fault::Unanswered, true).await;
}

#[tokio::test]
async fn a_process_that_dies_at_any_atomic_batch_leaves_what_repeating_finishes() {
    fails_at_each_write(true, Fault::NotWritten, true).await;
}

#[tokio::test]
async fn a_store_that_fails_once_at_any_write_leaves_what_repeating_finishes() {
    fails_at_each_write(false, Fault::NotWritten, false).await;
    fails_at_each_write(false, Fault::Unanswered, false).await;
}
