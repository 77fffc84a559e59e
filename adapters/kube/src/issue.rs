//! Certificates and tokens that a cluster issues.

use dcm_core::app_context::TokenRequest;
use dcm_core::port::cluster::{Call, Error, IssuedToken, Precondition};
use dcm_core::secret::Secret;
use jiff::Timestamp;
use serde::Deserialize;
use serde_json::{Value, json};

use crate::resource::{Resource, escape};
use crate::transport::{Request, Transport};

/// What approves a certificate signing request in the state that was seen, in one request: a merge patch (RFC 7396) of
/// its `approval` subresource.
pub(crate) fn approval(observed: &Precondition) -> Value {
    json!({
        "metadata": {"uid": &*observed.uid, "resourceVersion": &*observed.resource_version},
        "status": {"conditions": [{
            "type": "Approved",
            "status": "True",
            "reason": "WantedByLogicalCloud",
            "message": "Made and approved for a user of a logical cloud.",
        }]},
    })
}

/// What a TokenRequest is answered with.
#[derive(Deserialize)]
struct TokenAnswer {
    status: TokenStatus,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct TokenStatus {
    token: String,
    expiration_timestamp: Timestamp,
}

/// Asks for a token for a ServiceAccount.
pub(crate) async fn token(
    transport: &Transport,
    call: &Call,
    request: &TokenRequest,
) -> Result<IssuedToken, Error> {
    let accounts = Resource {
        group: "".into(),
        version: "v1".into(),
        plural: "serviceaccounts".into(),
        namespaced: true,
    };
    let collection = accounts.collection(Some(&request.namespace));
    let uri = format!("{collection}/{}/token", escape(&request.service_account));
    let mut body = json!({"apiVersion": "authentication.k8s.io/v1", "kind": "TokenRequest", "spec": {}});
    if let Some(seconds) = request.lifetime_seconds {
        body["spec"]["expirationSeconds"] = seconds.into();
    }
    let answer: TokenAnswer = transport.send(call, Request::post(uri, body)).await?.read().await?;
    Ok(IssuedToken { token: Secret::new(answer.status.token), expires: answer.status.expiration_timestamp })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_approval_is_of_the_state_that_was_seen() {
        let body = approval(&Precondition { uid: "u".into(), resource_version: "7".into() });
        assert_eq!(body["metadata"], json!({"uid": "u", "resourceVersion": "7"}));
        assert_eq!(body["status"]["conditions"][0]["type"], "Approved");
    }
}
