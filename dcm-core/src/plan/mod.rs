//! Plans: what the engine will do to one cluster, as ordered steps, each with its reason.
//!
//! [`plan`] is a pure function of what is desired, what is recorded and what was seen. It makes every choice; whoever
//! executes a plan chooses nothing. The engine plans again after each wave, so a plan never has to foresee what a
//! cluster will answer: an empty plan means *done*.

mod digest;
mod drift;
mod edit;
mod generation;
mod object;
mod outline;
mod request;
mod view;

use std::collections::{BTreeMap, BTreeSet};
use std::fmt;
use std::sync::Arc;

use crate::app_context::{Action, Bundle, Drift, Existing, Generation, Request, Stage};
use crate::corefile::StubDomain;
use crate::fields::{self, HeldField};
use crate::manifest::{GroupVersionKind, Manifest, ObjectKey};
use crate::name::{ContextId, OwnerId};
use crate::port::cluster::{Contents, Origin, Precondition};
use crate::port::synchronizer::{Disposal, Removal};
use crate::status::Cause;

pub use digest::{Changes, Observed, Part, PlanHash, observed_state};
pub use drift::{
    cause as drift_cause, named as named_fields, of_edit as edit_drift_cause, of_marks as tampered_cause,
};
pub use edit::{
    UNANSWERED_MAX as EDIT_UNANSWERED_MAX, members as edited_members, noted as note_edit,
    settle as settle_edit,
};
pub use outline::{Act, LineChange, Outline, OutlinedStep, Rehearsal};
use request::Answer;
pub use request::{RequestWork, certificate_manifest};
pub use view::{
    Answered, CertificateState, Comparison, Desired, EditedObject, Reading, Recorded, Remarks, Seen,
    Sighting, Text, View,
};

/// Who plans, and under which rules.
#[derive(Debug, Clone, Copy)]
pub struct Rules<'a> {
    /// The installation.
    pub owner: &'a OwnerId,
    /// The app context.
    pub context: &'a ContextId,
    /// What removal may do.
    pub removal: Removal,
    /// The generation that is wanted; none where nobody knows, and nothing is to be told from generations.
    pub generation: Option<Generation>,
    /// A generation that the cluster was found to hold and the store did not know of: until a person has said whose
    /// state is true.
    pub ahead: Option<Generation>,
    /// Rights that are wanted no more go although the cluster is ahead: a person asked for that.
    pub withdraws: bool,
    /// A person asked again for what is wanted already: what somebody else deleted is made anew, also where that is not
    /// done without being asked (a namespace, whose contents are lost, and what is only reported).
    pub asked_again: bool,
    /// What is known was told by watches, which may be late to tell that something went: an object that is not recorded is
    /// read by its name before it counts as there.
    pub is_watched: bool,
    /// A request of an earlier generation had no answer, and may still change what is as desired: that is written once more,
    /// so that it is not as that request expects it.
    pub in_doubt: bool,
}

/// The objects that were written for one lane.
pub type Records = BTreeMap<ObjectKey, Recorded>;

/// When a step runs. Waves run in this order: first what is desired, by rising stage, then what is not, by falling
/// stage, so that what replaces an object is there before the old one goes; and last, answered requests are cleared away. Changes and
/// deletions of bindings may come earlier: [`Plan::runnable`].
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Wave {
    /// Brings a stage's objects and requests about.
    Apply(Stage),
    /// Takes away what is not desired; later stages first.
    Remove(std::cmp::Reverse<Stage>),
    /// Clears away the objects of requests that are answered. It never passes another wave: until the answer is stored,
    /// it can be had again from there.
    Tidy,
}

/// One step of a plan: a choice that was made.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Step {
    /// When it runs.
    pub wave: Wave,
    /// Group, version and kind of the object that it is about.
    pub kind: GroupVersionKind,
    /// The object that it is about.
    pub key: ObjectKey,
    /// What is done.
    pub work: Work,
    /// Why.
    pub why: Why,
}

impl Step {
    /// True for what takes a right away, or may do so: the deletion of a binding, and the change of one that is ours.
    #[must_use]
    pub fn withdraws_right(&self) -> bool {
        self.key.is_binding() && (matches!(self.work, Work::Delete { .. }) || self.work.is_update())
    }

    /// True for what ends tokens: the deletion of their ServiceAccount.
    fn ends_tokens(&self) -> bool {
        matches!(self.work, Work::Delete { .. }) && self.key.is_account()
    }

    /// True for what is done before rights are taken away, unless it is refused: making a binding, which may take the place of another
    /// one, and what signs the change.
    fn goes_before_withdrawals(&self) -> bool {
        (matches!(self.work, Work::Create { .. }) && self.key.is_binding()) || self.why == Why::TakesAway
    }

    /// True for a change of a binding, which may take rights away.
    fn changes_binding(&self) -> bool {
        matches!(self.work, Work::Update { .. }) && self.key.is_binding()
    }
}

/// What a step does.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Work {
    /// Reads the object: what was seen so far does not decide.
    Look,
    /// Counts what is in the namespace.
    Count {
        /// Before that, the RoleBindings of other clients there are deleted, as far as the cluster allows it.
        removes_bindings: bool,
    },
    /// Makes the object.
    Create {
        /// As what.
        manifest: Manifest,
    },
    /// Brings the object to its desired state.
    Update {
        /// As what.
        manifest: Manifest,
        /// The state that this is based on.
        observed: Precondition,
        /// Where the object comes from, from now on.
        origin: Origin,
        /// Whose fields it changes.
        terms: Terms,
    },
    /// Deletes the object.
    Delete {
        /// The state that this is based on.
        observed: Precondition,
    },
    /// Takes our marks off the object and leaves it.
    Release {
        /// The state that this is based on.
        observed: Precondition,
        /// Where the object comes from: what only we said of an adopted one goes.
        origin: Origin,
        /// The objects of others that it holds, when they are why it is kept; the bindings of others alone, when all is kept.
        contents: Option<Contents>,
    },
    /// Replaces one member of the data of an object that belongs to other clients.
    Edit {
        /// The state that this is based on.
        observed: Precondition,
        /// The member.
        member: Arc<str>,
        /// Its text.
        text: Arc<str>,
        /// The stub domain that is in the text; none when one is taken out.
        stub: Option<Box<StubDomain>>,
    },
    /// Nothing on the cluster: the record of an edit is brought to what the text says.
    RecordEdit {
        /// The member.
        member: Arc<str>,
        /// The stub domain that is in the text; none when none is.
        stub: Option<Box<StubDomain>>,
    },
    /// Nothing on the cluster: the record is out of date and is dropped.
    Forget,
    /// Clears the recorded UID before the object is made again, so that a crash in between can't make the new object
    /// look foreign.
    Unrecord,
    /// Goes on with a request.
    Request {
        /// The request's name.
        name: Arc<str>,
        /// What is next.
        work: RequestWork,
    },
    /// Waits for the cluster.
    Await(Cause),
    /// Can't be done before somebody changes something.
    Blocked(Cause),
}

/// On which terms an object that is there is updated.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Terms {
    /// Fields that others hold with other values are taken over; else that is a field conflict.
    pub force: bool,
    /// The fields that are why it is updated, and change hands.
    pub taken: Vec<HeldField>,
    /// Fields that are left out of the manifest, to whoever holds them.
    pub left: Vec<HeldField>,
}

impl Terms {
    /// A manifest as it is written: without the fields that are left to others. None where nothing is left that makes an
    /// object.
    #[must_use]
    pub fn manifest(&self, manifest: &Manifest) -> Option<Manifest> {
        if self.left.is_empty() {
            return Some(manifest.clone());
        }
        Manifest::new(fields::without(manifest.body().clone(), &self.left)).ok()
    }
}

impl Work {
    /// True when it only waits: for the cluster, for somebody, or for the answer to a request.
    fn waits(&self) -> bool {
        matches!(
            self,
            Self::Await(_) | Self::Blocked(_) | Self::Request { .. } | Self::RecordEdit { stub: None, .. }
        )
    }

    fn is_update(&self) -> bool {
        matches!(self, Self::Update { origin: Origin::Created, .. })
    }

    /// True when it requests a credential, or approves such a request.
    fn asks(&self) -> bool {
        let Self::Request { work, .. } = self else { return false };
        match work {
            RequestWork::Ask { .. } | RequestWork::Approve { .. } | RequestWork::Token { .. } => true,
            RequestWork::AwaitSigner | RequestWork::Collect { .. } | RequestWork::TryAgain { .. } => false,
        }
    }

    fn is_token(&self) -> bool {
        matches!(self, Self::Request { work: RequestWork::Token { .. }, .. })
    }

    fn collects(&self) -> bool {
        matches!(self, Self::Request { work: RequestWork::Collect { .. }, .. })
    }

    /// True when it changes the cluster.
    #[must_use]
    pub fn is_write(&self) -> bool {
        match self {
            Self::Create { .. }
            | Self::Update { .. }
            | Self::Delete { .. }
            | Self::Release { .. }
            | Self::Edit { .. } => true,
            Self::Request { work, .. } => work.is_write(),
            Self::Count { removes_bindings } => *removes_bindings,
            Self::Look
            | Self::Forget
            | Self::RecordEdit { .. }
            | Self::Unrecord
            | Self::Await(_)
            | Self::Blocked(_) => false,
        }
    }
}

/// Why a step is there.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Why {
    /// The object is desired and missing.
    Missing,
    /// The manifest is another one than was written last.
    ManifestChanged,
    /// Our marks are not on the object as they should be: it is ours by its UID, and another client changed them.
    MarksChanged,
    /// The object was there before and is adopted.
    Adopted,
    /// The object was there before and is overwritten.
    Overwritten,
    /// The namespace was made for this app context, and stayed when that was removed.
    TakenBack,
    /// Somebody else took fields of it.
    Drifted,
    /// The object is not desired any more.
    NotDesired,
    /// The object was adopted, so it is given back.
    WasAdopted,
    /// The object is not desired any more, and is to stay.
    Kept,
    /// The namespace holds objects of others.
    HoldsContents,
    /// The object is not among ours, although it was recorded.
    NotListed,
    /// The object is among ours, although it was not recorded.
    NotRecorded,
    /// An apply, or another command, asks for it to be read again.
    Asked,
    /// The object is gone already.
    AlreadyGone,
    /// The object is being deleted.
    Going,
    /// The binding is being deleted, and held by a finalizer: until it is gone, it binds its subjects.
    StillBinds,
    /// The object is not ready yet.
    NotReady,
    /// The object is not ours.
    NotOurs,
    /// The request is not answered yet.
    NotIssued,
    /// The credential is issued, and is tried again.
    Issued,
    /// The change takes other objects away, and this one says so.
    TakesAway,
    /// An earlier request had no answer, and may still change it.
    InDoubt,
    /// The cluster holds a generation that the store does not know of.
    StoreBehind,
}

impl fmt::Display for Why {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Missing => "it is missing",
            Self::ManifestChanged => "its manifest changed",
            Self::MarksChanged => "its marks changed",
            Self::Adopted => "it was there before and is adopted",
            Self::Overwritten => "it was there before and is overwritten",
            Self::TakenBack => "it was kept when this cloud was taken off, and is taken back",
            Self::Drifted => "another client changed it",
            Self::NotDesired => "it is not desired any more",
            Self::WasAdopted => "it was adopted, so it is given back",
            Self::Kept => "it is not desired any more, and stays",
            Self::HoldsContents => "it holds objects of others",
            Self::NotListed => "it is recorded, but not among ours",
            Self::NotRecorded => "it is among ours, but not recorded",
            Self::Asked => "a command asks for it to be read again",
            Self::AlreadyGone => "it is gone already",
            Self::Going => "it is being deleted",
            Self::StillBinds => "it is being deleted, and still has subjects",
            Self::NotReady => "it is not ready yet",
            Self::NotOurs => "it is not ours",
            Self::NotIssued => "it is not issued yet",
            Self::Issued => "it may no longer be accepted",
            Self::TakesAway => "the change takes others away",
            Self::InDoubt => "an earlier request may still change it",
            Self::StoreBehind => "the store is behind",
        })
    }
}

/// What is left to do to one cluster. Empty: everything is as desired.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Plan {
    steps: Vec<Step>,
    drift: Vec<Cause>,
    ahead: Option<Generation>,
    closed: BTreeSet<Arc<str>>,
    /// The bindings whose steps run beside the first wave.
    beside: BTreeSet<ObjectKey>,
    /// Nothing of the first wave can be done but to wait, or to try once more what failed.
    is_held_up: bool,
}

impl Plan {
    /// Makes a plan that only reads these objects by their names, all at once.
    pub fn reading(objects: impl IntoIterator<Item = (GroupVersionKind, ObjectKey)>) -> Self {
        let step =
            |(kind, key)| Step { wave: Wave::Apply(Stage(0)), kind, key, work: Work::Look, why: Why::Asked };
        Self { steps: objects.into_iter().map(step).collect(), ..Self::default() }
    }

    /// All steps, in order.
    #[must_use]
    pub fn steps(&self) -> &[Step] {
        &self.steps
    }

    /// What somebody else changed or deleted and no step brings back: it is only to be reported.
    #[must_use]
    pub fn drift(&self) -> &[Cause] {
        &self.drift
    }

    /// The newest generation on the cluster that the store does not know of. With one nothing is written: the steps
    /// tell what differs.
    #[must_use]
    pub fn ahead(&self) -> Option<Generation> {
        self.ahead
    }

    /// True for what is in a namespace that is desired and somebody else's. What is there without our marks is not to be looked at:
    /// else whoever plans or applies could ask what is in any namespace, by naming it and what may be in it.
    #[must_use]
    pub fn is_closed(&self, key: &ObjectKey) -> bool {
        key.namespace.as_ref().is_some_and(|namespace| self.closed.contains(namespace))
    }

    /// The steps that may run now, together.
    ///
    /// These are the steps of the first wave, and beside them changes and deletions of existing bindings, once all missing bindings are
    /// made. So a client that changes another object again and again, and makes each write of it fail with a conflict, keeps no
    /// rights.
    ///
    /// If every step of the first wave waits or has failed, more steps run: reads, updates of existing objects, the first wave of
    /// removals, and all that takes rights away or ends tokens. So a silent signer, a foreign object, a finalizer or a refusal
    /// keeps no rights alive. Certificates that a signer issued are stored then, too, before Kubernetes deletes them.
    pub fn runnable(&self) -> impl Iterator<Item = &Step> {
        let first = self.steps.first().map(|step| step.wave);
        let mut waves = self.steps.iter().map(|step| step.wave);
        // A text that can't be changed safely keeps nothing else from being removed.
        let removal = waves.find(|wave| matches!(wave, Wave::Remove(_)) && *wave != edit::UNDO);
        self.steps.iter().filter(move |step| {
            let takes_away = Some(step.wave) == removal
                || step.wave == edit::UNDO
                || step.withdraws_right()
                || step.ends_tokens();
            let is_update = step.work.is_update() || step.work.collects();
            let passes = step.work == Work::Look || is_update || takes_away;
            Some(step.wave) == first || (self.is_held_up && passes) || self.beside.contains(&step.key)
        })
    }

    /// True when nothing is left to do.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.steps.is_empty()
    }

    /// True when there is something to read before anything can be chosen, and nothing else.
    #[must_use]
    pub fn only_looks(&self) -> bool {
        !self.steps.is_empty() && self.steps.iter().all(|step| step.work == Work::Look)
    }

    /// True when everything is as desired, but for answered requests that are still to be cleared away.
    #[must_use]
    pub fn is_fulfilled(&self) -> bool {
        self.steps.iter().all(|step| step.wave == Wave::Tidy)
    }
}

/// Plans one lane: what is left to do so that the cluster holds the bundle (none: nothing of this app context).
#[must_use]
pub fn plan(rules: &Rules<'_>, desired: Option<&Bundle>, recorded: &Records, view: &dyn View) -> Plan {
    let desired_steps = desired.map_or(&[][..], Bundle::steps);
    let mut plan = Plan { closed: closed(rules, desired_steps, recorded, view), ..Plan::default() };
    let mut steps = Vec::new();
    for step in desired_steps {
        let wave = Wave::Apply(step.stage);
        match &step.action {
            Action::Apply { manifest, existing, drift: policy } => {
                let wanted = Wanted { manifest, existing: *existing, drift: policy };
                let chosen = if plan.is_closed(manifest.key()) {
                    object::desire_what_is_ours(rules, wave, &wanted, recorded, view)
                } else {
                    object::desire(rules, wave, &wanted, recorded, view)
                };
                steps.extend(chosen.step);
                plan.drift.extend(chosen.drift);
            }
            Action::Edit { edit } => {
                let chosen = edit::desire(rules, wave, edit, view);
                steps.extend(chosen.step);
                plan.drift.extend(chosen.drift);
            }
            Action::Request { name, request } => {
                steps.extend(request::desire(wave, name, request, view));
            }
        }
    }
    // Rights that are taken away are not to stay: only what all of a cloud leaves is kept.
    let delete = Removal { objects: Some(Disposal::Delete), bindings: None, ..rules.removal };
    let removal = if desired.is_some() { delete } else { rules.removal };
    steps.extend(unwanted(&Rules { removal, ..*rules }, desired_steps, recorded, view));
    let targets: BTreeSet<_> =
        desired.into_iter().flat_map(Bundle::edits).map(|(_, edit)| &edit.target).collect();
    let undesired = view.edited().iter().filter(|edited| !targets.contains(&edited.target));
    steps.extend(undesired.map(|edited| edit::undo(edited, view)));
    plan.ahead = generation::ahead(rules, desired_steps, view).max(rules.ahead);
    if let Some(ahead) = plan.ahead {
        plan.steps = generation::halted(ahead, steps, rules, view);
        return plan;
    }
    steps.extend(generation::sign(rules, desired_steps, &steps, recorded, view));
    ask_ahead(&mut steps, desired_steps);
    steps.sort_by_key(|step| (step.wave, !step.work.asks()));
    let first = steps.first().map(|step| step.wave);
    let mut front = steps.iter().take_while(|step| Some(step.wave) == first);
    plan.is_held_up = front.all(|step| step.work.waits() || view.has_failed(step));
    plan.beside = beside(&steps, view);
    plan.steps = steps;
    plan
}

/// The bindings whose steps run beside the first wave. What was refused is tried again in its turn: each try shuts the lane for a
/// while.
fn beside(steps: &[Step], view: &dyn View) -> BTreeSet<ObjectKey> {
    if steps.iter().any(|step| step.goes_before_withdrawals() && !view.has_failed(step)) {
        return BTreeSet::new();
    }
    let withdrawals = steps.iter().filter(|step| step.withdraws_right() && !view.has_failed(step));
    withdrawals.map(|step| step.key.clone()).collect()
}

/// Desired namespaces that are somebody else's.
fn closed(
    rules: &Rules<'_>,
    desired: &[crate::app_context::Step],
    recorded: &Records,
    view: &dyn View,
) -> BTreeSet<Arc<str>> {
    let anothers = |step: &crate::app_context::Step| {
        let Action::Apply { manifest, existing, drift } = &step.action else { return None };
        let wanted = Wanted { manifest, existing: *existing, drift };
        let is_namespace = manifest.kind().is_namespace();
        let chosen = is_namespace
            .then(|| object::desire(rules, Wave::Apply(step.stage), &wanted, recorded, view).step)??;
        (chosen.why == Why::NotOurs).then(|| manifest.key().name.clone())
    };
    desired.iter().filter_map(anothers).collect()
}

/// The desired objects, in the order of their stages: a namespace comes first.
fn manifests(desired: &[crate::app_context::Step]) -> impl Iterator<Item = (Stage, &Manifest)> {
    desired.iter().filter_map(|step| match &step.action {
        Action::Apply { manifest, .. } => Some((step.stage, manifest)),
        Action::Edit { .. } | Action::Request { .. } => None,
    })
}

/// A desired object, with what is done about others who touch it.
struct Wanted<'a> {
    manifest: &'a Manifest,
    existing: Existing,
    drift: &'a Drift,
}

/// Credentials take longest, and the signer's time is not ours: they are asked for, and certificates approved, beside
/// whatever is done after the first stage, and a certificate is collected in its own stage. They give no right that the user, or the
/// ServiceAccount, is not bound to already.
///
/// Not beside the first stage: a lane whose namespace is refused asks for nothing. Not before a binding is changed: a refused
/// request makes its lane wait, and what takes rights away waits for no request. A token is asked for once its
/// ServiceAccount is as desired: one that is another's gets none.
fn ask_ahead(steps: &mut [Step], desired: &[crate::app_context::Step]) {
    let opening = desired.first().map(|step| Wave::Apply(step.stage));
    let front = steps.iter().map(|step| step.wave).min();
    let Some(front) = front.filter(|front| Some(*front) > opening) else { return };
    if steps.iter().any(Step::changes_binding) {
        return;
    }
    let mut settled = BTreeSet::new();
    if steps.iter().any(|step| step.work.is_token()) {
        settled.extend(manifests(desired).map(|(_, manifest)| manifest.key()));
        for step in steps.iter().filter(|step| !step.work.is_token()) {
            settled.remove(&step.key);
        }
    }
    let is_asked_ahead =
        |step: &&mut Step| step.work.asks() && (!step.work.is_token() || settled.contains(&step.key));
    steps.iter_mut().filter(is_asked_ahead).for_each(|step| step.wave = front);
}

/// Steps for what is recorded, or carries our marks, and is not desired.
fn unwanted(
    rules: &Rules<'_>,
    desired: &[crate::app_context::Step],
    recorded: &Records,
    view: &dyn View,
) -> Vec<Step> {
    let wanted: BTreeSet<&ObjectKey> = manifests(desired).map(|(_, manifest)| manifest.key()).collect();
    let mut steps: Vec<Step> = recorded
        .iter()
        .filter(|(key, _)| !wanted.contains(key))
        .filter_map(|(key, record)| object::remove(rules, key, record, view))
        .collect();
    for (kind, key, sighting) in view.marked() {
        if wanted.contains(key) || recorded.contains_key(key) {
            continue;
        }
        let answered = match request::answer(desired, key, view) {
            Some(Answer::Open) => continue,
            Some(Answer::Stored) => true,
            None => false,
        };
        let origin = sighting.marks.as_ref().map(|marks| marks.origin).unwrap_or_default();
        let stage = if kind.is_namespace() { Stage(0) } else { Stage(u16::MAX) };
        let kind = kind.clone();
        let stray =
            Recorded { kind, uid: None, may_be_gone: false, manifest: None, origin, stage, stored: None };
        let step = object::remove(rules, key, &stray, view);
        steps.extend(step.map(|step| if answered { Step { wave: Wave::Tidy, ..step } } else { step }));
    }
    steps
}

/// The key of the object through which a request is made, when there is one.
#[must_use]
pub fn request_key(request: &Request) -> Option<ObjectKey> {
    match request {
        Request::Certificate(certificate) => Some(certificate.object()),
        Request::Token(_) => None,
    }
}

#[cfg(test)]
mod tests;
