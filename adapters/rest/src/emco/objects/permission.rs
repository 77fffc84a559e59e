//! User permissions.

use dcm_core::logical_cloud::{self, LogicalCloud, PermissionDraft, Scope};
use dcm_core::name::{API_NAME_MAX, PermissionName};
use dcm_core::service::{Kind, PartDraft, PartName};
use serde::{Deserialize, Serialize};

use super::{Metadata, at_most, field_of_part};
use crate::emco::body::{Document, Shape};
use crate::emco::parts::Part;

/// What users may do.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub(crate) struct Permission {
    metadata: Metadata,
    spec: PermissionSpec,
}

#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
struct PermissionSpec {
    /// Where it holds; empty for the whole cluster.
    namespace: String,
    /// None is refused, unlike an empty list.
    api_groups: Option<Vec<String>>,
    resources: Option<Vec<String>>,
    verbs: Option<Vec<String>>,
}

impl Document for Permission {
    const SHAPE: Shape = Shape::Of(&[
        ("metadata", Metadata::SHAPE),
        (
            "spec",
            Shape::Of(&[
                ("namespace", Shape::Any),
                ("apiGroups", Shape::Any),
                ("resources", Shape::Any),
                ("verbs", Shape::Any),
            ]),
        ),
    ]);

    fn check(&self, lines: &mut Vec<String>) {
        self.metadata.check(lines);
        at_most(API_NAME_MAX, &self.spec.namespace, lines);
        for list in [&self.spec.api_groups, &self.spec.resources, &self.spec.verbs] {
            if list.is_none() {
                lines.push("Invalid type. Expected: array, given: null".to_owned());
            }
        }
    }
}

impl Part for Permission {
    type Name = PermissionName;
    type Model = logical_cloud::Permission;
    const KIND: Kind = Kind::Permission;
    const SEGMENT: &'static str = "userPermission";

    fn metadata(&self) -> &Metadata {
        &self.metadata
    }

    fn into_draft(self) -> PartDraft {
        let PermissionSpec { namespace, api_groups, resources, verbs } = self.spec;
        let is_cluster_wide = namespace.is_empty();
        PartDraft::Permission(PermissionDraft {
            cluster_wide: is_cluster_wide,
            namespace: Some(namespace).filter(|_| !is_cluster_wide),
            api_groups: api_groups.unwrap_or_default(),
            resources: resources.unwrap_or_default(),
            verbs: verbs.unwrap_or_default(),
            ..PermissionDraft::with_metadata(self.metadata.into())
        })
    }

    fn part_name(name: PermissionName) -> PartName {
        PartName::Permission(name)
    }

    fn all(cloud: &LogicalCloud) -> &[logical_cloud::Permission] {
        cloud.permissions()
    }

    fn of(permission: &logical_cloud::Permission, cloud: &LogicalCloud) -> Self {
        let spec = PermissionSpec {
            namespace: namespace(cloud, &permission.scope),
            api_groups: Some(permission.api_groups.iter().cloned().collect()),
            resources: Some(permission.resources.iter().cloned().collect()),
            verbs: Some(permission.verbs.iter().cloned().collect()),
        };
        Self { metadata: Metadata::of(permission.metadata.clone()), spec }
    }

    /// A permission for the whole cluster is one for no namespace.
    fn field(path: &str) -> String {
        field_of_part(path, |field| if field == "clusterWide" { "namespace" } else { field })
    }
}

fn namespace(cloud: &LogicalCloud, scope: &Scope) -> String {
    match scope {
        Scope::CloudNamespace => cloud.namespace().map(ToString::to_string).unwrap_or_default(),
        Scope::Namespace(namespace) => namespace.to_string(),
        Scope::ClusterWide => String::new(),
    }
}
