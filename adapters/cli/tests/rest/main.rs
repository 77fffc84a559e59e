//! The documented dialect of the HTTP API: each route is asked in literal bytes at a running server on real API servers, and whole
//! answers are compared.
#![allow(clippy::unwrap_used, reason = "a test fails by it")]

mod accept;
#[path = "../common/mod.rs"]
mod common;
mod described;
mod events;
mod example;
mod listening;

use common::exchange::Exchanges;
use common::server::{self, Server};
use dcm_rest::documented::routes;
use dcm_testenv::{Environment, Route};

/// All exchanges in this dialect.
const EXCHANGES: Exchanges =
    Exchanges { folder: "rest/exchanges", regenerate: "DCM_REGENERATE_REST", varying: &[FIGURE] };

/// The value of a metric.
const FIGURE: (&str, &str) = (r"(?m)^(dcm_.+) [0-9.e-]+$", "$1 FIGURE");

async fn play(server: &Server, name: &str) {
    EXCHANGES.play(server, name).await;
}

#[test]
fn every_route_is_asked_and_in_the_table() {
    common::routes::hold(
        "rest.md",
        &EXCHANGES,
        &routes(),
        "| Route | Needs | Answers | Asked in |",
        &|route| format!("{} `{}` | {}", route.method(), route.path(), route.need()),
    );
}

#[tokio::test(flavor = "multi_thread")]
async fn projects() {
    play(&Server::new(), "projects.http").await;
}

#[tokio::test(flavor = "multi_thread")]
async fn logical_clouds() {
    play(&Server::new(), "logical-clouds.http").await;
}

#[tokio::test(flavor = "multi_thread")]
async fn cluster_references() {
    play(&Server::new(), "cluster-references.http").await;
}

#[tokio::test(flavor = "multi_thread")]
async fn declarative_documents() {
    play(&Server::new(), "documents.http").await;
}

#[tokio::test(flavor = "multi_thread")]
async fn plans_and_credentials() {
    let (_environment, server) = server::on_clusters(1, "rest-plans").await;
    play(&server, "plans.http").await;
    server.stop();
}

#[tokio::test(flavor = "multi_thread")]
async fn users_and_their_permissions() {
    play(&Server::new(), "users.http").await;
}

#[tokio::test(flavor = "multi_thread")]
async fn quotas_and_key_value_pairs() {
    play(&Server::new(), "quotas.http").await;
}

#[tokio::test(flavor = "multi_thread")]
async fn controllers() {
    play(&Server::new(), "controllers.http").await;
}

#[tokio::test(flavor = "multi_thread")]
async fn what_describes_it() {
    play(&Server::new(), "described.http").await;
}

#[tokio::test(flavor = "multi_thread")]
async fn metrics() {
    play(&Server::new(), "metrics.http").await;
}

#[tokio::test(flavor = "multi_thread")]
async fn what_can_not_be_read() {
    play(&Server::new(), "unreadable.http").await;
}

#[tokio::test(flavor = "multi_thread")]
async fn cluster_providers_and_clusters() {
    let environment = Environment::shared(2).await.unwrap();
    let [one, other] = environment.clusters() else { panic!("two clusters are asked for") };
    let (one, other) = (one.admin_kubeconfig(Route::Direct), other.admin_kubeconfig(Route::Direct));
    let runs = common::UNREACHABLE.replace("{token: hunter2}", "{exec: {command: /bin/sh}}");
    let texts = [("one", &*one), ("other", &*other), ("unreachable", common::UNREACHABLE), ("runs", &*runs)];
    EXCHANGES.play_with(&Server::new(), "clusters.http", &texts).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_logical_cloud_from_its_first_document_to_its_end() {
    let (_environment, server) = server::on_clusters(2, "rest-life").await;
    play(&server, "life.http").await;
    server.stop();
}
