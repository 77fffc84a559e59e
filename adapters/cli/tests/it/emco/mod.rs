//! The EMCO dialect of the HTTP API: each route is asked in literal bytes at a running server on real API servers, and whole answers
//! are compared; so is what was recorded of EMCO's own services.
#![allow(clippy::unwrap_used, reason = "a test fails by it")]

mod emcoctl;
mod listening;
mod transcript;

use crate::common;
use crate::common::User;
use crate::common::confined::Confined;
use crate::common::exchange::Exchanges;
use crate::common::server::Server;
use dcm_rest::emco::{Service, routes};
use dcm_testenv::{Environment, Route};

/// All exchanges in this dialect.
const EXCHANGES: Exchanges = Exchanges {
    folder: "emco/exchanges",
    regenerate: "DCM_REGENERATE_EMCO",
    varying: &[
        (r#""(statusctxid|instance)":"\d+""#, r#""$1":"INSTANCE""#),
        (r#""certificate":"[A-Za-z0-9+/=]{64,}""#, r#""certificate":"BASE64""#),
    ],
};

/// A server that serves all services on one port, on an empty store.
fn server() -> Server {
    Server::of_emco(User::new(), "127.0.0.1:0")
}

#[tokio::test(flavor = "multi_thread")]
async fn projects() {
    EXCHANGES.play(&server(), "projects.http").await;
}

#[tokio::test(flavor = "multi_thread")]
async fn controllers() {
    EXCHANGES.play(&server(), "controllers.http").await;
}

#[tokio::test(flavor = "multi_thread")]
async fn what_can_not_be_read() {
    EXCHANGES.play(&server(), "unreadable.http").await;
}

#[tokio::test(flavor = "multi_thread")]
async fn cluster_providers_and_clusters() {
    let environment = Environment::group("emco", 2).await.unwrap();
    let one = &environment.clusters()[0];
    let confined = Confined::Standard.kubeconfig(one, "dcm-clusters", Route::Direct);
    let weak = one.kubeconfig(&one.issue("weak", &[]).unwrap(), Route::Direct);
    let runs = common::UNREACHABLE.replace("{token: hunter2}", "{exec: {command: /bin/sh}}");
    let texts =
        [("one", &*confined), ("weak", &*weak), ("unreachable", common::UNREACHABLE), ("runs", &*runs)];
    EXCHANGES.play_with(&server(), "clusters.http", &texts).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn logical_clouds_and_their_parts() {
    EXCHANGES.play(&server(), "logical-clouds.http").await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_logical_cloud_from_its_onboarding_to_its_end() {
    let environment = Environment::group("emco", 2).await.unwrap();
    let one = environment.clusters()[0].admin_kubeconfig(Route::Direct);
    let texts = [("one", &*one), ("unreachable", common::UNREACHABLE)];
    let server = server();
    EXCHANGES.play_with(&server, "life.http", &texts).await;
    server.stop();
}

#[test]
fn every_route_is_asked_and_on_the_page_as_is_every_deliberate_difference() {
    transcript::hold_page();
    let all: Vec<_> = Service::ALL.into_iter().flat_map(routes).collect();
    let service = |asked: &dcm_rest::Route| {
        let has = |service: &Service| {
            let is_it =
                |route: &dcm_rest::Route| (route.method(), route.path()) == (asked.method(), asked.path());
            routes(*service).iter().any(is_it)
        };
        Service::ALL.into_iter().find(has).unwrap()
    };
    let heads = "| Service | Route | Needs | Answers | Asked in |";
    common::routes::hold("emco.md", &EXCHANGES, &all, heads, &|route| {
        format!("{} | {} `{}` | {}", service(route), route.method(), route.path(), route.need())
    });
}
