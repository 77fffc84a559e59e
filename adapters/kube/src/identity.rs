//! Which cluster a client reaches.
//!
//! The address of a cluster may lead to another one from one moment to the next, also with the same authorities: a cluster that was
//! restored elsewhere, a load balancer, another entry of a name. So the UID that the first [`uid`](crate::server::uid) of a client
//! returned is what the client expects of every server from then on. The server behind each new connection is asked for it before
//! any other request goes over that connection, which costs one GET for each connection. A client that never learned a UID
//! expects none and does not ask.
//!
//! Another UID is [`Error::Moved`], for the request and for all later ones of the client: another client is needed, which learns
//! anew where the address leads.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use dcm_core::port::cluster::{ClusterUid, Error};
use http::header::{ACCEPT, CONTENT_LENGTH, CONTENT_TYPE, RETRY_AFTER};
use http::{HeaderMap, HeaderValue, Method, Request, Response, Uri};
use http_body_util::BodyExt as _;
use hyper::body::Incoming;
use kube::client::Body;
use tokio::sync::OnceCell;

use crate::budget::Budget;
use crate::failure::{Refused, error_of};
use crate::server;
use crate::transport::JSON;

/// How much is read of an answer, in bytes. The namespace has some KiB, and may have 256 KiB of annotations.
const ANSWER_BYTES_MAX: usize = 1024 * 1024;

/// The cluster that a client expects.
#[derive(Debug, Default)]
pub(crate) struct Identity {
    known: Mutex<Known>,
}

#[derive(Debug, Default)]
enum Known {
    /// No server was asked yet.
    #[default]
    Nothing,
    Cluster(ClusterUid),
    /// Another cluster answered than the expected one. Final.
    Another,
}

impl Identity {
    /// Whether servers have to be asked.
    ///
    /// # Errors
    /// [`Error::Moved`] once another cluster has answered.
    pub(crate) fn is_expected(&self) -> Result<bool, Error> {
        match &*self.known() {
            Known::Nothing => Ok(false),
            Known::Cluster(_) => Ok(true),
            Known::Another => Err(Error::Moved),
        }
    }

    /// Compares what a server answered; the first answer is what is expected from then on.
    ///
    /// # Errors
    /// [`Error::Moved`] where it is another cluster than the expected one, or once another one has answered.
    pub(crate) fn answered(&self, uid: &ClusterUid) -> Result<(), Error> {
        let mut known = self.known();
        match &*known {
            Known::Nothing => *known = Known::Cluster(uid.clone()),
            Known::Cluster(expected) if expected == uid => {}
            Known::Cluster(_) | Known::Another => {
                *known = Known::Another;
                return Err(Error::Moved);
            }
        }
        Ok(())
    }

    fn known(&self) -> MutexGuard<'_, Known> {
        // Nothing panics while it is locked.
        self.known.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Whether the server behind a connection was asked, and is the expected cluster. Clones are of the same connection.
#[derive(Debug, Clone, Default)]
pub(crate) struct Asked(Arc<OnceCell<()>>);

impl Asked {
    /// Asks, unless the server was asked before. Of several callers one asks, and the others wait for it.
    pub(crate) async fn once<E>(&self, ask: impl Future<Output = Result<(), E>>) -> Result<(), E> {
        self.0.get_or_try_init(|| ask).await.copied()
    }

    /// Notes that the server was asked in another way. Where one is asking it now, that goes on.
    pub(crate) fn note(&self) {
        let _ = self.0.set(());
    }

    pub(crate) fn is_of(&self, other: &Self) -> bool {
        Arc::ptr_eq(&self.0, &other.0)
    }
}

/// Marks a request whose answer is the identity itself: it may go to a server that was not asked.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Identifies;

/// The request by which a server is asked, from the same user by the same client as another request.
pub(crate) fn question(uri: &Uri, headers: &HeaderMap) -> Request<Body> {
    let mut question = Request::new(Body::empty());
    (*question.method_mut(), *question.uri_mut()) = (Method::GET, uri.clone());
    let mut headers = headers.clone();
    headers.remove(CONTENT_TYPE);
    headers.remove(CONTENT_LENGTH);
    headers.insert(ACCEPT, HeaderValue::from_static(JSON));
    *question.headers_mut() = headers;
    question
}

/// Reads the UID in an answer. It is paid for, and not waited for: it is small, and others wait for it.
pub(crate) async fn read(answer: Response<Incoming>, budget: &Budget) -> Result<ClusterUid, Error> {
    let (head, mut body) = answer.into_parts();
    let mut bytes = Vec::new();
    while let Some(frame) = body.frame().await {
        let frame = frame.map_err(|error| Error::Unreachable { source: Arc::new(error) })?;
        let data = frame.into_data().unwrap_or_default();
        budget.owe(data.len());
        bytes.extend_from_slice(&data);
        if bytes.len() > ANSWER_BYTES_MAX {
            break;
        }
    }
    if head.status.is_success() && bytes.len() > ANSWER_BYTES_MAX {
        let error = Error::Unsupported { what: format!("an answer of more than {ANSWER_BYTES_MAX} bytes") };
        return Err(error.of_identity());
    }
    if head.status.is_success() {
        return server::read_uid(&bytes).map_err(Error::of_identity);
    }
    let retry_after = head.headers.get(RETRY_AFTER).and_then(|value| value.to_str().ok());
    let refused = Refused::read(head.status.as_u16(), retry_after, &bytes);
    let error = unidentified(error_of(&refused), head.status.as_u16());
    // What is behind a new connection may be another server than before, and none of Kubernetes.
    Err(if refused.is_foreign { error.of_identity() } else { error })
}

/// The error for a request that was not sent because the server did not answer what it is. What speaks of the object that a request
/// is about must not be taken for an answer to that request.
fn unidentified(error: Error, code: u16) -> Error {
    match error {
        Error::Unauthorized { .. }
        | Error::Forbidden { .. }
        | Error::TooManyRequests { .. }
        | Error::Server { .. } => error,
        other => {
            Error::Server { code, message: format!("the UID of the cluster can't be read: {other}").into() }
        }
    }
}

#[cfg(test)]
mod tests {
    use std::future::ready;

    use http::header::{AUTHORIZATION, USER_AGENT};

    use super::*;

    fn uid(text: &str) -> ClusterUid {
        ClusterUid(text.into())
    }

    #[test]
    fn the_first_uid_is_expected_and_another_one_ends_the_client_for_good() {
        let identity = Identity::default();
        assert!(!identity.is_expected().unwrap());
        identity.answered(&uid("a")).unwrap();
        identity.answered(&uid("a")).unwrap();
        assert!(identity.is_expected().unwrap());
        assert!(matches!(identity.answered(&uid("b")), Err(Error::Moved)));
        assert!(matches!(identity.is_expected(), Err(Error::Moved)));
        assert!(
            matches!(identity.answered(&uid("a")), Err(Error::Moved)),
            "also when it is the first one again"
        );
    }

    #[tokio::test]
    async fn a_connection_is_asked_once_and_again_only_after_a_failure() {
        let (asked, other) = (Asked::default(), Asked::default());
        assert_eq!(asked.once(ready(Err("broken"))).await, Err("broken"));
        assert_eq!(asked.clone().once(ready(Ok::<_, &str>(()))).await, Ok(()));
        assert_eq!(asked.once(ready(Err("asked twice"))).await, Ok(()));
        other.note();
        assert_eq!(other.once(ready(Err("asked twice"))).await, Ok(()));
        assert!(asked.is_of(&asked.clone()) && !asked.is_of(&other));
    }

    #[test]
    fn the_question_has_the_credential_of_the_request_and_nothing_of_its_content() {
        let request = Request::post("https://c/api/v1/namespaces")
            .header(AUTHORIZATION, "Bearer t")
            .header(USER_AGENT, "dcm")
            .header("impersonate-user", "u")
            .header(CONTENT_TYPE, "application/merge-patch+json")
            .header(CONTENT_LENGTH, "2")
            .header(ACCEPT, "text/plain")
            .body(())
            .unwrap();
        let uri = Uri::from_static("https://c/api/v1/namespaces/kube-system");
        let question = question(&uri, request.headers());
        assert_eq!((question.method(), question.uri()), (&Method::GET, &uri));
        let headers: Vec<_> =
            question.headers().iter().map(|(name, value)| (name.as_str(), value.as_bytes())).collect();
        let expected: [(&str, &[u8]); 4] = [
            ("authorization", b"Bearer t"),
            ("user-agent", b"dcm"),
            ("impersonate-user", b"u"),
            ("accept", b"application/json"),
        ];
        assert!(expected.iter().all(|header| headers.contains(header)), "{headers:?}");
        assert_eq!(headers.len(), expected.len());
    }

    #[test]
    fn a_refusal_of_the_question_is_no_answer_about_the_object_of_the_request() {
        for error in [Error::NotFound, Error::AlreadyExists, Error::Conflict, Error::Gone] {
            assert!(matches!(unidentified(error, 404), Error::Server { code: 404, .. }));
        }
        assert!(matches!(unidentified(Error::Invalid { message: "".into() }, 400), Error::Server { .. }));
        let refused = unidentified(Error::Forbidden { message: "no".into() }, 403);
        assert!(matches!(refused, Error::Forbidden { .. }));
    }
}
