//! Lists, page by page.

use dcm_core::port::cluster::{Call, Error};
use serde::Deserialize;
use serde::de::DeserializeOwned;

use crate::failure::Failure;
use crate::resource::escape;
use crate::transport::{Request, Transport};

/// Objects on one page: as many as Kubernetes' own clients ask for.
const PAGE_OBJECTS: usize = 500;

/// Most pages of one list. It ends a list that a broken cluster goes on with for ever.
const PAGES_MAX: usize = 1000;

/// All items of a list, and the resource version that they are of.
pub(crate) struct Listed<T> {
    pub(crate) items: Vec<T>,
    pub(crate) version: String,
}

/// Lists what is under a path.
pub(crate) async fn all<T: DeserializeOwned>(
    transport: &Transport,
    call: &Call,
    path: &str,
    query: &str,
    accept: &'static str,
) -> Result<Listed<T>, Failure> {
    let mut items = Vec::new();
    let mut page_after = String::new();
    for _ in 0..PAGES_MAX {
        let mut uri = format!("{path}?limit={PAGE_OBJECTS}{query}");
        if !page_after.is_empty() {
            uri = format!("{uri}&continue={}", escape(&page_after));
        }
        let page: Page<T> = transport.send(call, Request::page(uri).accepting(accept)).await?.read()?;
        items.extend(page.items.into_iter().flatten());
        page_after = page.metadata.page_after;
        if page_after.is_empty() {
            return Ok(Listed { items, version: page.metadata.resource_version });
        }
    }
    Err(Error::Unsupported { what: format!("a list of more than {PAGES_MAX} pages") }.into())
}

#[derive(Deserialize)]
struct Page<T> {
    metadata: PageMetadata,
    /// Null for none, in some answers.
    items: Option<Vec<T>>,
}

#[derive(Deserialize)]
struct PageMetadata {
    #[serde(rename = "resourceVersion", default)]
    resource_version: String,
    #[serde(rename = "continue", default)]
    page_after: String,
}
