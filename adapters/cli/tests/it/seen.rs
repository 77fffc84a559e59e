//! Commands look at the clusters before they report `done`, and correct what other clients changed, on real API servers.
#![allow(clippy::unwrap_used, reason = "a test fails by it")]

use crate::common::Ran;
use crate::common::installation::{Installation, kubectl, registered, timeout};
use dcm_testenv::{Cluster, Environment, Fault, Route};
use serde_json::{Value, json};

/// One is enough: each test is about the objects of one API server.
const CLUSTERS: usize = 1;

fn spec() -> Value {
    json!({
        "users": [{"name": "ann"}, {"name": "robot", "type": "token"}],
        "permissions": [{"name": "look", "apiGroups": [""], "resources": ["pods"], "verbs": ["get"]}],
        "quotas": [{"name": "compute", "hard": {"limits.cpu": "1000m", "pods": 10}}],
    })
}

/// A change that another client makes to a cloud on a cluster.
struct Damage {
    what: &'static str,
    /// The arguments of kubectl, which acts in the cloud's namespace.
    done: &'static [&'static str],
    /// The arguments of the kubectl that reads the state, and its output before the damage.
    asked: &'static [&'static str],
    good: &'static str,
}

const NAME: &str = "jsonpath={.metadata.name}";

const DAMAGES: [Damage; 8] = [
    Damage {
        what: "bindings are deleted",
        done: &["delete", "rolebinding", "--all"],
        asked: &["get", "rolebinding", "look", "--ignore-not-found", "-o", NAME],
        good: "look",
    },
    Damage {
        what: "a role is widened",
        done: &[
            "patch",
            "role",
            "look",
            "--type=json",
            "-p",
            r#"[{"op":"replace","path":"/rules/0/verbs","value":["*"]}]"#,
        ],
        asked: &["get", "role", "look", "--ignore-not-found", "-o", "jsonpath={.rules[*].verbs}"],
        good: r#"["get"]"#,
    },
    Damage {
        what: "a binding has another subject",
        done: &[
            "patch",
            "rolebinding",
            "look",
            "--type=json",
            "-p",
            r#"[{"op":"replace","path":"/subjects/0/name","value":"intruder"}]"#,
        ],
        asked: &["get", "rolebinding", "look", "--ignore-not-found", "-o", "jsonpath={.subjects[*].name}"],
        good: "",
    },
    Damage {
        what: "a quota is raised",
        done: &[
            "patch",
            "resourcequota",
            "compute",
            "--type=merge",
            "-p",
            r#"{"spec":{"hard":{"pods":"99"}}}"#,
        ],
        asked: &["get", "resourcequota", "compute", "--ignore-not-found", "-o", "jsonpath={.spec.hard.pods}"],
        good: "10",
    },
    Damage {
        what: "a quota is deleted",
        done: &["delete", "resourcequota", "compute"],
        asked: &["get", "resourcequota", "compute", "--ignore-not-found", "-o", NAME],
        good: "compute",
    },
    Damage {
        what: "default limits are deleted",
        done: &["delete", "limitrange", "--all"],
        asked: &["get", "limitrange", "dcm-defaults", "--ignore-not-found", "-o", NAME],
        good: "dcm-defaults",
    },
    Damage {
        what: "an account is deleted",
        done: &["delete", "serviceaccount", "--field-selector", "metadata.name!=default"],
        asked: &["get", "serviceaccount", "--field-selector", "metadata.name!=default", "-o", "name"],
        good: "",
    },
    Damage {
        what: "the namespace is deleted",
        done: &["delete", "namespace", "CLOUD", "--wait=true"],
        asked: &["get", "rolebinding", "look", "--ignore-not-found", "-o", NAME],
        good: "look",
    },
];

/// A cloud on one cluster, of which no worker takes care.
struct Unattended<'a> {
    installation: Installation<'a>,
    cloud: &'static str,
}

impl<'a> Unattended<'a> {
    fn new(environment: &'a Environment, cloud: &'static str) -> Self {
        let installation = Installation::new(environment, cloud);
        let made = Self { installation, cloud };
        made.apply().done();
        made
    }

    fn cluster(&self) -> &'a Cluster {
        &self.installation.clusters()[0]
    }

    fn document(&self) -> Value {
        self.installation.document(self.cloud, spec())
    }

    fn apply(&self) -> Ran {
        self.installation.apply(&self.document())
    }

    fn run(&self, command: &str) -> Ran {
        self.installation.person.run([command, self.cloud, "--timeout", &timeout()])
    }

    /// What kubectl says in the cloud's namespace.
    fn kubectl(&self, arguments: &[&str]) -> String {
        let named =
            arguments.iter().map(|argument| if *argument == "CLOUD" { self.cloud } else { *argument });
        kubectl(self.cluster(), &named.chain(["-n", self.cloud]).collect::<Vec<_>>())
    }

    /// Everything of the cloud that a damage may hit, as it is while nothing is damaged.
    fn state(&self) -> Vec<String> {
        DAMAGES.iter().map(|damage| self.kubectl(damage.asked)).collect()
    }

    fn plan(&self) -> Value {
        let arguments = ["plan", "-o", "json", "-f", "-"];
        let ran = self.installation.person.run_with_input(&arguments, &self.document().to_string());
        assert!([0, 2].contains(&ran.code), "{ran:#?}");
        serde_json::from_str(&ran.out).unwrap()
    }

    /// The steps of a plan on the cluster.
    fn steps(&self) -> Vec<Value> {
        let plan = self.plan();
        plan["clouds"][0]["clusters"][registered(self.cluster())]["steps"].as_array().unwrap().clone()
    }
}

#[tokio::test]
async fn done_means_seen_whatever_was_done_while_no_worker_ran_and_whichever_command_looks() {
    let environment = Environment::group("drift", CLUSTERS).await.unwrap();
    let kept = Unattended::new(&environment, "unseen");
    let good = kept.state();
    for damage in &DAMAGES {
        assert!(
            damage.good.is_empty() || good.contains(&damage.good.to_owned()),
            "{}: {good:?}",
            damage.what
        );
    }
    let commands: [(&str, &dyn Fn() -> Ran); 5] = [
        ("apply", &|| kept.apply()),
        ("apply --plan-hash", &|| {
            let hash = kept.plan()["hash"].as_str().unwrap().to_owned();
            let arguments = ["apply", "--timeout", &timeout(), "--plan-hash", &hash, "-f", "-"];
            kept.installation.person.run_with_input(&arguments, &kept.document().to_string())
        }),
        ("renew", &|| kept.run("renew")),
        ("reconcile", &|| kept.run("reconcile")),
        ("resume", &|| kept.run("resume")),
    ];
    // Each kind of damage with one command, and each command with at least one kind.
    for (number, damage) in DAMAGES.iter().enumerate() {
        let (command, run) = &commands[number % commands.len()];
        kept.kubectl(damage.done);
        assert_ne!(kept.state(), good, "{}: it has an effect", damage.what);
        run().done();
        assert_eq!(kept.state(), good, "{}, and {command}", damage.what);
        assert_eq!(kept.steps(), Vec::<Value>::new(), "{}, and {command}: nothing is left", damage.what);
    }
    // All deletions at once, but for that of the namespace, which would hide the others.
    let deletes = |damage: &&Damage| damage.done[0] == "delete" && damage.done[1] != "namespace";
    for damage in DAMAGES.iter().filter(deletes) {
        kept.kubectl(damage.done);
    }
    kept.apply().done();
    assert_eq!(kept.state(), good, "all at once");
    kept.installation.terminate(kept.cloud).done();
}

#[tokio::test]
async fn an_unchanged_apply_reads_and_writes_nothing_and_the_status_says_when_it_looked() {
    let environment = Environment::group("drift", CLUSTERS).await.unwrap();
    let kept = Unattended::new(&environment, "looked-at");
    let seen = || kept.installation.lane(kept.cloud, kept.cluster())["seen"].as_str().unwrap().to_owned();
    let (first, since) = (seen(), kept.installation.moment());
    kept.apply().done();
    assert_eq!(kept.installation.writes(&since)[0], Vec::<String>::new());
    let requests = kept.installation.requests(&since).swap_remove(0);
    for kind in ["namespaces", "roles", "rolebindings", "resourcequotas", "serviceaccounts"] {
        assert!(requests.iter().any(|request| request.contains(kind)), "{kind}: {requests:#?}");
    }
    assert!(seen() > first, "it was seen anew");
    kept.installation.terminate(kept.cloud).done();
}

#[tokio::test]
async fn what_can_not_be_looked_at_is_not_done() {
    let environment = Environment::group("drift", CLUSTERS).await.unwrap();
    let installation = Installation::by(&environment, "unreached", |_| Route::Proxy);
    let kept = Unattended { installation, cloud: "unreached" };
    kept.apply().done();
    let before = kept.installation.lane(kept.cloud, kept.cluster());
    kept.cluster().proxy().set(Fault::Cut).await.unwrap();
    let said = kept.installation.apply_within("5s", &kept.document());
    assert_eq!(said.code, 4, "{said:#?}");
    let lane = kept.installation.lane(kept.cloud, kept.cluster());
    assert_eq!(lane["state"], "working", "{lane:#}");
    assert_eq!(lane["cause"]["reason"], "unreachable", "{lane:#}");
    assert_eq!(lane["seen"], before["seen"], "{lane:#}");
    kept.cluster().proxy().set(Fault::None).await.unwrap();
    kept.apply().done();
    kept.installation.terminate(kept.cloud).done();
}
