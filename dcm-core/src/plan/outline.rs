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
    /// What it would change, as a dry run of the cluster or a look at the text showed.
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
    /// A part of an object of another client is changed.
    #[serde(rename = "edit")]
    Edit,
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

/// What one write would change.
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
    /// It would change these lines of a text of other clients; no dry run is made.
    Lines(LineChange),
}

/// The lines of a text that would change. All other lines stay as they are.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "camelCase")]
pub struct LineChange {
    /// The member of the ConfigMap's `data` that holds the text.
    pub member: String,
    /// The number of the first line that would change, from 1.
    pub line: usize,
    /// Lines that would go.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub removed: Vec<String>,
    /// Lines that would come in their place.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub added: Vec<String>,
}

impl LineChange {
    /// The lines between the common beginning and the common end of two texts.
    #[must_use]
    pub fn between(member: &str, before: &str, after: &str) -> Self {
        let (before, after): (Vec<&str>, Vec<&str>) = (before.lines().collect(), after.lines().collect());
        let beginning = before.iter().zip(&after).take_while(|(before, after)| before == after).count();
        let (before, after) = (before.split_at(beginning).1, after.split_at(beginning).1);
        let end =
            before.iter().rev().zip(after.iter().rev()).take_while(|(before, after)| before == after).count();
        let lines =
            |lines: &[&str]| lines.iter().take(lines.len() - end).map(|line| (*line).to_owned()).collect();
        Self { member: member.to_owned(), line: beginning + 1, removed: lines(before), added: lines(after) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_change_of_lines_is_what_is_between_the_common_beginning_and_the_common_end() {
        let change = |before: &str, after: &str| {
            let change = LineChange::between("Corefile", before, after);
            (change.line, change.removed.join(","), change.added.join(","))
        };
        let expected = |line, removed: &str, added: &str| (line, removed.to_owned(), added.to_owned());
        assert_eq!(change("a\nb\n", "x\ny\na\nb\n"), expected(1, "", "x,y"));
        assert_eq!(change("x\ny\na\n", "a\n"), expected(1, "x,y", ""));
        assert_eq!(change("a\nold\nb\n", "a\nnew\nnewer\nb\n"), expected(2, "old", "new,newer"));
        assert_eq!(change("a\na\n", "a\na\na\n"), expected(3, "", "a"));
        assert_eq!(change("a", "a"), expected(2, "", ""));
    }
}
