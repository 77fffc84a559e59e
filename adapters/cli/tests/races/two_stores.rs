//! Two installations, with a store each, want one namespace of one cluster.

use crate::at_once::{at_once, winner};
use crate::common::User;
use crate::{asked, environment, label, register};

const MEETINGS: usize = 20;

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

#[tokio::test(flavor = "multi_thread")]
async fn one_of_two_installations_gets_a_namespace_and_the_other_learns_whose_it_is() {
    let environment = environment().await;
    let cluster = &environment.clusters()[1];
    let users = [User::new(), User::new()];
    users.iter().for_each(|user| register(user, cluster));
    for meeting in 0..MEETINGS {
        let ran = at_once([0, 1].map(|side| {
            let file = users[side].write("meeting.yaml", &document(meeting, side));
            let mut command = users[side].command();
            command.args(["apply", "--timeout", "60s", "-f"]).arg(file);
            command
        }));
        let winner = winner(&ran, meeting);
        let namespace = format!("meeting-{meeting}");
        let (wins, loses) = (cloud(meeting, winner), cloud(meeting, 1 - winner));
        // All that can be known of another installation: what its labels say.
        assert_eq!(label(cluster, &namespace, "dcm.internal/logical-cloud"), wins);
        let context = label(cluster, &namespace, "dcm.internal/context");
        assert!(context.starts_with(&format!("dcm-default-{wins}-")), "{context}");
        let owner = label(cluster, &namespace, "dcm.internal/owner");
        let reason = format!("it belongs to app context {context} of owner {owner}");
        let said = &ran[1 - winner].err;
        let shown = format!("foreign: {reason}; somebody has to change something\n");
        assert!(said.contains(&shown), "meeting {meeting}: {said}");
        assert!(said.contains("stuck: nothing more happens before somebody changes something"), "{said}");
        let status = users[1 - winner].run(["status", &loses, "-o", "json"]).done();
        let status: serde_json::Value = serde_json::from_str(&status).unwrap();
        let cause = &status["clusters"]["real/cluster-2"]["lane"]["objects"][0]["cause"];
        assert_eq!((&cause["reason"], &cause["message"]), (&"foreign".into(), &reason.into()), "{status:#}");
        // The loser leaves what is not its own alone.
        users[1 - winner].run(["terminate", &loses]).done();
        let state = asked(cluster, &format!("get namespace {namespace} -o jsonpath={{.status.phase}}"));
        assert_eq!(state, "Active");
        assert_eq!(label(cluster, &namespace, "dcm.internal/context"), context);
        assert_eq!(
            asked(
                cluster,
                &format!(
                    "get all,serviceaccounts,rolebindings -A -o name -l dcm.internal/logical-cloud={loses}"
                )
            ),
            ""
        );
    }
}
