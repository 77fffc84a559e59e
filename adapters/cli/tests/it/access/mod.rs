//! Who is let in at a server, and what they may do there.
#![allow(clippy::unwrap_used, reason = "a test fails by it")]

#[path = "../../../../../dcm-core/tests/it/service/support/grants.rs"]
mod generated;

mod allow_list;
pub(crate) mod callers;
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
