//! Kubernetes clusters for the Distributed Cloud Manager: the ports [`Cluster`](dcm_core::port::cluster::Cluster) and
//! [`Clusters`](dcm_core::port::cluster::Clusters) over kube-rs.
//!
//! An embedder gives [`KubeClusters`] a source of kubeconfigs ([`Kubeconfigs`]) and [`Options`]. What a kubeconfig may
//! do is in [`kubeconfig`]: by default it runs no program, reads no file, and goes through no proxy.
//!
//! It promises what the port's contract says. It keeps no state but what a connection needs and what a cluster owes of its
//! budget, and never tries again by itself: but a watch begins again a bounded number of times, and a page of a list that is
//! too large is asked for with fewer objects.
//!
//! A client is of one cluster: once its UID is known, the server behind each new connection, and before each list of a watch, is asked for
//! it, with one GET. Another UID ends the client ([`Error::Moved`](dcm_core::port::cluster::Error::Moved)), and nothing else is sent to that
//! server.
//!
//! What a cluster answers is bounded ([`Options`]): pages, objects and whole lists by their size, and the bodies of its answers
//! by a rate. So neither a cluster nor its tenants can take the memory of the process, or by what they send the time of other
//! clusters. But clusters that begin large answers, and don't end them, hold room of the [`Memory`] that all share: where some
//! of them hold all of it, large answers of other clusters wait.
//!
//! TLS is that of `aws-lc-rs`, and a certificate or a key that is not supported is refused by the name of its algorithm. A process that has
//! installed another provider of cryptography for rustls before the first connection gets that one, with what it supports.

mod apart;
mod budget;
mod cluster;
mod clusters;
mod connection;
mod contents;
mod discovery;
mod embedded;
mod environment;
mod establish;
mod events;
mod failure;
mod identity;
mod issue;
pub mod kubeconfig;
mod link;
mod list;
mod login;
mod namespaced;
mod networks;
mod object;
mod options;
mod pool;
mod preferred;
mod proxy;
mod release;
mod resource;
mod review;
mod server;
mod slices;
mod transport;
mod trial;
mod update;
mod watch;
mod whoami;

pub use budget::Memory;
pub use cluster::KubeCluster;
pub use clusters::{KubeClusters, Kubeconfigs};
pub use environment::{EnvironmentProxies, InvalidVariable};
pub use networks::{DeniedNetworks, InvalidNetwork, Network};
pub use options::Options;
pub use proxy::{InvalidProxyUrl, Proxy, ProxyUrl};

/// Compiles the code in the README.
#[cfg(doctest)]
#[doc = include_str!("../README.md")]
struct Readme;
