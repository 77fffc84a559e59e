//! Logical clouds.

use std::collections::BTreeMap;
use std::time::Duration;

use dcm_core::document::{self, Limits};
use dcm_core::logical_cloud::{Level, LogicalCloud, LogicalCloudUid, MetadataDraft};
use dcm_core::name::{ClusterId, LogicalCloudName, Namespace, ProjectName, ReferenceName, UserName};
use dcm_core::plan::{Outline, PlanHash};
use dcm_core::port::synchronizer::{Disposal, Removal};
use dcm_core::secret::Secret;
use dcm_core::service::{
    CloudStatus, OtherBindingsReport, Renewed, Revocation, Revoked, ServiceMeshDocument,
};
use dcm_core::subject::Subject;
use http::{Method, StatusCode};
use serde::Deserialize;

use crate::connection::{Asking, Connection};
use crate::error::Error;
use crate::events::{self, Events};
use crate::page::{self, Listed};
use crate::query::query;
use crate::stopping;
use crate::warnings::warnings;

/// What a list shows of a logical cloud.
#[derive(Debug, Clone, PartialEq, Deserialize)]
#[non_exhaustive]
pub struct Summary {
    /// Its name, and notes.
    pub metadata: MetadataDraft,
    /// What it is.
    pub spec: SummarySpec,
    /// What is counted of it.
    pub status: SummaryStatus,
}

/// What a logical cloud is.
#[derive(Debug, Clone, PartialEq, Deserialize)]
#[non_exhaustive]
pub struct SummarySpec {
    /// Its namespace; an admin cloud has none of its own.
    pub namespace: Option<Namespace>,
    /// How much it may do on its clusters.
    pub level: Level,
}

/// What is counted of a logical cloud.
#[derive(Debug, Clone, PartialEq, Deserialize)]
#[serde(rename_all = "camelCase")]
#[non_exhaustive]
pub struct SummaryStatus {
    /// What tells it from another one of its name.
    pub uid: LogicalCloudUid,
    /// The number of its last edit.
    pub edit: u64,
    /// How many users it has.
    pub users: usize,
    /// How many cluster references it has.
    pub cluster_references: usize,
    /// True when it is wanted on clusters.
    pub is_applied: bool,
}

/// A kubeconfig that was handed out.
#[derive(Debug, Clone)]
#[non_exhaustive]
pub struct HandedOut {
    /// The kubeconfig; [`Access::read`](dcm_core::kubeconfig::Access::read) takes it apart.
    pub kubeconfig: Secret,
    /// What was left out of it, and why.
    pub left_out: Vec<String>,
}

/// What an apply would do.
#[derive(Debug, Clone, PartialEq, Deserialize)]
#[serde(rename_all = "camelCase")]
#[non_exhaustive]
pub struct Plan {
    /// What it is recognised by when it is applied.
    pub hash: PlanHash,
    /// True when the logical cloud is not stored: names that carry its UID are those of UID 0.
    pub is_new: bool,
    /// What it would do on each cluster.
    pub clusters: BTreeMap<ClusterId, Outline>,
}

/// What became of a document that was stored and applied.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[non_exhaustive]
pub struct Declared {
    /// What became of it on clusters.
    pub applied: AppliedOutcome,
}

/// What an apply did.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "camelCase")]
#[non_exhaustive]
pub enum AppliedOutcome {
    /// The work began.
    Begun,
    /// The clusters were to be so already.
    Unchanged,
}

/// The logical clouds of a server. Each method asks once, a list once a page.
#[derive(Debug, Clone, Copy)]
pub struct LogicalClouds<'a> {
    connection: &'a Connection,
}

impl<'a> LogicalClouds<'a> {
    pub(crate) fn new(connection: &'a Connection) -> Self {
        Self { connection }
    }

    /// All logical clouds of a project.
    ///
    /// # Errors
    /// `not-found` where there is no such project; those of the server and the connection.
    pub async fn list(&self, project: &ProjectName) -> Result<Listed<Summary>, Error> {
        page::all(self.connection, format!("/v2/projects/{project}/logical-clouds?limit=500")).await
    }

    /// How far a logical cloud is.
    ///
    /// # Errors
    /// `not-found`; those of the server and the connection.
    pub async fn status(
        &self,
        project: &ProjectName,
        cloud: &LogicalCloudName,
    ) -> Result<CloudStatus, Error> {
        self.reading(project, cloud, "/status").json().await
    }

    /// The same, and again with each change, until the server ends it: then it is to be followed again.
    ///
    /// # Errors
    /// `not-found`; those of the server and the connection.
    pub async fn follow(&self, project: &ProjectName, cloud: &LogicalCloudName) -> Result<Events, Error> {
        let asking = self.reading(project, cloud, "/events").accepting("text/event-stream");
        Ok(events::of(self.connection.clone(), asking.begin().await?.into_body()))
    }

    /// A logical cloud as its documents are. Its identity is in none of them, and is what its status told.
    ///
    /// # Errors
    /// `not-found`; those of the server and the connection.
    pub async fn get(
        &self,
        project: &ProjectName,
        cloud: &LogicalCloudName,
        uid: LogicalCloudUid,
    ) -> Result<LogicalCloud, Error> {
        let text = self.document(project, cloud).await?;
        let read = document::parse(text.as_bytes(), project, &Limits::default());
        let read = read.map_err(|error| self.connection.unreadable(StatusCode::OK, error))?;
        // A text without a document is refused above.
        let draft = read.into_iter().next().map(|document| document.draft).unwrap_or_default();
        let made = LogicalCloud::new(project.clone(), uid, draft);
        made.map(|(cloud, _)| cloud).map_err(|error| self.connection.unreadable(StatusCode::OK, error))
    }

    /// The declarative document of a logical cloud in its canonical form, as JSON.
    ///
    /// # Errors
    /// `not-found`; those of the server and the connection.
    pub async fn document(&self, project: &ProjectName, cloud: &LogicalCloudName) -> Result<String, Error> {
        let (_, body) = self.reading(project, cloud, "/document").parts().await?;
        Ok(String::from_utf8_lossy(&body).into_owned())
    }

    /// What an apply of a declarative document (JSON) would do, and if that is wanted, what a dry run of each write gives. Nothing is
    /// stored.
    ///
    /// # Errors
    /// `not-found`, `invalid`, `wrong-state`; those of the server and the connection.
    pub async fn plan(
        &self,
        project: &ProjectName,
        cloud: &LogicalCloudName,
        document: &str,
        rehearses: bool,
    ) -> Result<Plan, Error> {
        self.doing(project, cloud, &format!("/plan{}", query([("rehearse", rehearses)])))
            .with_json(document)
            .patient()
            .json()
            .await
    }

    /// Whether a declarative document (JSON) would be taken, and could be applied. Nothing is stored, and no cluster asked.
    ///
    /// # Errors
    /// `not-found`, `invalid`, `wrong-state`; those of the server and the connection.
    pub async fn check(
        &self,
        project: &ProjectName,
        cloud: &LogicalCloudName,
        document: &str,
    ) -> Result<(), Error> {
        let asking = self.ask(Method::PUT, project, cloud, "/document?dry-run=true");
        asking.with_json(document).done().await
    }

    /// Makes a logical cloud what a declarative document (JSON) says, and brings that to its clusters: as it was planned, where a plan
    /// of the document is named.
    ///
    /// # Errors
    /// `not-found`, `invalid`, `wrong-state`, `plan-stale`; those of the server and the connection.
    pub async fn declare(
        &self,
        project: &ProjectName,
        cloud: &LogicalCloudName,
        document: &str,
        plan: Option<&PlanHash>,
    ) -> Result<Declared, Error> {
        let plan = plan.map(|plan| ("plan-hash", plan.to_string()));
        let target = format!("/document{}", query([("apply", "true".to_owned())].into_iter().chain(plan)));
        self.ask(Method::PUT, project, cloud, &target).with_json(document).patient().json().await
    }

    /// A user's newest credential for a cluster reference, as clients of Kubernetes take it from a plugin: an `ExecCredential` of
    /// `client.authentication.k8s.io/v1`, JSON.
    ///
    /// # Errors
    /// `not-found`, `wrong-state`, `not-issued`; those of the server and the connection.
    pub async fn credential(
        &self,
        project: &ProjectName,
        cloud: &LogicalCloudName,
        user: &UserName,
        reference: &ReferenceName,
    ) -> Result<Secret, Error> {
        let target = format!("/users/{user}/credential?cluster-reference={reference}");
        let (_, body) = self.reading(project, cloud, &target).parts().await?;
        Ok(Secret::new(String::from_utf8_lossy(&body)))
    }

    /// A user's kubeconfig (JSON): for one cluster reference, or for all clusters in one. The user may be left out where there is only one.
    ///
    /// # Errors
    /// `not-found`, `user-not-named`, `wrong-state`, `not-issued`; those of the server and the connection.
    pub async fn kubeconfig(
        &self,
        project: &ProjectName,
        cloud: &LogicalCloudName,
        user: Option<&UserName>,
        reference: Option<&ReferenceName>,
    ) -> Result<HandedOut, Error> {
        let user = user.map(|user| ("user", user.to_string()));
        let reference = reference.map(|reference| ("cluster-reference", reference.to_string()));
        let target = format!("/kubeconfig{}", query(user.into_iter().chain(reference)));
        let (headers, body) = self.reading(project, cloud, &target).parts().await?;
        Ok(HandedOut {
            kubeconfig: Secret::new(String::from_utf8_lossy(&body)),
            left_out: warnings(&headers),
        })
    }

    /// The subject that a user's own certificate request must have.
    ///
    /// # Errors
    /// `not-found`; those of the server and the connection.
    pub async fn subject(
        &self,
        project: &ProjectName,
        cloud: &LogicalCloudName,
        user: &UserName,
    ) -> Result<Subject, Error> {
        self.reading(project, cloud, &format!("/users/{user}/subject")).json().await
    }

    /// The service mesh of a logical cloud, with the certificates of its authorities.
    ///
    /// # Errors
    /// `not-found`, also where it has none; those of the server and the connection.
    pub async fn service_mesh(
        &self,
        project: &ProjectName,
        cloud: &LogicalCloudName,
    ) -> Result<ServiceMeshDocument, Error> {
        self.reading(project, cloud, "/service-mesh").json().await
    }

    /// Renews the credentials that are due, or those of one user, due or not.
    ///
    /// # Errors
    /// `not-found`, `wrong-state`; those of the server and the connection.
    pub async fn renew(
        &self,
        project: &ProjectName,
        cloud: &LogicalCloudName,
        user: Option<&UserName>,
    ) -> Result<Renewed, Error> {
        let user = user.map(|user| ("user", user.to_string()));
        self.doing(project, cloud, &format!("/renew{}", query(user))).json().await
    }

    /// Takes away every right of what was issued to a user, and gives new credentials of another identity: of a terminated logical
    /// cloud, with the next apply.
    ///
    /// # Errors
    /// `not-found`, `wrong-state`; those of the server and the connection.
    pub async fn revoke(
        &self,
        project: &ProjectName,
        cloud: &LogicalCloudName,
        user: &UserName,
    ) -> Result<Revoked, Error> {
        self.doing(project, cloud, &format!("/users/{user}/revoke")).json().await
    }

    /// What became of that, cluster by cluster.
    ///
    /// # Errors
    /// `not-found`, `wrong-state`; those of the server and the connection.
    pub async fn revocation(
        &self,
        project: &ProjectName,
        cloud: &LogicalCloudName,
        user: &UserName,
    ) -> Result<Revocation, Error> {
        self.reading(project, cloud, &format!("/users/{user}/revocation")).patient().json().await
    }

    /// Lists the bindings of other clients that name an identity of the logical cloud without rights of its own: of one user, or of all.
    ///
    /// # Errors
    /// `not-found`, `wrong-state`; those of the server and the connection.
    pub async fn other_bindings(
        &self,
        project: &ProjectName,
        cloud: &LogicalCloudName,
        user: Option<&UserName>,
    ) -> Result<OtherBindingsReport, Error> {
        let user = user.map(|user| ("user", user.to_string()));
        self.reading(project, cloud, &format!("/other-bindings{}", query(user))).patient().json().await
    }

    /// Removes the identities of the logical cloud without rights of its own, of one user or of all, from the bindings of other clients.
    ///
    /// # Errors
    /// `not-found`, `wrong-state`; those of the server and the connection.
    pub async fn remove_other_bindings(
        &self,
        project: &ProjectName,
        cloud: &LogicalCloudName,
        user: Option<&UserName>,
    ) -> Result<OtherBindingsReport, Error> {
        let user = user.map(|user| ("user", user.to_string()));
        self.ask(Method::DELETE, project, cloud, &format!("/other-bindings{}", query(user)))
            .patient()
            .json()
            .await
    }

    /// Takes a logical cloud off its clusters. It does not wait for them.
    ///
    /// # Errors
    /// `not-found`, `wrong-state`; those of the server and the connection.
    pub async fn terminate(
        &self,
        project: &ProjectName,
        cloud: &LogicalCloudName,
        removal: Removal,
    ) -> Result<(), Error> {
        // What becomes of bindings is not for who asks.
        let Removal { delete_contents, remove_others_bindings, objects, bindings: _, deadline_seconds } =
            removal;
        let keep = objects.map(|objects| ("keep-objects", (objects == Disposal::Keep).to_string()));
        let deadline = deadline_seconds.map(|seconds| ("deadline-seconds", seconds.to_string()));
        let contents = [("delete-contents", delete_contents.to_string())];
        let bindings = remove_others_bindings.then(|| ("remove-others-bindings", true.to_string()));
        let how = contents.into_iter().chain(bindings).chain(keep).chain(deadline);
        let target = format!("/terminate{}", query(how));
        self.doing(project, cloud, &target).done().await
    }

    /// Pauses what is under way: nothing new begins on clusters until it is resumed. Asked again, it pauses again what somebody has
    /// resumed meanwhile. Tells what is not known to have ended in this time
    /// (whole seconds, 10 at most); then the same may be asked again.
    ///
    /// # Errors
    /// `not-found`, `wrong-state`; those of the server and the connection.
    pub async fn stop(
        &self,
        project: &ProjectName,
        cloud: &LogicalCloudName,
        wait: Duration,
    ) -> Result<Option<String>, Error> {
        stopping::stopped(self.doing(project, cloud, &stopping::target(wait))).await
    }

    /// Goes on with what is paused.
    ///
    /// # Errors
    /// `not-found`, `wrong-state`; those of the server and the connection.
    pub async fn resume(&self, project: &ProjectName, cloud: &LogicalCloudName) -> Result<(), Error> {
        self.doing(project, cloud, "/resume").done().await
    }

    /// Takes what is stored as the truth, after the store was restored from an old copy.
    ///
    /// # Errors
    /// `not-found`, `wrong-state`; those of the server and the connection.
    pub async fn reconcile(&self, project: &ProjectName, cloud: &LogicalCloudName) -> Result<(), Error> {
        self.doing(project, cloud, "/reconcile").done().await
    }

    /// Deletes a logical cloud that is on no cluster.
    ///
    /// # Errors
    /// `not-found`, `wrong-state`; those of the server and the connection.
    pub async fn delete(&self, project: &ProjectName, cloud: &LogicalCloudName) -> Result<(), Error> {
        self.ask(Method::DELETE, project, cloud, "").done().await
    }

    fn reading(&self, project: &ProjectName, cloud: &LogicalCloudName, below: &str) -> Asking<'a> {
        self.ask(Method::GET, project, cloud, below)
    }

    fn doing(&self, project: &ProjectName, cloud: &LogicalCloudName, below: &str) -> Asking<'a> {
        self.ask(Method::POST, project, cloud, below)
    }

    fn ask(
        &self,
        method: Method,
        project: &ProjectName,
        cloud: &LogicalCloudName,
        below: &str,
    ) -> Asking<'a> {
        self.connection.ask(method, format!("/v2/projects/{project}/logical-clouds/{cloud}{below}"))
    }
}
