//! Tests of the crate from outside, in one program.
#![allow(clippy::unwrap_used, reason = "a test fails by it")]

mod accepted;
mod access;
mod arguments;
mod as_written;
mod attacks;
mod audit;
mod bad_documents;
mod changes;
mod common;
mod container_defaults;
mod credentials;
mod cut_off;
mod deciding;
mod demo;
mod deploy;
mod drift;
mod emco;
mod ending;
mod environment_proxy;
mod hindered;
mod killed;
mod life;
mod limits;
mod named;
mod nothing_left;
#[cfg(feature = "otlp")]
mod otlp;
mod plan_hash;
mod project_admins;
mod quick_start;
mod races;
mod real_clusters;
mod remote;
mod rest;
mod rights;
mod secrets;
mod seen;
mod served;
mod stopping;
mod store;
mod tampering;
mod ui;
mod user_server;
mod values;
mod workers;
