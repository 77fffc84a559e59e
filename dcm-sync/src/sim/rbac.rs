//! Who may do what: Kubernetes' RBAC over the roles and bindings that a simulated cluster holds.

use std::collections::BTreeSet;
use std::sync::Arc;

use dcm_core::port::cluster::Access;
use serde_json::Value;

/// Members of this group may do everything, whatever the bindings say.
const MASTERS: &str = "system:masters";

/// Every identity that the API server knows is in this group.
const AUTHENTICATED: &str = "system:authenticated";

/// Somebody that an API server knows.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Identity {
    /// The name, such as the `CN` of a certificate.
    pub user: Arc<str>,
    /// The groups, such as the `O`s of a certificate.
    pub groups: BTreeSet<Arc<str>>,
}

impl Identity {
    /// A user by name, in the group of everybody who is known.
    #[must_use]
    pub fn user(name: &str) -> Self {
        Self { user: name.into(), groups: BTreeSet::from([AUTHENTICATED.into()]) }
    }

    /// The same in one more group.
    #[must_use]
    pub fn in_group(mut self, group: &str) -> Self {
        self.groups.insert(group.into());
        self
    }

    /// A ServiceAccount.
    #[must_use]
    pub fn service_account(namespace: &str, name: &str) -> Self {
        Self::user(&format!("system:serviceaccount:{namespace}:{name}"))
            .in_group("system:serviceaccounts")
            .in_group(&format!("system:serviceaccounts:{namespace}"))
    }

    fn is_subject(&self, subject: &Value, namespace: Option<&str>) -> bool {
        let name = subject["name"].as_str().unwrap_or_default();
        match subject["kind"].as_str() {
            Some("User") => *self.user == *name,
            Some("Group") => self.groups.contains(name),
            Some("ServiceAccount") => {
                let namespace = subject["namespace"].as_str().or(namespace).unwrap_or_default();
                *self.user == *format!("system:serviceaccount:{namespace}:{name}")
            }
            _ => false,
        }
    }
}

/// The objects of a cluster that rights hang on, by kind, namespace and name.
pub(super) trait Roles {
    /// Bodies of all objects of a kind in a namespace; of a cluster-scoped kind in none.
    fn all(&self, kind: &str, namespace: Option<&str>) -> Vec<Value>;

    /// One body.
    fn one(&self, kind: &str, namespace: Option<&str>, name: &str) -> Option<Value>;
}

/// True when the bindings give the identity this access.
pub(super) fn may(roles: &impl Roles, identity: &Identity, access: &Access) -> bool {
    if identity.groups.contains(MASTERS) {
        return true;
    }
    let grants = |binding: &Value, namespace: Option<&str>| {
        let subjects = binding["subjects"].as_array();
        subjects.into_iter().flatten().any(|subject| identity.is_subject(subject, namespace))
            && role_of(roles, binding, namespace).is_some_and(|role| role_gives(&role, access))
    };
    let namespace = access.namespace.as_deref();
    roles.all("ClusterRoleBinding", None).iter().any(|binding| grants(binding, None))
        || namespace.is_some()
            && roles.all("RoleBinding", namespace).iter().any(|binding| grants(binding, namespace))
}

fn role_of(roles: &impl Roles, binding: &Value, namespace: Option<&str>) -> Option<Value> {
    let reference = &binding["roleRef"];
    let name = reference["name"].as_str()?;
    match reference["kind"].as_str()? {
        "Role" => roles.one("Role", namespace, name),
        "ClusterRole" => roles.one("ClusterRole", None, name),
        _ => None,
    }
}

fn role_gives(role: &Value, access: &Access) -> bool {
    role["rules"].as_array().into_iter().flatten().any(|rule| rule_gives(rule, access))
}

fn rule_gives(rule: &Value, access: &Access) -> bool {
    let resource = if access.subresource.is_empty() {
        access.resource.to_string()
    } else {
        format!("{}/{}", access.resource, access.subresource)
    };
    let any_of_subresource = format!("*/{}", access.subresource);
    let resources = texts(rule, "resources");
    let names = texts(rule, "resourceNames");
    has(&texts(rule, "verbs"), &access.verb)
        && has(&texts(rule, "apiGroups"), &access.group)
        && (has(&resources, &resource)
            || !access.subresource.is_empty() && resources.contains(&any_of_subresource.as_str()))
        && (names.is_empty() || names.contains(&&*access.name))
}

fn texts<'a>(rule: &'a Value, member: &str) -> Vec<&'a str> {
    rule[member].as_array().into_iter().flatten().filter_map(Value::as_str).collect()
}

fn has(values: &[&str], wanted: &str) -> bool {
    values.iter().any(|value| *value == "*" || *value == wanted)
}

/// What the engine itself may do on a simulated cluster. What it may not is refused with `Forbidden`.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub enum Rights {
    /// Everything: an administrator.
    #[default]
    All,
    /// Everything but this. In what is listed here an empty name stands for every name, and no namespace for each.
    AllBut(Vec<Access>),
    /// What the roles and bindings on the cluster give to this identity.
    Of(Identity),
}

impl Rights {
    pub(super) fn give(&self, roles: &impl Roles, access: &Access) -> bool {
        match self {
            Self::All => true,
            Self::AllBut(refused) => !refused.iter().any(|refused| covers(refused, access)),
            Self::Of(identity) => may(roles, identity, access),
        }
    }
}

fn covers(refused: &Access, access: &Access) -> bool {
    let what = |access: &Access| {
        (access.verb.clone(), access.group.clone(), access.resource.clone(), access.subresource.clone())
    };
    what(refused) == what(access)
        && (refused.name.is_empty() || refused.name == access.name)
        && (refused.namespace.is_none() || refused.namespace == access.namespace)
}
