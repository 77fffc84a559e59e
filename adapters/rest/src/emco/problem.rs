//! What is said when something is refused or fails: one place maps every error to EMCO's status and its text.

use std::borrow::Cow;
use std::fmt::Display;

use axum::http::header::{CONTENT_TYPE, RETRY_AFTER, X_CONTENT_TYPE_OPTIONS};
use axum::http::{HeaderValue, StatusCode};
use axum::response::{IntoResponse, Response};
use dcm_core::causes;
use dcm_core::refusal::{Refusal, Refusals};
use dcm_core::service::{Class, Error, Kind};

use super::clouds::rules;
use crate::access::{Denied, NotAdmitted};
use crate::limits::Broken;
use crate::lookers::TooManyLooks;
use crate::shares::TooMuch;

/// What EMCO says of all that it did not expect.
const INTERNAL: &str = "The server encountered an internal error and was unable to complete your request.";

/// Why a request was refused or failed: a line of text.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Problem {
    status: StatusCode,
    text: Cow<'static, str>,
}

impl Problem {
    pub(super) fn new(status: StatusCode, text: impl Into<Cow<'static, str>>) -> Self {
        Self { status, text: text.into() }
    }

    pub(super) fn conflict(text: impl Into<Cow<'static, str>>) -> Self {
        Self::new(StatusCode::CONFLICT, text)
    }

    pub(super) fn bad_request(text: impl Into<Cow<'static, str>>) -> Self {
        Self::new(StatusCode::BAD_REQUEST, text)
    }

    /// Rules that a body breaks.
    pub(super) fn invalid(lines: impl IntoIterator<Item = impl Display>) -> Self {
        let lines = lines.into_iter().map(|line| format!("\n{line}"));
        Self::bad_request(format!("Invalid Input:{}", lines.collect::<String>()))
    }

    pub(super) fn internal() -> Self {
        Self::new(StatusCode::INTERNAL_SERVER_ERROR, INTERNAL)
    }

    pub(super) fn too_large() -> Self {
        Self::new(StatusCode::PAYLOAD_TOO_LARGE, "http: request body too large")
    }

    /// The body breaks a limit that EMCO's services don't have.
    pub(super) fn of_body(broken: Broken) -> Self {
        let (status, text) = match broken {
            Broken::Late => (StatusCode::REQUEST_TIMEOUT, "http: request body took too long"),
            Broken::NoRoom(TooMuch::InAll) => {
                (StatusCode::SERVICE_UNAVAILABLE, "too many large bodies are under way")
            }
            Broken::NoRoom(TooMuch::OfCaller) => {
                (StatusCode::TOO_MANY_REQUESTS, "you send too many large bodies at once")
            }
        };
        Self::new(status, text)
    }

    /// An error about a document, with what breaks a rule by its place in the document that was sent.
    pub(super) fn about(error: Error, field: impl Fn(&str) -> String) -> Self {
        match error {
            Error::Refused(refusals) => {
                let placed = |refusal: Refusal| Refusal { path: field(&refusal.path), ..refusal };
                Self::invalid(refusals.into_iter().map(placed))
            }
            Error::Forbidden(refusal) => {
                Error::Forbidden(Refusal { path: field(&refusal.path), ..refusal }).into()
            }
            error => error.into(),
        }
    }

    /// What EMCO has no words for.
    fn of_class(error: &Error) -> Self {
        let told = causes::told(error);
        match error.class() {
            Class::StillUnderWay | Class::Unavailable | Class::Internal => {
                // What is below is for whoever runs the server.
                tracing::error!(error = told, "a request failed");
                Self::internal()
            }
            Class::NotIssued if error.hides_its_source() => {
                tracing::error!(error = told, "a request failed");
                Self::conflict(error.to_string())
            }
            Class::Forbidden => Self::new(StatusCode::FORBIDDEN, told),
            Class::NotFound
            | Class::AlreadyThere
            | Class::PreconditionFailed
            | Class::Invalid
            | Class::UserNotNamed
            | Class::WrongState
            | Class::InUse
            | Class::NotIssued
            | Class::PlanStale => Self::conflict(told),
        }
    }

    /// There is no such thing.
    pub(super) fn missing(kind: Kind) -> Self {
        Self::new(StatusCode::NOT_FOUND, missing(kind))
    }

    /// An error about what was to be deleted.
    pub(super) fn of_deletion(error: Error) -> Self {
        match error {
            Error::NotFound { .. } => Self::absent(),
            error => error.into(),
        }
    }

    /// What was to be deleted is not there.
    pub(super) fn absent() -> Self {
        Self::new(StatusCode::NOT_FOUND, "The requested resource not found")
    }

    /// An error about what was to be made below something that may not be there.
    pub(super) fn of_child(error: Error) -> Self {
        match error {
            Error::NotFound { .. } => Self::no_parent(),
            error => error.into(),
        }
    }

    pub(super) fn no_parent() -> Self {
        Self::conflict("Cannot perform requested operation. Parent resource not found")
    }

    /// Something has others below it.
    pub(super) fn has_children() -> Self {
        Self::conflict("Cannot delete parent without deleting child references first")
    }
}

impl From<Refusals> for Problem {
    fn from(refusals: Refusals) -> Self {
        Self::invalid(refusals)
    }
}

impl From<TooManyLooks> for Problem {
    fn from(too_many: TooManyLooks) -> Self {
        Self::new(StatusCode::TOO_MANY_REQUESTS, too_many.to_string())
    }
}

impl From<&Denied> for Problem {
    fn from(denied: &Denied) -> Self {
        let status = match denied {
            Denied::NoSuchProject(_) => return Self::missing(Kind::Project),
            Denied::Forbidden(_) => StatusCode::FORBIDDEN,
            Denied::NotAdmitted(refused) => match refused {
                NotAdmitted::Anonymous | NotAdmitted::Refused(_) => StatusCode::UNAUTHORIZED,
                NotAdmitted::NotNow(_) => StatusCode::SERVICE_UNAVAILABLE,
                NotAdmitted::TooOften { .. } => StatusCode::TOO_MANY_REQUESTS,
                NotAdmitted::Misdirected => StatusCode::MISDIRECTED_REQUEST,
                NotAdmitted::OtherSite => StatusCode::FORBIDDEN,
                NotAdmitted::NoHost => StatusCode::BAD_REQUEST,
            },
        };
        Self::new(status, denied.to_string())
    }
}

impl From<Error> for Problem {
    fn from(error: Error) -> Self {
        match error {
            Error::NotFound { kind, .. } => Self::missing(kind),
            Error::AlreadyThere { kind, .. } => Self::conflict(already_there(kind)),
            Error::Refused(refusals) => refusals.into(),
            Error::WrongState(refused) => rules::refused(&refused),
            Error::NotEmpty { .. } => Self::has_children(),
            Error::ClusterInUse { .. } | Error::LeftOnCluster { .. } => {
                Self::conflict("Cannot delete without deleting or updating referencing resources first")
            }
            Error::NotApplied { .. } => Self::conflict("Logical Cloud hasn't been instantiated"),
            Error::NotIssued { .. } | Error::Certificate { .. } => Self::conflict(
                "The cluster doesn't contain status, please check if all services are up and running",
            ),
            error => Self::of_class(&error),
        }
    }
}

fn missing(kind: Kind) -> &'static str {
    match kind {
        Kind::Project => "Project not found",
        Kind::LogicalCloud => "Logical Cloud not found",
        Kind::User => "User not found",
        Kind::Permission => "User Permission not found",
        Kind::Quota => "Cluster Quota not found",
        Kind::Reference => "Cluster reference not found",
        Kind::KeyValues => "Key Value not found",
        Kind::ServiceMesh => "Service mesh not found",
        Kind::Cluster => "Cluster not found",
        Kind::Provider => "Cluster provider not found",
        Kind::ClusterLabel => "Cluster label not found",
        Kind::ClusterKeyValues => "Cluster key value pair not found",
        Kind::Controller => "Controller not found",
    }
}

fn already_there(kind: Kind) -> &'static str {
    match kind {
        Kind::Project => "Project already exists",
        Kind::LogicalCloud => "Logical Cloud already exists",
        Kind::User => "User already exists",
        Kind::Permission => "User Permission already exists",
        Kind::Quota => "Quota already exists",
        Kind::Reference => "Cluster reference already exists",
        Kind::KeyValues => "Key Value already exists",
        Kind::ServiceMesh => "Service mesh already exists",
        Kind::Cluster => "Cluster already exists",
        Kind::Provider => "ClusterProvider already exists",
        Kind::ClusterLabel => "Cluster Label already exists",
        Kind::ClusterKeyValues => "Cluster KV Pair already exists",
        Kind::Controller => "Controller already exists",
    }
}

/// One request too many. EMCO's services have no such limit, nor this answer.
pub(super) fn overloaded() -> Response {
    Problem::new(StatusCode::SERVICE_UNAVAILABLE, "too many requests are under way").into_response()
}

impl IntoResponse for Problem {
    fn into_response(self) -> Response {
        let headers = [
            (CONTENT_TYPE, HeaderValue::from_static("text/plain; charset=utf-8")),
            (X_CONTENT_TYPE_OPTIONS, HeaderValue::from_static("nosniff")),
        ];
        let mut response = (self.status, headers, format!("{}\n", self.text)).into_response();
        if matches!(self.status, StatusCode::SERVICE_UNAVAILABLE | StatusCode::TOO_MANY_REQUESTS) {
            response.headers_mut().insert(RETRY_AFTER, HeaderValue::from_static("1"));
        }
        response
    }
}
