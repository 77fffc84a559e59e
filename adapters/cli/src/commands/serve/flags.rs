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

/// Each option is a field of the settings, which may also be in a file (`--config`) or, as listed, in the environment. What is in
/// none of them is default; `--print-config` shows the whole.
#[derive(Debug, clap::Args)]
pub(crate) struct Arguments {
    /// A file of settings, YAML or JSON. `dcm schema --of settings` has their JSON Schema. Passwords of stores belong
    /// in the environment.
    #[arg(long, env = "DCM_CONFIG", value_name = "FILE")]
    config: Option<PathBuf>,
    /// Shows the settings as they come together, without passwords, and ends.
    #[arg(long)]
    pub(crate) print_config: bool,
    /// How many days entries of the audit log are kept; older ones are deleted. Default: 366.
    #[arg(long, env = "DCM_AUDIT_DAYS", value_parser = clap::value_parser!(u16).range(1..), value_name = "DAYS")]
    audit_days: Option<u16>,
    /// Whether it works on clusters. Without a worker it answers alone, and others work on the same store. Default: true.
    #[arg(
        long,
        env = "DCM_WORKER",
        value_name = "BOOL",
        num_args = 0..=1,
        require_equals = true,
        default_missing_value = "true"
    )]
    worker: Option<bool>,
    /// Whether clusters whose kubeconfig names no proxy are reached over the one of HTTPS_PROXY, HTTP_PROXY and NO_PROXY. Default: false.
    #[arg(
        long,
        env = "DCM_ENVIRONMENT_PROXY",
        value_name = "BOOL",
        num_args = 0..=1,
        require_equals = true,
        default_missing_value = "true"
    )]
    environment_proxy: Option<bool>,
    /// Serves the HTTP API at ADDRESS/v2; port 0 is any that is free. A loopback address may do without TLS and authentication: then
    /// any process that can connect may do everything. Any other needs both. unix:PATH is a socket that only its owner can connect to.
    #[arg(long, env = "DCM_LISTEN", value_name = "ADDRESS|unix:PATH")]
    listen: Option<ListenAddress>,
    /// Serves EMCO's HTTP API at ADDRESS/v2: that of one service (orchestrator, clm or dcm), or of all. May be given several
    /// times. As with `--listen`.
    #[arg(long, env = "DCM_EMCO_LISTEN", value_delimiter = ',', value_name = "[SERVICE=]ADDRESS")]
    emco_listen: Vec<EmcoAddress>,
    /// Gives metrics for Prometheus at http://ADDRESS/metrics. Only a loopback address, and asked by it or as localhost, as
    /// there is neither TLS nor a check of who asks; port 0 is any that is free.
    #[arg(long, env = "DCM_METRICS_LISTEN", value_name = "ADDRESS")]
    metrics_listen: Option<SocketAddr>,
    /// The server's certificate, PEM, with those between it and its authority after it: with it and its key TLS is spoken.
    #[arg(long, env = "DCM_TLS_CERTIFICATE", requires = "tls_key", value_name = "FILE")]
    tls_certificate: Option<PathBuf>,
    /// The key of the server's certificate, PEM.
    #[arg(long, env = "DCM_TLS_KEY", requires = "tls_certificate", value_name = "FILE")]
    tls_key: Option<PathBuf>,
    /// The authorities of client certificates, PEM: callers may prove by one of them who they are.
    #[arg(long, env = "DCM_CLIENT_AUTHORITIES", value_name = "FILE")]
    client_authorities: Option<PathBuf>,
    /// The file of static tokens (`dcm token new`): callers may prove by one of them who they are.
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
