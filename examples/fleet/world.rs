//! Projects, logical clouds and clusters that are served.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use dcm_core::logical_cloud::MetadataDraft;
use dcm_core::name::{ClusterId, LogicalCloudName, ProjectName};
use dcm_core::port::clock::Clock;
use dcm_core::port::synchronizer::Removal;
use dcm_core::secret::Secret;
use dcm_core::service::{Caller, Registration};
use dcm_server::{Deployment, Parts};
use dcm_store::MemoryStore;
use dcm_sync::engine::Options;
use dcm_sync::runtime::{OsRandom, TokioClock};
use dcm_sync::sim::{Fleet, Latency};
use serde_json::{Value, json};

use crate::trouble::Trouble;

/// How far away the clusters are.
const ROUND_TRIP: Duration = Duration::from_millis(20);

/// How long a stop waits for what is under way.
const STOP_WAIT: Duration = Duration::from_secs(5);

/// Provider of the named clusters, and of the counted ones.
const EDGE: &str = "edge";
const SITES: &str = "sites";

/// The named clusters, and what is wrong with them.
const NAMED: [(&str, Option<Trouble>); 9] = [
    ("berlin", None),
    ("hamburg", None),
    ("lisbon", Some(Trouble::Cut)),
    ("madrid", None),
    ("munich", Some(Trouble::Denied)),
    ("oslo", Some(Trouble::Foreign)),
    ("porto", Some(Trouble::NotApproved)),
    ("rome", Some(Trouble::NoSigner)),
    ("vienna", None),
];

/// A deployment over simulated clusters.
pub(crate) struct World {
    pub(crate) deployment: Deployment,
    fleet: Arc<Fleet>,
    caller: Caller,
}

impl World {
    /// With so many counted clusters.
    pub(crate) fn build(clusters: usize) -> Self {
        let clock: Arc<dyn Clock> = Arc::new(TokioClock::new());
        let named = NAMED.iter().map(|(name, _)| id(EDGE, name));
        let counted = (1..=clusters).map(|number| id(SITES, &site(number)));
        let fleet = Fleet::builder(clock.clone()).named(named.chain(counted));
        let fleet = Arc::new(fleet.latency(Latency::fixed(ROUND_TRIP)).build());
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
        let world = Self { deployment, fleet, caller: Caller::new("ann").because("the shop opens") };
        world.trouble(clusters);
        world
    }

    /// How many clusters there are.
    pub(crate) fn clusters(&self) -> usize {
        self.fleet.ids().count()
    }

    fn trouble(&self, clusters: usize) {
        let befall = |id: ClusterId, trouble: Trouble, namespace: &str| {
            if let Some(cluster) = self.fleet.cluster(&id) {
                trouble.befall(cluster, namespace);
            }
        };
        for (name, trouble) in NAMED {
            trouble.into_iter().for_each(|trouble| befall(id(EDGE, name), trouble, "stall"));
        }
        for number in 1..=clusters {
            let trouble = Trouble::of(number).into_iter();
            trouble.for_each(|trouble| befall(id(SITES, &site(number)), trouble, "market"));
        }
    }

    /// Registers all clusters, and hands all logical clouds over.
    pub(crate) async fn fill(&self) -> anyhow::Result<()> {
        for id in self.fleet.ids() {
            let tier = if id.provider.as_str() == EDGE { "city" } else { "site" };
            let registration = Registration {
                labels: BTreeMap::from([("tier".to_owned(), tier.to_owned())]),
                ..Registration::new(id.clone(), kubeconfig(id))
            };
            self.deployment.registered().add(&self.caller, registration).await?;
        }
        for (name, description) in [("bank", "Everything with money"), ("shop", "The shop and its tills")] {
            let metadata = MetadataDraft {
                name: name.to_owned(),
                description: description.to_owned(),
                ..MetadataDraft::default()
            };
            self.deployment.projects().put(&self.caller, metadata).await?;
        }
        self.apply("bank", "vault", &cities(&["berlin", "vienna"])).await?;
        self.apply("shop", "till", &cities(&["berlin", "hamburg", "vienna"])).await?;
        self.put("shop", "pantry", &cities(&["madrid"])).await?;
        self.apply("shop", "porch", &cities(&["hamburg"])).await?;
        self.apply("shop", "cellar", &cities(&["berlin", "lisbon"])).await?;
        self.deployment.registered().stop(&self.caller, &id(EDGE, "madrid"), STOP_WAIT).await?;
        self.apply("shop", "stall", &cities(&NAMED.map(|(name, _)| name))).await?;
        self.apply("shop", "market", &json!({"clusterSelector": {"matchLabels": {"tier": "site"}}})).await?;
        self.settle().await
    }

    /// What is decided of some later.
    async fn settle(&self) -> anyhow::Result<()> {
        let clouds = self.deployment.clouds();
        let shop = ProjectName::new("shop")?;
        clouds.stop(&self.caller, &shop, &LogicalCloudName::new("cellar")?, STOP_WAIT).await?;
        let porch = LogicalCloudName::new("porch")?;
        clouds.terminate(&self.caller, &shop, &porch, Removal::default()).await?;
        let mut edited = cities(&["berlin", "hamburg", "vienna"]);
        edited["quotas"] = json!([{"name": "compute", "hard": {"pods": "50"}}]);
        self.put("shop", "till", &edited).await
    }

    async fn put(&self, project: &str, cloud: &str, more: &Value) -> anyhow::Result<()> {
        let mut spec = json!({
            "users": [
                {"name": "keeper", "lifetimeSeconds": 31_536_000},
                {"name": "seller", "lifetimeSeconds": 604_800},
                {"name": "robot", "type": "token", "lifetimeSeconds": 86_400},
            ],
            "permissions": [
                {"name": "look", "apiGroups": ["", "apps"], "resources": ["*"], "verbs": ["get", "list", "watch"]},
                {"name": "sell", "users": ["keeper", "robot"], "apiGroups": ["apps"], "resources": ["deployments"],
                 "verbs": ["create", "update", "patch", "delete"]},
            ],
            "quotas": [{"name": "compute", "hard": {"pods": "20", "limits.cpu": "8"}}],
        });
        for (field, value) in more.as_object().into_iter().flatten() {
            spec[field] = value.clone();
        }
        let description = format!("The {cloud} of the {project}");
        let draft = json!({"metadata": {"name": cloud, "description": description}, "spec": spec});
        let draft = serde_json::from_value(draft)?;
        self.deployment.clouds().put(&self.caller, &ProjectName::new(project)?, draft).await?;
        Ok(())
    }

    async fn apply(&self, project: &str, cloud: &str, more: &Value) -> anyhow::Result<()> {
        self.put(project, cloud, more).await?;
        let (project, cloud) = (ProjectName::new(project)?, LogicalCloudName::new(cloud)?);
        self.deployment.clouds().apply(&self.caller, &project, &cloud).await?;
        Ok(())
    }
}

fn cities(names: &[&str]) -> Value {
    let clusters = names.iter().map(|name| json!({"provider": EDGE, "cluster": name}));
    json!({"clusters": clusters.collect::<Vec<_>>()})
}

fn site(number: usize) -> String {
    format!("site-{number:04}")
}

fn id(provider: &str, cluster: &str) -> ClusterId {
    match ClusterId::new(provider, cluster) {
        Ok(id) => id,
        Err(error) => unreachable!("the names here follow the rule: {error}"),
    }
}

/// Where the cluster would be; nobody connects to it.
fn kubeconfig(id: &ClusterId) -> Secret {
    let server = format!("https://{}.{}.example.com:6443", id.cluster, id.provider);
    let kubeconfig = json!({
        "current-context": "simulated",
        "contexts": [{"name": "simulated", "context": {"cluster": "simulated"}}],
        "clusters": [{"name": "simulated", "cluster": {"server": server}}],
    });
    Secret::new(kubeconfig.to_string())
}
