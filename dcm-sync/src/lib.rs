//! The sync engine.

mod contexts;
pub mod engine;
mod record;
#[cfg(feature = "tokio")]
pub mod runtime;

pub use contexts::Contexts;
pub use record::WorkerId;
