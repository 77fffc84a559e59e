//! Tests of the crate from outside, in one program.
#![allow(clippy::unwrap_used, reason = "a test fails by it")]

mod contract;
mod dependencies;
mod pages;
mod publishing;
mod purity;
mod repository;
mod rooms;
mod sizes;
