//! Servers that commands ask instead of a store: which one, and with what credential.

mod contexts;

use std::io::Read;
use std::path::Path;

use anyhow::Context as _;
use dcm_client::{Client, Credential, Options, ServerUrl};
use dcm_core::secret::Secret;

pub(crate) use contexts::{Context, ContextName, Contexts, FILE};

use crate::arguments::Global;
use crate::exit::{Ended, Exit};

/// Longest token that is read, in bytes.
const TOKEN_BYTES_MAX: u64 = 64 * 1024;

/// The environment variable with a bearer token for a server that is named by its URL.
const TOKEN: &str = "DCM_TOKEN";

/// A server, and what is known of it.
#[derive(Debug)]
pub(crate) struct Target {
    pub(crate) context: Context,
    /// What names this choice on another command line.
    pub(crate) named: Named,
}

/// How a server was chosen.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Named {
    /// By its URL.
    Server(ServerUrl),
    /// By a context.
    Context(ContextName),
}

impl Target {
    /// The server that is meant; none where a store is.
    pub(crate) fn of(global: &Global) -> anyhow::Result<Option<Self>> {
        // One of them at most is named.
        match global {
            Global { context: Some(name), .. } => Self::of_context(&Contexts::read()?, name).map(Some),
            Global { server: Some(server), .. } => Ok(Some(Self::of_server(&Contexts::read()?, server))),
            Global { store: Some(_), .. } => Ok(None),
            _ => {
                let contexts = Contexts::read()?;
                contexts.current().map(|name| Self::of_context(&contexts, name)).transpose()
            }
        }
    }

    fn of_context(contexts: &Contexts, name: &ContextName) -> anyhow::Result<Self> {
        let context = contexts.find(name)?.clone();
        Ok(Self { context, named: Named::Context(name.clone()) })
    }

    /// A context of this server, or the server alone; in any case with the token that the environment says.
    fn of_server(contexts: &Contexts, server: &ServerUrl) -> Self {
        let (context, named) = match contexts.of_server(server) {
            Some((name, context)) => (context.clone(), Named::Context(name.clone())),
            None => (Context::new(server.clone()), Named::Server(server.clone())),
        };
        match std::env::var(TOKEN).ok().filter(|token| !token.is_empty()) {
            Some(token) => {
                let certificate_authority = context.certificate_authority;
                let token = Some(Secret::new(token));
                let context = Context { certificate_authority, token, ..Context::new(server.clone()) };
                Self { context, named: Named::Server(server.clone()) }
            }
            None => Self { context, named },
        }
    }
}

/// Refuses a server for what is done with a store itself.
pub(crate) fn must_not_be_named(global: &Global, command: &str) -> anyhow::Result<()> {
    if global.server.is_none() && global.context.is_none() {
        return Ok(());
    }
    let message = format!(
        "{command} works on a store, where that is: no --server and no --context can be asked for it"
    );
    Err(Ended::new(Exit::Refused, message).into())
}

impl Context {
    /// A client of its server.
    pub(crate) fn client(&self, why: &str, request_id: &str) -> anyhow::Result<Client> {
        let options = Options {
            authorities: self.certificate_authority.as_deref().map(read).transpose()?,
            credential: self.credential()?,
            why: why.to_owned(),
            request_id: request_id.to_owned(),
            ..Options::new(self.server.as_str())?
        };
        Ok(Client::open(&options)?)
    }

    fn credential(&self) -> anyhow::Result<Credential> {
        if let Some(token) = &self.token {
            return Ok(Credential::Token(token.clone()));
        }
        if let Some(file) = &self.token_file {
            let opened =
                std::fs::File::open(file).with_context(|| format!("{} can't be read", file.display()))?;
            return Ok(Credential::Token(token(opened, &file.display())?));
        }
        match (&self.client_certificate, &self.client_key) {
            (Some(chain), Some(key)) => {
                let key = crate::private_file::read(key)?
                    .with_context(|| format!("there is no file {}", key.display()))?;
                Ok(Credential::Certificate { chain: read(chain)?, key })
            }
            _ => Ok(Credential::Nothing),
        }
    }
}

/// Reads a token, and nothing but white space around it.
pub(crate) fn token(from: impl Read, name: &dyn std::fmt::Display) -> anyhow::Result<Secret> {
    let mut text = String::new();
    let read = from.take(TOKEN_BYTES_MAX + 1).read_to_string(&mut text);
    let bytes = read.with_context(|| format!("no token can be read from {name}"))?;
    let token = Secret::new(text.trim());
    let is_token =
        !token.expose().is_empty() && u64::try_from(bytes).is_ok_and(|bytes| bytes <= TOKEN_BYTES_MAX);
    anyhow::ensure!(is_token, "{name} must hold a token of at most {TOKEN_BYTES_MAX} bytes");
    Ok(token)
}

fn read(file: &Path) -> anyhow::Result<Vec<u8>> {
    std::fs::read(file).with_context(|| format!("{} can't be read", file.display()))
}
