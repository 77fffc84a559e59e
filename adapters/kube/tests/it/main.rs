//! Tests of the crate from outside, in one program.
#![allow(clippy::unwrap_used, reason = "a test fails by it")]

mod admin_role;
mod aggregated;
mod algorithms;
#[path = "../../../../dcm-core/tests/it/kubeconfig/bombs.rs"]
mod bombs;
mod common;
mod connections;
mod contract;
mod faults;
mod moved;
mod namespaced;
mod programs;
mod reads;
mod sizes;
mod stub_domain;
mod watching;
mod writes;
