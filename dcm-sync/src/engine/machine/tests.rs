//! What the state machine does of itself, without a shell.

use dcm_core::app_context::{Action, AppContext, Existing, Generation, Stage, Step};
use dcm_core::manifest::{GroupVersionKind, Manifest};
use dcm_core::name::AppName;
use dcm_core::port::cluster::{ClusterUid, Fence, Marks, Object, Origin, Stamped, WatchEvent};
use dcm_core::port::proof::{PROOF_BYTES, ProofKey};
use dcm_core::port::store::{self, Path};
use dcm_core::port::synchronizer::Removal;
use dcm_core::status::LaneState;
use serde_json::json;

use super::*;
use crate::contexts::Loaded;
use crate::engine::io::Identified;
use crate::engine::options::Acquire;
use crate::record::{self, SCHEMA, WorkerId};

#[test]
fn a_context_that_changes_while_it_is_read_is_read_once_more_afterwards() {
    let now = Timestamp::UNIX_EPOCH;
    let mut machine = Machine::new(Options::default(), 1, now);
    let id = ContextId::new("lc-1").unwrap();
    let changed = || Input::ContextChanged(id.clone());
    let loaded = || Input::ContextLoaded(id.clone(), Ok(None));
    let mut reads = |input| {
        let effects = machine.handle(input, now);
        effects.iter().filter(|effect| matches!(effect, Effect::LoadContext(_))).count()
    };
    assert_eq!(reads(Input::Listed(ProofKey::new(&[1; PROOF_BYTES]))), 0);
    assert_eq!(reads(Input::SessionSaved(Ok(Version(1)))), 0);
    assert_eq!([reads(changed()), reads(changed()), reads(changed())], [1, 0, 0]);
    assert_eq!([reads(loaded()), reads(loaded())], [1, 0]);
}

fn context_id() -> ContextId {
    ContextId::new("lc-1").unwrap()
}

/// A context with a namespace on one cluster, as the store gives it.
fn loaded() -> Loaded {
    let body = json!({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": "team"}});
    let action = Action::Apply {
        manifest: Manifest::new(body).unwrap(),
        existing: Existing::Refuse,
        drift: Default::default(),
    };
    let step = Step { app: AppName::new("app").unwrap(), stage: Stage(0), action };
    let bundle = Arc::new(Bundle::new(vec![step]).unwrap());
    let placements = [("p/c".parse().unwrap(), bundle.clone())].into();
    let context =
        AppContext { id: context_id(), labels: BTreeMap::new(), removal: Removal::default(), placements };
    let root = Root::of(&context, Generation(1));
    Loaded { root, version: Version(1), bundles: [(bundle.hash(), bundle)].into(), lanes: BTreeMap::new() }
}

/// A machine that has reached the context's cluster, and the watches that it opened.
fn connected(now: Timestamp) -> (Machine, Vec<(ClusterId, Epoch, GroupVersionKind)>) {
    connected_with(Options::default(), now)
}

fn connected_with(options: Options, now: Timestamp) -> (Machine, Vec<(ClusterId, Epoch, GroupVersionKind)>) {
    let mut machine = Machine::new(options, 1, now);
    let cluster: ClusterId = "p/c".parse().unwrap();
    machine.handle(Input::Listed(ProofKey::new(&[1; PROOF_BYTES])), now);
    machine.handle(Input::SessionSaved(Ok(Version(1))), now);
    machine.handle(Input::ContextChanged(context_id()), now);
    machine.handle(Input::ContextLoaded(context_id(), Ok(Some(loaded()))), now);
    let effects = machine.handle(Input::ShardSaved(cluster.clone(), Ok(Version(1))), now);
    let epoch = effects.iter().find_map(|effect| match effect {
        Effect::Connect(_, epoch) => Some(*epoch),
        _ => None,
    });
    let uid = ClusterUid("uid".into());
    let effects = machine
        .handle(Input::Connected(cluster, epoch.unwrap(), Ok(Identified { uid, first: Ok(None) })), now);
    (machine, watches(effects))
}

fn watches(effects: Vec<Effect>) -> Vec<(ClusterId, Epoch, GroupVersionKind)> {
    let watch = |effect| match effect {
        Effect::Watch(cluster, epoch, kind, _) => Some((cluster, epoch, kind)),
        _ => None,
    };
    effects.into_iter().filter_map(watch).collect()
}

#[test]
fn an_alarm_for_a_watch_that_is_open_again_opens_no_second_one() {
    let now = Timestamp::UNIX_EPOCH;
    let (mut machine, opened) = connected(now);
    let [(cluster, epoch, kind)] = &opened[..] else { panic!("{opened:?}") };
    let ended = Input::Watched(cluster.clone(), *epoch, kind.clone(), Ok(None));
    assert_eq!(watches(machine.handle(ended, now)), []);
    // Somebody asks for the context again, and so for the watch, before the alarm for the next try rings.
    assert_eq!(watches(machine.handle(Input::ContextChanged(context_id()), now)), []);
    let changed = Loaded { version: Version(2), ..loaded() };
    let reopened = machine.handle(Input::ContextLoaded(context_id(), Ok(Some(changed))), now);
    assert_eq!(watches(reopened), opened);
    let later = now + Options::default().retry_max;
    assert_eq!(watches(machine.handle(Input::Wake, later)), []);
}

#[test]
fn an_answer_that_comes_after_its_object_went_does_not_bring_it_back() {
    let mut machine = Machine::new(Options::default(), 1, Timestamp::UNIX_EPOCH);
    let shard = machine.shard_mut(&"p/c".parse().unwrap());
    let manifest =
        Manifest::new(json!({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": "team"}}));
    let manifest = manifest.unwrap();
    let in_version = |resource_version: &str| Object {
        kind: manifest.kind().clone(),
        key: manifest.key().clone(),
        uid: "u".into(),
        resource_version: resource_version.into(),
        marks: None,
        deleting: None,
        body: Arc::new(json!({})),
    };
    // The answer is still to come.
    shard.requests = 1;
    shard.told_gone(&in_version("9"));
    assert!(shard.is_gone(&in_version("8")));
    assert!(!shard.is_gone(&in_version("10")), "it was given back, and then taken over again");
    assert!(!shard.is_gone(&in_version("8")), "it is there");
}

/// The records of clusters that are to be stored, with their owners.
fn saved_shards(effects: &[Effect]) -> Vec<Option<WorkerId>> {
    let owner = |effect: &Effect| match effect {
        Effect::SaveShard { record, .. } => Some(record.owner.clone()),
        _ => None,
    };
    effects.iter().filter_map(owner).collect()
}

fn begins_work(effects: &[Effect]) -> bool {
    effects.iter().any(|effect| matches!(effect, Effect::SaveLane(_) | Effect::Call(_)))
}

fn unanswered() -> store::Error {
    store::Error::Unavailable { source: Arc::new(std::io::Error::other("no answer")) }
}

#[test]
fn a_cluster_that_may_have_been_given_back_is_left_alone_until_it_is_known_whose_it_is() {
    let now = Timestamp::UNIX_EPOCH;
    let acquire = Acquire::PendingOf([context_id()].into());
    let (mut machine, opened) = connected_with(Options { acquire, ..Options::default() }, now);
    let [(cluster, epoch, kind)] = &opened[..] else { panic!("{opened:?}") };
    machine.handle(Input::ShardSaved(cluster.clone(), Ok(Version(2))), now);
    let loads = |machine: &mut Machine, paused: bool, version: u64| {
        machine.handle(Input::ContextChanged(context_id()), now);
        let Loaded { root, .. } = loaded();
        let changed = Loaded { root: Root { paused, ..root }, version: Version(version), ..loaded() };
        machine.handle(Input::ContextLoaded(context_id(), Ok(Some(changed))), now)
    };
    assert_eq!(saved_shards(&loads(&mut machine, true, 2)), [None], "nobody needs it");
    machine.handle(Input::ShardSaved(cluster.clone(), Err(unanswered())), now);
    assert!(!begins_work(&loads(&mut machine, false, 3)));
    let listed = Input::Watched(cluster.clone(), *epoch, kind.clone(), Ok(Some(WatchEvent::Listed(vec![]))));
    assert!(!begins_work(&machine.handle(listed, now)));

    // What was begun is finished, also where there is something to tidy up.
    let id = LaneId { cluster: cluster.clone(), context: context_id() };
    let wanted = machine.contexts[&context_id()].wanted(cluster);
    let lane = machine.lane_mut(&id).unwrap();
    (lane.record.state, lane.record.bundle, lane.record.untidy) = (LaneState::Done, wanted, true);
    let later = now + Options::default().retry_min;
    assert_eq!(saved_shards(&machine.handle(Input::Wake, later)), [None]);
    let conflict = store::Error::Conflict { path: Path::new("shards/p/c").unwrap(), found: None };
    assert!(!begins_work(&machine.handle(Input::ShardSaved(cluster.clone(), Err(conflict)), later)));
    machine.lane_mut(&id).unwrap().record.bundle = None;
    // Somebody had changed another thing of it, and it is ours.
    let owner = Some(machine.session.worker.clone());
    let identity = machine.identity(cluster).cloned();
    let record = record::Shard { schema: SCHEMA, owner, fence: Fence(1), identity, ..Default::default() };
    let changed = Input::ShardChanged(cluster.clone(), Some((record, Version(3))));
    assert!(begins_work(&machine.handle(changed, later)));
}

/// The sessions that are to be stored, over which versions.
fn saved_sessions(effects: &[Effect]) -> Vec<(WorkerId, Option<Version>)> {
    let session = |effect: &Effect| match effect {
        Effect::SaveSession { worker, version, .. } => Some((worker.clone(), *version)),
        _ => None,
    };
    effects.iter().filter_map(session).collect()
}

#[test]
fn a_renewal_whose_answer_was_lost_is_known_by_its_version_and_costs_no_cluster() {
    let mut now = Timestamp::UNIX_EPOCH;
    let (mut machine, _) = connected(now);
    let worker = machine.session.worker.clone();
    let renewal = Options::default().lease / 3;
    now += renewal;
    assert_eq!(saved_sessions(&machine.handle(Input::Wake, now)), [(worker.clone(), Some(Version(1)))]);
    machine.handle(Input::SessionSaved(Err(unanswered())), now);
    now += renewal;
    assert_eq!(saved_sessions(&machine.handle(Input::Wake, now)), [(worker.clone(), Some(Version(1)))]);
    let conflict = |found| {
        let path = Path::new("workers/w").unwrap();
        Input::SessionSaved(Err(store::Error::Conflict { path, found }))
    };
    let effects = machine.handle(conflict(Some(Version(2))), now);
    assert_eq!(saved_sessions(&effects), [(worker.clone(), Some(Version(2)))]);
    assert!(!effects.iter().any(|effect| matches!(effect, Effect::Disconnect(_))));
    // Somebody else has ended it.
    let effects = machine.handle(conflict(None), now);
    assert!(effects.iter().any(|effect| matches!(effect, Effect::Disconnect(_))));
    let [(other, None)] = &saved_sessions(&effects)[..] else { panic!("a new session") };
    assert_ne!(*other, worker);
}

/// An object of the context in this version, with our marks and their proof.
fn ours(name: &str, resource_version: &str) -> Object {
    let body = json!({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": name}});
    let manifest = Manifest::new(body).unwrap();
    let marks = Marks {
        owner: Options::default().owner,
        context: context_id(),
        generation: Generation(1),
        manifest: None,
        origin: Origin::Created,
    };
    let key = ProofKey::new(&[1; PROOF_BYTES]).on(&ClusterUid("uid".into()));
    let proof = Some(key.prove(manifest.key(), &marks));
    let (kind, key) = (manifest.kind().clone(), manifest.key().clone());
    let body = Stamped { manifest, marks: marks.clone(), labels: Arc::default(), proof }.body();
    Object {
        kind,
        key,
        uid: name.into(),
        resource_version: resource_version.into(),
        marks: Some(marks),
        deleting: None,
        body: Arc::new(body),
    }
}

fn forged(name: &str) -> Object {
    let mut object = ours(name, "1");
    Arc::make_mut(&mut object.body)["metadata"]["annotations"] = json!({});
    object
}

fn known(machine: &mut Machine, cluster: &ClusterId) -> Vec<String> {
    let objects = machine.shard_mut(cluster).objects.values();
    objects.flat_map(|known| known.keys().map(|key| key.name.to_string())).collect()
}

#[test]
fn a_list_replaces_what_is_known_when_its_last_page_has_come_and_not_before() {
    let now = Timestamp::UNIX_EPOCH;
    let (mut machine, opened) = connected(now);
    let [(cluster, epoch, kind)] = &opened[..] else { panic!("{opened:?}") };
    let mut tell = |told| {
        machine.handle(Input::Watched(cluster.clone(), *epoch, kind.clone(), Ok(Some(told))), now);
        let is_listed = machine.shard_mut(cluster).is_listed(kind);
        (known(&mut machine, cluster), is_listed)
    };
    let names = |names: &[&str]| names.iter().map(|name| (*name).to_owned()).collect::<Vec<_>>();
    assert_eq!(tell(WatchEvent::Listing(vec![ours("a", "1"), forged("x")])), (names(&[]), false));
    assert_eq!(tell(WatchEvent::Relisting), (names(&[]), false));
    assert_eq!(tell(WatchEvent::Listing(vec![ours("b", "2"), ours("b", "2")])), (names(&[]), false));
    assert_eq!(tell(WatchEvent::Listed(vec![ours("c", "2"), forged("y")])), (names(&["b", "c"]), true));
    assert_eq!(tell(WatchEvent::Listing(vec![ours("d", "3")])), (names(&["b", "c"]), true));
    assert_eq!(tell(WatchEvent::Listed(vec![])), (names(&["d"]), true));
    assert_eq!(machine.gauges(now).objects_unproved, 2);
    assert_eq!(machine.gauges(now).objects_unkept, 0);
}

#[test]
fn a_page_of_a_watch_that_ended_is_no_part_of_the_list_of_the_next_one() {
    let now = Timestamp::UNIX_EPOCH;
    let (mut machine, opened) = connected(now);
    let [(cluster, epoch, kind)] = &opened[..] else { panic!("{opened:?}") };
    let told = |told| Input::Watched(cluster.clone(), *epoch, kind.clone(), told);
    machine.handle(told(Ok(Some(WatchEvent::Listing(vec![ours("a", "1")])))), now);
    machine.handle(told(Ok(Some(WatchEvent::Listing(vec![ours("b", "1")])))), now);
    machine.handle(told(Ok(None)), now);
    let later = now + Options::default().retry_max;
    assert_eq!(watches(machine.handle(Input::Wake, later)), opened);
    machine.handle(told(Ok(Some(WatchEvent::Listed(vec![ours("c", "2")])))), later);
    assert_eq!(known(&mut machine, cluster), ["c"]);
}

#[test]
fn an_object_that_goes_while_its_kind_is_listed_is_not_brought_back_by_an_earlier_page() {
    let now = Timestamp::UNIX_EPOCH;
    let (mut machine, opened) = connected(now);
    let [(cluster, epoch, kind)] = &opened[..] else { panic!("{opened:?}") };
    let told = |told| Input::Watched(cluster.clone(), *epoch, kind.clone(), Ok(Some(told)));
    machine.handle(told(WatchEvent::Listed(vec![ours("a", "1")])), now);
    machine.handle(told(WatchEvent::Listing(vec![ours("a", "1")])), now);
    // A request that is still to be answered keeps what went in mind.
    machine.shard_mut(cluster).requests = 1;
    machine.shard_mut(cluster).note_gone(kind, &"a".into());
    machine.handle(told(WatchEvent::Listed(vec![])), now);
    assert_eq!(known(&mut machine, cluster), [""; 0]);
}

#[test]
fn objects_of_contexts_that_are_not_known_are_kept_up_to_a_limit_and_listed_again_when_one_is() {
    let now = Timestamp::UNIX_EPOCH;
    let options = Options { unknown_objects_max: 2, ..Options::default() };
    let (mut machine, opened) = connected_with(options, now);
    let [(cluster, epoch, kind)] = &opened[..] else { panic!("{opened:?}") };
    let context = machine.contexts.remove(&context_id()).unwrap();
    let objects = ["a", "b", "c", "d"].map(|name| ours(name, "1")).to_vec();
    let listed = Input::Watched(cluster.clone(), *epoch, kind.clone(), Ok(Some(WatchEvent::Listed(objects))));
    machine.handle(listed, now);
    assert_eq!(known(&mut machine, cluster), ["a", "b"]);
    assert_eq!(machine.gauges(now).objects_unkept, 2);
    machine.contexts.insert(context_id(), context);
    machine.handle(Input::ContextChanged(context_id()), now);
    let changed = Loaded { version: Version(2), ..loaded() };
    let reopened = machine.handle(Input::ContextLoaded(context_id(), Ok(Some(changed))), now);
    assert_eq!(watches(reopened), opened);
}

#[test]
fn what_a_watch_tells_while_another_one_waits_to_be_opened_in_its_place_counts_for_nothing() {
    let now = Timestamp::UNIX_EPOCH;
    let (mut machine, opened) = connected(now);
    let [(cluster, epoch, kind)] = &opened[..] else { panic!("{opened:?}") };
    let told = |told| Input::Watched(cluster.clone(), *epoch, kind.clone(), told);
    machine.handle(told(Ok(Some(WatchEvent::Listed(vec![ours("a", "1")])))), now);
    machine.options.requests_max = 0;
    machine.list_anew(cluster, std::slice::from_ref(kind));
    assert!(machine.shard_mut(cluster).watches[kind].waits);
    machine.handle(told(Ok(Some(WatchEvent::Listed(vec![ours("b", "1")])))), now);
    machine.handle(told(Ok(None)), now);
    let watch = &machine.shard_mut(cluster).watches[kind];
    assert!(watch.is_open && !watch.has_listed);
    assert_eq!(known(&mut machine, cluster), ["a"]);
}
