//! A tenant whose objects are as large as the API server takes them: the clouds of others, and its own, go on.

use dcm_core::port::cluster::{LABEL_CONTEXT, LABEL_OWNER};
use dcm_testenv::{Cluster, Environment};
use serde_json::{Map, Value, json};

use crate::attacks::attacker::Attacker;
use crate::attacks::victims::{OWNER, RBAC, cloud};
use crate::common::confined::Confined;
use crate::common::installation::{Installation, Worker, kubectl, until};

const VARIABLES: usize = 3_000;

/// Field names in the entries of `managedFields` that are made up: 1 MB of them.
const FORGED: usize = 12_000;

/// Roles of 1.2 MB, so many that a page of a list can't hold them.
const ROLES: usize = 8;

const DEPLOYMENT: &str = "heavy";

fn deployment() -> Value {
    let variable = |number| json!({"name": format!("VARIABLE_{number}"), "value": "ours"});
    let variables: Vec<Value> = (0..VARIABLES).map(variable).collect();
    let labels = json!({"app": DEPLOYMENT});
    json!({"apiVersion": "apps/v1", "kind": "Deployment", "metadata": {"name": DEPLOYMENT},
        "spec": {"replicas": 0, "selector": {"matchLabels": labels}, "template": {
            "metadata": {"labels": labels},
            "spec": {"containers": [{"name": "c", "image": "none", "env": variables}]}}}})
}

/// A cloud with the Deployment, a worker, and a user that may change Deployments and make Roles.
struct Scene<'a> {
    cluster: &'a Cluster,
    installation: Installation<'a>,
    attacker: Attacker,
    name: &'static str,
    worker: Worker,
}

impl<'a> Scene<'a> {
    async fn new(environment: &'a Environment, name: &'static str) -> Self {
        let installation = Installation::confined(environment, name, Confined::Unguarded);
        let cluster = &environment.clusters()[0];
        let rights = json!([
            {"apiGroups": ["apps"], "resources": ["deployments"], "verbs": ["get", "update"]},
            {"apiGroups": [RBAC], "resources": ["roles"], "verbs": ["create", "escalate"]},
        ]);
        let attacker = Attacker::new(environment, cluster, &format!("{name}-user"), &rights);
        let document = cloud(&installation, name, 10, &[deployment()]);
        let worker = installation.served(&document).await;
        let scene = Self { cluster, installation, attacker, name, worker };
        // It is never ready: no controller looks at it.
        until("the Deployment", async || (!scene.image().is_empty()).then_some(())).await;
        scene
    }

    fn place(&self) -> [&str; 4] {
        ["deployment", DEPLOYMENT, "-n", self.name]
    }

    fn image(&self) -> String {
        let path = "jsonpath={.spec.template.spec.containers[0].image}";
        let read = ["get", "--ignore-not-found", "-o", path];
        kubectl(self.cluster, &[&read[..], &self.place()].concat())
    }

    /// Writes the Deployment as the attacker made it, and returns what the API server made of that.
    fn write(&self, change: impl Fn(&mut Value)) -> String {
        let mut live = self.attacker.read(&[&self.place()[..], &["--show-managed-fields"]].concat());
        change(&mut live);
        self.attacker.kubectl(&["replace", "-f", "-", "-o", "json", "--show-managed-fields"], &live).done()
    }

    /// The cloud of another tenant is made, changed and removed.
    fn others_go_on(&self) {
        let name = format!("{}-other", self.name);
        for pods in [10, 11] {
            self.installation.apply(&cloud(&self.installation, &name, pods, &[])).done();
        }
        self.installation.terminate(&name).done();
    }

    /// The cloud itself is as it was, and can be removed.
    async fn comes_to_rest(self) {
        until("the Deployment as it was", async || (self.image() == "none").then_some(())).await;
        self.others_go_on();
        self.installation.terminate(self.name).done();
        self.worker.stop();
    }
}

fn set_image(live: &mut Value) {
    live["spec"]["template"]["spec"]["containers"][0]["image"] = "theirs".into();
}

async fn environment() -> Environment {
    Environment::group("attacks", 1).await.unwrap()
}

#[tokio::test(flavor = "multi_thread")]
async fn attack_8_a_deployment_of_3000_variables_is_brought_back_and_holds_up_nobody() {
    let environment = environment().await;
    let scene = Scene::new(&environment, "attack-8-variables").await;
    let written = scene.write(|live| {
        set_image(live);
        let containers = &mut live["spec"]["template"]["spec"]["containers"];
        for variable in containers[0]["env"].as_array_mut().unwrap() {
            variable["value"] = "theirs".into();
        }
    });
    assert_eq!(written.matches("\"value\": \"theirs\"").count(), VARIABLES);
    scene.others_go_on();
    scene.comes_to_rest().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn attack_8_managed_fields_of_1_mb_hide_no_change_and_hold_up_nobody() {
    let environment = environment().await;
    let scene = Scene::new(&environment, "attack-8-fields").await;
    let written = scene.write(|live| {
        set_image(live);
        let field = |number| {
            let key = json!({"name": format!("FORGED_{number}")});
            (format!("k:{key}"), json!({".": {}, "f:name": {}, "f:value": {}}))
        };
        let held: Map<String, Value> = (0..FORGED).map(field).collect();
        let container = json!({"f:env": held});
        let entry = json!({
            "manager": "forger", "operation": "Apply", "apiVersion": "apps/v1", "fieldsType": "FieldsV1",
            "time": "2026-01-01T00:00:00Z",
            "fieldsV1": {"f:spec": {"f:template": {"f:spec": {"f:containers": {"k:{\"name\":\"c\"}": container}}}}},
        });
        live["metadata"]["managedFields"].as_array_mut().unwrap().push(entry);
    });
    assert_eq!(written.matches("FORGED_").count(), FORGED, "the API server keeps them");
    scene.others_go_on();
    scene.comes_to_rest().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn attack_7_roles_of_1_2_mb_with_our_labels_hold_up_no_list() {
    let environment = environment().await;
    let scene = Scene::new(&environment, "attack-7-roles").await;
    let names: Vec<String> = (0..10_000).map(|number| format!("{number:0>117}")).collect();
    for number in 0..ROLES {
        let labels = json!({LABEL_OWNER: OWNER, LABEL_CONTEXT: "lc-0"});
        let metadata = json!({"name": format!("heavy-{number}"), "namespace": scene.name, "labels": labels});
        scene.attacker.create(&json!({"apiVersion": format!("{RBAC}/v1"), "kind": "Role", "metadata": metadata,
            "rules": [{"apiGroups": [""], "resources": ["pods"], "verbs": ["get"], "resourceNames": names}]}));
    }
    scene.others_go_on();
    // A worker that begins anew lists them.
    let Scene { cluster, installation, attacker, name, worker } = scene;
    worker.stop();
    let worker = installation.served(&cloud(&installation, name, 10, &[deployment()])).await;
    let scene = Scene { cluster, installation, attacker, name, worker };
    scene.others_go_on();
    kubectl(cluster, &["delete", "roles", "-n", name, "--selector", &format!("{LABEL_CONTEXT}=lc-0")]);
    scene.comes_to_rest().await;
}
