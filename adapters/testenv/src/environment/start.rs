//! The start of an environment.

use std::io;
use std::net::SocketAddr;
use std::ops::Range;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use super::{Builder, keep_folder, lock_guard};
use crate::Error;
use crate::cluster::{self, Real, Surroundings};
use crate::guard::Guard;
use crate::ports;
use crate::process::Server;
use crate::programs::Programs;
use crate::ready::{self, Deadline, Sign, lock};
use crate::runtime;
use crate::servers::etcd::{self, Addresses};

/// Starts with new ports, when somebody else was faster on a port; twice in a row is bad luck enough.
const TRIES_MAX: usize = 3;

const ETCD: &str = "etcd";

/// What the clusters of an environment have in common: the folder, the guard that ends all, and etcd.
#[derive(Debug)]
pub(crate) struct Host {
    etcd: Mutex<Server>,
    etcd_address: SocketAddr,
    programs: Programs,
    folder: PathBuf,
    start_timeout: Duration,
    audit_bodies: bool,
    // The last field: it is dropped, and waited for, after the servers.
    guard: Mutex<Guard>,
}

impl Host {
    /// Starts etcd.
    pub(super) async fn start(builder: &Builder) -> Result<Arc<Self>, Error> {
        let programs = builder.lookup.kubernetes().await?;
        let mut tries = 1;
        loop {
            let host = Self::prepare(builder, &programs)?;
            match host.start_etcd().await {
                Err(error) if error.is_port_taken() && tries < TRIES_MAX => tries += 1,
                result => return result.map(|()| Arc::new(host)),
            }
        }
    }

    /// The guard with its folder, and an etcd that is not started yet.
    fn prepare(builder: &Builder, programs: &Programs) -> Result<Self, Error> {
        let guard = Guard::start(new_folder().map_err(Error::Name)?)?;
        let folder = guard.folder().to_owned();
        let [clients, peers] = ports::free().map_err(Error::Port)?;
        let launch = etcd::launch(&programs.etcd, &folder, Addresses { clients, peers }, None);
        let host = Self {
            etcd: Mutex::new(Server::new(launch, guard.group())),
            etcd_address: clients,
            programs: programs.clone(),
            folder,
            start_timeout: builder.start_timeout,
            audit_bodies: builder.audit_bodies,
            guard: Mutex::new(guard),
        };
        if builder.keep {
            host.keep_folder();
        }
        Ok(host)
    }

    async fn start_etcd(&self) -> Result<(), Error> {
        cluster::start(&self.etcd, ETCD.to_owned())?;
        let deadline = Deadline::after(self.start_timeout);
        ready::wait(Sign::Listens(self.etcd_address), ETCD, &self.etcd, deadline).await
    }

    pub(super) fn folder(&self) -> &Path {
        &self.folder
    }

    pub(super) fn etcd_address(&self) -> SocketAddr {
        self.etcd_address
    }

    pub(super) fn kubectl(&self) -> &Path {
        &self.programs.kubectl
    }

    /// The process id of etcd.
    pub(super) fn process_id(&self) -> Option<u32> {
        lock(&self.etcd).process_id()
    }

    pub(super) fn keep_folder(&self) {
        keep_folder(&self.guard);
    }
}

impl Drop for Host {
    fn drop(&mut self) {
        // All servers at once; the fields, dropped after this, wait for the end of each.
        lock_guard(&self.guard).release();
    }
}

/// Starts clusters, which are named by their numbers, and waits until they are ready.
pub(super) async fn start_clusters(host: &Host, numbers: Range<usize>) -> Result<Vec<Arc<Real>>, Error> {
    let mut tries = 1;
    loop {
        match start_clusters_once(host, numbers.clone()).await {
            Err(error) if error.is_port_taken() && tries < TRIES_MAX => tries += 1,
            result => return result,
        }
    }
}

async fn start_clusters_once(host: &Host, numbers: Range<usize>) -> Result<Vec<Arc<Real>>, Error> {
    let deadline = Deadline::after(host.start_timeout);
    let clusters = prepare_clusters(host, numbers)?;
    for cluster in &clusters {
        cluster.start_api_server()?;
    }
    // One after the other is not slower: they all start at the same time, whichever is looked at.
    for cluster in &clusters {
        cluster.start_controllers(deadline).await?;
    }
    for cluster in &clusters {
        cluster.controllers_ready(deadline).await?;
    }
    Ok(clusters)
}

fn prepare_clusters(host: &Host, numbers: Range<usize>) -> Result<Vec<Arc<Real>>, Error> {
    let around = Surroundings {
        folder: &host.folder,
        group: lock_guard(&host.guard).group(),
        programs: &host.programs,
        etcd: host.etcd_address,
        start_timeout: host.start_timeout,
        audit_bodies: host.audit_bodies,
        runtime: runtime::handle().map_err(Error::Runtime)?,
    };
    // All ports before the first is handed over, so that no two are the same.
    let ports = numbers.clone().map(|_| ports::reserve()).collect::<io::Result<Vec<_>>>();
    let named = numbers.zip(ports.map_err(Error::Port)?);
    let prepare = |(index, port)| Real::prepare(format!("cluster-{}", index + 1), port, &around);
    named.map(prepare).map(|real| real.map(Arc::new)).collect()
}

/// A folder that nobody else has.
pub(crate) fn new_folder() -> io::Result<PathBuf> {
    let number = getrandom::u64()?;
    Ok(std::env::temp_dir().join(format!("dcm-testenv-{}-{number:016x}", std::process::id())))
}
