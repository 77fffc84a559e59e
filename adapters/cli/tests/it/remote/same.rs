//! What is done at a store is done at a server, too, with the same output.

use std::path::Path;
use std::process::Command;
use std::sync::LazyLock;

use dcm_testenv::{Cluster, Environment, Route};
use regex::Regex;
use serde_json::{Value, json};

use crate::common::server::Server;
use crate::common::{Ran, User, fed, said};

/// What differs from run to run, and what stands for it.
static VARYING: LazyLock<Vec<(Regex, &str)>> = LazyLock::new(|| {
    let varying = [
        (r"\beyJ[-\w]+\.[-\w]+\.[-\w]+", "TOKEN"),
        (r"[A-Za-z0-9+/=]{80,}", "BASE64"),
        (r"\b[0-9a-f]{64}\b", "HASH"),
        (r"\b[0-9a-f]{32}\b", "ID"),
        // YAML quotes one that could be a number.
        (r#""?\b[0-9a-f]{16}\b"?"#, "UID"),
        (r"\d{4}-\d{2}-\d{2}T\d{2}:\d{2}:\d{2}(\.\d+)?Z?", "TIME"),
        (r"\b\d+(ms|s|m|h|d)( ?\d+(ms|s|m|h))*\b", "AGE"),
        (r" for AGE", ""),
        (r", seen AGE ago", ""),
        // A server without authentication does not know who asks it.
        (r"\banonymous\b", "ann"),
        // Columns are as wide as what is in them.
        (r"[ -]{2,}", "  "),
    ];
    varying.into_iter().map(|(pattern, word)| (Regex::new(pattern).unwrap(), word)).collect()
});

/// Lines of progress: how many of them there are, and which, is a matter of time.
static PROGRESS: LazyLock<Regex> = LazyLock::new(|| {
    Regex::new(r"(?m)^(\S+ on )?\S+/\S+: (pending|working|waiting|retrying|removing|done|removed)\b.*\n")
        .unwrap()
});

fn settled(text: &str, home: &Path) -> String {
    let text = text.replace(home.to_str().unwrap(), "HOME");
    let text = PROGRESS.replace_all(&text, "").into_owned();
    VARYING.iter().fold(text, |text, (pattern, word)| pattern.replace_all(&text, *word).into_owned())
}

/// Somebody who works at a store or at a server, and all that they were told.
struct Working<'a> {
    person: &'a User,
    told: Vec<String>,
}

impl Working<'_> {
    fn hear(&mut self, asked: &[&str], ran: &Ran) {
        let Ran { code, out, err } = ran;
        let told = format!("$ dcm {}\n[{code}]\n{out}{err}", asked.join(" "));
        self.told.push(settled(&told, self.person.home()));
    }

    fn run(&mut self, arguments: &[&str]) -> Ran {
        let ran = self.person.run(arguments);
        self.hear(arguments, &ran);
        ran
    }

    /// Each of these forms of one result.
    fn run_as(&mut self, arguments: &[&str], forms: &[&str]) {
        for form in forms {
            self.run(&[arguments, &["-o", form]].concat());
        }
    }

    fn feed(&mut self, arguments: &[&str], input: &str) -> Ran {
        let ran = fed(self.person.command().args(arguments), input);
        self.hear(arguments, &ran);
        ran
    }
}

const FORMS: [&str; 4] = ["table", "wide", "json", "yaml"];

fn document(pods: &str) -> String {
    let document = |name: &str, pods: &str| {
        json!({
            "apiVersion": "dcm.internal/v1", "kind": "LogicalCloud", "metadata": {"name": name, "project": "shop"},
            "spec": {
                "users": [{"name": "ann"}, {"name": "robot", "type": "token"}],
                "permissions": [
                    {"name": "look", "apiGroups": [""], "resources": ["pods", "secrets"], "verbs": ["get", "list"]},
                ],
                "quotas": [{"name": "compute", "hard": {"pods": pods}}],
                "clusters": [{"name": "first", "provider": "edge", "cluster": "one"}],
            },
        })
    };
    format!("{}\n---\n{}\n", document("same-a", pods), document("same-b", "7"))
}

/// One whose own Role takes the name of one that is rendered of a permission.
fn clashing() -> String {
    let manifest = json!({
        "apiVersion": "rbac.authorization.k8s.io/v1", "kind": "Role", "metadata": {"name": "read"}, "rules": [],
    });
    let permission = json!({"name": "read", "apiGroups": [""], "resources": ["pods"], "verbs": ["get"]});
    json!({
        "apiVersion": "dcm.internal/v1", "kind": "LogicalCloud", "metadata": {"name": "clash", "project": "shop"},
        "spec": {
            "level": "privileged", "permissions": [permission], "manifests": [manifest],
            "users": [{"name": "ann"}],
            "clusters": [{"name": "first", "provider": "edge", "cluster": "one"}],
        },
    })
    .to_string()
}

/// The hash of a plan for programs.
fn hash(plan: &Ran) -> String {
    let plan: Value = serde_json::from_str(&plan.out).unwrap();
    plan["hash"].as_str().unwrap().to_owned()
}

/// Clusters: all but the last step.
fn register(working: &mut Working<'_>, kubeconfig: &str) {
    working.run_as(&["cluster", "list"], &FORMS);
    let add = ["cluster", "add", "edge/one", "--kubeconfig", kubeconfig];
    working.run(&[&add[..], &["--label", "tier=a b"]].concat());
    working.run(&["cluster", "add", "edge/one", "--kubeconfig", "absent"]);
    working.run(&[&add[..], &["--label", "tier=edge", "--namespace", "default"]].concat());
    working.run(&[&add[..], &["--label", "tier=edge", "--namespace", "default", "--unchecked"]].concat());
    working.run(&[&add[..], &["--label", "tier=core"]].concat());
    working.run_as(&["cluster", "list"], &FORMS);
    working.run_as(&["cluster", "check", "edge/one"], &FORMS);
    working.run(&["cluster", "check", "edge/one", "--level", "privileged", "--for", "shop.yaml"]);
    working.run(&["cluster", "check", "edge/absent"]);
    working.run(&["cluster", "update", "edge/one", "--label", "tier=core"]);
    working.run(&["cluster", "update", "edge/one", "--label", "tier=core"]);
    working.run(&["cluster", "update", "edge/one", "--kubeconfig", kubeconfig, "--no-labels", "--unchecked"]);
    working.run(&["cluster", "update", "edge/absent", "--no-labels"]);
    working.run(&["cluster", "accept", "edge/one"]);
    working.run(&["cluster", "accept", "edge/absent"]);
    let unreachable = working.person.write("unreachable", crate::common::UNREACHABLE);
    working.run(&["cluster", "add", "edge/away", "--kubeconfig", unreachable.to_str().unwrap()]);
    // How the connection failed is shown at a store, and goes to the log of a server.
    let shown = working.told.pop().unwrap();
    let (reached, why) = shown.split_once("can't be reached").unwrap();
    assert!(why.starts_with([':', ';']), "{why}");
    working.told.push(reached.to_owned());
}

/// Two logical clouds, from their documents to their clusters.
fn apply(working: &mut Working<'_>) {
    working.run(&["get"]);
    working.run_as(&["get", "--project", "shop"], &FORMS);
    working.run(&["get", "same-a", "--project", "shop"]);
    working.run(&["status", "same-a", "--project", "shop"]);
    working.feed(&["apply", "-f", "-"], &document("-5"));
    working.feed(&["apply", "-f", "-"], &document("5").replace("edge", "absent"));
    assert_eq!(working.feed(&["apply", "-f", "-"], &clashing()).code, 3);
    assert_eq!(working.feed(&["plan", "-f", "-"], &clashing()).code, 3);
    working.run_as(&["plan", "-f", "shop.yaml"], &FORMS);
    let planned = working.run(&["plan", "-f", "shop.yaml", "-o", "json"]);
    let other = hash(&planned).chars().rev().collect::<String>();
    working.run(&["apply", "-f", "shop.yaml", "--plan-hash", &other]);
    working.run(&["apply", "-f", "shop.yaml", "--plan-hash", &hash(&planned)]);
    working.run(&["apply", "-f", "shop.yaml"]);
    let planned = working.feed(&["plan", "-f", "-", "-o", "json"], &document("6"));
    working.feed(&["apply", "-f", "-", "--plan-hash", &hash(&planned)], &document("8"));
    working.feed(&["apply", "-f", "-", "--plan-hash", &hash(&planned), "-o", "json"], &document("6"));
    working.run(&["get"]);
    for verb in ["get", "status"] {
        working.run_as(&[verb, "--project", "shop"], &FORMS);
        working.run_as(&[verb, "same-a", "--project", "shop"], &FORMS);
    }
    working.run_as(&["get", "--all-projects"], &FORMS);
}

/// What users work with.
fn hand_out(working: &mut Working<'_>, kubectl: &Path) {
    let of = |user: &'static str| ["kubeconfig", "same-a", "--project", "shop", "--user", user];
    working.run(&["kubeconfig", "same-a", "--project", "shop"]);
    working.run(&of("nobody"));
    for user in ["ann", "robot"] {
        working.run_as(&of(user), &["yaml", "json"]);
        working.run(&[&of(user)[..], &["--cluster-reference", "first"]].concat());
    }
    working.run(&[&of("ann")[..], &["--cluster-reference", "absent"]].concat());
    working.run(&[&of("ann")[..], &["--file", "written"]].concat());
    let written = std::fs::read_to_string(working.person.home().join("written")).unwrap();
    working.told.push(settled(&written, working.person.home()));
    working.run(&[&of("ann")[..], &["--merge=merged"]].concat());
    working.run(&[&of("robot")[..], &["--merge=merged", "--exec"]].concat());
    // Both can be worked with: credentials in the file, and a plugin.
    for context in ["ann@shop/same-a/first", "robot@shop/same-a/first"] {
        let mut command = Command::new(kubectl);
        let merged = working.person.home().join("merged");
        command
            .env_clear()
            .env("HOME", working.person.home())
            .env("USER", "ann")
            .arg("--kubeconfig")
            .arg(merged);
        let answer = said(command.args(["--context", context, "auth", "can-i", "list", "secrets"]));
        assert_eq!(answer, "yes\n");
    }
    let credential = ["credential", "same-a", "robot", "first", "--project", "shop"];
    let ran = working.person.run(credential).done();
    let said: Value = serde_json::from_str(&ran).unwrap();
    assert!(said["status"]["token"].is_string() && said["status"]["expirationTimestamp"].is_string());
    working.run(&["credential", "same-a", "nobody", "first", "--project", "shop"]);
    working.run_as(&["subject", "same-a", "new", "--project", "shop"], &FORMS);
    working.run(&["renew", "same-a", "--project", "shop"]);
    working.run(&["renew", "same-a", "--project", "shop", "--user", "ann"]);
    working.run(&["user", "revoke", "same-a", "ann", "--project", "shop"]);
    working.run_as(&["user", "revoke", "same-a", "robot", "--project", "shop"], &["json"]);
}

/// To the end.
fn take_off(working: &mut Working<'_>) {
    let of_a = |verb: &'static str| [verb, "same-a", "--project", "shop"];
    working.run(&["stop", "same-a", "--project", "shop"]);
    working.run(&of_a("status"));
    working.run(&of_a("resume"));
    working.run(&of_a("reconcile"));
    working.run(&["cluster", "stop", "edge/one"]);
    working.run(&["cluster", "list"]);
    working.run(&["cluster", "resume", "edge/one"]);
    working.run(&["cluster", "stop", "edge/absent"]);
    working.run(&of_a("delete"));
    working.run(&["cluster", "remove", "edge/one"]);
    working.run_as(&["orphans", "list"], &FORMS);
    working.run(&["orphans", "list", "edge/absent"]);
    working.run(&["orphans", "remove", "edge/one", "dcm-absent"]);
    working.run(&["orphans", "release", "edge/one", "dcm-absent"]);
    for deadline in ["500ms", "400d", "soon"] {
        assert_eq!(working.run(&[&of_a("terminate")[..], &["--deadline", deadline]].concat()).code, 2);
    }
    working.run(&[&of_a("terminate")[..], &["--delete-contents", "--deadline", "5m"]].concat());
    working.run(&["terminate", "same-b", "--project", "shop", "--keep-objects", "-o", "json"]);
    working.run(&of_a("terminate"));
    working.run(&of_a("delete"));
    working.run(&["delete", "same-b", "--project", "shop"]);
    working.run(&of_a("delete"));
    working.run(&["cluster", "remove", "edge/one", "--leave-behind"]);
    working.run(&["cluster", "remove", "edge/one"]);
    working.run(&["audit", "--project", "shop", "--cloud", "same-b"]);
    working.run(&["audit", "--since", "1h"]);
    // A server makes a provider by itself, and refuses what is there before that is a decision.
    let told = working.told.pop().unwrap();
    let lines =
        told.lines().filter(|line| !line.contains("register-cluster") && !line.contains("put-provider"));
    working.told.push(lines.collect::<Vec<_>>().join("\n"));
}

fn work(person: &User, cluster: &Cluster, kubeconfig: &Path) -> Vec<String> {
    person.write("shop.yaml", &document("5"));
    let mut working = Working { person, told: Vec::new() };
    register(&mut working, kubeconfig.to_str().unwrap());
    apply(&mut working);
    hand_out(&mut working, cluster.kubectl().get_program().as_ref());
    take_off(&mut working);
    working.told
}

#[tokio::test(flavor = "multi_thread")]
async fn all_that_is_done_at_a_store_is_done_at_a_server_with_the_same_output() {
    // Of its own: the orphans of the whole cluster are listed.
    let environment = Environment::group("same", 1).await.unwrap();
    let cluster = &environment.clusters()[0];
    let here = User::new();
    let kubeconfig = |name: &str, person: &User| {
        let identity = cluster.issue(name, &["system:masters"]).unwrap();
        person.write("kubeconfig", &cluster.kubeconfig(&identity, Route::Direct))
    };
    let at_store = work(&here, cluster, &kubeconfig("remote-here", &here));
    // What was kept there would be in the way.
    said(cluster.kubectl().args(["delete", "namespace", "same-b"]));

    let server = Server::new();
    let there = User::new();
    there.run(["login", &format!("http://{}", server.address())]).done();
    let at_server = work(&there, cluster, &kubeconfig("remote-there", &there));
    assert_eq!(at_store.len(), at_server.len());
    let differing = at_store.iter().zip(&at_server).filter(|(at_store, at_server)| at_store != at_server);
    let told =
        differing.map(|(at_store, at_server)| format!("at a store: {at_store}\nat a server: {at_server}"));
    assert_eq!(told.collect::<Vec<_>>().join("\n\n"), "");
    // No store was made beside.
    assert!(!there.home().join(".local").exists());
    server.stop();
}
