//! Who wrote which fields of an object.

use serde_json::Value;

use super::FieldSet;
use crate::port::cluster::FIELD_MANAGER;

/// What the API server calls whoever wrote before anybody was recorded. It is put there by the first apply to an object
/// without entries, and stands for nobody that could be asked.
pub const UNRECORDED: &str = "before-first-apply";

/// Most other managers that count one by one. The API server keeps 10 entries of clients that update; entries of clients that apply are
/// not limited, and each makes each comparison longer.
const OTHERS_MAX: usize = 32;

/// The name of the managers beyond that, which count together.
const OTHERS: &str = "other managers";

/// Who wrote which fields of an object.
#[derive(Debug, Default)]
pub struct Ownership {
    /// What we wrote by create or replace.
    pub updated: FieldSet,
    /// What we wrote by create, replace or apply.
    pub ours: FieldSet,
    /// What each other manager wrote; of managers beyond a limit, what they wrote together.
    pub others: Vec<(String, FieldSet)>,
    /// What is held under the name of whoever wrote before anybody was recorded.
    pub unrecorded_fields: Option<FieldSet>,
    /// Whether the object has entries that tell who wrote what.
    pub is_told: bool,
}

impl Ownership {
    /// Reads `metadata.managedFields`.
    pub fn read(object: &Value) -> Self {
        let mut ownership = Self::default();
        for entry in entries(object) {
            ownership.is_told = true;
            let fields = FieldSet::read(&entry["fieldsV1"]);
            let manager = entry["manager"].as_str().unwrap_or_default();
            if is_ours(entry) {
                if entry["operation"] == "Update" {
                    ownership.updated.add(&fields);
                }
                ownership.ours.absorb(fields);
            } else if manager == UNRECORDED {
                ownership.unrecorded_fields.get_or_insert_default().absorb(fields);
            } else {
                ownership.add_other(manager, fields);
            }
        }
        ownership
    }

    fn add_other(&mut self, manager: &str, fields: FieldSet) {
        if let Some((_, together)) = self.others.get_mut(OTHERS_MAX - 1) {
            together.absorb(fields);
            return;
        }
        let name = if self.others.len() == OTHERS_MAX - 1 { OTHERS } else { manager };
        self.others.push((name.to_owned(), fields));
    }

    /// Whether the object may have fields that no entry records the writer of.
    pub fn has_unrecorded(&self) -> bool {
        !self.is_told || self.unrecorded_fields.is_some()
    }

    /// All that any manager wrote: it shows which lists have keys and which objects count as one value.
    pub fn shape(&self) -> FieldSet {
        let mut shape = self.others_together();
        shape.add(&self.ours);
        self.unrecorded_fields.iter().for_each(|fields| shape.add(fields));
        shape
    }

    /// What any other manager wrote.
    pub fn others_together(&self) -> FieldSet {
        let mut together = FieldSet::default();
        for (_, fields) in &self.others {
            together.add(fields);
        }
        together
    }
}

/// The entries of `metadata.managedFields`.
pub fn entries(object: &Value) -> impl Iterator<Item = &Value> {
    object["metadata"]["managedFields"].as_array().into_iter().flatten()
}

/// True for an entry about the object itself (not a subresource) under our field manager.
pub fn is_ours(entry: &Value) -> bool {
    entry["manager"] == FIELD_MANAGER && entry["subresource"].as_str().unwrap_or_default().is_empty()
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn ownership_tells_our_entries_from_those_of_others_and_of_subresources() {
        let entry = |manager: &str, operation: &str, subresource: &str, field: &str| {
            json!({"manager": manager, "operation": operation, "subresource": subresource,
                   "fieldsV1": {(format!("f:{field}")): {}}})
        };
        let object = json!({"metadata": {"managedFields": [
            entry("dcm", "Update", "", "created"),
            entry("dcm", "Apply", "", "applied"),
            entry("dcm", "Update", "approval", "status"),
            entry("kubectl", "Update", "", "edited"),
        ]}});
        let ownership = Ownership::read(&object);
        assert_eq!(ownership.updated.write(), json!({"f:created": {}}));
        assert_eq!(ownership.ours.write(), json!({"f:applied": {}, "f:created": {}}));
        assert_eq!(ownership.others_together().write(), json!({"f:edited": {}, "f:status": {}}));
        assert_eq!(ownership.shape().children.len(), 4);
    }
}
