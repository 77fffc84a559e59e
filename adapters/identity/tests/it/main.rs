//! Tests of the crate from outside, in one program.
#![allow(clippy::unwrap_used, reason = "a test fails by it")]

mod clients;
mod common;
mod fetching;
mod issuers;
mod tls;
