//! Two installations, with a store each, want one namespace of one cluster.

use dcm_testenv::effort::budget;

use crate::common::installation::timeout;
use crate::common::{Ran, User};
use crate::races::at_once::{at_once, winner};
use crate::races::{asked, environment, label, made_for, register};

/// How often two installations meet, a few times by default.
fn meetings() -> usize {
    budget("meetings", 4, 20)
}

fn cloud(meeting: usize, side: usize) -> String {
    format!("m{meeting}-{side}")
}

fn document(meeting: usize, side: usize) -> String {
    let cloud = cloud(meeting, side);
    format!(
        "{{apiVersion: dcm.internal/v1, kind: LogicalCloud, metadata: {{name: {cloud}}}, spec: {{namespace: \
         meeting-{meeting}, users: [{{name: ci, type: token}}], clusters: [{{provider: real, cluster: cluster-2}}]}}}}"
    )
}

/// Both apply; gives who won.
fn meet(users: &[User; 2], meeting: usize) -> (usize, [Ran; 2]) {
    let ran = at_once([0, 1].map(|side| {
        let file = users[side].write("meeting.yaml", &document(meeting, side));
        let mut command = users[side].command();
        command.args(["apply", "--timeout", &timeout(), "-f"]).arg(file);
        command
    }));
    (winner(&ran, meeting), ran)
}

/// The status of the loser shows that the namespace is foreign. Both installations have the same owner, and each has its own key for proofs.
fn is_told(loser: &User, cloud: &str, said: &str) {
    let reason = "it carries our marks without their proof, so it is not ours";
    let shown = format!("foreign: {reason}; action required\n");
    assert!(said.contains(&shown), "{said}");
    assert!(said.contains("stuck: action required\n"), "{said}");
    let status = loser.run(["status", cloud, "-o", "json"]).done();
    let status: serde_json::Value = serde_json::from_str(&status).unwrap();
    let cause = &status["clusters"]["real/cluster-2"]["lane"]["objects"][0]["cause"];
    assert_eq!((&cause["reason"], &cause["message"]), (&"foreign".into(), &reason.into()), "{status:#}");
}

#[tokio::test(flavor = "multi_thread")]
async fn one_of_two_installations_gets_a_namespace_and_the_other_learns_whose_it_is() {
    let environment = environment().await;
    let cluster = &environment.clusters()[1];
    let users = [User::new(), User::new()];
    for (user, identity) in users.iter().zip(["dcm-first-store", "dcm-second-store"]) {
        register(user, cluster, identity);
    }
    for meeting in 0..meetings() {
        let (winner, ran) = meet(&users, meeting);
        let (loser, namespace) = (1 - winner, format!("meeting-{meeting}"));
        let (wins, loses) = (cloud(meeting, winner), cloud(meeting, loser));
        let of_namespace = |name: &str| label(cluster, &namespace, &format!("dcm.internal/{name}"));
        let context = of_namespace("context");
        assert_eq!(of_namespace("logical-cloud"), wins);
        assert!(context.starts_with(&format!("dcm-default-{wins}-")), "{context}");
        is_told(&users[loser], &loses, &ran[loser].err);
        // The loser leaves what is not its own alone.
        users[loser].run(["terminate", &loses]).done();
        let state = asked(cluster, &format!("get namespace {namespace} -o jsonpath={{.status.phase}}"));
        assert_eq!((state, of_namespace("context")), ("Active".to_owned(), context));
        assert_eq!(made_for(cluster, &[loses]), "");
    }
}
