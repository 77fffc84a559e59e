//! What a kubeconfig that we are given may do.
//!
//! It is input from outside: it can name programs to run and files to read. [`check`] takes one apart without doing
//! any of that, and keeps only what its current context uses.

use std::collections::BTreeSet;

use dcm_core::port::cluster::Error;
use dcm_core::secret::Secret;
use dcm_core::yaml::{self, Place, Unreadable};
use kube::config::{AuthInfo, Cluster, ExecConfig, ExecInteractiveMode, Kubeconfig};

use crate::embedded;
use crate::proxy::ProxyUrl;

/// Largest kubeconfig, in bytes. Real ones with embedded certificates are under 16 KiB.
pub const KUBECONFIG_BYTES_MAX: usize = 256 * 1024;

/// Which programs a kubeconfig may run to get a credential.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Commands {
    /// These, spelled as `users[].user.exec.command` spells them. Such a command gets its arguments, but no environment
    /// variables from the kubeconfig (those decide what a program loads and does), and no terminal.
    Named(BTreeSet<String>),
    /// Any, also through `auth-provider`.
    Any,
}

/// What a kubeconfig may do beyond holding its credentials itself. By default nothing.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Allowed {
    /// Programs that it may run. Default: none.
    pub exec_commands: Commands,
    /// Whether it may name files to read. Default: no.
    pub files: bool,
    /// Whether it may do without proof of who answers: `insecure-skip-tls-verify`, or a server at `http://`.
    /// Default: no.
    pub insecure: bool,
    /// Whether it may choose a proxy by `proxy-url`. Default: no.
    pub proxy: bool,
}

impl Allowed {
    /// Everything: for a command line that acts for its own user, who could do it all anyway.
    #[must_use]
    pub fn everything() -> Self {
        Self { exec_commands: Commands::Any, files: true, insecure: true, proxy: true }
    }
}

impl Default for Allowed {
    fn default() -> Self {
        Self { exec_commands: Commands::Named(BTreeSet::new()), files: false, insecure: false, proxy: false }
    }
}

/// One of the things that [`Allowed`] allows.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Permission {
    /// To run a program: [`Allowed::exec_commands`].
    ExecCommands,
    /// To name files: [`Allowed::files`].
    Files,
    /// To do without proof of the server's identity: [`Allowed::insecure`].
    Insecure,
    /// To choose a proxy: [`Allowed::proxy`].
    Proxy,
}

/// Why a kubeconfig is refused. It names places and rules, never content.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum Refusal {
    /// It is larger than [`KUBECONFIG_BYTES_MAX`].
    #[error("it is larger than {KUBECONFIG_BYTES_MAX} bytes")]
    TooLarge,
    /// It is no YAML or JSON document of a kubeconfig's form.
    #[error("line {line}, column {column}: it is not one well-formed kubeconfig")]
    Malformed {
        /// Line, from 1.
        line: u64,
        /// Column, from 1.
        column: u64,
    },
    /// It breaks a limit or rule of the [reader](yaml).
    #[error(transparent)]
    Limit(Unreadable),
    /// A field breaks a rule.
    #[error("{path}: {rule}")]
    Field {
        /// Path of the field, such as `users[].user.exec`.
        path: &'static str,
        /// The rule that it breaks.
        rule: &'static str,
    },
    /// A field needs what is not allowed.
    #[error("{path}: {rule}")]
    NotAllowed {
        /// Path of the field.
        path: &'static str,
        /// The rule that it breaks.
        rule: &'static str,
        /// What would have to be allowed.
        permission: Permission,
    },
}

impl From<Refusal> for Error {
    fn from(refusal: Refusal) -> Self {
        Self::Kubeconfig { reason: refusal.to_string() }
    }
}

/// A kubeconfig that keeps to what is [`Allowed`]: one context with its cluster and user.
#[derive(Clone)]
pub struct Checked {
    pub(crate) kubeconfig: Kubeconfig,
    pub(crate) proxy: Option<ProxyUrl>,
    server: String,
}

impl Checked {
    /// The same, whose program does not get these variables of the environment.
    pub(crate) fn withholding(mut self, variables: &[String]) -> Self {
        for user in self.kubeconfig.auth_infos.iter_mut().filter_map(|user| user.auth_info.as_mut()) {
            if let Some(exec) = &mut user.exec {
                exec.drop_env.get_or_insert_default().extend(variables.iter().cloned());
            }
        }
        self
    }

    /// The same way to the cluster, for another user.
    pub(crate) fn of_user(mut self, other: &AuthInfo) -> Self {
        for user in &mut self.kubeconfig.auth_infos {
            user.auth_info = Some(other.clone());
        }
        self
    }

    /// URL of the cluster's API server.
    #[must_use]
    pub fn server(&self) -> &str {
        &self.server
    }
}

impl std::fmt::Debug for Checked {
    /// The server only: the rest is credentials.
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "Checked({})", self.server)
    }
}

/// Checks a kubeconfig. It runs nothing and reads nothing but the text.
///
/// What the current context does not use is not looked at, and not kept.
///
/// # Errors
/// [`Refusal`].
pub fn check(text: &Secret, allowed: &Allowed) -> Result<Checked, Refusal> {
    let given = parse(text.expose())?;
    let (context, cluster, user) = select(&given)?;
    let proxy = check_cluster(&cluster, allowed)?;
    let user = check_user(user, allowed)?;
    let server = cluster.server.clone().unwrap_or_default();
    Ok(Checked { kubeconfig: single(&context, cluster, user), proxy, server })
}

fn refuse<T>(path: &'static str, rule: &'static str) -> Result<T, Refusal> {
    Err(Refusal::Field { path, rule })
}

fn forbid<T>(path: &'static str, rule: &'static str, permission: Permission) -> Result<T, Refusal> {
    Err(Refusal::NotAllowed { path, rule, permission })
}

fn parse(text: &str) -> Result<Kubeconfig, Refusal> {
    if text.len() > KUBECONFIG_BYTES_MAX {
        return Err(Refusal::TooLarge);
    }
    yaml::read(text).map_err(|unreadable| match unreadable {
        Unreadable { place: Place { line, column }, rule: None } => Refusal::Malformed { line, column },
        limit => Refusal::Limit(limit),
    })
}

/// The one item of a name.
fn the_one<'a, T>(
    mut items: impl Iterator<Item = &'a T>,
    path: &'static str,
) -> Result<Option<&'a T>, Refusal> {
    let first = items.next();
    if items.next().is_some() { refuse(path, "is there more than once under this name") } else { Ok(first) }
}

/// Context, cluster and user that the current context means.
fn select(given: &Kubeconfig) -> Result<(kube::config::Context, Cluster, AuthInfo), Refusal> {
    let Some(current) = given.current_context.as_ref().filter(|name| !name.is_empty()) else {
        return refuse("current-context", "must name a context");
    };
    let context = the_one(given.contexts.iter().filter(|context| &context.name == current), "contexts[]")?
        .and_then(|context| context.context.clone());
    let Some(context) = context else {
        return refuse("current-context", "names a context that is not there");
    };
    let cluster =
        the_one(given.clusters.iter().filter(|cluster| cluster.name == context.cluster), "clusters[]")?
            .and_then(|cluster| cluster.cluster.clone());
    let Some(cluster) = cluster else {
        return refuse("contexts[].context.cluster", "names a cluster that is not there");
    };
    let Some(name) = context.user.clone().filter(|name| !name.is_empty()) else {
        return Ok((context, cluster, AuthInfo::default()));
    };
    let user = the_one(given.auth_infos.iter().filter(|user| user.name == name), "users[]")?
        .and_then(|user| user.auth_info.clone());
    let Some(user) = user else {
        return refuse("contexts[].context.user", "names a user that is not there");
    };
    Ok((context, cluster, user))
}

fn check_server(server: &str, allowed: &Allowed) -> Result<(), Refusal> {
    let path = "clusters[].cluster.server";
    let rule = "must be the https:// URL of an API server";
    let uri: http::Uri = server.parse().map_err(|_| Refusal::Field { path, rule })?;
    let has_scheme = match uri.scheme_str() {
        Some("https") => true,
        Some("http") if !allowed.insecure => return forbid(path, rule, Permission::Insecure),
        Some("http") => true,
        _ => false,
    };
    match uri.authority() {
        Some(authority) if has_scheme && !authority.host().is_empty() => {
            let has_user = authority.as_str().contains('@');
            if has_user { refuse(path, "must not hold a user name or password") } else { Ok(()) }
        }
        _ => refuse(path, rule),
    }
}

fn check_cluster(cluster: &Cluster, allowed: &Allowed) -> Result<Option<ProxyUrl>, Refusal> {
    check_server(cluster.server.as_deref().unwrap_or_default(), allowed)?;
    if cluster.insecure_skip_tls_verify == Some(true) && !allowed.insecure {
        let path = "clusters[].cluster.insecure-skip-tls-verify";
        return forbid(path, "is not allowed", Permission::Insecure);
    }
    check_file(cluster.certificate_authority.as_ref(), "clusters[].cluster.certificate-authority", allowed)?;
    embedded::check_authorities(cluster)?;
    let Some(proxy) = cluster.proxy_url.as_deref().filter(|url| !url.is_empty()) else {
        return Ok(None);
    };
    let path = "clusters[].cluster.proxy-url";
    if !allowed.proxy {
        return forbid(path, "is not allowed", Permission::Proxy);
    }
    ProxyUrl::new(proxy).map(Some).map_err(|invalid| Refusal::Field { path, rule: invalid.rule })
}

fn check_user(mut user: AuthInfo, allowed: &Allowed) -> Result<AuthInfo, Refusal> {
    check_file(user.client_certificate.as_ref(), "users[].user.client-certificate", allowed)?;
    check_file(user.client_key.as_ref(), "users[].user.client-key", allowed)?;
    check_file(user.token_file.as_ref(), "users[].user.tokenFile", allowed)?;
    embedded::check_identity(&user)?;
    if user.auth_provider.is_some() && allowed.exec_commands != Commands::Any {
        let rule = "may run a program, which is not allowed";
        return forbid("users[].user.auth-provider", rule, Permission::ExecCommands);
    }
    if let Some(exec) = &mut user.exec {
        check_exec(exec, &allowed.exec_commands)?;
    }
    Ok(user)
}

fn check_file(file: Option<&String>, path: &'static str, allowed: &Allowed) -> Result<(), Refusal> {
    match file {
        Some(_) if !allowed.files => forbid(path, "names a file, which is not allowed", Permission::Files),
        _ => Ok(()),
    }
}

fn check_exec(exec: &mut ExecConfig, commands: &Commands) -> Result<(), Refusal> {
    let Commands::Named(names) = commands else {
        return Ok(());
    };
    if !exec.command.as_ref().is_some_and(|command| names.contains(command)) {
        let rule = "runs a program that is not allowed";
        return forbid("users[].user.exec", rule, Permission::ExecCommands);
    }
    if exec.env.as_ref().is_some_and(|env| !env.is_empty()) {
        let rule = "is not allowed for a program that is allowed by name";
        return forbid("users[].user.exec.env", rule, Permission::ExecCommands);
    }
    exec.interactive_mode = Some(ExecInteractiveMode::Never);
    Ok(())
}

/// A kubeconfig with nothing else in it.
fn single(context: &kube::config::Context, cluster: Cluster, user: AuthInfo) -> Kubeconfig {
    let name = "checked".to_owned();
    let context = kube::config::Context {
        cluster: name.clone(),
        user: Some(name.clone()),
        namespace: context.namespace.clone(),
        ..Default::default()
    };
    Kubeconfig {
        current_context: Some(name.clone()),
        contexts: vec![kube::config::NamedContext {
            name: name.clone(),
            context: Some(context),
            ..Default::default()
        }],
        clusters: vec![kube::config::NamedCluster {
            name: name.clone(),
            cluster: Some(cluster),
            ..Default::default()
        }],
        auth_infos: vec![kube::config::NamedAuthInfo { name, auth_info: Some(user), ..Default::default() }],
        ..Default::default()
    }
}

#[cfg(test)]
#[path = "kubeconfig_tests.rs"]
mod tests;
