//! What only callers without limits may grant: what the allow list does not hold, what belongs to systems, and the reach of either.

mod admin_role;
mod allow_list;
mod limits;
mod order;
mod reach;
mod systems;

use std::collections::{BTreeMap, BTreeSet};

use crate::logical_cloud::{
    Draft, Level, LogicalCloud, MeshDnsDraft, Permission, ServiceMesh, ServiceMeshDraft, UserType,
};
use crate::name::UserName;
use crate::refusal::{Path, Refusal};

use super::caller::Caller;
use super::error::Error;

pub use allow_list::AllowList;
pub use limits::{Limits, POD_SECURITY};
pub(super) use order::Order;
pub use systems::{InvalidPattern, LabelPattern, NamePattern, Reserved};

/// Refuses a limited caller an edit that grants such rights, to any user and on any cluster. The rest of such a cloud may be edited.
pub(super) fn check(
    caller: &Caller,
    before: Option<&LogicalCloud>,
    after: &LogicalCloud,
    order: &Order,
) -> Result<(), Error> {
    let refused = caller.limits().and_then(|limits| refused(limits, before, after, order));
    refused.map_or(Ok(()), |refusal| Err(Error::Forbidden(refusal)))
}

/// What an edit gets where the draft does not name it. The names of a mesh stay as they are, in the edits of all callers. A limited caller's edit gets
/// labels of the namespace that are not theirs to set, as they are or, where the cloud has no namespace yet, as the limits say.
pub(super) fn complete(caller: &Caller, before: Option<&LogicalCloud>, mut draft: Draft) -> Draft {
    complete_dns(caller.limits(), before, &mut draft);
    let Some(limits) = caller.limits().filter(|_| !Level::is_admin(draft.spec.level.as_deref())) else {
        return draft;
    };
    for (key, value) in set_labels(limits, before) {
        draft.spec.labels.entry(key).or_insert(value);
    }
    draft
}

/// The names of a mesh where the draft names none: as they are, or else, for a limited caller with a suffix, those of its zone.
fn complete_dns(limits: Option<&Limits>, before: Option<&LogicalCloud>, draft: &mut Draft) {
    let Some(mesh) = &mut draft.spec.service_mesh else { return };
    let mesh_before = before.and_then(LogicalCloud::service_mesh).cloned();
    let dns_before = mesh_before.and_then(|mesh| ServiceMeshDraft::from(mesh).dns);
    let dns = mesh.dns.get_or_insert_with(|| dns_before.clone().unwrap_or_default());
    if dns.enabled == Some(false) {
        return;
    }
    let MeshDnsDraft { zone, image, .. } = dns_before.unwrap_or_default();
    let own = || limits?.zone_of_suffix(&draft.metadata.name);
    dns.zone = dns.zone.take().or(zone).or_else(|| own().map(|zone| zone.to_string()));
    dns.image = dns.image.take().or(image);
}

/// What an edit grants, or takes away, that only callers without limits may.
fn refused(
    limits: &Limits,
    before: Option<&LogicalCloud>,
    after: &LogicalCloud,
    order: &Order,
) -> Option<Refusal> {
    let is_as_before = || before.map(granting) == Some(granting(after));
    let spec = Path::root().field("spec");
    let refusal = |field: &str, value: &str, what: &str| Refusal {
        path: spec.field(field).to_string(),
        value: value.to_owned(),
        rule: format!("{what} can't be granted by this caller: ask a platform admin to make this change"),
    };
    if after.level() != Level::Standard && !is_as_before() {
        let level = after.level().as_str();
        return Some(refusal("level", level, &format!("rights in a cloud of level {level}")));
    }
    if after.object_policies().take_over() && !is_as_before() {
        return Some(refusal("objectPolicies", "", "what is on clusters already"));
    }
    reserved_namespace(limits, before, after)
        .or_else(|| strong_dns(limits, before, after))
        .or_else(|| changed_label(limits, before, after))
        .or_else(|| added_permission(limits, before, after, order))
        .or_else(|| added_manifest(limits, before, after, order))
        .or_else(|| reach::extended(limits, before, after, order))
}

/// A namespace of a system that the cloud did not have before.
fn reserved_namespace(
    limits: &Limits,
    before: Option<&LogicalCloud>,
    after: &LogicalCloud,
) -> Option<Refusal> {
    let mesh = |cloud| LogicalCloud::service_mesh(cloud).map(ServiceMesh::namespace);
    let own = (after.namespace(), before.and_then(LogicalCloud::namespace), "namespace");
    let of_mesh = (mesh(after), before.and_then(mesh), "serviceMesh");
    let mut new = [own, of_mesh].into_iter().filter(|(after, before, _)| after != before);
    let (namespace, pattern, field) = new.find_map(|(namespace, _, field)| {
        let namespace = namespace?;
        Some((namespace, limits.reserved.namespace(namespace.as_str())?, field))
    })?;
    let rule = format!(
        "a namespace of a system ({pattern}) can't be granted by this caller: take another name, or ask a platform admin to make the \
         logical cloud; the setting projectAdmins.reservedNamespaces adds to the list"
    );
    let path = Path::root().field("spec").field(field).to_string();
    Some(Refusal { path, value: namespace.to_string(), rule })
}

/// Names of a mesh that are not the caller's to give, and were not there before.
fn strong_dns(limits: &Limits, before: Option<&LogicalCloud>, after: &LogicalCloud) -> Option<Refusal> {
    let dns = limits.strong_dns(after)?;
    let dns_before = before.and_then(LogicalCloud::service_mesh).and_then(ServiceMesh::dns);
    if dns_before == Some(dns) {
        return None;
    }
    let own: Vec<String> = limits.mesh_zones(after).map(|zone| zone.to_string()).collect();
    let own = own.join(" or ");
    let path = Path::root().field("spec").field("serviceMesh").field("dns").to_string();
    let rule = format!(
        "the names of a mesh, but for those of its own zone ({own}) by the default image, can't be granted by this caller: take that zone, set \
         enabled to false, or ask a platform admin to make this change"
    );
    Some(Refusal { path, value: dns.zone().to_string(), rule })
}

/// A label that is not the caller's to set and is not as it has to be: it may limit what is in a namespace as well as allow it.
fn changed_label(limits: &Limits, before: Option<&LogicalCloud>, after: &LogicalCloud) -> Option<Refusal> {
    after.namespace()?;
    let (set, after) = (set_labels(limits, before), guarded(limits, after));
    let keys: BTreeSet<&String> = set.keys().chain(after.keys()).collect();
    let changed = keys.into_iter().find(|key| set.get(*key) != after.get(*key))?;
    let rule = format!(
        "the label {changed} of a namespace can't be granted by this caller: leave it out, ask a platform admin to set it, or to allow \
         it by the setting projectAdmins.allowedLabels"
    );
    let path = Path::root().field("spec").field("labels").key(changed).to_string();
    Some(Refusal { path, value: after.get(changed).cloned().unwrap_or_default(), rule })
}

/// The labels that are not a limited caller's to set, as they have to be.
fn set_labels(limits: &Limits, before: Option<&LogicalCloud>) -> BTreeMap<String, String> {
    match before.filter(|cloud| cloud.namespace().is_some()) {
        Some(cloud) => guarded(limits, cloud),
        None => limits.namespace_labels.clone(),
    }
}

/// The labels of a cloud that are not a limited caller's to set: those of Kubernetes and of systems, and those that the limits name.
fn guarded(limits: &Limits, cloud: &LogicalCloud) -> BTreeMap<String, String> {
    let labels = cloud.labels().iter().filter(|(key, _)| limits.guards(key));
    labels.map(|(key, value)| (key.clone(), value.clone())).collect()
}

/// A permission outside of the allow list that a user did not have before, as it was. Extra manifests of a standard cloud have no
/// rights in them, and those of another level are looked at as a whole.
fn added_permission(
    limits: &Limits,
    before: Option<&LogicalCloud>,
    after: &LogicalCloud,
    order: &Order,
) -> Option<Refusal> {
    let excess = |permission: &Permission| {
        limits.allow_list.excess(permission, &order.permission(&permission.metadata.name))
    };
    let mut held = None;
    after.permissions().iter().find_map(|permission| {
        let refusal = excess(permission)?;
        let held = held.get_or_insert_with(|| before.map(holdings).unwrap_or_default());
        let is_new = holdings_of(permission, after).any(|holding| !held.contains(&holding));
        is_new.then_some(refusal)
    })
}

/// An extra manifest outside of the allow list that was not there before, as it is.
fn added_manifest(
    limits: &Limits,
    before: Option<&LogicalCloud>,
    after: &LogicalCloud,
    order: &Order,
) -> Option<Refusal> {
    let held = before.map(LogicalCloud::manifests).unwrap_or_default();
    let mut added = after.manifests().iter().filter(|one| !held.contains(one));
    added.find_map(|one| limits.allow_list.excess_kind(one.kind(), &order.manifest(one.key())))
}

/// A permission, and a user who has it, by how they prove who they are; none: the permission by itself.
type Holding<'a> = (&'a Permission, Option<(&'a UserName, &'a UserType)>);

/// Each permission of a cloud, and each user who has it.
fn holdings(cloud: &LogicalCloud) -> Vec<Holding<'_>> {
    cloud.permissions().iter().flat_map(|permission| holdings_of(permission, cloud)).collect()
}

fn holdings_of<'a>(permission: &'a Permission, cloud: &'a LogicalCloud) -> impl Iterator<Item = Holding<'a>> {
    let holders = cloud.users().iter().filter(|user| permission.holders.include(&user.metadata.name));
    let held = holders.map(move |user| (permission, Some((&user.metadata.name, &user.kind))));
    std::iter::once((permission, None)).chain(held)
}

/// All of a cloud but what grants nothing: its labels are those of its namespace, and webhooks and network policies go by them.
fn granting(cloud: &LogicalCloud) -> Draft {
    let mut draft = cloud.to_draft();
    draft.metadata.description.clear();
    draft.metadata.user_data1.clear();
    draft.metadata.user_data2.clear();
    draft.spec.quotas.clear();
    draft.spec.key_values.clear();
    draft
}
