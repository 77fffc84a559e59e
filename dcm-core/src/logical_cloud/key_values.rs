//! Key-value pairs: notes that are kept with a logical cloud and never rendered.

use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use crate::hash::write_canonical;
use crate::name::KeyValuesName;
use crate::refusal::{Checks, Path, Refusals};

use super::check::Part;
use super::draft::KeyValuesDraft;
use super::limits::KEY_VALUES_BYTES_MAX;
use super::metadata::Metadata;

/// An ordered list of maps with any JSON in them, returned as it was sent. Nothing of it reaches a cluster.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(try_from = "KeyValuesDraft", into = "KeyValuesDraft")]
#[non_exhaustive]
pub struct KeyValues {
    /// Name, unique in the cloud, and notes.
    pub metadata: Metadata<KeyValuesName>,
    /// The pairs, in order.
    pub pairs: Vec<Map<String, Value>>,
}

impl Part for KeyValues {
    type Draft = KeyValuesDraft;
    type Name = KeyValuesName;

    fn metadata(&self) -> &Metadata<KeyValuesName> {
        &self.metadata
    }

    fn check(draft: &KeyValuesDraft, at: &Path, checks: &mut Checks) -> Option<Self> {
        let metadata = Metadata::check(draft.metadata(), at, checks);
        if bytes(&draft.kv) > KEY_VALUES_BYTES_MAX {
            checks.refuse(
                &at.field("kv"),
                "",
                format!("must be at most {KEY_VALUES_BYTES_MAX} bytes of JSON"),
            );
            return None;
        }
        Some(Self { metadata: metadata?, pairs: draft.kv.clone() })
    }
}

impl KeyValues {
    /// How many bytes of JSON its pairs are.
    #[cfg(feature = "pki")]
    pub(crate) fn bytes(&self) -> usize {
        bytes(&self.pairs)
    }
}

fn bytes(pairs: &[Map<String, Value>]) -> usize {
    let mut text = String::new();
    for pair in pairs {
        write_canonical(&Value::Object(pair.clone()), &mut text);
    }
    text.len()
}

impl TryFrom<KeyValuesDraft> for KeyValues {
    type Error = Refusals;

    fn try_from(draft: KeyValuesDraft) -> Result<Self, Refusals> {
        super::checked(|checks| Self::check(&draft, &Path::root(), checks))
    }
}

impl From<KeyValues> for KeyValuesDraft {
    fn from(values: KeyValues) -> Self {
        Self { kv: values.pairs, ..Self::with_metadata(values.metadata.into()) }
    }
}
