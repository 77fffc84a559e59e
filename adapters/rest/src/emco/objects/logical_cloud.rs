//! Logical clouds: their own fields, and their first user.

use std::collections::BTreeMap;

use dcm_core::logical_cloud::{self, Draft, Level, UserDraft};
use dcm_core::name::API_NAME_MAX;
use serde::{Deserialize, Serialize};

use super::{Metadata, at_most};
use crate::emco::body::{Document, Shape};

/// Longest name of a user, in characters.
const USER_NAME_MAX: usize = 20;

/// Longest level, in characters.
const LEVEL_MAX: usize = 2;

/// The level of admin clouds.
const ADMIN: &str = "0";

/// A logical cloud.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub(crate) struct LogicalCloud {
    pub(crate) metadata: Metadata,
    spec: LogicalCloudSpec,
}

#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
struct LogicalCloudSpec {
    namespace: String,
    /// `null` when there is none.
    labels: Option<BTreeMap<String, String>>,
    level: String,
    user: User,
}

#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
struct User {
    user_name: String,
    #[serde(rename = "type")]
    kind: String,
}

impl Document for LogicalCloud {
    const SHAPE: Shape = Shape::Of(&[
        ("metadata", Metadata::SHAPE),
        (
            "spec",
            Shape::Of(&[
                ("namespace", Shape::Any),
                ("labels", Shape::Any),
                ("level", Shape::Any),
                ("user", Shape::Of(&[("userName", Shape::Any), ("type", Shape::Any)])),
            ]),
        ),
    ]);

    fn check(&self, lines: &mut Vec<String>) {
        let LogicalCloudSpec { namespace, labels, level, user } = &self.spec;
        self.metadata.check(lines);
        at_most(API_NAME_MAX, namespace, lines);
        labels.iter().flat_map(BTreeMap::values).for_each(|value| at_most(API_NAME_MAX, value, lines));
        at_most(LEVEL_MAX, level, lines);
        at_most(USER_NAME_MAX, &user.user_name, lines);
        at_most(API_NAME_MAX, &user.kind, lines);
    }
}

impl LogicalCloud {
    /// What the logical cloud, or none, becomes by this. What EMCO knows nothing of stays as it is.
    pub(crate) fn onto(self, current: Option<&logical_cloud::LogicalCloud>) -> Draft {
        let mut draft =
            current.map_or_else(Draft::default, logical_cloud::LogicalCloud::to_draft_of_one_level);
        let LogicalCloudSpec { namespace, labels, level, user } = self.spec;
        draft.metadata = self.metadata.into();
        let spec = &mut draft.spec;
        if level == ADMIN {
            // It uses its clusters as they are: EMCO keeps what else is said of it, and makes nothing of it.
            (spec.level, spec.namespace) = (Some(level), None);
            spec.labels.clear();
            spec.users.clear();
            return draft;
        }
        let is_privileged = spec.level.as_deref() == Some(Level::Privileged.as_str());
        if !level.is_empty() && level != Level::STANDARD_OR_PRIVILEGED {
            spec.level = Some(level);
        } else if !is_privileged {
            spec.level = Some(Level::STANDARD_OR_PRIVILEGED.to_owned());
        }
        spec.namespace = Some(namespace).filter(|namespace| !namespace.is_empty());
        spec.labels = labels.unwrap_or_default();
        user.put_into(&mut spec.users);
        draft
    }
}

impl LogicalCloud {
    /// Where the document has what a draft has at a path.
    pub(crate) fn field(path: &str) -> String {
        match path.strip_prefix("spec.users[").and_then(|rest| rest.split_once(']')) {
            Some((_, ".name")) => "spec.user.userName".to_owned(),
            Some((_, field)) => format!("spec.user{field}"),
            None => path.to_owned(),
        }
    }
}

impl User {
    /// Makes it a user of the cloud: in the place of the only one there is, or beside several. Who is there already is given the
    /// type alone.
    fn put_into(self, users: &mut Vec<UserDraft>) {
        if self.user_name.is_empty() {
            return;
        }
        let kind = Some(self.kind).filter(|kind| !kind.is_empty());
        match users.iter_mut().find(|user| user.name == self.user_name) {
            Some(user) => user.kind = kind.or(user.kind.take()),
            None => {
                if users.len() == 1 {
                    users.clear();
                }
                users.push(UserDraft { name: self.user_name, kind, ..UserDraft::default() });
            }
        }
    }
}

impl From<&logical_cloud::LogicalCloud> for LogicalCloud {
    fn from(cloud: &logical_cloud::LogicalCloud) -> Self {
        let level = match cloud.level() {
            Level::Admin => ADMIN,
            Level::Standard | Level::Privileged => Level::STANDARD_OR_PRIVILEGED,
        };
        let user = cloud.users().first().map(|user| User {
            user_name: user.metadata.name.to_string(),
            kind: user.kind.as_str().to_owned(),
        });
        let spec = LogicalCloudSpec {
            namespace: cloud.namespace().map(ToString::to_string).unwrap_or_default(),
            labels: Some(cloud.labels().clone()).filter(|labels| !labels.is_empty()),
            level: level.to_owned(),
            user: user.unwrap_or_default(),
        };
        Self { metadata: Metadata::of(cloud.metadata().clone()), spec }
    }
}

#[cfg(test)]
mod tests {
    use dcm_core::logical_cloud::LogicalCloudUid;
    use serde_json::{Value, json};

    use super::*;

    #[allow(clippy::needless_pass_by_value, reason = "bodies are written in place")]
    fn read(spec: Value) -> LogicalCloud {
        serde_json::from_value(json!({"metadata": {"name": "lc"}, "spec": spec})).unwrap()
    }

    fn made(draft: Draft) -> logical_cloud::LogicalCloud {
        let uid = LogicalCloudUid::from_random(1);
        logical_cloud::LogicalCloud::new("p".parse().unwrap(), uid, draft).unwrap().0
    }

    fn users(cloud: &logical_cloud::LogicalCloud) -> Vec<String> {
        cloud.users().iter().map(|user| format!("{}={}", user.metadata.name, user.kind.as_str())).collect()
    }

    #[test]
    fn the_only_user_is_replaced_and_several_stay() {
        let one = made(read(json!({"user": {"userName": "ann"}})).onto(None));
        assert_eq!(users(&one), ["ann=certificate"]);
        let other = made(read(json!({"user": {"userName": "bob", "type": "token"}})).onto(Some(&one)));
        assert_eq!(users(&other), ["bob=token"]);
        assert_eq!(users(&made(read(json!({})).onto(Some(&other)))), ["bob=token"]);
        let mut draft = other.to_draft();
        draft.spec.users.push(UserDraft { name: "eve".into(), ..UserDraft::default() });
        let two = made(read(json!({"user": {"userName": "ann"}})).onto(Some(&made(draft))));
        assert_eq!(users(&two), ["ann=certificate", "bob=token", "eve=certificate"]);
    }

    #[test]
    fn a_level_is_told_in_one_of_two_words() {
        for (level, told) in [("", "1"), ("1", "1"), ("0", "0")] {
            let spec = json!({"level": level, "user": {"userName": "ann"}, "labels": {"a": "b"}});
            let cloud = made(read(spec).onto(None));
            assert_eq!(LogicalCloud::from(&cloud).spec.level, told);
            assert_eq!(cloud.users().is_empty(), told == "0");
        }
        let mut draft = read(json!({})).onto(None);
        draft.spec.level = Some("privileged".into());
        let privileged = made(draft);
        assert_eq!(LogicalCloud::from(&privileged).spec.level, "1");
        assert_eq!(made(read(json!({"level": "1"})).onto(Some(&privileged))).level(), Level::Privileged);
    }
}
