//! The status page, under `/ui/`: what a browser loads of it.
//!
//! The page is a few files that are part of the program: markup, one stylesheet, and modules of JavaScript as they are written.
//! They tell nothing of any installation, so anybody who can connect is given them. All that is shown comes from the API, which
//! finds out who asks and answers by that.
//!
//! A browser is told to load nothing from elsewhere, to run nothing that is not in these files, and to show the page in no
//! frame: whatever a name, a description or a message holds, it is shown as a text.

mod asset;

use axum::Router;
use axum::extract::Path;
use axum::http::header::{IF_NONE_MATCH, LOCATION};
use axum::http::{HeaderMap, StatusCode};
use axum::response::{IntoResponse, Response};
use axum::routing::get;

pub use asset::{ASSETS, Asset};

/// What is asked for when no file is named.
const INDEX: &str = "index.html";

/// Answers what is below `/ui`, and leaves all else to a router.
///
/// It is put before the check of who asks: a browser has no credential yet when it loads the page.
pub fn before(router: Router) -> Router {
    Router::new()
        // The files name each other, and the API, by relative paths.
        .route("/ui", get(async || (StatusCode::PERMANENT_REDIRECT, [(LOCATION, "ui/")])))
        .route("/ui/", get(async |headers: HeaderMap| answer(INDEX, &headers)))
        .route(
            "/ui/{file}",
            get(async |Path(file): Path<String>, headers: HeaderMap| answer(&file, &headers)),
        )
        .fallback_service(router)
}

fn answer(file: &str, asked: &HeaderMap) -> Response {
    match ASSETS.iter().find(|asset| asset.name == file) {
        None => (StatusCode::NOT_FOUND, "the status page has no such file\n").into_response(),
        Some(asset) => asset.answer(asked.get_all(IF_NONE_MATCH)),
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;
    use std::path::Path;

    use super::*;

    #[test]
    fn every_file_in_the_folder_is_part_of_the_program() {
        let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("src/ui");
        let names = std::fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().file_name());
        let names = names.map(|name| name.into_string().unwrap()).filter(|name| !name.ends_with(".rs"));
        let known: BTreeSet<String> = ASSETS.iter().map(|asset| asset.name.to_owned()).collect();
        assert_eq!(names.collect::<BTreeSet<_>>(), known);
    }
}
