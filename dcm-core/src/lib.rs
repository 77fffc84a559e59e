//! Pure core of the Distributed Cloud Manager.

pub mod app_context;
pub mod hash;
#[cfg(feature = "logical-cloud")]
pub mod logical_cloud;
pub mod manifest;
pub mod name;
pub mod port;
pub mod refusal;
#[cfg(feature = "logical-cloud")]
pub mod render;
pub mod secret;
pub mod subject;
