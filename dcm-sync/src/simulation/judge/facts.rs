//! What is known from all that has happened so far.

use std::collections::{BTreeMap, BTreeSet, VecDeque};
use std::sync::Arc;

use dcm_core::app_context::{Generation, Request};
use dcm_core::hash::ContentHash;
use dcm_core::manifest::ObjectKey;
use dcm_core::name::{ClusterId, ContextId};
use dcm_core::plan::Observed;
use dcm_core::port::cluster::{Fence, Origin};
use dcm_core::port::store::{Document, Path, Write};
use dcm_core::status::LaneState;
use jiff::Timestamp;

use super::super::events::{Deed, Event, Halt, Handled, Sent};
use super::super::executor::ProcessId;
use crate::record::{ActionRecord, Lane, Root, Shard, StoredManifest, path};

/// The last writes that are kept of a process, to count how many were sent in a time.
const SENT_MAX: usize = 512;

/// An object that the engine has written, by its UID.
#[derive(Debug, Clone)]
pub(in crate::simulation) struct Known {
    /// The engine made it.
    pub(in crate::simulation) is_made: bool,
    /// When the engine first wrote it.
    pub(in crate::simulation) since: Timestamp,
    pub(in crate::simulation) origin: Origin,
    /// Who wrote it last: for which app context, under which fence, and in which generation.
    pub(in crate::simulation) context: Option<ContextId>,
    pub(in crate::simulation) fence: Fence,
    pub(in crate::simulation) generation: Generation,
}

/// What a lane may do that is bound to a plan, and what was done of it.
#[derive(Debug, Clone)]
pub(in crate::simulation) struct Bound {
    /// The number of the plan.
    pub(in crate::simulation) number: u64,
    /// The generation that was bound first.
    pub(in crate::simulation) generation: Generation,
    /// What was seen of the cluster.
    pub(in crate::simulation) observed: Observed,
    /// The fence of whoever stored that the cluster is as planned: he is about to write. Who comes after him is bound no
    /// more.
    pub(in crate::simulation) writer: Option<Fence>,
    /// What was written.
    pub(in crate::simulation) written: BTreeSet<ObjectKey>,
}

/// What is known from all that has happened so far.
#[derive(Default)]
pub(in crate::simulation) struct Facts {
    /// By cluster and UID.
    objects: BTreeMap<(ClusterId, Arc<str>), Known>,
    /// UIDs of objects that the engine did not make, and that were proved to be ours when they were recorded.
    proved: BTreeSet<(ClusterId, Arc<str>)>,
    /// The places in which the engine made objects.
    made: BTreeSet<(ClusterId, ObjectKey)>,
    /// When each process sent its last writes to each cluster.
    sent: BTreeMap<(ProcessId, ClusterId), VecDeque<Timestamp>>,
    /// The requests for credentials that a process waits for.
    awaited: Vec<Sent>,
    /// Paths of results that are stored.
    results: BTreeSet<Path>,
    /// Since when app contexts are paused.
    paused: BTreeMap<ContextId, Timestamp>,
    /// When each attempt of an app context began.
    asked: BTreeMap<(ContextId, u64), Timestamp>,
    /// What was desired in each generation of an app context, as it was said last.
    roots: BTreeMap<(ContextId, Generation), Root>,
    /// What was seen of clusters, by their states.
    seen: BTreeMap<Arc<str>, Observed>,
    /// Lanes that are bound to a plan and have not come to their end.
    bound: BTreeMap<(ContextId, ClusterId), Bound>,
    /// The objects that manifests speak of.
    manifests: BTreeMap<ContentHash, ObjectKey>,
    /// The objects that each app context ever wanted, those of its requests for credentials included.
    wanted: BTreeSet<(ContextId, ObjectKey)>,
    /// Clusters that are paused.
    stopped: BTreeSet<ClusterId>,
    /// What is paused, and of which whoever paused it was told that nothing is under way.
    halted: BTreeSet<Halt>,
}

impl Facts {
    pub(in crate::simulation) fn object(&self, cluster: &ClusterId, uid: &Arc<str>) -> Option<&Known> {
        self.objects.get(&(cluster.clone(), uid.clone()))
    }

    /// True for an object that the engine made, or that was proved to be ours when it was recorded.
    pub(in crate::simulation) fn is_ours(&self, cluster: &ClusterId, uid: &Arc<str>) -> bool {
        let is_made = self.object(cluster, uid).is_some_and(|known| known.is_made);
        is_made || self.proved.contains(&(cluster.clone(), uid.clone()))
    }

    /// True for a place in which the engine made an object at some time.
    pub(in crate::simulation) fn has_made(&self, cluster: &ClusterId, key: &ObjectKey) -> bool {
        self.made.contains(&(cluster.clone(), key.clone()))
    }

    /// An object was proved to be ours when it was recorded.
    pub(super) fn note_proved(&mut self, cluster: &ClusterId, uid: Arc<str>) {
        self.proved.insert((cluster.clone(), uid));
    }

    /// When a process sent writes to a cluster, the oldest first.
    pub(in crate::simulation) fn sent(
        &self,
        process: ProcessId,
        cluster: &ClusterId,
    ) -> impl DoubleEndedIterator<Item = Timestamp> {
        self.sent.get(&(process, cluster.clone())).into_iter().flatten().copied()
    }

    /// The requests for credentials that a process waits for.
    pub(in crate::simulation) fn awaited(&self) -> &[Sent] {
        &self.awaited
    }

    /// True when the answer to a request is stored.
    pub(in crate::simulation) fn has_result(
        &self,
        context: &ContextId,
        cluster: &ClusterId,
        request: &str,
    ) -> bool {
        self.results.contains(&path::result(context, cluster, request))
    }

    /// A cluster has lost what was written last: who wrote its objects last is not known any more. Nor can anybody know what of
    /// a plan that had begun was written there: a writer who heard no answer may take what he finds for his own.
    pub(super) fn note_loss(&mut self, cluster: &ClusterId) {
        self.bound.retain(|(_, of), bound| of != cluster || bound.writer.is_none());
        let of_cluster = self.objects.iter_mut().filter(|((of, _), _)| of == cluster);
        of_cluster.for_each(|(_, known)| {
            (known.fence, known.generation) = (Fence::default(), Generation::default());
        });
    }

    pub(in crate::simulation) fn paused_since(&self, context: &ContextId) -> Option<Timestamp> {
        self.paused.get(context).copied()
    }

    /// When somebody asked for an attempt.
    pub(in crate::simulation) fn asked(&self, context: &ContextId, attempt: u64) -> Option<Timestamp> {
        self.asked.get(&(context.clone(), attempt)).copied()
    }

    pub(super) fn is_stopped(&self, cluster: &ClusterId) -> bool {
        self.stopped.contains(cluster)
    }

    /// True when somebody asked in this generation to remove what others put into namespaces, too.
    pub(in crate::simulation) fn empties(&self, context: &ContextId, generation: Generation) -> bool {
        self.root(context, generation).is_some_and(|root| root.removal().delete_contents)
    }

    /// What was desired in a generation.
    pub(in crate::simulation) fn root(&self, context: &ContextId, generation: Generation) -> Option<&Root> {
        self.roots.get(&(context.clone(), generation))
    }

    /// What a lane is bound to.
    pub(in crate::simulation) fn bound(&self, context: &ContextId, cluster: &ClusterId) -> Option<&Bound> {
        self.bound.get(&(context.clone(), cluster.clone()))
    }

    /// The object that a manifest speaks of.
    pub(in crate::simulation) fn key(&self, manifest: &ContentHash) -> Option<&ObjectKey> {
        self.manifests.get(manifest)
    }

    /// True for an object that an app context wanted at some time, or that is asked for a credential of it.
    pub(in crate::simulation) fn has_wanted(&self, context: &ContextId, key: &ObjectKey) -> bool {
        self.wanted.contains(&(context.clone(), key.clone()))
    }

    /// True when nothing may be sent.
    pub(in crate::simulation) fn is_halted(&self, halt: &Halt) -> bool {
        self.halted.contains(halt)
    }

    pub(super) fn take_in(&mut self, event: &Event, now: Timestamp) {
        match event {
            Event::Sent(sent) => self.was_sent(sent),
            Event::Ended(sent) => self.was_ended(sent),
            Event::Handled(handled) => self.handled(handled),
            Event::Stored(write) => self.stored(write, now),
            Event::Looked(observed) => drop(self.seen.insert(observed.state(), observed.clone())),
            Event::Halted(halt) => self.was_halted(halt),
            Event::Spun(_) => {}
        }
    }

    fn was_sent(&mut self, sent: &Sent) {
        let times = self.sent.entry((sent.process, sent.cluster.clone())).or_default();
        times.push_back(sent.at);
        if times.len() > SENT_MAX {
            times.pop_front();
        }
        if sent.asks_for.is_some() {
            self.awaited.push(sent.clone());
        }
    }

    fn was_ended(&mut self, ended: &Sent) {
        let place = self.awaited.iter().position(|sent| sent == ended);
        place.into_iter().for_each(|place| drop(self.awaited.swap_remove(place)));
    }

    /// Somebody else may have gone on with it in the same moment.
    fn was_halted(&mut self, halt: &Halt) {
        let is_paused = match halt {
            Halt::Context(context) => self.paused.contains_key(context),
            Halt::Cluster(cluster) => self.stopped.contains(cluster),
        };
        if is_paused {
            self.halted.insert(halt.clone());
        }
    }

    fn stored(&mut self, write: &Write, now: Timestamp) {
        let (Write::Create { path, document } | Write::Update { path, document, .. }) = write else {
            return self.was_dropped(write.path());
        };
        match path.segments().next() {
            Some("results") => drop(self.results.insert(path.clone())),
            Some("manifests") => {
                let manifest = document.read::<StoredManifest>().ok().map(|stored| stored.manifest);
                self.manifests.extend(manifest.map(|manifest| (manifest.hash(), manifest.key().clone())));
            }
            Some("shards") => self.shard_changed(path, document),
            Some("lanes") => self.lane_changed(path, document),
            _ => {
                if let Some(context) = path::context_of_root(path) {
                    self.root_changed(&context, document, now);
                }
            }
        }
    }

    fn was_dropped(&mut self, path: &Path) {
        self.results.remove(path);
        if let Some(context) = path::context_of_root(path) {
            self.paused.remove(&context);
            self.bound.retain(|(of, _), _| *of != context);
            self.halted.remove(&Halt::Context(context));
        }
    }

    /// What is not asked for any more may be asked for again, later.
    fn root_changed(&mut self, context: &ContextId, document: &Document, now: Timestamp) {
        let Ok(root) = document.read::<Root>() else { return };
        if root.paused {
            self.paused.entry(context.clone()).or_insert(now);
        } else {
            self.paused.remove(context);
            self.halted.remove(&Halt::Context(context.clone()));
        }
        self.asked.entry((context.clone(), root.attempt)).or_insert(now);
        let mut named = BTreeSet::new();
        for cluster in root.clusters() {
            named.extend(root.steps(cluster).iter().filter_map(|step| match &step.action {
                ActionRecord::Request { name, .. } => Some(path::result(context, cluster, name)),
                ActionRecord::Apply { .. } | ActionRecord::Edit { .. } => None,
            }));
        }
        let prefix = path::results(context);
        self.results.retain(|path| !prefix.contains(path) || named.contains(path));
        let steps = root.placements.steps();
        let keys = steps.flat_map(|step| match &step.action {
            ActionRecord::Apply { manifest, .. } => vec![self.key(manifest).cloned()],
            ActionRecord::Edit { edit } => vec![Some(edit.target.key()), edit.service().map(|(_, key)| key)],
            ActionRecord::Request { request: Request::Certificate(request), .. } => {
                vec![Some(request.object())]
            }
            ActionRecord::Request { request: Request::Token(request), .. } => vec![Some(request.account())],
        });
        let keys: Vec<_> = keys.flatten().map(|key| (context.clone(), key)).collect();
        self.wanted.extend(keys);
        self.bind(context, &root);
        self.roots.insert((context.clone(), root.generation), root);
    }

    /// What a generation is bound to that begins with it. One that is bound later may have requests on the way that are not.
    fn bind(&mut self, context: &ContextId, root: &Root) {
        let (number, generation) = (root.planned.number, root.generation);
        let is_new = self.root(context, generation).is_none();
        let mut bound: BTreeMap<_, _> = std::mem::take(&mut self.bound);
        bound.retain(|(of, cluster), bound| {
            of != context || (bound.number == number && root.planned.clusters.contains_key(cluster))
        });
        for (cluster, state) in root.planned.clusters.iter().filter(|_| is_new) {
            let Some(observed) = self.seen.get(state).cloned() else { continue };
            let (writer, written) = (None, BTreeSet::new());
            bound.entry((context.clone(), cluster.clone())).or_insert(Bound {
                number,
                generation,
                observed,
                writer,
                written,
            });
        }
        self.bound = bound;
    }

    /// A lane that has come to its end is bound no more. Who stored that its cluster is as planned is about to write.
    fn lane_changed(&mut self, path: &Path, document: &Document) {
        let Some(lane) = path::context_of_lane(path).zip(path::cluster_of(path)) else { return };
        let Some(bound) = self.bound.get_mut(&lane) else { return };
        let Ok(record) = document.read::<Lane>() else { return };
        if record.checked < bound.number {
            return;
        }
        bound.writer.get_or_insert(record.fence);
        if matches!(record.state, LaneState::Done | LaneState::Removed) {
            self.bound.remove(&lane);
        }
    }

    fn shard_changed(&mut self, path: &Path, document: &Document) {
        let (Some(cluster), Ok(shard)) = (path::cluster_of(path), document.read::<Shard>()) else {
            return;
        };
        if shard.pause.is_some() {
            self.stopped.insert(cluster);
        } else {
            self.stopped.remove(&cluster);
            self.halted.remove(&Halt::Cluster(cluster));
        }
    }

    fn handled(&mut self, handled: &Handled) {
        let key = handled.deed.key();
        if let Some((context, key)) = handled.context.as_ref().zip(key)
            && let Some(bound) = self.bound.get_mut(&(context.clone(), handled.cluster.clone()))
            && handled.generation >= bound.generation
        {
            bound.written.insert(key.clone());
        }
        let (written, is_made) = match &handled.deed {
            Deed::Created(written) => (written, true),
            Deed::Changed(_, written) => (written, false),
            Deed::Deleted { .. } | Deed::Token(_) => return,
        };
        if is_made {
            self.made.insert((handled.cluster.clone(), written.key.clone()));
        }
        let origin = written.marks.as_ref().map(|marks| marks.origin).unwrap_or_default();
        let key = (handled.cluster.clone(), written.uid.clone());
        let (context, fence, generation) = (handled.context.clone(), handled.fence, handled.generation);
        let known = self.objects.entry(key).or_insert(Known {
            is_made,
            since: handled.at,
            origin,
            context: None,
            fence,
            generation,
        });
        (known.context, known.fence, known.generation) = (context, fence, generation);
        known.origin = origin;
    }
}
