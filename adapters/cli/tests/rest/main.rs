//! The documented dialect of the HTTP API: each route is asked in literal bytes at a running server, and whole answers are compared.
#![allow(clippy::unwrap_used, reason = "a test fails by it")]

#[path = "../common/mod.rs"]
mod common;
mod probe;
mod server;
