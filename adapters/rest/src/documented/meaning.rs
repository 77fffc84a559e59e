//! What problems mean: what their `type` leads to.

use axum::http::StatusCode;
use dcm_core::problem::Kind;

/// Where the pages of problems are.
pub(super) const PROBLEMS: &str = "/problems";

/// Those that any request may be answered with.
pub(super) const OF_EVERY_REQUEST: [Kind; 6] = [
    Kind::Malformed,
    Kind::Forbidden,
    Kind::Misdirected,
    Kind::TooManyRequests,
    Kind::Internal,
    Kind::Unavailable,
];

/// The type of a kind: where the page about it is.
pub(super) fn path(kind: Kind) -> String {
    format!("{PROBLEMS}/{kind}")
}

/// What a kind of problem means.
#[derive(Debug)]
pub(super) struct Meaning {
    /// The status of answers with it.
    pub(super) status: StatusCode,
    /// What it is, in a few words.
    pub(super) title: &'static str,
    /// When it comes.
    pub(super) when: &'static str,
    /// What helps.
    pub(super) helps: &'static str,
}

impl Meaning {
    /// What a kind means. There is none without a meaning of its own.
    pub(super) fn of(kind: Kind) -> &'static Self {
        MEANINGS.iter().find(|(known, _)| *known == kind).map_or(&INTERNAL, |(_, meaning)| meaning)
    }
}

/// What all kinds mean, as many as there are.
static MEANINGS: [(Kind, Meaning); Kind::ALL.len()] = [
    (
        Kind::Malformed,
        Meaning {
            status: StatusCode::BAD_REQUEST,
            title: "The request can't be read",
            when: "The request can't be read: its body is not JSON or has a key twice, its query has a \
                   parameter that is not known, is there twice or is of another type, or a header says \
                   what can't be.",
            helps: "`detail` says what can't be read, and where. Sent again as it is, it is refused again.",
        },
    ),
    (
        Kind::UserNotNamed,
        Meaning {
            status: StatusCode::BAD_REQUEST,
            title: "A user must be named",
            when: "A kubeconfig of a logical cloud with several users was asked for, and none was named.",
            helps: "Say `user=`; `detail` has the names.",
        },
    ),
    (
        Kind::Unauthenticated,
        Meaning {
            status: StatusCode::UNAUTHORIZED,
            title: "It is not known who asks",
            when: "The request has no credential, or one that is not accepted.",
            helps: "Send a bearer token or a client certificate that is good, and not over; `detail` says \
                    what is wrong with the one that was sent.",
        },
    ),
    (
        Kind::Forbidden,
        Meaning {
            status: StatusCode::FORBIDDEN,
            title: "You may not do this",
            when: "It is known who asks, and they may not do this; or a page of another site asks.",
            helps: "`detail` names the role that is needed, or the right that only a platform admin may \
                    grant. Somebody who may has to do it.",
        },
    ),
    (
        Kind::NotFound,
        Meaning {
            status: StatusCode::NOT_FOUND,
            title: "There is no such thing",
            when: "There is no such thing, or no such path. A project that the caller has no role in is \
                   answered so, too.",
            helps: "Look at the names in the path; a list of the collection says what is there.",
        },
    ),
    (
        Kind::MethodNotAllowed,
        Meaning {
            status: StatusCode::METHOD_NOT_ALLOWED,
            title: "The method is not allowed here",
            when: "There is such a path, and it does not take this method.",
            helps: "The header `Allow` has the methods that it takes.",
        },
    ),
    (
        Kind::BodyTimeout,
        Meaning {
            status: StatusCode::REQUEST_TIMEOUT,
            title: "The body took too long",
            when: "The body did not arrive to its end in time.",
            helps: "Send the request again, faster; `limits.bodyTimeout` of the server is how long it waits.",
        },
    ),
    (
        Kind::AlreadyThere,
        Meaning {
            status: StatusCode::CONFLICT,
            title: "There is such a thing already",
            when: "Something was to be made under a name that is taken.",
            helps: "Take another name, or change what is there with `PUT`.",
        },
    ),
    (
        Kind::NameMismatch,
        Meaning {
            status: StatusCode::CONFLICT,
            title: "The names in path and body differ",
            when: "The name in the body is not the one in the path.",
            helps: "Leave the name in the body out, or send it to the path of that name.",
        },
    ),
    (
        Kind::WrongState,
        Meaning {
            status: StatusCode::CONFLICT,
            title: "Its state does not allow this",
            when: "The thing is in a state that does not allow this: other work is under way or paused, it \
                   is on clusters, or it is on none.",
            helps: "`detail` says what helps, such as to stop, to resume or to terminate before. The \
                    status tells how far it is.",
        },
    ),
    (
        Kind::InUse,
        Meaning {
            status: StatusCode::CONFLICT,
            title: "It is in use",
            when: "Others use it, or own what it needs, such as a namespace.",
            helps: "`detail` names them. Take away what uses it before.",
        },
    ),
    (
        Kind::NotIssued,
        Meaning {
            status: StatusCode::CONFLICT,
            title: "There is no credential to hand out",
            when: "There is no credential to hand out: no cluster has issued one yet, or it is over.",
            helps: "`detail` has the cause and the next try. Ask again then.",
        },
    ),
    (
        Kind::NotReady,
        Meaning {
            status: StatusCode::CONFLICT,
            title: "The cluster is not ready",
            when: "A cluster does not answer, lacks rights or is too old, its clock is wrong, or it is \
                   another one than before.",
            helps: "`detail` says which; a check of the cluster shows all of it. `unchecked=true` \
                    registers it all the same.",
        },
    ),
    (
        Kind::PlanStale,
        Meaning {
            status: StatusCode::CONFLICT,
            title: "It would do something else than was planned",
            when: "An apply with the hash of a plan would do something else than was planned: documents or \
                   a cluster have changed since.",
            helps: "Plan again, look at what is new, and apply with the new hash.",
        },
    ),
    (
        Kind::PreconditionFailed,
        Meaning {
            status: StatusCode::PRECONDITION_FAILED,
            title: "It was changed since it was read",
            when: "`If-Match` or `If-None-Match` states what is not so: others have changed the thing \
                   since it was read.",
            helps: "Read it again, and make the change of what is there now.",
        },
    ),
    (
        Kind::TooLarge,
        Meaning {
            status: StatusCode::PAYLOAD_TOO_LARGE,
            title: "The body is too large",
            when: "The body is larger than 1 MiB, or a declarative document than 8 MiB.",
            helps: "Send less at once: parts of a logical cloud have collections of their own.",
        },
    ),
    (
        Kind::UnsupportedMediaType,
        Meaning {
            status: StatusCode::UNSUPPORTED_MEDIA_TYPE,
            title: "The body is of a type that is not taken",
            when: "`Content-Type` does not say that the body is JSON; or for a declarative document, \
                   neither JSON nor YAML.",
            helps: "Send `Content-Type: application/json`.",
        },
    ),
    (
        Kind::Misdirected,
        Meaning {
            status: StatusCode::MISDIRECTED_REQUEST,
            title: "This is another host",
            when: "The request names another host than this server.",
            helps: "Ask it by its address or by a name of its own.",
        },
    ),
    (
        Kind::Invalid,
        Meaning {
            status: StatusCode::UNPROCESSABLE_ENTITY,
            title: "A value breaks a rule",
            when: "The body can be read, and a value in it breaks a rule.",
            helps: "`errors` has all such fields, each with the rule. Nothing was changed.",
        },
    ),
    (
        Kind::TooManyRequests,
        Meaning {
            status: StatusCode::TOO_MANY_REQUESTS,
            title: "You ask too often, or too much at once",
            when: "The caller asks more often than is allowed, follows too many events at once, has too many requests under way \
                   that look at clusters, or too many large bodies.",
            helps: "Ask again after as many seconds as `Retry-After` says.",
        },
    ),
    (Kind::Internal, INTERNAL),
    (
        Kind::Unavailable,
        Meaning {
            status: StatusCode::SERVICE_UNAVAILABLE,
            title: "It may succeed later",
            when: "The store does not answer, others were quicker again and again, or too many requests or large \
                   bodies are under way, or too many follow events.",
            helps: "Ask again after as many seconds as `Retry-After` says. Whether a change was made is \
                    not known: read before.",
        },
    ),
];

/// What [`Kind::Internal`] means.
const INTERNAL: Meaning = Meaning {
    status: StatusCode::INTERNAL_SERVER_ERROR,
    title: "Something is broken in the server",
    when: "Something is broken in the server, or in what it has stored.",
    helps: "Whoever runs the server finds the cause in its log, by the `X-Request-Id` of the answer.",
};

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::*;

    #[test]
    fn every_kind_has_a_meaning_of_its_own() {
        assert_eq!(MEANINGS.each_ref().map(|(kind, _)| *kind), Kind::ALL);
        let told = Kind::ALL.map(Meaning::of);
        for of_them in [told.map(|it| it.title), told.map(|it| it.when), told.map(|it| it.helps)] {
            let different = BTreeSet::from(of_them);
            assert_eq!(different.len(), Kind::ALL.len(), "{different:#?}");
        }
    }

    #[test]
    fn every_problem_of_the_document_has_a_page() {
        let pages: BTreeSet<String> = Kind::ALL.map(path).into();
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
