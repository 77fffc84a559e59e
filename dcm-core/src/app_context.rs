//! App contexts: the stored, complete desired state of one deployment, and the hand-over point between whoever
//! decides and the sync engine.
//!
//! An app context has *bundles* (ordered steps) and *placements* (which cluster gets which bundle). Clusters that are
//! to hold the same share one bundle, so a context over 10,000 clusters is not 10,000 times as large.

mod building;
mod edit;
mod policies;

use std::borrow::Cow;
use std::collections::BTreeMap;
use std::sync::Arc;

use serde::{Deserialize, Serialize};
use serde_json::json;

use crate::hash::ContentHash;
use crate::manifest::{InvalidManifest, Manifest, ObjectKey};
use crate::name::{AppName, ClusterId, ContextId};
use crate::port::synchronizer::Removal;

pub use building::BundleBuilder;
pub use edit::{Change, DataMember, Edit, Edited, Resolver};
pub use policies::{Drift, Existing};

/// Most steps in one bundle.
pub const STEPS_MAX: usize = 10_000;

/// Most clusters in one app context.
pub const CLUSTERS_MAX: usize = 100_000;

/// Counts an app context's desired states. A later one replaces an earlier one, never the other way.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema), schemars(inline))]
#[serde(transparent)]
pub struct Generation(pub u64);

impl Generation {
    /// The generation after this one.
    #[must_use]
    pub fn next(self) -> Self {
        // None comes from elsewhere than a store whose documents are verified, or a mark that is proved.
        Self(self.0 + 1)
    }
}

impl std::fmt::Display for Generation {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        self.0.fmt(f)
    }
}

/// The complete desired state of one deployment.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct AppContext {
    /// Which app context this is, for ever.
    pub id: ContextId,
    /// Informative labels for every object on the clusters, such as project and logical cloud. Keys and values follow
    /// Kubernetes' label rules.
    pub labels: BTreeMap<String, String>,
    /// How it is removed, where the removal itself does not say: from clusters that are named no more, and from all.
    pub removal: Removal,
    /// What each cluster is to hold.
    pub placements: BTreeMap<ClusterId, Arc<Bundle>>,
}

impl AppContext {
    /// Hash of all that is wanted, but for what certificates are asked for with and the values of Secrets: the same before a key is made as
    /// after it.
    #[must_use]
    pub fn hash_as_planned(&self) -> ContentHash {
        // Thousands of clusters share a few bundles.
        let mut hashes = BTreeMap::new();
        let placements = self.placements.iter().map(|(cluster, bundle)| {
            let hash = *hashes.entry(bundle.hash()).or_insert_with(|| bundle.hash_as_planned());
            (cluster.to_string(), hash)
        });
        let placements: BTreeMap<String, ContentHash> = placements.collect();
        let (id, labels, removal) = (&self.id, &self.labels, &self.removal);
        ContentHash::of(&json!({"id": id, "labels": labels, "removal": removal, "placements": placements}))
    }
}

/// Ordered steps for one or more clusters.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Bundle {
    steps: Vec<Step>,
    /// Where the step of each object is.
    places: BTreeMap<ObjectKey, usize>,
    hash: ContentHash,
}

/// Why steps don't make a bundle.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum InvalidBundle {
    /// A JSON value is not a Kubernetes object.
    #[error("object {position} of the bundle is invalid")]
    Object {
        /// Its position among the objects that were given to the builder, from 1.
        position: usize,
        /// The member and the rule that it breaks.
        source: InvalidManifest,
    },
    /// Two steps are about one object.
    #[error("{0} is in the bundle twice")]
    ObjectTwice(ObjectKey),
    /// Two edits are about one member of an object, or an edited object is desired as a whole, too.
    #[error("{0} is edited twice, or edited and applied")]
    EditTwice(ObjectKey),
    /// An edit that names no object or member, or no address.
    #[error("an edit of {0} has an empty name, an unspecified address or port 0")]
    EditInvalid(ObjectKey),
    /// Two requests have one name.
    #[error("request {0} is in the bundle twice")]
    RequestTwice(Arc<str>),
    /// More steps than [`STEPS_MAX`].
    #[error("a bundle has at most {STEPS_MAX} steps")]
    TooManySteps,
}

impl Bundle {
    /// Puts steps in order of their stage; steps of one stage keep their order.
    ///
    /// # Errors
    /// [`InvalidBundle`] when two steps are about one object or one request, or there are more than [`STEPS_MAX`].
    pub fn new(mut steps: Vec<Step>) -> Result<Self, InvalidBundle> {
        if steps.len() > STEPS_MAX {
            return Err(InvalidBundle::TooManySteps);
        }
        let mut objects = std::collections::BTreeSet::new();
        let mut requests = std::collections::BTreeSet::new();
        let mut edits = std::collections::BTreeSet::new();
        for step in &steps {
            match &step.action {
                Action::Edit { edit } if !edit.is_valid() => {
                    return Err(InvalidBundle::EditInvalid(edit.target.key()));
                }
                Action::Edit { edit } if !edits.insert(&edit.target) => {
                    return Err(InvalidBundle::EditTwice(edit.target.key()));
                }
                Action::Apply { manifest, .. } if !objects.insert(manifest.key()) => {
                    return Err(InvalidBundle::ObjectTwice(manifest.key().clone()));
                }
                Action::Request { name, .. } if !requests.insert(name) => {
                    return Err(InvalidBundle::RequestTwice(name.clone()));
                }
                Action::Apply { .. } | Action::Edit { .. } | Action::Request { .. } => {}
            }
        }
        if let Some(edited) = edits.into_iter().map(DataMember::key).find(|edited| objects.contains(edited)) {
            return Err(InvalidBundle::EditTwice(edited));
        }
        steps.sort_by_key(|step| step.stage);
        let hash = hash_of(steps.iter().map(Cow::Borrowed));
        let objects = steps.iter().enumerate().filter_map(|(place, step)| match &step.action {
            Action::Apply { manifest, .. } => Some((manifest.key().clone(), place)),
            Action::Edit { .. } | Action::Request { .. } => None,
        });
        let places = objects.collect();
        Ok(Self { steps, places, hash })
    }

    /// The manifest of an object; none for one that it does not desire.
    #[must_use]
    pub fn manifest(&self, key: &ObjectKey) -> Option<&Manifest> {
        match &self.steps.get(*self.places.get(key)?)?.action {
            Action::Apply { manifest, .. } => Some(manifest),
            Action::Edit { .. } | Action::Request { .. } => None,
        }
    }

    /// The steps, in order of their stage.
    #[must_use]
    pub fn steps(&self) -> &[Step] {
        &self.steps
    }

    /// The manifests of its objects, in the order of its steps.
    pub fn manifests(&self) -> impl Iterator<Item = &Manifest> {
        self.steps.iter().filter_map(|step| match &step.action {
            Action::Apply { manifest, .. } => Some(manifest),
            Action::Edit { .. } | Action::Request { .. } => None,
        })
    }

    /// Its edits of objects of other clients, with their stages.
    pub fn edits(&self) -> impl Iterator<Item = (Stage, &Edit)> {
        self.steps.iter().filter_map(|step| match &step.action {
            Action::Edit { edit } => Some((step.stage, edit)),
            Action::Apply { .. } | Action::Request { .. } => None,
        })
    }

    /// Hash of the content: equal bundles have equal hashes.
    #[must_use]
    pub fn hash(&self) -> ContentHash {
        self.hash
    }

    fn hash_as_planned(&self) -> ContentHash {
        hash_of(self.steps.iter().map(Step::as_planned))
    }
}

impl Step {
    /// The same, with nothing in place of a certificate request's bytes, and without the values of a Secret.
    fn as_planned(&self) -> Cow<'_, Self> {
        let action = match &self.action {
            Action::Request { name, request } => {
                Action::Request { name: name.clone(), request: request.as_planned() }
            }
            Action::Apply { manifest, existing, drift } if manifest.holds_secrets() => {
                let Ok(manifest) = Manifest::new(manifest.shown()) else { return Cow::Borrowed(self) };
                Action::Apply { manifest, existing: *existing, drift: drift.clone() }
            }
            Action::Apply { .. } | Action::Edit { .. } => return Cow::Borrowed(self),
        };
        Cow::Owned(Self { action, ..self.clone() })
    }
}

fn hash_of<'a>(steps: impl ExactSizeIterator<Item = Cow<'a, Step>>) -> ContentHash {
    use std::fmt::Write as _;
    let mut text = String::with_capacity(96 * steps.len());
    for step in steps {
        let _ = match &step.action {
            Action::Apply { manifest, existing, drift } => {
                let (app, stage) = (&step.app, step.stage.0);
                writeln!(text, "{app} {stage} {existing:?} {drift:?} {}", manifest.hash())
            }
            Action::Edit { edit } => writeln!(text, "{} {} {edit:?}", step.app, step.stage.0),
            Action::Request { name, request } => {
                writeln!(text, "{} {} {name} {:?}", step.app, step.stage.0, request)
            }
        };
    }
    ContentHash::of_bytes(text.as_bytes())
}

/// When a step runs: all steps of a stage are done before the next stage begins. Removal goes the other way.
///
/// Certificates are asked for and approved as soon as the first stage is done, and collected in their own.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(transparent)]
pub struct Stage(pub u16);

/// One step of a bundle.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Step {
    /// The app that it belongs to.
    pub app: AppName,
    /// When it runs.
    pub stage: Stage,
    /// What it does.
    pub action: Action,
}

/// What a step does.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Action {
    /// Keeps an object as the manifest says.
    Apply {
        /// The desired object.
        manifest: Manifest,
        /// What to do when it is there already and is not ours.
        existing: Existing,
        /// What to do when somebody else changes it.
        drift: Drift,
    },
    /// Keeps a part of an object that belongs to other clients as it is wanted.
    Edit {
        /// The part.
        edit: Edit,
    },
    /// Asks the cluster for something, once: issuing is no desired state (Kubernetes removes old requests).
    Request {
        /// Identifies the request, and its result, in the app context for ever; a renewal is a new name.
        name: Arc<str>,
        /// What is asked for.
        request: Request,
    },
}

/// Something that a cluster issues.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "type", rename_all = "kebab-case")]
pub enum Request {
    /// A client certificate through a CertificateSigningRequest: create, approve, await, collect, remove.
    Certificate(CertificateRequest),
    /// A ServiceAccount token through the TokenRequest subresource.
    Token(TokenRequest),
}

impl Request {
    /// The object through which it is asked.
    #[must_use]
    pub fn object(&self) -> ObjectKey {
        match self {
            Self::Certificate(request) => request.object(),
            Self::Token(request) => request.account(),
        }
    }

    /// The same, with nothing in place of what a certificate is asked for with, and of the name that is drawn for it: as it is
    /// known before a key is made.
    #[must_use]
    pub fn as_planned(&self) -> Self {
        match self {
            Self::Certificate(certificate) => Self::Certificate(CertificateRequest {
                object_name: "".into(),
                csr_pem: "".into(),
                ..certificate.clone()
            }),
            Self::Token(token) => Self::Token(token.clone()),
        }
    }
}

/// What a CertificateSigningRequest is made of. The engine carries the bytes; it reads no certificate.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct CertificateRequest {
    /// Name of the CertificateSigningRequest object on the cluster: unique for (user, epoch, serial), and not to be guessed
    /// from other names.
    pub object_name: Arc<str>,
    /// The PKCS #10 request, PEM.
    pub csr_pem: Arc<str>,
    /// Who signs, such as `kubernetes.io/kube-apiserver-client`.
    pub signer: Arc<str>,
    /// Lifetime asked for, in seconds; Kubernetes allows 600 and up, and a signer may give less.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub lifetime_seconds: Option<i32>,
}

impl CertificateRequest {
    /// The CertificateSigningRequest.
    #[must_use]
    pub fn object(&self) -> ObjectKey {
        let name = self.object_name.clone();
        ObjectKey::new("certificates.k8s.io".into(), "CertificateSigningRequest".into(), None, name)
    }
}

/// What a TokenRequest is made of.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct TokenRequest {
    /// Namespace of the ServiceAccount.
    pub namespace: Arc<str>,
    /// The ServiceAccount; a step of an earlier stage makes it.
    pub service_account: Arc<str>,
    /// Lifetime asked for, in seconds; Kubernetes allows 600 and up, and may give less.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub lifetime_seconds: Option<i64>,
}

impl TokenRequest {
    /// The ServiceAccount.
    #[must_use]
    pub fn account(&self) -> ObjectKey {
        let (namespace, name) = (self.namespace.clone(), self.service_account.clone());
        ObjectKey::new("".into(), "ServiceAccount".into(), Some(namespace), name)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn step(stage: u16, name: &str) -> Step {
        let body =
            json!({"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": name, "namespace": "n"}});
        let manifest = Manifest::new(body).unwrap();
        let action = Action::Apply { manifest, existing: Existing::Refuse, drift: Drift::default() };
        Step { app: AppName::new("app").unwrap(), stage: Stage(stage), action }
    }

    #[test]
    fn steps_are_ordered_by_stage_and_equal_bundles_have_equal_hashes() {
        let one = Bundle::new(vec![step(2, "b"), step(1, "a")]).unwrap();
        let other = Bundle::new(vec![step(1, "a"), step(2, "b")]).unwrap();
        assert_eq!(one, other);
        assert_eq!(one.hash(), other.hash());
        assert_eq!(one.steps()[0].stage, Stage(1));
        let key = step(2, "b").action;
        assert!(
            matches!(&key, Action::Apply { manifest, .. } if one.manifest(manifest.key()) == Some(manifest))
        );
        assert_ne!(one.hash(), Bundle::new(vec![step(1, "a"), step(1, "b")]).unwrap().hash());
    }

    #[test]
    fn one_object_twice_is_refused() {
        let error = Bundle::new(vec![step(1, "a"), step(2, "a")]).unwrap_err();
        assert!(matches!(error, InvalidBundle::ObjectTwice(key) if &*key.name == "a"));
    }
}
