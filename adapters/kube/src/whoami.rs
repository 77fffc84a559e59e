//! The name of the user that a cluster takes the caller for.
//!
//! Kubernetes 1.28 and later answer a SelfSubjectReview. An earlier one writes into each certificate signing request who made it, and so
//! one is rehearsed there, as a dry run: the engine may make them.

use dcm_core::port::cluster::{Call, Error};
use serde::Deserialize;
use serde_json::{Value, json};

use crate::failure::Failure;
use crate::transport::{Request, Transport};

const REVIEWS: &str = "/apis/authentication.k8s.io/v1/selfsubjectreviews";

const REHEARSAL: &str = "/apis/certificates.k8s.io/v1/certificatesigningrequests?dryRun=All";

/// Base64 of a request in PEM, for the common name `dcm:whoami`. It is never stored, and its key is gone.
const REQUEST: &str = "\
LS0tLS1CRUdJTiBDRVJUSUZJQ0FURSBSRVFVRVNULS0tLS0KTUlIUE1IY0NBUUF3RlRFVE1CRUdBMVVFQXd3S1pHTnRPbmRvYjJG\
dGFUQlpNQk1HQnlxR1NNNDlBZ0VHQ0NxRwpTTTQ5QXdFSEEwSUFCS3BkOEZEc1BiWmFBbThqRlEvQW93ZWlkSEVuYjZzOXVtSktz\
QnhrNy9iOGN1Z2RLVGN5CkoyTjhLeml1UVVMVmlmYk40TVhVb2ZpOFU1NGZ2Y0NLRmp1Z0FEQUtCZ2dxaGtqT1BRUURBZ05JQURC\
RkFpQmcKWVVCdXNLS2xSaXQxMzlEMVdOeWM1YXY2M05HUjVBdWpWYWVFM0JtSVpBSWhBS2YvbFJtUWlBbms1eGV6Y3ZyUgpvMGVu\
TDZ5enhON1NsZ2R3TlZVYWtRV3MKLS0tLS1FTkQgQ0VSVElGSUNBVEUgUkVRVUVTVC0tLS0tCg==";

#[derive(Deserialize)]
struct Review {
    status: ReviewStatus,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct ReviewStatus {
    user_info: UserInfo,
}

#[derive(Deserialize)]
struct UserInfo {
    username: String,
}

#[derive(Deserialize)]
struct Rehearsed {
    spec: UserInfo,
}

/// The caller's name.
pub(crate) async fn whoami(transport: &Transport, call: &Call) -> Result<String, Error> {
    match review(transport, call).await.map_err(Error::from) {
        // A server that does not know the question has given no right to ask it, either.
        Err(Error::NotFound | Error::Forbidden { .. }) => by_rehearsal(transport, call).await,
        answered => answered,
    }
}

/// The caller's name as a SelfSubjectReview says it.
pub(crate) async fn review(transport: &Transport, call: &Call) -> Result<String, Failure> {
    let question = json!({"apiVersion": "authentication.k8s.io/v1", "kind": "SelfSubjectReview"});
    let answer = transport.send(call, Request::post(REVIEWS.to_owned(), question)).await?;
    Ok(answer.read::<Review>().await?.status.user_info.username)
}

/// Who would have made a request for a certificate.
async fn by_rehearsal(transport: &Transport, call: &Call) -> Result<String, Error> {
    let answer = transport.send(call, Request::post(REHEARSAL.to_owned(), rehearsed())).await?;
    Ok(answer.read::<Rehearsed>().await?.spec.username)
}

fn rehearsed() -> Value {
    json!({
        "apiVersion": "certificates.k8s.io/v1",
        "kind": "CertificateSigningRequest",
        "metadata": {"generateName": "dcm-whoami-"},
        "spec": {
            "request": REQUEST,
            "signerName": "kubernetes.io/kube-apiserver-client",
            "usages": ["digital signature", "client auth"],
        },
    })
}

#[cfg(test)]
mod tests {
    use dcm_core::app_context::Generation;
    use dcm_core::name::OwnerId;
    use dcm_core::port::cluster::Fence;
    use dcm_core::secret::Secret;
    use dcm_testenv::{Environment, Route};

    use super::*;
    use crate::options::Options;
    use crate::{connection, kubeconfig};

    #[tokio::test(flavor = "multi_thread")]
    async fn a_rehearsed_request_names_the_same_user_as_the_review() {
        let environment = Environment::shared(1).await.unwrap();
        let cluster = &environment.clusters()[0];
        let options = Options::default();
        let secret = Secret::new(cluster.admin_kubeconfig(Route::Direct));
        let checked = kubeconfig::check(&secret, &options.allowed).unwrap();
        let transport =
            connection::open(checked, &options, std::sync::Arc::new(crate::budget::Budget::new(&options)))
                .await
                .unwrap();
        let (owner, generation) = (OwnerId::new("dcm").unwrap(), Generation(1));
        let call = Call { owner, context: None, generation, fence: Fence(1) };
        assert_eq!(whoami(&transport, &call).await.unwrap(), "admin");
        assert_eq!(by_rehearsal(&transport, &call).await.unwrap(), "admin");
    }
}
