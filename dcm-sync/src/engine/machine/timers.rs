//! What the machine wants to be reminded of. An alarm may be out of date when it rings; whoever hears it looks.

use std::collections::BTreeMap;
use std::sync::Arc;

use dcm_core::manifest::GroupVersionKind;
use dcm_core::name::{ClusterId, ContextId};
use jiff::Timestamp;

use crate::engine::io::LaneId;
use crate::record::WorkerId;

#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Alarm {
    /// Our session has to be renewed.
    Session,
    /// A worker's session may have ended.
    Peer(WorkerId),
    /// Another try to look up a worker's session.
    Owner(WorkerId),
    /// Another try to take a shard.
    Claim(ClusterId),
    /// What the earlier owner of a shard had sent to the store has come by now.
    Reread(ClusterId),
    /// Another try to reach a cluster.
    Connect(ClusterId),
    /// Another try to watch a kind.
    Watch(ClusterId, GroupVersionKind),
    /// Another reading of the recorded objects of a kind that we may not watch.
    Read(ClusterId, GroupVersionKind),
    /// Another reading of the objects of which a lane edits parts.
    Edits(LaneId),
    /// Another look at a lane.
    Lane(LaneId),
    /// What a cluster issued is tried there again.
    Trials(ClusterId),
    /// Another try to store a lane's record.
    SaveLane(LaneId),
    /// A cluster may be sent requests again.
    Cluster(ClusterId),
    /// A request that hangs counts no more: there is room for others.
    Room,
    /// Another try to load a context.
    Load(ContextId),
    /// The records of a forgotten context may go.
    Bury(ContextId),
    /// A stop waits no longer.
    Stop,
    /// A cluster may go to another worker now.
    Share,
}

/// Alarms in the order of their time; of equal alarms only the earliest is kept.
#[derive(Debug, Default)]
pub(super) struct Timers {
    by_time: BTreeMap<(Timestamp, u64), Arc<Alarm>>,
    by_alarm: BTreeMap<Arc<Alarm>, (Timestamp, u64)>,
    sequence: u64,
}

impl Timers {
    pub(super) fn set(&mut self, at: Timestamp, alarm: Alarm) {
        let known = match self.by_alarm.get(&alarm).copied() {
            Some(earlier) if earlier.0 <= at => return,
            Some(later) => self.by_time.remove(&later),
            None => None,
        };
        let alarm = known.unwrap_or_else(|| Arc::new(alarm));
        self.sequence += 1;
        self.by_time.insert((at, self.sequence), alarm.clone());
        self.by_alarm.insert(alarm, (at, self.sequence));
    }

    pub(super) fn next(&self) -> Option<Timestamp> {
        self.by_time.keys().next().map(|(at, _)| *at)
    }

    pub(super) fn due(&mut self, now: Timestamp) -> Option<Alarm> {
        let entry = self.by_time.first_entry().filter(|entry| entry.key().0 <= now)?;
        let alarm = entry.remove();
        self.by_alarm.remove(&alarm);
        Some(Arc::unwrap_or_clone(alarm))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::time::Duration;

    #[test]
    fn alarms_ring_in_order_and_the_earlier_of_two_equal_ones_wins() {
        let at = |seconds| Timestamp::UNIX_EPOCH + Duration::from_secs(seconds);
        let other = Alarm::Peer(WorkerId::from_random(1));
        let mut timers = Timers::default();
        timers.set(at(5), Alarm::Session);
        timers.set(at(3), Alarm::Session);
        timers.set(at(9), Alarm::Session);
        timers.set(at(4), other.clone());
        assert_eq!(timers.next(), Some(at(3)));
        assert_eq!(timers.due(at(2)), None);
        assert_eq!(timers.due(at(9)), Some(Alarm::Session));
        assert_eq!(timers.due(at(9)), Some(other));
        assert_eq!(timers.due(at(9)), None);
    }
}
