//! The use cases: what can be done with projects, registered clusters, controllers and logical clouds.
//!
//! [`Projects`], [`Providers`], [`RegisteredClusters`] and [`LogicalClouds`] work over ports alone: a store of documents, a
//! synchronizer that brings app contexts about, a source of keys, a clock and randomness.
//!
//! # Promises
//! - A call returns when its change is accepted: stored, and handed to the synchronizer where it is for clusters.
//!   Follow the work with [`LogicalClouds::watch`].
//! - Editing touches no cluster: only `apply`, `terminate`, `stop`, `resume` and `delete` call the synchronizer.
//! - Each change of several documents has one commit point, its root. A reader sees the cloud before or after an edit,
//!   whole, on stores without atomic batches too.
//! - Every call may be repeated. After a crash in the middle of one, repeating it gives what it would have given, and
//!   nothing that the cut-off call wrote is left over. Only what asks for something newer each time counts on: the renewal
//!   of one user, and a revocation.
//! - What is refused changes nothing, and says all that is wrong at once, with the paths of fields.
//! - Every decision is kept in the audit log that the services are given, before it has an effect and after it.
//! - Secrets are only in declared fields of documents (`Secret`), never in errors, states or `Debug`.
//!
//! # Credentials
//! Keys are stored before a request made with them goes anywhere. A credential is (epoch, serial); an epoch is never
//! used for two identities, also when a user goes and one of the same name comes. Renewal raises the serial: both are good
//! side by side, and a cluster's earlier one is handed out until it has issued the newer. Revocation raises the epoch: rights
//! are bound to the next identity alone.

mod access;
mod agenda;
mod apply;
mod audited;
mod authorities;
mod caller;
mod check;
mod class;
mod clean;
mod cluster_parts;
mod clusters;
mod commit;
mod controllers;
mod credential_status;
mod credentials;
mod delete;
mod documents;
mod error;
mod following;
mod foreseen;
mod freeze;
mod grants;
mod hand_over;
mod handing_out;
mod history;
mod hold;
mod issued;
mod lapsed;
mod leaving;
mod life;
mod load;
mod logical_clouds;
mod making;
mod mesh;
mod orphans;
mod outlook;
mod owners;
mod parts;
mod path;
mod precondition;
mod private_keys;
mod put;
mod raise;
mod read;
mod reconcile;
mod registrations;
mod renew;
mod requests;
mod resolve;
mod revocation;
mod revoke;
mod status;
mod sweep;
mod terminate;
mod validity;
mod writing;

pub use crate::port::schema::Broken;
pub use access::UserAccess;
pub use agenda::{Agenda, AgendaEvent, News, Round};
pub use apply::{Applied, ApplyCondition, ApplyOutcome};
pub use caller::{CALLER_TEXT_MAX, Caller, Change};
pub use check::{DocumentSurvey, WantedCloud};
pub use class::Class;
pub use clusters::{
    ClusterPage, KubeconfigCheck, RegisteredCluster, RegisteredClusters, Registration, Remains,
};
pub use controllers::{Controller, ControllerPage, Controllers};
pub use credential_status::{CredentialStatus, Issuance};
pub use error::{Error, Kind, Winner};
pub use following::StatusStream;
pub use foreseen::Foreseen;
pub use grants::{AllowList, InvalidPattern, LabelPattern, Limits, NamePattern, POD_SECURITY, Reserved};
pub use history::Milestone;
pub use hold::Hold;
pub use issued::Missing;
pub use lapsed::{BoundName, Clearing, Lapsed, OtherBindings, OtherBindingsReport, OthersOnCluster, Unseen};
pub use leaving::Departure;
pub use logical_clouds::LogicalClouds;
pub use mesh::{MeshAuthority, ServiceMeshDocument};
pub use orphans::{Cleared, Orphan, OrphanError, Orphans};
pub use outlook::Ending;
pub use owners::{
    OfClouds, OfClusters, Owner, OwnerKind, OwnerPage, Owners, Project, Projects, Provider, Providers,
};
pub use parts::{PartDraft, PartName};
pub use path::ROOMS;
pub use precondition::{EditId, InvalidEditId, Precondition, Presence, Revision};
pub use private_keys::StoredKeys;
pub use put::{EditOutcome, Edited};
pub use read::{Described, Page, Summary};
pub use renew::Renewed;
pub use resolve::ADMIN_NAMESPACE_DEFAULT;
pub use revocation::{Revocation, RevokedOnCluster};
pub use revoke::Revoked;
pub use status::{AppliedStatus, CloudProgress, CloudStatus, ClusterInCloud, ProgressStream};
pub use sweep::{LATE_LIMIT, SWEEP_INTERVAL, SweepAgenda};
