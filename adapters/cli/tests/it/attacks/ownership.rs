//! Attack a: a user with `get` and `patch` on objects of others writes our marks on them, so that the engine deletes them.

use dcm_core::port::proof::ANNOTATION_PROOF;
use dcm_testenv::{Cluster, Environment};
use serde_json::{Value, json};

use crate::attacks::attacker::Attacker;
use crate::attacks::victims::{
    RBAC, ROLE, SETTINGS, cloud, life, marks_of, settings, terminate_with_contents,
};
use crate::common::confined::Confined;
use crate::common::installation::{Installation, kubectl, make, until};
use crate::common::leftovers::namespaces;

/// The name of the object of a bystander.
const OBJECT: &str = "data";

/// A namespace of another person, with one object in it.
struct Bystander<'a> {
    cluster: &'a Cluster,
    namespace: &'a str,
    kind: &'a str,
    /// The UIDs of both.
    before: [String; 2],
}

impl<'a> Bystander<'a> {
    /// Makes both as an administrator; the kind is named as kubectl takes it.
    fn new(cluster: &'a Cluster, namespace: &'a str, kind: &'a str, mut object: Value) -> Self {
        object["metadata"] = json!({"name": OBJECT, "namespace": namespace});
        let place = json!({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": namespace}});
        make(cluster, &json!({"apiVersion": "v1", "kind": "List", "items": [place, object]}));
        let mut made = Self { cluster, namespace, kind, before: Default::default() };
        made.before = made.lives();
        assert!(made.before.iter().all(|life| !life.is_empty()));
        made
    }

    fn lives(&self) -> [String; 2] {
        let object = [self.kind, OBJECT, "-n", self.namespace];
        [life(self.cluster, &["namespace", self.namespace]), life(self.cluster, &object)]
    }

    /// An attacker copies all marks of a cloud: of its namespace, and of its object of the same kind.
    fn is_marked_by(&self, attacker: &Attacker, cloud: &str, own: &str) {
        let marks = marks_of(&attacker.read(&["namespace", cloud]));
        attacker.patch(&["namespace", self.namespace], &marks);
        let marks = marks_of(&attacker.read(&[self.kind, own, "-n", cloud]));
        attacker.patch(&[self.kind, OBJECT, "-n", self.namespace], &marks);
    }

    /// Fails where one of both is deleted, being deleted, or made again.
    #[track_caller]
    fn is_untouched(&self) {
        assert_eq!(self.lives(), self.before);
    }

    fn clear(self) {
        kubectl(self.cluster, &["delete", "namespace", self.namespace, "--wait=false"]);
    }
}

fn config_map() -> Value {
    json!({"apiVersion": "v1", "kind": "ConfigMap", "data": {"theirs": "yes"}})
}

/// The right to do this to namespaces.
fn of_namespaces(verbs: &[&str]) -> Value {
    json!([{"apiGroups": [""], "resources": ["namespaces"], "verbs": verbs}])
}

/// The right to read and patch namespaces and one more resource.
fn may_patch(group: &str, resource: &str) -> Value {
    let verbs = ["get", "patch"];
    json!([
        {"apiGroups": [""], "resources": ["namespaces"], "verbs": verbs},
        {"apiGroups": [group], "resources": [resource], "verbs": verbs},
    ])
}

/// Waits until the engine has corrected the ConfigMap of a cloud: all earlier changes of ConfigMaps have reached it then.
async fn corrects_settings(cluster: &Cluster, cloud: &str) {
    let object = ["configmap", SETTINGS, "-n", cloud];
    let patch = ["patch", "--type", "merge", "-p", r#"{"data":{"a":"changed"}}"#];
    kubectl(cluster, &[&patch[..], &object[..]].concat());
    until("the ConfigMap as it was", async || {
        let data = kubectl(cluster, &[&["get", "-o", "jsonpath={.data.a}"][..], &object[..]].concat());
        (data == "b").then_some(())
    })
    .await;
}

#[tokio::test(flavor = "multi_thread")]
async fn attack_a_a_config_map_and_its_namespace_that_a_user_marks_as_ours_stay_with_a_worker() {
    const CLOUD: &str = "attack-a-served";
    let environment = Environment::group("attacks", 1).await.unwrap();
    let installation = Installation::confined(&environment, CLOUD, Confined::Unguarded);
    let cluster = &environment.clusters()[0];
    let rights = may_patch("", "configmaps");
    let attacker = Attacker::new(&environment, cluster, "attack-a-served-user", &rights);
    let bystander = Bystander::new(cluster, "attack-a-served-bystander", "configmap", config_map());
    let document = |pods| cloud(&installation, CLOUD, pods, &[settings()]);
    let worker = installation.served(&document(10)).await;
    installation.apply(&document(10)).done();

    bystander.is_marked_by(&attacker, CLOUD, SETTINGS);
    corrects_settings(cluster, CLOUD).await;
    installation.apply(&document(11)).done();
    bystander.is_untouched();

    terminate_with_contents(&installation, CLOUD);
    assert_eq!(namespaces(cluster, CLOUD), "");
    bystander.is_untouched();
    bystander.clear();
    worker.stop();
}

#[tokio::test(flavor = "multi_thread")]
async fn attack_a_a_role_and_its_namespace_that_a_user_marks_as_ours_stay_without_a_worker() {
    const CLOUD: &str = "attack-a-alone";
    let environment = Environment::group("attacks", 1).await.unwrap();
    let installation = Installation::confined(&environment, CLOUD, Confined::Unguarded);
    let cluster = &environment.clusters()[0];
    let attacker = Attacker::new(&environment, cluster, "attack-a-alone-user", &may_patch(RBAC, "roles"));
    // A user without rights may change the metadata of a role that gives none.
    let role = json!({"apiVersion": format!("{RBAC}/v1"), "kind": "Role", "rules": []});
    let bystander = Bystander::new(cluster, "attack-a-alone-bystander", "role", role);
    installation.apply(&cloud(&installation, CLOUD, 10, &[])).done();

    bystander.is_marked_by(&attacker, CLOUD, ROLE);
    installation.apply(&cloud(&installation, CLOUD, 11, &[])).done();
    bystander.is_untouched();

    terminate_with_contents(&installation, CLOUD);
    assert_eq!(namespaces(cluster, CLOUD), "");
    bystander.is_untouched();
    bystander.clear();
}

#[tokio::test(flavor = "multi_thread")]
async fn attack_a_a_namespace_with_the_proved_marks_of_ours_on_another_cluster_stays_with_its_data() {
    const CLOUD: &str = "attack-a-elsewhere";
    let environment = Environment::group("attacks", 2).await.unwrap();
    let installation = Installation::confined(&environment, CLOUD, Confined::Unguarded);
    let [first, second] = environment.clusters() else { panic!("two clusters are needed") };
    let reader = Attacker::new(&environment, first, "attack-a-elsewhere-reader", &of_namespaces(&["get"]));
    let rights = of_namespaces(&["get", "patch"]);
    let attacker = Attacker::new(&environment, second, "attack-a-elsewhere-user", &rights);
    let bystander = Bystander::new(second, CLOUD, "configmap", config_map());
    let document = |pods| cloud(&installation, CLOUD, pods, &[settings()]);
    installation.apply(&document(10)).ended_with(5);
    assert_eq!(installation.lane(CLOUD, first)["state"], "done");
    bystander.is_untouched();

    // The marks of the namespace of the same name, with the proof that holds on the first cluster.
    let marks = marks_of(&reader.read(&["namespace", CLOUD]));
    assert!(marks["metadata"]["annotations"][ANNOTATION_PROOF].is_string(), "{marks:#}");
    attacker.patch(&["namespace", CLOUD], &marks);
    installation.apply(&document(11)).ended_with(5);
    bystander.is_untouched();
    assert_eq!(kubectl(second, &["get", "roles,resourcequotas", "-n", CLOUD, "-o", "name"]), "");

    terminate_with_contents(&installation, CLOUD);
    assert_eq!(namespaces(first, CLOUD), "");
    bystander.is_untouched();
    bystander.clear();
}
