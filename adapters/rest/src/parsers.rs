//! All that reads what somebody sent, as functions of bytes: for tests that send anything.
//!
//! None may panic, and each holds what it promises against itself: what has the shape of its schema can be read, and what is
//! accepted is the same again when it is written and read once more.

use axum::body::Body;
use axum::extract::Query;
use axum::http::header::CONTENT_TYPE;
use axum::http::{Request, Uri};
use dcm_core::document::{self, Limits};
use dcm_core::kubeconfig::Admin;
use dcm_core::logical_cloud::{LabelSelector, LogicalCloud, LogicalCloudUid};
use dcm_core::name::ProjectName;
use dcm_core::secret::Secret;

use crate::{documented, emco};

/// A parser, and what it is called.
pub type Parser = (&'static str, fn(&[u8]));

/// All of them.
pub const ALL: [Parser; 7] = [
    ("document", document),
    ("documented_bodies", documented_bodies),
    ("emco_bodies", emco_bodies),
    ("emco_form", emco_form),
    ("kubeconfig", kubeconfig),
    ("selector", selector),
    ("query", query),
];

/// Declarative documents, YAML or JSON.
///
/// # Panics
/// When what is accepted is not the same again when it is written and read once more.
pub fn document(bytes: &[u8]) {
    let Ok(project) = ProjectName::new("shop") else { return };
    let Ok(documents) = document::parse(bytes, &project, &Limits::default()) else { return };
    for one in documents {
        let uid = LogicalCloudUid::from_random(0);
        let Ok((cloud, _)) = LogicalCloud::new(one.project, uid, one.draft) else { continue };
        for written in [document::to_yaml(&cloud), document::to_json(&cloud)] {
            let written = written.expect("what was read can be written");
            let read = document::parse(written.as_bytes(), &project, &Limits::default());
            let read = read.unwrap_or_else(|refused| panic!("{refused}: {written}"));
            let again: Vec<_> = read.into_iter().map(|one| (one.project, one.draft)).collect();
            assert_eq!(again, [(cloud.project().clone(), cloud.to_draft())], "{written}");
        }
    }
}

/// Bodies of the documented dialect, of each kind.
///
/// # Panics
/// When one has the shape of its schema, and can't be read.
pub fn documented_bodies(bytes: &[u8]) {
    documented::parsing::read_each(bytes);
}

/// Bodies of EMCO's dialect, of each kind.
pub fn emco_bodies(bytes: &[u8]) {
    emco::parsing::read_each(bytes);
}

/// Forms of EMCO's dialect; the first line is the type that the request says.
pub fn emco_form(bytes: &[u8]) {
    let (head, body) = match bytes.iter().position(|byte| *byte == b'\n') {
        Some(end) => (&bytes[..end], &bytes[end + 1..]),
        None => (&b"multipart/form-data; boundary=x"[..], bytes),
    };
    let request = Request::builder().header(CONTENT_TYPE, head).body(Body::from(body.to_vec()));
    if let Ok(request) = request {
        emco::parsing::read_form(request);
    }
}

/// Administrators' kubeconfigs.
pub fn kubeconfig(bytes: &[u8]) {
    if let Ok(text) = std::str::from_utf8(bytes) {
        let _ = Admin::read(&Secret::new(text));
    }
}

/// Label selectors.
///
/// # Panics
/// When one is read in two ways.
pub fn selector(bytes: &[u8]) {
    if let Ok(text) = std::str::from_utf8(bytes) {
        let read: Result<LabelSelector, _> = text.parse();
        if let Ok(selector) = read {
            assert_eq!(text.parse::<LabelSelector>().ok(), Some(selector), "{text}");
        }
    }
}

/// Queries, and those of the pages that follow.
///
/// # Panics
/// When the path of the next page can't be asked.
pub fn query(bytes: &[u8]) {
    let Ok(uri) = Uri::try_from([b"/v2/projects?", bytes].concat()) else { return };
    let _ = Query::<Vec<(String, String)>>::try_from_uri(&uri);
    documented::parsing::follow(&uri);
}
