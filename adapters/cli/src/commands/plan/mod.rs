//! `dcm plan`: what an apply would do. Changes nothing.

mod live;
mod offline;
mod shown;

use std::path::PathBuf;

use anyhow::Context as _;
use dcm_core::app_context::Bundle;
use dcm_core::document::Document;
use dcm_core::logical_cloud::{Epoch, LogicalCloud, LogicalCloudUid, RequestPem, Serial, User, UserType};
use dcm_core::render::{self, Credential, Credentials};
use dcm_core::service::Foreseen;

pub(crate) use live::{CloudPlan, planned_states, require};

use super::documents::{self, Sourced};
use crate::arguments::Global;
use crate::exit::Exit;

/// Stands for a request that is only made when it is needed; nothing reads it.
const REQUEST_TO_BE_MADE: &str = "-----BEGIN CERTIFICATE REQUEST-----\n-----END CERTIFICATE REQUEST-----";

#[derive(Debug, clap::Args)]
pub(crate) struct Arguments {
    /// A file of documents, YAML or JSON; - for standard input. May be repeated.
    #[arg(short, long = "file", required = true, value_name = "FILE")]
    files: Vec<PathBuf>,
    /// Only renders: asks no cluster and opens no store.
    #[arg(long)]
    offline: bool,
}

pub(crate) async fn run(global: &Global, arguments: &Arguments) -> anyhow::Result<Exit> {
    let documents = documents::read(&arguments.files, &global.project)?;
    if arguments.offline { offline::run(global, &documents) } else { live::run(global, documents).await }
}

/// A document as it would be rendered.
struct Rendered {
    cloud: LogicalCloud,
    bundle: Bundle,
}

/// Renders a document: with the identity and the credentials that an apply would take, or as the first of a new one.
fn rendered(sourced: &Sourced, foreseen: Option<&Foreseen>) -> anyhow::Result<Rendered> {
    let uid = foreseen.map_or(LogicalCloudUid::from_random(0), |foreseen| foreseen.uid);
    let title = sourced.title();
    let Document { project, draft, .. } = &sourced.document;
    let (cloud, _) = LogicalCloud::new(project.clone(), uid, draft.clone()).with_context(|| title.clone())?;
    let bundle = render::bundle(&cloud, &credentials(&cloud, foreseen)?).with_context(|| title)?;
    Ok(Rendered { cloud, bundle })
}

fn credentials(cloud: &LogicalCloud, foreseen: Option<&Foreseen>) -> anyhow::Result<Credentials> {
    let mut credentials = Credentials::new();
    for User { metadata, kind, .. } in cloud.users() {
        let taken = foreseen.and_then(|foreseen| foreseen.credentials.get(&metadata.name));
        let request = match kind {
            UserType::Certificate { own_request: Some(own) } => Some(own.clone()),
            UserType::Certificate { own_request: None } => Some(RequestPem::new(REQUEST_TO_BE_MADE)?),
            UserType::Token => None,
        };
        let (epoch, serial) = taken.copied().unwrap_or((Epoch(1), Serial(1)));
        credentials.insert(metadata.name.clone(), Credential { epoch, serial, request });
    }
    Ok(credentials)
}
