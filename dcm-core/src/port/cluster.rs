//! One Kubernetes cluster, and where clusters come from.
//!
//! # Contract of [`Cluster`]
//! - [`Cluster::create`] creates or fails with [`Error::AlreadyExists`]; it never changes an object that is there.
//! - [`Cluster::update`], [`Cluster::release`], [`Cluster::set_part`] and [`Cluster::delete`] act on exactly the object state that the caller
//!   observed (UID and `resourceVersion`), else they fail with [`Error::Conflict`] or [`Error::NotFound`] and change
//!   nothing.
//! - After `update`, what the manifest says holds, what an earlier manifest of ours said and this one does not is
//!   gone, and what others wrote beside it stays. Objects are written under one field manager,
//!   [`FIELD_MANAGER`].
//! - Reads are consistent: what [`Cluster::get`], [`Cluster::list`] and a [`WatchEvent::Listed`] tell was so at a moment
//!   after they were asked for. In Kubernetes that is a read without `resourceVersion`; one with `resourceVersion=0`, from
//!   the cache of an API server, won't do, since it may go back behind what was told before.
//! - A stream of [`Cluster::watch`] begins with a list: any number of [`WatchEvent::Listing`], and [`WatchEvent::Listed`].
//!   What it tells after that may be late. States of one object never go back within what one `Listed` began. Its end, or
//!   an error, means: watch again.
//! - No list is held in memory as a whole: it comes in pages, and no page, object or event is larger than a limit of the
//!   implementation. A list ends, whatever the cluster answers: as its last page, or as an error.
//! - A call whose future is dropped, or that fails with an error for which [`Error::outcome_is_unknown`] holds, may
//!   still happen, until the server's own time limit has passed.
//! - A client is of one cluster. Once [`Cluster::uid`] has returned a UID, no other request is sent over a connection before the server
//!   behind it has returned the same UID on that connection, and no list of [`Cluster::watch`] begins before the server was asked again.
//!   Another UID is [`Error::Moved`] for this call and all later ones of the client.
//! - Calls never retry by themselves, and never wait for a budget: the engine does both.
//! - [`Cluster::issue_token`] and [`Cluster::contents`] need rights in one namespace alone. Where the caller lacks them, an implementation
//!   binds [`NAMESPACE_ROLE`] to the caller there, by the RoleBinding [`NAMESPACE_BINDING`]. It is no content of the namespace, and
//!   [`Cluster::release`] of the namespace removes it.

use std::collections::BTreeMap;
use std::fmt;
use std::sync::Arc;
use std::time::Duration;

use async_trait::async_trait;
use futures::stream::BoxStream;
use jiff::Timestamp;
use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::app_context::{Generation, TokenRequest};
use crate::hash::ContentHash;
use crate::manifest::{GroupVersionKind, Manifest, ObjectKey};
use crate::name::{ClusterId, ContextId, OwnerId};
use crate::port::answer::Answer;
use crate::port::proof::{ANNOTATION_PROOF, ClusterProofKey, Proof};
use crate::port::resources::Resources;
use crate::port::trial::{ClientCredential, Trial};
use crate::secret::Secret;

/// The one field manager under which objects are written.
pub const FIELD_MANAGER: &str = "dcm";

/// Field manager under which texts of other clients are edited. What it holds counts as theirs: an object that is adopted or given back later
/// keeps it.
pub const EDIT_FIELD_MANAGER: &str = "dcm-edit";

/// Label: the installation that an object belongs to.
pub const LABEL_OWNER: &str = "dcm.internal/owner";
/// Label: the app context that an object belongs to.
pub const LABEL_CONTEXT: &str = "dcm.internal/context";
/// Annotation: the generation in which the object was last written.
pub const ANNOTATION_GENERATION: &str = "dcm.internal/generation";
/// Annotation: hash of the manifest that was last written.
pub const ANNOTATION_MANIFEST: &str = "dcm.internal/manifest";
/// Annotation: `adopted` on objects that were there before us and are never deleted by us, else `created`.
/// It is written together with our labels, so that a crash can't make an adopted object look like one of our making.
pub const ANNOTATION_ORIGIN: &str = "dcm.internal/origin";
/// Value of [`ANNOTATION_ORIGIN`] for objects that we made.
pub const ORIGIN_CREATED: &str = "created";
/// Value of [`ANNOTATION_ORIGIN`] for adopted objects.
pub const ORIGIN_ADOPTED: &str = "adopted";

/// The ClusterRole with the rights that are needed in the namespaces of logical clouds alone.
pub const NAMESPACE_ROLE: &str = "dcm:namespace";
/// The RoleBinding that gives the caller [`NAMESPACE_ROLE`] in a namespace. It has no marks: nothing that it says is believed. No name of a
/// permission has a colon, so no rendered binding has this name.
pub const NAMESPACE_BINDING: &str = "dcm:engine";

/// Grows with every change of a shard's owner; later than everything that an earlier owner sent.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(transparent)]
pub struct Fence(pub u64);

/// On whose behalf a request is made. It travels in the User-Agent, so that the API server's own audit log tells it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Call {
    /// The installation.
    pub owner: OwnerId,
    /// The app context; none for what concerns the whole cluster.
    pub context: Option<ContextId>,
    /// Its generation.
    pub generation: Generation,
    /// The fence of the shard's owner.
    pub fence: Fence,
}

impl Call {
    /// The User-Agent: `dcm/VERSION owner=… context=… generation=… fence=…`.
    #[must_use]
    pub fn user_agent(&self) -> String {
        let context = self.context.as_ref().map_or("-", ContextId::as_str);
        let version = env!("CARGO_PKG_VERSION");
        format!(
            "dcm/{version} owner={} context={context} generation={} fence={}",
            self.owner, self.generation, self.fence.0
        )
    }
}

/// Where an object of ours comes from.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Origin {
    /// We made it, and we delete it.
    #[default]
    Created,
    /// It was there before us; it is released in the end and never deleted.
    Adopted,
}

impl Origin {
    /// The value of [`ANNOTATION_ORIGIN`].
    #[must_use]
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Created => ORIGIN_CREATED,
            Self::Adopted => ORIGIN_ADOPTED,
        }
    }
}

/// What marks an object as ours: two labels, to find it by, and annotations. Anyone that may change an object can write
/// them: they count only where a [proof](super::proof) comes with them.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Marks {
    /// The installation.
    pub owner: OwnerId,
    /// The app context.
    pub context: ContextId,
    /// The generation in which it was last written.
    pub generation: Generation,
    /// Hash of the manifest that was last written; none when the annotation is gone or unreadable.
    pub manifest: Option<ContentHash>,
    /// Where the object comes from.
    pub origin: Origin,
}

impl Marks {
    /// Reads the marks of an object; none when it carries no owner or context of ours.
    #[must_use]
    pub fn read(body: &Value) -> Option<Self> {
        let label = |key: &str| body["metadata"]["labels"][key].as_str();
        let annotation = |key: &str| body["metadata"]["annotations"][key].as_str();
        Some(Self {
            owner: OwnerId::new(label(LABEL_OWNER)?).ok()?,
            context: ContextId::new(label(LABEL_CONTEXT)?).ok()?,
            generation: Generation(
                annotation(ANNOTATION_GENERATION).and_then(|text| text.parse().ok()).unwrap_or(0),
            ),
            manifest: annotation(ANNOTATION_MANIFEST).and_then(|text| text.parse().ok()),
            origin: match annotation(ANNOTATION_ORIGIN) {
                Some(ORIGIN_ADOPTED) => Origin::Adopted,
                _ => Origin::Created,
            },
        })
    }
}

/// A manifest as it is written: with our marks and the context's labels.
#[derive(Debug, Clone)]
pub struct Stamped {
    /// What is desired.
    pub manifest: Manifest,
    /// Who wants it.
    pub marks: Marks,
    /// The context's labels; the manifest's own win where they share a key.
    pub labels: Arc<BTreeMap<String, String>>,
    /// Proves the marks; without it they count for nothing.
    pub proof: Option<Proof>,
}

impl Stamped {
    /// The JSON object to send.
    #[must_use]
    pub fn body(&self) -> Value {
        let mut body = self.manifest.body().clone();
        let labels = member(&mut body, "labels");
        for (key, value) in &*self.labels {
            labels.entry(key.clone()).or_insert_with(|| Value::String(value.clone()));
        }
        labels.insert(LABEL_OWNER.into(), self.marks.owner.as_str().into());
        labels.insert(LABEL_CONTEXT.into(), self.marks.context.as_str().into());
        let annotations = member(&mut body, "annotations");
        annotations.insert(ANNOTATION_GENERATION.into(), self.marks.generation.to_string().into());
        if let Some(hash) = self.marks.manifest {
            annotations.insert(ANNOTATION_MANIFEST.into(), hash.to_string().into());
        }
        // Also where it says little: one that another client wrote would stay on the object.
        annotations.insert(ANNOTATION_ORIGIN.into(), self.marks.origin.as_str().into());
        if let Some(proof) = self.proof {
            annotations.insert(ANNOTATION_PROOF.into(), proof.to_string().into());
        }
        body
    }
}

/// A member of `metadata` as an object, made when it is missing or of another type.
fn member<'a>(body: &'a mut Value, name: &str) -> &'a mut serde_json::Map<String, Value> {
    let slot = &mut body["metadata"][name];
    if !slot.is_object() {
        *slot = Value::Object(serde_json::Map::new());
    }
    match slot {
        Value::Object(members) => members,
        _ => unreachable!("made an object just now"),
    }
}

/// An object as the cluster has it.
#[derive(Clone)]
pub struct Object {
    /// Group, version and kind.
    pub kind: GroupVersionKind,
    /// Which object.
    pub key: ObjectKey,
    /// Its UID: another one is another object, whatever its name.
    pub uid: Arc<str>,
    /// Its state, for preconditions. Opaque.
    pub resource_version: Arc<str>,
    /// The marks that it carries, if it does. Whether they are ours their proof shows: see [`Object::disclaim_unproved`].
    pub marks: Option<Marks>,
    /// Finalizers that hold it back, when it is being deleted.
    pub deleting: Option<Vec<Arc<str>>>,
    /// All of it.
    pub body: Arc<Value>,
}

impl Object {
    /// The state that was observed, to base a write on.
    #[must_use]
    pub fn precondition(&self) -> Precondition {
        Precondition { uid: self.uid.clone(), resource_version: self.resource_version.clone() }
    }

    /// Forgets the marks of an object that do not come with a proof: it counts as any other client's, until its UID shows
    /// that it is ours. Without a key no marks are proved.
    pub fn disclaim_unproved(&mut self, key: Option<&ClusterProofKey>) {
        if self.proved_marks(key).is_none() {
            self.marks = None;
        }
    }

    /// The marks that come with a proof. Without a key no marks are proved.
    #[must_use]
    pub fn proved_marks(&self, key: Option<&ClusterProofKey>) -> Option<&Marks> {
        self.marks.as_ref().filter(|_| key.is_some_and(|key| key.proves(&self.key, &self.body)))
    }
}

impl fmt::Debug for Object {
    /// Without its body, which may hold what is nobody's business.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { kind, key, uid, resource_version, marks, deleting, body: _ } = self;
        f.debug_struct("Object")
            .field("kind", kind)
            .field("key", key)
            .field("uid", uid)
            .field("resource_version", resource_version)
            .field("marks", marks)
            .field("deleting", deleting)
            .finish_non_exhaustive()
    }
}

/// The kinds of namespaced objects that a cluster serves.
#[derive(Debug, Clone, Default)]
pub struct Kinds {
    /// Those that are known.
    pub known: Vec<GroupVersionKind>,
    /// The API groups that could not be asked, and why: other servers serve them, behind the cluster's. What kinds they have
    /// is not known, or not of all their versions.
    pub unseen: BTreeMap<Arc<str>, Error>,
}

/// The state of an object that a write is based on.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Precondition {
    /// The object.
    pub uid: Arc<str>,
    /// Its state.
    pub resource_version: Arc<str>,
}

/// The desired value of a part of an object of another client.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Part {
    /// The subjects of a RoleBinding or ClusterRoleBinding.
    Subjects(Vec<Value>),
    /// The text of one member of the `data` of a ConfigMap.
    Text {
        /// The member.
        member: Arc<str>,
        /// Its text.
        text: Arc<str>,
    },
}

impl Part {
    /// The field manager under which it is set.
    #[must_use]
    pub fn field_manager(&self) -> &'static str {
        match self {
            Self::Subjects(_) => FIELD_MANAGER,
            Self::Text { .. } => EDIT_FIELD_MANAGER,
        }
    }

    /// The JSON merge patch (RFC 7396) that sets it.
    #[must_use]
    pub fn patch(&self) -> Value {
        match self {
            Self::Subjects(subjects) => serde_json::json!({"subjects": subjects}),
            Self::Text { member, text } => serde_json::json!({"data": {&**member: text}}),
        }
    }
}

/// How a deletion went.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Deletion {
    /// It is gone.
    Gone,
    /// It goes when its finalizers, or its contents, have.
    Pending,
}

/// What tells a cluster from another one, whatever its address.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema), schemars(inline))]
#[serde(transparent)]
pub struct ClusterUid(pub Arc<str>);

/// What is in a namespace beyond what Kubernetes made itself, events, and what another listed object owns.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Contents {
    /// How many objects.
    pub count: usize,
    /// Some of them, at most [`CONTENTS_SAMPLE_MAX`].
    pub sample: Vec<ObjectKey>,
    /// The names of the RoleBindings among them, at most [`CONTENTS_SAMPLE_MAX`]: these give rights in the namespace.
    pub bindings: Vec<Arc<str>>,
    /// Some of what does not count, as controllers of the cluster put it there ([`IgnoredContents`](crate::ignored::IgnoredContents)),
    /// at most [`CONTENTS_SAMPLE_MAX`].
    pub ignored: Vec<ObjectKey>,
}

/// Most objects named in [`Contents::sample`], and most names in [`Contents::bindings`].
pub const CONTENTS_SAMPLE_MAX: usize = 10;

/// A token that a cluster issued.
#[derive(Debug, Clone)]
pub struct IssuedToken {
    /// The token.
    pub token: Secret,
    /// When it ends.
    pub expires: Timestamp,
}

/// One thing that somebody may or may not do, as a SelfSubjectAccessReview asks it.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub struct Access {
    /// The verb, such as `create`.
    pub verb: Arc<str>,
    /// The API group; empty for the core group.
    pub group: Arc<str>,
    /// The resource in the plural, such as `roles`.
    pub resource: Arc<str>,
    /// The subresource, such as `approval`; empty for none.
    pub subresource: Arc<str>,
    /// One object's name; empty for all.
    pub name: Arc<str>,
    /// The namespace; none for all.
    pub namespace: Option<Arc<str>>,
}

impl Access {
    /// A verb on the objects of a resource, in all namespaces.
    #[must_use]
    pub fn new(verb: &str, group: &str, resource: &str) -> Self {
        Self {
            verb: verb.into(),
            group: group.into(),
            resource: resource.into(),
            subresource: "".into(),
            name: "".into(),
            namespace: None,
        }
    }

    /// What [`NAMESPACE_ROLE`] gives: tokens of ServiceAccounts are made, and what is in a namespace is listed.
    #[must_use]
    pub fn in_namespaces() -> [Self; 2] {
        let token = Self { subresource: "token".into(), ..Self::new("create", "", "serviceaccounts") };
        [token, Self::new("list", "*", "*")]
    }
}

/// What a cluster says of itself.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ServerInfo {
    /// Its version, such as `v1.36.3`.
    pub version: String,
    /// Its time when it answered, when it told it.
    pub time: Option<Timestamp>,
}

/// One page of a list.
#[derive(Debug, Clone, Default)]
pub struct Page {
    /// Its objects.
    pub objects: Vec<Object>,
    /// Where the next page begins; none on the last one.
    pub next: Option<PageToken>,
}

/// Where a page of a list begins. Opaque; an old one is [`Error::Gone`], and the list begins anew.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PageToken(pub Arc<str>);

/// What a watch tells.
#[derive(Debug, Clone)]
pub enum WatchEvent {
    /// Some of the objects there are; others follow, up to the next [`WatchEvent::Listed`].
    Listing(Vec<Object>),
    /// The list begins anew: what [`WatchEvent::Listing`] told since the last `Listed` counts no more.
    Relisting,
    /// The last of the objects there are. Together with those of the [`WatchEvent::Listing`] right before, it replaces
    /// whatever was known. A list of one page is only this.
    Listed(Vec<Object>),
    /// The object is now so.
    Applied(Object),
    /// The object is gone; this was its last state.
    Deleted(Object),
}

/// Which objects a watch follows.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub struct Selection {
    /// Their kind.
    pub kind: GroupVersionKind,
    /// The owner that they are labelled with ([`LABEL_OWNER`]).
    pub owner: OwnerId,
}

/// Follows objects of one kind.
pub type Watch = BoxStream<'static, Result<WatchEvent, Error>>;

/// Why a cluster refused or failed.
#[derive(Debug, Clone, thiserror::Error)]
pub enum Error {
    /// It can't be reached: name, connection, TLS or broken off.
    #[error("the cluster can't be reached")]
    Unreachable {
        /// What happened below.
        #[source]
        source: Arc<dyn std::error::Error + Send + Sync>,
    },
    /// It did not answer in time.
    #[error("no answer within {limit:?}")]
    TimedOut {
        /// The limit.
        limit: Duration,
    },
    /// Our credential is not accepted (401).
    #[error("our credential is not accepted: {message}")]
    Unauthorized {
        /// The server's words.
        message: Answer,
    },
    /// We may not do this (403).
    #[error("not allowed: {message}")]
    Forbidden {
        /// The server's words.
        message: Answer,
    },
    /// There is no such object (404).
    #[error("there is no such object")]
    NotFound,
    /// The cluster serves no such kind.
    #[error("the cluster has no {kind}")]
    UnknownKind {
        /// The kind.
        kind: GroupVersionKind,
    },
    /// There is an object of this name already (409 on create).
    #[error("there is an object of this name already")]
    AlreadyExists,
    /// The object is not as it was observed (409 on a precondition).
    #[error("the object changed meanwhile")]
    Conflict,
    /// Another field manager holds fields that we want to set (409 on an apply without force).
    #[error("{manager} manages {field}")]
    FieldConflict {
        /// The other manager.
        manager: String,
        /// One of the fields.
        field: String,
    },
    /// What was asked about is no longer kept (410).
    #[error("what was asked about is no longer kept")]
    Gone,
    /// The object breaks a rule (400, 422): the same request fails again.
    #[error("refused: {message}")]
    Invalid {
        /// The server's words.
        message: Answer,
    },
    /// It has too much to do (429).
    #[error("the cluster asks for fewer requests")]
    TooManyRequests {
        /// How long to wait, when it said.
        retry_after: Option<Duration>,
    },
    /// It failed (5xx).
    #[error("the cluster failed with {code}: {message}")]
    Server {
        /// The HTTP status.
        code: u16,
        /// The server's words.
        message: Answer,
    },
    /// This implementation does not do this.
    #[error("not supported: {what}")]
    Unsupported {
        /// What was asked for.
        what: String,
    },
    /// What we were given to reach it is no usable kubeconfig.
    #[error("unusable kubeconfig: {reason}")]
    Kubeconfig {
        /// Which rule it breaks, without its content.
        reason: String,
    },
    /// The kubeconfig leads to another endpoint than the one at which the cluster was accepted, or another cluster answers there than
    /// the one that the client was made for: the request was not sent.
    #[error(
        "the kubeconfig leads to another server or another cluster, or trusts other authorities, than the accepted one; nothing is \
         sent there until it is accepted"
    )]
    Moved,
}

impl Error {
    /// True when the same call may succeed later without anybody changing anything.
    #[must_use]
    pub fn is_retryable(&self) -> bool {
        match self {
            Self::Unreachable { .. }
            | Self::TimedOut { .. }
            | Self::Conflict
            | Self::Gone
            | Self::TooManyRequests { .. }
            | Self::Server { .. } => true,
            Self::Unauthorized { .. }
            | Self::Forbidden { .. }
            | Self::NotFound
            | Self::UnknownKind { .. }
            | Self::AlreadyExists
            | Self::FieldConflict { .. }
            | Self::Invalid { .. }
            | Self::Unsupported { .. }
            | Self::Kubeconfig { .. }
            | Self::Moved => false,
        }
    }

    /// What happened, in our words alone: a code at most of what the server answered, and nothing of the connection. For callers that
    /// may name any address as a cluster's.
    #[must_use]
    pub fn summary(&self) -> String {
        match self {
            Self::Unauthorized { .. } => "the credential is not accepted (401)".to_owned(),
            Self::Forbidden { .. } => "the credential may not do this (403)".to_owned(),
            Self::FieldConflict { .. } => "another field manager holds a field (409)".to_owned(),
            Self::Invalid { .. } => "the request is refused".to_owned(),
            Self::Server { code: 200, .. } => "the answer is none of Kubernetes".to_owned(),
            Self::Server { code, .. } => format!("the cluster failed with {code}"),
            Self::Unreachable { .. }
            | Self::TimedOut { .. }
            | Self::NotFound
            | Self::UnknownKind { .. }
            | Self::AlreadyExists
            | Self::Conflict
            | Self::Gone
            | Self::TooManyRequests { .. }
            | Self::Unsupported { .. }
            | Self::Kubeconfig { .. }
            | Self::Moved => self.to_string(),
        }
    }

    /// True when the request may have happened, or may happen yet.
    #[must_use]
    pub fn outcome_is_unknown(&self) -> bool {
        matches!(self, Self::Unreachable { .. } | Self::TimedOut { .. } | Self::Server { .. })
    }

    /// True when it speaks of the whole cluster and not of the one request.
    #[must_use]
    pub fn is_about_cluster(&self) -> bool {
        matches!(
            self,
            Self::Unreachable { .. }
                | Self::TimedOut { .. }
                | Self::Unauthorized { .. }
                | Self::Kubeconfig { .. }
                | Self::Moved
        )
    }
}

/// One Kubernetes cluster. The contract is in the [module's documentation](self).
#[async_trait]
pub trait Cluster: Send + Sync + 'static {
    /// What tells this cluster from another one: the UID of its `kube-system` namespace.
    ///
    /// # Errors
    /// [`Error`].
    async fn uid(&self, call: &Call) -> Result<ClusterUid, Error>;

    /// What the cluster says of itself.
    ///
    /// # Errors
    /// [`Error`].
    async fn server_info(&self, call: &Call) -> Result<ServerInfo, Error>;

    /// Reads one object.
    ///
    /// # Errors
    /// [`Error`]; a missing object is `None`, a missing kind [`Error::UnknownKind`].
    async fn get(
        &self,
        call: &Call,
        kind: &GroupVersionKind,
        key: &ObjectKey,
    ) -> Result<Option<Object>, Error>;

    /// The kinds of namespaced objects that this cluster serves, as far as they can be listed and deleted, each in one
    /// version. A group that can't be asked hides no other.
    ///
    /// # Errors
    /// [`Error`], where nothing is known.
    async fn kinds(&self, call: &Call) -> Result<Kinds, Error>;

    /// All resources and subresources that this cluster serves. A group that can't be asked hides no other.
    ///
    /// # Errors
    /// [`Error`], where nothing is known; [`Error::Unsupported`] where it is not implemented, as by default.
    async fn resources(&self, _call: &Call) -> Result<Resources, Error> {
        Err(Error::Unsupported { what: "discovery".to_owned() })
    }

    /// A page of all objects of a kind, whosever they are: in one namespace, or in all of the cluster; the first page, or
    /// the one that an earlier page names as its next. [`list_all`](super::listing::list_all) goes through all pages.
    ///
    /// # Errors
    /// [`Error`], among them [`Error::Gone`] for a page of a list that is too old.
    async fn list(
        &self,
        call: &Call,
        kind: &GroupVersionKind,
        namespace: Option<&str>,
        page: Option<&PageToken>,
    ) -> Result<Page, Error>;

    /// Makes an object.
    ///
    /// # Errors
    /// [`Error`], among them [`Error::AlreadyExists`].
    async fn create(&self, call: &Call, object: &Stamped) -> Result<Object, Error>;

    /// Brings an object to its desired state. With `force`, fields that other managers hold are taken over; without,
    /// they are an [`Error::FieldConflict`].
    ///
    /// # Errors
    /// [`Error`], among them [`Error::Conflict`] and [`Error::NotFound`].
    async fn update(
        &self,
        call: &Call,
        object: &Stamped,
        observed: &Precondition,
        force: bool,
    ) -> Result<Object, Error>;

    /// What [`Cluster::create`] (where nothing was observed) or [`Cluster::update`] would leave behind, by a dry run
    /// of the server: nothing is written.
    ///
    /// # Errors
    /// Those of the write; [`Error::Unsupported`] where there is no dry run, as by default.
    async fn rehearse(
        &self,
        _call: &Call,
        _object: &Stamped,
        _observed: Option<&Precondition>,
        _force: bool,
    ) -> Result<Value, Error> {
        Err(Error::Unsupported { what: "a dry run".to_owned() })
    }

    /// Takes our labels, annotations and managed fields off an object and leaves the rest. Of one that was adopted, all that
    /// only we said goes, too: it is left as it would be without us. Where the object comes from, the caller states: any client can
    /// write the marks on it.
    ///
    /// # Errors
    /// [`Error`], among them [`Error::Conflict`] and [`Error::NotFound`].
    async fn release(
        &self,
        call: &Call,
        kind: &GroupVersionKind,
        key: &ObjectKey,
        observed: &Precondition,
        origin: Origin,
    ) -> Result<Object, Error>;

    /// Replaces one part of an object of another client, and changes nothing else: our marks are not put on it.
    ///
    /// # Errors
    /// [`Error`], among them [`Error::Conflict`] and [`Error::NotFound`]; [`Error::Unsupported`] where it is not implemented, as by
    /// default.
    async fn set_part(
        &self,
        _call: &Call,
        _kind: &GroupVersionKind,
        _key: &ObjectKey,
        _observed: &Precondition,
        _part: &Part,
    ) -> Result<Object, Error> {
        Err(Error::Unsupported { what: "changing an object of another client".to_owned() })
    }

    /// Deletes an object, and what depends on it in the background.
    ///
    /// # Errors
    /// [`Error`], among them [`Error::Conflict`] and [`Error::NotFound`].
    async fn delete(
        &self,
        call: &Call,
        kind: &GroupVersionKind,
        key: &ObjectKey,
        observed: &Precondition,
    ) -> Result<Deletion, Error>;

    /// Follows the objects of one kind and owner.
    ///
    /// # Errors
    /// [`Error`].
    async fn watch(&self, call: &Call, selection: &Selection) -> Result<Watch, Error>;

    /// Approves a CertificateSigningRequest in the state that was observed. An approved one stays as it is.
    ///
    /// # Errors
    /// [`Error`], among them [`Error::Conflict`] and [`Error::NotFound`].
    async fn approve(&self, call: &Call, key: &ObjectKey, observed: &Precondition) -> Result<Object, Error>;

    /// Issues a token for a ServiceAccount.
    ///
    /// # Errors
    /// [`Error`], among them [`Error::NotFound`] when there is no such ServiceAccount.
    async fn issue_token(&self, call: &Call, request: &TokenRequest) -> Result<IssuedToken, Error>;

    /// Authenticates once with a user's credential, at the address and with the authorities that are in the user's
    /// kubeconfig: those of this cluster's own. Nothing of our own credential is sent.
    ///
    /// # Errors
    /// [`Error`] when the cluster does not answer; a refusal is [`Trial::Refused`] and never [`Error::Unauthorized`].
    async fn try_credential(&self, call: &Call, credential: &ClientCredential) -> Result<Trial, Error>;

    /// Counts what is in a namespace beside our own objects of this context (see [`Contents`]): those whose marks the key
    /// proves. Without a key none is.
    ///
    /// # Errors
    /// [`Error`].
    async fn contents(
        &self,
        call: &Call,
        namespace: &str,
        proofs: Option<&ClusterProofKey>,
    ) -> Result<Contents, Error>;

    /// Asks for each access whether we have it, in the order asked.
    ///
    /// # Errors
    /// [`Error`].
    async fn review(&self, call: &Call, accesses: &[Access]) -> Result<Vec<bool>, Error>;
}

/// Where clusters come from. Asked again at each reconnect, so short-lived credentials work.
#[async_trait]
pub trait Clusters: Send + Sync + 'static {
    /// Connects to a cluster. Making the client may be all that happens: the first call tells whether it answers.
    ///
    /// # Errors
    /// [`Error::Kubeconfig`] when what it would take is missing or refused, [`Error::Moved`] when it leads to an endpoint
    /// that is not accepted, [`Error::Unreachable`] when it can't be looked up now.
    async fn connect(&self, cluster: &ClusterId) -> Result<Arc<dyn Cluster>, Error>;

    /// Connects to a cluster by another kubeconfig than it is known by, to look at it before that one is registered. Where
    /// clusters are reached in another way, it is that way.
    ///
    /// # Errors
    /// Those of [`Clusters::connect`].
    async fn connect_with(
        &self,
        cluster: &ClusterId,
        kubeconfig: &Secret,
    ) -> Result<Arc<dyn Cluster>, Error> {
        let _ = kubeconfig;
        self.connect(cluster).await
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn stamped(body: Value) -> Stamped {
        let manifest = Manifest::new(body).unwrap();
        let marks = Marks {
            owner: OwnerId::new("dcm").unwrap(),
            context: ContextId::new("lc-1").unwrap(),
            generation: Generation(3),
            manifest: Some(manifest.hash()),
            origin: Origin::Adopted,
        };
        let labels = BTreeMap::from([("dcm.internal/project".to_owned(), "p".to_owned())]);
        Stamped { manifest, marks, labels: Arc::new(labels), proof: None }
    }

    #[test]
    fn what_is_stamped_can_be_read_back() {
        let body =
            json!({"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "c", "labels": {"a": "b"}}});
        let stamped = stamped(body);
        assert_eq!(Marks::read(&stamped.body()), Some(stamped.marks.clone()));
        assert_eq!(stamped.body()["metadata"]["labels"]["a"], "b");
        assert_eq!(stamped.body()["metadata"]["labels"]["dcm.internal/project"], "p");
    }

    #[test]
    fn an_unmarked_object_is_nobodys() {
        assert_eq!(Marks::read(&json!({"metadata": {"name": "c"}})), None);
    }

    #[test]
    fn the_user_agent_names_owner_context_generation_and_fence() {
        let call = Call {
            owner: OwnerId::new("dcm").unwrap(),
            context: Some(ContextId::new("lc-1").unwrap()),
            generation: Generation(2),
            fence: Fence(7),
        };
        assert!(call.user_agent().ends_with("owner=dcm context=lc-1 generation=2 fence=7"));
    }
}
