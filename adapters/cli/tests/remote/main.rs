//! Commands that ask a server instead of a store.
#![allow(clippy::unwrap_used, reason = "a test fails by it")]

#[path = "../common/mod.rs"]
mod common;

mod away;
mod contexts;
mod same;
