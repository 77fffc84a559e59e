//! What a server is to be, as it is written down: in a file, in the environment and on the command line alike.
//!
//! [`Settings`] hold what was said at one of these places; those of several places are laid over each other, and
//! [`Settings::resolve`] checks the whole and gives what is served by it.

mod duration;
mod emco_address;
mod hiding;
mod kubeconfigs;
mod limits;
mod otlp;
mod project_admins;

use std::collections::{BTreeMap, BTreeSet};
use std::net::SocketAddr;
use std::path::PathBuf;

use dcm_core::causes;
use dcm_core::ignored::{IgnoredContents, IgnoredObjects};
use dcm_core::refusal::{Checks, Path, Refusals};
use dcm_core::service::Limits as CallerLimits;
use dcm_identity::tls;
use dcm_kube::{DeniedNetworks, EnvironmentProxies, Network, Proxy};
use dcm_rest::emco::Service as EmcoService;
use dcm_store::StoreUrl;
use dcm_sync::engine::LEASE_MAX;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::access::{AccessSettings, Rate, RoleBinding};
use crate::audit::AUDIT_DAYS;
use crate::configuration::{Configuration, Keys, SESSION_LEASE};
use crate::limits::Limits;
use crate::socket::ListenAddress;
pub use duration::told as duration_text;
pub use emco_address::EmcoAddress;
pub use kubeconfigs::KubeconfigSettings;
pub use limits::LimitSettings;
pub use otlp::{Collector, OtlpSettings};
pub use project_admins::{AllowedKinds, AllowedPermission, ProjectAdminSettings};

/// Largest file of settings, in bytes: one with as many bindings as are allowed, of many people each, is smaller.
pub const SETTINGS_BYTES_MAX: u64 = 16 * 1024 * 1024;

/// Most networks that no connection goes to: each connection is held against all of them.
const NETWORKS_MAX: usize = 1_000;

/// Most rules of what does not count as contents: each object of a namespace is held against all of them.
const IGNORED_CONTENTS_MAX: usize = 1_000;

/// What a server is to be. What is not set is default.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields, default)]
pub struct Settings {
    /// URL of the store: sqlite:PATH, etcd://HOST:PORT, mongodb://HOST:PORT, or memory: for nothing that stays. Default: a file in the
    /// user's data folder.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub store: Option<String>,
    /// URL of the store of app contexts and of the state of work on clusters. Default: the same store.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub contexts_store: Option<String>,
    /// File with the keys that secrets in the store are encrypted with. Default: the text of such a file in the environment
    /// variable DCM_KEYS, or a file in the user's configuration folder.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub key_file: Option<PathBuf>,
    /// How long this worker's clusters stay its own without a sign of life, such as 10s, which is the default; at most 1h.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub lease: Option<String>,
    /// How many days entries of the audit log are kept. Default 366; at least 1.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub audit_days: Option<u16>,
    /// Whether the server works on clusters itself. Without a worker it answers alone, and others work on the same store.
    /// Default true.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub worker: Option<bool>,
    /// Address and port of the HTTP API, or unix:PATH for a socket that only its owner can connect to. An address that other machines can
    /// reach needs tls and authentication. Default: none.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub listen: Option<String>,
    /// Addresses and ports of EMCO's HTTP API, each for one of its services (orchestrator=, clm= or dcm= before it) or for all. As
    /// with listen. Default: none.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub emco_listen: Vec<String>,
    /// Loopback address and port of metrics for Prometheus. Default: none.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub metrics_listen: Option<String>,
    /// Certificate and key of the server: with them TLS is spoken wherever the API is asked. Default: none, and plain HTTP.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub tls: Option<tls::Files>,
    /// How callers prove who they are. Default: nobody has to, and whoever can connect may do everything.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub authentication: Option<dcm_identity::Settings>,
    /// Who may do what, where callers prove who they are. At most 10,000. Who is in none may do nothing.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub roles: Vec<RoleBinding>,
    /// How often each caller may ask, where callers prove who they are.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub requests: Option<Rate>,
    /// Labels that the namespaces of logical clouds get which project admins make, and which only platform admins change, where callers
    /// prove who they are. Default: pod-security.kubernetes.io/enforce: baseline. An empty mapping is none.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub namespace_labels: Option<BTreeMap<String, String>>,
    /// What kubeconfigs of registered clusters may do beyond holding their credentials. Default: nothing.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub kubeconfigs: Option<KubeconfigSettings>,
    /// What project admins may grant beyond what Kubernetes' role admin holds, and which namespaces and labels are not for them, where
    /// callers prove who they are.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub project_admins: Option<ProjectAdminSettings>,
    /// Whether clusters whose kubeconfig names no proxy are reached over the one that the environment names: HTTPS_PROXY, HTTP_PROXY and
    /// NO_PROXY, which are read as kubectl reads them. Default false.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub environment_proxy: Option<bool>,
    /// Networks that no connection to a cluster goes to, such as 10.1.0.0/16; the list takes the place of the default. Default: the
    /// link-local networks, 169.254.0.0/16 and fe80::/10. An empty list is none.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub denied_networks: Option<Vec<String>>,
    /// Objects that controllers of clusters put into every namespace, and that do not count as contents of others, as KIND[.GROUP]/NAME,
    /// where NAME may end with *, or KIND[.GROUP]:LABEL[=VALUE]; the list takes the place of the default. Default: those of Istio,
    /// OpenShift, GKE and trust-manager. An empty list is none.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub ignored_contents: Option<Vec<String>>,
    /// What whoever asks may take.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub limits: Option<LimitSettings>,
    /// Where spans are sent. Default: nowhere.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub otlp: Option<OtlpSettings>,
}

/// What is served.
#[derive(Debug, Clone)]
pub struct Serving {
    /// The deployment.
    pub configuration: Configuration,
    /// Whether a worker runs.
    pub worker: bool,
    /// Where the HTTP API is asked.
    pub listen: Option<ListenAddress>,
    /// Where EMCO's is, and for which of its services.
    pub emco_listen: Vec<(SocketAddr, BTreeSet<EmcoService>)>,
    /// Where metrics are given.
    pub metrics_listen: Option<SocketAddr>,
    /// Who is let in.
    pub access: AccessSettings,
    /// What whoever asks may take.
    pub limits: Limits,
    /// Where spans are sent.
    pub collector: Option<Collector>,
}

impl Settings {
    /// These, and what is not set in them as it is in others.
    #[must_use]
    pub fn over(self, below: Self) -> Self {
        let list = |own: Vec<String>, below| if own.is_empty() { below } else { own };
        Self {
            store: self.store.or(below.store),
            contexts_store: self.contexts_store.or(below.contexts_store),
            key_file: self.key_file.or(below.key_file),
            lease: self.lease.or(below.lease),
            audit_days: self.audit_days.or(below.audit_days),
            worker: self.worker.or(below.worker),
            listen: self.listen.or(below.listen),
            emco_listen: list(self.emco_listen, below.emco_listen),
            metrics_listen: self.metrics_listen.or(below.metrics_listen),
            tls: self.tls.or(below.tls),
            authentication: self.authentication.or(below.authentication),
            roles: if self.roles.is_empty() { below.roles } else { self.roles },
            requests: self.requests.or(below.requests),
            namespace_labels: self.namespace_labels.or(below.namespace_labels),
            kubeconfigs: match (self.kubeconfigs, below.kubeconfigs) {
                (Some(own), Some(below)) => Some(own.over(below)),
                (own, below) => own.or(below),
            },
            project_admins: self.project_admins.or(below.project_admins),
            environment_proxy: self.environment_proxy.or(below.environment_proxy),
            denied_networks: self.denied_networks.or(below.denied_networks),
            ignored_contents: self.ignored_contents.or(below.ignored_contents),
            limits: match (self.limits, below.limits) {
                (Some(own), Some(below)) => Some(own.over(below)),
                (own, below) => own.or(below),
            },
            otlp: match (self.otlp, below.otlp) {
                (Some(own), Some(below)) => Some(own.over(below)),
                (own, below) => own.or(below),
            },
        }
    }

    /// What is set where nobody sets anything, but for the store and its keys.
    #[must_use]
    pub fn defaults() -> Self {
        Self {
            lease: Some(duration::told(SESSION_LEASE)),
            audit_days: Some(AUDIT_DAYS),
            worker: Some(true),
            limits: Some(LimitSettings::of(Limits::default())),
            ..Self::default()
        }
    }

    /// The same to be shown: without passwords.
    #[must_use]
    pub fn shown(self) -> Self {
        let hidden = |url: Option<String>| url.map(|url| hiding::without_passwords(&url));
        Self { store: hidden(self.store), contexts_store: hidden(self.contexts_store), ..self }
    }

    /// What is served by these, with keys from another place where no file is set.
    ///
    /// # Errors
    /// All fields that break a rule.
    pub fn resolve(self, keys: Keys) -> Result<Serving, Refusals> {
        let mut checks = Checks::default();
        let root = Path::root();
        let listen = self.listen.as_deref().and_then(|text| {
            let read = text.parse::<ListenAddress>();
            read.map_err(|rule| checks.refuse(&root.field("listen"), text, rule.to_string())).ok()
        });
        let metrics_listen = metrics_address(self.metrics_listen.as_deref(), &mut checks);
        let emco = emco_addresses(&self.emco_listen, &root.field("emcoListen"), &mut checks);
        let limits = self.limits.unwrap_or_default().read(&root.field("limits"), &mut checks);
        let collector = self.otlp.and_then(|otlp| otlp.read(&root.field("otlp"), &mut checks));
        let lease = self
            .lease
            .as_deref()
            .and_then(|text| duration::read(text, Some(LEASE_MAX), &root.field("lease"), &mut checks));
        let audit_days = self.audit_days.unwrap_or(AUDIT_DAYS);
        if audit_days == 0 {
            checks.refuse(&root.field("auditDays"), "0", "must be 1 or more");
        }
        if self.store.is_none() {
            checks.refuse(&root.field("store"), "", "is missing");
        }
        check_transport("store", self.store.as_ref(), &mut checks);
        check_transport("contextsStore", self.contexts_store.as_ref(), &mut checks);
        let kubeconfigs = self.kubeconfigs.unwrap_or_default().read(&root.field("kubeconfigs"), &mut checks);
        let proxy = proxy(self.environment_proxy, &mut checks);
        let denied_networks = denied_networks(self.denied_networks, &mut checks);
        let ignored_contents = ignored_contents(self.ignored_contents, &mut checks);
        let caller_limits = caller_limits(
            self.namespace_labels,
            self.project_admins.as_ref(),
            self.authentication.is_some(),
            &mut checks,
        );
        let access = AccessSettings {
            tls: self.tls,
            authentication: self.authentication,
            roles: self.roles,
            requests: self.requests,
            limits: caller_limits,
        };
        checks.include(&root, access.check());
        let configuration = Configuration {
            contexts_store: self.contexts_store.map(Into::into),
            lease: lease.unwrap_or(SESSION_LEASE),
            audit_days,
            kubeconfigs,
            proxy,
            denied_networks,
            ignored_contents,
            ..Configuration::new(self.store.unwrap_or_default(), self.key_file.map_or(keys, Keys::File))
        };
        checks.finish(Some(Serving {
            configuration,
            worker: self.worker.unwrap_or(true),
            listen,
            emco_listen: emco_address::joined(&emco),
            metrics_listen,
            access,
            limits,
            collector,
        }))
    }
}

/// Refuses a store on another machine that would be spoken to in clear. The URL is not shown: it may have a password.
fn check_transport(field: &str, url: Option<&String>, checks: &mut Checks) {
    let refused = url.and_then(|url| StoreUrl::from(url.as_str()).check_transport().err());
    if let Some(rule) = refused {
        checks.refuse(&Path::root().field(field), "", rule);
    }
}

/// Where metrics are asked.
fn metrics_address(text: Option<&str>, checks: &mut Checks) -> Option<SocketAddr> {
    let text = text?;
    let read = text.parse::<SocketAddr>();
    if read.is_err() {
        let rule = "must be an address with a port, such as 127.0.0.1:9077";
        checks.refuse(&Path::root().field("metricsListen"), text, rule);
    }
    read.ok()
}

/// Where EMCO's API is asked.
fn emco_addresses(texts: &[String], path: &Path, checks: &mut Checks) -> Vec<EmcoAddress> {
    let read = |(index, text): (usize, &String)| {
        let address = text.parse::<EmcoAddress>();
        address.map_err(|rule| checks.refuse(&path.item(index), text, rule)).ok()
    };
    texts.iter().enumerate().filter_map(read).collect()
}

/// What the proxies of the environment are used for.
fn proxy(is_used: Option<bool>, checks: &mut Checks) -> Proxy {
    let environment = EnvironmentProxies::of_process();
    if is_used != Some(true) {
        return Proxy::Unused { environment, setting: "the server's setting environmentProxy" };
    }
    if let Err(invalid) = environment.check() {
        checks.refuse(&Path::root().field("environmentProxy"), "", causes::told(&invalid));
    }
    Proxy::Environment(environment)
}

/// The networks that no connection to a cluster goes to.
fn denied_networks(texts: Option<Vec<String>>, checks: &mut Checks) -> DeniedNetworks {
    let Some(texts) = texts else { return DeniedNetworks::default() };
    let path = Path::root().field("deniedNetworks");
    if texts.len() > NETWORKS_MAX {
        checks.refuse(&path, &texts.len().to_string(), format!("must have at most {NETWORKS_MAX} entries"));
    }
    let read = |(index, text): (usize, &String)| {
        let network = text.parse::<Network>();
        network.map_err(|rule| checks.refuse(&path.item(index), text, rule.to_string())).ok()
    };
    texts.iter().take(NETWORKS_MAX).enumerate().filter_map(read).collect()
}

/// What does not count as contents of a namespace.
fn ignored_contents(texts: Option<Vec<String>>, checks: &mut Checks) -> IgnoredContents {
    let Some(texts) = texts else { return IgnoredContents::default() };
    let path = Path::root().field("ignoredContents");
    if texts.len() > IGNORED_CONTENTS_MAX {
        let rule = format!("must have at most {IGNORED_CONTENTS_MAX} entries");
        checks.refuse(&path, &texts.len().to_string(), rule);
    }
    let read = |(index, text): (usize, &String)| {
        let objects = text.parse::<IgnoredObjects>();
        objects.map_err(|rule| checks.refuse(&path.item(index), text, rule.to_string())).ok()
    };
    texts.iter().take(IGNORED_CONTENTS_MAX).enumerate().filter_map(read).collect()
}

/// What callers are held to that may not do everything; none: as is default.
fn caller_limits(
    namespace_labels: Option<BTreeMap<String, String>>,
    project_admins: Option<&ProjectAdminSettings>,
    asks_who: bool,
    checks: &mut Checks,
) -> Option<CallerLimits> {
    let path = Path::root().field("projectAdmins");
    if project_admins.is_some() && !asks_who {
        checks.refuse(&path, "", "is for callers who prove who they are: set authentication");
        return None;
    }
    if namespace_labels.is_none() && project_admins.is_none() {
        return None;
    }
    let mut limits = CallerLimits::default();
    limits.namespace_labels = namespace_labels.unwrap_or(limits.namespace_labels);
    if let Some(settings) = project_admins {
        settings.add_to(&mut limits, &path, checks);
    }
    Some(limits)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(text: &str) -> Settings {
        serde_saphyr::from_str(text).unwrap()
    }

    fn refused(text: &str) -> Vec<String> {
        let refusals = read(text).resolve(Keys::Variable("DCM_KEYS".to_owned())).unwrap_err();
        refusals.into_iter().map(|refusal| refusal.to_string()).collect()
    }

    #[test]
    fn what_is_not_set_is_as_it_is_below() {
        let above = read("listen: 127.0.0.1:1\nworker: false\notlp: {endpoint: 'http://[::1]:1'}");
        let below = read(
            "listen: 127.0.0.1:2\nauditDays: 7\nemcoListen: ['clm=127.0.0.1:3']\notlp: {insecure: true}",
        );
        let whole = above.over(below).over(Settings::defaults());
        let expected = "lease: 10s\nauditDays: 7\nworker: false\nlisten: 127.0.0.1:1\nemcoListen: ['clm=127.0.0.1:3']\n\
            limits: {connectionsMax: 16384, requestsMax: 4096, bodyBytesMax: 67108864, followersMax: 1024, followersPerCallerMax: 128, bodyTimeout: 1m, \
            idleTimeout: 30s, answerTimeout: 30s}\n\
            otlp: {endpoint: 'http://[::1]:1', insecure: true}";
        assert_eq!(whole, read(expected));
    }

    #[test]
    fn everything_that_breaks_a_rule_is_told_with_its_field() {
        let text = "listen: localhost\nmetricsListen: '1'\nemcoListen: ['ncm=127.0.0.1:1']\nlease: 2h\nauditDays: 0\nroles:\n\
            - {role: project-admin}\n- {role: platform-admin, projects: [p], users: ['system:x']}\nrequests: {burst: 0}\n\
            limits: {requestsMax: 0, bodyBytesMax: 8388607}\n\
            otlp: {endpoint: 'https://ann:hunter2@h', insecure: true}\n";
        let expected = [
            "listen: must be an address with a port, such as 127.0.0.1:9077, or a socket, such as unix:/run/dcm/api.sock (found \"localhost\")",
            "metricsListen: must be an address with a port, such as 127.0.0.1:9077 (found \"1\")",
            "emcoListen[0]: a service is orchestrator, clm or dcm, not \"ncm\" (found \"ncm=127.0.0.1:1\")",
            "limits.requestsMax: must be 1 or more (found \"0\")",
            "limits.bodyBytesMax: must be 8388608 or more (found \"8388607\")",
            "otlp.endpoint: must be a URL such as http://127.0.0.1:4318, without user, query and fragment",
            "lease: must be a duration such as 10s, of at most 1h (found \"2h\")",
            "auditDays: must be 1 or more (found \"0\")",
            "store: is missing",
            "roles: is for callers who prove who they are: set authentication",
            "requests: is for callers who prove who they are: set authentication",
            "requests.burst: must be 1 or more (found \"0\")",
            "roles[0].projects: names no project",
            "roles[0]: names neither users nor groups",
            "roles[1].projects: must not be there: the role is for all projects, or for none",
        ];
        let refused = refused(text);
        assert_eq!(refused[..expected.len()], expected);
        assert!(refused[expected.len()].starts_with("roles[1].users[0]: "), "{refused:?}");
        assert_eq!(refused.len(), expected.len() + 1);
    }

    #[test]
    fn stores_on_other_machines_need_tls_and_passwords_are_not_shown() {
        let text = "store: 'etcd://ann:hunter2@etcd.example'\ncontextsStore: 'mongodb://mongo.example'";
        let refused = refused(text);
        assert!(refused[0].starts_with("store: etcd.example:2379 is another machine"), "{refused:?}");
        assert!(refused[1].starts_with("contextsStore: mongo.example"), "{refused:?}");
        assert!(refused.len() == 2 && !format!("{refused:?}").contains("hunter2"), "{refused:?}");
    }

    #[test]
    fn callers_who_prove_who_they_are_need_a_way_to_and_somebody_needs_a_role() {
        assert_eq!(
            refused("store: 'memory:'\nauthentication: {}"),
            [
                "authentication: names no way for a caller to prove who they are",
                "roles: must bind somebody to a role: nobody else may do anything",
            ]
        );
        let text = "store: 'memory:'\nauthentication: {clientCertificates: {authorities: a}}\nroles: [{role: platform-admin, users: [a]}]";
        assert_eq!(
            refused(text),
            ["authentication.clientCertificates: needs tls: they are shown in its handshake"]
        );
    }
}
