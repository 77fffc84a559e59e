//! Key-value pairs of clusters.

pub(super) mod create;
pub(super) mod delete;
pub(super) mod get;
pub(super) mod list;
pub(super) mod put;

use dcm_core::name::KeyValuesName;
use dcm_core::service::{Caller, Error, Kind, Presence};

use super::names::Names;
use super::objects::{KeyValues, field_of_part};
use super::problem::Problem;
use crate::services::Services;

/// Gives a cluster a set, and tells what it is then.
async fn put(
    services: &Services,
    caller: &Caller,
    names: &Names,
    sent: KeyValues,
    presence: Presence,
) -> Result<KeyValues, Problem> {
    let mut lines = Vec::new();
    sent.check_of_cluster(&mut lines);
    if !lines.is_empty() {
        return Err(Problem::invalid(lines));
    }
    let id = names.cluster().map_err(|_| Problem::no_parent())?;
    let put = services.registered.put_key_values(caller, &id, sent.clone().into(), presence).await;
    put.map_err(|error| match error {
        Error::NotFound { .. } => Problem::no_parent(),
        error => Problem::about(error, |path| field_of_part(path, |field| field)),
    })?;
    Ok(sent)
}

fn name(names: &Names) -> Result<KeyValuesName, Problem> {
    names.one("clusterKv", Kind::ClusterKeyValues)
}

/// The set that a path names.
async fn find(services: &Services, names: &Names) -> Result<KeyValues, Problem> {
    let (found, name) = (services.registered.get(&names.cluster()?).await?.registration, name(names)?);
    let found = found.key_values.into_iter().find(|values| values.metadata.name == name);
    found.map(KeyValues::from).ok_or_else(|| Problem::missing(Kind::ClusterKeyValues))
}
