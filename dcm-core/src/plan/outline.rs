//! Plans in the words in which they are shown.

use std::fmt;

use serde::{Deserialize, Serialize};

use crate::fields::FieldChange;

/// What would be done on one cluster.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema), schemars(rename = "ClusterPlan"))]
#[serde(rename_all = "camelCase")]
pub enum Outline {
    /// These steps; none, or warnings alone, when everything is as desired.
    Steps(Vec<OutlinedStep>),
    /// It could not be looked at, for this reason.
    Unknown(String),
}

/// One step.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema), schemars(rename = "PlanStep"))]
#[serde(rename_all = "camelCase")]
pub struct OutlinedStep {
    /// What is done.
    pub action: Act,
    /// To which object, or which request.
    pub object: String,
    /// Why, and which fields change hands.
    pub why: String,
    /// What a dry run of the cluster gave.
    #[serde(flatten)]
    pub rehearsal: Option<Rehearsal>,
}

/// What a step does, in a word.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema), schemars(rename = "PlanAction"))]
pub enum Act {
    /// An object is made.
    #[serde(rename = "create")]
    Create,
    /// An object is brought to what is desired.
    #[serde(rename = "update")]
    Update,
    /// An object that was there becomes ours.
    #[serde(rename = "adopt")]
    Adopt,
    /// An object that was there becomes ours, and what differs is overwritten.
    #[serde(rename = "overwrite")]
    Overwrite,
    /// What somebody else changed is brought back.
    #[serde(rename = "correct")]
    Correct,
    /// An object is deleted.
    #[serde(rename = "delete")]
    Delete,
    /// A namespace is deleted where nobody has put anything into it.
    #[serde(rename = "delete if empty")]
    DeleteIfEmpty,
    /// Our marks come off an object, and it stays.
    #[serde(rename = "release")]
    Release,
    /// A credential is asked for.
    #[serde(rename = "request")]
    Request,
    /// Something else has to happen before.
    #[serde(rename = "wait")]
    Wait,
    /// Nothing is done before somebody has changed something.
    #[serde(rename = "blocked")]
    Blocked,
    /// What somebody else changed is only told.
    #[serde(rename = "report")]
    Report,
    /// Nothing: a part of an object has no effect on this cluster.
    #[serde(rename = "warn")]
    Warn,
}

impl fmt::Display for Act {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.serialize(f)
    }
}

/// What a dry run of one write gave.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "camelCase")]
pub enum Rehearsal {
    /// The cluster would accept it, and it would change these fields; none of what is new.
    Changes(Vec<FieldChange>),
    /// It can't be checked yet, for this reason.
    Unchecked(String),
    /// The cluster would refuse it, in these words.
    Refused(String),
}
