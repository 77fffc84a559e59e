//! The sync engine.

mod contexts;
#[cfg(feature = "contract")]
pub mod contract;
pub mod engine;
mod record;
#[cfg(feature = "tokio")]
pub mod runtime;
#[cfg(feature = "sim")]
pub mod sim;

pub use contexts::{Contexts, WorkerSession};
pub use record::WorkerId;
