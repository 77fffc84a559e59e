//! Hosts, as URLs and requests name them.

use std::net::IpAddr;

/// True for what is this machine alone, by its name: `localhost` (RFC 6761, section 6.3), and loopback addresses (RFC 1122, section 3.2.1.3;
/// RFC 4291, section 2.5.3), those of IPv6 in brackets or without, those of IPv4 in the form of IPv6, too. Nothing is resolved. Nobody else can read what is said there,
/// and no page from elsewhere can take these names.
#[must_use]
pub fn is_loopback(host: &str) -> bool {
    let address = host.strip_prefix('[').and_then(|rest| rest.strip_suffix(']')).unwrap_or(host);
    let is_loopback = |address: IpAddr| address.to_canonical().is_loopback();
    host.eq_ignore_ascii_case("localhost") || address.parse().is_ok_and(is_loopback)
}

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
            "localhost.",
            "a.localhost",
        ] {
            assert!(!is_loopback(host), "{host}");
        }
    }
}
