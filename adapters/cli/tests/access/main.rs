//! Who is let in at a server, and what they may do there.
#![allow(clippy::unwrap_used, reason = "a test fails by it")]

#[path = "../common/mod.rs"]
mod common;

#[path = "../../../../dcm-core/tests/service/support/grants.rs"]
mod generated;

mod allow_list;
mod callers;
mod containment;
mod decisions;
mod granting;
mod health;
mod issuer;
mod matrix;
mod settings;
mod sharing;
mod socket;
mod tls;
mod tokens;
