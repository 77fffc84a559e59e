//! What the API is served from.

use std::sync::Arc;

use axum::http::Method;
use dcm_core::audit::StoredAudit;
use dcm_core::kubeconfig::Access;
use dcm_core::name::{LogicalCloudName, ProjectName, ReferenceName, UserName};
use dcm_core::port::clock::{Clock, Random};
use dcm_core::service::{
    Caller, Controllers, Error, LogicalClouds, Projects, Providers, RegisteredClusters, UserAccess,
};
use futures::future::{BoxFuture, Shared};

use crate::followers::Followers;
use crate::installation::Installation;
use crate::limits::Limits;
use crate::lookers::Lookers;
use crate::metrics::Metrics;

/// Ends as soon as a server is to stop.
pub type Stop = Shared<BoxFuture<'static, ()>>;

/// The services that the API calls. Cheap to clone.
#[derive(Clone)]
pub struct Services {
    /// The use cases of projects.
    pub projects: Projects,
    /// The use cases of cluster providers.
    pub providers: Providers,
    /// The use cases of controllers' records.
    pub controllers: Controllers,
    /// The use cases of registered clusters.
    pub registered: RegisteredClusters,
    /// What is asked beside the services.
    pub installation: Arc<dyn Installation>,
    /// The figures of the server.
    pub metrics: Arc<dyn Metrics>,
    /// The audit log.
    pub audit: StoredAudit,
    /// Ends as soon as the server is to stop: answers that would go on end then.
    pub stop: Stop,
    /// Those who follow events.
    pub followers: Followers,
    /// Those who look at clusters.
    pub lookers: Lookers,
    /// The use cases of logical clouds.
    pub clouds: LogicalClouds,
    /// The time.
    pub clock: Arc<dyn Clock>,
    /// Randomness, for the ids of requests that come without one.
    pub random: Arc<dyn Random>,
    /// What requests may take.
    pub limits: Limits,
}

impl Services {
    /// Hands out what a user has, which is in the audit log. A caller that asks for the head alone is given nothing, and nothing is
    /// kept then.
    pub(crate) async fn hand_out(
        &self,
        method: &Method,
        caller: &Caller,
        (project, cloud): (&ProjectName, &LogicalCloudName),
        user: Option<&UserName>,
        reference: Option<&ReferenceName>,
    ) -> Result<UserAccess, Error> {
        match *method {
            Method::HEAD => self.clouds.kubeconfigs(project, cloud, user, reference).await,
            _ => self.clouds.hand_out(caller, project, cloud, user, reference).await,
        }
    }

    /// Remembers what was handed out. It is given all the same where that fails; only its status will not tell when it is out of
    /// date. Who asks for the head alone is given nothing.
    pub(crate) async fn remember_handed_out(&self, method: &Method, caller: &Caller, access: &Access) {
        if method != Method::HEAD
            && let Err(error) = self.clouds.handed_out(caller, access).await
        {
            let error = &error as &dyn std::error::Error;
            tracing::warn!(error, "it is not remembered what was handed out");
        }
    }
}
