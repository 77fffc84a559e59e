//! What all pages have around them.

use std::sync::LazyLock;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use maud::{DOCTYPE, Markup, PreEscaped, html};
use sha2::{Digest as _, Sha256};

use super::{DOCS, PROBLEMS};
use crate::documented::openapi;

/// How pages look, dark or light as the reader's system is.
const STYLE: &str = include_str!("style.css");

/// Nothing is loaded, nothing runs, and nobody shows a page in one of theirs. The style of the page is known by its digest.
pub(super) static POLICY: LazyLock<String> = LazyLock::new(|| {
    let digest = STANDARD.encode(Sha256::digest(STYLE.as_bytes()));
    format!(
        "default-src 'none'; style-src 'sha256-{digest}'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'"
    )
});

/// A whole page.
pub(super) fn page(title: &str, navigation: &Markup, main: &Markup) -> String {
    let page = html! {
        (DOCTYPE)
        html lang="en" {
            head {
                meta charset="utf-8";
                meta name="viewport" content="width=device-width, initial-scale=1";
                meta name="color-scheme" content="light dark";
                title { (title) " – Distributed Cloud Manager" }
                style { (PreEscaped(STYLE)) }
            }
            body {
                a .skip href="#main" { "Skip to the content" }
                header {
                    strong { "Distributed Cloud Manager" }
                    nav aria-label="Pages" {
                        a href=(DOCS) { "API" }
                        a href=(PROBLEMS) { "Problems" }
                        a href=(openapi::PATH) { "openapi.json" }
                    }
                }
                div .columns {
                    nav .contents aria-label="On this page" { (navigation) }
                    main id="main" tabindex="-1" { (main) }
                }
            }
        }
    };
    page.into_string()
}
