//! The use cases of logical clouds over a memory store, with a synchronizer that does as it is told.
#![cfg(all(feature = "logical-cloud", feature = "pki"))]
// An unwrap is an assertion here.

mod access;
mod allow_list;
mod applying;
mod auditing;
mod cluster_parts;
mod clusters;
mod conditions;
mod controllers;
mod editing;
mod engine_records;
mod foreseeing;
mod grants;
mod life;
mod looking;
mod mesh;
mod moved;
mod planned;
mod projects;
mod providers;
mod races;
mod refused;
mod renewing;
mod requests;
mod revoking;
mod support;
mod sweeping;
mod trials;
mod workflows;
