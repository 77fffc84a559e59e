//! Tests of the crate from outside, in one program.
#![allow(clippy::unwrap_used, reason = "a test fails by it")]

mod authority;
mod debug;
mod document;
mod golden;
mod in_order;
mod kubeconfig;
mod service;
