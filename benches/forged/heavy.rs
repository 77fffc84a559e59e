//! A tenant whose objects are as large as an API server takes them, and change while another tenant's clouds are made.

use std::collections::BTreeMap;
use std::time::Duration;

use anyhow::{Context as _, Result, ensure};
use dcm_benches::cloud::Cloud;
use dcm_core::app_context::{Action, AppContext, Bundle, Drift, Existing, Stage, Step};
use dcm_core::manifest::Manifest;
use dcm_core::name::{AppName, ClusterId, ContextId};
use dcm_core::port::cluster::{LABEL_CONTEXT, LABEL_OWNER};
use dcm_core::port::synchronizer::{Removal, Synchronizer as _};
use dcm_sync::engine::Engine;
use k8s_openapi::api::apps::v1::Deployment;
use k8s_openapi::api::rbac::v1::Role;
use kube::api::{Api, Patch, PatchParams, PostParams};
use kube::config::{KubeConfigOptions, Kubeconfig};
use kube::{Client, Config};
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

use super::engine::instantiate;

/// What is large.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) enum Heavy {
    /// 112 Roles of 1.2 MB with our labels, made by the tenant itself.
    Roles,
    /// A Deployment with 3,000 environment variables.
    Environment,
    /// The same with 1 MB of `managedFields` that the tenant wrote itself.
    Fields,
}

/// Large objects of a tenant.
#[derive(Debug, Clone, Copy, Serialize, Deserialize)]
pub(crate) struct Large {
    pub(crate) heavy: Heavy,
    pub(crate) extent: Extent,
    /// Whether they are a logical cloud's; else no engine follows them.
    pub(crate) is_followed: bool,
    /// How long they may take to come to rest before anything is measured.
    pub(crate) settles: Duration,
}

/// How much there is of it.
#[derive(Debug, Clone, Copy, Serialize, Deserialize)]
pub(crate) struct Extent {
    pub(crate) roles: usize,
    pub(crate) role_bytes: usize,
    pub(crate) variables: usize,
    pub(crate) fields: usize,
}

pub(crate) const WHOLE: Extent =
    Extent { roles: 112, role_bytes: 1_200_000, variables: 3_000, fields: 12_000 };
pub(crate) const SMALLEST: Extent = Extent { roles: 2, role_bytes: 100_000, variables: 100, fields: 300 };

/// Names in one rule of a Role.
const NAMES_OF_RULE: usize = 10_000;

/// How long an object may take to appear.
const APPEARANCE_LIMIT: Duration = Duration::from_secs(60);

impl Heavy {
    pub(crate) const ALL: [Self; 3] = [Self::Roles, Self::Environment, Self::Fields];

    pub(crate) fn key(self) -> &'static str {
        match self {
            Self::Roles => "roles",
            Self::Environment => "environment",
            Self::Fields => "fields",
        }
    }

    pub(crate) fn what(self) -> &'static str {
        match self {
            Self::Roles => "112 Roles of 1.2 MB",
            Self::Environment => "a Deployment of 3,000 environment variables",
            Self::Fields => "1 MB of managedFields",
        }
    }
}

/// A tenant with heavy objects on one cluster.
pub(crate) struct Tenant {
    client: Client,
    large: Option<Large>,
    name: String,
    owner: String,
}

impl Tenant {
    /// Makes the tenant's objects: at rest, the engine has seen them. One without heavy objects has a cloud of usual size.
    pub(crate) async fn new(
        engine: &Engine,
        owner: &str,
        clusters: &BTreeMap<ClusterId, String>,
        large: Option<Large>,
    ) -> Result<Self> {
        let (cluster, kubeconfig) = clusters.first_key_value().context("a cluster")?;
        let kubeconfig = Kubeconfig::from_yaml(kubeconfig)?;
        let config = Config::from_custom_kubeconfig(kubeconfig, &KubeConfigOptions::default()).await?;
        let (client, name) = (Client::try_from(config)?, format!("{owner}-tenant"));
        let tenant = Self { client, large, name, owner: owner.to_owned() };
        instantiate(engine, &Cloud::new(&tenant.name)?.app_context(clusters.keys().cloned())?).await?;
        let Some(Large { heavy, extent, is_followed, settles }) = large else { return Ok(tenant) };
        match heavy {
            Heavy::Roles => tenant.make_roles(extent, is_followed).await?,
            Heavy::Environment | Heavy::Fields => {
                let engine = is_followed.then_some(engine);
                tenant.deploy(engine, cluster, extent).await?;
            }
        }
        if heavy == Heavy::Fields {
            tenant.forge_fields(extent).await?;
        }
        tokio::time::sleep(settles).await;
        Ok(tenant)
    }

    /// Changes a heavy object, so that clusters tell of it.
    pub(crate) async fn touch(&self, count: u64) -> Result<()> {
        let patch = Patch::Merge(json!({"metadata": {"annotations": {"touched": count.to_string()}}}));
        let parameters = PatchParams { field_manager: Some("tenant".into()), ..PatchParams::default() };
        match self.large.map(|large| large.heavy) {
            None => {}
            Some(Heavy::Roles) => {
                self.roles().patch("heavy-0", &parameters, &patch).await?;
            }
            Some(Heavy::Environment | Heavy::Fields) => {
                self.deployments().patch("heavy", &parameters, &patch).await?;
            }
        }
        Ok(())
    }

    fn roles(&self) -> Api<Role> {
        Api::namespaced(self.client.clone(), &self.name)
    }

    fn deployments(&self) -> Api<Deployment> {
        Api::namespaced(self.client.clone(), &self.name)
    }

    async fn make_roles(&self, extent: Extent, is_followed: bool) -> Result<()> {
        let width = extent.role_bytes / NAMES_OF_RULE;
        let names: Vec<String> = (0..NAMES_OF_RULE).map(|number| format!("{number:0>width$}")).collect();
        let labels = if is_followed {
            json!({LABEL_OWNER: self.owner, LABEL_CONTEXT: "lc-tenant"})
        } else {
            json!({})
        };
        for number in 0..extent.roles {
            let role = json!({
                "metadata": {"name": format!("heavy-{number}"), "labels": labels},
                "rules": [{"apiGroups": [""], "resources": ["pods"], "verbs": ["get"], "resourceNames": names}],
            });
            self.roles().create(&PostParams::default(), &serde_json::from_value(role)?).await?;
        }
        Ok(())
    }

    /// Has the engine make a Deployment, or makes it where there is none. It is never ready: no controller looks at it.
    async fn deploy(&self, engine: Option<&Engine>, cluster: &ClusterId, extent: Extent) -> Result<()> {
        let variables = (0..extent.variables)
            .map(|number| json!({"name": format!("VARIABLE_{number}"), "value": "value"}));
        let labels = json!({"app": "heavy"});
        let deployment = json!({
            "apiVersion": "apps/v1",
            "kind": "Deployment",
            "metadata": {"name": "heavy", "namespace": self.name},
            "spec": {"replicas": 0, "selector": {"matchLabels": labels}, "template": {
                "metadata": {"labels": labels},
                "spec": {"containers": [{"name": "c", "image": "none", "env": variables.collect::<Vec<_>>()}]},
            }},
        });
        let Some(engine) = engine else {
            self.deployments().create(&PostParams::default(), &serde_json::from_value(deployment)?).await?;
            return Ok(());
        };
        let manifest = Manifest::new(deployment)?;
        let action = Action::Apply { manifest, existing: Existing::Refuse, drift: Drift::default() };
        let step = Step { app: AppName::new("heavy")?, stage: Stage(0), action };
        let bundle = std::sync::Arc::new(Bundle::new(vec![step])?);
        let context = AppContext {
            id: ContextId::new(format!("{}-heavy", self.owner))?,
            labels: BTreeMap::new(),
            removal: Removal::default(),
            placements: [(cluster.clone(), bundle)].into(),
        };
        engine.contexts().apply(&context).await?;
        let appears = async {
            while self.deployments().get_opt("heavy").await?.is_none() {
                tokio::time::sleep(Duration::from_millis(50)).await;
            }
            anyhow::Ok(())
        };
        tokio::time::timeout(APPEARANCE_LIMIT, appears).await.context("the Deployment does not appear")?
    }

    /// Writes `managedFields` in the name of another manager.
    async fn forge_fields(&self, extent: Extent) -> Result<()> {
        let api: Api<kube::core::DynamicObject> = Api::namespaced_with(
            self.client.clone(),
            &self.name,
            &kube::core::ApiResource::erase::<Deployment>(&()),
        );
        let mut live = serde_json::to_value(api.get("heavy").await?)?;
        let held = (0..extent.fields).map(|number| {
            let name = json!({"name": format!("FORGED_{number}")});
            (format!("k:{name}"), json!({".": {}, "f:name": {}, "f:value": {}}))
        });
        let held = Value::Object(held.collect());
        let entry = json!({
            "manager": "forger", "operation": "Apply", "apiVersion": "apps/v1", "fieldsType": "FieldsV1",
            "time": "2026-01-01T00:00:00Z",
            "fieldsV1": {"f:spec": {"f:template": {"f:spec": {"f:containers": {"k:{\"name\":\"c\"}": {"f:env": held}}}}}},
        });
        let entries = live["metadata"]["managedFields"].as_array_mut().context("managedFields")?;
        entries.push(entry);
        let forged = api.replace("heavy", &PostParams::default(), &serde_json::from_value(live)?).await?;
        let bytes = serde_json::to_vec(&forged.metadata.managed_fields)?.len();
        ensure!(bytes > 60 * extent.fields, "the API server keeps {bytes} bytes of managedFields");
        Ok(())
    }
}
