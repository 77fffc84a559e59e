//! Networks that no connection to a cluster goes to.
//!
//! A registrar names any address as a cluster's server, and this process connects to it. The addresses of a name are checked as they
//! are connected to, so a name that resolves to another address later does not get past the check. Behind a proxy the proxy resolves
//! the name; then the proxy's own address is checked, and an address that the kubeconfig names itself.

use std::fmt;
use std::net::{IpAddr, SocketAddr};
use std::str::FromStr;
use std::sync::Arc;
use std::task::{Context, Poll};

use futures::future::{BoxFuture, FutureExt as _};
use http::Uri;
use hyper_util::client::legacy::connect::dns::{GaiResolver, Name};
use ipnet::IpNet;
use tower::{BoxError, Service, ServiceExt as _};

/// A network: an address and the length of its prefix, such as `169.254.0.0/16`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Network(IpNet);

/// A text that is no network.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("must be a network such as 169.254.0.0/16 or fe80::/10")]
pub struct InvalidNetwork;

impl FromStr for Network {
    type Err = InvalidNetwork;

    fn from_str(text: &str) -> Result<Self, InvalidNetwork> {
        text.parse().map(Self).map_err(|_| InvalidNetwork)
    }
}

impl fmt::Display for Network {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}

/// Networks that no connection goes to. Cheap to clone.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct DeniedNetworks(Arc<[Network]>);

/// Link-local networks: services that a cloud gives each of its machines are there, which answer without asking for a credential.
const LINK_LOCAL: [&str; 2] = ["169.254.0.0/16", "fe80::/10"];

impl Default for DeniedNetworks {
    /// The link-local networks of IPv4 and IPv6.
    fn default() -> Self {
        LINK_LOCAL.iter().filter_map(|text| text.parse().ok()).collect()
    }
}

impl FromIterator<Network> for DeniedNetworks {
    fn from_iter<I: IntoIterator<Item = Network>>(networks: I) -> Self {
        Self(networks.into_iter().collect())
    }
}

impl DeniedNetworks {
    /// The networks.
    pub fn iter(&self) -> impl Iterator<Item = &Network> {
        self.0.iter()
    }

    /// Refuses an address in one of these networks. An IPv4 address that is written as one of IPv6 is the IPv4 address.
    pub(crate) fn check(&self, address: IpAddr) -> Result<(), Denied> {
        let address = address.to_canonical();
        match self.0.iter().find(|network| network.0.contains(&address)) {
            Some(network) => Err(Denied { network: *network }),
            None => Ok(()),
        }
    }
}

/// An address of a cluster is in a network that no connection goes to.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("the address is in {network}, and the setting deniedNetworks excludes that network")]
pub(crate) struct Denied {
    network: Network,
}

/// Resolves names, and gives the addresses that may be connected to.
#[derive(Debug, Clone)]
pub(crate) struct Resolver {
    names: GaiResolver,
    denied: DeniedNetworks,
}

impl Resolver {
    pub(crate) fn new(denied: DeniedNetworks) -> Self {
        Self { names: GaiResolver::new(), denied }
    }
}

impl Service<Name> for Resolver {
    type Response = std::vec::IntoIter<SocketAddr>;
    type Error = BoxError;
    type Future = BoxFuture<'static, Result<Self::Response, BoxError>>;

    fn poll_ready(&mut self, context: &mut Context<'_>) -> Poll<Result<(), BoxError>> {
        self.names.poll_ready(context).map_err(Into::into)
    }

    fn call(&mut self, name: Name) -> Self::Future {
        let (found, denied) = (self.names.call(name), self.denied.clone());
        async move { Ok(permitted(found.await?, &denied)?.into_iter()) }.boxed()
    }
}

/// The addresses that may be connected to; refused where a name has no other ones.
fn permitted(
    addresses: impl Iterator<Item = SocketAddr>,
    denied: &DeniedNetworks,
) -> Result<Vec<SocketAddr>, Denied> {
    let (mut permitted, mut refused) = (Vec::new(), None);
    for address in addresses {
        match denied.check(address.ip()) {
            Ok(()) => permitted.push(address),
            Err(network) => refused = Some(network),
        }
    }
    match refused {
        Some(refused) if permitted.is_empty() => Err(refused),
        _ => Ok(permitted),
    }
}

/// A connector that refuses a URI with a denied address: no resolver is asked about one.
#[derive(Debug, Clone)]
pub(crate) struct Guarded<C> {
    connector: C,
    denied: DeniedNetworks,
}

impl<C> Guarded<C> {
    pub(crate) fn new(connector: C, denied: DeniedNetworks) -> Self {
        Self { connector, denied }
    }

    fn check(&self, uri: &Uri) -> Result<(), Denied> {
        let host = uri.host().unwrap_or_default();
        let host = host.strip_prefix('[').and_then(|host| host.strip_suffix(']')).unwrap_or(host);
        host.parse().map_or(Ok(()), |address| self.denied.check(address))
    }
}

impl<C> Service<Uri> for Guarded<C>
where
    C: Service<Uri> + Clone + Send + 'static,
    C::Error: Into<BoxError>,
    C::Future: Send,
{
    type Response = C::Response;
    type Error = BoxError;
    type Future = BoxFuture<'static, Result<C::Response, BoxError>>;

    fn poll_ready(&mut self, _: &mut Context<'_>) -> Poll<Result<(), BoxError>> {
        // Each connection is made by a connector of its own, which is waited for then.
        Poll::Ready(Ok(()))
    }

    fn call(&mut self, uri: Uri) -> Self::Future {
        let (checked, connector) = (self.check(&uri), self.connector.clone());
        async move {
            checked?;
            connector.oneshot(uri).await.map_err(Into::into)
        }
        .boxed()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn denies(address: &str) -> bool {
        DeniedNetworks::default().check(address.parse().unwrap()).is_err()
    }

    #[test]
    fn link_local_addresses_are_denied_however_they_are_written() {
        for address in ["169.254.169.254", "fe80::1", "febf::1", "::ffff:169.254.169.254"] {
            assert!(denies(address), "{address}");
        }
        for address in ["127.0.0.1", "10.0.0.1", "169.253.0.1", "fec0::1", "::1", "::ffff:10.0.0.1"] {
            assert!(!denies(address), "{address}");
        }
    }

    #[test]
    fn of_a_name_with_several_addresses_those_are_connected_to_that_are_not_denied() {
        let addresses =
            |texts: &[&str]| -> Vec<SocketAddr> { texts.iter().map(|text| text.parse().unwrap()).collect() };
        let denied = DeniedNetworks::default();
        let both = addresses(&["169.254.169.254:443", "192.0.2.1:443"]);
        assert_eq!(permitted(both.into_iter(), &denied), Ok(addresses(&["192.0.2.1:443"])));
        let only = addresses(&["169.254.169.254:443", "[fe80::1]:443"]);
        assert!(permitted(only.into_iter(), &denied).is_err());
        assert_eq!(permitted(std::iter::empty(), &denied), Ok(Vec::new()));
    }

    #[test]
    fn an_address_in_a_uri_is_checked_and_a_name_is_left_to_the_resolver() {
        let guarded = Guarded::new((), DeniedNetworks::default());
        let is_denied = |uri: &'static str| guarded.check(&Uri::from_static(uri)).is_err();
        assert!(is_denied("https://169.254.169.254/latest") && is_denied("https://[fe80::1]:6443"));
        assert!(!is_denied("https://edge.example:6443") && !is_denied("https://[::1]:6443"));
    }

    #[test]
    fn what_is_no_network_is_refused() {
        for text in ["", "169.254.0.0", "169.254.0.0/33", "edge.example/16"] {
            assert_eq!(text.parse::<Network>(), Err(InvalidNetwork), "{text}");
        }
    }
}
