//! The allow list of limited callers: what they may grant in a namespace, and which kinds of extra manifests they may bring.

use std::collections::{BTreeMap, BTreeSet};

use crate::logical_cloud::Permission;
use crate::manifest::GroupVersionKind;
use crate::refusal::{Path, Refusal};

use super::admin_role::{KINDS, RULES};

/// Stands for all resources of a group in a rule that widens the list.
const ALL: &str = "*";

/// How a limited caller gets what the list does not hold.
const PERMISSIONS_REMEDY: &str =
    "ask a platform admin to grant it, or to widen the list by the setting projectAdmins.permissions";

/// How a limited caller brings a kind that the list does not hold.
const MANIFESTS_REMEDY: &str =
    "ask a platform admin to add it, or to widen the list by the setting projectAdmins.manifests";

/// What limited callers may grant: verbs on resources of API groups, and the kinds of extra manifests. What is not in it is refused.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct AllowList {
    /// Verbs by API group and resource.
    verbs: BTreeMap<String, BTreeMap<String, BTreeSet<String>>>,
    /// Kinds by API group.
    kinds: BTreeSet<(String, String)>,
}

impl Default for AllowList {
    /// The rules of Kubernetes' built-in ClusterRole `admin`, and the kinds that it may create.
    fn default() -> Self {
        let mut list = Self { verbs: BTreeMap::new(), kinds: BTreeSet::new() };
        for rule in RULES {
            for verbs in rule.verbs {
                list.permit(&[rule.group], rule.resources, verbs);
            }
        }
        for (group, kind) in KINDS {
            list.permit_kinds(&[*group], &[*kind]);
        }
        list
    }
}

impl AllowList {
    /// Widens the list by each of these verbs on each of these resources of each of these groups. The resource `*` stands for all of a
    /// group.
    pub fn permit(&mut self, groups: &[&str], resources: &[&str], verbs: &[&str]) {
        for group in groups {
            let of_group = self.verbs.entry((*group).to_owned()).or_default();
            for resource in resources {
                let of_resource = of_group.entry((*resource).to_owned()).or_default();
                of_resource.extend(verbs.iter().map(|verb| (*verb).to_owned()));
            }
        }
    }

    /// Widens the list by each of these kinds of each of these groups, for extra manifests.
    pub fn permit_kinds(&mut self, groups: &[&str], kinds: &[&str]) {
        for group in groups {
            self.kinds.extend(kinds.iter().map(|kind| ((*group).to_owned(), (*kind).to_owned())));
        }
    }

    /// Every allowed verb, as API group, resource and verb, in their order.
    pub fn permissions(&self) -> impl Iterator<Item = (&str, &str, &str)> {
        self.verbs.iter().flat_map(|(group, resources)| {
            resources.iter().flat_map(move |(resource, verbs)| {
                verbs.iter().map(move |verb| (group.as_str(), resource.as_str(), verb.as_str()))
            })
        })
    }

    /// Every allowed kind of extra manifests, as API group and kind, in their order.
    pub fn kinds(&self) -> impl Iterator<Item = (&str, &str)> {
        self.kinds.iter().map(|(group, kind)| (group.as_str(), kind.as_str()))
    }

    /// True when a limited caller may grant a verb on a resource of a group.
    #[must_use]
    pub fn allows(&self, group: &str, resource: &str, verb: &str) -> bool {
        let Some(resources) = self.verbs.get(group) else { return false };
        let holds = |resource: &str| resources.get(resource).is_some_and(|verbs| verbs.contains(verb));
        holds(resource) || holds(ALL)
    }

    /// True when a limited caller may bring extra manifests of a kind.
    #[must_use]
    pub fn allows_kind(&self, kind: &GroupVersionKind) -> bool {
        self.kinds().any(|allowed| allowed == (&*kind.group, &*kind.kind))
    }

    /// The first part of a permission that the list does not hold, with its field in the permission. None: it holds all of it. Names of
    /// single objects change nothing: the list is about resources.
    pub(super) fn excess(&self, permission: &Permission, at: &Path) -> Option<Refusal> {
        wildcard(permission, at).or_else(|| self.unlisted(permission, at))
    }

    fn unlisted(&self, permission: &Permission, at: &Path) -> Option<Refusal> {
        for group in &permission.api_groups {
            for resource in &permission.resources {
                for verb in &permission.verbs {
                    if !self.allows(group, resource, verb) {
                        return Some(self.refusal((group, resource, verb), at));
                    }
                }
            }
        }
        None
    }

    /// Names the field that makes the difference: the group or the resource where the list has nothing of it, else the verb.
    fn refusal(&self, (group, resource, verb): (&str, &str, &str), at: &Path) -> Refusal {
        let resources = self.verbs.get(group);
        let (field, value) = match resources {
            None => ("apiGroups", group),
            Some(resources) if !resources.contains_key(resource) && !resources.contains_key(ALL) => {
                ("resources", resource)
            }
            Some(_) => ("verbs", verb),
        };
        let group = if group.is_empty() { "the core group" } else { group };
        let rule = format!(
            "{verb} on {resource} of {group} can't be granted by this caller: the allow list does not hold it; {PERMISSIONS_REMEDY}"
        );
        Refusal { path: at.field(field).to_string(), value: value.to_owned(), rule }
    }

    /// Refuses an extra manifest of a kind that the list does not hold.
    pub(super) fn excess_kind(&self, kind: &GroupVersionKind, at: &Path) -> Option<Refusal> {
        if self.allows_kind(kind) {
            return None;
        }
        let rule = format!(
            "an extra manifest of {kind} can't be granted by this caller: the allow list does not hold the kind; {MANIFESTS_REMEDY}"
        );
        Some(Refusal { path: at.field("kind").to_string(), value: kind.kind.to_string(), rule })
    }
}

/// Refuses a wildcard: it covers what is added to a cluster later, so no list can hold it.
fn wildcard(permission: &Permission, at: &Path) -> Option<Refusal> {
    let lists = [
        ("apiGroups", &permission.api_groups),
        ("resources", &permission.resources),
        ("verbs", &permission.verbs),
    ];
    lists.into_iter().find_map(|(field, texts)| {
        let value = texts.iter().find(|text| text.split('/').any(|part| part == ALL))?;
        let rule = "a wildcard can't be granted by this caller: name each entry, or ask a platform admin to grant it";
        Some(Refusal { path: at.field(field).to_string(), value: value.clone(), rule: rule.to_owned() })
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_list_of_kinds_is_of_groups_that_the_list_of_permissions_has() {
        let list = AllowList::default();
        for (group, kind) in list.kinds() {
            let creates = list.permissions().any(|(of, _, verb)| of == group && verb == "create");
            assert!(creates, "{group} {kind}");
        }
    }

    #[test]
    fn a_status_is_only_read() {
        let list = AllowList::default();
        let mut statuses = list.permissions().filter(|(_, resource, _)| resource.ends_with("/status"));
        assert!(statuses.all(|(_, _, verb)| ["get", "list", "watch"].contains(&verb)));
    }

    #[test]
    fn a_rule_for_all_resources_of_a_group_widens_that_group_alone() {
        let mut list = AllowList::default();
        list.permit(&["example.com"], &[ALL], &["get"]);
        assert!(list.allows("example.com", "widgets", "get") && list.allows("example.com", "a/b", "get"));
        assert!(
            !list.allows("example.com", "widgets", "list") && !list.allows("example.org", "widgets", "get")
        );
    }
}
