//! What a deployment is to be.

use std::fmt;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use dcm_core::ignored::IgnoredContents;
use dcm_core::name::OwnerId;
use dcm_kube::kubeconfig::Allowed;
use dcm_kube::{DeniedNetworks, Proxy};
use dcm_store::StoreUrl;
use dcm_store::encrypted::KeyringSource;
use dcm_sync::engine::Options;

use crate::audit::AUDIT_DAYS;

/// How long the session of a worker lives without a sign of life, unless the configuration says otherwise. All workers
/// of one store should agree on it.
pub const SESSION_LEASE: Duration = Duration::from_secs(10);

/// Where the keys of a store come from, which are never in it.
#[derive(Clone)]
pub enum Keys {
    /// A file; made with mode 0600 when there is none and nothing is encrypted yet, and read again when it is replaced.
    File(PathBuf),
    /// The value of an environment variable by this name: the text of such a file.
    Variable(String),
    /// Anything else, such as a key management service.
    Source(Arc<dyn KeyringSource>),
}

impl Keys {
    /// The environment variable that holds them, if one does.
    pub(crate) fn variable(&self) -> Option<&str> {
        match self {
            Self::Variable(name) => Some(name),
            Self::File(_) | Self::Source(_) => None,
        }
    }
}

impl From<PathBuf> for Keys {
    fn from(file: PathBuf) -> Self {
        Self::File(file)
    }
}

impl From<&str> for Keys {
    fn from(file: &str) -> Self {
        Self::File(file.into())
    }
}

impl fmt::Debug for Keys {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::File(file) => f.debug_tuple("File").field(file).finish(),
            Self::Variable(name) => f.debug_tuple("Variable").field(name).finish(),
            Self::Source(_) => f.write_str("Source"),
        }
    }
}

/// What a deployment is to be.
#[derive(Debug, Clone)]
pub struct Configuration {
    /// URL of the store ([`dcm_store::open`]), such as `sqlite:/var/lib/dcm/store.db`, `etcd://10.0.0.1:2379?tls=true` or `memory:`.
    pub store: StoreUrl,
    /// URL of the store of app contexts and of the engine's records; none: the same store. All workers of an installation
    /// should agree on both.
    pub contexts_store: Option<StoreUrl>,
    /// The keys that secrets are encrypted with. Not read for a store that keeps nothing on a disk.
    pub keys: Keys,
    /// Marks what this installation owns on clusters. Default `dcm`.
    pub owner: OwnerId,
    /// How long a worker's session lives without a sign of life. Default [`SESSION_LEASE`].
    pub lease: Duration,
    /// How many days entries of the audit log are kept, while a worker runs. Default [`AUDIT_DAYS`].
    pub audit_days: u16,
    /// What registered kubeconfigs may do beyond holding credentials. Default: nothing.
    pub kubeconfigs: Allowed,
    /// Which proxy clusters are reached over whose kubeconfig names none. Default: none.
    pub proxy: Proxy,
    /// Networks that no connection to a cluster goes to. Default: the link-local ones.
    pub denied_networks: DeniedNetworks,
    /// What controllers put into every namespace, and does not count as contents of others. Default: that of Istio, OpenShift, GKE and
    /// trust-manager.
    pub ignored_contents: IgnoredContents,
}

impl Configuration {
    /// A store and its keys, such as a file of them, and else what is default.
    #[must_use]
    pub fn new(store: impl Into<StoreUrl>, keys: impl Into<Keys>) -> Self {
        Self {
            store: store.into(),
            contexts_store: None,
            keys: keys.into(),
            owner: Options::default().owner,
            lease: SESSION_LEASE,
            audit_days: AUDIT_DAYS,
            kubeconfigs: Allowed::default(),
            proxy: Proxy::default(),
            denied_networks: DeniedNetworks::default(),
            ignored_contents: IgnoredContents::default(),
        }
    }

    pub(crate) fn engine(&self) -> Options {
        Options { owner: self.owner.clone(), lease: self.lease, ..Options::default() }
    }
}
