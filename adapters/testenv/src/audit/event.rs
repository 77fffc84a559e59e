//! One line of an audit log.

use jiff::Timestamp;
use serde::Deserialize;

/// How far a request was when an event was written.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Deserialize)]
pub enum Stage {
    /// The request has arrived and nothing was done with it yet.
    RequestReceived,
    /// The head of an answer was sent whose body goes on: a watch.
    ResponseStarted,
    /// The answer is complete.
    ResponseComplete,
    /// The server panicked over the request.
    Panic,
}

/// One event of one request.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
#[serde(from = "Document")]
#[non_exhaustive]
pub struct AuditEvent {
    /// The same for all events of a request.
    pub audit_id: String,
    /// How far the request was.
    pub stage: Stage,
    /// The user name: of a client certificate, its common name. Who was impersonated is not in here.
    pub user: String,
    /// The groups of the user, with those that the server adds itself.
    pub groups: Vec<String>,
    /// What the client called itself.
    pub user_agent: String,
    /// The Kubernetes verb (`create`, `patch`, `list`, ...), or the HTTP method in small letters.
    pub verb: String,
    /// Path and query.
    pub request_uri: String,
    /// The API group; none for the core group and for requests that are about no resource.
    pub api_group: Option<String>,
    /// The resource, in the plural.
    pub resource: Option<String>,
    /// The subresource (`status`, `approval`, ...).
    pub subresource: Option<String>,
    /// The namespace of the object.
    pub namespace: Option<String>,
    /// The name of the object; none when the server chose it, and for lists.
    pub name: Option<String>,
    /// The HTTP status code; none before there is an answer.
    pub code: Option<u16>,
    /// Whether the query asked for a dry run. A dry run that only the body of a delete asks for is not seen.
    pub dry_run: bool,
    /// When the server got the request.
    pub request_received: Timestamp,
    /// When the stage was reached.
    pub stage_timestamp: Timestamp,
}

/// The document as the server writes it.
#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Document {
    #[serde(rename = "auditID")]
    audit_id: String,
    stage: Stage,
    #[serde(default, rename = "requestURI")]
    request_uri: String,
    #[serde(default)]
    verb: String,
    #[serde(default)]
    user: User,
    #[serde(default)]
    user_agent: String,
    #[serde(default)]
    object_ref: ObjectReference,
    response_status: Option<ResponseStatus>,
    request_received_timestamp: Timestamp,
    stage_timestamp: Timestamp,
}

#[derive(Default, Deserialize)]
#[serde(default)]
struct User {
    username: String,
    groups: Vec<String>,
}

#[derive(Default, Deserialize)]
#[serde(default, rename_all = "camelCase")]
struct ObjectReference {
    resource: Option<String>,
    subresource: Option<String>,
    namespace: Option<String>,
    name: Option<String>,
    api_group: Option<String>,
}

#[derive(Deserialize)]
struct ResponseStatus {
    code: Option<u16>,
}

impl From<Document> for AuditEvent {
    fn from(document: Document) -> Self {
        let object = document.object_ref;
        Self {
            dry_run: asks_for_dry_run(&document.request_uri),
            audit_id: document.audit_id,
            stage: document.stage,
            user: document.user.username,
            groups: document.user.groups,
            user_agent: document.user_agent,
            verb: document.verb,
            request_uri: document.request_uri,
            api_group: object.api_group,
            resource: object.resource,
            subresource: object.subresource,
            namespace: object.namespace,
            name: object.name,
            code: document.response_status.and_then(|status| status.code),
            request_received: document.request_received_timestamp,
            stage_timestamp: document.stage_timestamp,
        }
    }
}

fn asks_for_dry_run(request_uri: &str) -> bool {
    let query = request_uri.split_once('?').map_or("", |(_, query)| query);
    query.split('&').any(|parameter| parameter == "dryRun=All")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_dry_run_is_a_parameter_of_its_own_not_a_part_of_another() {
        assert!(asks_for_dry_run("/api/v1/pods?fieldManager=x&dryRun=All"));
        assert!(!asks_for_dry_run("/api/v1/pods?fieldManager=dryRun=All"));
        assert!(!asks_for_dry_run("/api/v1/namespaces/dryRun=All"));
    }
}
