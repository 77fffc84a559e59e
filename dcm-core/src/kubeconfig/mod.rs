//! Kubeconfigs: those of administrators are read, those of users are written.
//!
//! - [`Given`] is a file as client-go reads it, and [`Content`] what an entry of it has. What follows needs the feature `logical-cloud`.
//! - [`Admin`] reads from a registered cluster's kubeconfig where the cluster is, and nothing else of it.
//! - [`UserEndpoint`] is where users reach a cluster that its administrator reaches elsewhere.
//! - [`Access`] is what one user has in one logical cloud; it writes a file for one cluster
//!   ([`Access::for_cluster`]) or one for all ([`Access::for_all_clusters`]), as YAML or JSON.
//! - [`Access::read`] reads such a file again, for who got it from elsewhere.
//! - [`merge`] puts the same into a person's own file, as `kubectl config set-…` would.
//!
//! | File | Cluster entry | Context entry | User entry |
//! |---|---|---|---|
//! | for one cluster | `REFERENCE` | `USER-context` | `USER` |
//! | for all clusters | `REFERENCE` | `USER@REFERENCE` | `USER@REFERENCE` |
//! | merged | `PROJECT/CLOUD/REFERENCE` | `USER@PROJECT/CLOUD/REFERENCE` | `USER@PROJECT/CLOUD/REFERENCE` |
//!
//! API names have no `/` and no `@`, so two merged entries share a name only when they are about the same thing. The
//! namespace is always set. Equal input gives equal text.
//!
//! A user who brought a certificate request keeps the private key, so the file has a certificate and no key until its
//! owner adds it: `kubectl config set-credentials USER_ENTRY --client-key=FILE`, with `--embed-certs` to copy it in.
//! [`Kubeconfig::keyless_users`] are the entries that wait for it.
//! A later merge keeps a key that was added so.
//!
//! Instead of a credential a file may name a program that gives one whenever it is needed ([`Plugin`]);
//! [`exec_credential`] is what the program says. Such a file outlives every renewal and revocation. The clusters' addresses
//! and certificate authorities are in it all the same, so it lasts until those change.
//!
//! What is read and written holds keys and tokens: texts are [`Secret`](crate::secret::Secret)s, and no error and no
//! `Debug` shows content.

#[cfg(feature = "logical-cloud")]
mod access;
#[cfg(feature = "logical-cloud")]
mod admin;
#[cfg(feature = "logical-cloud")]
mod document;
mod form;
mod given;
mod go_base64;
mod go_yaml;
mod input;
#[cfg(feature = "logical-cloud")]
mod merge;
mod pem;
#[cfg(feature = "logical-cloud")]
mod plugin;
#[cfg(feature = "logical-cloud")]
mod read;
#[cfg(test)]
#[cfg(feature = "logical-cloud")]
mod tests;
#[cfg(feature = "logical-cloud")]
mod user_endpoint;

#[cfg(feature = "logical-cloud")]
pub use access::{Access, ClusterAccess, Credential, Kubeconfig, NotWritten};
#[cfg(feature = "logical-cloud")]
pub use admin::Admin;
#[cfg(feature = "logical-cloud")]
pub use document::MARK_NAME;
pub use given::{Content, Given};
pub use input::{Invalid, KUBECONFIG_BYTES_MAX, decode};
#[cfg(feature = "logical-cloud")]
pub use merge::{CurrentContext, MergeError, MergedFiles, NotMerged, merge, merge_files};
pub use pem::{Certificates, private_key};
#[cfg(feature = "logical-cloud")]
pub use plugin::{ExecCredential, Plugin, exec_credential};
#[cfg(feature = "logical-cloud")]
pub use user_endpoint::UserEndpoint;
