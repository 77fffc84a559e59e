//! What a plan shows is what the apply after it does.

use dcm_testenv::Environment;
use serde_json::{Value, json};

use crate::changes::spec;
use crate::common::installation::{CLUSTERS, Installation};

/// What a plan would do with objects or requests of this name, once for each cluster.
fn planned(installation: &Installation<'_>, document: &Value, what: &str) -> usize {
    let plan = installation.person.run_with_input(&["plan", "-f", "-"], &document.to_string());
    let first = !installation.person.run(["get"]).done().contains("planned-changes");
    assert_eq!(plan.err.contains("planned-changes: not stored yet"), first, "{plan:#?}");
    plan.done().matches(what).count()
}

#[tokio::test]
async fn a_plan_shows_the_credentials_that_an_apply_makes() {
    let environment = Environment::group("changes", CLUSTERS).await.unwrap();
    let installation = Installation::new(&environment, "planned-changes");
    let mut document = installation.document("planned-changes", spec());
    assert_eq!(planned(&installation, &document, "request  certificate/ann/1/1"), CLUSTERS);
    installation.apply(&document).done();
    assert_eq!(planned(&installation, &document, "everything is as desired"), CLUSTERS);

    document["spec"]["users"][0]["lifetimeSeconds"] = 7200.into();
    assert_eq!(planned(&installation, &document, "request  certificate/ann/1/2"), CLUSTERS);
    let users = document["spec"]["users"].clone();
    let permissions = document["spec"]["permissions"].clone();
    document["spec"]["users"].as_array_mut().unwrap().retain(|user| user["name"] != "ci");
    document["spec"]["permissions"][1]["users"] = json!(["bob"]);
    installation.apply(&document).done();

    document["spec"]["users"] = users;
    document["spec"]["permissions"] = permissions;
    assert_eq!(planned(&installation, &document, "create   ServiceAccount planned-changes/ci-e2"), CLUSTERS);
    installation.terminate("planned-changes").done();
    assert_eq!(planned(&installation, &document, "request  certificate/ann/1/3"), CLUSTERS);
}
