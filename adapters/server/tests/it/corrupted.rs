//! One record that can't be read is an error that names it, and everything else goes on.
#![allow(clippy::unwrap_used, reason = "a test fails by it")]

use std::error::Error as _;
use std::sync::Arc;

use crate::common::kept::Kept;
use crate::common::{Ground, SOON, World, everything, spec};
use dcm_core::controller::{ControllerDraft, ControllerGroup};
use dcm_core::logical_cloud::{Draft, MetadataDraft};
use dcm_core::name::{LogicalCloudName, UserName};
use dcm_core::port::clock::Seeded;
use dcm_core::port::store::{Document, Entry, Path, Prefix, Store as _, StoreExt as _, Write};
use dcm_core::service::{Error, Precondition};
use dcm_core::status::Progress;
use dcm_server::{
    Access, ApiListener, EmcoListener, EmcoService, ListenAddress, Listeners, answer_at, serve,
};
use dcm_store::EncryptedStore;
use dcm_store::encrypted::{KEY_BYTES, Keyring};
use dcm_sync::engine::Acquire;
use dcm_sync::runtime::TokioClock;
use futures::StreamExt as _;
use serde_json::json;
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::TcpStream;
use tokio::sync::oneshot;
use tokio::task::JoinHandle;

struct Installation {
    kept: Arc<Kept>,
    world: World,
}

impl Installation {
    /// So many clusters.
    async fn of(clusters: usize) -> Self {
        let kept = Kept::new();
        let keyring = Keyring::new("k1".parse().unwrap(), &[1; KEY_BYTES]);
        let ground = Ground {
            store: Arc::new(EncryptedStore::new(kept.clone(), keyring)),
            clock: Arc::new(TokioClock::new()),
            random: Arc::new(Seeded::new(1)),
        };
        let world = World::on(ground, clusters, |fleet| fleet).await;
        Self { kept, world }
    }

    /// Two clusters, and a cloud that is done on the first one; nobody works on it any more.
    async fn new() -> Self {
        let installation = Self::of(2).await;
        let Self { world, .. } = &installation;
        let engine = world.deployment.engine(Acquire::All);
        let mut with_mesh = spec(&everything());
        with_mesh["serviceMesh"] = json!({"dns": {"enabled": false}});
        world.put(with_mesh).await;
        world.apply().await;
        world.done().await;
        let (clouds, ann) = (world.deployment.clouds(), UserName::new("ann").unwrap());
        let given = clouds.kubeconfigs(&world.project, &world.cloud, Some(&ann), None).await.unwrap();
        clouds.handed_out(&world.caller, &given.access).await.unwrap();
        let (metadata, host) =
            (MetadataDraft { name: "rsync".into(), ..MetadataDraft::default() }, "it".into());
        let draft = ControllerDraft { metadata, host, ..ControllerDraft::default() };
        let (controllers, group) = (world.deployment.controllers(), ControllerGroup::Orchestrator);
        controllers.put(&world.caller, group, draft, &Precondition::default()).await.unwrap();
        engine.shutdown().await;
        installation
    }

    /// Puts what is no record in the place of one whose path begins so, and gives its path: by a client with the keys, or, what
    /// such a client can't write, by one without.
    async fn corrupt(&self, beginning: &str, text: &str) -> Path {
        let entries = self.kept.list_all(&Prefix::everything()).await.unwrap();
        let found = entries.into_iter().find(|entry| entry.path.as_str().starts_with(beginning));
        let Entry { path, version, .. } = found.unwrap_or_else(|| panic!("nothing is at {beginning}"));
        let update = Write::Update { path: path.clone(), version, document: Document::from_stored(text) };
        match text.contains("$sealed") {
            true => self.kept.write_one(update).await.unwrap(),
            false => self.world.store.write_one(update).await.unwrap(),
        };
        path
    }

    /// Makes another cloud, on the second cluster, and waits until it is done there.
    async fn other_cloud(&self) -> LogicalCloudName {
        let World { deployment, caller, project, .. } = &self.world;
        let mut spec = spec(&everything());
        spec["clusters"] = json!([{"provider": "sim", "cluster": "cluster-2"}]);
        let draft = json!({"metadata": {"name": "other"}, "spec": spec});
        let draft: Draft = serde_json::from_value(draft).unwrap();
        let (clouds, other) = (deployment.clouds(), LogicalCloudName::new("other").unwrap());
        clouds.put(caller, project, draft).await.unwrap();
        clouds.apply(caller, project, &other).await.unwrap();
        let done = async {
            let mut events = clouds.watch(project, &other).await.unwrap();
            while events.next().await.unwrap().unwrap().context.progress != Progress::Done {}
        };
        tokio::time::timeout(SOON, done).await.unwrap();
        other
    }
}

/// A worker, as `dcm serve` runs one.
struct Worker(oneshot::Sender<()>, JoinHandle<()>);

impl Worker {
    fn begin(world: &World) -> Self {
        let (deployment, (stop, stopped)) = (world.deployment.clone(), oneshot::channel::<()>());
        let run = async move { serve(&deployment, async { drop(stopped.await) }).await.unwrap() };
        Self(stop, tokio::spawn(run))
    }

    async fn end(self) {
        self.0.send(()).unwrap();
        self.1.await.unwrap();
    }
}

/// An error with all that it comes from.
fn whole(error: &Error) -> String {
    let mut text = error.to_string();
    let mut source = error.source();
    while let Some(error) = source {
        text += &format!(": {error}");
        source = error.source();
    }
    text
}

/// What is no record: no JSON, one of a newer version, and one that was written without the keys.
const TEXTS: [&str; 3] =
    ["{", r#"{"schema":2}"#, r#"{"$sealed":{"key":"k1","nonce":"AAAAAAAAAAAAAAAA","data":"AAAA"}}"#];

/// What belongs to one cluster or project, of which there are others; and what is there only while something happens.
const PLACES: [(&str, &str); 6] = [
    ("claiming", "claiming/dcm-p-gone-0123456789abcdef"),
    ("clusters", "clusters/sim/cluster-1"),
    ("deleted", "deleted/p/gone/0123456789abcdef"),
    ("projects", "projects/other"),
    ("shards", "shards/sim/cluster-1"),
    ("workers", "workers/0123456789abcdef"),
];

/// Every room but that of the numbers that no new app context may have, and of the word that tells wrong keys.
fn rooms() -> impl Iterator<Item = String> {
    let rooms = dcm_server::rooms().into_iter().filter(|room| !room.keys.is_empty());
    rooms.map(|room| match PLACES.iter().find(|(name, _)| *name == room.name) {
        Some((_, place)) => (*place).to_owned(),
        None => format!("{}/", room.name),
    })
}

#[tokio::test(start_paused = true)]
async fn whichever_record_is_corrupt_other_clouds_are_made_kept_and_taken_off() {
    for room in rooms() {
        for text in TEXTS {
            let installation = Installation::new().await;
            let World { deployment, caller, project, .. } = &installation.world;
            if let Ok(path) = Path::new(&room)
                && installation.kept.get(&path).await.unwrap().is_none()
            {
                let document = Document::from_stored("{}");
                installation.kept.write_one(Write::Create { path, document }).await.unwrap();
            }
            installation.corrupt(&room, text).await;
            let worker = Worker::begin(&installation.world);
            let other = installation.other_cloud().await;
            let clouds = deployment.clouds();
            clouds.status(project, &other).await.unwrap();
            clouds.terminate(caller, project, &other, Default::default()).await.unwrap();
            let gone = async {
                while let Err(error) = clouds.delete(caller, project, &other).await {
                    assert!(matches!(error, Error::WrongState(_)), "{room}: {}", whole(&error));
                    tokio::time::sleep(std::time::Duration::from_secs(1)).await;
                }
            };
            tokio::time::timeout(SOON, gone).await.unwrap_or_else(|_| panic!("{room}"));
            worker.end().await;
        }
    }
}

#[tokio::test(start_paused = true)]
async fn the_status_of_what_is_corrupt_is_an_error_that_names_the_record() {
    for room in [
        "contexts/",
        "lanes/",
        "logical-clouds/",
        "parts/",
        "snapshots/",
        "credentials/",
        "handed-out/",
        "results/",
    ] {
        for text in TEXTS {
            let installation = Installation::new().await;
            let path = installation.corrupt(room, text).await;
            let World { deployment, project, cloud, .. } = &installation.world;
            let error = deployment.clouds().status(project, cloud).await.map(drop).unwrap_err();
            assert!(whole(&error).contains(path.as_str()), "{path}: {}", whole(&error));
        }
    }
}

#[tokio::test(start_paused = true)]
async fn a_list_names_what_is_corrupt_and_shows_the_rest() {
    let installation = Installation::new().await;
    let World { deployment, project, .. } = &installation.world;
    let worker = Worker::begin(&installation.world);
    let other = installation.other_cloud().await;
    worker.end().await;
    let root = installation.corrupt("logical-clouds/p/c", "{").await;
    let page = deployment.clouds().list(project, None, None).await.unwrap();
    assert_eq!(page.clouds.iter().map(|cloud| &*cloud.metadata.name).collect::<Vec<_>>(), [other.as_str()]);
    assert_eq!(page.broken.iter().map(|broken| &broken.path).collect::<Vec<_>>(), [&root]);
    let cluster = installation.corrupt("clusters/sim/cluster-2", "{").await;
    for (text, named) in [(TEXTS[1], "schema 2"), (TEXTS[2], "has no MAC")] {
        installation.corrupt("clusters/sim/cluster-2", text).await;
        let page = deployment.registered().list(None, None).await.unwrap();
        let ids: Vec<String> = page.clusters.iter().map(|one| one.registration.id.to_string()).collect();
        assert_eq!((ids, page.broken.len()), (vec!["sim/cluster-1".to_owned()], 1));
        let broken = &page.broken[0];
        assert!(broken.path == cluster && broken.reason.contains(named), "{broken:?}");
    }
    installation.corrupt("shards/sim/cluster-1", "{").await;
    deployment.registered().stopped().await.unwrap();
    installation.corrupt("projects/p", "{").await;
    let projects = deployment.projects().list(None, None).await.unwrap();
    assert_eq!((projects.owners.len(), projects.broken.len()), (0, 1));
}

#[tokio::test(start_paused = true)]
async fn a_corrupt_cluster_holds_up_only_clouds_that_it_may_be_selected_for() {
    let installation = Installation::of(66).await;
    let World { deployment, caller, project, cloud, .. } = &installation.world;
    let references: Vec<_> =
        (1..=65).map(|number| json!({"provider": "sim", "cluster": format!("cluster-{number}")})).collect();
    installation.world.put(json!({"clusters": references})).await;
    let path = installation.corrupt("clusters/sim/cluster-66", "{").await;
    deployment.clouds().apply(caller, project, cloud).await.unwrap();
    installation.world.put(json!({"clusterSelector": {}})).await;
    let error = deployment.clouds().apply(caller, project, cloud).await.map(drop).unwrap_err();
    assert!(whole(&error).contains(path.as_str()), "{}", whole(&error));
}

/// What is answered to a GET in EMCO's dialect.
async fn asked_of_emco(world: &World, path: &str) -> String {
    let any: ListenAddress = "127.0.0.1:0".parse().unwrap();
    let listener = ApiListener::bind(any, &Access::default()).await.unwrap();
    let (deployment, address) = (world.deployment.clone(), listener.address().to_string());
    let emco = EmcoListener { listener, services: EmcoService::ALL.into_iter().collect() };
    let (stop, stopped) = oneshot::channel::<()>();
    let serving = tokio::spawn(async move {
        let listeners = Listeners { emco: vec![emco], ..Listeners::default() };
        answer_at(&deployment, listeners, async { drop(stopped.await) }).await;
    });
    let mut stream = TcpStream::connect(&address).await.unwrap();
    let request = format!("GET {path} HTTP/1.1\r\nHost: {address}\r\nConnection: close\r\n\r\n");
    stream.write_all(request.as_bytes()).await.unwrap();
    let mut answer = String::new();
    stream.read_to_string(&mut answer).await.unwrap();
    stop.send(()).unwrap();
    serving.await.unwrap();
    answer
}

#[tokio::test(start_paused = true)]
async fn emco_is_told_what_a_cluster_issued_that_nobody_can_tell_the_place_of() {
    let installation = Installation::new().await;
    let World { project, cloud, .. } = &installation.world;
    installation.corrupt("clusters/sim/cluster-1", "{").await;
    tokio::time::resume();
    let all = format!("/v2/projects/{project}/logical-clouds/{cloud}/cluster-references");
    for path in [all.clone(), format!("{all}/cluster-1")] {
        let answer = asked_of_emco(&installation.world, &path).await;
        assert!(answer.starts_with("HTTP/1.1 200"), "{answer}");
        // `-----BEGIN`, in base64.
        assert!(answer.contains(r#""certificate":"LS0tLS1CRUdJT"#), "{answer}");
    }
}

#[tokio::test(start_paused = true)]
async fn without_the_numbers_of_forgotten_contexts_no_new_one_is_made_and_those_that_are_there_go_on() {
    let installation = Installation::new().await;
    let World { deployment, caller, project, cloud, .. } = &installation.world;
    let forgotten = Path::new("forgotten").unwrap();
    let create = Write::Create { path: forgotten, document: Document::from_stored("{") };
    installation.kept.write_one(create).await.unwrap();
    let worker = Worker::begin(&installation.world);
    let mut changed = spec(&everything());
    changed["labels"] = json!({"team": "a"});
    installation.world.put(changed).await;
    installation.world.apply().await;
    installation.world.done().await;
    let draft = json!({"metadata": {"name": "new"}, "spec": spec(&everything())});
    let new = LogicalCloudName::new("new").unwrap();
    deployment.clouds().put(caller, project, serde_json::from_value(draft).unwrap()).await.unwrap();
    let error = deployment.clouds().apply(caller, project, &new).await.map(drop).unwrap_err();
    assert!(whole(&error).contains("forgotten"), "{}", whole(&error));
    deployment.clouds().terminate(caller, project, cloud, Default::default()).await.unwrap();
    worker.end().await;
}
