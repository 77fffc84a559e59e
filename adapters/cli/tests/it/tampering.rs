//! A writer with plain access to the database, and a kubeconfig that runs a program: on a real etcd and a real FerretDB, and with
//! servers that are the real program.
#![allow(clippy::unwrap_used, reason = "a test fails by it")]

use std::path::PathBuf;

use crate::common::database::{Database, exported, forged};
use crate::common::installation::until;
use crate::common::server::begin;
use crate::common::{UNREACHABLE, User};
use dcm_testenv::Standalone;
use serde_json::{Value, json};

/// Listens somewhere, as a server must.
const LISTEN: [&str; 2] = ["--listen", "127.0.0.1:0"];

/// A user whose kubeconfig makes a file when it is used.
struct Victim {
    user: User,
    made: PathBuf,
}

impl Victim {
    /// With two clusters that never answer and a cloud on both.
    fn of(user: User) -> Self {
        let made = user.home().join("made");
        user.write("config", UNREACHABLE);
        let victim = Self { user, made };
        for cluster in ["p/one", "p/two"] {
            victim.register("add", cluster, "config");
        }
        let cloud = json!({
            "apiVersion": "dcm.internal/v1", "kind": "LogicalCloud", "metadata": {"name": "c"},
            "spec": {"users": [{"name": "ann"}], "clusters": [
                {"provider": "p", "cluster": "one"}, {"provider": "p", "cluster": "two"},
            ]},
        });
        victim.user.run_with_input(&["apply", "--no-wait", "-f", "-"], &cloud.to_string()).done();
        victim
    }

    fn register(&self, how: &str, cluster: &str, file: &str) {
        self.user.run(["cluster", how, cluster, "--unchecked", "--kubeconfig", file]).done();
    }

    /// A kubeconfig that runs a program.
    fn forged(&self) -> Value {
        let program = json!({
            "apiVersion": "client.authentication.k8s.io/v1", "interactiveMode": "Never",
            "command": "/usr/bin/touch", "args": [self.made],
        });
        json!({
            "apiVersion": "v1", "kind": "Config", "current-context": "main",
            "contexts": [{"name": "main", "context": {"cluster": "main", "user": "main"}}],
            "clusters": [{"name": "main", "cluster": {"server": "https://127.0.0.1:1"}}],
            "users": [{"name": "main", "user": {"exec": program}}],
        })
    }

    /// A document as it is kept, to the letter. No keys are needed for that.
    fn kept(&self, path: &str) -> String {
        exported(&self.user.run(["store", "export"]).done(), path)
    }

    /// These documents can't be read, and all others can.
    fn finds(&self, paths: &[&str]) {
        let report = self.user.run(["store", "check", "-o", "json"]);
        let findings: Value = serde_json::from_str(&report.out).unwrap();
        let findings = findings["findings"].as_array().unwrap().iter();
        let unopened = findings.filter(|finding| finding["rule"] == "unopened");
        let found: Vec<&str> = unopened.clone().map(|finding| finding["path"].as_str().unwrap()).collect();
        assert_eq!(found, paths, "{report:#?}");
        assert_eq!(report.code, if paths.is_empty() { 0 } else { 5 }, "{report:#?}");
    }

    /// The clusters that are listed, where these documents are named as unreadable.
    fn lists(&self, clusters: &[&str], unreadable: &[&str]) {
        let listed = self.user.run(["cluster", "list"]);
        assert_eq!(listed.code, i32::from(!unreadable.is_empty()), "{listed:#?}");
        assert!(clusters.iter().all(|cluster| listed.out.contains(cluster)), "{listed:#?}");
        assert!(unreadable.iter().all(|path| listed.err.contains(path)), "{listed:#?}");
    }

    /// Waits until the status of the cloud has this.
    async fn until_status_has(&self, text: &str) {
        let status = async || self.user.run(["status", "c", "-o", "json"]).out.contains(text).then_some(());
        until(text, status).await;
    }
}

async fn attacked(database: Database) {
    let victim = Victim::of(User::with([("DCM_STORE", database.url())]));
    victim.finds(&[]);
    let [one, two] = ["clusters/p/one", "clusters/p/two"];
    let (kept_one, kept_two) = (victim.kept(one), victim.kept(two));

    // Two documents are swapped.
    database.put(one, &kept_two).await;
    database.put(two, &kept_one).await;
    victim.finds(&[one, two]);
    victim.lists(&[], &[one, two]);
    database.put(one, &kept_one).await;
    database.put(two, &kept_two).await;
    victim.finds(&[]);

    // A document is edited, and its MAC is stripped.
    for edited in forged(&kept_two, |document| document["labels"] = json!({"tier": "core"})) {
        database.put(two, &edited).await;
        victim.finds(&[two]);
    }
    let [_, stripped] = forged(&kept_two, |_| ());
    database.put(two, &stripped).await;
    victim.finds(&[two]);
    victim.lists(&["p/one"], &[two]);
    database.put(two, &kept_two).await;

    let secret = json!({"$secret": victim.forged().to_string()});
    let [with_mac, stripped] = forged(&kept_one, |document| document["kubeconfig"] = secret);
    database.put(one, &with_mac).await;
    victim.finds(&[one]);
    database.put(one, &stripped).await;
    runs_nothing(&victim, one).await;
}

/// The sealed kubeconfig of a document has become a clear one that runs a program.
async fn runs_nothing(victim: &Victim, path: &str) {
    let (server, ..) = begin(&victim.user, &LISTEN);
    let checked = victim.user.run(["cluster", "check", "p/one"]);
    assert!(checked.code != 0 && checked.err.contains(path), "{checked:#?}");
    victim.finds(&[path]);
    victim.lists(&["p/two"], &[path]);
    victim.until_status_has(path).await;
    server.stop();
    assert!(!victim.made.exists(), "the program was run");
    // It is run when the user registers it, whose own command allows it.
    victim.user.write("forged", &victim.forged().to_string());
    victim.register("update", "p/two", "forged");
    victim.user.run(["cluster", "check", "p/two"]);
    assert!(victim.made.exists(), "the kubeconfig runs nothing in any case");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_writer_of_etcd_without_the_keys_changes_nothing_and_has_nothing_run() {
    attacked(Database::Etcd(Standalone::etcd().await.unwrap())).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_writer_of_mongodb_without_the_keys_changes_nothing_and_has_nothing_run() {
    attacked(Database::MongoDb(Standalone::mongodb().await.unwrap())).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_server_runs_no_program_of_a_kubeconfig_that_its_settings_do_not_name() {
    let victim = Victim::of(User::new());
    victim.user.write("forged", &victim.forged().to_string());
    victim.register("update", "p/one", "forged");
    let (server, ..) = begin(&victim.user, &LISTEN);
    victim.until_status_has("the server's setting kubeconfigs.execCommands allows it").await;
    server.stop();
    assert!(!victim.made.exists(), "the program was run");
    let (server, ..) =
        begin(&victim.user, &[&LISTEN[..], &["--kubeconfig-exec-commands", "/usr/bin/touch"]].concat());
    until("the program to be run", async || victim.made.exists().then_some(())).await;
    server.stop();
}

#[tokio::test(flavor = "multi_thread")]
async fn a_program_of_a_kubeconfig_does_not_get_the_keys_of_the_store() {
    let victim = Victim::of(User::new());
    let keys = std::fs::read_to_string(victim.user.home().join(".config/dcm/keys.json")).unwrap();
    let mut kubeconfig = victim.forged();
    let exec = &mut kubeconfig["users"][0]["user"]["exec"];
    exec["command"] = "/bin/sh".into();
    exec["args"] = json!(["-c", format!("env > {}", victim.made.display())]);
    victim.user.write("forged", &kubeconfig.to_string());
    victim.register("update", "p/one", "forged");
    let check = ["cluster", "check", "p/one"];
    victim.user.command().env("DCM_KEYS", &keys).env("OTHER", "hunter2").args(check).output().unwrap();
    let seen = std::fs::read_to_string(&victim.made).unwrap();
    assert!(seen.contains("OTHER=hunter2") && !seen.contains("DCM_KEYS"), "{seen}");
}
