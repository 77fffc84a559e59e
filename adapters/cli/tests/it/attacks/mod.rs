//! Attacks on real API servers: what others can write on a cluster, in a store or in a registration is never proof.
//!
//! Each attacker has the least rights with which its attack can be tried.
#![allow(clippy::unwrap_used, reason = "a test fails by it")]

mod accounts;
mod attacker;
mod requests;
mod stolen;
mod twins;
