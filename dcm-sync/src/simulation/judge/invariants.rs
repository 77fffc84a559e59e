//! What may never happen, each rule as a function with a name.

use std::collections::BTreeSet;
use std::sync::Arc;
use std::time::Duration;

use dcm_core::app_context::Request;
use dcm_core::hash::ContentHash;
use dcm_core::manifest::ObjectKey;
use dcm_core::name::{ClusterId, ContextId};
use dcm_core::port::cluster::{Object, Origin};
use dcm_core::port::store::{Prefix, Write};
use dcm_core::status::LaneState;

use super::super::engine::options;
use super::super::events::{Asked, Deed, Event, Halt, Handled, Sent, Written};
use super::super::meddling::INTRUDER;
use super::Scene;
use super::facts::Known;
use crate::record::{self, ActionRecord, Claim, Lane, path};

/// A rule, and how it is looked at.
pub struct Invariant {
    /// What is never so, in the words of its function.
    pub name: &'static str,
    /// Looks whether it holds at an event; else says what happened.
    pub holds: fn(&Scene<'_>, &Event) -> Result<(), String>,
}

/// All of them.
pub const INVARIANTS: &[Invariant] = &[
    Invariant { name: "only what we made is deleted", holds: only_what_we_made_is_deleted },
    Invariant { name: "what others put into a namespace is kept", holds: contents_are_kept },
    Invariant { name: "nothing is made without a record", holds: nothing_is_made_without_a_record },
    Invariant { name: "no namespace is made without a claim", holds: no_namespace_is_made_without_a_claim },
    Invariant {
        name: "an older fence overwrites no newer one",
        holds: an_older_fence_overwrites_no_newer_one,
    },
    Invariant {
        name: "an older generation overwrites no newer one",
        holds: an_older_generation_overwrites_no_newer_one,
    },
    Invariant { name: "what is done is not undone late", holds: what_is_done_is_not_undone_late },
    Invariant {
        name: "what is answered is not asked for again",
        holds: what_is_answered_is_not_asked_for_again,
    },
    Invariant { name: "paused work stands still", holds: paused_work_stands_still },
    Invariant {
        name: "nothing begins once a stop has returned",
        holds: nothing_begins_once_a_stop_has_returned,
    },
    Invariant { name: "the write budget is kept", holds: the_write_budget_is_kept },
    Invariant { name: "a status claims only what is", holds: a_status_claims_only_what_is },
    Invariant { name: "nobody goes round in circles", holds: nobody_goes_round_in_circles },
];

/// How long what somebody else did may be unknown to us: the way there, and a watch that is late.
const UNAWARE: Duration = Duration::from_secs(60);

/// How long it may take from counting a namespace's contents to its deletion.
const COUNTED: Duration = Duration::from_secs(120);

/// How long it may take until nothing more of what is paused arrives: a late watch, and a late request.
const PAUSED: Duration = Duration::from_secs(90);

fn handled(event: &Event) -> Option<&Handled> {
    match event {
        Event::Handled(handled) => Some(handled),
        Event::Sent(_) | Event::Stored(_) | Event::Halted(_) | Event::Spun(_) => None,
    }
}

fn created(event: &Event) -> Option<(&Handled, &Written)> {
    match handled(event)? {
        handled @ Handled { deed: Deed::Created(written), .. } => Some((handled, written)),
        _ => None,
    }
}

/// A deletion hits objects that the engine made, and none that it adopted.
fn only_what_we_made_is_deleted(scene: &Scene<'_>, event: &Event) -> Result<(), String> {
    let Some(Handled { cluster, context, deed: Deed::Deleted { key, observed, .. }, .. }) = handled(event)
    else {
        return Ok(());
    };
    match scene.facts.object(cluster, &observed.uid) {
        Some(known) if known.origin == Origin::Adopted => {
            Err(format!("{key} on {cluster} was adopted, and was deleted"))
        }
        Some(known) if known.is_made => Ok(()),
        // Between an object's creation and its record our labels are all the proof that there is.
        _ if !is_recorded_otherwise(scene, cluster, context.as_ref(), key, &observed.uid) => Ok(()),
        _ => Err(format!("{key} on {cluster} was never ours, and was deleted")),
    }
}

/// True when a lane's record has another UID of an object.
fn is_recorded_otherwise(
    scene: &Scene<'_>,
    cluster: &ClusterId,
    context: Option<&ContextId>,
    key: &ObjectKey,
    uid: &Arc<str>,
) -> bool {
    let lane = context.and_then(|context| lane(scene, context, cluster));
    let recorded = lane.as_ref().and_then(|lane| lane.objects.get(key)?.uid.as_ref());
    recorded.is_some_and(|recorded| recorded != uid)
}

/// A namespace with contents that have been there for a while is deleted only when that was asked for.
fn contents_are_kept(scene: &Scene<'_>, event: &Event) -> Result<(), String> {
    let Some(handled) = handled(event) else { return Ok(()) };
    let Handled { cluster, context: Some(context), generation, deed: Deed::Deleted { key, .. }, .. } =
        handled
    else {
        return Ok(());
    };
    if &*key.kind != "Namespace" || scene.facts.empties(context, *generation) {
        return Ok(());
    }
    let is_old = |object: &Object| {
        let since = scene.meddled.last(cluster, &object.key);
        since.is_some_and(|since| scene.world.now() > since + COUNTED)
    };
    let intruder = objects(scene, cluster).into_iter().find(|object| {
        object.key.namespace.as_deref() == Some(&*key.name)
            && object.key.name.starts_with(INTRUDER)
            && is_old(object)
    });
    match intruder {
        Some(object) => Err(format!("{key} on {cluster} was deleted with {}", object.key)),
        None => Ok(()),
    }
}

/// Before the first object of a kind is made, the lane's record names the kind: whoever finds it knows where to look.
fn nothing_is_made_without_a_record(scene: &Scene<'_>, event: &Event) -> Result<(), String> {
    let Some((handled, written)) = created(event) else { return Ok(()) };
    let Some(context) = &handled.context else { return Ok(()) };
    let lane = lane(scene, context, &handled.cluster);
    let is_named = lane.is_some_and(|lane| lane.kinds.iter().any(|kind| kind.kind == written.key.kind));
    // A request that was sent long before may come late; it is found by looking again.
    if is_named || is_late(scene, handled) {
        return Ok(());
    }
    Err(format!("{} on {} was made, and no record names its kind", written.key, handled.cluster))
}

/// True for a write of an earlier owner of the cluster, or of an earlier generation.
pub(super) fn is_late(scene: &Scene<'_>, handled: &Handled) -> bool {
    let store = scene.world.store();
    let shard = store
        .documents(&path::shards())
        .into_iter()
        .find(|entry| entry.path == path::shard(&handled.cluster));
    let fence = shard.and_then(|entry| record::read::<record::Shard>(&entry).ok()).map(|shard| shard.fence);
    let root = handled.context.as_ref().and_then(|context| root(scene, context));
    fence.is_some_and(|fence| fence > handled.fence)
        || root.is_none_or(|root| root.generation > handled.generation)
}

fn no_namespace_is_made_without_a_claim(scene: &Scene<'_>, event: &Event) -> Result<(), String> {
    let Some((handled, written)) = created(event) else { return Ok(()) };
    let Some(context) = handled.context.as_ref().filter(|_| &*written.key.kind == "Namespace") else {
        return Ok(());
    };
    let claims = scene.world.store().documents(&Prefix::below(&path::claims(&handled.cluster)));
    let claim = claims.iter().find(|entry| entry.path == path::claim(&handled.cluster, &written.key.name));
    let holder = claim.and_then(|entry| record::read::<Claim>(entry).ok()).map(|claim| claim.context);
    if holder.as_ref() == Some(context) || (holder.is_none() && is_late(scene, handled)) {
        return Ok(());
    }
    Err(format!(
        "{} on {} was made for {context}, and is claimed by {holder:?}",
        written.key, handled.cluster
    ))
}

/// A write to an object that was there: the object's UID, its key, and what was known of it.
fn hit<'a>(scene: &'a Scene<'_>, handled: &'a Handled) -> Option<(&'a ObjectKey, &'a Known)> {
    let (uid, key) = match &handled.deed {
        Deed::Changed(_, written) => (&written.uid, &written.key),
        Deed::Deleted { observed, key, .. } => (&observed.uid, key),
        Deed::Created(_) | Deed::Token(_) => return None,
    };
    Some((key, scene.facts.object(&handled.cluster, uid)?))
}

/// A write that hits an object which a later owner of the cluster has written.
fn an_older_fence_overwrites_no_newer_one(scene: &Scene<'_>, event: &Event) -> Result<(), String> {
    let Some(handled) = handled(event) else { return Ok(()) };
    match hit(scene, handled) {
        Some((key, known)) if known.fence > handled.fence => {
            let (newer, older) = (known.fence.0, handled.fence.0);
            Err(format!("{key} on {}: fence {older} wrote after fence {newer}", handled.cluster))
        }
        _ => Ok(()),
    }
}

/// A write that hits an object which a later generation of its app context has written.
fn an_older_generation_overwrites_no_newer_one(scene: &Scene<'_>, event: &Event) -> Result<(), String> {
    let Some(handled) = handled(event) else { return Ok(()) };
    match hit(scene, handled) {
        Some((key, known)) if known.context == handled.context && known.generation > handled.generation => {
            let (newer, older) = (known.generation, handled.generation);
            Err(format!("{key} on {}: generation {older} wrote after generation {newer}", handled.cluster))
        }
        _ => Ok(()),
    }
}

/// A late request of an earlier generation changes nothing that a lane has brought about since, by its record.
fn what_is_done_is_not_undone_late(scene: &Scene<'_>, event: &Event) -> Result<(), String> {
    let Some((handled, context)) =
        handled(event).and_then(|handled| Some((handled, handled.context.as_ref()?)))
    else {
        return Ok(());
    };
    let Some((key, _)) = hit(scene, handled) else { return Ok(()) };
    let lane = lane(scene, context, &handled.cluster)
        .filter(|lane| lane.state == LaneState::Done && lane.generation > handled.generation);
    let wanted = lane.as_ref().zip(root(scene, context)).and_then(|(lane, root)| wanted(lane, &root));
    let is_wanted = lane.zip(wanted).is_some_and(|(lane, wanted)| {
        lane.objects.get(key).and_then(|record| record.manifest).is_some_and(|hash| wanted.contains(&hash))
    });
    if is_wanted {
        let older = handled.generation;
        return Err(format!("{key} on {} is done, and was changed by generation {older}", handled.cluster));
    }
    Ok(())
}

/// The manifests that a lane's record speaks of, as far as the root still has them.
fn wanted(lane: &Lane, root: &record::Root) -> Option<BTreeSet<ContentHash>> {
    Some(root.manifests_of(&lane.bundle?).collect())
}

/// A credential whose result is stored is not asked for again.
fn what_is_answered_is_not_asked_for_again(scene: &Scene<'_>, event: &Event) -> Result<(), String> {
    let Event::Sent(sent) = event else { return Ok(()) };
    let Sent { cluster, context: Some(context), asks_for: Some(asked), generation, .. } = sent else {
        return Ok(());
    };
    // Another generation may ask for the same under another name.
    let root = root(scene, context).filter(|root| root.generation == *generation);
    let (Some(root), Some(lane)) = (root, lane(scene, context, cluster)) else { return Ok(()) };
    let is_known = |name: &Arc<str>| {
        // A result that no record names comes from a worker that died, or lost the lane, in that moment.
        lane.issued.contains(name) && scene.facts.has_result(context, cluster, name)
    };
    match requests(&root, asked).find(|name| is_known(name)) {
        Some(name) => Err(format!("{name} of {context} on {cluster} is asked for, and was answered")),
        None => Ok(()),
    }
}

/// The names of an app context's requests for a credential.
fn requests<'a>(root: &'a record::Root, asked: &'a Asked) -> impl Iterator<Item = &'a Arc<str>> {
    root.bundles.values().flatten().filter_map(move |step| {
        let ActionRecord::Request { name, request } = &step.action else { return None };
        let is_it = match (request, asked) {
            (Request::Certificate(wanted), Asked::Certificate(object)) => wanted.object_name == *object,
            (Request::Token(wanted), Asked::Token(token)) => wanted == token,
            _ => false,
        };
        is_it.then_some(name)
    })
}

/// While an app context is paused nothing of it is written, but for what was on its way.
fn paused_work_stands_still(scene: &Scene<'_>, event: &Event) -> Result<(), String> {
    let Some(handled) = handled(event) else { return Ok(()) };
    let Some(context) = &handled.context else { return Ok(()) };
    match scene.facts.paused_since(context) {
        Some(since) if handled.at > since + PAUSED => {
            Err(format!("a write for {context} on {}, paused since {since}", handled.cluster))
        }
        _ => Ok(()),
    }
}

/// Whoever paused an app context or a cluster, and was told that nothing is under way, can rely on it.
fn nothing_begins_once_a_stop_has_returned(scene: &Scene<'_>, event: &Event) -> Result<(), String> {
    let Event::Sent(sent) = event else { return Ok(()) };
    let cluster = Halt::Cluster(sent.cluster.clone());
    let context = sent.context.clone().map(Halt::Context);
    match [Some(cluster), context].into_iter().flatten().find(|halt| scene.facts.is_halted(halt)) {
        Some(halt) => Err(format!("{:?} was sent to {}, and {halt:?} stands still", sent.verb, sent.cluster)),
        None => Ok(()),
    }
}

/// No process sends more writes to a cluster than a burst and its rate.
fn the_write_budget_is_kept(scene: &Scene<'_>, event: &Event) -> Result<(), String> {
    let Event::Sent(Sent { process, at, cluster, .. }) = event else { return Ok(()) };
    let options = options();
    let (burst, rate) = (u64::from(options.writes_burst), u64::from(options.writes_per_second));
    let mut count = 1;
    for sent in scene.facts.sent(*process, cluster).rev() {
        count += 1;
        // A clock that is fast gives a little more.
        let seconds = u64::try_from(at.duration_since(sent).as_secs()).unwrap_or(0) + 2;
        if count > burst + rate * seconds {
            return Err(format!("{count} writes to {cluster} within {seconds} s"));
        }
    }
    Ok(())
}

/// A process that makes call after call while time stands still would never leave the processor to others.
fn nobody_goes_round_in_circles(_: &Scene<'_>, event: &Event) -> Result<(), String> {
    match event {
        Event::Spun(process) => Err(format!("process {} makes call after call in no time", process.0)),
        Event::Sent(_) | Event::Handled(_) | Event::Stored(_) | Event::Halted(_) => Ok(()),
    }
}

/// When a lane's record says that it is done, what it names is there; when it says that it is removed, nothing is.
fn a_status_claims_only_what_is(scene: &Scene<'_>, event: &Event) -> Result<(), String> {
    let Event::Stored(Write::Create { path, document } | Write::Update { path, document, .. }) = event else {
        return Ok(());
    };
    let mut segments = path.segments();
    let (Some("lanes"), Some(context)) = (segments.next(), segments.next()) else { return Ok(()) };
    let Some((cluster, context)) = path::cluster_of(path, 2).zip(ContextId::new(context).ok()) else {
        return Ok(());
    };
    let Ok(lane) = document.read::<Lane>() else { return Ok(()) };
    match lane.state {
        LaneState::Done => everything_is_there(scene, &cluster, &context, &lane),
        LaneState::Removed => nothing_is_there(scene, &cluster, &context),
        _ => Ok(()),
    }
}

fn everything_is_there(
    scene: &Scene<'_>,
    cluster: &ClusterId,
    context: &ContextId,
    lane: &Lane,
) -> Result<(), String> {
    let objects = objects(scene, cluster);
    let wanted = root(scene, context).and_then(|root| wanted(lane, &root)).unwrap_or_default();
    for (key, record) in &lane.objects {
        let is_wanted = record.manifest.is_some_and(|hash| wanted.contains(&hash));
        let is_told = lane.causes.iter().any(|cause| cause.object.as_ref() == Some(key));
        if !is_wanted || is_told || is_disturbed(scene, cluster, key) {
            continue;
        }
        let found = objects.iter().find(|object| object.key == *key);
        let is_so = found.is_some_and(|object| {
            let marks = object.marks.as_ref();
            Some(&object.uid) == record.uid.as_ref()
                && marks.is_some_and(|marks| marks.manifest == record.manifest)
        });
        if !is_so {
            return Err(format!("{key} on {cluster} is not as the record says that it is: {found:?}"));
        }
    }
    let stored = scene.world.store().documents(&path::results_on(context, cluster));
    let is_stored = |name: &str| {
        let path = path::result(context, cluster, name);
        stored.iter().any(|entry| entry.path == path)
    };
    match lane.issued.iter().find(|name| !is_stored(name)) {
        Some(name) => {
            Err(format!("{name} of {context} on {cluster} is said to be answered, and is not stored"))
        }
        None => Ok(()),
    }
}

fn nothing_is_there(scene: &Scene<'_>, cluster: &ClusterId, context: &ContextId) -> Result<(), String> {
    let left = objects(scene, cluster).into_iter().find(|object| {
        object.marks.as_ref().is_some_and(|marks| marks.context == *context)
            && !is_disturbed(scene, cluster, &object.key)
            && !is_revived(scene, cluster, object)
            && scene.facts.object(cluster, &object.uid).is_some()
    });
    match left {
        Some(object) => Err(format!("{} is on {cluster}, and the record says that nothing is", object.key)),
        None => Ok(()),
    }
}

/// True when somebody else did something of which the engine need not know yet.
fn is_disturbed(scene: &Scene<'_>, cluster: &ClusterId, key: &ObjectKey) -> bool {
    scene.meddled.known_since(cluster, key).is_some_and(|since| scene.world.now() <= since + UNAWARE)
}

/// True for what a cluster has again that lost its last writes: nobody may be looking for its kind any more.
fn is_revived(scene: &Scene<'_>, cluster: &ClusterId, object: &Object) -> bool {
    let known = scene.facts.object(cluster, &object.uid);
    // What was under way then comes after it, and finds what it was sent for gone.
    scene.meddled.lost(cluster).is_some_and(|lost| known.is_none_or(|known| known.since <= lost + UNAWARE))
}

fn objects(scene: &Scene<'_>, cluster: &ClusterId) -> Vec<Object> {
    let cluster = scene.world.fleet().cluster(cluster);
    cluster.map_or_else(Vec::new, |cluster| cluster.server(|server| server.objects().collect()))
}

fn lane(scene: &Scene<'_>, context: &ContextId, cluster: &ClusterId) -> Option<Lane> {
    let lanes = scene.world.store().documents(&path::lanes(context));
    let entry = lanes.into_iter().find(|entry| entry.path == path::lane(context, cluster))?;
    record::read(&entry).ok()
}

fn root(scene: &Scene<'_>, context: &ContextId) -> Option<record::Root> {
    let roots = scene.world.store().documents(&Prefix::below(&path::context_folder(context)));
    record::read(roots.first()?).ok()
}
