//! What describes the API is served as it is in the documentation.

use crate::rest::server::Server;

/// The document, as it is in `docs/`.
const DOCUMENT: &str = include_str!("../../../../../docs/openapi.json");

/// The headers of an answer, and its body.
fn got(server: &Server, path: &str) -> (String, String) {
    let answer = server.ask(&format!("GET {path}"));
    let (head, body) = answer.split_once("\n\n").unwrap();
    (head.to_owned(), body.to_owned())
}

#[test]
fn the_document_is_the_one_in_the_documentation() {
    let (head, body) = got(&Server::new(), "/openapi.json");
    assert!(head.starts_with("200\n") && head.contains("\ncontent-type: application/json\n"), "{head}");
    assert!(
        body == DOCUMENT,
        "{} bytes are answered, and docs/openapi.json has {}",
        body.len(),
        DOCUMENT.len()
    );
}

#[test]
fn the_pages_are_shown() {
    let server = Server::new();
    for (path, title) in [
        ("/docs", "API"),
        ("/problems", "Problems"),
        ("/problems/plan-stale", "It would do something else than was planned"),
    ] {
        let (head, body) = got(&server, path);
        assert!(head.starts_with("200\n"), "{path}: {head}");
        assert!(head.contains("\ncontent-type: text/html; charset=utf-8\n"), "{path}: {head}");
        assert!(body.starts_with("<!DOCTYPE html><html lang=\"en\"><head>"), "{path}: {body}");
        let title = format!("<title>{title} – Distributed Cloud Manager</title>");
        assert!(body.contains(&title) && body.ends_with("</html>"), "{path}: {body}");
    }
}
