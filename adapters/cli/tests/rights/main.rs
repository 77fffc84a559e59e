//! An issued credential may do exactly what the document says, on real API servers; and the engine that issues it may
//! do no more than the role that the command prints.
//!
//! [`grid`] makes every request of a matrix, [`evaluator`] says from the document alone which are allowed, [`caller`]
//! sends them with the kubeconfig that `dcm kubeconfig` hands out, [`answer`] reads what came back, and
//! [`matrix`] holds both against each other.
#![allow(clippy::unwrap_used, reason = "a test fails by it")]

mod answer;
mod asked;
mod barrier;
mod caller;
#[path = "../common/mod.rs"]
mod common;
mod evaluator;
mod grid;
mod matrix;
mod operator;

use std::collections::BTreeSet;

use answer::Answer;
use evaluator::Evaluator;
use grid::grid;
use matrix::Matrix;
use operator::Operator;

const SHOP: &str = include_str!("documents/shop.yaml");
const SHOP_CHANGED: &str = include_str!("documents/shop-changed.yaml");
const NEIGHBOUR: &str = include_str!("documents/neighbour.yaml");
const PRIVILEGED: &str = include_str!("documents/privileged.yaml");
const TWIN_A: &str = include_str!("documents/twin-a.yaml");
const TWIN_B: &str = include_str!("documents/twin-b.yaml");

/// Fewer cells than this would prove little.
const CELLS_MIN: usize = 500;

/// How often each answer comes, at least, for a user that has permissions.
const EACH_ANSWER_MIN: usize = 20;

#[tokio::test(flavor = "multi_thread")]
async fn a_credential_may_do_exactly_what_the_document_says_until_the_document_says_otherwise() {
    let operator = Operator::new("shop", "standard", 3).await;
    operator.apply(NEIGHBOUR);
    operator.apply(SHOP);
    operator.settled().await;
    let grid = grid(&["shop", "default", "kube-system", "neighbour"]);
    operator.every_request_is_possible(&grid).await;

    let document = Evaluator::read(SHOP);
    let callers = operator.callers("default", "shop", document.users()).await;
    let matrix = Matrix::ask(&callers, &grid, |user, asked| document.answer(user, asked)).await;
    matrix.is_as_expected();
    assert!(matrix.len() >= CELLS_MIN, "{}", matrix.len());
    for user in ["ann", "ben", "ci"] {
        matrix.has_at_least(user, EACH_ANSWER_MIN);
    }

    let outsiders = operator.outsiders(&callers).await;
    Matrix::ask(&outsiders, &grid, |_, _| Answer::Unauthorized).await.is_as_expected();

    operator.apply(SHOP_CHANGED);
    operator.settled().await;
    let changed = Evaluator::read(SHOP_CHANGED);
    let matrix = Matrix::ask(&callers, &grid, |user, asked| changed.answer(user, asked)).await;
    matrix.is_as_expected();
    for user in changed.users() {
        assert!(
            grid.iter().any(|asked| document.answer(user, asked) != changed.answer(user, asked)),
            "{user}"
        );
    }

    operator.terminate("default", "shop");
    operator.settled().await;
    let nothing = changed.without_permissions();
    let matrix = Matrix::ask(&callers, &grid, |user, asked| nothing.answer(user, asked)).await;
    matrix.allows_nothing_more();
    operator.terminate("default", "neighbour");
    operator.engine_was_never_refused();
}

#[tokio::test(flavor = "multi_thread")]
async fn a_credential_of_a_privileged_cloud_may_do_exactly_what_the_document_says() {
    let operator = Operator::new("observability", "privileged", 1).await;
    operator.apply(PRIVILEGED);
    operator.settled().await;
    let grid = grid(&["monitoring", "default", "kube-system"]);
    operator.every_request_is_possible(&grid).await;

    let document = Evaluator::read(PRIVILEGED);
    let callers = operator.callers("default", "observability", document.users()).await;
    let matrix = Matrix::ask(&callers, &grid, |user, asked| document.answer(user, asked)).await;
    matrix.is_as_expected();
    for user in document.users() {
        matrix.has_at_least(user, EACH_ANSWER_MIN);
    }

    operator.terminate("default", "observability");
    operator.settled().await;
    let nothing = document.without_permissions();
    let matrix = Matrix::ask(&callers, &grid, |user, asked| nothing.answer(user, asked)).await;
    matrix.allows_nothing_more();
    operator.engine_was_never_refused();
}

#[tokio::test(flavor = "multi_thread")]
async fn equal_users_of_two_clouds_on_one_cluster_have_no_right_in_each_others_namespace() {
    let operator = Operator::new("twins", "standard", 1).await;
    let grid = grid(&["twin-a", "twin-b"]);
    operator.apply(TWIN_A);
    operator.apply(TWIN_B);
    operator.settled().await;
    for (project, text) in [("project-a", TWIN_A), ("project-b", TWIN_B)] {
        let document = Evaluator::read(text);
        let callers = operator.callers(project, "twin", document.users()).await;
        let matrix = Matrix::ask(&callers, &grid, |user, asked| document.answer(user, asked)).await;
        matrix.is_as_expected();
        let of_other = |namespace: &str| namespace.starts_with("twin-") && namespace != document.namespace();
        assert_eq!(matrix.answers_in(document.namespace()), BTreeSet::from([&Answer::Allowed]));
        let other = matrix.namespaces().into_iter().find(|namespace| of_other(namespace)).unwrap();
        assert_eq!(matrix.answers_in(other), BTreeSet::from([&Answer::Forbidden]));
    }
    operator.terminate("project-a", "twin");
    operator.terminate("project-b", "twin");
    operator.engine_was_never_refused();
}
