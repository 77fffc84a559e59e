//! The engine's own records, as they are stored.
//!
//! A root record is the commit point of a desired state: what it names was written before it. A lane record is changed
//! by one compare-and-swap, by the worker that owns the lane's shard.

mod claim;
mod extent;
mod lane;
mod manifest;
pub(crate) mod path;
mod placements;
mod planned;
mod root;
mod schema;
mod shard;

pub(crate) use claim::{Claim, Claiming, Forgotten, IdentityClaim};
pub(crate) use extent::Extent;
pub(crate) use lane::{Answer, Kept, Lane, Outcome};
#[cfg(feature = "sim")]
pub(crate) use manifest::StoredManifest;
pub(crate) use manifest::{manifest_document, manifest_of, read_manifest};
pub use path::ROOMS;
pub(crate) use placements::{ActionRecord, BundleError, Placements, StepRecord, bundle};
pub(crate) use planned::Planned;
pub(crate) use root::Root;
pub(crate) use schema::{SCHEMA, Schema, read};
pub use shard::WorkerId;
pub(crate) use shard::{Pause, Shard, Worker};
