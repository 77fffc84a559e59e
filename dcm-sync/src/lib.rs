//! The sync engine: brings any set of manifests into any number of Kubernetes clusters and keeps them there.
//!
//! It knows nothing of logical clouds. Whoever decides hands over an app context (bundles of ordered steps, and which
//! cluster gets which) through [`Contexts`]; an [`engine::Engine`] in this process, or in another one on the same
//! store, does the work:
//!
//! - each cluster is a *shard* that one engine owns at a time, by lease and fence;
//! - each app context in a cluster is a *lane*, which goes round: observe, plan ([`dcm_core::plan`]), run what may run
//!   now, store, until nothing is left;
//! - the engine itself is a state machine without I/O behind a thin shell, so that whole fleets can be run in virtual
//!   time.
//!
//! What an apply would do is asked of the same planner beforehand ([`planning`]), and an apply can be bound to that.
//!
//! [`prelude`] has what most controllers need of this crate and of `dcm-core`.
//!
//! With the feature `sim` come simulated clusters that keep the same contract as real ones, with `contract` the suite
//! that holds both to it.
//!
//! What it refuses: to change what it does not own, to delete what it has adopted, to make a namespace again that
//! somebody deleted, and to work on a cluster that is another one than before.

mod check;
mod contexts;
#[cfg(feature = "contract")]
pub mod contract;
pub mod engine;
mod identities;
pub mod planning;
pub mod prelude;
mod proofs;
mod record;
#[cfg(feature = "tokio")]
pub mod runtime;
#[cfg(feature = "sim")]
pub mod sim;
#[cfg(feature = "sim")]
pub mod simulation;
#[cfg(feature = "sim")]
pub mod tap;

pub use check::{ContextSeen, RecordSurvey};
pub use contexts::{Contexts, LaneProspect, Prospect, WorkerSession};
pub use record::{ROOMS, WorkerId};

/// Compiles the code in the README.
#[cfg(doctest)]
#[doc = include_str!("../README.md")]
struct Readme;
