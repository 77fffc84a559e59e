//! `GET /v2/projects/{project}/logical-clouds`: all of them, as documents; none where there is no such project.

use axum::extract::State;
use axum::http::StatusCode;
use dcm_core::causes;
use dcm_core::name::LogicalCloudName;
use dcm_core::service::Error;
use futures::stream::{self, StreamExt as _};

use crate::emco::answer::{Answer, or_null};
use crate::emco::names::Names;
use crate::emco::objects::LogicalCloud;
use crate::emco::pages;
use crate::emco::problem::Problem;
use crate::route::Shared;

/// So many logical clouds are read together: each is read whole, to show a little of it.
const CLOUDS_AT_ONCE: usize = 4;

pub(in crate::emco) async fn handle(
    State(services): State<Shared>,
    names: Names,
) -> Result<Answer<Option<Vec<LogicalCloud>>>, Problem> {
    let Ok(project) = &names.project() else { return Ok(Answer(StatusCode::OK, None)) };
    let clouds = &services.clouds;
    let all = pages::all(|after| async move {
        let page = clouds.list(project, after.as_ref(), None).await?;
        Ok((page.clouds, page.broken, page.next))
    });
    let all = match all.await {
        Err(Error::NotFound { .. }) => Vec::new(),
        all => all?,
    };
    // What the root says was read from a name.
    let names: Vec<LogicalCloudName> =
        all.iter().filter_map(|summary| summary.metadata.name.parse().ok()).collect();
    let reads: Vec<_> = names.iter().map(|name| clouds.get(project, name)).collect();
    let mut reads = stream::iter(reads).buffered(CLOUDS_AT_ONCE);
    let mut documents = Vec::with_capacity(names.len());
    while let Some(read) = reads.next().await {
        match read {
            Ok(found) => documents.push(LogicalCloud::from(&found.cloud)),
            // Deleted meanwhile.
            Err(Error::NotFound { .. }) => {}
            Err(
                error @ (Error::Unreadable { .. } | Error::UnknownSchema { .. } | Error::Incomplete { .. }),
            ) => tracing::error!(error = causes::told(&error), "what can't be read is left out of a list"),
            Err(error) => return Err(error.into()),
        }
    }
    Ok(Answer(StatusCode::OK, or_null(documents)))
}
