//! Connections that take so long that a later one is made before them.

use std::sync::{Arc, Mutex};

use async_trait::async_trait;
use dcm_core::name::ClusterId;
use dcm_core::port::cluster::{self, Cluster, Clusters};
use dcm_core::port::synchronizer::{STOP_LIMIT, Synchronizer as _};
use dcm_sync::engine::{Event, What};
use futures::Stream;
use futures::channel::oneshot;
use tokio::sync::watch;

use crate::fixture::*;

/// Clusters of which the first connection is held; later ones are made at once.
struct HeldClusters {
    clusters: Arc<dyn Clusters>,
    hold: Mutex<Option<oneshot::Receiver<()>>>,
    /// How many connections were asked for.
    asked: watch::Sender<usize>,
}

impl HeldClusters {
    /// The clusters, and what lets the first connection go.
    fn new(clusters: Arc<dyn Clusters>) -> (Arc<Self>, oneshot::Sender<()>) {
        let (let_go, hold) = oneshot::channel();
        let held = Self { clusters, hold: Mutex::new(Some(hold)), asked: watch::Sender::new(0) };
        (Arc::new(held), let_go)
    }

    /// Waits until the first connection is asked for.
    async fn first(&self) {
        let mut asked = self.asked.subscribe();
        tokio::time::timeout(SOON, asked.wait_for(|asked| *asked > 0)).await.unwrap().unwrap();
    }
}

#[async_trait]
impl Clusters for HeldClusters {
    async fn connect(&self, cluster: &ClusterId) -> Result<Arc<dyn Cluster>, cluster::Error> {
        self.asked.send_modify(|asked| *asked += 1);
        let hold = self.hold.lock().unwrap().take();
        if let Some(hold) = hold {
            hold.await.unwrap();
        }
        self.clusters.connect(cluster).await
    }
}

async fn told(events: &mut (impl Stream<Item = Event> + Unpin), what: What) {
    event(events, |told| *told == what).await;
}

#[tokio::test(start_paused = true)]
async fn a_connection_that_is_made_after_a_later_one_does_not_take_its_place() {
    let world = World::new(1);
    let (clusters, let_go) = HeldClusters::new(world.fleet.clone());
    let (engine, _) = world.engine_between(world.store.clone(), clusters.clone(), one_shot());
    let mut events = engine.events();
    engine.contexts().apply(&context(steps(), [1])).await.unwrap();
    clusters.first().await;
    // A paused app context needs no cluster: it is given back before it was reached.
    engine.contexts().stop(&context_id(), STOP_LIMIT).await.unwrap();
    told(&mut events, What::Lost).await;
    engine.contexts().resume(&context_id()).await.unwrap();
    told(&mut events, What::Connected).await;
    let_go.send(()).unwrap();
    done(&engine, &context_id()).await;
    assert_eq!(*clusters.asked.borrow(), 2, "the later connection broke");
}
