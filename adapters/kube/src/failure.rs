//! What went wrong, in the words of the port.

use std::fmt;
use std::sync::Arc;
use std::time::Duration;

use dcm_core::manifest::GroupVersionKind;
use dcm_core::port::answer::Answer;
use dcm_core::port::cluster::Error;
use kube::client::AuthError;
use kube::config::KubeconfigError;
use kube::core::Status;
use serde_json::error::Category;
use tower::BoxError;

use crate::networks::Denied;

/// Most bytes of a server's words that we pass on: its message may quote a whole object.
const MESSAGE_BYTES_MAX: usize = 2048;

/// What is passed on of a body that is no `Status`.
const FOREIGN: &str = "the answer is no status of Kubernetes";

/// Longest wait that a server can ask for. API servers ask for seconds; a proxy's mistake must not silence us for good.
const RETRY_AFTER_MAX: Duration = Duration::from_secs(600);

/// Type of the cause by which the API server names a field that another manager holds.
const FIELD_MANAGER_CONFLICT: &str = "FieldManagerConflict";

/// The reason of an answer to a request that the API server does not understand.
const BAD_REQUEST: &str = "BadRequest";

/// How the API server begins the words of an admission webhook. They are those of operators, and not of its own rules.
const WEBHOOK: &str = "admission webhook ";

/// What the API server answers between the version and the kind of an object that it can't decode, such as for an unknown field.
const NOT_DECODED: &str = " cannot be handled as a ";

/// What the API server writes between the object and the rule for which admission refuses it.
const FORBIDDEN: &str = " is forbidden: ";

/// How the rules of its own admission begin that members of a project read: those of quotas, and of Pod Security.
const ADMISSION_RULES: [&str; 3] = ["exceeded quota: ", "failed quota: ", "violates PodSecurity "];

/// How the API server begins the reason of a cause that is a rule about a field, and the one about a namespace that is being deleted.
const FIELD_REASONS: [&str; 2] = ["FieldValue", "NamespaceTerminating"];

/// How the API server begins its words for a server-side apply with a field that the kind does not have, or of another
/// type. It says 500, but the same request fails again.
const NO_SUCH_FIELD: &str = "failed to create typed patch object";

/// An answer that is none of success.
#[derive(Debug, Clone)]
pub(crate) struct Refused {
    pub(crate) status: Status,
    pub(crate) retry_after: Option<Duration>,
    /// The body is no `Status`.
    pub(crate) is_foreign: bool,
}

impl Refused {
    /// Reads an answer. A body that is no `Status` (a proxy's page, a plain text) goes to the log alone: the server may be none of
    /// Kubernetes, and what it answers is not for the caller that has named its address.
    pub(crate) fn read(code: u16, retry_after: Option<&str>, body: &[u8]) -> Self {
        let status = serde_json::from_slice::<Status>(body).ok().filter(Status::is_failure);
        let is_foreign = status.is_none();
        let mut status = status.unwrap_or_else(|| {
            let words = String::from_utf8_lossy(&body[..body.len().min(MESSAGE_BYTES_MAX)]);
            tracing::debug!(code, body = words.trim(), "an answer is no status of Kubernetes");
            Status::failure(FOREIGN, "")
        });
        status.code = code;
        let seconds = retry_after.and_then(|text| text.trim().parse().ok());
        Self { status, retry_after: seconds.map(Duration::from_secs), is_foreign }
    }

    /// True when the server does not know the path at all, unlike the object.
    pub(crate) fn is_not_served(&self) -> bool {
        let names_object = self.status.details.as_ref().is_some_and(|details| !details.name.is_empty());
        self.status.code == 404 && !names_object
    }
}

impl From<Status> for Refused {
    fn from(status: Status) -> Self {
        Self { status, retry_after: None, is_foreign: false }
    }
}

/// Why a request brought nothing.
#[derive(Debug, Clone)]
pub(crate) enum Failure {
    /// The server answered so.
    Refused(Box<Refused>),
    /// There was no answer, or none that we understand.
    Broken(Error),
    /// The answer is larger than it may be: it was not read to its end.
    Large(Large),
}

/// An answer that is too large.
#[derive(Debug, Clone)]
pub(crate) struct Large {
    /// The limit that it is beyond.
    pub(crate) limit: Limit,
    /// Of a list, how many items were read whole.
    pub(crate) items: usize,
}

/// How large an answer may be.
#[derive(Debug, Clone, Copy)]
pub(crate) enum Limit {
    Bytes(usize),
    Values(usize),
}

impl fmt::Display for Limit {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Bytes(bytes) => write!(f, "{bytes} bytes"),
            Self::Values(values) => write!(f, "{values} values"),
        }
    }
}

impl Failure {
    /// The error, when the request was about a kind.
    pub(crate) fn about(self, kind: &GroupVersionKind) -> Error {
        match self {
            Self::Refused(refused) if refused.is_not_served() => Error::UnknownKind { kind: kind.clone() },
            Self::Large(large) => large.error_of(&format!("one {kind}")),
            other => other.into(),
        }
    }
}

impl From<Refused> for Failure {
    fn from(refused: Refused) -> Self {
        Self::Refused(Box::new(refused))
    }
}

impl From<Error> for Failure {
    fn from(error: Error) -> Self {
        Self::Broken(error)
    }
}

impl From<Failure> for Error {
    fn from(failure: Failure) -> Self {
        match failure {
            Failure::Refused(refused) => error_of(&refused),
            Failure::Broken(error) => error,
            Failure::Large(large) => large.error_of("an answer"),
        }
    }
}

impl Large {
    /// The error, which names what is too large.
    pub(crate) fn error_of(&self, what: &str) -> Error {
        Error::Unsupported { what: format!("{what} of more than {}", self.limit) }
    }
}

impl From<Large> for Failure {
    fn from(large: Large) -> Self {
        Self::Large(large)
    }
}

/// The port's error for an answer.
pub(crate) fn error_of(refused: &Refused) -> Error {
    let message = answer(refused);
    match refused.status.code {
        401 => Error::Unauthorized { message },
        403 => Error::Forbidden { message },
        404 => Error::NotFound,
        409 => conflict(&refused.status),
        410 => Error::Gone,
        429 => Error::TooManyRequests { retry_after: retry_after(refused) },
        408 => Error::Server { code: 408, message },
        code @ 400..500 => Error::Invalid {
            message: if message.is_empty() { format!("status {code}").into() } else { message },
        },
        500 if message.starts_with(NO_SUCH_FIELD) => Error::Invalid { message },
        code => Error::Server { code, message },
    }
}

/// A 409 says by its reason what is in conflict with what.
fn conflict(status: &Status) -> Error {
    if status.is_already_exists() {
        return Error::AlreadyExists;
    }
    let causes = status.details.iter().flat_map(|details| &details.causes);
    let held = causes.into_iter().find(|cause| cause.reason == FIELD_MANAGER_CONFLICT);
    held.map_or(Error::Conflict, |cause| Error::FieldConflict {
        manager: manager(&cause.message).to_owned(),
        field: cause.field.clone(),
    })
}

/// The manager in `conflict with "NAME" using v1`.
fn manager(message: &str) -> &str {
    let name = message.split_once('"').and_then(|(_, rest)| rest.split_once('"')).map(|(name, _)| name);
    name.unwrap_or(message)
}

fn retry_after(refused: &Refused) -> Option<Duration> {
    let seconds = refused.status.details.as_ref().map_or(0, |details| details.retry_after_seconds);
    let wait = refused.retry_after.or((seconds > 0).then(|| Duration::from_secs(u64::from(seconds))));
    wait.map(|wait| wait.min(RETRY_AFTER_MAX))
}

/// The words of an answer. Those of a `Status` can have a rule for the members of a project.
fn answer(refused: &Refused) -> Answer {
    let message = message(&refused.status);
    if refused.is_foreign {
        return Answer::foreign(message);
    }
    let rule = rule(&refused.status);
    Answer::from(message).with_rule(rule.as_deref())
}

/// The rule that the object of a request breaks, if it is one of the API server's own about the fields of the object or the limits of its
/// namespace. Whatever webhooks and policies of operators answer is none.
fn rule(status: &Status) -> Option<String> {
    let message = &status.message;
    if message.starts_with(WEBHOOK) {
        return None;
    }
    match status.code {
        400 | 422 | 500 if message.starts_with(NO_SUCH_FIELD) => Some(message.clone()),
        400 if status.reason == BAD_REQUEST && message.contains(NOT_DECODED) => Some(message.clone()),
        422 => fields(status),
        403 => admission_rule(message).or_else(|| fields(status)),
        _ => None,
    }
}

/// The rules about fields, each with its field.
fn fields(status: &Status) -> Option<String> {
    let causes = status.details.iter().flat_map(|details| &details.causes);
    let is_field = |reason: &str| FIELD_REASONS.iter().any(|field| reason.starts_with(field));
    let fields = causes.filter(|cause| !cause.field.is_empty() && is_field(&cause.reason));
    let fields: Vec<String> = fields.map(|cause| format!("{}: {}", cause.field, cause.message)).collect();
    (!fields.is_empty()).then(|| fields.join("; "))
}

fn admission_rule(message: &str) -> Option<String> {
    let (_, rule) = message.split_once(FORBIDDEN)?;
    ADMISSION_RULES.iter().any(|known| rule.starts_with(known)).then(|| rule.to_owned())
}

fn message(status: &Status) -> String {
    let mut message = status.message.clone();
    if message.len() > MESSAGE_BYTES_MAX {
        let end = (0..=MESSAGE_BYTES_MAX).rev().find(|end| message.is_char_boundary(*end)).unwrap_or(0);
        message.truncate(end);
        message.push('…');
    }
    message
}

/// The port's error for what went wrong below HTTP, or before it.
pub(crate) fn error_of_client(error: kube::Error) -> Failure {
    match error {
        kube::Error::Api(status) => Refused::from(*status).into(),
        kube::Error::Auth(error) => unusable(credential_rule(&error)).into(),
        kube::Error::Service(below) => error_below(below).into(),
        kube::Error::InferKubeconfig(error) => unusable(kubeconfig_rule(&error)).into(),
        kube::Error::RustlsTls(_) => {
            unusable("clusters[].cluster, users[].user: the certificates or the key can't be used for TLS")
                .into()
        }
        kube::Error::SerdeError(error) => unreadable(&error).into(),
        other => Error::Unreachable { source: Arc::new(other) }.into(),
    }
}

/// The port's error for what went wrong below kube's client. One that is the port's already stays as it is.
pub(crate) fn error_below(below: BoxError) -> Error {
    if let Some(error) = below.downcast_ref::<Error>() {
        return error.clone();
    }
    match below.downcast_ref() {
        Some(error) => unusable(credential_rule(error)),
        None => denied(&*below).unwrap_or_else(|| Error::Unreachable {
            source: match dcm_tls::refused(&*below) {
                Some(refused) => Arc::new(refused),
                None => Arc::from(below),
            },
        }),
    }
}

/// The error of a connection that was refused for its network.
fn denied(error: &(dyn std::error::Error + 'static)) -> Option<Error> {
    let mut causes = std::iter::successors(Some(error), |error| (**error).source());
    let denied = causes.find_map(|cause| {
        // What an input-output error holds is none of its causes.
        let held = cause.downcast_ref::<std::io::Error>().and_then(std::io::Error::get_ref);
        cause.downcast_ref::<Denied>().or_else(|| held?.downcast_ref())
    })?;
    Some(Error::Kubeconfig { reason: format!("clusters[].cluster.server: {denied}") })
}

/// The code of an answer that is not what the API says it is: the server took it for one of success.
pub(crate) const UNREADABLE: u16 = 200;

/// An answer that is not what the API says it is.
pub(crate) fn unreadable(error: &serde_json::Error) -> Error {
    let what = match error.classify() {
        Category::Io | Category::Eof => "it ends too early",
        Category::Syntax => "it is no JSON",
        // The error itself quotes the value.
        Category::Data => "a field is missing or of another type",
    };
    let (line, column) = (error.line(), error.column());
    let message = format!("the answer can't be read: {what}, at line {line}, column {column}");
    Error::Server { code: UNREADABLE, message: Answer::foreign(message) }
}

/// Where a credential was to come from, and did not. What the program or file said may be in the error, so that is left
/// out.
fn credential_rule(error: &AuthError) -> &'static str {
    match error {
        AuthError::AuthExec(_)
        | AuthError::AuthExecRun { .. }
        | AuthError::UnrefreshableTokenResponse
        | AuthError::MalformedTokenExpirationDate(_) => {
            "users[].user.exec, users[].user.auth-provider: gave no credential"
        }
        AuthError::ReadTokenFile(..) => "users[].user.tokenFile: can't be read",
        AuthError::InvalidBearerToken(_) => "users[].user.token: can't be sent in a header",
        _ => "users[].user: there is no credential to be had",
    }
}

pub(crate) fn unusable(reason: &str) -> Error {
    Error::Kubeconfig { reason: reason.to_owned() }
}

/// Which part can't be used. The causes may quote content, so they are left out.
pub(crate) fn kubeconfig_rule(error: &KubeconfigError) -> &'static str {
    match error {
        KubeconfigError::LoadCertificateAuthority(_) | KubeconfigError::ParseCertificates(_) => {
            "clusters[].cluster.certificate-authority: can't be read as certificates"
        }
        KubeconfigError::LoadClientCertificate(_) => "users[].user.client-certificate: can't be read",
        KubeconfigError::LoadClientKey(_) => "users[].user.client-key: can't be read",
        _ => "it does not describe a cluster",
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::{Value, json};

    fn refused(code: u16, reason: &str, details: &Value) -> Refused {
        let status = json!({"kind": "Status", "status": "Failure", "message": "words", "reason": reason,
                            "details": details, "code": code});
        Refused::read(code, None, status.to_string().as_bytes())
    }

    #[test]
    fn each_answer_has_its_error() {
        let held = json!({"causes": [
            {"reason": "FieldManagerConflict", "message": "conflict with \"kubectl\" using v1 at 2026-01-01", "field": ".data.a"},
        ]});
        let table = [
            (401, "Unauthorized", json!({}), "our credential is not accepted: words"),
            (403, "Forbidden", json!({}), "not allowed: words"),
            (404, "NotFound", json!({"name": "c"}), "there is no such object"),
            (405, "MethodNotAllowed", json!({}), "refused: words"),
            (409, "AlreadyExists", json!({"name": "c"}), "there is an object of this name already"),
            (409, "Conflict", json!({"name": "c"}), "the object changed meanwhile"),
            (409, "", json!({}), "the object changed meanwhile"),
            (409, "Conflict", held, "kubectl manages .data.a"),
            (410, "Expired", json!({}), "what was asked about is no longer kept"),
            (400, "BadRequest", json!({}), "refused: words"),
            (422, "Invalid", json!({}), "refused: words"),
            (429, "TooManyRequests", json!({}), "the cluster asks for fewer requests"),
            (500, "InternalError", json!({}), "the cluster failed with 500: words"),
            (504, "Timeout", json!({}), "the cluster failed with 504: words"),
            (302, "", json!({}), "the cluster failed with 302: words"),
        ];
        for (code, reason, details, expected) in table {
            assert_eq!(error_of(&refused(code, reason, &details)).to_string(), expected, "{code} {reason}");
        }
    }

    #[test]
    fn a_rule_is_what_the_api_server_itself_finds_in_an_object() {
        let rule = |code: u16, reason: &str, message: &str, causes: Value| {
            let status = json!({"kind": "Status", "status": "Failure", "message": message, "reason": reason,
                                "details": {"causes": causes}, "code": code});
            match error_of(&Refused::read(code, None, status.to_string().as_bytes())) {
                Error::Invalid { message } | Error::Forbidden { message } => {
                    message.rule().map(str::to_owned)
                }
                Error::Unauthorized { message } | Error::Server { message, .. } => {
                    message.rule().map(str::to_owned)
                }
                error => panic!("{error}"),
            }
        };
        let invalid =
            json!({"reason": "FieldValueInvalid", "message": "Invalid value: 7", "field": "spec.a"});
        let required =
            json!({"reason": "FieldValueRequired", "message": "Required value", "field": "spec.b"});
        let ending =
            json!({"reason": "NamespaceTerminating", "message": "it ends", "field": "metadata.namespace"});
        let unnamed = json!({"message": "hunter2"});
        let strict = "ConfigMap in version \"v1\" cannot be handled as a ConfigMap: unknown field \"a\"";
        let fields = "spec.a: Invalid value: 7; spec.b: Required value";
        let webhook =
            "admission webhook \"hunter2\" denied the request: is forbidden: exceeded quota: hunter2";
        let table = [
            (422, "Invalid", "all", json!([invalid, required]), Some(fields)),
            (422, "Invalid", webhook, json!([invalid]), None),
            (422, "Invalid", "ValidatingAdmissionPolicy 'hunter2' denied request", json!([unnamed]), None),
            (
                403,
                "Forbidden",
                "pods \"p\" is forbidden: exceeded quota: q, used",
                json!([]),
                Some("exceeded quota: q, used"),
            ),
            (
                403,
                "Forbidden",
                "pods \"p\" is forbidden: violates PodSecurity \"b\"",
                json!([]),
                Some("violates PodSecurity \"b\""),
            ),
            (
                403,
                "Forbidden",
                "x is forbidden: it ends",
                json!([ending]),
                Some("metadata.namespace: it ends"),
            ),
            (403, "Forbidden", "pods is forbidden: User \"hunter2\" cannot create", json!([]), None),
            (403, "Forbidden", webhook, json!([]), None),
            (400, "BadRequest", strict, json!([]), Some(strict)),
            (400, "", "hunter2 in version cannot be handled as a", json!([]), None),
            (401, "Unauthorized", "x is forbidden: exceeded quota: hunter2", json!([invalid]), None),
            (500, "InternalError", "failed calling webhook \"hunter2\"", json!([invalid]), None),
        ];
        for (code, reason, message, causes, expected) in table {
            assert_eq!(rule(code, reason, message, causes).as_deref(), expected, "{code} {message}");
        }
    }

    #[test]
    fn a_body_that_is_no_status_has_no_rule() {
        for code in [400, 403, 422] {
            let error =
                error_of(&Refused::read(code, None, b"<html>is forbidden: exceeded quota: hunter2</html>"));
            assert!(!error.sentence_of_write().contains("hunter2"), "{code}");
            assert!(matches!(error.of_identity(), Error::Unreachable { .. }), "{code}");
        }
    }

    #[test]
    fn an_apply_with_an_unknown_field_is_invalid_whatever_the_code() {
        let words = "failed to create typed patch object (n/c; /v1, Kind=ConfigMap): .dota: field not declared in schema";
        let status = json!({"kind": "Status", "status": "Failure", "message": words, "code": 500});
        let refused = Refused::read(500, None, status.to_string().as_bytes());
        assert_eq!(error_of(&refused).to_string(), format!("refused: {words}"));
    }

    #[test]
    fn how_long_to_wait_is_told_by_the_header_or_the_status_within_a_limit() {
        let wait = |refused: &Refused| match error_of(refused) {
            Error::TooManyRequests { retry_after } => retry_after,
            error => panic!("{error}"),
        };
        assert_eq!(wait(&refused(429, "", &json!({"retryAfterSeconds": 3}))), Some(Duration::from_secs(3)));
        assert_eq!(wait(&Refused::read(429, Some("7"), b"busy")), Some(Duration::from_secs(7)));
        assert_eq!(wait(&refused(429, "", &json!({"retryAfterSeconds": u32::MAX}))), Some(RETRY_AFTER_MAX));
        assert_eq!(wait(&Refused::read(429, Some(&u64::MAX.to_string()), b"")), Some(RETRY_AFTER_MAX));
        assert_eq!(wait(&Refused::read(429, Some("Wed, 21 Oct 2026 07:28:00 GMT"), b"")), None);
    }

    #[test]
    fn an_unknown_path_is_told_from_an_unknown_object() {
        assert!(Refused::read(404, None, b"404 page not found\n").is_not_served());
        assert!(refused(404, "NotFound", &json!({})).is_not_served());
        assert!(!refused(404, "NotFound", &json!({"name": "c", "kind": "configmaps"})).is_not_served());
        assert!(!refused(403, "Forbidden", &json!({})).is_not_served());
        let kind = GroupVersionKind::new("a", "v1", "B");
        let failure = Failure::from(Refused::read(404, None, b"404 page not found"));
        assert_eq!(failure.about(&kind).to_string(), "the cluster has no a/v1 B");
    }

    #[test]
    fn a_long_message_is_cut_at_a_character() {
        let mut status = Status::failure(&"é".repeat(5000), "").with_code(422);
        status.message.insert(0, 'a');
        assert!(message(&status).ends_with('…'));
    }

    #[test]
    fn of_a_body_that_is_no_status_nothing_is_passed_on() {
        for body in [&b"<html>hunter2</html>"[..], br#"{"secret": "hunter2"}"#, "é".repeat(5000).as_bytes()]
        {
            let error = error_of(&Refused::read(422, None, body));
            assert_eq!(error.to_string(), "refused: the answer is no status of Kubernetes");
        }
    }

    #[test]
    fn of_an_answer_of_another_shape_no_value_is_passed_on() {
        let refusal = |body: &str| unreadable(&serde_json::from_str::<u8>(body).unwrap_err()).to_string();
        for (body, expected) in [
            (r#""hunter2""#, "a field is missing or of another type, at line 1, column 9"),
            ("hunter2", "it is no JSON, at line 1, column 1"),
            ("", "it ends too early, at line 1, column 0"),
        ] {
            let expected = format!("the cluster failed with 200: the answer can't be read: {expected}");
            assert_eq!(refusal(body), expected);
        }
    }

    #[test]
    fn a_denied_network_is_found_among_the_causes_of_a_failure() {
        let denied: crate::networks::DeniedNetworks = ["10.0.0.0/8".parse().unwrap()].into_iter().collect();
        let below = std::io::Error::other(denied.check("10.1.2.3".parse().unwrap()).unwrap_err());
        let error = Error::from(error_of_client(kube::Error::Service(Box::new(below))));
        let expected = "unusable kubeconfig: clusters[].cluster.server: the address is in 10.0.0.0/8, and the setting deniedNetworks \
                        excludes that network";
        assert_eq!(error.to_string(), expected);
    }

    #[test]
    fn what_a_credential_program_said_is_not_passed_on() {
        let said = AuthError::AuthExec("hunter2".into());
        let error = Error::from(error_of_client(kube::Error::Service(Box::new(said))));
        assert!(matches!(error, Error::Kubeconfig { .. }));
        assert!(!format!("{error:?}").contains("hunter2"));
        let said = AuthError::AuthExec("hunter2".into());
        let error = Error::from(error_of_client(kube::Error::Auth(said)));
        assert!(!format!("{error:?}").contains("hunter2"));
    }
}
