//! `dcm terminate`: a logical cloud off its clusters.

use dcm_core::port::synchronizer::{Disposal, Removal};
use dcm_core::service::Clearing;

use super::{other_bindings, report};
use crate::arguments::{Global, Waiting};
use crate::duration;
use crate::exit::Exit;
use crate::session::{Named, Session};

#[derive(Debug, clap::Args)]
pub(crate) struct Arguments {
    #[command(flatten)]
    cloud: Named,
    /// Deletes namespaces together with what others put in them. Otherwise such a namespace is kept.
    #[arg(long)]
    delete_contents: bool,
    /// Removes the rights that other clients gave: deletes their RoleBindings in namespaces that are kept, and removes the identities of
    /// the cloud from all other bindings. What the cluster refuses to change is named, and it ends with exit code 5. In a namespace that
    /// was kept by an earlier termination, only the identities of the cloud are removed.
    #[arg(long, conflicts_with = "no_wait")]
    remove_others_bindings: bool,
    /// Leaves all its objects on the clusters, without our marks: they are nobody's from then on. But for its bindings: the rights
    /// of its users end. Bindings of other clients stay, unless --remove-others-bindings is given. Default: as its document says (spec.removal.objects), or else they are deleted.
    #[arg(long, conflicts_with = "delete_contents")]
    keep_objects: bool,
    /// How long each cluster may take. One that takes longer is given up: it ends with exit code 7, and that cluster is
    /// cleared when it returns. Default: as its document says (spec.removal.deadlineSeconds), or else five minutes.
    #[arg(long, value_parser = duration::deadline, value_name = "DURATION")]
    deadline: Option<u32>,
    #[command(flatten)]
    pub(crate) waiting: Waiting,
}

pub(crate) async fn run(global: &Global, arguments: &Arguments) -> anyhow::Result<Exit> {
    let session = Session::open(global).await?;
    let removal = Removal {
        delete_contents: arguments.delete_contents,
        remove_others_bindings: arguments.remove_others_bindings,
        objects: arguments.keep_objects.then_some(Disposal::Keep),
        deadline_seconds: arguments.deadline,
        ..Removal::default()
    };
    let name = &arguments.cloud.name;
    session.clouds().terminate(&session.project, name, removal).await?;
    let exit = report::wait_for(&session, name, &arguments.waiting).await?;
    if arguments.waiting.no_wait || !matches!(exit, Exit::Done | Exit::Abandoned) {
        return Ok(exit);
    }
    let clearing = if arguments.remove_others_bindings { Clearing::Remove } else { Clearing::List };
    let report = session.other_bindings(name, None, clearing).await?;
    other_bindings::note(&report);
    if clearing == Clearing::List || exit != Exit::Done {
        return Ok(exit);
    }
    let status = session.clouds().status(&session.project, name).await?;
    Ok(if other_bindings::is_open(&report, &status) { Exit::Stuck } else { exit })
}
