//! The process that is killed: the same deployment as the command's, over ports at which it can stop.

use std::io::Read as _;
use std::process::{Command, Stdio};
use std::sync::Arc;
use std::time::Duration;

use dcm_core::document::{self, Limits};
use dcm_core::logical_cloud::MetadataDraft;
use dcm_core::name::{LogicalCloudName, ProjectName};
use dcm_core::port::store::Store;
use dcm_core::port::synchronizer::Removal;
use dcm_core::render::naming::Identity;
use dcm_core::service::{Caller, Error};
use dcm_core::status::Progress;
use dcm_kube::kubeconfig::Allowed;
use dcm_server::{Configuration, Deployment, Parts};
use dcm_sync::engine::Acquire;
use dcm_sync::tap::Tapped;
use futures::StreamExt as _;
use serde::{Deserialize, Serialize};

use crate::killed::fate::{Death, Fate};
use crate::killed::places::Kept;

/// Set for the process that is killed: what it is to do.
const TASK: &str = "DCM_TEST_DOOMED";

/// What a process does.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) enum Work {
    Apply,
    Terminate,
}

/// What a doomed process is to do.
#[derive(Debug, Serialize, Deserialize)]
pub(crate) struct Task {
    pub(crate) work: Work,
    pub(crate) cloud: String,
    pub(crate) document: String,
    pub(crate) kept: Kept,
    pub(crate) key_file: String,
    pub(crate) lease: Duration,
    /// A bound on liveness: after it the process fails.
    pub(crate) limit: Duration,
    /// Where it stops; none: nowhere.
    pub(crate) death: Option<Death>,
}

impl Task {
    /// What this process is to do, when it is a doomed one.
    pub(crate) fn of_this_process() -> Option<Self> {
        std::env::var(TASK).ok().map(|text| serde_json::from_str(&text).unwrap())
    }

    /// This program, to be run as a doomed process. `test` is the test of this module that looks whether it is in one.
    pub(crate) fn command(&self, test: &str) -> Command {
        let mut command = Command::new(std::env::current_exe().unwrap());
        command.args([&format!("killed::{test}"), "--exact", "--nocapture", "--test-threads=1"]);
        command.env_clear().env(TASK, serde_json::to_string(self).unwrap());
        command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::inherit());
        command
    }

    /// Does it, as the command would. It is killed on the way, or ends: who waits for its words never waits for ever.
    pub(crate) async fn run(self) {
        std::thread::spawn(end_with_parent);
        tokio::time::timeout(self.limit, self.work()).await.unwrap();
    }

    async fn work(self) {
        let deployment = self.deployment().await;
        let (caller, project) = (Caller::new("doomed"), ProjectName::new("default").unwrap());
        let cloud = LogicalCloudName::new(&self.cloud).unwrap();
        let clouds = deployment.clouds();
        match self.work {
            Work::Apply => {
                ensure_project(&deployment, &caller, &project).await;
                let parsed = document::parse(self.document.as_bytes(), &project, &Limits::default());
                let draft = parsed.unwrap().remove(0).draft;
                clouds.put(&caller, &project, draft).await.unwrap();
                clouds.apply(&caller, &project, &cloud).await.unwrap();
            }
            Work::Terminate => {
                clouds.terminate(&caller, &project, &cloud, Removal::default()).await.unwrap();
            }
        }
        bring_about(&deployment, &project, &cloud).await;
    }

    async fn deployment(&self) -> Deployment {
        let configuration = Configuration {
            lease: self.lease,
            contexts_store: self.kept.contexts_store.clone().map(Into::into),
            kubeconfigs: Allowed::everything(),
            ..Configuration::new(self.kept.store.clone(), self.key_file.as_str())
        };
        let fate = Arc::new(Fate::new(self.death.clone()));
        let parts = Parts::open(&configuration).await.unwrap();
        let tapped = |store| -> Arc<dyn Store> { Arc::new(Tapped::new(store, fate.clone())) };
        let (store, contexts_store) = (tapped(parts.store), tapped(parts.contexts_store));
        let clusters = Arc::new(Tapped::new(parts.clusters, fate.clone()));
        Deployment::over(Parts { store, contexts_store, clusters, ..parts })
    }
}

/// A process that stopped would outlive a test that was ended itself.
fn end_with_parent() {
    let _ = std::io::stdin().read_to_end(&mut Vec::new());
    std::process::exit(1);
}

async fn ensure_project(deployment: &Deployment, caller: &Caller, project: &ProjectName) {
    let projects = deployment.projects();
    if let Err(Error::NotFound { .. }) = projects.get(project).await {
        let draft = MetadataDraft { name: project.to_string(), ..MetadataDraft::default() };
        projects.create(caller, draft).await.unwrap();
    }
}

/// Works on the cloud alone until it is done and tidy, and gives its clusters back.
async fn bring_about(deployment: &Deployment, project: &ProjectName, cloud: &LogicalCloudName) {
    let found = deployment.clouds().get(project, cloud).await.unwrap().cloud;
    let context = Identity::of(&found).context_id();
    let engine = deployment.engine(Acquire::PendingOf([context.clone()].into()));
    let mut events = deployment.clouds().watch(project, cloud).await.unwrap();
    while events.next().await.unwrap().unwrap().context.progress == Progress::Working {}
    deployment.contexts().wait_until_tidy(&context).await.unwrap();
    engine.shutdown().await;
}
