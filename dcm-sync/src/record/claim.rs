//! What namespaces and generations belong to, as it is stored.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use dcm_core::app_context::Generation;
use dcm_core::name::{ClusterId, ContextId};
use serde::{Deserialize, Serialize};

use super::Schema;

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

/// Namespaces that an apply is about to claim, by cluster: written before the claims where those are not written together
/// with the root, and deleted after it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub(crate) struct Claiming {
    pub schema: Schema,
    pub namespaces: BTreeMap<ClusterId, BTreeSet<Arc<str>>>,
}

/// How far the generations of app contexts went that are forgotten. Whoever makes one of the same name goes on from there:
/// what an earlier one of its name still does is told by its earlier generation.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub(crate) struct Forgotten {
    pub schema: Schema,
    pub generation: Generation,
}
