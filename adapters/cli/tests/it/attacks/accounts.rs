//! Accounts that tokens were issued for, and that others take away.

use std::process::Command;

use dcm_testenv::{Cluster, Environment};
use serde_json::json;

use crate::attacks::attacker::Attacker;
use crate::attacks::environment;
use crate::common::Ran;
use crate::common::installation::{Installation, kubectl, until};

/// The cloud, and its namespace.
const CLOUD: &str = "replaced-account";

/// What the user may do by a kubeconfig, as the API server says.
fn may_get_pods(environment: &Environment, installation: &Installation<'_>, kubeconfig: &str) -> bool {
    let file = installation.person.write("handed-out", kubeconfig);
    let mut command = Command::new(environment.kubectl());
    command.arg("--kubeconfig").arg(file).args(["--context", "bot@cluster-1"]);
    Ran::of(command.args(["auth", "can-i", "get", "pods"]).output().unwrap()).out.trim() == "yes"
}

/// The UIDs of the accounts in the cloud's namespace.
fn accounts(cluster: &Cluster) -> String {
    kubectl(cluster, &["-n", CLOUD, "get", "serviceaccounts", "-o", "jsonpath={.items[*].metadata.uid}"])
}

#[tokio::test(flavor = "multi_thread")]
async fn a_token_of_an_account_that_somebody_deleted_is_not_handed_out_and_another_one_is_issued() {
    let environment = environment().await;
    let installation = Installation::new(&environment, CLOUD);
    let cluster = &environment.clusters()[0];
    let document = installation.document(
        CLOUD,
        json!({
            "users": [{"name": "bot", "type": "token"}],
            "permissions": [{"name": "look", "apiGroups": [""], "resources": ["pods"], "verbs": ["get"]}],
        }),
    );
    let worker = installation.served(&document).await;
    installation.apply(&document).done();
    let kubeconfig = || installation.person.run(["kubeconfig", CLOUD, "--user", "bot"]);
    let first = kubeconfig().done();
    assert!(may_get_pods(&environment, &installation, &first));

    let before = accounts(cluster);
    let rules = json!([{"apiGroups": [""], "resources": ["serviceaccounts"],
                        "verbs": ["list", "delete", "deletecollection"]}]);
    let attacker = Attacker::new(&environment, cluster, "replaced-account-attacker", &rules);
    attacker
        .kubectl(&["-n", CLOUD, "delete", "serviceaccounts", "--all", "--wait=false"], &json!(null))
        .done();

    let second = until("another token", async || {
        let ran = kubeconfig();
        // Until there is another one, there is none.
        (ran.code == 0 && ran.out != first).then_some(ran.out)
    })
    .await;
    assert_ne!(accounts(cluster), before);
    assert!(may_get_pods(&environment, &installation, &second));
    let lane = installation.lane(CLOUD, cluster);
    assert_eq!(lane["requests"][0]["state"], "issued", "{lane:#}");
    worker.stop();
}
