//! What namespaces and generations belong to, as it is stored.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use dcm_core::app_context::Generation;
use dcm_core::name::{ClusterId, ContextId};
use dcm_core::port::cluster::ClusterUid;
use serde::{Deserialize, Serialize};

use super::{Root, Schema};

/// Who a cluster's namespace belongs to.
#[derive(Debug, Clone, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub(crate) struct Claim {
    pub schema: Schema,
    pub context: ContextId,
    /// The generation that asked for it: whoever clears away an earlier one leaves it.
    #[serde(default)]
    pub generation: Generation,
}

/// Which name a cluster belongs to.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub(crate) struct IdentityClaim {
    pub schema: Schema,
    pub uid: ClusterUid,
    pub cluster: ClusterId,
}

/// Namespaces that an apply is about to claim, by cluster: written before the claims where those are not written together
/// with the root, and deleted after it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub(crate) struct Claiming {
    pub schema: Schema,
    pub namespaces: BTreeMap<ClusterId, BTreeSet<Arc<str>>>,
}

/// How far the numbers of app contexts went that are forgotten. Whoever makes one of the same name goes on from there: what
/// an earlier one of its name still does, or stores, is told by its earlier numbers.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub(crate) struct Forgotten {
    pub schema: Schema,
    pub generation: Generation,
    /// Of [`Root::attempt`](super::Root::attempt): the first that none had.
    #[serde(default)]
    pub attempt: u64,
    /// Of [`Planned::number`](super::Planned::number).
    #[serde(default)]
    pub planned: u64,
}

impl Forgotten {
    /// Takes up how far a root went.
    pub(crate) fn take(&mut self, root: &Root) {
        self.generation = self.generation.max(root.generation);
        self.attempt = self.attempt.max(root.attempt + 1);
        self.planned = self.planned.max(root.planned.number);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::record::Planned;
    use dcm_core::name::ContextId;

    #[test]
    fn a_context_has_no_number_that_a_forgotten_one_had() {
        let id = ContextId::new("lc-1").unwrap();
        let first = Root::unused(&id, &Forgotten::default());
        assert_eq!((first.attempt, first.planned.number), (0, 0));
        let mut forgotten = Forgotten::default();
        let planned = Planned { number: 7, ..Planned::default() };
        forgotten.take(&Root { generation: Generation(5), attempt: 3, planned, ..first.clone() });
        forgotten.take(&Root { generation: Generation(2), ..first });
        assert_eq!(forgotten.generation, Generation(5));
        let next = Root::unused(&id, &forgotten);
        assert_eq!((next.attempt, next.planned.number), (4, 7), "a plan takes the number after this one");
    }
}
