//! An API server that makes up what it answers, as it is read.

use std::convert::Infallible;
use std::net::{Ipv4Addr, SocketAddr};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use anyhow::Result;
use axum::Router;
use axum::body::{Body, Bytes};
use axum::extract::State;
use axum::http::{Method, StatusCode, Uri};
use axum::response::{IntoResponse as _, Response};
use dcm_core::port::cluster::{ANNOTATION_GENERATION, ANNOTATION_MANIFEST, LABEL_CONTEXT, LABEL_OWNER};
use dcm_core::port::proof::ANNOTATION_PROOF;
use futures::stream::{self, StreamExt as _};
use serde::{Deserialize, Serialize};
use serde_json::json;

/// Bytes of one object.
const OBJECT_BYTES: usize = 256 * 1024;

/// Objects that there seem to be of each kind.
const OBJECTS: usize = 100_000;

/// Pages that there seem to be of each kind.
const PAGES: usize = 1_000;

/// Objects on a page of 128 MiB.
const PAGE_OBJECTS: usize = 512;

/// What it answers to a list.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) enum Form {
    /// 100,000 objects of 256 KiB, as many on a page as are asked for.
    Objects,
    /// 1,000 pages of 128 MiB, whatever is asked for.
    Pages,
}

impl Form {
    pub(crate) fn key(self) -> &'static str {
        match self {
            Self::Objects => "objects",
            Self::Pages => "pages",
        }
    }

    pub(crate) fn what(self) -> &'static str {
        match self {
            Self::Objects => "100,000 objects of 256 KiB",
            Self::Pages => "1,000 pages of 128 MiB",
        }
    }

    /// The objects of a page that begins at one, and whether others follow.
    fn page(self, begin: usize, limit: usize) -> (std::ops::Range<usize>, bool) {
        let (length, all) = match self {
            Self::Objects => (limit, OBJECTS),
            Self::Pages => (PAGE_OBJECTS, PAGES * PAGE_OBJECTS),
        };
        let end = (begin + length).min(all);
        (begin..end, end < all)
    }
}

struct Forging {
    form: Form,
    text: String,
    answered: Arc<AtomicU64>,
}

/// A server that forges, until it is dropped.
pub(crate) struct Forger {
    pub(crate) address: SocketAddr,
    answered: Arc<AtomicU64>,
    task: tokio::task::JoinHandle<()>,
}

impl Forger {
    pub(crate) async fn start(form: Form) -> Result<Self> {
        let listener = tokio::net::TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).await?;
        let address = listener.local_addr()?;
        let answered = Arc::new(AtomicU64::new(0));
        let forging = Forging { form, text: "x".repeat(OBJECT_BYTES), answered: answered.clone() };
        let router = Router::new().fallback(forge).with_state(Arc::new(forging));
        let mut server = axum_server::Server::<SocketAddr>::from_listener(listener).http1_only();
        server.http_builder().http1().timer(hyper_util::rt::TokioTimer::new());
        let task = tokio::spawn(async move {
            // It ends with its task.
            let _ = server.serve(router.into_make_service()).await;
        });
        Ok(Self { address, answered, task })
    }

    /// Bytes of objects that were answered.
    pub(crate) fn answered(&self) -> u64 {
        self.answered.load(Ordering::Relaxed)
    }
}

impl Drop for Forger {
    fn drop(&mut self) {
        self.task.abort();
    }
}

async fn forge(State(forging): State<Arc<Forging>>, method: Method, uri: Uri) -> Response {
    let query = uri.query().unwrap_or_default();
    let value = |name: &str| query.split('&').find_map(|part| part.strip_prefix(name)?.strip_prefix('='));
    if method != Method::GET {
        let refusal = json!({"kind": "Status", "status": "Failure", "reason": "Forbidden", "code": 403, "message": "no"});
        return (StatusCode::FORBIDDEN, refusal.to_string()).into_response();
    }
    if value("watch").is_some() {
        return Body::from_stream(stream::pending::<Result<Bytes, Infallible>>()).into_response();
    }
    let Some(limit) = value("limit").and_then(|limit| limit.parse().ok()) else {
        let object = json!({"metadata": {"name": "kube-system", "uid": "forger", "resourceVersion": "1"}});
        return object.to_string().into_response();
    };
    let begin = value("continue").and_then(|begin| begin.parse().ok()).unwrap_or(0);
    let owner = value("labelSelector").and_then(|selector| selector.rsplit_once("%3D"));
    list(forging, begin, limit, owner.map_or("dcm", |(_, owner)| owner))
}

fn list(forging: Arc<Forging>, begin: usize, limit: usize, owner: &str) -> Response {
    let (objects, goes_on) = forging.form.page(begin, limit);
    let after = if goes_on { objects.end.to_string() } else { String::new() };
    let head = format!("{{\"metadata\":{{\"resourceVersion\":\"1\",\"continue\":\"{after}\"}},\"items\":[");
    let (first, owner) = (objects.start, owner.to_owned());
    let items = stream::iter(objects).map(move |number| {
        let comma = if number == first { "" } else { "," };
        let item = format!("{comma}{}", item(number, &owner, &forging.text));
        forging.answered.fetch_add(item.len() as u64, Ordering::Relaxed);
        item
    });
    let parts = stream::iter([head]).chain(items).chain(stream::iter(["]}".to_owned()]));
    Body::from_stream(parts.map(|part| Ok::<_, Infallible>(Bytes::from(part)))).into_response()
}

/// An object with our labels, of a context that the store does not know, and a proof that is none.
fn item(number: usize, owner: &str, text: &str) -> String {
    let digits = "0123456789abcdef".repeat(4);
    format!(
        "{{\"metadata\":{{\"name\":\"f{number}\",\"namespace\":\"default\",\"uid\":\"f{number}\",\
         \"resourceVersion\":\"1\",\"labels\":{{\"{LABEL_OWNER}\":\"{owner}\",\"{LABEL_CONTEXT}\":\"lc-{number}\"}},\
         \"annotations\":{{\"{ANNOTATION_GENERATION}\":\"18446744073709551615\",\"{ANNOTATION_MANIFEST}\":\"{digits}\",\
         \"{ANNOTATION_PROOF}\":\"{digits}\",\"text\":\"{text}\"}}}}}}"
    )
}
