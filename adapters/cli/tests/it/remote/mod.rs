//! Commands that ask a server instead of a store.
#![allow(clippy::unwrap_used, reason = "a test fails by it")]

mod away;
mod contexts;
mod same;
