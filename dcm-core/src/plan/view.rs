//! What a planner knows of a cluster.

use std::collections::{BTreeMap, BTreeSet};
use std::net::IpAddr;
use std::sync::Arc;

use jiff::Timestamp;
use serde_json::Value;

use super::{Step, request};
use crate::app_context::{Edited, Stage};
use crate::corefile::StubDomain;
use crate::fields::{self, HeldField, Ownership};
use crate::hash::ContentHash;
use crate::manifest::{GroupVersionKind, Manifest, ObjectKey};
use crate::name::OwnerId;
use crate::port::cluster::{Contents, Marks, Object, Origin, Precondition, Stamped};
use crate::port::proof::Proof;

/// An object that was written for this app context, as the engine recorded it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Recorded {
    /// Group, version and kind.
    pub kind: GroupVersionKind,
    /// Its UID: the proof that it is ours. None when it is not known (a crash between writing and recording).
    pub uid: Option<Arc<str>>,
    /// The object with this UID may be gone: we deleted it, or a person declared that the store is right and the cluster is not.
    /// Then another object in its place with our proved marks is ours, too, and a missing one is made.
    pub may_be_gone: bool,
    /// Hash of the manifest that was written last.
    pub manifest: Option<ContentHash>,
    /// Where it comes from.
    pub origin: Origin,
    /// The stage in which it was made: removal goes the other way.
    pub stage: Stage,
    /// [`Altered::values`] right after it was written last: what the API server made of it. Boxed, as it is rare.
    pub stored: Option<Box<ContentHash>>,
}

impl Recorded {
    /// True for an object that is missed when it is not there.
    #[must_use]
    pub fn is_expected(&self) -> bool {
        self.uid.is_some() && !self.may_be_gone
    }
}

/// What was seen of one object.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Sighting {
    /// Its UID.
    pub uid: Arc<str>,
    /// Its state.
    pub resource_version: Arc<str>,
    /// Our marks, if it carries them with their proof.
    pub marks: Option<Marks>,
    /// What few objects give reason to say; together in a box, as thousands of others lie still.
    pub remarks: Option<Box<Remarks>>,
}

/// What few objects give reason to say.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Remarks {
    /// The finalizers that hold it back, when it is being deleted.
    pub deleting: Option<Vec<Arc<str>>>,
    /// Why it is not ready, when it is not; of a namespace that is being deleted, what remains in it.
    pub unready: Option<Unready>,
    /// What a CertificateSigningRequest says of itself.
    pub certificate: Option<CertificateState>,
    /// Desired fields: of an object with our marks those that somebody else took since we wrote them, of another one those
    /// that are not as desired.
    pub fields: Vec<HeldField>,
    /// Desired fields of an object with our marks that our manager holds, with other values than desired.
    pub altered: Option<Altered>,
    /// The installation that it is marked as belonging to, where nothing proves that.
    pub claimed_by: Option<OwnerId>,
    /// The cluster IP of a Service.
    pub address: Option<IpAddr>,
    /// `roleRef` of a binding that is being deleted and still has subjects.
    pub still_binds: Option<Value>,
}

/// Why an object is not ready.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Unready {
    /// The reason in our words.
    pub message: Arc<str>,
    /// The reason with what the cluster reports; none where that is the same.
    pub detail: Option<Arc<str>>,
}

impl Unready {
    /// The whole reason.
    #[must_use]
    pub fn whole(&self) -> &Arc<str> {
        self.detail.as_ref().unwrap_or(&self.message)
    }
}

/// Fields that have other values than desired although our manager holds them: another client wrote under our name, or the
/// API server keeps another value than it was sent. Which of the two, [`Recorded::stored`] shows.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Altered {
    /// The fields.
    pub fields: Vec<HeldField>,
    /// A digest of the fields and of the values that they have.
    pub values: ContentHash,
}

impl Sighting {
    /// The state that a write can be based on.
    #[must_use]
    pub fn precondition(&self) -> Precondition {
        Precondition { uid: self.uid.clone(), resource_version: self.resource_version.clone() }
    }

    /// The finalizers that hold it back, when it is being deleted.
    #[must_use]
    pub fn deleting(&self) -> Option<&[Arc<str>]> {
        self.remarks.as_ref()?.deleting.as_deref()
    }

    /// Why it is not ready, when it is not.
    #[must_use]
    pub fn unready(&self) -> Option<&Unready> {
        self.remarks.as_ref()?.unready.as_ref()
    }

    /// What a CertificateSigningRequest says of itself.
    #[must_use]
    pub fn certificate(&self) -> Option<&CertificateState> {
        self.remarks.as_ref()?.certificate.as_ref()
    }

    /// [`Altered::values`].
    #[must_use]
    pub fn altered(&self) -> Option<ContentHash> {
        Some(self.remarks.as_ref()?.altered.as_ref()?.values)
    }

    /// What another client took or changed of an object with our marks.
    pub(super) fn drifted(&self, record: Option<&Recorded>) -> Vec<HeldField> {
        let mut drifted = self.fields().to_vec();
        let stored = record.and_then(|record| record.stored.as_deref());
        let altered = self.remarks.as_ref().and_then(|remarks| remarks.altered.as_ref());
        if let Some(altered) = altered.filter(|altered| Some(&altered.values) != stored) {
            let told: BTreeSet<_> = self.fields().iter().map(HeldField::place).collect();
            let is_new = |field: &&HeldField| !told.contains(field.place());
            drifted.extend(altered.fields.iter().filter(is_new).cloned());
        }
        drifted
    }

    /// Desired fields that are somebody else's, or not as desired ([`Remarks::fields`]).
    #[must_use]
    pub fn fields(&self) -> &[HeldField] {
        self.remarks.as_ref().map_or(&[], |remarks| &remarks.fields)
    }

    /// The installation that it is marked as belonging to, where nothing proves that.
    #[must_use]
    pub fn claimed_by(&self) -> Option<&OwnerId> {
        self.remarks.as_ref()?.claimed_by.as_ref()
    }

    /// [`Remarks::address`].
    #[must_use]
    pub fn address(&self) -> Option<IpAddr> {
        self.remarks.as_ref()?.address
    }

    /// [`Remarks::still_binds`].
    #[must_use]
    pub fn still_binds(&self) -> Option<&Value> {
        self.remarks.as_ref()?.still_binds.as_ref()
    }

    /// What matters of an object to a planner, beside what is desired of it. Its marks are taken as proved: see
    /// [`Object::disclaim_unproved`].
    #[must_use]
    pub fn of(object: &Object, desired: Option<&Desired>) -> Self {
        Self::compared(object, desired.map(|desired| desired.compare(object)).unwrap_or_default())
    }

    /// The same, where the object is compared already.
    #[must_use]
    pub fn compared(object: &Object, Comparison { fields, altered }: Comparison) -> Self {
        let remarks = Remarks {
            deleting: object.deleting.clone(),
            unready: unready(object),
            certificate: CertificateState::of(object),
            fields,
            altered,
            claimed_by: claim(object),
            address: cluster_ip(object),
            still_binds: still_binds(object),
        };
        Self {
            uid: object.uid.clone(),
            resource_version: object.resource_version.clone(),
            marks: object.marks.clone(),
            remarks: (remarks != Remarks::default()).then(|| Box::new(remarks)),
        }
    }
}

/// How an object differs from what is desired of it.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Comparison {
    /// [`Remarks::fields`].
    pub fields: Vec<HeldField>,
    /// [`Remarks::altered`].
    pub altered: Option<Altered>,
}

/// What is desired of an object, to be held against what is there.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Desired {
    /// The desired object.
    pub manifest: Manifest,
    /// The app context's labels.
    pub labels: Arc<BTreeMap<String, String>>,
}

impl Desired {
    /// Compares an object with what is desired of it, in a time that grows with both: for an object of 1 MB, tenths of a second.
    #[must_use]
    pub fn compare(&self, object: &Object) -> Comparison {
        let Object { kind, body, marks, .. } = object;
        let desired = self.manifest.body();
        let Some(marks) = marks else {
            return Comparison { fields: fields::differing(kind, body, desired), altered: None };
        };
        let ownership = Ownership::read(body);
        let altered = fields::altered(kind, body, &ownership, desired);
        Comparison {
            fields: fields::lost(body, &ownership, &self.stamped(object, marks).body()),
            altered: altered.map(|(fields, values)| Altered { fields, values: ContentHash::of(&values) }),
        }
    }

    /// As it is written with these marks, and with the proof that the object carries.
    #[must_use]
    pub fn stamped(&self, object: &Object, marks: &Marks) -> Stamped {
        let (manifest, labels) = (self.manifest.clone(), self.labels.clone());
        Stamped { manifest, marks: marks.clone(), labels, proof: Proof::read(&object.body) }
    }
}

/// The cluster IP of a Service. A headless one has none.
fn cluster_ip(object: &Object) -> Option<IpAddr> {
    let is_service = &*object.kind.kind == "Service" && object.kind.group.is_empty();
    object.body["spec"]["clusterIP"].as_str().filter(|_| is_service)?.parse().ok()
}

/// The owner in marks that are not proved.
fn claim(object: &Object) -> Option<OwnerId> {
    if object.marks.is_some() {
        return None;
    }
    Marks::read(&object.body).map(|marks| marks.owner)
}

/// The role of a binding that is being deleted, while it binds anybody to it.
fn still_binds(object: &Object) -> Option<Value> {
    let has_subjects = object.body["subjects"].as_array().is_some_and(|subjects| !subjects.is_empty());
    (object.key.is_binding() && object.deleting.is_some() && has_subjects)
        .then(|| object.body["roleRef"].clone())
}

/// What a CertificateSigningRequest says of itself.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CertificateState {
    /// Digest of what it asks for: the request's bytes, signer, usages and lifetime. The API server lets nobody change them,
    /// so they hold for the object's whole life.
    pub asked: ContentHash,
    /// It is approved.
    pub approved: bool,
    /// Why it was denied, or failed.
    pub refused: Option<Arc<str>>,
    /// The certificate, base64 of PEM as the API has it.
    pub certificate: Option<Arc<str>>,
}

impl CertificateState {
    fn of(object: &Object) -> Option<Self> {
        if &*object.kind.kind != "CertificateSigningRequest" {
            return None;
        }
        let status = &object.body["status"];
        let mut state = Self {
            asked: request::digest(&object.body["spec"]),
            approved: false,
            refused: None,
            certificate: None,
        };
        for condition in status["conditions"].as_array().into_iter().flatten() {
            match condition["type"].as_str() {
                Some("Approved") => state.approved = true,
                Some(kind @ ("Denied" | "Failed")) => {
                    let message = condition["message"].as_str().unwrap_or_default();
                    state.refused = Some(format!("{kind}: {message}").into());
                }
                _ => {}
            }
        }
        state.certificate = status["certificate"].as_str().filter(|text| !text.is_empty()).map(Into::into);
        Some(state)
    }
}

/// What is known of one object.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Seen<'a> {
    /// It is not among the objects with our marks; it was not asked for by name.
    Unlisted,
    /// It was asked for by name and is not there.
    Absent,
    /// It is there.
    Present(&'a Sighting),
}

/// How long the result of an answered request is good.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Answered<'a> {
    /// Whatever becomes of objects.
    Unbound,
    /// A token: as long as the ServiceAccount of this UID is there.
    OfAccount(&'a Arc<str>),
}

impl<'a> Answered<'a> {
    /// From the UID that a token is bound to.
    #[must_use]
    pub fn by(account: Option<&'a Arc<str>>) -> Self {
        account.map_or(Self::Unbound, Self::OfAccount)
    }
}

/// What was read of an object of which parts are edited.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct EditedObject {
    /// Its state.
    pub observed: Precondition,
    /// An app context applies it: it has our marks, with their proof.
    pub is_ours: bool,
    /// The members of its data that are edited, or were.
    pub texts: BTreeMap<Arc<str>, Text>,
}

impl EditedObject {
    /// These members of an object's data. Its marks are taken as proved: see [`Object::disclaim_unproved`].
    #[must_use]
    pub fn of(object: &Object, members: &BTreeSet<Arc<str>>) -> Self {
        let data = &object.body["data"];
        let text = |member: &Arc<str>| Some((member.clone(), Text::Whole(data[&**member].as_str()?.into())));
        let (observed, is_ours) = (object.precondition(), object.marks.is_some());
        Self { observed, is_ours, texts: members.iter().filter_map(text).collect() }
    }
}

/// The text of a member that is edited.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Text {
    /// All of it.
    Whole(Arc<str>),
    /// It was seen to have this stub domain as it is wanted.
    With(StubDomain),
}

/// What is known of an object of which a part is edited.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Reading<'a> {
    /// It was not read yet, or too long ago.
    Unread,
    /// It is not there.
    Absent,
    /// It is there.
    Present(&'a EditedObject),
}

impl<'a> Reading<'a> {
    /// What was read: none before, none inside where the object was not there.
    #[must_use]
    pub fn of(read: Option<&'a Option<EditedObject>>) -> Self {
        match read {
            None => Self::Unread,
            Some(None) => Self::Absent,
            Some(Some(object)) => Self::Present(object),
        }
    }
}

/// What a planner can ask about a cluster. Implementations answer from memory.
pub trait View {
    /// What is known of one object.
    fn see(&self, key: &ObjectKey) -> Seen<'_>;

    /// The objects that carry our marks and this app context's with their proof, in the order of their keys.
    fn marked(&self) -> Vec<(&GroupVersionKind, &ObjectKey, &Sighting)>;

    /// What is in a namespace; none when it was not counted yet.
    fn contents(&self, namespace: &str) -> Option<&Contents>;

    /// The UID of a namespace that this app context made, and that stayed when it was removed, as others had objects in it.
    fn kept(&self, _namespace: &str) -> Option<&Arc<str>> {
        None
    }

    /// A request that is answered and whose result is stored; none when it is not.
    fn answered(&self, request: &str) -> Option<Answered<'_>>;

    /// The edits of objects of other clients that were written, or may have been.
    fn edited(&self) -> &[Edited] {
        &[]
    }

    /// What is known of an object of which a part is edited.
    fn read(&self, _object: &ObjectKey) -> Reading<'_> {
        Reading::Unread
    }

    /// Until when the object is not brought back, however often somebody else changes it; none when it is.
    fn given_up_until(&self, _object: &ObjectKey) -> Option<Timestamp> {
        None
    }

    /// True for a step that was refused, or failed, when it was tried last.
    fn has_failed(&self, _step: &Step) -> bool {
        false
    }
}

/// Why an object is not ready, for the kinds that say so; others are ready when they are there.
fn unready(object: &Object) -> Option<Unready> {
    let body = &object.body;
    let count = |pointer: &str| body.pointer(pointer).and_then(Value::as_i64);
    match &*object.kind.kind {
        "Deployment" | "StatefulSet" if &*object.kind.group == "apps" => {
            let wanted = count("/spec/replicas").unwrap_or(1);
            let ready = match &*object.kind.kind {
                "Deployment" => count("/status/availableReplicas"),
                _ => count("/status/readyReplicas"),
            };
            let current = count("/status/observedGeneration") >= count("/metadata/generation");
            let ready = ready.unwrap_or(0);
            let message = || format!("{ready} of {wanted} replicas are ready").into();
            (!current || ready < wanted).then(|| Unready { message: message(), detail: None })
        }
        "Namespace" if object.deleting.is_some() => remains(body),
        _ => None,
    }
}

/// The conditions by which an API server says what holds a namespace back, in the order in which it works.
const HOLDING_CONDITIONS: [&str; 5] = [
    "NamespaceDeletionDiscoveryFailure",
    "NamespaceDeletionGroupVersionParsingFailure",
    "NamespaceDeletionContentFailure",
    "NamespaceContentRemaining",
    "NamespaceFinalizersRemaining",
];

/// What holds back a namespace that is being deleted: the types of its conditions. In their messages, in the detail, API servers name
/// resources and finalizers, and each other.
fn remains(body: &Value) -> Option<Unready> {
    let conditions = body["status"]["conditions"].as_array()?;
    let held = HOLDING_CONDITIONS.iter().filter_map(|kind| {
        let condition = conditions.iter().find(|condition| condition["type"] == *kind)?;
        let message = condition["message"].as_str().unwrap_or_default();
        (condition["status"] == "True").then(|| (*kind, format!("{kind}: {message}")))
    });
    let (kinds, messages): (Vec<&str>, Vec<String>) = held.unzip();
    let unready = || Unready { message: kinds.join(", ").into(), detail: Some(messages.join("; ").into()) };
    (!kinds.is_empty()).then(unready)
}
