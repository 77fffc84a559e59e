//! Hosts, as URLs and requests name them.

use std::fmt;
use std::net::{IpAddr, Ipv6Addr};

/// True for what is this machine alone, by its name: `localhost` (RFC 6761, section 6.3), and loopback addresses (RFC 1122, section 3.2.1.3;
/// RFC 4291, section 2.5.3), those of IPv6 in brackets or without, those of IPv4 in the form of IPv6, too. Nothing is resolved. Nobody else can read what is said there,
/// and no page from elsewhere can take these names.
#[must_use]
pub fn is_loopback(host: &str) -> bool {
    host.eq_ignore_ascii_case("localhost") || address(host).is_some_and(|address| address.is_loopback())
}

/// A kind of host that other machines hardly reach.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Nearby {
    /// The machine itself: a loopback address, `localhost`, or a name below it (RFC 6761, section 6.3).
    Loopback,
    /// `0.0.0.0` or `::`, which servers listen on and no client can be sent to (RFC 1122, section 3.2.1.3; RFC 4291, section 2.5.2).
    Unspecified,
    /// An address of one network segment (RFC 3927; RFC 4291, section 2.5.6).
    LinkLocal,
    /// A name of one word, such as one of a container network or of a file of hosts.
    OneWord,
}

impl Nearby {
    /// The kind of a host in a URL; none for one that other machines may well reach. Nothing is resolved.
    #[must_use]
    pub fn of_host(host: &str) -> Option<Self> {
        if let Some(address) = address(host) {
            let is_link_local = match address {
                IpAddr::V4(address) => address.is_link_local(),
                IpAddr::V6(address) => address.is_unicast_link_local(),
            };
            return match address {
                _ if address.is_loopback() => Some(Self::Loopback),
                _ if address.is_unspecified() => Some(Self::Unspecified),
                _ if is_link_local => Some(Self::LinkLocal),
                _ => None,
            };
        }
        let name = host.strip_suffix('.').unwrap_or(host).to_ascii_lowercase();
        match name.rsplit_once('.') {
            _ if name == "localhost" => Some(Self::Loopback),
            Some((_, "localhost")) => Some(Self::Loopback),
            Some(_) => None,
            None => Some(Self::OneWord),
        }
    }
}

impl fmt::Display for Nearby {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Loopback => "a loopback address",
            Self::Unspecified => "an unspecified address",
            Self::LinkLocal => "a link-local address",
            Self::OneWord => "a host name of one word",
        })
    }
}

/// The address that a host is, in the form of IPv4 where it has one; none for a name. The zone of an address of IPv6 (RFC 6874) is
/// passed over.
fn address(host: &str) -> Option<IpAddr> {
    let host = host.strip_prefix('[').and_then(|rest| rest.strip_suffix(']')).unwrap_or(host);
    let zoned =
        || host.split_once('%').and_then(|(address, _)| Some(address.parse::<Ipv6Addr>().ok()?.into()));
    Some(host.parse::<IpAddr>().ok().or_else(zoned)?.to_canonical())
}

/// The host of a URL, as it stands there: an address of IPv6 in its brackets. Empty where the URL has none.
#[must_use]
pub fn of_url(url: &str) -> &str {
    let rest = url.split_once("://").map_or(url, |(_, rest)| rest);
    let authority = rest.split(['/', '?', '#']).next().unwrap_or_default();
    let authority = authority.rsplit_once('@').map_or(authority, |(_, host)| host);
    match authority.find(']') {
        Some(end) => &authority[..=end],
        None => authority.split(':').next().unwrap_or_default(),
    }
}

/// The port of an authority (RFC 3986, section 3.2) without a user name; none where it names none.
///
/// # Errors
/// [`InvalidPort`] for what is no number of a port.
pub fn port(authority: &str) -> Result<Option<u16>, InvalidPort> {
    let after_host = authority.strip_prefix(of_url(authority)).unwrap_or_default();
    match after_host.strip_prefix(':') {
        Some(port) => port.parse().map(Some).map_err(|_| InvalidPort),
        None if after_host.is_empty() => Ok(None),
        None => Err(InvalidPort),
    }
}

/// A text that is no number of a port.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("must be a port, 0 to 65535")]
pub struct InvalidPort;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_names_of_this_machine_are_loopback() {
        for host in ["localhost", "LocalHost", "127.0.0.1", "127.9.9.9", "::1", "[::1]", "[::ffff:127.0.0.1]"]
        {
            assert!(is_loopback(host), "{host}");
        }
        for host in [
            "",
            "0.0.0.0",
            "[::]",
            "192.0.2.1",
            "[::1",
            "127.1",
            "127.0.0.1.example.com",
            "127.0.0.1%lo",
            "[127.0.0.1%lo]",
            "localhost.",
            "a.localhost",
        ] {
            assert!(!is_loopback(host), "{host}");
        }
    }

    #[test]
    fn what_other_machines_hardly_reach_is_told_by_its_kind() {
        for (url, kind) in [
            ("https://127.0.0.1:6443", Nearby::Loopback),
            ("https://[::1]:6443/api", Nearby::Loopback),
            ("https://[::ffff:127.0.0.1]", Nearby::Loopback),
            ("https://LOCALHOST.:6443", Nearby::Loopback),
            ("https://lab.localhost", Nearby::Loopback),
            ("https://0.0.0.0:6443", Nearby::Unspecified),
            ("https://[::]:6443", Nearby::Unspecified),
            ("https://169.254.10.1", Nearby::LinkLocal),
            ("https://[fe80::1]:6443", Nearby::LinkLocal),
            ("https://[fe80::1%25eth0]:6443", Nearby::LinkLocal),
            ("https://kubernetes:6443", Nearby::OneWord),
            ("https://lab-control-plane.:6443?a=b.c", Nearby::OneWord),
        ] {
            assert_eq!(Nearby::of_host(of_url(url)), Some(kind), "{url}");
        }
        for url in [
            "https://192.0.2.1:6443",
            "https://10.0.0.1",
            "https://[2001:db8::1]:6443",
            "https://api.example.com.:6443",
            "https://kubernetes.default.svc",
            "https://a.localhost.example.com",
        ] {
            assert_eq!(Nearby::of_host(of_url(url)), None, "{url}");
        }
    }
}
