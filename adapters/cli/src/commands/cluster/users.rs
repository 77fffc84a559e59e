//! Where the users of a cluster reach it, on the command line.

use std::path::PathBuf;

use anyhow::Context as _;
use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use dcm_core::kubeconfig::{Admin, UserEndpoint};
use dcm_core::name::ClusterId;
use dcm_core::refusal::{Checks, Path};

use crate::output;

#[derive(Debug, clap::Args)]
pub(super) struct Users {
    /// URL of the API server in the kubeconfigs of users. Default: that of the engine's kubeconfig.
    #[arg(long, value_name = "URL")]
    user_server: Option<String>,
    /// Certificate authorities of that server, in PEM. Default: those of the engine's kubeconfig.
    #[arg(long, value_name = "FILE", requires = "user_server")]
    user_authority: Option<PathBuf>,
    /// Name in the certificate of that server. Default: the host of the URL.
    #[arg(long, value_name = "NAME", requires = "user_server")]
    user_tls_server_name: Option<String>,
}

impl Users {
    /// The endpoint that was named; none where none was.
    pub(super) fn endpoint(&self) -> anyhow::Result<Option<UserEndpoint>> {
        let Self { user_server, user_authority, user_tls_server_name } = self;
        let Some(server) = user_server.clone() else { return Ok(None) };
        let certificate_authority_data = match user_authority {
            None => None,
            Some(file) => {
                let pem = std::fs::read(file);
                Some(STANDARD.encode(pem.with_context(|| format!("{} can't be read", file.display()))?))
            }
        };
        let tls_server_name = user_tls_server_name.clone();
        let endpoint = UserEndpoint { server, certificate_authority_data, tls_server_name };
        let mut checks = Checks::default();
        endpoint.check(&Path::root().field("userEndpoint"), &mut checks);
        Ok(Some(checks.finish(Some(endpoint))?))
    }
}

/// Warns of what a registration has: what users get, and what is not used of its kubeconfig.
pub(super) fn warn(id: &ClusterId, warnings: impl IntoIterator<Item = String>) {
    for warning in warnings {
        if Admin::is_for_users(&warning) {
            output::note(format_args!(
                "{id}: {warning}; another address for them: dcm cluster update {id} --user-server URL"
            ));
        } else {
            output::note(format_args!("{id}: warning: {warning}"));
        }
    }
}
