//! What a document permits, read from its text alone.
//!
//! It shares nothing with what renders documents: it knows YAML, the words of a permission, and how RBAC reads them.

use serde::Deserialize;

use crate::rights::answer::Answer;
use crate::rights::asked::{Asked, Verb};

/// What every authenticated user may read: `system:discovery` and `system:public-info-viewer`.
const PATHS_OF_EVERYBODY: [&str; 4] = ["/version", "/healthz", "/api", "/apis"];

/// What every ServiceAccount may read: `system:service-account-issuer-discovery`.
const PATHS_OF_SERVICE_ACCOUNTS: [&str; 1] = ["/openid/v1/jwks"];

/// What every authenticated user may create: `system:basic-user`.
const REVIEWS_OF_EVERYBODY: [&str; 1] = ["selfsubjectaccessreviews"];

/// A document's users, and what they may do.
#[derive(Debug, Clone, Deserialize)]
pub(crate) struct Evaluator {
    metadata: Metadata,
    spec: Spec,
}

#[derive(Debug, Clone, Deserialize)]
struct Metadata {
    name: String,
}

#[derive(Debug, Clone, Deserialize)]
struct Spec {
    namespace: Option<String>,
    users: Vec<User>,
    permissions: Vec<Permission>,
}

#[derive(Debug, Clone, Deserialize)]
struct User {
    name: String,
    #[serde(rename = "type")]
    kind: Option<String>,
}

#[derive(Debug, Clone, Deserialize)]
#[serde(rename_all = "camelCase")]
struct Permission {
    users: Option<Vec<String>>,
    namespace: Option<String>,
    #[serde(default)]
    cluster_wide: bool,
    api_groups: Vec<String>,
    resources: Vec<String>,
    #[serde(default)]
    resource_names: Vec<String>,
    verbs: Vec<String>,
}

impl Evaluator {
    pub(crate) fn read(document: &str) -> Self {
        serde_saphyr::from_str(document).unwrap()
    }

    pub(crate) fn users(&self) -> impl Iterator<Item = &str> {
        self.spec.users.iter().map(|user| user.name.as_str())
    }

    pub(crate) fn namespace(&self) -> &str {
        self.spec.namespace.as_deref().unwrap_or(&self.metadata.name)
    }

    /// The same users, who may do nothing.
    pub(crate) fn without_permissions(mut self) -> Self {
        self.spec.permissions.clear();
        self
    }

    /// What the API server has to answer. A user of an earlier document is nobody in this one.
    pub(crate) fn answer(&self, user: &str, asked: &Asked) -> Answer {
        let user = self.spec.users.iter().find(|one| one.name == user);
        let permitted = |user| self.spec.permissions.iter().any(|one| self.permits(one, user, asked));
        let allowed = may_as_anybody(user, asked) || user.is_some_and(permitted);
        if allowed { Answer::Allowed } else { Answer::Forbidden }
    }

    fn permits(&self, permission: &Permission, user: &User, asked: &Asked) -> bool {
        let Asked::Object { verb, resource, name, .. } = asked else {
            return false;
        };
        let of_user = permission.users.as_ref().is_none_or(|users| users.contains(&user.name));
        let namespace = permission.namespace.as_deref().unwrap_or_else(|| self.namespace());
        let there = permission.cluster_wide || asked.place() == Some(namespace);
        let any_object = permission.resource_names.is_empty();
        let object = any_object || name.as_ref().is_some_and(|name| permission.resource_names.contains(name));
        of_user
            && there
            && object
            && has(&permission.verbs, verb.text())
            && has(&permission.api_groups, resource.group)
            && (has(&permission.resources, &resource.text())
                || resource
                    .subresource
                    .is_some_and(|below| has(&permission.resources, &format!("*/{below}"))))
    }
}

/// A text is in a list by itself or by the star.
fn has(list: &[String], text: &str) -> bool {
    list.iter().any(|one| one == "*" || one == text)
}

/// What Kubernetes permits without any document.
fn may_as_anybody(user: Option<&User>, asked: &Asked) -> bool {
    match asked {
        Asked::Path(path) => {
            let is_account = user.is_some_and(|user| user.kind.as_deref() == Some("token"));
            PATHS_OF_EVERYBODY.contains(path) || (is_account && PATHS_OF_SERVICE_ACCOUNTS.contains(path))
        }
        Asked::Object { verb, resource, .. } => {
            *verb == Verb::Create && REVIEWS_OF_EVERYBODY.contains(&resource.plural)
        }
    }
}
