//! At each call that changes something, the process dies (before it, and after it) or the call fails (without and with
//! its effect): another process finishes the work. And everything is asked for, and sent, twice. The end is the same.

mod workflow;

use std::collections::BTreeSet;
use std::time::Duration;

use dcm_core::port::synchronizer::Synchronizer as _;
use dcm_sync::engine::{Engine, Options};
use dcm_sync::sim::{Faults, Verb, cluster_id};

use crate::fixture::*;
use crate::mortal::{Life, Mishap};
use workflow::{Workflow, begun};

/// More calls than any workflow here makes: the sweep has to end by itself before.
const CALLS_MAX: i64 = 300;

/// Runs a workflow in which one call goes wrong. False when it had fewer calls.
async fn go_wrong_at(call: i64, mishap: Mishap, workflow: Workflow) -> bool {
    let world = workflow.prepare().await;
    let life = Life::new(call, mishap);
    let (doomed, task) = life.engine(&world);
    let asked = tokio::time::timeout(SOON, async {
        workflow.ask(&doomed, &world).await;
        workflow.finish(&doomed, &world).await;
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
    let second = world.engine_with(workflow.options());
    if workflow == Workflow::GiveUp && second.contexts().status(&context_id()).await.unwrap().is_none() {
        return life.is_over();
    }
    workflow.then().ask(&second, &world).await;
    end(&second, &world, workflow, &format!("{workflow:?}, {mishap:?} at call {call}")).await;
    life.is_over()
}

/// Runs a workflow that is asked for twice, and in which each request to a cluster arrives twice.
async fn go_twice(workflow: Workflow) {
    let world = workflow.prepare().await;
    for number in 1..=3 {
        let cluster = world.fleet.cluster(&cluster_id(number)).unwrap();
        cluster.set_faults(Faults { duplicated: 1000, ..Faults::NONE });
    }
    let engine = world.engine_with(Options::default());
    let before = world.writes();
    workflow.ask(&engine, &world).await;
    if workflow.then() != workflow {
        begun(&world, before).await;
    }
    workflow.then().ask(&engine, &world).await;
    end(&engine, &world, workflow, &format!("{workflow:?} twice")).await;
}

/// Waits for the end of a workflow, and looks at it.
async fn end(engine: &Engine, world: &World, workflow: Workflow, case: &str) {
    workflow.then().finish(engine, world).await;
    tidied(engine).await;
    if workflow.clusters().is_empty() {
        engine.contexts().forget(&context_id()).await.unwrap();
    }
    engine.shutdown().await;
    tokio::time::sleep(SOON).await;
    check(world, workflow, case).await;
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
    workflow.check(world, case);
}

/// What is promised of every workflow.
async fn holds(workflow: Workflow) {
    go_twice(workflow).await;
    for mishap in [Mishap::DeathBefore, Mishap::DeathAfter, Mishap::FailureBefore, Mishap::FailureAfter] {
        let mut call = 0;
        while go_wrong_at(call, mishap, workflow).await {
            call += 1;
            assert!(call < CALLS_MAX, "the sweep does not end");
        }
        assert!(call >= workflow.calls_min(), "{workflow:?}: only {call} calls");
    }
}

macro_rules! every_step_fails_once_and_runs_twice {
    ($($when:ident: $workflow:ident,)*) => {
        mod every_step_fails_once_and_runs_twice_when {
            $(
                #[tokio::test(start_paused = true)]
                async fn $when() {
                    super::holds(super::Workflow::$workflow).await;
                }
            )*
        }
    };
}

every_step_fails_once_and_runs_twice! {
    a_context_is_brought_about: BringAbout,
    it_is_changed: Change,
    it_is_changed_as_planned: ChangeAsPlanned,
    it_is_removed: Remove,
    it_is_given_up_in_the_middle: GiveUp,
    something_is_adopted: Adopt,
    what_was_adopted_is_given_back: GiveBack,
    its_objects_are_kept: Keep,
    bindings_of_others_are_removed_from_what_is_kept: Unbind,
    it_is_stopped_and_goes_on: StopContext,
    a_cluster_is_stopped_and_goes_on: StopCluster,
    what_others_did_is_brought_back: Correct,
    an_old_store_is_said_to_be_right: Reconcile,
    another_cluster_is_accepted_in_place_of_one: AcceptCluster,
    what_was_abandoned_is_buried: Bury,
}
