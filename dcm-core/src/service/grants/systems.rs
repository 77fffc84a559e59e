//! Namespaces and labels of well-known systems, as data: no limited caller takes one for a logical cloud.
//!
//! In such a namespace a ClusterRoleBinding may wait for a ServiceAccount by name, and webhooks may exempt it; by such a label a system
//! decides what a namespace is let off or given. Policies of single projects belong here, too, once projects have some: they are values
//! of [`Reserved`].

use std::fmt;
use std::str::FromStr;

use crate::name::is_dns_subdomain;

/// A system that is installed in clusters.
struct System {
    /// Patterns of its namespaces, as [`NamePattern`] reads them.
    namespaces: &'static [&'static str],
    /// Patterns of the label keys that it obeys, as [`LabelPattern`] reads them.
    labels: &'static [&'static str],
}

/// The systems, each with the page that names its namespaces and labels.
const SYSTEMS: &[System] = &[
    // This product: deploy/kubernetes.
    System { namespaces: &["dcm-system"], labels: &[] },
    // https://cert-manager.io/docs/installation/helm/, https://cert-manager.io/docs/concepts/webhook/
    System { namespaces: &["cert-manager"], labels: &["cert-manager.io/*"] },
    // https://istio.io/latest/docs/setup/install/helm/, https://istio.io/latest/docs/reference/config/labels/
    System {
        namespaces: &["istio-ingress", "istio-operator", "istio-system"],
        labels: &["istio.io/*", "istio-injection"],
    },
    // https://docs.redhat.com/en/documentation/openshift_container_platform, "Understanding and managing pod security admission"
    System { namespaces: &["openshift", "openshift-*"], labels: &["openshift.io/*"] },
    // https://olm.operatorframework.io/docs/, https://olm.operatorframework.io/docs/concepts/crds/operatorgroup/
    System {
        namespaces: &["olm", "operators"],
        labels: &["operatorframework.io/*", "operators.coreos.com/*"],
    },
    // https://open-policy-agent.github.io/gatekeeper/website/docs/exempt-namespaces/
    System { namespaces: &["gatekeeper-system"], labels: &["gatekeeper.sh/*"] },
    // https://www.openpolicyagent.org/docs/kubernetes/tutorial
    System { namespaces: &["opa"], labels: &["openpolicyagent.org/*"] },
    // https://kyverno.io/docs/installation/customization/
    System { namespaces: &["kyverno"], labels: &["kyverno.io/*"] },
    // https://fluxcd.io/flux/installation/, https://fluxcd.io/flux/installation/configuration/multitenancy/
    System { namespaces: &["flux-system"], labels: &["fluxcd.io/*"] },
    // https://argo-cd.readthedocs.io/en/stable/getting_started/, https://argocd-operator.readthedocs.io/en/latest/usage/deploy-to-different-namespaces/
    System { namespaces: &["argo", "argo-events", "argo-rollouts", "argocd"], labels: &["argoproj.io/*"] },
    // https://docs.tigera.io/calico/latest/getting-started/kubernetes/quickstart
    System {
        namespaces: &["calico-apiserver", "calico-system", "tigera-*"],
        labels: &["projectcalico.org/*", "tigera.io/*"],
    },
    // https://docs.cilium.io/en/stable/network/servicemesh/tls-termination/
    System { namespaces: &["cilium", "cilium-*"], labels: &["cilium.io/*"] },
    // https://ranchermanager.docs.rancher.com/reference-guides/rancher-security/hardening-guides
    System { namespaces: &["cattle-*", "rancher-*"], labels: &["cattle.io/*"] },
    // https://knative.dev/docs/install/yaml-install/serving/install-serving-with-yaml/
    System { namespaces: &["knative-*", "kourier-system"], labels: &["knative.dev/*"] },
    // https://linkerd.io/2/reference/cli/install/, https://linkerd.io/2/features/proxy-injection/
    System { namespaces: &["linkerd", "linkerd-*"], labels: &["linkerd.io/*"] },
    // https://developer.hashicorp.com/consul/docs/k8s
    System { namespaces: &["consul"], labels: &["consul.hashicorp.com/*"] },
    // https://docs.crossplane.io/latest/get-started/install/
    System { namespaces: &["crossplane-system"], labels: &["crossplane.io/*"] },
    // https://external-secrets.io/latest/introduction/getting-started/
    System { namespaces: &["external-secrets"], labels: &["external-secrets.io/*"] },
    // https://kubernetes.github.io/ingress-nginx/deploy/
    System { namespaces: &["ingress-nginx"], labels: &[] },
    // https://metallb.io/installation/, https://longhorn.io/docs/, https://rook.io/docs/rook/latest/, https://velero.io/docs/
    System { namespaces: &["longhorn-system", "metallb-system", "rook-ceph", "velero"], labels: &[] },
    // https://cluster-api.sigs.k8s.io/user/quick-start
    System { namespaces: &["capi-*"], labels: &[] },
    // https://tekton.dev/docs/installation/pipelines/
    System { namespaces: &["tekton-*"], labels: &["tekton.dev/*"] },
    // https://karmada.io/docs/installation/, https://open-cluster-management.io/docs/
    System {
        namespaces: &["karmada-*", "open-cluster-management", "open-cluster-management-*"],
        labels: &["karmada.io/*", "open-cluster-management.io/*"],
    },
    // https://kubevirt.io/user-guide/cluster_admin/installation/
    System { namespaces: &["cdi", "kubevirt"], labels: &["kubevirt.io/*"] },
    // https://projectcapsule.dev/docs/, https://github.com/kubernetes-retired/hierarchical-namespaces: SIG projects have x-k8s.io
    System {
        namespaces: &["capsule-system", "hnc-system"],
        labels: &["clastix.io/*", "projectcapsule.dev/*", "x-k8s.io/*"],
    },
    // https://docs.cloud.google.com/kubernetes-engine/docs, https://docs.cloud.google.com/kubernetes-engine/config-sync/docs
    System { namespaces: &["config-management-*", "gke-*", "gmp-*"], labels: &["gke.io/*"] },
    // https://docs.aws.amazon.com/eks/latest/userguide/fargate-logging.html, https://kubernetes-sigs.github.io/aws-load-balancer-controller/
    System { namespaces: &["amazon-*", "aws-*", "eks-*"], labels: &["k8s.aws/*"] },
    // https://learn.microsoft.com/azure/aks/, https://learn.microsoft.com/azure/azure-arc/kubernetes/
    System { namespaces: &["aks-*", "azure-arc"], labels: &["azure.com/*"] },
    // https://techdocs.broadcom.com/us/en/vmware-cis/vcf.html, "vSphere Kubernetes Service"
    System { namespaces: &["tanzu-*", "tkg-*", "vmware-system-*"], labels: &["vmware.com/*"] },
];

/// The rule that a [`NamePattern`] follows.
const NAME_PATTERN_RULE: &str = "must be the name of a namespace, such as flux-system, or the beginning of one and *, such as openshift-*";

/// The rule that a [`LabelPattern`] follows.
const LABEL_PATTERN_RULE: &str = "must be a label key, such as istio-injection or example.com/tier, or a domain with /* for all its keys, such as example.com/*";

/// A text that is no pattern.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{rule}")]
pub struct InvalidPattern {
    rule: &'static str,
}

/// Names of namespaces: one name, or all that begin with a text.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct NamePattern(String);

impl NamePattern {
    fn matches(&self, name: &str) -> bool {
        match self.0.strip_suffix('*') {
            Some(beginning) => name.starts_with(beginning),
            None => name == self.0,
        }
    }
}

impl FromStr for NamePattern {
    type Err = InvalidPattern;

    fn from_str(text: &str) -> Result<Self, InvalidPattern> {
        let fixed = text.strip_suffix('*').unwrap_or(text);
        let is_inner = |byte: u8| byte.is_ascii_lowercase() || byte.is_ascii_digit() || byte == b'-';
        if fixed.is_empty() || fixed.starts_with('-') || !fixed.bytes().all(is_inner) {
            return Err(InvalidPattern { rule: NAME_PATTERN_RULE });
        }
        Ok(Self(text.to_owned()))
    }
}

impl fmt::Display for NamePattern {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

/// Keys of labels: one key, or all of a domain and of the domains below it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LabelPattern(String);

impl LabelPattern {
    fn matches(&self, key: &str) -> bool {
        let Some(domain) = self.0.strip_suffix("/*") else { return key == self.0 };
        let prefix = key.split_once('/').map(|(prefix, _)| prefix);
        let below = prefix.and_then(|prefix| prefix.strip_suffix(domain));
        below.is_some_and(|below| below.is_empty() || below.ends_with('.'))
    }
}

impl FromStr for LabelPattern {
    type Err = InvalidPattern;

    fn from_str(text: &str) -> Result<Self, InvalidPattern> {
        let is_pattern = match text.strip_suffix("/*") {
            Some(domain) => is_dns_subdomain(domain),
            None => crate::logical_cloud::is_qualified_name(text),
        };
        if is_pattern { Ok(Self(text.to_owned())) } else { Err(InvalidPattern { rule: LABEL_PATTERN_RULE }) }
    }
}

impl fmt::Display for LabelPattern {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

/// Namespaces that a limited caller may not take, and labels that a limited caller may not set.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Reserved {
    /// Namespaces of systems.
    pub namespaces: Vec<NamePattern>,
    /// Labels that systems obey.
    pub labels: Vec<LabelPattern>,
    /// Labels that a limited caller may set all the same, also those of Kubernetes.
    pub allowed_labels: Vec<LabelPattern>,
}

impl Default for Reserved {
    /// Those of well-known systems.
    fn default() -> Self {
        let namespaces = SYSTEMS.iter().flat_map(|system| system.namespaces);
        let labels = SYSTEMS.iter().flat_map(|system| system.labels);
        Self {
            namespaces: namespaces.map(|text| NamePattern((*text).to_owned())).collect(),
            labels: labels.map(|text| LabelPattern((*text).to_owned())).collect(),
            allowed_labels: Vec::new(),
        }
    }
}

impl Reserved {
    /// The pattern that reserves a namespace.
    pub(super) fn namespace(&self, name: &str) -> Option<&NamePattern> {
        self.namespaces.iter().find(|pattern| pattern.matches(name))
    }

    /// True for a label that a limited caller may not set.
    pub(super) fn has_label(&self, key: &str) -> bool {
        let matches = |patterns: &[LabelPattern]| patterns.iter().any(|pattern| pattern.matches(key));
        !matches(&self.allowed_labels) && (is_of_kubernetes(key) || matches(&self.labels))
    }
}

/// True for a label by which Kubernetes, or what extends it, decides what may be in a namespace, such as
/// `pod-security.kubernetes.io/enforce`.
fn is_of_kubernetes(key: &str) -> bool {
    let Some((prefix, _)) = key.split_once('/') else { return false };
    ["kubernetes.io", "k8s.io"].iter().any(|domain| {
        prefix.strip_suffix(domain).is_some_and(|below| below.is_empty() || below.ends_with('.'))
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_pattern_of_the_list_is_one() {
        let reserved = Reserved::default();
        for pattern in &reserved.namespaces {
            assert_eq!(pattern.to_string().parse(), Ok(pattern.clone()));
        }
        for pattern in &reserved.labels {
            assert_eq!(pattern.to_string().parse(), Ok(pattern.clone()));
        }
    }

    #[test]
    fn namespaces_of_systems_are_reserved_and_names_that_only_look_alike_are_not() {
        let reserved = Reserved::default();
        let is_reserved = |name: &str| reserved.namespace(name).is_some();
        for name in [
            "cert-manager",
            "istio-system",
            "openshift-monitoring",
            "openshift",
            "cattle-fleet-system",
            "argocd",
        ] {
            assert!(is_reserved(name), "{name}");
        }
        for name in ["cert-manager-2", "my-openshift-x", "shop", "argo-shop", "cattle"] {
            assert!(!is_reserved(name), "{name}");
        }
    }

    #[test]
    fn labels_of_a_domain_and_of_those_below_it_are_reserved() {
        let reserved =
            Reserved { allowed_labels: vec!["istio-injection".parse().unwrap()], ..Reserved::default() };
        for key in [
            "openshift.io/run-level",
            "security.openshift.io/scc.podSecurityLabelSync",
            "admission.gatekeeper.sh/ignore",
            "istio.io/rev",
            "policy.cert-manager.io/x",
            "pod-security.kubernetes.io/enforce",
            "k8s.io/x",
        ] {
            assert!(reserved.has_label(key), "{key}");
        }
        for key in ["istio-injection", "notopenshift.io/x", "team", "example.com/istio.io"] {
            assert!(!reserved.has_label(key), "{key}");
        }
    }

    #[test]
    fn a_text_that_is_no_pattern_is_refused() {
        for text in ["", "*", "-a", "A", "a*b", "a.b"] {
            assert!(text.parse::<NamePattern>().is_err(), "{text}");
        }
        for text in ["", "*", "/*", "a/b/*", "*.a/b", "a b"] {
            assert!(text.parse::<LabelPattern>().is_err(), "{text}");
        }
    }
}
