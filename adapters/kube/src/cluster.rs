//! A real cluster, as the port.

use std::sync::Arc;

use async_trait::async_trait;
use dcm_core::app_context::TokenRequest;
use dcm_core::manifest::{GroupVersionKind, ObjectKey};
use dcm_core::port::cluster::{
    Access, Call, Cluster, ClusterUid, Contents, Deletion, Error, FIELD_MANAGER, IssuedToken, Kinds, Object,
    Origin, Page, PageToken, Part, Precondition, Selection, ServerInfo, Stamped, Watch,
};
use dcm_core::port::proof::ClusterProofKey;
use dcm_core::port::resources::Resources;
use dcm_core::port::trial::{ClientCredential, Trial};
use dcm_core::secret::Secret;
use dcm_core::weight;
use kube::config::AuthInfo;
use serde_json::{Value, json};

use crate::apart::APART_VALUES;
use crate::budget::Budget;
use crate::discovery::Discovery;
use crate::failure::Failure;
use crate::kubeconfig::Checked;
use crate::list::Pages;
use crate::namespaced::{ClusterWideRights, Right};
use crate::options::Options;
use crate::preferred::{Listable, listable_of, served};
use crate::resource::Resource;
use crate::transport::{APPLY_PATCH, JSON, MERGE_PATCH, Request, Transport};
use crate::update::{Way, apply_body, choose};
use crate::{
    apart, connection, contents, issue, kubeconfig, namespaced, object, release, review, server, trial, watch,
};

/// A client of a real cluster, on the tokio runtime that it was made on. Its watches go on without it.
pub struct KubeCluster {
    transport: Arc<Transport>,
    discovery: Discovery,
    rights: ClusterWideRights,
    /// The way to the cluster, without a credential, and how it is taken: credentials of users are tried on it.
    way: Checked,
    options: Options,
    budget: Arc<Budget>,
}

impl KubeCluster {
    /// Makes a client from a kubeconfig. No request is sent: the first call tells whether the cluster answers.
    ///
    /// # Errors
    /// [`Error::Kubeconfig`] when the kubeconfig is unusable or breaks a rule, [`Error::TimedOut`] when a program that
    /// it may run takes longer than a request may; the program is killed then.
    pub async fn connect(kubeconfig: &Secret, options: &Options) -> Result<Self, Error> {
        Self::connect_within(kubeconfig, options, Arc::new(Budget::new(options))).await
    }

    /// The same, where the cluster has a budget already.
    pub(crate) async fn connect_within(
        kubeconfig: &Secret,
        options: &Options,
        budget: Arc<Budget>,
    ) -> Result<Self, Error> {
        let checked = kubeconfig::check(kubeconfig, &options.allowed)?;
        let checked = checked.withholding(&options.withheld_variables);
        let way = checked.clone().of_user(&AuthInfo::default());
        let transport = connection::open(checked, options, budget.clone()).await?;
        Ok(Self {
            transport: Arc::new(transport),
            discovery: Discovery::default(),
            rights: ClusterWideRights::default(),
            way,
            options: options.clone(),
            budget,
        })
    }

    async fn resource(&self, call: &Call, kind: &GroupVersionKind) -> Result<Resource, Error> {
        self.discovery.resource(&self.transport, call, kind).await
    }

    /// The resource under which objects of a kind are read and deleted.
    async fn resource_in_any_version(&self, call: &Call, kind: &GroupVersionKind) -> Result<Resource, Error> {
        self.discovery.resource_in_any_version(&self.transport, call, kind).await
    }

    /// Sends a request about an object of a kind, and takes the object that comes back.
    async fn object(&self, call: &Call, kind: &GroupVersionKind, request: Request) -> Result<Object, Error> {
        object::read(kind, self.body(call, kind, request).await?)
    }

    /// The same as it comes: what was never stored has no state.
    async fn body(&self, call: &Call, kind: &GroupVersionKind, request: Request) -> Result<Value, Error> {
        match self.transport.send(call, request).await {
            Ok(answer) => answer.read().await,
            Err(failure) => Err(self.failed(kind, failure).await),
        }
    }

    /// The error of a request about a kind. When the cluster no longer serves it, what was known of it is forgotten.
    async fn failed(&self, kind: &GroupVersionKind, failure: Failure) -> Error {
        let error = failure.about(kind);
        if matches!(error, Error::UnknownKind { .. }) {
            self.discovery.forget(kind).await;
        }
        error
    }

    /// What makes an object.
    async fn creation(&self, call: &Call, object: &Stamped, run: Run) -> Result<Request, Error> {
        let (kind, key) = (object.manifest.kind(), object.manifest.key());
        let resource = self.resource(call, kind).await?;
        // Also checks the name, which is not in the path here.
        resource.object(key)?;
        let uri = format!("{}?{}", resource.parent_of(key)?, write_options(FIELD_MANAGER, run));
        Ok(Request::post(uri, body_of(object).await))
    }

    /// What brings an object to its desired state.
    async fn change(
        &self,
        call: &Call,
        object: &Stamped,
        observed: &Precondition,
        force: bool,
        run: Run,
    ) -> Result<Request, Error> {
        let kind = object.manifest.kind();
        let path = self.resource(call, kind).await?.object(object.manifest.key())?;
        let live = self.observed(call, kind, &path, observed).await?;
        let uri = format!("{path}?{}", write_options(FIELD_MANAGER, run));
        let is_short = weight::is_at_most(APART_VALUES, [&*live.body, object.manifest.body()]);
        let (object, observed) = (object.clone(), observed.clone());
        let decide = move || {
            let manifest = object.body();
            Ok(match choose(&live.body, &manifest, force)? {
                Way::Replace(body) => Request::put(uri, body),
                Way::Apply { force } => {
                    let body = apply_body(manifest, &observed.uid, &observed.resource_version);
                    Request::patch(format!("{uri}&force={force}"), APPLY_PATCH, body)
                }
            })
        };
        apart::working(is_short, decide).await
    }

    /// The object, if it is in the state that was observed.
    async fn observed(
        &self,
        call: &Call,
        kind: &GroupVersionKind,
        path: &str,
        observed: &Precondition,
    ) -> Result<Object, Error> {
        let object = self.object(call, kind, Request::get(path.to_owned())).await?;
        let is_observed = object.uid == observed.uid && object.resource_version == observed.resource_version;
        if is_observed { Ok(object) } else { Err(Error::Conflict) }
    }
}

#[async_trait]
impl Cluster for KubeCluster {
    async fn uid(&self, call: &Call) -> Result<ClusterUid, Error> {
        server::uid(&self.transport, call).await
    }

    async fn server_info(&self, call: &Call) -> Result<ServerInfo, Error> {
        server::info(&self.transport, call).await
    }

    async fn get(
        &self,
        call: &Call,
        kind: &GroupVersionKind,
        key: &ObjectKey,
    ) -> Result<Option<Object>, Error> {
        let path = self.resource_in_any_version(call, kind).await?.object(key)?;
        match self.object(call, kind, Request::get(path)).await {
            Ok(object) => Ok(Some(object)),
            Err(Error::NotFound) => Ok(None),
            Err(error) => Err(error),
        }
    }

    async fn kinds(&self, call: &Call) -> Result<Kinds, Error> {
        let Resources { served, unseen } = served(&self.transport, call).await?;
        let kind = |found: Listable| {
            GroupVersionKind::of_parts(found.resource.group, found.resource.version, found.kind)
        };
        Ok(Kinds { known: listable_of(served).into_iter().map(kind).collect(), unseen })
    }

    async fn resources(&self, call: &Call) -> Result<Resources, Error> {
        served(&self.transport, call).await
    }

    async fn list(
        &self,
        call: &Call,
        kind: &GroupVersionKind,
        namespace: Option<&str>,
        page: Option<&PageToken>,
    ) -> Result<Page, Error> {
        let path = self.resource_in_any_version(call, kind).await?.collection(namespace);
        let mut pages = Pages::new(&self.transport, path, String::new(), JSON, kind.to_string());
        if let Some(page) = page {
            pages = pages.after(page)?;
        }
        match pages.page(&self.transport, call).await {
            Ok(page) => Ok(Page { objects: page.objects(kind).await?, next: pages.token() }),
            Err(failure) => Err(self.failed(kind, failure).await),
        }
    }

    async fn create(&self, call: &Call, object: &Stamped) -> Result<Object, Error> {
        let request = self.creation(call, object, Run::Real).await?;
        self.object(call, object.manifest.kind(), request).await
    }

    async fn update(
        &self,
        call: &Call,
        object: &Stamped,
        observed: &Precondition,
        force: bool,
    ) -> Result<Object, Error> {
        let request = self.change(call, object, observed, force, Run::Real).await?;
        self.object(call, object.manifest.kind(), request).await
    }

    async fn rehearse(
        &self,
        call: &Call,
        object: &Stamped,
        observed: Option<&Precondition>,
        force: bool,
    ) -> Result<Value, Error> {
        let request = match observed {
            Some(observed) => self.change(call, object, observed, force, Run::Dry).await?,
            None => self.creation(call, object, Run::Dry).await?,
        };
        self.body(call, object.manifest.kind(), request).await
    }

    async fn release(
        &self,
        call: &Call,
        kind: &GroupVersionKind,
        key: &ObjectKey,
        observed: &Precondition,
        origin: Origin,
    ) -> Result<Object, Error> {
        let path = self.resource_in_any_version(call, kind).await?.object(key)?;
        let live = self.observed(call, kind, &path, observed).await?;
        if kind.is_namespace() {
            namespaced::leave(&self.transport, call, &key.name).await?;
        }
        let uri = format!("{path}?{}", write_options(FIELD_MANAGER, Run::Real));
        let request = match origin {
            Origin::Adopted => Request::put(uri, release::given_back(&live.body)),
            Origin::Created => Request::patch(uri, MERGE_PATCH, release::patch(&live.body)),
        };
        self.object(call, kind, request).await
    }

    async fn set_part(
        &self,
        call: &Call,
        kind: &GroupVersionKind,
        key: &ObjectKey,
        observed: &Precondition,
        part: &Part,
    ) -> Result<Object, Error> {
        let path = self.resource_in_any_version(call, kind).await?.object(key)?;
        // The server answers another UID with "invalid", as it would a forbidden subject.
        self.observed(call, kind, &path, observed).await?;
        let uri = format!("{path}?{}", write_options(part.field_manager(), Run::Real));
        let Precondition { uid, resource_version } = observed;
        let mut patch = part.patch();
        patch["metadata"] = json!({"uid": uid, "resourceVersion": resource_version});
        self.object(call, kind, Request::patch(uri, MERGE_PATCH, patch)).await
    }

    async fn delete(
        &self,
        call: &Call,
        kind: &GroupVersionKind,
        key: &ObjectKey,
        observed: &Precondition,
    ) -> Result<Deletion, Error> {
        let path = self.resource_in_any_version(call, kind).await?.object(key)?;
        let options = json!({
            "apiVersion": "v1",
            "kind": "DeleteOptions",
            "propagationPolicy": "Background",
            "preconditions": {"uid": observed.uid, "resourceVersion": observed.resource_version},
        });
        match self.transport.send(call, Request::delete(path, options)).await {
            Ok(answer) => Ok(deletion(&answer.read().await?)),
            Err(failure) => Err(self.failed(kind, failure).await),
        }
    }

    async fn watch(&self, call: &Call, selection: &Selection) -> Result<Watch, Error> {
        let resource = self.resource_in_any_version(call, &selection.kind).await?;
        match watch::follow(self.transport.clone(), call.clone(), &resource, selection).await {
            Ok(watch) => Ok(watch),
            Err(failure) => Err(self.failed(&selection.kind, failure).await),
        }
    }

    async fn approve(&self, call: &Call, key: &ObjectKey, observed: &Precondition) -> Result<Object, Error> {
        let kind = GroupVersionKind::new("certificates.k8s.io", "v1", "CertificateSigningRequest");
        let path = self.resource(call, &kind).await?.object(key)?;
        let uri = format!("{path}/approval?fieldManager={FIELD_MANAGER}");
        self.object(call, &kind, Request::patch(uri, MERGE_PATCH, issue::approval(observed))).await
    }

    async fn issue_token(&self, call: &Call, request: &TokenRequest) -> Result<IssuedToken, Error> {
        let token = || issue::token(&self.transport, call, request);
        self.rights.request(&self.transport, call, Right::Token, &request.namespace, token).await
    }

    async fn try_credential(&self, call: &Call, credential: &ClientCredential) -> Result<Trial, Error> {
        trial::try_credential(&self.way, &self.options, self.budget.clone(), call, credential).await
    }

    async fn contents(
        &self,
        call: &Call,
        namespace: &str,
        proofs: Option<&ClusterProofKey>,
    ) -> Result<Contents, Error> {
        let contents = || {
            Box::pin(contents::contents(
                &self.transport,
                call,
                namespace,
                proofs,
                &self.options.ignored_contents,
            ))
        };
        self.rights.request(&self.transport, call, Right::List, namespace, contents).await
    }

    async fn review(&self, call: &Call, accesses: &[Access]) -> Result<Vec<bool>, Error> {
        review::review(&self.transport, call, accesses).await
    }
}

/// The body that an object is made with.
async fn body_of(object: &Stamped) -> Value {
    let (object, is_short) = (object.clone(), weight::is_at_most(APART_VALUES, [object.manifest.body()]));
    apart::working(is_short, move || object.body()).await
}

/// Whether a write is made, or only answered.
#[derive(Debug, Clone, Copy)]
enum Run {
    Real,
    Dry,
}

/// Under which manager a write is made. Unknown and doubled fields are refused, or a typing error would be desired
/// state that never holds.
fn write_options(manager: &str, run: Run) -> String {
    let dry = match run {
        Run::Real => "",
        Run::Dry => "&dryRun=All",
    };
    format!("fieldManager={manager}&fieldValidation=Strict{dry}")
}

/// How a deletion went, by its answer: the object is still there when it is told with the time of its deletion.
fn deletion(answer: &Value) -> Deletion {
    let is_object = answer["kind"] != "Status";
    let pending = is_object && !answer["metadata"]["deletionTimestamp"].is_null();
    if pending { Deletion::Pending } else { Deletion::Gone }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_answer_tells_whether_an_object_is_gone() {
        let table = [
            (json!({"kind": "Status", "status": "Success", "details": {"uid": "u"}}), Deletion::Gone),
            (json!({"kind": "ServiceAccount", "metadata": {"name": "a"}}), Deletion::Gone),
            (
                json!({"kind": "Namespace", "metadata": {"name": "a", "deletionTimestamp": "2026-01-01T00:00:00Z"}}),
                Deletion::Pending,
            ),
        ];
        for (answer, expected) in table {
            assert_eq!(deletion(&answer), expected, "{answer}");
        }
    }
}
