//! The rights that are needed in the namespaces of logical clouds alone: a fixed ClusterRole holds them, which the engine binds to itself
//! in such a namespace.
//!
//! A user that has them in all namespaces, such as an administrator, needs neither the role nor the right to bind it.

use k8s_openapi::api::rbac::v1::{ClusterRole, PolicyRule};

use super::{RBAC, cluster_role, refused, rules};
use crate::manifest::{GroupVersionKind, ObjectKey};
use crate::port::cluster::{Access, Call, Cluster, Error, NAMESPACE_ROLE};

/// The ClusterRole that gives them ([`Access::in_namespaces`]).
#[must_use]
pub fn namespace_role() -> ClusterRole {
    cluster_role(NAMESPACE_ROLE, rules(&Access::in_namespaces()))
}

/// What the role of the cluster lacks. Where the user has the rights in all namespaces, nothing about the role is missing.
pub(super) async fn missing(
    cluster: &dyn Cluster,
    call: &Call,
    missing: &mut Vec<Access>,
) -> Result<Vec<Access>, Error> {
    if refused(cluster, call, Access::in_namespaces().into()).await?.is_empty() {
        missing.retain(|access| !is_about_role(access));
        return Ok(Vec::new());
    }
    // Where it can't be read, it is not known to be there: both roles are printed at once then.
    if missing.iter().any(|access| is_about_role(access) && &*access.verb == "get") {
        return Ok(Access::in_namespaces().into());
    }
    let kind = GroupVersionKind::new(RBAC, "v1", "ClusterRole");
    let role = cluster.get(call, &kind, &ObjectKey::of_kind(&kind, None, NAMESPACE_ROLE)).await?;
    let rules: Vec<PolicyRule> =
        role.and_then(|role| serde_json::from_value(role.body["rules"].clone()).ok()).unwrap_or_default();
    let lacks = |access: &Access| !rules.iter().any(|rule| gives(rule, access));
    Ok(Access::in_namespaces().into_iter().filter(lacks).collect())
}

fn is_about_role(access: &Access) -> bool {
    &*access.resource == "clusterroles" && &*access.name == NAMESPACE_ROLE
}

/// True for a rule that gives one of [`Access::in_namespaces`] whole.
fn gives(rule: &PolicyRule, access: &Access) -> bool {
    let has = |values: Option<&Vec<String>>, wanted: &str| {
        values.into_iter().flatten().any(|value| value == "*" || value == wanted)
    };
    has(Some(&rule.verbs), &access.verb)
        && has(rule.api_groups.as_ref(), &access.group)
        && has(rule.resources.as_ref(), &super::resource(access))
        && rule.resource_names.as_ref().is_none_or(Vec::is_empty)
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn the_role_for_namespaces_is_this() {
        let expected = json!({
            "apiVersion": "rbac.authorization.k8s.io/v1",
            "kind": "ClusterRole",
            "metadata": {"name": "dcm:namespace"},
            "rules": [
                {"apiGroups": [""], "resources": ["serviceaccounts/token"], "verbs": ["create"]},
                {"apiGroups": ["*"], "resources": ["*"], "verbs": ["list"]},
            ],
        });
        assert_eq!(serde_json::to_value(namespace_role()).unwrap(), expected);
    }

    #[test]
    fn a_rule_gives_an_access_only_where_it_gives_all_of_it() {
        let rule = |rule: serde_json::Value| serde_json::from_value::<PolicyRule>(rule).unwrap();
        let whole = rule(json!({"apiGroups": ["*"], "resources": ["*"], "verbs": ["*"]}));
        let [token, list] = Access::in_namespaces();
        assert!(gives(&whole, &token) && gives(&whole, &list));
        for part in [
            json!({"apiGroups": [""], "resources": ["*"], "verbs": ["list"]}),
            json!({"apiGroups": ["*"], "resources": ["pods"], "verbs": ["list"]}),
            json!({"apiGroups": ["*"], "resources": ["*"], "verbs": ["get"]}),
            json!({"apiGroups": ["*"], "resources": ["*"], "verbs": ["list"], "resourceNames": ["a"]}),
        ] {
            assert!(!gives(&rule(part.clone()), &list), "{part}");
        }
    }
}
