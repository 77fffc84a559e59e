//! Pure core of the Distributed Cloud Manager.

pub mod app_context;
#[cfg(feature = "logical-cloud")]
pub mod document;
pub mod hash;
#[cfg(feature = "logical-cloud")]
pub mod kubeconfig;
#[cfg(feature = "logical-cloud")]
pub mod logical_cloud;
pub mod manifest;
pub mod name;
#[cfg(feature = "pki")]
pub mod pki;
pub mod plan;
pub mod port;
#[cfg(feature = "logical-cloud")]
pub mod preflight;
pub mod refusal;
#[cfg(feature = "logical-cloud")]
pub mod render;
pub mod secret;
#[cfg(all(feature = "logical-cloud", feature = "pki"))]
pub mod service;
pub mod status;
pub mod subject;
