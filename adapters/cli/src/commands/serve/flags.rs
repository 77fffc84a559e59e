//! What the command line, the environment and a file say of a server: one over the other, in this order.

use std::fs::File;
use std::io::Read as _;
use std::net::SocketAddr;
use std::path::{Path, PathBuf};

use anyhow::Context as _;
use dcm_server::{EmcoAddress, ListenAddress, SETTINGS_BYTES_MAX, Settings, duration_text};

use super::kubeconfigs::Allowing;
use crate::arguments::Global;
use crate::folders;
use crate::limits::Limited;
use crate::otlp;

/// Each option is a field of the settings. Set it on the command line, in the environment or in a file (`--config`), in this order;
/// otherwise the default applies. `--print-config` prints the result.
#[derive(Debug, clap::Args)]
pub(crate) struct Arguments {
    /// File of settings, in YAML or JSON; `dcm schema --of settings` prints its JSON Schema.
    ///
    /// Put the passwords of stores into the environment.
    #[arg(long, env = "DCM_CONFIG", value_name = "FILE")]
    config: Option<PathBuf>,
    /// Prints the effective settings without passwords, and exits.
    #[arg(long)]
    pub(crate) print_config: bool,
    /// Retention of the audit log in days. Default: 366.
    #[arg(long, env = "DCM_AUDIT_DAYS", value_parser = clap::value_parser!(u16).range(1..), value_name = "DAYS")]
    audit_days: Option<u16>,
    /// Works on clusters; false only serves the APIs, while other servers on the same store do the work. Default: true.
    #[arg(
        long,
        env = "DCM_WORKER",
        value_name = "BOOL",
        num_args = 0..=1,
        require_equals = true,
        default_missing_value = "true"
    )]
    worker: Option<bool>,
    /// Uses HTTPS_PROXY, HTTP_PROXY and NO_PROXY for clusters whose kubeconfig has no proxy. Default: false.
    #[arg(
        long,
        env = "DCM_ENVIRONMENT_PROXY",
        value_name = "BOOL",
        num_args = 0..=1,
        require_equals = true,
        default_missing_value = "true"
    )]
    environment_proxy: Option<bool>,
    /// Serves the HTTP API at ADDRESS/v2; port 0 is any free port.
    ///
    /// Only a loopback address may go without TLS and authentication: then each process that can connect has all rights.
    /// unix:PATH is a Unix socket that only its owner can connect to.
    #[arg(long, env = "DCM_LISTEN", value_name = "ADDRESS|unix:PATH")]
    listen: Option<ListenAddress>,
    /// Serves EMCO's HTTP API at ADDRESS/v2: that of one service (orchestrator, clm or dcm), or all. May be repeated.
    ///
    /// TLS and authentication are as for `--listen`.
    #[arg(long, env = "DCM_EMCO_LISTEN", value_delimiter = ',', value_name = "[SERVICE=]ADDRESS")]
    emco_listen: Vec<EmcoAddress>,
    /// Serves metrics for Prometheus at http://ADDRESS/metrics, on a loopback address; port 0 is any free port.
    ///
    /// It has neither TLS nor authentication, so requests must name a loopback address or localhost as their host.
    #[arg(long, env = "DCM_METRICS_LISTEN", value_name = "ADDRESS")]
    metrics_listen: Option<SocketAddr>,
    /// Certificate of the server with its intermediates, in PEM; enables TLS, together with its key.
    #[arg(long, env = "DCM_TLS_CERTIFICATE", requires = "tls_key", value_name = "FILE")]
    tls_certificate: Option<PathBuf>,
    /// Private key of the server's certificate, in PEM.
    #[arg(long, env = "DCM_TLS_KEY", requires = "tls_certificate", value_name = "FILE")]
    tls_key: Option<PathBuf>,
    /// Certificate authorities of client certificates, in PEM; enables authentication by client certificates.
    #[arg(long, env = "DCM_CLIENT_AUTHORITIES", value_name = "FILE")]
    client_authorities: Option<PathBuf>,
    /// File of static tokens (`dcm token new`); enables authentication by them.
    #[arg(long, env = "DCM_TOKEN_FILE", value_name = "FILE")]
    token_file: Option<PathBuf>,
    #[command(flatten)]
    kubeconfigs: Allowing,
    #[command(flatten)]
    limits: Limited,
    #[command(flatten)]
    otlp: otlp::Sent,
}

impl Arguments {
    /// What is set in any place, and what is default.
    pub(crate) fn settings(&self, global: &Global) -> anyhow::Result<Settings> {
        let file = self.config.as_deref().map(read).transpose()?.unwrap_or_default();
        let mut settings = self.said(global).over(file);
        self.add_authentication(&mut settings);
        let mut settings = settings.over(Settings::defaults());
        if settings.store.is_none() {
            settings.store = Some(folders::store_url()?);
        }
        Ok(settings)
    }

    fn said(&self, global: &Global) -> Settings {
        let text = |address: Option<SocketAddr>| address.map(|address| address.to_string());
        let files = self.tls_certificate.clone().zip(self.tls_key.clone());
        Settings {
            store: global.store.as_ref().map(|url| url.as_str().to_owned()),
            contexts_store: global.contexts_store.as_ref().map(|url| url.as_str().to_owned()),
            key_file: global.key_file.clone(),
            lease: global.lease.map(duration_text),
            ignored_contents: ignored_contents_of(global),
            audit_days: self.audit_days,
            worker: self.worker,
            listen: self.listen.as_ref().map(ToString::to_string),
            emco_listen: self.emco_listen.iter().map(ToString::to_string).collect(),
            metrics_listen: text(self.metrics_listen),
            tls: files.map(|(certificate, key)| dcm_identity::tls::Files { certificate, key }),
            kubeconfigs: self.kubeconfigs.settings(),
            environment_proxy: self.environment_proxy,
            limits: Some(self.limits.said()),
            otlp: self.otlp.said(),
            ..Settings::default()
        }
    }

    /// One way more than the file has.
    fn add_authentication(&self, settings: &mut Settings) {
        if self.client_authorities.is_none() && self.token_file.is_none() {
            return;
        }
        let ways = settings.authentication.get_or_insert_default();
        if let Some(authorities) = self.client_authorities.clone() {
            ways.client_certificates = Some(dcm_identity::settings::ClientCertificates { authorities });
        }
        if let Some(file) = self.token_file.clone() {
            ways.tokens = Some(dcm_identity::settings::Tokens { file });
        }
    }
}

fn read(file: &Path) -> anyhow::Result<Settings> {
    let failed = || format!("{} can't be read", file.display());
    let mut text = String::new();
    let opened = File::open(file).with_context(failed)?;
    opened.take(SETTINGS_BYTES_MAX + 1).read_to_string(&mut text).with_context(failed)?;
    let is_whole = u64::try_from(text.len()).is_ok_and(|bytes| bytes <= SETTINGS_BYTES_MAX);
    anyhow::ensure!(is_whole, "{} has more than {SETTINGS_BYTES_MAX} bytes", file.display());
    // A line of it may have a password.
    dcm_core::yaml::read_own(&text).with_context(|| format!("{} is no file of settings", file.display()))
}

/// What the command line says does not count as contents; none where it says nothing.
fn ignored_contents_of(global: &Global) -> Option<Vec<String>> {
    let ignored = &global.ignored_contents;
    (!ignored.is_empty()).then(|| ignored.iter().map(ToString::to_string).collect())
}
