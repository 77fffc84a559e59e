//! Rules of roles that permit nothing.

use serde_json::Value;

use super::{WithoutEffect, intended, qualified};
use crate::manifest::Manifest;
use crate::port::resources::{Resources, ServedResource, is_own_group};

/// Stands for all groups, resources or verbs.
const ALL: &str = "*";

/// What any resource may be asked for. Of other verbs, a group that is not of Kubernetes itself may have its own.
const STANDARD_VERBS: [&str; 8] =
    ["create", "delete", "deletecollection", "get", "list", "patch", "update", "watch"];

/// Verbs that authorization alone knows, and no discovery: those of roles, of signers and of security policies.
const VIRTUAL_VERBS: [&str; 7] =
    ["approve", "attest", "bind", "escalate", "request-serviceaccounts-token-audience", "sign", "use"];

/// The verb of impersonation, and the beginning of its constrained ones.
const IMPERSONATE: &str = "impersonate";

/// Resources that authorization alone knows, and no discovery, with their groups.
const VIRTUAL_RESOURCES: [(&str, &str); 8] = [
    ("", "users"),
    ("", "groups"),
    ("", "userextras"),
    ("", "endpoints/restricted"),
    ("authentication.k8s.io", "uids"),
    ("authentication.k8s.io", "userextras"),
    ("certificates.k8s.io", "signers"),
    ("discovery.k8s.io", "endpointslices/restricted"),
];

/// A subresource that authorization alone knows, of any resource: owner references are checked by it.
const FINALIZERS: &str = "finalizers";

/// Subresources of nodes, by which kubelets are asked.
const NODES: &str = "nodes/";

/// Groups whose resources are named by metrics, and come and go with them.
const OPEN_GROUPS: [&str; 2] = ["custom.metrics.k8s.io", "external.metrics.k8s.io"];

/// A resource of a rule, and what is served by its name in the groups of the rule.
type Matched<'a> = (&'a str, Vec<&'a ServedResource>);

/// A rule, with what was found of it.
struct Rule<'a> {
    resources: &'a Resources,
    groups: Vec<&'a str>,
    names: Vec<&'a str>,
    verbs: Vec<&'a str>,
    found: Vec<WithoutEffect>,
}

pub(super) fn without_effect(
    manifest: &Manifest,
    resources: &Resources,
    is_in_namespace: bool,
) -> Vec<WithoutEffect> {
    let mut all = Vec::new();
    for (index, rule) in manifest.body()["rules"].as_array().into_iter().flatten().enumerate() {
        let mut read = Rule {
            resources,
            groups: texts(&rule["apiGroups"]),
            names: texts(&rule["resources"]),
            verbs: texts(&rule["verbs"]),
            found: Vec::new(),
        };
        read.look(is_in_namespace, !texts(&rule["resourceNames"]).is_empty());
        all.extend(read.found.into_iter().map(|found| found.at(&format!("rules[{index}]"))));
    }
    all
}

fn texts(list: &Value) -> Vec<&str> {
    list.as_array().into_iter().flatten().filter_map(Value::as_str).collect()
}

/// True for a verb that no discovery names.
fn is_virtual_verb(verb: &str) -> bool {
    verb.starts_with(IMPERSONATE) || VIRTUAL_VERBS.contains(&verb)
}

impl<'a> Rule<'a> {
    fn look(&mut self, is_in_namespace: bool, has_names: bool) {
        // Only authorization knows what these are about.
        if !self.verbs.is_empty() && self.verbs.iter().all(|verb| is_virtual_verb(verb)) {
            return;
        }
        let mut matched: Vec<Matched<'a>> = Vec::new();
        let (mut missing, mut unjudged) = (Vec::new(), 0);
        for name in self.names.clone() {
            // What stands for several is not judged.
            if name.contains(ALL) || self.is_virtual(name) {
                unjudged += 1;
                continue;
            }
            let served = self.matches(name);
            if !served.is_empty() {
                matched.push((name, served));
            } else if self.may_be_virtual_below(name) {
                unjudged += 1;
            } else {
                missing.push(name);
            }
        }
        self.look_at_groups(!missing.is_empty(), matched.is_empty());
        missing.iter().for_each(|name| self.look_at_missing(name));
        if is_in_namespace && !self.verbs.iter().any(|verb| is_virtual_verb(verb)) {
            self.look_at_scopes(&mut matched);
        }
        if unjudged == 0 {
            self.look_at_verbs(&matched);
        }
        if has_names {
            self.look_at_names(&matched);
        }
    }

    fn add(&mut self, sentence: String) {
        self.found.push(WithoutEffect { sentence, instead: None });
    }

    /// What is served by a name in the groups of the rule, in any version.
    fn matches(&self, name: &'a str) -> Vec<&'a ServedResource> {
        let resources = self.resources;
        if self.groups.contains(&ALL) {
            return resources.named(None, name).collect();
        }
        self.groups.iter().flat_map(|group| resources.named(Some(group), name)).collect()
    }

    /// A group that is not served takes nothing away where the other groups of the rule have all its resources.
    fn look_at_groups(&mut self, is_missing: bool, is_nothing_matched: bool) {
        let unserved = |group: &&str| {
            *group != ALL && !OPEN_GROUPS.contains(group) && !self.resources.may_have_group(group)
        };
        let unserved: Vec<&str> = self.groups.iter().copied().filter(unserved).collect();
        let is_all = unserved.len() == self.groups.len();
        if is_missing || (is_nothing_matched && is_all) {
            for group in unserved {
                self.add(format!("the cluster does not serve the API group {group}"));
            }
        }
    }

    /// A resource that is served in none of the groups.
    fn look_at_missing(&mut self, name: &str) {
        let is_open =
            |group: &&str| self.resources.unseen.contains_key(*group) || OPEN_GROUPS.contains(group);
        let (sentence, is_unknown) = if self.groups.contains(&ALL) {
            (format!("the cluster does not serve {name}"), !self.resources.unseen.is_empty())
        } else {
            let groups = self.groups.iter().copied().filter(|group| self.resources.may_have_group(group));
            let groups: Vec<&str> = groups.collect();
            let qualified: Vec<String> = groups.iter().map(|group| qualified(name, group)).collect();
            // Where none of the groups is served, that is said of them.
            let is_unknown = groups.is_empty() || groups.iter().any(is_open);
            (format!("the cluster does not serve {}", qualified.join(" or ")), is_unknown)
        };
        if !is_unknown {
            self.found.push(WithoutEffect { sentence, instead: self.instead(name) });
        }
    }

    /// Which resource may be intended.
    fn instead(&self, name: &str) -> Option<String> {
        let elsewhere = self.resources.named(None, name).next();
        let elsewhere = elsewhere.map(|one| qualified(&one.name, &one.group));
        elsewhere.or_else(|| intended(self.resources, &self.groups, name))
    }

    /// A Role permits nothing of what is in no namespace, but to read its own namespace.
    fn look_at_scopes(&mut self, matched: &mut Vec<Matched<'a>>) {
        let is_out = |(name, served): &Matched<'_>| {
            let is_namespace = name.split('/').next() == Some("namespaces");
            !is_namespace && served.iter().all(|one| !one.is_namespaced)
        };
        for (name, _) in matched.extract_if(.., |one| is_out(one)) {
            self.add(format!("{name} are in no namespace, so a Role never permits them"));
        }
    }

    fn look_at_verbs(&mut self, matched: &[Matched<'_>]) {
        if matched.is_empty() || self.verbs.contains(&ALL) {
            return;
        }
        let judged: Vec<&str> = self.verbs.iter().copied().filter(|verb| is_judged(verb, matched)).collect();
        let has = |served: &[&ServedResource], verb: &str| served.iter().any(|one| one.verbs.contains(verb));
        let is_had = |verb: &&&str| matched.iter().any(|(_, served)| has(served, verb));
        let names = matched.iter().map(|(name, _)| *name).collect::<Vec<_>>().join(", ");
        let had = judged.iter().filter(is_had).count();
        for verb in judged.iter().filter(|verb| !is_had(verb)) {
            self.add(format!("{names} can't be asked to {verb}"));
        }
        // A resource that has none of the verbs which another one has.
        if judged.len() == self.verbs.len() && had > 0 {
            for (name, served) in matched {
                if !judged.iter().any(|verb| has(served, verb)) {
                    self.add(format!("{name} can't be asked for any of the verbs"));
                }
            }
        }
    }

    /// A request to create an object, or to delete a collection, names none.
    fn look_at_names(&mut self, matched: &[Matched<'_>]) {
        let collections = matched.iter().map(|(name, _)| *name).filter(|name| !name.contains('/'));
        let collections = collections.collect::<Vec<_>>().join(", ");
        if collections.is_empty() {
            return;
        }
        if self.verbs.contains(&"create") {
            let applies = self.verbs.iter().any(|verb| ["patch", "update", ALL].contains(verb));
            let but = if applies { ", only server-side apply and PUT can create" } else { "" };
            self.add(format!(
                "{collections}: with resourceNames, a POST is never permitted, as it names no object{but}"
            ));
        }
        if self.verbs.contains(&"deletecollection") {
            self.add(format!("{collections}: with resourceNames, deletecollection is never permitted"));
        }
    }

    fn is_virtual(&self, name: &str) -> bool {
        let resource = name.split('/').next().unwrap_or_default();
        let has_group = |group: &str| self.groups.iter().any(|one| *one == group || *one == ALL);
        let is_one = |(group, one): &(&str, &str)| (*one == name || *one == resource) && has_group(group);
        VIRTUAL_RESOURCES.iter().any(is_one) || name.starts_with(NODES) && has_group("")
    }

    /// True for a subresource of a served resource that authorization may know although no discovery names it: all but those of Kubernetes
    /// itself are free to have some.
    fn may_be_virtual_below(&self, name: &'a str) -> bool {
        let Some((resource, below)) = name.split_once('/') else { return false };
        let served = self.matches(resource);
        !served.is_empty() && (below == FINALIZERS || served.iter().any(|one| !is_own_group(&one.group)))
    }
}

/// True for a verb of which discovery shows whether a resource has it.
fn is_judged(verb: &str, matched: &[Matched<'_>]) -> bool {
    let mut served = matched.iter().flat_map(|(_, served)| served);
    !is_virtual_verb(verb) && (STANDARD_VERBS.contains(&verb) || served.all(|one| is_own_group(&one.group)))
}
