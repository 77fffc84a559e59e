//! What people want of app contexts in a simulation.

use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;
use std::net::{IpAddr, SocketAddr};
use std::sync::Arc;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use dcm_core::app_context::{
    Action, AppContext, Bundle, CertificateRequest, Change, DataMember, Drift, Edit, Existing, Request,
    Resolver, Stage, Step, TokenRequest,
};
use dcm_core::corefile::DNS_PORT;
use dcm_core::manifest::Manifest;
use dcm_core::name::{AppName, ClusterId, ContextId, DnsZone};
use dcm_core::port::clock::Random as _;
use dcm_core::port::synchronizer::{Disposal, Removal};
use serde_json::{Value, json};

use crate::sim::{Seeded, cluster_id};

/// What somebody wants of one app context.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case", rename_all_fields = "camelCase")]
pub enum Wish {
    /// It is to be there, in this variant.
    Apply(Variant),
    /// It is to be there, in this variant, on clusters that are as somebody saw them who planned it.
    ApplyAsPlanned(Variant),
    /// It is to be gone.
    Remove {
        /// With what others put into its namespace.
        delete_contents: bool,
        /// How long each cluster may take, in seconds.
        #[serde(default)]
        deadline: Option<u32>,
    },
    /// The work on it pauses.
    Stop,
    /// The work on it goes on.
    Resume,
    /// What is known of it is dropped, as soon as it is gone.
    Forget,
    /// It is to be there, in this variant, and [`REVOKED`] is to lose all rights at once.
    Withdraw(Variant),
}

/// One of many desired states of an app context, with what is done about others: a number says all of it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct Variant(pub u64);

impl Wish {
    /// Gone, with everything, however long it takes.
    pub const GONE: Self = Self::Remove { delete_contents: true, deadline: None };

    /// In which variant it is to be there, if it is.
    #[must_use]
    pub fn variant(self) -> Option<Variant> {
        match self {
            Self::Apply(variant) | Self::ApplyAsPlanned(variant) => Some(variant),
            Self::Remove { .. } | Self::Stop | Self::Resume | Self::Forget | Self::Withdraw(_) => None,
        }
    }
}

/// The app context of a number.
///
/// # Panics
/// Never: the name follows the rule.
#[must_use]
pub fn context_id(number: usize) -> ContextId {
    ContextId::new(format!("context-{number}")).unwrap_or_else(|error| unreachable!("{error}"))
}

/// What the names of the app contexts' namespaces begin with.
pub(super) const NAMESPACES: &str = "team-";

/// The namespace of the app context of a number.
#[must_use]
pub fn namespace(number: usize) -> String {
    format!("{NAMESPACES}{number}")
}

/// The ConfigMap that is there before anybody wants it, and that some variants adopt.
pub(super) const ADOPTED: &str = "shared";

/// What it says, under the key `theirs`.
pub(super) const THEIRS: &str = "1";

/// The ServiceAccount of a namespace.
pub(super) const ACCOUNT: &str = "ci";

/// The namespace in which [`ADOPTED`] is.
pub(super) const COMMON: &str = "common";

/// How many kinds of objects a variant has or has not.
const PARTS: u64 = 7;

/// How many desired states there are under each set of policies: [`Variant`]s that differ by a multiple of it are of the
/// same state.
pub const STATES: u64 = 64;

/// How many sets of policies there are.
pub(super) const POLICIES: u64 = 16;

/// Beside its state and its policies, a variant has a place on the twin, too, where its number has this added.
const TWIN: u64 = STATES * POLICIES;

/// Added to the number of a variant: no binding names [`REVOKED`] any more.
const WITHDRAWN: u64 = 2 * TWIN;

/// Added to the number of a variant: it edits a part of [`EDITED`], too.
const EDITS: u64 = 4 * TWIN;

/// The ConfigMap of other clients that some variants edit a part of, and the member that they edit.
pub(super) const EDITED: (&str, &str) = ("coredns", "Corefile");

/// The user that loses its rights.
pub const REVOKED: &str = "holder-1";

/// The name that it has from then on.
const RENEWED: &str = "holder-2";

/// The second name of a cluster ([`Scenario::twin`](super::Scenario::twin)).
///
/// # Panics
/// Never: the name follows the rule.
#[must_use]
pub fn twin_id() -> ClusterId {
    ClusterId::new("sim", "twin").unwrap_or_else(|error| unreachable!("{error}"))
}

/// What is done about others: what the number of a variant says beside the state.
#[derive(Debug, Clone, Copy)]
struct Policies {
    /// What becomes of the object that is there before.
    existing: Existing,
    /// What others change is only reported.
    reports: bool,
    /// What a removal does with objects.
    disposal: Disposal,
}

impl Policies {
    fn of(number: u64) -> Self {
        let existing = match number % 4 {
            0 | 1 => Existing::Adopt,
            2 => Existing::AdoptIfEqual,
            _ => Existing::Overwrite,
        };
        let disposal = if number & 8 == 0 { Disposal::Delete } else { Disposal::Keep };
        Self { existing, reports: number & 4 != 0, disposal }
    }
}

impl Variant {
    /// The same, and in place of one of the clusters under its second name, too.
    #[must_use]
    pub fn with_twin(self) -> Self {
        if self.has_twin() { self } else { Self(self.0 + TWIN) }
    }

    fn has_twin(self) -> bool {
        self.0 / TWIN % 2 == 1
    }

    /// The same, without any right of [`REVOKED`].
    #[must_use]
    pub fn withdrawn(self) -> Self {
        if self.is_withdrawn() { self } else { Self(self.0 + WITHDRAWN) }
    }

    fn is_withdrawn(self) -> bool {
        self.0 / WITHDRAWN % 2 == 1
    }

    /// The same, with a stub domain in a Corefile of other clients.
    #[must_use]
    pub fn with_edit(self) -> Self {
        if self.has_edit() { self } else { Self(self.0 + EDITS) }
    }

    pub(super) fn has_edit(self) -> bool {
        self.0 / EDITS % 2 == 1
    }

    /// The desired state that it is of an app context, over some of so many clusters.
    #[must_use]
    pub fn of(self, context: usize, clusters: usize) -> AppContext {
        let random = Seeded::new(self.0 % STATES);
        let policies = self.policies();
        let one = self.bundle(context, &random);
        // Some clusters get less than others.
        let other = self.bundle(context, &random);
        let mut placements: BTreeMap<ClusterId, Arc<Bundle>> = BTreeMap::new();
        for number in 1..=clusters {
            if random.below(4) > 0 || (number == clusters && placements.is_empty()) {
                let bundle = if random.below(3) > 0 { &one } else { &other };
                placements.insert(cluster_id(number), bundle.clone());
            }
        }
        if self.has_twin() {
            placements.insert(twin_id(), other);
        }
        AppContext {
            id: context_id(context),
            labels: BTreeMap::new(),
            removal: Removal { objects: Some(policies.disposal), ..Removal::default() },
            placements,
        }
    }

    fn policies(self) -> Policies {
        Policies::of(self.0 / STATES)
    }

    fn bundle(self, context: usize, random: &Seeded) -> Arc<Bundle> {
        let (name, policies) = (namespace(context), self.policies());
        let drift = if policies.reports { Drift::Report } else { Drift::default() };
        let parts = random.next();
        let has = |part: u64| parts >> (part % PARTS) & 1 == 1;
        let mut steps = vec![object(0, namespace_body(&name))];
        if has(0) {
            steps.push(apply(1, quota(&name, random.below(3)), Existing::Refuse, drift.clone()));
        }
        if has(1) {
            steps.push(apply(1, role(&name, "reader", random.below(3)), Existing::Refuse, drift));
        }
        if has(2) {
            steps.push(object(1, role(&name, "writer", 0)));
        }
        steps.push(object(1, service_account(&name)));
        if has(3) {
            steps.push(object(2, cluster_role(context)));
        }
        if has(4) && context == 1 {
            steps.push(adopted(random.below(2), policies.existing));
        }
        if has(6) {
            steps.push(object(2, binding(&name, self.is_withdrawn(), random.below(2))));
        }
        if self.has_edit() {
            steps.push(edit(context, parts >> PARTS));
        }
        steps.push(certificate(context, random.below(SERIALS)));
        if has(5) {
            steps.push(token(&name, random.below(2)));
        }
        Arc::new(Bundle::new(steps).unwrap_or_else(|error| unreachable!("{error}")))
    }
}

fn step(stage: u16, action: Action) -> Step {
    let app = AppName::new("app").unwrap_or_else(|error| unreachable!("{error}"));
    Step { app, stage: Stage(stage), action }
}

fn apply(stage: u16, body: Value, existing: Existing, drift: Drift) -> Step {
    let manifest = Manifest::new(body).unwrap_or_else(|error| unreachable!("{error}"));
    step(stage, Action::Apply { manifest, existing, drift })
}

fn object(stage: u16, body: Value) -> Step {
    apply(stage, body, Existing::Refuse, Drift::default())
}

fn namespace_body(name: &str) -> Value {
    json!({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": name}})
}

fn quota(namespace: &str, form: u64) -> Value {
    let hard = match form {
        0 => json!({"pods": "10"}),
        1 => json!({"pods": "10", "requests.cpu": "4"}),
        _ => json!({"requests.cpu": "2500m"}),
    };
    json!({"apiVersion": "v1", "kind": "ResourceQuota",
        "metadata": {"name": "quota", "namespace": namespace}, "spec": {"hard": hard}})
}

fn role(namespace: &str, name: &str, form: u64) -> Value {
    let verbs = &["get", "list", "watch"][..=usize::try_from(form).unwrap_or(0)];
    json!({"apiVersion": "rbac.authorization.k8s.io/v1", "kind": "Role",
        "metadata": {"name": name, "namespace": namespace},
        "rules": [{"apiGroups": [""], "resources": ["pods"], "verbs": verbs}]})
}

/// Binds the user that may lose its rights, alone or with another one.
fn binding(namespace: &str, is_withdrawn: bool, form: u64) -> Value {
    let group = "rbac.authorization.k8s.io";
    let holder = if is_withdrawn { RENEWED } else { REVOKED };
    let users = &[holder, "other"][..=usize::try_from(form).unwrap_or(0)];
    let subjects: Vec<Value> =
        users.iter().map(|name| json!({"kind": "User", "name": name, "apiGroup": group})).collect();
    json!({"apiVersion": format!("{group}/v1"), "kind": "RoleBinding",
        "metadata": {"name": "holder", "namespace": namespace},
        "roleRef": {"apiGroup": group, "kind": "Role", "name": "reader"}, "subjects": subjects})
}

/// What the names of the app contexts' ClusterRoles end with.
pub(super) const CLUSTER_ROLES: &str = "-nodes";

fn cluster_role(context: usize) -> Value {
    json!({"apiVersion": "rbac.authorization.k8s.io/v1", "kind": "ClusterRole",
        "metadata": {"name": format!("context-{context}{CLUSTER_ROLES}")},
        "rules": [{"apiGroups": [""], "resources": ["nodes"], "verbs": ["list"]}]})
}

fn service_account(namespace: &str) -> Value {
    json!({"apiVersion": "v1", "kind": "ServiceAccount", "metadata": {"name": ACCOUNT, "namespace": namespace}})
}

/// Says something about what somebody else made: more than they did, another thing, or the same.
fn adopted(form: u64, existing: Existing) -> Step {
    let data = match existing {
        Existing::Overwrite => json!({"theirs": format!("not {form}")}),
        Existing::AdoptIfEqual => json!({"theirs": THEIRS}),
        Existing::Adopt | Existing::Refuse => json!({"ours": form.to_string()}),
    };
    let body = json!({"apiVersion": "v1", "kind": "ConfigMap",
        "metadata": {"name": ADOPTED, "namespace": COMMON}, "data": data});
    apply(1, body, existing, Drift::default())
}

/// What the names of the app contexts' zones begin with.
pub(super) const ZONES: &str = "zone-";

/// Forwards the zone of an app context to one of two addresses.
fn edit(context: usize, form: u64) -> Step {
    let zone = DnsZone::new(format!("{ZONES}{context}")).unwrap_or_else(|error| unreachable!("{error}"));
    let address = IpAddr::from([10, 96, 0, if form.is_multiple_of(2) { 1 } else { 2 }]);
    let resolver = Resolver::Address(SocketAddr::new(address, DNS_PORT));
    let (name, member) = EDITED;
    let target = DataMember { namespace: COMMON.into(), name: name.into(), member: member.into() };
    let edit = Edit { target, change: Change::StubDomain { zone, resolver } };
    step(1, Action::Edit { edit })
}

/// How many requests for certificates a context has at different times.
const SERIALS: u64 = 2;

fn request_name(context: usize, serial: u64) -> String {
    format!("context-{context}-developer-{serial}")
}

/// The names of all requests for certificates of the first contexts.
pub(super) fn request_names() -> Vec<String> {
    let contexts = 1..=usize::try_from(super::scenario::CONTEXTS_MAX).unwrap_or(1);
    contexts.flat_map(|context| (0..SERIALS).map(move |serial| request_name(context, serial))).collect()
}

/// How long credentials are good: longer than a simulation, and than the clocks of workers are apart.
const LIFETIME_SECONDS: i32 = 24 * 3600;

fn certificate(context: usize, serial: u64) -> Step {
    let text = STANDARD.encode(format!("a request of context {context}"));
    let certificate = CertificateRequest {
        object_name: request_name(context, serial).into(),
        csr_pem: format!("-----BEGIN CERTIFICATE REQUEST-----\n{text}\n-----END CERTIFICATE REQUEST-----\n")
            .into(),
        signer: "kubernetes.io/kube-apiserver-client".into(),
        lifetime_seconds: Some(LIFETIME_SECONDS),
    };
    let name = format!("developer/{serial}").into();
    step(3, Action::Request { name, request: Request::Certificate(certificate) })
}

fn token(namespace: &str, serial: u64) -> Step {
    let token = TokenRequest {
        namespace: namespace.into(),
        service_account: ACCOUNT.into(),
        // So that one request is told from the other.
        lifetime_seconds: i64::try_from(serial).ok().map(|serial| i64::from(LIFETIME_SECONDS) + serial),
    };
    step(3, Action::Request { name: format!("ci/{serial}").into(), request: Request::Token(token) })
}
