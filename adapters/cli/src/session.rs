//! What most subcommands work with: the store's services, and who calls them.

use std::fmt::Display;

use dcm_core::causes;
use dcm_core::name::{LogicalCloudName, ProjectName, UserName};
use dcm_core::port::clock::Random as _;
use dcm_core::render::naming::Identity;
use dcm_core::service::{Broken, Caller, Error, Kind, RegisteredCluster};
use dcm_kube::kubeconfig::Allowed;
use dcm_server::{Configuration, Deployment, Keys, SESSION_LEASE};
use dcm_store::StoreUrl;
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

    /// All registered clusters, in order, for what depends on each of them.
    pub(crate) async fn clusters(&self) -> anyhow::Result<Vec<RegisteredCluster>> {
        match self.clusters_and_broken().await? {
            (clusters, broken) if broken.is_empty() => Ok(clusters),
            (_, broken) => anyhow::bail!("{}", told(&broken).join("; ")),
        }
    }

    /// All registered clusters, in order, and those that can't be read.
    pub(crate) async fn clusters_and_broken(&self) -> anyhow::Result<(Vec<RegisteredCluster>, Vec<Broken>)> {
        let (mut clusters, mut broken, mut after) = (Vec::new(), Vec::new(), None);
        loop {
            let page = self.deployment.registered().list(after.as_ref(), None).await?;
            clusters.extend(page.clusters);
            broken.extend(page.broken);
            match page.next {
                Some(next) => after = Some(next),
                None => return Ok((clusters, broken)),
            }
        }
    }

    /// The names of all projects, those that can't be read included.
    pub(crate) async fn project_names(&self) -> anyhow::Result<Vec<ProjectName>> {
        let (mut names, mut after) = (Vec::new(), None);
        loop {
            let page = self.deployment.projects().list(after.as_ref(), None).await?;
            names.extend(page.owners.into_iter().map(|project| project.metadata.name));
            names.extend(page.broken.iter().filter_map(|broken| ProjectName::new(last_segment(broken)).ok()));
            match page.next {
                Some(next) => after = Some(next),
                None => return Ok(names),
            }
        }
    }

    /// The names of all logical clouds of a project, those that can't be read included: whoever reads one is told why. A project
    /// that nothing was put into yet has none.
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
            names.extend(page.broken.iter().filter_map(|one| LogicalCloudName::new(last_segment(one)).ok()));
            match page.next {
                Some(next) => after = Some(next),
                None => return Ok(names),
            }
        }
    }
}

/// What is called like the end of its path.
fn last_segment(broken: &Broken) -> &str {
    broken.path.segments().next_back().unwrap_or_default()
}

/// What is said of documents that can't be read. The reason may name the path already.
pub(crate) fn told(broken: &[Broken]) -> Vec<String> {
    let path = |one: &Broken| one.path.to_string();
    let is_named = |one: &Broken| one.reason.contains(one.path.as_str());
    let told = |one: &Broken| {
        if is_named(one) { one.reason.clone() } else { format!("{}: {}", path(one), one.reason) }
    };
    broken.iter().map(told).collect()
}

/// What was read of one of many clouds: none when it was deleted after it was listed, and a word on why where that one alone can't
/// be read. Then the others are shown all the same.
pub(crate) fn one_of_many<T>(
    name: impl Display,
    read: Result<T, Error>,
) -> Result<Result<Option<T>, String>, Error> {
    match read {
        Err(error) if is_about_one(&error) => Ok(Err(format!("{name}: {}", causes::told(&error)))),
        read => unless_gone(read).map(Ok),
    }
}

/// True when something that is stored of one cloud can't be read.
fn is_about_one(error: &Error) -> bool {
    match error {
        Error::Unreadable { .. } | Error::UnknownSchema { .. } | Error::Incomplete { .. } => true,
        Error::Synchronizer(source) => !source.is_retryable(),
        _ => false,
    }
}

/// The URL of the store that the command line means.
pub(crate) fn store_of(global: &Global) -> anyhow::Result<StoreUrl> {
    match &global.store {
        Some(url) => Ok(url.clone()),
        None => Ok(folders::store_url()?.into()),
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
        lease: global.lease.unwrap_or(SESSION_LEASE),
        ..allowing_everything(Configuration::new(store_of(global)?, keys_of(global)?))
    })
}

/// The same, whose kubeconfigs may run programs and read files: the user could do all that by other means.
pub(crate) fn allowing_everything(configuration: Configuration) -> Configuration {
    Configuration { kubeconfigs: Allowed::everything(), ..configuration }
}

/// What was read of a cloud that nobody named; none when it was deleted after it was listed.
fn unless_gone<T>(read: Result<T, Error>) -> Result<Option<T>, Error> {
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
