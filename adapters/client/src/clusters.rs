//! Registered clusters.

use std::borrow::Cow;
use std::collections::BTreeMap;
use std::time::Duration;

use dcm_core::kubeconfig::UserEndpoint;
use dcm_core::logical_cloud::{Level, MetadataDraft};
use dcm_core::name::{ClusterId, ClusterProviderName, ContextId, Namespace};
use dcm_core::port::cluster::ClusterUid;
use dcm_core::port::synchronizer::Disposal;
use dcm_core::preflight::{Findings, Inspection, Other, Twin};
use dcm_core::secret::Secret;
use dcm_core::service::{Change, Orphans};
use http::header::ETAG;
use http::{HeaderMap, Method};
use serde::{Deserialize, Serialize};

use crate::connection::{Asking, Connection};
use crate::error::Error;
use crate::page::{self, Listed};
use crate::query::query;
use crate::stopping;
use crate::warnings::warnings;

/// A registered cluster, without its kubeconfig.
#[derive(Debug, Clone, PartialEq, Deserialize)]
#[non_exhaustive]
pub struct Cluster {
    /// Its name, and notes.
    pub metadata: MetadataDraft,
    /// How it is reached, and what is said of it.
    pub spec: ClusterSpec,
    /// What became of it.
    pub status: ClusterStatus,
}

/// What is registered of a cluster.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "camelCase")]
#[non_exhaustive]
pub struct ClusterSpec {
    /// Where its API server is; none where the kubeconfig does not say so.
    pub server: Option<String>,
    /// Where users reach it; none where they get what the kubeconfig names.
    pub user_endpoint: Option<UserEndpoint>,
    /// Labels, which cluster selectors look at.
    pub labels: BTreeMap<String, String>,
    /// The namespace that admin clouds use there; none: `default`.
    pub namespace: Option<Namespace>,
}

/// What became of a registered cluster.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
#[non_exhaustive]
pub struct ClusterStatus {
    /// All work on it is paused.
    pub stopped: bool,
    /// The kubeconfig leads to another endpoint than the accepted one: it is not used until it is accepted.
    #[serde(default)]
    pub moved: bool,
    /// When it was registered, by whom.
    pub created: Change,
    /// What is registered was last changed so.
    pub changed: Change,
}

/// What is to be registered of a cluster; what is none stays as it is.
#[derive(Debug, Clone, Default)]
pub struct ClusterChange {
    /// The administrator's kubeconfig, YAML or JSON.
    pub kubeconfig: Option<Secret>,
    /// Where users reach the cluster; none inside gives them what the kubeconfig names.
    pub user_endpoint: Option<Option<UserEndpoint>>,
    /// All labels.
    pub labels: Option<BTreeMap<String, String>>,
    /// The namespace that admin clouds use there.
    pub namespace: Option<Namespace>,
}

/// What became of a change.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct ClusterChanged {
    /// What tells this registration of the cluster from another one.
    pub tag: String,
    /// What is perhaps not meant.
    pub warnings: Vec<String>,
}

/// What a cluster is to be ready for, and how it is reached for a look.
#[derive(Debug, Clone, Default)]
pub struct ClusterCheck {
    /// The administrator's kubeconfig; none: the one that is registered.
    pub kubeconfig: Option<Secret>,
    /// The highest level of logical clouds that will be on it.
    pub level: Level,
    /// Declarative documents, YAML or JSON, whose needs are looked at, too; may be empty.
    pub documents: String,
}

/// What was found of a cluster.
#[derive(Deserialize)]
struct Checked {
    #[serde(flatten)]
    findings: Findings,
    /// The cluster that was found in the place of the one that its name stands for.
    other: Option<ClusterUid>,
    /// The one that its name stands for, where another was found.
    known: Option<ClusterUid>,
    /// The other name under which it is registered.
    #[serde(rename = "registeredAs")]
    registered_as: Option<ClusterId>,
    /// Its kubeconfig leads to another endpoint than the accepted one.
    #[serde(default)]
    moved: bool,
    /// The cluster that was found there.
    uid: Option<ClusterUid>,
}

/// How the server checks a cluster before it registers it.
fn looking(level: Option<Level>) -> String {
    level.map_or_else(|| "unchecked=true".to_owned(), |level| format!("level={level}"))
}

/// The clusters of a server. Each method asks once, a list once a page.
#[derive(Debug, Clone, Copy)]
pub struct Clusters<'a> {
    connection: &'a Connection,
}

/// What is sent of a cluster.
#[derive(Serialize)]
struct Sent<'a> {
    #[serde(skip_serializing_if = "Option::is_none")]
    metadata: Option<Named<'a>>,
    spec: SentSpec<'a>,
}

#[derive(Serialize)]
struct Named<'a> {
    name: &'a str,
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct SentSpec<'a> {
    #[serde(skip_serializing_if = "Option::is_none")]
    kubeconfig: Option<&'a str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    user_endpoint: Option<Cow<'a, UserEndpoint>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    labels: Option<&'a BTreeMap<String, String>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    namespace: Option<&'a str>,
}

#[derive(Serialize)]
struct SentCheck<'a> {
    #[serde(skip_serializing_if = "Option::is_none")]
    kubeconfig: Option<&'a str>,
    level: Level,
    #[serde(skip_serializing_if = "str::is_empty")]
    documents: &'a str,
}

impl<'a> Clusters<'a> {
    pub(crate) fn new(connection: &'a Connection) -> Self {
        Self { connection }
    }

    /// All cluster providers.
    ///
    /// # Errors
    /// Those of the server and the connection.
    pub async fn providers(&self) -> Result<Listed<Provider>, Error> {
        page::all(self.connection, "/v2/cluster-providers?limit=500".to_owned()).await
    }

    /// Makes a cluster provider.
    ///
    /// # Errors
    /// `already-there`; those of the server and the connection.
    pub async fn create_provider(&self, name: &ClusterProviderName) -> Result<(), Error> {
        let asking = self.connection.ask(Method::POST, "/v2/cluster-providers".to_owned());
        let metadata = MetadataDraft { name: name.to_string(), ..MetadataDraft::default() };
        asking.with(&Provider { metadata }).done().await
    }

    /// All clusters of a provider.
    ///
    /// # Errors
    /// `not-found`; those of the server and the connection.
    pub async fn list(&self, provider: &ClusterProviderName) -> Result<Listed<Cluster>, Error> {
        page::all(self.connection, format!("/v2/cluster-providers/{provider}/clusters?limit=500")).await
    }

    /// Whether a cluster is ready, as a look at it tells.
    ///
    /// # Errors
    /// `not-found`, `not-ready` where it can't be asked; those of the server and the connection.
    pub async fn check(&self, id: &ClusterId, check: &ClusterCheck) -> Result<Inspection, Error> {
        let ClusterCheck { kubeconfig, level, documents } = check;
        let kubeconfig = kubeconfig.as_ref().map(Secret::expose);
        let body = SentCheck { kubeconfig, level: *level, documents };
        let asking = self.ask(Method::POST, id, "/check").with(&body).patient();
        let Checked { findings, other, known, registered_as, moved, uid } = asking.json().await?;
        let other = known.zip(other).map(|(known, found)| Other { known, found });
        let twin = registered_as.map(|first| Twin { first });
        Ok(Inspection { findings, uid, twin, other, is_moved: moved })
    }

    /// Registers a cluster, after a look at whether it is ready for clouds of this level; none: without a look.
    ///
    /// # Errors
    /// `already-there`, `in-use` where it is registered under another name, `not-ready`, `not-found` without its provider,
    /// `invalid`; those of the server and the connection.
    pub async fn register(
        &self,
        id: &ClusterId,
        cluster: &ClusterChange,
        look: Option<Level>,
    ) -> Result<(), Error> {
        let target = format!("/v2/cluster-providers/{}/clusters?{}", id.provider, looking(look));
        let metadata = Some(Named { name: id.cluster.as_str() });
        let body = Sent { metadata, spec: cluster.spec() };
        self.connection.ask(Method::POST, target).with(&body).patient().done().await
    }

    /// One cluster.
    ///
    /// # Errors
    /// `not-found`; those of the server and the connection.
    pub async fn get(&self, id: &ClusterId) -> Result<Cluster, Error> {
        self.ask(Method::GET, id, "").json().await
    }

    /// What tells one registration of a cluster from another one.
    ///
    /// # Errors
    /// `not-found`; those of the server and the connection.
    pub async fn tag(&self, id: &ClusterId) -> Result<String, Error> {
        tag(self.ask(Method::GET, id, "")).await
    }

    /// Changes what is registered of a cluster. Another kubeconfig is looked at first, for clouds of this level; none: without a look.
    ///
    /// # Errors
    /// `not-found`, `invalid`, `in-use`, `not-ready`; those of the server and the connection.
    pub async fn change(
        &self,
        id: &ClusterId,
        change: &ClusterChange,
        look: Option<Level>,
    ) -> Result<ClusterChanged, Error> {
        let body = Sent { metadata: None, spec: change.spec() };
        let asking = self.ask(Method::PUT, id, &format!("?{}", looking(look))).with(&body).patient();
        let (headers, _) = asking.parts().await?;
        Ok(ClusterChanged { tag: tag_of(&headers), warnings: warnings(&headers) })
    }

    /// Registers a cluster no more, and tells what was left behind there.
    ///
    /// # Errors
    /// `not-found`, `in-use`, `wrong-state`; those of the server and the connection.
    pub async fn remove(&self, id: &ClusterId, leaves_behind: bool) -> Result<Vec<String>, Error> {
        let asking = self.ask(Method::DELETE, id, &query([("leave-behind", leaves_behind)]));
        Ok(warnings(&asking.parts().await?.0))
    }

    /// Pauses all work on a cluster. Tells what is not known to have ended in this time (whole seconds, 10 at most); then the same may
    /// be asked again.
    ///
    /// # Errors
    /// `not-found`; those of the server and the connection.
    pub async fn stop(&self, id: &ClusterId, wait: Duration) -> Result<Option<String>, Error> {
        stopping::stopped(self.ask(Method::POST, id, &stopping::target(wait))).await
    }

    /// Goes on with the work on a cluster.
    ///
    /// # Errors
    /// `not-found`; those of the server and the connection.
    pub async fn resume(&self, id: &ClusterId) -> Result<(), Error> {
        self.ask(Method::POST, id, "/resume").done().await
    }

    /// Takes the cluster with this UID as the one that the name stands for, and the endpoint of its kubeconfig as the one to reach it at.
    ///
    /// # Errors
    /// `not-found`, `wrong-state`, `not-ready`; those of the server and the connection.
    pub async fn accept(&self, id: &ClusterId, uid: &ClusterUid) -> Result<(), Error> {
        self.ask(Method::POST, id, &format!("/accept{}", query([("uid", &uid.0)]))).patient().done().await
    }

    /// Objects with our marks that the store does not know of.
    ///
    /// # Errors
    /// `not-found`, `not-ready`; those of the server and the connection.
    pub async fn orphans(&self, id: &ClusterId) -> Result<Orphans, Error> {
        self.ask(Method::GET, id, "/orphans").patient().json().await
    }

    /// Removes those of one app context, or takes our marks off them.
    ///
    /// # Errors
    /// `not-found`, `not-ready`; those of the server and the connection.
    pub async fn clear_orphans(
        &self,
        id: &ClusterId,
        context: &ContextId,
        disposal: Disposal,
    ) -> Result<Orphans, Error> {
        let keep = query([("keep-objects", disposal == Disposal::Keep)]);
        self.ask(Method::DELETE, id, &format!("/orphans/{context}{keep}")).patient().json().await
    }

    fn ask(&self, method: Method, ClusterId { provider, cluster }: &ClusterId, below: &str) -> Asking<'a> {
        let target = format!("/v2/cluster-providers/{provider}/clusters/{cluster}{below}");
        self.connection.ask(method, target)
    }
}

/// A cluster provider.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct Provider {
    /// Its name, and notes.
    pub metadata: MetadataDraft,
}

impl ClusterChange {
    fn spec(&self) -> SentSpec<'_> {
        let Self { kubeconfig, user_endpoint, labels, namespace } = self;
        let user_endpoint = user_endpoint.as_ref().map(|endpoint| match endpoint {
            Some(endpoint) => Cow::Borrowed(endpoint),
            // An empty server takes it away.
            None => Cow::Owned(UserEndpoint {
                server: String::new(),
                certificate_authority_data: None,
                tls_server_name: None,
            }),
        });
        SentSpec {
            kubeconfig: kubeconfig.as_ref().map(Secret::expose),
            user_endpoint,
            labels: labels.as_ref(),
            namespace: namespace.as_ref().map(Namespace::as_str),
        }
    }
}

/// The tag of what is answered.
async fn tag(asking: Asking<'_>) -> Result<String, Error> {
    Ok(tag_of(&asking.parts().await?.0))
}

fn tag_of(headers: &HeaderMap) -> String {
    headers.get(ETAG).and_then(|value| value.to_str().ok()).unwrap_or_default().to_owned()
}
