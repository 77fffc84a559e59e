//! Probes and browsers, which have no credentials yet.

use crate::access::callers::Guarded;

#[tokio::test(flavor = "multi_thread")]
async fn probes_are_answered_without_credentials_and_told_nothing_else() {
    for option in ["--listen", "--emco-listen"] {
        let (server, _) = Guarded::new().serve(option);
        for path in ["/livez", "/readyz"] {
            let answer = server.ask(&format!("GET {path}"));
            assert_eq!(answer, "200\ncontent-type: text/plain; charset=utf-8\n\nok", "{path}");
        }
        assert!(server.ask("GET /livez/x").starts_with("401\n"));
        server.stop();
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn the_status_page_is_given_to_anybody_and_what_it_shows_is_not() {
    let (server, callers) = Guarded::new().serve("--listen");
    let answer = server.ask("GET /ui/");
    assert!(answer.starts_with("200\n") && answer.ends_with("</html>\n"), "{answer}");
    assert!(server.ask("GET /v2/projects").starts_with("401\n"));
    assert!(server.ask(&format!("GET /v2/projects\n{}", callers.of("viewer"))).starts_with("200\n"));
    // Somebody may have followed a link; what the page asks then comes from itself.
    assert!(server.ask("GET /ui/\nSec-Fetch-Site: cross-site").starts_with("200\n"));
    assert!(server.ask("GET /v2/projects\nSec-Fetch-Site: cross-site").starts_with("403\n"));
    server.stop();
}
