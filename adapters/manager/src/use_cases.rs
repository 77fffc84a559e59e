//! The use cases, wired over the same ports.

use std::sync::Arc;

use dcm_core::pki::SystemKeys;
use dcm_core::port::audit::AuditLog;
use dcm_core::port::clock::{Clock, Random};
use dcm_core::port::store::Store;
use dcm_core::port::synchronizer::Synchronizer;
use dcm_core::service::{
    Controllers, KubeconfigCheck, LogicalClouds, Projects, Providers, RegisteredClusters,
};

/// All use cases over one store of documents, which holds secrets. Cheap to clone.
#[derive(Clone)]
pub struct UseCases {
    /// Logical clouds.
    pub clouds: LogicalClouds,
    /// Registered clusters.
    pub clusters: RegisteredClusters,
    /// Projects.
    pub projects: Projects,
    /// Cluster providers.
    pub providers: Providers,
    /// The records of controllers.
    pub controllers: Controllers,
}

impl UseCases {
    /// Wires the use cases. Keys of users are made here, with the randomness of the operating system; UIDs come from `random`. `check` is a
    /// further check of kubeconfigs that are registered.
    #[must_use]
    pub fn new(
        store: Arc<dyn Store>,
        synchronizer: Arc<dyn Synchronizer>,
        clock: Arc<dyn Clock>,
        random: Arc<dyn Random>,
        check: KubeconfigCheck,
    ) -> Self {
        let keys = Arc::new(SystemKeys);
        Self {
            clouds: LogicalClouds::new(store.clone(), synchronizer.clone(), keys, clock.clone(), random),
            clusters: RegisteredClusters::new(store.clone(), synchronizer, clock.clone(), check),
            projects: Projects::new(store.clone(), clock.clone()),
            providers: Providers::new(store.clone(), clock.clone()),
            controllers: Controllers::new(store, clock),
        }
    }

    /// Keeps each decision of a caller in an audit log, before its effect and after it.
    #[must_use]
    pub fn audited_by(self, log: &Arc<dyn AuditLog>) -> Self {
        Self {
            clouds: self.clouds.audited_by(log.clone()),
            clusters: self.clusters.audited_by(log.clone()),
            projects: self.projects.audited_by(log.clone()),
            providers: self.providers.audited_by(log.clone()),
            controllers: self.controllers.audited_by(log.clone()),
        }
    }
}
