//! The v2 HTTP API of the Distributed Cloud Manager.
//!
//! There are two dialects over the services of `dcm-core`: the documented one ([`documented::router`]), and EMCO's
//! ([`emco::router`]). Both read requests, call one service, and write what that says. There is no logic of its own here, and
//! no listener: whoever wires the services decides where a router is reached, and finds out who asks ([`access`]).
//!
//! Beside them there is a status page for browsers ([`ui`]), which asks the documented dialect.
//!
//! All routes of a dialect are on one page, [`documented::routes`] and [`emco::routes`]; what each does is in a file of its own.

pub mod access;
mod bodies;
pub mod documented;
pub mod emco;
pub mod ui;

#[cfg(feature = "parsers")]
pub mod parsers;

mod followers;
mod installation;
mod json;
mod limits;
mod lookers;
mod metrics;
mod named;
mod owners;
mod request;
mod route;
mod services;
mod shares;
mod span;

pub use followers::Followers;
pub use installation::{Agreed, DeclareError, Declared, Installation, PlanStale, PlannedDraft, unasked};
pub use limits::Limits;
pub use lookers::Lookers;
pub use metrics::{Answered, METRICS_TYPE, Metrics};
pub use route::Route;
pub use services::{Services, Stop};

/// Compiles the code in the README.
#[cfg(doctest)]
#[doc = include_str!("../README.md")]
struct Readme;
