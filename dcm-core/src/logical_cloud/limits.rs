//! How large a logical cloud may be. The lists' limits together keep a rendered bundle below
//! [`STEPS_MAX`](crate::app_context::STEPS_MAX).

/// Longest description, in characters (EMCO's limit).
pub const DESCRIPTION_MAX: usize = 1024;
/// Longest `userData1` and `userData2`, in characters (EMCO's limit).
pub const USER_DATA_MAX: usize = 512;
/// Most labels of a logical cloud: a namespace's labels are looked through by every admission webhook.
pub const LABELS_MAX: usize = 64;
/// Most users of a logical cloud: each has a key and, on each cluster, a request.
pub const USERS_MAX: usize = 500;
/// Most permissions of a logical cloud: each is a role and a binding.
pub const PERMISSIONS_MAX: usize = 1000;
/// Most API groups, resources, resource names or verbs in one permission.
pub const RULE_ITEMS_MAX: usize = 100;
/// Most quotas of a logical cloud: Kubernetes evaluates each on every create in the namespace.
pub const QUOTAS_MAX: usize = 50;
/// Most keys in one quota.
pub const QUOTA_KEYS_MAX: usize = 100;
/// Most sets of key-value pairs of a logical cloud.
pub const KEY_VALUES_MAX: usize = 100;
/// Largest set of key-value pairs, in bytes of JSON.
pub const KEY_VALUES_BYTES_MAX: usize = 64 * 1024;
/// Most sets of key-value pairs of a registered cluster.
pub const CLUSTER_KEY_VALUES_MAX: usize = 100;
/// Largest sets of key-value pairs of a registered cluster together, in bytes of JSON: they are in its document, which every
/// selector of clusters reads.
pub const CLUSTER_KEY_VALUES_BYTES_MAX: usize = 256 * 1024;
/// Most cluster references of a logical cloud.
pub const REFERENCES_MAX: usize = 10_000;
/// Most terms of a cluster selector, labels and expressions together.
pub const SELECTOR_TERMS_MAX: usize = 64;
/// Most values in one expression of a cluster selector.
pub const SELECTOR_VALUES_MAX: usize = 100;
/// Most extra manifests of a logical cloud.
pub const MANIFESTS_MAX: usize = 500;
/// Most kinds and objects with policies of their own.
pub const POLICIES_MAX: usize = 100;
/// Longest name of a kind (63) with its API group (253) and the name of an object (253), in bytes.
pub const POLICY_TARGET_BYTES_MAX: usize = 571;
/// Most fields of one kind that are only reported.
pub const REPORT_ONLY_MAX: usize = 100;
/// Largest certificate signing request, in bytes of PEM.
pub const CSR_PEM_BYTES_MAX: usize = crate::subject::REQUEST_BYTES_MAX;
/// Shortest credential lifetime, in seconds (Kubernetes' own limit for both certificates and tokens).
pub const LIFETIME_SECONDS_MIN: i64 = 600;
/// Longest credential lifetime, in seconds: what `spec.expirationSeconds` of a request can hold.
pub const LIFETIME_SECONDS_MAX: i64 = i32::MAX as i64;
/// Shortest time that a cluster may be given to be cleared, in seconds.
pub const DEADLINE_SECONDS_MIN: i64 = 1;
/// Longest time that a cluster may be given to be cleared, in seconds: a year. Who waits longer waits for nothing.
pub const DEADLINE_SECONDS_MAX: i64 = 366 * 24 * 3600;

const _: () = assert!(
    2 + QUOTAS_MAX + 2 * USERS_MAX + 2 * PERMISSIONS_MAX + MANIFESTS_MAX <= crate::app_context::STEPS_MAX,
    "a legal logical cloud must render to a legal bundle"
);
