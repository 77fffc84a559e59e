//! The simulation: what it is made of, the engine in it, and what it finds when a safeguard is missing.
#![allow(clippy::unwrap_used)]

mod planted;
mod regressions;
mod store;
mod sweep;
