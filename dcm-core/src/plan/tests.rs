//! The planner's choices, one test each.

mod drift;
mod edits;
mod requests;
mod rights;

use std::collections::BTreeSet;

use serde_json::json;

use super::*;
use crate::app_context::{self, CertificateRequest, Edited, Generation, TokenRequest};
use crate::hash::ContentHash;
use crate::name::AppName;
use crate::port::cluster::{Contents, Marks, Object};
use crate::status::Reason;

#[derive(Default)]
struct Known {
    present: BTreeMap<ObjectKey, (GroupVersionKind, Sighting)>,
    absent: BTreeSet<ObjectKey>,
    contents: Option<Contents>,
    issued: bool,
    given_up: bool,
    failed: BTreeSet<ObjectKey>,
    edited: Vec<Edited>,
    texts: BTreeMap<ObjectKey, Option<EditedObject>>,
}

impl View for Known {
    fn see(&self, key: &ObjectKey) -> Seen<'_> {
        match self.present.get(key) {
            Some((_, sighting)) => Seen::Present(sighting),
            None if self.absent.contains(key) => Seen::Absent,
            None => Seen::Unlisted,
        }
    }

    fn marked(&self) -> Vec<(&GroupVersionKind, &ObjectKey, &Sighting)> {
        let marked = self.present.iter().filter(|(_, (_, sighting))| sighting.marks.is_some());
        marked.map(|(key, (kind, sighting))| (kind, key, sighting)).collect()
    }

    fn contents(&self, _namespace: &str) -> Option<&Contents> {
        self.contents.as_ref()
    }

    fn answered(&self, _request: &str) -> Option<Answered<'_>> {
        self.issued.then_some(Answered::Unbound)
    }

    fn given_up_until(&self, _object: &ObjectKey) -> Option<jiff::Timestamp> {
        self.given_up.then_some(jiff::Timestamp::UNIX_EPOCH)
    }

    fn edited(&self) -> &[Edited] {
        &self.edited
    }

    fn read(&self, object: &ObjectKey) -> Reading<'_> {
        Reading::of(self.texts.get(object))
    }

    fn has_failed(&self, step: &Step) -> bool {
        self.failed.contains(&step.key)
    }
}

fn owner() -> OwnerId {
    OwnerId::new("dcm").unwrap()
}

fn context() -> ContextId {
    ContextId::new("lc").unwrap()
}

fn manifest(kind: &str, name: &str, note: &str) -> Manifest {
    let namespace = if kind == "Namespace" { json!(null) } else { json!("n") };
    let metadata = json!({"name": name, "namespace": namespace, "annotations": {"note": note}});
    Manifest::new(json!({"apiVersion": "v1", "kind": kind, "metadata": metadata})).unwrap()
}

fn bundle(steps: Vec<(u16, Action)>) -> Bundle {
    let app = AppName::new("app").unwrap();
    let steps = steps.into_iter();
    let steps =
        steps.map(|(stage, action)| app_context::Step { app: app.clone(), stage: Stage(stage), action });
    Bundle::new(steps.collect()).unwrap()
}

fn apply(manifest: &Manifest) -> Action {
    Action::Apply { manifest: manifest.clone(), existing: Existing::Refuse, drift: Drift::default() }
}

fn apply_or(manifest: &Manifest, existing: Existing) -> Action {
    Action::Apply { manifest: manifest.clone(), existing, drift: Drift::default() }
}

fn remarks(state: CertificateState) -> Option<Box<Remarks>> {
    Some(Box::new(Remarks { certificate: Some(state), ..Remarks::default() }))
}

fn sighting(uid: &str, manifest: Option<ContentHash>) -> Sighting {
    Sighting {
        uid: uid.into(),
        resource_version: "1".into(),
        marks: Some(Marks {
            owner: owner(),
            context: context(),
            generation: Generation(1),
            manifest,
            origin: Origin::Created,
        }),
        remarks: None,
    }
}

fn record(manifest: &Manifest, uid: Option<&str>) -> Recorded {
    Recorded {
        kind: manifest.kind().clone(),
        uid: uid.map(Into::into),
        may_be_gone: false,
        manifest: Some(manifest.hash()),
        origin: Origin::Created,
        stage: Stage(1),
        stored: None,
    }
}

fn with(known: &mut Known, manifest: &Manifest, sighting: Sighting) {
    known.present.insert(manifest.key().clone(), (manifest.kind().clone(), sighting));
}

fn rules<'a>(owner: &'a OwnerId, context: &'a ContextId) -> Rules<'a> {
    let removal = Removal::default();
    Rules {
        owner,
        context,
        generation: None,
        ahead: None,
        withdraws: false,
        removal,
        asked_again: false,
        is_watched: false,
        in_doubt: false,
    }
}

fn decide(desired: Option<&Bundle>, records: &Records, known: &Known) -> Vec<(Work, Why)> {
    let (owner, context) = (owner(), context());
    let rules = rules(&owner, &context);
    let plan = plan(&rules, desired, records, known);
    plan.steps().iter().map(|step| (step.work.clone(), step.why)).collect()
}

#[test]
fn a_missing_object_is_made_and_an_equal_one_left_alone() {
    let desired = manifest("ConfigMap", "c", "1");
    let wanted = bundle(vec![(0, apply(&desired))]);
    let mut known = Known::default();
    let create = Work::Create { manifest: desired.clone() };
    assert_eq!(decide(Some(&wanted), &Records::new(), &known), [(create, Why::Missing)]);
    with(&mut known, &desired, sighting("u", Some(desired.hash())));
    assert_eq!(decide(Some(&wanted), &Records::new(), &known), []);
}

#[test]
fn a_changed_manifest_is_one_update_of_the_state_that_was_seen() {
    let (old, new) = (manifest("ConfigMap", "c", "1"), manifest("ConfigMap", "c", "2"));
    let mut known = Known::default();
    with(&mut known, &old, sighting("u", Some(old.hash())));
    let records = Records::from([(old.key().clone(), record(&old, Some("u")))]);
    let decided = decide(Some(&bundle(vec![(0, apply(&new))])), &records, &known);
    let observed = Precondition { uid: "u".into(), resource_version: "1".into() };
    let update = {
        let terms = Terms { force: true, ..Terms::default() };
        Work::Update { manifest: new, observed, origin: Origin::Created, terms }
    };
    assert_eq!(decided, [(update, Why::ManifestChanged)]);
}

#[test]
fn what_was_there_before_is_refused_or_adopted_but_never_taken_from_another_context() {
    let desired = manifest("ConfigMap", "c", "1");
    let mut known = Known::default();
    with(&mut known, &desired, Sighting { marks: None, ..sighting("u", None) });
    let refuse = bundle(vec![(0, apply(&desired))]);
    let adopt = bundle(vec![(0, apply_or(&desired, Existing::Adopt))]);
    assert!(matches!(&decide(Some(&refuse), &Records::new(), &known)[0],
        (Work::Blocked(cause), Why::NotOurs) if cause.reason == Reason::Foreign));
    assert!(matches!(
        &decide(Some(&adopt), &Records::new(), &known)[0],
        (Work::Update { origin: Origin::Adopted, .. }, Why::Adopted)
    ));
    let mut other = sighting("u", None);
    other.marks.as_mut().unwrap().context = ContextId::new("other").unwrap();
    with(&mut known, &desired, other);
    let decided = decide(Some(&adopt), &Records::new(), &known);
    assert!(matches!(&decided[0], (Work::Blocked(cause), _) if cause.message.contains("other")));
}

#[test]
fn our_marks_on_another_object_than_the_recorded_one_are_foreign_and_never_deleted() {
    let desired = manifest("ConfigMap", "c", "1");
    let mut known = Known::default();
    with(&mut known, &desired, sighting("restored", Some(desired.hash())));
    let records = Records::from([(desired.key().clone(), record(&desired, Some("recorded")))]);
    let kept = decide(Some(&bundle(vec![(0, apply(&desired))])), &records, &known);
    assert!(matches!(&kept[0], (Work::Blocked(cause), Why::NotOurs) if cause.reason == Reason::Foreign));
    assert_eq!(decide(None, &records, &known), [], "it stays recorded that it is not ours");
}

#[test]
fn a_recorded_object_that_is_not_listed_is_looked_at_before_anything_else() {
    let desired = manifest("ConfigMap", "c", "1");
    let records = Records::from([(desired.key().clone(), record(&desired, Some("u")))]);
    let wanted = bundle(vec![(0, apply(&desired))]);
    let mut known = Known::default();
    assert_eq!(decide(Some(&wanted), &records, &known), [(Work::Look, Why::NotListed)]);
    assert_eq!(decide(None, &records, &known), [(Work::Look, Why::NotListed)]);
    known.absent.insert(desired.key().clone());
    assert_eq!(decide(Some(&wanted), &records, &known), [(Work::Unrecord, Why::Missing)]);
    assert_eq!(decide(None, &records, &known), [(Work::Forget, Why::AlreadyGone)]);
}

#[test]
fn an_object_that_is_not_recorded_is_looked_at_before_it_counts_as_there() {
    let desired = manifest("ConfigMap", "c", "1");
    let wanted = bundle(vec![(0, apply(&desired))]);
    let (owner, context) = (owner(), context());
    let mut known = Known::default();
    with(&mut known, &desired, sighting("u", Some(desired.hash())));
    let works = |is_watched: bool, records: &Records| {
        let rules = Rules { is_watched, ..rules(&owner, &context) };
        let plan = plan(&rules, Some(&wanted), records, &known);
        plan.steps().iter().map(|step| (step.work.clone(), step.why)).collect::<Vec<_>>()
    };
    let records = Records::from([(desired.key().clone(), record(&desired, Some("u")))]);
    assert_eq!(works(true, &Records::new()), [(Work::Look, Why::NotRecorded)]);
    assert_eq!(works(false, &Records::new()), [], "it was read just now");
    assert_eq!(works(true, &records), []);
}

#[test]
fn a_namespace_that_somebody_deleted_is_not_made_again_unasked() {
    let desired = manifest("Namespace", "n", "1");
    let records = Records::from([(desired.key().clone(), record(&desired, Some("u")))]);
    let known = Known { absent: BTreeSet::from([desired.key().clone()]), ..Known::default() };
    let decided = decide(Some(&bundle(vec![(0, apply(&desired))])), &records, &known);
    assert!(matches!(&decided[0], (Work::Blocked(cause), _) if cause.reason == Reason::NamespaceGone));
}

#[test]
fn a_namespace_with_contents_is_counted_and_then_released() {
    let namespace = manifest("Namespace", "n", "1");
    let records = Records::from([(namespace.key().clone(), record(&namespace, Some("u")))]);
    let mut known = Known::default();
    with(&mut known, &namespace, sighting("u", Some(namespace.hash())));
    assert_eq!(decide(None, &records, &known), [(Work::Count { removes_bindings: false }, Why::NotDesired)]);
    let contents = Contents { count: 2, bindings: vec!["theirs".into()], ..Contents::default() };
    known.contents = Some(contents.clone());
    assert!(matches!(
        decide(None, &records, &known)[0],
        (Work::Release { contents: Some(ref held), .. }, Why::HoldsContents) if *held == contents
    ));
    known.contents = Some(Contents::default());
    assert!(matches!(decide(None, &records, &known)[0], (Work::Delete { .. }, Why::NotDesired)));
}

#[test]
fn contents_of_a_namespace_that_is_not_recorded_are_kept_although_they_are_to_be_deleted() {
    let namespace = manifest("Namespace", "n", "1");
    let mut known = Known::default();
    with(&mut known, &namespace, sighting("another", Some(namespace.hash())));
    let (owner, context) = (owner(), context());
    let removal = Removal { delete_contents: true, ..Removal::default() };
    let rules = Rules { removal, ..rules(&owner, &context) };
    let replaced = Recorded { may_be_gone: true, ..record(&namespace, Some("u")) };
    for records in [Records::new(), Records::from([(namespace.key().clone(), replaced)])] {
        known.contents = None;
        assert!(matches!(
            plan(&rules, None, &records, &known).steps(),
            [Step { work: Work::Count { .. }, .. }]
        ));
        known.contents = Some(Contents { count: 1, ..Contents::default() });
        let kept = plan(&rules, None, &records, &known);
        assert!(matches!(kept.steps(), [Step { work: Work::Release { .. }, .. }]), "{kept:?}");
    }
    let records = Records::from([(namespace.key().clone(), record(&namespace, Some("another")))]);
    let deleted = plan(&rules, None, &records, &known);
    assert!(matches!(deleted.steps(), [Step { work: Work::Delete { .. }, .. }]), "{deleted:?}");
}

#[test]
fn what_may_be_gone_is_made_when_it_is_and_is_ours_with_our_marks() {
    let object = manifest("ConfigMap", "c", "1");
    let records = |may_be_gone| {
        Records::from([(object.key().clone(), Recorded { may_be_gone, ..record(&object, Some("u")) })])
    };
    let desired = bundle(vec![(1, apply(&object))]);
    let mut known = Known::default();
    known.absent.insert(object.key().clone());
    let chosen = decide(Some(&desired), &records(true), &known);
    assert!(matches!(&chosen[..], [(Work::Create { .. }, Why::Missing)]), "{chosen:?}");
    let mut known = Known::default();
    with(&mut known, &object, sighting("another", Some(object.hash())));
    assert_eq!(decide(Some(&desired), &records(true), &known), []);
    let chosen = decide(Some(&desired), &records(false), &known);
    assert!(matches!(&chosen[..], [(Work::Blocked(_), Why::NotOurs)]), "{chosen:?}");
}

#[test]
fn adopted_objects_are_given_back_and_strays_of_ours_deleted() {
    let (adopted, stray) = (manifest("ConfigMap", "adopted", "1"), manifest("ConfigMap", "stray", "1"));
    let mut known = Known::default();
    with(&mut known, &adopted, sighting("a", Some(adopted.hash())));
    with(&mut known, &stray, sighting("s", Some(stray.hash())));
    let record = Recorded { origin: Origin::Adopted, ..record(&adopted, Some("a")) };
    let decided = decide(None, &Records::from([(adopted.key().clone(), record)]), &known);
    assert!(
        decided.iter().any(|(work, why)| matches!(work, Work::Release { .. }) && *why == Why::WasAdopted)
    );
    assert!(
        decided.iter().any(|(work, _)| matches!(work, Work::Delete { observed } if &*observed.uid == "s"))
    );
}

#[test]
fn an_adoption_that_was_not_recorded_is_still_given_back() {
    let adopted = manifest("ConfigMap", "c", "1");
    let mut seen = sighting("a", Some(adopted.hash()));
    seen.marks.as_mut().unwrap().origin = Origin::Adopted;
    let mut known = Known::default();
    with(&mut known, &adopted, seen);
    assert!(matches!(decide(None, &Records::new(), &known)[0], (Work::Release { .. }, Why::WasAdopted)));
}

#[test]
fn waves_rise_for_what_is_desired_and_fall_for_what_is_not() {
    let (first, second) = (manifest("ConfigMap", "first", "1"), manifest("ConfigMap", "second", "1"));
    let wanted = bundle(vec![(2, apply(&second)), (1, apply(&first))]);
    let (owner, context) = (owner(), context());
    let rules = rules(&owner, &context);
    let made = plan(&rules, Some(&wanted), &Records::new(), &Known::default());
    let names = |plan: &Plan| plan.runnable().map(|step| step.key.name.to_string()).collect::<Vec<_>>();
    assert_eq!(names(&made), ["first"]);
    let mut known = Known::default();
    with(&mut known, &first, sighting("f", None));
    with(&mut known, &second, sighting("s", None));
    let records = Records::from([
        (first.key().clone(), record(&first, Some("f"))),
        (second.key().clone(), Recorded { stage: Stage(2), ..record(&second, Some("s")) }),
    ]);
    let removed = plan(&rules, None, &records, &known);
    assert_eq!(names(&removed), ["second"]);
}

#[test]
fn what_was_taken_away_goes_and_what_is_there_is_updated_even_when_something_is_in_the_way() {
    let (foreign, old, new) = (
        manifest("ConfigMap", "foreign", "1"),
        manifest("ConfigMap", "c", "1"),
        manifest("ConfigMap", "c", "2"),
    );
    let (unwanted, later) = (manifest("ConfigMap", "unwanted", "1"), manifest("ConfigMap", "later", "1"));
    let wanted = bundle(vec![(1, apply(&foreign)), (2, apply(&new)), (2, apply(&later))]);
    let mut known = Known::default();
    with(&mut known, &foreign, Sighting { marks: None, ..sighting("f", None) });
    with(&mut known, &old, sighting("o", Some(old.hash())));
    with(&mut known, &unwanted, sighting("u", None));
    let records = Records::from([
        (old.key().clone(), record(&old, Some("o"))),
        (unwanted.key().clone(), record(&unwanted, Some("u"))),
    ]);
    let (owner, context) = (owner(), context());
    let rules = rules(&owner, &context);
    let plan = plan(&rules, Some(&wanted), &records, &known);
    let names: Vec<_> = plan.runnable().map(|step| step.key.name.to_string()).collect();
    assert_eq!(names, ["foreign", "c", "unwanted"]);
}

fn certificate() -> (GroupVersionKind, ObjectKey, Action) {
    let asked = CertificateRequest {
        object_name: "csr".into(),
        csr_pem: "pem".into(),
        signer: "kubernetes.io/kube-apiserver-client".into(),
        lifetime_seconds: Some(3600),
    };
    let kind = GroupVersionKind::new("certificates.k8s.io", "v1", "CertificateSigningRequest");
    let key = asked.object();
    (kind, key, Action::Request { name: "user-1".into(), request: Request::Certificate(asked) })
}

/// A CertificateSigningRequest that asks for what [`certificate`] does, and has no answer.
fn asked() -> CertificateState {
    state_of(&asking())
}

/// The `spec` of such a CertificateSigningRequest.
fn asking() -> serde_json::Value {
    json!({
        "request": "cGVt",
        "signerName": "kubernetes.io/kube-apiserver-client",
        "usages": ["digital signature", "client auth"],
        "expirationSeconds": 3600,
    })
}

/// What the planner knows of a CertificateSigningRequest with this `spec`, as an API server tells it.
fn state_of(spec: &serde_json::Value) -> CertificateState {
    let (kind, key, _) = certificate();
    let mut spec = spec.clone();
    spec["username"] = "system:serviceaccount:dcm:engine".into();
    spec["groups"] = json!(["system:authenticated"]);
    let body = Arc::new(json!({"spec": spec}));
    let (uid, resource_version) = ("u".into(), "1".into());
    let object = Object { kind, key, uid, resource_version, marks: None, deleting: None, body };
    Sighting::of(&object, None).certificate().unwrap().clone()
}

#[test]
fn a_certificate_is_asked_for_once_the_first_stage_is_done_and_collected_in_its_own() {
    let (namespace, quota) = (manifest("Namespace", "n", "1"), manifest("ResourceQuota", "quota", "1"));
    let (kind, key, action) = certificate();
    let wanted = bundle(vec![(0, apply(&namespace)), (1, apply(&quota)), (3, action)]);
    let (owner, context) = (owner(), context());
    let rules = rules(&owner, &context);
    let next = |known: &Known| -> Vec<String> {
        let plan = plan(&rules, Some(&wanted), &Records::new(), known);
        plan.runnable().map(|step| step.key.name.to_string()).collect()
    };
    let mut known = Known::default();
    assert_eq!(next(&known), ["n"], "a lane whose namespace is refused asks for nothing");
    with(&mut known, &namespace, sighting("n", Some(namespace.hash())));
    assert_eq!(next(&known), ["csr", "quota"], "the signer needs the time");
    let issued = CertificateState { certificate: Some("Y2VydA==".into()), ..asked() };
    let answered = Sighting { remarks: remarks(issued), ..sighting("c", None) };
    known.present.insert(key, (kind, answered));
    assert_eq!(next(&known), ["quota"]);
    with(&mut known, &quota, Sighting { marks: None, ..sighting("q", None) });
    assert_eq!(next(&known), ["quota", "csr"], "what is issued is kept, whatever blocks the way");
    with(&mut known, &quota, sighting("q", Some(quota.hash())));
    assert_eq!(next(&known), ["csr"]);
}

#[test]
fn a_token_is_asked_for_once_its_account_is_as_desired_and_not_for_one_that_is_anothers() {
    let (namespace, quota) = (manifest("Namespace", "n", "1"), manifest("ResourceQuota", "quota", "1"));
    let account = manifest("ServiceAccount", "account", "1");
    let asked =
        TokenRequest { namespace: "n".into(), service_account: "account".into(), lifetime_seconds: None };
    assert_eq!(&asked.account(), account.key());
    let action = Action::Request { name: "user-1".into(), request: Request::Token(asked) };
    let wanted = bundle(vec![(0, apply(&namespace)), (1, apply(&account)), (1, apply(&quota)), (3, action)]);
    let (owner, context) = (owner(), context());
    let rules = rules(&owner, &context);
    let next = |known: &Known| -> Vec<String> {
        let plan = plan(&rules, Some(&wanted), &Records::new(), known);
        let describe = |step: &Step| {
            let is_token = matches!(step.work, Work::Request { .. });
            format!("{}{}", if is_token { "token of " } else { "" }, step.key.name)
        };
        plan.runnable().map(describe).collect()
    };
    let mut known = Known::default();
    assert_eq!(next(&known), ["n"], "a lane whose namespace is refused asks for nothing");
    with(&mut known, &namespace, sighting("n", Some(namespace.hash())));
    assert_eq!(next(&known), ["account", "quota"]);
    with(&mut known, &account, Sighting { marks: None, ..sighting("a", None) });
    assert_eq!(next(&known), ["account", "quota"], "another's account gets no token");
    with(&mut known, &account, sighting("a", Some(ContentHash::of(&json!("another")))));
    assert_eq!(next(&known), ["account", "quota"], "it is updated first");
    with(&mut known, &account, sighting("a", Some(account.hash())));
    assert_eq!(next(&known), ["token of account", "quota"], "a token takes longer than a quota");
    with(&mut known, &quota, Sighting { marks: None, ..sighting("q", None) });
    assert_eq!(next(&known), ["token of account", "quota"], "another's quota hinders no token");
    let newer = Marks { generation: Generation(9), ..sighting("a", Some(account.hash())).marks.unwrap() };
    with(&mut known, &account, Sighting { marks: Some(newer), ..sighting("a", None) });
    let rules = Rules { generation: Some(Generation(2)), ..rules };
    let plan = plan(&rules, Some(&wanted), &Records::new(), &known);
    assert!(!plan.runnable().any(|step| matches!(step.work, Work::Request { .. })), "a store that is behind");
}

#[test]
fn a_certificate_is_asked_for_approved_awaited_and_collected() {
    let (kind, key, action) = certificate();
    let wanted = bundle(vec![(1, action)]);
    let next = |state: Option<CertificateState>, issued: bool| {
        let mut known = Known { issued, ..Known::default() };
        if let Some(state) = state {
            let seen = Sighting { remarks: remarks(state), ..sighting("u", None) };
            known.present.insert(key.clone(), (kind.clone(), seen));
        }
        decide(Some(&wanted), &Records::new(), &known).into_iter().map(|(work, _)| work).next()
    };
    let state = asked();
    let approved = CertificateState { approved: true, ..state.clone() };
    let issued = CertificateState { certificate: Some("Y2VydA==".into()), ..approved.clone() };
    let denied = CertificateState { refused: Some("Denied: no".into()), ..state.clone() };
    let request = |work: Option<Work>| match work {
        Some(Work::Request { work, .. }) => work,
        other => panic!("{other:?}"),
    };
    assert!(matches!(request(next(None, false)), RequestWork::Ask { .. }));
    let observed = Precondition { uid: "u".into(), resource_version: "1".into() };
    assert_eq!(request(next(Some(state), false)), RequestWork::Approve { observed });
    assert_eq!(request(next(Some(approved), false)), RequestWork::AwaitSigner);
    assert!(matches!(request(next(Some(issued.clone()), false)), RequestWork::Collect { .. }));
    assert!(
        matches!(next(Some(denied), false), Some(Work::Blocked(cause)) if cause.reason == Reason::Denied)
    );
    assert!(matches!(next(Some(issued), true), Some(Work::Delete { .. })), "an answered request is removed");
    assert_eq!(next(None, true), None, "its absence means nothing");
}

#[test]
fn an_answered_request_is_cleared_away_when_nothing_else_is_left_and_passes_nothing_that_is_held_up() {
    let (foreign, unwanted) = (manifest("ConfigMap", "foreign", "1"), manifest("ConfigMap", "unwanted", "1"));
    let (kind, key, action) = certificate();
    let wanted = bundle(vec![(1, apply(&foreign)), (2, action)]);
    let (owner, context) = (owner(), context());
    let rules = rules(&owner, &context);
    let records = Records::from([(unwanted.key().clone(), record(&unwanted, Some("u")))]);
    let next = |desired: Option<&Bundle>, records: &Records, known: &Known| {
        let plan = plan(&rules, desired, records, known);
        let names: Vec<_> = plan.runnable().map(|step| step.key.name.to_string()).collect();
        (names.join(" "), plan.is_fulfilled())
    };
    let mut known = Known { issued: true, ..Known::default() };
    known.present.insert(key, (kind, sighting("c", None)));
    with(&mut known, &unwanted, sighting("u", None));
    with(&mut known, &foreign, Sighting { marks: None, ..sighting("f", None) });
    assert_eq!(next(Some(&wanted), &records, &known), ("foreign unwanted".to_owned(), false));
    with(&mut known, &foreign, sighting("f", Some(foreign.hash())));
    assert_eq!(next(Some(&wanted), &records, &known), ("unwanted".to_owned(), false));
    known.present.remove(unwanted.key());
    assert_eq!(next(Some(&wanted), &Records::new(), &known), ("csr".to_owned(), true));

    let without = bundle(vec![(1, apply(&foreign))]);
    let stray = ("csr".to_owned(), false);
    assert_eq!(next(Some(&without), &Records::new(), &known), stray, "nobody asks for it any more");
    assert_eq!(next(None, &Records::new(), &known).0, "foreign csr");
}

/// An object of ours, as it was written in a generation.
fn written(known: &mut Known, manifest: &Manifest, generation: u64) {
    let mut seen = sighting("u", Some(manifest.hash()));
    seen.marks.as_mut().unwrap().generation = Generation(generation);
    with(known, manifest, seen);
}

#[test]
fn a_cluster_that_holds_a_later_generation_is_told_of_and_left_alone() {
    let (kept, changed, unwanted) =
        (manifest("Namespace", "n", "1"), manifest("ConfigMap", "c", "2"), manifest("ConfigMap", "u", "1"));
    let wanted = bundle(vec![(0, apply(&kept)), (1, apply(&manifest("ConfigMap", "c", "1")))]);
    let mut known = Known::default();
    [&kept, &changed, &unwanted].into_iter().for_each(|manifest| written(&mut known, manifest, 2));
    let (owner, context) = (owner(), context());
    let rules = Rules { generation: Some(Generation(1)), ..rules(&owner, &context) };
    let plan = plan(&rules, Some(&wanted), &Records::new(), &known);
    assert_eq!(plan.steps().len(), 3, "{plan:?}");
    for Step { work, .. } in plan.steps() {
        assert!(matches!(work, Work::Blocked(cause) if cause.reason == Reason::StoreBehind), "{work:?}");
    }
}

#[test]
fn the_wanted_generation_on_what_is_not_wanted_so_is_that_of_a_change_that_is_not_known() {
    let (one, other) = (manifest("ConfigMap", "c", "1"), manifest("ConfigMap", "c", "2"));
    let wanted = bundle(vec![(0, apply(&one))]);
    let ahead = |written_as: &Manifest, generation: u64| {
        let mut known = Known::default();
        written(&mut known, written_as, generation);
        let (owner, context) = (owner(), context());
        let rules = Rules { generation: Some(Generation(2)), ..rules(&owner, &context) };
        plan(&rules, Some(&wanted), &Records::new(), &known).ahead()
    };
    assert_eq!([ahead(&one, 2), ahead(&other, 1)], [None, None]);
    assert_eq!([ahead(&other, 2), ahead(&one, 3)], [Some(Generation(2)), Some(Generation(3))]);
}

#[test]
fn a_change_that_only_takes_away_is_written_on_the_namespace_before() {
    let (namespace, unwanted) = (manifest("Namespace", "n", "1"), manifest("ConfigMap", "u", "1"));
    let wanted = bundle(vec![(0, apply(&namespace))]);
    let next = |written_in: u64| {
        let mut known = Known::default();
        written(&mut known, &namespace, written_in);
        written(&mut known, &unwanted, 1);
        let (owner, context) = (owner(), context());
        let rules = Rules { generation: Some(Generation(2)), ..rules(&owner, &context) };
        let plan = plan(&rules, Some(&wanted), &Records::new(), &known);
        plan.runnable().map(|step| (step.key.name.to_string(), step.why)).collect::<Vec<_>>()
    };
    assert_eq!(next(1), [("n".to_owned(), Why::TakesAway)]);
    assert_eq!(next(2), [("u".to_owned(), Why::NotDesired)]);
}

#[test]
fn what_is_to_be_kept_is_released_and_its_requests_are_not() {
    let works = keeping(None);
    assert_eq!(works.len(), 2);
    let expected = [("c".to_owned(), Why::Kept), ("csr".to_owned(), Why::NotDesired)];
    assert!(expected.iter().all(|step| works.contains(step)), "{works:?}");
}

#[test]
fn bindings_end_with_what_is_kept_where_that_is_wanted() {
    let rbac = |kind: &str| GroupVersionKind::new("rbac.authorization.k8s.io", "v1", kind);
    let mut known = Known::default();
    for (kind, namespace, name) in
        [("RoleBinding", Some("n"), "own"), ("ClusterRoleBinding", None, "all"), ("Role", Some("n"), "role")]
    {
        let kind = rbac(kind);
        let key = ObjectKey::of_kind(&kind, namespace, name);
        known.present.insert(key, (kind, sighting(name, None)));
    }
    let (owner, context) = (owner(), context());
    let whys = |bindings| {
        let removal = Removal { objects: Some(Disposal::Keep), bindings, ..Removal::default() };
        let plan = plan(&Rules { removal, ..rules(&owner, &context) }, None, &Records::new(), &known);
        plan.steps().iter().map(|step| (step.key.name.to_string(), step.why)).collect::<BTreeMap<_, _>>()
    };
    let told = |bindings| {
        [("all", bindings), ("own", bindings), ("role", Why::Kept)]
            .map(|(name, why)| (name.to_owned(), why))
            .into()
    };
    assert_eq!(whys(Some(Disposal::Delete)), told(Why::NotDesired));
    assert_eq!(whys(None), told(Why::Kept));
}

#[test]
fn what_is_in_somebody_elses_namespace_is_told_of_only_where_it_is_ours() {
    let (namespace, inside) = (manifest("Namespace", "n", "1"), manifest("ConfigMap", "c", "1"));
    let wanted = bundle(vec![(0, apply(&namespace)), (1, apply(&inside))]);
    let foreign = || Sighting { marks: None, ..sighting("u", None) };
    let (owner, context) = (owner(), context());
    let planned = |known: &Known| plan(&rules(&owner, &context), Some(&wanted), &Records::new(), known);
    let known = |seen: Option<Sighting>| {
        let mut known = Known::default();
        with(&mut known, &namespace, foreign());
        seen.into_iter().for_each(|seen| with(&mut known, &inside, seen));
        known
    };
    let absent = Known { absent: BTreeSet::from([inside.key().clone()]), ..known(None) };
    let closed = planned(&known(None));
    assert!(closed.is_closed(inside.key()) && !closed.is_closed(namespace.key()));
    assert!(matches!(&closed.steps()[1], Step { work: Work::Await(_), why: Why::NotOurs, .. }), "{closed:?}");
    assert_eq!(planned(&absent), closed);
    assert_eq!(planned(&known(Some(foreign()))), closed);
    let ours = planned(&known(Some(sighting("u", None))));
    assert!(matches!(&ours.steps()[1], Step { work: Work::Update { .. }, .. }), "{ours:?}");
}

#[test]
fn what_is_taken_out_of_what_stays_is_deleted_though_all_of_it_would_be_kept() {
    let stays = manifest("Namespace", "n", "1");
    let works = keeping(Some(&bundle(vec![(0, apply(&stays))])));
    assert!(works.contains(&("c".to_owned(), Why::NotDesired)), "{works:?}");
}

/// What is done about objects that are not desired, where all of them are to be kept at a removal.
fn keeping(desired: Option<&Bundle>) -> Vec<(String, Why)> {
    let role = manifest("ConfigMap", "c", "1");
    let (kind, key, _) = certificate();
    let mut known = Known::default();
    with(&mut known, &role, sighting("r", Some(role.hash())));
    known.present.insert(key, (kind, sighting("c", None)));
    let (owner, context) = (owner(), context());
    let removal = Removal { objects: Some(Disposal::Keep), ..Removal::default() };
    let rules = Rules { removal, ..rules(&owner, &context) };
    let plan = plan(&rules, desired, &Records::new(), &known);
    plan.steps().iter().map(|step| (step.key.name.to_string(), step.why)).collect()
}

#[test]
fn what_an_earlier_request_may_still_change_is_written_once_more() {
    let (desired, equal) = (manifest("ConfigMap", "c", "1"), manifest("ConfigMap", "e", "1"));
    let wanted = bundle(vec![(0, apply(&desired)), (0, apply(&equal))]);
    let mut known = Known::default();
    written(&mut known, &desired, 1);
    written(&mut known, &equal, 2);
    let (owner, context) = (owner(), context());
    let works = |in_doubt: bool| {
        let rules = Rules { generation: Some(Generation(2)), in_doubt, ..rules(&owner, &context) };
        let plan = plan(&rules, Some(&wanted), &Records::new(), &known);
        plan.steps().iter().map(|step| (step.key.name.to_string(), step.why)).collect::<Vec<_>>()
    };
    assert_eq!(works(true), [("c".to_owned(), Why::InDoubt)], "the other one is of this generation");
    assert_eq!(works(false), []);
}
