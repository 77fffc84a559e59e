//! What most subcommands work with: the store's services, and who calls them.

use dcm_core::name::{LogicalCloudName, ProjectName, UserName};
use dcm_core::port::clock::Random as _;
use dcm_core::render::naming::Identity;
use dcm_core::service::{Caller, Error, Kind, RegisteredCluster};
use dcm_kube::kubeconfig::Allowed;
use dcm_server::{Configuration, Deployment, Keys};
use dcm_sync::runtime::OsRandom;
use jiff::Timestamp;

use crate::arguments::Global;
use crate::folders;
use crate::output::Format;
use crate::work::Worked;

/// The services of the store that the command line names.
pub(crate) struct Session {
    pub(crate) deployment: Deployment,
    pub(crate) caller: Caller,
    pub(crate) project: ProjectName,
    pub(crate) format: Format,
}

impl Session {
    /// Opens the store.
    pub(crate) async fn open(global: &Global) -> anyhow::Result<Self> {
        let deployment = Deployment::open(&configuration_of(global)?).await?;
        let session = Self::over(deployment, global.project.clone(), global.output);
        let request_id = global.request_id.clone().unwrap_or_else(|| format!("{:016x}", OsRandom.next()));
        let span = tracing::Span::current();
        let caller = session.caller.because(&global.why).with_request_id(request_id);
        span.record("caller", caller.who()).record("request_id", caller.request_id());
        Ok(Self { caller, ..session })
    }

    /// A session over given services.
    pub(crate) fn over(deployment: Deployment, project: ProjectName, format: Format) -> Self {
        Self { deployment, caller: caller(), project, format }
    }

    /// The time.
    pub(crate) fn now(&self) -> Timestamp {
        self.deployment.clock().now()
    }
}

impl Session {
    /// A logical cloud of the session's project, to wait for.
    pub(crate) async fn worked(&self, cloud: &LogicalCloudName) -> anyhow::Result<Worked> {
        let found = self.deployment.clouds().get(&self.project, cloud).await?.cloud;
        let context = Identity::of(&found).context_id();
        Ok(Worked { project: self.project.clone(), cloud: cloud.clone(), context })
    }

    /// All registered clusters, in order.
    pub(crate) async fn clusters(&self) -> anyhow::Result<Vec<RegisteredCluster>> {
        let (mut clusters, mut after) = (Vec::new(), None);
        loop {
            let page = self.deployment.registered().list(after.as_ref(), None).await?;
            clusters.extend(page.clusters);
            match page.next {
                Some(next) => after = Some(next),
                None => return Ok(clusters),
            }
        }
    }

    /// The names of all projects, in order.
    pub(crate) async fn project_names(&self) -> anyhow::Result<Vec<ProjectName>> {
        let (mut names, mut after) = (Vec::new(), None);
        loop {
            let (page, next) = self.deployment.projects().list(after.as_ref(), None).await?;
            names.extend(page.into_iter().map(|project| project.metadata.name));
            match next {
                Some(next) => after = Some(next),
                None => return Ok(names),
            }
        }
    }

    /// The names of all logical clouds of a project, in order. A project that nothing was put into yet has none.
    pub(crate) async fn cloud_names(&self, project: &ProjectName) -> anyhow::Result<Vec<LogicalCloudName>> {
        let (mut names, mut after) = (Vec::new(), None);
        loop {
            let page = match self.deployment.clouds().list(project, after.as_ref(), None).await {
                Err(Error::NotFound { kind: Kind::Project, .. }) => return Ok(names),
                page => page?,
            };
            for summary in page.clouds {
                names.push(LogicalCloudName::new(&summary.metadata.name)?);
            }
            match page.next {
                Some(next) => after = Some(next),
                None => return Ok(names),
            }
        }
    }
}

/// The URL of the store that the command line means.
pub(crate) fn store_of(global: &Global) -> anyhow::Result<String> {
    match &global.store {
        Some(url) => Ok(url.clone()),
        None => folders::store_url(),
    }
}

/// The environment variable that holds keys.
const KEYS: &str = "DCM_KEYS";

/// The keys that the command line means.
pub(crate) fn keys_of(global: &Global) -> anyhow::Result<Keys> {
    match &global.key_file {
        Some(file) => Ok(Keys::File(file.clone())),
        None if std::env::var_os(KEYS).is_some() => Ok(Keys::Variable(KEYS.to_owned())),
        None => Ok(Keys::File(folders::key_file()?)),
    }
}

/// What the command line says of the stores.
pub(crate) fn configuration_of(global: &Global) -> anyhow::Result<Configuration> {
    Ok(Configuration {
        contexts_store: global.contexts_store.clone(),
        lease: global.lease,
        // The user could run and read all that by other means.
        kubeconfigs: Allowed::everything(),
        ..Configuration::new(store_of(global)?, keys_of(global)?)
    })
}

/// What was read of a cloud that nobody named; none when it was deleted after it was listed.
pub(crate) fn unless_gone<T>(read: Result<T, Error>) -> Result<Option<T>, Error> {
    match read {
        Err(Error::NotFound { kind: Kind::LogicalCloud, .. }) => Ok(None),
        read => read.map(Some),
    }
}

/// The user of this process.
fn caller() -> Caller {
    let user = ["USER", "LOGNAME"].iter().find_map(|name| std::env::var(name).ok());
    Caller::new(user.filter(|user| !user.is_empty()).unwrap_or_else(|| "dcm".to_owned()))
}

/// A session over nothing.
#[cfg(test)]
pub(crate) async fn in_memory() -> Session {
    use clap::Parser as _;
    let arguments =
        crate::arguments::Arguments::parse_from(["dcm", "--store", "memory:", "--key-file", "-", "get"]);
    Session::open(&arguments.global).await.unwrap()
}

/// A logical cloud of the session's project.
#[derive(Debug, clap::Args)]
pub(crate) struct Named {
    /// The logical cloud.
    #[arg(value_name = "LOGICAL_CLOUD")]
    pub(crate) name: LogicalCloudName,
}

/// A user of such a cloud.
#[derive(Debug, clap::Args)]
pub(crate) struct NamedUser {
    #[command(flatten)]
    pub(crate) cloud: Named,
    /// The user.
    #[arg(value_name = "USER")]
    pub(crate) user: UserName,
}
