//! Probes, which have no credentials.

use crate::callers::Guarded;

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
