//! The sync engine.

mod contexts;
pub mod engine;
mod record;

pub use contexts::Contexts;
pub use record::WorkerId;
