//! The `Cluster` port in front of a simulated server: latency, time limits and faults, and nothing else.

use std::sync::Arc;
use std::time::Duration;

use async_trait::async_trait;
use dcm_core::app_context::TokenRequest;
use dcm_core::manifest::{GroupVersionKind, ObjectKey};
use dcm_core::port::cluster::{
    Access, Call, Cluster, ClusterUid, Contents, Deletion, Error, IssuedToken, Kinds, Object, Origin, Page,
    PageToken, Part, Precondition, Selection, ServerInfo, Stamped, Watch,
};
use dcm_core::port::proof::ClusterProofKey;
use dcm_core::port::trial::{ClientCredential, Trial};
use serde_json::Value;

use super::fault::{Fault, Faults, Link, unreachable};
use super::request::{Operation, Reply, Request};
use super::server::Server;
use super::site::{Latency, Site, Trip};
use super::snapshot::Snapshot;
use super::watch::{self, PAGE_OBJECTS};

/// One simulated cluster. A clone is the same cluster.
#[derive(Clone)]
pub struct SimCluster {
    site: Arc<Site>,
}

impl std::fmt::Debug for SimCluster {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("SimCluster").field("link", &self.site.link()).finish_non_exhaustive()
    }
}

impl SimCluster {
    pub(super) fn new(site: Site) -> Self {
        Self { site: Arc::new(site) }
    }

    /// Looks at the server, or changes something there as another person, at the present time. Faults and latency are
    /// the engine's only.
    pub fn server<R>(&self, act: impl FnOnce(&mut Server) -> R) -> R {
        self.site.with(|state| act(&mut state.server))
    }

    /// Sets how the cluster is reached, at once.
    pub fn set_link(&self, link: Link) {
        self.site.with(|state| state.way.link = link);
    }

    /// Sets the chances of faults.
    pub fn set_faults(&self, faults: Faults) {
        self.site.with(|state| state.way.faults = faults);
    }

    /// Sets how far away the cluster is.
    pub fn set_latency(&self, latency: Latency) {
        self.site.with(|state| state.way.latency = latency);
    }

    /// What is there now, to come back to.
    #[must_use]
    pub fn snapshot(&self) -> Snapshot {
        self.site.with(|state| state.server.snapshot())
    }

    /// The server loses what was written after the snapshot, as after a restored backup, and starts anew: watches break.
    pub fn restore(&self, snapshot: &Snapshot) {
        self.site.with(|state| state.restore(snapshot));
    }

    /// The server starts anew: watches break.
    pub fn restart(&self) {
        self.site.with(super::site::State::restart);
    }

    /// Lets happen what is due by now. Otherwise it happens when somebody looks.
    pub fn advance(&self) {
        self.site.advance();
    }

    async fn ask(&self, call: &Call, operation: Operation) -> Result<Reply, Error> {
        let (link, trip) = self.site.depart(operation.verb());
        match link {
            Link::Cut => return Err(unreachable("connection refused")),
            Link::Hang => return self.time_out_after(self.site.time_limit).await,
            Link::Up | Link::Delay(_) | Link::Reset => {}
        }
        let request = Request { call: call.clone(), operation };
        match trip.fault {
            Fault::LostRequest => {
                self.pause(trip.there.min(self.site.time_limit)).await;
                return Err(unreachable("the request was lost"));
            }
            Fault::Refused(error) => {
                self.pause(trip.there + trip.back).await;
                return Err(error);
            }
            Fault::Duplicated | Fault::LostReply | Fault::Failed(_) | Fault::Delayed(_) | Fault::None => {}
        }
        let times = if matches!(trip.fault, Fault::Duplicated) { 2 } else { 1 };
        let awaiting = self.site.send(request, times, trip.there);
        if trip.there > self.site.time_limit {
            drop(awaiting);
            return self.time_out_after(self.site.time_limit).await;
        }
        self.pause(trip.there).await;
        match awaiting.answer() {
            Some(answer) => self.bring_back(trip, answer).await,
            None if self.site.link() == Link::Hang => self.time_out_after(self.left(&trip)).await,
            None => Err(unreachable("the connection broke")),
        }
    }

    async fn bring_back(&self, trip: Trip, result: Result<Reply, Error>) -> Result<Reply, Error> {
        let left = self.left(&trip);
        if trip.back > left {
            return self.time_out_after(left).await;
        }
        self.pause(trip.back).await;
        match self.site.link() {
            Link::Cut | Link::Reset => return Err(unreachable("the connection broke")),
            Link::Hang => return self.time_out_after(left.saturating_sub(trip.back)).await,
            Link::Up | Link::Delay(_) => {}
        }
        match trip.fault {
            Fault::LostReply => Err(unreachable("the answer was lost")),
            Fault::Failed(error) => Err(error),
            Fault::None | Fault::Duplicated | Fault::Delayed(_) | Fault::LostRequest | Fault::Refused(_) => {
                result
            }
        }
    }

    /// What is left of the time limit when a request has arrived.
    fn left(&self, trip: &Trip) -> Duration {
        self.site.time_limit.saturating_sub(trip.there)
    }

    async fn time_out_after(&self, left: Duration) -> Result<Reply, Error> {
        self.pause(left).await;
        Err(Error::TimedOut { limit: self.site.time_limit })
    }

    async fn pause(&self, duration: Duration) {
        if !duration.is_zero() {
            self.site.clock.sleep(duration).await;
        }
    }
}

/// The page after this object. Where that has gone, the list is too old to go on with.
fn page_of(mut objects: Vec<Object>, after: Option<&PageToken>) -> Result<Page, Error> {
    if let Some(PageToken(after)) = after {
        let at = objects.iter().position(|object| object.key.to_string() == **after).ok_or(Error::Gone)?;
        objects.drain(..=at);
    }
    let is_last = objects.len() <= PAGE_OBJECTS;
    objects.truncate(PAGE_OBJECTS);
    let last = objects.last().filter(|_| !is_last);
    let next = last.map(|object| PageToken(object.key.to_string().into()));
    Ok(Page { objects, next })
}

/// Takes out of a reply what its operation is answered with.
macro_rules! reply {
    ($asked:expr, $pattern:pat => $value:expr) => {
        match $asked.await? {
            $pattern => Ok($value),
            other => unreachable!("the server answers each operation with its own reply, not {other:?}"),
        }
    };
}

#[async_trait]
impl Cluster for SimCluster {
    async fn uid(&self, call: &Call) -> Result<ClusterUid, Error> {
        reply!(self.ask(call, Operation::Uid), Reply::Uid(uid) => uid)
    }

    async fn server_info(&self, call: &Call) -> Result<ServerInfo, Error> {
        reply!(self.ask(call, Operation::Info), Reply::Info(info) => info)
    }

    async fn kinds(&self, call: &Call) -> Result<Kinds, Error> {
        reply!(self.ask(call, Operation::Kinds), Reply::Kinds(known) => Kinds { known, ..Kinds::default() })
    }

    async fn get(
        &self,
        call: &Call,
        kind: &GroupVersionKind,
        key: &ObjectKey,
    ) -> Result<Option<Object>, Error> {
        let operation = Operation::Get { kind: kind.clone(), key: key.clone() };
        reply!(self.ask(call, operation), Reply::Found(object) => object)
    }

    async fn list(
        &self,
        call: &Call,
        kind: &GroupVersionKind,
        namespace: Option<&str>,
        page: Option<&PageToken>,
    ) -> Result<Page, Error> {
        let operation = Operation::List { kind: kind.clone(), namespace: namespace.map(Into::into) };
        let objects = reply!(self.ask(call, operation), Reply::All(objects) => objects)?;
        page_of(objects, page)
    }

    async fn create(&self, call: &Call, object: &Stamped) -> Result<Object, Error> {
        let (kind, key) = (object.manifest.kind().clone(), object.manifest.key().clone());
        let operation = Operation::Create { kind, key, body: object.body() };
        reply!(self.ask(call, operation), Reply::Written(object) => object)
    }

    async fn update(
        &self,
        call: &Call,
        object: &Stamped,
        observed: &Precondition,
        force: bool,
    ) -> Result<Object, Error> {
        let (kind, key) = (object.manifest.kind().clone(), object.manifest.key().clone());
        let operation =
            Operation::Update { kind, key, body: object.body(), observed: observed.clone(), force };
        reply!(self.ask(call, operation), Reply::Written(object) => object)
    }

    async fn rehearse(
        &self,
        call: &Call,
        object: &Stamped,
        observed: Option<&Precondition>,
        force: bool,
    ) -> Result<Value, Error> {
        let (kind, key) = (object.manifest.kind().clone(), object.manifest.key().clone());
        let observed = observed.cloned();
        let operation = Operation::Rehearse { kind, key, body: object.body(), observed, force };
        reply!(self.ask(call, operation), Reply::Rehearsed(body) => body)
    }

    async fn release(
        &self,
        call: &Call,
        kind: &GroupVersionKind,
        key: &ObjectKey,
        observed: &Precondition,
        origin: Origin,
    ) -> Result<Object, Error> {
        let (kind, key, observed) = (kind.clone(), key.clone(), observed.clone());
        let operation = Operation::Release { kind, key, observed, origin };
        reply!(self.ask(call, operation), Reply::Written(object) => object)
    }

    async fn set_part(
        &self,
        call: &Call,
        kind: &GroupVersionKind,
        key: &ObjectKey,
        observed: &Precondition,
        part: &Part,
    ) -> Result<Object, Error> {
        let (kind, key, observed) = (kind.clone(), key.clone(), observed.clone());
        let operation = Operation::SetPart { kind, key, observed, part: part.clone() };
        reply!(self.ask(call, operation), Reply::Written(object) => object)
    }

    async fn delete(
        &self,
        call: &Call,
        kind: &GroupVersionKind,
        key: &ObjectKey,
        observed: &Precondition,
    ) -> Result<Deletion, Error> {
        let operation =
            Operation::Delete { kind: kind.clone(), key: key.clone(), observed: observed.clone() };
        reply!(self.ask(call, operation), Reply::Deleted(deletion) => deletion)
    }

    async fn watch(&self, call: &Call, selection: &Selection) -> Result<Watch, Error> {
        let asked = self.ask(call, Operation::Watch { selection: selection.clone() });
        let (listed, revision) = reply!(asked, Reply::Listed { objects, revision } => (objects, revision))?;
        Ok(watch::watch(self.site.clone(), selection.clone(), listed, revision))
    }

    async fn approve(&self, call: &Call, key: &ObjectKey, observed: &Precondition) -> Result<Object, Error> {
        let operation = Operation::Approve { key: key.clone(), observed: observed.clone() };
        reply!(self.ask(call, operation), Reply::Written(object) => object)
    }

    async fn issue_token(&self, call: &Call, request: &TokenRequest) -> Result<IssuedToken, Error> {
        reply!(self.ask(call, Operation::IssueToken(request.clone())), Reply::Issued(token) => token)
    }

    async fn try_credential(&self, call: &Call, credential: &ClientCredential) -> Result<Trial, Error> {
        let asked = async {
            match self.ask(call, Operation::TryCredential(credential.clone())).await {
                // Who answers so does not know the user.
                Err(Error::Unauthorized { .. }) => Ok(Reply::Tried(Trial::Refused)),
                answer => answer,
            }
        };
        reply!(asked, Reply::Tried(trial) => trial)
    }

    async fn contents(
        &self,
        call: &Call,
        namespace: &str,
        proofs: Option<&ClusterProofKey>,
    ) -> Result<Contents, Error> {
        let operation = Operation::Contents { namespace: namespace.into(), proofs: proofs.cloned() };
        reply!(self.ask(call, operation), Reply::Contents(contents) => contents)
    }

    async fn review(&self, call: &Call, accesses: &[Access]) -> Result<Vec<bool>, Error> {
        let operation = Operation::Review { accesses: accesses.to_vec() };
        reply!(self.ask(call, operation), Reply::Reviewed(answers) => answers)
    }
}
