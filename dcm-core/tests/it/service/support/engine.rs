//! A synchronizer in memory, which does its work when it is told to.

use std::collections::{BTreeMap, BTreeSet};
use std::ops::Range;
use std::sync::{Arc, Mutex, MutexGuard};
use std::time::Duration;

use async_trait::async_trait;
use dcm_core::app_context::{Action, AppContext, Generation, Request};
use dcm_core::name::{ClusterId, ContextId};
use dcm_core::port::cluster::ClusterUid;
use dcm_core::port::synchronizer::{
    Condition, Error, Issued, Removal, Results, StatusStream, Synchronizer, Tombstone,
};
use dcm_core::secret::Secret;
use dcm_core::status::{
    Cause, ContextStatus, Intent, LaneState, LaneStatus, Progress, Reason, RequestState, RequestStatus,
};
use futures::future::BoxFuture;
use futures::{FutureExt as _, StreamExt as _};

use super::{authority, now, seconds_from_now};

type Hook = Box<dyn FnOnce() -> BoxFuture<'static, ()> + Send>;

pub(crate) struct Engine {
    state: Arc<Mutex<State>>,
    changed: tokio::sync::watch::Sender<()>,
}

#[derive(Default)]
struct State {
    contexts: BTreeMap<ContextId, Held>,
    claims: BTreeMap<(ClusterId, Arc<str>), ContextId>,
    calls: Vec<String>,
    /// On which conditions it was given what it took.
    conditions: Vec<Condition>,
    reads: Vec<&'static str>,
    /// What was asked for, ever: one request is never asked for in two ways.
    asked: BTreeMap<(ContextId, Arc<str>), Request>,
    before: BTreeMap<&'static str, Hook>,
    fails: Option<Error>,
    tombstones: BTreeMap<ClusterId, Vec<Tombstone>>,
    stopped: BTreeSet<ClusterId>,
    /// Under which name each cluster is worked on.
    identities: BTreeMap<Arc<str>, ClusterId>,
    /// What each cluster was found to be when it was reached.
    reached: BTreeMap<ClusterId, ClusterUid>,
    life: Option<Range<u64>>,
    /// The app contexts of which clusters hold later changes than are known here.
    behind: BTreeSet<ContextId>,
}

/// One app context, as the engine has it.
#[derive(Clone)]
pub(crate) struct Held {
    pub(crate) context: AppContext,
    pub(crate) generation: Generation,
    pub(crate) intent: Intent,
    pub(crate) paused: bool,
    pub(crate) removal: Removal,
    done: BTreeSet<ClusterId>,
    abandoned: BTreeSet<ClusterId>,
    /// Clusters that are named no more, and not cleared yet.
    leaving: BTreeSet<ClusterId>,
    causes: BTreeMap<ClusterId, Cause>,
    results: Results,
}

impl Engine {
    pub(crate) fn new() -> Self {
        Self { state: Arc::default(), changed: tokio::sync::watch::Sender::new(()) }
    }

    /// Another one that has the same.
    pub(crate) fn copy(&self) -> Self {
        let state = self.state();
        let copy = State {
            contexts: state.contexts.clone(),
            claims: state.claims.clone(),
            asked: state.asked.clone(),
            tombstones: state.tombstones.clone(),
            stopped: state.stopped.clone(),
            reached: state.reached.clone(),
            life: state.life.clone(),
            behind: state.behind.clone(),
            ..State::default()
        };
        Self { state: Arc::new(Mutex::new(copy)), ..Self::new() }
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap()
    }

    /// What was called since the last time, reads left out.
    pub(crate) fn calls(&self) -> Vec<String> {
        std::mem::take(&mut self.state().calls)
    }

    /// On which conditions it was given what it took, since the last time.
    pub(crate) fn conditions(&self) -> Vec<Condition> {
        std::mem::take(&mut self.state().conditions)
    }

    /// What was read since the last time.
    pub(crate) fn reads(&self) -> Vec<&'static str> {
        std::mem::take(&mut self.state().reads)
    }

    fn read(&self, what: &'static str) -> MutexGuard<'_, State> {
        let mut state = self.state();
        state.reads.push(what);
        state
    }

    pub(crate) fn held(&self) -> BTreeMap<ContextId, Held> {
        self.state().contexts.clone()
    }

    /// Who has which namespace, where something is left of whom, and which clusters are stopped.
    pub(crate) fn marks(&self) -> Vec<String> {
        let state = self.state();
        let claims = state.claims.iter().map(|(claim, owner)| format!("{claim:?} is claimed by {owner}"));
        let left =
            state.tombstones.iter().map(|(cluster, left)| format!("{} are left on {cluster}", left.len()));
        let stopped = state.stopped.iter().map(|cluster| format!("{cluster} is stopped"));
        claims.chain(left).chain(stopped).collect()
    }

    /// The only app context there is.
    pub(crate) fn only(&self) -> Held {
        let held = self.held();
        assert_eq!(held.len(), 1, "one app context is expected");
        held.into_values().next().unwrap()
    }

    /// Runs something before the next apply arrives.
    pub(crate) fn before_apply(&self, hook: impl Future<Output = ()> + Send + 'static) {
        self.before("apply", hook);
    }

    /// Runs something before the next removal arrives.
    pub(crate) fn before_remove(&self, hook: impl Future<Output = ()> + Send + 'static) {
        self.before("remove", hook);
    }

    fn before(&self, call: &'static str, hook: impl Future<Output = ()> + Send + 'static) {
        self.state().before.insert(call, Box::new(move || hook.boxed()));
    }

    async fn arrive(&self, call: &str) {
        let hook = self.state().before.remove(call);
        if let Some(hook) = hook {
            hook().await;
        }
    }

    /// Lets the next changing call fail.
    /// From now on it knows which cluster this one is.
    pub(crate) fn reach(&self, cluster: &ClusterId, uid: &ClusterUid) {
        self.state().reached.insert(cluster.clone(), uid.clone());
    }

    pub(crate) fn fail_next(&self, error: Error) {
        self.state().fails = Some(error);
    }

    /// From now on clusters issue for this time, counted from the tests' beginning in seconds, and at its begin.
    pub(crate) fn issue_for(&self, life: Range<u64>) {
        self.state().life = Some(life);
    }

    /// Does all that is wanted, and signs all that is asked for.
    pub(crate) fn finish(&self) {
        let mut state = self.state();
        let life = state.life.clone();
        for held in state.contexts.values_mut().filter(|held| !held.paused) {
            let clusters: Vec<ClusterId> = held.context.placements.keys().cloned().collect();
            for cluster in clusters {
                held.finish(&cluster, life.as_ref());
            }
            held.leaving.clear();
        }
        drop(state);
        self.changed.send_replace(());
    }

    /// Does what is wanted in one cluster.
    pub(crate) fn finish_in(&self, cluster: &ClusterId) {
        let mut state = self.state();
        let life = state.life.clone();
        for held in state.contexts.values_mut() {
            held.finish(cluster, life.as_ref());
        }
        drop(state);
        self.changed.send_replace(());
    }

    /// Gives up a cluster that is to be cleared.
    pub(crate) fn abandon(&self, cluster: &ClusterId) {
        let mut state = self.state();
        let tombstones = state.contexts.iter_mut().map(|(id, held)| {
            held.done.insert(cluster.clone());
            held.abandoned.insert(cluster.clone());
            let (context, cluster) = (id.clone(), cluster.clone());
            Tombstone { context, cluster, since: now(), cause: None, objects: Vec::new() }
        });
        let tombstones = tombstones.collect();
        state.tombstones.insert(cluster.clone(), tombstones);
        drop(state);
        self.changed.send_replace(());
    }

    /// A cluster can't go on.
    pub(crate) fn hinder(&self, cluster: &ClusterId, reason: Reason, message: &str) {
        let next_try = (!reason.needs_somebody()).then(now);
        self.blame(cluster, &Cause { next_try, ..Cause::new(reason, message) });
    }

    /// A cluster can't go on, for a cause that may be about one object.
    pub(crate) fn blame(&self, cluster: &ClusterId, cause: &Cause) {
        for held in self.state().contexts.values_mut() {
            let cause = cause.clone();
            held.causes.insert(cluster.clone(), cause);
            held.done.remove(cluster);
        }
        self.changed.send_replace(());
    }

    /// Clusters are found to hold later changes of all that is wanted, as they do after an old copy was restored.
    pub(crate) fn find_later_changes(&self) {
        let mut state = self.state();
        state.behind = state.contexts.keys().cloned().collect();
    }

    /// Replaces what a cluster issued for a request.
    pub(crate) fn issue(&self, cluster: &ClusterId, request: &str, issued: &Issued) {
        for held in self.state().contexts.values_mut() {
            held.results.entry(cluster.clone()).or_default().insert(request.into(), issued.clone());
        }
    }

    fn call(&self, call: &str) -> Result<MutexGuard<'_, State>, Error> {
        let mut state = self.state();
        state.calls.push(call.to_owned());
        match state.fails.take() {
            Some(error) => Err(error),
            None => Ok(state),
        }
    }

    fn with<T>(&self, call: &str, id: &ContextId, change: impl FnOnce(&mut Held) -> T) -> Result<T, Error> {
        let mut state = self.call(call)?;
        let held = state.contexts.get_mut(id).ok_or_else(|| Error::NotFound { id: id.clone() })?;
        let changed = change(held);
        drop(state);
        self.changed.send_replace(());
        Ok(changed)
    }
}

impl Held {
    fn finish(&mut self, cluster: &ClusterId, life: Option<&Range<u64>>) {
        self.done.insert(cluster.clone());
        self.causes.remove(cluster);
        if self.intent == Intent::Absent {
            return;
        }
        for (name, request) in self.requests(cluster) {
            let received = Some(life.map_or(now(), |life| seconds_from_now(life.start)));
            let issued = match request {
                Request::Certificate(request) => {
                    let csr = &request.csr_pem;
                    let pem =
                        life.map_or_else(|| authority::sign(csr), |life| authority::sign_from_now(csr, life));
                    Issued::Certificate { pem: pem.into(), received, tried: true }
                }
                Request::Token(_) => {
                    let in_2027 = || "2027-01-01T00:00:00Z".parse().unwrap();
                    let expires = life.map_or_else(in_2027, |life| seconds_from_now(life.end));
                    let token = Secret::new(format!("token-of-{name}"));
                    Issued::Token { token, expires, received, tried: true }
                }
            };
            self.results.entry(cluster.clone()).or_default().entry(name).or_insert(issued);
        }
    }

    fn wanted_requests(&self, cluster: &ClusterId) -> Vec<(Arc<str>, Request)> {
        if self.leaving.contains(cluster) { Vec::new() } else { self.requests(cluster) }
    }

    pub(crate) fn requests(&self, cluster: &ClusterId) -> Vec<(Arc<str>, Request)> {
        let steps = self.context.placements[cluster].steps().iter();
        steps
            .filter_map(|step| match &step.action {
                Action::Request { name, request } => Some((name.clone(), request.clone())),
                Action::Apply { .. } | Action::Edit { .. } => None,
            })
            .collect()
    }

    /// The objects of all clusters, as JSON texts.
    pub(crate) fn objects(&self) -> BTreeSet<String> {
        let steps = self.context.placements.values().flat_map(|bundle| bundle.steps());
        steps
            .filter_map(|step| match &step.action {
                Action::Apply { manifest, .. } => Some(manifest.body().to_string()),
                Action::Edit { .. } | Action::Request { .. } => None,
            })
            .collect()
    }

    pub(crate) fn clusters(&self) -> Vec<String> {
        self.context.placements.keys().map(ToString::to_string).collect()
    }

    fn status(&self) -> ContextStatus {
        let lanes: BTreeMap<ClusterId, LaneStatus> =
            self.named().map(|cluster| (cluster.clone(), self.lane(cluster))).collect();
        let open: Vec<&ClusterId> = lanes.keys().filter(|cluster| !self.done.contains(*cluster)).collect();
        let needs = |cluster: &&ClusterId| {
            self.causes.get(*cluster).is_some_and(|cause| cause.reason.needs_somebody())
        };
        let progress = if open.is_empty() {
            Progress::Done
        } else if open.iter().all(needs) {
            Progress::Stuck
        } else {
            Progress::Working
        };
        ContextStatus {
            id: self.context.id.clone(),
            generation: self.generation,
            intent: self.intent,
            paused: self.paused,
            progress,
            lanes,
        }
    }

    fn named(&self) -> impl Iterator<Item = &ClusterId> {
        self.context.placements.keys().chain(&self.leaving)
    }

    fn lane(&self, cluster: &ClusterId) -> LaneStatus {
        let done = self.done.contains(cluster);
        let intent = if self.leaving.contains(cluster) { Intent::Absent } else { self.intent };
        let state = match (intent, done) {
            (Intent::Present, true) => LaneState::Done,
            (Intent::Present, false) => LaneState::Pending,
            (Intent::Absent, true) if self.abandoned.contains(cluster) => LaneState::Abandoned,
            (Intent::Absent, true) => LaneState::Removed,
            (Intent::Absent, false) => LaneState::Removing,
        };
        let issued = self.results.get(cluster);
        let request = |(name, request): (Arc<str>, Request)| {
            let is_issued = issued.is_some_and(|issued| issued.contains_key(&name));
            let state = if is_issued { RequestState::Issued } else { RequestState::Pending };
            let object = request.object();
            let cause =
                self.causes.get(cluster).filter(|cause| cause.object.as_ref() == Some(&object)).cloned();
            RequestStatus { name, object, state, cause }
        };
        LaneStatus {
            observed_generation: self.generation,
            state,
            since: now(),
            seen: None,
            cause: self.causes.get(cluster).cloned(),
            objects: Vec::new(),
            requests: self.wanted_requests(cluster).into_iter().map(request).collect(),
        }
    }
}

impl State {
    fn remember(&mut self, context: &AppContext) {
        for step in context.placements.values().flat_map(|bundle| bundle.steps()) {
            if let Action::Request { name, request } = &step.action {
                let asked = self.asked.entry((context.id.clone(), name.clone()));
                assert_eq!(asked.or_insert_with(|| request.clone()), request, "{name} in two ways");
            }
        }
    }

    fn claim(&mut self, context: &AppContext) -> Result<(), Error> {
        let mut wanted = Vec::new();
        for (cluster, bundle) in &context.placements {
            for step in bundle.steps() {
                if let Action::Apply { manifest, .. } = &step.action
                    && manifest.kind().is_namespace()
                {
                    wanted.push((cluster.clone(), manifest.key().name.clone()));
                }
            }
        }
        for (cluster, namespace) in &wanted {
            if let Some(winner) = self.claims.get(&(cluster.clone(), namespace.clone()))
                && *winner != context.id
            {
                let (cluster, namespace) = (cluster.clone(), namespace.clone());
                return Err(Error::NamespaceTaken { namespace, cluster, winner: winner.clone() });
            }
        }
        self.claims.extend(wanted.into_iter().map(|claim| (claim, context.id.clone())));
        Ok(())
    }
}

#[async_trait]
impl Synchronizer for Engine {
    async fn identity(&self, cluster: &ClusterId) -> Result<Option<ClusterUid>, Error> {
        Ok(self.call("identity")?.reached.get(cluster).cloned())
    }

    async fn hold_identity(&self, cluster: &ClusterId, uid: &ClusterUid) -> Result<(), Error> {
        let mut state = self.call("hold_identity")?;
        let first = state.identities.entry(uid.0.clone()).or_insert_with(|| cluster.clone()).clone();
        if first == *cluster { Ok(()) } else { Err(Error::SameCluster { cluster: cluster.clone(), first }) }
    }

    async fn release_identity(&self, cluster: &ClusterId) -> Result<(), Error> {
        self.state().identities.retain(|_, holder| holder != cluster);
        Ok(())
    }

    async fn apply_on(&self, context: &AppContext, condition: &Condition) -> Result<Generation, Error> {
        self.arrive("apply").await;
        let mut state = self.call("apply")?;
        let current = state.contexts.get(&context.id);
        let same = current.filter(|held| held.context == *context && held.intent == Intent::Present);
        let same = same.map(|held| held.generation);
        let generation = same.unwrap_or(current.map_or(Generation(1), |held| held.generation.next()));
        if let Condition::AsPlanned(planned) = condition
            && !planned.is_of(context, generation)
        {
            return Err(Error::Stale { id: context.id.clone() });
        }
        state.claim(context)?;
        state.remember(context);
        state.conditions.push(condition.clone());
        let current = state.contexts.get(&context.id);
        if same.is_some() {
            return Ok(generation);
        }
        let results = current.map(|held| held.results.clone()).unwrap_or_default();
        let before = current.into_iter().flat_map(Held::named).cloned();
        let leaving = before.filter(|cluster| !context.placements.contains_key(cluster)).collect();
        let held = Held {
            context: context.clone(),
            leaving,
            generation,
            intent: Intent::Present,
            paused: false,
            removal: Removal::default(),
            done: BTreeSet::new(),
            abandoned: BTreeSet::new(),
            causes: BTreeMap::new(),
            results,
        };
        state.contexts.insert(context.id.clone(), held);
        drop(state);
        self.changed.send_replace(());
        Ok(generation)
    }

    async fn remove(&self, id: &ContextId, removal: Removal) -> Result<Generation, Error> {
        self.arrive("remove").await;
        self.with("remove", id, |held| {
            if held.intent != Intent::Absent || held.removal != removal {
                held.intent = Intent::Absent;
                held.removal = removal;
                held.generation = held.generation.next();
                held.done.clear();
                held.causes.clear();
                held.paused = false;
            }
            held.generation
        })
    }

    async fn look_again(&self, _: &ContextId) -> Result<(), Error> {
        self.call("look_again").map(drop)
    }

    async fn reconcile(&self, id: &ContextId) -> Result<Generation, Error> {
        let mut state = self.call("reconcile")?;
        let is_behind = state.behind.remove(id);
        let held = state.contexts.get_mut(id).ok_or_else(|| Error::NotFound { id: id.clone() })?;
        if is_behind {
            held.generation = held.generation.next();
        }
        let generation = held.generation;
        drop(state);
        self.changed.send_replace(());
        Ok(generation)
    }

    async fn stop(&self, id: &ContextId, _: Duration) -> Result<(), Error> {
        self.with("stop", id, |held| held.paused = true)
    }

    async fn stop_cluster(&self, cluster: &ClusterId, _: Duration) -> Result<(), Error> {
        self.call("stop_cluster")?.stopped.insert(cluster.clone());
        Ok(())
    }

    async fn resume_cluster(&self, cluster: &ClusterId) -> Result<(), Error> {
        self.call("resume_cluster")?.stopped.remove(cluster);
        Ok(())
    }

    async fn stopped_clusters(&self) -> Result<BTreeSet<ClusterId>, Error> {
        Ok(self.call("stopped_clusters")?.stopped.clone())
    }

    async fn resume(&self, id: &ContextId) -> Result<(), Error> {
        self.with("resume", id, |held| held.paused = false)
    }

    async fn forget(&self, id: &ContextId) -> Result<(), Error> {
        let mut state = self.call("forget")?;
        if let Some(held) = state.contexts.get(id) {
            let status = held.status();
            if status.intent != Intent::Absent || status.progress != Progress::Done {
                return Err(Error::NotRemoved { id: id.clone() });
            }
        }
        state.contexts.remove(id);
        state.claims.retain(|_, owner| owner != id);
        drop(state);
        self.changed.send_replace(());
        Ok(())
    }

    /// Nothing of it is left at once.
    async fn discard(&self, id: &ContextId, _: Removal) -> Result<(), Error> {
        let mut state = self.call("discard")?;
        state.contexts.remove(id);
        state.claims.retain(|_, owner| owner != id);
        Ok(())
    }

    async fn tombstones(&self, cluster: &ClusterId) -> Result<Vec<Tombstone>, Error> {
        Ok(self.state().tombstones.get(cluster).cloned().unwrap_or_default())
    }

    async fn drop_tombstones(&self, cluster: &ClusterId) -> Result<(), Error> {
        self.call("drop tombstones")?.tombstones.remove(cluster);
        Ok(())
    }

    async fn status(&self, id: &ContextId) -> Result<Option<ContextStatus>, Error> {
        Ok(self.read("status").contexts.get(id).map(Held::status))
    }

    async fn lane(&self, id: &ContextId, cluster: &ClusterId) -> Result<Option<LaneStatus>, Error> {
        let status = self.read("lane").contexts.get(id).map(Held::status);
        Ok(status.and_then(|mut status| status.lanes.remove(cluster)))
    }

    async fn results(&self, id: &ContextId) -> Result<Results, Error> {
        Ok(self.read("results").contexts.get(id).map(|held| held.results.clone()).unwrap_or_default())
    }

    async fn result(
        &self,
        id: &ContextId,
        cluster: &ClusterId,
        request: &str,
    ) -> Result<Option<Issued>, Error> {
        let state = self.read("result");
        let results = state.contexts.get(id).and_then(|held| held.results.get(cluster));
        Ok(results.and_then(|results| results.get(request)).cloned())
    }

    async fn watch(&self, id: &ContextId) -> Result<StatusStream, Error> {
        self.status(id).await?.ok_or_else(|| Error::NotFound { id: id.clone() })?;
        let mut changed = self.changed.subscribe();
        changed.mark_changed();
        let follow = (self.state.clone(), changed, id.clone());
        let statuses = futures::stream::unfold(follow, |(state, mut changed, id)| async move {
            changed.changed().await.ok()?;
            let status = state.lock().unwrap().contexts.get(&id).map(Held::status)?;
            Some((Ok(status), (state, changed, id)))
        });
        Ok(statuses.boxed())
    }
}
