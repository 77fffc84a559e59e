//! A client that writes to the database, and has no keys, goes after what is done on a real cluster.

use std::collections::BTreeMap;

use dcm_core::manifest::Manifest;
use dcm_testenv::{Cluster, Environment, Standalone};
use serde_json::{Value, json};

use crate::attacks::environment;
use crate::common::User;
use crate::common::database::{Database, exported, forged, path_with};
use crate::common::installation::{Installation, kubectl, until};
use crate::common::server::{Listener, begin};

const LISTEN: [&str; 2] = ["--listen", "127.0.0.1:0"];

/// Where the clouds are in the API.
const CLOUDS: &str = "/v2/projects/default/logical-clouds";

/// Two clouds on one cluster, whose documents and app contexts are in two databases.
struct Victim<'a> {
    installation: Installation<'a>,
    documents: Database,
    contexts: Database,
    /// The one whose documents are attacked.
    cloud: &'a str,
    /// One with wider rights, which goes on.
    other: &'a str,
}

impl<'a> Victim<'a> {
    fn new(
        environment: &'a Environment,
        [cloud, other]: [&'a str; 2],
        [documents, contexts]: [Database; 2],
    ) -> Self {
        let urls = [("DCM_STORE", documents.url()), ("DCM_CONTEXTS_STORE", contexts.url())];
        let installation = Installation::of(environment, cloud, User::with(urls));
        for (name, verbs) in [(cloud, json!(["get"])), (other, json!(["get", "delete"]))] {
            let look = json!({"name": "look", "apiGroups": [""], "resources": ["pods"], "verbs": verbs});
            let spec = json!({"users": [{"name": "bot", "type": "token"}], "permissions": [look]});
            installation.apply(&installation.document(name, spec)).done();
        }
        Self { installation, documents, contexts, cloud, other }
    }

    fn cluster(&self) -> &'a Cluster {
        &self.installation.clusters()[0]
    }

    /// The rules of each role in the namespace of a cloud.
    fn rules(&self, cloud: &str) -> String {
        kubectl(self.cluster(), &["-n", cloud, "get", "roles", "-o", "jsonpath={.items[*].rules}"])
    }

    fn delete_roles(&self, cloud: &str) {
        kubectl(self.cluster(), &["-n", cloud, "delete", "roles", "--all"]);
    }

    /// All documents of a database, as they are kept.
    fn export(&self, database: &Database) -> String {
        self.installation.person.run(["store", "export", "--store", &database.url()]).done()
    }

    /// `dcm store check` finds these documents and no others.
    fn finds(&self, paths: &[&str]) {
        let ran = self.installation.person.run(["store", "check", "-o", "json"]);
        let report: Value = serde_json::from_str(&ran.out).unwrap();
        let findings = report["findings"].as_array().unwrap().iter();
        let found: BTreeMap<&str, &str> = findings
            .map(|finding| (finding["path"].as_str().unwrap(), finding["rule"].as_str().unwrap()))
            .collect();
        assert_eq!(found, paths.iter().map(|path| (*path, "unopened")).collect(), "{ran:#?}");
        assert_eq!(ran.code, if paths.is_empty() { 0 } else { 5 }, "{ran:#?}");
    }
}

/// What is answered, which has to begin with this status.
#[track_caller]
fn ask(server: Listener, request: &str, status: &str) -> String {
    let answer = server.ask(request);
    assert!(answer.starts_with(status), "{request}: {answer}");
    answer
}

/// A permission whose rules are changed, or that is the one of another cloud, is not applied.
fn is_not_applied(victim: &Victim<'_>, server: Listener, path: &str) {
    let (cloud, other, before) = (victim.cloud, victim.other, victim.rules(victim.cloud));
    for request in
        [format!("POST {CLOUDS}/{cloud}/apply"), format!("GET {CLOUDS}/{cloud}/user-permissions/look")]
    {
        let answer = ask(server, &request, "500");
        assert!(answer.contains(path), "{answer}");
    }
    victim.finds(&[path]);
    let shown = victim.installation.person.run(["get", cloud]);
    assert!(shown.code == 1 && shown.err.contains(path), "{shown:#?}");
    let listed = ask(server, &format!("GET {CLOUDS}"), "200");
    assert!(listed.contains(other), "{listed}");
    ask(server, &format!("GET {CLOUDS}/{other}/user-permissions/look"), "200");
    ask(server, &format!("POST {CLOUDS}/{other}/apply"), "200");
    assert_eq!(victim.rules(cloud), before);
}

async fn permissions_are_attacked(victim: &Victim<'_>) {
    let (server, listeners, _log) = begin(&victim.installation.person, &LISTEN);
    let export = victim.export(&victim.documents);
    let [path, wider] = [victim.cloud, victim.other]
        .map(|cloud| path_with(&export, &["parts/default/", &format!("{cloud}/"), "/permissions/look/"]));
    let kept = exported(&export, &path);
    let changed = forged(&kept, |part| part["spec"]["resources"] = json!(["secrets"]));
    for forged in changed.into_iter().chain([exported(&export, &wider)]) {
        victim.documents.put(&path, &forged).await;
        is_not_applied(victim, listeners[0], &path);
    }
    victim.documents.put(&path, &kept).await;
    victim.finds(&[]);
    ask(listeners[0], &format!("POST {CLOUDS}/{}/apply", victim.cloud), "200");
    server.stop();
}

/// A worker that begins its work reads an app context, whose root names a manifest of the attacker's by its right hash.
async fn manifests_are_attacked(victim: &Victim<'_>) {
    let (cloud, other) = (victim.cloud, victim.other);
    let [before, others] = [cloud, other].map(|cloud| victim.rules(cloud));
    let export = victim.export(&victim.contexts);
    let role = format!(r#""kind":"Role","metadata":{{"name":"look","namespace":"{cloud}""#);
    let line = export.lines().find(|line| line.contains(&role)).unwrap();
    let path = path_with(line, &["manifests/"]);
    let (rest, hash) = path.rsplit_once('/').unwrap();
    let root = format!("contexts/{}/root", rest.strip_prefix("manifests/").unwrap());
    let kept = [&path, &root].map(|path| exported(&export, path));
    let mut own = String::new();
    let manifests = forged(&kept[0], |stored| {
        stored["manifest"]["rules"] = json!([{"apiGroups": ["*"], "resources": ["*"], "verbs": ["*"]}]);
        own = Manifest::new(stored["manifest"].clone()).unwrap().hash().to_string();
    });
    let roots = forged(&kept[1].replace(hash, &own), |_| ());
    for forged in manifests.iter().zip(&roots) {
        victim.contexts.put(&path, forged.0).await;
        victim.contexts.put(&root, forged.1).await;
        [cloud, other].iter().for_each(|cloud| victim.delete_roles(cloud));
        let (server, _, log) = begin(&victim.installation.person, &LISTEN);
        until("the role of the other cloud", async || (victim.rules(other) == others).then_some(())).await;
        until("the path in the log", async || {
            assert_eq!(victim.rules(cloud), "");
            log.try_iter().any(|line| line.contains(&root)).then_some(())
        })
        .await;
        victim.finds(&[&path, &root]);
        server.stop();
    }
    victim.contexts.put(&path, &kept[0]).await;
    victim.contexts.put(&root, &kept[1]).await;
    let (server, ..) = begin(&victim.installation.person, &LISTEN);
    until("the role as it was", async || (victim.rules(cloud) == before).then_some(())).await;
    victim.finds(&[]);
    server.stop();
}

async fn attacked(clouds: [&str; 2], databases: [Database; 2], attack: impl AsyncFn(&Victim<'_>)) {
    let environment = environment().await;
    let victim = Victim::new(&environment, clouds, databases);
    victim.finds(&[]);
    attack(&victim).await;
    for cloud in clouds {
        victim.installation.terminate(cloud).done();
    }
}

async fn etcd() -> Database {
    Database::Etcd(Standalone::etcd().await.unwrap())
}

async fn mongodb() -> Database {
    Database::MongoDb(Standalone::mongodb().await.unwrap())
}

#[tokio::test(flavor = "multi_thread")]
async fn a_permission_that_a_writer_of_etcd_forges_is_not_applied() {
    let databases = [etcd().await, mongodb().await];
    attacked(["forged-part-etcd", "other-part-etcd"], databases, permissions_are_attacked).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_permission_that_a_writer_of_mongodb_forges_is_not_applied() {
    let databases = [mongodb().await, etcd().await];
    attacked(["forged-part-mongodb", "other-part-mongodb"], databases, permissions_are_attacked).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_manifest_that_a_writer_of_etcd_forges_is_not_brought_to_a_cluster() {
    let databases = [mongodb().await, etcd().await];
    attacked(["forged-manifest-etcd", "other-manifest-etcd"], databases, manifests_are_attacked).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_manifest_that_a_writer_of_mongodb_forges_is_not_brought_to_a_cluster() {
    let databases = [etcd().await, mongodb().await];
    attacked(["forged-manifest-mongodb", "other-manifest-mongodb"], databases, manifests_are_attacked).await;
}
