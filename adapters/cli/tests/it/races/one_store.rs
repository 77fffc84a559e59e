//! Two clouds want one namespace of one cluster, on one store.

use dcm_testenv::effort::budget;

use crate::common::User;
use crate::races::at_once::{at_once, winner};
use crate::races::serving::serve;
use crate::races::{environment, label, made_for, register};

/// How often two clouds meet, a few times by default.
fn rounds() -> usize {
    budget("races", 15, 100)
}

/// Clouds of these projects meet.
const PROJECTS: [&str; 2] = ["left", "right"];

fn document(round: usize, side: usize) -> String {
    let (cloud, project) = (cloud(round, side), PROJECTS[side]);
    format!(
        "{{apiVersion: dcm.internal/v1, kind: LogicalCloud, metadata: {{name: {cloud}, project: {project}}}, spec: \
         {{namespace: n{round}, users: [{{name: ci, type: token}}], clusters: [{{provider: real, cluster: cluster-1}}]}}}}"
    )
}

fn cloud(round: usize, side: usize) -> String {
    format!("{}{round}", ["a", "b"][side])
}

/// Both apply; gives who won. The other is told by name whose the namespace is, and is on no cluster.
fn meet(user: &User, round: usize) -> usize {
    let ran = at_once([0, 1].map(|side| {
        let file = user.write(&format!("{}.yaml", cloud(round, side)), &document(round, side));
        let mut command = user.command();
        command.args(["apply", "--no-wait", "-f"]).arg(file);
        command
    }));
    let winner = winner(&ran, round);
    let (loser, loses) = (cloud(round, 1 - winner), PROJECTS[1 - winner]);
    let said: Vec<&str> = ran[1 - winner].err.lines().filter(|line| line.starts_with("dcm: ")).collect();
    let expected = format!(
        ": logical cloud {loser}: namespace n{round} of cluster real/cluster-1 belongs to logical cloud {} of \
         project {}",
        cloud(round, winner),
        PROJECTS[winner]
    );
    assert!(said.len() == 1 && said[0].ends_with(&expected), "round {round}: {said:?}");
    assert_eq!(ran[1 - winner].out, "", "round {round}");
    let status = user.run(["status", &loser, "--project", loses, "-o", "json"]).done();
    let status: serde_json::Value = serde_json::from_str(&status).unwrap();
    assert_eq!(status["state"], "created", "round {round}: {status:#}");
    winner
}

#[tokio::test(flavor = "multi_thread")]
async fn one_of_two_clouds_gets_a_namespace_and_the_other_learns_whose_it_is() {
    let environment = environment().await;
    let cluster = &environment.clusters()[0];
    let user = User::new();
    register(&user, cluster, "dcm-one-store");
    let worker = serve(&user);
    let winners: Vec<usize> = (0..rounds()).map(|round| meet(&user, round)).collect();
    for (round, winner) in winners.iter().enumerate() {
        let cloud = cloud(round, *winner);
        // It is done by the worker; waiting for it costs nothing more.
        user.run(["apply", "-f", &format!("{cloud}.yaml")]).done();
        assert_eq!(label(cluster, &format!("n{round}"), "dcm.internal/logical-cloud"), cloud);
        assert_eq!(label(cluster, &format!("n{round}"), "dcm.internal/project"), PROJECTS[*winner]);
    }
    let losers: Vec<String> =
        winners.iter().enumerate().map(|(round, winner)| cloud(round, 1 - winner)).collect();
    assert_eq!(made_for(cluster, &losers), "");
    // The loser is as good as any other cloud when the winner has gone.
    let (won, lost) = (winners[0], 1 - winners[0]);
    user.run(["terminate", "--project", PROJECTS[won], &cloud(0, won)]).done();
    user.run(["apply", "-f", &format!("{}.yaml", cloud(0, lost))]).done();
    assert_eq!(label(cluster, "n0", "dcm.internal/logical-cloud"), cloud(0, lost));
    worker.stop();
}
