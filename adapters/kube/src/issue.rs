//! Certificates and tokens that a cluster issues.

use dcm_core::app_context::TokenRequest;
use dcm_core::port::cluster::{Call, Error, IssuedToken};
use dcm_core::secret::Secret;
use jiff::Timestamp;
use serde::Deserialize;
use serde_json::{Value, json};

use crate::resource::{Resource, escape};
use crate::transport::{Request, Transport};

/// The certificate signing request as it is, approved; none when it is approved already.
pub(crate) fn approved(live: &Value) -> Option<Value> {
    let conditions = live["status"]["conditions"].as_array().cloned().unwrap_or_default();
    if conditions.iter().any(|condition| condition["type"] == "Approved") {
        return None;
    }
    let mut body = live.clone();
    let mut conditions = conditions;
    conditions.push(json!({
        "type": "Approved",
        "status": "True",
        "reason": "WantedByLogicalCloud",
        "message": "Made and approved for a user of a logical cloud.",
    }));
    body["status"]["conditions"] = conditions.into();
    Some(body)
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
    let answer: TokenAnswer = transport.send(call, Request::post(uri, body)).await?.read()?;
    Ok(IssuedToken { token: Secret::new(answer.status.token), expires: answer.status.expiration_timestamp })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn approval_is_added_once_and_to_what_is_there() {
        let live =
            json!({"metadata": {"resourceVersion": "7"}, "status": {"conditions": [{"type": "Other"}]}});
        let body = approved(&live).unwrap();
        assert_eq!(body["metadata"]["resourceVersion"], "7");
        assert_eq!(body["status"]["conditions"][0]["type"], "Other");
        assert_eq!(body["status"]["conditions"][1]["type"], "Approved");
        assert_eq!(approved(&body), None);
        let bare = approved(&json!({"metadata": {}, "spec": {}})).unwrap();
        assert_eq!(bare["status"]["conditions"].as_array().unwrap().len(), 1);
    }
}
