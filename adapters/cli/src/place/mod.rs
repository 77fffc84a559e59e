//! Where commands do what they are told: at a store, in this process, or at a server.

mod clouds;
mod clusters;
mod error;
mod stopping;

use dcm_client::Client;
use dcm_server::Deployment;

pub(crate) use clouds::{Clouds, Handed, Moment, Statuses as Followed, drafted};
pub(crate) use clusters::{All, Clusters, Look, Shown};
pub(crate) use error::Error;

/// A store or a server.
pub(crate) enum Place {
    /// The services of a store, in this process.
    Here(Box<Deployment>),
    /// A server.
    There(Box<Client>),
}

/// What is called like the end of its path.
pub(crate) fn last_segment(path: &str) -> &str {
    path.rsplit('/').next().unwrap_or_default()
}
