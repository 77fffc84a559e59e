//! What the engine promises of many clusters, in virtual time: those that hang slow nobody, idling costs nothing, and
//! a worker that starts anew only reads.

// One binary: nothing outside reaches in. An unwrap is an assertion here.
#![allow(unreachable_pub, clippy::unwrap_used)]

mod cold_start;
mod hanging;
mod idle;
mod support;
mod wire;
