use dcm_core::port::cluster::{Access, Error, Origin, Selection, WatchEvent};

use super::super::{Rights, Verb};
use super::*;

#[test]
fn a_seed_repeats_the_uids_and_another_has_others() {
    let uids = |seed| {
        let mut lab = Lab::with(seed, Settings::default());
        lab.create(&config_map("c", &json!({}))).unwrap();
        lab.server.objects().map(|object| object.uid.clone()).collect::<Vec<_>>()
    };
    assert_eq!(uids(1), uids(1));
    assert!(uids(1).iter().all(|uid| !uids(2).contains(uid)));
}

#[test]
fn the_server_writes_its_own_metadata() {
    let mut lab = Lab::new();
    lab.wait(Duration::from_millis(1500));
    let object = lab.create(&config_map("c", &json!({"a": "1"}))).unwrap();
    let metadata = &object.body["metadata"];
    assert_eq!(metadata["uid"], &*object.uid);
    assert_eq!(metadata["resourceVersion"], lab.server.revision().to_string());
    assert_eq!(metadata["creationTimestamp"], "2026-01-01T00:00:01Z");
    assert_eq!(metadata.get("generation"), None);
}

#[test]
fn an_update_that_changes_nothing_is_no_new_state() {
    let mut lab = Lab::new();
    let body = config_map("c", &json!({"a": "1"}));
    let made = lab.create(&body).unwrap();
    let again = lab.update(&body).unwrap();
    assert_eq!(made.resource_version, again.resource_version);
}

#[test]
fn only_a_changed_spec_is_a_new_generation() {
    let deployment = |image: &str, label: &str| {
        let container = json!({"name": "c", "image": image});
        json!({
            "apiVersion": "apps/v1",
            "kind": "Deployment",
            "metadata": {"name": "web", "namespace": "default", "labels": {"l": label}},
            "spec": {
                "selector": {"matchLabels": {"app": "web"}},
                "template": {"metadata": {"labels": {"app": "web"}}, "spec": {"containers": [container]}},
            },
        })
    };
    let mut lab = Lab::new();
    let generation = |object: Object| object.body["metadata"]["generation"].as_u64();
    assert_eq!(generation(lab.create(&deployment("web:1", "a")).unwrap()), Some(1));
    assert_eq!(generation(lab.update(&deployment("web:1", "b")).unwrap()), Some(1));
    assert_eq!(generation(lab.update(&deployment("web:2", "b")).unwrap()), Some(2));
}

#[test]
fn the_managers_of_an_object_are_those_who_own_something() {
    let mut lab = Lab::new();
    let body = config_map("c", &json!({"a": "1"}));
    let made = lab.create(&body).unwrap();
    let managers =
        |lab: &Lab| lab.server.managers(&key(&body)).iter().map(ToString::to_string).collect::<Vec<_>>();
    assert_eq!(managers(&lab), ["dcm"]);
    lab.server.edit_as("kubectl", &made.kind, &made.key, &json!({"data": {"b": "2"}})).unwrap();
    assert_eq!(managers(&lab), ["dcm", "kubectl"]);
    let observed = precondition(&lab.get(&body).unwrap());
    lab.ask(Operation::Release { kind: made.kind, key: made.key, observed, origin: Origin::Created })
        .unwrap();
    assert_eq!(managers(&lab), ["kubectl"]);
}

#[test]
fn a_new_namespace_gets_its_service_account_and_root_certificate() {
    let mut lab = Lab::new();
    lab.create(&namespace("team")).unwrap();
    let names = lab.server.objects().filter(|object| object.key.namespace.as_deref() == Some("team"));
    let names: Vec<_> = names.map(|object| object.key.to_string()).collect();
    assert_eq!(names, ["ConfigMap team/kube-root-ca.crt", "ServiceAccount team/default"]);
}

#[test]
fn a_watch_that_is_too_far_behind_is_told_so() {
    let mut lab = Lab::with(1, Settings { changes_max: 3, ..Settings::default() });
    let selection = Selection { kind: kind(&config_map("c", &json!({}))), owner: call().owner };
    let start = lab.server.revision();
    lab.create(&config_map("c1", &json!({}))).unwrap();
    let (revision, event) = lab.server.next_change(start, &selection).unwrap();
    assert!(matches!(event, Some((_, WatchEvent::Applied(object))) if &*object.key.name == "c1"));
    for name in ["c2", "c3", "c4", "c5"] {
        lab.create(&config_map(name, &json!({}))).unwrap();
    }
    assert!(matches!(lab.server.next_change(start, &selection), Err(Error::Gone)));
    assert!(lab.server.next_change(revision, &selection).is_err());
    assert!(lab.server.next_change(revision + 1, &selection).is_ok());
}

#[test]
fn what_the_engine_may_not_do_is_refused_and_the_review_says_so() {
    let mut lab = Lab::new();
    let refused = Access {
        verb: "create".into(),
        group: "".into(),
        resource: "namespaces".into(),
        subresource: "".into(),
        name: "".into(),
        namespace: None,
    };
    let allowed = Access { verb: "get".into(), ..refused.clone() };
    lab.server.set_rights(Rights::AllBut(vec![refused.clone()]));
    assert!(matches!(lab.create(&namespace("n")), Err(Error::Forbidden { .. })));
    assert!(lab.create(&config_map("c", &json!({}))).is_ok());
    let reply = lab.ask(Operation::Review { accesses: vec![refused, allowed] }).unwrap();
    assert!(matches!(reply, Reply::Reviewed(answers) if answers == [false, true]));
}

#[test]
fn the_log_counts_reads_and_writes_and_keeps_the_last_lines() {
    let mut lab = Lab::with(1, Settings { log_lines_max: 2, ..Settings::default() });
    let body = config_map("c", &json!({}));
    lab.create(&body).unwrap();
    lab.create(&body).unwrap_err();
    lab.ask(Operation::Get { kind: kind(&body), key: key(&body) }).unwrap();
    let log = lab.server.requests();
    assert_eq!((log.reads(), log.writes(), log.count(Verb::Create)), (1, 2, 2));
    let lines: Vec<_> = log.lines().map(|line| (line.verb, line.error.is_some())).collect();
    assert_eq!(lines, [(Verb::Create, true), (Verb::Get, false)]);
    assert!(log.lines().all(|line| *line.agent == *call().user_agent()));
    lab.server.requests_mut().clear();
    assert_eq!(lab.server.requests().writes(), 0);
}

#[test]
fn what_has_the_wrong_shape_is_invalid_and_never_a_panic() {
    let mut lab = Lab::new();
    let metadata = json!({"name": "x", "namespace": "default"});
    for (kind, member) in [("ResourceQuota", "spec"), ("LimitRange", "spec"), ("ConfigMap", "data")] {
        let body = json!({"apiVersion": "v1", "kind": kind, "metadata": metadata, member: "text"});
        assert!(matches!(lab.create(&body), Err(Error::Invalid { .. })), "{kind}");
    }
    let odd = json!({
        "apiVersion": "apps/v1", "kind": "Deployment", "metadata": metadata,
        "spec": {"strategy": 1, "selector": {"matchLabels": {}}, "template": {"spec": {"containers": ["x"]}}},
    });
    let _ = lab.create(&odd);
}
