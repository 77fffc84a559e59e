//! `dcm store check`: what it finds in stores that were broken by hand, and that it finds nothing in those that were not.
#![allow(clippy::unwrap_used, reason = "a test fails by it")]

mod broken;
mod sound;
mod store;
