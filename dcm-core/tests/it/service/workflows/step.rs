//! The steps of workflows, and how each is made.

use dcm_core::controller::{ControllerDraft, ControllerGroup};
use dcm_core::logical_cloud::{KeyValuesDraft, MetadataDraft};
use dcm_core::pki::SystemKeys;
use dcm_core::port::cluster::ClusterUid;
use dcm_core::port::key_source::KeySource as _;
use dcm_core::port::synchronizer::{Removal, STOP_LIMIT};
use dcm_core::service::{
    Agenda, Error, News, PartDraft, PartName, Precondition, Presence, Registration, Remains,
};
use serde_json::Value;

use super::drafts::first;
use crate::service::support::{World, admin_kubeconfig, cluster, name, registration};

/// One step. All but the last ones are calls.
#[derive(Debug, Clone, Copy)]
pub(super) enum Step {
    CreateProject,
    PutProject(&'static str),
    DeleteProject,
    PutProvider(&'static str),
    DeleteProvider,
    PutController(i64),
    DeleteController,
    Register(&'static str),
    ReplaceKubeconfig(&'static str),
    /// Accepts the server that the kubeconfig leads to.
    Accept(&'static str),
    Relabel(&'static str),
    ReplaceNamespace(&'static str),
    PutLabel(&'static str),
    DeleteLabel(&'static str),
    PutKeyValues(&'static str),
    DeleteKeyValues(&'static str),
    RemoveCluster(&'static str, Remains),
    StopCluster(&'static str),
    ResumeCluster(&'static str),
    Put(fn() -> Value),
    PutPart(fn() -> PartDraft),
    DeletePart(fn() -> PartName),
    /// A user asks for the subject, makes a key and brings a request.
    BringRequest(&'static str),
    Apply,
    ApplyRival,
    Terminate(Removal),
    Stop,
    Resume,
    Delete,
    /// It is deleted once it is off its clusters.
    Leave(Removal),
    RenewWhatIsDue,
    Renew(&'static str),
    /// A worker looks after what is due, and again when what was cut off is to be finished.
    Rounds,
    Revoke(&'static str),
    HandOut(&'static str),
    Reconcile,
    /// A call that breaks a rule.
    Refused(&'static Self),
    /// The engine does its work, everywhere or in one cluster.
    Finish,
    FinishIn(&'static str),
    /// The engine comes to know which cluster this one is.
    Reach(&'static str),
    /// The engine gives a cluster up.
    Abandon(&'static str),
    /// The engine finds that clusters hold later changes.
    FindLaterChanges,
    /// Clusters issue for this time from now on.
    IssueFor(u64, u64),
    At(u64),
}

use Step::*;

impl Step {
    /// True for what is not a call: it neither fails nor is it made twice.
    pub(super) fn happens(self) -> bool {
        matches!(self, Finish | FinishIn(_) | Reach(_) | Abandon(_) | FindLaterChanges | IssueFor(..) | At(_))
    }

    /// The call alone, whether it is to be refused or not.
    pub(super) fn bare(self) -> Self {
        if let Refused(step) = self { *step } else { self }
    }

    /// True for a call that changes something, if nothing hinders it.
    pub(super) fn changes(self) -> bool {
        !self.happens() && !matches!(self, Refused(_))
    }

    /// True where it removes, when it is made again, what is left over. A worker's rounds leave that to the next change.
    pub(super) fn tidies(self) -> bool {
        !matches!(self, Rounds) && !self.happens()
    }

    /// Makes the step. When it is made again, what it was to do may be done.
    pub(super) async fn make(self, world: &World, again: bool) -> Result<(), Error> {
        let made = match self {
            Refused(step) => match Box::pin(step.call(world)).await {
                Err(error) if !error.is_retryable() => Ok(()),
                Err(error) => Err(error),
                Ok(()) => panic!("{step:?} is to be refused"),
            },
            step if step.happens() => {
                step.happen(world);
                Ok(())
            }
            // On the heap: a call with all that it calls is large.
            step => Box::pin(step.call(world)).await,
        };
        match made {
            Err(Error::NotFound { .. }) if again && self.removes() => Ok(()),
            Err(Error::AlreadyThere { .. }) if again && matches!(self, CreateProject) => Ok(()),
            other => other,
        }
    }

    fn removes(self) -> bool {
        matches!(
            self,
            DeleteProject
                | DeleteProvider
                | DeleteController
                | DeleteLabel(_)
                | DeleteKeyValues(_)
                | RemoveCluster(..)
                | DeletePart(_)
                | Delete
                | Leave(_)
        )
    }

    fn happen(self, world: &World) {
        match self {
            Finish => world.engine.finish(),
            FinishIn(one) => world.engine.finish_in(&cluster(one)),
            Reach(one) => world.engine.reach(&cluster(one), &ClusterUid(one.into())),
            Abandon(one) => world.engine.abandon(&cluster(one)),
            FindLaterChanges => world.engine.find_later_changes(),
            IssueFor(begin, end) => world.engine.issue_for(begin..end),
            At(second) => world.at_second(second),
            call => unreachable!("{call:?} is a call"),
        }
    }

    async fn call(self, world: &World) -> Result<(), Error> {
        let (clouds, caller, project, shop) = (&world.clouds, &world.caller, &world.project, &name("shop"));
        match self {
            CreateProject | PutProject(_) | DeleteProject => self.call_projects(world).await,
            PutProvider(_) | DeleteProvider => self.call_providers(world).await,
            PutController(_) | DeleteController => self.call_controllers(world).await,
            PutLabel(_) | DeleteLabel(_) | PutKeyValues(_) | DeleteKeyValues(_) => {
                self.call_cluster_parts(world).await
            }
            Register(_) | ReplaceKubeconfig(_) | Accept(_) | Relabel(_) | ReplaceNamespace(_)
            | RemoveCluster(..) | StopCluster(_) | ResumeCluster(_) => self.call_clusters(world).await,
            Put(draft) => world.put(draft()).await.map(drop),
            PutPart(part) => {
                clouds.put_part(caller, project, shop, part(), &Precondition::default()).await.map(drop)
            }
            DeletePart(part) => {
                clouds.delete_part(caller, project, shop, &part(), &Precondition::default()).await.map(drop)
            }
            BringRequest(user) => bring_request(world, user).await,
            Apply => world.apply("shop").await.map(drop),
            ApplyRival => world.apply("rival").await.map(drop),
            Terminate(removal) => clouds.terminate(caller, project, shop, removal).await,
            Stop => clouds.stop(caller, project, shop, STOP_LIMIT).await,
            Resume => clouds.resume(caller, project, shop).await,
            Delete => world.delete("shop").await,
            Leave(removal) => clouds
                .delete_when_off(caller, project, shop, removal, &Precondition::default())
                .await
                .map(drop),
            RenewWhatIsDue => clouds.renew(caller, project, shop, None).await.map(drop),
            Renew(user) => clouds.renew(caller, project, shop, Some(&name(user))).await.map(drop),
            Rounds => rounds(world).await,
            Revoke(user) => clouds.revoke(caller, project, shop, &name(user)).await.map(drop),
            HandOut(user) => {
                let access = clouds.kubeconfigs(project, shop, Some(&name(user)), None).await?.access;
                clouds.handed_out(caller, &access).await
            }
            Reconcile => clouds.reconcile(caller, project, shop).await.map(drop),
            other => unreachable!("{other:?} is no call"),
        }
    }

    async fn call_projects(self, world: &World) -> Result<(), Error> {
        let (projects, caller) = (&world.projects, &world.caller);
        let draft = |description: &str| MetadataDraft {
            name: "retail".into(),
            description: description.into(),
            ..MetadataDraft::default()
        };
        match self {
            CreateProject => projects.create(caller, draft("")).await.map(drop),
            PutProject(description) => projects.put(caller, draft(description)).await.map(drop),
            _ => projects.delete(caller, &world.project).await,
        }
    }

    async fn call_providers(self, world: &World) -> Result<(), Error> {
        let (providers, caller) = (&world.providers, &world.caller);
        match self {
            PutProvider(description) => {
                let (name, description) = ("sim".into(), description.into());
                let draft = MetadataDraft { name, description, ..MetadataDraft::default() };
                providers.put(caller, draft).await.map(drop)
            }
            _ => providers.delete(caller, &name("sim")).await,
        }
    }

    async fn call_controllers(self, world: &World) -> Result<(), Error> {
        let (controllers, caller, any) = (&world.controllers, &world.caller, Precondition::default());
        let group = ControllerGroup::Orchestrator;
        match self {
            PutController(port) => {
                let metadata = MetadataDraft { name: "rsync".into(), ..MetadataDraft::default() };
                let host = "it.example".into();
                let draft = ControllerDraft { metadata, host, port, ..ControllerDraft::default() };
                controllers.put(caller, group, draft, &any).await.map(drop)
            }
            _ => controllers.delete(caller, group, &name("rsync"), &any).await,
        }
    }

    /// Parts of the cluster `one`.
    async fn call_cluster_parts(self, world: &World) -> Result<(), Error> {
        let (clusters, caller, one) = (&world.clusters, &world.caller, &cluster("one"));
        match self {
            PutLabel(label) => clusters.put_label(caller, one, label, Presence::Any).await.map(drop),
            DeleteLabel(label) => clusters.delete_label(caller, one, label).await,
            PutKeyValues(set) => {
                let draft = KeyValuesDraft { name: set.into(), ..KeyValuesDraft::default() };
                clusters.put_key_values(caller, one, draft, Presence::Any).await.map(drop)
            }
            DeleteKeyValues(set) => clusters.delete_key_values(caller, one, &name(set)).await,
            other => unreachable!("{other:?} is for something else"),
        }
    }

    async fn call_clusters(self, world: &World) -> Result<(), Error> {
        let (clusters, caller) = (&world.clusters, &world.caller);
        match self {
            Register(one) => clusters.add(caller, registration(one, &[("tier", "edge")])).await.map(drop),
            ReplaceKubeconfig(one) => {
                world.replace_kubeconfig(one, admin_kubeconfig("elsewhere")).await.map(drop)
            }
            Accept(one) => {
                let registration = clusters.get(&cluster(one)).await?.registration;
                clusters.accept_endpoint(&registration, &ClusterUid(one.into())).await
            }
            Relabel(one) => world.relabel(one, &[("tier", "core")]).await.map(drop),
            ReplaceNamespace(one) => {
                let tenants = |old| Registration { namespace: Some(name("tenants")), ..old };
                world.edit_cluster(one, tenants).await.map(drop)
            }
            StopCluster(one) => clusters.stop(caller, &cluster(one), STOP_LIMIT).await,
            ResumeCluster(one) => clusters.resume(caller, &cluster(one)).await,
            RemoveCluster(one, remains) => clusters.remove(caller, &cluster(one), remains).await.map(drop),
            other => unreachable!("{other:?} is for something else"),
        }
    }
}

async fn bring_request(world: &World, user: &str) -> Result<(), Error> {
    let subject = world.clouds.subject(&world.project, &name("shop"), &name(user)).await?;
    let mut own = first();
    let users = own["spec"]["users"].as_array_mut().unwrap();
    let brings = users.iter_mut().find(|one| one["name"] == user).unwrap();
    brings["csr"] = SystemKeys.issue(&subject).unwrap().request.into();
    world.put(own).await.map(drop)
}

/// A worker's rounds, with the memory of a new process.
async fn rounds(world: &World) -> Result<(), Error> {
    let mut agenda = Agenda::default();
    for seconds in [0, 125] {
        world.wait(seconds);
        let round = world.clouds.tend(&world.caller, &mut agenda).await?;
        for event in round.events {
            if let News::Failed(error) = event.what {
                return Err(error);
            }
        }
    }
    Ok(())
}
