//! The audit log.

use dcm_core::audit::Recorded;
use dcm_core::name::{LogicalCloudName, ProjectName};
use jiff::Timestamp;

use crate::connection::Connection;
use crate::error::Error;
use crate::page::{self, Listed};
use crate::query::query;

/// The audit log of a server.
#[derive(Debug, Clone, Copy)]
pub struct Audit<'a> {
    connection: &'a Connection,
}

impl<'a> Audit<'a> {
    pub(crate) fn new(connection: &'a Connection) -> Self {
        Self { connection }
    }

    /// All decisions from a time on, the oldest first.
    ///
    /// # Errors
    /// Those of the server and the connection.
    pub async fn list(&self, since: Option<Timestamp>) -> Result<Listed<Recorded>, Error> {
        page::all(self.connection, format!("/v2/audit{}", asked(since, None))).await
    }

    /// Those about a project and its logical clouds, or about one of them.
    ///
    /// # Errors
    /// `not-found`; those of the server and the connection.
    pub async fn of_project(
        &self,
        project: &ProjectName,
        cloud: Option<&LogicalCloudName>,
        since: Option<Timestamp>,
    ) -> Result<Listed<Recorded>, Error> {
        page::all(self.connection, format!("/v2/projects/{project}/audit{}", asked(since, cloud))).await
    }
}

fn asked(since: Option<Timestamp>, cloud: Option<&LogicalCloudName>) -> String {
    let since = since.map(|since| ("since", since.to_string()));
    let cloud = cloud.map(|cloud| ("logical-cloud", cloud.to_string()));
    query([("limit", "500".to_owned())].into_iter().chain(since).chain(cloud))
}
