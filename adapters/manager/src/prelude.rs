//! The items that a controller uses to give its tenants logical clouds: `use dcm_manager::prelude::*;`.
//!
//! It has all of [`dcm_sync::prelude`], too.

pub use dcm_core::logical_cloud::{Draft, MetadataDraft};
pub use dcm_core::name::{ClusterName, LogicalCloudName, Namespace, ProjectName, ReferenceName, UserName};
pub use dcm_core::secret::Secret;
pub use dcm_core::service::{Caller, LogicalClouds, Projects, RegisteredClusters, Registration};
pub use dcm_sync::prelude::*;

pub use crate::{Builder, Manager};
