//! Attacks b and c: a user of one cloud writes a generation of another one, so that its rights can't be taken away; or one so far ahead
//! that no later cloud has generations left.

use dcm_core::port::cluster::{ANNOTATION_GENERATION, ANNOTATION_MANIFEST, LABEL_CONTEXT, LABEL_OWNER};
use dcm_testenv::{Cluster, Environment};
use serde_json::{Value, json};

use crate::attacks::attacker::Attacker;
use crate::attacks::victims::{OWNER, RBAC, ROLE, cloud, context, life, loses_rights, settings};
use crate::common::confined::Confined;
use crate::common::installation::{Installation, kubectl, timeout};

/// The generation that the second review tried, 2^64-4: the remedy that the documentation names used up all numbers after it.
const FAR: u64 = u64::MAX - 3;

/// The name of what the attacker makes.
const FORGED: &str = "forged";

/// Two clouds of one installation. A user of the first attacks the second.
struct Neighbours<'a> {
    environment: &'a Environment,
    installation: Installation<'a>,
    attacker: Attacker,
    own: String,
    other: String,
    manifests: Vec<Value>,
}

impl<'a> Neighbours<'a> {
    /// The attacker may create objects of one resource.
    fn new(
        environment: &'a Environment,
        name: &str,
        (group, resource): (&str, &str),
        manifests: Vec<Value>,
    ) -> Self {
        let installation = Installation::confined(environment, name, Confined::Unguarded);
        let rights = json!([{"apiGroups": [group], "resources": [resource], "verbs": ["create"]}]);
        let cluster = &environment.clusters()[0];
        let attacker = Attacker::new(environment, cluster, &format!("{name}-user"), &rights);
        let [own, other] = ["a", "b"].map(|end| format!("{name}-{end}"));
        Self { environment, installation, attacker, own, other, manifests }
    }

    fn cluster(&self) -> &'a Cluster {
        &self.environment.clusters()[0]
    }

    fn document(&self, name: &str) -> Value {
        cloud(&self.installation, name, 10, &self.manifests)
    }

    fn apply(&self) {
        for name in [&self.own, &self.other] {
            self.installation.apply(&self.document(name)).done();
        }
    }

    /// Has the attacker make an object in the namespace of its own cloud, with the labels of the other one and these annotations.
    fn forge(&self, mut object: Value, annotations: &Value) {
        let metadata = &mut object["metadata"];
        metadata["namespace"] = self.own.as_str().into();
        metadata["labels"] = json!({LABEL_OWNER: OWNER, LABEL_CONTEXT: context(self.cluster(), &self.other)});
        metadata["annotations"] = annotations.clone();
        self.attacker.create(&object);
    }

    /// A user of the attacked cloud loses its rights, the cloud's status has nothing of the attacker's cloud, and what the attacker made
    /// stays, also when the attacked cloud is terminated.
    async fn is_unharmed(&self, user: &str, forged: &[(&str, &str)]) {
        let own = self.own.as_str();
        let lives = || -> Vec<String> {
            forged.iter().map(|&(kind, name)| life(self.cluster(), &[kind, name, "-n", own])).collect()
        };
        let before = lives();
        assert!(before.iter().all(|life| !life.is_empty()), "{before:?}");
        loses_rights(self.environment, &self.installation, &self.other, user).await;
        let status = self.installation.status(&self.other).to_string();
        assert!(!status.contains(own) && !status.contains("store-behind"), "{status}");
        self.installation.terminate(&self.other).done();
        assert_eq!(lives(), before);
    }

    /// Takes the attacker's cloud away, with what the attacker made.
    fn clear(&self) {
        self.installation.terminate(&self.own).done();
        kubectl(self.cluster(), &["delete", "namespace", &self.own, "--ignore-not-found", "--wait=false"]);
    }
}

/// A role without rules: the attacker may make it without having any right that it could give.
fn role(name: &str) -> Value {
    json!({"apiVersion": format!("{RBAC}/v1"), "kind": "Role", "metadata": {"name": name}, "rules": []})
}

fn config_map(name: &str) -> Value {
    json!({"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": name}, "data": {"theirs": "yes"}})
}

fn of_generation(generation: u64) -> Value {
    json!({ANNOTATION_GENERATION: generation.to_string()})
}

#[tokio::test(flavor = "multi_thread")]
async fn attack_b_a_role_with_the_context_of_another_cloud_and_a_later_generation_hinders_no_revocation() {
    let environment = Environment::group("attacks", 1).await.unwrap();
    let clouds = Neighbours::new(&environment, "attack-b", (RBAC, "roles"), Vec::new());
    clouds.apply();
    clouds.forge(role(FORGED), &of_generation(99));
    clouds.is_unharmed("ci", &[("role", FORGED)]).await;
    clouds.clear();
}

#[tokio::test(flavor = "multi_thread")]
async fn attack_b_a_role_with_an_equal_generation_and_another_hash_hinders_no_revocation_of_a_certificate() {
    let environment = Environment::group("attacks", 1).await.unwrap();
    let clouds = Neighbours::new(&environment, "attack-b-equal", (RBAC, "roles"), Vec::new());
    clouds.apply();
    // The revocation is the next generation.
    let applied = clouds.installation.status(&clouds.other)["applied"]["generation"].as_u64().unwrap();
    for (name, generation) in [("now", applied), ("next", applied + 1)] {
        let mut annotations = of_generation(generation);
        annotations[ANNOTATION_MANIFEST] = "0".repeat(64).into();
        clouds.forge(role(name), &annotations);
    }
    clouds.is_unharmed("ann", &[("role", "now"), ("role", "next")]).await;
    clouds.clear();
}

#[tokio::test(flavor = "multi_thread")]
async fn attack_b_a_config_map_with_the_context_of_another_cloud_hinders_no_revocation_by_a_worker() {
    let environment = Environment::group("attacks", 1).await.unwrap();
    let clouds = Neighbours::new(&environment, "attack-b-served", ("", "configmaps"), vec![settings()]);
    let worker = clouds.installation.served(&clouds.document(&clouds.own)).await;
    clouds.apply();
    clouds.forge(config_map(FORGED), &of_generation(99));
    clouds.is_unharmed("ci", &[("configmap", FORGED)]).await;
    clouds.clear();
    worker.stop();
}

/// An attacked cloud is taken away by the remedy for a store that is behind; a cloud that is made afterwards can be applied again and
/// again, a user of it loses its rights, and it is terminated.
async fn later_clouds_work(
    environment: &Environment,
    installation: &Installation<'_>,
    [attacked, next]: [&str; 2],
    user: &str,
) {
    // Both may be refused: the remedy is for that.
    installation.apply(&cloud(installation, attacked, 20, &[]));
    installation.person.run(["reconcile", attacked, "--timeout", &timeout()]);
    installation.terminate(attacked).done();
    installation.person.run(["delete", attacked]).done();

    for pods in 1..=4 {
        installation.apply(&cloud(installation, next, pods, &[])).done();
    }
    let generation = installation.status(next)["applied"]["generation"].as_u64().unwrap();
    assert!(generation < FAR, "it has a number that was read from a cluster: {generation}");
    loses_rights(environment, installation, next, user).await;
    installation.terminate(next).done();
}

#[tokio::test(flavor = "multi_thread")]
async fn attack_c_a_far_generation_in_another_namespace_uses_up_no_generation_of_later_clouds() {
    let environment = Environment::group("attacks", 1).await.unwrap();
    let clouds = Neighbours::new(&environment, "attack-c", (RBAC, "roles"), Vec::new());
    clouds.apply();
    clouds.forge(role(FORGED), &of_generation(FAR));
    let names = [clouds.other.as_str(), "attack-c-next"];
    later_clouds_work(&environment, &clouds.installation, names, "ci").await;
    clouds.clear();
}

/// A patch of one annotation.
fn far() -> Value {
    json!({"metadata": {"annotations": of_generation(FAR)}})
}

#[tokio::test(flavor = "multi_thread")]
async fn attack_c_a_far_generation_on_the_namespace_of_a_cloud_uses_up_no_generation_of_later_clouds() {
    const CLOUD: &str = "attack-c-place";
    let environment = Environment::group("attacks", 1).await.unwrap();
    let installation = Installation::confined(&environment, CLOUD, Confined::Unguarded);
    let rights = json!([{"apiGroups": [""], "resources": ["namespaces"], "verbs": ["get", "patch"]}]);
    let attacker = Attacker::new(&environment, &environment.clusters()[0], "attack-c-place-user", &rights);
    installation.apply(&cloud(&installation, CLOUD, 10, &[])).done();
    attacker.patch(&["namespace", CLOUD], &far());
    later_clouds_work(&environment, &installation, [CLOUD, "attack-c-place-next"], "ann").await;
}

#[tokio::test(flavor = "multi_thread")]
async fn attack_c_a_far_generation_on_a_role_of_a_cloud_uses_up_no_generation_of_later_clouds_of_a_worker() {
    const CLOUD: &str = "attack-c-served";
    let environment = Environment::group("attacks", 1).await.unwrap();
    let installation = Installation::confined(&environment, CLOUD, Confined::Unguarded);
    let rights = json!([
        {"apiGroups": [RBAC], "resources": ["roles"], "verbs": ["get", "patch"]},
        // A role may be changed by a user that has the rights that it gives.
        {"apiGroups": [""], "resources": ["pods"], "verbs": ["get"]},
    ]);
    let attacker = Attacker::new(&environment, &environment.clusters()[0], "attack-c-served-user", &rights);
    let document = cloud(&installation, CLOUD, 10, &[]);
    let worker = installation.served(&document).await;
    installation.apply(&document).done();
    attacker.patch(&["role", ROLE, "-n", CLOUD], &far());
    later_clouds_work(&environment, &installation, [CLOUD, "attack-c-served-next"], "ci").await;
    worker.stop();
}
