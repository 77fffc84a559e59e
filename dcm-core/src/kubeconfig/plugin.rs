//! Credentials that a program gives whenever a client needs one: what a kubeconfig says of the program, and what the
//! program says to the client (`client.authentication.k8s.io/v1`).

use jiff::{Timestamp, Unit};
use schemars::JsonSchema;
use serde::Serialize;
use serde_json::json;

use super::access::Credential;
use crate::secret::Secret;

/// The version of the protocol between clients and programs.
const API_VERSION: &str = "client.authentication.k8s.io/v1";

/// A program that gives the credential.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Plugin {
    /// The program.
    pub command: String,
    /// Its arguments.
    pub arguments: Vec<String>,
}

/// The user entry's `exec`.
#[derive(Serialize, JsonSchema)]
#[schemars(inline)]
#[serde(rename_all = "camelCase")]
pub(super) struct Exec {
    api_version: &'static str,
    args: Vec<String>,
    command: String,
    interactive_mode: &'static str,
    provide_cluster_info: bool,
}

impl Exec {
    pub(super) fn of(plugin: &Plugin) -> Self {
        Self {
            api_version: API_VERSION,
            args: plugin.arguments.clone(),
            command: plugin.command.clone(),
            interactive_mode: "Never",
            provide_cluster_info: false,
        }
    }
}

/// The schema of what the program says.
#[derive(JsonSchema)]
#[schemars(rename_all = "camelCase")]
#[expect(dead_code, reason = "it is a schema, and nothing else")]
pub struct ExecCredential {
    /// `client.authentication.k8s.io/v1`.
    api_version: String,
    /// `ExecCredential`.
    kind: String,
    /// The credential.
    status: ExecCredentialStatus,
}

#[derive(JsonSchema)]
#[schemars(rename_all = "camelCase")]
#[expect(dead_code, reason = "it is a schema, and nothing else")]
struct ExecCredentialStatus {
    /// A client certificate and what is between it and its authority, as PEM.
    #[schemars(skip_serializing_if = "Option::is_none")]
    client_certificate_data: Option<String>,
    /// Its private key, as PEM.
    #[schemars(skip_serializing_if = "Option::is_none")]
    client_key_data: Option<String>,
    /// A bearer token.
    #[schemars(skip_serializing_if = "Option::is_none")]
    token: Option<String>,
    /// Until when the client need not ask again.
    expiration_timestamp: Timestamp,
}

/// What the program says: the credential, and until when the client need not ask again. None for a credential that has no
/// secret part to say.
#[must_use]
pub fn exec_credential(credential: &Credential, until: Timestamp) -> Option<Secret> {
    let mut status = match credential {
        Credential::Certificate { certificate, key: Some(key) } => {
            json!({"clientCertificateData": certificate, "clientKeyData": key.expose()})
        }
        Credential::Token(token) => json!({"token": token.expose()}),
        Credential::Certificate { key: None, .. } | Credential::Plugin(_) => return None,
    };
    // Clients take times in whole seconds.
    let until = until.round(Unit::Second).unwrap_or(until);
    status["expirationTimestamp"] = until.to_string().into();
    let text = json!({"apiVersion": API_VERSION, "kind": "ExecCredential", "status": status}).to_string();
    Some(Secret::new(text))
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::Value;

    fn said(credential: &Credential) -> Option<Value> {
        let until = "2026-01-01T00:00:00.4Z".parse().unwrap();
        exec_credential(credential, until).map(|said| serde_json::from_str(said.expose()).unwrap())
    }

    #[test]
    fn a_client_is_told_the_credential_and_until_when_to_use_it() {
        let key = Some(Secret::new("key"));
        let with_key = Credential::Certificate { certificate: "certificate".into(), key };
        let end = "2026-01-01T00:00:00Z";
        for (credential, status) in [
            (
                with_key,
                json!({"clientCertificateData": "certificate", "clientKeyData": "key", "expirationTimestamp": end}),
            ),
            (Credential::Token(Secret::new("token")), json!({"token": "token", "expirationTimestamp": end})),
        ] {
            let expected = json!({"apiVersion": API_VERSION, "kind": "ExecCredential", "status": status});
            assert_eq!(said(&credential), Some(expected));
        }
    }

    #[test]
    fn there_is_nothing_to_say_where_the_user_keeps_the_key() {
        assert_eq!(said(&Credential::Certificate { certificate: "certificate".into(), key: None }), None);
        let plugin = Plugin { command: "dcm".into(), arguments: Vec::new() };
        assert_eq!(said(&Credential::Plugin(plugin)), None);
    }
}
