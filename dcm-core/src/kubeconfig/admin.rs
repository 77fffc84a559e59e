//! What a registered cluster's kubeconfig says about where the cluster is.

use std::fmt;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use serde_json::{Value, json};

use super::form;
use super::given::{Content, Given};
use super::go_base64;
use super::input::{Entry, Invalid, field};
use super::pem::{self, Certificates};
use super::user_endpoint::UserEndpoint;
use crate::hash::ContentHash;
use crate::host::{self, Nearby};
use crate::secret::Secret;

/// Hexadecimal digits of a digest: 64 bits, to see a change by.
const DIGEST_DIGITS: usize = 16;

/// How warnings for users begin.
const USERS_GET: &str = "users get ";

/// Where a cluster is, from the current context of its administrator's kubeconfig: what users get to see of it.
///
/// The administrator's credentials are not read. Only what can be handed to others is accepted: an `https` server and
/// a proxy without user names in their addresses, and authorities that are written inline.
#[derive(Clone, PartialEq, Eq)]
pub struct Admin {
    server: String,
    certificate_authority_data: Option<String>,
    tls_server_name: Option<String>,
    proxy_url: Option<String>,
}

impl Admin {
    /// Reads a kubeconfig, YAML or JSON.
    ///
    /// # Errors
    /// [`Invalid`], with the path of the field that is missing or refused.
    pub fn read(kubeconfig: &Secret) -> Result<Self, Invalid> {
        Ok(Found::in_current(&Given::read(kubeconfig)?)?.admin)
    }

    /// Warnings of what is not used of a kubeconfig. One that can't be read gets none.
    #[must_use]
    pub fn warnings(kubeconfig: &Secret) -> Vec<String> {
        let Ok(given) = Given::read(kubeconfig) else { return Vec::new() };
        let of_cluster = Found::in_current(&given).ok().and_then(|found| found.warning);
        of_cluster.into_iter().chain(given.warnings().iter().cloned()).collect()
    }

    /// Reads the entry of this name, which stands at a path.
    pub(super) fn named(name: &str, path: &str, clusters: &[Entry]) -> Result<Self, Invalid> {
        let index = only(clusters, name, path, "must name exactly one of `clusters`")?;
        let path = format!("clusters[{index}].cluster");
        Ok(read(&Content::new(path, &clusters[index].body["cluster"], &form::CLUSTER))?.admin)
    }

    /// The URL of the API server.
    #[must_use]
    pub fn server(&self) -> &str {
        &self.server
    }

    /// The authorities that the server's certificate is verified with: base64 of PEM, as in a kubeconfig. None means
    /// those of the user's system.
    #[must_use]
    pub fn certificate_authority_data(&self) -> Option<&str> {
        self.certificate_authority_data.as_deref()
    }

    /// The name that the server's certificate is verified for, where it isn't that of the URL.
    #[must_use]
    pub fn tls_server_name(&self) -> Option<&str> {
        self.tls_server_name.as_deref()
    }

    /// A digest of all that users get to see of it: two have the same when they say the same.
    #[must_use]
    pub fn digest(&self) -> String {
        let Self { server, certificate_authority_data, tls_server_name, proxy_url } = self;
        ContentHash::of(&json!([server, certificate_authority_data, tls_server_name, proxy_url]))
            .short(DIGEST_DIGITS)
    }

    /// The cluster's endpoint: a hash of what decides which server a client trusts, whatever its credential. That is the server's URL, the
    /// authorities, the TLS server name and the proxy. Another spelling of the same URL, and other white space in the authorities,
    /// give the same endpoint.
    #[must_use]
    pub fn endpoint(&self) -> ContentHash {
        let Self { server, certificate_authority_data, tls_server_name, proxy_url } = self;
        ContentHash::of(&json!({
            "server": normalised(server),
            "authorities": certificate_authority_data.as_deref().map(without_white_space),
            "tlsServerName": tls_server_name.as_deref().map(str::to_ascii_lowercase),
            "proxy": proxy_url.as_deref().map(normalised),
        }))
    }

    /// The proxy that the server is reached over.
    #[must_use]
    pub fn proxy_url(&self) -> Option<&str> {
        self.proxy_url.as_deref()
    }
}

impl Admin {
    /// The same cluster as users reach it, who have an endpoint of their own: its server and TLS server name, its authorities where it has
    /// any, and no proxy.
    #[must_use]
    pub fn for_users(self, endpoint: UserEndpoint) -> Self {
        let UserEndpoint { server, certificate_authority_data, tls_server_name } = endpoint;
        let certificate_authority_data = certificate_authority_data.or(self.certificate_authority_data);
        Self { server, certificate_authority_data, tls_server_name, proxy_url: None }
    }

    /// A warning for users who get this: the URL of its server, or of the proxy to it, where other machines than the administrator's hardly
    /// reach its host, and why.
    #[must_use]
    pub fn warning_for_users(&self) -> Option<String> {
        // Behind a proxy, the proxy resolves the server's name and connects to it.
        let url = self.proxy_url.as_deref().unwrap_or(&self.server);
        let nearby = Nearby::of_host(host::of_url(url))?;
        Some(format!("{USERS_GET}{url}, {nearby}, which other machines hardly reach"))
    }

    /// Whether a warning is one for users: another address for them would mend it.
    #[must_use]
    pub fn is_for_users(warning: &str) -> bool {
        warning.starts_with(USERS_GET)
    }
}

impl fmt::Debug for Admin {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Admin({})", self.server)
    }
}

pub(super) fn only(entries: &[Entry], name: &str, path: &str, rule: &'static str) -> Result<usize, Invalid> {
    let mut found = entries.iter().enumerate().filter(|(_, entry)| entry.name == name);
    match (found.next(), found.next()) {
        (Some((index, _)), None) => Ok(index),
        _ => Err(field(path, rule)),
    }
}

/// Where a cluster is, and what of it is not used.
struct Found {
    admin: Admin,
    warning: Option<String>,
}

impl Found {
    fn in_current(given: &Given) -> Result<Self, Invalid> {
        let current = given.current_context().ok_or_else(|| field("current-context", "must be set"))?;
        let context = given.context(current);
        let context =
            context.ok_or_else(|| field("current-context", "must name exactly one of `contexts`"))?;
        let path = || context.path_of("cluster");
        let name = context.text("cluster").ok_or_else(|| field(path(), "must be set"))?;
        let cluster = given.cluster(name);
        read(&cluster.ok_or_else(|| field(path(), "must name exactly one of `clusters`"))?)
    }
}

fn read(cluster: &Content) -> Result<Found, Invalid> {
    let refuse = |member: &str, rule| Err(field(cluster.path_of(member), rule));
    cluster.check_cluster()?;
    let Some(server) = cluster.text("server") else { return refuse("server", "must be set") };
    if let Err(rule) = check_server(server) {
        return refuse("server", rule);
    }
    let proxy_url = cluster.text("proxy-url");
    if !proxy_url.is_none_or(|url| is_address(url, &["http://", "https://", "socks5://"])) {
        let rule = "must be an http://, https:// or socks5:// URL without a user name: users get it, too";
        return refuse("proxy-url", rule);
    }
    if cluster.fields.get("insecure-skip-tls-verify") == Some(&Value::Bool(true)) {
        let rule = "must not be set: give the server's authority instead";
        return refuse("insecure-skip-tls-verify", rule);
    }
    if cluster.text("certificate-authority").is_some() {
        let rule = "must not be the path of a file: write `certificate-authority-data`";
        return refuse("certificate-authority", rule);
    }
    let member = "certificate-authority-data";
    let authorities = match cluster.text(member).map(Authorities::read).transpose() {
        Ok(authorities) => authorities,
        Err(rule) => return refuse(member, rule),
    };
    let warning = authorities.as_ref().and_then(Authorities::warning);
    Ok(Found {
        warning: warning.map(|warning| format!("{}: {warning}", cluster.path_of(member))),
        admin: Admin {
            server: server.to_owned(),
            certificate_authority_data: authorities.map(|authorities| authorities.data),
            tls_server_name: cluster.text("tls-server-name").map(str::to_owned),
            proxy_url: proxy_url.map(str::to_owned),
        },
    })
}

/// Why a URL is none of an API server that users can be sent to.
pub(super) fn check_server(url: &str) -> Result<(), &'static str> {
    if is_address(url, &["https://"]) { Ok(()) } else { Err("must be an https:// URL without a user name") }
}

/// The authorities of a cluster.
struct Authorities {
    /// Base64 of PEM, with nothing that users must not get or can't use.
    data: String,
    /// How many blocks of what was given are not in there.
    left_out: usize,
}

impl Authorities {
    /// Reads base64 in one line. Where not all is of use, the certificates that can be read are left; else it stays as it is, so that the
    /// cluster's endpoint does, too.
    fn read(data: &str) -> Result<Self, &'static str> {
        let rule = "must be base64 of PEM with certificates";
        let pem = go_base64::decode(data.as_bytes()).ok_or(rule)?;
        let certificates = Certificates::of(&pem);
        match (certificates.readable.is_empty(), certificates.others) {
            // TLS decides whether it can use those that are there.
            (true, others) if others > 0 && pem::certificate_blocks(&pem).count() == others => {
                Ok(Self { data: data.to_owned(), left_out: 0 })
            }
            (true, _) => Err(rule),
            (false, 0) => Ok(Self { data: data.to_owned(), left_out: 0 }),
            (false, left_out) => Ok(Self { data: STANDARD.encode(certificates.to_pem()), left_out }),
        }
    }

    fn warning(&self) -> Option<String> {
        let left_out = self.left_out;
        let blocks = if left_out == 1 {
            "block that is no readable certificate"
        } else {
            "blocks that are no readable certificates"
        };
        (left_out > 0).then(|| format!("ignored {left_out} {blocks}"))
    }
}

/// Authorities that users get as they are, without white space; or the rule that they break.
pub(super) fn check_authorities(data: &str) -> Result<(), &'static str> {
    let rule = "must be base64 of PEM with certificates and nothing else";
    let data: String = data.split_ascii_whitespace().collect();
    let bytes = STANDARD.decode(&data).map_err(|_| rule)?;
    let text = String::from_utf8(bytes).map_err(|_| rule)?;
    let blocks = text.matches("-----BEGIN ").count();
    let certificates = text.matches("-----BEGIN CERTIFICATE-----").count();
    if blocks == 0 || blocks != certificates { Err(rule) } else { Ok(()) }
}

/// A URL in one spelling: its host in lower case, without the port that `https` implies and without slashes at its end.
fn normalised(url: &str) -> String {
    let (scheme, rest) = url.split_once("://").unwrap_or(("", url));
    let scheme = scheme.to_ascii_lowercase();
    let (authority, path) = rest.split_at(rest.find(['/', '?', '#']).unwrap_or(rest.len()));
    let authority = authority.to_ascii_lowercase();
    let implied = if scheme == "https" { ":443" } else { "" };
    let authority = authority.strip_suffix(implied).unwrap_or(&authority);
    // In a query or a fragment, a slash at the end is part of a value.
    let path = if path.contains(['?', '#']) { path } else { path.trim_end_matches('/') };
    format!("{scheme}://{authority}{path}")
}

/// Base64 of PEM without empty lines and white space at the end of lines. The order of the certificates stays.
fn without_white_space(data: &str) -> String {
    let bytes = STANDARD.decode(data).unwrap_or_default();
    let text = String::from_utf8_lossy(&bytes);
    let lines: Vec<&str> = text.lines().map(str::trim_end).filter(|line| !line.is_empty()).collect();
    lines.join("\n")
}

/// True for a URL of one of the schemes that has a host and no user name.
fn is_address(url: &str, schemes: &[&str]) -> bool {
    let of_scheme = |scheme: &&str| {
        let (start, rest) = url.split_at_checked(scheme.len())?;
        start.eq_ignore_ascii_case(scheme).then_some(rest)
    };
    let Some(rest) = schemes.iter().find_map(of_scheme) else { return false };
    let authority = rest.split(['/', '?', '#']).next().unwrap_or_default();
    !host::of_url(url).is_empty()
        && host::port(authority).is_ok()
        && !url.contains('@')
        && !url.contains(|character: char| character.is_whitespace() || character.is_control())
}
