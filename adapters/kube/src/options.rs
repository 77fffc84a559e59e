//! How clusters are reached.

use std::time::Duration;

use dcm_core::ignored::IgnoredContents;

use crate::budget::Memory;
use crate::kubeconfig::Allowed;
use crate::networks::DeniedNetworks;
use crate::proxy::Proxy;

const MIB: usize = 1024 * 1024;

/// How clusters are reached.
#[derive(Debug, Clone)]
pub struct Options {
    /// What a kubeconfig may do. Default: nothing beyond holding its credentials itself.
    pub allowed: Allowed,
    /// Variables of the environment that programs of kubeconfigs do not get, such as one that holds keys. Default: none.
    pub withheld_variables: Vec<String>,
    /// The proxy to clusters; one that a kubeconfig names, and may name, goes before it. Default: none.
    pub proxy: Proxy,
    /// Networks that no connection goes to. Default: the link-local ones.
    pub denied_networks: DeniedNetworks,
    /// What controllers put into every namespace, and does not count as what others have there. Default: that of Istio, OpenShift, GKE
    /// and trust-manager.
    pub ignored_contents: IgnoredContents,
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
    /// Objects that a page of a list is asked for with. A page that is too large is asked for again with fewer. Default:
    /// 500, as Kubernetes' own clients.
    pub page_objects: usize,
    /// Largest page of a list with more than one object, in bytes. Default: 4 MiB, some 1,000 objects of usual size.
    pub page_bytes_max: usize,
    /// Largest answer with one object, and largest event of a watch, in bytes. Default: 16 MiB. An object is at most 1.5 MiB
    /// where it is stored; as JSON that is up to six times as much, and the list of all kinds of a cluster is larger.
    pub object_bytes_max: usize,
    /// Most values in a page or an object, as a tree of them takes more memory than their text. Default: 1,000,000, which
    /// take about 100 MiB at most; an object of 1.5 MiB has 750,000 at most.
    pub values_max: usize,
    /// Most bytes of one list over all its pages. Default: 4 GiB, twice what the etcd of a cluster stores by default. A
    /// list that goes on is an error that names its kind, for what needs that kind alone.
    pub list_bytes_max: u64,
    /// Most objects of one list. Default: 1,000,000.
    pub list_objects_max: usize,
    /// Bytes that are read of one cluster in a second, over all its connections; reading waits where they come faster.
    /// Default: 16 MiB. A whole list of [`Self::list_bytes_max`] takes less than the five minutes for which an API server
    /// keeps its past.
    pub cluster_bytes_per_second: u64,
    /// Bytes that are read of one cluster at once, before the rate counts. Default: 64 MiB.
    pub cluster_bytes_burst: u64,
    /// Memory for large answers of all clusters together. Clones of these options share it. Default: 128 MiB.
    pub memory: Memory,
}

impl Default for Options {
    fn default() -> Self {
        Self {
            allowed: Allowed::default(),
            withheld_variables: Vec::new(),
            proxy: Proxy::Direct,
            denied_networks: DeniedNetworks::default(),
            ignored_contents: IgnoredContents::default(),
            request_time_limit: Duration::from_secs(30),
            connect_time_limit: Duration::from_secs(10),
            silence_limit: Duration::from_secs(20),
            connections_idle_max: 32,
            page_objects: 500,
            page_bytes_max: 4 * MIB,
            object_bytes_max: 16 * MIB,
            values_max: 1_000_000,
            list_bytes_max: 4 * 1024 * MIB as u64,
            list_objects_max: 1_000_000,
            cluster_bytes_per_second: 16 * MIB as u64,
            cluster_bytes_burst: 64 * MIB as u64,
            memory: Memory::default(),
        }
    }
}
