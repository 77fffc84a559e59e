//! Users: the ServiceAccounts of token users, and the requests for credentials.

use k8s_openapi::api::core::v1::ServiceAccount;

use crate::app_context::{Action, CertificateRequest, Request, TokenRequest};
use crate::logical_cloud::{LifetimeSeconds, User, UserType};

use super::{Context, Credential, Error, RequestToSend, STAGE_BASE, STAGE_LAST, Steps, naming};

/// The signer of client certificates that every Kubernetes API server trusts.
pub const SIGNER: &str = "kubernetes.io/kube-apiserver-client";

pub(super) fn render(context: &Context<'_>, steps: &mut Steps<'_>) -> Result<(), Error> {
    for user in context.cloud.users() {
        let Some(credential) = context.credentials.get(&user.metadata.name) else {
            continue;
        };
        match &user.kind {
            UserType::Certificate { .. } => certificate(context, user, credential, steps),
            UserType::Token => token(context, user, credential, steps)?,
        }
    }
    Ok(())
}

fn certificate(context: &Context<'_>, user: &User, credential: &Credential, steps: &mut Steps<'_>) {
    let Credential { epoch, serial, request: Some(RequestToSend { pem, nonce }), .. } = credential else {
        return;
    };
    let name = &user.metadata.name;
    let request = Request::Certificate(CertificateRequest {
        object_name: context.identity.certificate_request(name, *epoch, *serial, *nonce).into(),
        csr_pem: pem.text(),
        signer: SIGNER.into(),
        lifetime_seconds: user.lifetime.map(LifetimeSeconds::get),
    });
    steps.action(
        STAGE_LAST,
        Action::Request { name: naming::certificate_step(name, *epoch, *serial), request },
    );
}

fn token(
    context: &Context<'_>,
    user: &User,
    credential: &Credential,
    steps: &mut Steps<'_>,
) -> Result<(), Error> {
    let name = &user.metadata.name;
    let account = naming::service_account(name, credential.epoch, credential.accounts);
    // It stands for a person: no pod gets its token unasked.
    let object = ServiceAccount {
        metadata: context.own(account.clone()),
        automount_service_account_token: Some(false),
        ..ServiceAccount::default()
    };
    steps.object(STAGE_BASE, &object)?;
    let request = Request::Token(TokenRequest {
        namespace: context.namespace.as_str().into(),
        service_account: account.into(),
        lifetime_seconds: user.lifetime.map(|lifetime| i64::from(lifetime.get())),
    });
    let step = naming::token_step(name, credential.epoch, credential.serial);
    steps.action(STAGE_LAST, Action::Request { name: step, request });
    Ok(())
}
