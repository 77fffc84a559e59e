//! This command as a credential plugin of kubeconfigs.

use std::path::absolute;

use anyhow::Context as _;
use dcm_core::kubeconfig::{Access, Plugin};
use dcm_core::service::Error;

use crate::arguments::Global;
use crate::exit::{Ended, Exit};
use crate::session::{key_file_of, store_of};

/// The scheme of stores in a file.
const IN_FILE: &str = "sqlite:";

/// The same access with this command in place of each credential. It finds the store from any folder, and whatever its
/// environment says.
pub(crate) fn by_plugins(global: &Global, access: Access) -> anyhow::Result<Access> {
    if access.clusters.values().any(|one| one.credential.is_keyless()) {
        return Err(Error::NeedsUser { user: access.user }.into());
    }
    let command = std::env::current_exe().context("this program's own file can't be found")?;
    let command = text(command)?;
    let store = lasting(&store_of(global)?)?;
    let key_file = text(absolute(key_file_of(global)?)?)?;
    let first = ["credential", access.logical_cloud.as_str(), access.user.as_str()].map(str::to_owned);
    let project = access.project.to_string();
    Ok(access.by_plugins(|reference| {
        let named = [("--project", &project), ("--store", &store), ("--key-file", &key_file)];
        let named = named.into_iter().flat_map(|(option, value)| [option.to_owned(), value.clone()]);
        let arguments = first.iter().cloned().chain([reference.to_string()]).chain(named);
        Plugin { command: command.clone(), arguments: arguments.collect() }
    }))
}

/// The URL of a store that another process finds, too.
fn lasting(url: &str) -> anyhow::Result<String> {
    let Some(file) = url.strip_prefix(IN_FILE) else {
        let message = "a store in memory ends with this process: no plugin would find it";
        return Err(Ended::new(Exit::Refused, message).into());
    };
    Ok(format!("{IN_FILE}{}", text(absolute(file)?)?))
}

fn text(path: std::path::PathBuf) -> anyhow::Result<String> {
    path.into_os_string().into_string().map_err(|path| anyhow::anyhow!("{} is no UTF-8 path", path.display()))
}
