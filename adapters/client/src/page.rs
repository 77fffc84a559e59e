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

/// Most pages of a list: a server that ends none is asked no further.
const PAGES_MAX: usize = 100_000;

/// Whether there is a first page of a list.
pub(crate) async fn first<T: DeserializeOwned>(connection: &Connection, target: String) -> Result<(), Error> {
    connection.ask(Method::GET, target).json::<Page<T>>().await.map(drop)
}

/// All pages of a list.
pub(crate) async fn all<T: DeserializeOwned>(
    connection: &Connection,
    target: String,
) -> Result<Listed<T>, Error> {
    let path = target.split('?').next().unwrap_or_default().to_owned();
    let mut listed = Listed { items: Vec::new(), broken: Vec::new() };
    let mut next = Some(target);
    for _ in 0..PAGES_MAX {
        let Some(target) = next else { return Ok(listed) };
        let page: Page<T> = connection.ask(Method::GET, target.clone()).json().await?;
        listed.items.extend(page.items);
        listed.broken.extend(page.broken);
        // It goes behind the URL of the server, so it has to be of the same list.
        let is_of_list = |next: &String| next.split('?').next() == Some(&path) && *next != target;
        if let Some(next) = page.next.as_ref().filter(|next| !is_of_list(next)) {
            return Err(Error::Astray { server: connection.server().to_string(), next: next.clone() });
        }
        next = page.next;
    }
    Err(Error::Astray { server: connection.server().to_string(), next: next.unwrap_or_default() })
}
