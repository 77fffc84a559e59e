//! Where EMCO's dialect is served: `[SERVICE=]ADDRESS`.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt;
use std::net::SocketAddr;
use std::str::FromStr;

use dcm_rest::emco::Service as EmcoService;

/// An address of EMCO's API, for one service or for all: `[SERVICE=]ADDRESS`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct EmcoAddress {
    service: Option<EmcoService>,
    address: SocketAddr,
}

impl fmt::Display for EmcoAddress {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.service {
            Some(service) => write!(f, "{service}={}", self.address),
            None => self.address.fmt(f),
        }
    }
}

impl FromStr for EmcoAddress {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let (service, address) = match text.split_once('=') {
            Some((service, address)) => {
                let service: EmcoService =
                    service.parse().map_err(|unknown| format!("{unknown}, not {service:?}"))?;
                (Some(service), address)
            }
            None => (None, text),
        };
        let address = address.parse().map_err(|_| format!("{address:?} is no address with a port"))?;
        Ok(Self { service, address })
    }
}

/// What is to be listened on, and for which services: an address that is given several times is one, but for port 0, which is
/// another one each time.
pub(super) fn joined(addresses: &[EmcoAddress]) -> Vec<(SocketAddr, BTreeSet<EmcoService>)> {
    let mut joined: BTreeMap<(SocketAddr, usize), BTreeSet<EmcoService>> = BTreeMap::new();
    for (index, EmcoAddress { service, address }) in addresses.iter().enumerate() {
        let place = if address.port() == 0 { index } else { 0 };
        let services = joined.entry((*address, place)).or_default();
        match service {
            Some(service) => drop(services.insert(*service)),
            None => services.extend(EmcoService::ALL),
        }
    }
    joined.into_iter().map(|((address, _), services)| (address, services)).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn told(texts: &[&str]) -> Vec<String> {
        let addresses: Vec<EmcoAddress> = texts.iter().map(|text| text.parse().unwrap()).collect();
        let told = joined(&addresses).into_iter().map(|(address, services)| {
            let services: Vec<&str> = services.into_iter().map(EmcoService::as_str).collect();
            format!("{address} {}", services.join(","))
        });
        told.collect()
    }

    #[test]
    fn services_of_one_address_share_it() {
        assert_eq!(told(&["127.0.0.1:9015"]), ["127.0.0.1:9015 orchestrator,clm,dcm"]);
        assert_eq!(
            told(&["dcm=[::1]:9077", "clm=127.0.0.1:9061", "dcm=127.0.0.1:9061"]),
            ["127.0.0.1:9061 clm,dcm", "[::1]:9077 dcm"]
        );
        assert_eq!(told(&["dcm=127.0.0.1:0", "clm=127.0.0.1:0"]), ["127.0.0.1:0 dcm", "127.0.0.1:0 clm"]);
    }

    #[test]
    fn what_is_no_address_is_refused_with_what_is_wrong() {
        let refused = |text: &str| text.parse::<EmcoAddress>().unwrap_err();
        let unknown = "a service is orchestrator, clm or dcm, not \"ncm\"";
        assert_eq!(refused("ncm=127.0.0.1:1"), unknown);
        assert_eq!(refused("dcm=localhost"), "\"localhost\" is no address with a port");
        assert_eq!(refused(""), "\"\" is no address with a port");
    }
}
