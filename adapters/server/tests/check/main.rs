//! `dcm store check`: what it finds in stores that were broken by hand, and that it finds nothing in those that were not.
#![allow(clippy::unwrap_used, reason = "a test fails by it")]

mod broken;
#[path = "../common/mod.rs"]
mod common;
mod sound;
mod store;
