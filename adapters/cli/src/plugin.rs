//! This command as a credential plugin of kubeconfigs.
//!
//! A password of the store is never written into a kubeconfig: then the plugin takes the store's URL from its environment, and nothing
//! else that this may say.

use std::collections::BTreeMap;
use std::path::absolute;

use anyhow::Context as _;
use dcm_core::kubeconfig::{Access, Plugin};
use dcm_core::service::Error;

use dcm_server::Keys;
use dcm_store::StoreUrl;

use crate::arguments::Global;
use crate::commands::credential::InEnvironment;
use crate::exit::{Ended, Exit};
use crate::remote::{FILE, Named, Target};
use crate::session::{keys_of, store_of};

/// The scheme of stores in a file.
const IN_FILE: &str = "sqlite:";

/// The scheme of stores in memory.
const IN_MEMORY: &str = "memory:";

/// The same access with this command in place of each credential. It finds the store or the server from any folder, and whatever its
/// environment says.
pub(crate) fn by_plugins(global: &Global, access: Access) -> anyhow::Result<Access> {
    if access.clusters.values().any(|one| one.credential.is_keyless()) {
        return Err(Error::KeepsKey { user: access.user }.into());
    }
    let command = std::env::current_exe().context("this program's own file can't be found")?;
    let command = text(command)?;
    let (place, environment) = match Target::of(global)? {
        Some(target) => options(target.named)?,
        None => (store_options(global)?, BTreeMap::new()),
    };
    let first = ["credential", access.logical_cloud.as_str(), access.user.as_str()].map(str::to_owned);
    let project = ["--project".to_owned(), access.project.to_string()];
    Ok(access.by_plugins(|reference| {
        let arguments = first.iter().cloned().chain([reference.to_string()]);
        let arguments = arguments.chain(project.clone()).chain(place.clone());
        Plugin { command: command.clone(), arguments: arguments.collect(), environment: environment.clone() }
    }))
}

/// How a server is named, and where its context is found.
fn options(named: Named) -> anyhow::Result<(Vec<String>, BTreeMap<String, String>)> {
    let mut environment = BTreeMap::new();
    if let Some(file) = std::env::var_os(FILE).filter(|file| !file.is_empty()) {
        environment.insert(FILE.to_owned(), text(absolute(file)?)?);
    }
    let options = match named {
        Named::Context(name) => vec!["--context".to_owned(), name.to_string()],
        Named::Server(server) => vec!["--server".to_owned(), server.to_string()],
    };
    Ok((options, environment))
}

/// How a store is named, and the file with its keys.
fn store_options(global: &Global) -> anyhow::Result<Vec<String>> {
    let mut options = option("--store", &store_of(global)?, InEnvironment::STORE)?;
    if let Some(url) = &global.contexts_store {
        options.extend(option("--contexts-store", url, InEnvironment::CONTEXTS_STORE)?);
    }
    let key_file = match keys_of(global)? {
        Keys::File(file) => Some(text(absolute(file)?)?),
        Keys::Variable(_) | Keys::Source(_) => None,
    };
    options.extend(key_file.into_iter().flat_map(|file| ["--key-file".to_owned(), file]));
    Ok(options)
}

/// How one store is named: by its URL, or by a word that says that the environment has it.
fn option(name: &str, url: &StoreUrl, in_environment: &str) -> anyhow::Result<Vec<String>> {
    Ok(match lasting(url)? {
        Some(url) => vec![name.to_owned(), url],
        None => vec![in_environment.to_owned()],
    })
}

/// The URL of a store that another process finds, too; none for one that holds a password.
fn lasting(url: &StoreUrl) -> anyhow::Result<Option<String>> {
    let url = url.as_str();
    if let Some(file) = url.strip_prefix(IN_FILE) {
        return Ok(Some(format!("{IN_FILE}{}", text(absolute(file)?)?)));
    }
    if url.starts_with(IN_MEMORY) {
        let message = "a store in memory ends with this process: no plugin would find it";
        return Err(Ended::new(Exit::Refused, message).into());
    }
    // What stands before the host says who we are, and may hold a password.
    Ok(if url.contains('@') { None } else { Some(url.to_owned()) })
}

fn text(path: std::path::PathBuf) -> anyhow::Result<String> {
    path.into_os_string().into_string().map_err(|path| anyhow::anyhow!("{} is no UTF-8 path", path.display()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_store_with_a_password_is_the_one_that_the_environment_names() {
        let option = |url: &str| option("--store", &url.into(), InEnvironment::STORE).unwrap();
        assert_eq!(option("mongodb://me:secret@one/tenants"), ["--store-in-environment"]);
        assert_eq!(option("mongodb://one/tenants"), ["--store", "mongodb://one/tenants"]);
    }

    #[test]
    fn a_password_of_the_store_is_in_no_kubeconfig() {
        for (url, named) in [
            ("etcd://one:2379,two:2379/ours", Some("etcd://one:2379,two:2379/ours")),
            ("sqlite:/data/store.db", Some("sqlite:/data/store.db")),
            ("mongodb://me:secret@one/tenants", None),
        ] {
            assert_eq!(lasting(&url.into()).unwrap().as_deref(), named);
        }
        assert!(lasting(&"memory:".into()).is_err());
    }
}
