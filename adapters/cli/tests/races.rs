//! Two processes on one store at the same moment.
#![allow(clippy::unwrap_used, reason = "a test fails by it")]

mod common;

use std::process::Stdio;

use common::{Ran, User};

const ROUNDS: usize = 100;

fn document(cloud: &str, namespace: &str) -> String {
    format!(
        "{{apiVersion: dcm.internal/v1, kind: LogicalCloud, metadata: {{name: {cloud}}}, spec: {{namespace: {namespace}, \
         clusters: [{{provider: p, cluster: c}}]}}}}"
    )
}

#[test]
fn one_of_two_clouds_gets_a_namespace_and_the_other_learns_whose_it_is() {
    let user = User::new();
    let kubeconfig = user.write("config", common::UNREACHABLE);
    let added = ["cluster", "add", "p/c", "--unchecked", "--kubeconfig", kubeconfig.to_str().unwrap()];
    user.run(added).done();
    for round in 0..ROUNDS {
        let clouds = [format!("a{round}"), format!("b{round}")];
        let started = clouds.clone().map(|cloud| {
            let file = user.write(&format!("{cloud}.yaml"), &document(&cloud, &format!("n{round}")));
            let mut command = user.command();
            command.args(["apply", "--no-wait", "-f"]).arg(file).stdin(Stdio::null());
            command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap()
        });
        let ran = started.map(|child| Ran::of(child.wait_with_output().unwrap()));
        let winner = match &ran {
            [one, other] if one.code == 0 && other.code == 5 => 0,
            [one, other] if one.code == 5 && other.code == 0 => 1,
            ran => panic!("round {round}: {ran:#?}"),
        };
        let said = &ran[1 - winner].err;
        let expected = format!(
            "dcm: logical cloud {}: namespace n{round} of cluster p/c belongs to logical cloud {} of project default",
            clouds[1 - winner],
            clouds[winner]
        );
        assert!(said.contains(&expected), "round {round}: {said}");
    }
}
