//! The status of a logical cloud as a tree: cloud, cluster, object, cause.

use dcm_core::service::{CloudStatus, ClusterInCloud, CredentialStatus, Ending, Issuance};
use jiff::Timestamp;

use crate::age;
use crate::drawing::Node;
use crate::lane_tree::{self, Detail};

/// Draws a status.
pub(crate) fn draw(status: &CloudStatus, detail: Detail, now: Timestamp) -> String {
    let mut children: Vec<Node> = status
        .clusters
        .iter()
        .map(|(id, cluster)| cluster_node(&id.to_string(), cluster, detail, now))
        .collect();
    children.extend(credentials(status, detail, now));
    children.extend(status.warnings.iter().map(|warning| Node::leaf(format!("warning: {warning}"))));
    Node::new(title(status, now), children).draw()
}

fn title(status: &CloudStatus, now: Timestamp) -> String {
    let mut title = format!("{} (project {})  {}", status.name, status.project, status.state);
    if let Some(namespace) = &status.namespace {
        title.push_str(&format!(", namespace {namespace}"));
    }
    if let Some(applied) = &status.applied {
        let age = age::between(applied.applied.at, now);
        title.push_str(&format!(", applied {age} ago by {}", applied.applied.by));
        if status.is_edited {
            title.push_str(", edited since");
        }
    }
    if status.is_interrupted {
        title.push_str(", an apply was cut off: apply again or terminate");
    }
    if let Some(stopped) = &status.stopped {
        title.push_str(&format!(", stopped {} ago by {}", age::between(stopped.at, now), stopped.by));
    }
    title
}

fn cluster_node(id: &str, cluster: &ClusterInCloud, detail: Detail, now: Timestamp) -> Node {
    let title = match &cluster.reference {
        Some(reference) => format!("{reference} = {id}"),
        None => format!("{id} (no longer referred to)"),
    };
    match &cluster.lane {
        Some(lane) => lane_tree::lane(&title, lane, detail, now),
        None => Node::leaf(format!("{title}  not applied")),
    }
}

fn credentials(status: &CloudStatus, detail: Detail, now: Timestamp) -> Vec<Node> {
    let node = |(user, credential): (_, &CredentialStatus)| {
        let issued =
            credential.clusters.values().filter(|one| matches!(one, Issuance::Issued { .. })).count();
        let mut text =
            format!("{} of {user}  issued by {issued} of {}", credential.kind, credential.clusters.len());
        if let Some(end) = first_end(credential) {
            text.push_str(&format!(", first end in {}", age::between(now, end)));
        }
        if credential.is_own_request {
            text.push_str(", the user keeps the key");
        }
        if let Some(at) = credential.renewal.filter(|_| credential.ending.is_none()) {
            text.push_str(&format!(", renewed {}", when(at, now)));
        }
        let ending = credential.ending.iter().map(|ending| warning(ending, now));
        let warnings = ending.chain(outdated(credential)).map(Node::leaf);
        let each = credential.clusters.iter().filter_map(|(cluster, issuance)| match issuance {
            Issuance::Missing { message, .. } => Some(Node::leaf(format!("{cluster}: {message}"))),
            Issuance::Issued { newer: Some(newer), .. } => {
                Some(Node::leaf(format!("{cluster}: an earlier one; of the newest: {newer}")))
            }
            Issuance::Issued { not_after, is_shortened: true, .. } => {
                let text = format!("{cluster}: until {not_after:.0}, which is earlier than was asked for");
                Some(Node::leaf(text))
            }
            Issuance::Issued { not_after, is_tried, .. } => (detail == Detail::Each).then(|| {
                let untried = if *is_tried { "" } else { ", not tried at the cluster" };
                Node::leaf(format!("{cluster}: until {not_after:.0}{untried}"))
            }),
        });
        Node::new(text, warnings.chain(each).collect())
    };
    status.credentials.iter().map(node).collect()
}

/// That an end is near, and who can do something about it.
fn warning(ending: &Ending, now: Timestamp) -> String {
    let (clusters, first) = (ending.clusters, &ending.cluster);
    let end = match ending.at > now {
        true => format!("ends in {}", age::between(now, ending.at)),
        false => format!("ended {} ago", age::between(ending.at, now)),
    };
    let help = match ending.needs_user {
        true => "only the user can renew it, with a new request (dcm subject)",
        false => "a worker renews it (dcm serve), or dcm renew",
    };
    format!("warning: {end} on {clusters} clusters, first on {first}: {help}")
}

/// That the user has a file which is not right any more.
fn outdated(credential: &CredentialStatus) -> Option<String> {
    let first = credential.outdated.first()?;
    let clusters = credential.outdated.len();
    Some(format!(
        "warning: the kubeconfig that was given has another address or other authorities of {clusters} clusters, first {first}: \
         fetch it again (dcm kubeconfig)"
    ))
}

fn when(at: Timestamp, now: Timestamp) -> String {
    if at > now { format!("in {}", age::between(now, at)) } else { "at the next look of a worker".to_owned() }
}

/// When the first of a credential's issues ends.
fn first_end(credential: &CredentialStatus) -> Option<Timestamp> {
    let ends = credential.clusters.values().filter_map(|issuance| match issuance {
        Issuance::Issued { not_after, .. } => Some(*not_after),
        Issuance::Missing { .. } => None,
    });
    ends.min()
}
