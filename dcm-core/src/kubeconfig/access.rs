//! What one user has in one logical cloud, and the kubeconfigs that are written of it.

use std::collections::BTreeMap;
use std::fmt;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use serde::Serialize;

use super::admin::Admin;
use super::document::{
    Cluster, Config, Context, Extension, MARK_NAME, Mark, NamedCluster, NamedContext, NamedUser, Preferences,
    User,
};
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
}

/// A kubeconfig, ready to be written.
pub struct Kubeconfig(Config);

/// A kubeconfig couldn't be written as text. The cause isn't kept: it might quote a secret.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("the kubeconfig could not be written as text")]
pub struct NotWritten;

impl Access {
    /// The file for one cluster; none when the user has nothing in it.
    #[must_use]
    pub fn for_cluster(&self, reference: &ReferenceName) -> Option<Kubeconfig> {
        let access = self.clusters.get(reference)?;
        let names = Names {
            cluster: reference.to_string(),
            context: format!("{}-context", self.user),
            user: self.user.to_string(),
        };
        let mut config = empty();
        self.add(&mut config, names, reference, access, false);
        Some(Kubeconfig(config))
    }

    /// The file for all clusters; the first one, by name, is current. A user without any gets an empty file.
    #[must_use]
    pub fn for_all_clusters(&self) -> Kubeconfig {
        let mut config = empty();
        for (reference, access) in &self.clusters {
            let name = format!("{}@{reference}", self.user);
            let names = Names {
                cluster: reference.to_string(),
                context: name.clone(),
                user: name,
            };
            self.add(&mut config, names, reference, access, false);
        }
        Kubeconfig(config)
    }

    /// The marked entries that [`merge`](super::merge()) puts into a person's file.
    pub(super) fn for_merging(&self) -> Config {
        let mut config = empty();
        for (reference, access) in &self.clusters {
            let cluster = format!("{}/{}/{reference}", self.project, self.logical_cloud);
            let name = format!("{}@{cluster}", self.user);
            let names = Names {
                cluster,
                context: name.clone(),
                user: name,
            };
            self.add(&mut config, names, reference, access, true);
        }
        config
    }

    fn add(
        &self,
        config: &mut Config,
        names: Names,
        reference: &ReferenceName,
        access: &ClusterAccess,
        is_marked: bool,
    ) {
        let mark = Mark {
            project: self.project.to_string(),
            logical_cloud: self.logical_cloud.to_string(),
            reference: reference.to_string(),
            user: Some(self.user.to_string()),
            has_own_key: false,
        };
        let extensions = |mark: Mark| {
            if is_marked {
                vec![Extension {
                    extension: mark,
                    name: MARK_NAME,
                }]
            } else {
                Vec::new()
            }
        };
        let mut user = user_of(&access.credential);
        user.extensions = extensions(Mark {
            has_own_key: access.credential.is_keyless(),
            ..mark.clone()
        });
        let mut cluster = cluster_of(&access.cluster);
        cluster.extensions = extensions(Mark {
            user: None,
            ..mark.clone()
        });
        let context = Context {
            cluster: names.cluster.clone(),
            extensions: extensions(mark),
            namespace: self.namespace.to_string(),
            user: names.user.clone(),
        };
        if config.current_context.is_empty() {
            config.current_context.clone_from(&names.context);
        }
        config.clusters.push(NamedCluster {
            cluster,
            name: names.cluster,
        });
        config.contexts.push(NamedContext {
            context,
            name: names.context,
        });
        config.users.push(NamedUser {
            name: names.user,
            user,
        });
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
        serde_json::to_string(&self.0)
            .map(Secret::new)
            .map_err(|_| NotWritten)
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
    serde_saphyr::to_string_with_options(value, options)
        .map(Secret::new)
        .map_err(|_| NotWritten)
}

/// The names of the three entries that belong together.
struct Names {
    cluster: String,
    context: String,
    user: String,
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
        Credential::Token(token) => User {
            token: Some(token.clone()),
            ..User::default()
        },
    }
}
