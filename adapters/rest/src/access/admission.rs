//! Who asks, as whoever serves the API has found out.

use std::fmt;
use std::sync::Arc;
use std::time::Duration;

use axum::extract::FromRequestParts;
use axum::http::header::{RETRY_AFTER, WWW_AUTHENTICATE};
use axum::http::request::Parts;
use axum::http::{HeaderName, HeaderValue};
use dcm_core::causes::Reader;
use dcm_core::name::ProjectName;
use dcm_core::service::Limits;
use jiff::Timestamp;

use super::rights::{ProjectRole, Rights};

/// What a request carries in its extensions: who asks, or why nobody is let in.
pub type Admission = Result<Asker, NotAdmitted>;

/// Somebody who asks.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Asker {
    /// The name, as in the log and in the audit log.
    pub name: String,
    /// What may be done.
    pub rights: Rights,
    /// What whoever may not do everything is held to in logical clouds.
    pub limits: Arc<Limits>,
    /// Until when this is so: answers that would go on end then. None: as long as the connection lives.
    pub until: Option<Timestamp>,
}

/// Who asks without a name.
const UNNAMED: &str = "anonymous";

impl Asker {
    /// Somebody who is not known, and may do everything: for an API that only those can reach who may.
    #[must_use]
    pub fn anybody() -> Self {
        Self::unnamed(Rights::all())
    }

    /// The name; none where nobody has to prove one.
    pub(crate) fn proved_name(&self) -> Option<&str> {
        (*self != Self::anybody()).then_some(&*self.name)
    }

    /// True for whoever may change a project.
    pub(crate) fn may_change(&self, project: &ProjectName) -> bool {
        self.rights.in_project(project.as_str()) == Some(ProjectRole::Admin)
    }

    /// What the asker may read of failures.
    pub(crate) fn reader(&self) -> Reader {
        if self.rights.has_all() { Reader::PlatformAdmin } else { Reader::Member }
    }

    /// Somebody who is not known, and may do nothing.
    pub(crate) fn nobody() -> Self {
        Self::unnamed(Rights::default())
    }

    fn unnamed(rights: Rights) -> Self {
        Self { name: UNNAMED.to_owned(), rights, limits: Limits::shared_default(), until: None }
    }
}

impl<S: Send + Sync> FromRequestParts<S> for Asker {
    type Rejection = std::convert::Infallible;

    async fn from_request_parts(parts: &mut Parts, _: &S) -> Result<Self, Self::Rejection> {
        let asker = parts.extensions.get::<Admission>().and_then(|admission| admission.as_ref().ok());
        Ok(asker.cloned().unwrap_or_else(Self::nobody))
    }
}

/// Why a request is refused before it is looked at.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub enum NotAdmitted {
    /// It says by nothing who asks.
    Anonymous,
    /// What it says is not accepted; in words that tell nothing secret.
    Refused(String),
    /// It can't be found out now who asks, such as when the issuer of a token does not answer.
    NotNow(String),
    /// The asker has asked too often.
    TooOften {
        /// After which time it may be asked again.
        after: Duration,
    },
    /// It names another host than this one, as a page does whose name was made to resolve to this address.
    Misdirected,
    /// It comes from a page of another site, in somebody's browser.
    OtherSite,
    /// It names no host, or several.
    NoHost,
}

/// How somebody may say who they are (RFC 6750).
const CHALLENGE: &str = "Bearer realm=\"dcm\"";

impl NotAdmitted {
    /// What an answer that says so has in its head (RFC 6750, section 3; RFC 9110, section 10.2.3).
    pub(crate) fn header(&self) -> Option<(HeaderName, HeaderValue)> {
        match self {
            Self::Anonymous => Some((WWW_AUTHENTICATE, HeaderValue::from_static(CHALLENGE))),
            Self::Refused(why) => {
                let challenge = format!("{CHALLENGE}, error=\"invalid_token\", error_description=\"{why}\"");
                // A sentence that does not fit into a header is in the body alone.
                let challenge = HeaderValue::from_str(&challenge);
                Some((WWW_AUTHENTICATE, challenge.unwrap_or(HeaderValue::from_static(CHALLENGE))))
            }
            Self::TooOften { after } => Some((RETRY_AFTER, after.as_secs().max(1).into())),
            Self::NotNow(_) | Self::Misdirected | Self::OtherSite | Self::NoHost => None,
        }
    }
}

impl fmt::Display for NotAdmitted {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Anonymous => f.write_str("say who you are, by a bearer token or a client certificate"),
            Self::Refused(why) | Self::NotNow(why) => f.write_str(why),
            Self::TooOften { after } => write!(f, "ask again in {} s", after.as_secs().max(1)),
            Self::Misdirected => f.write_str("this server does not answer by that name"),
            Self::OtherSite => f.write_str("pages of other sites are not answered"),
            Self::NoHost => f.write_str("a request names the host that it is for, once"),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn limits_are_not_made_for_each_request() {
        assert!(Arc::ptr_eq(&Asker::anybody().limits, &Asker::nobody().limits));
    }
}
