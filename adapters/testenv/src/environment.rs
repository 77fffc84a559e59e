//! An environment: one etcd, some clusters on it, and the guard that ends them.

mod shared;
pub(crate) mod start;

use std::path::Path;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use self::shared::Group;
use self::start::Host;
use crate::Error;
use crate::cluster::{Cluster, Real};
use crate::guard::Guard;
use crate::programs::Lookup;
use crate::runtime;

/// How long the servers may take to become ready, unless the builder says otherwise: far longer than three clusters need
/// on two cores, because a machine that compiles and tests at the same time is slow. A test that passes never waits so long.
pub const START_TIMEOUT: Duration = Duration::from_secs(300);

/// Set to `1`, it keeps the folder of every environment.
const KEEP_VARIABLE: &str = "DCM_TESTENV_KEEP";

/// What an environment is to be.
#[derive(Debug, Clone)]
pub struct Builder {
    clusters: usize,
    lookup: Lookup,
    start_timeout: Duration,
    audit_bodies: bool,
    keep: bool,
}

impl Builder {
    /// How many clusters there are to be; one, if nothing is said. With none there is etcd alone.
    #[must_use]
    pub fn clusters(mut self, clusters: usize) -> Self {
        self.clusters = clusters;
        self
    }

    /// Where the programs are looked for; where the environment variables say, if nothing is said.
    #[must_use]
    pub fn lookup(mut self, lookup: Lookup) -> Self {
        self.lookup = lookup;
        self
    }

    /// How long the servers may take to become ready; [`START_TIMEOUT`], if nothing is said. Building the programs does
    /// not count.
    #[must_use]
    pub fn start_timeout(mut self, start_timeout: Duration) -> Self {
        self.start_timeout = start_timeout;
        self
    }

    /// Whether the audit logs also hold what each request carries; not, if nothing is said, as they grow several times as
    /// fast by it. What the servers answer is never in them.
    #[must_use]
    pub fn audit_bodies(mut self, audit_bodies: bool) -> Self {
        self.audit_bodies = audit_bodies;
        self
    }

    /// Whether the folder with logs and data stays when the environment ends; `DCM_TESTENV_KEEP=1` says so for all.
    #[must_use]
    pub fn keep(mut self, keep: bool) -> Self {
        self.keep = keep;
        self
    }

    /// Starts all servers and waits until they are ready.
    ///
    /// # Errors
    /// When a program is missing and can't be built, or a server does not start or does not become ready in time.
    pub async fn start(self) -> Result<Environment, Error> {
        let handle = runtime::handle().map_err(Error::Runtime)?;
        runtime::run(handle, async move {
            let host = Host::start(&self).await?;
            let clusters = start::start_clusters(&host, 0..self.clusters).await?;
            Environment::of(host, &clusters, None)
        })
        .await
    }
}

impl Default for Builder {
    fn default() -> Self {
        Self {
            clusters: 1,
            lookup: Lookup::from_environment(),
            start_timeout: START_TIMEOUT,
            audit_bodies: false,
            keep: keeps_folders(),
        }
    }
}

/// Real servers that live as long as this value, or, where they are [shared](Environment::shared), as this process.
///
/// When the last value that has the servers is dropped, they are killed and the folder is deleted before the drop is over. When the
/// process ends without that, by `SIGKILL` too, the guard does it.
#[derive(Debug)]
pub struct Environment {
    clusters: Vec<Cluster>,
    /// Those who share the servers.
    _group: Option<Arc<Group>>,
    // Dropped after the clusters on it.
    host: Arc<Host>,
}

impl Environment {
    /// Says what an environment is to be.
    pub fn builder() -> Builder {
        Builder::default()
    }

    fn of(host: Arc<Host>, clusters: &[Arc<Real>], group: Option<Arc<Group>>) -> Result<Self, Error> {
        let clusters = clusters.iter().map(|real| Cluster::start_proxy(Arc::clone(real)));
        Ok(Self { clusters: clusters.collect::<Result<_, _>>()?, _group: group, host })
    }

    /// The clusters, in the order of their names.
    pub fn clusters(&self) -> &[Cluster] {
        &self.clusters
    }

    /// The folder of the environment: logs, certificates and data.
    pub fn folder(&self) -> &Path {
        self.host.folder()
    }

    /// The URL of etcd; the keys of a cluster begin with its name.
    pub fn etcd_url(&self) -> String {
        format!("http://{}", self.host.etcd_address())
    }

    /// The file of `kubectl`; [`Cluster::kubectl`] is easier to use.
    pub fn kubectl(&self) -> &Path {
        self.host.kubectl()
    }

    /// The process ids of all servers that were started and not killed.
    pub fn process_ids(&self) -> Vec<u32> {
        self.host
            .process_id()
            .into_iter()
            .chain(self.clusters.iter().flat_map(Cluster::process_ids))
            .collect()
    }

    /// Keeps the folder when the environment ends, and says on standard error where it is.
    pub fn keep_folder(&self) {
        self.host.keep_folder();
    }
}

impl Drop for Environment {
    fn drop(&mut self) {
        if std::thread::panicking() {
            self.keep_folder();
        }
    }
}

pub(crate) fn keep_folder(guard: &Mutex<Guard>) {
    let mut guard = lock_guard(guard);
    match guard.keep() {
        Ok(()) => eprintln!("testenv: keeping {}", guard.folder().display()),
        Err(error) => eprintln!("testenv: could not keep {}: {error}", guard.folder().display()),
    }
}

/// Whether the user wants to keep the folders of all.
pub(crate) fn keeps_folders() -> bool {
    std::env::var_os(KEEP_VARIABLE).is_some_and(|value| value == "1")
}

/// A guard whose lock was poisoned still guards.
pub(crate) fn lock_guard(guard: &Mutex<Guard>) -> MutexGuard<'_, Guard> {
    guard.lock().unwrap_or_else(PoisonError::into_inner)
}
