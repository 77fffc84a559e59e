//! The way to a cluster: TLS, HTTP/2 and credentials from a checked kubeconfig.
//!
//! kube's own stack is not used, but its parts are: it speaks HTTP/1.1 only (a connection, and a handshake, for each of
//! hundreds of requests at once), tries again by itself, and takes each proxy of the environment without being asked. What keeps the
//! connections is in [`pool`](crate::pool).

use std::fmt;
use std::sync::Arc;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use dcm_core::port::cluster::Error;
use dcm_core::secret::Secret;
use futures::{FutureExt as _, TryFutureExt as _};
use http::{HeaderValue, Uri};
use hyper::rt::{Read, Write};
use hyper_rustls::{FixedServerNameResolver, HttpsConnector, HttpsConnectorBuilder};
use hyper_util::client::legacy::connect::proxy::{SocksV5, Tunnel};
use hyper_util::client::legacy::connect::{Connection, HttpConnector};
use kube::Config;
use kube::client::ConfigExt as _;
use kube::config::{AuthInfo, Kubeconfig};
use rustls::RootCertStore;
use rustls::client::danger::ServerCertVerifier;
use rustls::crypto::CryptoProvider;
use rustls::pki_types::CertificateDer;
use tower::{BoxError, Service, ServiceBuilder, service_fn};

use crate::budget::Budget;
use crate::embedded;
use crate::environment::{InvalidVariable, Named};
use crate::establish::Establish;
use crate::failure::{error_below, error_of_client, kubeconfig_rule, unusable};
use crate::identity::Identity;
use crate::kubeconfig::Checked;
use crate::link;
use crate::login::Login;
use crate::networks::{Guarded, Resolver};
use crate::options::Options;
use crate::pool::{Connect, Pool};
use crate::proxy::{Proxy, ProxyLogin, ProxyUrl};
use crate::server;
use crate::transport::Transport;

/// Makes a client. No request is sent, but a program that the kubeconfig may run is run, and its files are read.
pub(crate) async fn open(
    checked: Checked,
    options: &Options,
    budget: Arc<Budget>,
) -> Result<Transport, Error> {
    let limit = options.request_time_limit;
    match tokio::time::timeout(limit, make(checked, options.clone(), budget)).await {
        Ok(made) => made,
        Err(_) => Err(Error::TimedOut { limit }),
    }
}

async fn make(checked: Checked, options: Options, budget: Arc<Budget>) -> Result<Transport, Error> {
    choose_cryptography();
    let mut config = blocking(|| config_of(checked.kubeconfig)).await?;
    let login = Login::begin(&mut config.auth_info).await?;
    if login.is_some() {
        check_given(&mut config.auth_info)?;
    }
    let identity = Arc::new(Identity::default());
    let known = Known { identity: identity.clone(), budget: budget.clone() };
    let (client, options) =
        blocking(move || Ok((build(&config, checked.proxy, &options, known)?, options))).await?;
    Ok(Transport::new(client, identity, login, &options, budget))
}

/// Checks what a program gave, which it gives as plain PEM.
fn check_given(user: &mut AuthInfo) -> Result<(), Error> {
    embedded::settle_identity(user).map_err(|refusal| {
        let refusal = refusal.to_string().replace("base64 of ", "");
        let reason = refusal.strip_prefix("users[].user.").unwrap_or(&refusal);
        unusable(&format!("users[].user.exec: what the program gave can't be used for TLS: {reason}"))
    })
}

/// What the connections of a client share with its requests.
struct Known {
    identity: Arc<Identity>,
    budget: Arc<Budget>,
}

/// Files block.
async fn blocking<T: Send + 'static>(
    work: impl FnOnce() -> Result<T, Error> + Send + 'static,
) -> Result<T, Error> {
    let done = tokio::task::spawn_blocking(work).await;
    done.unwrap_or_else(|_| Err(unusable("making a client of it failed")))
}

fn build(
    config: &Config,
    named: Option<ProxyUrl>,
    options: &Options,
    known: Known,
) -> Result<kube::Client, Error> {
    let Way { proxy, note } = match named {
        Some(url) => Way { proxy: Some(url), note: None },
        None => Way::to(&config.cluster_url, &options.proxy)?,
    };
    let denied = || options.denied_networks.clone();
    let mut tcp = HttpConnector::new_with_resolver(Resolver::new(denied()));
    tcp.enforce_http(false);
    tcp.set_nodelay(true);
    // Of a name with several addresses, each has its share.
    tcp.set_connect_timeout(Some(options.connect_time_limit));
    tcp.set_keepalive(Some(options.silence_limit));
    let tcp = Guarded::new(tcp, denied());
    let client = match proxy {
        None => client(config, tcp, note, options, known),
        Some(url) if url.is_socks() => {
            let socks = SocksV5::new(url.uri().clone(), tcp);
            let socks = match url.login() {
                Some(ProxyLogin { user, password }) => {
                    socks.with_auth(user.clone(), password.expose().to_owned())
                }
                None => socks,
            };
            client(config, Guarded::new(socks, denied()), note, options, known)
        }
        Some(url) => {
            let tunnel = Tunnel::new(url.uri().clone(), tcp);
            let tunnel = match url.login() {
                Some(login) => tunnel.with_auth(basic(login)?),
                None => tunnel,
            };
            client(config, Guarded::new(tunnel, denied()), note, options, known)
        }
    };
    client.map_err(|error| error_of_client(error).into())
}

/// How a server is reached.
struct Way {
    proxy: Option<ProxyUrl>,
    note: Option<Note>,
}

/// A part that the environment has in the failure of a connection.
#[derive(Debug, Clone, PartialEq, Eq)]
enum Note {
    /// The proxy that a variable names did not lead there.
    Over { variable: &'static str, host: String },
    /// The proxy that a variable names is not used.
    Unused { variable: &'static str, setting: &'static str },
}

/// A connection could not be made, by a way that the environment has to do with.
#[derive(Debug, thiserror::Error)]
#[error("{note}")]
struct Noted {
    note: Note,
    source: BoxError,
}

impl fmt::Display for Note {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Over { variable, host } => write!(f, "over the proxy {host} of {variable}"),
            Self::Unused { variable, setting } => {
                write!(f, "the proxy of {variable} is not used, {setting} uses it")
            }
        }
    }
}

impl Way {
    /// The way to a server whose kubeconfig names no proxy.
    fn to(server: &Uri, proxy: &Proxy) -> Result<Self, Error> {
        let direct = Self { proxy: None, note: None };
        Ok(match proxy {
            Proxy::Direct => direct,
            Proxy::Url(url) => Self { proxy: Some(url.clone()), note: None },
            Proxy::Environment(environment) => match environment.for_server(server) {
                None => direct,
                Some(Named { variable, url: Ok(url) }) => {
                    let host = url.uri().authority().map(ToString::to_string).unwrap_or_default();
                    Self { proxy: Some(url.clone()), note: Some(Note::Over { variable, host }) }
                }
                Some(Named { variable, url: Err(rule) }) => {
                    let invalid = InvalidVariable { variable, source: *rule };
                    return Err(Error::Unreachable { source: Arc::new(invalid) });
                }
            },
            Proxy::Unused { environment, setting } => {
                let note = |named: &Named| Note::Unused { variable: named.variable, setting };
                Self { proxy: None, note: environment.for_server(server).map(note) }
            }
        })
    }
}

fn noted(error: BoxError, note: Option<Note>) -> BoxError {
    match note {
        Some(note) => Box::new(Noted { note, source: error }),
        None => error,
    }
}

/// What a proxy is shown in the header `Proxy-Authorization` (RFC 7617).
fn basic(ProxyLogin { user, password }: &ProxyLogin) -> Result<HeaderValue, Error> {
    let login = STANDARD.encode(format!("{user}:{}", password.expose()));
    let mut value = HeaderValue::try_from(format!("Basic {login}"))
        .map_err(|_| unusable("the login of the proxy can't be sent"))?;
    value.set_sensitive(true);
    Ok(value)
}

/// TLS needs one implementation of cryptography in the process. When nobody has chosen, and more than one is linked in,
/// it would panic; so the choice is made here, as kube does for its other one.
fn choose_cryptography() {
    if CryptoProvider::get_default().is_none() {
        // An error means that somebody else has chosen in between.
        let _ = CryptoProvider::clone(&dcm_tls::provider()).install_default();
    }
}

fn config_of(mut kubeconfig: Kubeconfig) -> Result<Config, Error> {
    // Without a proxy here kube would look into the environment for one. Proxies are set up above, so what stands here
    // is for programs only, which are told what the kubeconfig says.
    let mut named = None;
    for cluster in kubeconfig.clusters.iter_mut().filter_map(|named| named.cluster.as_mut()) {
        named = std::mem::replace(&mut cluster.proxy_url, cluster.server.clone());
        embedded::read_authorities(cluster)?;
    }
    for user in kubeconfig.auth_infos.iter_mut().filter_map(|named| named.auth_info.as_mut()) {
        embedded::read_identity(user)?;
        choose_token(user)?;
    }
    let mut config = Config::try_from(kubeconfig).map_err(|error| unusable(kubeconfig_rule(&error)))?;
    config.proxy_url = None;
    if let Some(cluster) = config.auth_info.exec.as_mut().and_then(|exec| exec.cluster.as_mut()) {
        cluster.proxy_url = named;
    }
    Ok(config)
}

/// Decides between a token and a file with one. As client-go does, it prefers the file where that can be read, and takes the token in it without
/// the white space around. kube would send that white space, so such a token is taken here, and again for the next connection.
fn choose_token(user: &mut AuthInfo) -> Result<(), Error> {
    let Some(file) = &user.token_file else { return Ok(()) };
    let text =
        embedded::read_file(file).ok().and_then(|bytes| String::from_utf8(bytes).ok()).map(Secret::new);
    let token = text.as_ref().map(|text| text.expose().trim()).filter(|token| !token.is_empty());
    if !token.is_none_or(crate::kubeconfig::can_be_sent) {
        return Err(unusable("users[].user.tokenFile: must hold a token that can be sent in a header"));
    }
    match (&text, token) {
        (Some(text), Some(token)) if token == text.expose() => user.token = None,
        (_, Some(token)) => (user.token, user.token_file) = (Some(token.to_owned().into()), None),
        (_, None) if user.token.is_some() => user.token_file = None,
        (_, None) => {}
    }
    Ok(())
}

fn client<H>(
    config: &Config,
    connector: H,
    note: Option<Note>,
    options: &Options,
    Known { identity, budget }: Known,
) -> Result<kube::Client, kube::Error>
where
    H: Service<Uri> + Clone + Send + Sync + 'static,
    H::Response: Connection + Read + Write + Send + Unpin + 'static,
    H::Future: Send + 'static,
    H::Error: Into<BoxError>,
{
    let connector = Establish::new(tls(config, connector)?, options.connect_time_limit);
    let (server, silence_limit) = (config.cluster_url.clone(), options.silence_limit);
    let connect: Connect = Box::new(move || {
        let connecting = link::connect(connector.clone(), server.clone(), silence_limit);
        let note = note.clone();
        connecting.map_err(move |error| error_below(noted(error, note))).boxed()
    });
    let question = server::question(&config.cluster_url).map_err(kube::Error::HttpError)?;
    let pool = Arc::new(Pool::new(connect, question, options.connections_idle_max, identity, budget));
    let service = ServiceBuilder::new()
        .layer(config.base_uri_layer())
        .option_layer(config.auth_layer()?)
        .layer(config.extra_headers_layer()?)
        .map_err(BoxError::from)
        .service(service_fn(move |request| pool.clone().send(request)));
    Ok(kube::Client::new(service, config.default_namespace.clone()))
}

/// The verifier of a server by the authorities of the kubeconfig, in the place of kube's: it verifies the same, and its errors name what
/// is not supported.
fn verifier(config: &Config) -> Option<Arc<dyn ServerCertVerifier>> {
    let authorities = config.root_cert.as_ref().filter(|_| !config.accept_invalid_certs)?;
    let mut roots = RootCertStore::empty();
    roots.add_parsable_certificates(authorities.iter().map(|der| CertificateDer::from(der.as_slice())));
    dcm_tls::server_verifier(roots).ok()
}

fn tls<H>(config: &Config, connector: H) -> Result<HttpsConnector<H>, kube::Error> {
    let mut tls = config.rustls_client_config()?;
    if let Some(verifier) = verifier(config) {
        tls.dangerous().set_certificate_verifier(verifier);
    }
    let builder = HttpsConnectorBuilder::new().with_tls_config(tls).https_or_http();
    let builder = match &config.tls_server_name {
        None => builder,
        Some(name) => {
            let name = name
                .clone()
                .try_into()
                .map_err(kube::client::RustlsTlsError::InvalidServerName)
                .map_err(kube::Error::RustlsTls)?;
            builder.with_server_name_resolver(FixedServerNameResolver::new(name))
        }
    };
    Ok(builder.enable_all_versions().wrap_connector(connector))
}
