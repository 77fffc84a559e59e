//! Roles, and the rights that are in them.

use std::collections::BTreeMap;

use dcm_core::name::ProjectName;

/// A role that somebody is bound to.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub enum Role {
    /// May do everything.
    PlatformAdmin,
    /// Registers clusters and looks after them, and keeps the controllers that are called for that.
    ClusterRegistrar,
    /// Sees and changes the logical clouds of a project, and is given credentials of their users. Grants no rights in privileged
    /// and admin clouds, and no wildcard verbs.
    ProjectAdmin(ProjectName),
    /// Sees a project and its logical clouds, but no credential.
    ProjectViewer(ProjectName),
}

/// What may be done in a project. A later one includes those before it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum ProjectRole {
    /// To see it.
    Viewer,
    /// To change it.
    Admin,
}

/// What somebody may do: what is in all their roles.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Rights {
    is_platform_admin: bool,
    is_cluster_registrar: bool,
    projects: BTreeMap<ProjectName, ProjectRole>,
}

impl Rights {
    /// Those of a platform admin.
    #[must_use]
    pub fn all() -> Self {
        Self { is_platform_admin: true, ..Self::default() }
    }

    /// False for whoever has no role at all.
    pub(crate) fn has_any(&self) -> bool {
        self.is_platform_admin || self.is_cluster_registrar || !self.projects.is_empty()
    }

    /// True for a platform admin.
    pub(crate) fn has_all(&self) -> bool {
        self.is_platform_admin
    }

    /// True for whoever may register clusters.
    pub(crate) fn has_clusters(&self) -> bool {
        self.is_platform_admin || self.is_cluster_registrar
    }

    /// What may be done in a project; none where it is not even to be seen. A text that is no name is no project of anybody's.
    pub(crate) fn in_project(&self, name: &str) -> Option<ProjectRole> {
        if self.is_platform_admin {
            return Some(ProjectRole::Admin);
        }
        self.projects.iter().find(|(project, _)| project.as_str() == name).map(|(_, role)| *role)
    }

    /// The only projects that may be seen, in the order of their names; none for whoever sees all.
    pub(crate) fn only_projects(&self) -> Option<Vec<ProjectName>> {
        (!self.is_platform_admin).then(|| self.projects.keys().cloned().collect())
    }
}

impl FromIterator<Role> for Rights {
    fn from_iter<I: IntoIterator<Item = Role>>(roles: I) -> Self {
        let mut rights = Self::default();
        let mut grant = |project, role| {
            let held = rights.projects.entry(project).or_insert(role);
            *held = role.max(*held);
        };
        let (mut is_platform_admin, mut is_cluster_registrar) = (false, false);
        for role in roles {
            match role {
                Role::PlatformAdmin => is_platform_admin = true,
                Role::ClusterRegistrar => is_cluster_registrar = true,
                Role::ProjectAdmin(project) => grant(project, ProjectRole::Admin),
                Role::ProjectViewer(project) => grant(project, ProjectRole::Viewer),
            }
        }
        Self { is_platform_admin, is_cluster_registrar, ..rights }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn roles_add_up_whatever_their_order() {
        let project = |name: &str| name.parse::<ProjectName>().unwrap();
        let roles = [
            Role::ProjectAdmin(project("shop")),
            Role::ProjectViewer(project("shop")),
            Role::ProjectViewer(project("bank")),
        ];
        let rights: Rights = roles.clone().into_iter().collect();
        assert_eq!(rights, roles.into_iter().rev().collect());
        assert_eq!(rights.in_project("shop"), Some(ProjectRole::Admin));
        assert_eq!(rights.in_project("bank"), Some(ProjectRole::Viewer));
        assert_eq!(rights.in_project("mill"), None);
        assert_eq!(rights.in_project("no name/"), None);
        assert!(!rights.has_clusters() && !rights.has_all());
    }
}
