//! The rules of a whole logical cloud, and those between its parts.

use std::collections::BTreeSet;

use crate::name::{LogicalCloudName, Namespace, ProjectName};
use crate::refusal::{Checks, Path};
use crate::similar::did_you_mean;

use super::cloud::LogicalCloud;
use super::container_defaults::ContainerDefaults;
use super::draft::{Draft, PermissionDraft, SpecDraft};
use super::level::Level;
use super::metadata::Metadata;
use super::permission::{Permission, Scope};
use super::policies::ObjectPolicies;
use super::random_bits::LogicalCloudUid;
use super::selector::LabelSelector;
use super::service_mesh::{Of, ServiceMesh};
use super::{labels, limits, manifests, reference, removal};

/// Checks a whole draft.
pub(super) fn whole(
    project: ProjectName,
    uid: LogicalCloudUid,
    mut draft: Draft,
    checks: &mut Checks,
) -> Option<LogicalCloud> {
    let before = checks.count();
    let at = Path::root().field("spec");
    limit(&mut draft.spec, &at, checks);
    names_are_unique(&draft.spec, &at, checks);
    clusters_are_unique(&draft.spec, &at, checks);
    reference::name_unnamed(&mut draft.spec.clusters, &at.field("clusters"), checks);
    holders_are_users(&draft.spec, &at, checks);
    let namespace = namespace(&draft, &at.field("namespace"), checks);
    let level = level(&draft.spec, namespace.as_ref(), &at, checks);
    let object_policies =
        ObjectPolicies::check(&draft.spec.object_policies, &at.field("objectPolicies"), checks);
    let removal = draft.spec.removal.take().unwrap_or_default();
    let removal = removal::check(&removal, &at.field("removal"), checks);
    let container_defaults = draft.spec.container_defaults.take().unwrap_or_default();
    let container_defaults =
        ContainerDefaults::check(&container_defaults, &at.field("containerDefaults"), checks);
    let mesh_at = at.field("serviceMesh");
    let service_mesh = draft.spec.service_mesh.take().map(|mesh| {
        let of = Of { project: &project, cloud: &draft.metadata.name, namespace: namespace.as_ref() };
        ServiceMesh::check(&mesh, &of, &mesh_at, checks)
    });
    labels::check(&draft.spec.labels, &at.field("labels"), checks);
    let metadata = Metadata::check(draft.metadata, &Path::root().field("metadata"), checks);
    let spec = draft.spec;
    let users = parts(&spec.users, &at.field("users"), checks);
    let permissions = permissions(&spec.permissions, namespace.as_ref(), &at.field("permissions"), checks);
    let quotas = parts(&spec.quotas, &at.field("quotas"), checks);
    let references = parts(&spec.clusters, &at.field("clusters"), checks);
    let cluster_selector = spec
        .cluster_selector
        .and_then(|draft| LabelSelector::check(draft, &at.field("clusterSelector"), checks));
    let key_values = parts(&spec.key_values, &at.field("keyValues"), checks);
    let place = namespace.as_ref().zip(level);
    let manifests = place.map_or_else(Vec::new, |(namespace, level)| {
        manifests::check(spec.manifests, namespace, level, &at.field("manifests"), checks)
    });
    let (metadata, level, object_policies) = (metadata?, level?, object_policies?);
    let (removal, container_defaults) = (removal?, container_defaults?);
    let service_mesh = service_mesh.map_or(Some(None), |checked| checked.map(Some))?;
    let cloud = LogicalCloud {
        project,
        uid,
        metadata,
        level,
        namespace,
        object_policies,
        removal,
        container_defaults,
        labels: spec.labels,
        users,
        permissions,
        quotas,
        references,
        cluster_selector,
        key_values,
        manifests,
        service_mesh,
    };
    (checks.count() == before).then_some(cloud)
}

/// A part of a logical cloud that has a name.
pub(super) trait Part: Sized {
    /// How it is written down.
    type Draft;
    /// The type of its name.
    type Name: Ord + Clone;

    /// Checks it by itself, at a path. Makes nothing only if it refuses something.
    fn check(draft: &Self::Draft, at: &Path, checks: &mut Checks) -> Option<Self>;

    /// Its name and notes.
    fn metadata(&self) -> &Metadata<Self::Name>;
}

/// Checks each item of a list and puts them in the order of their names.
fn parts<P: Part>(drafts: &[P::Draft], at: &Path, checks: &mut Checks) -> Vec<P> {
    let check = |(index, draft)| P::check(draft, &at.item(index), checks);
    let mut parts: Vec<P> = drafts.iter().enumerate().filter_map(check).collect();
    parts.sort_by_cached_key(|part| part.metadata().name.clone());
    parts
}

/// Checks the permissions. The cloud's namespace by its name is the cloud's namespace.
fn permissions(
    drafts: &[PermissionDraft],
    own: Option<&Namespace>,
    at: &Path,
    checks: &mut Checks,
) -> Vec<Permission> {
    let mut permissions: Vec<Permission> = parts(drafts, at, checks);
    for permission in &mut permissions {
        if matches!((&permission.scope, own), (Scope::Namespace(other), Some(own)) if other == own) {
            permission.scope = Scope::CloudNamespace;
        }
    }
    permissions
}

/// Refuses lists that are too long, and cuts them so that the rest of the check has its limit.
fn limit(spec: &mut SpecDraft, at: &Path, checks: &mut Checks) {
    fn cut<T>(list: &mut Vec<T>, longest: usize, at: &Path, checks: &mut Checks) {
        if list.len() > longest {
            checks.refuse(at, &list.len().to_string(), format!("must have at most {longest} entries"));
            list.truncate(longest);
        }
    }
    cut(&mut spec.users, limits::USERS_MAX, &at.field("users"), checks);
    cut(&mut spec.permissions, limits::PERMISSIONS_MAX, &at.field("permissions"), checks);
    cut(&mut spec.quotas, limits::QUOTAS_MAX, &at.field("quotas"), checks);
    cut(&mut spec.clusters, limits::REFERENCES_MAX, &at.field("clusters"), checks);
    cut(&mut spec.key_values, limits::KEY_VALUES_MAX, &at.field("keyValues"), checks);
    cut(&mut spec.manifests, limits::MANIFESTS_MAX, &at.field("manifests"), checks);
}

fn names_are_unique(spec: &SpecDraft, at: &Path, checks: &mut Checks) {
    fn unique<'a>(names: impl Iterator<Item = &'a String>, at: &Path, checks: &mut Checks) {
        let mut seen = BTreeSet::new();
        for (index, name) in names.enumerate() {
            if !seen.insert(name) && !name.is_empty() {
                checks.refuse(&at.item(index).field("name"), name, "is used twice in this list");
            }
        }
    }
    unique(spec.users.iter().map(|user| &user.name), &at.field("users"), checks);
    unique(spec.permissions.iter().map(|permission| &permission.name), &at.field("permissions"), checks);
    unique(spec.quotas.iter().map(|quota| &quota.name), &at.field("quotas"), checks);
    unique(spec.clusters.iter().map(|reference| &reference.name), &at.field("clusters"), checks);
    unique(spec.key_values.iter().map(|values| &values.name), &at.field("keyValues"), checks);
}

fn clusters_are_unique(spec: &SpecDraft, at: &Path, checks: &mut Checks) {
    let mut clusters = BTreeSet::new();
    for (index, reference) in spec.clusters.iter().enumerate() {
        if !clusters.insert((&reference.provider, &reference.cluster)) && !reference.cluster.is_empty() {
            let value = format!("{}/{}", reference.provider, reference.cluster);
            let at = at.field("clusters").item(index).field("cluster");
            checks.refuse(&at, &value, "is in the cloud already, by another reference");
        }
    }
}

fn holders_are_users(spec: &SpecDraft, at: &Path, checks: &mut Checks) {
    let users: BTreeSet<&String> = spec.users.iter().map(|user| &user.name).collect();
    for (index, permission) in spec.permissions.iter().enumerate() {
        for (place, user) in permission.users.iter().flatten().enumerate() {
            if !users.contains(user) {
                let at = at.field("permissions").item(index).field("users").item(place);
                let similar = did_you_mean(user, users.iter().map(|name| name.as_str()));
                checks.refuse(&at, user, format!("is not a user of this logical cloud{similar}"));
            }
        }
    }
}

/// The cloud's namespace: the one given, or its name; none for an admin cloud.
fn namespace(draft: &Draft, at: &Path, checks: &mut Checks) -> Option<Namespace> {
    if Level::is_admin(draft.spec.level.as_deref()) {
        return None;
    }
    let given = draft.spec.namespace.as_ref().filter(|namespace| !namespace.is_empty());
    let text = given.unwrap_or(&draft.metadata.name);
    let namespace = match Namespace::new(text) {
        Ok(namespace) => namespace,
        // Such a name is refused itself; a namespace isn't what is missing then.
        Err(_) if given.is_none() && LogicalCloudName::new(text).is_err() => return None,
        Err(error) if given.is_none() => {
            let rule = format!("must be given, as the cloud's name is no legal namespace ({})", error.rule);
            checks.refuse(at, text, rule);
            return None;
        }
        Err(error) => return checks.accept(at, text, Err(error)),
    };
    if text == "default" || text.starts_with("kube-") {
        checks.refuse(
            at,
            text,
            "default and kube-* belong to the cluster itself; only admin clouds work there",
        );
        return None;
    }
    Some(namespace)
}

/// The level, with the rules that come with it.
fn level(spec: &SpecDraft, own: Option<&Namespace>, at: &Path, checks: &mut Checks) -> Option<Level> {
    let leaving: Vec<usize> = spec
        .permissions
        .iter()
        .enumerate()
        .filter(|(_, permission)| leaves(permission, own))
        .map(|(index, _)| index)
        .collect();
    let level = Level::check(spec.level.as_deref(), !leaving.is_empty(), &at.field("level"), checks)?;
    match level {
        Level::Admin => admin(spec, at, checks),
        Level::Privileged => {}
        Level::Standard => {
            for index in leaving {
                let permission = &spec.permissions[index];
                let field = if permission.cluster_wide { "clusterWide" } else { "namespace" };
                let value = permission.namespace.as_deref().unwrap_or("true");
                let rule = "a standard cloud's permissions stay in its namespace; make the cloud privileged";
                checks.refuse(&at.field("permissions").item(index).field(field), value, rule);
            }
        }
    }
    Some(level)
}

/// True when a permission holds outside the cloud's namespace.
fn leaves(permission: &PermissionDraft, own: Option<&Namespace>) -> bool {
    let elsewhere = |namespace: &String| own.is_some_and(|own| own.as_str() != namespace);
    permission.cluster_wide || permission.namespace.as_ref().is_some_and(elsewhere)
}

/// An admin cloud changes nothing on its clusters, so it has nothing that would.
fn admin(spec: &SpecDraft, at: &Path, checks: &mut Checks) {
    for (field, given) in [
        ("namespace", spec.namespace.as_ref().is_some_and(|namespace| !namespace.is_empty())),
        ("objectPolicies", !spec.object_policies.is_empty()),
        ("containerDefaults", spec.container_defaults.is_some()),
        ("labels", !spec.labels.is_empty()),
        ("users", !spec.users.is_empty()),
        ("permissions", !spec.permissions.is_empty()),
        ("quotas", !spec.quotas.is_empty()),
        ("manifests", !spec.manifests.is_empty()),
        ("serviceMesh", spec.service_mesh.is_some()),
    ] {
        if given {
            checks.refuse(
                &at.field(field),
                "",
                "an admin cloud uses its clusters as they are and has none of this",
            );
        }
    }
}
