//! Logical clouds: their own fields, and their first user as a shorthand.
//!
//! The user in a logical cloud and the permissions in that user are another view of what the collections `users` and
//! `user-permissions` hold: the first user by name, or the one that a change names, and the permissions that hold for that user
//! alone. A change replaces what it names, and leaves all else of the logical cloud as it is.

use std::collections::BTreeMap;

use dcm_core::logical_cloud::life_cycle::{LifeCycle, Progress, State};
use dcm_core::logical_cloud::{
    Draft, LogicalCloud, MetadataDraft, PermissionDraft, ServiceMeshDraft, UserDraft,
};
use dcm_core::name::LogicalCloudName;
use dcm_core::refusal::{Checks, Path};
use dcm_core::service::{self, Error};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::METADATA;
use super::user_permission::EmbeddedPermission;
use crate::documented::body::{Shaped, schema_of};
use crate::documented::openapi::Rules;

/// A logical cloud. What a change does not name stays as it is.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
#[schemars(rename = "LogicalCloud")]
pub(crate) struct LogicalCloudBody {
    /// Name and notes, as a whole.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    metadata: Option<MetadataDraft>,
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
    /// Labels of the namespace, as a whole.
    #[serde(skip_serializing_if = "Option::is_none")]
    labels: Option<BTreeMap<String, String>>,
    /// The first user.
    #[serde(skip_serializing_if = "Option::is_none")]
    user: Option<FirstUser>,
    /// Its service mesh. Absent in a change: as it is; a declarative document without one takes it away.
    #[serde(rename = "serviceMesh", skip_serializing_if = "Option::is_none")]
    service_mesh: Option<ServiceMeshDraft>,
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
    const RULES: Rules = &[
        METADATA,
        ("/properties/spec/properties/namespace", "/properties/spec/properties/namespace"),
        ("/properties/spec/properties/level", "/properties/spec/properties/level"),
        ("/properties/spec/properties/labels", "/properties/spec/properties/labels"),
        (
            "/properties/spec/properties/serviceMesh/properties/key",
            "/properties/spec/properties/serviceMesh/properties/key",
        ),
        (
            "/properties/spec/properties/serviceMesh/properties/dns/properties/zone",
            "/properties/spec/properties/serviceMesh/properties/dns/properties/zone",
        ),
        (
            "/properties/spec/properties/user/properties/user-name",
            "/properties/spec/properties/users/items/properties/name",
        ),
        (
            "/properties/spec/properties/user/properties/type",
            "/properties/spec/properties/users/items/properties/type",
        ),
        (
            "/properties/spec/properties/user/properties/user-permissions/items",
            "/properties/spec/properties/permissions/items",
        ),
        (
            "/properties/spec/properties/user/properties/user-permissions/items/properties/permission-name",
            "/properties/spec/properties/permissions/items/properties/name",
        ),
    ];

    schema_of!(LogicalCloudBody);
}

impl LogicalCloudBody {
    /// Its name; empty where it names none.
    pub(crate) fn name(&self) -> &str {
        self.metadata.as_ref().map_or("", |metadata| &metadata.name)
    }

    /// What the logical cloud of this name, or none, becomes by this.
    pub(crate) fn onto(
        self,
        name: &LogicalCloudName,
        current: Option<&LogicalCloud>,
    ) -> Result<Draft, Error> {
        let mut draft = current.map_or_else(Draft::default, LogicalCloud::to_draft);
        let LogicalCloudSpec { namespace, level, labels, user, service_mesh, clusters: _ } = self.spec;
        draft.metadata = MetadataDraft { name: name.to_string(), ..self.metadata.unwrap_or(draft.metadata) };
        let spec = &mut draft.spec;
        spec.namespace = namespace.or(spec.namespace.take());
        spec.level = level.or(spec.level.take());
        spec.labels = labels.unwrap_or(std::mem::take(&mut spec.labels));
        spec.service_mesh = service_mesh.or(spec.service_mesh.take());
        if let Some(user) = user {
            user.put_into(&mut draft)?;
        }
        Ok(draft)
    }

    /// Which fields it has.
    pub(crate) fn fields(&self) -> Fields {
        let user = self.spec.user.as_ref();
        let permissions = user.and_then(|user| user.user_permissions.as_ref()).map_or(0, Vec::len);
        Fields { has_user: user.is_some(), permissions }
    }

    /// A logical cloud.
    pub(crate) fn of(cloud: &LogicalCloud) -> Self {
        let Draft { metadata, spec } = cloud.to_draft();
        let references = cloud.references().iter().map(|reference| reference.metadata.name.to_string());
        let clusters = Some(references.collect());
        let user = spec.users.into_iter().next().map(|user| FirstUser::of(user, spec.permissions));
        let labels = Some(spec.labels).filter(|labels| !labels.is_empty());
        let (namespace, level, service_mesh) = (spec.namespace, spec.level, spec.service_mesh);
        let spec = LogicalCloudSpec { namespace, level, labels, user, service_mesh, clusters };
        Self { metadata: Some(metadata), spec }
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

/// Which fields of a document come from a body.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Fields {
    has_user: bool,
    permissions: usize,
}

impl Fields {
    /// Where the body has what a document has at a path, after [`LogicalCloudBody::onto`]; empty for what it does not have.
    pub(crate) fn of(self, path: &str) -> String {
        self.in_body(path).unwrap_or_default()
    }

    fn in_body(self, path: &str) -> Option<String> {
        if let Some((0, field)) = item(path, "spec.users").filter(|_| self.has_user) {
            return match field {
                "name" => Some("spec.user.user-name".to_owned()),
                "type" => Some("spec.user.type".to_owned()),
                _ => None,
            };
        }
        if let Some((index, field)) = item(path, "spec.permissions").filter(|(at, _)| *at < self.permissions)
        {
            let at = format!("spec.user.user-permissions[{index}]");
            return Some(match field {
                "" => at,
                "name" => format!("{at}.permission-name"),
                field if field.starts_with("users") => "spec.user.user-name".to_owned(),
                field => format!("{at}.{field}"),
            });
        }
        let own = ["metadata", "spec.namespace", "spec.level", "spec.labels", "spec.serviceMesh"];
        own.iter().any(|field| path.starts_with(field)).then(|| path.to_owned())
    }
}

/// The index of an item of a list, and the field in it.
fn item<'a>(path: &'a str, list: &str) -> Option<(usize, &'a str)> {
    let (index, field) = path.strip_prefix(list)?.strip_prefix('[')?.split_once(']')?;
    Some((index.parse().ok()?, field.trim_start_matches('.')))
}

/// What the change of a logical cloud is answered with.
#[derive(Debug, Serialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
#[schemars(rename = "PutLogicalCloud")]
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
#[schemars(rename = "LogicalCloudSummary")]
pub(crate) struct Summary {
    /// Name and notes.
    metadata: MetadataDraft,
    /// What it is.
    spec: SummarySpec,
    /// What is counted of it.
    status: SummaryStatus,
}

#[derive(Debug, Serialize, JsonSchema)]
struct SummarySpec {
    /// Its namespace; an admin cloud has none of its own.
    #[serde(skip_serializing_if = "Option::is_none")]
    namespace: Option<String>,
    /// `standard`, `privileged` or `admin`.
    level: String,
    /// Labels of the namespace.
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    labels: BTreeMap<String, String>,
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
    /// How far it is, where that was asked for.
    #[serde(flatten, skip_serializing_if = "Option::is_none")]
    progress: Option<CloudProgress>,
}

/// How far a logical cloud is.
#[derive(Debug, Serialize, JsonSchema)]
struct CloudProgress {
    /// Its state.
    #[serde(flatten)]
    state: State,
    /// On how many clusters it is how far.
    clusters: ClusterCounts,
}

#[derive(Debug, Serialize, JsonSchema)]
struct ClusterCounts {
    /// At work, waiting or trying again.
    working: usize,
    /// As wanted.
    done: usize,
    /// Nothing more happens by itself.
    failed: usize,
}

impl From<LifeCycle> for CloudProgress {
    fn from(life: LifeCycle) -> Self {
        let Progress { working, done, failed } = life.progress;
        Self { state: life.state(), clusters: ClusterCounts { working, done, failed } }
    }
}

impl Summary {
    /// The same with how far it is.
    pub(crate) fn with_progress(mut self, life: LifeCycle) -> Self {
        self.status.progress = Some(life.into());
        self
    }
}

impl From<service::Summary> for Summary {
    fn from(summary: service::Summary) -> Self {
        Self {
            spec: SummarySpec {
                namespace: summary.namespace.as_ref().map(ToString::to_string),
                level: summary.level.to_string(),
                labels: summary.labels,
            },
            status: SummaryStatus {
                uid: summary.uid.to_string(),
                edit: summary.edit,
                users: summary.users,
                cluster_references: summary.references,
                is_applied: summary.snapshot.is_some(),
                progress: None,
            },
            metadata: summary.metadata,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_told_of_a_document_is_told_of_the_body() {
        let fields = Fields { has_user: true, permissions: 2 };
        for (path, field) in [
            ("metadata.name", "metadata.name"),
            ("spec.labels[\"a.b\"]", "spec.labels[\"a.b\"]"),
            ("spec.serviceMesh.key", "spec.serviceMesh.key"),
            ("spec.users[0].name", "spec.user.user-name"),
            ("spec.users[0].type", "spec.user.type"),
            ("spec.users[0].key", ""),
            ("spec.users[1].name", ""),
            ("spec.users", ""),
            ("spec.permissions[1].name", "spec.user.user-permissions[1].permission-name"),
            ("spec.permissions[1].namespace", "spec.user.user-permissions[1].namespace"),
            ("spec.permissions[0].users[0]", "spec.user.user-name"),
            ("spec.permissions[2].verbs", ""),
            ("spec.quotas[0].hard", ""),
        ] {
            assert_eq!(fields.of(path), field, "{path}");
        }
        assert_eq!(Fields { has_user: false, permissions: 0 }.of("spec.users[0].name"), "");
    }
}
