//! The rules of Kubernetes' built-in ClusterRole `admin`, as data.
//!
//! Source: Kubernetes 1.36, `plugin/pkg/auth/authorizer/rbac/bootstrappolicy/policy.go`: the ClusterRoles `system:aggregate-to-admin`,
//! `system:aggregate-to-edit` and `system:aggregate-to-view`, whose union is `admin`. A test on a real API server compares every
//! rule in both directions.

/// Verbs that change nothing.
const READ: &[&str] = &["get", "list", "watch"];

/// Verbs that change objects.
const WRITE: &[&str] = &["create", "update", "patch", "delete", "deletecollection"];

/// The one verb of requests that are answered and not stored.
const CREATE: &[&str] = &["create"];

/// Verbs on the resources of one API group.
pub(super) struct Rule {
    /// The API group; empty for the core group.
    pub group: &'static str,
    /// The resources, in the plural, with their subresources.
    pub resources: &'static [&'static str],
    /// Lists of verbs, all of which are allowed.
    pub verbs: &'static [&'static [&'static str]],
}

/// All rules of the role.
pub(super) const RULES: &[Rule] = &[
    Rule {
        group: "",
        resources: &[
            "configmaps",
            "events",
            "persistentvolumeclaims",
            "pods",
            "pods/attach",
            "pods/exec",
            "pods/portforward",
            "pods/proxy",
            "replicationcontrollers",
            "replicationcontrollers/scale",
            "secrets",
            "serviceaccounts",
            "services",
            "services/proxy",
        ],
        verbs: &[READ, WRITE],
    },
    Rule {
        group: "",
        resources: &[
            "bindings",
            "endpoints",
            "limitranges",
            "namespaces",
            "namespaces/status",
            "persistentvolumeclaims/status",
            "pods/log",
            "pods/status",
            "replicationcontrollers/status",
            "resourcequotas",
            "resourcequotas/status",
            "services/status",
        ],
        verbs: &[READ],
    },
    Rule { group: "", resources: &["pods/eviction", "serviceaccounts/token"], verbs: &[CREATE] },
    Rule { group: "", resources: &["serviceaccounts"], verbs: &[&["impersonate"]] },
    Rule {
        group: "apps",
        resources: &[
            "daemonsets",
            "deployments",
            "deployments/scale",
            "replicasets",
            "replicasets/scale",
            "statefulsets",
            "statefulsets/scale",
        ],
        verbs: &[READ, WRITE],
    },
    Rule { group: "apps", resources: &["deployments/rollback"], verbs: &[WRITE] },
    Rule {
        group: "apps",
        resources: &[
            "controllerrevisions",
            "daemonsets/status",
            "deployments/status",
            "replicasets/status",
            "statefulsets/status",
        ],
        verbs: &[READ],
    },
    Rule { group: "authorization.k8s.io", resources: &["localsubjectaccessreviews"], verbs: &[CREATE] },
    Rule { group: "autoscaling", resources: &["horizontalpodautoscalers"], verbs: &[READ, WRITE] },
    Rule { group: "autoscaling", resources: &["horizontalpodautoscalers/status"], verbs: &[READ] },
    Rule { group: "batch", resources: &["cronjobs", "jobs"], verbs: &[READ, WRITE] },
    Rule { group: "batch", resources: &["cronjobs/status", "jobs/status"], verbs: &[READ] },
    Rule { group: "coordination.k8s.io", resources: &["leases"], verbs: &[READ, WRITE] },
    Rule { group: "discovery.k8s.io", resources: &["endpointslices"], verbs: &[READ] },
    Rule { group: "events.k8s.io", resources: &["events"], verbs: &[READ, WRITE] },
    Rule {
        group: "extensions",
        resources: &[
            "daemonsets",
            "deployments",
            "deployments/scale",
            "ingresses",
            "networkpolicies",
            "replicasets",
            "replicasets/scale",
            "replicationcontrollers/scale",
        ],
        verbs: &[READ, WRITE],
    },
    Rule { group: "extensions", resources: &["deployments/rollback"], verbs: &[WRITE] },
    Rule {
        group: "extensions",
        resources: &["daemonsets/status", "deployments/status", "ingresses/status", "replicasets/status"],
        verbs: &[READ],
    },
    Rule { group: "networking.k8s.io", resources: &["ingresses", "networkpolicies"], verbs: &[READ, WRITE] },
    Rule { group: "networking.k8s.io", resources: &["ingresses/status"], verbs: &[READ] },
    Rule { group: "policy", resources: &["poddisruptionbudgets"], verbs: &[READ, WRITE] },
    Rule { group: "policy", resources: &["poddisruptionbudgets/status"], verbs: &[READ] },
    Rule { group: "rbac.authorization.k8s.io", resources: &["rolebindings", "roles"], verbs: &[READ, WRITE] },
    Rule {
        group: "resource.k8s.io",
        resources: &["resourceclaims", "resourceclaimtemplates"],
        verbs: &[READ, WRITE],
    },
    Rule { group: "resource.k8s.io", resources: &["resourceclaims/status"], verbs: &[READ] },
];

/// Kinds that the role may create, by API group: those of its resources with the verb `create`, but for requests that are answered and
/// not stored.
pub(super) const KINDS: &[(&str, &str)] = &[
    ("", "ConfigMap"),
    ("", "Event"),
    ("", "PersistentVolumeClaim"),
    ("", "Pod"),
    ("", "ReplicationController"),
    ("", "Secret"),
    ("", "Service"),
    ("", "ServiceAccount"),
    ("apps", "DaemonSet"),
    ("apps", "Deployment"),
    ("apps", "ReplicaSet"),
    ("apps", "StatefulSet"),
    ("autoscaling", "HorizontalPodAutoscaler"),
    ("batch", "CronJob"),
    ("batch", "Job"),
    ("coordination.k8s.io", "Lease"),
    ("events.k8s.io", "Event"),
    ("networking.k8s.io", "Ingress"),
    ("networking.k8s.io", "NetworkPolicy"),
    ("policy", "PodDisruptionBudget"),
    ("rbac.authorization.k8s.io", "Role"),
    ("rbac.authorization.k8s.io", "RoleBinding"),
    ("resource.k8s.io", "ResourceClaim"),
    ("resource.k8s.io", "ResourceClaimTemplate"),
];
