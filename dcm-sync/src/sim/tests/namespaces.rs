use dcm_core::port::cluster::{Deletion, Error};

use super::*;

fn inside(name: &str, finalizers: &Value) -> Value {
    json!({
        "apiVersion": "v1",
        "kind": "ConfigMap",
        "metadata": {"name": name, "namespace": "team", "finalizers": finalizers},
    })
}

fn is_pending(reply: &Result<Reply, Error>) -> bool {
    matches!(reply, Ok(Reply::Deleted(Deletion::Pending)))
}

#[test]
fn a_namespace_goes_in_its_time_and_its_contents_before_it() {
    let mut lab = Lab::new();
    lab.create(&namespace("team")).unwrap();
    lab.create(&inside("c", &Value::Null)).unwrap();
    assert!(is_pending(&lab.delete(&namespace("team"))));
    let going = lab.get(&namespace("team")).unwrap();
    assert_eq!(going.body["status"]["phase"], "Terminating");
    assert_eq!(going.deleting, Some(vec!["kubernetes".into()]));
    assert!(is_pending(&lab.delete(&namespace("team"))), "deleting again changes nothing");
    assert!(matches!(lab.create(&inside("d", &Value::Null)), Err(Error::Forbidden { .. })));

    lab.wait(Duration::from_millis(2499));
    assert!(lab.get(&inside("c", &Value::Null)).is_some());
    lab.wait(Duration::from_millis(1));
    assert!(lab.get(&inside("c", &Value::Null)).is_none());
    assert!(lab.get(&namespace("team")).is_some());
    lab.wait(Duration::from_millis(2499));
    assert!(lab.get(&namespace("team")).is_some());
    lab.wait(Duration::from_millis(1));
    assert!(lab.get(&namespace("team")).is_none());
    assert_eq!(lab.server.next_due(), None);
    assert!(matches!(lab.create(&inside("d", &Value::Null)), Err(Error::NotFound)));
}

#[test]
fn a_namespace_waits_for_the_last_object_that_is_held_back() {
    let mut lab = Lab::new();
    lab.create(&namespace("team")).unwrap();
    for name in ["one", "two"] {
        lab.create(&inside(name, &json!(["a.io/held"]))).unwrap();
    }
    lab.delete(&namespace("team")).unwrap();
    lab.wait(Duration::from_secs(60));
    let waiting = lab.get(&namespace("team")).unwrap();
    assert_eq!(waiting.body["status"]["conditions"][0]["type"], "NamespaceContentRemaining");
    for (name, is_there) in [("one", true), ("two", false)] {
        let held = lab.get(&inside(name, &Value::Null)).unwrap();
        assert_eq!(held.deleting, Some(vec!["a.io/held".into()]));
        lab.server
            .edit_as("other", &held.kind, &held.key, &json!({"metadata": {"finalizers": null}}))
            .unwrap();
        assert!(lab.get(&inside(name, &Value::Null)).is_none());
        assert_eq!(lab.get(&namespace("team")).is_some(), is_there);
    }
}

#[test]
fn a_namespace_with_a_finalizer_of_somebody_else_waits_for_it() {
    let mut lab = Lab::new();
    let mut body = namespace("team");
    body["metadata"]["finalizers"] = json!(["a.io/held"]);
    let made = lab.create(&body).unwrap();
    lab.delete(&body).unwrap();
    lab.wait(Duration::from_secs(60));
    assert_eq!(lab.get(&body).unwrap().deleting, Some(vec!["a.io/held".into()]));
    lab.server.edit_as("other", &made.kind, &made.key, &json!({"metadata": {"finalizers": null}})).unwrap();
    assert!(lab.get(&body).is_none());
}

#[test]
fn the_system_namespaces_can_not_be_deleted() {
    let mut lab = Lab::new();
    for name in ["default", "kube-system"] {
        assert!(matches!(lab.delete(&namespace(name)), Err(Error::Forbidden { .. })));
    }
}

#[test]
fn a_namespace_made_again_is_not_ended_by_what_was_due_for_the_old_one() {
    let mut lab = Lab::new();
    let first = lab.create(&namespace("team")).unwrap();
    lab.delete(&namespace("team")).unwrap();
    lab.wait(Duration::from_secs(5));
    let second = lab.create(&namespace("team")).unwrap();
    assert_ne!(first.uid, second.uid);
    lab.wait(Duration::from_secs(60));
    assert_eq!(lab.get(&namespace("team")).unwrap().deleting, None);
}
