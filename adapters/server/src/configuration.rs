//! What a deployment is to be.

use std::path::PathBuf;
use std::time::Duration;

use dcm_core::name::OwnerId;
use dcm_kube::kubeconfig::Allowed;
use dcm_sync::engine::Options;

use crate::audit::AUDIT_DAYS;

/// How long the session of a worker lives without a sign of life, unless the configuration says otherwise. All workers
/// of one store should agree on it.
pub const SESSION_LEASE: Duration = Duration::from_secs(10);

/// What a deployment is to be.
#[derive(Debug, Clone)]
pub struct Configuration {
    /// URL of the store ([`dcm_store::open`]), such as `sqlite:/var/lib/dcm/store.db`, `etcd://10.0.0.1:2379` or `memory:`.
    pub store: String,
    /// URL of the store of app contexts and of the engine's records; none: the same store. All workers of an installation
    /// should agree on both.
    pub contexts_store: Option<String>,
    /// The file with the keys that secrets are encrypted with; made with mode 0600 when there is none. Not read for a
    /// store that keeps nothing on a disk.
    pub key_file: PathBuf,
    /// Marks what this installation owns on clusters. Default `dcm`.
    pub owner: OwnerId,
    /// How long a worker's session lives without a sign of life. Default [`SESSION_LEASE`].
    pub lease: Duration,
    /// How many days entries of the audit log are kept, while a worker runs. Default [`AUDIT_DAYS`].
    pub audit_days: u16,
    /// What registered kubeconfigs may do beyond holding credentials. Default: nothing.
    pub kubeconfigs: Allowed,
}

impl Configuration {
    /// A store and a key file, and else what is default.
    #[must_use]
    pub fn new(store: impl Into<String>, key_file: impl Into<PathBuf>) -> Self {
        Self {
            store: store.into(),
            contexts_store: None,
            key_file: key_file.into(),
            owner: Options::default().owner,
            lease: SESSION_LEASE,
            audit_days: AUDIT_DAYS,
            kubeconfigs: Allowed::default(),
        }
    }

    pub(crate) fn engine(&self) -> Options {
        Options { owner: self.owner.clone(), lease: self.lease, ..Options::default() }
    }
}
