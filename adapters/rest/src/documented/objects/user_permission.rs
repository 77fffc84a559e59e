//! User permissions: as a collection, and as part of the first user.

use dcm_core::logical_cloud::{LogicalCloud, Permission, PermissionDraft};
use dcm_core::name::PermissionName;
use dcm_core::service::{Kind, PartDraft, PartName};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::{METADATA, Object, Part, field_of_part};
use crate::documented::body::schema_of;
use crate::documented::openapi::Rules;
use crate::documented::problem::Problem;

/// Defines a permission: what says whose it is, and a rule.
macro_rules! permission {
    ($(#[$doc:meta])* $type:ident { $($(#[$member_doc:meta])* $member:ident: $kind:ty,)* }) => {
        #[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
        #[serde(rename_all = "camelCase", deny_unknown_fields)]
        $(#[$doc])*
        pub(crate) struct $type {
            $($(#[$member_doc])* pub(crate) $member: $kind,)*
            /// Another namespace that it holds in; privileged clouds only. Default: the cloud's.
            #[serde(default, skip_serializing_if = "Option::is_none")]
            namespace: Option<String>,
            /// True when it holds in the whole cluster; privileged clouds only.
            #[serde(default, skip_serializing_if = "std::ops::Not::not")]
            cluster_wide: bool,
            /// API groups; the empty text is the core group, `*` all.
            api_groups: Vec<String>,
            /// Resources in the plural, such as `pods` or `pods/log`; `*` for all.
            resources: Vec<String>,
            /// Verbs, such as `get`; `*` for all.
            verbs: Vec<String>,
            /// Names of single objects. Default: all.
            #[serde(default, skip_serializing_if = "Vec::is_empty")]
            resource_names: Vec<String>,
        }

        impl $type {
            /// Puts the rule into a draft that says whose it is.
            fn rule_into(self, draft: PermissionDraft) -> PermissionDraft {
                let Self { namespace, cluster_wide, api_groups, resources, verbs, resource_names, .. } = self;
                PermissionDraft { namespace, cluster_wide, api_groups, resources, verbs, resource_names, ..draft }
            }

            /// The rule of a draft, and nothing that says whose it is.
            fn of_rule(draft: PermissionDraft) -> Self {
                let PermissionDraft { namespace, cluster_wide, api_groups, resources, verbs, resource_names, .. } =
                    draft;
                Self { namespace, cluster_wide, api_groups, resources, verbs, resource_names, ..Self::default() }
            }
        }
    };
}

permission! {
    /// What users may do.
    #[schemars(rename = "UserPermission", inline)]
    PermissionSpec {
        /// The user that it holds for. Default, where `users` is absent, too: all.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        user: Option<String>,
        /// The users that it holds for, where there are several.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        users: Option<Vec<String>>,
    }
}

permission! {
    /// What one user alone may do.
    EmbeddedPermission {
        /// Its name, unique in the logical cloud.
        #[serde(rename = "permission-name")]
        permission_name: String,
    }
}

impl Part for PermissionSpec {
    schema_of!(Object<PermissionSpec>);

    type Name = PermissionName;
    type Model = Permission;
    const KIND: Kind = Kind::Permission;
    const ONE: &'static str = "a user permission";
    const MANY: &'static str = "user permissions";
    const RULES: Rules = &[
        METADATA,
        ("/properties/spec", "/properties/spec/properties/permissions/items"),
        ("/properties/spec/properties/user", "/properties/spec/properties/users/items/properties/name"),
    ];

    fn into_draft(Object { metadata, mut spec }: Object<Self>) -> Result<PartDraft, Problem> {
        let users = match (spec.user.take(), spec.users.take()) {
            (Some(_), Some(_)) => {
                return Err(Problem::field("spec.users", "name one as user or several as users, not both"));
            }
            (Some(user), None) => Some(vec![user]),
            (None, users) => users,
        };
        let draft = PermissionDraft { users, ..PermissionDraft::with_metadata(metadata) };
        Ok(PartDraft::Permission(spec.rule_into(draft)))
    }

    fn part_name(name: PermissionName) -> PartName {
        PartName::Permission(name)
    }

    fn all(cloud: &LogicalCloud) -> &[Permission] {
        cloud.permissions()
    }

    fn object(permission: &Permission) -> Object<Self> {
        let mut draft = PermissionDraft::from(permission.clone());
        let metadata = draft.metadata();
        let (user, users) = match draft.users.take() {
            Some(mut one) if one.len() == 1 => (one.pop(), None),
            users => (None, users),
        };
        Object { metadata, spec: Self { user, users, ..Self::of_rule(draft) } }
    }

    /// Where one user is named, that is `user`.
    fn field(sent: &Value, path: &str) -> String {
        match sent.pointer("/spec/user") {
            Some(_) if path.starts_with("users") => "spec.user".to_owned(),
            _ => field_of_part(path, |_| None),
        }
    }
}

impl EmbeddedPermission {
    /// What the model calls it. Notes stay as they are.
    pub(super) fn into_draft(self, user: &str, notes: PermissionDraft) -> PermissionDraft {
        let name = self.permission_name.clone();
        self.rule_into(PermissionDraft { name, users: Some(vec![user.to_owned()]), ..notes })
    }
}

impl From<PermissionDraft> for EmbeddedPermission {
    fn from(draft: PermissionDraft) -> Self {
        Self { permission_name: draft.name.clone(), ..Self::of_rule(draft) }
    }
}
