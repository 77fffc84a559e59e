//! `dcm login`: a server, and how it is asked.

use std::path::{Path, PathBuf, absolute};

use anyhow::Context as _;
use dcm_client::ServerUrl;

use crate::arguments::Global;
use crate::exit::Exit;
use crate::output;
use crate::place;
use crate::remote::{self, Context, ContextName, Contexts};

/// Stands for standard input where a file can be named.
const STANDARD_INPUT: &str = "-";

#[derive(Debug, clap::Args)]
pub(crate) struct Arguments {
    /// URL of the server: https://HOST[:PORT], http:// on a loopback address, or unix:PATH.
    #[arg(value_name = "URL")]
    url: ServerUrl,
    /// Name of the context. Default: the server's address, with _ for each slash.
    #[arg(long, value_name = "NAME")]
    name: Option<ContextName>,
    /// Certificate authorities of the server, in PEM. Default: those of the system.
    #[arg(long, value_name = "FILE")]
    certificate_authority: Option<PathBuf>,
    /// File with a bearer token: a static token of the server (dcm token) or a token of an OpenID Connect issuer.
    ///
    /// Each command reads the file again, so a renewed token needs no new login. With -, the token is read from standard input and
    /// stored in the context.
    #[arg(long, value_name = "FILE", conflicts_with_all = ["client_certificate", "client_key"])]
    bearer_token: Option<PathBuf>,
    /// Client certificate with its intermediates, in PEM.
    #[arg(long, value_name = "FILE", requires = "client_key")]
    client_certificate: Option<PathBuf>,
    /// Private key of the client certificate, in PEM.
    #[arg(long, value_name = "FILE", requires = "client_certificate")]
    client_key: Option<PathBuf>,
    /// Stores the context without a request to the server.
    #[arg(long)]
    unchecked: bool,
}

pub(crate) async fn run(global: &Global, arguments: &Arguments) -> anyhow::Result<Exit> {
    let context = arguments.context()?;
    let client = context.client(&global.why, "")?;
    if !arguments.unchecked {
        let asked = client.check().await.map_err(place::Error::from);
        asked.with_context(|| format!("{} is not remembered", arguments.url))?;
    }
    let name = match &arguments.name {
        Some(name) => name.clone(),
        None => named_by(&arguments.url)?,
    };
    // Only now: it may have taken long to be let in.
    let mut contexts = Contexts::read()?;
    contexts.put(name.clone(), context);
    contexts.write()?;
    output::note(format_args!("{}: asked from now on, as context {name}", arguments.url));
    for variable in ["DCM_CONTEXT", "DCM_SERVER", "DCM_STORE"] {
        if std::env::var_os(variable).is_some_and(|value| !value.is_empty()) {
            output::note(format_args!("but as long as {variable} is set, that goes before"));
        }
    }
    Ok(Exit::Done)
}

impl Arguments {
    fn context(&self) -> anyhow::Result<Context> {
        let file = |file: &Option<PathBuf>| file.as_deref().map(lasting).transpose();
        let (token, token_file) = match self.bearer_token.as_deref() {
            Some(name) if name.as_os_str() == STANDARD_INPUT => {
                (Some(remote::token(std::io::stdin().lock(), &"standard input")?), None)
            }
            name => (None, name.map(lasting).transpose()?),
        };
        Ok(Context {
            certificate_authority: file(&self.certificate_authority)?,
            token,
            token_file,
            client_certificate: file(&self.client_certificate)?,
            client_key: file(&self.client_key)?,
            ..Context::new(self.url.clone())
        })
    }
}

/// A file as it is found from any folder.
fn lasting(file: &Path) -> anyhow::Result<PathBuf> {
    absolute(file).with_context(|| format!("{} can't be found", file.display()))
}

/// The name of a context for a server: its address.
fn named_by(url: &ServerUrl) -> anyhow::Result<ContextName> {
    let host = url.as_str().split("://").last().unwrap_or_default().replace('/', "_");
    host.parse().map_err(|rule| anyhow::anyhow!("say --name: {rule}"))
}
