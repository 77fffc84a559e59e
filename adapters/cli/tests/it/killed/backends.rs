//! The same with state on servers: a process is killed at some points of its work. `DCM_PROVE_KILLED=20` has it killed at so many of each,
//! or at all of them where there are fewer.

use dcm_testenv::effort::{budget, leaves_out};

use crate::killed::doomed::{Task, Work};
use crate::killed::fate::Others;
use crate::killed::places::Places;
use crate::killed::proof::everything_of;
use crate::killed::sweep::{Sweep, Swept, side_by_side};
use crate::killed::{assert_has_just, assert_issued_once, assert_nothing_is_left};

/// Deaths of each work with each kind of store, with `DCM_PROVE=all`.
const KILLS: usize = 3;

fn assert_is_killed(swept: &Swept) {
    assert_eq!(swept.lives.iter().filter(|life| life.killed.is_some()).count(), swept.chosen);
}

/// What a test is called, where a doomed process begins, and what its clouds are called.
struct Names {
    test: &'static str,
    applied: &'static str,
    ended: &'static str,
}

async fn is_finished_whenever_it_is_killed(names: Names, places: Places, kills: usize) {
    let applied = Sweep::new(names.test, names.applied, Work::Apply, Others::CutOff).await;
    let applied = applied.kept_in(places.clone(), kills);
    let swept = applied.run(|life| life.finish(Work::Apply));
    assert_is_killed(&swept);
    let lives = swept.lives;
    assert_has_just(&applied, &lives, everything_of);
    for life in &lives {
        assert!(life.kubeconfig("ann").contains("client-certificate-data"));
        assert!(life.kubeconfig("ci").contains("token"));
    }
    side_by_side(lives.iter().collect(), |life| life.finish(Work::Terminate));
    assert_nothing_is_left(&applied, &lives);
    assert_issued_once(&applied, &lives, 1);

    let ended = Sweep::new(names.test, names.ended, Work::Terminate, Others::CutOff).await;
    let ended = ended.kept_in(places, kills);
    let swept = ended.run(|life| life.finish(Work::Terminate));
    assert_is_killed(&swept);
    assert_nothing_is_left(&ended, &swept.lives);
    assert_issued_once(&ended, &swept.lives, 1);
}

#[tokio::test(flavor = "multi_thread")]
async fn work_with_its_state_in_etcd_is_finished_whenever_it_is_killed() {
    if let Some(task) = Task::of_this_process() {
        return task.run().await;
    }
    let test = "backends::work_with_its_state_in_etcd_is_finished_whenever_it_is_killed";
    let names = Names { test, applied: "etcd-apply", ended: "etcd-end" };
    is_finished_whenever_it_is_killed(names, Places::etcd().await, budget("killed", 1, KILLS)).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn work_with_its_state_in_mongodb_is_finished_whenever_it_is_killed() {
    if let Some(task) = Task::of_this_process() {
        return task.run().await;
    }
    let kills = budget("killed", 0, KILLS);
    if kills == 0 {
        leaves_out("work that is killed, on MongoDB alone");
        return;
    }
    let test = "backends::work_with_its_state_in_mongodb_is_finished_whenever_it_is_killed";
    let names = Names { test, applied: "mongodb-apply", ended: "mongodb-end" };
    is_finished_whenever_it_is_killed(names, Places::mongodb().await, kills).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn work_with_documents_in_mongodb_and_contexts_in_etcd_is_finished_whenever_it_is_killed() {
    if let Some(task) = Task::of_this_process() {
        return task.run().await;
    }
    let test =
        "backends::work_with_documents_in_mongodb_and_contexts_in_etcd_is_finished_whenever_it_is_killed";
    let names = Names { test, applied: "both-apply", ended: "both-end" };
    is_finished_whenever_it_is_killed(names, Places::both().await, budget("killed", 1, KILLS)).await;
}
