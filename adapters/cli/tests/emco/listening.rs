//! Where EMCO's dialect is served, and to whom.

use crate::common::User;
use crate::common::server::Server;

fn status(server: &Server, request: &str) -> String {
    server.ask(request).lines().next().unwrap().to_owned()
}

#[test]
fn a_port_for_one_service_serves_no_other() {
    for (service, its_own) in [
        ("orchestrator", ["200", "404", "404"]),
        ("clm", ["404", "200", "404"]),
        ("dcm", ["404", "404", "200"]),
    ] {
        let server = Server::of_emco(User::new(), &format!("{service}=127.0.0.1:0"));
        let asked = ["GET /v2/projects", "GET /v2/cluster-providers", "GET /v2/projects/p/logical-clouds"];
        assert_eq!(asked.map(|request| status(&server, request)), its_own, "{service}");
    }
}

#[test]
fn an_address_that_others_can_reach_is_not_listened_on_without_more() {
    let said = User::new().run(["serve", "--emco-listen", "dcm=192.0.2.1:9077"]).ended_with(1);
    assert!(said.starts_with("dcm: 192.0.2.1:9077 is no loopback address"), "{said}");
}

#[test]
fn pages_from_elsewhere_and_other_names_of_the_server_are_refused() {
    let server = crate::server();
    assert_eq!(status(&server, "GET /v2/projects\nOrigin: https://example.com"), "403");
    let rebound = "GET /v2/projects HTTP/1.1\r\nHost: example.com\r\nConnection: close\r\n\r\n";
    assert!(server.send(rebound.as_bytes()).starts_with("HTTP/1.1 421 "));
}

#[test]
fn a_body_that_is_too_large_is_refused_whatever_it_is() {
    let server = crate::server();
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
