//! Attacks f and h: objects with the name of the account that a revocation will make.

use dcm_testenv::{Cluster, Environment};
use serde_json::{Value, json};

use crate::attacks::attacker::Attacker;
use crate::attacks::signers::may_user_get_pods;
use crate::attacks::victims::cloud;
use crate::common::confined::Confined;
use crate::common::installation::{Installation, kubectl, timeout, until};

/// The names of the ServiceAccounts of a cloud, without the one that Kubernetes makes.
fn accounts(cluster: &Cluster, cloud: &str) -> Vec<String> {
    let listed = kubectl(
        cluster,
        &["get", "serviceaccounts", "-n", cloud, "-o", "jsonpath={.items[*].metadata.name}"],
    );
    listed.split(' ').filter(|name| *name != "default").map(str::to_owned).collect()
}

/// An attacker guesses names from that of the present account, and makes an account with each, and a token for it. Then the token user
/// is revoked.
async fn makes_the_next_account(cloud_name: &str, is_served: bool) {
    let environment = Environment::group("attacks", 1).await.unwrap();
    let installation = Installation::confined(&environment, cloud_name, Confined::Unguarded);
    let (cluster, person) = (&environment.clusters()[0], &installation.person);
    let rights = json!([{"apiGroups": [""], "resources": ["serviceaccounts", "serviceaccounts/token"], "verbs": ["create"]}]);
    let attacker = Attacker::new(&environment, cluster, &format!("{cloud_name}-user"), &rights);
    let document = cloud(&installation, cloud_name, 10, &[]);
    let worker = if is_served { Some(installation.served(&document).await) } else { None };
    installation.apply(&document).done();
    let [present] = &accounts(cluster, cloud_name)[..] else { panic!("one token user has one account") };
    let kubeconfig = person.run(["kubeconfig", cloud_name, "--user", "ci"]).done();
    let guesses = ["ci-e2".to_owned(), present.replacen("ci-e1", "ci-e2", 1)];
    assert!(guesses[1] != *present, "{present}");
    let tokens = guesses.each_ref().map(|guess| {
        attacker.kubectl(&["-n", cloud_name, "create", "serviceaccount", guess], &Value::Null).done();
        attacker.kubectl(&["-n", cloud_name, "create", "token", guess], &Value::Null).done().trim().to_owned()
    });
    person.run(["user", "revoke", cloud_name, "ci", "--timeout", &timeout()]).done();
    let next = person.run(["kubeconfig", cloud_name, "--user", "ci"]).done();
    let may = |kubeconfig: &str| may_user_get_pods(&environment, &installation, "ci", kubeconfig);
    until("the rights of the next account", async || may(&next).then_some(())).await;
    for token in tokens {
        let mut stolen: Value = serde_saphyr::from_str(&kubeconfig).unwrap();
        stolen["users"][0]["user"]["token"] = token.into();
        assert!(!may(&stolen.to_string()), "a token of an account that the user made has the rights of ci");
    }
    let left = accounts(cluster, cloud_name);
    assert!(guesses.iter().all(|guess| left.contains(guess)), "what others made stays: {left:?}");
    person.run(["terminate", cloud_name, "--delete-contents", "--timeout", &timeout()]).done();
    if let Some(worker) = worker {
        worker.stop();
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn attack_f_tokens_of_accounts_that_were_made_beforehand_get_no_rights_by_a_revocation_with_a_worker() {
    makes_the_next_account("attack-f-served", true).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn attack_f_tokens_of_accounts_that_were_made_beforehand_get_no_rights_by_a_revocation_without_a_worker()
 {
    makes_the_next_account("attack-f-alone", false).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn attack_h_manifests_that_are_named_like_the_next_accounts_hinder_no_revocation() {
    const CLOUD: &str = "attack-h";
    let environment = Environment::group("attacks", 1).await.unwrap();
    let installation = Installation::confined(&environment, CLOUD, Confined::Unguarded);
    let cluster = &environment.clusters()[0];
    let account =
        |name: &str| json!({"apiVersion": "v1", "kind": "ServiceAccount", "metadata": {"name": name}});
    let named = ["ci-e2", "ann-e2", "ann-e1"];
    installation.apply(&cloud(&installation, CLOUD, 10, &named.map(account))).done();
    for user in ["ci", "ann"] {
        installation.person.run(["user", "revoke", CLOUD, user, "--timeout", &timeout()]).done();
    }
    let left = accounts(cluster, CLOUD);
    assert!(named.iter().all(|name| left.contains(&(*name).to_owned())), "{left:?}");
    installation.terminate(CLOUD).done();
}
