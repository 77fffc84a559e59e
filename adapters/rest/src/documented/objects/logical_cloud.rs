//! Logical clouds: their own fields, and their first user as a shorthand.
//!
//! The user in a logical cloud and the permissions in that user are another view of what the collections `users` and
//! `user-permissions` hold: the first user by name, or the one that a change names, and the permissions that hold for that user
//! alone. A change replaces what it names, and leaves all else of the logical cloud as it is.

use std::collections::BTreeMap;

use dcm_core::logical_cloud::{Draft, LogicalCloud, MetadataDraft, PermissionDraft, UserDraft};
use dcm_core::refusal::{Checks, Path};
use dcm_core::service::{self, Error};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::user_permission::EmbeddedPermission;
use crate::documented::body::{Shaped, schema_of};

/// A logical cloud.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct LogicalCloudBody {
    /// Name and notes.
    #[serde(default)]
    pub(crate) metadata: MetadataDraft,
    /// What it is.
    #[serde(default)]
    spec: LogicalCloudSpec,
}

#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
struct LogicalCloudSpec {
    /// Its namespace. Default: its name, when that is a legal namespace.
    #[serde(skip_serializing_if = "Option::is_none")]
    namespace: Option<String>,
    /// `standard` (default), `privileged` or `admin`; or EMCO's `0` (admin) and `1` (standard, or privileged when a
    /// permission leaves the namespace).
    #[serde(skip_serializing_if = "Option::is_none")]
    level: Option<String>,
    /// Labels of the namespace.
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    labels: BTreeMap<String, String>,
    /// The first user. Absent in a change: the users stay as they are.
    #[serde(skip_serializing_if = "Option::is_none")]
    user: Option<FirstUser>,
    /// The names of its cluster references. Ignored in a change.
    #[serde(skip_serializing_if = "Option::is_none")]
    clusters: Option<Vec<String>>,
}

#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
struct FirstUser {
    /// The user's name.
    user_name: String,
    /// `certificate` or `token`, in any case. Absent in a change: as it is, or else `certificate`.
    #[serde(rename = "type", default, skip_serializing_if = "Option::is_none")]
    kind: Option<String>,
    /// What this user alone may do. Absent in a change: as it is.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    user_permissions: Option<Vec<EmbeddedPermission>>,
}

impl Shaped for LogicalCloudBody {
    schema_of!(LogicalCloudBody);
}

impl LogicalCloudBody {
    /// What a logical cloud, or none, becomes by this.
    pub(crate) fn onto(self, current: Option<&LogicalCloud>) -> Result<Draft, Error> {
        let mut draft = current.map_or_else(Draft::default, LogicalCloud::to_draft);
        let LogicalCloudSpec { namespace, level, labels, user, clusters: _ } = self.spec;
        draft.metadata = self.metadata;
        (draft.spec.namespace, draft.spec.level, draft.spec.labels) = (namespace, level, labels);
        if let Some(user) = user {
            user.put_into(&mut draft)?;
        }
        Ok(draft)
    }

    /// A logical cloud.
    pub(crate) fn of(cloud: &LogicalCloud) -> Self {
        let Draft { metadata, spec } = cloud.to_draft();
        let references = cloud.references().iter().map(|reference| reference.metadata.name.to_string());
        let clusters = Some(references.collect());
        let user = spec.users.into_iter().next().map(|user| FirstUser::of(user, spec.permissions));
        let (namespace, level, labels) = (spec.namespace, spec.level, spec.labels);
        Self { metadata, spec: LogicalCloudSpec { namespace, level, labels, user, clusters } }
    }

    /// The name of the user that it names.
    pub(crate) fn user(&self) -> Option<&str> {
        self.spec.user.as_ref().map(|user| &*user.user_name)
    }
}

impl FirstUser {
    fn of(user: UserDraft, permissions: Vec<PermissionDraft>) -> Self {
        let own = permissions.into_iter().filter(|permission| is_own(permission, &user.name));
        let user_permissions = Some(own.map(EmbeddedPermission::from).collect());
        Self { user_name: user.name, kind: user.kind, user_permissions }
    }

    /// Puts the user, and what only that user may do, before the others: so it is known where they are.
    fn put_into(self, draft: &mut Draft) -> Result<(), Error> {
        let Self { user_name: name, kind, user_permissions } = self;
        let users = &mut draft.spec.users;
        let found = users.iter().position(|user| user.name == name).map(|index| users.remove(index));
        let before = found.unwrap_or_else(|| UserDraft { name: name.clone(), ..UserDraft::default() });
        users.insert(0, UserDraft { kind: kind.or(before.kind), ..before });
        let Some(permissions) = user_permissions else { return Ok(()) };
        let (own, others): (Vec<_>, Vec<_>) =
            draft.spec.permissions.drain(..).partition(|permission| is_own(permission, &name));
        let mut own: BTreeMap<String, PermissionDraft> =
            own.into_iter().map(|permission| (permission.name.clone(), permission)).collect();
        let mut checks = Checks::default();
        let mut put = Vec::with_capacity(permissions.len() + others.len());
        for (index, permission) in permissions.into_iter().enumerate() {
            let called = permission.permission_name.clone();
            if others.iter().any(|other| other.name == called) {
                let at = Path::root().field("spec").field("permissions").item(index).field("name");
                checks.refuse(&at, &called, "holds for others: change it as a user permission");
            }
            put.push(permission.into_draft(&name, own.remove(&called).unwrap_or_default()));
        }
        put.extend(others);
        draft.spec.permissions = put;
        Ok(checks.finish(Some(()))?)
    }
}

/// True for what this user alone may do.
fn is_own(permission: &PermissionDraft, user: &str) -> bool {
    permission.users.as_ref().is_some_and(|users| matches!(&users[..], [one] if one == user))
}

/// Where the body has what a document has at a path, after [`LogicalCloudBody::onto`]. Who may do something is the user.
pub(crate) fn field_of_cloud(path: &str) -> String {
    if path.starts_with("spec.permissions[") && path.contains("].users") {
        return "spec.user.user-name".to_owned();
    }
    if let Some(rest) = path.strip_prefix("spec.users[0]") {
        return format!("spec.user{}", rest.replace(".name", ".user-name"));
    }
    match path.strip_prefix("spec.permissions[") {
        Some(rest) => format!("spec.user.user-permissions[{}", rest.replace("].name", "].permission-name")),
        None => path.to_owned(),
    }
}

/// What the change of a logical cloud is answered with.
#[derive(Debug, Serialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub(crate) struct Put {
    /// Its name.
    name: String,
    /// The same.
    logical_cloud_name: String,
    /// Its namespace; an admin cloud has none of its own.
    #[serde(skip_serializing_if = "Option::is_none")]
    namespace: Option<String>,
    /// The user that was named, or else the first one.
    #[serde(skip_serializing_if = "Option::is_none")]
    user: Option<String>,
}

impl Put {
    pub(crate) fn of(cloud: &LogicalCloud, named: Option<String>) -> Self {
        let name = cloud.name().to_string();
        let first = || cloud.users().first().map(|user| user.metadata.name.to_string());
        Self {
            logical_cloud_name: name.clone(),
            name,
            namespace: cloud.namespace().map(ToString::to_string),
            user: named.or_else(first),
        }
    }
}

/// What a list shows of a logical cloud.
#[derive(Debug, Serialize, JsonSchema)]
pub(crate) struct Summary {
    metadata: MetadataDraft,
    spec: SummarySpec,
    status: SummaryStatus,
}

#[derive(Debug, Serialize, JsonSchema)]
struct SummarySpec {
    #[serde(skip_serializing_if = "Option::is_none")]
    namespace: Option<String>,
    level: String,
}

/// What is counted of it.
#[derive(Debug, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
struct SummaryStatus {
    /// What tells it from another one of its name.
    uid: String,
    /// The number of its last edit.
    edit: u64,
    /// How many users it has.
    users: usize,
    /// How many cluster references it has.
    cluster_references: usize,
    /// True when it is wanted on clusters.
    is_applied: bool,
}

impl From<service::Summary> for Summary {
    fn from(summary: service::Summary) -> Self {
        Self {
            spec: SummarySpec {
                namespace: summary.namespace.as_ref().map(ToString::to_string),
                level: summary.level.to_string(),
            },
            status: SummaryStatus {
                uid: summary.uid.to_string(),
                edit: summary.edit,
                users: summary.users,
                cluster_references: summary.references,
                is_applied: summary.snapshot.is_some(),
            },
            metadata: summary.metadata,
        }
    }
}
