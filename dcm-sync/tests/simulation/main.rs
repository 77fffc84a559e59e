//! The simulation: what it is made of, and the engine in it.
#![allow(clippy::unwrap_used)]
#![cfg(feature = "sim")]

mod store;
