//! A file of the status page, and how a browser is given it.

use std::sync::LazyLock;

use axum::body::Body;
use axum::http::header::{
    CACHE_CONTROL, CONTENT_SECURITY_POLICY, CONTENT_TYPE, ETAG, REFERRER_POLICY, X_CONTENT_TYPE_OPTIONS,
    X_FRAME_OPTIONS,
};
use axum::http::{HeaderName, HeaderValue, StatusCode};
use axum::response::{IntoResponse, Response};
use dcm_core::hash::ContentHash;

/// Nothing but these files and the API of the same origin; texts never become markup or programs.
const POLICY: &str = "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self'; connect-src 'self'; \
                      base-uri 'none'; form-action 'none'; frame-ancestors 'none'; require-trusted-types-for 'script'; \
                      trusted-types 'none'";

const OPENER_POLICY: HeaderName = HeaderName::from_static("cross-origin-opener-policy");
const RESOURCE_POLICY: HeaderName = HeaderName::from_static("cross-origin-resource-policy");

/// What every answer has in its head.
const HEADERS: [(HeaderName, &str); 7] = [
    (CONTENT_SECURITY_POLICY, POLICY),
    (X_CONTENT_TYPE_OPTIONS, "nosniff"),
    (X_FRAME_OPTIONS, "DENY"),
    (REFERRER_POLICY, "no-referrer"),
    (OPENER_POLICY, "same-origin"),
    (RESOURCE_POLICY, "same-origin"),
    // Kept, and asked for again each time: a page of an earlier version would misread what the API answers.
    (CACHE_CONTROL, "no-cache"),
];

/// A file of the status page.
#[derive(Debug, Clone, Copy)]
pub struct Asset {
    /// Its name, below `/ui/`.
    pub name: &'static str,
    /// Its media type.
    pub media_type: &'static str,
    /// What is in it.
    pub text: &'static str,
}

macro_rules! assets {
    ($($name:literal)*) => {
        /// All files.
        pub const ASSETS: &[Asset] = &[$(Asset::new($name, include_str!($name))),*];
    };
}

assets! {
    "index.html"
    "style.css"
    "icon.svg"
    "api.mjs"
    "audit.mjs"
    "board.mjs"
    "cloud.mjs"
    "cluster.mjs"
    "clusters.mjs"
    "commands.mjs"
    "credentials.mjs"
    "dom.mjs"
    "events.mjs"
    "freshness.mjs"
    "keys.mjs"
    "main.mjs"
    "matrix.mjs"
    "overview.mjs"
    "patch.mjs"
    "phases.mjs"
    "plan.mjs"
    "poll.mjs"
    "project.mjs"
    "projects.mjs"
    "registered.mjs"
    "route.mjs"
    "sign_in.mjs"
    "words.mjs"
}

impl Asset {
    const fn new(name: &'static str, text: &'static str) -> Self {
        Self { name, media_type: media_type(name), text }
    }

    /// The file, or that it is still the one that the browser has.
    pub(super) fn answer<'a>(&self, tags: impl IntoIterator<Item = &'a HeaderValue>) -> Response {
        let tag = self.tag();
        let is_known = tags.into_iter().any(|list| names(list, &tag));
        let mut response = if is_known {
            StatusCode::NOT_MODIFIED.into_response()
        } else {
            ([(CONTENT_TYPE, self.media_type)], Body::from(self.text)).into_response()
        };
        let headers = response.headers_mut();
        headers.extend(HEADERS.map(|(name, value)| (name, HeaderValue::from_static(value))));
        headers.extend(HeaderValue::from_str(&tag).ok().map(|tag| (ETAG, tag)));
        response
    }

    /// What tells its content from another one.
    fn tag(&self) -> String {
        static TAGS: LazyLock<Vec<(&str, String)>> = LazyLock::new(|| {
            let tag =
                |asset: &Asset| format!("\"{}\"", ContentHash::of_bytes(asset.text.as_bytes()).short(16));
            ASSETS.iter().map(|asset| (asset.name, tag(asset))).collect()
        });
        TAGS.iter().find(|(name, _)| *name == self.name).map(|(_, tag)| tag.clone()).unwrap_or_default()
    }
}

/// Whether a list of tags names one, by weak comparison (RFC 9110, section 13.1.2).
fn names(list: &HeaderValue, tag: &str) -> bool {
    let text = list.to_str().unwrap_or_default();
    text.trim() == "*" || text.split(',').any(|one| one.trim().trim_start_matches("W/") == tag)
}

const fn media_type(name: &str) -> &'static str {
    match name.as_bytes() {
        [.., b'.', b'c', b's', b's'] => "text/css; charset=utf-8",
        [.., b'.', b'h', b't', b'm', b'l'] => "text/html; charset=utf-8",
        [.., b'.', b's', b'v', b'g'] => "image/svg+xml",
        _ => "text/javascript; charset=utf-8",
    }
}
