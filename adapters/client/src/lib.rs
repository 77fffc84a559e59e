//! A client of the HTTP API of a DCM server, in its documented dialect: what the services of `dcm-core` do in a process, over a
//! connection.
//!
//! Names, statuses and documents are the types of `dcm-core`, so that a program can go from one to the other. What the server refuses
//! is a [`Problem`], which programs tell apart by its [`kind`](Problem::kind).
//!
//! ```no_run
//! use dcm_client::{Client, Credential, Options};
//! use dcm_core::secret::Secret;
//!
//! # async fn run() -> Result<(), Box<dyn std::error::Error>> {
//! let options = Options { credential: Credential::Token(Secret::new("…")), ..Options::new("https://dcm.example.com")? };
//! let client = Client::open(&options)?;
//! let status = client.logical_clouds().status(&"shop".parse()?, &"stall".parse()?).await?;
//! println!("{}: {}", status.name, status.state);
//! # Ok(())
//! # }
//! ```

mod audit;
mod client;
mod clusters;
mod connection;
mod error;
mod events;
mod logical_clouds;
mod page;
mod problem;
mod projects;
mod query;
mod server_url;
mod stopping;
mod transport;
mod warnings;

pub use audit::Audit;
pub use client::{Client, Credential, Options};
pub use clusters::{
    Cluster, ClusterChange, ClusterChanged, ClusterCheck, ClusterSpec, ClusterStatus, Clusters, Provider,
};
pub use connection::{ANSWER_BYTES_MAX, LOOK_TIMEOUT, TRIES_MAX};
pub use dcm_core::problem::{Kind as ProblemKind, UnknownKind};
pub use error::Error;
pub use events::{Event, Events, SILENCE_MAX};
pub use logical_clouds::{
    AppliedOutcome, Declared, HandedOut, LogicalClouds, Plan, Summary, SummarySpec, SummaryStatus,
};
pub use page::{Broken, Listed};
pub use problem::{FieldError, Problem};
pub use projects::{Project, Projects};
pub use server_url::{InvalidUrl, ServerUrl};
pub use transport::CONNECT_TIME_LIMIT;

/// Compiles the code in the README.
#[cfg(doctest)]
#[doc = include_str!("../README.md")]
struct Readme;
