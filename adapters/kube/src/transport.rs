//! Requests and answers.

use std::time::Duration;

use dcm_core::port::cluster::{Call, Error};
use http::header::{ACCEPT, AUTHORIZATION, CONTENT_TYPE, DATE, RETRY_AFTER, USER_AGENT};
use http::{HeaderMap, Method};
use http_body_util::{BodyExt as _, LengthLimitError, Limited};
use hyper::body::Bytes;
use kube::client::Body;
use serde::de::DeserializeOwned;
use serde_json::Value;

use crate::events::{self, Events};
use crate::failure::{Failure, Refused, error_of_client, unreadable};
use crate::login::Login;

/// Largest answer with one object, in bytes. One is at most 1.5 MiB where it is stored; what a cluster says of all its
/// kinds is the largest of them.
const OBJECT_BYTES_MAX: usize = 16 * 1024 * 1024;

/// Largest page of a list, in bytes. It has at most 500 objects; their manifests are at most 1 MiB each, and mostly under
/// 4 KiB.
const PAGE_BYTES_MAX: usize = 128 * 1024 * 1024;

/// How much is read of an answer that is none of success, in bytes. Of what is no `Status` only the beginning is told.
/// Without limits a broken cluster or proxy could take all memory, with many requests at once.
const REFUSAL_BYTES_MAX: usize = 1024 * 1024;

pub(crate) const JSON: &str = "application/json";
pub(crate) const MERGE_PATCH: &str = "application/merge-patch+json";
pub(crate) const APPLY_PATCH: &str = "application/apply-patch+yaml";

/// A request, but for who makes it.
pub(crate) struct Request {
    method: Method,
    uri: String,
    accept: &'static str,
    content: Option<(&'static str, Value)>,
    answer_bytes_max: usize,
}

impl Request {
    fn new(method: Method, uri: String, content: Option<(&'static str, Value)>) -> Self {
        Self { method, uri, accept: JSON, content, answer_bytes_max: OBJECT_BYTES_MAX }
    }

    pub(crate) fn get(uri: String) -> Self {
        Self::new(Method::GET, uri, None)
    }

    /// Asks for a page of a list.
    pub(crate) fn page(uri: String) -> Self {
        Self { answer_bytes_max: PAGE_BYTES_MAX, ..Self::get(uri) }
    }

    pub(crate) fn post(uri: String, body: Value) -> Self {
        Self::new(Method::POST, uri, Some((JSON, body)))
    }

    pub(crate) fn put(uri: String, body: Value) -> Self {
        Self::new(Method::PUT, uri, Some((JSON, body)))
    }

    pub(crate) fn patch(uri: String, form: &'static str, body: Value) -> Self {
        Self::new(Method::PATCH, uri, Some((form, body)))
    }

    pub(crate) fn delete(uri: String, body: Value) -> Self {
        Self::new(Method::DELETE, uri, Some((JSON, body)))
    }

    /// Asks for another form of answer.
    pub(crate) fn accepting(self, accept: &'static str) -> Self {
        Self { accept, ..self }
    }

    fn for_call(self, call: &Call) -> Result<http::Request<Vec<u8>>, Error> {
        let mut request = http::Request::builder()
            .method(self.method)
            .uri(self.uri)
            .header(USER_AGENT, call.user_agent())
            .header(ACCEPT, self.accept);
        let mut bytes = Vec::new();
        if let Some((form, body)) = self.content {
            request = request.header(CONTENT_TYPE, form);
            bytes = serde_json::to_vec(&body).map_err(|error| invalid(&error))?;
        }
        request.body(bytes).map_err(|error| invalid(&error))
    }
}

/// A request that can't even be put into words.
fn invalid(error: &dyn std::fmt::Display) -> Error {
    Error::Invalid { message: format!("no request can be made of this: {error}") }
}

/// An answer of success.
pub(crate) struct Answer {
    headers: HeaderMap,
    body: Bytes,
}

impl Answer {
    /// The `Date` header.
    pub(crate) fn date(&self) -> Option<&str> {
        self.headers.get(DATE)?.to_str().ok()
    }

    /// The body.
    pub(crate) fn read<T: DeserializeOwned>(&self) -> Result<T, Error> {
        serde_json::from_slice(&self.body).map_err(|error| unreadable(&error))
    }
}

/// Sends requests to one cluster.
pub(crate) struct Transport {
    client: kube::Client,
    login: Option<Login>,
    time_limit: Duration,
}

impl Transport {
    pub(crate) fn new(client: kube::Client, login: Option<Login>, time_limit: Duration) -> Self {
        Self { client, login, time_limit }
    }

    /// Sends a request and takes its answer, within the time limit.
    pub(crate) async fn send(&self, call: &Call, request: Request) -> Result<Answer, Failure> {
        let bytes_max = request.answer_bytes_max;
        let request = request.for_call(call)?;
        self.within_limit(async {
            let (head, body) = self.open(request).await?.into_parts();
            let body = collect(body, bytes_max).await?;
            Ok(Answer { headers: head.headers, body })
        })
        .await
    }

    /// Opens a watch. The time limit is for its beginning only.
    pub(crate) async fn events(&self, call: &Call, request: Request) -> Result<Events, Failure> {
        let request = request.for_call(call)?;
        let answer = self.within_limit(self.open(request)).await?;
        Ok(events::read(answer.into_body()))
    }

    /// Sends a request, and takes the head of an answer of success.
    async fn open(&self, mut request: http::Request<Vec<u8>>) -> Result<http::Response<Body>, Failure> {
        if let Some(login) = &self.login
            && let Some(authorization) = login.authorization().await?
        {
            request.headers_mut().insert(AUTHORIZATION, authorization);
        }
        let request = request.map(Body::from);
        let answer = self.client.send(request).await.map_err(error_of_client)?;
        if answer.status().is_success() {
            return Ok(answer);
        }
        let (head, body) = answer.into_parts();
        let body = beginning(body).await?;
        let retry_after = head.headers.get(RETRY_AFTER).and_then(|value| value.to_str().ok());
        Err(Refused::read(head.status.as_u16(), retry_after, &body).into())
    }

    async fn within_limit<T>(&self, work: impl Future<Output = Result<T, Failure>>) -> Result<T, Failure> {
        match tokio::time::timeout(self.time_limit, work).await {
            Ok(outcome) => outcome,
            Err(_) => Err(Error::TimedOut { limit: self.time_limit }.into()),
        }
    }
}

async fn collect(body: Body, bytes_max: usize) -> Result<Bytes, Failure> {
    match Limited::new(body, bytes_max).collect().await {
        Ok(collected) => Ok(collected.to_bytes()),
        Err(error) if error.is::<LengthLimitError>() => {
            Err(Error::Unsupported { what: format!("an answer of more than {bytes_max} bytes") }.into())
        }
        Err(error) => Err(error_of_client(kube::Error::Service(error))),
    }
}

/// The beginning of a refusal. Its code counts, however much more it says.
async fn beginning(mut body: Body) -> Result<Vec<u8>, Failure> {
    let mut bytes = Vec::new();
    while bytes.len() < REFUSAL_BYTES_MAX
        && let Some(frame) = body.frame().await
    {
        bytes.extend(frame.map_err(error_of_client)?.into_data().unwrap_or_default());
    }
    Ok(bytes)
}
