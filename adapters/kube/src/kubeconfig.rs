//! What a kubeconfig that we are given may do.
//!
//! It is input from outside: it can name programs to run and files to read. [`check`] takes one apart without doing
//! any of that, and keeps only what its current context uses. It is read as client-go reads it ([`Given`]).

use std::borrow::Cow;
use std::collections::BTreeSet;

use dcm_core::kubeconfig::{Content, Given, Invalid};
use dcm_core::port::cluster::Error;
use dcm_core::secret::Secret;
use dcm_core::yaml::{Place, Unreadable};
use http::HeaderValue;
use kube::config::{AuthInfo, Cluster, Context, ExecConfig, ExecInteractiveMode, Kubeconfig};
use secrecy::ExposeSecret as _;
use serde::de::DeserializeOwned;
use serde_json::{Map, Value, json};

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
    /// It breaks a limit or rule of the [reader](dcm_core::yaml).
    #[error(transparent)]
    Limit(Unreadable),
    /// A field breaks a rule.
    #[error("{path}: {rule}")]
    Field {
        /// Path of the field, such as `users[].user.exec` in what the current context uses, or `users[0].user.token` in the whole file.
        path: Cow<'static, str>,
        /// The rule that it breaks.
        rule: &'static str,
    },
    /// A field holds a key of a kind that is not supported.
    #[error("{path}: {found}")]
    Unsupported {
        /// Path of the field.
        path: &'static str,
        /// What it is, and what to use instead.
        found: String,
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

impl From<Invalid> for Refusal {
    fn from(invalid: Invalid) -> Self {
        match invalid {
            Invalid::TooLarge => Self::TooLarge,
            Invalid::Syntax { line, column } => Self::Malformed { line, column },
            Invalid::Limit { line, column, rule } => {
                Self::Limit(Unreadable { place: Place { line, column }, rule: Some(rule) })
            }
            Invalid::Field { path, rule } if !path.is_empty() => Self::Field { path: path.into(), rule },
            Invalid::Field { .. } | Invalid::Encoding { .. } => NOT_ONE,
        }
    }
}

/// The refusal of a text as a whole.
const NOT_ONE: Refusal = Refusal::Malformed { line: 1, column: 1 };

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
/// The whole file must have the form that client-go reads. Nothing else is asked of what the current context does not use, and it is not kept.
///
/// # Errors
/// [`Refusal`].
pub fn check(text: &Secret, allowed: &Allowed) -> Result<Checked, Refusal> {
    if text.expose().len() > KUBECONFIG_BYTES_MAX {
        return Err(Refusal::TooLarge);
    }
    let (context, mut cluster, user) = select(&Given::read(text)?)?;
    let proxy = check_cluster(&mut cluster, allowed)?;
    let user = check_user(user, allowed)?;
    let server = cluster.server.clone().unwrap_or_default();
    Ok(Checked { kubeconfig: single(&context, cluster, user), proxy, server })
}

fn refuse<T>(path: &'static str, rule: &'static str) -> Result<T, Refusal> {
    Err(Refusal::Field { path: path.into(), rule })
}

fn forbid<T>(path: &'static str, rule: &'static str, permission: Permission) -> Result<T, Refusal> {
    Err(Refusal::NotAllowed { path, rule, permission })
}

/// Context, cluster and user that the current context means.
fn select(given: &Given) -> Result<(Context, Cluster, AuthInfo), Refusal> {
    let Some(current) = given.current_context() else {
        return refuse("current-context", "must name a context");
    };
    let Some(context) = given.context(current) else {
        return refuse("current-context", "names a context that is not there");
    };
    let Some(cluster) = given.cluster(context.text("cluster").unwrap_or_default()) else {
        return refuse("contexts[].context.cluster", "names a cluster that is not there");
    };
    cluster.check_cluster()?;
    let user = match (context.text("user"), given.user(context.text("user").unwrap_or_default())) {
        (Some(_), None) => return refuse("contexts[].context.user", "names a user that is not there"),
        (_, user) => user,
    };
    let user = user.map(|user| user.check_user().map(|()| user)).transpose()?;
    let user = user.map(|user| without_extensions(user.fields)).unwrap_or_default();
    Ok((typed(of_context(context))?, typed(with_whole_extensions(cluster))?, typed(user)?))
}

/// Fields that have the form of the type, which [`Given`] has seen to.
fn typed<T: DeserializeOwned>(fields: Map<String, Value>) -> Result<T, Refusal> {
    serde_json::from_value(Value::Object(fields)).map_err(|_| NOT_ONE)
}

fn of_context(context: Content) -> Map<String, Value> {
    let mut fields = without_extensions(context.fields);
    fields.entry("cluster").or_insert_with(|| "".into());
    fields
}

fn without_extensions(mut fields: Map<String, Value>) -> Map<String, Value> {
    fields.remove("extensions");
    fields
}

/// A program may need them, and the type needs them whole.
fn with_whole_extensions(cluster: Content) -> Map<String, Value> {
    let mut fields = cluster.fields;
    let extensions = fields.get_mut("extensions").and_then(Value::as_array_mut);
    for extension in extensions.into_iter().flatten() {
        *extension = json!({"name": extension["name"].as_str().unwrap_or_default(), "extension": extension["extension"]});
    }
    fields
}

fn check_server(server: &str, allowed: &Allowed) -> Result<(), Refusal> {
    let path = "clusters[].cluster.server";
    let rule = "must be the https:// URL of an API server";
    let uri: http::Uri = server.parse().map_err(|_| Refusal::Field { path: path.into(), rule })?;
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

fn check_cluster(cluster: &mut Cluster, allowed: &Allowed) -> Result<Option<ProxyUrl>, Refusal> {
    check_server(cluster.server.as_deref().unwrap_or_default(), allowed)?;
    if cluster.insecure_skip_tls_verify == Some(true) && !allowed.insecure {
        let path = "clusters[].cluster.insecure-skip-tls-verify";
        return forbid(path, "is not allowed", Permission::Insecure);
    }
    check_file(cluster.certificate_authority.as_ref(), "clusters[].cluster.certificate-authority", allowed)?;
    embedded::settle_authorities(cluster)?;
    let Some(proxy) = cluster.proxy_url.as_deref().filter(|url| !url.is_empty()) else {
        return Ok(None);
    };
    let path = "clusters[].cluster.proxy-url";
    if !allowed.proxy {
        return forbid(path, "is not allowed", Permission::Proxy);
    }
    ProxyUrl::new(proxy).map(Some).map_err(|invalid| Refusal::Field { path: path.into(), rule: invalid.rule })
}

fn check_user(mut user: AuthInfo, allowed: &Allowed) -> Result<AuthInfo, Refusal> {
    check_file(user.client_certificate.as_ref(), "users[].user.client-certificate", allowed)?;
    check_file(user.client_key.as_ref(), "users[].user.client-key", allowed)?;
    check_file(user.token_file.as_ref(), "users[].user.tokenFile", allowed)?;
    embedded::settle_identity(&mut user)?;
    check_token(&user)?;
    if user.auth_provider.is_some() && allowed.exec_commands != Commands::Any {
        let rule = "may run a program, which is not allowed";
        return forbid("users[].user.auth-provider", rule, Permission::ExecCommands);
    }
    if let Some(exec) = &mut user.exec {
        check_exec(exec, &allowed.exec_commands)?;
    }
    Ok(user)
}

/// Where it could not be sent, kube panics.
fn check_token(user: &AuthInfo) -> Result<(), Refusal> {
    let Some(token) = &user.token else { return Ok(()) };
    if can_be_sent(token.expose_secret()) {
        Ok(())
    } else {
        refuse("users[].user.token", "can't be sent in a header")
    }
}

pub(crate) fn can_be_sent(token: &str) -> bool {
    HeaderValue::try_from(format!("Bearer {token}")).is_ok()
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
fn single(context: &Context, cluster: Cluster, user: AuthInfo) -> Kubeconfig {
    let name = "checked".to_owned();
    let context = Context {
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
