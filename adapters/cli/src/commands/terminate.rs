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
    /// Deletes namespaces that hold objects of other clients, with these objects. Default: such a namespace is kept.
    #[arg(long)]
    delete_contents: bool,
    /// Removes rights that other clients granted to users of the logical cloud.
    ///
    /// It deletes their RoleBindings in namespaces that are kept, and removes the identities of the logical cloud from all other
    /// bindings. Bindings that the cluster refuses to change are listed, with exit code 5. In a namespace that an earlier
    /// termination kept, only the identities of the logical cloud are removed.
    #[arg(long, conflicts_with = "no_wait")]
    remove_others_bindings: bool,
    /// Leaves its objects on the clusters, without marks of dcm.
    ///
    /// Its bindings are deleted: the rights of its users end. Bindings of other clients stay, unless --remove-others-bindings is
    /// given. Default: spec.removal.objects of the document, otherwise the objects are deleted.
    #[arg(long, conflicts_with = "delete_contents")]
    keep_objects: bool,
    /// Deadline for each cluster. A cluster that misses it is abandoned, and cleaned up when it returns; exit code 7.
    ///
    /// Default: spec.removal.deadlineSeconds of the document, otherwise five minutes.
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
