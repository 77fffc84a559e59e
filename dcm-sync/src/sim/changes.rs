//! What changed on a server, for its watches: the last changes only, as etcd keeps them.

use std::collections::VecDeque;

use dcm_core::port::cluster::{Error, Object, Selection, WatchEvent};
use jiff::Timestamp;

/// One change of one object.
#[derive(Debug)]
struct Change {
    revision: u64,
    at: Timestamp,
    before: Option<Object>,
    after: Option<Object>,
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
    pub(super) fn add(
        &mut self,
        (revision, at): (u64, Timestamp),
        before: Option<Object>,
        after: Option<Object>,
        changes_max: usize,
    ) {
        self.lines.push_back(Change { revision, at, before, after });
        while self.lines.len() > changes_max {
            self.forgotten = self.lines.pop_front().map_or(self.forgotten, |change| change.revision);
        }
    }

    /// The first change after a revision that the selection sees.
    pub(super) fn next(&self, after: u64, selection: &Selection) -> Result<Seen, Error> {
        if after < self.forgotten {
            return Err(Error::Gone);
        }
        let start = self.lines.partition_point(|change| change.revision <= after);
        for change in self.lines.range(start..) {
            if let Some(event) = change.as_seen_by(selection) {
                return Ok((change.revision, Some((change.at, event))));
            }
        }
        Ok((self.lines.back().map_or(after, |change| change.revision.max(after)), None))
    }
}

impl Change {
    /// What leaves the selection is deleted for whoever watches it.
    fn as_seen_by(&self, selection: &Selection) -> Option<WatchEvent> {
        let seen = |object: &&Object| selects(selection, object);
        match (self.before.as_ref().filter(seen), self.after.as_ref().filter(seen)) {
            (_, Some(after)) => Some(WatchEvent::Applied(after.clone())),
            (Some(before), None) => Some(WatchEvent::Deleted(before.clone())),
            (None, None) => None,
        }
    }
}

/// True when a selection sees an object.
pub(super) fn selects(selection: &Selection, object: &Object) -> bool {
    let label = &object.body["metadata"]["labels"][dcm_core::port::cluster::LABEL_OWNER];
    object.kind == selection.kind && label.as_str() == Some(selection.owner.as_str())
}
