//! Gates on the way to the clusters: a test sees what changes clusters pass, and says when, and how late.

use std::pin::pin;
use std::sync::Arc;
use std::task::Poll;
use std::time::Duration;

use dcm_core::port::cluster::Clusters;
use dcm_sync::engine::{Engine, Options};
use dcm_sync::sim::{Link, SimCluster};
use dcm_sync::tap::{ClusterChange, Crossing, PortError, Tap, Tapped};
use tokio::sync::Semaphore;

use crate::fixture::{SOON, World};

/// Longer than an engine waits for an answer.
const LATE: Duration = Duration::from_secs(40);

/// Where all changes of a kind pass. Whoever waits for them is told of each once.
pub struct Gate {
    is_meant: fn(&ClusterChange<'_>) -> bool,
    may_pass: Semaphore,
    asked: Semaphore,
    sent: Semaphore,
}

impl Gate {
    /// Lets all pass at once.
    pub fn open(is_meant: fn(&ClusterChange<'_>) -> bool) -> Arc<Self> {
        Self::new(is_meant, Semaphore::MAX_PERMITS)
    }

    /// Lets none pass before it is told to.
    pub fn shut(is_meant: fn(&ClusterChange<'_>) -> bool) -> Arc<Self> {
        Self::new(is_meant, 0)
    }

    fn new(is_meant: fn(&ClusterChange<'_>) -> bool, may_pass: usize) -> Arc<Self> {
        let [may_pass, asked, sent] = [may_pass, 0, 0].map(Semaphore::new);
        Arc::new(Self { is_meant, may_pass, asked, sent })
    }

    /// Lets one more pass.
    pub fn let_pass(&self) {
        self.may_pass.add_permits(1);
    }

    /// Lets the one that waits here pass. It reaches the cluster when nobody waits for its answer any more.
    pub async fn let_pass_late(&self, cluster: &SimCluster) {
        cluster.set_link(Link::Delay(LATE));
        self.let_pass();
        next(&self.sent).await;
        cluster.set_link(Link::Up);
    }

    /// Waits until the next one is here.
    pub async fn asked(&self) {
        next(&self.asked).await;
    }

    async fn pass<T>(&self, call: impl Future<Output = T> + Send) -> T {
        let mut call = pin!(call);
        self.asked.add_permits(1);
        self.may_pass.acquire().await.unwrap().forget();
        // What is polled has left.
        let begun = futures::poll!(&mut call);
        self.sent.add_permits(1);
        match begun {
            Poll::Ready(answer) => answer,
            Poll::Pending => call.await,
        }
    }
}

pub fn is_token(change: &ClusterChange<'_>) -> bool {
    matches!(change, ClusterChange::IssueToken(_))
}

async fn next(step: &Semaphore) {
    let taken = tokio::time::timeout(SOON, step.acquire()).await;
    taken.unwrap_or_else(|_| panic!("the next one never came that far")).unwrap().forget();
}

/// All gates before the clusters; what none of them is meant for passes beside them.
struct Gates(Vec<Arc<Gate>>);

impl Tap for Gates {
    async fn pass<T: Send, E: PortError>(
        &self,
        crossing: Crossing<'_>,
        call: impl Future<Output = Result<T, E>> + Send,
    ) -> Result<T, E> {
        let Crossing::Change(_, change) = crossing else { return call.await };
        match self.0.iter().find(|gate| (gate.is_meant)(&change)) {
            Some(gate) => gate.pass(call).await,
            None => call.await,
        }
    }
}

/// An engine that reaches the clusters through gates.
pub fn engine_behind<const COUNT: usize>(world: &World, gates: [&Arc<Gate>; COUNT]) -> Engine {
    let gates = Arc::new(Gates(gates.map(Arc::clone).into()));
    let clusters = Arc::new(Tapped::new(world.fleet.clone() as Arc<dyn Clusters>, gates));
    world.engine_between(world.store.clone(), clusters, Options::default()).0
}
