//! The documented dialect of the HTTP API: each route is asked in literal bytes at a running server on real API servers, and whole
//! answers are compared.
#![allow(clippy::unwrap_used, reason = "a test fails by it")]

mod accept;
use crate::access::callers;
mod described;
mod events;
mod example;
mod listening;
mod pages;
mod slash;
mod sources;

use crate::common;
use crate::common::confined::Confined;
use crate::common::exchange::Exchanges;
use crate::common::guard;
use crate::common::server::{self, Server};
use callers::{CALLERS, Guarded};
use dcm_rest::documented::routes;
use dcm_testenv::{Cluster, Environment, Route};

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
        "| Route | Source | Needs | Answers | Asked in |",
        &|route| format!("{} `{}` | {} | {}", route.method(), route.path(), sources::of(route), route.need()),
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
    // Orphans are looked for in each namespace of a cluster, and other tests leave many on one that is shared.
    let (_environment, server) = server::on_clusters_of("rest-plans", 1, "rest-plans").await;
    EXCHANGES.play_with(&server, "plans.http", &[("unreachable", common::UNREACHABLE)]).await;
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
async fn callers_who_prove_who_they_are() {
    let (server, headers) = Guarded::new().serve("--listen");
    let texts = CALLERS.map(|(name, _)| (name, headers.of(name)));
    EXCHANGES.play_with(&server, "guarded.http", &texts).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn cluster_providers_and_clusters() {
    let environment = Environment::group("rest", 2).await.unwrap();
    let [one, other] = environment.clusters() else { panic!("two clusters are asked for") };
    let of = |cluster: &Cluster, user| cluster.kubeconfig(&cluster.issue(user, &[]).unwrap(), Route::Direct);
    let confined = |confined: Confined, cluster| confined.kubeconfig(cluster, "dcm-rest", Route::Direct);
    guard::confine(other, "rest-least", "rest-least").await;
    let texts = [
        ("one", confined(Confined::Privileged, one)),
        ("unguarded", confined(Confined::Unguarded, one)),
        ("other", confined(Confined::Privileged, other)),
        ("least", of(other, "rest-least")),
        ("weak", of(other, "rest-weak")),
        ("weaker", of(other, "rest-weaker")),
        ("unreachable", common::UNREACHABLE.to_owned()),
        ("runs", common::UNREACHABLE.replace("{token: hunter2}", "{exec: {command: /bin/sh}}")),
    ];
    let texts = texts.each_ref().map(|(name, text)| (*name, &**text));
    EXCHANGES.play_with(&Server::new(), "clusters.http", &texts).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_logical_cloud_from_its_first_document_to_its_end() {
    let (_environment, server) = server::on_clusters(2, "rest-life").await;
    play(&server, "life.http").await;
    server.stop();
}
