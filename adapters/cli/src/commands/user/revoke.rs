//! `dcm user revoke`: a user's credentials lose their rights.

use dcm_core::name::ClusterId;
use dcm_core::service::{Clearing, OtherBindingsReport, Revocation, RevokedOnCluster};

use super::super::report;
use crate::arguments::{Global, Waiting};
use crate::exit::Exit;
use crate::lane_tree::cause_text;
use crate::output;
use crate::session::{NamedUser, Session};

#[derive(Debug, clap::Args)]
pub(crate) struct Arguments {
    #[command(flatten)]
    named: NamedUser,
    /// Removes the earlier identities of the user from bindings of other clients, and deletes those without another subject.
    ///
    /// Bindings that the cluster refuses to change are listed, with exit code 5.
    #[arg(long, conflicts_with = "no_wait")]
    remove_others_bindings: bool,
    #[command(flatten)]
    waiting: Waiting,
}

pub(crate) async fn run(global: &Global, arguments: &Arguments) -> anyhow::Result<Exit> {
    let session = Session::open(global).await?;
    let (cloud, user) = (&arguments.named.cloud.name, &arguments.named.user);
    let clouds = session.clouds();
    let revoked = clouds.revoke(&session.project, cloud, user).await?;
    let worked = session.worked(cloud).await?;
    let end = report::wait_until_end(&session, &[worked], &arguments.waiting).await?;
    let status = clouds.status(&session.project, cloud).await?;
    let removed = match arguments.remove_others_bindings {
        true => session.other_bindings(cloud, Some(user), Clearing::Remove).await?,
        false => OtherBindingsReport::default(),
    };
    let mut report = session.revocation(revoked, &status).await?;
    for (id, on) in removed.clusters {
        let others = &mut report.clusters.entry(id).or_default().others;
        others.bindings_removed = on.bindings_removed;
        others.bindings_refused = on.bindings_refused.or(on.bindings_unknown);
    }
    output::print_either(session.format, &report, || table(&session, &report))?;
    if report.revoked.needs_request {
        output::note(format_args!(
            "{user} keeps the key: make a new request (dcm subject {cloud} {user}), put it into the document, and apply that"
        ));
    }
    let exit = report::say_end(&session, end, &[status], &arguments.waiting).await?;
    let is_open = report.clusters.values().any(|on| on.others.may_give_rights());
    Ok(if exit == Exit::Done && arguments.remove_others_bindings && is_open { Exit::Stuck } else { exit })
}

fn table(session: &Session, report: &Revocation) -> String {
    let row = |(id, on): (&ClusterId, &RevokedOnCluster)| {
        let state = match (on.is_revoked, &on.cause) {
            (true, _) => "revoked".to_owned(),
            (false, None) => "pending".to_owned(),
            (false, Some(cause)) => format!("pending: {}", cause_text(cause, session.now())),
        };
        [id.to_string(), state, bindings(on)]
    };
    let earlier = report.revoked.earlier.first().map(|earlier| format!("{earlier}\n"));
    let rows = report.clusters.iter().map(row);
    earlier.unwrap_or_default() + &output::columns(["CLUSTER", "STATE", "BINDINGS OF OTHERS"], rows)
}

/// The bindings of others, and what is not known of them.
fn bindings(on: &RevokedOnCluster) -> String {
    let others = &on.others;
    if let Some(reason) = &others.bindings_unknown {
        return format!("unknown: {reason}");
    }
    let found = others.bindings.iter().map(ToString::to_string);
    let removed = others.bindings_removed.iter().map(|key| format!("removed: {key}"));
    let refused = others.bindings_refused.iter().map(|reason| format!("not removed: {reason}"));
    let unseen = others.bindings_unseen.iter().map(|place| format!("not allowed to look at {place}"));
    found.chain(removed).chain(refused).chain(unseen).collect::<Vec<_>>().join(", ")
}
