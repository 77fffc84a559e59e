//! Which comparisons an input needs that take too long to be made in the engine's loop.

use dcm_core::name::{ClusterId, ContextId};
use dcm_core::plan::{Desired, Sighting};
use dcm_core::port::cluster::{Object, WatchEvent};
use dcm_core::weight;

use super::Machine;
use crate::contexts::Loaded;
use crate::engine::comparing::{Comparisons, Pair};
use crate::engine::io::{Input, Reply};

impl Machine {
    /// What has to be compared before this input is handled, beside what was; nothing when that takes no time worth speaking of. Marks
    /// without proof are taken off the input's objects first.
    pub(in crate::engine) fn uncompared(&mut self, input: &mut Input, made: &Comparisons) -> Vec<Pair> {
        self.disclaim(input);
        if made.is_final() {
            return Vec::new();
        }
        let mut pairs = self.pairs(input);
        let bodies = pairs.iter().flat_map(|pair| [&*pair.object.body, pair.desired.manifest.body()]);
        if weight::is_at_most(self.options.compared_values_max, bodies) {
            return Vec::new();
        }
        pairs.retain(|Pair { object, desired }| !made.has(object, desired));
        pairs
    }

    /// The objects of an input, each with what is desired of it.
    fn pairs(&self, input: &Input) -> Vec<Pair> {
        match input {
            Input::Watched(
                cluster,
                _,
                _,
                Ok(Some(WatchEvent::Listed(objects) | WatchEvent::Listing(objects))),
            ) => objects.iter().filter_map(|object| self.pair_of_marked(cluster, object)).collect(),
            Input::Watched(cluster, _, _, Ok(Some(WatchEvent::Applied(object)))) => {
                let is_echo = self.shards.get(cluster).is_some_and(|shard| shard.knows(object));
                self.pair_of_marked(cluster, object).filter(|_| !is_echo).into_iter().collect()
            }
            Input::Replied(ticket, Ok(Reply::Written(object) | Reply::Found(Some(object)))) => {
                let Some(lane) = self.pending.lane(*ticket) else { return Vec::new() };
                let of_lane = self.pair(&lane.cluster, &lane.context, object);
                let is_others = object.marks.as_ref().is_none_or(|marks| marks.context != lane.context);
                let of_marks = self.pair_of_marked(&lane.cluster, object).filter(|_| is_others);
                of_lane.into_iter().chain(of_marks).collect()
            }
            Input::ContextLoaded(id, Ok(Some(loaded))) => self.pairs_of_loaded(id, loaded),
            _ => Vec::new(),
        }
    }

    fn pair_of_marked(&self, cluster: &ClusterId, object: &Object) -> Option<Pair> {
        let marks = object.marks.as_ref().filter(|marks| marks.owner == self.options.owner)?;
        self.pair(cluster, &marks.context, object)
    }

    fn pair(&self, cluster: &ClusterId, context: &ContextId, object: &Object) -> Option<Pair> {
        let desired = self.desired(cluster, context, &object.key)?;
        Some(Pair { object: object.clone(), desired })
    }

    /// The objects that were seen before their context was loaded.
    fn pairs_of_loaded(&self, id: &ContextId, loaded: &Loaded) -> Vec<Pair> {
        let mut pairs = Vec::new();
        for (cluster, shard) in &self.shards {
            let bundle = loaded.root.wanted(cluster).and_then(|wanted| loaded.bundles.get(&wanted));
            let Some(bundle) = bundle else { continue };
            let pair = |object: &Object| {
                let manifest = bundle.manifest(&object.key)?.clone();
                let desired = Desired { manifest, labels: loaded.root.labels.clone() };
                Some(Pair { object: object.clone(), desired })
            };
            pairs.extend(shard.unread.whole(id).filter_map(pair));
        }
        pairs
    }

    /// What is seen of an object, beside what is desired of it.
    pub(super) fn sighting(&self, object: &Object, desired: Option<&Desired>) -> Sighting {
        let comparison = desired.map(|desired| self.compared.look_up(object, desired));
        Sighting::compared(object, comparison.unwrap_or_default())
    }
}
