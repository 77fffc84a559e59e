//! Projects and cluster providers, as far as every dialect serves them alike: by which services, and to whom.

use dcm_core::service::{OfClouds, OfClusters, OwnerKind, Owners};

use crate::access::{Asker, Need};
use crate::services::Services;

/// A kind of owners.
pub(crate) trait Kept: OwnerKind {
    /// What it needs to see one.
    const SEE: Need;
    /// What it needs to make, change or delete one.
    const CHANGE: Need;

    /// The only ones that somebody may see, in the order of their names; none for whoever sees all.
    fn only(_: &Asker) -> Option<Vec<Self::Name>> {
        None
    }

    /// Their services.
    fn owners(services: &Services) -> &Owners<Self>;
}

impl Kept for OfClouds {
    const SEE: Need = Need::View;
    const CHANGE: Need = Need::Platform;

    fn only(asker: &Asker) -> Option<Vec<Self::Name>> {
        asker.rights.only_projects()
    }

    fn owners(services: &Services) -> &Owners<Self> {
        &services.projects
    }
}

impl Kept for OfClusters {
    const SEE: Need = Need::AnyRole;
    const CHANGE: Need = Need::Clusters;

    fn owners(services: &Services) -> &Owners<Self> {
        &services.providers
    }
}
