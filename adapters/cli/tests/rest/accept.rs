//! Another cluster takes the place of the one that a name stood for.

use dcm_testenv::Route;
use serde_json::{Value, json};

use crate::common::installation::{kubectl, until};
use crate::server::{self, Server};

const CLUSTER: &str = "/v2/cluster-providers/real/clusters/cluster-1";
const CLOUD: &str = "/v2/projects/shop/logical-clouds/rest-accept";

fn done(server: &Server, request: &str, status: &str) -> String {
    let answer = server.ask(request);
    assert!(answer.starts_with(status), "{request}: {answer}");
    answer
}

fn body(answer: &str) -> Value {
    serde_json::from_str(answer.split_once("\n\n").unwrap().1).unwrap()
}

#[tokio::test(flavor = "multi_thread")]
async fn another_cluster_is_told_by_a_check_and_taken_by_its_uid_alone() {
    let (environment, server) = server::on_clusters(2, "rest-accept").await;
    // What it is is known once a worker was there.
    done(&server, "POST /v2/projects\n\n{\"metadata\": {\"name\": \"shop\"}}", "201");
    done(&server, &format!("PUT {CLOUD}\n\n{{}}"), "200");
    let reference = r#"{"metadata": {"name": "first"}, "spec": {"cluster-provider": "real", "cluster-name": "cluster-1"}}"#;
    done(&server, &format!("POST {CLOUD}/cluster-references\n\n{reference}"), "200");
    done(&server, &format!("POST {CLOUD}/apply"), "200");
    let is_instantiated = async || {
        server.ask(&format!("GET {CLOUD}/status")).contains(r#""state":"instantiated""#).then_some(())
    };
    until("an instantiated cloud", is_instantiated).await;
    done(&server, &format!("DELETE {CLOUD}?terminate=true"), "202");
    until("its end", async || server.ask(&format!("GET {CLOUD}")).starts_with("404").then_some(())).await;

    let [one, other] = environment.clusters() else { panic!("two clusters are asked for") };
    let lead_to = |kubeconfig: String| {
        let sent = json!({"spec": {"kubeconfig": kubeconfig}});
        format!("PUT {CLUSTER}?unchecked=true\n\n{sent}")
    };
    let checked = || body(&done(&server, &format!("GET {CLUSTER}/check"), "200"));
    assert_eq!((&checked()["isReady"], &checked()["other"]), (&json!(true), &Value::Null));
    done(&server, &lead_to(other.admin_kubeconfig(Route::Direct)), "200");
    let uid = kubectl(other, &["get", "namespace", "kube-system", "-o", "jsonpath={.metadata.uid}"]);
    assert_eq!((&checked()["isReady"], &checked()["other"]), (&json!(false), &json!(uid)));
    let known = kubectl(one, &["get", "namespace", "kube-system", "-o", "jsonpath={.metadata.uid}"]);
    let refused = body(&done(&server, &format!("POST {CLUSTER}/accept?uid={known}"), "409"));
    assert_eq!(refused["detail"], format!("the cluster that was found is {uid}"));
    assert_eq!(server.ask(&format!("POST {CLUSTER}/accept?uid={uid}")), "204\n\n");
    assert_eq!((&checked()["isReady"], &checked()["other"]), (&json!(true), &Value::Null));
    server.stop();
}
