//! The engine's kubeconfig in other hands, on a cluster with the guard.
//!
//! RBAC lets the attacker do everything, so each refusal is the guard's, and what passes passes the guard; but where the attacker has
//! the least role, as the engine has.

mod blocks;
mod table;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use dcm_core::port::cluster::{LABEL_CONTEXT, LABEL_OWNER, NAMESPACE_BINDING, NAMESPACE_ROLE};
use dcm_testenv::{Cluster, Environment};
use rcgen::DnType;
use serde_json::{Value, json};

use crate::attacks::attacker::Attacker;
use crate::attacks::environment;
use crate::common::installation::{kubectl, make, until};
use crate::common::{User, guard};

const NAMESPACE_RULE: &str = "a namespace must have the engine's label when it is made";
const PLACE_RULE: &str = "the namespace of an object must have the engine's label";
const OUTSIDE_RULE: &str = "the engine writes no other object outside of namespaces";
const BINDING_RULE: &str = "the engine binds its ClusterRole for namespaces to itself only";
const REQUEST_RULE: &str =
    "a certificate signing request must have the engine's label and a name of the engine";
const SUBJECT_RULE: &str = "a certificate must be for a user of a logical cloud";
const POD_SECURITY_RULE: &str = "the level of Pod Security of a namespace must not be lowered";
const APPROVAL_RULE: &str = "the engine approves its own requests only";

/// The name of a user of a logical cloud, and that of its group.
const USER: &str = "dcm:p:c:ae84379630af89ee:ann:1";
const GROUP: &str = "dcm:p:c";

/// The attacker, and the prefix of the names of what is theirs.
struct Thief<'a> {
    attacker: Attacker,
    cluster: &'a Cluster,
    name: String,
}

impl<'a> Thief<'a> {
    async fn new(environment: &'a Environment, level: &str) -> Self {
        let everything = json!([{"apiGroups": ["*"], "resources": ["*"], "verbs": ["*"]}]);
        Self::with(environment, level, format!("stolen-{level}"), &everything).await
    }

    /// With the rights of the least role alone.
    async fn with_least_role(environment: &'a Environment) -> Self {
        let printed = User::new().run(["cluster", "role", "-o", "json"]).done();
        let mut printed: Value = serde_json::from_str(&printed).unwrap();
        let rules = printed["items"][0]["rules"].take();
        Self::with(environment, "standard", "stolen-least".to_owned(), &rules).await
    }

    async fn with(environment: &'a Environment, level: &str, name: String, rules: &Value) -> Self {
        let cluster = &environment.clusters()[0];
        let attacker = Attacker::new(environment, cluster, &name, rules);
        let role = format!("{name}-guarded");
        let guarded = ["cluster", "role", "--level", level, "--name", &role, "--guard", "--user", &name];
        let printed = User::new().run(guarded).done();
        guard::apply(cluster, &printed);
        guard::is_in_force(cluster, &name).await;
        Self { attacker, cluster, name }
    }

    #[track_caller]
    fn may(&self, arguments: &[&str], input: &Value) {
        self.attacker.kubectl(arguments, input).done();
    }

    #[track_caller]
    fn may_not(&self, arguments: &[&str], input: &Value, rule: &str) {
        let ran = self.attacker.kubectl(arguments, input);
        let expected = format!("{}{rule}", guard::REFUSAL);
        assert!(ran.code != 0 && ran.err.contains(&expected), "{arguments:?} {input}\n{rule}\n{ran:#?}");
    }

    /// A namespace of the engine, and one of others.
    fn namespaces(&self) -> [String; 2] {
        let [own, other] = ["own", "other"].map(|end| format!("{}-{end}", self.name));
        self.may(&["create", "-f", "-"], &namespace(&own, &marks()));
        make(self.cluster, &namespace(&other, &json!({})));
        [own, other]
    }
}

fn marks() -> Value {
    json!({LABEL_OWNER: "dcm", LABEL_CONTEXT: "x"})
}

fn namespace(name: &str, labels: &Value) -> Value {
    json!({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": name, "labels": labels}})
}

/// A request for a certificate of this subject, with the engine's name and marks.
fn request(name: &str, subject: &[(DnType, &str)]) -> Value {
    let key = rcgen::KeyPair::generate().unwrap();
    let mut asked = rcgen::CertificateParams::default();
    asked.distinguished_name = rcgen::DistinguishedName::new();
    for (kind, value) in subject {
        asked.distinguished_name.push(kind.clone(), *value);
    }
    let pem = asked.serialize_request(&key).unwrap().pem().unwrap();
    json!({
        "apiVersion": "certificates.k8s.io/v1",
        "kind": "CertificateSigningRequest",
        "metadata": {"name": name, "labels": marks()},
        "spec": {
            "request": STANDARD.encode(pem),
            "signerName": "kubernetes.io/kube-apiserver-client",
            "usages": ["digital signature", "client auth"],
        },
    })
}

const CREATE: [&str; 3] = ["create", "-f", "-"];
const TRY: [&str; 4] = ["create", "--dry-run=server", "-f", "-"];

#[tokio::test(flavor = "multi_thread")]
async fn whoever_has_the_engines_kubeconfig_writes_only_in_namespaces_of_the_engine() {
    let environment = environment().await;
    let thief = Thief::new(&environment, "standard").await;
    let [own, other] = &thief.namespaces();
    let nothing = Value::Null;
    let label = format!("{LABEL_OWNER}=dcm");
    for name in ["kube-system", "default", other] {
        thief.may_not(&["label", "--overwrite", "namespace", name, &label], &nothing, NAMESPACE_RULE);
        for object in
            [&["configmap", "a"][..], &["serviceaccount", "a"], &["role", "a", "--verb=*", "--resource=*"]]
        {
            let arguments = [&["--namespace", name, "create"], object].concat();
            thief.may_not(&arguments, &nothing, PLACE_RULE);
        }
        let binding = [
            "--namespace",
            name,
            "create",
            "rolebinding",
            "dcm-a",
            "--clusterrole=cluster-admin",
            "--user=a",
        ];
        thief.may_not(&binding, &nothing, PLACE_RULE);
    }
    thief.may_not(&["delete", "--wait=false", "namespace", other], &nothing, NAMESPACE_RULE);
    kubectl(thief.cluster, &["--namespace", other, "create", "serviceaccount", "theirs"]);
    thief.may_not(&["--namespace", other, "delete", "serviceaccount", "theirs"], &nothing, PLACE_RULE);
    thief.may_not(&["--namespace", other, "create", "token", "theirs"], &nothing, PLACE_RULE);

    for labels in [json!({}), json!({LABEL_OWNER: "another"})] {
        thief.may_not(&TRY, &namespace("stolen-new", &labels), NAMESPACE_RULE);
    }
    thief.may_not(&TRY, &namespace("kube-stolen", &marks()), NAMESPACE_RULE);

    let wide = ["create", "clusterrolebinding", "dcm-a", "--clusterrole=cluster-admin", "--user=a"];
    thief.may_not(&wide, &nothing, OUTSIDE_RULE);
    thief.may_not(&["create", "clusterrole", "dcm-a", "--verb=*", "--resource=*"], &nothing, OUTSIDE_RULE);
    thief.may_not(&["create", "priorityclass", "dcm-a"], &nothing, OUTSIDE_RULE);

    thief.may(&["--namespace", own, "create", "serviceaccount", "ours"], &nothing);
    thief.may(&["--namespace", own, "create", "token", "ours"], &nothing);
    thief.may(&["--namespace", own, "create", "role", "a", "--verb=*", "--resource=*"], &nothing);
    thief.may(&["auth", "can-i", "list", "pods"], &nothing);
    let released = format!("{LABEL_OWNER}-");
    thief.may(&["label", "namespace", own, &released], &nothing);
    thief.may_not(&["label", "namespace", own, &label], &nothing, NAMESPACE_RULE);
}

#[tokio::test(flavor = "multi_thread")]
async fn whoever_has_the_engines_kubeconfig_writes_beyond_namespaces_only_what_a_privileged_cloud_has() {
    let environment = environment().await;
    let thief = Thief::new(&environment, "privileged").await;
    let rbac = "rbac.authorization.k8s.io";
    let role = |kind: &str, name: &str, labels: &Value| {
        json!({"apiVersion": format!("{rbac}/v1"), "kind": kind, "rules": [],
               "metadata": {"name": name, "labels": labels}})
    };
    for (kind, rule) in [("ClusterRole", OUTSIDE_RULE), ("Role", PLACE_RULE)] {
        thief.may(&TRY, &role(kind, "dcm-a", &marks()));
        thief.may_not(&TRY, &role(kind, "dcm-a", &json!({})), rule);
        thief.may_not(&TRY, &role(kind, "another", &marks()), rule);
    }
    let nothing = Value::Null;
    thief.may_not(&["delete", "clusterrole", "view"], &nothing, OUTSIDE_RULE);
    let theirs = format!("dcm-{}", thief.name);
    make(thief.cluster, &role("ClusterRole", &theirs, &json!({})));
    let label = format!("{LABEL_OWNER}=dcm");
    thief.may_not(&["label", "clusterrole", &theirs, &label], &nothing, OUTSIDE_RULE);
    thief.may_not(&["--namespace", "kube-system", "create", "configmap", "dcm-a"], &nothing, PLACE_RULE);
}

#[tokio::test(flavor = "multi_thread")]
async fn whoever_has_the_engines_kubeconfig_is_given_certificates_of_users_of_logical_clouds_alone() {
    let environment = environment().await;
    let thief = Thief::new(&environment, "admin").await;
    let (common, organization) = (|| DnType::CommonName, || DnType::OrganizationName);
    let longest = |letter: &str| format!("dcm:{}", letter.repeat(60));
    let (long, wide) = (longest("u"), longest("g"));
    for subject in [
        vec![(common(), USER)],
        vec![(common(), USER), (organization(), GROUP)],
        vec![(organization(), GROUP), (common(), USER)],
        vec![(organization(), &wide), (common(), &long)],
    ] {
        thief.may(&TRY, &request("dcm-a", &subject));
    }
    for subject in [
        vec![],
        vec![(common(), "system:kube-controller-manager")],
        vec![(common(), "cluster-admin")],
        vec![(organization(), GROUP)],
        vec![(common(), USER), (organization(), "kubeadm:cluster-admins")],
        vec![(organization(), "kubeadm:cluster-admins"), (common(), USER)],
        vec![(organization(), GROUP), (common(), USER), (DnType::OrganizationalUnitName, "a")],
        vec![(DnType::CountryName, "DE"), (common(), USER)],
    ] {
        thief.may_not(&TRY, &request("dcm-a", &subject), SUBJECT_RULE);
    }

    let good = || request("dcm-a", &[(common(), USER)]);
    let changed = |path: &str, value: Value| {
        let mut request = good();
        *request.pointer_mut(path).unwrap() = value;
        request
    };
    thief.may_not(&TRY, &changed("/metadata/name", "a".into()), REQUEST_RULE);
    thief.may_not(&TRY, &changed("/metadata/labels", json!({})), REQUEST_RULE);
    let signer = "kubernetes.io/kube-apiserver-client-kubelet";
    thief.may_not(&TRY, &changed("/spec/signerName", signer.into()), SUBJECT_RULE);
    thief.may_not(&TRY, &changed("/spec/usages", json!(["client auth"])), SUBJECT_RULE);
    // A second request in front of the one that is looked at, or a line that is no part of it.
    let pem =
        String::from_utf8(STANDARD.decode(good()["spec"]["request"].as_str().unwrap()).unwrap()).unwrap();
    for text in [format!("a\n{pem}"), pem.replacen("-----\n", "-----\na: b\n\n", 1)] {
        thief.may_not(&TRY, &changed("/spec/request", STANDARD.encode(text).into()), SUBJECT_RULE);
    }

    let [ours, theirs] = ["ours", "theirs"].map(|end| format!("dcm-{}-{end}", thief.name));
    thief.may(&CREATE, &request(&ours, &[(common(), USER)]));
    make(thief.cluster, &request(&theirs, &[(common(), USER)]));
    thief.may(&["certificate", "approve", &ours], &Value::Null);
    thief.may_not(&["certificate", "approve", &theirs], &Value::Null, APPROVAL_RULE);
}

#[tokio::test(flavor = "multi_thread")]
async fn whoever_has_the_engines_kubeconfig_reads_secrets_only_in_namespaces_of_the_engine() {
    let environment = environment().await;
    let thief = Thief::with_least_role(&environment).await;
    let [own, other] = &thief.namespaces();
    let nothing = Value::Null;
    let refused_by_rights = |arguments: &[&str]| {
        let ran = thief.attacker.kubectl(arguments, &nothing);
        assert!(ran.code != 0 && ran.err.contains("cannot"), "{arguments:?}\n{ran:#?}");
    };
    kubectl(thief.cluster, &["--namespace", other, "create", "serviceaccount", "theirs"]);
    refused_by_rights(&["get", "secrets", "--all-namespaces"]);
    refused_by_rights(&["get", "pods", "--all-namespaces"]);
    for (namespace, account) in [(other.as_str(), "theirs"), ("kube-system", "default"), (own, "default")] {
        refused_by_rights(&["--namespace", namespace, "get", "secrets"]);
        refused_by_rights(&["--namespace", namespace, "create", "token", account]);
    }

    // The one more write that would open them.
    let bind = |namespace: &str, binding: &str, user: &str| -> Vec<String> {
        let role = format!("--clusterrole={NAMESPACE_ROLE}");
        let user = format!("--user={user}");
        ["--namespace", namespace, "create", "rolebinding", binding, &role, &user].map(str::to_owned).into()
    };
    let may_not = |arguments: Vec<String>, rule: &str| {
        thief.may_not(&arguments.iter().map(String::as_str).collect::<Vec<_>>(), &nothing, rule);
    };
    for namespace in [other.as_str(), "kube-system", "default"] {
        may_not(bind(namespace, NAMESPACE_BINDING, &thief.name), PLACE_RULE);
        let role = ["--namespace", namespace, "create", "role", "dcm-a", "--verb=list", "--resource=secrets"];
        thief.may_not(&role, &nothing, PLACE_RULE);
    }
    may_not(bind(own, NAMESPACE_BINDING, "another"), BINDING_RULE);
    may_not(bind(own, "another", &thief.name), BINDING_RULE);
    may_not([bind(own, NAMESPACE_BINDING, &thief.name), vec!["--group=a".to_owned()]].concat(), BINDING_RULE);

    // What the engine does itself.
    let own_binding = bind(own, NAMESPACE_BINDING, &thief.name);
    thief.may(&own_binding.iter().map(String::as_str).collect::<Vec<_>>(), &nothing);
    until("the rights in the namespace", async || {
        let listed = thief.attacker.kubectl(&["--namespace", own, "get", "secrets"], &nothing);
        (listed.code == 0).then_some(())
    })
    .await;
    refused_by_rights(&["--namespace", other, "get", "secrets"]);
}

#[tokio::test(flavor = "multi_thread")]
async fn whoever_has_the_engines_kubeconfig_lowers_no_level_of_pod_security() {
    let environment = environment().await;
    let everything = json!([{"apiGroups": ["*"], "resources": ["*"], "verbs": ["*"]}]);
    let thief = Thief::with(&environment, "standard", "stolen-pods".to_owned(), &everything).await;
    let [enforce, version] =
        ["enforce", "enforce-version"].map(|end| format!("pod-security.kubernetes.io/{end}"));
    let made = |level: &str| {
        let mut labels = marks();
        labels[&enforce] = level.into();
        namespace("stolen-pods-new", &labels)
    };
    for level in ["baseline", "restricted"] {
        thief.may(&TRY, &made(level));
    }
    thief.may_not(&TRY, &made("privileged"), POD_SECURITY_RULE);
    let [own, _] = &thief.namespaces();
    let nothing = Value::Null;
    let may = |change: &str| thief.may(&["label", "--overwrite", "namespace", own, change], &nothing);
    let may_not = |change: &str| {
        thief.may_not(&["label", "--overwrite", "namespace", own, change], &nothing, POD_SECURITY_RULE);
    };
    may_not(&format!("{enforce}=privileged"));
    may(&format!("{enforce}=baseline"));
    may(&format!("{enforce}=restricted"));
    may_not(&format!("{enforce}=baseline"));
    may_not(&format!("{enforce}-"));
    may_not(&format!("{version}=v1.20"));
    may(&format!("{version}=latest"));
    may_not(&format!("{version}-"));
    may("team=a");
    // What an administrator allows stays, and is never taken for the engine's.
    kubectl(thief.cluster, &["label", "--overwrite", "namespace", own, &format!("{enforce}=privileged")]);
    may("team=b");
    may(&format!("{enforce}=baseline"));
    may_not(&format!("{enforce}=privileged"));
}
