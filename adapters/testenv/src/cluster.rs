//! One API server with its controller manager and its proxy: to a client, a cluster.

use std::ffi::OsString;
use std::fmt;
use std::net::{SocketAddr, TcpListener};
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use tokio::runtime::Handle;

use crate::Error;
use crate::audit::AuditLog;
use crate::certificates::{self, Identity, Serving, Signer};
use crate::guard::ProcessGroup;
use crate::kubeconfig;
use crate::ports;
use crate::probe::Probe;
use crate::process::Server;
use crate::programs::Programs;
use crate::proxy::Proxy;
use crate::ready::{self, Deadline, Sign, lock};
use crate::runtime;
use crate::servers::api_server::{self, ADMINISTRATORS, Keys, Place};
use crate::servers::{controller_manager, make_folder, write};

/// The API server says that everything it needs works.
const READY: &str = "/readyz";

/// Made by the controller manager; its being there shows that the controllers work.
const MADE_BY_CONTROLLERS: &str = "/api/v1/namespaces/default/serviceaccounts/default";

/// The file in the folder of a cluster.
const ADMIN_KUBECONFIG: &str = "admin.kubeconfig";

/// The way that a kubeconfig takes to the API server.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Route {
    /// To the port of the API server.
    Direct,
    /// Through the [`Proxy`], which can be told to fail.
    Proxy,
}

/// A cluster without nodes: a real API server, and the controllers that make it useful.
///
/// It has its own authority for client certificates, its own serving certificate and its own service-account keys: a
/// credential of another cluster is answered with 401.
#[derive(Debug)]
pub struct Cluster {
    real: Arc<Real>,
    /// Of this value alone, so that a test which makes it fail disturbs no other one.
    proxy: Proxy,
}

/// A cluster without a proxy.
#[derive(Debug)]
pub(crate) struct Real {
    name: String,
    address: SocketAddr,
    folder: PathBuf,
    kubectl: PathBuf,
    keys: Keys,
    admin: Identity,
    audit_log: AuditLog,
    servers: Arc<Servers>,
    start_timeout: Duration,
    runtime: Handle,
}

/// The processes of a cluster, and the client that asks for their state.
struct Servers {
    cluster: String,
    api_server: Mutex<Server>,
    controller_manager: Mutex<Server>,
    probe: Probe,
}

/// What the clusters of an environment have in common.
pub(crate) struct Surroundings<'a> {
    pub(crate) folder: &'a Path,
    pub(crate) group: ProcessGroup,
    pub(crate) programs: &'a Programs,
    pub(crate) etcd: SocketAddr,
    pub(crate) start_timeout: Duration,
    pub(crate) audit_bodies: bool,
    pub(crate) runtime: &'a Handle,
}

impl Real {
    /// Prepares everything and starts nothing; the port of the API server is handed over.
    pub(crate) fn prepare(name: String, port: TcpListener, around: &Surroundings<'_>) -> Result<Self, Error> {
        let folder = around.folder.join(&name);
        make_folder(&folder)?;
        let keys = Keys::generate(&name, &folder, around.audit_bodies)?;
        let admin = keys.clients.issue_client("admin", &[ADMINISTRATORS])?;
        let address = ports::hand_over(port).map_err(Error::Port)?;
        let audit_log = AuditLog::new(folder.join("audit.jsonl"));
        let servers = Arc::new(Servers::prepare(&name, &folder, address, &keys, &admin, &audit_log, around)?);
        let kubeconfig =
            kubeconfig::render(&format!("https://{address}"), &keys.serving.certificate(), &admin);
        write(&folder, ADMIN_KUBECONFIG, &kubeconfig)?;
        Ok(Self {
            kubectl: around.programs.kubectl.clone(),
            start_timeout: around.start_timeout,
            runtime: around.runtime.clone(),
            name,
            address,
            folder,
            keys,
            admin,
            audit_log,
            servers,
        })
    }

    pub(crate) fn start_api_server(&self) -> Result<(), Error> {
        self.servers.start_api_server()
    }

    /// Waits for the API server, and starts its controllers.
    pub(crate) async fn start_controllers(&self, deadline: Deadline) -> Result<(), Error> {
        self.servers.api_server_ready(deadline).await?;
        self.servers.start_controller_manager()
    }

    pub(crate) async fn controllers_ready(&self, deadline: Deadline) -> Result<(), Error> {
        self.servers.controllers_ready(deadline).await
    }
}

impl Cluster {
    /// A cluster as one test sees it.
    pub(crate) fn start_proxy(real: Arc<Real>) -> Result<Self, Error> {
        let proxy = ports::reserve().and_then(|listener| Proxy::start(&real.runtime, listener, real.address));
        Ok(Self { proxy: proxy.map_err(Error::Port)?, real })
    }

    /// The name of the cluster in its environment: `cluster-1`, `cluster-2`, ...
    pub fn name(&self) -> &str {
        &self.real.name
    }

    /// The address of the API server, past the proxy.
    pub fn address(&self) -> SocketAddr {
        self.real.address
    }

    /// The authority whose client certificates the API server accepts, as PEM: that of [`Cluster::issue`].
    pub fn client_authority(&self) -> String {
        self.real.keys.clients.certificate()
    }

    /// The URL of the API server, past the proxy.
    pub fn url(&self) -> String {
        self.url_by(Route::Direct)
    }

    /// The URL by which the API server is reached on a route.
    pub fn url_by(&self, route: Route) -> String {
        match route {
            Route::Direct => format!("https://{}", self.real.address),
            Route::Proxy => format!("https://{}", self.proxy.address()),
        }
    }

    /// The authority that signed the serving certificate, as PEM; the same on both routes.
    pub fn certificate_authority(&self) -> String {
        self.real.keys.serving.certificate()
    }

    /// The administrator: user `admin` in the group `system:masters`.
    pub fn admin(&self) -> &Identity {
        &self.real.admin
    }

    /// The kubeconfig of the administrator, as YAML with everything inside.
    pub fn admin_kubeconfig(&self, route: Route) -> String {
        self.kubeconfig(&self.real.admin, route)
    }

    /// The kubeconfig of an identity, as YAML with everything inside.
    pub fn kubeconfig(&self, identity: &Identity, route: Route) -> String {
        kubeconfig::render(&self.url_by(route), &self.certificate_authority(), identity)
    }

    /// A new client certificate that this cluster accepts: the common name becomes the user name.
    ///
    /// # Errors
    /// When the certificate can't be made, for example with a name that is too long for one.
    pub fn issue(&self, common_name: &str, groups: &[&str]) -> Result<Identity, certificates::Error> {
        self.real.keys.clients.issue_client(common_name, groups)
    }

    /// A new client certificate that this cluster accepts, for a key that is there.
    ///
    /// # Errors
    /// When the certificate can't be made.
    pub fn issue_for(
        &self,
        common_name: &str,
        groups: &[&str],
        key: &Signer,
    ) -> Result<Identity, certificates::Error> {
        self.real.keys.clients.issue_client_for(common_name, groups, key.pair())
    }

    /// What the API server was asked.
    pub fn audit_log(&self) -> &AuditLog {
        &self.real.audit_log
    }

    /// The proxy in front of the API server.
    pub fn proxy(&self) -> &Proxy {
        &self.proxy
    }

    /// The folder with the logs and certificates of the cluster; it goes with the environment.
    pub fn folder(&self) -> &Path {
        &self.real.folder
    }

    /// A `kubectl` that acts as the administrator, past the proxy; arguments are to be added.
    pub fn kubectl(&self) -> Command {
        let mut command = Command::new(&self.real.kubectl);
        command.arg(flag("kubeconfig", &self.real.folder.join(ADMIN_KUBECONFIG)));
        command.arg(flag("cache-dir", &self.real.folder.join("kubectl-cache")));
        command.env_remove("KUBECONFIG");
        command
    }

    /// The process ids of the servers that were started and not killed.
    pub fn process_ids(&self) -> Vec<u32> {
        let servers = [&self.real.servers.api_server, &self.real.servers.controller_manager];
        servers.into_iter().filter_map(|server| lock(server).process_id()).collect()
    }

    /// Kills the API server (`SIGKILL`), as a crash does. Its data, its port and its controllers stay.
    pub fn kill(&self) {
        lock(&self.real.servers.api_server).kill();
    }

    /// Lets the controller manager sign certificates with a new authority, which the API server does not trust, and returns the
    /// certificate of that authority, as PEM. The controller manager starts anew.
    ///
    /// # Errors
    /// When the authority can't be made or written, or the controller manager does not start.
    pub fn replace_signer(&self) -> Result<String, Error> {
        let authority = self.real.keys.replace_signer()?;
        lock(&self.real.servers.controller_manager).kill();
        self.real.servers.start_controller_manager()?;
        Ok(authority)
    }

    /// Does what [`Cluster::trust_clients_of`] does, and has tokens signed and checked with a new key: those that were issued before are
    /// not accepted any more. The controller manager starts anew, too.
    ///
    /// # Errors
    /// When an authority or the key can't be written, or a server does not start, or is not ready in time.
    pub async fn replace_keys(&self, authorities: &str) -> Result<(), Error> {
        self.real.keys.replace_token_key()?;
        lock(&self.real.servers.controller_manager).kill();
        self.trust_clients_of(authorities).await?;
        self.real.servers.start_controller_manager()
    }

    /// Lets the API server accept client certificates of these authorities, as PEM, beside those of the cluster's own, and of no
    /// others. The API server starts anew, and is waited for.
    ///
    /// # Errors
    /// When they can't be written, or the API server does not start, or is not ready in time.
    pub async fn trust_clients_of(&self, authorities: &str) -> Result<(), Error> {
        self.real.keys.trust_clients_of(authorities)?;
        self.restart().await
    }

    /// Lets the API server show another certificate to a client that asks for another name. The API server starts anew, and is waited for.
    ///
    /// # Errors
    /// When a certificate can't be written, or the API server does not start, or is not ready in time.
    pub async fn serve_by_name(&self, served: &[Serving]) -> Result<(), Error> {
        for Serving { name, identity, .. } in served {
            let certificate = write(&self.real.folder, &format!("{name}.crt"), identity.certificate())?;
            let key = write(&self.real.folder, &format!("{name}.key"), identity.key())?;
            let pair = format!("{},{}:{name}", certificate.display(), key.display());
            lock(&self.real.servers.api_server).add_argument(format!("--tls-sni-cert-key={pair}"));
        }
        self.restart().await
    }

    /// Starts the API server again after [`Cluster::kill`], on the same port with the same data, and waits for it. A controller manager that
    /// ended meanwhile is started again, too.
    ///
    /// # Errors
    /// When the API server does not start, or is not ready in time.
    pub async fn restart(&self) -> Result<(), Error> {
        let servers = Arc::clone(&self.real.servers);
        let audit_log = self.real.audit_log.clone();
        let start_timeout = self.real.start_timeout;
        runtime::run(&self.real.runtime, async move {
            lock(&servers.api_server).kill();
            audit_log.drop_unfinished_line()?;
            servers.start_api_server()?;
            servers.api_server_ready(Deadline::after(start_timeout)).await?;
            servers.revive_controller_manager()
        })
        .await
    }
}

impl Servers {
    fn prepare(
        name: &str,
        folder: &Path,
        address: SocketAddr,
        keys: &Keys,
        admin: &Identity,
        audit_log: &AuditLog,
        around: &Surroundings<'_>,
    ) -> Result<Self, Error> {
        let place = Place { name, folder, address, etcd: around.etcd, audit_log: audit_log.path() };
        let api_server = api_server::launch(&around.programs.api_server, &place, keys);
        let authority = keys.serving.certificate();
        let controllers = keys.clients.issue_client(controller_manager::USER, &[ADMINISTRATORS])?;
        let kubeconfig = kubeconfig::render(&format!("https://{address}"), &authority, &controllers);
        let executable = &around.programs.controller_manager;
        let controller_manager = controller_manager::launch(executable, folder, keys, &kubeconfig)?;
        let probe = Probe::new(address, &authority, admin)
            .map_err(|source| Error::Probe { server: name.to_owned(), source })?;
        Ok(Self {
            cluster: name.to_owned(),
            api_server: Mutex::new(Server::new(api_server, around.group)),
            controller_manager: Mutex::new(Server::new(controller_manager, around.group)),
            probe,
        })
    }

    fn start_api_server(&self) -> Result<(), Error> {
        start(&self.api_server, self.api_server_name())
    }

    fn start_controller_manager(&self) -> Result<(), Error> {
        start(&self.controller_manager, self.controller_manager_name())
    }

    /// The controller manager ends by itself where the API server is away for 10 seconds while it starts.
    fn revive_controller_manager(&self) -> Result<(), Error> {
        let revived = lock(&self.controller_manager).revive();
        revived.map_err(|source| Error::Process { server: self.controller_manager_name(), source })
    }

    async fn api_server_ready(&self, deadline: Deadline) -> Result<(), Error> {
        let sign = Sign::Answers(&self.probe, READY);
        ready::wait(sign, &self.api_server_name(), &self.api_server, deadline).await
    }

    async fn controllers_ready(&self, deadline: Deadline) -> Result<(), Error> {
        let sign = Sign::Answers(&self.probe, MADE_BY_CONTROLLERS);
        ready::wait(sign, &self.controller_manager_name(), &self.controller_manager, deadline).await
    }

    fn api_server_name(&self) -> String {
        format!("the API server of {}", self.cluster)
    }

    fn controller_manager_name(&self) -> String {
        format!("the controller manager of {}", self.cluster)
    }
}

impl fmt::Debug for Servers {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter
            .debug_struct("Servers")
            .field("api_server", &self.api_server)
            .field("controller_manager", &self.controller_manager)
            .finish_non_exhaustive()
    }
}

/// Starts a server of an environment.
pub(crate) fn start(server: &Mutex<Server>, name: String) -> Result<(), Error> {
    lock(server).start().map_err(|source| Error::Process { server: name, source })
}

fn flag(name: &str, file: &Path) -> OsString {
    let mut flag = OsString::from(format!("--{name}="));
    flag.push(file);
    flag
}
