//! Servers that keep documents, each on its own: tests kill them, freeze them, and start them again with the same data.

use std::net::SocketAddr;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex};

use rustix::process::Signal;
use tokio::runtime::Handle;

use crate::Error;
use crate::certificates::Authority;
use crate::cluster;
use crate::environment::start::new_folder;
use crate::environment::{START_TIMEOUT, keep_folder, keeps_folders, lock_guard};
use crate::guard::Guard;
use crate::ports;
use crate::process::{Launch, Server};
use crate::programs::{Lookup, Program};
use crate::ready::{self, Deadline, Sign, lock};
use crate::runtime;
use crate::servers::etcd::{self, Addresses};
use crate::servers::{TlsFiles, ferretdb, write};

/// Starts with new ports, when somebody else was faster on a port; twice in a row is bad luck enough.
const TRIES_MAX: usize = 3;

/// How it is spoken to.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Speaks {
    Clear,
    Tls,
}

/// What it is started with.
pub(crate) struct Setting<'a> {
    pub(crate) executable: &'a Path,
    pub(crate) folder: &'a Path,
    /// Where its clients find it.
    pub(crate) clients: SocketAddr,
    /// Another free address.
    pub(crate) peers: SocketAddr,
    pub(crate) tls: Option<&'a TlsFiles>,
}

/// A server that keeps documents. It lives as long as this value, or as this process.
#[derive(Debug)]
pub struct Standalone {
    server: Arc<Mutex<Server>>,
    name: &'static str,
    address: SocketAddr,
    folder: PathBuf,
    runtime: Handle,
    // The last field: it is dropped, and waited for, after the server.
    guard: Mutex<Guard>,
}

impl Standalone {
    /// Starts an etcd that speaks in clear and asks nobody who they are.
    ///
    /// # Errors
    /// When the program is missing and can't be built, or the server is not ready in time.
    pub async fn etcd() -> Result<Self, Error> {
        Self::start_program(Program::Etcd, Speaks::Clear, launch_etcd).await
    }

    /// Starts an etcd that speaks TLS and wants a certificate of its clients: [`Self::authority`], [`Self::identity`].
    ///
    /// # Errors
    /// As [`Self::etcd`].
    pub async fn etcd_with_tls() -> Result<Self, Error> {
        Self::start_program(Program::Etcd, Speaks::Tls, launch_etcd).await
    }

    /// Starts a server that speaks the MongoDB wire protocol, in clear: FerretDB over SQLite, which has neither transactions
    /// nor change streams.
    ///
    /// # Errors
    /// As [`Self::etcd`].
    pub async fn mongodb() -> Result<Self, Error> {
        Self::start_program(Program::FerretDb, Speaks::Clear, launch_mongodb).await
    }

    /// Starts a server that speaks the MongoDB wire protocol over TLS: [`Self::authority`].
    ///
    /// # Errors
    /// As [`Self::etcd`].
    pub async fn mongodb_with_tls() -> Result<Self, Error> {
        Self::start_program(Program::FerretDb, Speaks::Tls, launch_mongodb).await
    }

    /// Starts a program, with what `launch` makes of the addresses and files that it gets.
    pub(crate) async fn start_program(
        program: Program,
        speaks: Speaks,
        launch: impl Fn(&Setting<'_>) -> Result<Launch, Error>,
    ) -> Result<Self, Error> {
        let runtime = runtime::handle().map_err(Error::Runtime)?;
        let [executable] = Lookup::from_environment().resolve([program]).await?;
        let mut tries = 1;
        loop {
            let standalone = Self::prepare(&launch, speaks, &executable, runtime)?;
            match standalone.start().await {
                Err(error) if error.is_port_taken() && tries < TRIES_MAX => tries += 1,
                started => return started.map(|()| standalone),
            }
        }
    }

    fn prepare(
        launch: impl Fn(&Setting<'_>) -> Result<Launch, Error>,
        speaks: Speaks,
        executable: &Path,
        runtime: &Handle,
    ) -> Result<Self, Error> {
        let guard = Guard::start(new_folder().map_err(Error::Name)?)?;
        let folder = guard.folder().to_owned();
        let [clients, peers] = ports::free().map_err(Error::Port)?;
        let tls = match speaks {
            Speaks::Clear => None,
            Speaks::Tls => Some(make_certificates(&folder)?),
        };
        let setting = Setting { executable, folder: &folder, clients, peers, tls: tls.as_ref() };
        let launch = launch(&setting)?;
        let standalone = Self {
            name: launch.program,
            server: Arc::new(Mutex::new(Server::new(launch, guard.group()))),
            address: clients,
            folder,
            runtime: runtime.clone(),
            guard: Mutex::new(guard),
        };
        if keeps_folders() {
            standalone.keep_folder();
        }
        Ok(standalone)
    }

    /// Where it listens.
    pub fn address(&self) -> SocketAddr {
        self.address
    }

    /// The folder with its log and its data.
    pub fn folder(&self) -> &Path {
        &self.folder
    }

    /// The file with the authority of its certificate, where it speaks TLS.
    pub fn authority(&self) -> PathBuf {
        self.folder.join(AUTHORITY)
    }

    /// The files with a client's certificate and its key, where it speaks TLS.
    pub fn identity(&self) -> (PathBuf, PathBuf) {
        (self.folder.join(CLIENT), self.folder.join(CLIENT_KEY))
    }

    /// Starts it, again after [`Self::kill`] on the same port and with the same data, and waits until it listens.
    ///
    /// # Errors
    /// When it does not start, or is not ready in time.
    pub async fn start(&self) -> Result<(), Error> {
        cluster::start(&self.server, self.name.to_owned())?;
        let (server, name, address) = (self.server.clone(), self.name, self.address);
        let ready = async move {
            ready::wait(Sign::Listens(address), name, &server, Deadline::after(START_TIMEOUT)).await
        };
        runtime::run(&self.runtime, ready).await
    }

    /// Kills it (`SIGKILL`), as a crash does.
    pub fn kill(&self) {
        lock(&self.server).kill();
    }

    /// Stops it where it is (`SIGSTOP`): it holds its connections, and says nothing.
    pub fn freeze(&self) {
        lock(&self.server).signal(Signal::STOP);
    }

    /// Lets it go on after [`Self::freeze`].
    pub fn thaw(&self) {
        lock(&self.server).signal(Signal::CONT);
    }

    /// Keeps the folder when the server ends, and says on standard error where it is.
    pub fn keep_folder(&self) {
        keep_folder(&self.guard);
    }
}

impl Drop for Standalone {
    fn drop(&mut self) {
        if std::thread::panicking() {
            self.keep_folder();
        }
        lock_guard(&self.guard).release();
    }
}

fn launch_etcd(setting: &Setting<'_>) -> Result<Launch, Error> {
    let Setting { executable, folder, clients, peers, tls } = *setting;
    Ok(etcd::launch(executable, folder, Addresses { clients, peers }, tls))
}

fn launch_mongodb(setting: &Setting<'_>) -> Result<Launch, Error> {
    ferretdb::launch(setting.executable, setting.folder, setting.clients, setting.tls)
}

const AUTHORITY: &str = "authority.pem";
const CLIENT: &str = "client.pem";
const CLIENT_KEY: &str = "client.key";

/// An authority, and what a server and a client have from it.
fn make_certificates(folder: &Path) -> Result<TlsFiles, Error> {
    let authority = Authority::generate("testenv")?;
    let server = authority.issue_server("server", &["127.0.0.1", "localhost"])?;
    let client = authority.issue_client("client", &[])?;
    write(folder, CLIENT, client.certificate())?;
    write(folder, CLIENT_KEY, client.key())?;
    Ok(TlsFiles {
        authority: write(folder, AUTHORITY, &authority.certificate())?,
        certificate: write(folder, "server.pem", server.certificate())?,
        key: write(folder, "server.key", server.key())?,
    })
}
