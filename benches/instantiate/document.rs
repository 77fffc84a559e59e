//! The whole way from a document to kubeconfigs, over SQLite, wired as the command line wires it.

use std::path::Path;

use anyhow::{Result, ensure};
use dcm_benches::cloud::{CERTIFICATE_USER, PROJECT, TOKEN_USER, draft};
use dcm_core::logical_cloud::MetadataDraft;
use dcm_core::name::{LogicalCloudName, ProjectName, UserName};
use dcm_core::port::synchronizer::Synchronizer as _;
use dcm_core::render::naming::Identity;
use dcm_core::secret::Secret;
use dcm_core::service::{Caller, Registration};
use dcm_core::status::Progress;
use dcm_server::{Configuration, Deployment};
use dcm_sync::engine::{Acquire, Engine};

use super::servers::Servers;

pub(crate) struct FromDocument {
    deployment: Deployment,
    engine: Engine,
    caller: Caller,
    project: ProjectName,
    clusters: usize,
}

impl FromDocument {
    /// Registers the clusters and starts an engine. Its write budget is the default, which one cloud does not meet.
    pub(crate) async fn start(servers: &Servers, folder: &Path) -> Result<Self> {
        let store = format!("sqlite:{}", folder.join("documents.db").display());
        let deployment = Deployment::open(&Configuration::new(store, folder.join("document-keys"))).await?;
        let (caller, project) = (Caller::new("bench"), ProjectName::new(PROJECT)?);
        let metadata = MetadataDraft::named(PROJECT);
        deployment.projects().create(&caller, metadata).await?;
        for (id, kubeconfig) in servers.kubeconfigs()?.0 {
            deployment.registered().add(&caller, Registration::new(id, kubeconfig)).await?;
        }
        let engine = deployment.engine(Acquire::All);
        Ok(Self { deployment, engine, caller, project, clusters: servers.clusters().len() })
    }

    /// Makes a cloud of this name, and waits until its users' kubeconfigs are complete.
    pub(crate) async fn instantiate(&self, name: &str) -> Result<()> {
        let (clouds, name) = (self.deployment.clouds(), LogicalCloudName::new(name)?);
        let mut draft = draft(name.as_str())?;
        draft.spec.cluster_selector = Some(Default::default());
        let edited = clouds.put(&self.caller, &self.project, draft).await?;
        clouds.apply(&self.caller, &self.project, &name).await?;
        let context = Identity::of(&edited.cloud).context_id();
        let status = self.engine.contexts().wait_until_done(&context).await?;
        ensure!(status.progress == Progress::Done, "{status:#?}");
        for user in [CERTIFICATE_USER, TOKEN_USER] {
            let user = UserName::new(user)?;
            let given = clouds.kubeconfigs(&self.project, &name, Some(&user), None).await?;
            ensure!(given.missing.is_empty(), "{user} lacks credentials: {:?}", given.missing);
            ensure!(given.access.clusters.len() == self.clusters, "{user} has every cluster");
        }
        Ok(())
    }

    /// The user's kubeconfig for all clusters.
    pub(crate) async fn kubeconfig(&self, cloud: &str, user: &str) -> Result<Secret> {
        let (cloud, user) = (LogicalCloudName::new(cloud)?, UserName::new(user)?);
        let clouds = self.deployment.clouds();
        let given = clouds.kubeconfigs(&self.project, &cloud, Some(&user), None).await?;
        Ok(given.access.for_all_clusters().to_yaml()?)
    }

    /// Revokes the user's credentials.
    pub(crate) async fn revoke(&self, cloud: &str, user: &str) -> Result<()> {
        let (cloud, user) = (LogicalCloudName::new(cloud)?, UserName::new(user)?);
        self.deployment.clouds().revoke(&self.caller, &self.project, &cloud, &user).await?;
        Ok(())
    }

    pub(crate) async fn stop(self) {
        self.engine.shutdown().await;
    }
}
