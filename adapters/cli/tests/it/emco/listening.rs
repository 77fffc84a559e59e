//! Where EMCO's dialect is served, and to whom.

use std::net::TcpListener;

use crate::common::User;
use crate::common::server::{Listener, Server};

/// What each service answers: that of its own, and nothing of the others.
const ASKED: [&str; 3] =
    ["GET /v2/projects", "GET /v2/cluster-providers", "GET /v2/projects/p/logical-clouds"];

fn status(listener: &Listener, request: &str) -> String {
    listener.ask(request).lines().next().unwrap().to_owned()
}

#[test]
fn a_port_for_one_service_serves_no_other() {
    for (service, its_own) in [
        ("orchestrator", ["200", "404", "404"]),
        ("clm", ["404", "200", "404"]),
        ("dcm", ["404", "404", "200"]),
    ] {
        let server = Server::of_emco(User::new(), &format!("{service}=127.0.0.1:0"));
        assert_eq!(ASKED.map(|request| status(&server, request)), its_own, "{service}");
    }
}

#[test]
fn one_server_serves_each_service_on_a_port_of_its_own() {
    let options =
        ["orchestrator", "clm", "dcm"].map(|service| format!("--emco-listen={service}=127.0.0.1:0"));
    let (server, _) = Server::serving(User::new(), &options.each_ref().map(String::as_str));
    let its_own = [["200", "404", "404"], ["404", "200", "404"], ["404", "404", "200"]];
    let answered: Vec<_> =
        server.listeners().iter().map(|listener| ASKED.map(|request| status(listener, request))).collect();
    assert_eq!(answered, its_own);
    server.stop();
}

/// A port that nobody listens on, at an address from which nobody connects: no connection takes it meanwhile.
fn free_address() -> String {
    TcpListener::bind("127.0.9.77:0").unwrap().local_addr().unwrap().to_string()
}

#[test]
fn two_services_share_a_port_and_the_third_has_another() {
    let shared = free_address();
    let [orchestrator, clm] =
        ["orchestrator", "clm"].map(|service| format!("--emco-listen={service}={shared}"));
    let (server, _) = Server::serving(User::new(), &[&orchestrator, "--emco-listen=dcm=127.0.0.1:0", &clm]);
    let [of_two, of_dcm] = ["127.0.9.77", "127.0.0.1"].map(|host| {
        let is_there = |listener: &&Listener| listener.address().ip().to_string() == host;
        ASKED.map(|request| status(server.listeners().iter().find(is_there).unwrap(), request))
    });
    assert_eq!(server.listeners().len(), 2);
    assert_eq!(
        (of_two, of_dcm),
        (["200", "200", "404"].map(str::to_owned), ["404", "404", "200"].map(str::to_owned))
    );
    server.stop();
}

#[test]
fn an_address_that_others_can_reach_is_not_listened_on_without_more() {
    let said = User::new().run(["serve", "--emco-listen", "dcm=192.0.2.1:9077"]).ended_with(1);
    assert!(said.starts_with("dcm: 192.0.2.1:9077 is no loopback address"), "{said}");
}

#[test]
fn pages_from_elsewhere_and_other_names_of_the_server_are_refused() {
    let server = crate::emco::server();
    assert_eq!(status(&server, "GET /v2/projects\nOrigin: https://example.com"), "403");
    let rebound = "GET /v2/projects HTTP/1.1\r\nHost: example.com\r\nConnection: close\r\n\r\n";
    assert!(server.send(rebound.as_bytes()).starts_with("HTTP/1.1 421 "));
}

#[test]
fn a_body_that_is_too_large_is_refused_whatever_it_is() {
    let server = crate::emco::server();
    let long = "x".repeat(dcm_rest::emco::BODY_BYTES_MAX);
    let told = "413\ncontent-type: text/plain; charset=utf-8\nx-content-type-options: nosniff\n\nhttp: request body too large\n";
    let document = format!("POST /v2/projects\n\n{{\"metadata\": {{\"name\": \"{long}\"}}}}");
    assert_eq!(server.ask(&document), told);
    let form = format!(
        "POST /v2/cluster-providers/p/clusters\nContent-Type: multipart/form-data; boundary=--part\n\n----part\n\
         Content-Disposition: form-data; name=\"file\"; filename=\"f\"\n\n{long}\n----part--"
    );
    assert_eq!(server.ask(&form), told);
}
