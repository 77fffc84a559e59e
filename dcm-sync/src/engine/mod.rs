//! The engine: takes app contexts and brings them about.
//!
//! ```no_run
//! # async fn example(store: std::sync::Arc<dyn dcm_core::port::store::Store>,
//! #     clusters: std::sync::Arc<dyn dcm_core::port::cluster::Clusters>,
//! #     context: dcm_core::app_context::AppContext) -> Result<(), Box<dyn std::error::Error>> {
//! use dcm_core::name::OwnerId;
//! use dcm_core::port::synchronizer::Synchronizer as _;
//! use dcm_sync::engine::Engine;
//!
//! let engine = Engine::builder(store, clusters).owner(OwnerId::new("my-controller")?).spawn();
//! engine.contexts().apply(&context).await?;
//! engine.contexts().wait_until_done(&context.id).await?;
//! engine.shutdown().await;
//! # Ok(())
//! # }
//! ```

mod backoff;
mod bucket;
mod calls;
mod comparing;
mod event;
mod flights;
mod follow;
mod io;
mod machine;
pub mod metrics;
mod observed;
mod options;
mod pace;
mod safeguard;
mod saving;
mod shell;
mod telling;
mod trying;
mod unbinding;

use std::future::Future;
use std::sync::Arc;

use dcm_core::name::OwnerId;
use dcm_core::port::clock::{Clock, Random};
use dcm_core::port::cluster::Clusters;
use dcm_core::port::proof::PROOF_BYTES;
use dcm_core::port::store::Store;
use dcm_core::port::threads::{InPlace, Threads};
use dcm_core::port::trial::{NoPrivateKeys, PrivateKeys};
use futures::channel::{mpsc, oneshot};
use futures::future::{FutureExt as _, Shared};
use futures::stream::Stream;

use crate::contexts::Contexts;
use crate::planning::Planner;
pub use event::{Event, What};
use machine::Machine;
use metrics::Metrics;
pub use options::{Acquire, LEASE_MAX, Options};
#[cfg(feature = "planted-faults")]
pub use safeguard::Safeguard;
#[cfg(not(feature = "planted-faults"))]
pub(crate) use safeguard::Safeguard;
use shell::{Ports, Shell};

/// Events that wait for a subscriber at most; one that falls further behind is dropped.
const EVENTS_WAITING_MAX: usize = 4096;

/// What a handle asks of its engine.
pub(crate) enum Command {
    Subscribe(mpsc::Sender<Event>),
    Metrics(oneshot::Sender<Metrics>),
    Stop,
}

/// A running engine. Cheap to clone; when the last handle is dropped, the engine finishes what is under way, gives its
/// clusters back and stops.
#[derive(Clone)]
pub struct Engine {
    contexts: Contexts,
    planner: Planner,
    commands: mpsc::UnboundedSender<Command>,
    done: Shared<oneshot::Receiver<()>>,
}

impl Engine {
    /// Begins to describe an engine over a store and a source of clusters.
    pub fn builder(store: Arc<dyn Store>, clusters: Arc<dyn Clusters>) -> Builder {
        let (keys, threads) = (Arc::new(NoPrivateKeys), Arc::new(InPlace));
        Builder { store, clusters, keys, threads, options: Options::default() }
    }

    /// The app contexts that it works on: apply, remove, stop, resume, status, watch.
    #[must_use]
    pub fn contexts(&self) -> &Contexts {
        &self.contexts
    }

    /// Says what an apply would do on each cluster, before anything is written.
    #[must_use]
    pub fn planner(&self) -> &Planner {
        &self.planner
    }

    /// Follows what the engine does, from now on. The stream ends when the engine stops, and when its reader falls
    /// more than 4096 events behind; then a status tells where things are, and the reader subscribes again. In the first
    /// case [`Engine::stopped`] is ready by then, and a stream that is asked for has ended before its first event.
    pub fn events(&self) -> impl Stream<Item = Event> + Send + Unpin + use<> {
        let (sender, receiver) = mpsc::channel(EVENTS_WAITING_MAX);
        // With the engine stopped, the sender is dropped here, and the stream has ended.
        let _ = self.commands.unbounded_send(Command::Subscribe(sender));
        receiver
    }

    /// What the engine tells of itself now; none when it has ended. Asking costs one look at each lane that it holds.
    pub async fn metrics(&self) -> Option<Metrics> {
        let (sender, receiver) = oneshot::channel();
        // With the engine stopped, the sender is dropped here.
        let _ = self.commands.unbounded_send(Command::Metrics(sender));
        receiver.await.ok()
    }

    /// Finishes what is under way, gives everything back, and waits until that is done. Answered requests that are still
    /// on clusters are cleared away before, for three seconds at most. [`Engine::stopped`] then tells whether it was lost.
    pub async fn shutdown(&self) {
        let _ = self.commands.unbounded_send(Command::Stop);
        // Lost or stopped, nothing is under way any more; who wants to know which asks for it.
        let _ = self.stopped().await;
    }

    /// Waits until the engine has ended, whoever ended it.
    ///
    /// # Errors
    /// [`Lost`] when it was not stopped, but broke off.
    pub async fn stopped(&self) -> Result<(), Lost> {
        self.done.clone().await.map_err(|_| Lost)
    }
}

/// The engine broke off in the middle of its work: a panic in it or in what it reaches, or the end of its task. What was
/// under way is not told, and its clusters are free for others when its lease is over.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("the engine broke off")]
pub struct Lost;

/// Describes an engine.
pub struct Builder {
    store: Arc<dyn Store>,
    clusters: Arc<dyn Clusters>,
    keys: Arc<dyn PrivateKeys>,
    threads: Arc<dyn Threads>,
    options: Options,
}

impl Builder {
    /// Names the installation: what it makes on clusters carries this. Default `dcm`.
    #[must_use]
    pub fn owner(mut self, owner: OwnerId) -> Self {
        self.options.owner = owner;
        self
    }

    /// Replaces all settings, the owner among them.
    #[must_use]
    pub fn options(mut self, options: Options) -> Self {
        self.options = Options { lease: options.lease.min(LEASE_MAX), ..options };
        self
    }

    /// Says where the private keys are of certificates that are requested. A certificate whose key is found is tried at its cluster
    /// before it counts as issued. Default: none is found.
    #[must_use]
    pub fn private_keys(mut self, keys: Arc<dyn PrivateKeys>) -> Self {
        self.keys = keys;
        self
    }

    /// Says where work is done that takes long, such as comparing objects of a megabyte, so that no cluster waits for it. Default: where the
    /// engine is polled. [`Builder::spawn`] has it done by the tokio runtime.
    #[must_use]
    pub fn threads(mut self, threads: Arc<dyn Threads>) -> Self {
        self.threads = threads;
        self
    }

    /// Gives the engine's handle, and the future that is the engine: poll it on any runtime.
    ///
    /// From `random` come the worker's name, jitter, and, where the store has none yet, the key that proves which labels and
    /// annotations on clusters are ours: outside tests it has to be that of the operating system.
    pub fn build(
        self,
        clock: Arc<dyn Clock>,
        random: &dyn Random,
    ) -> (Engine, impl Future<Output = ()> + Send + use<>) {
        let (commands, received) = mpsc::unbounded();
        let (stopped, done) = oneshot::channel();
        let machine = Machine::new(self.options.clone(), random.next(), clock.now());
        let contexts = Contexts::new(self.store.clone(), clock.clone());
        let planner = Planner::new(contexts.clone(), self.clusters.clone(), self.options.owner.clone());
        let Self { store, clusters, keys, threads, .. } = self;
        let ports = Ports { store, clusters, clock, keys, threads };
        let mut shell = Shell::new(machine, self.options, ports, received, key_bytes(random));
        let engine = Engine { contexts, planner, commands, done: done.shared() };
        let run = async move {
            // Who reads events to their end finds the engine ended: subscribers go after this, also when it is lost.
            let (shell, stopped) = (&mut shell, stopped);
            shell.run().await;
            // Nobody may be waiting.
            let _ = stopped.send(());
        };
        (engine, run)
    }

    /// Starts the engine on the current tokio runtime.
    ///
    /// # Panics
    /// Outside a tokio runtime.
    #[cfg(feature = "tokio")]
    #[must_use]
    pub fn spawn(self) -> Engine {
        let clock = Arc::new(crate::runtime::TokioClock::new());
        let threads = Arc::new(crate::runtime::TokioThreads::new());
        let (engine, run) = self.threads(threads).build(clock, &crate::runtime::OsRandom);
        tokio::spawn(run);
        engine
    }
}

/// Bytes of a new key.
fn key_bytes(random: &dyn Random) -> [u8; PROOF_BYTES] {
    let mut bytes = [0; PROOF_BYTES];
    bytes.chunks_exact_mut(8).for_each(|part| part.copy_from_slice(&random.next().to_le_bytes()));
    bytes
}
