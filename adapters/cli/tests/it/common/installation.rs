//! A person whose clusters are real API servers, and the documents that they apply.

use std::path::PathBuf;
use std::process::{Child, Command, Stdio};
use std::time::Duration;

use dcm_testenv::effort::patience;
use dcm_testenv::{Cluster, Environment, Route};
use rustix::process::{Pid, Signal, kill_process};
use serde_json::{Value, json};

use super::confined::Confined;
use super::{Ran, User, fed, said};

/// How many clusters there are.
pub(crate) const CLUSTERS: usize = 3;

/// A person's store and configuration, with all clusters registered as `real/cluster-1` and so on.
///
/// It is a user of its own on each cluster, so the audit logs tell its requests from those of all others. It has the least role alone,
/// under the guard.
pub(crate) struct Installation<'a> {
    pub(crate) person: User,
    pub(crate) identity: String,
    pub(crate) confined: Confined,
    clusters: &'a [Cluster],
}

impl<'a> Installation<'a> {
    pub(crate) fn new(environment: &'a Environment, name: &str) -> Self {
        Self::by(environment, name, |_| Route::Direct)
    }

    /// With other limits.
    pub(crate) fn confined(environment: &'a Environment, name: &str, confined: Confined) -> Self {
        Self::with(environment, name, User::new(), confined, |_| Route::Direct)
    }

    /// Of a person who is there already.
    pub(crate) fn of(environment: &'a Environment, name: &str, person: User) -> Self {
        Self::of_by(environment, name, person, |_| Route::Direct)
    }

    /// Reaches each cluster by a route of the caller's choice.
    pub(crate) fn by(environment: &'a Environment, name: &str, route: impl Fn(usize) -> Route) -> Self {
        Self::of_by(environment, name, User::new(), route)
    }

    /// Both.
    pub(crate) fn of_by(
        environment: &'a Environment,
        name: &str,
        person: User,
        route: impl Fn(usize) -> Route,
    ) -> Self {
        Self::with(environment, name, person, Confined::Standard, route)
    }

    /// All of it.
    pub(crate) fn with(
        environment: &'a Environment,
        name: &str,
        person: User,
        confined: Confined,
        route: impl Fn(usize) -> Route,
    ) -> Self {
        let clusters = environment.clusters();
        let made = Self { person, identity: format!("dcm-{name}"), confined, clusters };
        for (index, cluster) in clusters.iter().enumerate() {
            made.register(cluster, route(index));
        }
        made
    }

    fn register(&self, cluster: &Cluster, route: Route) {
        let file = self.kubeconfig(cluster, route);
        let file = file.to_str().unwrap();
        self.person.run(["cluster", "add", &registered(cluster), "--kubeconfig", file]).done();
    }

    /// A file with a kubeconfig to reach a cluster by.
    pub(crate) fn kubeconfig(&self, cluster: &Cluster, route: Route) -> PathBuf {
        self.person.write("kubeconfig", &self.confined.kubeconfig(cluster, &self.identity, route))
    }

    pub(crate) fn clusters(&self) -> &'a [Cluster] {
        self.clusters
    }

    /// A document with this specification, for all clusters.
    pub(crate) fn document(&self, name: &str, mut spec: Value) -> Value {
        let reference = |cluster: &Cluster| json!({"provider": "real", "cluster": cluster.name()});
        spec["clusters"] = self.clusters.iter().map(reference).collect();
        json!({"apiVersion": "dcm.internal/v1", "kind": "LogicalCloud", "metadata": {"name": name}, "spec": spec})
    }

    /// Applies a document and waits until it is done.
    pub(crate) fn apply(&self, document: &Value) -> Ran {
        self.apply_within(&timeout(), document)
    }

    /// Applies a document that can't be done on all clusters, for three seconds at a time, until the result shows so much. It has each cluster
    /// looked at again, which takes a busy machine more than a moment.
    pub(crate) async fn apply_until_shown(&self, shown: &str, document: &Value) -> Ran {
        until(shown, async || {
            let ran = self.apply_within("3s", document);
            ran.out.contains(shown).then_some(ran)
        })
        .await
    }

    pub(crate) fn apply_within(&self, timeout: &str, document: &Value) -> Ran {
        let arguments = ["apply", "--timeout", timeout, "-f", "-"];
        self.person.run_with_input(&arguments, &document.to_string())
    }

    pub(crate) fn terminate(&self, cloud: &str) -> Ran {
        self.person.run(["terminate", cloud, "--timeout", &timeout()])
    }

    pub(crate) fn status(&self, cloud: &str) -> Value {
        let status = self.person.run(["status", cloud, "-o", "json"]).done();
        serde_json::from_str(&status).unwrap()
    }

    /// How far the cloud is on one cluster.
    pub(crate) fn lane(&self, cloud: &str, cluster: &Cluster) -> Value {
        self.status(cloud)["clusters"][registered(cluster)]["lane"].take()
    }

    /// A worker on this installation's store.
    pub(crate) fn serve(&self) -> Worker {
        Worker::begin(self.person.command().arg("serve").stderr(Stdio::null()))
    }

    /// A worker with this lease.
    pub(crate) fn serve_with_lease(&self, lease: &str) -> Worker {
        let mut command = self.person.command();
        Worker::begin(command.args(["serve", "--lease", lease]).stdout(Stdio::null()).stderr(Stdio::null()))
    }

    /// Applies a document, and leaves the work to others.
    pub(crate) fn hand_over(&self, document: &Value) {
        self.person.run_with_input(&["apply", "--no-wait", "-f", "-"], &document.to_string()).done();
    }

    /// A worker to which a document is handed over: no other process works on it.
    pub(crate) async fn served(&self, document: &Value) -> Worker {
        let worker = self.serve();
        until_served(&self.person, &document.to_string()).await;
        worker
    }
}

/// Hands a document over until a worker takes it: before that, a command would do the work by itself.
pub(crate) async fn until_served(person: &User, document: &str) {
    until("a worker that serves the store", async || {
        let ran = person.run_with_input(&["apply", "--no-wait", "-f", "-"], document);
        (!ran.err.contains("no worker serves this store")).then_some(())
    })
    .await;
}

/// The name under which a cluster is registered.
pub(crate) fn registered(cluster: &Cluster) -> String {
    format!("real/{}", cluster.name())
}

/// A running `dcm serve`; it ends when it is dropped.
pub(crate) struct Worker(Child);

impl Worker {
    /// Begins one by its command.
    pub(crate) fn begin(command: &mut Command) -> Self {
        Self(command.stdin(Stdio::null()).spawn().unwrap())
    }

    /// Asks it to end; it must do so well.
    pub(crate) fn stop(self) {
        self.ask_to_end();
        self.end();
    }

    /// Waits for its end; it must be a good one.
    pub(crate) fn end(mut self) {
        assert_eq!(self.0.wait().unwrap().code(), Some(0));
    }

    /// Waits for its end after it was killed.
    pub(crate) fn killed(mut self) {
        assert_eq!(self.0.wait().unwrap().code(), None);
    }

    pub(crate) fn ask_to_end(&self) {
        self.signal(Signal::TERM);
    }

    pub(crate) fn id(&self) -> u32 {
        self.0.id()
    }

    pub(crate) fn signal(&self, signal: Signal) {
        kill_process(Pid::from_child(&self.0), signal).unwrap();
    }
}

impl Drop for Worker {
    fn drop(&mut self) {
        // Left over by a test that failed.
        if let Ok(None) = self.0.try_wait() {
            let _ = self.0.kill();
            let _ = self.0.wait();
        }
    }
}

/// What kubectl says; it must succeed.
#[track_caller]
pub(crate) fn kubectl(cluster: &Cluster, arguments: &[&str]) -> String {
    said(cluster.kubectl().args(arguments))
}

/// Makes objects as another person; waits until it is done.
#[track_caller]
pub(crate) fn make(cluster: &Cluster, objects: &Value) {
    let mut command = cluster.kubectl();
    fed(command.args(["create", "--field-manager", "a-person", "-f", "-"]), &objects.to_string()).done();
}

/// Returns [`patience`] as commands take it for `--timeout`: a bound on liveness, not on speed.
pub(crate) fn timeout() -> String {
    format!("{}s", patience().as_secs().max(1))
}

/// Looks again and again until there is something.
pub(crate) async fn until<T>(what: &str, look: impl AsyncFn() -> Option<T>) -> T {
    let started = tokio::time::Instant::now();
    loop {
        if let Some(seen) = look().await {
            return seen;
        }
        assert!(started.elapsed() < patience(), "waited in vain for {what}");
        tokio::time::sleep(Duration::from_millis(100)).await;
    }
}
