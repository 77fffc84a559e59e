//! Permissions: a role and its binding for each.
//!
//! A role and its binding have one name, which follows from the permission and from where it holds. So a binding's
//! `roleRef`, which can't be changed, never has to be: another scope is another object. The subjects can be changed:
//! a new epoch of a user is an update of the binding, at which all rights of the earlier one end.

use std::collections::BTreeSet;

use k8s_openapi::api::rbac::v1::{
    ClusterRole, ClusterRoleBinding, PolicyRule, Role, RoleBinding, RoleRef, Subject as Bound,
};
use k8s_openapi::apimachinery::pkg::apis::meta::v1::ObjectMeta;

use crate::app_context::Stage;
use crate::logical_cloud::{Permission, Scope, User, UserType};

use super::{Context, Credential, Error, STAGE_BASE, STAGE_LAST, STAGE_RIGHTS, Steps, naming};

const RBAC: &str = "rbac.authorization.k8s.io";

pub(super) fn render(context: &Context<'_>, steps: &mut Steps<'_>) -> Result<(), Error> {
    for permission in context.cloud.permissions() {
        let subjects = subjects(context, permission);
        let name = &permission.metadata.name;
        match &permission.scope {
            Scope::CloudNamespace => {
                let stages = [STAGE_BASE, STAGE_RIGHTS];
                namespaced(context.own(naming::role(name)), stages, permission, subjects, steps)?;
            }
            Scope::Namespace(namespace) => {
                let metadata = ObjectMeta {
                    name: Some(context.identity.role_outside(name)),
                    namespace: Some(namespace.as_str().to_owned()),
                    ..ObjectMeta::default()
                };
                let stages = [STAGE_LAST, STAGE_LAST];
                namespaced(metadata, stages, permission, subjects, steps)?;
            }
            Scope::ClusterWide => {
                cluster_wide(context.identity.role_outside(name), permission, subjects, steps)?;
            }
        }
    }
    Ok(())
}

/// Whom a permission is bound to: its holders that have a credential.
fn subjects(context: &Context<'_>, permission: &Permission) -> Vec<Bound> {
    let holders = context.cloud.users().iter().filter(|user| permission.holders.include(&user.metadata.name));
    let subject = |user: &User| {
        let name = &user.metadata.name;
        let Credential { epoch, accounts, .. } = *context.credentials.get(name)?;
        Some(match user.kind {
            UserType::Certificate { .. } => Bound {
                api_group: Some(RBAC.to_owned()),
                kind: "User".to_owned(),
                name: context.identity.common_name(name, epoch),
                namespace: None,
            },
            UserType::Token => Bound {
                api_group: None,
                kind: "ServiceAccount".to_owned(),
                name: naming::service_account(name, epoch, accounts),
                namespace: Some(context.namespace.as_str().to_owned()),
            },
        })
    };
    holders.filter_map(subject).collect()
}

fn rule(permission: &Permission) -> PolicyRule {
    let list = |set: &BTreeSet<String>| Some(set.iter().cloned().collect());
    PolicyRule {
        api_groups: list(&permission.api_groups),
        resources: list(&permission.resources),
        resource_names: list(&permission.resource_names).filter(|names: &Vec<String>| !names.is_empty()),
        verbs: permission.verbs.iter().cloned().collect(),
        non_resource_urls: None,
    }
}

fn role_ref(kind: &str, name: Option<&String>) -> RoleRef {
    RoleRef { api_group: RBAC.to_owned(), kind: kind.to_owned(), name: name.cloned().unwrap_or_default() }
}

fn namespaced(
    metadata: ObjectMeta,
    [of_role, of_binding]: [Stage; 2],
    permission: &Permission,
    subjects: Vec<Bound>,
    steps: &mut Steps<'_>,
) -> Result<(), Error> {
    let role_ref = role_ref("Role", metadata.name.as_ref());
    let role = Role { metadata: metadata.clone(), rules: Some(vec![rule(permission)]) };
    steps.object(of_role, &role)?;
    if subjects.is_empty() {
        return Ok(());
    }
    let binding = RoleBinding { metadata, role_ref, subjects: Some(subjects) };
    steps.object(of_binding, &binding)
}

fn cluster_wide(
    name: String,
    permission: &Permission,
    subjects: Vec<Bound>,
    steps: &mut Steps<'_>,
) -> Result<(), Error> {
    let metadata = ObjectMeta { name: Some(name), ..ObjectMeta::default() };
    let role_ref = role_ref("ClusterRole", metadata.name.as_ref());
    let rules = Some(vec![rule(permission)]);
    let role = ClusterRole { metadata: metadata.clone(), rules, aggregation_rule: None };
    steps.object(STAGE_BASE, &role)?;
    if subjects.is_empty() {
        return Ok(());
    }
    let binding = ClusterRoleBinding { metadata, role_ref, subjects: Some(subjects) };
    steps.object(STAGE_RIGHTS, &binding)
}
