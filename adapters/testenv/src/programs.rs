//! Where the server programs are: found on this machine, or built from the source that this crate carries.
//!
//! Each program is looked for in the folder that `KUBEBUILDER_ASSETS` names, then on `PATH`, then in a cache outside of
//! any checkout (`DCM_TESTENV_CACHE`, or `dcm-testenv` in the user's cache folder). What is nowhere is built into the
//! cache, once, with Go; processes that need it at the same time wait for each other.

mod build;
mod module;

use std::env;
use std::ffi::{OsStr, OsString};
use std::fmt;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};

use etcetera::BaseStrategy;

pub use self::build::Error as BuildError;
use self::module::Module;

/// The folder that controller-runtime's envtest takes its programs from; its users have it set already.
const ASSETS_VARIABLE: &str = "KUBEBUILDER_ASSETS";

/// Where the cache is to be, if not in the user's cache folder.
const CACHE_VARIABLE: &str = "DCM_TESTENV_CACHE";

/// A program that an environment needs.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
#[non_exhaustive]
pub enum Program {
    /// `etcd`: the storage of the API servers.
    Etcd,
    /// `kube-apiserver`.
    ApiServer,
    /// `kube-controller-manager`.
    ControllerManager,
    /// `kubectl`: the client that users have.
    Kubectl,
    /// `mongodb-wire`: a server that speaks the MongoDB wire protocol (FerretDB, one request at a time).
    FerretDb,
    /// `oidc-issuer`: an OpenID Connect issuer.
    OidcIssuer,
    /// `coredns`: the DNS server of Kubernetes clusters.
    CoreDns,
}

impl Program {
    /// All of them.
    pub const ALL: [Self; 7] = [
        Self::Etcd,
        Self::ApiServer,
        Self::ControllerManager,
        Self::Kubectl,
        Self::FerretDb,
        Self::OidcIssuer,
        Self::CoreDns,
    ];

    /// The name of the file.
    pub fn name(self) -> &'static str {
        match self {
            Self::Etcd => "etcd",
            Self::ApiServer => "kube-apiserver",
            Self::ControllerManager => "kube-controller-manager",
            Self::Kubectl => "kubectl",
            Self::FerretDb => "mongodb-wire",
            Self::OidcIssuer => "oidc-issuer",
            Self::CoreDns => "coredns",
        }
    }

    /// What it is built from.
    fn module(self) -> Module {
        match self {
            Self::Etcd | Self::ApiServer | Self::ControllerManager | Self::Kubectl => module::KUBERNETES,
            Self::FerretDb => module::FERRETDB,
            Self::OidcIssuer => module::ISSUER,
            Self::CoreDns => module::COREDNS,
        }
    }
}

impl fmt::Display for Program {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(self.name())
    }
}

/// Why the programs could not be had.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// A program is nowhere, and can't be built because there is no Go.
    #[error(
        "not found: {}. Looked in {places}. They can be built into the cache, but `go` is not on PATH either. \
         Install Go 1.26 or newer, or set KUBEBUILDER_ASSETS to a folder with etcd, kube-apiserver, \
         kube-controller-manager and kubectl",
        names(missing)
    )]
    Missing {
        /// The programs that were not found.
        missing: Vec<Program>,
        /// Where they were looked for.
        places: String,
    },
    /// A program is nowhere, and there is no place to build it in.
    #[error(
        "not found: {}. Looked in {places}. They can't be built because there is no cache folder: \
         neither DCM_TESTENV_CACHE nor HOME is set",
        names(missing)
    )]
    NoCache {
        /// The programs that were not found.
        missing: Vec<Program>,
        /// Where they were looked for.
        places: String,
    },
    /// A program is nowhere, and building it failed.
    #[error("not found: {}. Looked in {places}. Building them failed", names(missing))]
    Build {
        /// The programs that were not found.
        missing: Vec<Program>,
        /// Where they were looked for.
        places: String,
        /// What failed.
        source: BuildError,
    },
}

impl Error {
    /// Whether the same call can succeed later: only after somebody has done something about it.
    pub fn is_retryable(&self) -> bool {
        false
    }
}

fn names(programs: &[Program]) -> String {
    programs.iter().map(|program| program.name()).collect::<Vec<_>>().join(", ")
}

/// The places where programs are looked for.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Lookup {
    assets: Option<PathBuf>,
    path: OsString,
    cache: Option<PathBuf>,
}

impl Lookup {
    /// The places that the environment variables name.
    pub fn from_environment() -> Self {
        let set = |name: &str| env::var_os(name).filter(|value| !value.is_empty());
        let user_cache = || Some(etcetera::choose_base_strategy().ok()?.cache_dir().join("dcm-testenv"));
        let cache = set(CACHE_VARIABLE).map(PathBuf::from).or_else(user_cache);
        Self::new(set(ASSETS_VARIABLE).map(PathBuf::from), set("PATH").unwrap_or_default(), cache)
    }

    /// Places of one's own: what `KUBEBUILDER_ASSETS`, `PATH` and `DCM_TESTENV_CACHE` would say. `go` is looked for on
    /// that path, too.
    pub fn new(assets: Option<PathBuf>, path: impl Into<OsString>, cache: Option<PathBuf>) -> Self {
        Self { assets, path: path.into(), cache }
    }

    /// Finds what an environment needs, and builds what is missing.
    ///
    /// # Errors
    /// As [`Self::resolve`].
    pub(crate) async fn kubernetes(&self) -> Result<Programs, Error> {
        let wanted = [Program::Etcd, Program::ApiServer, Program::ControllerManager, Program::Kubectl];
        let [etcd, api_server, controller_manager, kubectl] = self.resolve(wanted).await?;
        Ok(Programs { etcd, api_server, controller_manager, kubectl })
    }

    /// Finds every program, and builds what is missing, so that no test waits for a build.
    ///
    /// # Errors
    /// When a program is nowhere and can't be built; the error lists the places that were searched and what to do.
    pub async fn prepare(&self) -> Result<Vec<(Program, PathBuf)>, Error> {
        let mut found = Vec::with_capacity(Program::ALL.len());
        for program in Program::ALL {
            let [file] = self.resolve([program]).await?;
            found.push((program, file));
        }
        Ok(found)
    }

    /// Finds programs of one module, and builds what is missing. The first build takes minutes and says so on standard error.
    ///
    /// # Errors
    /// When a program is nowhere and can't be built; the error says where it was looked for and what to do.
    pub(crate) async fn resolve<const N: usize>(&self, wanted: [Program; N]) -> Result<[PathBuf; N], Error> {
        let missing = match self.find_all(wanted) {
            Ok(files) => return Ok(files),
            Err(missing) => missing,
        };
        let module = missing.first().map_or(module::KUBERNETES, |program| program.module());
        let places = self.places(&module);
        let Some(cache) = &self.cache else {
            return Err(Error::NoCache { missing, places });
        };
        let Some(go) = find_on_path(&self.path, "go") else {
            return Err(Error::Missing { missing, places });
        };
        let built = build::build(&module, &go, &self.path, &module.folder(cache)).await;
        if let Err(source) = built {
            return Err(Error::Build { missing, places, source });
        }
        self.find_all(wanted).map_err(|missing| Error::Missing { missing, places })
    }

    /// The files of programs, or those that are nowhere.
    fn find_all<const N: usize>(&self, wanted: [Program; N]) -> Result<[PathBuf; N], Vec<Program>> {
        let found = wanted.map(|program| self.find(program).ok_or(program));
        let missing: Vec<Program> = found.iter().filter_map(|file| file.as_ref().err().copied()).collect();
        if missing.is_empty() { Ok(found.map(Result::unwrap_or_default)) } else { Err(missing) }
    }

    fn find(&self, program: Program) -> Option<PathBuf> {
        let in_assets = self.assets.as_ref().map(|assets| assets.join(program.name()));
        let in_cache = self.cache.as_ref().map(|cache| program.module().binaries(cache).join(program.name()));
        in_assets
            .filter(|file| is_executable(file))
            .or_else(|| find_on_path(&self.path, program.name()))
            .or_else(|| in_cache.filter(|file| is_executable(file)))
    }

    /// The places in words, for errors.
    fn places(&self, module: &Module) -> String {
        let assets = self.assets.as_ref().map_or_else(
            || format!("{ASSETS_VARIABLE} (not set)"),
            |assets| format!("{ASSETS_VARIABLE} ({})", assets.display()),
        );
        let path = format!("PATH ({})", self.path.display());
        let cache = self.cache.as_ref().map_or_else(
            || "the cache (no folder for it)".to_owned(),
            |cache| format!("the cache ({})", module.binaries(cache).display()),
        );
        format!("{assets}, {path}, {cache}")
    }
}

impl Default for Lookup {
    fn default() -> Self {
        Self::from_environment()
    }
}

/// Where each program is.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Programs {
    pub(crate) etcd: PathBuf,
    pub(crate) api_server: PathBuf,
    pub(crate) controller_manager: PathBuf,
    pub(crate) kubectl: PathBuf,
}

fn find_on_path(path: &OsStr, name: &str) -> Option<PathBuf> {
    // An empty part means the current folder, from which nobody wants to run programs by chance.
    let folders = env::split_paths(path).filter(|folder| folder.is_absolute());
    folders.map(|folder| folder.join(name)).find(|file| is_executable(file))
}

fn is_executable(file: &Path) -> bool {
    file.metadata().is_ok_and(|metadata| metadata.is_file() && metadata.permissions().mode() & 0o111 != 0)
}

#[cfg(test)]
mod tests {
    use std::fs;

    use super::*;

    fn put(folder: &Path, name: &str) -> PathBuf {
        fs::create_dir_all(folder).unwrap();
        let file = folder.join(name);
        fs::write(&file, "").unwrap();
        fs::set_permissions(&file, fs::Permissions::from_mode(0o755)).unwrap();
        file
    }

    #[test]
    fn the_assets_folder_comes_before_the_path_and_the_path_before_the_cache() {
        let root = tempfile::tempdir().unwrap();
        let [assets, path, cache] = ["assets", "path", "cache"].map(|name| root.path().join(name));
        let lookup = Lookup::new(Some(assets.clone()), path.as_os_str(), Some(cache.clone()));
        let wanted = [Program::Etcd, Program::ApiServer, Program::Kubectl, Program::FerretDb];
        let in_cache = wanted.map(|program| put(&program.module().binaries(&cache), program.name()));
        let on_path = [put(&path, "etcd"), put(&path, "kubectl")];
        let in_assets = put(&assets, "etcd");
        let [etcd, api_server, kubectl, ferretdb] = lookup.find_all(wanted).unwrap();
        assert_eq!((&etcd, &kubectl), (&in_assets, &on_path[1]));
        assert_eq!([&api_server, &ferretdb], [&in_cache[1], &in_cache[3]]);
    }

    #[test]
    fn a_file_that_is_not_executable_is_not_a_program() {
        let root = tempfile::tempdir().unwrap();
        fs::set_permissions(put(root.path(), "etcd"), fs::Permissions::from_mode(0o644)).unwrap();
        let lookup = Lookup::new(Some(root.path().to_owned()), "", None);
        assert_eq!(lookup.find(Program::Etcd), None);
    }
}
