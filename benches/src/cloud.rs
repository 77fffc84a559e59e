//! The logical cloud that everything is measured with: a namespace with a quota and the limit range that belongs to
//! it, one certificate user and one token user, and three permissions for both.

use std::collections::BTreeMap;
use std::sync::Arc;

use anyhow::{Context as _, Result};
use dcm_core::app_context::{AppContext, Bundle};
use dcm_core::logical_cloud::{
    AccountSeed, Draft, Epoch, LogicalCloud, LogicalCloudUid, RequestNonce, RequestPem, Serial, UserType,
};
use dcm_core::name::{ClusterId, ProjectName, UserName};
use dcm_core::pki::SystemKeys;
use dcm_core::port::key_source::KeySource as _;
use dcm_core::port::synchronizer::Removal;
use dcm_core::render::{self, Credential, Credentials, RequestToSend, naming::Identity};
use serde_json::{Value, json};

/// The project of all clouds.
pub const PROJECT: &str = "bench";

/// The user with a certificate.
pub const CERTIFICATE_USER: &str = "ann";

/// The user with a token.
pub const TOKEN_USER: &str = "build";

/// How many credentials its users get on each cluster.
pub const CREDENTIALS: usize = 2;

/// What the first permission allows.
const VERBS: [&str; 3] = ["get", "list", "watch"];

/// What it allows after one permission was changed.
const OTHER_VERBS: [&str; 2] = ["get", "list"];

/// A logical cloud with the credentials that its users are to have.
pub struct Cloud {
    cloud: LogicalCloud,
    credentials: Credentials,
}

impl Cloud {
    /// A new one. Its name is that of its namespace too.
    ///
    /// # Errors
    /// When the name is none, or the system gives no randomness.
    pub fn new(name: &str) -> Result<Self> {
        let uid = LogicalCloudUid::from_random(getrandom::u64()?);
        let cloud = parse(name, uid, &VERBS)?;
        let credentials = credentials(&cloud)?;
        Ok(Self { cloud, credentials })
    }

    /// The same cloud with one permission changed.
    ///
    /// # Errors
    /// None that the cloud itself did not have.
    pub fn with_one_permission_changed(&self) -> Result<Self> {
        let name = self.cloud.name().as_str();
        let cloud = parse(name, self.cloud.uid(), &OTHER_VERBS)?;
        Ok(Self { cloud, credentials: self.credentials.clone() })
    }

    /// What is handed over to a synchronizer, for these clusters.
    ///
    /// # Errors
    /// When it can't be rendered.
    pub fn app_context(&self, clusters: impl IntoIterator<Item = ClusterId>) -> Result<AppContext> {
        let bundle = self.bundle()?;
        let placements: BTreeMap<ClusterId, Arc<Bundle>> =
            clusters.into_iter().map(|cluster| (cluster, bundle.clone())).collect();
        let identity = Identity::of(&self.cloud);
        Ok(AppContext {
            id: identity.context_id(),
            labels: identity.labels(),
            removal: Removal::default(),
            placements,
        })
    }

    fn bundle(&self) -> Result<Arc<Bundle>> {
        Ok(Arc::new(render::bundle(&self.cloud, &self.credentials)?))
    }
}

/// The document of a cloud of this name; its clusters are said elsewhere.
///
/// # Errors
/// Never but for a mistake in here.
pub fn draft(name: &str) -> Result<Draft> {
    Ok(serde_json::from_value(document(name, &VERBS))?)
}

fn parse(name: &str, uid: LogicalCloudUid, verbs: &[&str]) -> Result<LogicalCloud> {
    let draft: Draft = serde_json::from_value(document(name, verbs))?;
    let (cloud, _) = LogicalCloud::new(ProjectName::new(PROJECT)?, uid, draft)?;
    Ok(cloud)
}

/// The document that a user writes; the clusters are said elsewhere.
fn document(name: &str, verbs: &[&str]) -> Value {
    json!({
        "metadata": {"name": name},
        "spec": {
            "users": [
                {"name": CERTIFICATE_USER, "type": "certificate"},
                {"name": TOKEN_USER, "type": "token"},
            ],
            "permissions": [
                {"name": "look", "apiGroups": ["", "apps"], "resources": ["*"], "verbs": verbs},
                {"name": "deploy", "apiGroups": ["apps"], "resources": ["deployments"], "verbs": ["create", "update", "delete"]},
                {"name": "configure", "apiGroups": [""], "resources": ["configmaps", "secrets"], "verbs": ["*"]},
            ],
            "quotas": [{"name": "size", "hard": {"requests.cpu": "4", "limits.memory": "8Gi", "pods": 50}}],
        }
    })
}

fn credentials(cloud: &LogicalCloud) -> Result<Credentials> {
    let (epoch, serial) = (Epoch(1), Serial(1));
    let of_user = |user: &dcm_core::logical_cloud::User| -> Result<(UserName, Credential)> {
        let name = user.metadata.name.clone();
        let request = match &user.kind {
            UserType::Certificate { .. } => {
                let issued = SystemKeys.issue(&Identity::of(cloud).subject(&name, epoch))?;
                let pem = RequestPem::new(&issued.request).context("the request of a key of our own")?;
                Some(RequestToSend { pem, nonce: RequestNonce::from_random(1) })
            }
            UserType::Token => None,
        };
        Ok((name, Credential { epoch, serial, request, accounts: AccountSeed::from_random(1) }))
    };
    cloud.users().iter().map(of_user).collect()
}
