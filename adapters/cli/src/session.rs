//! What most subcommands work with: the store's services, and who calls them.

use dcm_client::{Listed, Project};
use dcm_core::causes::{self, Reader};
use dcm_core::ignored::IgnoredContents;
use dcm_core::logical_cloud::MetadataDraft;
use dcm_core::name::{LogicalCloudName, ProjectName, UserName};
use dcm_core::port::clock::{Clock as _, Random as _};
use dcm_core::render::naming::Identity;
use dcm_core::service::{
    Broken, Caller, Clearing, CloudStatus, Error, Kind, OtherBindingsReport, Revocation, Revoked,
};
use dcm_kube::kubeconfig::Allowed;
use dcm_kube::{EnvironmentProxies, Proxy};
use dcm_server::{Configuration, Deployment, Installation as _, Keys, SESSION_LEASE};
use dcm_store::StoreUrl;
use dcm_sync::runtime::{OsRandom, TokioClock};
use futures::{StreamExt as _, stream};
use jiff::Timestamp;

use crate::arguments::Global;
use crate::exit::{Ended, Exit};
use crate::folders;
use crate::output::Format;
use crate::place::{self, Clouds, Clusters, Place};
use crate::remote::Target;
use crate::work::Worked;

/// How many logical clouds are read at once: one after the other, each costs a way to the server and back; all at once they would be
/// what the server lets nobody ask.
const READ_AT_ONCE_MAX: usize = 8;

/// The store or the server that is meant, and who asks there.
pub(crate) struct Session {
    place: Place,
    pub(crate) caller: Caller,
    pub(crate) project: ProjectName,
    pub(crate) format: Format,
}

impl Session {
    /// Opens the store, or begins to ask the server.
    pub(crate) async fn open(global: &Global) -> anyhow::Result<Self> {
        let request_id = global.request_id.clone().unwrap_or_else(|| format!("{:016x}", OsRandom.next()));
        let caller = caller().because(&global.why).with_request_id(request_id);
        let span = tracing::Span::current();
        span.record("caller", caller.who()).record("request_id", caller.request_id());
        let place = match Target::of(global)? {
            Some(Target { context, .. }) => {
                Place::There(Box::new(context.client(&global.why, caller.request_id())?))
            }
            None => Place::Here(Box::new(Deployment::open(&configuration_of(global)?).await?)),
        };
        Ok(Self { place, caller, project: global.project.clone(), format: global.output })
    }

    /// A session over given services.
    pub(crate) fn over(deployment: Deployment, project: ProjectName, format: Format) -> Self {
        Self { place: Place::Here(Box::new(deployment)), caller: caller(), project, format }
    }

    /// Where things are done.
    pub(crate) fn place(&self) -> &Place {
        &self.place
    }

    /// The services of the store, for what a server is not asked for.
    pub(crate) fn here(&self) -> anyhow::Result<&Deployment> {
        match &self.place {
            Place::Here(deployment) => Ok(deployment),
            Place::There(client) => {
                let message = format!(
                    "{} can't be asked for this: run it where the store is, with --store",
                    client.server()
                );
                Err(Ended::new(Exit::Refused, message).into())
            }
        }
    }

    /// The logical clouds.
    pub(crate) fn clouds(&self) -> Clouds<'_> {
        match &self.place {
            Place::Here(deployment) => Clouds::Here(deployment, &self.caller),
            Place::There(client) => Clouds::There(client.logical_clouds()),
        }
    }

    /// The registered clusters.
    pub(crate) fn clusters(&self) -> Clusters<'_> {
        match &self.place {
            Place::Here(deployment) => Clusters::Here(deployment, &self.caller),
            Place::There(client) => Clusters::There(client.clusters()),
        }
    }

    /// The time.
    pub(crate) fn now(&self) -> Timestamp {
        match &self.place {
            Place::Here(deployment) => deployment.clock().now(),
            Place::There(_) => TokioClock::new().now(),
        }
    }
}

impl Session {
    /// A logical cloud of the session's project, to wait for.
    pub(crate) async fn worked(&self, cloud: &LogicalCloudName) -> anyhow::Result<Worked> {
        let context = match &self.place {
            Place::Here(deployment) => {
                let found = deployment.clouds().get(&self.project, cloud).await?.cloud;
                Some(Identity::of(&found).context_id())
            }
            // Whoever works there knows which it is.
            Place::There(_) => None,
        };
        Ok(Worked { project: self.project.clone(), cloud: cloud.clone(), context })
    }

    /// Makes the project when there is none of the name; one that is there stays as it is.
    pub(crate) async fn ensure_project(&self, name: &ProjectName) -> Result<(), place::Error> {
        let metadata = MetadataDraft::named(name);
        match &self.place {
            Place::Here(deployment) => match deployment.projects().get(name).await {
                Err(Error::NotFound { .. }) => {
                    match deployment.projects().create(&self.caller, metadata).await {
                        // Somebody else was quicker.
                        Err(Error::AlreadyThere { .. }) => Ok(()),
                        created => Ok(created.map(drop)?),
                    }
                }
                found => Ok(found.map(drop)?),
            },
            Place::There(client) => match client.projects().get(name).await.map_err(place::Error::from) {
                Err(error) if error.is_of_no(Kind::Project) => {
                    let created = client.projects().create(&Project { metadata }).await;
                    match created.map_err(place::Error::from) {
                        Err(error) if error.is_already_there() => Ok(()),
                        created => created,
                    }
                }
                found => found.map(drop),
            },
        }
    }

    /// What became of a revocation of a cloud with this status.
    pub(crate) async fn revocation(
        &self,
        revoked: Revoked,
        status: &CloudStatus,
    ) -> anyhow::Result<Revocation> {
        match &self.place {
            Place::Here(deployment) => {
                let others = deployment.other_bindings(&revoked.lapsed()).await;
                Ok(revoked.report(others, |id| status.clusters.get(id)?.lane.as_ref(), Reader::PlatformAdmin))
            }
            Place::There(client) => {
                let clouds = client.logical_clouds();
                let found = clouds.revocation(&status.project, &status.name, &revoked.user).await;
                Ok(found.map_err(place::Error::from)?)
            }
        }
    }

    /// The bindings of other clients that name an identity of a cloud without rights of ours: listed, or changed so that they name none.
    pub(crate) async fn other_bindings(
        &self,
        cloud: &LogicalCloudName,
        user: Option<&UserName>,
        clearing: Clearing,
    ) -> Result<OtherBindingsReport, place::Error> {
        let project = &self.project;
        Ok(match (&self.place, clearing) {
            (Place::Here(deployment), Clearing::List) => {
                let lapsed = deployment.clouds().lapsed(project, cloud, user).await?;
                OtherBindingsReport::of(deployment.other_bindings(&lapsed).await, Reader::PlatformAdmin)
            }
            (Place::Here(deployment), Clearing::Remove) => {
                deployment
                    .remove_other_bindings(&self.caller, (project, cloud), user, Reader::PlatformAdmin)
                    .await?
            }
            (Place::There(client), Clearing::List) => {
                client.logical_clouds().other_bindings(project, cloud, user).await?
            }
            (Place::There(client), Clearing::Remove) => {
                client.logical_clouds().remove_other_bindings(project, cloud, user).await?
            }
        })
    }

    /// The names of all projects, those that can't be read included.
    pub(crate) async fn project_names(&self) -> anyhow::Result<Vec<ProjectName>> {
        let names: Vec<String> = match &self.place {
            Place::Here(deployment) => project_names(deployment).await?,
            Place::There(client) => {
                let Listed { items, broken } = client.projects().list().await.map_err(place::Error::from)?;
                let names = items.into_iter().map(|project| project.metadata.name);
                names.chain(broken.iter().map(|one| place::last_segment(&one.path).to_owned())).collect()
            }
        };
        Ok(names.iter().filter_map(|name| ProjectName::new(name).ok()).collect())
    }
}

/// The names of all projects in a store.
async fn project_names(deployment: &Deployment) -> Result<Vec<String>, Error> {
    let (mut names, mut after) = (Vec::new(), None);
    loop {
        let page = deployment.projects().list(after.as_ref(), None).await?;
        names.extend(page.owners.into_iter().map(|project| project.metadata.name.to_string()));
        names.extend(page.broken.iter().map(|one| place::last_segment(one.path.as_str()).to_owned()));
        match page.next {
            Some(next) => after = Some(next),
            None => return Ok(names),
        }
    }
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

/// What is read of many clouds, a few at once, in their order: but for those that were deleted after they were listed, and with a word on
/// why where one alone can't be read. Then the others are shown all the same.
pub(crate) async fn of_many<T>(
    reads: Vec<(String, impl Future<Output = Result<T, place::Error>>)>,
) -> Result<(Vec<T>, Vec<String>), place::Error> {
    let (mut found, mut failed) = (Vec::with_capacity(reads.len()), Vec::new());
    // Made before they are begun: one that borrows while it is made can't be sent to another thread.
    let reads: Vec<_> = reads.into_iter().map(|(name, read)| async move { (name, read.await) }).collect();
    let mut reads = std::pin::pin!(stream::iter(reads).buffered(READ_AT_ONCE_MAX));
    while let Some((name, read)) = reads.next().await {
        match read {
            Err(error) if error.is_of_no(Kind::LogicalCloud) => {}
            Err(error) if error.is_about_one() => failed.push(format!("{name}: {}", causes::told(&error))),
            read => found.push(read?),
        }
    }
    Ok((found, failed))
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
        // They may run programs and read files: the user could do all that by other means.
        kubeconfigs: Allowed::everything(),
        proxy: Proxy::Environment(EnvironmentProxies::of_process()),
        ignored_contents: ignored_contents_of(global),
        ..Configuration::new(store_of(global)?, keys_of(global)?)
    })
}

/// What does not count as contents of a namespace.
fn ignored_contents_of(global: &Global) -> IgnoredContents {
    match global.ignored_contents.as_slice() {
        [] => IgnoredContents::default(),
        ignored => ignored.iter().cloned().collect(),
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
    /// Name of the logical cloud.
    #[arg(value_name = "LOGICAL_CLOUD")]
    pub(crate) name: LogicalCloudName,
}

/// A user of such a cloud.
#[derive(Debug, clap::Args)]
pub(crate) struct NamedUser {
    #[command(flatten)]
    pub(crate) cloud: Named,
    /// Name of the user.
    #[arg(value_name = "USER")]
    pub(crate) user: UserName,
}

#[cfg(test)]
mod tests {
    use futures::FutureExt as _;
    use futures::channel::oneshot;

    use super::*;

    #[tokio::test]
    async fn many_clouds_are_read_at_once_and_told_in_their_order() {
        let (begin, begun) = oneshot::channel();
        let first = async { Ok(begun.await.unwrap()) }.boxed();
        let second = async { Ok(begin.send("a").map_or("", |()| "b")) }.boxed();
        let (found, failed) = of_many(vec![("a".into(), first), ("b".into(), second)]).await.unwrap();
        assert_eq!((found, failed), (vec!["a", "b"], Vec::new()));
    }
}
