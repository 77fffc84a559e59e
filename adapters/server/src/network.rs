//! Where somebody asks from, as limits tell one from another.

use std::fmt;
use std::net::{IpAddr, Ipv4Addr};

/// An address, or of IPv6 the network that one customer of a provider has: whoever has one address of it has them all.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Network {
    /// One address.
    V4(Ipv4Addr),
    /// The first 64 bits.
    V6([u16; 4]),
}

impl Network {
    pub(crate) fn of(address: IpAddr) -> Self {
        match address.to_canonical() {
            IpAddr::V4(address) => Self::V4(address),
            IpAddr::V6(address) => {
                let [first, second, third, fourth, ..] = address.segments();
                Self::V6([first, second, third, fourth])
            }
        }
    }
}

impl fmt::Display for Network {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::V4(address) => address.fmt(f),
            Self::V6([first, second, third, fourth]) => {
                write!(f, "{first:x}:{second:x}:{third:x}:{fourth:x}::/64")
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_address_of_ipv6_is_as_any_other_of_its_network() {
        let network = |address: &str| Network::of(address.parse().unwrap());
        assert_eq!(network("192.0.2.1").to_string(), "192.0.2.1");
        assert_eq!(network("::ffff:192.0.2.1"), network("192.0.2.1"));
        assert_eq!(network("2001:db8:1:2::3").to_string(), "2001:db8:1:2::/64");
        assert_eq!(network("2001:db8:1:2:ffff::"), network("2001:db8:1:2::3"));
        assert_ne!(network("2001:db8:1:3::3"), network("2001:db8:1:2::3"));
    }
}
