//! What is chosen where somebody else was there before, or came after.

use super::*;

fn quota(hard: &serde_json::Value) -> Manifest {
    let metadata = json!({"name": "q", "namespace": "n"});
    let body =
        json!({"apiVersion": "v1", "kind": "ResourceQuota", "metadata": metadata, "spec": {"hard": hard}});
    Manifest::new(body).unwrap()
}

/// The quota as a cluster tells it, with these fields in another manager's hands.
fn told(manifest: &Manifest, marks: Option<Marks>, held: &[(&str, &str)]) -> Sighting {
    let hard = |body: &mut serde_json::Value, key: &str| {
        body["spec"]["hard"][key] = "99".into();
        json!({"f:spec": {"f:hard": {format!("f:{key}"): {}}}})
    };
    told_of(manifest, marks, held, hard)
}

/// An object as a cluster tells it, with these members in another manager's hands; each is given its value, and is told
/// as FieldsV1.
fn told_of(
    manifest: &Manifest,
    marks: Option<Marks>,
    held: &[(&str, &str)],
    take: impl Fn(&mut serde_json::Value, &str) -> serde_json::Value,
) -> Sighting {
    let labels = Arc::new(BTreeMap::new());
    let desired = Desired { manifest: manifest.clone(), labels: labels.clone() };
    let mut body = match &marks {
        Some(marks) => {
            let (manifest, marks) = (manifest.clone(), marks.clone());
            crate::port::cluster::Stamped { manifest, marks, labels, proof: None }.body()
        }
        None => manifest.body().clone(),
    };
    let mut entries = vec![json!({"manager": "dcm", "operation": "Apply", "fieldsV1": owned(&body, held)})];
    for (key, manager) in held {
        let fields = take(&mut body, key);
        entries.push(json!({"manager": manager, "operation": "Update", "fieldsV1": fields}));
    }
    body["metadata"]["managedFields"] = entries.into();
    let object = Object {
        kind: manifest.kind().clone(),
        key: manifest.key().clone(),
        uid: "u".into(),
        resource_version: "1".into(),
        marks,
        deleting: None,
        body: Arc::new(body),
    };
    Sighting::of(&object, Some(&desired))
}

/// All fields of a body as FieldsV1, but for those of others.
fn owned(body: &serde_json::Value, held: &[(&str, &str)]) -> serde_json::Value {
    let members = body.as_object().into_iter().flatten();
    let ours = members.filter(|(name, _)| !held.iter().any(|(key, _)| key == name));
    ours.map(|(name, member)| (format!("f:{name}"), owned(member, held))).collect()
}

fn marks(manifest: &Manifest, origin: Origin) -> Marks {
    let manifest = Some(manifest.hash());
    Marks { owner: owner(), context: context(), generation: Generation(1), manifest, origin }
}

fn with_drift(manifest: &Manifest, existing: Existing, drift: Drift) -> Bundle {
    bundle(vec![(0, Action::Apply { manifest: manifest.clone(), existing, drift })])
}

fn except(path: &str) -> Drift {
    Drift::Correct { except: BTreeSet::from([path.parse().unwrap()]) }
}

/// The plan for one quota that is ours, and of which others hold fields.
fn plan_of(wanted: &Bundle, seen: Sighting, given_up: bool) -> Plan {
    let (owner, context) = (owner(), context());
    let rules = rules(&owner, &context);
    let Action::Apply { manifest, .. } = &wanted.steps()[0].action else { panic!("an object") };
    let origin = seen.marks.as_ref().map_or(Origin::Created, |marks| marks.origin);
    let record = Recorded { origin, ..record(manifest, Some("u")) };
    let mut known = Known { given_up, ..Known::default() };
    with(&mut known, manifest, seen);
    plan(&rules, Some(wanted), &Records::from([(manifest.key().clone(), record)]), &known)
}

fn named(fields: &[HeldField]) -> Vec<String> {
    fields.iter().map(HeldField::to_string).collect()
}

#[test]
fn a_field_that_somebody_took_is_taken_back_by_force_and_named() {
    let desired = quota(&json!({"pods": "10", "secrets": "5"}));
    let seen = told(&desired, Some(marks(&desired, Origin::Created)), &[("pods", "kubectl-edit")]);
    let plan = plan_of(&with_drift(&desired, Existing::Refuse, Drift::default()), seen, false);
    let [Step { work: Work::Update { terms, .. }, why: Why::Drifted, .. }] = plan.steps() else {
        panic!("{plan:?}")
    };
    assert_eq!(named(&terms.taken), ["spec.hard.pods is held by kubectl-edit"]);
    assert!(terms.force && terms.left.is_empty() && plan.drift().is_empty(), "{plan:?}");
}

#[test]
fn the_name_of_a_field_manager_has_no_control_characters_where_it_is_named() {
    let desired = quota(&json!({"pods": "10"}));
    let held = [("pods", "hpa\u{1b}]0;\u{202e}x\u{7}")];
    let plan = plan_of(
        &with_drift(&desired, Existing::Refuse, Drift::Report),
        told(&desired, Some(marks(&desired, Origin::Created)), &held),
        false,
    );
    assert_eq!(&*plan.drift()[0].message, "spec.hard.pods is held by hpa ]0; x ");
}

#[test]
fn what_is_to_be_reported_is_left_and_named_and_the_rest_is_taken_back() {
    let desired = quota(&json!({"pods": "10", "secrets": "5"}));
    let held = [("pods", "hpa"), ("secrets", "person")];
    let seen = || told(&desired, Some(marks(&desired, Origin::Created)), &held);
    let plan = plan_of(&with_drift(&desired, Existing::Refuse, Drift::Report), seen(), false);
    assert!(plan.is_fulfilled(), "{plan:?}");
    let told = "spec.hard.pods is held by hpa, spec.hard.secrets is held by person";
    assert_eq!((plan.drift()[0].reason, &*plan.drift()[0].message), (Reason::Drifted, told));
    let plan = plan_of(&with_drift(&desired, Existing::Refuse, except("spec.hard.pods")), seen(), false);
    let [Step { work: Work::Update { terms, .. }, .. }] = plan.steps() else { panic!("{plan:?}") };
    assert_eq!(named(&terms.taken), ["spec.hard.secrets is held by person"]);
    assert_eq!(named(&terms.left), ["spec.hard.pods is held by hpa"]);
    assert_eq!(&*plan.drift()[0].message, "spec.hard.pods is held by hpa");
}

#[test]
fn an_update_for_another_reason_leaves_what_is_only_reported() {
    let (old, new) =
        (quota(&json!({"pods": "10", "secrets": "5"})), quota(&json!({"pods": "10", "secrets": "6"})));
    let seen = told(&old, Some(marks(&old, Origin::Created)), &[("pods", "hpa")]);
    let plan = plan_of(&with_drift(&new, Existing::Refuse, Drift::Report), seen, false);
    let [Step { work: Work::Update { terms, .. }, why: Why::ManifestChanged, .. }] = plan.steps() else {
        panic!("{plan:?}")
    };
    assert_eq!(named(&terms.left), ["spec.hard.pods is held by hpa"]);
}

#[test]
fn of_an_adopted_object_others_keep_what_they_take_unless_it_was_to_be_overwritten() {
    let desired = quota(&json!({"pods": "10"}));
    let seen = || told(&desired, Some(marks(&desired, Origin::Adopted)), &[("pods", "person")]);
    for (existing, corrected) in
        [(Existing::Adopt, false), (Existing::AdoptIfEqual, false), (Existing::Overwrite, true)]
    {
        let plan = plan_of(&with_drift(&desired, existing, Drift::default()), seen(), false);
        assert_eq!(
            (plan.steps().len() == 1, plan.drift().is_empty()),
            (corrected, corrected),
            "{existing:?}"
        );
    }
}

#[test]
fn what_was_given_up_is_only_reported_with_the_time_of_the_next_try() {
    let desired = quota(&json!({"pods": "10"}));
    let seen = told(&desired, Some(marks(&desired, Origin::Created)), &[("pods", "rancher")]);
    let wanted = with_drift(&desired, Existing::Refuse, Drift::default());
    let plan = plan_of(&wanted, seen, true);
    assert!(plan.is_fulfilled(), "{plan:?}");
    let cause = &plan.drift()[0];
    assert!(cause.message.contains("rancher") && cause.next_try.is_some(), "{cause:?}");
}

#[test]
fn a_deleted_object_is_made_anew_unless_that_is_only_to_be_reported_or_given_up() {
    let desired = quota(&json!({"pods": "10"}));
    let records = Records::from([(desired.key().clone(), record(&desired, Some("u")))]);
    let (owner, context) = (owner(), context());
    for (drift, given_up, asked_again, made) in [
        (Drift::default(), false, false, true),
        (except("spec.hard.pods"), false, false, true),
        (Drift::default(), true, false, false),
        (Drift::Report, false, false, false),
        (Drift::Report, false, true, true),
    ] {
        let known = Known { given_up, absent: BTreeSet::from([desired.key().clone()]), ..Known::default() };
        let rules = Rules { asked_again, ..rules(&owner, &context) };
        let wanted = with_drift(&desired, Existing::Refuse, drift.clone());
        let plan = plan(&rules, Some(&wanted), &records, &known);
        let is_made = matches!(plan.steps(), [Step { work: Work::Unrecord, .. }]);
        assert_eq!((is_made, plan.drift().is_empty()), (made, made), "{drift:?} {given_up} {asked_again}");
    }
}

#[test]
fn a_job_that_kubernetes_removed_after_it_was_finished_is_not_made_again_until_its_manifest_changes() {
    let job = |ttl: Option<u32>, image: &str| {
        let containers = json!([{"name": "main", "image": image}]);
        let mut body = json!({"apiVersion": "batch/v1", "kind": "Job", "metadata": {"name": "once", "namespace": "n"},
            "spec": {"template": {"spec": {"restartPolicy": "Never", "containers": containers}}}});
        if let Some(ttl) = ttl {
            body["spec"]["ttlSecondsAfterFinished"] = ttl.into();
        }
        Manifest::new(body).unwrap()
    };
    let (owner, context) = (owner(), context());
    let (written, lasting) = (job(Some(60), "a:1"), job(None, "a:1"));
    for (before, now, asked_again, made) in [
        (&written, &written, false, false),
        (&written, &written, true, false),
        (&job(Some(0), "a:1"), &job(Some(0), "a:1"), false, false),
        (&written, &job(Some(60), "a:2"), false, true),
        (&written, &lasting, false, true),
        (&lasting, &lasting, false, true),
    ] {
        let records = Records::from([(now.key().clone(), record(before, Some("u")))]);
        let known = Known { absent: BTreeSet::from([now.key().clone()]), ..Known::default() };
        let rules = Rules { asked_again, ..rules(&owner, &context) };
        let wanted = with_drift(now, Existing::Refuse, Drift::default());
        let plan = plan(&rules, Some(&wanted), &records, &known);
        assert_eq!(plan.steps().len(), usize::from(made), "{plan:?}");
        assert!(plan.drift().is_empty());
    }
}

#[test]
fn what_is_equal_is_adopted_and_the_first_difference_is_named_without_its_value() {
    let desired = quota(&json!({"pods": "10", "requests.cpu": "1"}));
    let equal = Sighting { marks: None, ..told(&desired, None, &[]) };
    let mut known = Known::default();
    let decide_for = |known: &Known, existing| {
        decide(Some(&with_drift(&desired, existing, Drift::default())), &Records::new(), known)
    };
    with(&mut known, &desired, equal);
    assert!(matches!(&decide_for(&known, Existing::AdoptIfEqual)[0],
        (Work::Update { origin: Origin::Adopted, terms, .. }, Why::Adopted) if !terms.force));
    with(&mut known, &desired, told(&desired, None, &[("pods", "person")]));
    assert!(matches!(&decide_for(&known, Existing::AdoptIfEqual)[0], (Work::Blocked(cause), Why::NotOurs)
        if cause.reason == Reason::Foreign
            && &*cause.message == "it was there before, and is not as desired: spec.hard.pods differs"));
    assert!(matches!(&decide_for(&known, Existing::Overwrite)[0],
        (Work::Update { origin: Origin::Adopted, terms, .. }, Why::Overwritten)
            if terms.force && named(&terms.taken) == ["spec.hard.pods is held by person"]));
}

/// A binding of somebody, as a cluster tells it once another manager has said who is bound.
fn binding(kind: &str, name: &str) -> Manifest {
    let subjects = json!([{"kind": "User", "name": name}]);
    let metadata = json!({"name": "b", "labels": {"team": name}});
    let body = json!({"apiVersion": "rbac.authorization.k8s.io/v1", "kind": kind, "metadata": metadata, "subjects": subjects});
    Manifest::new(body).unwrap()
}

#[test]
fn whom_a_binding_names_is_left_to_nobody_when_it_changes_and_the_rest_is() {
    for kind in ["RoleBinding", "ClusterRoleBinding"] {
        let (old, new) = (binding(kind, "before"), binding(kind, "after"));
        let seen = || {
            let taken = |_: &mut serde_json::Value, member: &str| match member {
                "team" => json!({"f:metadata": {"f:labels": {"f:team": {}}}}),
                other => json!({format!("f:{other}"): {}}),
            };
            let held = [("subjects", "rancher"), ("team", "rancher")];
            told_of(&old, Some(marks(&old, Origin::Created)), &held, taken)
        };
        for drift in [
            Drift::Report,
            Drift::Correct { except: ["subjects", "metadata"].map(|path| path.parse().unwrap()).into() },
        ] {
            let plan = plan_of(&with_drift(&new, Existing::Refuse, drift.clone()), seen(), false);
            let [Step { work: Work::Update { terms, .. }, why: Why::ManifestChanged, .. }] = plan.steps()
            else {
                panic!("{plan:?}")
            };
            assert_eq!(named(&terms.left), ["metadata.labels.team is held by rancher"], "{drift:?}");
            assert!(terms.force);
            let plan = plan_of(&with_drift(&old, Existing::Refuse, drift.clone()), seen(), false);
            assert!(
                plan.is_fulfilled() && plan.drift()[0].message.contains("subjects is held by rancher"),
                "{plan:?}"
            );
        }
    }
}
