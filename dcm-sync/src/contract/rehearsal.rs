//! Promises about `rehearse`.

use dcm_core::port::cluster::Error;
use serde_json::{Value, json};

use super::subject::{Subject, config_map, must};

fn quota(namespace: &str, hard: &Value) -> Value {
    json!({
        "apiVersion": "v1",
        "kind": "ResourceQuota",
        "metadata": {"name": "q", "namespace": namespace},
        "spec": {"hard": hard},
    })
}

/// The answer has what the write would leave, as the server stores it; what is there stays as it is, and what is not
/// there is not made.
pub async fn a_rehearsal_answers_as_the_write_would_and_changes_nothing(subject: &Subject) {
    let namespace = subject.namespace("rehearsal").await;
    let first = quota(&namespace, &json!({"pods": "5", "limits.cpu": "1000m"}));
    let made = subject.cluster.rehearse(&subject.call, &subject.stamped(&first), None, false).await;
    assert_eq!(must(made, "a rehearsal")["spec"]["hard"]["limits.cpu"], "1");
    assert!(subject.get(&first).await.is_none(), "it was made");

    let body = config_map(&namespace, "c", &json!({"color": "red", "size": "1"}));
    let before = subject.create(&body).await;
    let wanted = subject.stamped_in(2, &config_map(&namespace, "c", &json!({"color": "blue"})));
    let observed = before.precondition();
    let changed = subject.cluster.rehearse(&subject.call, &wanted, Some(&observed), false).await;
    assert_eq!(must(changed, "a rehearsal")["data"], json!({"color": "blue"}));
    let after = subject.there(&body).await;
    assert_eq!((after.resource_version, &after.body), (before.resource_version, &before.body));
    subject.clean_up("rehearsal").await;
}

/// It fails as the write would: where there is such an object, no namespace, another state than was observed, or a rule
/// is broken.
pub async fn a_rehearsal_is_refused_as_the_write_would_be(subject: &Subject) {
    let namespace = subject.namespace("rehearsed").await;
    let body = config_map(&namespace, "c", &json!({"color": "red"}));
    let made = subject.create(&body).await;
    subject.edit(&body, json!({"data": {"color": "green"}})).await;
    let rehearse = async |body: &Value, observed| {
        subject.cluster.rehearse(&subject.call, &subject.stamped(body), observed, true).await.err()
    };
    let twice = rehearse(&body, None).await;
    assert!(matches!(twice, Some(Error::AlreadyExists)), "{twice:?}");
    let nowhere = rehearse(&config_map(&subject.name("nowhere"), "c", &json!({})), None).await;
    assert!(matches!(nowhere, Some(Error::NotFound)), "{nowhere:?}");
    let observed = made.precondition();
    let outdated = rehearse(&body, Some(&observed)).await;
    assert!(matches!(outdated, Some(Error::Conflict)), "{outdated:?}");
    let broken = rehearse(&quota(&namespace, &json!({"pods": "-1"})), None).await;
    assert!(matches!(broken, Some(Error::Invalid { .. })), "{broken:?}");
    subject.clean_up("rehearsed").await;
}
