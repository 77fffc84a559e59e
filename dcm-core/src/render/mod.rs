//! Rendering: from a logical cloud to what its clusters are to hold.
//!
//! [`bundle`] is pure: the same cloud and credentials give the same bytes on every run, whatever the order of the
//! document's lists was. One bundle serves all clusters of the cloud. An admin cloud changes nothing on its clusters:
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
//!
//! Certificates are asked for from the second stage on, since the signer takes its time, and collected in the last.
//!
//! What may fail by somebody else's doing is in the last stage, where nothing waits for it: a signer may be silent, a
//! manifest broken, and another namespace missing. A binding there may meet the cluster before its role; without the
//! right `bind` it is refused once, and made when it is tried again.
//!
//! Extra manifests go to the stage of their kind. Removal goes the other way: rights end before what they were about.

mod credentials;
mod defaults;
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
pub use users::SIGNER;

use k8s_openapi::apimachinery::pkg::apis::meta::v1::ObjectMeta;
use serde::Serialize;

use crate::app_context::{Action, Bundle, InvalidBundle, Stage, Step};
use crate::logical_cloud::{LogicalCloud, ObjectPolicies, ObjectPolicy};
use crate::manifest::{InvalidManifest, Manifest};
use crate::name::{AppName, Namespace};
use naming::Identity;

/// The one app of a logical cloud's app context.
pub const APP: &str = "logical-cloud";

/// The cloud's namespace.
pub const STAGE_NAMESPACE: Stage = Stage(0);
/// What lives in it and others lean on.
pub const STAGE_BASE: Stage = Stage(1);
/// Who may do what.
pub const STAGE_RIGHTS: Stage = Stage(2);
/// Requests for credentials, extra manifests, and rights in other namespaces: what nothing waits for.
pub const STAGE_LAST: Stage = Stage(3);

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
}

/// Renders a logical cloud with the credentials that its users are to have.
///
/// # Errors
/// [`Error`] when an extra manifest of a privileged cloud takes the name of a rendered object, or a rendered object
/// is too large.
pub fn bundle(cloud: &LogicalCloud, credentials: &Credentials) -> Result<Bundle, Error> {
    let mut steps = Steps::new(cloud.object_policies());
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
    Bundle::new(steps.steps).map_err(Error::Bundle)
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
    fn new(policies: &'a ObjectPolicies) -> Self {
        Self { app: AppName::new(APP).expect("the app's name is legal"), policies, steps: Vec::new() }
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
