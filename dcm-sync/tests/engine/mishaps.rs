//! At each call that changes something, the process dies (before it, and after it) or the call fails (without and with
//! its effect): another process, which ends when its work is done, finishes the work.

use std::collections::BTreeSet;
use std::sync::Arc;
use std::time::Duration;

use dcm_core::app_context::AppContext;
use dcm_core::port::cluster::Clusters;
use dcm_core::port::synchronizer::{Removal, Synchronizer as _};
use dcm_sync::engine::{Engine, Options};
use dcm_sync::sim::{Verb, cluster_id};
use dcm_sync::tap::Tapped;
use serde_json::json;

use crate::fixture::*;
use crate::mortal::{Life, Mishap};

/// More calls than any workflow here makes: the sweep has to end by itself before.
const CALLS_MAX: i64 = 300;

/// What a workflow asks for. It is asked for again after a death, as a user would.
#[derive(Debug, Clone, Copy)]
enum Workflow {
    BringAbout,
    Change,
    Remove,
    /// Brought about, and given up in the middle.
    GiveUp,
}

impl Workflow {
    /// What is asked for after the mishap.
    fn then(self) -> Self {
        match self {
            Self::GiveUp => Self::Remove,
            other => other,
        }
    }

    async fn ask(self, engine: &Engine) {
        let contexts = engine.contexts();
        let ask = async || match self {
            Self::BringAbout | Self::GiveUp => contexts.apply(&context(steps(), 1..=2)).await,
            Self::Change => contexts.apply(&changed()).await,
            Self::Remove => contexts.remove(&context_id(), Removal::default()).await,
        };
        if let Err(error) = ask().await {
            assert!(error.is_retryable(), "{error:?}");
            ask().await.unwrap();
        }
    }

    /// Where something is at the end.
    fn clusters(self) -> BTreeSet<usize> {
        match self {
            Self::BringAbout => [1, 2].into(),
            Self::Change => [2, 3].into(),
            Self::Remove | Self::GiveUp => BTreeSet::new(),
        }
    }

    fn expected(self) -> usize {
        match self {
            Self::BringAbout => 5,
            Self::Change => 4,
            Self::Remove | Self::GiveUp => 0,
        }
    }
}

/// A quota key, a verb and a role less, and a cluster less and one more.
fn changed() -> AppContext {
    let mut steps = steps();
    steps[1] = apply(1, quota_body(&json!({"pods": "10"})));
    steps[2] = apply(1, role_body("reader", &["get"]));
    steps.remove(3);
    context(steps, 2..=3)
}

/// Runs a workflow in which one call goes wrong. False when it had fewer calls.
async fn go_wrong_at(call: i64, mishap: Mishap, workflow: Workflow) -> bool {
    let world = World::new(3);
    if matches!(workflow, Workflow::Change | Workflow::Remove) {
        let first = world.engine();
        Workflow::BringAbout.ask(&first).await;
        done(&first, &context_id()).await;
        first.shutdown().await;
    }
    let life = Life::new(call, mishap);
    let clusters: Arc<dyn Clusters> = world.fleet.clone();
    let store = Arc::new(Tapped::new(world.store.clone(), life.clone()));
    let builder = Engine::builder(store, Arc::new(Tapped::new(clusters, life.clone())));
    let (doomed, run) = builder.options(Options::default()).build(world.clock.clone(), &Counted(1000.into()));
    let task = tokio::spawn(run);
    let asked = tokio::time::timeout(SOON, async {
        workflow.ask(&doomed).await;
        done(&doomed, &context_id()).await;
    });
    let death = async {
        while !(life.is_over() && mishap.is_death()) {
            tokio::time::sleep(Duration::from_millis(1)).await;
        }
    };
    tokio::select! {
        result = asked => result.unwrap(),
        () = death => {}
    }
    task.abort();
    let second = world.engine_with(one_shot());
    if matches!(workflow, Workflow::GiveUp)
        && second.contexts().status(&context_id()).await.unwrap().is_none()
    {
        return life.is_over();
    }
    workflow.then().ask(&second).await;
    done(&second, &context_id()).await;
    tidied(&second).await;
    if workflow.clusters().is_empty() {
        second.contexts().forget(&context_id()).await.unwrap();
    }
    second.shutdown().await;
    tokio::time::sleep(SOON).await;
    check(&world, workflow, &format!("{workflow:?}, {mishap:?} at call {call}")).await;
    life.is_over()
}

/// Everything desired is there, nothing else is, nothing else is claimed, and no certificate was approved twice.
async fn check(world: &World, workflow: Workflow, case: &str) {
    let clusters = workflow.clusters();
    let claimed: BTreeSet<String> = clusters.iter().map(|number| cluster_id(*number).to_string()).collect();
    assert_eq!(world.claimed("team").await, claimed, "{case}");
    for number in 1..=3 {
        let expected = if clusters.contains(&number) { workflow.expected() } else { 0 };
        assert_eq!(world.owned(number).len(), expected, "{case}: {:?}", world.owned(number));
        let cluster = world.fleet.cluster(&cluster_id(number)).unwrap();
        let approvals = cluster.server(|server| {
            let lines = server.requests().lines();
            lines.filter(|line| line.verb == Verb::Approve && line.error.is_none()).count()
        });
        assert!(approvals <= 1, "{case}: {approvals} approvals on cluster {number}");
    }
}

async fn sweep(workflow: Workflow) {
    for mishap in [Mishap::DeathBefore, Mishap::DeathAfter, Mishap::FailureBefore, Mishap::FailureAfter] {
        let mut call = 0;
        while go_wrong_at(call, mishap, workflow).await {
            call += 1;
            assert!(call < CALLS_MAX, "the sweep does not end");
        }
        // A session, shards, roots, lanes and objects: fewer would mean that the sweep missed them.
        assert!(call > 15, "{workflow:?}: only {call} calls");
    }
}

#[tokio::test(start_paused = true)]
async fn whatever_goes_wrong_while_bringing_about_is_made_good() {
    sweep(Workflow::BringAbout).await;
}

#[tokio::test(start_paused = true)]
async fn whatever_goes_wrong_in_a_change_is_made_good() {
    sweep(Workflow::Change).await;
}

#[tokio::test(start_paused = true)]
async fn whatever_goes_wrong_in_a_removal_is_made_good() {
    sweep(Workflow::Remove).await;
}

#[tokio::test(start_paused = true)]
async fn whatever_goes_wrong_before_something_is_given_up_leaves_nothing() {
    sweep(Workflow::GiveUp).await;
}
