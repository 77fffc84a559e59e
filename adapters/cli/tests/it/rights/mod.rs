//! An issued credential may do exactly what the document says, on real API servers; and the engine that issues it may
//! do no more than the role that the command prints, under the guard that it prints.
//!
//! [`grid`] makes every request of a matrix, [`evaluator`] says from the document alone which are allowed, [`caller`]
//! sends them with the kubeconfig that `dcm kubeconfig` hands out, [`answer`] reads what came back, and
//! [`matrix`] holds both against each other.
#![allow(clippy::unwrap_used, reason = "a test fails by it")]

mod answer;
mod asked;
mod barrier;
mod caller;
use crate::common;
mod evaluator;
mod grid;
mod matrix;
mod operator;

use std::collections::BTreeSet;

use answer::Answer;
use asked::Asked;
use common::installation::timeout;
use evaluator::Evaluator;
use grid::grid;
use matrix::Matrix;
use operator::Operator;

const SHOP: &str = include_str!("documents/shop.yaml");
const SHOP_CHANGED: &str = include_str!("documents/shop-changed.yaml");
const NEIGHBOUR: &str = include_str!("documents/neighbour.yaml");
const PRIVILEGED: &str = include_str!("documents/privileged.yaml");
const PRIVILEGED_CHANGED: &str = include_str!("documents/privileged-changed.yaml");
const TWIN_A: &str = include_str!("documents/twin-a.yaml");
const TWIN_B: &str = include_str!("documents/twin-b.yaml");
const REVOKED: &str = include_str!("documents/revoked.yaml");

/// Fewer cells than this would prove little.
const CELLS_MIN: usize = 500;

/// How often each answer comes, at least, for a user that has permissions.
const EACH_ANSWER_MIN: usize = 20;

#[tokio::test(flavor = "multi_thread")]
async fn a_credential_may_do_exactly_what_the_document_says_until_the_document_says_otherwise() {
    let operator = Operator::new("shop", "standard", 3).await;
    operator.apply(NEIGHBOUR);
    operator.apply(SHOP);
    let grid = grid(&["shop", "default", "kube-system", "neighbour"]);
    operator.every_request_is_possible(&grid).await;
    let (first, changed) = (Evaluator::read(SHOP), Evaluator::read(SHOP_CHANGED));
    let callers = operator.callers("default", "shop", first.users()).await;

    let matrix = operator.ask(&callers, &grid, &first).await;
    matrix.is_as_expected();
    assert!(matrix.len() >= CELLS_MIN, "{}", matrix.len());
    for user in ["ann", "ben", "ci"] {
        matrix.has_at_least(user, EACH_ANSWER_MIN);
    }

    let outsiders = operator.outsiders(&callers).await;
    Matrix::ask(&outsiders, &grid, |_, _| Answer::Unauthorized).await.is_as_expected();

    operator.apply(SHOP_CHANGED);
    every_user_is_told_apart(&first, &changed, &grid);
    operator.ask(&callers, &grid, &changed).await.is_as_expected();

    operator.terminate("default", "shop");
    operator.ask(&callers, &grid, &changed.without_permissions()).await.allows_nothing_more();
    operator.terminate("default", "neighbour");
    operator.engine_was_never_refused();
}

#[tokio::test(flavor = "multi_thread")]
async fn a_credential_of_a_privileged_cloud_may_do_exactly_what_the_document_says_wherever_it_says() {
    let operator = Operator::new("observability", "privileged", 1).await;
    operator.apply(PRIVILEGED);
    let grid = grid(&["monitoring", "default", "kube-system"]);
    operator.every_request_is_possible(&grid).await;
    let (first, changed) = (Evaluator::read(PRIVILEGED), Evaluator::read(PRIVILEGED_CHANGED));
    let callers = operator.callers("default", "observability", first.users()).await;

    let matrix = operator.ask(&callers, &grid, &first).await;
    matrix.is_as_expected();
    for user in first.users() {
        matrix.has_at_least(user, EACH_ANSWER_MIN);
    }

    operator.apply(PRIVILEGED_CHANGED);
    every_user_is_told_apart(&first, &changed, &grid);
    operator.ask(&callers, &grid, &changed).await.is_as_expected();

    operator.terminate("default", "observability");
    operator.ask(&callers, &grid, &changed.without_permissions()).await.allows_nothing_more();
    operator.engine_was_never_refused();
}

#[tokio::test(flavor = "multi_thread")]
async fn equal_users_of_two_clouds_on_one_cluster_have_no_right_in_each_others_namespace() {
    let operator = Operator::new("twins", "standard", 1).await;
    operator.apply(TWIN_A);
    operator.apply(TWIN_B);
    let grid = grid(&["twin-a", "twin-b"]);
    let (a, b) = (Evaluator::read(TWIN_A), Evaluator::read(TWIN_B));
    let callers_of_a = operator.callers("project-a", "twin", a.users()).await;
    let callers_of_b = operator.callers("project-b", "twin", b.users()).await;

    let all = |answer| BTreeSet::from([answer]);
    for (callers, own, other) in [(&callers_of_a, &a, &b), (&callers_of_b, &b, &a)] {
        let matrix = operator.ask(callers, &grid, own).await;
        matrix.is_as_expected();
        assert_eq!(matrix.answers_in(own.namespace()), all(&Answer::Allowed));
        assert_eq!(matrix.answers_in(other.namespace()), all(&Answer::Forbidden));
    }

    // What goes with one of them was not the other's.
    operator.terminate("project-a", "twin");
    operator.ask(&callers_of_a, &grid, &a.without_permissions()).await.allows_nothing_more();
    operator.ask(&callers_of_b, &grid, &b).await.is_as_expected();
    operator.terminate("project-b", "twin");
    operator.engine_was_never_refused();
}

#[tokio::test(flavor = "multi_thread")]
async fn a_revoked_and_a_renewed_user_need_no_right_beyond_the_least_role_and_the_guard() {
    let operator = Operator::new("revoked", "standard", 1).await;
    operator.apply(REVOKED);
    for arguments in [
        &["renew", "revoked", "--user", "ann"][..],
        &["user", "revoke", "revoked", "ann"],
        &["user", "revoke", "revoked", "ci"],
    ] {
        operator.user().run([arguments, &["--timeout", &timeout()]].concat()).done();
    }
    operator.terminate("default", "revoked");
    operator.engine_was_never_refused();
}

/// A change that changes nothing for a user would prove nothing.
#[track_caller]
fn every_user_is_told_apart(first: &Evaluator, changed: &Evaluator, grid: &[Asked]) {
    for user in first.users() {
        let differs = |asked| first.answer(user, asked) != changed.answer(user, asked);
        assert!(grid.iter().any(differs), "{user}");
    }
}
