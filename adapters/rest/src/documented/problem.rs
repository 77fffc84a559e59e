//! What is said when something is refused or fails: one place maps every error to a status and a body
//! (`application/problem+json`, RFC 9457).

use std::collections::BTreeSet;

use axum::extract::Request;
use axum::extract::rejection::BytesRejection;
use axum::http::header::{CONTENT_TYPE, RETRY_AFTER};
use axum::http::{HeaderValue, StatusCode};
use axum::middleware::Next;
use axum::response::{IntoResponse, Response};
use dcm_core::causes;
pub(super) use dcm_core::problem::Kind;
use dcm_core::refusal::{Refusal, Refusals};
use dcm_core::service::{Class, Error};
use schemars::JsonSchema;
use serde::Serialize;

use super::meaning::{self, Meaning};
use crate::access::{Denied, NotAdmitted};
use crate::installation::PlanStale;
use crate::limits::Broken;
use crate::lookers::TooManyLooks;
use crate::shares::TooMuch;

/// After how many seconds a caller may ask again what failed and may succeed.
pub(super) const RETRY_AFTER_SECONDS: u64 = 1;

/// Why a request was refused or failed. Its body is written where the path of the request is known, by [`write`].
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Problem {
    kind: Kind,
    detail: String,
    refusals: Vec<Refusal>,
    is_same: bool,
}

/// The body of a problem.
#[derive(Debug, Serialize, JsonSchema)]
#[schemars(rename = "Problem")]
pub(super) struct Body {
    /// What kind of problem it is, as a path of this server.
    #[serde(rename = "type")]
    kind: String,
    /// The same in words.
    title: &'static str,
    /// The status of the answer.
    status: u16,
    /// What is wrong, and what helps.
    detail: String,
    /// The path that was asked.
    instance: String,
    /// What is there already is just what was to be made.
    #[serde(rename = "isSame", skip_serializing_if = "std::ops::Not::not")]
    is_same: bool,
    /// The first field that breaks a rule.
    #[serde(skip_serializing_if = "Option::is_none")]
    field: Option<String>,
    /// All fields that break a rule.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    errors: Vec<FieldError>,
}

/// A field that breaks a rule.
#[derive(Debug, Serialize, JsonSchema)]
struct FieldError {
    /// Its path in the body; absent for the body itself.
    #[serde(skip_serializing_if = "String::is_empty")]
    field: String,
    /// The rule.
    detail: String,
    /// The start of its value; absent where it is missing or may be secret.
    #[serde(skip_serializing_if = "String::is_empty")]
    value: String,
}

impl Problem {
    pub(super) fn new(kind: Kind, detail: impl Into<String>) -> Self {
        Self { kind, detail: detail.into(), refusals: Vec::new(), is_same: false }
    }

    /// One field of the body that breaks a rule.
    pub(super) fn field(path: &str, rule: impl Into<String>) -> Self {
        Self::from(Refusals::from(Refusal { path: path.into(), value: String::new(), rule: rule.into() }))
    }

    /// An error of what is done with what is stored: what breaks a rule is in no body.
    pub(super) fn of_action(error: Error) -> Self {
        match error.class() {
            Class::Invalid => Self::new(Class::Invalid.of_what_is_stored().into(), causes::told(&error)),
            _ => error.into(),
        }
    }

    /// What can't be.
    pub(super) fn unexpected() -> Self {
        Self::new(Kind::Internal, "the answer could not be written")
    }

    /// Refuses what is to be made and has no name.
    pub(super) fn of_no_name(name: &str) -> Result<(), Self> {
        if name.is_empty() { Err(Self::field("metadata.name", "is missing")) } else { Ok(()) }
    }

    /// Refuses a name in a body that is another one than the path's. It need not be there.
    pub(super) fn of_names(in_body: &str, in_path: &str) -> Result<(), Self> {
        if in_body.is_empty() || in_body == in_path {
            return Ok(());
        }
        let refusal = Refusal {
            path: "metadata.name".into(),
            value: String::new(),
            rule: format!("must be {in_path}"),
        };
        Err(Self::from(Refusals::from(refusal)).told_as(Kind::NameMismatch))
    }

    pub(super) fn kind(&self) -> Kind {
        self.kind
    }

    /// The same as another kind of problem.
    pub(super) fn told_as(self, kind: Kind) -> Self {
        Self { kind, ..self }
    }

    /// The same where it is known whether what is there is just what was to be made.
    pub(super) fn of_the_same(self, is_same: bool) -> Self {
        Self { is_same, ..self }
    }

    /// The same about the fields of the body, where the services speak of those of a document.
    pub(super) fn of_fields(self, field: impl Fn(&str) -> String) -> Self {
        if self.refusals.is_empty() {
            return self;
        }
        let renamed = |Refusal { path, value, rule }| match field(&path) {
            elsewhere if elsewhere.is_empty() && !path.is_empty() => {
                Refusal { path: elsewhere, value, rule: format!("{path} of the logical cloud: {rule}") }
            }
            path => Refusal { path, value, rule },
        };
        Self::of_refusals(self.refusals.into_iter().map(renamed).collect()).told_as(self.kind)
    }

    /// One that is told of several fields of a document, which are one field of a body, is told once.
    pub(super) fn of_refusals(mut refusals: Vec<Refusal>) -> Self {
        let mut told = BTreeSet::new();
        refusals.retain(|refusal| told.insert(refusal.clone()));
        let told: Vec<String> = refusals.iter().map(ToString::to_string).collect();
        Self { refusals, ..Self::new(Kind::Invalid, told.join("; ")) }
    }

    /// A body of more bytes than it may have.
    pub(super) fn too_large(bytes_max: usize) -> Self {
        Self::new(Kind::TooLarge, format!("a body has at most {bytes_max} bytes here"))
    }

    /// Why a body of at most so many bytes was not read.
    pub(super) fn of_body(rejection: &BytesRejection, bytes_max: usize) -> Self {
        if rejection.status() == StatusCode::PAYLOAD_TOO_LARGE {
            return Self::too_large(bytes_max);
        }
        let (kind, detail) = match Broken::of(rejection) {
            Some(Broken::Late) => {
                (Kind::BodyTimeout, "the body did not arrive in time; send the request again")
            }
            Some(Broken::NoRoom(TooMuch::InAll)) => {
                (Kind::Unavailable, "too many large bodies are under way")
            }
            Some(Broken::NoRoom(TooMuch::OfCaller)) => {
                (Kind::TooManyRequests, "you send too many large bodies at once")
            }
            None => (Kind::Malformed, "the body could not be read to its end"),
        };
        Self::new(kind, detail)
    }

    /// Its body as a text, for where it is no answer of its own.
    pub(super) fn text(self, instance: &str) -> String {
        serde_json::to_string(&self.body(instance)).unwrap_or_default()
    }

    fn body(self, instance: &str) -> Body {
        let &Meaning { status, title, .. } = Meaning::of(self.kind);
        let shown = |Refusal { path, value, rule }| FieldError { field: path, detail: rule, value };
        let errors: Vec<FieldError> = self.refusals.into_iter().map(shown).collect();
        Body {
            kind: meaning::path(self.kind),
            title,
            status: status.as_u16(),
            detail: self.detail,
            instance: instance.to_owned(),
            is_same: self.is_same,
            field: errors.first().map(|error| error.field.clone()).filter(|field| !field.is_empty()),
            errors,
        }
    }
}

impl From<Refusals> for Problem {
    fn from(refusals: Refusals) -> Self {
        Self::of_refusals(refusals.into_iter().collect())
    }
}

impl From<PlanStale> for Problem {
    fn from(PlanStale { detail }: PlanStale) -> Self {
        Self::new(Kind::PlanStale, detail)
    }
}

impl From<TooManyLooks> for Problem {
    fn from(too_many: TooManyLooks) -> Self {
        Self::new(Kind::TooManyRequests, too_many.to_string())
    }
}

impl From<&Denied> for Problem {
    fn from(denied: &Denied) -> Self {
        let kind = match denied {
            Denied::NoSuchProject(_) => Kind::NotFound,
            Denied::Forbidden(_) => Kind::Forbidden,
            Denied::NotAdmitted(refused) => match refused {
                NotAdmitted::Anonymous | NotAdmitted::Refused(_) => Kind::Unauthenticated,
                NotAdmitted::NotNow(_) => Kind::Unavailable,
                NotAdmitted::TooOften { .. } => Kind::TooManyRequests,
                NotAdmitted::Misdirected => Kind::Misdirected,
                NotAdmitted::OtherSite => Kind::Forbidden,
                NotAdmitted::NoHost => Kind::Malformed,
            },
        };
        Self::new(kind, denied.to_string())
    }
}

impl From<Error> for Problem {
    fn from(error: Error) -> Self {
        match error {
            Error::Refused(refusals) => return refusals.into(),
            Error::Forbidden(refusal) => return Self::of_refusals(vec![refusal]).told_as(Kind::Forbidden),
            _ => {}
        }
        let kind = error.class().into();
        if error.hides_its_source() {
            // The causes of the error are for operators.
            tracing::error!(error = causes::told(&error), "a request failed");
            return Self::new(kind, error.to_string());
        }
        Self::new(kind, causes::told(&error))
    }
}

impl IntoResponse for Problem {
    fn into_response(self) -> Response {
        let mut response = Meaning::of(self.kind).status.into_response();
        if matches!(self.kind, Kind::Unavailable | Kind::TooManyRequests) {
            response.headers_mut().insert(RETRY_AFTER, RETRY_AFTER_SECONDS.into());
        }
        response.extensions_mut().insert(self);
        response
    }
}

/// One request too many.
pub(super) fn overloaded() -> Response {
    Problem::new(Kind::Unavailable, "too many requests are under way").into_response()
}

/// Writes the body of a problem, now that the path is known.
pub(super) async fn write(request: Request, next: Next) -> Response {
    let path = request.uri().path().to_owned();
    let mut response = next.run(request).await;
    let Some(problem) = response.extensions_mut().remove::<Problem>() else { return response };
    let body = serde_json::to_vec(&problem.body(&path)).unwrap_or_default();
    let (mut parts, _) = response.into_parts();
    parts.headers.remove(axum::http::header::CONTENT_LENGTH);
    parts.headers.insert(CONTENT_TYPE, HeaderValue::from_static("application/problem+json"));
    Response::from_parts(parts, body.into())
}
