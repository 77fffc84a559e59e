//! Watches on what is ours: which are open, and what they tell.

use std::collections::BTreeSet;
use std::ops::Bound;

use dcm_core::causes::Reader;
use dcm_core::manifest::GroupVersionKind;
use dcm_core::name::{ClusterId, ContextId};
use dcm_core::port::clock::Random as _;
use dcm_core::port::cluster::{self, WatchEvent};
use dcm_core::status::{Cause, Reason};

use super::Machine;
use super::naming::signing_requests;
use super::refusals;
use super::shard::{Known, Shard, Watch};
use super::steps::reason_of;
use super::timers::Alarm;
use crate::engine::io::Epoch;

impl Machine {
    /// Opens the watches that one of the shard's lanes, or all of them, need and don't have open.
    pub(super) fn open_watches(&mut self, cluster: &ClusterId, only: Option<&ContextId>) {
        let Some(shard) = self.shards.get(cluster).filter(|shard| shard.is_up()) else { return };
        let mut missing = BTreeSet::new();
        let (first, last) = match only {
            Some(only) => (Bound::Included(only), Bound::Included(only)),
            None => (Bound::Unbounded, Bound::Unbounded),
        };
        for (context, lane) in shard.lanes.range::<ContextId, _>((first, last)) {
            let bundle = self.contexts.get(context).and_then(|context| context.bundle(cluster));
            lane.kinds(bundle.as_deref(), &mut |kind| {
                if !shard.watches.get(kind).is_some_and(|watch| watch.is_open) {
                    missing.insert(kind.clone());
                }
            });
        }
        for kind in missing {
            self.open_watch(cluster, &kind);
        }
    }

    pub(super) fn open_watch(&mut self, cluster: &ClusterId, kind: &GroupVersionKind) {
        let may_watch = |shard: &&mut Box<Shard>| shard.is_up() && !shard.is_paused();
        let Some(shard) = self.shards.get_mut(cluster).filter(may_watch) else { return };
        let watch = shard.watches.entry(kind.clone()).or_insert_with(Watch::new);
        if std::mem::replace(&mut watch.is_open, true) {
            return;
        }
        watch.has_listed = false;
        watch.listing = None;
        self.open(cluster, Some(kind));
    }

    /// Lists objects again that are watched already: a list has what a late watch has not told yet.
    pub(super) fn list_anew(&mut self, cluster: &ClusterId, kinds: &[GroupVersionKind]) {
        for kind in kinds {
            if self.shards.get(cluster).is_some_and(|shard| shard.is_listed(kind)) {
                self.reopen_watch(cluster, kind);
            }
        }
    }

    /// Opens a watch in place of the one that is open.
    pub(super) fn reopen_watch(&mut self, cluster: &ClusterId, kind: &GroupVersionKind) {
        if let Some(watch) = self.shards.get_mut(cluster).and_then(|shard| shard.watches.get_mut(kind)) {
            watch.known = Known::Nothing;
            watch.is_open = false;
        }
        self.open_watch(cluster, kind);
    }

    pub(super) fn watched(
        &mut self,
        cluster: &ClusterId,
        epoch: Epoch,
        kind: GroupVersionKind,
        told: Result<Option<WatchEvent>, cluster::Error>,
    ) {
        // A watch that waits for room is not open yet: the event is from its predecessor.
        let watch = self.shards.get(cluster).and_then(|shard| shard.watches.get(&kind));
        if !self.is_current(cluster, epoch) || watch.is_some_and(|watch| watch.waits) {
            return;
        }
        match told {
            Ok(Some(WatchEvent::Listing(objects))) => {
                self.listing(cluster, &kind, &objects);
                // What goes meanwhile may be on a page that was made before.
                let watch = self.shard_mut(cluster).watches.get_mut(&kind);
                watch.into_iter().for_each(|watch| watch.has_listed = false);
            }
            Ok(Some(WatchEvent::Relisting)) => {
                let watch = self.shard_mut(cluster).watches.get_mut(&kind);
                watch.into_iter().for_each(|watch| watch.listing = None);
            }
            Ok(Some(WatchEvent::Listed(objects))) => {
                self.listing(cluster, &kind, &objects);
                self.listed(cluster, &kind);
                self.wake_lanes(cluster);
            }
            Ok(Some(WatchEvent::Applied(object))) => self.object_seen(cluster, &object),
            Ok(Some(WatchEvent::Deleted(object))) => self.object_gone(cluster, &object),
            Ok(None) => self.watch_broken(cluster, kind, None),
            Err(error) if error.is_about_cluster() => self.break_link(cluster, &error),
            Err(error) => self.watch_broken(cluster, kind, Some(&error)),
        }
    }

    fn watch_broken(&mut self, cluster: &ClusterId, kind: GroupVersionKind, error: Option<&cluster::Error>) {
        let random = self.jitter.next();
        let (now, min, max) = (self.now, self.options.retry_min, self.options.retry_max);
        let Some(watch) = self.shard_mut(cluster).watches.get_mut(&kind) else { return };
        if !std::mem::replace(&mut watch.is_open, false) {
            return;
        }
        let had_held = watch.has_listed;
        watch.listing = None;
        let next_try = now + watch.row.breaks(now, min, max, random);
        match error {
            None if matches!(watch.known, Known::Listed) => {}
            // The next try lists anew.
            Some(cluster::Error::Forbidden { .. }) if watch.has_listed => {}
            Some(cluster::Error::UnknownKind { .. }) => {
                watch.known = Known::NoKind;
                self.shard_mut(cluster).forget_kind(&kind);
            }
            error => {
                let words = |reader| {
                    let words =
                        error.map_or_else(|| "the watch ended".to_owned(), |error| error.words_for(reader));
                    refusals::worded_of_watch(&words, &kind, error)
                };
                let cause = Cause {
                    next_try: Some(next_try),
                    ..Cause::new(error.map_or(Reason::Retrying, reason_of), words(Reader::Member))
                };
                let cause = Box::new(cause.detailed(words(Reader::PlatformAdmin)));
                // A request for a certificate is answered by the cluster: who may not follow it waits for ever.
                let may_read =
                    matches!(error, Some(cluster::Error::Forbidden { .. })) && kind != *signing_requests();
                watch.known = if may_read { Known::ByName(cause) } else { Known::Hidden(cause) };
                if may_read {
                    let next_read = now + self.options.read_interval;
                    self.timers.set(next_read, Alarm::Read(cluster.clone(), kind.clone()));
                }
            }
        }
        self.timers.set(next_try, Alarm::Watch(cluster.clone(), kind));
        if had_held {
            // The API server may have started anew.
            self.schedule_trials(cluster, true);
        }
        self.wake_lanes(cluster);
    }
}
