//! The names in a path.

use std::collections::BTreeMap;
use std::str::FromStr;

use axum::extract::{FromRequestParts, Path};
use axum::http::StatusCode;
use axum::http::request::Parts;
use dcm_core::name::{ClusterId, ClusterProviderName, LogicalCloudName, ProjectName};
use dcm_core::service::Kind;

use super::problem::Problem;

/// The names in a path, by what the route calls them. A text that is no name names nothing that is there.
pub(super) struct Names(BTreeMap<String, String>);

impl<S: Send + Sync> FromRequestParts<S> for Names {
    type Rejection = Problem;

    async fn from_request_parts(parts: &mut Parts, state: &S) -> Result<Self, Problem> {
        let no_text = |_| Problem::new(StatusCode::NOT_FOUND, "404 page not found");
        let Path(names) = Path::from_request_parts(parts, state).await.map_err(no_text)?;
        Ok(Self(names))
    }
}

impl Names {
    pub(super) fn text(&self, segment: &str) -> &str {
        self.0.get(segment).map_or("", String::as_str)
    }

    pub(super) fn one<Name: FromStr>(&self, segment: &str, kind: Kind) -> Result<Name, Problem> {
        self.text(segment).parse().map_err(|_| Problem::missing(kind))
    }

    pub(super) fn project(&self) -> Result<ProjectName, Problem> {
        self.one("project", Kind::Project)
    }

    /// A logical cloud; one of a text that is no project is not there.
    pub(super) fn cloud(&self) -> Result<(ProjectName, LogicalCloudName), Problem> {
        Ok((self.one("project", Kind::LogicalCloud)?, self.one("logicalCloud", Kind::LogicalCloud)?))
    }

    pub(super) fn provider(&self) -> Result<ClusterProviderName, Problem> {
        self.one("clusterProvider", Kind::Provider)
    }

    /// A cluster; one of a text that is no provider is not there.
    pub(super) fn cluster(&self) -> Result<ClusterId, Problem> {
        let (provider, cluster) = (self.text("clusterProvider"), self.text("cluster"));
        ClusterId::new(provider, cluster).map_err(|_| Problem::missing(Kind::Cluster))
    }
}
