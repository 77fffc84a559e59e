//! The guard: a ValidatingAdmissionPolicy that confines the engine's user on a cluster to what is the engine's own.
//!
//! RBAC can't say "in its own namespaces only", so the least ClusterRole is large. The guard says it: the API server
//! asks it about every write of that user, after RBAC. What no rule allows is refused:
//! - namespaces are made with the engine's label, and changed and deleted only where they had it before; `default` and
//!   `kube-*` never; their level of Pod Security is never lowered, nor set below the lowest that is allowed;
//! - everything else is written only in such a namespace, tokens of ServiceAccounts included; where service meshes have names, also the
//!   Corefile of the cluster, and nothing else in its ConfigMap;
//! - the ClusterRole for namespaces is bound there to the engine's user alone, by the engine's own RoleBinding;
//! - certificates are asked for under names of logical clouds' users alone (see [`subject`]), and approved only where the
//!   engine's user made the request;
//! - clusters for privileged clouds also get their ClusterRoles and ClusterRoleBindings, and Roles and RoleBindings in
//!   other namespaces: with the engine's label, and under its names.
//!
//! What the engine *reads* passes no admission policy. Whoever may label a namespace gives it to the engine.
//! It needs Kubernetes 1.30 or later.

mod subject;

use k8s_openapi::api::admissionregistration::v1::{
    MatchCondition, MatchResources, NamedRuleWithOperations, ValidatingAdmissionPolicy,
    ValidatingAdmissionPolicyBinding, ValidatingAdmissionPolicyBindingSpec, ValidatingAdmissionPolicySpec,
    Validation, Variable,
};
use k8s_openapi::apimachinery::pkg::apis::meta::v1::ObjectMeta;

use crate::logical_cloud::Level;
use crate::name::OwnerId;
use crate::pod_security::PodSecurityLevel;
use crate::port::cluster::{LABEL_OWNER, NAMESPACE_BINDING, NAMESPACE_ROLE};
use crate::render::{CLUSTER_COREFILE, SIGNER};

/// How each message of a refusal begins.
pub(super) const REFUSAL: &str = "the guard of dcm: ";

/// What expressions call the request and its objects, beside the variables of [`subject`].
///
/// An expression that fails refuses: an object without a name is no object that the engine writes.
const VARIABLES: [(&str, &str); 4] = [
    ("resource", "request.resource.group + '/' + request.resource.resource"),
    ("subresource", "has(request.subResource) ? request.subResource : ''"),
    ("place", "has(request.namespace) ? request.namespace : ''"),
    ("name", "object != null ? object.metadata.name : oldObject.metadata.name"),
];

/// An object of the cluster, and not of a namespace, that carries the label before and after, under a name of ours.
const OWN: &str = "variables.name.startsWith('dcm-') && (object == null || variables.isMarked) \
                   && (oldObject == null || variables.wasMarked)";

const NAMESPACE: &str = "variables.resource == '/namespaces'";
const REQUEST: &str = "variables.resource == 'certificates.k8s.io/certificatesigningrequests'";

const BINDING: &str = "variables.resource == 'rbac.authorization.k8s.io/rolebindings'";

/// The rights of privileged clouds outside of their namespaces.
const CLUSTER_WIDE: &str = "variables.subresource == '' && variables.resource in \
                            ['rbac.authorization.k8s.io/clusterroles', 'rbac.authorization.k8s.io/clusterrolebindings']";
const ELSEWHERE: &str = "variables.subresource == '' && variables.resource in \
                         ['rbac.authorization.k8s.io/roles', 'rbac.authorization.k8s.io/rolebindings']";

/// Whom a guard confines, and to what.
#[derive(Debug, Clone, Copy)]
pub struct Guarded<'a> {
    /// The engine's user, as the cluster calls it: `dcm`, or `system:serviceaccount:NAMESPACE:NAME`.
    pub user: &'a str,
    /// The installation, by which its objects are labelled.
    pub owner: &'a OwnerId,
    /// The highest level of logical clouds.
    pub level: Level,
    /// The lowest level of Pod Security that the engine may give a namespace.
    pub pod_security: PodSecurityLevel,
    /// True where service meshes have names: then the engine may change the Corefile of the cluster.
    pub has_mesh_names: bool,
}

impl Guarded<'_> {
    /// The policy, and the binding that puts it in force; both have this name.
    #[must_use]
    pub fn policy(&self, name: &str) -> (ValidatingAdmissionPolicy, ValidatingAdmissionPolicyBinding) {
        let metadata = ObjectMeta { name: Some(name.to_owned()), ..ObjectMeta::default() };
        let policy = ValidatingAdmissionPolicy {
            metadata: metadata.clone(),
            spec: Some(self.specification()),
            status: None,
        };
        let spec = ValidatingAdmissionPolicyBindingSpec {
            policy_name: Some(name.to_owned()),
            validation_actions: Some(vec!["Deny".to_owned()]),
            ..ValidatingAdmissionPolicyBindingSpec::default()
        };
        (policy, ValidatingAdmissionPolicyBinding { metadata, spec: Some(spec) })
    }

    fn specification(&self) -> ValidatingAdmissionPolicySpec {
        let named = MatchCondition {
            name: "engine".to_owned(),
            expression: format!("request.userInfo.username == {}", literal(self.user)),
        };
        ValidatingAdmissionPolicySpec {
            failure_policy: Some("Fail".to_owned()),
            match_conditions: Some(vec![named]),
            match_constraints: Some(every_write()),
            variables: Some(self.variables()),
            validations: Some(self.validations()),
            ..ValidatingAdmissionPolicySpec::default()
        }
    }

    fn variables(&self) -> Vec<Variable> {
        let marks =
            [("isMarked", "object"), ("wasMarked", "oldObject"), ("isOwnNamespace", "namespaceObject")];
        let marks = marks.map(|(name, object)| (name, self.has_label(object)));
        let all = VARIABLES.map(|(name, expression)| (name, expression.to_owned())).into_iter();
        let all = all.chain(marks).chain(pod_security(self.pod_security)).chain(subject::variables());
        all.map(|(name, expression)| Variable { name: name.to_owned(), expression }).collect()
    }

    fn has_label(&self, object: &str) -> String {
        let (label, owner) = (literal(LABEL_OWNER), literal(self.owner.as_str()));
        let labels = format!("{object}.metadata.labels");
        format!("{object} != null && has({labels}) && {label} in {labels} && {labels}[{label}] == {owner}")
    }

    fn validations(&self) -> Vec<Validation> {
        let is_privileged = self.level == Level::Privileged;
        let or = |more: &str| if is_privileged { format!(" || {more} && {OWN}") } else { String::new() };
        let corefile = if self.has_mesh_names { format!(" || {}", is_corefile()) } else { String::new() };
        let (elsewhere, cluster_wide) = (or(ELSEWHERE) + &corefile, or(CLUSTER_WIDE));
        let validation = |expression: String, rule: &str| Validation {
            expression,
            message: Some(format!("{REFUSAL}{rule}")),
            reason: Some("Forbidden".to_owned()),
            message_expression: None,
        };
        vec![
            validation("request.operation != 'CONNECT'".to_owned(), "the engine connects to no object"),
            validation(
                format!(
                    "!({NAMESPACE}) || variables.subresource == '' && variables.name != 'default' && \
                     !variables.name.startsWith('kube-') && (oldObject == null ? variables.isMarked : variables.wasMarked)"
                ),
                "a namespace must have the engine's label when it is made, and before it is changed or deleted",
            ),
            validation(
                format!("!({NAMESPACE}) || object == null || variables.keepsPodSecurity"),
                "the level of Pod Security of a namespace must not be lowered, nor set below the lowest that the engine may set, \
                 and its version must stay",
            ),
            validation(
                format!("{NAMESPACE} || variables.place == '' || variables.isOwnNamespace{elsewhere}"),
                "the namespace of an object must have the engine's label",
            ),
            validation(
                format!("{NAMESPACE} || {REQUEST} || variables.place != ''{cluster_wide}"),
                "the engine writes no other object outside of namespaces",
            ),
            validation(
                format!(
                    "!({BINDING}) || object == null || object.roleRef.kind != 'ClusterRole' || \
                     object.roleRef.name != '{NAMESPACE_ROLE}' || \
                     variables.name == '{NAMESPACE_BINDING}' && has(object.subjects) && object.subjects.size() == 1 && \
                     object.subjects[0].kind == 'User' && object.subjects[0].name == request.userInfo.username"
                ),
                "the engine binds its ClusterRole for namespaces to itself only",
            ),
            validation(
                format!("!({REQUEST}) || variables.subresource in ['', 'approval'] && {OWN}"),
                "a certificate signing request must have the engine's label and a name of the engine",
            ),
            validation(
                format!(
                    "!({REQUEST}) || object == null || object.spec.signerName == '{SIGNER}' && \
                     object.spec.usages == ['digital signature', 'client auth'] && variables.isOwnSubject"
                ),
                "a certificate must be for a user of a logical cloud",
            ),
            validation(
                format!(
                    "!({REQUEST}) || variables.subresource != 'approval' || \
                     oldObject.spec.username == request.userInfo.username"
                ),
                "the engine approves its own requests only",
            ),
        ]
    }
}

/// A change of the Corefile of the cluster, and of nothing else in its ConfigMap.
fn is_corefile() -> String {
    let [namespace, name, member] = CLUSTER_COREFILE;
    let same = |field: &str| {
        format!(
            "has(object.{field}) == has(oldObject.{field}) && (!has(object.{field}) || object.{field} == oldObject.{field})"
        )
    };
    let kept = [
        "metadata.labels",
        "metadata.annotations",
        "metadata.ownerReferences",
        "metadata.finalizers",
        "binaryData",
        "immutable",
    ]
    .map(same);
    format!(
        "variables.resource == '/configmaps' && variables.subresource == '' && variables.place == '{namespace}' && \
         variables.name == '{name}' && request.operation == 'UPDATE' && has(object.data) && has(oldObject.data) && \
         oldObject.data.all(key, key in object.data && (key == '{member}' || object.data[key] == oldObject.data[key])) && \
         object.data.all(key, key in oldObject.data) && {}",
        kept.join(" && ")
    )
}

/// The level of Pod Security of a namespace and its version, before and after, empty where it has no such label; and whether a write
/// keeps them.
fn pod_security(lowest: PodSecurityLevel) -> Vec<(&'static str, String)> {
    let value = |object: &str, label: &str| {
        let labels = format!("{object}.metadata.labels");
        let is_there = format!("{NAMESPACE} && {object} != null && has({labels}) && '{label}' in {labels}");
        format!("{is_there} ? {labels}['{label}'] : ''")
    };
    let levels = PodSecurityLevel::ALL.map(|level| format!("'{}'", level.as_str()));
    let order = |level: &str| format!("variables.levels.indexOf({level})");
    let (level, before) = (order("variables.podSecurity"), order("variables.podSecurityBefore"));
    let lowest = order(&format!("'{}'", lowest.as_str()));
    vec![
        ("levels", format!("[{}]", levels.join(", "))),
        ("podSecurity", value("object", PodSecurityLevel::LABEL)),
        ("podSecurityBefore", value("oldObject", PodSecurityLevel::LABEL)),
        ("podSecurityVersion", value("object", PodSecurityLevel::VERSION_LABEL)),
        ("podSecurityVersionBefore", value("oldObject", PodSecurityLevel::VERSION_LABEL)),
        (
            "keepsPodSecurity",
            format!(
                "(variables.podSecurity == variables.podSecurityBefore || {level} >= {lowest} && {level} >= {before}) && \
                 (variables.podSecurityVersion == variables.podSecurityVersionBefore || \
                 variables.podSecurityVersionBefore == '' && variables.podSecurityVersion == 'latest')"
            ),
        ),
    ]
}

/// All writes, of all kinds. A question for one's own rights or name is one to the API server, but changes nothing.
fn every_write() -> MatchResources {
    let all = || Some(vec!["*".to_owned()]);
    let rule = NamedRuleWithOperations {
        api_groups: all(),
        api_versions: all(),
        operations: all(),
        resources: Some(vec!["*/*".to_owned()]),
        ..NamedRuleWithOperations::default()
    };
    let question = |group: &str, resource: &str| NamedRuleWithOperations {
        api_groups: Some(vec![group.to_owned()]),
        resources: Some(vec![resource.to_owned()]),
        ..rule.clone()
    };
    let questions = vec![
        question("authorization.k8s.io", "selfsubjectaccessreviews"),
        question("authentication.k8s.io", "selfsubjectreviews"),
    ];
    MatchResources {
        resource_rules: Some(vec![rule.clone()]),
        exclude_resource_rules: Some(questions),
        ..MatchResources::default()
    }
}

/// A text as a literal of CEL: the escapes of JSON are among those of CEL.
fn literal(text: &str) -> String {
    serde_json::Value::from(text).to_string()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn expressions(level: Level) -> String {
        let owner = OwnerId::new("dcm").unwrap();
        let guarded = Guarded {
            user: "o'\"k\\",
            owner: &owner,
            level,
            pod_security: PodSecurityLevel::Baseline,
            has_mesh_names: false,
        };
        let (policy, _) = guarded.policy("dcm");
        serde_json::to_string_pretty(&policy).unwrap()
    }

    #[test]
    fn a_users_name_is_a_literal_whatever_it_has() {
        assert_eq!(literal("o'\"k\\"), r#""o'\"k\\""#);
        assert!(expressions(Level::Standard).contains(r#"username == \"o'\\\"k\\\\\""#));
    }

    #[test]
    fn only_privileged_clouds_have_rights_outside_of_their_namespaces() {
        for (level, is_wide) in [(Level::Standard, false), (Level::Admin, false), (Level::Privileged, true)] {
            assert_eq!(expressions(level).contains("clusterrolebindings"), is_wide, "{level:?}");
        }
    }
}
