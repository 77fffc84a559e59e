//! What changed on a server, for its watches: the last changes only, as etcd keeps them.

use std::collections::VecDeque;

use dcm_core::port::cluster::{Error, Selection, WatchEvent};
use jiff::Timestamp;

use super::object::State;

/// A change as those see it who select the owner of its state. One revision has two when an object changes its owner:
/// for one it is gone, for the other it is there.
#[derive(Debug)]
struct Change {
    at: Timestamp,
    is_gone: bool,
    /// Under the revision of the change; of what is gone the last state.
    state: State,
}

/// How far a watch has seen after a look, and what it saw at which time.
pub(super) type Seen = (u64, Option<(Timestamp, WatchEvent)>);

/// The last changes, oldest first.
#[derive(Debug, Default)]
pub(super) struct Changes {
    lines: VecDeque<Change>,
    /// Changes up to this one are forgotten.
    forgotten: u64,
}

impl Changes {
    /// Knows nothing of what was up to a revision.
    pub(super) fn beginning_after(revision: u64) -> Self {
        Self { lines: VecDeque::new(), forgotten: revision }
    }

    pub(super) fn add(&mut self, at: Timestamp, is_gone: bool, state: State, changes_max: usize) {
        self.lines.push_back(Change { at, is_gone, state });
        while self.lines.len() > changes_max {
            self.forgotten = self.lines.pop_front().map_or(self.forgotten, |change| change.state.revision);
        }
    }

    /// The first change after a revision that the selection sees.
    pub(super) fn next(&self, after: u64, selection: &Selection) -> Result<Seen, Error> {
        if after < self.forgotten {
            return Err(Error::Gone);
        }
        let start = self.lines.partition_point(|change| change.state.revision <= after);
        if let Some(change) = self.lines.range(start..).find(|change| selects(selection, &change.state)) {
            let object = change.state.object();
            let event =
                if change.is_gone { WatchEvent::Deleted(object) } else { WatchEvent::Applied(object) };
            return Ok((change.state.revision, Some((change.at, event))));
        }
        Ok((self.lines.back().map_or(after, |change| change.state.revision.max(after)), None))
    }
}

/// True when a selection sees an object.
pub(super) fn selects(selection: &Selection, state: &State) -> bool {
    state.kind.gvk == selection.kind && state.owner.as_deref() == Some(selection.owner.as_str())
}
