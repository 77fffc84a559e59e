//! Roles, and the rights that are in them.

use std::collections::BTreeMap;

use dcm_core::name::ProjectName;

/// A role that somebody is bound to.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
#[non_exhaustive]
pub enum Role {
    /// May do everything.
    PlatformAdmin,
    /// Registers clusters and looks after them, and keeps the controllers that are called for that.
    ClusterRegistrar,
    /// Reads the metrics of the server, as a monitoring system does. Beyond that only what any role sees.
    MetricsReader,
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
    is_metrics_reader: bool,
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
        *self != Self::default()
    }

    /// True for a platform admin.
    pub(crate) fn has_all(&self) -> bool {
        self.is_platform_admin
    }

    /// True for whoever may register clusters.
    pub(crate) fn has_clusters(&self) -> bool {
        self.is_platform_admin || self.is_cluster_registrar
    }

    /// True for whoever may read metrics.
    pub(crate) fn has_metrics(&self) -> bool {
        self.is_platform_admin || self.is_metrics_reader
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

    fn grant(&mut self, project: ProjectName, role: ProjectRole) {
        let held = self.projects.entry(project).or_insert(role);
        *held = role.max(*held);
    }
}

impl FromIterator<Role> for Rights {
    fn from_iter<I: IntoIterator<Item = Role>>(roles: I) -> Self {
        let mut rights = Self::default();
        for role in roles {
            match role {
                Role::PlatformAdmin => rights.is_platform_admin = true,
                Role::ClusterRegistrar => rights.is_cluster_registrar = true,
                Role::MetricsReader => rights.is_metrics_reader = true,
                Role::ProjectAdmin(project) => rights.grant(project, ProjectRole::Admin),
                Role::ProjectViewer(project) => rights.grant(project, ProjectRole::Viewer),
            }
        }
        rights
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
        assert!(!rights.has_clusters() && !rights.has_metrics() && !rights.has_all());
    }
}
