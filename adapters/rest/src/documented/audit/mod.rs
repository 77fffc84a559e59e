//! The audit log.

pub(super) mod list;
pub(super) mod of_project;

use axum::http::Uri;
use dcm_core::audit::{EntryName, Recorded};
use dcm_core::name::{LogicalCloudName, ProjectName};
use dcm_core::service::Error;
use jiff::Timestamp;
use schemars::JsonSchema;
use serde::Deserialize;

use super::page::{self, LIMIT_MAX, Page};
use super::problem::Problem;
use crate::services::Services;

/// How the log is read.
const HOW: &str = "The oldest first; `ended` is missing where it is not known what came of it. At most 10,000 documents are looked through \
                   for a page, so one may have few entries, or none, and go on.";

/// Which entries are asked for.
#[derive(Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
pub(super) struct Which {
    /// Where to go on: behind the entry of this name.
    after: Option<EntryName>,
    /// How many entries at most. Default: 100.
    #[schemars(range(min = 1, max = LIMIT_MAX))]
    limit: Option<usize>,
    /// Only what was asked for at this time or later.
    since: Option<Timestamp>,
    /// Only what is about a logical cloud of this name.
    logical_cloud: Option<LogicalCloudName>,
}

/// A page of entries, the oldest first.
async fn page(
    services: &Services,
    project: Option<&ProjectName>,
    which: Which,
    uri: &Uri,
) -> Result<Page<Recorded>, Problem> {
    let limit = page::checked(which.limit)?;
    let after = which.after.max(which.since.map(EntryName::before));
    let cloud = which.logical_cloud.as_ref();
    let found = services.audit.page(after.as_ref(), limit, |asked| {
        let is_of = |project| asked.about.project.as_ref() == Some(project);
        project.is_none_or(is_of) && cloud.is_none_or(|cloud| asked.about.cloud.as_ref() == Some(cloud))
    });
    let found = found.await.map_err(Error::Store)?;
    Ok(Page::new(found.entries, found.broken, found.next, limit, uri))
}
