//! Rendering: from a logical cloud to what its clusters are to hold.
//!
//! [`bundle`] is pure: the same cloud and credentials give the same bytes on every run, whatever the order of the
//! document's lists was. One bundle serves all clusters of a cloud without a mesh. An admin cloud changes nothing on its clusters:
//! its bundle is empty.
//!
//! # Stages
//! A stage waits for the one before, so there are only as many as something has to wait for:
//!
//! | Stage | What | Why not earlier |
//! |---|---|---|
//! | 0 | Namespace | |
//! | 1 | ResourceQuotas, LimitRange, ServiceAccounts, Roles, ClusterRoles | live in the namespace |
//! | 2 | RoleBindings, ClusterRoleBindings | nobody may work before the quotas hold; the API server looks for the role unless the engine has the right `bind` |
//! | 3 | requests for credentials; extra manifests of other kinds; Roles and RoleBindings in other namespaces | a credential is worth something when its rights are there; pods need their ServiceAccount and the LimitRange's defaults |
//! | 4 | Namespace of the mesh | trouble with it holds up nothing else |
//! | 5 | Secret `cacerts`; the CoreDNS of the mesh | live in that namespace |
//! | 6 | stub domain in the Corefile of the cluster; the Deployment of that CoreDNS | names the address of its Service; nothing waits for its pods |
//!
//! Certificates are asked for from stage 1 on, since the signer takes its time, and collected in stage 3.
//!
//! What other clients can cause to fail is in stage 3, where only the mesh waits for it: a signer may be silent, a manifest broken, and another
//! namespace missing. A binding there may meet the cluster before its role; without the right `bind` it is refused once, and made when it is
//! tried again.
//!
//! Extra manifests go to the stage of their kind. Removal goes the other way: rights end before what they were about.

mod credentials;
mod defaults;
mod mesh;
mod namespace;
pub mod naming;
mod rights;
mod users;

#[cfg(test)]
mod properties;
#[cfg(test)]
mod tests;

pub use credentials::{Credential, Credentials, RequestToSend};
pub use defaults::{DEFAULT_LIMITS, DEFAULT_REQUESTS};
pub use mesh::{CA_CERTS, CLUSTER_COREFILE, CaFiles, LABEL_NETWORK, MESH_DNS};
pub use users::SIGNER;

use std::collections::BTreeMap;
use std::sync::Arc;

use k8s_openapi::apimachinery::pkg::apis::meta::v1::ObjectMeta;
use serde::Serialize;

use crate::app_context::{Action, Bundle, InvalidBundle, Stage, Step};
use crate::logical_cloud::{LogicalCloud, ObjectPolicies, ObjectPolicy, ServiceMesh};
use crate::manifest::{InvalidManifest, Manifest};
use crate::name::{AppName, ClusterId, Namespace};
use naming::Identity;

/// The app of a logical cloud, but for its mesh.
pub const APP: &str = "logical-cloud";

/// The cloud's namespace.
pub const STAGE_NAMESPACE: Stage = Stage(0);
/// What lives in it and others lean on.
pub const STAGE_BASE: Stage = Stage(1);
/// Who may do what.
pub const STAGE_RIGHTS: Stage = Stage(2);
/// Requests for credentials, extra manifests, and rights in other namespaces: only a mesh waits for them.
pub const STAGE_LAST: Stage = Stage(3);

/// The namespace of the mesh. Whatever is in the way of a mesh holds up no namespace, no right and no credential.
pub const STAGE_MESH_NAMESPACE: Stage = Stage(4);
/// What is in the namespace of the mesh.
pub const STAGE_MESH: Stage = Stage(5);

/// The lines in the Corefile of a cluster, once the Service has an address that they name; and pods, which nothing waits for.
pub const STAGE_MESH_ZONE: Stage = Stage(6);

/// The app of a logical cloud's mesh.
pub const MESH_APP: &str = "service-mesh";

/// Why a logical cloud can't be rendered.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum Error {
    /// A rendered object is no manifest, such as a ResourceQuota that is too large.
    #[error("{kind} {name} is no manifest")]
    Manifest {
        /// Its kind.
        kind: &'static str,
        /// Its name.
        name: String,
        /// Which rule it breaks.
        #[source]
        source: InvalidManifest,
    },
    /// The steps don't go together: an extra manifest of a privileged cloud has the name of an object that is rendered
    /// from a quota, user or permission.
    #[error("an extra manifest stands for an object that is rendered too")]
    Bundle(#[source] InvalidBundle),
    /// A cluster of a logical cloud with a mesh has no certificate authority.
    #[error("the mesh has no certificate authority for cluster {cluster}: apply the logical cloud again")]
    NoAuthority {
        /// The cluster.
        cluster: ClusterId,
    },
}

/// Renders a logical cloud with the credentials that its users are to have. A mesh has the files of an authority that is still to be made;
/// [`bundles`] takes those of each cluster.
///
/// # Errors
/// [`Error`] when an extra manifest of a privileged cloud takes the name of a rendered object, or a rendered object
/// is too large.
pub fn bundle(cloud: &LogicalCloud, credentials: &Credentials) -> Result<Bundle, Error> {
    let shared = shared(cloud, credentials)?;
    match cloud.service_mesh() {
        None => joined([&shared]),
        Some(mesh) => {
            let names = names(cloud, mesh)?;
            let own = own(cloud, mesh, None, &CaFiles::to_be_made())?;
            joined([&shared, &own, &names])
        }
    }
}

/// Renders a logical cloud for each of its clusters. Without a mesh they share one bundle; with one each has the files of its own authority.
///
/// # Errors
/// As for [`bundle`], and [`Error::NoAuthority`].
pub fn bundles(
    cloud: &LogicalCloud,
    credentials: &Credentials,
    authorities: &BTreeMap<ClusterId, CaFiles>,
) -> Result<BTreeMap<ClusterId, Arc<Bundle>>, Error> {
    let shared = shared(cloud, credentials)?;
    let clusters = cloud.references().iter().map(|reference| reference.cluster.clone());
    let Some(mesh) = cloud.service_mesh() else {
        let bundle = Arc::new(joined([&shared])?);
        return Ok(clusters.map(|cluster| (cluster, bundle.clone())).collect());
    };
    let names = names(cloud, mesh)?;
    let of_cluster = |cluster: ClusterId| {
        let files =
            authorities.get(&cluster).ok_or_else(|| Error::NoAuthority { cluster: cluster.clone() })?;
        let own = own(cloud, mesh, Some(&cluster), files)?;
        Ok((cluster, Arc::new(joined([&shared, &own, &names])?)))
    };
    clusters.map(of_cluster).collect()
}

/// A bundle of several parts, in this order within each stage.
fn joined<const N: usize>(parts: [&Steps<'_>; N]) -> Result<Bundle, Error> {
    let steps = parts.into_iter().flat_map(|part| &part.steps).cloned().collect();
    Bundle::new(steps).map_err(Error::Bundle)
}

/// What one cluster has of a mesh.
fn own<'a>(
    cloud: &'a LogicalCloud,
    mesh: &ServiceMesh,
    cluster: Option<&ClusterId>,
    files: &CaFiles,
) -> Result<Steps<'a>, Error> {
    let mut steps = Steps::new(MESH_APP, cloud);
    mesh::render(mesh, cluster, files, &mut steps)?;
    Ok(steps)
}

/// The names of a mesh: all clusters have the same.
fn names<'a>(cloud: &'a LogicalCloud, mesh: &ServiceMesh) -> Result<Steps<'a>, Error> {
    let mut steps = Steps::new(MESH_APP, cloud);
    if let Some(dns) = mesh.dns() {
        mesh::dns::render(cloud, mesh, dns, &mut steps)?;
    }
    Ok(steps)
}

/// What all clusters of a logical cloud have, but for its mesh.
fn shared<'a>(cloud: &'a LogicalCloud, credentials: &Credentials) -> Result<Steps<'a>, Error> {
    let mut steps = Steps::new(APP, cloud);
    if let Some(namespace) = cloud.namespace() {
        let context = Context { cloud, identity: Identity::of(cloud), namespace, credentials };
        namespace::render(&context, &mut steps)?;
        defaults::render(&context, &mut steps)?;
        users::render(&context, &mut steps)?;
        rights::render(&context, &mut steps)?;
        for manifest in cloud.manifests() {
            steps.apply(stage_of(manifest), manifest.clone());
        }
    }
    Ok(steps)
}

/// The stage of an extra manifest: that of the rendered objects of its kind, or the last.
fn stage_of(manifest: &Manifest) -> Stage {
    match (&*manifest.kind().group, &*manifest.kind().kind) {
        ("", "ResourceQuota" | "LimitRange" | "ServiceAccount") | ("rbac.authorization.k8s.io", "Role") => {
            STAGE_BASE
        }
        ("rbac.authorization.k8s.io", "RoleBinding") => STAGE_RIGHTS,
        _ => STAGE_LAST,
    }
}

/// What is rendered.
struct Context<'a> {
    cloud: &'a LogicalCloud,
    identity: Identity<'a>,
    namespace: &'a Namespace,
    credentials: &'a Credentials,
}

impl Context<'_> {
    /// Metadata of an object in the cloud's namespace.
    fn own(&self, name: String) -> ObjectMeta {
        ObjectMeta {
            name: Some(name),
            namespace: Some(self.namespace.as_str().to_owned()),
            ..ObjectMeta::default()
        }
    }
}

/// Collects steps.
struct Steps<'a> {
    app: AppName,
    policies: &'a ObjectPolicies,
    steps: Vec<Step>,
}

impl<'a> Steps<'a> {
    fn new(app: &str, cloud: &'a LogicalCloud) -> Self {
        let app = AppName::new(app).expect("the app's name is legal");
        Self { app, policies: cloud.object_policies(), steps: Vec::new() }
    }

    /// Adds an object.
    fn object<T>(&mut self, stage: Stage, object: &T) -> Result<(), Error>
    where
        T: Serialize + k8s_openapi::Resource + k8s_openapi::Metadata<Ty = ObjectMeta>,
    {
        let body = serde_json::to_value(object).expect("a typed object is JSON");
        let manifest = Manifest::new(body).map_err(|source| Error::Manifest {
            kind: T::KIND,
            name: object.metadata().name.clone().unwrap_or_default(),
            source,
        })?;
        self.apply(stage, manifest);
        Ok(())
    }

    fn apply(&mut self, stage: Stage, manifest: Manifest) {
        let ObjectPolicy { existing, drift } = self.policies.of(manifest.kind(), &manifest.key().name);
        self.action(stage, Action::Apply { manifest, existing, drift });
    }

    fn action(&mut self, stage: Stage, action: Action) {
        self.steps.push(Step { app: self.app.clone(), stage, action });
    }
}
