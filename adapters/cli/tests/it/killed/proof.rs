//! What an API server has, and what its audit log says.

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;
use std::process::{Command, Output};

use dcm_testenv::{AuditEvent, AuditFilter, Cluster, Environment, Stage};
use serde_json::Value;

use crate::common::installation::kubectl;

/// Who signs.
const SIGNER: &str = "system:kube-controller-manager";

/// What a cloud has on its cluster when it is there, and nothing else.
pub(crate) fn everything_of(cloud: &str) -> BTreeSet<String> {
    let inside = [
        "LimitRange dcm-defaults",
        "ResourceQuota q",
        "Role look",
        "RoleBinding look",
        "ServiceAccount ci-e1",
    ];
    inside.into_iter().map(str::to_owned).chain([format!("Namespace {cloud}")]).collect()
}

/// All objects of ours on a cluster, of whatever kind it serves, by the cloud that they name.
pub(crate) fn owned(cluster: &Cluster) -> BTreeMap<String, BTreeSet<String>> {
    let kinds = kubectl(cluster, &["api-resources", "--verbs=list", "-o", "name"]);
    let kinds: Vec<&str> = kinds.lines().collect();
    let listed = kubectl(cluster, &["get", &kinds.join(","), "-A", "-l", "dcm.internal/owner", "-o", "json"]);
    let listed: Value = serde_json::from_str(&listed).unwrap();
    let mut owned: BTreeMap<String, BTreeSet<String>> = BTreeMap::new();
    for item in listed["items"].as_array().unwrap() {
        let text = |value: &Value| value.as_str().unwrap_or_default().to_owned();
        let metadata = &item["metadata"];
        let cloud = text(&metadata["labels"]["dcm.internal/logical-cloud"]);
        let (kind, name) = (text(&item["kind"]), text(&metadata["name"]));
        // The end of an account's name is random.
        let name = if kind == "ServiceAccount" { name.rsplit_once('-').unwrap().0 } else { &name };
        let name = format!("{kind} {name}");
        owned.entry(cloud).or_default().insert(name);
    }
    owned
}

/// What was issued to a cloud's users, by the API server's audit log.
#[derive(Debug, Default)]
pub(crate) struct Issued {
    /// The requests whose approval was answered. One that was cut off by a death may have been approved without.
    pub(crate) approved: Vec<String>,
    /// The requests that the signer answered with a certificate.
    pub(crate) signed: Vec<String>,
    /// How many tokens were issued, or may have been for somebody who was cut off.
    pub(crate) tokens: usize,
}

/// What was issued, by cloud.
pub(crate) fn issued(cluster: &Cluster) -> BTreeMap<String, Issued> {
    let mut clouds: BTreeMap<String, Issued> = BTreeMap::new();
    let requests = AuditFilter::new().resource("certificatesigningrequests").code(200);
    for event in ended(cluster, &requests.clone().subresource("approval")) {
        let name = event.name.unwrap();
        clouds.entry(cloud_of(&name)).or_default().approved.push(name);
    }
    for event in ended(cluster, &requests.subresource("status").user(SIGNER)) {
        let name = event.name.unwrap();
        clouds.entry(cloud_of(&name)).or_default().signed.push(name);
    }
    let tokens = AuditFilter::new().verb("create").resource("serviceaccounts").subresource("token");
    for event in ended(cluster, &tokens) {
        let refused = (400..500).contains(&event.code.unwrap());
        let cloud = clouds.entry(event.namespace.unwrap()).or_default();
        cloud.tokens += usize::from(!refused);
    }
    clouds
}

/// The cloud whose only user's first certificate a request is for: its name has project, cloud, user, epoch and serial.
fn cloud_of(request: &str) -> String {
    let named = request.strip_prefix("dcm-default-").and_then(|rest| rest.split_once("-ann-1-1-"));
    named.unwrap_or_else(|| panic!("a request for something else: {request}")).0.to_owned()
}

fn ended(cluster: &Cluster, filter: &AuditFilter) -> Vec<AuditEvent> {
    cluster.audit_log().matching(&filter.clone().stage(Stage::ResponseComplete)).unwrap()
}

/// True when the cluster knows whose a token is.
pub(crate) fn is_alive(token: &str, environment: &Environment, cluster: &Cluster, home: &Path) -> bool {
    let authority = home.join("ca.pem");
    std::fs::write(&authority, cluster.certificate_authority()).unwrap();
    let mut command = Command::new(environment.kubectl());
    command.env_clear().env("HOME", home).args(["auth", "whoami", "--kubeconfig", "/dev/null", "--server"]);
    command.arg(cluster.url()).arg("--certificate-authority").arg(authority).args(["--token", token]);
    let Output { status, stderr, .. } = command.output().unwrap();
    let said = String::from_utf8(stderr).unwrap();
    assert!(status.success() || said.contains("Unauthorized"), "{said}");
    status.success()
}
