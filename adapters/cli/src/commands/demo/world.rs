//! The simulated clusters of the demonstration, registered as real ones would be.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use dcm_core::document::Document;
use dcm_core::name::{ClusterId, ProjectName};
use dcm_core::port::clock::Clock;
use dcm_core::service::Registration;
use dcm_server::{Deployment, Parts};
use dcm_store::MemoryStore;
use dcm_sync::engine::Options;
use dcm_sync::runtime::{OsRandom, TokioClock};
use dcm_sync::sim::{Fleet, Latency, Server, Settings};

use crate::output::Format;
use crate::session::Session;

/// How far away the clusters are: as across a continent.
const ROUND_TRIP: Duration = Duration::from_millis(20);

/// How long a namespace takes to go: some seconds for real, too long to watch.
const NAMESPACE_DELETION: Duration = Duration::from_millis(400);

/// Labels that the selector of the example document looks for.
const LABELS: [(&str, &str); 2] = [("region", "eu"), ("tier", "edge")];

/// Simulated clusters, and the services over them.
pub(super) struct World {
    pub(super) session: Session,
    fleet: Arc<Fleet>,
}

impl World {
    /// So many clusters: those that the documents name, then others that their selectors find.
    pub(super) async fn build(documents: &[Document], clusters: usize) -> anyhow::Result<Self> {
        let clock: Arc<dyn Clock> = Arc::new(TokioClock::new());
        let settings = Settings { namespace_deletion: NAMESPACE_DELETION, ..Settings::default() };
        let fleet = Fleet::builder(clock.clone())
            .named(names(documents, clusters)?)
            .latency(Latency::fixed(ROUND_TRIP))
            .settings(settings)
            .build();
        let fleet = Arc::new(fleet);
        let store = Arc::new(MemoryStore::new());
        let deployment = Deployment::over(Parts {
            store: store.clone(),
            contexts_store: store,
            clusters: fleet.clone(),
            check: Arc::new(|_| Ok(())),
            engine: Options::default(),
            clock,
            random: Arc::new(OsRandom),
        });
        let session = Session::over(deployment, ProjectName::new("default")?, Format::Table);
        let world = Self { session, fleet };
        world.register().await?;
        Ok(world)
    }

    pub(super) fn ids(&self) -> impl Iterator<Item = &ClusterId> {
        self.fleet.ids()
    }

    /// Looks at the API server of a cluster.
    pub(super) fn look<R>(&self, id: &ClusterId, look: impl FnOnce(&mut Server) -> R) -> Option<R> {
        self.fleet.cluster(id).map(|cluster| cluster.server(look))
    }

    /// How many objects on a cluster carry our mark.
    pub(super) fn owned(&self, id: &ClusterId) -> usize {
        let count = |server: &mut Server| server.objects().filter(|object| object.marks.is_some()).count();
        self.look(id, count).unwrap_or_default()
    }

    async fn register(&self) -> anyhow::Result<()> {
        for (id, kubeconfig) in self.fleet.kubeconfigs() {
            let registration = Registration {
                labels: LABELS.map(|(key, value)| (key.to_owned(), value.to_owned())).into(),
                ..Registration::new(id, kubeconfig)
            };
            self.session.here()?.registered().add(&self.session.caller, registration).await?;
        }
        Ok(())
    }
}

/// The names of the clusters, each once.
fn names(documents: &[Document], count: usize) -> anyhow::Result<Vec<ClusterId>> {
    let mut names: BTreeMap<ClusterId, usize> = BTreeMap::new();
    for reference in documents.iter().flat_map(|document| &document.draft.spec.clusters) {
        let next = names.len();
        names.entry(ClusterId::new(&reference.provider, &reference.cluster)?).or_insert(next);
    }
    let mut number = 1;
    while names.len() < count {
        let next = names.len();
        names.entry(ClusterId::new("on-premises", format!("edge-{number}"))?).or_insert(next);
        number += 1;
    }
    Ok(names.into_keys().collect())
}
