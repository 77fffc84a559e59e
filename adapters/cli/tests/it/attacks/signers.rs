//! Clusters whose signer and API server trust different authorities, or others than before: what they issued opens nothing.

use std::process::Command;

use dcm_testenv::{AuditFilter, Cluster, Environment, Stage};
use serde_json::{Value, json};

use crate::attacks::environment;
use crate::common::Ran;
use crate::common::installation::{Installation, timeout, until};

/// The cloud whose certificates are refused.
const CLOUD: &str = "untrusted-signer";

fn document(installation: &Installation<'_>, cloud: &str) -> Value {
    installation.document(
        cloud,
        json!({
            "users": [{"name": "ann"}],
            "permissions": [{"name": "look", "apiGroups": [""], "resources": ["pods"], "verbs": ["get"]}],
        }),
    )
}

fn kubeconfig(installation: &Installation<'_>, cloud: &str) -> Ran {
    installation.person.run(["kubeconfig", cloud, "--user", "ann"])
}

/// What the API server lets ann do who has this kubeconfig.
fn may_get_pods(environment: &Environment, installation: &Installation<'_>, kubeconfig: &str) -> bool {
    may_user_get_pods(environment, installation, "ann", kubeconfig)
}

/// True where the API server lets a user read pods in the namespace of the cloud by this kubeconfig.
pub(crate) fn may_user_get_pods(
    environment: &Environment,
    installation: &Installation<'_>,
    user: &str,
    kubeconfig: &str,
) -> bool {
    let file = installation.person.write("handed-out", kubeconfig);
    let mut command = Command::new(environment.kubectl());
    command.arg("--kubeconfig").arg(file).args(["--context", &format!("{user}@cluster-1")]);
    Ran::of(command.args(["auth", "can-i", "get", "pods"]).output().unwrap()).out.trim() == "yes"
}

/// How far the user's request is on a cluster.
fn request(installation: &Installation<'_>, cloud: &str, cluster: &Cluster) -> Value {
    installation.lane(cloud, cluster)["requests"][0].take()
}

/// A cloud that is applied while the signer is not trusted.
fn is_refused(installation: &Installation<'_>, cluster: &Cluster) {
    let applied = installation.apply(&document(installation, CLOUD));
    assert_eq!(applied.code, 5, "{applied:#?}");
    assert!(format!("{applied:?}").contains("not-accepted"), "{applied:#?}");
    let state = request(installation, CLOUD, cluster);
    assert_eq!((&state["state"], &state["cause"]["reason"]), (&json!("pending"), &json!("not-accepted")));
    assert!(state["cause"]["message"].as_str().unwrap().contains("--client-ca-file"), "{state:#}");
    assert!(state["cause"]["nextTry"].is_string(), "it is tried again after a wait: {state:#}");
    let refused = kubeconfig(installation, CLOUD).ended_with(5);
    assert!(refused.contains("does not accept"), "{refused}");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_certificate_of_an_authority_that_the_api_server_does_not_trust_is_not_handed_out() {
    let environment = Environment::builder().start().await.unwrap();
    let installation = Installation::new(&environment, CLOUD);
    let cluster = &environment.clusters()[0];
    let signer = cluster.replace_signer().unwrap();
    is_refused(&installation, cluster);

    // The way out that the message names. After a wait, the refused request is deleted and another one made, so its name may differ.
    cluster.trust_clients_of(&signer).await.unwrap();
    installation.apply(&document(&installation, CLOUD)).done();
    let state = request(&installation, CLOUD, cluster);
    assert_eq!(state["state"], "issued", "{state:#}");
    let issued = installation.status(CLOUD)["credentials"]["ann"]["clusters"]["real/cluster-1"].take();
    assert_eq!((&issued["isTried"], &issued["isShortened"]), (&json!(true), &json!(false)), "{issued:#}");
    let first = kubeconfig(&installation, CLOUD).done();
    assert!(may_get_pods(&environment, &installation, &first));

    // A renewal meets another signer that is not trusted: what was issued before is good, and handed out.
    let next = cluster.replace_signer().unwrap();
    installation.person.run(["renew", CLOUD, "--user", "ann", "--timeout", &timeout()]).ended_with(5);
    assert_eq!(request(&installation, CLOUD, cluster)["cause"]["reason"], "not-accepted");
    assert_eq!(kubeconfig(&installation, CLOUD).done(), first);
    assert!(may_get_pods(&environment, &installation, &first));

    cluster.trust_clients_of(&format!("{signer}{next}")).await.unwrap();
    installation.person.run(["renew", CLOUD, "--user", "ann", "--timeout", &timeout()]).done();
    let second = kubeconfig(&installation, CLOUD).done();
    assert_ne!(second, first);
    assert!(may_get_pods(&environment, &installation, &second));
}

#[tokio::test(flavor = "multi_thread")]
async fn what_an_authority_signed_that_was_replaced_is_not_handed_out_and_another_one_is_issued() {
    const CLOUD: &str = "replaced-authorities";
    const USERS: [&str; 2] = ["ann", "bot"];
    let environment = Environment::builder().start().await.unwrap();
    let installation = Installation::new(&environment, CLOUD);
    let cluster = &environment.clusters()[0];
    // So that the controller manager starts once the API server is back.
    cluster.replace_keys(&cluster.replace_signer().unwrap()).await.unwrap();
    let document = installation.document(
        CLOUD,
        json!({
            "users": [{"name": "ann"}, {"name": "bot", "type": "token"}],
            "permissions": [{"name": "look", "apiGroups": [""], "resources": ["pods"], "verbs": ["get"]}],
        }),
    );
    let worker = installation.served(&document).await;
    installation.apply(&document).done();
    let handed_out = |user: &str| installation.person.run(["kubeconfig", CLOUD, "--user", user]);
    let may = |user: &str, kubeconfig: &str| may_user_get_pods(&environment, &installation, user, kubeconfig);
    let first = USERS.map(|user| handed_out(user).done());
    assert!(may("ann", &first[0]) && may("bot", &first[1]));

    let signer = cluster.replace_signer().unwrap();
    cluster.kill();
    // The engine notices it when it has something to do there.
    let other = installation.document("meanwhile", json!({}));
    installation.hand_over(&other);
    until("a lost cluster", async || {
        let lane = installation.lane("meanwhile", cluster);
        (lane["cause"]["reason"] == "unreachable").then_some(())
    })
    .await;
    // With one start: after a round of trials between two starts, the next one would come only after a longer wait.
    cluster.replace_keys(&signer).await.unwrap();
    assert!(!may("ann", &first[0]) && !may("bot", &first[1]));
    for (user, first) in USERS.into_iter().zip(&first) {
        let second = until("another credential", async || {
            let ran = handed_out(user);
            // Until there is another one, there is none.
            (ran.code == 0 && ran.out != *first).then_some(ran.out)
        })
        .await;
        assert!(may(user, &second), "{user}");
    }
    worker.stop();
}

#[tokio::test(flavor = "multi_thread")]
async fn a_credential_is_tried_once_with_the_rights_of_its_user_alone() {
    const CLOUD: &str = "tried-once";
    let environment = environment().await;
    let installation = Installation::new(&environment, CLOUD);
    let cluster = &environment.clusters()[0];
    let document = installation.document(
        CLOUD,
        json!({
            "users": [{"name": "ann"}, {"name": "bot", "type": "token"}],
            "permissions": [{"name": "look", "apiGroups": [""], "resources": ["pods"], "verbs": ["get"]}],
        }),
    );
    installation.apply(&document).done();
    let tried = || {
        let reviews = AuditFilter::new().resource("selfsubjectreviews").stage(Stage::ResponseComplete);
        let events = cluster.audit_log().matching(&reviews).unwrap();
        // The engine asks who it is, too, to give itself rights in the namespace.
        let is_users = |user: &str| user.contains(CLOUD) && user != installation.identity;
        let ours = events.iter().filter(|event| is_users(&event.user));
        ours.map(|event| event.code).collect::<Vec<_>>()
    };
    assert_eq!(tried(), [Some(201), Some(201)]);
    // An unchanged apply, by another process, tries them no more.
    installation.apply(&document).done();
    assert_eq!(tried().len(), 2);
}
