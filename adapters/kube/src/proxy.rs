//! Proxies between us and a cluster.

use std::fmt;

use dcm_core::host;
use dcm_core::secret::Secret;
use http::Uri;
use percent_encoding::percent_decode_str;

use crate::environment::EnvironmentProxies;

/// What a proxy's URL must be.
const FORM: &str = "must be http://host:port or socks5://host:port";

/// URL of a proxy: `http://host:port` (tunnels by CONNECT) or `socks5://host:port`.
///
/// The connection to the cluster goes through it under TLS of its own. Only a proxy of the environment may want a password.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ProxyUrl {
    uri: Uri,
    login: Option<ProxyLogin>,
}

/// What a proxy is shown.
#[derive(Clone, PartialEq, Eq)]
pub(crate) struct ProxyLogin {
    pub(crate) user: String,
    pub(crate) password: Secret,
}

/// Why a text is no [`ProxyUrl`].
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("a proxy URL {rule}")]
pub struct InvalidProxyUrl {
    /// The rule that it breaks.
    pub rule: &'static str,
}

/// Which proxy clusters are reached over whose kubeconfig names none.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub enum Proxy {
    /// None.
    #[default]
    Direct,
    /// The same one for each cluster.
    Url(ProxyUrl),
    /// The one that the environment names for a server.
    Environment(EnvironmentProxies),
    /// None. Where the environment names one for a server that can't be reached, the error says so.
    Unused {
        /// What the environment names.
        environment: EnvironmentProxies,
        /// How it is used, such as the name of a setting.
        setting: &'static str,
    },
}

impl ProxyUrl {
    /// Parses a URL.
    ///
    /// # Errors
    /// [`InvalidProxyUrl`], without the text, as it may hold a password.
    pub fn new(text: &str) -> Result<Self, InvalidProxyUrl> {
        let uri: Uri = text.parse().map_err(|_| InvalidProxyUrl { rule: FORM })?;
        if !matches!(uri.scheme_str(), Some("http" | "socks5")) || uri.host().is_none_or(str::is_empty) {
            return Err(InvalidProxyUrl { rule: FORM });
        }
        if uri.authority().is_some_and(|authority| authority.as_str().contains('@')) {
            return Err(InvalidProxyUrl { rule: "must not hold a user name or password" });
        }
        let authority = uri.authority().map(http::uri::Authority::as_str).unwrap_or_default();
        let uri = match (host::port(authority), uri.scheme_str()) {
            (Ok(Some(_)), _) | (Ok(None), Some("http")) => uri,
            // What other clients take for SOCKS.
            (Ok(None), _) => {
                format!("socks5://{authority}:1080").parse().map_err(|_| InvalidProxyUrl { rule: FORM })?
            }
            (Err(_), _) => return Err(InvalidProxyUrl { rule: FORM }),
        };
        Ok(Self { uri, login: None })
    }

    /// Parses what the environment names: also `host:port`, with a user name and a password before the host, percent-encoded.
    pub(crate) fn of_environment(text: &str) -> Result<Self, InvalidProxyUrl> {
        let invalid = || InvalidProxyUrl { rule: FORM };
        let (scheme, rest) = text.split_once("://").unwrap_or(("http", text));
        let scheme = match &*scheme.to_ascii_lowercase() {
            "socks5h" => "socks5".to_owned(),
            scheme => scheme.to_owned(),
        };
        let (authority, path) = rest.split_at(rest.find(['/', '?', '#']).unwrap_or(rest.len()));
        // In a password, these are percent-encoded: what comes before would be taken for the host.
        if path.contains('@') {
            return Err(InvalidProxyUrl { rule: "must have its password percent-encoded" });
        }
        let (login, host) = match authority.rsplit_once('@') {
            Some((login, host)) => (Some(login), host),
            None => (None, authority),
        };
        let Self { uri, .. } = Self::new(&format!("{scheme}://{host}"))?;
        let decoded = |text| percent_decode_str(text).decode_utf8().map_err(|_| invalid());
        let login = match login.map(|login| login.split_once(':').unwrap_or((login, ""))) {
            Some((user, password)) => Some(ProxyLogin {
                user: decoded(user)?.into_owned(),
                password: Secret::new(decoded(password)?),
            }),
            None => None,
        };
        Ok(Self { uri, login })
    }

    /// The URL, without user name and password.
    pub(crate) fn uri(&self) -> &Uri {
        &self.uri
    }

    pub(crate) fn login(&self) -> Option<&ProxyLogin> {
        self.login.as_ref()
    }

    /// True for SOCKS 5, false for HTTP.
    pub(crate) fn is_socks(&self) -> bool {
        self.uri.scheme_str() == Some("socks5")
    }
}

impl fmt::Debug for ProxyLogin {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("ProxyLogin")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_http_and_socks5_without_credentials_are_taken() {
        for good in ["http://proxy:3128", "http://127.0.0.1:80/", "socks5://[::1]:1080"] {
            assert!(ProxyUrl::new(good).is_ok(), "{good}");
        }
        for bad in
            ["", "proxy:3128", "https://proxy", "socks4://p:1", "http://", "http://u:p@proxy:1", "http://a b"]
        {
            assert!(ProxyUrl::new(bad).is_err(), "{bad}");
        }
        assert!(ProxyUrl::new("socks5://p:1").unwrap().is_socks());
    }

    #[test]
    fn a_proxy_of_the_environment_may_want_a_password_that_is_never_shown() {
        let read = |text: &str| ProxyUrl::of_environment(text).unwrap();
        for text in ["proxy:3128", "http://proxy:3128", "http://proxy:3128/"] {
            assert_eq!((read(text).uri().host(), read(text).login()), (Some("proxy"), None), "{text}");
        }
        assert!(read("socks5h://proxy:1080").is_socks());
        let url = read("http://ann:p%40ss@proxy:3128");
        let login = url.login().unwrap();
        assert_eq!((&*login.user, login.password.expose()), ("ann", "p@ss"));
        assert!(!format!("{url:?}").contains("ss"), "{url:?}");
        assert_eq!(read("socks5://proxy").uri().port_u16(), Some(1080));
        assert_eq!(read("HTTP://proxy:3128").uri().port_u16(), Some(3128));
        for bad in [
            "https://proxy:8080",
            "http://",
            "ann@",
            "ftp://proxy",
            "http://proxy:port",
            "http://ann:pa",
            "http://ann:pa/ss@proxy:3128",
            "ann:p#ss@proxy:3128",
        ] {
            assert!(ProxyUrl::of_environment(bad).is_err(), "{bad}");
        }
    }
}
