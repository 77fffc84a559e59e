//! The model of logical clouds.
//!
//! A logical cloud is written down as a [`Draft`] (plain texts and numbers, the document's field names) and becomes a
//! [`LogicalCloud`] by one constructor that checks everything together and names all that is wrong at once. What is
//! stored goes through the same constructor when it is read.
//!
//! The parts ([`User`], [`Permission`], …) can be checked and stored by themselves too; rules between them hold in a
//! [`LogicalCloud`].

mod check;
mod cloud;
mod container_defaults;
mod credential;
mod draft;
mod fractions;
mod key_type;
mod key_values;
mod labels;
mod level;
pub mod life_cycle;
pub mod limits;
mod manifests;
mod metadata;
mod pairs;
mod permission;
mod policies;
mod quota;
mod random_bits;
mod reference;
mod removal;
mod request_pem;
mod selector;
mod service_mesh;
mod user;
mod warnings;

#[cfg(test)]
mod tests;

pub use cloud::LogicalCloud;
pub use container_defaults::{CONTAINER_RESOURCES, ContainerDefaults};
pub use credential::{Epoch, Serial};
pub use draft::{
    ContainerDefaultsDraft, Draft, ExpressionDraft, KeyValuesDraft, MeshDnsDraft, MetadataDraft,
    ObjectPolicyDraft, PermissionDraft, QuotaDraft, ReferenceDraft, RemovalDraft, SelectorDraft,
    ServiceMeshDraft, SpecDraft, UserDraft,
};
pub use key_values::KeyValues;
#[cfg(feature = "pki")]
pub(crate) use labels::{check as check_labels, is_qualified_name};
pub use level::Level;
pub use metadata::{Metadata, Notes};
pub use pairs::{InvalidPairs, Pairs};
pub use permission::{Holders, Permission, Scope};
pub use policies::{ObjectPolicies, ObjectPolicy, PolicyTarget};
pub use quota::Quota;
pub(crate) use quota::implausible;
pub use random_bits::{AccountSeed, InvalidBits, LogicalCloudUid, RequestNonce};
pub use reference::{ClusterReference, LoadBalancer};
pub use request_pem::{InvalidRequestPem, RequestPem};
pub use selector::{InvalidSelector, LabelSelector};
pub use service_mesh::{DNS_IMAGE, MESH_NAMESPACE_PREFIX, MESH_ZONE, MeshDns, ServiceMesh};
pub use user::{LifetimeSeconds, User, UserType};
pub use warnings::RENDERED_KINDS;

use crate::refusal::{Checks, Refusals};

/// Runs a check by itself.
fn checked<T>(check: impl FnOnce(&mut Checks) -> Option<T>) -> Result<T, Refusals> {
    let mut checks = Checks::default();
    let made = check(&mut checks);
    checks.finish(made)
}
