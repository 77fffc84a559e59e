//! Losing what was written last, as an API server does whose database is restored from a backup.

use std::collections::{BTreeMap, BTreeSet};

use dcm_core::manifest::ObjectKey;

use super::changes::Changes;
use super::object::{State, Stored};
use super::schedule::Schedule;
use super::server::Server;

/// What was on a server at some time.
#[derive(Debug, Clone)]
pub struct Snapshot {
    objects: BTreeMap<ObjectKey, Stored>,
    emptying: BTreeSet<ObjectKey>,
}

impl Server {
    pub(super) fn snapshot(&self) -> Snapshot {
        Snapshot { objects: self.objects.clone(), emptying: self.emptying.clone() }
    }

    /// Has again what it had. Versions go on, as those of a database that is restored with its revision bumped; what the
    /// controllers had begun they begin again.
    pub(super) fn restore(&mut self, snapshot: &Snapshot) {
        self.objects.clone_from(&snapshot.objects);
        self.emptying.clone_from(&snapshot.emptying);
        self.revision += 1;
        self.changes = Changes::beginning_after(self.revision);
        self.schedule = Schedule::new(self.now);
        let states: Vec<State> = self.objects.values().map(|stored| stored.state.clone()).collect();
        for state in states {
            let object = state.object();
            if state.is_deleting && state.kind.gvk.is_namespace() {
                self.terminate(&object);
            }
            self.schedule_cleaning(&object);
        }
        self.issue_waiting();
    }
}
