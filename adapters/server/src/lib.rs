//! Composition root of the Distributed Cloud Manager: configuration in, wired services out, graceful stop.
//!
//! [`Deployment::open`] takes a [`Configuration`] and gives services over one store: the documents of logical clouds
//! and the engine's records lie in it, secrets encrypted with a key that does not. Real clusters are reached with the
//! kubeconfigs that were registered. [`Deployment::over`] takes a store and clusters from elsewhere, such as a
//! simulation.
//!
//! ```no_run
//! # async fn example() -> Result<(), Box<dyn std::error::Error>> {
//! use dcm_server::{Configuration, Deployment, serve};
//!
//! let configuration = Configuration::new("sqlite:/var/lib/dcm/store.db", "/etc/dcm/keys.json");
//! let deployment = Deployment::open(&configuration).await?;
//! serve(&deployment, async { /* until a signal comes */ }).await?;
//! # Ok(())
//! # }
//! ```

mod accepting;
mod access;
mod api;
mod audit;
mod check;
mod configuration;
mod connections;
mod decided;
mod declaring;
mod deployment;
mod following;
mod health;
mod host;
mod installation;
mod kubeconfigs;
mod limits;
mod listening;
mod looks;
mod metrics;
mod network;
mod orphans;
mod other_bindings;
mod rekey;
mod serve;
mod settings;
mod socket;
mod untaken;

pub use access::{
    Access, AccessError, AccessSettings, BINDINGS_MAX, REQUESTS_BURST, REQUESTS_PER_SECOND, Rate,
    RoleBinding, RoleName, SUBJECTS_MAX,
};
pub use api::EmcoListener;
pub use audit::AUDIT_DAYS;
pub use check::{CheckReport, StoreCheck};
pub use configuration::{Configuration, Keys, SESSION_LEASE};
pub use dcm_rest::emco::Service as EmcoService;
pub use dcm_rest::{Agreed, DeclareError, Declared, Installation, PlanStale, PlannedDraft, unasked};
pub use deployment::{Deployment, OpenError, Parts, open_sealed, open_sealed_existing, rooms};
pub use limits::Limits;
pub use listening::{ApiListener, ListenError, LoopbackListener};
pub use rekey::{RekeyError, RekeyReport, Rekeying, rekey};
pub use serve::{Listeners, STOP_TIMEOUT, ServeError, answer_at, serve, serve_at};
pub use settings::{
    AllowedKinds, AllowedPermission, Collector, EmcoAddress, KubeconfigSettings, LimitSettings, OtlpSettings,
    ProjectAdminSettings, SETTINGS_BYTES_MAX, Serving, Settings, duration_text,
};
pub use socket::{InvalidListenAddress, ListenAddress};

/// Compiles the code in the README.
#[cfg(doctest)]
#[doc = include_str!("../README.md")]
struct Readme;
