//! Generated grants of a project admin, the same ones in each run: permissions and kinds of extra manifests inside and outside of the
//! allow list.

use std::collections::BTreeSet;

use dcm_core::service::AllowList;
use serde_json::{Value, json};

/// How many grants are generated.
pub(crate) const GRANTS: usize = 2_000;

/// The seed of all of them.
const SEED: u64 = 0x5eed_0001;

/// One grant, and whether the allow list holds all of it.
#[derive(Debug, Clone)]
pub(crate) struct Grant {
    pub(crate) is_inside: bool,
    pub(crate) what: What,
}

/// What is granted.
#[derive(Debug, Clone)]
pub(crate) enum What {
    /// A user permission: the fields `apiGroups`, `resources` and `verbs`.
    Permission(Value),
    /// An extra manifest.
    Manifest(Value),
}

/// API groups that other systems serve, and some that do not exist.
const OTHER_GROUPS: [&str; 12] = [
    "*",
    "operators.coreos.com",
    "kustomize.toolkit.fluxcd.io",
    "helm.toolkit.fluxcd.io",
    "argoproj.io",
    "security.openshift.io",
    "authorization.openshift.io",
    "certificates.k8s.io",
    "admissionregistration.k8s.io",
    "storage.k8s.io",
    "resource.k8s.io",
    "example.com",
];

/// Resources of such groups, resources that `admin` only reads, and wildcards.
const OTHER_RESOURCES: [&str; 18] = [
    "*",
    "*/scale",
    "*/status",
    "clusterserviceversions",
    "kustomizations",
    "helmreleases",
    "applications",
    "securitycontextconstraints",
    "podsecuritypolicies",
    "pods/status",
    "pods/ephemeralcontainers",
    "services/status",
    "endpoints",
    "endpointslices",
    "namespaces",
    "namespaces/finalize",
    "resourcequotas",
    "limitranges",
];

/// Verbs that give more than they name.
const OTHER_VERBS: [&str; 7] = ["*", "bind", "escalate", "impersonate", "use", "approve", "sign"];

/// Kinds that `admin` may not create.
const OTHER_KINDS: [(&str, &str); 16] = [
    ("v1", "Endpoints"),
    ("v1", "PodTemplate"),
    ("v1", "Binding"),
    ("discovery.k8s.io/v1", "EndpointSlice"),
    ("apps/v1", "ControllerRevision"),
    ("resource.k8s.io/v1", "ResourcePoolStatusRequest"),
    ("gateway.networking.k8s.io/v1", "Gateway"),
    ("operators.coreos.com/v1alpha1", "ClusterServiceVersion"),
    ("operators.coreos.com/v1", "OperatorGroup"),
    ("kustomize.toolkit.fluxcd.io/v1", "Kustomization"),
    ("helm.toolkit.fluxcd.io/v2", "HelmRelease"),
    ("argoproj.io/v1alpha1", "Application"),
    ("authorization.openshift.io/v1", "RoleBinding"),
    ("networking.istio.io/v1", "VirtualService"),
    ("cert-manager.io/v1", "Certificate"),
    ("example.com/v1", "Widget"),
];

/// Kinds of the allow list that no standard cloud takes, from any caller.
const NOT_FOR_STANDARD: [(&str, &str); 3] =
    [("", "Secret"), ("rbac.authorization.k8s.io", "Role"), ("rbac.authorization.k8s.io", "RoleBinding")];

/// Numbers that follow from a seed (SplitMix64).
struct Numbers(u64);

impl Numbers {
    fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut number = self.0;
        number = (number ^ (number >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        number = (number ^ (number >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        number ^ (number >> 31)
    }

    fn below(&mut self, bound: usize) -> usize {
        usize::try_from(self.next() % u64::try_from(bound).unwrap()).unwrap()
    }

    fn one<'a, T: ?Sized>(&mut self, of: &[&'a T]) -> &'a T {
        of[self.below(of.len())]
    }

    /// One to three of these.
    fn some<'a>(&mut self, of: &[&'a str]) -> BTreeSet<&'a str> {
        (0..=self.below(3)).map(|_| self.one(of)).collect()
    }
}

/// All grants.
pub(crate) fn generated() -> Vec<Grant> {
    let list = AllowList::default();
    let rights: BTreeSet<(&str, &str, &str)> = list.permissions().collect();
    let mut numbers = Numbers(SEED);
    let grants = (0..GRANTS).map(|number| match number % 5 {
        0 => manifest(&list, &mut numbers, number),
        1 | 2 => permission(&rights, inside(&rights, &mut numbers)),
        _ => permission(&rights, anywhere(&rights, &mut numbers)),
    });
    grants.collect()
}

/// Groups, resources and verbs.
type Product<'a> = [BTreeSet<&'a str>; 3];

/// A product within the list: resources of one group that share verbs.
fn inside<'a>(rights: &BTreeSet<(&'a str, &'a str, &'a str)>, numbers: &mut Numbers) -> Product<'a> {
    let all: Vec<_> = rights.iter().copied().collect();
    let (group, resource, verb) = all[numbers.below(all.len())];
    let of_group: Vec<&str> =
        all.iter().filter(|right| right.0 == group && right.2 == verb).map(|right| right.1).collect();
    let mut resources = numbers.some(&of_group);
    resources.insert(resource);
    let shared = all.iter().filter(|right| right.0 == group && right.1 == resource).map(|right| right.2);
    let shared: Vec<&str> = shared
        .filter(|verb| resources.iter().all(|resource| rights.contains(&(group, resource, verb))))
        .collect();
    let mut verbs = numbers.some(&shared);
    verbs.insert(verb);
    [BTreeSet::from([group]), resources, verbs]
}

/// A product with one entry at least that was not drawn together with the others.
fn anywhere<'a>(rights: &BTreeSet<(&'a str, &'a str, &'a str)>, numbers: &mut Numbers) -> Product<'a> {
    let mut product = inside(rights, numbers);
    let others: [&[&str]; 3] = [&OTHER_GROUPS, &OTHER_RESOURCES, &OTHER_VERBS];
    let place = numbers.below(3);
    for (index, entries) in product.iter_mut().enumerate() {
        if index == place || numbers.below(4) == 0 {
            entries.insert(numbers.one(others[index]));
        }
        if numbers.below(4) == 0 {
            let all: Vec<&str> = rights.iter().map(|right| [right.0, right.1, right.2][index]).collect();
            entries.insert(numbers.one(&all));
        }
    }
    product
}

/// The permission, and whether each of its combinations is in the list.
fn permission(rights: &BTreeSet<(&str, &str, &str)>, [groups, resources, verbs]: Product<'_>) -> Grant {
    let of_group = |group| resources.iter().flat_map(move |resource| [(group, *resource)]);
    let mut pairs = groups.iter().flat_map(|group| of_group(*group));
    let is_inside =
        pairs.all(|(group, resource)| verbs.iter().all(|verb| rights.contains(&(group, resource, *verb))));
    let what = What::Permission(json!({"apiGroups": groups, "resources": resources, "verbs": verbs}));
    Grant { is_inside, what }
}

fn manifest(list: &AllowList, numbers: &mut Numbers, number: usize) -> Grant {
    let is_inside = numbers.below(2) == 0;
    let inside: Vec<_> = list.kinds().filter(|kind| !NOT_FOR_STANDARD.contains(kind)).collect();
    let (api_version, kind) = if is_inside {
        let (group, kind) = inside[numbers.below(inside.len())];
        (if group.is_empty() { "v1".to_owned() } else { format!("{group}/v1") }, kind)
    } else {
        let (api_version, kind) = OTHER_KINDS[numbers.below(OTHER_KINDS.len())];
        (api_version.to_owned(), kind)
    };
    let name = format!("generated-{number}");
    let body = json!({"apiVersion": api_version, "kind": kind, "metadata": {"name": name}});
    Grant { is_inside, what: What::Manifest(body) }
}
