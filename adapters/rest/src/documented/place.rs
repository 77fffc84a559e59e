//! What the path and the query of a request say.

use std::error::Error as _;

use axum::extract::path::ErrorKind;
use axum::extract::rejection::{PathRejection, QueryRejection};
use axum::extract::{FromRequestParts, Path, Query};
use axum::http::request::Parts;
use dcm_core::name::{ClusterProviderName, LogicalCloudName, ProjectName};
use schemars::JsonSchema;
use serde::Deserialize;
use serde::de::DeserializeOwned;

use super::problem::{Kind, Problem};

/// The names in a path. A text that is no name names nothing that is there.
pub(super) struct At<T>(pub(super) T);

/// A project.
#[derive(Deserialize, JsonSchema)]
pub(super) struct InProject {
    /// The project.
    pub(super) project: ProjectName,
}

impl From<InProject> for ProjectName {
    fn from(place: InProject) -> Self {
        place.project
    }
}

/// A cluster provider.
#[derive(Deserialize, JsonSchema)]
pub(super) struct OfProvider {
    /// The cluster provider.
    pub(super) provider: ClusterProviderName,
}

impl From<OfProvider> for ClusterProviderName {
    fn from(place: OfProvider) -> Self {
        place.provider
    }
}

/// A logical cloud.
#[derive(Clone, Deserialize, JsonSchema)]
pub(super) struct InCloud {
    /// The project.
    pub(super) project: ProjectName,
    /// The logical cloud.
    pub(super) cloud: LogicalCloudName,
}

/// A part of a logical cloud.
#[derive(Deserialize, JsonSchema)]
pub(super) struct OfPart<Name> {
    /// The project.
    pub(super) project: ProjectName,
    /// The logical cloud.
    pub(super) cloud: LogicalCloudName,
    /// Its name.
    pub(super) name: Name,
}

impl<T: DeserializeOwned + Send, S: Send + Sync> FromRequestParts<S> for At<T> {
    type Rejection = Problem;

    async fn from_request_parts(parts: &mut Parts, state: &S) -> Result<Self, Problem> {
        let Path(names) = Path::from_request_parts(parts, state).await.map_err(unnamed)?;
        Ok(Self(names))
    }
}

fn unnamed(rejection: PathRejection) -> Problem {
    let detail = match rejection {
        PathRejection::FailedToDeserializePathParams(failed) => match failed.into_kind() {
            ErrorKind::DeserializeError { message, .. } | ErrorKind::Message(message) => message,
            ErrorKind::InvalidUtf8InPathParam { .. } => "the path is no UTF-8".to_owned(),
            other => other.to_string(),
        },
        other => other.body_text(),
    };
    Problem::new(Kind::NotFound, detail)
}

/// The parameters of a query. Others than a route knows are refused: they might be meant.
pub(super) struct Asked<T>(pub(super) T);

impl<T: DeserializeOwned + Send, S: Send + Sync> FromRequestParts<S> for Asked<T> {
    type Rejection = Problem;

    async fn from_request_parts(parts: &mut Parts, state: &S) -> Result<Self, Problem> {
        let Query(asked) = Query::from_request_parts(parts, state)
            .await
            .map_err(|rejection| Problem::new(Kind::Malformed, unasked(&rejection)))?;
        Ok(Self(asked))
    }
}

fn unasked(rejection: &QueryRejection) -> String {
    // Its own words say what the program did.
    let source = rejection.source().and_then(std::error::Error::source);
    let told = source.map_or_else(|| rejection.to_string(), ToString::to_string);
    format!("the query: {told}")
}

/// A route without parameters.
#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct Nothing {}
