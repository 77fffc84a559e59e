//! The floor: the fewest requests that can make the objects of a logical cloud, sent as early as each can be. No engine, no store, no
//! retry, no check of what is there, and no watch on what was made. Objects carry the same marks of ownership as those of the engine, or none:
//! then the difference is what the marks cost.
//!
//! For each cluster: the namespace; then, all at once, every object, the certificate request with its approval, and the
//! ServiceAccount with its token. The token is tried once on a connection of its own, because the engine counts it as issued
//! only then. Each cluster has one watch on certificate requests, opened before the clock starts; issued certificates arrive
//! there.

use std::collections::BTreeMap;
use std::sync::Arc;

use anyhow::{Context as _, Result};
use dcm_core::app_context::{
    Action, AppContext, Bundle, CertificateRequest, Generation, Request, TokenRequest,
};
use dcm_core::manifest::Manifest;
use dcm_core::name::OwnerId;
use dcm_core::plan::certificate_manifest;
use dcm_core::port::cluster::{ClusterUid, Marks, Origin, Stamped};
use dcm_core::port::proof::{ClusterProofKey, PROOF_BYTES, ProofKey};
use dcm_testenv::Route;
use futures::future::{try_join, try_join_all};
use futures::{StreamExt as _, TryFutureExt as _, TryStreamExt as _};
use k8s_openapi::api::authentication::v1 as authentication;
use k8s_openapi::api::certificates::v1::CertificateSigningRequest;
use k8s_openapi::api::core::v1::ServiceAccount;
use kube::api::{
    Api, ApiResource, DynamicObject, GroupVersionKind, Patch, PatchParams, PostParams, WatchEvent,
    WatchParams,
};
use kube::config::{AuthInfo, KubeConfigOptions, Kubeconfig};
use kube::{Client, Config, ResourceExt as _};
use serde_json::{Value, json};
use tokio::sync::watch;
use tokio::task::JoinHandle;

use super::servers::Servers;

/// Certificates by the name of their request.
type Certificates = BTreeMap<String, Vec<u8>>;

/// The owner in the marks.
const OWNER: &str = "bench-floor";

/// A client for each cluster.
pub(crate) struct Floor {
    sites: Vec<Site>,
}

/// What the objects carry.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Objects {
    /// The engine's labels and annotations, with a proof.
    Marked,
    /// Neither.
    Bare,
}

/// Marks the objects of one app context.
struct Marker<'a> {
    objects: Objects,
    owner: OwnerId,
    context: &'a AppContext,
    labels: Arc<BTreeMap<String, String>>,
    key: ClusterProofKey,
}

impl<'a> Marker<'a> {
    fn new(context: &'a AppContext, objects: Objects) -> Result<Self> {
        let key = ProofKey::new(&[0; PROOF_BYTES]).on(&ClusterUid(OWNER.into()));
        let labels = Arc::new(context.labels.clone());
        Ok(Self { objects, owner: OwnerId::new(OWNER)?, context, labels, key })
    }

    /// The object to send.
    fn body(&self, manifest: &Manifest) -> Value {
        if self.objects == Objects::Bare {
            return manifest.body().clone();
        }
        let marks = Marks {
            owner: self.owner.clone(),
            context: self.context.id.clone(),
            generation: Generation(1),
            manifest: Some(manifest.hash()),
            origin: Origin::Created,
        };
        let proof = Some(self.key.prove(manifest.key(), &marks));
        Stamped { manifest: manifest.clone(), marks, labels: self.labels.clone(), proof }.body()
    }
}

struct Site {
    /// Connection settings with the administrator's credentials.
    config: Config,
    client: Client,
    certificates: watch::Receiver<Certificates>,
    follower: JoinHandle<Result<()>>,
}

impl Floor {
    pub(crate) async fn start(servers: &Servers) -> Result<Self> {
        let mut sites = Vec::new();
        for cluster in servers.clusters() {
            let kubeconfig = Kubeconfig::from_yaml(&cluster.admin_kubeconfig(Route::Direct))?;
            let config = Config::from_custom_kubeconfig(kubeconfig, &KubeConfigOptions::default()).await?;
            sites.push(Site::start(config)?);
        }
        Ok(Self { sites })
    }

    /// Makes logical clouds on all clusters, all at once, and waits for every certificate and token.
    pub(crate) async fn instantiate(&self, contexts: &[AppContext], objects: Objects) -> Result<()> {
        let markers: Result<Vec<_>> = contexts.iter().map(|context| Marker::new(context, objects)).collect();
        let markers = markers?;
        let everywhere = markers.iter().flat_map(|marker| {
            let placed = self.sites.iter().zip(marker.context.placements.values());
            placed.map(move |(site, bundle)| site.instantiate(marker, bundle))
        });
        try_join_all(everywhere).await?;
        Ok(())
    }
}

impl Drop for Site {
    fn drop(&mut self) {
        self.follower.abort();
    }
}

impl Site {
    fn start(config: Config) -> Result<Self> {
        let client = Client::try_from(config.clone())?;
        let (sender, certificates) = watch::channel(Certificates::new());
        let follower = tokio::spawn(follow_certificates(Api::all(client.clone()), sender));
        Ok(Self { config, client, certificates, follower })
    }

    async fn instantiate(&self, marker: &Marker<'_>, bundle: &Bundle) -> Result<()> {
        let (namespaces, rest): (Vec<_>, Vec<_>) =
            manifests(bundle).partition(|manifest| manifest.kind().is_namespace());
        try_join_all(namespaces.into_iter().map(|manifest| self.create(marker, manifest))).await?;
        let accounts = rest.iter().copied().filter(|manifest| &*manifest.key().kind == "ServiceAccount");
        let tokens = try_join_all(accounts.map(|account| self.create(marker, account)))
            .and_then(|_| try_join_all(token_requests(bundle).map(|request| self.token(request))));
        let others = rest.iter().copied().filter(|manifest| &*manifest.key().kind != "ServiceAccount");
        let objects = try_join_all(others.map(|manifest| self.create(marker, manifest)));
        let certificates =
            try_join_all(certificate_requests(bundle).map(|request| self.certificate(marker, request)));
        try_join(objects, try_join(tokens, certificates)).await?;
        Ok(())
    }

    async fn create(&self, marker: &Marker<'_>, manifest: &Manifest) -> Result<DynamicObject> {
        let kind = manifest.kind();
        let resource = ApiResource::from_gvk(&GroupVersionKind::gvk(&kind.group, &kind.version, &kind.kind));
        let api: Api<DynamicObject> = match &manifest.key().namespace {
            Some(namespace) => Api::namespaced_with(self.client.clone(), namespace, &resource),
            None => Api::all_with(self.client.clone(), &resource),
        };
        let object = serde_json::from_value(marker.body(manifest))?;
        api.create(&PostParams::default(), &object).await.with_context(|| manifest.key().to_string())
    }

    async fn certificate(&self, marker: &Marker<'_>, request: &CertificateRequest) -> Result<Vec<u8>> {
        self.create(marker, &certificate_manifest(request)?).await?;
        let api: Api<CertificateSigningRequest> = Api::all(self.client.clone());
        let condition = json!({"type": "Approved", "status": "True", "reason": "Bench", "message": ""});
        let approval = json!({"status": {"conditions": [condition]}});
        api.patch_approval(&request.object_name, &PatchParams::default(), &Patch::Merge(approval)).await?;
        let mut certificates = self.certificates.clone();
        let known = certificates.wait_for(|known| known.contains_key(&*request.object_name)).await?;
        Ok(known[&*request.object_name].clone())
    }

    async fn token(&self, request: &TokenRequest) -> Result<String> {
        let api: Api<ServiceAccount> = Api::namespaced(self.client.clone(), &request.namespace);
        let asked = authentication::TokenRequest {
            spec: authentication::TokenRequestSpec {
                expiration_seconds: request.lifetime_seconds,
                ..Default::default()
            },
            ..Default::default()
        };
        let issued =
            api.create_token_request(&request.service_account, &PostParams::default(), &asked).await?;
        let token = issued.status.context("a token")?.token;
        self.try_token(&token).await?;
        Ok(token)
    }

    /// Asks the cluster whose token it is.
    async fn try_token(&self, token: &str) -> Result<()> {
        let mut config = self.config.clone();
        config.auth_info = AuthInfo { token: Some(token.to_owned().into()), ..AuthInfo::default() };
        let client = Client::try_from(config)?;
        let asked = authentication::SelfSubjectReview::default();
        let answered = Api::all(client).create(&PostParams::default(), &asked).await?;
        let user = answered.status.and_then(|status| status.user_info).and_then(|user| user.username);
        user.map(drop).context("a token's user")
    }
}

/// Tells of every certificate, again from the start when the server ends the watch.
async fn follow_certificates(
    requests: Api<CertificateSigningRequest>,
    certificates: watch::Sender<Certificates>,
) -> Result<()> {
    loop {
        let mut told = requests.watch(&WatchParams::default(), "0").await?.boxed();
        while let Some(event) = told.try_next().await? {
            let (WatchEvent::Added(request) | WatchEvent::Modified(request)) = event else { continue };
            let name = request.name_any();
            if let Some(certificate) = request.status.and_then(|status| status.certificate) {
                certificates.send_modify(|known| drop(known.insert(name, certificate.0)));
            }
        }
    }
}

fn manifests(bundle: &Bundle) -> impl Iterator<Item = &Manifest> {
    bundle.steps().iter().filter_map(|step| match &step.action {
        Action::Apply { manifest, .. } => Some(manifest),
        Action::Edit { .. } | Action::Request { .. } => None,
    })
}

fn requests(bundle: &Bundle) -> impl Iterator<Item = &Request> {
    bundle.steps().iter().filter_map(|step| match &step.action {
        Action::Request { request, .. } => Some(request),
        Action::Apply { .. } | Action::Edit { .. } => None,
    })
}

fn certificate_requests(bundle: &Bundle) -> impl Iterator<Item = &CertificateRequest> {
    requests(bundle).filter_map(|request| match request {
        Request::Certificate(request) => Some(request),
        Request::Token(_) => None,
    })
}

fn token_requests(bundle: &Bundle) -> impl Iterator<Item = &TokenRequest> {
    requests(bundle).filter_map(|request| match request {
        Request::Token(request) => Some(request),
        Request::Certificate(_) => None,
    })
}
