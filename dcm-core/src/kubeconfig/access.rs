//! What one user has in one logical cloud, and the kubeconfigs that are written of it.

use std::borrow::Cow;
use std::collections::BTreeMap;
use std::fmt;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use schemars::{JsonSchema, Schema, SchemaGenerator};
use serde::Serialize;

use super::admin::Admin;
use super::document::{
    Cluster, Config, Context, Extension, MARK_NAME, Mark, NamedCluster, NamedContext, NamedUser, Preferences,
    User,
};
use super::plugin::{Exec, Plugin};
use crate::name::{LogicalCloudName, Namespace, ProjectName, ReferenceName, UserName};
use crate::secret::Secret;

/// What one user has in one logical cloud.
#[derive(Debug, Clone)]
pub struct Access {
    /// The project that the logical cloud belongs to.
    pub project: ProjectName,
    /// The logical cloud.
    pub logical_cloud: LogicalCloudName,
    /// The user.
    pub user: UserName,
    /// The logical cloud's namespace, which every context has as its default.
    pub namespace: Namespace,
    /// Each cluster in which the user has a credential.
    pub clusters: BTreeMap<ReferenceName, ClusterAccess>,
}

/// What a user has in one cluster.
#[derive(Debug, Clone)]
pub struct ClusterAccess {
    /// Where the cluster is.
    pub cluster: Admin,
    /// What the user shows to it.
    pub credential: Credential,
}

/// What a user shows to a cluster.
#[derive(Debug, Clone)]
pub enum Credential {
    /// A client certificate.
    Certificate {
        /// The certificate and what is between it and its authority, as PEM.
        certificate: String,
        /// The private key, as PEM; none when the user brought a request and keeps the key.
        key: Option<Secret>,
    },
    /// A bearer token.
    Token(Secret),
    /// A program that gives one of the others whenever it is needed.
    Plugin(Plugin),
}

/// A kubeconfig, ready to be written.
pub struct Kubeconfig(pub(super) Config);

impl JsonSchema for Kubeconfig {
    fn schema_name() -> Cow<'static, str> {
        "Kubeconfig".into()
    }

    fn json_schema(generator: &mut SchemaGenerator) -> Schema {
        Config::json_schema(generator)
    }
}

/// A kubeconfig couldn't be written as text. The cause isn't kept: it might quote a secret.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("the kubeconfig could not be written as text")]
pub struct NotWritten;

impl Access {
    /// The file for one cluster; none when the user has nothing in it.
    #[must_use]
    pub fn for_cluster(&self, reference: &ReferenceName) -> Option<Kubeconfig> {
        self.with_context(reference, format!("{}-context", self.user))
    }

    /// The same with the name that EMCO gives to the context: `USER@REFERENCE`.
    #[must_use]
    pub fn for_cluster_as_emco(&self, reference: &ReferenceName) -> Option<Kubeconfig> {
        self.with_context(reference, format!("{}@{reference}", self.user))
    }

    fn with_context(&self, reference: &ReferenceName, context: String) -> Option<Kubeconfig> {
        let names = Names { cluster: reference.to_string(), context, user: self.user.to_string() };
        let mut config = empty();
        add(&mut config, self.entries(names, self.clusters.get(reference)?));
        Some(Kubeconfig(config))
    }

    /// The file for all clusters; the first one, by name, is current. A user without any gets an empty file.
    #[must_use]
    pub fn for_all_clusters(&self) -> Kubeconfig {
        let mut config = empty();
        for (reference, access) in &self.clusters {
            let names = Names::of_user(&self.user, reference.to_string());
            add(&mut config, self.entries(names, access));
        }
        Kubeconfig(config)
    }

    /// What [`merge`](super::merge()) puts into a person's file: marked entries, and nothing else.
    #[must_use]
    pub fn for_merging(&self) -> Kubeconfig {
        let mut config = empty();
        for (reference, access) in &self.clusters {
            let cluster = format!("{}/{}/{reference}", self.project, self.logical_cloud);
            let names = Names::of_user(&self.user, cluster);
            let mut entries = self.entries(names, access);
            self.mark(&mut entries, reference, &access.credential);
            add(&mut config, entries);
        }
        Kubeconfig(config)
    }

    fn entries(&self, names: Names, access: &ClusterAccess) -> Entries {
        let context = Context {
            cluster: names.cluster.clone(),
            extensions: Vec::new(),
            namespace: self.namespace.to_string(),
            user: names.user.clone(),
        };
        Entries {
            cluster: NamedCluster { cluster: cluster_of(&access.cluster), name: names.cluster },
            context: NamedContext { context, name: names.context },
            user: NamedUser { name: names.user, user: user_of(&access.credential) },
        }
    }

    fn mark(&self, entries: &mut Entries, reference: &ReferenceName, credential: &Credential) {
        let mark = |user: Option<&UserName>, has_own_key| {
            let extension = Mark {
                project: self.project.to_string(),
                logical_cloud: self.logical_cloud.to_string(),
                reference: reference.to_string(),
                user: user.map(UserName::to_string),
                has_own_key,
            };
            vec![Extension { extension, name: MARK_NAME }]
        };
        entries.cluster.cluster.extensions = mark(None, false);
        entries.context.context.extensions = mark(Some(&self.user), false);
        entries.user.user.extensions = mark(Some(&self.user), credential.is_keyless());
    }
}

impl Access {
    /// Warnings of clusters whose address other machines than the administrator's hardly reach, each with its reference.
    pub fn warnings(&self) -> impl Iterator<Item = String> {
        self.clusters.iter().filter_map(|(reference, access)| {
            Some(format!("{reference}: {}", access.cluster.warning_for_users()?))
        })
    }

    /// The same access, with a program for each cluster in place of the credential.
    #[must_use]
    pub fn by_plugins(mut self, plugin: impl Fn(&ReferenceName) -> Plugin) -> Self {
        for (reference, access) in &mut self.clusters {
            access.credential = Credential::Plugin(plugin(reference));
        }
        self
    }
}

impl Credential {
    /// True when the user has to add the private key to what is written.
    #[must_use]
    pub fn is_keyless(&self) -> bool {
        matches!(self, Self::Certificate { key: None, .. })
    }
}

impl Kubeconfig {
    /// The names of its user entries that lack a private key, because the user keeps it.
    pub fn keyless_users(&self) -> impl Iterator<Item = &str> {
        let lacks_key =
            |user: &User| user.client_certificate_data.is_some() && user.client_key_data.is_none();
        self.0.users.iter().filter(move |named| lacks_key(&named.user)).map(|named| &*named.name)
    }

    /// The file as YAML.
    ///
    /// # Errors
    /// [`NotWritten`], which no valid [`Access`] is known to lead to.
    pub fn to_yaml(&self) -> Result<Secret, NotWritten> {
        write_yaml(&self.0)
    }

    /// The file as JSON on one line.
    ///
    /// # Errors
    /// [`NotWritten`], which no valid [`Access`] is known to lead to.
    pub fn to_json(&self) -> Result<Secret, NotWritten> {
        serde_json::to_string(&self.0).map(Secret::new).map_err(|_| NotWritten)
    }
}

impl fmt::Debug for Kubeconfig {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Kubeconfig({})", self.0.current_context)
    }
}

/// Writes YAML that readers of YAML 1.1 and 1.2 understand alike; long texts stay on one line.
pub(super) fn write_yaml<T: Serialize>(value: &T) -> Result<Secret, NotWritten> {
    let options = serde_saphyr::ser_options! { prefer_block_scalars: false };
    serde_saphyr::to_string_with_options(value, options).map(Secret::new).map_err(|_| NotWritten)
}

/// The names of the three entries that belong together.
struct Names {
    cluster: String,
    context: String,
    user: String,
}

impl Names {
    /// The context and the user entry are both `USER@CLUSTER_ENTRY`.
    fn of_user(user: &UserName, cluster: String) -> Self {
        let name = format!("{user}@{cluster}");
        Self { cluster, context: name.clone(), user: name }
    }
}

/// The three entries that belong together.
struct Entries {
    cluster: NamedCluster,
    context: NamedContext,
    user: NamedUser,
}

/// Adds entries; the first context is current.
fn add(config: &mut Config, entries: Entries) {
    if config.current_context.is_empty() {
        config.current_context.clone_from(&entries.context.name);
    }
    config.clusters.push(entries.cluster);
    config.contexts.push(entries.context);
    config.users.push(entries.user);
}

fn empty() -> Config {
    Config {
        api_version: "v1",
        clusters: Vec::new(),
        contexts: Vec::new(),
        current_context: String::new(),
        kind: "Config",
        preferences: Preferences {},
        users: Vec::new(),
    }
}

fn cluster_of(admin: &Admin) -> Cluster {
    Cluster {
        certificate_authority_data: admin.certificate_authority_data().map(str::to_owned),
        extensions: Vec::new(),
        proxy_url: admin.proxy_url().map(str::to_owned),
        server: admin.server().to_owned(),
        tls_server_name: admin.tls_server_name().map(str::to_owned),
    }
}

fn user_of(credential: &Credential) -> User {
    match credential {
        Credential::Certificate { certificate, key } => User {
            client_certificate_data: Some(STANDARD.encode(certificate)),
            client_key_data: key.as_ref().map(|key| Secret::new(STANDARD.encode(key.expose()))),
            ..User::default()
        },
        Credential::Token(token) => User { token: Some(token.clone()), ..User::default() },
        Credential::Plugin(plugin) => User { exec: Some(Exec::of(plugin)), ..User::default() },
    }
}
