//! Key-value pairs: notes that are kept with a logical cloud and never rendered.

use serde::{Deserialize, Serialize};
#[cfg(feature = "pki")]
use serde_json::Value;

use crate::name::KeyValuesName;
use crate::refusal::{Checks, Path, Refusals};

use super::check::Part;
use super::draft::KeyValuesDraft;
use super::limits::KEY_VALUES_BYTES_MAX;
use super::metadata::Metadata;
use super::pairs::Pairs;

/// Key-value pairs with a name, returned as they were sent. Nothing of them reaches a cluster.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(try_from = "KeyValuesDraft", into = "KeyValuesDraft")]
#[non_exhaustive]
pub struct KeyValues {
    /// Name, unique in the cloud, and notes.
    pub metadata: Metadata<KeyValuesName>,
    /// The pairs, in order.
    pub pairs: Pairs,
}

impl Part for KeyValues {
    type Draft = KeyValuesDraft;
    type Name = KeyValuesName;

    fn metadata(&self) -> &Metadata<KeyValuesName> {
        &self.metadata
    }

    fn check(draft: &KeyValuesDraft, at: &Path, checks: &mut Checks) -> Option<Self> {
        let metadata = Metadata::check(draft.metadata(), at, checks);
        if draft.kv.as_json().len() > KEY_VALUES_BYTES_MAX {
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
        self.pairs.as_json().len()
    }

    /// The pairs with their name and notes, as a value from which they can be read again.
    #[cfg(feature = "pki")]
    pub(crate) fn to_value(&self) -> Value {
        KeyValuesDraft::from(self.clone()).to_value()
    }
}

impl KeyValuesDraft {
    /// A value from which the draft can be read again; numbers of the pairs keep their digits.
    #[cfg(feature = "pki")]
    pub(crate) fn to_value(&self) -> Value {
        let notes = Self { kv: Pairs::default(), ..self.clone() };
        let mut value = serde_json::to_value(notes).unwrap_or_default();
        value["kv"] = self.kv.to_value();
        value
    }
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
