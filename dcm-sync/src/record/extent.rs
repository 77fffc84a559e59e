//! How large the record of a lane may become, said before it is written.
//!
//! A store takes documents up to [`DOCUMENT_BYTES_MAX`](dcm_core::port::store::DOCUMENT_BYTES_MAX). What an app context wants
//! of a cluster is known when it is handed over, so a lane that could not be stored later is refused then. What clusters and workers
//! fill in is counted at its longest.

use std::collections::{BTreeMap, BTreeSet};
use std::net::{Ipv6Addr, SocketAddr};
use std::sync::{Arc, LazyLock};

use dcm_core::app_context::{Action, Bundle, Change, DataMember, Edit, Edited, Generation, Request, Stage};
use dcm_core::corefile::StubDomain;
use dcm_core::hash::ContentHash;
use dcm_core::manifest::{GroupVersionKind, Manifest, ObjectKey};
use dcm_core::name::{ContextId, DNS_LABEL_MAX, DNS_SUBDOMAIN_MAX};
use dcm_core::plan::{EDIT_UNANSWERED_MAX, Recorded};
use dcm_core::port::cluster::{CONTENTS_SAMPLE_MAX, Fence, Origin};
use dcm_core::status::{Cause, LaneState, Reason};
use jiff::Timestamp;
use serde::Serialize;

use super::{ActionRecord, Answer, Kept, Lane, StepRecord};

/// Longest UID of an object that is counted with, in bytes: Kubernetes gives UUIDs.
const UID_BYTES_MAX: usize = 36;

/// Most bytes of a lane's record that its causes take: some hundred of them. Causes of further objects are stored when some of
/// these are gone.
const CAUSES_BYTES_MAX: usize = 64 * 1024;

/// Longest message of a stored cause, and longest detail, in characters: a cluster may answer with anything.
const MESSAGE_CHARS_MAX: usize = 1024;

/// What a stored message ends with that was longer.
const CUT: &str = " …";

/// What a lane's record names: its size follows from it.
#[derive(Default)]
pub(crate) struct Extent<'a> {
    /// The bytes of each object.
    objects: BTreeMap<&'a ObjectKey, usize>,
    kinds: BTreeSet<&'a GroupVersionKind>,
    namespaces: BTreeSet<&'a str>,
    /// The bytes of each answer.
    requests: BTreeMap<&'a str, usize>,
    /// The bytes of all edits.
    edits: usize,
}

impl<'a> Extent<'a> {
    /// That of a bundle.
    pub(crate) fn of(bundle: &'a Bundle) -> Self {
        let mut extent = Self::default();
        for step in bundle.steps() {
            match &step.action {
                Action::Apply { manifest, .. } => extent.add_manifest(manifest),
                Action::Edit { edit } => extent.add_edit(edit),
                Action::Request { name, request } => extent.add_request(name, request),
            }
        }
        extent
    }

    /// Adds stored steps, whose objects may still be there.
    pub(crate) fn add_steps(
        &mut self,
        steps: &'a [StepRecord],
        manifests: &'a BTreeMap<ContentHash, Manifest>,
    ) {
        for step in steps {
            match &step.action {
                ActionRecord::Apply { manifest, .. } => {
                    manifests.get(manifest).into_iter().for_each(|manifest| self.add_manifest(manifest));
                }
                ActionRecord::Edit { edit } => self.add_edit(edit),
                ActionRecord::Request { name, request } => self.add_request(name, request),
            }
        }
    }

    fn add_manifest(&mut self, manifest: &'a Manifest) {
        let (kind, key) = (manifest.kind(), manifest.key());
        let bytes = object_bytes_max(kind, key);
        let known = self.objects.entry(key).or_default();
        *known = bytes.max(*known);
        self.kinds.insert(kind);
        if kind.is_namespace() {
            self.namespaces.insert(&key.name);
        }
    }

    fn add_edit(&mut self, edit: &Edit) {
        let Edit { target, change: Change::StubDomain { zone, .. } } = edit;
        let context = ContextId::new("x".repeat(DNS_LABEL_MAX)).expect("a label's value");
        let address = SocketAddr::from((Ipv6Addr::from(u128::MAX), u16::MAX));
        let stub = StubDomain::new(context, zone.clone(), address.ip()).with_port(address.port());
        let edited = Edited {
            target: target.clone(),
            written: Some(stub.clone()),
            unanswered: vec![stub; EDIT_UNANSWERED_MAX],
        };
        self.edits += json_bytes(&edited) + 1;
        self.kinds.insert(DataMember::kind());
    }

    fn add_request(&mut self, name: &'a Arc<str>, request: &Request) {
        let account = match request {
            Request::Token(_) => Some(LONGEST_UID.clone()),
            Request::Certificate(_) => None,
        };
        let bytes = json_bytes(&Answer { name: name.clone(), account }) + 1;
        let known = self.requests.entry(name).or_default();
        *known = bytes.max(*known);
    }

    /// How many objects there are.
    pub(crate) fn objects(&self) -> usize {
        self.objects.len()
    }

    /// How many requests there are.
    pub(crate) fn requests(&self) -> usize {
        self.requests.len()
    }

    /// Most bytes that the record has.
    pub(crate) fn bytes_max(&self) -> usize {
        let kinds: usize = self.kinds.iter().map(|kind| json_bytes(kind) + 1).sum();
        // A namespace is named while it may be ours, and with what it holds where it was kept.
        let namespaces = self.namespaces.iter().map(|name| 2 * (json_bytes(name) + 1) + 1 + *KEPT_BYTES_MAX);
        let objects: usize = self.objects.values().sum();
        *BARE_BYTES_MAX
            + CAUSES_BYTES_MAX
            + kinds
            + namespaces.sum::<usize>()
            + objects
            + self.edits
            + self.request_bytes()
    }

    /// The same, with as many requests more: each is renewed under another name some day, and the bundle that has those names
    /// is to be taken, too.
    pub(crate) fn bytes_max_renewed(&self) -> usize {
        self.bytes_max() + self.request_bytes()
    }

    fn request_bytes(&self) -> usize {
        self.requests.values().sum()
    }
}

impl Lane {
    /// As it is stored: with as much of its causes as has room.
    pub(crate) fn to_store(&self) -> Self {
        Self { causes: bounded(&self.causes), ..self.clone() }
    }

    /// Forgets so much that what is left can be stored: of what is recorded no more than the namespaces, which are not to be made
    /// again silently. What else is ours is told by its marks, on the kinds that stay named.
    pub(crate) fn shorten(&mut self) {
        self.objects.retain(|_, record| record.kind.is_namespace());
    }
}

/// Causes as they are stored. Where they are too many, those go first that somebody has to see to.
fn bounded(causes: &[Cause]) -> Vec<Cause> {
    let causes: Vec<Cause> = causes.iter().map(shortened).collect();
    if causes.iter().map(cause_bytes).sum::<usize>() <= CAUSES_BYTES_MAX {
        return causes;
    }
    let (urgent, others): (Vec<_>, Vec<_>) =
        causes.into_iter().partition(|cause| cause.reason.needs_somebody());
    let mut bytes = 0;
    let has_room = |cause: &Cause| {
        bytes += cause_bytes(cause);
        bytes <= CAUSES_BYTES_MAX
    };
    urgent.into_iter().chain(others).take_while(has_room).collect()
}

fn cause_bytes(cause: &Cause) -> usize {
    json_bytes(cause) + 1
}

fn shortened(cause: &Cause) -> Cause {
    let (message, detail) = (cut(&cause.message), cause.detail.as_ref().map(cut));
    Cause { message, detail, ..cause.clone() }
}

fn cut(text: &Arc<str>) -> Arc<str> {
    if text.chars().nth(MESSAGE_CHARS_MAX).is_none() {
        return text.clone();
    }
    let kept = text.chars().take(MESSAGE_CHARS_MAX - CUT.chars().count());
    kept.chain(CUT.chars()).collect::<String>().into()
}

/// Most bytes of an object in the record.
fn object_bytes_max(kind: &GroupVersionKind, key: &ObjectKey) -> usize {
    let longest = Recorded {
        kind: kind.clone(),
        uid: Some(LONGEST_UID.clone()),
        may_be_gone: true,
        manifest: Some(*ANY_HASH),
        origin: Origin::Adopted,
        stage: Stage(u16::MAX),
        stored: Some(Box::new(*ANY_HASH)),
    };
    json_bytes(&super::lane::ObjectRecord::of(key, &longest)) + 1
}

static LONGEST_UID: LazyLock<Arc<str>> = LazyLock::new(|| "x".repeat(UID_BYTES_MAX).into());

/// All are equally long.
static ANY_HASH: LazyLock<ContentHash> = LazyLock::new(|| ContentHash::of_bytes(&[]));

/// Most bytes of a record that names nothing but the kind through which certificates are asked for.
static BARE_BYTES_MAX: LazyLock<usize> = LazyLock::new(|| {
    let kind = GroupVersionKind::new("certificates.k8s.io", "v1", "CertificateSigningRequest");
    let key = ObjectKey::of_kind(&kind, None, "");
    let (origin, stage) = (Origin::Created, Stage(0));
    let recorded = Recorded {
        kind: kind.clone(),
        uid: None,
        may_be_gone: false,
        manifest: None,
        origin,
        stage,
        stored: None,
    };
    let cause = Cause::new(Reason::Invalid, "");
    let (number, moment) = (u64::MAX, Timestamp::MAX);
    json_bytes(&Lane {
        state: LaneState::Abandoned,
        bundle: Some(*ANY_HASH),
        generation: Generation(number),
        attempt: number,
        settled: number,
        checked: number,
        fence: Fence(number),
        seen: Some(moment),
        kinds: [kind].into(),
        namespaces: ["".into()].into(),
        uncertain_until: Some(moment),
        causes: vec![cause],
        objects: [(key, recorded)].into(),
        issued: vec![Answer { name: "".into(), account: None }],
        lapsed: vec!["".into()],
        dropping: vec!["".into()],
        kept: [("".into(), Kept::default())].into(),
        ahead: Some(Generation(number)),
        unanswered: Some(Generation(number)),
        withdrawn: Some(Generation(number)),
        untidy: true,
        ..Lane::untouched(moment)
    })
});

/// The longest that is recorded of a namespace that was kept.
static KEPT: LazyLock<Kept> = LazyLock::new(|| Kept {
    objects: usize::MAX,
    uid: Some(LONGEST_UID.clone()),
    bindings: vec!["b".repeat(DNS_SUBDOMAIN_MAX).into(); CONTENTS_SAMPLE_MAX],
});

static KEPT_BYTES_MAX: LazyLock<usize> = LazyLock::new(|| json_bytes(&*KEPT));

/// The bytes of a value's JSON.
fn json_bytes<T: Serialize + ?Sized>(value: &T) -> usize {
    let mut count = Count(0);
    // Nothing here has no JSON form; what had none would be told when it is stored.
    let _ = serde_json::to_writer(&mut count, value);
    count.0
}

/// Counts what is written to it.
struct Count(usize);

impl std::io::Write for Count {
    fn write(&mut self, bytes: &[u8]) -> std::io::Result<usize> {
        self.0 += bytes.len();
        Ok(bytes.len())
    }

    fn flush(&mut self) -> std::io::Result<()> {
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use dcm_core::app_context::{CertificateRequest, Drift, Existing, Step, TokenRequest};
    use dcm_core::name::AppName;
    use serde_json::json;

    use super::*;

    /// How much less there may be than was said, in bytes: commas, and what stands for no name.
    const SLACK: usize = 600;

    fn object(kind: &str, name: &str) -> Action {
        let body = json!({"apiVersion": "example.org/v1", "kind": kind, "metadata": {"name": name, "namespace": "team"}});
        apply(body)
    }

    fn apply(body: serde_json::Value) -> Action {
        Action::Apply {
            manifest: Manifest::new(body).unwrap(),
            existing: Existing::Refuse,
            drift: Drift::default(),
        }
    }

    fn bundle() -> Bundle {
        let certificate = |number: usize| Action::Request {
            name: format!("certificate/\"user\"-{number}").into(),
            request: Request::Certificate(CertificateRequest {
                object_name: format!("csr-{number}").into(),
                csr_pem: "".into(),
                signer: "s".into(),
                lifetime_seconds: None,
            }),
        };
        let token = Action::Request {
            name: "token/robot".into(),
            request: Request::Token(TokenRequest {
                namespace: "team".into(),
                service_account: "robot".into(),
                lifetime_seconds: None,
            }),
        };
        let namespace = json!({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": "team"}});
        let actions = std::iter::once(apply(namespace))
            .chain((0..50).map(|number| object("Widget", &format!("a\"\\-{number}"))))
            .chain([object("Gadget", "g")])
            .chain((0..50).map(certificate))
            .chain([token]);
        let app = AppName::new("app").unwrap();
        let steps = actions.map(|action| Step { app: app.clone(), stage: Stage(0), action });
        Bundle::new(steps.collect()).unwrap()
    }

    fn cause(reason: Reason, message: &str) -> Cause {
        Cause { next_try: Some(Timestamp::MAX), ..Cause::new(reason, message) }
    }

    /// A lane that has done all that a bundle wants, with the longest of everything.
    fn longest(bundle: &Bundle) -> Lane {
        let number = u64::MAX;
        let recorded = |manifest: &Manifest| Recorded {
            kind: manifest.kind().clone(),
            uid: Some(LONGEST_UID.clone()),
            may_be_gone: true,
            manifest: Some(manifest.hash()),
            origin: Origin::Adopted,
            stage: Stage(u16::MAX),
            stored: Some(Box::new(manifest.hash())),
        };
        let csrs = GroupVersionKind::new("certificates.k8s.io", "v1", "CertificateSigningRequest");
        let requests = bundle.steps().iter().filter_map(|step| match &step.action {
            Action::Request { name, request: Request::Token(_) } => {
                Some(Answer { name: name.clone(), account: Some(LONGEST_UID.clone()) })
            }
            Action::Request { name, .. } => Some(Answer { name: name.clone(), account: None }),
            Action::Apply { .. } | Action::Edit { .. } => None,
        });
        Lane {
            state: LaneState::Abandoned,
            bundle: Some(bundle.hash()),
            generation: Generation(number),
            attempt: number,
            settled: number,
            checked: number,
            fence: Fence(number),
            seen: Some(Timestamp::MAX),
            kinds: bundle.manifests().map(|manifest| manifest.kind().clone()).chain([csrs]).collect(),
            namespaces: ["team".into()].into(),
            uncertain_until: Some(Timestamp::MAX),
            causes: vec![cause(Reason::Denied, &"m".repeat(MESSAGE_CHARS_MAX)); 1000],
            objects: bundle.manifests().map(|m| (m.key().clone(), recorded(m))).collect(),
            issued: requests.collect(),
            kept: [("team".into(), KEPT.clone())].into(),
            ahead: Some(Generation(number)),
            unanswered: Some(Generation(number)),
            withdrawn: Some(Generation(number)),
            untidy: true,
            ..Lane::untouched(Timestamp::MAX)
        }
    }

    #[test]
    fn a_record_with_the_longest_of_everything_is_as_long_as_was_said_and_no_longer() {
        let bundle = bundle();
        let lane = longest(&bundle);
        let said = Extent::of(&bundle).bytes_max();
        let causes: usize = lane.to_store().causes.iter().map(cause_bytes).sum();
        assert!(causes <= CAUSES_BYTES_MAX && causes > CAUSES_BYTES_MAX * 9 / 10, "{causes}");
        let bytes = json_bytes(&lane.to_store()) + CAUSES_BYTES_MAX - causes;
        assert!((said - SLACK..=said).contains(&bytes), "{bytes} bytes, said were {said}");
    }

    #[test]
    fn an_object_that_two_bundles_want_counts_once() {
        let bundle = bundle();
        let root = StepRecord::all(&bundle);
        let manifests = bundle.manifests().map(|manifest| (manifest.hash(), manifest.clone())).collect();
        let mut both = Extent::of(&bundle);
        both.add_steps(&root, &manifests);
        assert_eq!(both.bytes_max(), Extent::of(&bundle).bytes_max());
        let mut alone = Extent::default();
        alone.add_steps(&root, &manifests);
        assert_eq!(alone.bytes_max(), both.bytes_max());
    }

    #[test]
    fn of_too_many_causes_those_stay_that_somebody_has_to_see_to_and_a_long_message_is_cut() {
        let long = "é".repeat(2 * MESSAGE_CHARS_MAX);
        let mut causes = vec![cause(Reason::Retrying, "r"), cause(Reason::Denied, &long)];
        let stored = bounded(&causes);
        assert_eq!(stored[0], causes[0]);
        assert_eq!(stored[1].message.chars().count(), MESSAGE_CHARS_MAX);
        assert!(stored[1].message.ends_with(CUT));
        causes.splice(0..0, vec![cause(Reason::Retrying, "again"); CAUSES_BYTES_MAX / 50]);
        let stored = bounded(&causes);
        assert_eq!(stored[0].reason, Reason::Denied);
        assert!(stored.len() > 100 && stored.len() < causes.len());
    }

    #[test]
    fn a_shortened_record_keeps_its_namespaces_and_what_tells_where_to_look() {
        let mut lane = longest(&bundle());
        let before = lane.clone();
        lane.shorten();
        assert_eq!(lane.objects.keys().map(ToString::to_string).collect::<Vec<_>>(), ["Namespace team"]);
        assert_eq!(Lane { objects: before.objects.clone(), ..lane }, before);
    }
}
