//! Kubernetes clusters for the Distributed Cloud Manager: the ports [`Cluster`](dcm_core::port::cluster::Cluster) and
//! [`Clusters`](dcm_core::port::cluster::Clusters) over kube-rs.
//!
//! An embedder gives [`KubeClusters`] a source of kubeconfigs ([`Kubeconfigs`]) and [`Options`]. What a kubeconfig may
//! do is in [`kubeconfig`]: by default it runs no program, reads no file, and goes through no proxy.
//!
//! It promises what the port's contract says. It keeps no state but what a connection needs, never tries again by
//! itself (a watch begins again a bounded number of times), and waits for no budget.

mod cluster;
mod clusters;
mod connection;
mod contents;
mod discovery;
mod embedded;
mod establish;
mod events;
mod failure;
mod issue;
pub mod kubeconfig;
mod list;
mod login;
mod networks;
mod object;
mod options;
mod preferred;
mod proxy;
mod release;
mod resource;
mod review;
mod server;
mod transport;
mod update;
mod watch;

pub use cluster::KubeCluster;
pub use clusters::{KubeClusters, Kubeconfigs};
pub use networks::{DeniedNetworks, InvalidNetwork, Network};
pub use options::Options;
pub use proxy::{InvalidProxyUrl, ProxyUrl};
