//! What a logical cloud has in a cluster.

use dcm_core::logical_cloud::RENDERED_KINDS;
use dcm_core::status::{Cause, LaneStatus, ObjectState, ObjectStatus, Reason, RequestState, RequestStatus};
use serde::Serialize;

use super::asked::{Asked, Form, Output};

/// Kinds of the core group that are ready once they are there.
const READY_WHEN_THERE: [&str; 3] = ["Namespace", "ConfigMap", "Service"];

/// Group, version and kind. The version is empty where it is not known.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(rename_all = "PascalCase")]
pub(super) struct Gvk {
    group: String,
    version: String,
    kind: String,
}

/// Whether something does its work.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize)]
pub(super) enum Readiness {
    NotPresent,
    NotReady,
    Ready,
}

/// Why something is not further.
#[derive(Debug, Serialize)]
pub(super) struct Detail {
    state: State,
    #[serde(skip_serializing_if = "Option::is_none")]
    cause: Option<Cause>,
}

#[derive(Debug, Serialize)]
#[serde(untagged)]
enum State {
    Object(ObjectState),
    Request(RequestState),
}

/// An object or a request.
#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct Resource {
    #[serde(rename = "GVK")]
    pub(super) gvk: Gvk,
    pub(super) name: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    detail: Option<Detail>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) deployed_status: Option<&'static str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) ready_status: Option<Readiness>,
}

/// The resources of a lane that are asked for, in EMCO's order: by name, then kind.
pub(super) fn of(lane: &LaneStatus, asked: &Asked) -> Vec<Resource> {
    let objects = lane.objects.iter().map(|object| of_object(object, asked));
    let requests = lane.requests.iter().map(|request| of_request(request, asked));
    let is_asked_for = |resource: &Resource| asked.is_about_resource(&resource.name);
    let mut resources: Vec<Resource> = objects.chain(requests).filter(is_asked_for).collect();
    resources.sort_by(|one, other| (&one.name, &one.gvk.kind).cmp(&(&other.name, &other.gvk.kind)));
    resources
}

fn of_object(object: &ObjectStatus, asked: &Asked) -> Resource {
    let ObjectStatus { key, state, cause, bindings: _ } = object;
    let is_rendered = RENDERED_KINDS.contains(&(&*key.group, &*key.kind));
    let version = if is_rendered || key.group.is_empty() { "v1" } else { "" };
    let gvk = Gvk { group: key.group.to_string(), version: version.to_owned(), kind: key.kind.to_string() };
    let deployed = match state {
        ObjectState::Applied
        | ObjectState::Adopted
        | ObjectState::Edited
        | ObjectState::Drifted
        | ObjectState::Removing => "Applied",
        ObjectState::Kept => "Deleted",
        ObjectState::Pending => hindered(cause.as_ref()),
    };
    let is_told = key.group.is_empty() && READY_WHEN_THERE.contains(&&*key.kind);
    let ready = is_told.then_some(match state {
        ObjectState::Applied | ObjectState::Adopted | ObjectState::Edited | ObjectState::Drifted => {
            Readiness::Ready
        }
        ObjectState::Removing => Readiness::NotReady,
        ObjectState::Pending | ObjectState::Kept => Readiness::NotPresent,
    });
    let detail = Detail { state: State::Object(*state), cause: cause.clone() };
    resource(asked, gvk, key.name.to_string(), (deployed, ready, detail))
}

/// A request for a user's credential: it stands for the object that asks, which is removed once it is answered.
fn of_request(request: &RequestStatus, asked: &Asked) -> Resource {
    let RequestStatus { object, state, cause, .. } = request;
    let (group, kind) = match &*object.kind {
        "ServiceAccount" => ("authentication.k8s.io", "TokenRequest"),
        kind => (&*object.group, kind),
    };
    let gvk = Gvk { group: group.to_owned(), version: "v1".to_owned(), kind: kind.to_owned() };
    let (deployed, ready) = match state {
        RequestState::Issued => ("Applied", Readiness::Ready),
        RequestState::Pending => (hindered(cause.as_ref()), Readiness::NotReady),
    };
    let detail = Detail { state: State::Request(*state), cause: cause.clone() };
    resource(asked, gvk, object.name.to_string(), (deployed, Some(ready), detail))
}

fn hindered(cause: Option<&Cause>) -> &'static str {
    match cause.map(|cause| cause.reason) {
        Some(Reason::Retrying | Reason::Unreachable) => "Retrying",
        Some(reason) if reason.needs_somebody() => "Failed",
        Some(_) | None => "Pending",
    }
}

fn resource(
    asked: &Asked,
    gvk: Gvk,
    name: String,
    (deployed, ready, detail): (&'static str, Option<Readiness>, Detail),
) -> Resource {
    let (deployed_status, ready_status) = match asked.form {
        Form::Deployed => (Some(deployed), None),
        Form::Ready => (None, ready),
    };
    let detail = (asked.output == Output::Detail).then_some(detail);
    Resource { gvk, name, detail, deployed_status, ready_status }
}
