//! Asking a cluster what we may do.

use dcm_core::port::cluster::{Access, Call, Error};
use futures::stream::{self, StreamExt as _, TryStreamExt as _};
use serde::Deserialize;
use serde_json::{Value, json};

use crate::transport::{Request, Transport};

/// Questions at once: a preflight has some dozens, and each is answered from memory.
const REVIEWS_AT_ONCE: usize = 16;

const REVIEWS: &str = "/apis/authorization.k8s.io/v1/selfsubjectaccessreviews";

#[derive(Deserialize)]
struct Answered {
    status: Status,
}

#[derive(Deserialize)]
struct Status {
    #[serde(default)]
    allowed: bool,
}

/// Asks for each access, and answers in the order asked.
pub(crate) async fn review(
    transport: &Transport,
    call: &Call,
    accesses: &[Access],
) -> Result<Vec<bool>, Error> {
    let requests: Vec<Request> =
        accesses.iter().map(|access| Request::post(REVIEWS.to_owned(), question(access))).collect();
    let answers = requests.into_iter().map(|request| async move {
        let answered: Answered = transport.send(call, request).await?.read().await?;
        Ok(answered.status.allowed)
    });
    stream::iter(answers).buffered(REVIEWS_AT_ONCE).try_collect().await
}

fn question(access: &Access) -> Value {
    json!({
        "apiVersion": "authorization.k8s.io/v1",
        "kind": "SelfSubjectAccessReview",
        "spec": {"resourceAttributes": {
            "verb": access.verb,
            "group": access.group,
            "resource": access.resource,
            "subresource": access.subresource,
            "name": access.name,
            "namespace": access.namespace.as_deref().unwrap_or_default(),
        }},
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_question_names_all_of_the_access() {
        let access = Access {
            verb: "approve".into(),
            group: "certificates.k8s.io".into(),
            resource: "signers".into(),
            subresource: "".into(),
            name: "kubernetes.io/kube-apiserver-client".into(),
            namespace: None,
        };
        let expected = json!({"verb": "approve", "group": "certificates.k8s.io", "resource": "signers",
            "subresource": "", "name": "kubernetes.io/kube-apiserver-client", "namespace": ""});
        assert_eq!(question(&access)["spec"]["resourceAttributes"], expected);
    }
}
