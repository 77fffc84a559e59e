//! Edits of objects of other clients.

use super::*;
use crate::app_context::{Change, DataMember, Edit, Resolver};
use crate::corefile::StubDomain;
use crate::name::DnsZone;

const STOCK: &str = ".:53 {\n    errors\n}\n";

fn edit(resolver: Resolver) -> Edit {
    let change = Change::StubDomain { zone: DnsZone::new("lc1").unwrap(), resolver };
    let (namespace, name, member) = ("kube-system".into(), "coredns".into(), "Corefile".into());
    Edit { target: DataMember { namespace, name, member }, change }
}

fn at(address: &str) -> Edit {
    edit(Resolver::Address(address.parse().unwrap()))
}

fn stub(address: &str) -> StubDomain {
    at(address).resolved(&context(), None).unwrap()
}

/// The record: what was written, and what has no answer.
fn edited(stubs: &[StubDomain]) -> Edited {
    let (written, unanswered) = (stubs.first().cloned(), stubs.iter().skip(1).cloned().collect());
    Edited { target: at("10.0.0.1:53").target, written, unanswered }
}

/// The record before the first answer.
fn unanswered(stub: StubDomain) -> Edited {
    Edited { written: None, unanswered: vec![stub], ..edited(&[]) }
}

fn wanted(edit: &Edit) -> Bundle {
    bundle(vec![(1, Action::Edit { edit: edit.clone() })])
}

/// A cluster whose Corefile was read.
fn read(text: &str) -> Known {
    let observed = Precondition { uid: "u".into(), resource_version: "1".into() };
    let texts = BTreeMap::from([("Corefile".into(), Text::Whole(text.into()))]);
    let object = EditedObject { observed, is_ours: false, texts };
    Known { texts: BTreeMap::from([(at("10.0.0.1:53").target.key(), Some(object))]), ..Known::default() }
}

fn decide_edit(desired: Option<&Bundle>, known: &Known) -> Vec<(Work, Why)> {
    decide(desired, &Records::new(), known)
}

/// The one step's text, and what is written with it.
fn written(steps: &[(Work, Why)]) -> (&str, Option<&StubDomain>, Why) {
    match steps {
        [(Work::Edit { observed, member, text, stub }, why)] => {
            assert_eq!((&*observed.uid, &*observed.resource_version, &**member), ("u", "1", "Corefile"));
            (text, stub.as_deref(), *why)
        }
        other => panic!("{other:?}"),
    }
}

fn reason(steps: &[(Work, Why)]) -> Reason {
    match steps {
        [(Work::Await(cause) | Work::Blocked(cause), _)] => cause.reason,
        other => panic!("{other:?}"),
    }
}

#[test]
fn a_text_is_read_and_edited_and_then_left_alone() {
    let (wanted, stub) = (wanted(&at("10.0.0.1:53")), stub("10.0.0.1:53"));
    assert_eq!(decide_edit(Some(&wanted), &Known::default()), [(Work::Look, Why::Asked)]);
    let mut known = read(STOCK);
    let steps = decide_edit(Some(&wanted), &known);
    let expected = stub.edit(STOCK, &[]).unwrap();
    assert_eq!(written(&steps), (&*expected, Some(&stub), Why::Missing));
    // A record from before the first write does not mean that a client took the lines out.
    known = Known { edited: vec![unanswered(stub.clone())], ..read(STOCK) };
    assert_eq!(written(&decide_edit(Some(&wanted), &known)).2, Why::Missing);
    // Without a record the lines would stay for ever. So they are recorded.
    known = read(&expected);
    let record = Work::RecordEdit { member: "Corefile".into(), stub: Some(Box::new(stub.clone())) };
    assert_eq!(decide_edit(Some(&wanted), &known), [(record.clone(), Why::Missing)]);
    // So it is where another one may still be in the record.
    known.edited = vec![edited(&[self::stub("10.0.0.2:53"), stub.clone()])];
    assert_eq!(decide_edit(Some(&wanted), &known), [(record, Why::ManifestChanged)]);
    known.edited = vec![edited(std::slice::from_ref(&stub))];
    assert_eq!(decide_edit(Some(&wanted), &known), []);
}

#[test]
fn what_was_taken_out_or_changed_is_put_back_and_a_new_address_is_followed() {
    let old = stub("10.0.0.1:53");
    let new = wanted(&at("10.0.0.2:53"));
    let mut known = read(&old.edit(STOCK, &[]).unwrap());
    known.edited = vec![edited(std::slice::from_ref(&old))];
    let steps = decide_edit(Some(&new), &known);
    let expected = stub("10.0.0.2:53").edit(STOCK, &[]).unwrap();
    assert_eq!(written(&steps), (&*expected, Some(&stub("10.0.0.2:53")), Why::ManifestChanged));
    // Put back, until it was put back too often.
    known = Known { edited: known.edited, ..read(STOCK) };
    let same = wanted(&at("10.0.0.1:53"));
    assert_eq!(written(&decide_edit(Some(&same), &known)).2, Why::Drifted);
    known.given_up = true;
    assert_eq!(decide_edit(Some(&same), &known), []);
    assert_eq!(written(&decide_edit(Some(&new), &known)).2, Why::ManifestChanged);
    known.given_up = false;
    // What the old one wrote is found without its marker lines, too.
    let unmarked = format!("{STOCK}lc1:53 {{\n    errors\n    cache 30\n    forward . 10.0.0.1:53\n}}\n");
    known = Known { edited: known.edited, ..read(&unmarked) };
    assert!(written(&decide_edit(Some(&new), &known)).0.ends_with("10.0.0.2:53\n}\n# dcm end lc\n"));
}

#[test]
fn a_text_that_was_seen_as_wanted_is_not_read_again_until_it_is_forgotten() {
    let mut known = read(STOCK);
    let one = stub("10.0.0.1:53");
    let object = known.texts.values_mut().next().unwrap().as_mut().unwrap();
    object.texts.insert("Corefile".into(), Text::With(one.clone()));
    known.edited = vec![edited(&[one])];
    assert_eq!(decide_edit(Some(&wanted(&at("10.0.0.1:53"))), &known), []);
    assert_eq!(decide_edit(Some(&wanted(&at("10.0.0.2:53"))), &known), [(Work::Look, Why::Asked)]);
    assert_eq!(decide_edit(None, &known), [(Work::Look, Why::NotListed)]);
}

#[test]
fn an_edit_that_is_not_desired_any_more_is_undone_and_forgotten() {
    let (old, new) = (stub("10.0.0.1:53"), stub("10.0.0.2:53"));
    let with_edits = |text: &str| Known { edited: vec![edited(&[old.clone(), new.clone()])], ..read(text) };
    for one in [&old, &new] {
        let steps = decide_edit(None, &with_edits(&one.edit(STOCK, &[]).unwrap()));
        assert_eq!(written(&steps), (STOCK, None, Why::NotDesired));
    }
    let forget = Work::RecordEdit { member: "Corefile".into(), stub: None };
    assert_eq!(decide_edit(None, &with_edits(STOCK)), [(forget.clone(), Why::AlreadyGone)]);
    let mut gone = with_edits(STOCK);
    gone.texts.values_mut().for_each(|object| *object = None);
    assert_eq!(decide_edit(None, &gone), [(forget, Why::AlreadyGone)]);
}

#[test]
fn what_can_not_be_changed_safely_is_left_alone_with_a_cause() {
    let wanted = wanted(&at("10.0.0.1:53"));
    for text in ["", ".:53 {\n", ".:53 {\n}\nlc1 {\n}\n", "# dcm begin lc\n.:53 {\n}\n"] {
        let steps = decide_edit(Some(&wanted), &read(text));
        assert_eq!(reason(&steps), Reason::LeftAlone, "{text}");
    }
    let known = Known { edited: vec![edited(&[stub("10.0.0.1:53")])], ..read("# dcm begin lc\n.:53 {\n}\n") };
    assert_eq!(reason(&decide_edit(None, &known)), Reason::LeftAlone);
    let mut other = read(STOCK);
    other.texts.values_mut().flatten().for_each(|object| object.texts.clear());
    assert_eq!(reason(&decide_edit(Some(&wanted), &other)), Reason::LeftAlone);
    other.texts.values_mut().for_each(|object| *object = None);
    assert_eq!(reason(&decide_edit(Some(&wanted), &other)), Reason::Waiting);
}

#[test]
fn an_edit_waits_for_the_address_of_its_service_and_touches_nothing_meanwhile() {
    let edit = edit(Resolver::Service { namespace: "n".into(), name: "dns".into() });
    let (kind, key) = edit.service().unwrap();
    let wanted = wanted(&edit);
    let mut known = read(STOCK);
    assert_eq!(decide_edit(Some(&wanted), &known), [(Work::Look, Why::Asked)]);
    known.absent.insert(key.clone());
    assert_eq!(reason(&decide_edit(Some(&wanted), &known)), Reason::Waiting);
    known.present.insert(key.clone(), (kind.clone(), Sighting { marks: None, ..sighting("s", None) }));
    assert_eq!(reason(&decide_edit(Some(&wanted), &known)), Reason::Waiting);
    let remarks = Remarks { address: Some("10.0.0.7".parse().unwrap()), ..Remarks::default() };
    let addressed = Sighting { marks: None, remarks: Some(Box::new(remarks)), ..sighting("s", None) };
    known.present.insert(key, (kind, addressed));
    assert!(written(&decide_edit(Some(&wanted), &known)).0.contains("forward . 10.0.0.7:53\n"));
}

#[test]
fn what_is_about_to_be_written_is_noted_beside_what_was_written() {
    let steps =
        plan(&rules(&owner(), &context()), Some(&wanted(&at("10.0.0.1:53"))), &Records::new(), &read(STOCK));
    let step = steps.steps().first().unwrap();
    let one = note_edit(&[], step).unwrap();
    assert_eq!(one, [unanswered(stub("10.0.0.1:53"))]);
    assert_eq!(note_edit(&one, step), None);
    let before = [edited(&[stub("10.0.0.9:53")])];
    let mut noted = note_edit(&before, step).unwrap();
    assert_eq!(noted, [edited(&[stub("10.0.0.9:53"), stub("10.0.0.1:53")])]);
    settle_edit(&mut noted, step);
    assert_eq!(noted, [edited(&[stub("10.0.0.1:53")])]);
    let undone = Step { work: Work::RecordEdit { member: "Corefile".into(), stub: None }, ..step.clone() };
    settle_edit(&mut noted, &undone);
    assert_eq!(noted, []);
    // Many addresses, none of them answered: the last ones stay.
    let mut many = vec![edited(&(1..=20).map(|last| stub(&format!("10.0.1.{last}:53"))).collect::<Vec<_>>())];
    many = note_edit(&many, step).unwrap();
    let unanswered = &many[0].unanswered;
    assert_eq!((unanswered.len(), unanswered.last()), (EDIT_UNANSWERED_MAX, Some(&stub("10.0.0.1:53"))));
}

#[test]
fn one_part_is_edited_once_and_no_object_is_edited_and_applied() {
    let app = AppName::new("app").unwrap();
    let step = |action| app_context::Step { app: app.clone(), stage: Stage(0), action };
    let edits = || Action::Edit { edit: at("10.0.0.1:53") };
    let body = json!({"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "coredns", "namespace": "kube-system"}});
    for other in [edits(), apply(&Manifest::new(body).unwrap())] {
        let refused = Bundle::new(vec![step(edits()), step(other)]).unwrap_err();
        assert!(matches!(refused, app_context::InvalidBundle::EditTwice(_)), "{refused}");
    }
}

#[test]
fn an_edit_without_a_name_or_an_address_is_refused() {
    let app = AppName::new("app").unwrap();
    let refused = |edit: Edit| {
        let step = app_context::Step { app: app.clone(), stage: Stage(0), action: Action::Edit { edit } };
        matches!(Bundle::new(vec![step]), Err(app_context::InvalidBundle::EditInvalid(_)))
    };
    assert!(!refused(at("10.0.0.1:53")));
    assert!(refused(at("0.0.0.0:53")) && refused(at("10.0.0.1:0")));
    let mut unnamed = at("10.0.0.1:53");
    unnamed.target.member = "".into();
    assert!(refused(unnamed));
    assert!(refused(edit(Resolver::Service { namespace: "".into(), name: "dns".into() })));
}

#[test]
fn an_object_that_an_app_context_applies_is_not_edited() {
    let mut known = read(STOCK);
    known.texts.values_mut().flatten().for_each(|object| object.is_ours = true);
    let steps = decide_edit(Some(&wanted(&at("10.0.0.1:53"))), &known);
    assert_eq!(reason(&steps), Reason::LeftAlone);
}

#[test]
fn a_text_that_nobody_can_read_and_that_has_nothing_of_ours_holds_up_nothing() {
    let forget = (Work::RecordEdit { member: "Corefile".into(), stub: None }, Why::AlreadyGone);
    let edited = vec![edited(&[stub("10.0.0.1:53")])];
    let unreadable = Known { edited: edited.clone(), ..read(".:53 {\n") };
    assert_eq!(decide_edit(None, &unreadable), [forget]);
    // With lines that may be ours it is left alone, and all else is removed meanwhile.
    let mut torn = Known { edited, ..read("# dcm begin lc\n.:53 {\n}\n") };
    let body = json!({"apiVersion": "v1", "kind": "ServiceAccount", "metadata": {"name": "ci", "namespace": "team"}});
    let account = Manifest::new(body).unwrap();
    let seen = sighting("n", Some(account.hash()));
    with(&mut torn, &account, seen);
    let records = Records::from([(account.key().clone(), record(&account, Some("n")))]);
    let plan = plan(&rules(&owner(), &context()), None, &records, &torn);
    let runnable: Vec<_> = plan.runnable().map(|step| (&*step.key.kind, step.why)).collect();
    assert_eq!(runnable, [("ConfigMap", Why::NotOurs), ("ServiceAccount", Why::NotDesired)]);
}
