//! What an API server says to a request: whether it is RBAC that refuses.

use http::StatusCode;
use serde_json::Value;

use crate::rights::asked::{Asked, Verb};

/// What a request came to.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Answer {
    /// RBAC let it through, whatever came of it.
    Allowed,
    /// RBAC refused it.
    Forbidden,
    /// The API server does not know who asks.
    Unauthorized,
    /// Something else, which proves nothing.
    Unclear(String),
}

/// What admission and the API itself say with the same code, after RBAC has let the request through.
const REFUSED_BY_OTHERS: [&str; 4] = [
    "exceeded quota: ",
    "status unknown for quota: ",
    " is attempting to grant RBAC permissions not currently held",
    "this namespace may not be deleted",
];

impl Answer {
    /// Reads an answer's code and, of a refusal, its body.
    pub(crate) fn of(asked: &Asked, code: StatusCode, body: &[u8]) -> Self {
        let status: Value = serde_json::from_slice(body).unwrap_or_default();
        let message = status["message"].as_str().unwrap_or_default();
        let unclear = || Self::Unclear(format!("{code}: {}", String::from_utf8_lossy(body)));
        match code {
            code if code.is_success() => Self::Allowed,
            // Something that is not there; a path that is not there has another message.
            StatusCode::NOT_FOUND if message.ends_with("\" not found") => Self::Allowed,
            StatusCode::CONFLICT | StatusCode::UNPROCESSABLE_ENTITY => Self::Allowed,
            StatusCode::UNAUTHORIZED => Self::Unauthorized,
            StatusCode::FORBIDDEN if status["reason"] == "Forbidden" => {
                Self::of_refusal(asked, message).unwrap_or_else(unclear)
            }
            _ => unclear(),
        }
    }

    fn of_refusal(asked: &Asked, message: &str) -> Option<Self> {
        if REFUSED_BY_OTHERS.iter().any(|said| message.contains(said)) {
            return Some(Self::Allowed);
        }
        let (_, refused) = message.split_once("forbidden: User \"")?;
        let (user, refused) = refused.split_once("\" cannot ")?;
        if user == "system:anonymous" {
            None
        } else if refused == sentence(asked, None) {
            Some(Self::Forbidden)
        } else {
            // To update what is not there is to create it, and that is asked for after the update.
            let is_update = matches!(asked, Asked::Object { verb: Verb::Update, .. });
            (is_update && refused == sentence(asked, Some(Verb::Create))).then_some(Self::Allowed)
        }
    }
}

/// How RBAC says that somebody can't do this, or something else to the same.
fn sentence(asked: &Asked, other: Option<Verb>) -> String {
    match asked {
        Asked::Path(path) => format!("get path \"{path}\""),
        Asked::Object { verb, resource, .. } => {
            let verb = other.unwrap_or(*verb).text();
            let place = match asked.place() {
                Some(namespace) => format!("in the namespace \"{namespace}\""),
                None => "at the cluster scope".to_owned(),
            };
            format!("{verb} resource \"{}\" in API group \"{}\" {place}", resource.text(), resource.group)
        }
    }
}
