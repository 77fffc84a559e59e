//! People who use logical clouds.

use std::collections::BTreeSet;
use std::sync::{Arc, Mutex};

use async_trait::async_trait;
use dcm_core::app_context::{Action, AppContext, Bundle, Request};
use dcm_core::check::Survey;
use dcm_core::logical_cloud::{Draft, MetadataDraft};
use dcm_core::name::{ClusterId, ContextId, LogicalCloudName, ProjectName, UserName};
use dcm_core::port::clock::Clock;
use dcm_core::port::cluster::Object;
use dcm_core::port::key_source::{self, KeyAndRequest, KeySource, KeyType};
use dcm_core::port::store::{Entry, Path, Prefix};
use dcm_core::port::synchronizer::{Removal, STOP_LIMIT, Synchronizer};
use dcm_core::render::naming::Identity;
use dcm_core::secret::Secret;
use dcm_core::service::{
    Agenda, BoundName, Caller, DocumentSurvey, Error, LogicalClouds, Projects, RegisteredClusters,
    Registration, SWEEP_INTERVAL, SweepAgenda,
};
use dcm_core::subject::Subject;
use dcm_sync::sim::{Seeded, cluster_id};
use dcm_sync::simulation::{
    Api, Client, ClientPorts, Ports, Refused, STATES, Variant, Wish, World, engine, namespace,
};
use dcm_sync::{Contexts, RecordSurvey};
use futures::FutureExt as _;
use futures::future::{BoxFuture, join, select};
use rcgen::{CertificateParams, DistinguishedName, DnType, KeyPair, PKCS_ED25519};
use serde_json::{Value, json};

/// The services over app contexts.
#[derive(Default)]
pub(crate) struct Services {
    revoked: RevokedNames,
}

/// Whom no binding of an app context may name any more, as people are told it.
type RevokedNames = Arc<Mutex<BTreeSet<(ContextId, String)>>>;

/// A token lasts longer than a scenario, whatever a worker's clock says: nothing is due by itself, in a fleet that is at rest.
const TOKEN_SECONDS: u32 = 24 * 3600;

/// What the services keep of clouds lies below these.
const ROOMS: [&str; 6] = ["logical-clouds", "parts", "snapshots", "credentials", "handed-out", "deleted"];

fn project() -> ProjectName {
    ProjectName::new("p").unwrap()
}

fn cloud(number: usize) -> LogicalCloudName {
    LogicalCloudName::new(format!("cloud-{number}")).unwrap()
}

fn user(name: &str) -> UserName {
    UserName::new(name).unwrap()
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
    let mut users = vec![json!({"name": "bot", "type": "token", "lifetimeSeconds": TOKEN_SECONDS})];
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
    let policies = variant.0 / STATES;
    if policies & 4 != 0 {
        let report = json!({"drift": "report"});
        spec["objectPolicies"] = json!({"Role": report, "ResourceQuota": report});
    }
    if policies & 8 != 0 {
        spec["removal"] = json!({"objects": "keep"});
    }
    let draft = json!({"metadata": {"name": cloud(number).as_str()}, "spec": spec});
    (named.into_iter().map(cluster_id).collect(), serde_json::from_value(draft).unwrap())
}

/// What serves a store: an engine, sweeps, and the renewals of what is due or was cut off.
pub(crate) fn worker(ports: Ports) -> BoxFuture<'static, ()> {
    let Ports { store, clock, random, .. } = &ports;
    let contexts = Arc::new(Contexts::new(store.clone(), clock.clone()));
    let clouds = LogicalClouds::new(store.clone(), contexts, Arc::new(Keys), clock.clone(), random.clone());
    let serving = join(sweep(clouds.clone(), clock.clone()), renew(clouds, clock.clone()));
    select(engine(ports), Box::pin(serving)).map(drop).boxed()
}

async fn sweep(clouds: LogicalClouds, clock: Arc<dyn Clock>) {
    let mut agenda = SweepAgenda::default();
    loop {
        // The next one goes on.
        let _ = clouds.sweep(&mut agenda).await;
        clock.sleep(SWEEP_INTERVAL).await;
    }
}

async fn renew(clouds: LogicalClouds, clock: Arc<dyn Clock>) {
    let (caller, mut agenda) = (Caller::new("worker"), Agenda::default());
    loop {
        // The next one goes on.
        let _ = clouds.tend(&caller, &mut agenda).await;
        clock.sleep(SWEEP_INTERVAL).await;
    }
}

impl Api for Services {
    fn client(&self, ports: ClientPorts) -> Arc<dyn Client> {
        let ClientPorts { store, clock, random, cluster_count, .. } = ports;
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
            clusters: cluster_count,
            revoked: self.revoked.clone(),
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
        let (clusters, draft) = draft(number, variant, world.fleet().ids().count());
        let placed: BTreeSet<ClusterId> = found.placements.keys().cloned().collect();
        if placed != clusters {
            return Err(format!("cloud {number} is applied to {placed:?} in place of {clusters:?}"));
        }
        let drafted = Given::by_draft(&serde_json::to_value(draft).unwrap());
        let is_other = |bundle: &&Arc<Bundle>| Given::by_bundle(bundle) != drafted;
        match found.placements.values().find(is_other) {
            Some(other) => {
                Err(format!("cloud {number} gives {:?}, not {drafted:?}", Given::by_bundle(other)))
            }
            None => Ok(found),
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
        let left = paths.filter(|path| is_left(path)).map(|path| format!("{path} is left in the store"));
        left.chain(self.rights_of_revoked(world)).chain(found(&documents)).collect()
    }
}

/// What a check of the store finds that nobody clears.
fn found(documents: &[Entry]) -> Vec<String> {
    let surveys: [Box<dyn Survey>; 2] = [Box::<DocumentSurvey>::default(), Box::<RecordSurvey>::default()];
    let of_survey = |mut survey: Box<dyn Survey>| {
        let is_its = |path: &Path| survey.rooms().iter().any(|room| room.contains(path));
        let (its, _): (Vec<&Entry>, Vec<&Entry>) = documents.iter().partition(|entry| is_its(&entry.path));
        its.into_iter().for_each(|entry| survey.take(entry));
        survey.suspicions()
    };
    let findings = surveys.into_iter().flat_map(of_survey).map(|suspicion| suspicion.finding);
    let lasting = findings.filter(|finding| finding.cleared_by.is_none());
    lasting.map(|finding| format!("{} is {}: {}", finding.path, finding.rule, finding.what)).collect()
}

/// What a cloud gives on each cluster.
#[derive(Debug, Default, PartialEq, Eq)]
struct Given {
    verbs: BTreeSet<String>,
    quotas: Vec<Value>,
    certificates: usize,
    tokens: usize,
}

fn texts(list: &Value) -> impl Iterator<Item = String> {
    list.as_array().into_iter().flatten().filter_map(Value::as_str).map(str::to_owned)
}

impl Given {
    /// By a document, as people write it.
    fn by_draft(draft: &Value) -> Self {
        let spec = &draft["spec"];
        let list = |name: &str| spec[name].as_array().cloned().unwrap_or_default();
        let (bots, others): (Vec<Value>, Vec<Value>) =
            list("users").into_iter().partition(|user| user["type"] == "token");
        Self {
            verbs: list("permissions").iter().flat_map(|one| texts(&one["verbs"])).collect(),
            quotas: list("quotas").iter().map(|quota| quota["hard"].clone()).collect(),
            certificates: others.len(),
            tokens: bots.len(),
        }
    }

    /// By what is brought to a cluster.
    fn by_bundle(bundle: &Bundle) -> Self {
        let mut given = Self::default();
        for step in bundle.steps() {
            match &step.action {
                Action::Apply { manifest, .. } => match &*manifest.kind().kind {
                    "Role" => given.verbs.extend(texts(&manifest.body()["rules"][0]["verbs"])),
                    "ResourceQuota" => given.quotas.push(manifest.body()["spec"]["hard"].clone()),
                    _ => {}
                },
                Action::Edit { .. } => {}
                Action::Request { request: Request::Certificate(_), .. } => given.certificates += 1,
                Action::Request { request: Request::Token(_), .. } => given.tokens += 1,
            }
        }
        given
    }
}

impl Services {
    /// Bindings that name who was revoked, of clouds where they are to be. What a cluster has again that lost its last writes,
    /// and that nobody looks for any more, is for people to find.
    fn rights_of_revoked(&self, world: &World<'_>) -> Vec<String> {
        let revoked = self.revoked.lock().unwrap();
        let clusters = world.fleet().ids().filter_map(|id| Some((id, world.fleet().cluster(id)?)));
        let bindings = clusters.flat_map(|(id, cluster)| {
            let objects: Vec<Object> = cluster.server(|server| server.objects().collect());
            objects.into_iter().map(move |object| (id, object))
        });
        let (mut found, wanted) = (Vec::new(), world.wanted());
        for (id, binding) in bindings {
            let Some(marks) = &binding.marks else { continue };
            let is_placed =
                |context: &AppContext| context.id == marks.context && context.placements.contains_key(id);
            if !wanted.iter().any(is_placed) {
                continue;
            }
            let subjects = binding.body["subjects"].as_array().into_iter().flatten();
            let named =
                subjects.map(named).filter(|name| revoked.contains(&(marks.context.clone(), name.clone())));
            found.extend(named.map(|name| format!("{} on {id} still names {name}", binding.key)));
        }
        found
    }
}

/// Whom a binding names, in the words in which people are told whom it may not name any more.
fn named(subject: &Value) -> String {
    let member = |name: &str| subject[name].as_str().unwrap_or_default().to_owned();
    let bound = match subject["kind"].as_str() {
        Some("ServiceAccount") => {
            BoundName::ServiceAccount { namespace: member("namespace"), name: member("name") }
        }
        _ => BoundName::User { name: member("name") },
    };
    bound.to_string()
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
    revoked: RevokedNames,
}

fn refused(error: &Error) -> Refused {
    Refused { is_retryable: error.is_retryable() }
}

impl Tenant {
    async fn ask_for(&self, number: usize, wish: Wish) -> Result<(), Error> {
        let (caller, project, name) = (&self.caller, project(), cloud(number));
        match wish {
            // What is planned, and how, is for whoever has the documents: the command.
            Wish::Apply(variant) | Wish::ApplyAsPlanned(variant) | Wish::Withdraw(variant) => {
                self.apply(number, variant).await?;
                self.renew(number, variant).await
            }
            Wish::Remove { delete_contents, deadline } => {
                let removal = Removal { delete_contents, deadline_seconds: deadline, ..Removal::default() };
                self.clouds.terminate(caller, &project, &name, removal).await
            }
            Wish::Stop => self.clouds.stop(caller, &project, &name, STOP_LIMIT).await,
            Wish::Resume => self.clouds.resume(caller, &project, &name).await,
            Wish::Forget => self.clouds.delete(caller, &project, &name).await,
        }
    }

    /// After some variants a user gets new credentials, or loses those it has. Not every cloud has a developer.
    async fn renew(&self, number: usize, variant: Variant) -> Result<(), Error> {
        let (caller, project, name) = (&self.caller, project(), cloud(number));
        let renewed = match variant.0 / STATES % 4 {
            1 => self.clouds.renew(caller, &project, &name, Some(&user("bot"))).await.map(drop),
            2 => self.revoke(number, &user("bot")).await,
            3 => self.revoke(number, &user("developer")).await,
            _ => Ok(()),
        };
        if matches!(renewed, Err(Error::NotFound { .. })) { Ok(()) } else { renewed }
    }

    async fn revoke(&self, number: usize, user: &UserName) -> Result<(), Error> {
        let (project, name) = (project(), cloud(number));
        let described = self.clouds.get(&project, &name).await?;
        let context = Identity::of(&described.cloud).context_id();
        let revoked = self.clouds.revoke(&self.caller, &project, &name, user).await?;
        let earlier = revoked.earlier.iter().map(|earlier| (context.clone(), earlier.to_string()));
        self.revoked.lock().unwrap().extend(earlier);
        Ok(())
    }

    /// As `dcm apply` does with a document.
    async fn apply(&self, number: usize, variant: Variant) -> Result<(), Error> {
        let (caller, project) = (&self.caller, project());
        let metadata = MetadataDraft { name: project.to_string(), ..MetadataDraft::default() };
        self.projects.put(caller, metadata).await?;
        for number in 1..=self.clusters {
            self.registered.add(caller, Registration::new(cluster_id(number), kubeconfig())).await?;
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
