//! What project admins may grant beyond the default, and what is not for them, as it is set.

use dcm_core::logical_cloud::{Permission, PermissionDraft};
use dcm_core::name::{DnsZone, is_dns_subdomain};
use dcm_core::refusal::{Checks, Path};
use dcm_core::service::{AllowList, Limits, Reserved};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Most entries of each list.
const ENTRIES_MAX: usize = 1_000;

/// Longest name of a kind, in bytes: as Kubernetes has it.
const KIND_BYTES_MAX: usize = 63;

/// The wildcard that only `resources` may have.
const ALL: &str = "*";

/// What project admins may grant beyond what Kubernetes' role `admin` holds, and which namespaces and labels are not for them. A policy
/// of a single project is to have the same fields.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields, default)]
pub struct ProjectAdminSettings {
    /// User permissions that they may grant besides: each verb on each resource of each API group. At most 1,000.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub permissions: Vec<AllowedPermission>,
    /// Kinds of extra manifests that they may bring besides. At most 1,000.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub manifests: Vec<AllowedKinds>,
    /// Namespaces that they may not take, besides those of well-known systems: a name, or the beginning of names and *. At most 1,000.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub reserved_namespaces: Vec<String>,
    /// Keys of namespace labels that they may not set, besides those of Kubernetes and of well-known systems: a key, or a domain with
    /// /* for all its keys and those of the domains below it. At most 1,000.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub reserved_labels: Vec<String>,
    /// Keys of namespace labels that they may set, although Kubernetes or a well-known system obeys them; as with reservedLabels. Those
    /// of namespaceLabels stay reserved. At most 1,000.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub allowed_labels: Vec<String>,
    /// The DNS zone below which service meshes of their logical clouds have names, such as mesh.example.com: each gets the zone NAME.mesh.example.com.
    /// Default: none; then it is NAME.PROJECT.mesh.internal.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub mesh_zone_suffix: Option<String>,
}

/// Verbs on resources of API groups.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields, default)]
pub struct AllowedPermission {
    /// API groups; the empty text is the core group.
    pub api_groups: Vec<String>,
    /// Resources in the plural, such as widgets or widgets/scale; * for all of these groups.
    pub resources: Vec<String>,
    /// Verbs, such as get.
    pub verbs: Vec<String>,
}

/// Kinds of API groups.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields, default)]
pub struct AllowedKinds {
    /// API groups; the empty text is the core group.
    pub api_groups: Vec<String>,
    /// Kinds, such as Widget.
    pub kinds: Vec<String>,
}

impl ProjectAdminSettings {
    /// Adds these to the limits of project admins.
    pub(super) fn add_to(&self, limits: &mut Limits, path: &Path, checks: &mut Checks) {
        self.check_sizes(path, checks);
        for (index, rule) in self.permissions.iter().take(ENTRIES_MAX).enumerate() {
            rule.add_to(&mut limits.allow_list, &path.field("permissions").item(index), checks);
        }
        for (index, rule) in self.manifests.iter().take(ENTRIES_MAX).enumerate() {
            rule.add_to(&mut limits.allow_list, &path.field("manifests").item(index), checks);
        }
        if let Some(suffix) = &self.mesh_zone_suffix {
            match DnsZone::new(suffix) {
                Ok(zone) => limits.mesh_zone_suffix = Some(zone),
                Err(error) => checks.refuse(&path.field("meshZoneSuffix"), suffix, error.rule),
            }
        }
        let Reserved { namespaces, labels, allowed_labels } = &mut limits.reserved;
        patterns(&self.reserved_namespaces, namespaces, &path.field("reservedNamespaces"), checks);
        patterns(&self.reserved_labels, labels, &path.field("reservedLabels"), checks);
        patterns(&self.allowed_labels, allowed_labels, &path.field("allowedLabels"), checks);
    }

    fn check_sizes(&self, path: &Path, checks: &mut Checks) {
        for (field, entries) in [
            ("permissions", self.permissions.len()),
            ("manifests", self.manifests.len()),
            ("reservedNamespaces", self.reserved_namespaces.len()),
            ("reservedLabels", self.reserved_labels.len()),
            ("allowedLabels", self.allowed_labels.len()),
        ] {
            if entries > ENTRIES_MAX {
                let rule = format!("must have at most {ENTRIES_MAX} entries");
                checks.refuse(&path.field(field), &entries.to_string(), rule);
            }
        }
    }
}

impl AllowedPermission {
    fn add_to(&self, list: &mut AllowList, path: &Path, checks: &mut Checks) {
        // The rules are those of a user permission; the name is in no file.
        let draft = PermissionDraft {
            name: "allowed".to_owned(),
            api_groups: self.api_groups.clone(),
            resources: self.resources.clone(),
            verbs: self.verbs.clone(),
            ..PermissionDraft::default()
        };
        checks.include(path, Permission::try_from(draft).map(drop));
        for (field, texts) in [("apiGroups", &self.api_groups), ("verbs", &self.verbs)] {
            no_wildcard(texts, &path.field(field), checks);
        }
        for (index, resource) in self.resources.iter().enumerate() {
            if resource.starts_with("*/") {
                let rule = "must be a resource such as widgets or widgets/scale, or *";
                checks.refuse(&path.field("resources").item(index), resource, rule);
            }
        }
        list.permit(&texts(&self.api_groups), &texts(&self.resources), &texts(&self.verbs));
    }
}

impl AllowedKinds {
    fn add_to(&self, list: &mut AllowList, path: &Path, checks: &mut Checks) {
        for (field, texts) in [("apiGroups", &self.api_groups), ("kinds", &self.kinds)] {
            if texts.is_empty() {
                checks.refuse(&path.field(field), "", "must not be empty: the rule would allow nothing");
            }
        }
        for (index, group) in self.api_groups.iter().enumerate() {
            if !group.is_empty() && !is_dns_subdomain(group) {
                let rule = "must be empty (the core group), or a DNS subdomain such as example.com";
                checks.refuse(&path.field("apiGroups").item(index), group, rule);
            }
        }
        for (index, kind) in self.kinds.iter().enumerate() {
            let is_kind = kind.starts_with(|first: char| first.is_ascii_uppercase())
                && kind.len() <= KIND_BYTES_MAX
                && kind.bytes().all(|byte| byte.is_ascii_alphanumeric());
            if !is_kind {
                checks.refuse(&path.field("kinds").item(index), kind, "must be a kind such as Widget");
            }
        }
        list.permit_kinds(&texts(&self.api_groups), &texts(&self.kinds));
    }
}

fn texts(list: &[String]) -> Vec<&str> {
    list.iter().map(String::as_str).collect()
}

fn no_wildcard(texts: &[String], path: &Path, checks: &mut Checks) {
    for (index, text) in texts.iter().enumerate().filter(|(_, text)| *text == ALL) {
        checks.refuse(&path.item(index), text, "must be named: only resources may be *");
    }
}

/// Adds the patterns that the texts are.
fn patterns<T: std::str::FromStr<Err: std::fmt::Display>>(
    texts: &[String],
    list: &mut Vec<T>,
    path: &Path,
    checks: &mut Checks,
) {
    for (index, text) in texts.iter().take(ENTRIES_MAX).enumerate() {
        match text.parse() {
            Ok(pattern) => list.push(pattern),
            Err(rule) => checks.refuse(&path.item(index), text, rule.to_string()),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(text: &str) -> (Limits, Vec<String>) {
        let settings: ProjectAdminSettings = serde_saphyr::from_str(text).unwrap();
        let (mut limits, mut checks) = (Limits::default(), Checks::default());
        settings.add_to(&mut limits, &Path::root().field("projectAdmins"), &mut checks);
        let refused = checks.finish(Some(())).err();
        (limits, refused.into_iter().flatten().map(|refusal| refusal.to_string()).collect())
    }

    #[test]
    fn the_list_is_widened_by_what_is_set() {
        let text = "permissions: [{apiGroups: [example.com], resources: ['*'], verbs: [get, use]}]\n\
            manifests: [{apiGroups: [example.com], kinds: [Widget]}]\nreservedNamespaces: [platform-*]\n\
            reservedLabels: [example.com/*]\nallowedLabels: [istio-injection]\n";
        let (limits, refused) = read(text);
        assert!(refused.is_empty(), "{refused:?}");
        let list = &limits.allow_list;
        assert!(
            list.allows("example.com", "widgets", "use") && !list.allows("example.com", "widgets", "list")
        );
        assert!(list.kinds().any(|kind| kind == ("example.com", "Widget")));
        let before = Limits::default().reserved;
        assert_eq!(limits.reserved.namespaces.len(), before.namespaces.len() + 1);
        assert_eq!(limits.reserved.labels.len(), before.labels.len() + 1);
        assert_eq!(limits.reserved.allowed_labels.len(), 1);
    }

    #[test]
    fn what_breaks_a_rule_is_refused_with_its_field() {
        let text = "permissions: [{apiGroups: ['*'], resources: ['*/scale'], verbs: ['*']}, {resources: [Pods]}]\n\
            manifests: [{apiGroups: ['*'], kinds: [widget]}, {}]\nreservedNamespaces: ['*']\nallowedLabels: [a b]\n";
        let (_, refused) = read(text);
        let fields: Vec<&str> = refused.iter().filter_map(|text| Some(text.split_once(": ")?.0)).collect();
        assert_eq!(
            fields,
            [
                "projectAdmins.permissions[0].apiGroups[0]",
                "projectAdmins.permissions[0].verbs[0]",
                "projectAdmins.permissions[0].resources[0]",
                "projectAdmins.permissions[1].apiGroups",
                "projectAdmins.permissions[1].resources[0]",
                "projectAdmins.permissions[1].verbs",
                "projectAdmins.manifests[0].apiGroups[0]",
                "projectAdmins.manifests[0].kinds[0]",
                "projectAdmins.manifests[1].apiGroups",
                "projectAdmins.manifests[1].kinds",
                "projectAdmins.reservedNamespaces[0]",
                "projectAdmins.allowedLabels[0]",
            ]
        );
    }
}
