//! The items that a controller uses to hand its manifests to the engine: `use dcm_sync::prelude::*;`.
//!
//! It has the engine, app contexts with their names and policies, and the states that a status reports; simulated clusters with
//! the feature `sim`. It has `Arc`, too, as stores and clusters are shared.

pub use std::sync::Arc;

pub use dcm_core::app_context::{AppContext, Bundle, Drift, Existing, Generation};
pub use dcm_core::manifest::Manifest;
pub use dcm_core::name::{AppName, ClusterId, ContextId, OwnerId};
pub use dcm_core::port::cluster::Clusters;
pub use dcm_core::port::store::Store;
pub use dcm_core::port::synchronizer::{Removal, Synchronizer};
pub use dcm_core::status::{ContextStatus, LaneState, LaneStatus, Progress};

pub use crate::contexts::Contexts;
pub use crate::engine::{Acquire, Engine, Options};
#[cfg(feature = "sim")]
pub use crate::sim::{Fleet, cluster_id};
