//! User permissions: what users may do, and where.

use std::collections::BTreeSet;

use serde::{Deserialize, Serialize};

use crate::name::{DNS_SUBDOMAIN_MAX, Namespace, PermissionName, UserName, is_dns_subdomain};
use crate::refusal::{Checks, Path, Refusals};

use super::check::Part;
use super::draft::PermissionDraft;
use super::limits::RULE_ITEMS_MAX;
use super::metadata::Metadata;

/// What users may do, and where. Its lists are sets: their order in the document means nothing.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(try_from = "PermissionDraft", into = "PermissionDraft")]
#[non_exhaustive]
pub struct Permission {
    /// Name, unique in the cloud, and notes.
    pub metadata: Metadata<PermissionName>,
    /// Whom it holds for.
    pub holders: Holders,
    /// Where it holds.
    pub scope: Scope,
    /// API groups, at least one; the empty text is the core group.
    pub api_groups: BTreeSet<String>,
    /// Resources, at least one.
    pub resources: BTreeSet<String>,
    /// Names of single objects; empty for all.
    pub resource_names: BTreeSet<String>,
    /// Verbs, at least one.
    pub verbs: BTreeSet<String>,
}

/// Whom a permission holds for.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Holders {
    /// All users of the cloud.
    All,
    /// These, at least one.
    Named(BTreeSet<UserName>),
}

impl Holders {
    /// True when it holds for this user.
    #[must_use]
    pub fn include(&self, user: &UserName) -> bool {
        match self {
            Self::All => true,
            Self::Named(names) => names.contains(user),
        }
    }
}

/// Where a permission holds. An enum, as an absent and an empty namespace mean different things in the two dialects.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub enum Scope {
    /// The cloud's own namespace.
    CloudNamespace,
    /// Another namespace, which must be there; privileged clouds only.
    Namespace(Namespace),
    /// The whole cluster; privileged clouds only.
    ClusterWide,
}

impl Part for Permission {
    type Draft = PermissionDraft;
    type Name = PermissionName;

    fn metadata(&self) -> &Metadata<PermissionName> {
        &self.metadata
    }

    fn check(draft: &PermissionDraft, at: &Path, checks: &mut Checks) -> Option<Self> {
        let before = checks.count();
        let metadata = Metadata::check(draft.metadata(), at, checks);
        if !draft.non_resource_urls.is_empty() {
            let rule = "is not supported: paths of the API server belong to no logical cloud";
            checks.refuse(&at.field("nonResourceURLs"), &draft.non_resource_urls[0], rule);
        }
        let holders = holders(draft.users.as_deref(), &at.field("users"), checks);
        let scope = scope(draft.namespace.as_deref(), draft.cluster_wide, at, checks);
        let api_groups = items(&draft.api_groups, Item::ApiGroup, &at.field("apiGroups"), checks);
        let resources = items(&draft.resources, Item::Resource, &at.field("resources"), checks);
        let resource_names = items(&draft.resource_names, Item::Name, &at.field("resourceNames"), checks);
        let verbs = items(&draft.verbs, Item::Verb, &at.field("verbs"), checks);
        let (metadata, holders, scope) = (metadata?, holders?, scope?);
        let made = Self { metadata, holders, scope, api_groups, resources, resource_names, verbs };
        (checks.count() == before).then_some(made)
    }
}

fn holders(users: Option<&[String]>, at: &Path, checks: &mut Checks) -> Option<Holders> {
    let Some(users) = users else {
        return Some(Holders::All);
    };
    if users.is_empty() {
        checks.refuse(at, "", "must name at least one user; leave it out when the permission holds for all");
        return None;
    }
    let mut names = BTreeSet::new();
    for (index, user) in users.iter().enumerate() {
        names.insert(checks.accept(&at.item(index), user, UserName::new(user))?);
    }
    Some(Holders::Named(names))
}

fn scope(namespace: Option<&str>, cluster_wide: bool, at: &Path, checks: &mut Checks) -> Option<Scope> {
    match (namespace, cluster_wide) {
        (None, false) => Some(Scope::CloudNamespace),
        (None, true) => Some(Scope::ClusterWide),
        (Some(""), false) => {
            let rule = "must not be empty: leave it out for the cloud's namespace, or say clusterWide";
            checks.refuse(&at.field("namespace"), "", rule);
            None
        }
        (Some(namespace), false) => {
            let made = Namespace::new(namespace);
            checks.accept(&at.field("namespace"), namespace, made).map(Scope::Namespace)
        }
        (Some(namespace), true) => {
            checks.refuse(
                &at.field("namespace"),
                namespace,
                "a permission holds in a namespace or cluster-wide, not both",
            );
            None
        }
    }
}

/// What a list of a permission is made of.
#[derive(Clone, Copy)]
enum Item {
    ApiGroup,
    Resource,
    Name,
    Verb,
}

impl Item {
    fn rule(self) -> &'static str {
        match self {
            Self::ApiGroup => "must be empty (the core group), a DNS subdomain such as apps, or *",
            Self::Resource => "must be a resource in lower case such as pods, pods/log or */scale, or *",
            Self::Name => {
                "must be an object's name: not empty, no '/' and no white space, at most 253 characters"
            }
            Self::Verb => "must be a verb in lower case such as get, or *",
        }
    }

    fn holds(self, text: &str) -> bool {
        let lower = |part: &str| {
            let inner =
                |byte: u8| byte.is_ascii_lowercase() || byte.is_ascii_digit() || matches!(byte, b'-' | b'.');
            !part.is_empty() && part.bytes().all(inner)
        };
        text.len() <= DNS_SUBDOMAIN_MAX
            && match self {
                Self::ApiGroup => text.is_empty() || text == "*" || is_dns_subdomain(text),
                Self::Resource => {
                    let (resource, below) =
                        text.split_once('/').map_or((text, None), |(one, two)| (one, Some(two)));
                    // RBAC knows no star for subresources, and none below another: that would permit nothing.
                    (resource == "*" || lower(resource)) && below.is_none_or(lower)
                }
                Self::Name => !text.is_empty() && text.chars().all(|c| c.is_ascii_graphic() && c != '/'),
                Self::Verb => text == "*" || lower(text),
            }
    }
}

fn items(texts: &[String], item: Item, at: &Path, checks: &mut Checks) -> BTreeSet<String> {
    if texts.is_empty() && !matches!(item, Item::Name) {
        checks.refuse(at, "", "must not be empty: the permission would permit nothing");
    }
    if texts.len() > RULE_ITEMS_MAX {
        checks.refuse(at, "", format!("must have at most {RULE_ITEMS_MAX} entries"));
        return BTreeSet::new();
    }
    for (index, text) in texts.iter().enumerate() {
        if !item.holds(text) {
            checks.refuse(&at.item(index), text, item.rule());
        }
    }
    texts.iter().cloned().collect()
}

impl TryFrom<PermissionDraft> for Permission {
    type Error = Refusals;

    fn try_from(draft: PermissionDraft) -> Result<Self, Refusals> {
        super::checked(|checks| Self::check(&draft, &Path::root(), checks))
    }
}

impl From<Permission> for PermissionDraft {
    fn from(permission: Permission) -> Self {
        let Permission { metadata, holders, scope, api_groups, resources, resource_names, verbs } =
            permission;
        Self {
            users: match holders {
                Holders::All => None,
                Holders::Named(names) => Some(names.into_iter().map(Into::into).collect()),
            },
            cluster_wide: scope == Scope::ClusterWide,
            namespace: match scope {
                Scope::Namespace(namespace) => Some(namespace.into()),
                Scope::CloudNamespace | Scope::ClusterWide => None,
            },
            api_groups: api_groups.into_iter().collect(),
            resources: resources.into_iter().collect(),
            resource_names: resource_names.into_iter().collect(),
            verbs: verbs.into_iter().collect(),
            ..Self::with_metadata(metadata.into())
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn draft() -> PermissionDraft {
        PermissionDraft {
            name: "read".into(),
            api_groups: vec![String::new()],
            resources: vec!["pods".into()],
            verbs: vec!["get".into()],
            ..PermissionDraft::default()
        }
    }

    fn paths(draft: PermissionDraft) -> Vec<String> {
        Permission::try_from(draft).unwrap_err().into_iter().map(|refusal| refusal.path).collect()
    }

    #[test]
    fn the_order_and_repetition_of_list_entries_mean_nothing() {
        let list = |verbs: &[&str]| verbs.iter().map(ToString::to_string).collect();
        let one = Permission::try_from(PermissionDraft { verbs: list(&["get", "list", "get"]), ..draft() });
        let other = Permission::try_from(PermissionDraft { verbs: list(&["list", "get"]), ..draft() });
        assert_eq!(one.unwrap(), other.unwrap());
    }

    #[test]
    fn a_permission_that_permits_nothing_is_refused_for_each_empty_list() {
        let empty = PermissionDraft { name: "p".into(), ..PermissionDraft::default() };
        assert_eq!(paths(empty), ["apiGroups", "resources", "verbs"]);
    }

    #[test]
    fn what_rbac_cannot_mean_is_refused_at_its_entry() {
        let bad = PermissionDraft {
            resources: ["Pods", "pods/log", "*/scale", "a b", "pods/*", "*/*", "pods/log/tail"]
                .map(String::from)
                .into(),
            verbs: vec!["GET".into(), "*".into()],
            api_groups: vec!["*".into(), "/v1".into()],
            non_resource_urls: vec!["/healthz".into()],
            ..draft()
        };
        assert_eq!(
            paths(bad),
            [
                "nonResourceURLs",
                "apiGroups[1]",
                "resources[0]",
                "resources[3]",
                "resources[4]",
                "resources[5]",
                "resources[6]",
                "verbs[0]"
            ]
        );
    }

    #[test]
    fn one_scope_is_chosen() {
        let other = PermissionDraft { namespace: Some("other".into()), ..draft() };
        assert_eq!(
            Permission::try_from(other.clone()).unwrap().scope,
            Scope::Namespace(Namespace::new("other").unwrap())
        );
        assert_eq!(paths(PermissionDraft { cluster_wide: true, ..other }), ["namespace"]);
        assert_eq!(paths(PermissionDraft { namespace: Some(String::new()), ..draft() }), ["namespace"]);
        assert_eq!(paths(PermissionDraft { users: Some(vec![]), ..draft() }), ["users"]);
    }
}
