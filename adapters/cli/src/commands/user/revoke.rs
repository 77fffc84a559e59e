//! `dcm user revoke`: a user's credentials lose their rights.

use std::collections::BTreeMap;

use dcm_core::causes;
use dcm_core::manifest::ObjectKey;
use dcm_core::name::ClusterId;
use dcm_core::service::{CloudStatus, OtherBindings, Revoked};
use dcm_core::status::Cause;
use serde::Serialize;

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
    #[command(flatten)]
    waiting: Waiting,
}

/// What became of a revocation.
#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct Report {
    #[serde(flatten)]
    revoked: Revoked,
    clusters: BTreeMap<ClusterId, OnCluster>,
}

/// What became of it on one cluster.
#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct OnCluster {
    /// The earlier identity has no right of ours any more.
    is_revoked: bool,
    /// What is in the way.
    #[serde(skip_serializing_if = "Option::is_none")]
    cause: Option<Cause>,
    /// Bindings of other people that name an earlier identity.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    bindings: Vec<ObjectKey>,
    /// Where there may be more, as the cluster does not allow to look there.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    bindings_unseen: Vec<String>,
    /// Why it is not known whether there are any.
    #[serde(skip_serializing_if = "Option::is_none")]
    bindings_unknown: Option<String>,
}

impl OnCluster {
    /// The bindings of others, and what is not known of them.
    fn bindings(&self) -> String {
        if let Some(reason) = &self.bindings_unknown {
            return format!("unknown: {reason}");
        }
        let found = self.bindings.iter().map(ToString::to_string);
        let unseen = self.bindings_unseen.iter().map(|place| format!("not allowed to look at {place}"));
        found.chain(unseen).collect::<Vec<_>>().join(", ")
    }
}

pub(crate) async fn run(global: &Global, arguments: &Arguments) -> anyhow::Result<Exit> {
    let session = Session::open(global).await?;
    let (cloud, user) = (&arguments.named.cloud.name, &arguments.named.user);
    let clouds = session.deployment.clouds();
    let revoked = clouds.revoke(&session.caller, &session.project, cloud, user).await?;
    let worked = session.worked(cloud).await?;
    let end = report::wait_until_end(&session, &[worked], &arguments.waiting).await?;
    let status = clouds.status(&session.project, cloud).await?;
    let report = report_of(&session, revoked, &status).await;
    output::print_either(session.format, &report, || table(&session, &report))?;
    if report.revoked.needs_request {
        output::note(format_args!(
            "{user} keeps the key: make a new request (dcm subject {cloud} {user}), put it into the document, and apply that"
        ));
    }
    report::say_end(&session, end, &[status], &arguments.waiting).await
}

async fn report_of(session: &Session, revoked: Revoked, status: &CloudStatus) -> Report {
    let found = session.deployment.other_bindings(&revoked).await;
    let each = found.into_iter().map(|(id, others)| {
        let lane = status.clusters.get(&id).and_then(|cluster| cluster.lane.as_ref());
        let is_revoked = lane.is_some_and(|lane| revoked.is_done_in(lane));
        let cause = lane.and_then(|lane| revoked.cause_in(lane).cloned());
        let (others, bindings_unknown) = match others {
            Ok(others) => (others, None),
            Err(error) => (OtherBindings::default(), Some(causes::told(&error))),
        };
        let bindings_unseen = others.unseen.iter().map(ToString::to_string).collect();
        let on = OnCluster { is_revoked, cause, bindings: others.found, bindings_unseen, bindings_unknown };
        (id, on)
    });
    let clusters = each.collect();
    Report { revoked, clusters }
}

fn table(session: &Session, report: &Report) -> String {
    let row = |(id, on): (&ClusterId, &OnCluster)| {
        let state = match (on.is_revoked, &on.cause) {
            (true, _) => "revoked".to_owned(),
            (false, None) => "pending".to_owned(),
            (false, Some(cause)) => format!("pending: {}", cause_text(cause, session.now())),
        };
        [id.to_string(), state, on.bindings()]
    };
    let earlier = report.revoked.earlier.first().map(|earlier| format!("{earlier}\n"));
    let rows = report.clusters.iter().map(row);
    earlier.unwrap_or_default() + &output::columns(["CLUSTER", "STATE", "BINDINGS OF OTHERS"], rows)
}
