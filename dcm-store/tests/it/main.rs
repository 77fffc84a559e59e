//! Tests of the crate from outside, in one program.
#![allow(clippy::unwrap_used, reason = "a test fails by it")]

mod asked;
mod conformance;
mod conformance_finds;
mod documents;
mod encrypted;
mod etcd;
mod foreign;
mod histories;
mod histories_find;
mod memory;
mod mongodb;
mod relay;
mod sqlite;
mod sqlite_crash;
mod tampering;
mod transfer;
mod wrappers;
