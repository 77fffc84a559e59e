//! A deployment over simulated clusters and a store in memory.

pub(crate) mod kept;
pub(crate) mod slow;

use std::sync::Arc;
use std::time::Duration;

use dcm_core::app_context::Generation;
use dcm_core::logical_cloud::{Draft, MetadataDraft};
use dcm_core::manifest::{GroupVersionKind, Manifest, ObjectKey};
use dcm_core::name::{ClusterId, ContextId, LogicalCloudName, OwnerId, ProjectName};
use dcm_core::port::clock::{Clock, Random};
use dcm_core::port::cluster::{
    ANNOTATION_GENERATION, Call, Cluster as _, Clusters, Fence, Marks, Origin, Stamped,
};
use dcm_core::port::proof::ANNOTATION_PROOF;
use dcm_core::port::store::Store;
use dcm_core::secret::Secret;
use dcm_core::service::{Caller, Registration};
use dcm_core::status::{ContextStatus, Progress, Reason};
use dcm_server::{Deployment, Parts};
use dcm_store::MemoryStore;
use dcm_sync::engine::Options;
use dcm_sync::runtime::{OsRandom, TokioClock};
use dcm_sync::sim::{Fleet, cluster_id};
use futures::StreamExt as _;
use serde_json::{Value, json};

use self::kept::during;

/// Longer than anything takes in virtual time.
pub(crate) const SOON: Duration = Duration::from_secs(300);

pub(crate) struct World {
    pub(crate) store: Arc<dyn Store>,
    pub(crate) deployment: Deployment,
    pub(crate) fleet: Arc<Fleet>,
    pub(crate) caller: Caller,
    pub(crate) project: ProjectName,
    pub(crate) cloud: LogicalCloudName,
}

/// What a world stands on.
pub(crate) struct Ground {
    pub(crate) store: Arc<dyn Store>,
    pub(crate) clock: Arc<dyn Clock>,
    pub(crate) random: Arc<dyn Random>,
}

impl World {
    /// Has an object of the first cluster say, with its proof, that it was written in a later generation: as after changes that
    /// a store has lost.
    pub(crate) async fn written_later(&self, kind: &GroupVersionKind, key: &ObjectKey, generation: u64) {
        let proofs = self.deployment.contexts().proof_key().await.unwrap().unwrap();
        let cluster = self.fleet.cluster(&cluster_id(1)).unwrap();
        let (uid, object) =
            cluster.server(|server| (server.uid(), server.object(kind, key).unwrap().unwrap()));
        let marks = Marks { generation: Generation(generation), ..object.marks.unwrap() };
        let proof = proofs.on(&uid).prove(key, &marks).to_string();
        let annotations = json!({ANNOTATION_GENERATION: generation.to_string(), ANNOTATION_PROOF: proof});
        let patch = json!({"metadata": {"annotations": annotations}});
        cluster.server(|server| server.edit_as("person", kind, key, &patch).unwrap());
    }

    /// So many clusters, registered; and a project.
    pub(crate) async fn new(clusters: usize) -> Self {
        Self::with(clusters, |fleet| fleet).await
    }

    /// The same, with something around the clusters.
    pub(crate) async fn with(clusters: usize, around: impl FnOnce(Arc<Fleet>) -> Arc<dyn Clusters>) -> Self {
        let ground = Ground {
            store: Arc::new(MemoryStore::new()),
            clock: Arc::new(TokioClock::new()),
            random: Arc::new(OsRandom),
        };
        Self::on(ground, clusters, around).await
    }

    /// The same on other ground.
    pub(crate) async fn on(
        ground: Ground,
        clusters: usize,
        around: impl FnOnce(Arc<Fleet>) -> Arc<dyn Clusters>,
    ) -> Self {
        let Ground { store, clock, random } = ground;
        let fleet = Arc::new(Fleet::builder(clock.clone()).clusters(clusters).build());
        let deployment = Deployment::over(Parts {
            store: store.clone(),
            contexts_store: store.clone(),
            clusters: around(fleet.clone()),
            check: Arc::new(|_| Ok(())),
            engine: Options::default(),
            clock,
            random,
        });
        let caller = Caller::new("test");
        let project = ProjectName::new("p").unwrap();
        let metadata = MetadataDraft { name: project.to_string(), ..MetadataDraft::default() };
        during("Projects::create", deployment.projects().create(&caller, metadata)).await.unwrap();
        for id in fleet.ids() {
            let registration = Registration::new(id.clone(), Secret::new(kubeconfig(&json!({}))));
            during("RegisteredClusters::add", deployment.registered().add(&caller, registration))
                .await
                .unwrap();
        }
        Self { store, deployment, fleet, caller, project, cloud: LogicalCloudName::new("c").unwrap() }
    }

    pub(crate) async fn put(&self, spec: Value) {
        let draft: Draft = serde_json::from_value(json!({"metadata": {"name": "c"}, "spec": spec})).unwrap();
        let put = self.deployment.clouds().put(&self.caller, &self.project, draft);
        during("LogicalClouds::put", put).await.unwrap();
    }

    pub(crate) async fn apply(&self) {
        let apply = self.deployment.clouds().apply(&self.caller, &self.project, &self.cloud);
        during("LogicalClouds::apply", apply).await.unwrap();
    }

    pub(crate) async fn terminate(&self) {
        let clouds = self.deployment.clouds();
        let terminate = clouds.terminate(&self.caller, &self.project, &self.cloud, Default::default());
        during("LogicalClouds::terminate", terminate).await.unwrap();
    }

    /// Waits until the cloud's clusters are as wanted.
    pub(crate) async fn done(&self) -> ContextStatus {
        let status = self.until(|status| status.progress != Progress::Working).await;
        assert_eq!(status.progress, Progress::Done, "{status:#?}");
        status
    }

    /// Waits until something keeps the cloud from getting on there.
    pub(crate) async fn until_hindered(&self, cluster: &ClusterId, reason: Reason) {
        let is_so = |status: &ContextStatus| {
            status.lanes[cluster].cause.as_ref().is_some_and(|cause| cause.reason == reason)
        };
        self.until(is_so).await;
    }

    /// Waits until the cloud's status is so.
    pub(crate) async fn until(&self, is_so: impl Fn(&ContextStatus) -> bool) -> ContextStatus {
        let wait = async {
            let mut events = self.deployment.clouds().watch(&self.project, &self.cloud).await.unwrap();
            loop {
                let status = events.next().await.unwrap().unwrap().context;
                if is_so(&status) {
                    return status;
                }
            }
        };
        tokio::time::timeout(SOON, wait).await.unwrap()
    }

    /// How many objects of ours are on the first cluster.
    pub(crate) fn owned(&self) -> usize {
        let owner = &self.deployment.options().owner;
        let cluster = self.fleet.cluster(&cluster_id(1)).unwrap();
        cluster.server(|server| {
            server
                .objects()
                .filter(|one| one.marks.as_ref().is_some_and(|marks| marks.owner == *owner))
                .count()
        })
    }

    /// Makes an object on the first cluster, as its administrator.
    pub(crate) async fn make(&self, body: Value) {
        let manifest = Manifest::new(body).unwrap();
        let owner = OwnerId::new("administrator").unwrap();
        let context = ContextId::new("setup").unwrap();
        let marks = Marks {
            owner: owner.clone(),
            context: context.clone(),
            generation: Generation(1),
            manifest: None,
            origin: Origin::Created,
        };
        let call = Call { owner, context: Some(context), generation: Generation(1), fence: Fence(1) };
        let object = Stamped { manifest, marks, labels: Arc::default(), proof: None };
        self.fleet.cluster(&cluster_id(1)).unwrap().create(&call, &object).await.unwrap();
    }
}

/// A kubeconfig with this user.
pub(crate) fn kubeconfig(user: &Value) -> String {
    let kubeconfig = json!({
        "current-context": "c",
        "contexts": [{"name": "c", "context": {"cluster": "c", "user": "u"}}],
        "clusters": [{"name": "c", "cluster": {"server": "https://cluster.invalid"}}],
        "users": [{"name": "u", "user": user}],
    });
    kubeconfig.to_string()
}

/// A cloud on the first cluster with users of both kinds and a permission of this form.
pub(crate) fn spec(permission: &Value) -> Value {
    let mut permission = permission.clone();
    permission["name"] = "work".into();
    json!({
        "level": "privileged",
        "users": [{"name": "ann"}, {"name": "ci", "type": "token"}],
        "permissions": [permission],
        "quotas": [{"name": "q", "hard": {"limits.cpu": 1}}],
        "clusters": [{"provider": "sim", "cluster": "cluster-1"}],
    })
}

/// Everything, in the cloud's namespace.
pub(crate) fn everything() -> Value {
    json!({"apiGroups": ["*"], "resources": ["*"], "verbs": ["*"]})
}
