//! The life: a cloud with users of every kind, from the registration of its clusters to its deletion.

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use dcm_testenv::{Cluster, Environment, Route};
use rustix::process::Signal;
use serde_json::{Value, json};

use crate::common::confined::Confined;
use crate::common::guard;
use crate::common::installation::kubectl;
use crate::secrets::known::{self, Known, documents, secrets_of};
use crate::secrets::search::Searcher;
use crate::secrets::servers::Servers;
use crate::secrets::side;
use crate::secrets::witness::Witness;

const CLUSTERS: usize = 2;

/// The name of what secrets are encrypted with.
pub(crate) const STORE_KEY: &str = "key of the store";

pub(crate) struct Life {
    pub(crate) environment: Environment,
    pub(crate) witness: Witness,
    pub(crate) known: Known,
    /// All kubeconfigs that were handed to users, and all that were given.
    pub(crate) handed_out: String,
    /// What the clusters showed, by moment.
    pub(crate) objects: Vec<(String, String)>,
    /// The user who keeps the key: it, and the request that is in the document.
    own_key: rcgen::KeyPair,
    request: Option<String>,
}

impl Life {
    /// With its state in a file of the user, or on servers.
    pub(crate) async fn begin(servers: Option<Servers>) -> Self {
        let environment = Environment::builder().clusters(CLUSTERS).audit_bodies(true).start().await.unwrap();
        let own_key = rcgen::KeyPair::generate().unwrap();
        let mut life = Self {
            environment,
            witness: Witness::new(servers),
            known: Known::default(),
            handed_out: String::new(),
            objects: Vec::new(),
            own_key,
            request: None,
        };
        life.remember_own_key();
        life
    }

    fn remember_own_key(&mut self) {
        let pem = self.own_key.serialize_pem();
        self.known.key("the own key of bob", &pem);
        self.handed_out.push_str(&pem);
    }

    fn document(&self, users: &[Value], verbs: &[&str]) -> String {
        let clusters: Vec<Value> = self
            .environment
            .clusters()
            .iter()
            .map(|cluster| json!({"provider": "real", "cluster": cluster.name()}))
            .collect();
        json!({
            "apiVersion": "dcm.internal/v1", "kind": "LogicalCloud", "metadata": {"name": "vault"},
            "spec": {
                "users": users, "clusters": clusters,
                "permissions": [{"name": "look", "apiGroups": [""], "resources": ["*"], "verbs": verbs}],
                "quotas": [{"name": "compute", "hard": {"pods": 10}}],
            },
        })
        .to_string()
    }

    fn bob(&self) -> Value {
        json!({"name": "bob", "csr": self.request.as_ref().unwrap()})
    }

    /// A certificate's cluster and a token's.
    pub(crate) async fn registers_clusters(&mut self) {
        let kubeconfigs = {
            let [first, second] = self.environment.clusters() else { panic!("two clusters are needed") };
            let certificate = Confined::Standard.kubeconfig(first, "dcm-vault", Route::Direct);
            [certificate, token_kubeconfig(second).await]
        };
        for (number, kubeconfig) in kubeconfigs.iter().enumerate() {
            let id = format!("real/cluster-{}", number + 1);
            assert_eq!(self.known.kubeconfig(&format!("engine of {id}"), kubeconfig), 1);
            self.handed_out.push_str(kubeconfig);
            let file = self.witness.write("engine", kubeconfig);
            self.witness.run(&["cluster", "add", &id, "--kubeconfig", &file]).done();
            self.witness.run(&["cluster", "add", &id, "--kubeconfig", &file, "--label", "a=b"]).ended_with(5);
            let broken = self.witness.write("broken", &kubeconfig.replace("contexts:\n", "contexts: [\n"));
            self.witness.run(&["cluster", "add", "real/broken", "--kubeconfig", &broken]).ended_with(3);
            let url = self.environment.clusters()[number].url();
            let elsewhere = self.witness.write("elsewhere", &kubeconfig.replace(&url, "https://127.0.0.1:1"));
            self.witness.run(&["cluster", "add", "real/broken", "--kubeconfig", &elsewhere]).ended_with(1);
        }
        for form in ["table", "wide", "json", "yaml"] {
            self.witness.run(&["cluster", "list", "-o", form]).done();
            self.witness.run(&["cluster", "check", "real/cluster-2", "-o", form]).done();
        }
    }

    /// The command works by itself.
    pub(crate) async fn applies(&mut self) {
        let users = [json!({"name": "ann"}), json!({"name": "ci", "type": "token"})];
        let file = self.witness.write("vault.json", &self.document(&users, &["get", "list"]));
        for arguments in [&["plan"][..], &["plan", "-o", "json"], &["plan", "--offline", "-o", "yaml"]] {
            self.witness.run(&[arguments, &["-f", &file]].concat()).done();
        }
        // Held up before anybody works on it, and gone on with to its end.
        self.witness.run(&["apply", "--no-wait", "-f", &file]).done();
        self.witness.run(&["stop", "vault"]).done();
        self.witness.run(&["resume", "vault"]).done();
        self.witness.run(&["apply", "-f", &file]).done();
        self.hand_out("ann", CLUSTERS);
        self.hand_out("ci", CLUSTERS);
        self.learn().await;
    }

    /// The user asks for the subject, makes a request, and gets a certificate and no key. A worker does it.
    pub(crate) async fn takes_in_a_user_with_a_key_of_their_own(&mut self) {
        let mut worker = self.witness.begin(&["serve"]);
        worker.until("acquired");
        self.pastes_the_key_instead();
        self.makes_a_request();
        let users = [json!({"name": "ann"}), json!({"name": "ci", "type": "token"}), self.bob()];
        self.apply(&users, &["get", "list"]);
        self.hand_out("bob", 0);
        self.works_with_the_own_key();
        self.stores_no_key_of("bob").await;
        self.witness.end(worker, Signal::TERM);
    }

    /// As happens to people. It is refused without a word of it.
    fn pastes_the_key_instead(&mut self) {
        let pasted = json!({"name": "bob", "csr": self.own_key.serialize_pem()});
        let file = self.witness.write("vault.json", &self.document(&[pasted], &["get"]));
        let said = self.witness.run(&["apply", "-f", &file]).ended_with(3);
        assert!(said.contains("spec.users[0].csr: holds a private key: consider it lost"), "{said}");
        self.own_key = rcgen::KeyPair::generate().unwrap();
        self.remember_own_key();
    }

    fn makes_a_request(&mut self) {
        let said = self.witness.run(&["subject", "vault", "bob"]).err;
        let subject = self.witness.run(&["subject", "vault", "bob", "-o", "json"]).done();
        let subject: Value = serde_json::from_str(&subject).unwrap();
        let part = |name: &str| subject[name].as_str().unwrap();
        let (organization, common_name) = (part("organization"), part("commonName"));
        let for_openssl =
            format!("openssl req -new -key KEY_FILE -subj '/O={organization}/CN={common_name}'\n");
        assert!(said.contains(&for_openssl), "{said}");
        let mut parameters = rcgen::CertificateParams::default();
        parameters.distinguished_name = rcgen::DistinguishedName::new();
        parameters.distinguished_name.push(rcgen::DnType::OrganizationName, organization);
        parameters.distinguished_name.push(rcgen::DnType::CommonName, common_name);
        self.request = Some(parameters.serialize_request(&self.own_key).unwrap().pem().unwrap());
    }

    /// The kubeconfig has no key and says how to add it; with it, the user is let in on each cluster.
    fn works_with_the_own_key(&mut self) {
        let file = self.witness.write("bob.kubeconfig", "");
        let said = self.witness.run(&["kubeconfig", "vault", "--user", "bob", "--file", &file]).err;
        let text = std::fs::read_to_string(&file).unwrap();
        assert!(text.contains("client-certificate-data") && !text.contains("client-key"), "{text}");
        let key = self.witness.write("bob.pem", &self.own_key.serialize_pem());
        let told = said.lines().filter_map(|line| line.strip_prefix("kubectl "));
        let told: Vec<String> = told.map(|told| told.replace("KEY_FILE", &key)).collect();
        assert_eq!(told.len(), CLUSTERS, "{said}");
        told.iter().for_each(|told| drop(self.kubectl(told)));
        for cluster in self.environment.clusters() {
            let asked = format!("--kubeconfig={file} --context=bob@{} get quota -o name", cluster.name());
            assert_eq!(self.kubectl(&asked), "resourcequota/compute\n");
        }
    }

    fn kubectl(&self, arguments: &str) -> String {
        let mut command = std::process::Command::new(self.environment.kubectl());
        command.env_clear().env("HOME", self.witness.outside("")).args(arguments.split(' '));
        let output = command.output().unwrap();
        assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
        String::from_utf8(output.stdout).unwrap()
    }

    /// What is stored of this user has no secret in it, and what is stored of another one has.
    async fn stores_no_key_of(&mut self, user: &str) {
        let documents = documents(&self.witness).await;
        let is_of = |document: &Value, user: &str| document["user"] == user;
        let stored = |user: &str| documents.values().find(|document| is_of(document, user)).unwrap();
        let (own, other) = (stored(user), stored("ann"));
        assert_eq!(own["material"]["type"], "certificate", "{own}");
        assert_eq!((own["material"].get("key"), secrets_of(own)), (None, vec![]));
        assert_eq!(secrets_of(&other["material"]).len(), 1);
        self.known.documents(&documents);
    }

    /// Every way to look at it.
    pub(crate) fn is_looked_at(&mut self) {
        for form in ["table", "wide", "json", "yaml"] {
            self.witness.run(&["status", "-o", form]).done();
            self.witness.run(&["status", "vault", "-o", form]).done();
            self.witness.run(&["get", "vault", "-o", form]).done();
        }
        let mut watching = self.witness.begin(&["status", "vault", "--watch"]);
        watching.until("Namespace vault");
        self.witness.end(watching, Signal::INT);
        self.keep_objects("when it was instantiated");
    }

    /// Every user gets another credential.
    pub(crate) async fn changes(&mut self) {
        self.own_key = rcgen::KeyPair::generate().unwrap();
        self.remember_own_key();
        self.makes_a_request();
        let users = [
            json!({"name": "ann", "lifetimeSeconds": 7200}),
            json!({"name": "ci", "type": "token", "lifetimeSeconds": 1200}),
            self.bob(),
        ];
        self.apply(&users, &["get", "list", "watch"]);
        self.hand_out("ann", CLUSTERS);
        self.hand_out("ci", CLUSTERS);
        self.works_with_the_own_key();
        self.stores_no_key_of("bob").await;
    }

    /// A worker is killed in the middle, and its log of the database stays as it was in that moment.
    pub(crate) async fn is_killed(&mut self) {
        let mut worker = self.witness.begin(&["serve"]);
        worker.until("acquired");
        let users = [json!({"name": "dora"}), json!({"name": "ci", "type": "token"}), self.bob()];
        let file = self.witness.write("vault.json", &self.document(&users, &["get"]));
        self.witness.run(&["apply", "--no-wait", "-f", &file]).done();
        worker.until("issued");
        self.witness.end(worker, Signal::KILL);
        self.learn().await;
        self.apply(&users, &["get"]);
        self.hand_out("dora", CLUSTERS);
        self.learn().await;
        self.keep_objects("after the change");
    }

    pub(crate) async fn ends(&mut self) {
        self.witness.run(&["terminate", "vault"]).done();
        self.learn().await;
        self.witness.run(&["delete", "vault"]).done();
        for number in 1..=CLUSTERS {
            self.witness.run(&["cluster", "remove", &format!("real/cluster-{number}")]).done();
        }
        self.keep_objects("in the end");
    }

    fn apply(&mut self, users: &[Value], verbs: &[&str]) {
        let file = self.witness.write("vault.json", &self.document(users, verbs));
        self.witness.run(&["apply", "-f", &file]).done();
    }

    /// Takes a user's kubeconfigs in all ways, with this many secrets in each.
    fn hand_out(&mut self, user: &str, secrets: usize) {
        for form in ["json", "yaml"] {
            let ran = self.witness.hand_out(&["kubeconfig", "vault", "--user", user, "-o", form]);
            let text = ran.done();
            assert_eq!(self.known.kubeconfig(&format!("kubeconfig of {user}"), &text), secrets, "{user}");
            self.handed_out.push_str(&text);
        }
        let merged = self.witness.outside("merged").to_str().unwrap().to_owned();
        let merge = format!("--merge={merged}");
        self.witness.run(&["kubeconfig", "vault", "--user", user, &merge]).done();
    }

    /// Takes note of what is in the store, also of what is never handed out.
    async fn learn(&mut self) {
        let documents = documents(&self.witness).await;
        self.known.documents(&documents);
        for text in documents.values().flat_map(secrets_of) {
            self.handed_out.push_str(text);
            self.handed_out.push('\n');
        }
    }

    fn keep_objects(&mut self, moment: &str) {
        let shown = self
            .environment
            .clusters()
            .iter()
            .map(|cluster| (format!("objects of {} {moment}", cluster.name()), side::objects(cluster)));
        self.objects.extend(shown.collect::<Vec<_>>());
    }

    /// Looks for everything that must not be seen, the keys of the store itself included.
    pub(crate) fn searcher(&self) -> Searcher {
        let mut searcher = self.known.searcher();
        known::store_keys(self.witness.home()).iter().for_each(|key| searcher.add_bytes(STORE_KEY, key));
        searcher
    }

    /// The request of the user who keeps the key, as it was sent and as clusters store it.
    pub(crate) fn own_request(&self) -> (Vec<u8>, Vec<u8>) {
        let request = self.request.as_ref().unwrap();
        (STANDARD.encode(request).into_bytes(), request.clone().into_bytes())
    }
}

/// The kubeconfig of an engine that shows a token.
async fn token_kubeconfig(cluster: &Cluster) -> String {
    let asked = |question: &str| kubectl(cluster, &question.split(' ').collect::<Vec<_>>());
    asked("create serviceaccount engine --namespace kube-system");
    guard::confine(cluster, "engine", "system:serviceaccount:kube-system:engine").await;
    let token = asked("create token engine --namespace kube-system --duration=24h");
    let authority = STANDARD.encode(cluster.certificate_authority());
    format!(
        "apiVersion: v1\nkind: Config\ncurrent-context: it\ncontexts:\n- {{name: it, context: {{cluster: it, user: it}}}}\n\
         clusters:\n- name: it\n  cluster: {{server: '{}', certificate-authority-data: {authority}}}\n\
         users:\n- {{name: it, user: {{token: {}}}}}\n",
        cluster.url(),
        token.trim()
    )
}
