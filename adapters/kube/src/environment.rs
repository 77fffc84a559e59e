//! The proxies that an environment names, read as client-go reads them.
//!
//! Go's `golang.org/x/net/http/httpproxy` has the rules: which variable counts for which scheme, what `NO_PROXY` exempts, and that servers
//! on this machine are never reached over a proxy.

use std::net::IpAddr;

use http::Uri;
use ipnet::IpNet;

use crate::proxy::{InvalidProxyUrl, ProxyUrl};

/// Proxies that an environment names: for servers at `https://` in `HTTPS_PROXY` or `https_proxy`, for those at `http://` in `HTTP_PROXY`
/// or `http_proxy`. `NO_PROXY` or `no_proxy` names servers that are reached without one.
///
/// A proxy is `http://host:port`, `host:port` or `socks5://host:port`, with a user name and a password before the host where it wants them.
/// `NO_PROXY` is a list with commas: `*` for all, addresses, networks such as `10.0.0.0/8`, names (with all below them), and names that
/// begin with `.` or `*.` (those below them alone); addresses and names may have a port. `localhost` and loopback addresses are
/// always reached without a proxy.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct EnvironmentProxies {
    https: Option<Named>,
    http: Option<Named>,
    exempt: Vec<Exempt>,
}

/// A proxy that a variable names, or why its value is none.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Named {
    pub(crate) variable: &'static str,
    pub(crate) url: Result<ProxyUrl, InvalidProxyUrl>,
}

/// A variable of the environment whose value is no proxy. Its value is not shown, as it may hold a password.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("{variable} of the environment can't be used")]
pub struct InvalidVariable {
    /// The variable.
    pub variable: &'static str,
    /// The rule that its value breaks.
    pub source: InvalidProxyUrl,
}

#[derive(Debug, Clone, PartialEq, Eq)]
enum Exempt {
    All,
    Network(IpNet),
    Address(IpAddr, Option<String>),
    Name(Name),
}

/// Names that end so.
#[derive(Debug, Clone, PartialEq, Eq)]
struct Name {
    /// With a dot before it.
    suffix: String,
    /// Whether the name without the dot is one of them.
    has_itself: bool,
    port: Option<String>,
}

impl EnvironmentProxies {
    /// What the environment of this process names.
    #[must_use]
    pub fn of_process() -> Self {
        Self::read(|name| std::env::var(name).ok())
    }

    /// What an environment names, whose variables are asked for.
    #[must_use]
    pub fn read(variable: impl Fn(&str) -> Option<String>) -> Self {
        let first = |names: [&'static str; 2]| {
            let set = |name| variable(name).filter(|value| !value.is_empty()).map(|value| (name, value));
            names.into_iter().find_map(set)
        };
        let named = |names| {
            let (variable, value) = first(names)?;
            Some(Named { variable, url: ProxyUrl::of_environment(&value) })
        };
        let exempt = first(["NO_PROXY", "no_proxy"]).map(|(_, value)| value).unwrap_or_default();
        Self {
            https: named(["HTTPS_PROXY", "https_proxy"]),
            http: named(["HTTP_PROXY", "http_proxy"]),
            exempt: exempt.split(',').filter_map(Exempt::read).collect(),
        }
    }

    /// Refuses a value that is no proxy, before a server is to be reached over it.
    ///
    /// # Errors
    /// [`InvalidVariable`].
    pub fn check(&self) -> Result<(), InvalidVariable> {
        for Named { variable, url } in self.https.iter().chain(&self.http) {
            url.as_ref().map_err(|rule| InvalidVariable { variable, source: *rule })?;
        }
        Ok(())
    }

    /// The proxy that a server is reached over.
    pub(crate) fn for_server(&self, server: &Uri) -> Option<&Named> {
        let (named, implied) = match server.scheme_str() {
            Some("https") => (&self.https, 443),
            _ => (&self.http, 80),
        };
        let host = server.host()?;
        let host = host.strip_prefix('[').and_then(|host| host.strip_suffix(']')).unwrap_or(host);
        let port = server.port_u16().unwrap_or(implied).to_string();
        let is_exempt = match host.parse::<IpAddr>().map(|address| address.to_canonical()) {
            Ok(address) if address.is_loopback() => true,
            Ok(address) => self.exempt.iter().any(|exempt| exempt.has_address(address, &port)),
            Err(_) if host.eq_ignore_ascii_case("localhost") => true,
            Err(_) => {
                let name = host.to_ascii_lowercase();
                self.exempt.iter().any(|exempt| exempt.has_name(&name, &port))
            }
        };
        named.as_ref().filter(|_| !is_exempt)
    }
}

impl Exempt {
    /// None for a text that exempts nothing.
    fn read(text: &str) -> Option<Self> {
        let text = text.trim().to_ascii_lowercase();
        if text == "*" {
            return Some(Self::All);
        }
        if let Ok(network) = text.parse() {
            return Some(Self::Network(network));
        }
        let (host, port) = match text.rsplit_once(':') {
            Some((host, port)) if host.starts_with('[') && host.ends_with(']') => {
                (&host[1..host.len() - 1], Some(port.to_owned()))
            }
            Some((host, port)) if !host.contains(':') => (host, Some(port.to_owned())),
            _ => (&*text, None),
        };
        // A name with a colon at its end names no port.
        let port = port.filter(|port| !port.is_empty());
        if let Ok(address) = host.parse::<IpAddr>() {
            return Some(Self::Address(address.to_canonical(), port));
        }
        let host = if host.starts_with("*.") { &host[1..] } else { host };
        match host.strip_prefix('.') {
            _ if host.is_empty() => None,
            Some(_) => Some(Self::Name(Name { suffix: host.to_owned(), has_itself: false, port })),
            None => Some(Self::Name(Name { suffix: format!(".{host}"), has_itself: true, port })),
        }
    }

    fn has_address(&self, address: IpAddr, port: &str) -> bool {
        match self {
            Self::All => true,
            Self::Network(network) => network.contains(&address),
            Self::Address(one, only) => *one == address && is_port(only.as_deref(), port),
            Self::Name(_) => false,
        }
    }

    fn has_name(&self, name: &str, port: &str) -> bool {
        match self {
            Self::All => true,
            Self::Name(Name { suffix, has_itself, port: only }) => {
                let is_below = name.ends_with(&**suffix) || *has_itself && *name == suffix[1..];
                is_below && is_port(only.as_deref(), port)
            }
            Self::Network(_) | Self::Address(..) => false,
        }
    }
}

fn is_port(only: Option<&str>, port: &str) -> bool {
    only.is_none_or(|only| only == port)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(variables: &[(&str, &str)]) -> EnvironmentProxies {
        let value = |name: &str| variables.iter().find(|(one, _)| *one == name).map(|(_, value)| *value);
        EnvironmentProxies::read(|name| value(name).map(str::to_owned))
    }

    fn variable_of(environment: &EnvironmentProxies, server: &str) -> Option<&'static str> {
        environment.for_server(&server.parse().unwrap()).map(|named| named.variable)
    }

    #[test]
    fn the_variable_of_the_scheme_counts_in_upper_case_first() {
        let one = read(&[("https_proxy", "http://lower:1")]);
        assert_eq!(variable_of(&one, "https://api.example"), Some("https_proxy"));
        assert_eq!(variable_of(&one, "http://api.example"), None);
        let both = read(&[("https_proxy", "http://lower:1"), ("HTTPS_PROXY", "upper:2")]);
        assert_eq!(variable_of(&both, "https://api.example"), Some("HTTPS_PROXY"));
        let empty = read(&[("https_proxy", "http://lower:1"), ("HTTPS_PROXY", "")]);
        assert_eq!(variable_of(&empty, "https://api.example"), Some("https_proxy"));
        let other = read(&[("HTTP_PROXY", "http://one:1"), ("ALL_PROXY", "http://all:1")]);
        assert_eq!(variable_of(&other, "https://api.example"), None);
        assert_eq!(variable_of(&other, "http://api.example"), Some("HTTP_PROXY"));
    }

    #[test]
    fn what_no_proxy_names_and_this_machine_are_reached_without_one() {
        let is_exempt = |exempt: &str, server: &str| {
            let environment = read(&[("HTTPS_PROXY", "http://proxy:1"), ("NO_PROXY", exempt)]);
            variable_of(&environment, server).is_none()
        };
        for (exempt, server) in [
            ("", "https://localhost:6443"),
            ("", "https://127.0.0.1:6443"),
            ("", "https://127.9.9.9"),
            ("", "https://[::1]:6443"),
            ("*", "https://api.example"),
            ("*", "https://192.0.2.1"),
            ("api.example", "https://api.example:6443"),
            ("example", "https://api.EXAMPLE:6443"),
            (".example", "https://api.example:6443"),
            ("*.example", "https://api.example:6443"),
            ("other, api.example:6443 ,", "https://api.example:6443"),
            ("api.example:443", "https://api.example"),
            ("192.0.2.1", "https://192.0.2.1:6443"),
            ("192.0.2.1:6443", "https://192.0.2.1:6443"),
            ("[192.0.2.1]:6443", "https://192.0.2.1:6443"),
            ("192.0.2.0/24", "https://192.0.2.200:6443"),
            ("2001:db8::1", "https://[2001:db8::1]:6443"),
            ("[2001:db8::1]:6443", "https://[2001:db8::1]:6443"),
            ("2001:db8::/32", "https://[2001:db8::1]:6443"),
        ] {
            assert!(is_exempt(exempt, server), "{exempt:?}, {server}");
        }
        for (exempt, server) in [
            ("", "https://api.example"),
            ("", "https://a.localhost"),
            (".example", "https://example"),
            ("*.example", "https://example"),
            ("pi.example", "https://api.example"),
            ("api.example:6443", "https://api.example:443"),
            ("192.0.2.1:443", "https://192.0.2.1:6443"),
            ("192.0.2.0/24", "https://192.0.3.1"),
            ("192.0.2.1", "https://192.0.2.10"),
            ("[2001:db8::1]:443", "https://[2001:db8::1]:6443"),
            (":6443", "https://api.example:6443"),
            ("*example", "https://api.example"),
        ] {
            assert!(!is_exempt(exempt, server), "{exempt:?}, {server}");
        }
    }

    #[test]
    fn a_value_that_is_no_proxy_is_an_error_where_it_would_be_used() {
        let environment = read(&[("HTTPS_PROXY", "https://proxy:8080"), ("NO_PROXY", "near.example")]);
        let server: Uri = "https://api.example".parse().unwrap();
        assert!(environment.for_server(&server).unwrap().url.is_err());
        assert_eq!(variable_of(&environment, "https://near.example"), None);
    }
}
