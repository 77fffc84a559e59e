//! The engine.

mod backoff;
mod bucket;
mod event;
mod io;
mod machine;
mod options;

pub use event::{Event, What};
pub use options::{Acquire, Options};
