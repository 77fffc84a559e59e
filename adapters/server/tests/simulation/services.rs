//! People who use logical clouds.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;
use std::time::Duration;

use async_trait::async_trait;
use dcm_core::app_context::{Action, AppContext};
use dcm_core::logical_cloud::{Draft, MetadataDraft};
use dcm_core::name::{ClusterId, ContextId, LogicalCloudName, ProjectName};
use dcm_core::port::key_source::{self, KeyAndRequest, KeySource, KeyType};
use dcm_core::port::store::Prefix;
use dcm_core::port::synchronizer::{Removal, STOP_LIMIT, Synchronizer};
use dcm_core::render::naming::Identity;
use dcm_core::secret::Secret;
use dcm_core::service::{
    Caller, Error, LogicalClouds, Projects, RegisteredClusters, Registration, SweepAgenda,
};
use dcm_core::subject::Subject;
use dcm_sync::Contexts;
use dcm_sync::sim::{Seeded, cluster_id};
use dcm_sync::simulation::{
    Api, Client, ClientPorts, Ports, Refused, Variant, Wish, World, engine, namespace,
};
use futures::FutureExt as _;
use futures::future::{BoxFuture, select};
use rcgen::{CertificateParams, DistinguishedName, DnType, KeyPair, PKCS_ED25519};
use serde_json::{Value, json};

/// The services over app contexts.
pub(crate) struct Services;

/// How often a worker sweeps.
const SWEPT_EVERY: Duration = Duration::from_secs(30);

/// What the services keep of clouds lies below these.
const ROOMS: [&str; 6] = ["logical-clouds", "parts", "snapshots", "credentials", "handed-out", "deleted"];

fn project() -> ProjectName {
    ProjectName::new("p").unwrap()
}

fn cloud(number: usize) -> LogicalCloudName {
    LogicalCloudName::new(format!("cloud-{number}")).unwrap()
}

/// The clusters that a variant names, and its draft.
fn draft(number: usize, variant: Variant, clusters: usize) -> (BTreeSet<ClusterId>, Draft) {
    let random = Seeded::new(variant.0);
    let mut named: BTreeSet<usize> = (1..=clusters).filter(|_| random.below(4) > 0).collect();
    if named.is_empty() {
        named.insert(clusters);
    }
    let references: Vec<Value> = named
        .iter()
        .map(|number| json!({"provider": "sim", "cluster": cluster_id(*number).cluster.as_str()}))
        .collect();
    let mut users = vec![json!({"name": "bot", "type": "token"})];
    if random.below(2) == 0 {
        users.push(json!({"name": "developer"}));
    }
    let verbs = &["get", "list", "watch"][..=usize::try_from(random.below(3)).unwrap()];
    let mut spec = json!({
        "namespace": namespace(number),
        "users": users,
        "permissions": [{"name": "read", "apiGroups": [""], "resources": ["pods"], "verbs": verbs}],
        "clusters": references,
    });
    if random.below(2) == 0 {
        let pods = random.below(20).to_string();
        spec["quotas"] = json!([{"name": "small", "hard": {"pods": pods}}]);
    }
    let draft = json!({"metadata": {"name": cloud(number).as_str()}, "spec": spec});
    (named.into_iter().map(cluster_id).collect(), serde_json::from_value(draft).unwrap())
}

/// What serves a store: an engine, and sweeps.
pub(crate) fn worker(ports: Ports) -> BoxFuture<'static, ()> {
    let Ports { store, clock, random, .. } = &ports;
    let contexts = Arc::new(Contexts::new(store.clone(), clock.clone()));
    let clouds = LogicalClouds::new(store.clone(), contexts, Arc::new(Keys), clock.clone(), random.clone());
    let clock = clock.clone();
    let sweeping = async move {
        let mut agenda = SweepAgenda::default();
        loop {
            // The next one goes on.
            let _ = clouds.sweep(&mut agenda).await;
            clock.sleep(SWEPT_EVERY).await;
        }
    };
    select(engine(ports), Box::pin(sweeping)).map(drop).boxed()
}

impl Api for Services {
    fn client(&self, ports: ClientPorts) -> Arc<dyn Client> {
        let ClientPorts { store, clock, random, clusters } = ports;
        let contexts: Arc<dyn Synchronizer> = Arc::new(Contexts::new(store.clone(), clock.clone()));
        Arc::new(Tenant {
            clouds: LogicalClouds::new(
                store.clone(),
                contexts.clone(),
                Arc::new(Keys),
                clock.clone(),
                random,
            ),
            registered: RegisteredClusters::new(store.clone(), contexts, clock.clone(), Arc::new(|_| Ok(()))),
            projects: Projects::new(store, clock),
            caller: Caller::new("tenant"),
            clusters,
        })
    }

    fn wanted(&self, world: &World<'_>, number: usize, variant: Variant) -> Result<AppContext, String> {
        let namespace = namespace(number);
        let makes_it = |context: &AppContext| {
            let steps = context.placements.values().flat_map(|bundle| bundle.steps());
            steps.into_iter().any(|step| {
                matches!(&step.action, Action::Apply { manifest, .. }
                    if manifest.kind().is_namespace() && *manifest.key().name == *namespace)
            })
        };
        let found =
            world.wanted().into_iter().find(makes_it).ok_or(format!("cloud {number} is not applied"))?;
        let (clusters, _) = draft(number, variant, world.fleet().ids().count());
        let placed: BTreeSet<ClusterId> = found.placements.keys().cloned().collect();
        if placed == clusters {
            Ok(found)
        } else {
            Err(format!("cloud {number} is applied to {placed:?} in place of {clusters:?}"))
        }
    }

    fn differences(&self, world: &World<'_>, there: &BTreeSet<usize>) -> Vec<String> {
        let names: BTreeSet<String> = there.iter().map(|number| cloud(*number).to_string()).collect();
        let documents = world.store().documents(&Prefix::everything());
        let is_left = |path: &str| {
            let segments: Vec<&str> = path.split('/').collect();
            let name = segments.get(2).copied().unwrap_or_default();
            ROOMS.contains(&segments[0]) && !names.contains(name)
        };
        let paths = documents.iter().map(|entry| entry.path.as_str());
        paths.filter(|path| is_left(path)).map(|path| format!("{path} is left in the store")).collect()
    }
}

/// Nobody reads it: the clusters are simulated.
fn kubeconfig() -> Secret {
    let kubeconfig = json!({
        "current-context": "c",
        "contexts": [{"name": "c", "context": {"cluster": "c", "user": "u"}}],
        "clusters": [{"name": "c", "cluster": {"server": "https://cluster.invalid"}}],
        "users": [{"name": "u", "user": {}}],
    });
    Secret::new(kubeconfig.to_string())
}

struct Tenant {
    clouds: LogicalClouds,
    registered: RegisteredClusters,
    projects: Projects,
    caller: Caller,
    clusters: usize,
}

fn refused(error: &Error) -> Refused {
    Refused { is_retryable: error.is_retryable() }
}

impl Tenant {
    async fn ask_for(&self, number: usize, wish: Wish) -> Result<(), Error> {
        let (caller, project, name) = (&self.caller, project(), cloud(number));
        match wish {
            Wish::Apply(variant) => self.apply(number, variant).await,
            Wish::Remove { delete_contents, deadline } => {
                let removal = Removal { delete_contents, deadline_seconds: deadline, objects: None };
                self.clouds.terminate(caller, &project, &name, removal).await
            }
            Wish::Stop => self.clouds.stop(caller, &project, &name, STOP_LIMIT).await,
            Wish::Resume => self.clouds.resume(caller, &project, &name).await,
            Wish::Forget => self.clouds.delete(caller, &project, &name).await,
        }
    }

    /// As `dcm apply` does with a document.
    async fn apply(&self, number: usize, variant: Variant) -> Result<(), Error> {
        let (caller, project) = (&self.caller, project());
        let metadata = MetadataDraft { name: project.to_string(), ..MetadataDraft::default() };
        self.projects.put(caller, metadata).await?;
        for number in 1..=self.clusters {
            let registration = Registration {
                id: cluster_id(number),
                kubeconfig: kubeconfig(),
                labels: BTreeMap::new(),
                namespace: None,
            };
            self.registered.add(caller, registration).await?;
        }
        let (_, draft) = draft(number, variant, self.clusters);
        self.clouds.put(caller, &project, draft).await?;
        self.clouds.apply(caller, &project, &cloud(number)).await.map(drop)
    }
}

#[async_trait]
impl Client for Tenant {
    async fn ask(&self, number: usize, wish: Wish) -> Result<(), Refused> {
        self.ask_for(number, wish).await.map_err(|error| refused(&error))
    }

    async fn reconcile(&self, number: usize) -> Result<(), Refused> {
        let reconciled = self.clouds.reconcile(&self.caller, &project(), &cloud(number)).await;
        reconciled.map(drop).map_err(|error| refused(&error))
    }

    async fn context(&self, number: usize) -> Result<Option<ContextId>, Refused> {
        match self.clouds.get(&project(), &cloud(number)).await {
            Ok(described) => Ok(Some(Identity::of(&described.cloud).context_id())),
            Err(Error::NotFound { .. }) => Ok(None),
            Err(error) => Err(refused(&error)),
        }
    }
}

/// Makes requests that are the same for the same subject in each run, all with one key that is worth nothing. Simulated
/// signers look at nothing.
struct Keys;

/// What comes before the 32 bytes of an Ed25519 key in PKCS #8 (RFC 8410, section 7).
const ED25519_PKCS8: [u8; 16] = *b"\x30\x2e\x02\x01\x00\x30\x05\x06\x03\x2b\x65\x70\x04\x22\x04\x20";

impl KeySource for Keys {
    fn issue_of(&self, _: KeyType, subject: &Subject) -> Result<KeyAndRequest, key_source::Error> {
        let key = [&ED25519_PKCS8[..], &[1; 32]].concat();
        let pair = KeyPair::from_pkcs8_der_and_sign_algo(&key.into(), &PKCS_ED25519).unwrap();
        let mut parameters = CertificateParams::default();
        parameters.distinguished_name = DistinguishedName::new();
        if let Some(organization) = subject.organization() {
            parameters.distinguished_name.push(DnType::OrganizationName, organization);
        }
        parameters.distinguished_name.push(DnType::CommonName, subject.common_name());
        let request = parameters.serialize_request(&pair).unwrap().pem().unwrap();
        Ok(KeyAndRequest { key: Secret::new("no key"), request })
    }
}
