//! What is under way, counted for whoever waits until nothing is: requests to clusters, and records of lanes on their way to the
//! store. One that came late, after its context is forgotten, nobody would know of.

use std::collections::{BTreeMap, BTreeSet};

use dcm_core::name::{ClusterId, ContextId};

use super::io::Scope;

/// What is under way, by what it is about.
#[derive(Default)]
pub(super) struct Flights {
    under_way: BTreeMap<Scope, usize>,
    awaited: BTreeSet<Scope>,
}

impl Flights {
    /// Something leaves, for an app context or for none.
    pub(super) fn begun(&mut self, cluster: &ClusterId, context: Option<&ContextId>) {
        for scope in scopes(cluster, context) {
            *self.under_way.entry(scope).or_default() += 1;
        }
    }

    /// It was answered, or given up.
    pub(super) fn ended(&mut self, cluster: &ClusterId, context: Option<&ContextId>) {
        for scope in scopes(cluster, context) {
            if let Some(count) = self.under_way.get_mut(&scope) {
                *count -= 1;
                if *count == 0 {
                    self.under_way.remove(&scope);
                }
            }
        }
    }

    /// Somebody waits until nothing is under way.
    pub(super) fn await_quiet(&mut self, scope: Scope) {
        self.awaited.insert(scope);
    }

    /// One of those of which nothing is under way any more. Each is given once.
    pub(super) fn next_quiet(&mut self) -> Option<Scope> {
        let quiet = self.awaited.iter().find(|scope| !self.under_way.contains_key(scope)).cloned()?;
        self.awaited.take(&quiet)
    }
}

fn scopes(cluster: &ClusterId, context: Option<&ContextId>) -> impl Iterator<Item = Scope> {
    let context = context.map(|context| Scope::Context(context.clone()));
    std::iter::once(Scope::Cluster(cluster.clone())).chain(context)
}
