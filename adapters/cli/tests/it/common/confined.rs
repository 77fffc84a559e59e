//! What the engines of tests may do on a cluster: the least role alone, under the guard, as `dcm cluster role` prints both.
//!
//! Each installation is a user of its own on a cluster. Those that are confined alike are in one group, to which the role is bound, and
//! which the guard confines in the place of one user.

use std::collections::BTreeSet;
use std::path::PathBuf;
use std::sync::{Mutex, PoisonError};
use std::time::{Duration, Instant};

use dcm_testenv::effort::patience;
use dcm_testenv::{Cluster, Route};
use serde_json::{Value, json};

use super::{Ran, User, guard};

/// The pause between two looks whether a cluster goes by a new policy.
const LOOK_PAUSE: Duration = Duration::from_millis(100);

/// How an engine is confined.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Confined {
    /// To what standard logical clouds need.
    Standard,
    /// To what privileged ones need, too.
    Privileged,
    /// To what standard ones with a service mesh need.
    Mesh,
    /// By the role alone: under the guard, no namespace can be adopted.
    Unguarded,
}

impl Confined {
    /// The group of those who are.
    fn group(self) -> &'static str {
        match self {
            Self::Standard => "dcm-standard",
            Self::Privileged => "dcm-privileged",
            Self::Mesh => "dcm-mesh",
            Self::Unguarded => "dcm-unguarded",
        }
    }

    fn level(self) -> &'static str {
        if self == Self::Privileged { "privileged" } else { "standard" }
    }

    /// The kubeconfig of a user who is confined so.
    pub(crate) fn kubeconfig(self, cluster: &Cluster, user: &str, route: Route) -> String {
        self.prepare(cluster);
        cluster.kubeconfig(&cluster.issue(user, &[self.group()]).unwrap(), route)
    }

    /// Gives the group its rights, once for each cluster of this process.
    fn prepare(self, cluster: &Cluster) {
        static PREPARED: Mutex<BTreeSet<(PathBuf, &str)>> = Mutex::new(BTreeSet::new());
        let mut prepared = PREPARED.lock().unwrap_or_else(PoisonError::into_inner);
        let group = self.group();
        // A port may be that of another cluster later, a folder never is.
        let key = (cluster.folder().to_owned(), group);
        if prepared.contains(&key) {
            return;
        }
        guard::apply(cluster, &self.printed());
        // Applied too: where a wait failed, the next caller does all of this again.
        guard::apply(cluster, &binding(group).to_string());
        self.wait(cluster);
        prepared.insert(key);
    }

    /// The role and the guard, for the group.
    fn printed(self) -> String {
        let (person, group) = (User::new(), self.group());
        let mut document = manifests();
        if self == Self::Mesh {
            document["spec"]["serviceMesh"] = json!({});
        }
        let file = person.write("manifests.yaml", &document.to_string());
        let mut arguments = vec!["cluster", "role", "--level", self.level(), "--name", group, "-o", "json"];
        arguments.extend(["--for", file.to_str().unwrap()]);
        if self != Self::Unguarded {
            // Some documents of tests ask for privileged pods.
            arguments.extend(["--guard", "--user", group, "--pod-security", "privileged"]);
        }
        let mut printed: Value = serde_json::from_str(&person.run(arguments).done()).unwrap();
        for object in printed["items"].as_array_mut().unwrap() {
            if object["kind"] == "ValidatingAdmissionPolicy" {
                let who = &mut object["spec"]["matchConditions"][0]["expression"];
                assert_eq!(*who, format!("request.userInfo.username == \"{group}\""));
                *who = format!("\"{group}\" in request.userInfo.groups").into();
            }
        }
        printed.to_string()
    }

    /// Waits until the cluster goes by it.
    #[allow(clippy::disallowed_methods, reason = "a real cluster is waited for in real time")]
    fn wait(self, cluster: &Cluster) {
        let made = ["create", "namespace", "unmarked", "--dry-run=server", "--as", "any-user", "--as-group"];
        let started = Instant::now();
        loop {
            let ran = Ran::of(cluster.kubectl().args(made).arg(self.group()).output().unwrap());
            let is_so =
                if self == Self::Unguarded { ran.code == 0 } else { ran.err.contains(guard::REFUSAL) };
            if is_so {
                return;
            }
            assert!(started.elapsed() < patience(), "the cluster does not go by it: {ran:?}");
            std::thread::sleep(LOOK_PAUSE);
        }
    }
}

/// Gives the role of a group to its members.
fn binding(group: &str) -> Value {
    let rbac = "rbac.authorization.k8s.io";
    json!({
        "apiVersion": format!("{rbac}/v1"), "kind": "ClusterRoleBinding", "metadata": {"name": group},
        "roleRef": {"apiGroup": rbac, "kind": "ClusterRole", "name": group},
        "subjects": [{"apiGroup": rbac, "kind": "Group", "name": group}],
    })
}

/// A document with a manifest of each kind that tests have beside those that are rendered.
fn manifests() -> Value {
    let of = |version: &str, kind: &str, more: Value| {
        let mut manifest = json!({"apiVersion": version, "kind": kind, "metadata": {"name": "any"}});
        manifest.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
        manifest
    };
    let labels = json!({"app": "any"});
    let pods =
        json!({"metadata": {"labels": labels}, "spec": {"containers": [{"name": "any", "image": "any"}]}});
    let manifests = [
        of("apps/v1", "Deployment", json!({"spec": {"selector": {"matchLabels": labels}, "template": pods}})),
        of("v1", "ConfigMap", json!({})),
        of("v1", "Endpoints", json!({})),
        of("v1", "Service", json!({"spec": {"ports": [{"port": 80}]}})),
        of("discovery.k8s.io/v1", "EndpointSlice", json!({"addressType": "IPv4", "endpoints": []})),
        of("networking.k8s.io/v1", "NetworkPolicy", json!({"spec": {"podSelector": {}}})),
        of("networking.k8s.io/v1", "Ingress", json!({})),
        of("batch/v1", "Job", json!({})),
        of("batch/v1", "CronJob", json!({})),
        of("policy/v1", "PodDisruptionBudget", json!({"spec": {"minAvailable": 1}})),
    ];
    json!({"apiVersion": "dcm.internal/v1", "kind": "LogicalCloud", "metadata": {"name": "any"},
           "spec": {"manifests": manifests}})
}
