//! Simulated clusters with the contract of real ones (feature `sim`): for tests, examples, demonstrations and the tests
//! of those who embed the engine.
//!
//! [`Server`] is pure: state, and `handle(request, now) -> reply`. [`SimCluster`] puts it behind the `Cluster` port and
//! adds what lies between: latency by the `Clock` port, time limits, and faults from a seed. [`Fleet`] holds any number
//! of them as the `Clusters` port. Nothing waits but by the clock that the fleet was given, so that everything works
//! in virtual time, and there is no task for a cluster: what is due happens when somebody looks.
//!
//! ```
//! use std::sync::Arc;
//! use std::time::Duration;
//! use dcm_core::port::clock::Clock;
//! use dcm_core::port::cluster::{Call, Clusters as _, Error};
//! use dcm_sync::sim::{Fleet, Latency, Link, Verb, cluster_id};
//!
//! async fn demonstrate(clock: Arc<dyn Clock>, call: Call) -> Result<(), Error> {
//!     let latency = Latency::fixed(Duration::from_millis(40));
//!     let fleet = Fleet::builder(clock).clusters(10_000).seed(7).latency(latency).build();
//!     let id = cluster_id(1);
//!     let cluster = fleet.connect(&id).await?;
//!     let uid = cluster.uid(&call).await?;
//!
//!     let behind = fleet.cluster(&id).expect("it was counted");
//!     assert_eq!(behind.server(|server| server.uid()), uid);
//!     assert_eq!(behind.server(|server| server.requests().count(Verb::Uid)), 1);
//!     behind.set_link(Link::Cut);
//!     assert!(matches!(cluster.uid(&call).await, Err(Error::Unreachable { .. })));
//!     Ok(())
//! }
//! ```
//!
//! # What it does as Kubernetes does
//! - Namespaces, ResourceQuotas, LimitRanges, ServiceAccounts, ConfigMaps, Deployments, NetworkPolicies, the four kinds of
//!   RBAC, CertificateSigningRequests. Any other kind is unknown.
//! - Names, label rules, immutable fields, defaults and canonical quantities, as far as a manifest can meet them.
//! - Field ownership by manager, member by member; a list is one field. That is Kubernetes' own rule for what we render;
//!   lists that Kubernetes merges by key (containers, finalizers) are simpler here.
//! - Namespaces go in their time, contents first; finalizers hold objects back.
//! - Requests are signed some time after their approval (by a real authority with the feature `sim-pki`), and removed by
//!   a cleaner that looks hourly.
//! - Tokens, and RBAC over the roles and bindings that are there ([`Server::may`]).
//!
//! # What it does not
//! No pods run and no quota is enforced; owner references delete nothing; nobody checks that a role gives no more than
//! its author has. What the `contract` suite promises is checked against real servers too; the rest is as good as its
//! tests.

#[cfg(feature = "sim-pki")]
mod authority;
mod certificate;
mod changes;
mod cluster;
mod fault;
mod fields;
mod fleet;
mod inspect;
mod kind;
mod lifecycle;
mod limits;
mod namespaced;
mod needed;
mod null;
mod object;
mod rbac;
mod request;
mod schedule;
mod server;
mod signer;
mod site;
mod snapshot;
#[cfg(test)]
pub(crate) mod test_clock;
#[cfg(test)]
mod tests;
mod token;
mod uid;
mod validation;
mod watch;
mod witness;
mod write;

#[cfg(feature = "sim-pki")]
pub use authority::Authority;
pub use cluster::SimCluster;
pub use dcm_core::port::clock::Seeded;
pub(crate) use fault::share;
pub use fault::{Faults, Link};
pub use fleet::{Fleet, FleetBuilder, cluster_id};
pub(crate) use lifecycle::ANNOTATION_COPY;
pub use null::{NullCluster, NullFleet};
pub use rbac::{Identity, Rights};
pub use request::{Logged, Operation, Reply, Request, RequestLog, Verb};
pub use server::{Server, Settings};
pub use signer::{CERTIFICATE_LIFETIME_MAX, FakeSigner, Refusal, Signer, SigningRequest};
pub use site::Latency;
pub use snapshot::Snapshot;
pub use witness::{Arrival, Witness};
