//! The life of credentials on real API servers: renewal under a client that goes on working, and revocation.
#![allow(clippy::unwrap_used, reason = "a test fails by it")]

use crate::common;

use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::Arc;
use std::time::Duration;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use common::Ran;
use common::installation::{Installation, Worker, kubectl, make, registered, until};
use common::waiting::{INTERRUPTED, lane_in};
use dcm_core::name::ProjectName;
use dcm_core::port::clock::Clock;
use dcm_core::service::{Agenda, Caller, News};
use dcm_server::{Configuration, Deployment, Parts};
use dcm_sync::runtime::TokioClock;
use dcm_testenv::{Cluster, Environment, Fault, Route};
use futures::future::BoxFuture;
use jiff::{SignedDuration, Timestamp};
use serde_json::{Value, json};

const CLUSTERS: usize = 3;

/// By then two thirds of the shortest life are over, and what a renewal is put off by.
const LATER: SignedDuration = SignedDuration::from_secs(460);

/// A user of a logical cloud, with kubectl and a kubeconfig.
struct Person<'a> {
    environment: &'a Environment,
    kubeconfig: PathBuf,
    namespace: &'static str,
}

impl<'a> Person<'a> {
    /// What a user is given now. With `--exec` it names a plugin.
    fn new(
        environment: &'a Environment,
        installation: &Installation<'_>,
        cloud: &'static str,
        user: &str,
        name: &str,
        more: &[&str],
    ) -> Self {
        let kubeconfig = installation.person.home().join(name);
        let file = kubeconfig.to_str().unwrap();
        let arguments = [&["kubeconfig", cloud, "--user", user, "--file", file], more].concat();
        installation.person.run(arguments).done();
        Self { environment, kubeconfig, namespace: cloud }
    }

    fn run(&self, cluster: &Cluster, arguments: &[&str]) -> Ran {
        let config: Value = self.config();
        let contexts = config["contexts"].as_array().unwrap().iter();
        let mut names = contexts.map(|context| context["name"].as_str().unwrap());
        let context = names.find(|name| name.ends_with(cluster.name())).unwrap();
        let mut command = Command::new(self.environment.kubectl());
        command.env_clear().env("HOME", self.kubeconfig.parent().unwrap()).stdin(Stdio::null());
        command.args(["--kubeconfig", text(&self.kubeconfig), "--context", context]).args(arguments);
        Ran::of(command.output().unwrap())
    }

    fn config(&self) -> Value {
        serde_saphyr::from_str(&std::fs::read_to_string(&self.kubeconfig).unwrap()).unwrap()
    }

    /// Does what the user may do.
    fn works(&self, cluster: &Cluster) -> Ran {
        self.run(cluster, &["get", "pods", "--namespace", self.namespace])
    }

    /// Who the API server takes it for.
    fn identity(&self, cluster: &Cluster) -> String {
        self.run(cluster, &["auth", "whoami", "-o", "jsonpath={.status.userInfo.username}"]).done()
    }
}

fn text(path: &Path) -> &str {
    path.to_str().unwrap()
}

/// Users of both kinds, whose credentials have the shortest life that there is, and one with an RSA key. All may look at
/// pods.
fn document(installation: &Installation<'_>, name: &str) -> Value {
    let users = json!([
        {"name": "ann", "lifetimeSeconds": 600},
        {"name": "bot", "type": "token", "lifetimeSeconds": 600},
        {"name": "rob", "key": "rsa-2048"},
    ]);
    let look = json!({"name": "look", "apiGroups": [""], "resources": ["pods"], "verbs": ["get", "list"]});
    installation.document(name, json!({"users": users, "permissions": [look]}))
}

/// A worker, and a cloud that it has brought to all clusters.
async fn served(installation: &Installation<'_>, name: &str) -> Worker {
    let document = document(installation, name);
    let worker = installation.served(&document).await;
    installation.apply(&document).done();
    worker
}

/// A clock that is ahead of everybody else's.
struct Ahead(TokioClock);

impl Clock for Ahead {
    fn now(&self) -> Timestamp {
        self.0.now() + LATER
    }

    fn sleep(&self, duration: Duration) -> BoxFuture<'static, ()> {
        self.0.sleep(duration)
    }
}

/// Renews what is due some minutes later, over the store of an installation, as a worker with that clock would.
async fn renew_later(installation: &Installation<'_>) -> Vec<News> {
    let home = installation.person.home();
    let store = format!("sqlite:{}", text(&home.join(".local/share/dcm/store.db")));
    let configuration = Configuration::new(store, home.join(".config/dcm/keys.json"));
    let parts = Parts::open(&configuration).await.unwrap();
    let deployment = Deployment::over(Parts { clock: Arc::new(Ahead(TokioClock::new())), ..parts });
    let mut agenda = Agenda::default();
    let round = deployment.clouds().tend(&Caller::new("test"), &mut agenda).await.unwrap();
    assert!(round.events.iter().all(|event| event.project == ProjectName::new("default").unwrap()));
    round.events.into_iter().map(|event| event.what).collect()
}

/// What a plugin says for a user and a cluster now.
fn plugin_says(installation: &Installation<'_>, cloud: &str, user: &str, cluster: &Cluster) -> Value {
    let said = installation.person.run(["credential", cloud, user, cluster.name()]).done();
    serde_json::from_str(&said).unwrap()
}

/// A user with a file that holds a credential, and one that names the plugin.
struct Client<'a> {
    user: &'static str,
    holder: Person<'a>,
    asker: Person<'a>,
    identity: String,
    said: Value,
}

impl<'a> Client<'a> {
    fn new(environment: &'a Environment, installation: &Installation<'_>, user: &'static str) -> Self {
        let person = |name: &str, more: &[&str]| {
            Person::new(environment, installation, "renewed", user, &format!("{user}-{name}"), more)
        };
        let (holder, asker) = (person("holds", &[]), person("asks", &["--exec"]));
        let config = std::fs::read_to_string(&asker.kubeconfig).unwrap();
        assert!(!config.contains("key-data") && !config.contains("token:"), "{config}");
        let cluster = &environment.clusters()[0];
        let (identity, said) = (asker.identity(cluster), plugin_says(installation, "renewed", user, cluster));
        Self { user, holder, asker, identity, said }
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_client_with_the_plugin_is_never_refused_while_its_credential_is_renewed() {
    let environment = Environment::group("credentials", CLUSTERS).await.unwrap();
    let installation = Installation::new(&environment, "renewed");
    let worker = served(&installation, "renewed").await;
    let cluster = &installation.clusters()[0];
    let clients = ["ann", "bot"].map(|user| Client::new(&environment, &installation, user));
    for client in &clients {
        let until = client.said["status"]["expirationTimestamp"].as_str().unwrap();
        let until: Timestamp = until.parse().unwrap();
        assert!(until < Timestamp::now() + LATER, "it is asked for again when it is renewed: {until}");
    }
    let ran = installation.person.run(["renew", "renewed", "--no-wait"]);
    assert!(ran.err.contains("no credential is due"), "{ran:?}");

    let news = renew_later(&installation).await;
    assert!(matches!(&news[..], [News::Renewed(renewed)] if renewed.users.len() == 2), "{news:?}");
    for Client { user, holder, asker, identity, said } in &clients {
        until("a newer credential", async || {
            asker.works(cluster).done();
            (plugin_says(&installation, "renewed", user, cluster)["status"] != said["status"]).then_some(())
        })
        .await;
        asker.works(cluster).done();
        holder.works(cluster).done();
        assert_eq!(asker.identity(cluster), *identity, "rights are bound to this name");
    }
    worker.stop();
    installation.terminate("renewed").done();
}

/// Waits until a credential is refused on a cluster.
async fn refused(person: &Person<'_>, cluster: &Cluster) -> Ran {
    until("the end of a credential's rights", async || {
        let ran = person.works(cluster);
        (ran.code != 0).then_some(ran)
    })
    .await
}

#[tokio::test(flavor = "multi_thread")]
async fn a_revoked_credential_loses_its_rights_on_all_clusters_and_the_next_one_works() {
    let environment = Environment::group("credentials", CLUSTERS).await.unwrap();
    let installation = Installation::new(&environment, "revoked");
    let worker = served(&installation, "revoked").await;
    let other = Person::new(&environment, &installation, "revoked", "rob", "rob", &[]);
    for (user, reasons) in
        [("ann", &["(Forbidden)"][..]), ("bot", &["(Forbidden)", "Unauthorized", "logged in"])]
    {
        let person = |name: &str| {
            Person::new(&environment, &installation, "revoked", user, &format!("{user}-{name}"), &[])
        };
        let before = person("before");
        installation.clusters().iter().for_each(|cluster| drop(before.works(cluster).done()));
        installation.person.run(["user", "revoke", "revoked", user, "--no-wait"]).done();
        for cluster in installation.clusters() {
            let ran = refused(&before, cluster).await;
            assert!(reasons.iter().any(|reason| ran.err.contains(reason)), "{ran:?}");
        }
        installation.apply(&document(&installation, "revoked")).done();
        let after = person("after");
        installation.clusters().iter().for_each(|cluster| drop(after.works(cluster).done()));
    }
    installation.clusters().iter().for_each(|cluster| drop(other.works(cluster).done()));
    worker.stop();
    installation.terminate("revoked").done();
}

#[tokio::test(flavor = "multi_thread")]
async fn a_revocation_lists_what_others_bound_and_which_clusters_are_pending() {
    let environment = Environment::group("credentials", CLUSTERS).await.unwrap();
    let cut_off = CLUSTERS - 1;
    let route = |place| if place == cut_off { Route::Proxy } else { Route::Direct };
    let installation = Installation::by(&environment, "pending", route);
    let document = document(&installation, "pending");
    installation.apply(&document).done();
    let ann = Person::new(&environment, &installation, "pending", "ann", "ann", &[]);
    let [one, .., last] = installation.clusters() else { panic!("some clusters are expected") };
    make(one, &binding("pending", &ann.identity(one)));
    make(one, &binding("default", &ann.identity(one)));

    last.proxy().set(Fault::Cut).await.unwrap();
    let revoking = installation.person.begin(&["user", "revoke", "pending", "ann", "-o", "json"], "");
    until("a revocation that is pending on one cluster alone", async || {
        let status = installation.status("pending");
        let others = installation.clusters().iter().filter(|cluster| cluster.name() != last.name());
        let are_done = others.map(|cluster| lane_in(&status, cluster)).all(|lane| lane["state"] == "done");
        (are_done && !lane_in(&status, last)["cause"].is_null()).then_some(())
    })
    .await;
    let ran = revoking.interrupt();
    assert_eq!(ran.code, INTERRUPTED, "{ran:?}");
    let report: Value = serde_json::from_str(&ran.out).unwrap();
    let on = |cluster: &Cluster| &report["clusters"][registered(cluster)];
    assert_eq!(on(one)["isRevoked"], true, "{report:#}");
    let bindings = on(one)["bindings"].as_array().unwrap().iter();
    let bindings: Vec<_> = bindings.map(|one| (&one["namespace"], &one["name"])).collect();
    let [elsewhere, inside] = ["default", "pending"].map(|namespace| json!(namespace));
    assert_eq!(
        bindings,
        [(&elsewhere, &json!("of-a-tenant")), (&inside, &json!("of-a-tenant"))],
        "{report:#}"
    );
    assert_eq!(on(last)["isRevoked"], false, "{report:#}");
    assert!(on(last)["cause"].is_object() && on(last)["bindingsUnknown"].is_string(), "{report:#}");
    assert_eq!(refused(&ann, one).await.code, 1);
    let again = ["user", "revoke", "pending", "ann", "--timeout", "1s"];
    installation.person.run(again).ended_with(4);

    last.proxy().set(Fault::None).await.unwrap();
    installation.apply(&document).done();
    assert!(refused(&ann, last).await.err.contains("(Forbidden)"));
    kubectl(one, &["delete", "rolebinding", "of-a-tenant", "-n", "default"]);
    installation.terminate("pending").done();
}

#[tokio::test(flavor = "multi_thread")]
async fn a_revocation_reaches_bindings_whose_drift_is_only_reported_and_is_pending_where_they_are_changed_again()
 {
    let environment = Environment::group("credentials", CLUSTERS).await.unwrap();
    let installation = Installation::new(&environment, "reporting");
    let mut document = document(&installation, "reporting");
    document["spec"]["objectPolicies"] = json!({"RoleBinding": {"drift": "report"}});
    installation.apply(&document).done();
    let ann = Person::new(&environment, &installation, "reporting", "ann", "ann", &[]);
    let cluster = &installation.clusters()[0];
    let earlier = ann.identity(cluster);
    // Those of the cloud, without the engine's own.
    let ours = ["-n", "reporting", "-l", "dcm.internal/owner", "-o", "name"];
    let names = kubectl(cluster, &[&["get", "rolebindings"], &ours[..]].concat());
    let bind = || {
        let subject = json!({"apiGroup": "rbac.authorization.k8s.io", "kind": "User", "name": earlier});
        let patch = json!({"subjects": [subject]}).to_string();
        for name in names.lines() {
            let by = ["--type=merge", "--field-manager", "gitops", "-p", &patch];
            kubectl(cluster, &[&["patch", name, "-n", "reporting"], &by[..]].concat());
        }
    };
    bind();
    let report = revocation(&installation, "reporting");
    assert_eq!(report["clusters"][registered(cluster)]["isRevoked"], true, "{report:#}");
    assert!(ann.works(cluster).err.contains("(Forbidden)"));

    let worker = installation.serve();
    let again = until("a binding that is changed again right after a revocation", async || {
        let said = std::thread::scope(|scope| {
            let revoking = scope.spawn(|| revocation(&installation, "reporting"));
            while !revoking.is_finished() {
                bind();
            }
            revoking.join().unwrap()
        });
        let on = said["clusters"][registered(cluster)].clone();
        (on["isRevoked"] == false).then_some(on)
    })
    .await;
    let told = again["cause"]["message"].as_str().unwrap();
    assert!(told.contains("subjects is held by gitops"), "{again:#}");
    worker.stop();
    installation.terminate("reporting").done();
}

/// What a revocation of `ann` says.
fn revocation(installation: &Installation<'_>, cloud: &str) -> Value {
    let said = installation.person.run(["user", "revoke", cloud, "ann", "-o", "json"]);
    serde_json::from_str(&said.out).unwrap()
}

/// A binding that a tenant made for a user.
fn binding(namespace: &str, user: &str) -> Value {
    const RBAC: &str = "rbac.authorization.k8s.io";
    json!({
        "apiVersion": format!("{RBAC}/v1"), "kind": "RoleBinding",
        "metadata": {"name": "of-a-tenant", "namespace": namespace},
        "roleRef": {"apiGroup": RBAC, "kind": "ClusterRole", "name": "none-that-is-there"},
        "subjects": [{"apiGroup": RBAC, "kind": "User", "name": user}],
    })
}

#[tokio::test(flavor = "multi_thread")]
async fn who_has_a_file_with_earlier_authorities_is_told_and_gets_the_new_ones_by_fetching_it_again() {
    let environment = Environment::group("credentials", CLUSTERS).await.unwrap();
    let installation = Installation::new(&environment, "authorities");
    installation.apply(&document(&installation, "authorities")).done();
    let person = |name: &str| Person::new(&environment, &installation, "authorities", "ann", name, &[]);
    let outdated = |user: &str| installation.status("authorities")["credentials"][user]["outdated"].take();
    let [one, other, ..] = installation.clusters() else { panic!("some clusters are expected") };
    person("before").works(one).done();
    assert!(outdated("ann").is_null());

    // A rotation begins with both authorities, the old and the new one.
    let both = STANDARD.encode(one.certificate_authority() + &other.certificate_authority());
    let kubeconfig = installation.confined.kubeconfig(one, &installation.identity, Route::Direct);
    let mut kubeconfig: Value = serde_saphyr::from_str(&kubeconfig).unwrap();
    kubeconfig["clusters"][0]["cluster"]["certificate-authority-data"] = both.clone().into();
    let file = installation.person.write("rotated", &kubeconfig.to_string());
    installation.person.run(["cluster", "update", &registered(one), "--kubeconfig", text(&file)]).done();
    // No user is given another authority before it is accepted.
    assert!(outdated("ann").is_null());
    installation.person.run(["cluster", "accept", &registered(one)]).done();
    assert_eq!(outdated("ann"), json!([registered(one)]));
    assert!(outdated("bot").is_null(), "nothing was given to this one");
    let shown = installation.person.run(["status", "authorities"]).done();
    assert!(shown.contains("fetch it again (dcm kubeconfig)"), "{shown}");

    let after = person("after");
    after.works(one).done();
    assert!(after.config().to_string().contains(&both));
    assert!(outdated("ann").is_null());
    installation.terminate("authorities").done();
}
