//! What the API is served from.

use std::sync::Arc;

use dcm_core::port::clock::{Clock, Random};
use dcm_core::service::{LogicalClouds, Projects, Providers, RegisteredClusters};

use crate::inspect::Inspector;

/// The services that the API calls. Cheap to clone.
#[derive(Clone)]
pub struct Services {
    /// The use cases of projects.
    pub projects: Projects,
    /// The use cases of cluster providers.
    pub providers: Providers,
    /// The use cases of registered clusters.
    pub registered: RegisteredClusters,
    /// Looks at clusters before they are registered.
    pub inspector: Arc<dyn Inspector>,
    /// The use cases of logical clouds.
    pub clouds: LogicalClouds,
    /// The time.
    pub clock: Arc<dyn Clock>,
    /// Randomness, for the ids of requests that come without one.
    pub random: Arc<dyn Random>,
}
