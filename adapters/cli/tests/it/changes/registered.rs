//! Registered clusters that are changed while a cloud is on them.

use dcm_testenv::{Cluster, Environment, Route};
use serde_json::Value;

use crate::changes::{rule, spec};
use crate::common::Ran;
use crate::common::confined::Confined;
use crate::common::installation::{CLUSTERS, Installation, registered};

/// Changes the kubeconfig of the first cluster to one of another user, for this cluster.
fn update(installation: &Installation<'_>, cluster: &Cluster) -> Ran {
    let kubeconfig = Confined::Standard.kubeconfig(cluster, "dcm-renewed-next", Route::Direct);
    let file = installation.person.write("next", &kubeconfig);
    let first = registered(&installation.clusters()[0]);
    installation.person.run(["cluster", "update", &first, "--kubeconfig", file.to_str().unwrap()])
}

fn listed(installation: &Installation<'_>) -> Value {
    let listed = installation.person.run(["cluster", "list", "-o", "json"]).done();
    serde_json::from_str::<Value>(&listed).unwrap()[0].take()
}

#[tokio::test]
async fn a_kubeconfig_is_changed_under_a_cloud_and_only_to_one_of_the_same_cluster() {
    let environment = Environment::group("changes", CLUSTERS).await.unwrap();
    let installation = Installation::new(&environment, "renewed");
    let mut document = installation.document("renewed", spec());
    installation.apply(&document).done();

    let before = listed(&installation);
    let said = update(&installation, &installation.clusters()[1]).ended_with(5);
    let second = registered(&installation.clusters()[1]);
    let expected =
        format!("was not changed: the kubeconfig leads to the cluster that is registered as {second}");
    assert!(said.contains(&expected), "{said}");
    assert_eq!(listed(&installation), before);

    let ran = update(&installation, &installation.clusters()[0]);
    assert!(ran.err.contains("real/cluster-1: changed") && ran.out.contains("rights  complete"), "{ran:?}");
    let moment = installation.moment();
    document["spec"]["permissions"][0] = rule("look", &["get"]);
    installation.apply(&document).done();
    let writes = installation.writes(&moment);
    // The first one was written to by somebody else: the user of the new kubeconfig.
    assert_eq!(writes.iter().map(Vec::len).collect::<Vec<_>>(), [0, 1, 1], "{writes:?}");
}

#[tokio::test]
async fn labels_and_namespace_are_changed_and_the_rest_stays() {
    let environment = Environment::group("changes", CLUSTERS).await.unwrap();
    let installation = Installation::new(&environment, "relabelled");
    let first = registered(&installation.clusters()[0]);
    let update = |more: &[&str]| installation.person.run([&["cluster", "update", &first], more].concat());
    let server = listed(&installation)["server"].clone();
    update(&["--label", "tier=edge", "--namespace", "tenants"]).done();
    let found = listed(&installation);
    assert_eq!((&found["labels"]["tier"], &found["namespace"]), (&"edge".into(), &"tenants".into()));
    update(&["--no-labels"]).done();
    let found = listed(&installation);
    assert_eq!((&found["labels"], &found["namespace"]), (&serde_json::json!({}), &"tenants".into()));
    assert_eq!(found["server"], server);
    assert!(update(&["--no-labels"]).err.contains("is registered so already"));
    // Whoever tries to add it again is told how.
    let file = installation.person.home().join("kubeconfig");
    let add = ["cluster", "add", &first, "--unchecked", "--kubeconfig", file.to_str().unwrap()];
    let said = installation.person.run(add).ended_with(5);
    assert!(said.contains("dcm cluster update real/cluster-1 changes it"), "{said}");
}
