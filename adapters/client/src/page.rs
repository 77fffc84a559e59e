//! Lists, of all their pages.

use http::Method;
use serde::Deserialize;
use serde::de::DeserializeOwned;

use crate::connection::Connection;
use crate::error::Error;

/// A whole list.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Listed<T> {
    /// The items, in the order of their names.
    pub items: Vec<T>,
    /// What can't be read.
    pub broken: Vec<Broken>,
}

/// Something that the server can't read.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
#[non_exhaustive]
pub struct Broken {
    /// Where it is stored.
    pub path: String,
    /// What is wrong with it.
    pub reason: String,
}

impl Broken {
    /// What is said of it. The reason may name the path already.
    #[must_use]
    pub fn told(&self) -> String {
        let Self { path, reason } = self;
        if reason.contains(path.as_str()) { reason.clone() } else { format!("{path}: {reason}") }
    }
}

#[derive(Deserialize)]
struct Page<T> {
    items: Vec<T>,
    next: Option<String>,
    #[serde(default = "Vec::new")]
    broken: Vec<Broken>,
}

/// All pages of a list.
pub(crate) async fn all<T: DeserializeOwned>(
    connection: &Connection,
    target: String,
) -> Result<Listed<T>, Error> {
    let mut listed = Listed { items: Vec::new(), broken: Vec::new() };
    let mut next = Some(target);
    while let Some(target) = next {
        let page: Page<T> = connection.ask(Method::GET, target).json().await?;
        listed.items.extend(page.items);
        listed.broken.extend(page.broken);
        next = page.next;
    }
    Ok(listed)
}
