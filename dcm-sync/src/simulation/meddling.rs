//! People on clusters: those that don't know of us, and those that forge.

use std::collections::BTreeMap;
use std::sync::Arc;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use dcm_core::manifest::{GroupVersionKind, ObjectKey};
use dcm_core::name::{ClusterId, ContextId};
use dcm_core::plan::Records;
use dcm_core::port::cluster::{
    ANNOTATION_GENERATION, ANNOTATION_MANIFEST, ANNOTATION_ORIGIN, FIELD_MANAGER, LABEL_CONTEXT, LABEL_OWNER,
    ORIGIN_ADOPTED, Object,
};
use dcm_core::port::proof::ANNOTATION_PROOF;
use jiff::Timestamp;
use serde_json::{Value, json};

use super::revocation::HinderedKind;
use super::scenario::Meddling;
use super::wish::{
    ACCOUNT, ADOPTED, CLUSTER_ROLES, COMMON, EDITED, NAMESPACES, THEIRS, ZONES, request_names,
};
use crate::sim::{ANNOTATION_COPY, FakeSigner, Server};

/// Under whose name controllers write.
const CONTROLLER: &str = "controller";

/// Under whose name they write.
const MEDDLER: &str = "kubectl-edit";

/// What the names begin with of what they put into our namespaces.
pub(super) const INTRUDER: &str = "intruder-";

/// So late a generation that a few more are the last ones.
const LAST_GENERATION: u64 = u64::MAX - 3;

/// What they hold things back with.
const FINALIZER: &str = "example.com/hold";

/// What somebody else than the engine did, and when last.
#[derive(Debug, Default)]
pub(super) struct Meddled {
    /// By object.
    objects: BTreeMap<(ClusterId, ObjectKey), Timestamp>,
    /// To a whole cluster: it lost what it had written.
    clusters: BTreeMap<ClusterId, Timestamp>,
    /// Until when a cluster could not be reached as it should be.
    hidden: BTreeMap<ClusterId, Timestamp>,
    /// When others last took back what they had put on a cluster.
    cleared: BTreeMap<ClusterId, Timestamp>,
}

impl Meddled {
    /// When somebody last did something to an object, to its namespace or to its cluster.
    pub(super) fn last(&self, cluster: &ClusterId, key: &ObjectKey) -> Option<Timestamp> {
        let of = |key: &ObjectKey| self.objects.get(&(cluster.clone(), key.clone())).copied();
        let namespace = key.namespace.as_deref().map(namespace_key);
        [of(key), namespace.as_ref().and_then(of), self.clusters.get(cluster).copied()]
            .into_iter()
            .flatten()
            .max()
    }

    /// Since when what was done to an object could be known: not while its cluster could not be reached.
    pub(super) fn known_since(&self, cluster: &ClusterId, key: &ObjectKey) -> Option<Timestamp> {
        self.last(cluster, key).map(|last| last.max(self.hidden.get(cluster).copied().unwrap_or(last)))
    }

    /// A cluster can't be reached as it should be until then.
    pub(super) fn note_hidden(&mut self, cluster: &ClusterId, until: Timestamp) {
        let hidden = self.hidden.entry(cluster.clone()).or_insert(until);
        *hidden = until.max(*hidden);
    }

    /// When a cluster last lost what it had written.
    pub(super) fn lost(&self, cluster: &ClusterId) -> Option<Timestamp> {
        self.clusters.get(cluster).copied()
    }

    /// The objects of a cluster that somebody has touched.
    pub(super) fn on<'a>(&'a self, cluster: &'a ClusterId) -> impl Iterator<Item = &'a ObjectKey> {
        self.objects.keys().filter(move |(of, _)| of == cluster).map(|(_, key)| key)
    }

    pub(super) fn note(&mut self, cluster: &ClusterId, key: ObjectKey, at: Timestamp) {
        self.objects.insert((cluster.clone(), key), at);
    }

    /// When others last took back what they had put on a cluster.
    pub(super) fn cleared(&self, cluster: &ClusterId) -> Option<Timestamp> {
        self.cleared.get(cluster).copied()
    }

    pub(super) fn note_cleared(&mut self, cluster: &ClusterId, at: Timestamp) {
        self.cleared.insert(cluster.clone(), at);
    }

    pub(super) fn note_loss(&mut self, cluster: &ClusterId, at: Timestamp) {
        self.clusters.insert(cluster.clone(), at);
    }
}

fn core(kind: &str) -> GroupVersionKind {
    GroupVersionKind::new("", "v1", kind)
}

fn namespace_key(name: &str) -> ObjectKey {
    ObjectKey::of_kind(&core("Namespace"), None, name)
}

/// The object that some variants adopt.
pub(super) fn adopted() -> ObjectKey {
    ObjectKey::of_kind(&core("ConfigMap"), Some(COMMON), ADOPTED)
}

/// The object of which some variants edit a part.
pub(super) fn edited_map() -> ObjectKey {
    ObjectKey::of_kind(&core("ConfigMap"), Some(COMMON), EDITED.0)
}

/// The Corefile before any change.
const STOCK: &str = ".:53 {\n    errors\n    forward . 192.0.2.53\n}\n";

/// Another member of the edited map: the Corefile as it would be without us.
const WITHOUT_US: &str = "theirs";

/// What is wrong with a text that others and we write: without what is ours, it is what they wrote.
pub(super) fn check_shared(map: &Object) -> Result<(), String> {
    let (text, theirs) = (&map.body["data"][EDITED.1], &map.body["data"][WITHOUT_US]);
    let left = without_us(text.as_str().unwrap_or_default());
    if Some(&*left) == theirs.as_str() {
        Ok(())
    } else {
        Err(format!("{text} is not {theirs} and what is ours"))
    }
}

/// A text without our marker lines and without the blocks of our zones.
fn without_us(text: &str) -> String {
    let mut is_ours = false;
    let is_theirs = |line: &&str| {
        let ends = is_ours && line.trim_end() == "}";
        is_ours = (is_ours || line.starts_with(ZONES)) && !ends;
        !is_ours && !ends && !line.starts_with(MARKER)
    };
    text.split_inclusive('\n').filter(is_theirs).collect()
}

/// What our marker lines begin with.
pub(super) const MARKER: &str = "# dcm ";

/// Changes the text of which we edit a part.
fn edit_text(server: &mut Server, meddling: Meddling, number: u64) -> Option<ObjectKey> {
    let (kind, key) = (core("ConfigMap"), edited_map());
    let map = server.objects().find(|object| object.key == key)?;
    let text = map.body["data"][EDITED.1].as_str()?;
    let theirs = map.body["data"][WITHOUT_US].as_str()?;
    let line = format!("# {number}\n");
    let (text, theirs) = match meddling {
        Meddling::DropComments => {
            (text.split_inclusive('\n').filter(|line| !line.starts_with(MARKER)).collect(), theirs.to_owned())
        }
        // A client with its own copy of the text writes all of it.
        _ if number.is_multiple_of(4) => (theirs.to_owned(), theirs.to_owned()),
        _ => (format!("{text}{line}"), format!("{theirs}{line}")),
    };
    let patch = json!({"data": {EDITED.1: text, WITHOUT_US: theirs}});
    server.edit_as(MEDDLER, &kind, &key, &patch).ok().map(|edited| edited.key)
}

/// True for the objects that are made before the simulation begins.
fn is_furnished(key: &ObjectKey) -> bool {
    [ADOPTED, EDITED.0].contains(&&*key.name)
}

/// Makes what is there before anybody wants anything.
pub(super) fn furnish(server: &mut Server) {
    let (namespace, map) = (core("Namespace"), core("ConfigMap"));
    let body = json!({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": COMMON}});
    let made = server.create_as(MEDDLER, &namespace, &namespace_key(COMMON), &body);
    debug_assert!(made.is_ok(), "{made:?}");
    let key = adopted();
    let body = json!({"apiVersion": "v1", "kind": "ConfigMap",
        "metadata": {"name": ADOPTED, "namespace": COMMON}, "data": {"theirs": THEIRS}});
    let made = server.create_as(MEDDLER, &map, &key, &body);
    debug_assert!(made.is_ok(), "{made:?}");
}

/// Makes the text of which some variants edit a part.
pub(super) fn furnish_text(server: &mut Server) {
    let key = edited_map();
    let body = json!({"apiVersion": "v1", "kind": "ConfigMap",
        "metadata": {"name": EDITED.0, "namespace": COMMON}, "data": {EDITED.1: STOCK, WITHOUT_US: STOCK}});
    let made = server.create_as(MEDDLER, &core("ConfigMap"), &key, &body);
    debug_assert!(made.is_ok(), "{made:?}");
}

/// Does something to a server, and names the objects that it was done to.
pub(super) fn meddle(server: &mut Server, meddling: Meddling, number: u64) -> Vec<ObjectKey> {
    let touched = match meddling {
        Meddling::LetGo => {
            let_go(server);
            None
        }
        Meddling::ReplaceAuthority => {
            replace_authority(server, number);
            None
        }
        Meddling::CopyLabels => {
            server.copy_labels_from_now_on();
            None
        }
        Meddling::Define => {
            server.define_all();
            None
        }
        Meddling::Undefine => {
            let kinds = HinderedKind::ALL;
            let kind = usize::try_from(number).ok().and_then(|number| kinds.get(number % kinds.len()));
            return kind.map(|kind| undefine(server, *kind)).unwrap_or_default();
        }
        Meddling::WriteInto => {
            write_into(server);
            None
        }
        Meddling::EditText | Meddling::DropComments => edit_text(server, meddling, number),
        Meddling::ForgeRequest => forge_request(server, number),
        Meddling::DeleteAccount => delete_account(server, number),
        Meddling::MarkTheirs => mark_theirs(server, number),
        Meddling::TakeAccount => take_account(server, number),
        _ => target(server, meddling, number).and_then(|target| do_to(server, &target, meddling, number)),
    };
    touched.into_iter().collect()
}

/// Removes the definition of a kind, with all objects of it, and names these.
pub(super) fn undefine(server: &mut Server, kind: HinderedKind) -> Vec<ObjectKey> {
    let objects = server.objects().filter(|object| &*object.kind.kind == kind.kind());
    let touched = objects.map(|object| object.key).collect();
    server.undefine(kind.kind());
    touched
}

/// Does something to a binding of ours, and names it.
pub(super) fn meddle_with_binding(server: &mut Server, meddling: Meddling, number: u64) -> Vec<ObjectKey> {
    let is_meant = |object: &Object| object.marks.is_some() && object.key.is_binding();
    let target = one_of(server.objects().filter(is_meant).collect(), number);
    target.and_then(|target| do_to(server, &target, meddling, number)).into_iter().collect()
}

fn do_to(server: &mut Server, target: &Object, meddling: Meddling, number: u64) -> Option<ObjectKey> {
    let key = target.key.clone();
    match meddling {
        Meddling::Delete => drop(server.delete_as_other(&target.kind, &key).ok()?),
        Meddling::Replace => return replace(server, target, json!({})),
        Meddling::Copy => return replace(server, target, marks_of(target)),
        Meddling::Edit => edit(server, target, &edited(target, number))?,
        Meddling::Unmark => {
            edit(server, target, &json!({"metadata": {"labels": {LABEL_OWNER: null, LABEL_CONTEXT: null}}}))?;
        }
        Meddling::ForgeMarks => edit(server, target, &forged(server, target, number))?,
        Meddling::CopyMarks => return copy_marks(server, target, number),
        Meddling::EditAsUs => {
            server.edit_as(FIELD_MANAGER, &target.kind, &target.key, &edited(target, number)).ok()?;
        }
        Meddling::Intrude => return intrude(server, &key.name, number),
        Meddling::Hold => edit(server, target, &json!({"metadata": {"finalizers": [FINALIZER]}}))?,
        Meddling::EditUnnoted => {
            server.edit_unnoted(&target.kind, &target.key, &edited(target, number)).ok()?;
        }
        Meddling::LetGo
        | Meddling::EditText
        | Meddling::DropComments
        | Meddling::ForgeRequest
        | Meddling::DeleteAccount
        | Meddling::ReplaceAuthority
        | Meddling::MarkTheirs
        | Meddling::TakeAccount
        | Meddling::CopyLabels
        | Meddling::WriteInto
        | Meddling::Undefine
        | Meddling::Define => {}
    }
    Some(key)
}

/// One of our objects; for an intrusion one of our namespaces.
fn target(server: &Server, meddling: Meddling, number: u64) -> Option<Object> {
    let is_meant = |object: &Object| {
        let wants_namespace = meddling == Meddling::Intrude;
        object.marks.is_some() && (!wants_namespace || object.kind.is_namespace())
    };
    one_of(server.objects().filter(is_meant).collect(), number)
}

fn one_of(mut objects: Vec<Object>, number: u64) -> Option<Object> {
    let count = u64::try_from(objects.len()).ok().filter(|count| *count > 0)?;
    Some(objects.swap_remove(usize::try_from(number % count).ok()?))
}

fn edit(server: &mut Server, target: &Object, patch: &Value) -> Option<()> {
    server.edit_as(MEDDLER, &target.kind, &target.key, patch).ok().map(drop)
}

/// Another state of an object, as far as its kind has one that may be changed.
fn edited(target: &Object, number: u64) -> Value {
    match &*target.kind.kind {
        "Role" | "ClusterRole" => json!({"rules": []}),
        "ResourceQuota" => json!({"spec": {"hard": {"pods": (number % 100).to_string()}}}),
        "ConfigMap" => json!({"data": {"ours": "theirs"}}),
        "RoleBinding" => json!({"subjects": [{"kind": "User", "name": format!("theirs-{}", number % 3),
            "apiGroup": &*target.kind.group}]}),
        _ => json!({"metadata": {"labels": {"edited": "yes"}}}),
    }
}

/// Other marks for an object.
fn forged(server: &Server, target: &Object, number: u64) -> Value {
    let generation = target.marks.as_ref().map(|marks| marks.generation.0).unwrap_or_default();
    let later = |generation: u64| json!({ANNOTATION_GENERATION: generation.to_string()});
    let (labels, annotations) = match number % 5 {
        0 => (json!({}), later(generation.saturating_add(1 + number % 3))),
        1 => (json!({}), later(u64::MAX)),
        2 => (json!({}), json!({ANNOTATION_PROOF: null, ANNOTATION_ORIGIN: ORIGIN_ADOPTED})),
        3 => (json!({LABEL_CONTEXT: "forged"}), later(generation)),
        _ => {
            let other = self::target(server, Meddling::ForgeMarks, number / 5);
            let of = |member: &str| other.as_ref().map(|other| other.body["metadata"][member].clone());
            (of("labels").unwrap_or_default(), of("annotations").unwrap_or_default())
        }
    };
    json!({"metadata": {"labels": labels, "annotations": annotations}})
}

/// The marks that an object bears, as metadata for another one.
fn marks_of(object: &Object) -> Value {
    let metadata = &object.body["metadata"];
    json!({"labels": metadata["labels"], "annotations": metadata["annotations"]})
}

/// A copy of one of our objects under another name, in one of our namespaces, with its marks: mostly with a later generation.
fn copy_marks(server: &mut Server, target: &Object, number: u64) -> Option<ObjectKey> {
    target.key.namespace.as_ref()?;
    let namespace = self::target(server, Meddling::Intrude, number / 16)?.key.name.clone();
    let mut metadata = marks_of(target);
    let generation = target.marks.as_ref().map(|marks| marks.generation.0).unwrap_or_default();
    let later = match number % 4 {
        0 => None,
        1 => Some(LAST_GENERATION),
        more => Some(generation.saturating_add(more)),
    };
    if let Some(later) = later {
        metadata["annotations"][ANNOTATION_GENERATION] = later.to_string().into();
    }
    let name = format!("{INTRUDER}{}", number % 3);
    let key = ObjectKey::of_kind(&target.kind, Some(&namespace), &name);
    make_like(server, target, &key, metadata)
}

/// Makes an object that says what another one says, under a key and with metadata of its own.
fn make_like(server: &mut Server, like: &Object, key: &ObjectKey, metadata: Value) -> Option<ObjectKey> {
    let mut body = (*like.body).clone();
    body["metadata"] = metadata;
    body["metadata"]["name"] = (*key.name).into();
    if let Some(namespace) = &key.namespace {
        body["metadata"]["namespace"] = (**namespace).into();
    }
    if let Some(members) = body.as_object_mut() {
        members.remove("status");
    }
    server.create_as(MEDDLER, &like.kind, key, &body).ok().map(|made| made.key)
}

/// Writes the marks of one of our objects on something that we know nothing of.
fn mark_theirs(server: &mut Server, number: u64) -> Option<ObjectKey> {
    let ours = target(server, Meddling::ForgeMarks, number)?;
    let is_meant = |object: &Object| object.marks.is_none() && !is_furnished(&object.key);
    let theirs = one_of(server.objects().filter(is_meant).collect(), number / 16)?;
    edit(server, &theirs, &json!({"metadata": marks_of(&ours)}))?;
    Some(theirs.key)
}

/// Makes a ServiceAccount of our name in one of our namespaces. One of ours that is there is deleted before.
fn take_account(server: &mut Server, number: u64) -> Option<ObjectKey> {
    let namespace = target(server, Meddling::Intrude, number)?.key.name.clone();
    let kind = core("ServiceAccount");
    let is_ours = |object: &Object| {
        object.marks.is_some() && object.kind == kind && object.key.namespace.as_ref() == Some(&namespace)
    };
    let ours = one_of(server.objects().filter(is_ours).collect(), number);
    if let Some(ours) = ours {
        return replace(server, &ours, json!({}));
    }
    let key = ObjectKey::of_kind(&kind, Some(&namespace), ACCOUNT);
    let body = json!({"apiVersion": "v1", "kind": "ServiceAccount",
        "metadata": {"name": ACCOUNT, "namespace": &*namespace}});
    server.create_as(MEDDLER, &kind, &key, &body).ok().map(|made| made.key)
}

/// True for what a controller made that copies our labels ([`Meddling::CopyLabels`]).
pub(super) fn is_copy(object: &Object) -> bool {
    object.body["metadata"]["annotations"][ANNOTATION_COPY].is_string()
}

/// An object of the same name that is somebody else's, with this metadata.
fn replace(server: &mut Server, target: &Object, metadata: Value) -> Option<ObjectKey> {
    let kind = &target.kind;
    if kind.is_namespace() {
        return None;
    }
    server.delete_as_other(kind, &target.key).ok()?;
    make_like(server, target, &target.key, metadata)
}

/// Puts into each namespace what Istio and OpenShift put there. It changes nothing of ours, and is noted nowhere.
fn write_into(server: &mut Server) {
    let namespaces =
        server.objects().filter(|object| object.kind.is_namespace() && object.deleting.is_none());
    let namespaces: Vec<_> = namespaces.map(|object| object.key.name.clone()).collect();
    for namespace in namespaces {
        for (kind, name) in [("ConfigMap", "istio-ca-root-cert"), ("ServiceAccount", "builder")] {
            let kind = core(kind);
            let key = ObjectKey::of_kind(&kind, Some(&namespace), name);
            let body = json!({"apiVersion": "v1", "kind": &*kind.kind, "metadata": {"name": name, "namespace": &*namespace}});
            // It is there already.
            let _ = server.create_as(CONTROLLER, &kind, &key, &body);
        }
    }
}

fn intrude(server: &mut Server, namespace: &str, number: u64) -> Option<ObjectKey> {
    let kind = core("ConfigMap");
    let name = format!("{INTRUDER}{}", number % 3);
    let key = ObjectKey::of_kind(&kind, Some(namespace), &name);
    let body = json!({"apiVersion": "v1", "kind": "ConfigMap",
        "metadata": {"name": name, "namespace": namespace}, "data": {"theirs": "1"}});
    server.create_as(MEDDLER, &kind, &key, &body).ok().map(|made| made.key)
}

/// Makes a request for a certificate under a name of ours, for a key of their own. One of ours that is there goes first.
fn forge_request(server: &mut Server, number: u64) -> Option<ObjectKey> {
    let kind = GroupVersionKind::new("certificates.k8s.io", "v1", "CertificateSigningRequest");
    let names = request_names();
    let count = u64::try_from(names.len()).ok()?;
    let key = ObjectKey::of_kind(&kind, None, names.get(usize::try_from(number % count).ok()?)?);
    // It may not be there.
    let _ = server.delete_as_other(&kind, &key);
    let text = STANDARD.encode("a request of another client");
    let pem = format!("-----BEGIN CERTIFICATE REQUEST-----\n{text}\n-----END CERTIFICATE REQUEST-----\n");
    let spec = json!({"request": STANDARD.encode(pem), "signerName": "kubernetes.io/kube-apiserver-client",
        "usages": ["digital signature", "client auth"], "expirationSeconds": 3600});
    let body = json!({"apiVersion": "certificates.k8s.io/v1", "kind": "CertificateSigningRequest",
        "metadata": {"name": &*key.name}, "spec": spec});
    server.create_as(MEDDLER, &kind, &key, &body).ok().map(|made| made.key)
}

/// Deletes a ServiceAccount of ours: a namespace of a scenario has one.
fn delete_account(server: &mut Server, number: u64) -> Option<ObjectKey> {
    let is_ours = |object: &Object| object.marks.is_some() && &*object.kind.kind == "ServiceAccount";
    let account = one_of(server.objects().filter(is_ours).collect(), number)?;
    server.delete_as_other(&account.kind, &account.key).ok()?;
    Some(account.key)
}

/// Has client certificates signed by another authority, or tokens with another key, and lets the API server trust that one alone.
fn replace_authority(server: &mut Server, number: u64) {
    if number.is_multiple_of(2) {
        server.set_signer(Some(Arc::new(FakeSigner::numbered(number))));
    } else {
        server.replace_token_key();
    }
}

fn is_held(object: &Object) -> bool {
    object.body["metadata"]["finalizers"]
        .as_array()
        .is_some_and(|list| list.iter().any(|one| one == FINALIZER))
}

fn let_go(server: &mut Server) {
    let held: Vec<Object> = server.objects().filter(is_held).collect();
    for object in &held {
        // It may have gone with another one.
        let _ = edit(server, object, &json!({"metadata": {"finalizers": null}}));
    }
}

/// Takes back what stands in our way: finalizers, objects of our names that are not ours, and what somebody else says of
/// what we adopt.
pub(super) fn tidy_up(server: &mut Server, names: &[ObjectKey], is_ours: impl Fn(&Object) -> bool) {
    let_go(server);
    server.define_all();
    let map = core("ConfigMap");
    // It may be gone. Whoever made it again as it was holds our marks on it, too.
    let adopted = adopted();
    let annotations = json!({ANNOTATION_GENERATION: null, ANNOTATION_MANIFEST: null, ANNOTATION_ORIGIN: null, ANNOTATION_PROOF: null});
    let metadata = json!({"labels": {LABEL_OWNER: null, LABEL_CONTEXT: null}, "annotations": annotations});
    let unmarked = json!({"metadata": metadata});
    let data = json!({"ours": null, "theirs": THEIRS});
    let _ = server.edit_as(MEDDLER, &map, &adopted, &json!({"metadata": metadata, "data": data}));
    // What was kept is given up, too: namespaces with their contents, and what we made in those and beside them.
    let is_kept = |object: &Object| {
        let key = &object.key;
        let namespace = if object.kind.is_namespace() { Some(&key.name) } else { key.namespace.as_ref() };
        let is_in_one = namespace.is_some_and(|name| name.starts_with(NAMESPACES));
        (is_in_one && !key.name.starts_with(INTRUDER)) || key.name.ends_with(CLUSTER_ROLES)
    };
    let is_in_the_way = |object: &Object| {
        let is_touched = names.contains(&object.key) && !is_furnished(&object.key);
        !is_ours(object) && (is_touched || is_kept(object))
    };
    let foreign: Vec<Object> = server.objects().filter(is_in_the_way).collect();
    for object in &foreign {
        // It may be held by its namespace.
        let _ = if object.kind.is_namespace() && !object.key.name.starts_with(NAMESPACES) {
            server.edit_as(MEDDLER, &object.kind, &object.key, &unmarked).map(drop)
        } else {
            server.delete_as_other(&object.kind, &object.key).map(drop)
        };
    }
}

/// Deletes what carries our marks and is another object than the recorded one, or was never made by us, or is an orphan.
pub(super) fn drop_revived(
    server: &mut Server,
    recorded: &Records,
    is_made: impl Fn(&Arc<str>) -> bool,
    is_orphaned: impl Fn(&ObjectKey, &ContextId) -> bool,
) {
    let is_another = |object: &Object| {
        let uid = recorded.get(&object.key).and_then(|record| record.uid.as_ref());
        object.marks.as_ref().is_some_and(|marks| {
            uid.map_or(!is_made(&object.uid), |uid| *uid != object.uid)
                || is_orphaned(&object.key, &marks.context)
        })
    };
    let revived: Vec<Object> = server.objects().filter(is_another).collect();
    for object in &revived {
        // It may go with its namespace.
        let _ = server.delete_as_other(&object.kind, &object.key);
    }
}
