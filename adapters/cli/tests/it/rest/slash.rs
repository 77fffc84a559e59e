//! A path answers with and without a slash at its end.

use dcm_rest::documented::routes;

use crate::rest::server::Server;

#[test]
fn every_path_is_answered_alike_with_a_slash_at_its_end() {
    let server = Server::new();
    for route in routes() {
        let path: Vec<&str> =
            route.path().split('/').map(|part| if part.starts_with('{') { "absent" } else { part }).collect();
        // A parameter that is not known is refused by the route itself, before anything is done.
        let ask = |end: &str| {
            let line = format!("{} {}{end}?no-such-parameter=1", route.method(), path.join("/"));
            server.ask(&line)
        };
        let (without, with) = (ask(""), ask("/"));
        assert!(without.starts_with("400\n"), "{} {}: {without}", route.method(), route.path());
        assert_eq!(with, without, "{} {}", route.method(), route.path());
    }
}
