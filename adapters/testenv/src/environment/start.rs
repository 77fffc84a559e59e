//! The start of an environment.

use std::io;
use std::path::PathBuf;
use std::sync::Mutex;

use tokio::runtime::Handle;

use super::{Builder, Environment};
use crate::Error;
use crate::cluster::{self, Cluster, Surroundings};
use crate::guard::Guard;
use crate::ports;
use crate::process::Server;
use crate::programs::Programs;
use crate::ready::{self, Deadline, Sign};
use crate::servers::etcd::{self, Addresses};

/// Starts with new ports, when somebody else was faster on a port; twice in a row is bad luck enough.
const TRIES_MAX: usize = 3;

pub(super) async fn start(builder: Builder, runtime: &Handle) -> Result<Environment, Error> {
    let programs = builder.lookup.kubernetes().await?;
    let mut tries = 1;
    loop {
        match start_once(&builder, &programs, runtime).await {
            Err(error) if error.is_port_taken() && tries < TRIES_MAX => tries += 1,
            result => return result,
        }
    }
}

async fn start_once(builder: &Builder, programs: &Programs, runtime: &Handle) -> Result<Environment, Error> {
    let deadline = Deadline::after(builder.start_timeout);
    let mut environment = prepare(builder, programs)?;
    if builder.keep {
        environment.keep_folder();
    }
    cluster::start(&environment.etcd, ETCD.to_owned())?;
    environment.clusters = prepare_clusters(builder, programs, runtime, &environment)?;
    ready::wait(Sign::Listens(environment.etcd_address), ETCD, &environment.etcd, deadline).await?;
    for cluster in &environment.clusters {
        cluster.start_api_server()?;
    }
    // One after the other is not slower: they all start at the same time, whichever is looked at.
    for cluster in &environment.clusters {
        cluster.start_controllers(deadline).await?;
    }
    for cluster in &environment.clusters {
        cluster.controllers_ready(deadline).await?;
    }
    Ok(environment)
}

const ETCD: &str = "etcd";

/// The guard with its folder, and an etcd that is not started yet.
fn prepare(builder: &Builder, programs: &Programs) -> Result<Environment, Error> {
    let guard = Guard::start(new_folder().map_err(Error::Name)?)?;
    let folder = guard.folder().to_owned();
    let [clients, peers] = ports::free().map_err(Error::Port)?;
    let launch = etcd::launch(&programs.etcd, &folder, Addresses { clients, peers }, None);
    Ok(Environment {
        clusters: Vec::with_capacity(builder.clusters),
        etcd: Mutex::new(Server::new(launch, guard.group())),
        etcd_address: clients,
        kubectl: programs.kubectl.clone(),
        folder,
        guard: Mutex::new(guard),
    })
}

fn prepare_clusters(
    builder: &Builder,
    programs: &Programs,
    runtime: &Handle,
    environment: &Environment,
) -> Result<Vec<Cluster>, Error> {
    let around = Surroundings {
        folder: &environment.folder,
        group: super::lock_guard(&environment.guard).group(),
        programs,
        etcd: environment.etcd_address,
        start_timeout: builder.start_timeout,
        audit_bodies: builder.audit_bodies,
        runtime,
    };
    // All ports before the first is handed over, so that no two are the same.
    let ports = (0..builder.clusters).map(|_| ports::reserve()).collect::<io::Result<Vec<_>>>();
    let named = ports.map_err(Error::Port)?.into_iter().enumerate();
    named.map(|(index, port)| Cluster::prepare(format!("cluster-{}", index + 1), port, &around)).collect()
}

/// A folder that nobody else has.
pub(crate) fn new_folder() -> io::Result<PathBuf> {
    let number = getrandom::u64()?;
    Ok(std::env::temp_dir().join(format!("dcm-testenv-{}-{number:016x}", std::process::id())))
}
