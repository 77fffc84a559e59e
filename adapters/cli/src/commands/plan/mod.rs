//! `dcm plan`: what an apply would do. Changes nothing.

mod live;
mod offline;

use std::path::PathBuf;

use dcm_core::app_context::Bundle;
use dcm_core::document::Document;
use dcm_core::logical_cloud::{Epoch, LogicalCloud, LogicalCloudUid, RequestPem, Serial, User, UserType};
use dcm_core::render::{self, Credential, Credentials};
use dcm_core::service::CloudStatus;

use super::documents;
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
    if arguments.offline { offline::run(global, documents) } else { live::run(global, documents).await }
}

/// A document as it would be rendered.
struct Rendered {
    cloud: LogicalCloud,
    bundle: Bundle,
}

/// Renders a document: with the identity and the credentials of the cloud that is there, or as the first of a new one.
fn rendered(document: Document, status: Option<&CloudStatus>) -> anyhow::Result<Rendered> {
    let uid = status.map_or(LogicalCloudUid::from_random(0), |status| status.uid);
    let (cloud, _) = LogicalCloud::new(document.project, uid, document.draft)?;
    let bundle = render::bundle(&cloud, &credentials(&cloud, status)?)?;
    Ok(Rendered { cloud, bundle })
}

fn credentials(cloud: &LogicalCloud, status: Option<&CloudStatus>) -> anyhow::Result<Credentials> {
    let mut credentials = Credentials::new();
    for User { metadata, kind, .. } in cloud.users() {
        let current = status.and_then(|status| status.credentials.get(&metadata.name));
        let request = match kind {
            UserType::Certificate { own_request: Some(own) } => Some(own.clone()),
            UserType::Certificate { own_request: None } => Some(RequestPem::new(REQUEST_TO_BE_MADE)?),
            UserType::Token => None,
        };
        let epoch = current.map_or(Epoch(1), |current| current.epoch);
        let serial = current.map_or(Serial(1), |current| current.serial);
        credentials.insert(metadata.name.clone(), Credential { epoch, serial, request });
    }
    Ok(credentials)
}
