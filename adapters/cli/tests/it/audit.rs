//! Who decided what, when and why, as a user sees it.
#![allow(clippy::unwrap_used, reason = "a test fails by it")]

use crate::common;

use common::{UNREACHABLE, User};
use serde_json::Value;

const CLOUD: &str = "
apiVersion: dcm.internal/v1
kind: LogicalCloud
metadata: {name: shop}
spec:
  namespace: shop
  clusters: [{provider: p, cluster: c}]
";

fn entries(user: &User, arguments: &[&str]) -> Vec<Value> {
    let out = user.run(["audit", "-o", "json"].iter().chain(arguments)).done();
    serde_json::from_str(&out).unwrap()
}

#[test]
fn the_audit_log_says_who_did_what_and_why_and_what_came_of_it() {
    let user = User::new();
    let kubeconfig = user.write("kubeconfig", UNREACHABLE);
    let document = user.write("shop.yaml", CLOUD);
    let (kubeconfig, document) = (kubeconfig.to_str().unwrap(), document.to_str().unwrap());
    user.run(["cluster", "add", "p/c", "--unchecked", "--kubeconfig", kubeconfig]).done();
    let why = ["--why", "order 17", "--request-id", "req-17"];
    user.run(["apply", "-f", document, "--no-wait"].iter().chain(&why)).done();
    // It is on clusters, as far as anybody knows.
    assert_ne!(user.run(["delete", "shop"]).code, 0);
    let all = entries(&user, &[]);
    let told: Vec<(&str, &str)> = all
        .iter()
        .map(|entry| (entry["asked"]["action"].as_str().unwrap(), entry["ended"]["result"].as_str().unwrap()))
        .collect();
    let expected = [
        ("register-cluster", "accepted"),
        ("put-project", "accepted"),
        ("put", "accepted"),
        ("apply", "accepted"),
        ("delete", "refused"),
    ];
    assert_eq!(told, expected);
    let apply = &all[3];
    assert_eq!((&apply["asked"]["who"], &apply["asked"]["why"]), (&"ann".into(), &"order 17".into()));
    assert_eq!((&apply["asked"]["requestId"], &apply["ended"]["generation"]), (&"req-17".into(), &1.into()));
    assert!(apply["asked"]["context"].as_str().is_some_and(|context| context.contains("shop")), "{apply}");
    // Nobody said what the others are called, so they have numbers of their own.
    assert_ne!(all[0]["asked"]["requestId"], all[4]["asked"]["requestId"]);
    assert!(!serde_json::to_string(&all).unwrap().contains("hunter2"));
}

#[test]
fn entries_are_chosen_by_cloud_and_time() {
    let user = User::new();
    let kubeconfig = user.write("kubeconfig", UNREACHABLE);
    let document = user.write("shop.yaml", CLOUD);
    let (kubeconfig, document) = (kubeconfig.to_str().unwrap(), document.to_str().unwrap());
    user.run(["cluster", "add", "p/c", "--unchecked", "--kubeconfig", kubeconfig]).done();
    user.run(["apply", "-f", document, "--no-wait"]).done();
    assert_eq!(entries(&user, &["--cloud", "shop"]).len(), 2);
    assert_eq!(entries(&user, &["--cloud", "shop", "--project", "other"]).len(), 0);
    assert_eq!(entries(&user, &["--since", "1h"]).len(), 4);
    assert_eq!(entries(&user, &["--since", "2999-01-01"]).len(), 0);
    let table = user.run(["audit"]).done();
    assert_eq!(table.lines().count(), 5, "{table}");
    assert!(table.lines().any(|line| line.contains("apply") && line.contains("default/shop")), "{table}");
}

#[test]
fn the_log_as_json_shows_the_span_of_the_request_and_no_secret() {
    let user = User::new();
    let kubeconfig = user.write("kubeconfig", UNREACHABLE);
    let add = ["cluster", "add", "p/c", "--unchecked", "--kubeconfig", kubeconfig.to_str().unwrap()];
    let ran = user.run(add.iter().chain(&["-vvv", "--log-format", "json", "--request-id", "req-9"]));
    assert_eq!(ran.code, 0, "{}", ran.err);
    let lines: Vec<Value> = ran.err.lines().filter_map(|line| serde_json::from_str(line).ok()).collect();
    let asked = lines.iter().find(|line| line["fields"]["message"] == "asked").unwrap();
    let request = &asked["spans"][0];
    assert_eq!(
        (&request["name"], &request["caller"], &request["request_id"]),
        (&"request".into(), &"ann".into(), &"req-9".into())
    );
    assert!(!ran.err.contains("hunter2"));
}
