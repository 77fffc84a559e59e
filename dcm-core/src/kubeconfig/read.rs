//! Reading what was written of an access.

use std::collections::BTreeMap;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;

use super::access::{Access, ClusterAccess, Credential};
use super::admin::{Admin, only};
use super::input::{self, Entry, Invalid, field};
use crate::name::{LogicalCloudName, Namespace, ProjectName, ReferenceName, UserName};
use crate::secret::Secret;

impl Access {
    /// Reads what [`for_cluster`](Self::for_cluster) or [`for_all_clusters`](Self::for_all_clusters) has written for a logical cloud.
    ///
    /// # Errors
    /// [`Invalid`], with the path of the field that they would not write so. A file without any context says nothing of a user, and one
    /// that names a program has no credential.
    pub fn read(
        project: ProjectName,
        logical_cloud: LogicalCloudName,
        kubeconfig: &Secret,
    ) -> Result<Self, Invalid> {
        let mut root = input::parse(kubeconfig)?.root;
        let clusters = input::take_entries(&mut root, "clusters")?;
        let users = input::take_entries(&mut root, "users")?;
        let contexts = input::take_entries(&mut root, "contexts")?;
        let mut read = BTreeMap::new();
        let mut owner = None;
        for (index, entry) in contexts.iter().enumerate() {
            let context = Context { path: format!("contexts[{index}].context"), entry };
            let reference = context.name("cluster", |text| ReferenceName::new(text).ok())?;
            let user_entry = context.name("user", |text| Some(text.to_owned()))?;
            let user = context.name("user", |text| UserName::new(text.split('@').next()?).ok())?;
            let namespace = context.name("namespace", |text| Namespace::new(text).ok())?;
            let cluster = Admin::named(reference.as_str(), &context.path_of("cluster"), &clusters)?;
            let credential = credential(&user_entry, &context.path_of("user"), &users)?;
            // One user has one namespace, and one context for each cluster.
            let own = (user, namespace);
            let is_known = read.insert(reference, ClusterAccess { cluster, credential }).is_some();
            if is_known || owner.as_ref().is_some_and(|owner| *owner != own) {
                return Err(field(context.path, "must be as it was written"));
            }
            owner = Some(own);
        }
        let (user, namespace) = owner.ok_or_else(|| field("contexts", "must have an entry"))?;
        Ok(Self { project, logical_cloud, user, namespace, clusters: read })
    }
}

/// An entry of `contexts`.
struct Context<'a> {
    path: String,
    entry: &'a Entry,
}

impl Context<'_> {
    fn path_of(&self, member: &str) -> String {
        format!("{}.{member}", self.path)
    }

    fn name<T>(&self, member: &str, read: impl FnOnce(&str) -> Option<T>) -> Result<T, Invalid> {
        let text = input::text_of(self.entry.body["context"].get(member), || self.path_of(member))?;
        text.and_then(read).ok_or_else(|| field(self.path_of(member), "must be as it was written"))
    }
}

/// What the user entry of this name shows to a cluster.
fn credential(name: &str, path: &str, users: &[Entry]) -> Result<Credential, Invalid> {
    let index = only(users, name, path, "must name exactly one of `users`")?;
    let path_of = |member: &str| format!("users[{index}].user.{member}");
    let text = |member: &str| input::text_of(users[index].body["user"].get(member), || path_of(member));
    let pem = |member: &str| -> Result<Option<String>, Invalid> {
        let Some(data) = text(member)? else { return Ok(None) };
        let read = STANDARD.decode(data).ok().and_then(|bytes| String::from_utf8(bytes).ok());
        read.map(Some).ok_or_else(|| field(path_of(member), "must be base64 of PEM"))
    };
    if let Some(token) = text("token")? {
        return Ok(Credential::Token(Secret::new(token)));
    }
    let certificate = pem("client-certificate-data")?
        .ok_or_else(|| field(path_of("client-certificate-data"), "must be set where there is no token"))?;
    Ok(Credential::Certificate { certificate, key: pem("client-key-data")?.map(Secret::new) })
}
