//! Real Kubernetes servers for tests.
//!
//! An [`Environment`] is one etcd and any number of [`Cluster`]s: each a kube-apiserver with its own authorities and
//! keys, and a kube-controller-manager that issues certificates, finishes namespaces, counts quotas, collects garbage
//! and makes the endpoints of Services. Everything listens on loopback, needs no container, no root and no prebuilt
//! download, and is ready within seconds. In front of each API server stands a [`Proxy`] that can be made to fail, and
//! behind it an [`AuditLog`] from which a test reads what was really asked.
//!
//! ```no_run
//! use dcm_testenv::{AuditFilter, Environment, Route};
//!
//! # async fn example() -> Result<(), Box<dyn std::error::Error>> {
//! let environment = Environment::shared(2).await?;
//! let cluster = &environment.clusters()[0];
//!
//! // For any client: a kubeconfig, here of a new user in two groups, through the proxy.
//! let user = cluster.issue("alice", &["builders", "readers"])?;
//! let kubeconfig = cluster.kubeconfig(&user, Route::Proxy);
//!
//! cluster.proxy().cut().await?;
//! // ... the client must notice ...
//! cluster.proxy().pass().await?;
//! // ... and come back.
//!
//! let creations = cluster.audit_log().matching(&AuditFilter::new().user("alice").verb("create"))?;
//! # Ok(())
//! # }
//! ```
//!
//! # Promises
//! - Nothing is left: not when a test panics, and not when its process is killed with `SIGKILL`.
//! - A program that is missing is an error that says where it was looked for. It is never a skipped test.
//! - A server that does not start is an error with the end of its log.
//! - Nothing depends on the runtime of a test: environments and proxies outlive a `#[tokio::test]`, and the functions
//!   work under any executor.
//! - Test processes that run side by side do not meet.
//!
//! # Limits
//! There are no nodes, so no pod ever runs; a test that needs a ready workload writes its status itself. Everything is
//! made for tests only: the keys lie in files, etcd has no password, and its data does not survive a crash of the machine.
//! It works on Unix systems.
//!
//! # Programs
//! `etcd`, `kube-apiserver`, `kube-controller-manager`, `kubectl`, `mongodb-wire` (FerretDB), `oidc-issuer` and `coredns` are
//! each looked for in the folder that `KUBEBUILDER_ASSETS` names, then on `PATH`, then in a cache (`DCM_TESTENV_CACHE`, or `dcm-testenv` in
//! the user's cache folder). What is nowhere is built into the cache, once, which takes Go 1.26 and some minutes.
//!
//! # Logs
//! Each environment has a folder below the system's folder for temporary files. It is kept, and its path printed, when a
//! test panics, or for `DCM_TESTENV_KEEP=1`. With `DCM_TESTENV_FRESH=1` no servers are shared.
#![cfg(unix)]

pub mod audit;
pub mod certificates;
mod cluster;
pub mod coredns;
pub mod effort;
mod environment;
mod error;
pub mod etcd_http;
pub mod guard;
pub mod issuer;
mod kubeconfig;
mod ports;
pub mod probe;
pub mod process;
pub mod programs;
pub mod proxy;
mod ready;
mod runtime;
mod servers;
pub mod standalone;

pub use self::audit::{AuditEvent, AuditFilter, AuditLog, Stage};
pub use self::certificates::Identity;
pub use self::cluster::{Cluster, Route};
pub use self::coredns::CoreDns;
pub use self::environment::{Builder, Environment, START_TIMEOUT};
pub use self::error::Error;
pub use self::issuer::Issuer;
pub use self::programs::{Lookup, Program};
pub use self::proxy::{Fault, Proxy};
pub use self::standalone::Standalone;

/// Compiles the code in the README.
#[cfg(doctest)]
#[doc = include_str!("../README.md")]
struct Readme;
