//! Losing what was written last, as an API server does whose database is restored from a backup.

use std::collections::{BTreeMap, BTreeSet};

use dcm_core::manifest::{GroupVersionKind, ObjectKey};
use dcm_core::port::cluster::{Error, Precondition};
use serde_json::Value;

use super::Seeded;
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
    /// What a write would leave behind: it is made on a copy that nobody else sees.
    pub(super) fn rehearse(
        &self,
        kind: &GroupVersionKind,
        key: &ObjectKey,
        body: &Value,
        observed: Option<&Precondition>,
        force: bool,
    ) -> Result<Value, Error> {
        let mut copy = Self::new(self.settings.clone(), None, Seeded::new(self.revision), self.now);
        copy.restore(&self.snapshot());
        copy.revision = self.revision;
        let written = match observed {
            Some(observed) => copy.apply(kind, key, body, observed, force),
            None => copy.create(kind, key, body),
        };
        written.map(|object| Value::clone(&object.body))
    }

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
