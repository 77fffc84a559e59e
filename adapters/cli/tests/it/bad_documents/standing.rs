//! What stands before a bad document comes, and must stand after it: a store, and clusters with a cloud on them.

use dcm_testenv::audit::Position;
use dcm_testenv::{Cluster, Environment, Route, Stage};
use rusqlite::{Connection, OpenFlags};

use crate::common::User;
use crate::common::confined::Confined;

pub(crate) const CLUSTERS: usize = 2;

/// The cloud that is on the clusters.
const SHOP: &str = "{apiVersion: dcm.internal/v1, kind: LogicalCloud, metadata: {name: shop}, spec: {users: [{name: ann}], \
    permissions: [{name: look, apiGroups: [''], resources: [pods], verbs: [get]}], \
    clusters: [{provider: real, cluster: cluster-1}, {provider: real, cluster: cluster-2}]}}";

/// A user of the command who has registered all clusters, and a cloud on them.
pub(crate) struct Standing {
    pub(crate) user: User,
    pub(crate) environment: Environment,
    /// Who the command is on the clusters; nobody else is.
    name: String,
    store: Connection,
}

/// All that must not change.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Before {
    /// Path, version and content of each document, and how often anything was ever written.
    documents: Vec<(String, i64, String)>,
    writes: i64,
    logs: Vec<Position>,
}

impl Standing {
    pub(crate) async fn new(name: &str) -> Self {
        let environment = Environment::group("bad_documents", CLUSTERS).await.unwrap();
        let user = User::new();
        for (cluster, namespace) in environment.clusters().iter().zip(["tenants", "others"]) {
            let kubeconfig = user.write("config", &kubeconfig(cluster, name));
            let id = format!("real/{}", cluster.name());
            let file = kubeconfig.to_str().unwrap();
            user.run(["cluster", "add", &id, "--namespace", namespace, "--kubeconfig", file]).done();
        }
        user.run_with_input(&["apply", "-f", "-"], &SHOP.replace("shop", name)).done();
        // Opened for reading, it also keeps the log of the database from being moved into the file after each command.
        let file = user.home().join(".local/share/dcm/store.db");
        let store = Connection::open_with_flags(file, OpenFlags::SQLITE_OPEN_READ_ONLY).unwrap();
        Self { user, environment, name: name.to_owned(), store }
    }

    /// A kubeconfig of the first cluster.
    pub(crate) fn kubeconfig(&self) -> String {
        kubeconfig(&self.environment.clusters()[0], &self.name)
    }

    pub(crate) fn before(&self) -> Before {
        let mut rows =
            self.store.prepare("SELECT path, version, document FROM documents ORDER BY path").unwrap();
        let rows = rows.query_map((), |row| Ok((row.get(0)?, row.get(1)?, row.get(2)?))).unwrap();
        let documents = rows.map(Result::unwrap).collect();
        let writes = self.store.query_row("SELECT version FROM counter", (), |row| row.get(0)).unwrap();
        let logs = self.environment.clusters().iter().map(|cluster| cluster.audit_log().position().unwrap());
        Before { documents, writes, logs: logs.collect() }
    }

    /// Nothing was written, and nothing was sent to a cluster.
    #[track_caller]
    pub(crate) fn assert_unchanged(&self, before: &Before, name: &str) {
        let now = self.before();
        assert_eq!((&now.documents, now.writes), (&before.documents, before.writes), "{name}");
        assert_eq!(self.requests_since(before), Vec::<String>::new(), "{name}");
    }

    /// What the command asked of the clusters.
    pub(crate) fn requests_since(&self, before: &Before) -> Vec<String> {
        let mut requests = Vec::new();
        for (cluster, position) in self.environment.clusters().iter().zip(&before.logs) {
            let events = cluster.audit_log().events_since(*position).unwrap();
            let ours = events.into_iter().filter(|event| event.user == self.name);
            let received = ours.filter(|event| event.stage == Stage::RequestReceived);
            requests.extend(received.map(|event| format!("{} {}", event.verb, event.request_uri)));
        }
        requests
    }
}

/// The kubeconfig of an engine of this name.
fn kubeconfig(cluster: &Cluster, name: &str) -> String {
    Confined::Standard.kubeconfig(cluster, name, Route::Direct)
}
