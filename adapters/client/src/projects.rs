//! Projects.

use dcm_core::logical_cloud::MetadataDraft;
use dcm_core::name::ProjectName;
use http::Method;
use serde::{Deserialize, Serialize};

use crate::connection::Connection;
use crate::error::Error;
use crate::page::{self, Listed};

/// A project.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct Project {
    /// Its name, and notes.
    pub metadata: MetadataDraft,
}

/// The projects of a server. Each method asks once, a list once a page.
#[derive(Debug, Clone, Copy)]
pub struct Projects<'a> {
    connection: &'a Connection,
}

impl<'a> Projects<'a> {
    pub(crate) fn new(connection: &'a Connection) -> Self {
        Self { connection }
    }

    /// All projects that the caller has a role in.
    ///
    /// # Errors
    /// Those of the server and the connection.
    pub async fn list(&self) -> Result<Listed<Project>, Error> {
        page::all(self.connection, "/v2/projects?limit=500".to_owned()).await
    }

    /// One project.
    ///
    /// # Errors
    /// `not-found`; those of the server and the connection.
    pub async fn get(&self, name: &ProjectName) -> Result<Project, Error> {
        self.connection.ask(Method::GET, format!("/v2/projects/{name}")).json().await
    }

    /// Makes a project.
    ///
    /// # Errors
    /// `already-there`, `invalid`; those of the server and the connection.
    pub async fn create(&self, project: &Project) -> Result<(), Error> {
        self.connection.ask(Method::POST, "/v2/projects".to_owned()).with(project).done().await
    }
}
