//! Where the users of a cluster reach it.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::admin;
use crate::refusal::{Checks, Path};

/// Longest URL of a server, in bytes.
const SERVER_BYTES_MAX: usize = 2048;

/// Most bytes of authorities, as base64: some thirty certificates.
const AUTHORITIES_BYTES_MAX: usize = 64 * 1024;

/// Longest TLS server name, in bytes (RFC 1035, section 2.3.4).
const NAME_BYTES_MAX: usize = 253;

/// Where the users of a cluster reach its API server, when that is elsewhere than for its administrator: users' kubeconfigs name this.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct UserEndpoint {
    /// The URL of the API server: `https`, without a user name, at most 2,048 bytes.
    pub server: String,
    /// The authorities that its certificate is verified with: base64 of PEM with certificates, at most 64 KiB. Default: those of the
    /// administrator's kubeconfig.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub certificate_authority_data: Option<String>,
    /// The name that its certificate is verified for. Default: the host of the URL.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub tls_server_name: Option<String>,
}

impl UserEndpoint {
    /// Refuses what breaks a rule, at the path of the endpoint.
    pub fn check(&self, at: &Path, checks: &mut Checks) {
        let Self { server, certificate_authority_data, tls_server_name } = self;
        let long = |max| format!("must be at most {max} bytes");
        let at_server = at.field("server");
        if server.len() > SERVER_BYTES_MAX {
            checks.refuse(&at_server, "", long(SERVER_BYTES_MAX));
        } else if let Err(rule) = admin::check_server(server) {
            // It may hold a password.
            checks.refuse(&at_server, "", rule);
        }
        if let Some(data) = certificate_authority_data {
            let at = at.field("certificateAuthorityData");
            if data.len() > AUTHORITIES_BYTES_MAX {
                checks.refuse(&at, "", long(AUTHORITIES_BYTES_MAX));
            } else if let Err(rule) = admin::check_authorities(data) {
                checks.refuse(&at, "", rule);
            }
        }
        let is_name = |name: &str| {
            let is_character = |one: char| one.is_ascii_alphanumeric() || "-._:".contains(one);
            !name.is_empty() && name.chars().all(is_character)
        };
        if let Some(name) = tls_server_name {
            let at = at.field("tlsServerName");
            if name.len() > NAME_BYTES_MAX {
                checks.refuse(&at, "", long(NAME_BYTES_MAX));
            } else if !is_name(name) {
                checks.refuse(&at, name.as_str(), "must be a DNS name or an IP address");
            }
        }
    }
}
