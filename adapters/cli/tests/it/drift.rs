//! What others change or delete of a logical cloud, and what was there before it, on real API servers.
#![allow(clippy::unwrap_used, reason = "a test fails by it")]

use crate::common::confined::Confined;
use crate::common::installation::{Installation, Worker, kubectl, make, registered, until};
use crate::common::requests::Moment;
use dcm_sync::engine::Options;
use dcm_testenv::{Cluster, Environment};
use serde_json::{Value, json};

/// One is enough: what counts is what the API server tells of its objects.
const CLUSTERS: usize = 1;

const PODS: &str = ".spec.hard.pods";

/// A quota value that cannot appear by chance in a timestamp or an id.
const HIDDEN_VALUE: &str = "1234567890";

/// A cloud with a quota and a role, and what is done about others.
fn spec(policies: &Value) -> Value {
    json!({
        "users": [{"name": "ann"}],
        "permissions": [{"name": "look", "apiGroups": [""], "resources": ["pods"], "verbs": ["get"]}],
        "quotas": [{"name": "compute", "hard": {"limits.cpu": "1000m", "pods": 10}}],
        "objectPolicies": policies,
    })
}

/// A cloud on one cluster, and a worker that keeps it.
struct Kept<'a> {
    installation: Installation<'a>,
    cloud: &'static str,
    worker: Worker,
}

impl<'a> Kept<'a> {
    async fn new(environment: &'a Environment, cloud: &'static str, policies: &Value) -> Self {
        let installation = Installation::new(environment, cloud);
        let document = installation.document(cloud, spec(policies));
        let worker = installation.served(&document).await;
        installation.apply(&document).done();
        Self { installation, cloud, worker }
    }

    fn cluster(&self) -> &'a Cluster {
        &self.installation.clusters()[0]
    }

    /// A part of an object; none while it is not there.
    fn part(&self, object: &str, path: &str) -> Option<String> {
        part(self.cluster(), self.cloud, object, path)
    }

    /// Changes an object as another program does.
    fn edit(&self, manager: &str, object: &str, patch: &Value) {
        let patch = patch.to_string();
        let arguments =
            ["patch", object, "-n", self.cloud, "--type=merge", "--field-manager", manager, "-p", &patch];
        kubectl(self.cluster(), &arguments);
    }

    fn delete(&self, object: &str) {
        kubectl(self.cluster(), &["delete", object, "-n", self.cloud]);
    }

    /// What the status reports of an object as drift; none while other drift is still corrected.
    fn drift(&self, kind: &str) -> Option<String> {
        let lane = self.installation.lane(self.cloud, self.cluster());
        if lane["state"] != "done" {
            return None;
        }
        let objects = lane["objects"].as_array().unwrap();
        let drifted = objects.iter().find(|object| object["kind"] == kind && object["state"] == "drifted")?;
        assert_eq!(drifted["cause"]["reason"], "drifted", "{drifted:#}");
        Some(drifted["cause"]["message"].as_str().unwrap().to_owned())
    }

    /// The different writes since then. The cluster counts what a quota holds and writes that meanwhile, so a correction
    /// of one may take a second try.
    fn kinds_of_writes(&self, since: &Moment) -> Vec<String> {
        let mut writes = self.installation.writes(since).swap_remove(0);
        writes.dedup();
        writes
    }

    /// Ends all of it.
    fn end(self) {
        self.installation.terminate(self.cloud).done();
        self.worker.stop();
    }
}

fn part(cluster: &Cluster, namespace: &str, object: &str, path: &str) -> Option<String> {
    let path = format!("jsonpath={{{path}}}");
    let found = kubectl(cluster, &["get", object, "-n", namespace, "--ignore-not-found", "-o", &path]);
    (!found.is_empty()).then_some(found)
}

/// Waits until something holds.
async fn back(what: &str, holds: impl Fn() -> bool) {
    until(what, async || holds().then_some(())).await;
}

#[tokio::test]
async fn a_deleted_role_and_an_edited_quota_come_back() {
    let environment = Environment::group("drift", CLUSTERS).await.unwrap();
    let kept = Kept::new(&environment, "corrected", &json!({})).await;
    let since = kept.installation.moment();
    kept.edit("kubectl-edit", "resourcequota/compute", &json!({"spec": {"hard": {"pods": "99"}}}));
    back("the quota", || kept.part("resourcequota/compute", PODS).as_deref() == Some("10")).await;
    kept.edit("kubectl-edit", "resourcequota/compute", &json!({"spec": {"hard": {"pods": null}}}));
    back("what was taken out of the quota", || kept.part("resourcequota/compute", PODS).is_some()).await;
    kept.edit(
        "kubectl-edit",
        "role/look",
        &json!({"rules": [{"apiGroups": ["*"], "resources": ["*"], "verbs": ["*"]}]}),
    );
    let verbs = || kept.part("role/look", ".rules[*].verbs");
    back("the role's rules", || verbs().as_deref() == Some(r#"["get"]"#)).await;
    kept.delete("role/look");
    back("the role", || kept.part("role/look", ".metadata.name").is_some()).await;
    let expected = ["create roles look", "patch resourcequotas compute", "patch roles look"];
    assert_eq!(kept.kinds_of_writes(&since), expected);
    // The watches show each change at once: no cluster is looked through for it.
    let requests = kept.installation.requests(&since).swap_remove(0);
    assert!(!requests.iter().any(|request| request.starts_with("list ")), "{requests:#?}");
    kept.end();
}

#[tokio::test]
async fn what_others_add_and_what_the_cluster_says_itself_costs_no_write() {
    let environment = Environment::group("drift", CLUSTERS).await.unwrap();
    let kept = Kept::new(&environment, "added", &json!({})).await;
    let since = kept.installation.moment();
    let added = json!({"spec": {"hard": {"secrets": "9"}}, "metadata": {"labels": {"a": "b"}}});
    kept.edit("kubectl-edit", "resourcequota/compute", &added);
    // The controller counts again and writes that into the status.
    until("what is used of the new limit", async || {
        kept.part("resourcequota/compute", ".status.used.secrets")
    })
    .await;
    kept.edit("kubectl-edit", "role/look", &json!({"rules": []}));
    back("the role's rules", || kept.part("role/look", ".rules[*].verbs").is_some()).await;
    assert_eq!(kept.installation.writes(&since)[0], ["patch roles look"]);
    assert_eq!(kept.part("resourcequota/compute", ".spec.hard.secrets").as_deref(), Some("9"));
    kept.end();
}

#[tokio::test]
async fn what_is_only_to_be_reported_stays_and_stands_in_the_status_and_the_plan() {
    let environment = Environment::group("drift", CLUSTERS).await.unwrap();
    let policies =
        json!({"Role": {"drift": "report"}, "ResourceQuota": {"reportOnly": [PODS.trim_start_matches('.')]}});
    let kept = Kept::new(&environment, "reported", &policies).await;
    let since = kept.installation.moment();
    let edit = json!({"spec": {"hard": {"pods": HIDDEN_VALUE, "limits.cpu": HIDDEN_VALUE}}});
    kept.edit("autoscaler", "resourcequota/compute", &edit);
    kept.delete("role/look");
    let told = until("drift of both", async || kept.drift("ResourceQuota").zip(kept.drift("Role"))).await;
    let role = "it was deleted by another client; apply again to have it made anew";
    assert_eq!((&*told.0, &*told.1), ("spec.hard.pods is held by autoscaler", role));
    back("the field that is not only reported", || {
        kept.part("resourcequota/compute", r".spec.hard.limits\.cpu").as_deref() == Some("1")
    })
    .await;
    assert_eq!(kept.kinds_of_writes(&since), ["patch resourcequotas compute"]);
    assert_eq!(kept.part("resourcequota/compute", PODS).as_deref(), Some(HIDDEN_VALUE));
    let document = kept.installation.document(kept.cloud, spec(&policies));
    let plan = kept.installation.person.run_with_input(&["plan", "-f", "-"], &document.to_string()).done();
    let reported = plan.lines().find(|line| line.contains("report  ")).unwrap();
    assert!(reported.contains("spec.hard.pods is held by autoscaler"), "{plan}");
    let tree = kept.installation.person.run(["status", kept.cloud]).done();
    assert!(tree.contains("drifted: spec.hard.pods is held by autoscaler"), "{tree}");
    assert!(!tree.contains(HIDDEN_VALUE), "no values: {tree}");
    kept.installation.apply(&document).done();
    back("the role that is applied again", || kept.part("role/look", ".metadata.name").is_some()).await;
    kept.end();
}

#[tokio::test]
async fn a_fight_against_a_second_writer_is_given_up_and_names_it() {
    let environment = Environment::group("drift", CLUSTERS).await.unwrap();
    let kept = Kept::new(&environment, "fought", &json!({})).await;
    let since = kept.installation.moment();
    let verbs = || kept.part("role/look", ".rules[*].verbs").unwrap();
    let theirs = json!({"rules": [{"apiGroups": [""], "resources": ["pods"], "verbs": ["list"]}]});
    let told = until("a fight that is given up", async || {
        if verbs() == r#"["get"]"# {
            kept.edit("rancher", "role/look", &theirs);
        }
        kept.drift("Role")
    })
    .await;
    assert!(told.contains("rules is held by rancher"), "{told}");
    assert_eq!(verbs(), r#"["list"]"#);
    // A role has no status that others write meanwhile: each correction is one write.
    let corrections = Options::default().corrections_max;
    assert_eq!(kept.installation.writes(&since)[0], vec!["patch roles look"; corrections]);
    kept.installation.apply(&kept.installation.document(kept.cloud, spec(&json!({})))).done();
    back("the role that is applied again", || verbs() == r#"["get"]"#).await;
    kept.end();
}

/// A namespace with a quota that somebody made before.
fn found(cluster: &Cluster, name: &str, hard: &Value) {
    make(
        cluster,
        &json!({"apiVersion": "v1", "kind": "List", "items": [
            {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": name}},
            {"apiVersion": "v1", "kind": "ResourceQuota", "metadata": {"name": "compute", "namespace": name},
             "spec": {"hard": hard}},
        ]}),
    );
}

/// What the plan says of the quota.
fn planned(installation: &Installation<'_>, document: &Value) -> (String, String) {
    let arguments = ["plan", "-o", "json", "-f", "-"];
    let plan = installation.person.run_with_input(&arguments, &document.to_string()).done();
    let plan: Value = serde_json::from_str(&plan).unwrap();
    let steps =
        plan["clouds"][0]["clusters"][registered(&installation.clusters()[0])]["steps"].as_array().unwrap();
    let step = steps.iter().find(|step| step["object"].as_str().unwrap().starts_with("ResourceQuota"));
    let text = |member: &str| step.unwrap()[member].as_str().unwrap().to_owned();
    (text("action"), text("why"))
}

#[tokio::test]
async fn what_is_equal_is_adopted_what_is_not_is_named_and_overwritten_only_when_asked() {
    let environment = Environment::group("drift", CLUSTERS).await.unwrap();
    let cloud = "found";
    let installation = Installation::confined(&environment, cloud, Confined::Unguarded);
    let cluster = &installation.clusters()[0];
    let hard = || part(cluster, cloud, "resourcequota/compute", ".spec.hard");
    found(cluster, cloud, &json!({"limits.cpu": "1", "pods": HIDDEN_VALUE, "secrets": "7"}));
    let document = |existing: &str| {
        let policies = json!({"Namespace": {"existing": "adopt"}, "ResourceQuota": {"existing": existing}});
        installation.document(cloud, spec(&policies))
    };

    let differs = "it was there before, and is not as desired: spec.hard.pods differs";
    assert_eq!(planned(&installation, &document("adopt-if-equal")), ("blocked".into(), differs.into()));
    let ran = installation.apply(&document("adopt-if-equal"));
    assert!(ran.code != 0 && ran.err.contains(differs) && !ran.err.contains(HIDDEN_VALUE), "{ran:#?}");
    let taken = "it was there before and is overwritten: spec.hard.pods is held by a-person";
    assert_eq!(planned(&installation, &document("overwrite")), ("overwrite".into(), taken.into()));
    installation.apply(&document("overwrite")).done();
    assert_eq!(hard().unwrap(), r#"{"limits.cpu":"1","pods":"10","secrets":"7"}"#);
    installation.terminate(cloud).done();
    assert!(hard().is_some(), "what was taken over is never deleted");

    let pods = json!({"spec": {"hard": {"limits.cpu": "1", "pods": "10"}}}).to_string();
    kubectl(cluster, &["patch", "resourcequota/compute", "-n", cloud, "--type=merge", "-p", &pods]);
    let equal = planned(&installation, &document("adopt-if-equal"));
    assert_eq!(equal, ("adopt".into(), "it was there before and is adopted".into()));
    installation.apply(&document("adopt-if-equal")).done();
    let before = hard();
    installation.terminate(cloud).done();
    assert_eq!(hard(), before);
    kubectl(cluster, &["delete", "namespace", cloud, "--wait=false"]);
}
