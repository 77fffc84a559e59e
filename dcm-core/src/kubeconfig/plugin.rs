//! Credentials that a program gives whenever a client needs one: what a kubeconfig says of the program, and what the
//! program says to the client (`client.authentication.k8s.io/v1`).

use std::collections::BTreeMap;

use jiff::{Timestamp, Unit};
use schemars::JsonSchema;
use serde::Serialize;

use super::access::Credential;
use super::document::in_clear;
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
    /// Variables of its environment, beside those of the client.
    pub environment: BTreeMap<String, String>,
}

/// The user entry's `exec`.
#[derive(Serialize, JsonSchema)]
#[schemars(inline)]
#[serde(rename_all = "camelCase")]
pub(super) struct Exec {
    api_version: &'static str,
    args: Vec<String>,
    command: String,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    env: Vec<Variable>,
    interactive_mode: &'static str,
    provide_cluster_info: bool,
}

#[derive(Serialize, JsonSchema)]
#[schemars(inline)]
struct Variable {
    name: String,
    value: String,
}

impl Exec {
    pub(super) fn of(plugin: &Plugin) -> Self {
        let variable =
            |(name, value): (&String, &String)| Variable { name: name.clone(), value: value.clone() };
        Self {
            env: plugin.environment.iter().map(variable).collect(),
            api_version: API_VERSION,
            args: plugin.arguments.clone(),
            command: plugin.command.clone(),
            interactive_mode: "Never",
            provide_cluster_info: false,
        }
    }
}

/// What the program says: the newest credential, and until when the client need not ask again.
#[derive(Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct ExecCredential {
    /// `client.authentication.k8s.io/v1`.
    api_version: &'static str,
    /// `ExecCredential`.
    kind: &'static str,
    /// The credential.
    status: ExecCredentialStatus,
}

#[derive(Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
struct ExecCredentialStatus {
    /// A client certificate and what is between it and its authority, as PEM.
    #[serde(skip_serializing_if = "Option::is_none")]
    client_certificate_data: Option<String>,
    /// Its private key, as PEM.
    #[serde(skip_serializing_if = "Option::is_none", serialize_with = "in_clear")]
    #[schemars(with = "Option<String>")]
    client_key_data: Option<Secret>,
    /// Until when the client need not ask again.
    expiration_timestamp: Timestamp,
    /// A bearer token.
    #[serde(skip_serializing_if = "Option::is_none", serialize_with = "in_clear")]
    #[schemars(with = "Option<String>")]
    token: Option<Secret>,
}

/// What the program says, as JSON: the credential, and until when the client need not ask again. None for a credential that has no
/// secret part to say.
#[must_use]
pub fn exec_credential(credential: &Credential, until: Timestamp) -> Option<Secret> {
    let (client_certificate_data, client_key_data, token) = match credential {
        Credential::Certificate { certificate, key: Some(key) } => {
            (Some(certificate.clone()), Some(key.clone()), None)
        }
        Credential::Token(token) => (None, None, Some(token.clone())),
        Credential::Certificate { key: None, .. } | Credential::Plugin(_) => return None,
    };
    // Clients take times in whole seconds.
    let expiration_timestamp = until.round(Unit::Second).unwrap_or(until);
    let status =
        ExecCredentialStatus { client_certificate_data, client_key_data, expiration_timestamp, token };
    let said = ExecCredential { api_version: API_VERSION, kind: "ExecCredential", status };
    serde_json::to_string(&said).ok().map(Secret::new)
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::{Value, json};

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
        let plugin = Plugin { command: "dcm".into(), arguments: Vec::new(), environment: BTreeMap::new() };
        assert_eq!(said(&Credential::Plugin(plugin)), None);
    }
}
