//! What one cluster's lane looks like in a status tree.

use std::collections::BTreeMap;

use dcm_core::status::{Cause, LaneStatus, ObjectState, ObjectStatus, Reason, RequestState};
use jiff::{SignedDuration, Timestamp};

use crate::age;
use crate::drawing::Node;

/// Most names on one line; a permission list may have hundreds.
const NAMES_SHOWN_MAX: usize = 8;

/// How much of a lane is shown.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Detail {
    /// Objects of one kind and state together on a line.
    Grouped,
    /// A line for each object.
    Each,
}

/// The lane's objects, requests and causes, below a line that says how far it is.
pub(crate) fn lane(title: &str, lane: &LaneStatus, detail: Detail, now: Timestamp) -> Node {
    let mut text = format!("{title}  {}", lane.state.as_str());
    // Before it was worked on there is no time, and what is new needs none.
    if lane.since > Timestamp::UNIX_EPOCH && now.duration_since(lane.since) >= SignedDuration::from_secs(1) {
        text.push_str(&format!(" for {}", age::between(lane.since, now)));
    }
    // Where it was seen as it came into its state, that says it already.
    let is_later = |seen: &Timestamp| seen.duration_since(lane.since) >= SignedDuration::from_secs(1);
    let is_past = |seen: &Timestamp| now.duration_since(*seen) >= SignedDuration::from_secs(1);
    if let Some(seen) = lane.seen.filter(is_later).filter(is_past) {
        text.push_str(&format!(", seen {} ago", age::between(seen, now)));
    }
    let mut children = objects(&lane.objects, detail, now);
    children.extend(requests(lane, detail, now));
    if let Some(cause) = lane.cause.as_ref().filter(|cause| !is_shown_below(cause, lane)) {
        children.push(Node::leaf(cause_text(cause, now)));
    }
    Node::new(text, children)
}

/// True when the cause stands at its object already.
fn is_shown_below(cause: &Cause, lane: &LaneStatus) -> bool {
    lane.objects.iter().any(|object| object.cause.as_ref() == Some(cause))
        || lane.requests.iter().any(|request| request.cause.as_ref() == Some(cause))
}

fn objects(objects: &[ObjectStatus], detail: Detail, now: Timestamp) -> Vec<Node> {
    let mut nodes = Vec::new();
    let mut groups: Vec<((&str, &str), Vec<&str>)> = Vec::new();
    for object in objects {
        if detail == Detail::Grouped && object.cause.is_none() {
            let group = (&*object.key.kind, object_state(object.state));
            match groups.iter_mut().find(|(key, _)| *key == group) {
                Some((_, names)) => names.push(&object.key.name),
                None => groups.push((group, vec![&object.key.name])),
            }
            continue;
        }
        let text = format!("{}  {}", object.key, object_state(object.state));
        let cause = object.cause.iter().map(|cause| Node::leaf(cause_text(cause, now)));
        nodes.push(Node::new(text, cause.collect()));
    }
    let grouped = groups
        .into_iter()
        .map(|((kind, state), names)| Node::leaf(format!("{kind} {}  {state}", joined(&names))));
    grouped.chain(nodes).collect()
}

fn requests(lane: &LaneStatus, detail: Detail, now: Timestamp) -> Vec<Node> {
    let mut issued: BTreeMap<&str, Vec<&str>> = BTreeMap::new();
    let mut nodes = Vec::new();
    for request in &lane.requests {
        // Named as rendering names them: type, user, epoch, serial. Others are shown as they are.
        let (kind, user) = request.name.split_once('/').unwrap_or(("request", &request.name));
        let user = user.split('/').next().unwrap_or(user);
        match (request.state, &request.cause, detail) {
            (RequestState::Issued, None, Detail::Grouped) => issued.entry(kind).or_default().push(user),
            (state, cause, _) => {
                let text = format!("{}  {}", request.name, request_state(state));
                let causes = cause.iter().map(|cause| Node::leaf(request_cause(cause, lane, now)));
                nodes.push(Node::new(text, causes.collect()));
            }
        }
    }
    let grouped =
        issued.into_iter().map(|(kind, users)| Node::leaf(format!("{kind} of {}  issued", joined(&users))));
    grouped.chain(nodes).collect()
}

/// What stands at an object already is not said again.
fn request_cause(cause: &Cause, lane: &LaneStatus, now: Timestamp) -> String {
    match lane.objects.iter().find(|object| object.cause.as_ref() == Some(cause)) {
        Some(object) => format!("waits for {}", object.key),
        None => cause_text(cause, now),
    }
}

fn joined(names: &[&str]) -> String {
    let shown = names.len().min(NAMES_SHOWN_MAX);
    let mut text = names[..shown].join(", ");
    if names.len() > shown {
        text.push_str(&format!(" and {} more", names.len() - shown));
    }
    text
}

/// A cause in words, with its kind, what a next try waits for, and the time to it.
pub(crate) fn cause_text(cause: &Cause, now: Timestamp) -> String {
    let mut text = format!("{}: {}", reason_of(cause.reason), cause.whole());
    match cause.reason {
        Reason::ClusterChanged => {
            text.push_str("; dcm cluster accept takes it in the place of the other one");
        }
        reason if reason.needs_somebody() => text.push_str("; action required"),
        _ => {}
    }
    match cause.next_try {
        Some(at) if at > now => text.push_str(&format!("; next try in {}", age::between(now, at))),
        Some(_) => text.push_str("; trying again"),
        None => {}
    }
    text
}

fn object_state(state: ObjectState) -> &'static str {
    match state {
        ObjectState::Pending => "pending",
        ObjectState::Applied => "applied",
        ObjectState::Adopted => "adopted",
        ObjectState::Edited => "edited",
        ObjectState::Drifted => "drifted",
        ObjectState::Removing => "removing",
        ObjectState::Kept => "kept",
    }
}

fn request_state(state: RequestState) -> &'static str {
    match state {
        RequestState::Pending => "pending",
        RequestState::Issued => "issued",
    }
}

/// A kind of cause, in the words of the JSON form.
pub(crate) fn reason_of(reason: Reason) -> &'static str {
    match reason {
        Reason::Waiting => "waiting",
        Reason::Retrying => "retrying",
        Reason::Unreachable => "unreachable",
        Reason::Unauthorized => "unauthorized",
        Reason::Denied => "denied",
        Reason::Invalid => "invalid",
        Reason::UnknownKind => "unknown-kind",
        Reason::Foreign => "foreign",
        Reason::FieldConflict => "field-conflict",
        Reason::Drifted => "drifted",
        Reason::Tampered => "tampered",
        Reason::NamespaceGone => "namespace-gone",
        Reason::ClusterChanged => "cluster-changed",
        Reason::SameCluster => "same-cluster",
        Reason::StoreBehind => "store-behind",
        Reason::PlanStale => "plan-stale",
        Reason::SignerSilent => "signer-silent",
        Reason::NotAccepted => "not-accepted",
        Reason::LeftAlone => "left-alone",
        Reason::Lapsed => "lapsed",
        Reason::HasContents => "has-contents",
        Reason::Paused => "paused",
    }
}

#[cfg(test)]
mod tests {
    use dcm_core::status::{LaneState, RequestStatus};

    use super::*;
    use dcm_core::app_context::Generation;
    use dcm_core::manifest::ObjectKey;

    fn object(kind: &str, name: &str, cause: Option<Cause>) -> ObjectStatus {
        let key = ObjectKey::new("".into(), kind.into(), Some("n".into()), name.into());
        let state = if cause.is_some() { ObjectState::Pending } else { ObjectState::Applied };
        ObjectStatus { key, state, cause, bindings: Vec::new() }
    }

    fn status(objects: Vec<ObjectStatus>, cause: Option<Cause>) -> LaneStatus {
        let request = |name: &str| RequestStatus {
            name: name.into(),
            object: ObjectKey::new("".into(), "ServiceAccount".into(), Some("n".into()), name.into()),
            state: RequestState::Issued,
            cause: None,
        };
        LaneStatus {
            observed_generation: Generation(1),
            state: LaneState::Working,
            since: Timestamp::from_second(1000).unwrap(),
            seen: Some(Timestamp::from_second(1030).unwrap()),
            cause,
            objects,
            requests: vec![
                request("certificate/ann/1/1"),
                request("certificate/bob/1/1"),
                request("token/ci/1/1"),
            ],
        }
    }

    fn at(second: i64) -> Timestamp {
        Timestamp::from_second(second).unwrap()
    }

    #[test]
    fn objects_and_credentials_without_a_cause_are_told_together() {
        let status = status(vec![object("Role", "look", None), object("Role", "run", None)], None);
        let drawn = lane("edge-1", &status, Detail::Grouped, at(1042)).draw();
        assert_eq!(
            drawn,
            "edge-1  working for 42s, seen 12s ago\n\
             ├─ Role look, run  applied\n\
             ├─ certificate of ann, bob  issued\n\
             └─ token of ci  issued\n"
        );
    }

    #[test]
    fn a_cause_stands_once_and_at_its_object() {
        let cause = Cause { next_try: Some(at(1050)), ..Cause::new(Reason::Denied, "roles may not be made") };
        let status = status(vec![object("Role", "look", Some(cause.clone()))], Some(cause));
        let drawn = lane("edge-1", &status, Detail::Grouped, at(1042)).draw();
        let expected = "│  └─ denied: roles may not be made; action required; next try in 8s\n";
        assert_eq!(drawn.matches("denied").count(), 1, "{drawn}");
        assert!(drawn.contains(expected), "{drawn}");
    }

    #[test]
    fn each_object_has_its_own_line_where_all_is_asked_for() {
        let status = status(vec![object("Role", "look", None), object("Role", "run", None)], None);
        let drawn = lane("edge-1", &status, Detail::Each, at(1042)).draw();
        assert!(drawn.contains("├─ Role n/look  applied\n├─ Role n/run  applied\n"), "{drawn}");
        assert!(drawn.contains("certificate/ann/1/1  issued"), "{drawn}");
    }

    #[test]
    fn a_cause_says_when_nothing_happens_by_itself_also_where_it_is_looked_at_again() {
        let text = |reason, next_try: Option<i64>| {
            cause_text(&Cause { next_try: next_try.map(at), ..Cause::new(reason, "m") }, at(1))
        };
        let foreign = "foreign: m; action required";
        assert_eq!(text(Reason::Foreign, None), foreign);
        assert_eq!(text(Reason::Foreign, Some(4)), format!("{foreign}; next try in 3s"));
        assert_eq!(text(Reason::Foreign, Some(1)), format!("{foreign}; trying again"));
        assert_eq!(text(Reason::Waiting, None), "waiting: m");
        assert_eq!(text(Reason::Waiting, Some(4)), "waiting: m; next try in 3s");
    }

    #[test]
    fn many_names_are_counted() {
        let names: Vec<String> = (0..10).map(|number| format!("n{number}")).collect();
        let names: Vec<&str> = names.iter().map(String::as_str).collect();
        assert!(joined(&names).ends_with("n7 and 2 more"));
    }
}
