//! Preflight: whether a cluster is ready for logical clouds, and the least rights that the engine needs there.
//!
//! [`Needs`] are the accesses that rendering, the engine and its adapter come to use; [`check`] asks the cluster for each
//! of them by a SelfSubjectAccessReview, and [`rules`] and [`cluster_role`] write those that are missing (or
//! all) as the least ClusterRole. Watches follow all namespaces, so a Role would not do.
//!
//! Two rights are needed in the namespaces of logical clouds alone ([`Access::in_namespaces`]): `list` of every resource, as what others put into
//! a namespace is counted before it is deleted, and tokens of ServiceAccounts. They are those of a ClusterRole of their own
//! ([`namespace_role`]), which the engine binds to itself in each namespace that needs it.
//!
//! `escalate` and `bind` on roles are large: Kubernetes lets no user give what that user does not have. With them the engine needs
//! none of the tenants' own rights. RBAC can't confine them to the engine's own namespaces. [`Guarded`] makes the admission policy that
//! confines writes.

mod guard;
mod guarding;
mod inspection;
mod namespaced;

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

pub use guard::Guarded;
pub use guarding::Guard;
pub use inspection::{InspectError, Inspection, Other, Twin, Unready};
use jiff::{SignedDuration, Timestamp};
use k8s_openapi::api::rbac::v1::{ClusterRole, PolicyRule};
use k8s_openapi::apimachinery::pkg::apis::meta::v1::ObjectMeta;
pub use namespaced::namespace_role;
use serde::{Deserialize, Serialize};

use crate::logical_cloud::{Level, LogicalCloud, Scope};
use crate::manifest::GroupVersionKind;
pub use crate::pod_security::{InvalidPodSecurityLevel, PodSecurityLevel};
use crate::port::clock::Clock;
use crate::port::cluster::{Access, Call, Cluster, Error, NAMESPACE_ROLE};
use crate::port::resources::{self, Resources};
use crate::render::SIGNER;

/// The oldest minor version of Kubernetes 1 that works: server-side apply is stable, and certificates have a lifetime
/// that can be asked for, from 1.22 on.
pub const MINOR_VERSION_MIN: u32 = 22;

/// Most difference between our time and the cluster's, in seconds. Certificates begin to be valid some minutes before
/// they are signed, and tokens have no such grace.
pub const CLOCK_SKEW_SECONDS_MAX: i64 = 60;

const RBAC: &str = "rbac.authorization.k8s.io";
const CERTIFICATES: &str = "certificates.k8s.io";

/// Annotation: the resources of a ClusterRole that were guessed, with commas between them.
pub const ANNOTATION_GUESSED: &str = "dcm.internal/guessed-resources";

/// What the engine does with objects: reads and follows them, makes them, brings them to their desired state (by apply
/// or, where fields have to go, by replacement), and removes them.
const VERBS: [&str; 7] = ["create", "delete", "get", "list", "patch", "update", "watch"];

/// What a certificate request goes through: it is never changed, only approved.
const REQUEST_VERBS: [&str; 5] = ["create", "delete", "get", "list", "watch"];

/// The accesses that are needed on a cluster; none by default.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Needs {
    accesses: BTreeSet<Access>,
    /// Those of kinds whose resource was guessed.
    guessed: BTreeMap<GroupVersionKind, BTreeSet<Access>>,
}

/// A resource that was guessed from a kind, as its name was not known.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "camelCase")]
pub struct Guess {
    /// The kind with its group and version, such as `example.com/v1 Box`.
    pub kind: String,
    /// The resource that Kubernetes would guess of it, with its group, such as `boxs.example.com`.
    pub resource: String,
}

impl Needs {
    /// What any logical cloud of a level needs, without extra manifests.
    #[must_use]
    pub fn of_level(level: Level) -> Self {
        let mut needs = Self::default();
        if level == Level::Admin {
            // Nothing is changed there; who the cluster is, is asked all the same.
            needs.add(&["get"], "", "namespaces");
            return needs;
        }
        for resource in ["limitranges", "namespaces", "resourcequotas", "serviceaccounts"] {
            needs.add(&VERBS, "", resource);
        }
        needs.add(&REQUEST_VERBS, CERTIFICATES, "certificatesigningrequests");
        let approval = Access::new("patch", CERTIFICATES, "certificatesigningrequests");
        needs.accesses.insert(Access { subresource: "approval".into(), ..approval });
        needs
            .accesses
            .insert(Access { name: SIGNER.into(), ..Access::new("approve", CERTIFICATES, "signers") });
        needs.add_roles("roles", "rolebindings");
        if level == Level::Privileged {
            needs.add_roles("clusterroles", "clusterrolebindings");
        }
        // Bindings of others that still name a revoked user, and orphans, are looked for.
        needs.add(&["list"], RBAC, "clusterrolebindings");
        needs.add(&["list"], RBAC, "clusterroles");
        needs.accesses.extend(["bind", "get"].map(|verb| {
            let role = Access::new(verb, RBAC, "clusterroles");
            Access { name: NAMESPACE_ROLE.into(), ..role }
        }));
        needs
    }

    /// What one logical cloud needs, its extra manifests included. The resource of a kind that is not of Kubernetes itself is a
    /// guess, unless the cloud brings its definition: see [`Needs::on`].
    #[must_use]
    pub fn of_cloud(cloud: &LogicalCloud) -> Self {
        let cluster_wide = cloud.permissions().iter().any(|one| one.scope == Scope::ClusterWide);
        let mut needs = Self::of_level(match cloud.level() {
            Level::Privileged if !cluster_wide => Level::Standard,
            level => level,
        });
        if let Some(mesh) = cloud.service_mesh() {
            needs.add(&VERBS, "", "secrets");
            if mesh.dns().is_some() {
                needs.add(&VERBS, "", "configmaps");
                needs.add(&VERBS, "", "services");
                needs.add(&VERBS, "apps", "deployments");
            }
        }
        let defined = Resources::default().with_definitions(cloud.manifests());
        for manifest in cloud.manifests() {
            let (kind, resource) = (manifest.kind(), resources::guess(&manifest.kind().kind));
            if resources::is_own_group(&kind.group) {
                needs.add(&VERBS, &kind.group, &resource);
            } else {
                needs.guessed.insert(kind.clone(), accesses(&VERBS, &kind.group, &resource).collect());
            }
        }
        needs.on(&defined)
    }

    /// Puts the resources that a cluster serves in the place of guesses. What it does not serve stays a guess.
    #[must_use]
    pub fn on(mut self, resources: &Resources) -> Self {
        let guessed = std::mem::take(&mut self.guessed);
        for (kind, accesses) in guessed {
            match resources.of_kind(&kind) {
                Some(served) => self.add(&VERBS, &served.group, &served.name),
                None => drop(self.guessed.insert(kind, accesses)),
            }
        }
        self
    }

    /// The resources that were guessed.
    #[must_use]
    pub fn guesses(&self) -> Vec<Guess> {
        let guess = |kind: &GroupVersionKind| Guess {
            kind: kind.to_string(),
            resource: format!("{}.{}", resources::guess(&kind.kind), kind.group),
        };
        self.guessed.keys().map(guess).collect()
    }

    /// What both need.
    #[must_use]
    pub fn and(mut self, other: Self) -> Self {
        self.accesses.extend(other.accesses);
        self.guessed.extend(other.guessed);
        self
    }

    /// True where namespaces of logical clouds are made: what is needed in them ([`Access::in_namespaces`]) is needed, too.
    #[must_use]
    pub fn has_namespaces(&self) -> bool {
        self.accesses.contains(&Access::new("create", "", "namespaces"))
    }

    /// The accesses in all namespaces and in the cluster.
    pub fn accesses(&self) -> impl Iterator<Item = &Access> {
        self.accesses.iter().chain(self.guessed.values().flatten())
    }

    fn add(&mut self, verbs: &[&str], group: &str, resource: &str) {
        self.accesses.extend(accesses(verbs, group, resource));
    }

    fn add_roles(&mut self, roles: &str, bindings: &str) {
        self.add(&VERBS, RBAC, roles);
        self.add(&["bind", "escalate"], RBAC, roles);
        self.add(&VERBS, RBAC, bindings);
    }
}

/// An access for each verb.
fn accesses(verbs: &[&str], group: &str, resource: &str) -> impl Iterator<Item = Access> {
    verbs.iter().map(move |verb| Access::new(verb, group, resource))
}

/// What a preflight found.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "camelCase")]
pub struct Findings {
    /// The version that the cluster says it has.
    pub version: String,
    /// The version is older than the oldest that is supported. False where it can't be read.
    pub too_old: bool,
    /// Seconds that the cluster's clock is ahead of ours (negative: behind); none when it tells no time. Its answers
    /// have whole seconds.
    pub clock_skew_seconds: Option<i64>,
    /// The least rules that are missing; empty when nothing is.
    #[cfg_attr(feature = "schema", schemars(with = "Vec<MissingRule>"))]
    pub missing: Vec<PolicyRule>,
    /// The rules that the ClusterRole `dcm:namespace` lacks: all where the cluster does not have it, or the user may not read it; empty where the
    /// user has their rights in all namespaces.
    #[cfg_attr(feature = "schema", schemars(with = "Vec<MissingRule>"))]
    pub missing_in_namespaces: Vec<PolicyRule>,
    /// Resources of kinds that the cluster is not known to serve: their rights were looked at under a name that is a guess. Absent where there are
    /// none.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub guessed: Vec<Guess>,
    /// Whether an admission policy confines the cluster's user. A cluster without it is ready all the same.
    pub guard: Guard,
}

/// What is used here of a rule of RBAC.
#[cfg(feature = "schema")]
#[derive(schemars::JsonSchema)]
#[schemars(rename = "PolicyRule", rename_all = "camelCase")]
#[expect(dead_code, reason = "it is a schema, and nothing else")]
struct MissingRule {
    /// API groups; the empty text is the core group.
    api_groups: Vec<String>,
    /// Resources in the plural.
    resources: Vec<String>,
    /// Names of single objects; absent: all.
    #[schemars(skip_serializing_if = "Option::is_none")]
    resource_names: Option<Vec<String>>,
    /// Verbs.
    verbs: Vec<String>,
}

impl Findings {
    /// True when logical clouds will work there.
    #[must_use]
    pub fn is_ready(&self) -> bool {
        !self.too_old && self.has_rights() && !self.is_skewed()
    }

    /// True when no right is missing.
    #[must_use]
    pub fn has_rights(&self) -> bool {
        self.missing.is_empty() && self.missing_in_namespaces.is_empty()
    }

    /// True when the clocks differ by more than [`CLOCK_SKEW_SECONDS_MAX`].
    #[must_use]
    pub fn is_skewed(&self) -> bool {
        self.clock_skew_seconds.is_some_and(|seconds| seconds.abs() > CLOCK_SKEW_SECONDS_MAX)
    }
}

/// Asks a cluster for its version, its time and each access, and looks whether the guard is in force.
///
/// # Errors
/// [`Error`] when the cluster can't be asked.
pub async fn check(
    cluster: &dyn Cluster,
    call: &Call,
    needs: &Needs,
    clock: &dyn Clock,
) -> Result<Findings, Error> {
    let needs = &on_cluster(cluster, call, needs).await?;
    let asked = clock.now();
    let info = cluster.server_info(call).await?;
    let answered = clock.now();
    let mut missing = refused(cluster, call, needs.accesses().cloned().collect()).await?;
    let missing_in_namespaces = if needs.has_namespaces() {
        namespaced::missing(cluster, call, &mut missing).await?
    } else {
        Vec::new()
    };
    let guard = guarding::look(cluster, call, needs, &missing).await;
    Ok(Findings {
        too_old: minor_version(&info.version).is_some_and(|minor| minor < MINOR_VERSION_MIN),
        version: info.version,
        clock_skew_seconds: info.time.map(|time| skew(time, asked, answered).as_secs()),
        missing: rules(&missing),
        missing_in_namespaces: rules(&missing_in_namespaces),
        guessed: needs.guesses(),
        guard,
    })
}

/// The needs with the resources that a cluster serves in the place of guesses. The guesses stay where its discovery fails.
async fn on_cluster(cluster: &dyn Cluster, call: &Call, needs: &Needs) -> Result<Needs, Error> {
    let needs = needs.clone();
    if needs.guessed.is_empty() {
        return Ok(needs);
    }
    match cluster.resources(call).await {
        Ok(resources) => Ok(needs.on(&resources)),
        Err(error) if error.is_about_cluster() => Err(error),
        Err(_) => Ok(needs),
    }
}

/// Those of some accesses that the cluster does not give.
async fn refused(cluster: &dyn Cluster, call: &Call, accesses: Vec<Access>) -> Result<Vec<Access>, Error> {
    let answers = cluster.review(call, &accesses).await?;
    let refused = accesses.into_iter().zip(answers).filter(|(_, allowed)| !allowed);
    Ok(refused.map(|(access, _)| access).collect())
}

/// How far a time is outside the span in which it was told; it has whole seconds, so one more is none.
fn skew(told: Timestamp, asked: Timestamp, answered: Timestamp) -> SignedDuration {
    let second = SignedDuration::from_secs(1);
    if told > answered {
        told.duration_since(answered)
    } else if told + second < asked {
        (told + second).duration_since(asked)
    } else {
        SignedDuration::ZERO
    }
}

/// The minor version of Kubernetes 1: 36 of `v1.36.3`.
fn minor_version(version: &str) -> Option<u32> {
    let minor = version.strip_prefix("v1.")?.split('.').next()?;
    minor.trim_end_matches('+').parse().ok()
}

/// The least ClusterRole that gives what is needed. An annotation ([`ANNOTATION_GUESSED`]) names the resources that were guessed.
#[must_use]
pub fn least_role(name: &str, needs: &Needs) -> ClusterRole {
    marked(cluster_role(name, rules(needs.accesses())), &needs.guesses())
}

/// A ClusterRole with an annotation ([`ANNOTATION_GUESSED`]) that names the resources that were guessed, if there are any.
#[must_use]
pub fn marked(mut role: ClusterRole, guesses: &[Guess]) -> ClusterRole {
    if !guesses.is_empty() {
        let resources: Vec<&str> = guesses.iter().map(|guess| &*guess.resource).collect();
        let annotation = (ANNOTATION_GUESSED.to_owned(), resources.join(","));
        role.metadata.annotations = Some(BTreeMap::from([annotation]));
    }
    role
}

/// A ClusterRole of these rules.
#[must_use]
pub fn cluster_role(name: &str, rules: Vec<PolicyRule>) -> ClusterRole {
    ClusterRole {
        metadata: ObjectMeta { name: Some(name.to_owned()), ..ObjectMeta::default() },
        rules: Some(rules),
        aggregation_rule: None,
    }
}

/// Verbs, in order.
type Verbs = BTreeSet<Arc<str>>;

/// What a rule is about: group, name (empty for all) and resource.
type Subject = (Arc<str>, Arc<str>, String);

/// What the resources of one rule have in common: group, name and verbs.
type Common = (Arc<str>, Arc<str>, Verbs);

/// The least rules that give these accesses, and the fewest: resources of one group with equal verbs share one.
#[must_use]
pub fn rules<'a>(accesses: impl IntoIterator<Item = &'a Access>) -> Vec<PolicyRule> {
    let mut subjects: BTreeMap<Subject, Verbs> = BTreeMap::new();
    for access in accesses {
        let subject = (access.group.clone(), access.name.clone(), resource(access));
        subjects.entry(subject).or_default().insert(access.verb.clone());
    }
    let mut rules: BTreeMap<Common, Vec<String>> = BTreeMap::new();
    for ((group, name, resource), verbs) in subjects {
        rules.entry((group, name, verbs)).or_default().push(resource);
    }
    let rule = |((group, name, verbs), resources): (Common, Vec<String>)| PolicyRule {
        api_groups: Some(vec![group.to_string()]),
        resources: Some(resources),
        resource_names: (!name.is_empty()).then(|| vec![name.to_string()]),
        verbs: verbs.iter().map(ToString::to_string).collect(),
        non_resource_urls: None,
    };
    rules.into_iter().map(rule).collect()
}

fn resource(access: &Access) -> String {
    if access.subresource.is_empty() {
        access.resource.to_string()
    } else {
        format!("{}/{}", access.resource, access.subresource)
    }
}

#[cfg(test)]
mod tests;
