//! Pure core of the Distributed Cloud Manager.

pub mod app_context;
pub mod hash;
pub mod manifest;
pub mod name;
pub mod plan;
pub mod port;
pub mod secret;
pub mod status;
