//! Rights that are taken away go, whatever is refused, or held by finalizers.

use super::*;

/// A binding of the role `r` to these subjects.
fn binding(subjects: &[&str]) -> Manifest {
    let subjects: Vec<_> = subjects
        .iter()
        .map(|name| json!({"kind": "User", "name": name, "apiGroup": "rbac.authorization.k8s.io"}))
        .collect();
    Manifest::new(json!({
        "apiVersion": "rbac.authorization.k8s.io/v1",
        "kind": "RoleBinding",
        "metadata": {"name": "b", "namespace": "n"},
        "roleRef": {"apiGroup": "rbac.authorization.k8s.io", "kind": "Role", "name": "r"},
        "subjects": subjects,
    }))
    .unwrap()
}

/// The binding as it was seen: written with our marks, and being deleted, held by a finalizer.
fn held(manifest: &Manifest) -> Sighting {
    let written = sighting("u", Some(manifest.hash()));
    let object = Object {
        kind: manifest.kind().clone(),
        key: manifest.key().clone(),
        uid: written.uid.clone(),
        resource_version: written.resource_version.clone(),
        marks: written.marks.clone(),
        deleting: Some(vec!["example.com/hold\u{1b}[31m".into()]),
        body: manifest.body().clone().into(),
    };
    Sighting::of(&object, None)
}

fn recorded(manifest: &Manifest, stage: u16) -> (ObjectKey, Recorded) {
    (manifest.key().clone(), Recorded { stage: Stage(stage), ..record(manifest, Some("u")) })
}

fn runnable(desired: Option<&Bundle>, records: &Records, known: &Known) -> Vec<(Work, Why)> {
    let (owner, context) = (owner(), context());
    let plan = plan(&rules(&owner, &context), desired, records, known);
    plan.runnable().map(|step| (step.work.clone(), step.why)).collect()
}

#[test]
fn a_binding_that_changes_goes_before_the_requests_that_may_be_refused() {
    let (before, now) = (binding(&["one", "two"]), binding(&["one"]));
    let namespace = manifest("Namespace", "n", "1");
    let (_, request, certificate) = certificate();
    let desired = bundle(vec![(0, apply(&namespace)), (2, apply(&now)), (3, certificate)]);
    let records = Records::from([recorded(&before, 2)]);
    let mut known = Known::default();
    with(&mut known, &namespace, sighting("n", Some(namespace.hash())));
    with(&mut known, &before, sighting("u", Some(before.hash())));
    let (owner, context) = (owner(), context());
    let next = |known: &Known| -> Vec<ObjectKey> {
        let plan = plan(&rules(&owner, &context), Some(&desired), &records, known);
        plan.runnable().map(|step| step.key.clone()).collect()
    };
    assert_eq!(next(&known), [before.key().clone()]);
    with(&mut known, &now, sighting("u", Some(now.hash())));
    assert_eq!(next(&known), [request]);
}

#[test]
fn a_held_binding_that_is_wanted_otherwise_is_updated_and_then_awaited() {
    let (before, now) = (binding(&["one", "two"]), binding(&["one"]));
    let mut known = Known::default();
    with(&mut known, &before, held(&before));
    let (desired, records) = (bundle(vec![(2, apply(&now))]), Records::from([recorded(&before, 2)]));
    let chosen = decide(Some(&desired), &records, &known);
    let [(Work::Update { manifest, .. }, Why::ManifestChanged)] = &chosen[..] else { panic!("{chosen:?}") };
    assert_eq!(manifest, &now);
    with(&mut known, &now, held(&now));
    let chosen = decide(Some(&desired), &records, &known);
    let [(Work::Await(cause), Why::Going)] = &chosen[..] else { panic!("{chosen:?}") };
    assert_eq!(&*cause.message, "it is being deleted and held by example.com/hold [31m");
}

#[test]
fn a_held_binding_that_is_not_wanted_loses_its_subjects_and_is_then_awaited() {
    let (before, empty) = (binding(&["one"]), binding(&[]));
    let mut known = Known::default();
    with(&mut known, &before, held(&before));
    let records = Records::from([recorded(&before, 2)]);
    let chosen = decide(None, &records, &known);
    let [(Work::Update { manifest, terms, .. }, Why::StillBinds)] = &chosen[..] else { panic!("{chosen:?}") };
    assert_eq!(manifest, &empty);
    assert!(terms.force);
    with(&mut known, &empty, held(&empty));
    let chosen = decide(None, &records, &known);
    assert!(matches!(&chosen[..], [(Work::Await(_), Why::Going)]), "{chosen:?}");
}

#[test]
fn a_held_binding_that_was_adopted_keeps_its_subjects() {
    let before = binding(&["one"]);
    let mut known = Known::default();
    with(&mut known, &before, held(&before));
    let (key, record) = recorded(&before, 2);
    let records = Records::from([(key, Recorded { origin: Origin::Adopted, ..record })]);
    let chosen = decide(None, &records, &known);
    assert!(matches!(&chosen[..], [(Work::Await(_), Why::Going)]), "{chosen:?}");
}

#[test]
fn changes_and_removals_of_bindings_wait_for_no_other_object() {
    let (other, old, before) =
        (manifest("ConfigMap", "c", "2"), manifest("ConfigMap", "c", "1"), binding(&["one", "two"]));
    let mut known = Known::default();
    with(&mut known, &old, sighting("c", Some(old.hash())));
    with(&mut known, &before, sighting("u", Some(before.hash())));
    let records = Records::from([(old.key().clone(), record(&old, Some("c"))), recorded(&before, 2)]);
    for (now, is_change) in [(Some(binding(&["one"])), true), (None, false)] {
        let wanted = now.iter().map(|now| (2, apply(now)));
        let desired = bundle(wanted.chain([(1, apply(&other))]).collect());
        let mut chosen = runnable(Some(&desired), &records, &known).into_iter();
        assert!(matches!(chosen.next(), Some((Work::Update { .. }, _))));
        let taken_away = chosen.next();
        assert_eq!(matches!(taken_away, Some((Work::Update { .. }, _))), is_change, "{taken_away:?}");
        assert_eq!(matches!(taken_away, Some((Work::Delete { .. }, _))), !is_change, "{taken_away:?}");
        assert_eq!(chosen.next(), None);
    }
}

#[test]
fn a_refused_removal_of_a_binding_waits_for_its_turn() {
    let (other, before) = (manifest("ConfigMap", "c", "1"), binding(&["one"]));
    let mut known = Known::default();
    with(&mut known, &before, sighting("u", Some(before.hash())));
    known.failed.insert(before.key().clone());
    let (desired, records) = (bundle(vec![(1, apply(&other))]), Records::from([recorded(&before, 2)]));
    let chosen = runnable(Some(&desired), &records, &known);
    assert!(matches!(&chosen[..], [(Work::Create { .. }, _)]), "{chosen:?}");
    let chosen = runnable(None, &records, &known);
    assert!(matches!(&chosen[..], [(Work::Delete { .. }, _)]), "{chosen:?}");
}

#[test]
fn the_change_is_signed_before_a_binding_is_deleted_though_more_is_written() {
    let (namespace, other, before) =
        (manifest("Namespace", "n", "1"), manifest("ConfigMap", "c", "1"), binding(&["one"]));
    let desired = bundle(vec![(0, apply(&namespace)), (1, apply(&other))]);
    let records =
        Records::from([recorded(&before, 2), (namespace.key().clone(), record(&namespace, Some("n")))]);
    let mut known = Known::default();
    with(&mut known, &before, sighting("u", Some(before.hash())));
    with(&mut known, &namespace, sighting("n", Some(namespace.hash())));
    let next = |known: &Known| {
        let (owner, context) = (owner(), context());
        let generation = Some(Generation(7));
        let rules = Rules { generation, ..rules(&owner, &context) };
        let plan = plan(&rules, Some(&desired), &records, known);
        plan.runnable().map(|step| (step.key.name.to_string(), step.why)).collect::<Vec<_>>()
    };
    assert_eq!(next(&known), [("n".into(), Why::TakesAway)]);
    let mut signed = sighting("n", Some(namespace.hash()));
    signed.marks.as_mut().unwrap().generation = Generation(7);
    with(&mut known, &namespace, signed);
    assert_eq!(next(&known), [("c".into(), Why::Missing), ("b".into(), Why::NotDesired)]);
}

#[test]
fn a_removal_of_a_binding_waits_for_the_binding_in_its_place_unless_that_is_refused() {
    let before = binding(&["one"]);
    let mut body = before.body().clone();
    body["metadata"]["name"] = "in-its-place".into();
    let now = Manifest::new(body).unwrap();
    let other = manifest("ConfigMap", "c", "1");
    let mut known = Known::default();
    with(&mut known, &before, sighting("u", Some(before.hash())));
    let desired = bundle(vec![(1, apply(&other)), (2, apply(&now))]);
    let records = Records::from([recorded(&before, 2)]);
    let chosen = runnable(Some(&desired), &records, &known);
    assert!(matches!(&chosen[..], [(Work::Create { .. }, _)]), "{chosen:?}");
    known.failed.insert(now.key().clone());
    let chosen = runnable(Some(&desired), &records, &known);
    assert!(matches!(&chosen[..], [(Work::Create { .. }, _), (Work::Delete { .. }, _)]), "{chosen:?}");
}

#[test]
fn a_held_object_of_a_later_stage_holds_up_no_removal_of_a_binding_nor_of_an_account() {
    let (held_back, before) = (manifest("ConfigMap", "c", "1"), binding(&["one"]));
    let (account, quota) = (manifest("ServiceAccount", "a", "1"), manifest("ResourceQuota", "q", "1"));
    let mut known = Known::default();
    for there in [&before, &account, &quota] {
        with(&mut known, there, sighting("u", Some(there.hash())));
    }
    let going = Remarks { deleting: Some(Vec::new()), ..Remarks::default() };
    with(&mut known, &held_back, Sighting { remarks: Some(Box::new(going)), ..sighting("u", None) });
    let there = [(&before, 2), (&held_back, 3), (&account, 1), (&quota, 1)];
    let records = Records::from(there.map(|(manifest, stage)| recorded(manifest, stage)));
    let (owner, context) = (owner(), context());
    let plan = plan(&rules(&owner, &context), None, &records, &known);
    let chosen: Vec<&str> = plan.runnable().map(|step| &*step.key.name).collect();
    assert_eq!(chosen, ["c", "b", "a"]);
}

#[test]
fn what_is_refused_again_and_again_holds_up_no_look_at_a_binding() {
    let (refused, before) = (manifest("ConfigMap", "c", "1"), binding(&["one"]));
    let mut known = Known::default();
    known.failed.insert(refused.key().clone());
    let desired = bundle(vec![(1, apply(&refused)), (2, apply(&binding(&["two"])))]);
    let chosen = runnable(Some(&desired), &Records::from([recorded(&before, 2)]), &known);
    assert!(matches!(&chosen[..], [(Work::Create { .. }, _), (Work::Look, _)]), "{chosen:?}");
}

#[test]
fn a_binding_in_the_place_of_ours_is_ours_whatever_its_uid_and_its_marks() {
    let (before, now) = (binding(&["one", "two"]), binding(&["one"]));
    let records = Records::from([recorded(&before, 2)]);
    let unmarked = Sighting { marks: None, ..sighting("another", None) };
    for seen in [unmarked, sighting("another", Some(before.hash()))] {
        let mut known = Known::default();
        with(&mut known, &before, seen);
        let chosen = decide(Some(&bundle(vec![(2, apply(&now))])), &records, &known);
        let [(Work::Update { manifest, observed, terms, .. }, _)] = &chosen[..] else { panic!("{chosen:?}") };
        assert_eq!((manifest, &*observed.uid, terms.force), (&now, "another", true));
        let chosen = decide(None, &records, &known);
        assert!(matches!(&chosen[..], [(Work::Delete { observed }, _)] if &*observed.uid == "another"));
    }
    let mut known = Known::default();
    with(&mut known, &before, sighting("another", Some(before.hash())));
    let (key, record) = recorded(&before, 2);
    let adopted = Records::from([(key, Recorded { origin: Origin::Adopted, ..record })]);
    assert_eq!(decide(None, &adopted, &known), [], "what was adopted is another's");
}

#[test]
fn what_was_deleted_and_is_held_stays_ours_without_its_marks() {
    let before = binding(&["one"]);
    let mut known = Known::default();
    with(&mut known, &before, Sighting { marks: None, ..held(&before) });
    let (key, record) = recorded(&before, 2);
    let records = Records::from([(key, Recorded { may_be_gone: true, ..record })]);
    let chosen = decide(None, &records, &known);
    assert!(matches!(&chosen[..], [(Work::Update { .. }, Why::StillBinds)]), "{chosen:?}");
}
