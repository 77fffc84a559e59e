//! A process is killed at points of its work, on a real API server and with the store on a disk: before and after
//! each request that changes something, and each commit. The next process finishes it.
//!
//! By default it is killed at a point of each kind and at some more, the same in each run; with `DCM_PROVE=all` at each point, and with
//! `DCM_PROVE_KILLED=40` at so many.
#![allow(clippy::unwrap_used, reason = "a test fails by it")]

mod backends;
mod doomed;
mod fate;
mod life;
mod places;
mod ports;
mod proof;
mod sweep;

use std::collections::{BTreeMap, BTreeSet};

use doomed::{Task, Work};
use fate::Others;
use life::Life;
use proof::{everything_of, is_alive, issued, owned};
use sweep::{Sweep, Swept, side_by_side};

/// What has to be among the requests of an apply.
const MADE: [&str; 10] = [
    "create Namespace",
    "create ResourceQuota",
    "create LimitRange",
    "create ServiceAccount",
    "create Role",
    "create RoleBinding",
    "create CertificateSigningRequest",
    "approve",
    "delete CertificateSigningRequest",
    ports::TOKEN_REQUEST,
];

/// What has to be among the requests of a termination.
const UNMADE: [&str; 6] = [
    "delete Namespace",
    "delete ResourceQuota",
    "delete LimitRange",
    "delete ServiceAccount",
    "delete Role",
    "delete RoleBinding",
];

/// Documents that an apply commits.
const WRITTEN: [&str; 14] = [
    "projects",
    "logical-clouds",
    "parts",
    "snapshots",
    "credentials",
    "context-owners",
    "manifests",
    "claims",
    "contexts",
    "lanes done",
    "results certificate",
    "results token",
    "shards",
    "workers",
];

/// Documents that a termination commits.
const UNWRITTEN: [&str; 7] =
    ["logical-clouds", "contexts", "lanes removing", "lanes removed", "claims", "shards", "workers"];

#[tokio::test(flavor = "multi_thread")]
async fn an_apply_that_is_killed_at_any_point_is_finished_by_the_next_process() {
    if let Some(task) = Task::of_this_process() {
        return task.run().await;
    }
    let test = "an_apply_that_is_killed_at_any_point_is_finished_by_the_next_process";
    let sweep = Sweep::new(test, "apply", Work::Apply, Others::CutOff).await;
    let Swept { lives, points, .. } = sweep.run(|life| life.finish(Work::Apply));
    assert_has(&points, &MADE, &WRITTEN);
    assert_has_just(&sweep, &lives, everything_of);
    for life in &lives {
        life.kubeconfig("ann");
        let handed_out = life.kubeconfig("ci");
        for token in &life.lost_tokens {
            assert!(knows(&sweep, token, life) && !handed_out.contains(token.as_str()), "{:?}", life.killed);
        }
    }
    let lost = format!("after {}", ports::TOKEN_REQUEST);
    let died_with_one = lives.iter().filter(|life| life.killed.as_ref() == Some(&lost)).count();
    assert_eq!(died_with_one, 1, "a life dies with a token that it did not store");
    assert_eq!(lives.iter().map(|life| life.lost_tokens.len()).sum::<usize>(), died_with_one);

    side_by_side(lives.iter().collect(), |life| life.finish(Work::Terminate));
    assert_nothing_is_left(&sweep, &lives);
    assert_issued_once(&sweep, &lives, 1);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_termination_that_is_killed_at_any_point_is_finished_by_the_next_process() {
    if let Some(task) = Task::of_this_process() {
        return task.run().await;
    }
    let test = "a_termination_that_is_killed_at_any_point_is_finished_by_the_next_process";
    let sweep = Sweep::new(test, "end", Work::Terminate, Others::CutOff).await;
    let Swept { lives, points, .. } = sweep.run(|life| life.finish(Work::Terminate));
    assert_has(&points, &UNMADE, &UNWRITTEN);
    assert_nothing_is_left(&sweep, &lives);
    assert_issued_once(&sweep, &lives, 1);
}

#[tokio::test(flavor = "multi_thread")]
async fn an_apply_that_is_killed_at_any_point_and_given_up_leaves_nothing() {
    if let Some(task) = Task::of_this_process() {
        return task.run().await;
    }
    let test = "an_apply_that_is_killed_at_any_point_and_given_up_leaves_nothing";
    let sweep = Sweep::new(test, "given-up", Work::Apply, Others::TakeEffect).await;
    let Swept { lives, points, .. } = sweep.run(Life::give_up);
    assert_has(&points, &MADE, &WRITTEN);
    lives[0].give_up();
    assert_nothing_is_left(&sweep, &lives);
    assert_issued_once(&sweep, &lives, 0);
}

/// Each step and each document has points before and after it.
fn assert_has(points: &BTreeSet<String>, steps: &[&str], documents: &[&str]) {
    for when in ["before", "after"] {
        for step in steps {
            assert!(points.contains(&format!("{when} {step}")), "nothing {when} {step}: {points:#?}");
        }
        let commits: Vec<&String> =
            points.iter().filter(|point| point.starts_with(&format!("{when} commit"))).collect();
        for document in documents {
            let is_there = commits.iter().any(|point| point.contains(document));
            assert!(is_there, "nothing {when} a commit of {document}: {points:#?}");
        }
    }
}

/// Each cloud of a sweep has these things on the cluster, and no others.
fn assert_has_just(sweep: &Sweep, lives: &[Life], expected: impl Fn(&str) -> BTreeSet<String>) {
    let mut owned = owned(sweep.cluster());
    owned.retain(|cloud, _| sweep.has(cloud));
    for life in lives {
        let present = owned.remove(&life.cloud).unwrap_or_default();
        assert_eq!(present, expected(&life.cloud), "killed {:?}", life.killed);
    }
    assert_eq!(owned, BTreeMap::new());
}

fn knows(sweep: &Sweep, token: &str, life: &Life) -> bool {
    is_alive(token, &sweep.environment, sweep.cluster(), life.home())
}

/// Nothing is on the cluster, and no token that a dead process got lives on.
fn assert_nothing_is_left(sweep: &Sweep, lives: &[Life]) {
    assert_has_just(sweep, lives, |_| BTreeSet::new());
    for life in lives {
        assert!(life.lost_tokens.iter().all(|token| !knows(sweep, token, life)), "killed {:?}", life.killed);
    }
}

/// No certificate was approved or signed twice, and beside those that are kept there is one token at most.
fn assert_issued_once(sweep: &Sweep, lives: &[Life], kept: usize) {
    let mut clouds = issued(sweep.cluster());
    for life in lives {
        let issued = clouds.remove(&life.cloud).unwrap_or_default();
        let counts = (kept..=1).contains(&issued.signed.len()) && issued.approved.len() <= 1;
        let tokens = (kept..=kept + 1).contains(&issued.tokens);
        assert!(counts && tokens, "killed {:?}: {issued:?}", life.killed);
    }
}
