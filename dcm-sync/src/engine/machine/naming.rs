//! What a lane's record names before anything is done: whoever finds it knows where to look, and what may be there.

use std::sync::{Arc, LazyLock};

use dcm_core::app_context::{Action, Bundle, DataMember, Request};
use dcm_core::manifest::GroupVersionKind;

use super::lane::Lane;

impl Lane {
    /// Visits the kinds whose objects must be known before this lane can be planned: what is desired, and what may
    /// have been made before.
    pub(super) fn kinds(&self, bundle: Option<&Bundle>, visit: &mut dyn FnMut(&GroupVersionKind)) {
        visit_kinds(bundle, visit);
        self.record.kinds.iter().for_each(visit);
    }

    /// True for one of those kinds.
    pub(super) fn is_about(&self, bundle: Option<&Bundle>, kind: &GroupVersionKind) -> bool {
        let mut is_about = self.record.kinds.contains(kind);
        if !is_about {
            visit_kinds(bundle, &mut |desired| is_about |= desired == kind);
        }
        is_about
    }

    /// True when an object of this kind is recorded.
    pub(super) fn has_recorded(&self, kind: &GroupVersionKind) -> bool {
        self.record.objects.keys().any(|key| key.kind == kind.kind && key.group == kind.group)
    }

    /// True when the record does not name all kinds, namespaces and results yet that the bundle may make.
    pub(super) fn must_name(&self, bundle: Option<&Bundle>) -> bool {
        let mut missing = namespaces(bundle).any(|name| !self.record.namespaces.contains(name));
        missing |= requests(bundle).any(|name| !self.record.may_have_result(name));
        visit_kinds(bundle, &mut |kind| missing |= !self.record.kinds.contains(kind));
        missing
    }

    pub(super) fn name(&mut self, bundle: Option<&Bundle>) {
        visit_kinds(bundle, &mut |kind| {
            if !self.record.kinds.contains(kind) {
                self.record.kinds.insert(kind.clone());
            }
        });
        self.record.add_namespaces(namespaces(bundle).cloned());
        for name in requests(bundle) {
            if !self.record.may_have_result(name) {
                self.record.dropping.push(name.clone());
            }
        }
        self.given_up.retain(|name| !self.record.namespaces.contains(name));
    }

    /// Gives up nothing that the bundle names: it may have been given up before it was wanted again, by a save that failed.
    pub(super) fn keep_wanted(&mut self, bundle: Option<&Bundle>) {
        self.given_up.retain(|name| !namespaces(bundle).any(|wanted| wanted == name));
    }

    /// Gives up the namespaces that the bundle does not name.
    pub(super) fn give_up_all_but(&mut self, bundle: Option<&Bundle>) {
        let mut given_up = std::mem::take(&mut self.given_up);
        given_up.extend(self.record.namespaces.drain(..));
        let wanted = namespaces(bundle).filter_map(|name| given_up.take(name));
        self.record.add_namespaces(wanted);
        self.given_up = given_up;
    }
}

/// Visits the kinds that a bundle makes objects of.
fn visit_kinds(bundle: Option<&Bundle>, visit: &mut dyn FnMut(&GroupVersionKind)) {
    for step in bundle.into_iter().flat_map(Bundle::steps) {
        match &step.action {
            Action::Apply { manifest, .. } => visit(manifest.kind()),
            Action::Edit { .. } => visit(DataMember::kind()),
            Action::Request { request: Request::Certificate(_), .. } => visit(signing_requests()),
            Action::Request { request: Request::Token(_), .. } => {}
        }
    }
}

/// The names of a bundle's requests.
pub(super) fn requests(bundle: Option<&Bundle>) -> impl Iterator<Item = &Arc<str>> {
    bundle.into_iter().flat_map(Bundle::steps).filter_map(|step| match &step.action {
        Action::Request { name, .. } => Some(name),
        Action::Apply { .. } | Action::Edit { .. } => None,
    })
}

/// The namespaces that a bundle makes.
fn namespaces(bundle: Option<&Bundle>) -> impl Iterator<Item = &Arc<str>> {
    let manifests = bundle.into_iter().flat_map(Bundle::manifests);
    manifests.filter(|manifest| manifest.kind().is_namespace()).map(|manifest| &manifest.key().name)
}

/// The kind through which certificates are asked for; one for all lanes.
pub(super) fn signing_requests() -> &'static GroupVersionKind {
    static KIND: LazyLock<GroupVersionKind> =
        LazyLock::new(|| GroupVersionKind::new("certificates.k8s.io", "v1", "CertificateSigningRequest"));
    &KIND
}
