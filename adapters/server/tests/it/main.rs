//! Tests of the crate from outside, in one program.
#![allow(clippy::unwrap_used, reason = "a test fails by it")]

mod check;
mod common;
mod corrupted;
mod data_model;
mod decided;
mod deployment;
mod inspecting;
mod least_rights;
mod metrics;
mod orphans;
mod planning;
mod rekeying;
mod renewal;
mod revoking;
mod rooms;
mod simulation;
mod sweeping;
mod turns;
