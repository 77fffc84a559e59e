//! Users.

use dcm_core::logical_cloud::{LogicalCloud, User, UserDraft};
use dcm_core::name::UserName;
use dcm_core::service::{Kind, PartDraft, PartName};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::{METADATA, Object, Part};
use crate::documented::body::schema_of;
use crate::documented::openapi::Rules;
use crate::documented::problem::Problem;

/// Who works in a logical cloud.
#[derive(Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields, default)]
#[schemars(rename = "User", inline)]
pub(crate) struct UserSpec {
    /// `certificate` (default) or `token`, in any case.
    #[serde(rename = "type", skip_serializing_if = "Option::is_none")]
    pub(crate) kind: Option<String>,
    /// A certificate signing request (PEM) that the user made; then we never hold a private key.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) csr: Option<String>,
    /// The private key that is made for a certificate user: `ecdsa-p256` (default), `rsa-2048`, `rsa-3072` or `rsa-4096`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) key: Option<String>,
    /// How long a credential is to live, in seconds, 600 and up. Default: the cluster's own.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) lifetime_seconds: Option<i64>,
}

impl std::fmt::Debug for UserSpec {
    /// The lengths of request and key alone: somebody may have pasted the private key.
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let Self { kind, csr, key, lifetime_seconds } = self;
        f.debug_struct("UserSpec")
            .field("kind", kind)
            .field("csr_bytes", &csr.as_ref().map(String::len))
            .field("key_bytes", &key.as_ref().map(String::len))
            .field("lifetime_seconds", lifetime_seconds)
            .finish()
    }
}

impl Part for UserSpec {
    schema_of!(Object<UserSpec>);

    type Name = UserName;
    type Model = User;
    const KIND: Kind = Kind::User;
    const ONE: &'static str = "a user";
    const MANY: &'static str = "users";
    const RULES: Rules = &[METADATA, ("/properties/spec", "/properties/spec/properties/users/items")];

    fn into_draft(Object { metadata, spec }: Object<Self>) -> Result<PartDraft, Problem> {
        let Self { kind, csr, key, lifetime_seconds } = spec;
        let draft = UserDraft::with_metadata(metadata);
        Ok(PartDraft::User(UserDraft { kind, csr, key, lifetime_seconds, ..draft }))
    }

    fn part_name(name: UserName) -> PartName {
        PartName::User(name)
    }

    fn all(cloud: &LogicalCloud) -> &[User] {
        cloud.users()
    }

    fn object(user: &User) -> Object<Self> {
        let draft = UserDraft::from(user.clone());
        let metadata = draft.metadata();
        let UserDraft { kind, csr, key, lifetime_seconds, .. } = draft;
        Object { metadata, spec: Self { kind, csr, key, lifetime_seconds } }
    }
}
