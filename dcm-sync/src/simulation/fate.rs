//! What stands between a simulated process and the world: its death, and the record of what it sent.

use serde::{Deserialize, Serialize};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, PoisonError};

use async_trait::async_trait;
use dcm_core::name::ClusterId;
use dcm_core::port::clock::Clock;
use dcm_core::port::cluster::{self, Cluster, Clusters};
use jiff::Timestamp;

use super::events::{Asked, Events, Sent};
use super::executor::ProcessId;
use crate::sim::Verb;
use crate::tap::{ClusterChange, Crossing, PortError, Tap, Tapped};

/// When a process dies: at one of its next calls that change something, before it or after it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct Death {
    /// How many such calls it still makes.
    pub calls: u32,
    /// The call happens, and the process dies before it hears of it.
    pub is_after: bool,
}

/// More calls than any process has a reason for at one time.
const CALLS_AT_ONCE_MAX: u32 = 20_000;

/// The fate of one process.
pub(super) struct Fate {
    process: ProcessId,
    is_dead: AtomicBool,
    death: Mutex<Option<Death>>,
    /// It does not die any more, whatever was decided.
    is_spared: AtomicBool,
    /// How many calls were made at the present time.
    at_once: Mutex<(Timestamp, u32)>,
    events: Events,
    clock: Arc<dyn Clock>,
}

impl Fate {
    pub(super) fn new(process: ProcessId, events: Events, clock: Arc<dyn Clock>) -> Arc<Self> {
        let (is_dead, death, is_spared) = (AtomicBool::new(false), Mutex::new(None), AtomicBool::new(false));
        let at_once = Mutex::new((clock.now(), 0));
        Arc::new(Self { process, is_dead, death, is_spared, at_once, events, clock })
    }

    /// True when its process has died, or is about to be taken away.
    pub(super) fn is_dead(&self) -> bool {
        self.is_dead.load(Ordering::Relaxed)
    }

    pub(super) fn decide(&self, death: Death) {
        *self.death.lock().unwrap_or_else(PoisonError::into_inner) = Some(death);
    }

    /// True when a process goes round in circles, in which time does not go on.
    fn spins(&self) -> bool {
        let now = self.clock.now();
        let mut at_once = self.at_once.lock().unwrap_or_else(PoisonError::into_inner);
        *at_once = if at_once.0 == now { (now, at_once.1 + 1) } else { (now, 1) };
        at_once.1 > CALLS_AT_ONCE_MAX
    }

    /// It is not going to die.
    pub(super) fn spare(&self) {
        self.is_spared.store(true, Ordering::Relaxed);
    }

    /// The death at this call, when it is the one.
    fn at_call(&self) -> Option<Death> {
        if self.is_spared.load(Ordering::Relaxed) {
            return None;
        }
        let mut death = self.death.lock().unwrap_or_else(PoisonError::into_inner);
        match death.as_mut() {
            Some(Death { calls: 0, .. }) => death.take(),
            Some(left) => {
                left.calls -= 1;
                None
            }
            None => None,
        }
    }

    async fn die<T>(&self) -> T {
        self.is_dead.store(true, Ordering::Relaxed);
        std::future::pending().await
    }
}

/// A port of one process: the store, or a cluster.
pub(super) struct Gate {
    pub(super) fate: Arc<Fate>,
    /// None for the store.
    pub(super) cluster: Option<ClusterId>,
}

impl Gate {
    /// Notes what is sent; for a credential that is asked for, how long somebody waits for it.
    fn note(&self, crossing: &Crossing<'_>) -> Option<Awaited<'_>> {
        let (Some(cluster), Crossing::Change(call, change)) = (&self.cluster, crossing) else { return None };
        let sent = Sent {
            process: self.fate.process,
            at: self.fate.clock.now(),
            cluster: cluster.clone(),
            verb: verb(change),
            context: call.context.clone(),
            generation: call.generation,
            asks_for: asked_for(change),
        };
        self.fate.events.sent(sent.clone());
        sent.asks_for.is_some().then_some(Awaited { events: &self.fate.events, sent })
    }
}

/// A request for a credential, while somebody waits for what becomes of it.
struct Awaited<'a> {
    events: &'a Events,
    sent: Sent,
}

impl Drop for Awaited<'_> {
    fn drop(&mut self) {
        self.events.ended(self.sent.clone());
    }
}

fn asked_for(change: &ClusterChange<'_>) -> Option<Asked> {
    match change {
        ClusterChange::Create(object) if &*object.manifest.kind().kind == "CertificateSigningRequest" => {
            Some(Asked::Certificate(object.manifest.key().name.clone()))
        }
        ClusterChange::IssueToken(request) => Some(Asked::Token((*request).clone())),
        _ => None,
    }
}

fn verb(change: &ClusterChange<'_>) -> Verb {
    match change {
        ClusterChange::Create(_) => Verb::Create,
        ClusterChange::Update(_) => Verb::Update,
        ClusterChange::Release(..) => Verb::Release,
        ClusterChange::SetPart(..) => Verb::SetPart,
        ClusterChange::Delete(..) => Verb::Delete,
        ClusterChange::Approve(_) => Verb::Approve,
        ClusterChange::IssueToken(_) => Verb::IssueToken,
    }
}

impl Tap for Gate {
    async fn pass<T: Send, E: PortError>(
        &self,
        crossing: Crossing<'_>,
        call: impl Future<Output = Result<T, E>> + Send,
    ) -> Result<T, E> {
        let death = if crossing.changes() { self.fate.at_call() } else { None };
        if self.fate.spins() {
            self.fate.events.spun(self.fate.process);
            return self.fate.die().await;
        }
        if self.fate.is_dead() || death.is_some_and(|death| !death.is_after) {
            return self.fate.die().await;
        }
        let awaited = self.note(&crossing);
        let answer = call.await;
        drop(awaited);
        if self.fate.is_dead() || (death.is_some() && !self.fate.is_spared.load(Ordering::Relaxed)) {
            return self.fate.die().await;
        }
        answer
    }
}

/// The clusters as one process reaches them.
pub(super) struct OwnClusters {
    pub(super) clusters: Arc<dyn Clusters>,
    pub(super) fate: Arc<Fate>,
}

#[async_trait]
impl Clusters for OwnClusters {
    async fn connect(&self, cluster: &ClusterId) -> Result<Arc<dyn Cluster>, cluster::Error> {
        let port = self.clusters.connect(cluster).await?;
        let gate = Gate { fate: self.fate.clone(), cluster: Some(cluster.clone()) };
        Ok(Arc::new(Tapped::new(port, Arc::new(gate))))
    }
}
