//! Tests of the crate from outside, in one program.
#![allow(clippy::unwrap_used, reason = "a test fails by it")]

mod common;
mod coredns;
mod faults;
mod issuer;
mod leaves_nothing;
mod missing_programs;
mod servers;
mod standalone;
