//! How a logical cloud is taken off its clusters.

use dcm_core::logical_cloud::limits::{DEADLINE_SECONDS_MAX, DEADLINE_SECONDS_MIN};
use dcm_core::port::synchronizer::{Disposal, Removal};
use schemars::JsonSchema;
use serde::Deserialize;

use crate::documented::problem::{Kind, Problem};

/// How it is taken off. What is not said is as its document says.
#[derive(Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
pub(in crate::documented) struct How {
    /// Deletes namespaces together with what others put in them.
    #[serde(default)]
    pub(super) delete_contents: bool,
    /// In namespaces that are kept, deletes the RoleBindings of other clients.
    #[serde(default)]
    pub(super) remove_others_bindings: bool,
    /// Leaves all its objects there, without our marks, but for bindings: the rights of its users end.
    pub(super) keep_objects: Option<bool>,
    /// How long each cluster may take.
    #[schemars(range(min = DEADLINE_SECONDS_MIN, max = DEADLINE_SECONDS_MAX))]
    pub(super) deadline_seconds: Option<i64>,
}

impl How {
    pub(super) fn removal(&self) -> Result<Removal, Problem> {
        let malformed = |detail: &str| Err(Problem::new(Kind::Malformed, detail));
        if self.delete_contents && self.keep_objects == Some(true) {
            return malformed("say delete-contents or keep-objects, not both");
        }
        let legal = DEADLINE_SECONDS_MIN..=DEADLINE_SECONDS_MAX;
        if self.deadline_seconds.is_some_and(|seconds| !legal.contains(&seconds)) {
            let (least, most) = legal.into_inner();
            return malformed(&format!("deadline-seconds must be from {least} to {most}"));
        }
        let disposal = |keep| if keep { Disposal::Keep } else { Disposal::Delete };
        Ok(Removal {
            delete_contents: self.delete_contents,
            remove_others_bindings: self.remove_others_bindings,
            objects: self.keep_objects.map(disposal),
            deadline_seconds: self.deadline_seconds.and_then(|seconds| u32::try_from(seconds).ok()),
            ..Removal::default()
        })
    }
}
