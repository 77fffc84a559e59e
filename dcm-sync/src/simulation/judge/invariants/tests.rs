//! Each rule can fail: what violates it, made by hand, beside what does not.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use dcm_core::app_context::{
    Action, AppContext, Bundle, Drift, Existing, Generation, Request, Stage, Step, TokenRequest,
};
use dcm_core::manifest::{Manifest, ObjectKey};
use dcm_core::name::AppName;
use dcm_core::plan::{Observed, Recorded};
use dcm_core::port::cluster::{ClusterUid, Deletion, Fence, Object, Origin, Precondition};
use dcm_core::port::store::{Document, Path, Store as _, Write};
use dcm_core::port::synchronizer::{Disposal, Removal};
use dcm_core::status::{Intent, LaneState};
use futures::FutureExt as _;
use futures::future::BoxFuture;
use serde::Serialize;
use serde_json::{Value, json};

use super::super::super::executor::ProcessId;
use super::super::super::scenario::Scenario;
use super::super::super::wish::context_id;
use super::super::super::world::{Ports, World};
use super::super::{Judge, Scene, Violation};
use super::INVARIANTS;
use crate::record::{Lane, Planned, Root, manifest_document, path};
use crate::sim::{Latency, Verb, cluster_id};
use crate::simulation::events::{Asked, Deed, Event, Handled, Sent, Written};

const UID: &str = "a-uid";

const OURS: &str = "nothing is deleted or changed that we did not make";

/// A world in which nothing happens but what a test says.
struct Staged<'a> {
    world: World<'a>,
    judge: Judge,
}

fn nobody(_: Ports) -> BoxFuture<'static, ()> {
    futures::future::pending().boxed()
}

impl Staged<'_> {
    fn new() -> Self {
        let scenario = Scenario { clusters: 1, latency: Latency::default(), ..Scenario::of(1) };
        Self { world: World::new(&scenario, &nobody), judge: Judge::new() }
    }

    /// Something happens.
    fn see(&mut self, event: &Event) -> Result<(), Violation> {
        let judged = self.judge.hold(&self.world, event);
        self.judge.facts.take_in(event, self.world.now());
        judged
    }

    /// A record is written.
    fn store(&mut self, path: Path, record: &impl Serialize) -> Result<(), Violation> {
        self.store_document(path, Document::from_value(record).unwrap())
    }

    fn store_document(&mut self, path: Path, document: Document) -> Result<(), Violation> {
        let write = Write::Create { path, document };
        self.world.store().write(&[write]).now_or_never().unwrap().unwrap();
        self.judge.look(&self.world, &mut |_| ())
    }

    /// An app context is stored as it is in a generation.
    fn desire(&mut self, context: &AppContext, change: impl FnOnce(&mut Root)) -> Root {
        let mut root = Root::of(context, Generation(1));
        change(&mut root);
        for manifest in manifests(context) {
            let document = manifest_document(&manifest).unwrap();
            self.store_document(path::manifest(&context.id, manifest.hash()), document).unwrap();
        }
        self.store(path::root(&context.id), &root).unwrap();
        root
    }

    /// A record that says that a lane is done, and names nothing.
    fn done(&self, root: &Root) -> Lane {
        let (state, bundle) = (LaneState::Done, root.wanted(&cluster_id(1)));
        Lane { state, bundle, generation: root.generation, ..Lane::untouched(self.world.now()) }
    }

    fn handled(&self, deed: Deed) -> Handled {
        let (at, cluster, context) = (self.world.now(), cluster_id(1), Some(context_id(1)));
        Handled { at, cluster, context, generation: Generation(1), fence: Fence(1), before: None, deed }
    }

    fn scene(&self) -> Scene<'_> {
        Scene { facts: &self.judge.facts, meddled: &self.judge.meddled, world: &self.world }
    }

    /// Whether a rule holds at an event, whatever others say.
    fn holds(&self, rule: &str, event: &Event) -> bool {
        let rule = INVARIANTS.iter().find(|invariant| invariant.name == rule).unwrap();
        (rule.holds)(&self.scene(), event).is_ok()
    }
}

fn namespace() -> Value {
    json!({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": "team"}})
}

fn config_map() -> Value {
    json!({"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "one", "namespace": "team"}})
}

fn apply(body: Value, existing: Existing) -> Action {
    Action::Apply { manifest: Manifest::new(body).unwrap(), existing, drift: Drift::default() }
}

fn token() -> TokenRequest {
    TokenRequest { namespace: "team".into(), service_account: "ci".into(), lifetime_seconds: None }
}

/// An app context on the one cluster.
fn context(actions: impl IntoIterator<Item = Action>) -> AppContext {
    let step = |action| Step { app: AppName::new("app").unwrap(), stage: Stage(0), action };
    let bundle = Arc::new(Bundle::new(actions.into_iter().map(step).collect()).unwrap());
    AppContext {
        id: context_id(1),
        labels: BTreeMap::new(),
        removal: Removal::default(),
        placements: [(cluster_id(1), bundle)].into(),
    }
}

fn manifests(context: &AppContext) -> Vec<Manifest> {
    let steps = context.placements.values().flat_map(|bundle| bundle.steps());
    let made = steps.filter_map(|step| match &step.action {
        Action::Apply { manifest, .. } => Some(manifest.clone()),
        Action::Edit { .. } | Action::Request { .. } => None,
    });
    made.collect()
}

fn key(body: Value) -> ObjectKey {
    Manifest::new(body).unwrap().key().clone()
}

fn written(body: Value) -> Written {
    Written { key: key(body), uid: UID.into(), marks: None }
}

/// An object without marks, as it is on the cluster.
fn there(body: &Value) -> Object {
    let manifest = Manifest::new(body.clone()).unwrap();
    Object {
        kind: manifest.kind().clone(),
        key: manifest.key().clone(),
        uid: UID.into(),
        resource_version: "1".into(),
        marks: None,
        deleting: None,
        body: Arc::new(body.clone()),
    }
}

fn deleted(body: Value) -> Deed {
    let observed = Precondition { uid: UID.into(), resource_version: "1".into() };
    Deed::Deleted { key: key(body), observed, deletion: Deletion::Gone }
}

#[test]
fn a_deletion_of_what_somebody_else_made_is_seen() {
    let mut stage = Staged::new();
    let deletion = Event::Handled(stage.handled(deleted(config_map())));
    assert!(!stage.holds(OURS, &deletion));
    let made = stage.handled(Deed::Created(written(config_map())));
    stage.judge.facts.take_in(&Event::Handled(made), stage.world.now());
    assert!(stage.holds(OURS, &deletion));
}

#[test]
fn a_token_of_an_account_that_somebody_else_made_is_seen() {
    let rule = "no token is asked for of an account that we did not make";
    let mut stage = Staged::new();
    let account = json!({"apiVersion": "v1", "kind": "ServiceAccount", "metadata": {"name": "ci", "namespace": "team"}});
    let issued = stage.handled(Deed::Token("team/ci".into()));
    let issued = Event::Handled(Handled { before: Some(Box::new(there(&account))), ..issued });
    assert!(!stage.holds(rule, &issued));
    let made = stage.handled(Deed::Created(written(account)));
    stage.judge.facts.take_in(&Event::Handled(made), stage.world.now());
    assert!(stage.holds(rule, &issued));
}

#[test]
fn a_record_that_speaks_of_what_another_one_has_is_seen() {
    for (is_wanted, is_right) in [(true, true), (false, false)] {
        let mut stage = Staged::new();
        let root = stage.desire(&context([apply(namespace(), Existing::Refuse)]), |_| ());
        let object = if is_wanted { namespace() } else { config_map() };
        let manifest = Manifest::new(object).unwrap();
        let record = Recorded {
            kind: manifest.kind().clone(),
            uid: None,
            may_be_gone: false,
            manifest: None,
            origin: Origin::Created,
            stage: Stage(0),
            stored: None,
        };
        let objects = [(manifest.key().clone(), record)].into();
        let lane = Lane { state: LaneState::Pending, objects, ..stage.done(&root) };
        let write = Write::Create {
            path: path::lane(&context_id(1), &cluster_id(1)),
            document: Document::from_value(&lane).unwrap(),
        };
        assert_eq!(
            stage.holds("one cloud's objects change nothing of another", &Event::Stored(write)),
            is_right
        );
    }
}

#[test]
fn a_change_of_what_somebody_else_made_is_seen_unless_a_step_takes_it_over() {
    for (existing, is_right) in
        [(Existing::Refuse, false), (Existing::Adopt, true), (Existing::Overwrite, true)]
    {
        let mut stage = Staged::new();
        stage.desire(&context([apply(config_map(), existing)]), |_| ());
        let updated = stage.handled(Deed::Changed(Verb::Update, written(config_map())));
        assert_eq!(stage.holds(OURS, &Event::Handled(updated)), is_right, "{existing:?}");
        let other = stage.handled(Deed::Changed(Verb::Update, written(namespace())));
        assert!(!stage.holds(OURS, &Event::Handled(other)), "no step is about it");
    }
}

#[test]
fn what_a_removal_was_to_keep_or_to_delete_and_did_not_is_seen() {
    let rule = "a removal keeps what it is to keep";
    for (disposal, keeps) in [(Disposal::Delete, false), (Disposal::Keep, true)] {
        let mut stage = Staged::new();
        stage.desire(&context([apply(config_map(), Existing::Refuse)]), |root| {
            root.intent = Intent::Absent;
            root.removal = Removal { objects: Some(disposal), ..Removal::default() };
        });
        let made = stage.handled(Deed::Created(written(config_map())));
        stage.judge.facts.take_in(&Event::Handled(made), stage.world.now());
        let deletion = Event::Handled(stage.handled(deleted(config_map())));
        assert_eq!(stage.holds(rule, &deletion), !keeps);
        let release = stage.handled(Deed::Changed(Verb::Release, written(config_map())));
        assert_eq!(stage.holds(rule, &Event::Handled(release)), keeps);
    }
}

#[test]
fn a_binding_that_is_kept_with_all_the_rest_and_was_to_end_is_seen() {
    let rule = "a removal keeps what it is to keep";
    let binding = || {
        json!({"apiVersion": "rbac.authorization.k8s.io/v1", "kind": "RoleBinding",
               "metadata": {"name": "reader", "namespace": "team"}})
    };
    for (bindings, ends) in [(None, false), (Some(Disposal::Delete), true)] {
        let mut stage = Staged::new();
        stage.desire(&context([apply(binding(), Existing::Refuse)]), |root| {
            root.intent = Intent::Absent;
            root.removal = Removal { objects: Some(Disposal::Keep), bindings, ..Removal::default() };
        });
        let made = stage.handled(Deed::Created(written(binding())));
        stage.judge.facts.take_in(&Event::Handled(made), stage.world.now());
        let deletion = Event::Handled(stage.handled(deleted(binding())));
        assert_eq!(stage.holds(rule, &deletion), ends);
        let release = stage.handled(Deed::Changed(Verb::Release, written(binding())));
        assert_eq!(stage.holds(rule, &Event::Handled(release)), !ends);
    }
}

#[test]
fn a_namespace_without_a_claim_is_seen() {
    let mut stage = Staged::new();
    stage.desire(&context([apply(namespace(), Existing::Refuse)]), |_| ());
    let made = Event::Handled(stage.handled(Deed::Created(written(namespace()))));
    assert!(!stage.holds("no namespace is made without a claim", &made));
}

#[test]
fn a_write_under_an_older_fence_or_of_an_older_generation_is_seen() {
    let mut stage = Staged::new();
    let newer = Handled {
        fence: Fence(2),
        generation: Generation(2),
        ..stage.handled(Deed::Created(written(config_map())))
    };
    stage.judge.facts.take_in(&Event::Handled(newer), stage.world.now());
    let older = Event::Handled(stage.handled(Deed::Changed(Verb::Update, written(config_map()))));
    assert!(!stage.holds("an older fence overwrites no newer one", &older));
    assert!(!stage.holds("an older generation overwrites no newer one", &older));
}

#[test]
fn a_write_for_what_is_paused_for_long_is_seen() {
    let rule = "paused work stands still";
    let mut stage = Staged::new();
    stage.desire(&context([apply(config_map(), Existing::Refuse)]), |root| root.paused = true);
    let soon = stage.handled(Deed::Created(written(config_map())));
    let late = Handled { at: soon.at + Duration::from_secs(91), ..soon.clone() };
    assert!(stage.holds(rule, &Event::Handled(soon)));
    assert!(!stage.holds(rule, &Event::Handled(late)));
}

#[test]
fn a_write_that_is_bound_to_a_plan_and_not_as_planned_is_seen() {
    let rule = "what is bound to a plan is done as planned";
    let mut stage = Staged::new();
    let manifest = Manifest::new(config_map()).unwrap();
    let mut observed = Observed::new(ClusterUid("a-cluster".into()));
    observed.absent(manifest.kind(), manifest.key());
    stage.see(&Event::Looked(observed.clone())).unwrap();
    stage.desire(&context([apply(config_map(), Existing::Refuse)]), |root| {
        root.planned = Planned { number: 1, clusters: [(cluster_id(1), observed.state())].into() };
    });
    let made = stage.handled(Deed::Created(written(config_map())));
    assert!(!stage.holds(rule, &Event::Handled(made.clone())), "nobody has stored that it is as planned");
    let checked = Lane { checked: 1, fence: Fence(1), ..Lane::untouched(stage.world.now()) };
    stage.store(path::lane(&context_id(1), &cluster_id(1)), &checked).unwrap();
    let there = there(&config_map());
    let deed = Deed::Changed(Verb::Update, written(config_map()));
    let over = Event::Handled(Handled { before: Some(Box::new(there)), ..stage.handled(deed) });
    assert!(!stage.holds(rule, &over), "somebody has made it meanwhile");
    assert!(stage.holds(rule, &Event::Handled(made.clone())));
    stage.judge.facts.take_in(&Event::Handled(made), stage.world.now());
    assert!(stage.holds(rule, &over), "it was written for this plan");
}

#[test]
fn a_process_that_goes_round_in_circles_is_seen() {
    assert!(!Staged::new().holds("nobody goes round in circles", &Event::Spun(ProcessId(1))));
}

#[test]
fn a_second_request_for_a_token_is_seen_while_the_first_is_awaited() {
    let rule = "no two requests for one credential live";
    let mut stage = Staged::new();
    let request = Action::Request { name: "ci/1".into(), request: Request::Token(token()) };
    stage.desire(&context([request]), |_| ());
    let sent = |process| Sent {
        process: ProcessId(process),
        at: stage.world.now(),
        cluster: cluster_id(1),
        verb: Verb::IssueToken,
        context: Some(context_id(1)),
        generation: Generation(1),
        asks_for: Some(Asked::Token(token())),
    };
    let (one, other) = (sent(1), sent(2));
    stage.see(&Event::Sent(one.clone())).unwrap();
    assert!(!stage.holds(rule, &Event::Sent(one.clone())));
    assert!(stage.holds(rule, &Event::Sent(other)), "another process knows nothing of it");
    stage.see(&Event::Ended(one.clone())).unwrap();
    assert!(stage.holds(rule, &Event::Sent(one)));
}

#[test]
fn a_record_that_leaves_out_what_is_wanted_is_seen() {
    let request = Action::Request { name: "ci/1".into(), request: Request::Token(token()) };
    for (action, words) in [(apply(config_map(), Existing::Refuse), "ConfigMap"), (request, "ci/1")] {
        let mut stage = Staged::new();
        let root = stage.desire(&context([action]), |_| ());
        let lane = stage.done(&root);
        let violation = stage.store(path::lane(&context_id(1), &cluster_id(1)), &lane).unwrap_err();
        assert_eq!(violation.invariant, "a status claims only what is");
        assert!(violation.details.contains(words), "{violation}");
    }
}
