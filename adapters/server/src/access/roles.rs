//! Who has which role.

use std::collections::BTreeMap;

use dcm_core::name::ProjectName;
use dcm_core::refusal::{Checks, Path, Rule as _};
use dcm_identity::{Identity, name};
use dcm_rest::access::{Rights, Role};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Most bindings of roles.
pub const BINDINGS_MAX: usize = 10_000;

/// Most users, groups or projects of one binding.
pub const SUBJECTS_MAX: usize = 1_000;

/// Some who have a role.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct RoleBinding {
    /// The role.
    pub role: RoleName,
    /// The projects that it is for: of `project-admin` and `project-viewer`. They need not be there yet. At most 1,000.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub projects: Vec<String>,
    /// Users who have it. At most 1,000.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub users: Vec<String>,
    /// Groups whose users have it. At most 1,000.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub groups: Vec<String>,
}

/// A role.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum RoleName {
    /// May do everything.
    PlatformAdmin,
    /// Registers clusters and looks after them.
    ClusterRegistrar,
    /// Reads the metrics of the server.
    MetricsReader,
    /// Sees and changes the logical clouds of some projects, and is given credentials of their users.
    ProjectAdmin,
    /// Sees the logical clouds of some projects, but no credential.
    ProjectViewer,
}

impl RoleName {
    /// The same in a project; none where it is of none.
    fn in_project(self, project: ProjectName) -> Option<Role> {
        match self {
            Self::PlatformAdmin | Self::ClusterRegistrar | Self::MetricsReader => None,
            Self::ProjectAdmin => Some(Role::ProjectAdmin(project)),
            Self::ProjectViewer => Some(Role::ProjectViewer(project)),
        }
    }

    /// The same everywhere; none where it is of a project.
    fn everywhere(self) -> Option<Role> {
        match self {
            Self::PlatformAdmin => Some(Role::PlatformAdmin),
            Self::ClusterRegistrar => Some(Role::ClusterRegistrar),
            Self::MetricsReader => Some(Role::MetricsReader),
            Self::ProjectAdmin | Self::ProjectViewer => None,
        }
    }
}

/// Which roles users and groups have.
#[derive(Debug, Default)]
pub(super) struct Roles {
    users: BTreeMap<String, Vec<Role>>,
    groups: BTreeMap<String, Vec<Role>>,
}

impl Roles {
    /// Reads bindings, and refuses those that break a rule.
    pub(super) fn read(bindings: &[RoleBinding], path: &Path, checks: &mut Checks) -> Self {
        let mut read = Self::default();
        if bindings.len() > BINDINGS_MAX {
            checks.refuse(path, "", format!("has at most {BINDINGS_MAX} items"));
        }
        for (index, binding) in bindings.iter().enumerate().take(BINDINGS_MAX) {
            let path = path.item(index);
            let roles = roles(binding, &path, checks);
            if binding.users.is_empty() && binding.groups.is_empty() {
                checks.refuse(&path, "", "names neither users nor groups");
            }
            let subjects = [
                ("users", name::Kind::User, &binding.users, &mut read.users),
                ("groups", name::Kind::Group, &binding.groups, &mut read.groups),
            ];
            for (field, kind, names, held) in subjects {
                let path = path.field(field);
                check_count(&path, names, checks);
                for (index, name) in names.iter().enumerate().take(SUBJECTS_MAX) {
                    if let Err(invalid) = name::check(kind, name) {
                        checks.refuse(&path.item(index), name, invalid.to_string());
                    }
                    held.entry(name.clone()).or_default().extend(roles.iter().cloned());
                }
            }
        }
        read
    }

    /// What somebody may do.
    pub(super) fn of(&self, identity: &Identity) -> Rights {
        let own = self.users.get(identity.user());
        let shared = identity.groups().iter().filter_map(|group| self.groups.get(group));
        own.into_iter().chain(shared).flatten().cloned().collect()
    }
}

/// The roles of a binding: one for each of its projects, or one everywhere.
fn roles(binding: &RoleBinding, path: &Path, checks: &mut Checks) -> Vec<Role> {
    let path = path.field("projects");
    check_count(&path, &binding.projects, checks);
    if let Some(role) = binding.role.everywhere() {
        if !binding.projects.is_empty() {
            checks.refuse(&path, "", "must not be there: the role is for all projects, or for none");
        }
        return vec![role];
    }
    if binding.projects.is_empty() {
        checks.refuse(&path, "", "names no project");
    }
    let mut roles = Vec::with_capacity(binding.projects.len());
    for (index, text) in binding.projects.iter().enumerate().take(SUBJECTS_MAX) {
        match ProjectName::new(text) {
            Ok(project) => roles.extend(binding.role.in_project(project)),
            Err(invalid) => checks.refuse(&path.item(index), text, invalid.rule()),
        }
    }
    roles
}

fn check_count(path: &Path, names: &[String], checks: &mut Checks) {
    if names.len() > SUBJECTS_MAX {
        checks.refuse(path, "", format!("has at most {SUBJECTS_MAX} items"));
    }
}
