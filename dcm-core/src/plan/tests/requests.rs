//! Requests for certificates that others made, or changed.

use super::*;

#[test]
fn a_request_of_our_name_and_with_our_marks_that_asks_for_something_else_is_never_approved_or_collected() {
    let (kind, key, action) = certificate();
    let wanted = bundle(vec![(1, action)]);
    let others = [
        ("request", json!("b3RoZXI=")),
        ("signerName", json!("kubernetes.io/kubelet-serving")),
        ("usages", json!(["digital signature", "client auth", "server auth"])),
        ("usages", json!(["client auth", "digital signature"])),
        ("expirationSeconds", json!(3601)),
        ("expirationSeconds", json!(null)),
    ];
    for (member, value) in others {
        let mut spec = asking();
        spec[member] = value;
        let asked = state_of(&spec);
        let answered = CertificateState { approved: true, certificate: Some("Yw==".into()), ..asked.clone() };
        for state in [asked, answered] {
            let mut known = Known::default();
            let seen = Sighting { remarks: remarks(state), ..sighting("u", None) };
            known.present.insert(key.clone(), (kind.clone(), seen));
            let work =
                decide(Some(&wanted), &Records::new(), &known).into_iter().map(|(work, _)| work).next();
            assert!(
                matches!(&work, Some(Work::Blocked(cause)) if cause.reason == Reason::Foreign),
                "{spec}: {work:?}"
            );
        }
    }
}

#[test]
fn a_request_that_lost_our_marks_and_asks_for_what_we_asked_for_is_approved() {
    let (kind, key, action) = certificate();
    let wanted = bundle(vec![(1, action)]);
    let mut known = Known::default();
    let seen = Sighting { marks: None, remarks: remarks(asked()), ..sighting("u", None) };
    known.present.insert(key, (kind, seen));
    let works = decide(Some(&wanted), &Records::new(), &known);
    assert!(matches!(&works[0].0, Work::Request { work: RequestWork::Approve { .. }, .. }), "{works:?}");
}
