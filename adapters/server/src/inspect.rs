//! Looking at clusters before they are registered.

use std::sync::Arc;

use async_trait::async_trait;
use dcm_core::logical_cloud::Level;
use dcm_core::port::cluster::Error;
use dcm_core::preflight::{self, Needs};
use dcm_core::service::Registration;
use dcm_rest::{Inspection, Inspector, Other};

use crate::deployment::Deployment;

#[async_trait]
impl Inspector for Deployment {
    async fn inspect(&self, registration: &Registration, level: Level) -> Result<Inspection, Error> {
        let Registration { id, kubeconfig, .. } = registration;
        let (call, needs) = (self.call(), Needs::of_level(level));
        let cluster = self.clusters().connect_with(id, kubeconfig).await?;
        let findings = preflight::check(&*cluster, &call, &needs, &**self.clock()).await?;
        let known = self.contexts().cluster_uid(id).await;
        let known = known.map_err(|error| Error::Unreachable { source: Arc::new(error) })?;
        let other = match known {
            None => None,
            Some(known) => {
                let found = cluster.uid(&call).await?;
                (known != found).then_some(Other { known, found })
            }
        };
        Ok(Inspection { findings, other })
    }
}
