//! The v2 HTTP API of the Distributed Cloud Manager.
//!
//! [`documented::router`] serves the documented dialect over the services of `dcm-core`: it reads requests, calls one
//! service, and writes what that says. There is no logic of its own here, and no listener: whoever wires the services
//! decides where the router is reached, and by whom.
//!
//! All routes are on one page, [`documented::routes`]; what each does is in a file of its own.

pub mod documented;

mod installation;
mod json;
mod request;
mod services;

pub use installation::{Inspection, Installation, Other};
pub use services::{Services, Stop};
