//! What problems mean: what their `type` leads to.

use super::problem::Kind;

/// Where the pages of problems are.
pub(super) const PROBLEMS: &str = "/problems";

impl Kind {
    /// All of them, by their statuses.
    pub(super) const ALL: [Self; 22] = [
        Self::Malformed,
        Self::UserNotNamed,
        Self::Unauthenticated,
        Self::Forbidden,
        Self::NotFound,
        Self::MethodNotAllowed,
        Self::BodyTimeout,
        Self::AlreadyThere,
        Self::NameMismatch,
        Self::WrongState,
        Self::InUse,
        Self::NotIssued,
        Self::NotReady,
        Self::PlanStale,
        Self::PreconditionFailed,
        Self::TooLarge,
        Self::UnsupportedMediaType,
        Self::Misdirected,
        Self::Invalid,
        Self::TooManyRequests,
        Self::Internal,
        Self::Unavailable,
    ];

    /// Those that any request may be answered with.
    pub(super) const OF_EVERY_REQUEST: [Self; 6] = [
        Self::Malformed,
        Self::Forbidden,
        Self::Misdirected,
        Self::TooManyRequests,
        Self::Internal,
        Self::Unavailable,
    ];

    /// The last segment of its type.
    pub(super) fn name(self) -> &'static str {
        self.named().0
    }

    /// What it is, in a few words.
    pub(super) fn title(self) -> &'static str {
        self.named().1
    }

    /// Its type: where the page about it is.
    pub(super) fn path(self) -> String {
        format!("{PROBLEMS}/{}", self.name())
    }

    /// When it comes.
    pub(super) fn when(self) -> &'static str {
        match self {
            Self::Malformed => {
                "The request can't be read: its body is not JSON or has a key twice, its query has a \
                 parameter that is not known, is there twice or is of another type, or a header says what \
                 can't be."
            }
            Self::UserNotNamed => {
                "A kubeconfig of a logical cloud with several users was asked for, and none was named."
            }
            Self::Unauthenticated => "The request says by nothing that is accepted who asks.",
            Self::Forbidden => {
                "It is known who asks, and they may not do this; or a page of another site asks."
            }
            Self::NotFound => {
                "There is no such thing, or no such path. A project that the caller has no role in is \
                 answered so, too."
            }
            Self::MethodNotAllowed => "There is such a path, and it is not asked in this way.",
            Self::BodyTimeout => "The body did not arrive to its end in time.",
            Self::AlreadyThere => "Something was to be made under a name that is taken.",
            Self::NameMismatch => "The name in the body is not the one in the path.",
            Self::WrongState => {
                "The thing is in a state that does not allow this: other work is under way or paused, it is \
                 on clusters, or it is on none."
            }
            Self::InUse => "Others use it, or own what it needs, such as a namespace.",
            Self::NotIssued => {
                "There is no credential to hand out: no cluster has issued one yet, or it is over."
            }
            Self::NotReady => {
                "A cluster does not answer, lacks rights or is too old, its clock is wrong, or it is another \
                 one than before."
            }
            Self::PlanStale => {
                "An apply with the hash of a plan would do something else than was planned: documents or a \
                 cluster have changed since."
            }
            Self::PreconditionFailed => {
                "`If-Match` or `If-None-Match` states what is not so: others have changed the thing since it \
                 was read."
            }
            Self::TooLarge => "The body is larger than 1 MiB, or a declarative document than 8 MiB.",
            Self::UnsupportedMediaType => {
                "`Content-Type` does not say that the body is JSON; or for a declarative document, neither \
                 JSON nor YAML."
            }
            Self::Misdirected => "The request names another host than this server.",
            Self::Invalid => "The body can be read, and a value in it breaks a rule.",
            Self::TooManyRequests => "The caller asks more often than is allowed.",
            Self::Internal => "Something is broken in the server, or in what it has stored.",
            Self::Unavailable => {
                "The store does not answer, others were quicker again and again, or too many requests are under way."
            }
        }
    }

    /// What helps.
    pub(super) fn helps(self) -> &'static str {
        match self {
            Self::Malformed => {
                "`detail` says what can't be read, and where. Sent again as it is, it is refused again."
            }
            Self::UserNotNamed => "Say `user=`; `detail` has the names.",
            Self::Unauthenticated => {
                "Send a bearer token or a client certificate that is good, and not over; `detail` says what \
                 is wrong with the one that was sent."
            }
            Self::Forbidden => {
                "`detail` names the role that is needed, or the right that only a platform admin may grant. \
                 Somebody who may has to do it."
            }
            Self::NotFound => "Look at the names in the path; a list of the collection says what is there.",
            Self::MethodNotAllowed => "The header `Allow` has the methods that it takes.",
            Self::BodyTimeout => {
                "Send the request again, faster; `limits.bodyTimeout` of the server is how long it waits."
            }
            Self::AlreadyThere => "Take another name, or change what is there with `PUT`.",
            Self::NameMismatch => "Leave the name in the body out, or send it to the path of that name.",
            Self::WrongState => {
                "`detail` says what helps, such as to stop, to resume or to terminate before. The status \
                 tells how far it is."
            }
            Self::InUse => "`detail` names them. Take away what uses it before.",
            Self::NotIssued => "`detail` has the cause and the next try. Ask again then.",
            Self::NotReady => {
                "`detail` says which; a check of the cluster shows all of it. `unchecked=true` registers it \
                 all the same."
            }
            Self::PlanStale => "Plan again, look at what is new, and apply with the new hash.",
            Self::PreconditionFailed => "Read it again, and make the change of what is there now.",
            Self::TooLarge => "Send less at once: parts of a logical cloud have collections of their own.",
            Self::UnsupportedMediaType => "Send `Content-Type: application/json`.",
            Self::Misdirected => "Ask it by its address or by a name of its own.",
            Self::Invalid => "`errors` has all such fields, each with the rule. Nothing was changed.",
            Self::TooManyRequests => "Ask again after as many seconds as `Retry-After` says.",
            Self::Internal => {
                "Whoever runs the server finds the cause in its log, by the `X-Request-Id` of the answer."
            }
            Self::Unavailable => {
                "Ask again after as many seconds as `Retry-After` says. Whether a change was made is not \
                 known: read before."
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::*;

    #[test]
    fn the_client_knows_every_kind_of_problem() {
        let known = dcm_client::ProblemKind::ALL.map(dcm_client::ProblemKind::name);
        assert_eq!(BTreeSet::from(known), BTreeSet::from(Kind::ALL.map(Kind::name)));
    }

    #[test]
    fn every_problem_of_the_document_has_a_page() {
        let pages: BTreeSet<String> = Kind::ALL.map(Kind::path).into();
        assert_eq!(pages.len(), Kind::ALL.len());
        let document = crate::documented::openapi();
        let responses = document["components"]["responses"].as_object().unwrap();
        let types = responses.values().flat_map(|response| {
            let schema = &response["content"]["application/problem+json"]["schema"];
            schema["allOf"][1]["properties"]["type"]["enum"].as_array().unwrap()
        });
        for kind in types {
            assert!(pages.contains(kind.as_str().unwrap()), "{kind}");
        }
    }
}
