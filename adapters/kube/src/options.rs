//! How clusters are reached.

use std::time::Duration;

use crate::kubeconfig::Allowed;
use crate::networks::DeniedNetworks;
use crate::proxy::ProxyUrl;

/// How clusters are reached.
#[derive(Debug, Clone)]
pub struct Options {
    /// What a kubeconfig may do. Default: nothing beyond holding its credentials itself.
    pub allowed: Allowed,
    /// Variables of the environment that programs of kubeconfigs do not get, such as one that holds keys. Default: none.
    pub withheld_variables: Vec<String>,
    /// The proxy to every cluster; one that a kubeconfig names, and may name, goes before it. Default: none. Proxies
    /// from environment variables are never used.
    pub proxy: Option<ProxyUrl>,
    /// Networks that no connection goes to. Default: the link-local ones.
    pub denied_networks: DeniedNetworks,
    /// Longest time from the start of a request to the end of its answer, waiting for a connection included. The
    /// events of a watch are not counted. Default: 30 seconds.
    pub request_time_limit: Duration,
    /// Longest time to wait for a connection, with its TLS and the way through a proxy. What hangs is tried anew every three
    /// seconds of it, so that a cluster that comes back meanwhile is reached. Default: 10 seconds.
    pub connect_time_limit: Duration,
    /// How long a connection with requests on it may be silent before it is asked whether the other side still lives,
    /// and how long that may take to answer. Twice this bounds how long a watch may follow nobody. It is also the TCP
    /// keep-alive, for HTTP/1.1. Default: 20 seconds.
    pub silence_limit: Duration,
    /// Most idle connections kept for one cluster. API servers speak HTTP/2, where one connection carries all
    /// requests; this is for those that speak only HTTP/1.1. Default: 32.
    pub connections_idle_max: usize,
}

impl Default for Options {
    fn default() -> Self {
        Self {
            allowed: Allowed::default(),
            withheld_variables: Vec::new(),
            proxy: None,
            denied_networks: DeniedNetworks::default(),
            request_time_limit: Duration::from_secs(30),
            connect_time_limit: Duration::from_secs(10),
            silence_limit: Duration::from_secs(20),
            connections_idle_max: 32,
        }
    }
}
