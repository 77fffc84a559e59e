//! Requests and answers. An answer is read as far as it may be large, and paid for out of the cluster's budget.

use std::sync::Arc;
use std::time::Duration;

use dcm_core::port::cluster::{Call, ClusterUid, Error};
use dcm_core::weight;
use http::header::{ACCEPT, AUTHORIZATION, CONTENT_TYPE, DATE, RETRY_AFTER, USER_AGENT};
use http::{HeaderMap, Method};
use http_body_util::BodyExt as _;
use hyper::body::{Body as HttpBody, Bytes};
use kube::client::Body;
use serde::de::DeserializeOwned;
use serde_json::Value;
use tokio::time::Instant;

use crate::apart::{self, APART_VALUES};
use crate::budget::{Budget, Held, SMALL_BYTES_MAX};
use crate::events::{self, Events};
use crate::failure::{Failure, Large, Limit, Refused, error_of_client, unreadable};
use crate::identity::{Asked, Identifies, Identity};
use crate::login::Login;
use crate::options::Options;
use crate::slices::slice;

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
    /// How large the answer may be; as large as an object unless it is said.
    answer_bytes_max: Option<usize>,
    is_identifying: bool,
}

impl Request {
    fn new(method: Method, uri: String, content: Option<(&'static str, Value)>) -> Self {
        Self { method, uri, accept: JSON, content, answer_bytes_max: None, is_identifying: false }
    }

    pub(crate) fn get(uri: String) -> Self {
        Self::new(Method::GET, uri, None)
    }

    /// Asks for what has a limit of its own.
    pub(crate) fn get_within(uri: String, answer_bytes_max: usize) -> Self {
        Self { answer_bytes_max: Some(answer_bytes_max), ..Self::get(uri) }
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

    /// Asks which cluster it is, so that the server need not be asked before.
    pub(crate) fn identifying(self) -> Self {
        Self { is_identifying: true, ..self }
    }

    async fn for_call(self, call: &Call) -> Result<http::Request<Vec<u8>>, Error> {
        let mut request = http::Request::builder()
            .method(self.method)
            .uri(self.uri)
            .header(USER_AGENT, call.user_agent())
            .header(ACCEPT, self.accept);
        if self.is_identifying {
            request = request.extension(Identifies);
        }
        let mut bytes = Vec::new();
        if let Some((form, body)) = self.content {
            request = request.header(CONTENT_TYPE, form);
            let is_short = weight::is_at_most(APART_VALUES, [&body]);
            let written = apart::working(is_short, move || serde_json::to_vec(&body)).await;
            bytes = written.map_err(|error| invalid(&error))?;
        }
        request.body(bytes).map_err(|error| invalid(&error))
    }
}

/// A request that can't even be put into words.
fn invalid(error: &dyn std::fmt::Display) -> Error {
    Error::Invalid { message: format!("no request can be made of this: {error}").into() }
}

/// An answer of success.
pub(crate) struct Answer {
    headers: HeaderMap,
    body: Arc<Vec<u8>>,
    /// Of the connection that it came by.
    asked: Option<Asked>,
    /// Its place, where it is large.
    _held: Option<Held>,
}

impl Answer {
    /// The `Date` header.
    pub(crate) fn date(&self) -> Option<&str> {
        self.headers.get(DATE)?.to_str().ok()
    }

    /// The body as it came.
    pub(crate) fn text(&self) -> &Arc<Vec<u8>> {
        &self.body
    }

    /// The body.
    pub(crate) async fn read<T: DeserializeOwned + Send + 'static>(&self) -> Result<T, Error> {
        let body = self.body.clone();
        let read = move || serde_json::from_slice(&body).map_err(|error| unreadable(&error));
        apart::reading(self.body.len(), read).await
    }
}

/// Sends requests to one cluster.
pub(crate) struct Transport {
    client: kube::Client,
    identity: Arc<Identity>,
    login: Option<Login>,
    time_limit: Duration,
    sizes: Sizes,
    budget: Arc<Budget>,
}

/// Largest sizes that are read of a cluster.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Sizes {
    pub(crate) page_objects: usize,
    pub(crate) page_bytes_max: usize,
    pub(crate) object_bytes_max: usize,
    pub(crate) values_max: usize,
    pub(crate) list_bytes_max: u64,
    pub(crate) list_objects_max: usize,
}

impl Sizes {
    pub(crate) fn of(options: &Options) -> Self {
        Self {
            page_objects: options.page_objects.max(1),
            page_bytes_max: options.page_bytes_max.min(options.object_bytes_max),
            object_bytes_max: options.object_bytes_max,
            values_max: options.values_max,
            list_bytes_max: options.list_bytes_max,
            list_objects_max: options.list_objects_max,
        }
    }
}

impl Transport {
    pub(crate) fn new(
        client: kube::Client,
        identity: Arc<Identity>,
        login: Option<Login>,
        options: &Options,
        budget: Arc<Budget>,
    ) -> Self {
        let (time_limit, sizes) = (options.request_time_limit, Sizes::of(options));
        Self { client, identity, login, time_limit, sizes, budget }
    }

    pub(crate) fn sizes(&self) -> Sizes {
        self.sizes
    }

    /// Sends a request and takes its answer, within the time limit. Waiting for the budget does not count.
    pub(crate) async fn send(&self, call: &Call, request: Request) -> Result<Answer, Failure> {
        let bytes_max = request.answer_bytes_max.unwrap_or(self.sizes.object_bytes_max);
        let request = request.for_call(call).await?;
        let mut deadline = Instant::now() + self.time_limit;
        let (mut head, body) = self.by(deadline, self.open(request)).await?.into_parts();
        let (body, held) = self.collect(body, bytes_max, &mut deadline).await?;
        Ok(Answer {
            headers: head.headers,
            body: Arc::new(body),
            asked: head.extensions.remove(),
            _held: held,
        })
    }

    /// Whether the client knows which cluster it is to reach. [`Error::Moved`] once it reached another one.
    pub(crate) fn expects_uid(&self) -> Result<bool, Error> {
        self.identity.is_expected()
    }

    /// Takes the UID in an answer, which need not be asked for on the same connection again.
    pub(crate) fn identified(&self, uid: &ClusterUid, answer: &Answer) -> Result<(), Error> {
        self.identity.answered(uid)?;
        if let Some(asked) = &answer.asked {
            asked.note();
        }
        Ok(())
    }

    /// Opens a watch. The time limit is for its beginning only.
    pub(crate) async fn events(&self, call: &Call, request: Request) -> Result<Events, Failure> {
        let request = request.for_call(call).await?;
        let answer = self.by(Instant::now() + self.time_limit, self.open(request)).await?;
        Ok(events::read(answer.into_body(), self.budget.clone(), self.sizes))
    }

    async fn collect(
        &self,
        mut body: Body,
        bytes_max: usize,
        deadline: &mut Instant,
    ) -> Result<(Vec<u8>, Option<Held>), Failure> {
        let (mut bytes, mut held) = (Vec::new(), None);
        while let Some(data) = self.by(*deadline, next_data(&mut body)).await? {
            let waits = Instant::now();
            if held.is_none() && bytes.len() + data.len() > SMALL_BYTES_MAX {
                held = Some(self.budget.hold(bytes_max).await);
            }
            self.budget.pay(data.len()).await;
            *deadline += waits.elapsed();
            if bytes.len() + data.len() > bytes_max {
                return Err(self.too_large(&bytes, Limit::Bytes(bytes_max)).into());
            }
            bytes.extend_from_slice(&data);
        }
        let values_max = self.sizes.values_max;
        if bytes.len() > values_max {
            let count = move || (slice(&bytes, values_max).values, bytes);
            let (values, counted) = apart::reading(bytes_max, count).await;
            bytes = counted;
            if values > values_max {
                return Err(self.too_large(&bytes, Limit::Values(values_max)).into());
            }
        }
        Ok((bytes, held))
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

    fn too_large(&self, bytes: &[u8], limit: Limit) -> Large {
        Large { limit, items: slice(bytes, self.sizes.values_max).items.len() }
    }

    async fn by<T>(
        &self,
        deadline: Instant,
        work: impl Future<Output = Result<T, Failure>>,
    ) -> Result<T, Failure> {
        match tokio::time::timeout_at(deadline, work).await {
            Ok(outcome) => outcome,
            Err(_) => Err(Error::TimedOut { limit: self.time_limit }.into()),
        }
    }
}

/// A body that comes in parts, as the client library gives it.
pub(crate) trait Received:
    HttpBody<Data = Bytes, Error = kube::Error> + Unpin + Send + 'static
{
}

impl<B: HttpBody<Data = Bytes, Error = kube::Error> + Unpin + Send + 'static> Received for B {}

/// The next part of a body; none at its end.
pub(crate) async fn next_data(body: &mut impl Received) -> Result<Option<Bytes>, Failure> {
    while let Some(frame) = body.frame().await {
        if let Ok(data) = frame.map_err(error_of_client)?.into_data() {
            return Ok(Some(data));
        }
    }
    Ok(None)
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
