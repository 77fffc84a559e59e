//! The status page: what a browser is given of it. How it works there is checked by `scripts/check-ui`.
#![allow(clippy::unwrap_used, reason = "a test fails by it")]

mod files;
mod words;

use crate::common;
use crate::common::server::Server;
use dcm_rest::ui::ASSETS;

const POLICY: &str = "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self'; connect-src 'self'; \
                      base-uri 'none'; form-action 'none'; frame-ancestors 'none'; require-trusted-types-for 'script'; \
                      trusted-types 'none'";

/// What is answered: the status, the headers but for the tag, the tag, and the body.
fn parts(answer: &str) -> (String, String, String) {
    let (head, body) = answer.split_once("\n\n").unwrap();
    let (tags, others): (Vec<&str>, Vec<&str>) = head.lines().partition(|line| line.starts_with("etag: "));
    let tag = tags.first().map_or("", |line| &line["etag: ".len()..]);
    (others.join("\n"), tag.to_owned(), body.to_owned())
}

/// The head of an answer with a file of this type; without one, it has none.
fn head(status: u16, media_type: Option<&str>) -> String {
    let media_type = media_type.map(|media_type| format!("content-type: {media_type}\n")).unwrap_or_default();
    format!(
        "{status}\ncache-control: no-cache\ncontent-security-policy: {POLICY}\n{media_type}\
         cross-origin-opener-policy: same-origin\ncross-origin-resource-policy: same-origin\n\
         referrer-policy: no-referrer\nx-content-type-options: nosniff\nx-frame-options: DENY"
    )
}

#[test]
fn every_file_is_served_with_its_type_its_policy_and_its_tag() {
    let server = Server::new();
    for asset in ASSETS {
        let path = format!("GET /ui/{}", asset.name);
        let (found, tag, body) = parts(&server.ask(&path));
        assert_eq!(found, head(200, Some(asset.media_type)), "{path}");
        assert_eq!(body, asset.text, "{path}");
        assert!(tag.len() == 18 && tag.starts_with('"') && tag.ends_with('"'), "{path}: {tag}");

        for known in [tag.clone(), format!("W/{tag}"), format!("\"other\", {tag}"), "*".to_owned()] {
            let (found, same, body) = parts(&server.ask(&format!("{path}\nIf-None-Match: {known}")));
            assert_eq!((found, same, body), (head(304, None), tag.clone(), String::new()), "{path} {known}");
        }
        let (found, _, _) = parts(&server.ask(&format!("{path}\nIf-None-Match: \"other\"")));
        assert_eq!(found, head(200, Some(asset.media_type)), "{path}");
    }
    server.stop();
}

#[test]
fn the_page_is_at_one_place_and_nothing_else_is() {
    let server = Server::new();
    assert_eq!(server.ask("GET /ui"), "308\nlocation: ui/\n\n");
    let (found, _, body) = parts(&server.ask("GET /ui/"));
    assert_eq!(found, head(200, Some("text/html; charset=utf-8")));
    assert!(body.starts_with("<!DOCTYPE html>\n<html lang=\"en\">"));
    let (found, _, body) = parts(&server.ask("HEAD /ui/"));
    assert_eq!((found, body), (head(200, Some("text/html; charset=utf-8")), String::new()));
    for path in ["/ui/absent.mjs", "/ui/asset.rs", "/ui/..%2Fmod.rs"] {
        let answer = server.ask(&format!("GET {path}"));
        assert!(answer.starts_with("404\n"), "{path}: {answer}");
    }
    assert!(server.ask("POST /ui/").starts_with("405\n"));
    // What is not the page is for the API.
    assert!(server.ask("GET /uix").starts_with("404\ncontent-type: application/problem+json\n"));
    server.stop();
}

#[test]
fn the_page_is_not_served_to_clients_of_emco() {
    let server = Server::of_emco(common::User::new(), "127.0.0.1:0");
    assert!(server.ask("GET /ui/").starts_with("404\n"));
    server.stop();
}
