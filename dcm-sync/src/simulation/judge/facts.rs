//! What is known from all that has happened so far.

use std::collections::{BTreeMap, BTreeSet, VecDeque};
use std::sync::Arc;

use dcm_core::app_context::Generation;
use dcm_core::name::{ClusterId, ContextId};
use dcm_core::port::cluster::{Fence, Origin};
use dcm_core::port::store::{Document, Path, Write};
use jiff::Timestamp;

use super::super::events::{Deed, Event, Halt, Handled};
use super::super::executor::ProcessId;
use crate::record::{ActionRecord, Root, Shard, path};

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

/// What is known from all that has happened so far.
#[derive(Default)]
pub(in crate::simulation) struct Facts {
    /// By cluster and UID.
    objects: BTreeMap<(ClusterId, Arc<str>), Known>,
    /// When each process sent its last writes to each cluster.
    sent: BTreeMap<(ProcessId, ClusterId), VecDeque<Timestamp>>,
    /// Paths of results that are stored.
    results: BTreeSet<Path>,
    /// Since when app contexts are paused.
    paused: BTreeMap<ContextId, Timestamp>,
    /// Generations of app contexts whose removal takes contents with it.
    emptying: BTreeSet<(ContextId, Generation)>,
    /// Clusters that are paused.
    stopped: BTreeSet<ClusterId>,
    /// What is paused, and of which whoever paused it was told that nothing is under way.
    halted: BTreeSet<Halt>,
}

impl Facts {
    pub(in crate::simulation) fn object(&self, cluster: &ClusterId, uid: &Arc<str>) -> Option<&Known> {
        self.objects.get(&(cluster.clone(), uid.clone()))
    }

    /// When a process sent writes to a cluster, the oldest first.
    pub(in crate::simulation) fn sent(
        &self,
        process: ProcessId,
        cluster: &ClusterId,
    ) -> impl DoubleEndedIterator<Item = Timestamp> {
        self.sent.get(&(process, cluster.clone())).into_iter().flatten().copied()
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

    /// A cluster has lost what was written last: who wrote its objects last is not known any more.
    pub(super) fn note_loss(&mut self, cluster: &ClusterId) {
        let of_cluster = self.objects.iter_mut().filter(|((of, _), _)| of == cluster);
        of_cluster.for_each(|(_, known)| {
            (known.fence, known.generation) = (Fence::default(), Generation::default());
        });
    }

    pub(in crate::simulation) fn paused_since(&self, context: &ContextId) -> Option<Timestamp> {
        self.paused.get(context).copied()
    }

    pub(super) fn is_stopped(&self, cluster: &ClusterId) -> bool {
        self.stopped.contains(cluster)
    }

    /// True when somebody asked in this generation to remove what others put into namespaces, too.
    pub(in crate::simulation) fn empties(&self, context: &ContextId, generation: Generation) -> bool {
        self.emptying.contains(&(context.clone(), generation))
    }

    /// True when nothing may be sent.
    pub(in crate::simulation) fn is_halted(&self, halt: &Halt) -> bool {
        self.halted.contains(halt)
    }

    pub(super) fn take_in(&mut self, event: &Event, now: Timestamp) {
        match event {
            Event::Sent(sent) => {
                let times = self.sent.entry((sent.process, sent.cluster.clone())).or_default();
                times.push_back(sent.at);
                if times.len() > SENT_MAX {
                    times.pop_front();
                }
            }
            Event::Handled(handled) => self.handled(handled),
            Event::Stored(Write::Create { path, document } | Write::Update { path, document, .. }) => {
                if path.segments().next() == Some("results") {
                    self.results.insert(path.clone());
                }
                if let Some(context) = path::context_of_root(path) {
                    self.root_changed(&context, document, now);
                }
                if path::shards().contains(path) {
                    self.shard_changed(path, document);
                }
            }
            Event::Stored(Write::Delete { path, .. }) => {
                self.results.remove(path);
                if let Some(context) = path::context_of_root(path) {
                    self.paused.remove(&context);
                    self.halted.remove(&Halt::Context(context));
                }
            }
            // Somebody else may have gone on with it in the same moment.
            Event::Halted(halt) => {
                let is_paused = match halt {
                    Halt::Context(context) => self.paused.contains_key(context),
                    Halt::Cluster(cluster) => self.stopped.contains(cluster),
                };
                if is_paused {
                    self.halted.insert(halt.clone());
                }
            }
            Event::Spun(_) => {}
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
        if root.removal().delete_contents {
            self.emptying.insert((context.clone(), root.generation));
        }
        let mut named = BTreeSet::new();
        for cluster in root.clusters() {
            let bundle = root.wanted(cluster).and_then(|hash| root.bundles.get(&hash));
            named.extend(bundle.into_iter().flatten().filter_map(|step| match &step.action {
                ActionRecord::Request { name, .. } => Some(path::result(context, cluster, name)),
                ActionRecord::Apply { .. } => None,
            }));
        }
        let prefix = path::results(context);
        self.results.retain(|path| !prefix.contains(path) || named.contains(path));
    }

    fn shard_changed(&mut self, path: &Path, document: &Document) {
        let (Some(cluster), Ok(shard)) = (path::cluster_of(path, 1), document.read::<Shard>()) else {
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
        let (written, is_made) = match &handled.deed {
            Deed::Created(written) => (written, true),
            Deed::Changed(_, written) => (written, false),
            Deed::Deleted { .. } | Deed::Token(_) => return,
        };
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
