//! The workspace as cargo and git see it.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::{fmt, io};

use cargo_metadata::{CargoOpt, Metadata, MetadataCommand, Package};

/// The folder of the workspace.
#[must_use]
pub fn root() -> PathBuf {
    // Asked at run time: a build folder may serve several checkouts.
    let folder = std::env::var_os("CARGO_MANIFEST_DIR").unwrap_or_else(|| env!("CARGO_MANIFEST_DIR").into());
    let folder = PathBuf::from(folder);
    folder.parent().map_or_else(|| folder.clone(), Path::to_owned)
}

/// The workspace with everything it depends on, on any platform, with all features.
#[derive(Debug)]
pub struct Workspace {
    /// As cargo describes it.
    pub metadata: Metadata,
}

impl Workspace {
    /// Asks cargo.
    ///
    /// # Errors
    /// When cargo can't resolve the workspace as `Cargo.lock` has it.
    pub fn load() -> Result<Self, cargo_metadata::Error> {
        let metadata = MetadataCommand::new()
            .manifest_path(root().join("Cargo.toml"))
            .features(CargoOpt::AllFeatures)
            .other_options(["--locked".to_owned()])
            .exec()?;
        Ok(Self { metadata })
    }

    /// The crates of the workspace.
    #[must_use]
    pub fn members(&self) -> Vec<&Package> {
        self.metadata.workspace_packages()
    }

    /// The member of this name, if there is one.
    #[must_use]
    pub fn member(&self, name: &str) -> Option<&Package> {
        self.members().into_iter().find(|package| package.name.as_str() == name)
    }

    /// Returns these crates of the workspace, and those that depend on them, directly or through others, for their own tests too.
    ///
    /// # Errors
    /// When a name is not that of a crate of the workspace.
    pub fn with_dependants(&self, names: BTreeSet<String>) -> Result<BTreeSet<String>, String> {
        if let Some(unknown) = names.iter().find(|name| self.member(name).is_none()) {
            return Err(format!("package {unknown:?} is not in this workspace"));
        }
        let mut found = names;
        loop {
            let depends =
                |package: &&&Package| package.dependencies.iter().any(|one| found.contains(&one.name));
            let members = self.members();
            let more: Vec<_> =
                members.iter().filter(depends).map(|package| package.name.to_string()).collect();
            let known = found.len();
            found.extend(more);
            if found.len() == known {
                return Ok(found);
            }
        }
    }
}

/// One way to build one crate: alone, with these features and no others.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FeatureSet {
    /// The crate.
    pub package: String,
    /// Its default features are on.
    pub default: bool,
    /// The one feature that is on beside them.
    pub feature: Option<String>,
}

impl FeatureSet {
    /// The ways in which a crate has to stand on its own: without features, with each one alone, and with its
    /// defaults.
    #[must_use]
    pub fn all_of(package: &Package) -> Vec<Self> {
        let set = |default, feature| Self { package: package.name.to_string(), default, feature };
        let mut sets = vec![set(false, None)];
        let features = package.features.keys().filter(|feature| *feature != "default");
        sets.extend(features.map(|feature| set(false, Some(feature.clone()))));
        if package.features.get("default").is_some_and(|features| !features.is_empty()) {
            sets.push(set(true, None));
        }
        sets
    }

    /// The arguments that tell cargo so.
    #[must_use]
    pub fn arguments(&self) -> Vec<&str> {
        let mut arguments = vec!["--package", &self.package];
        if !self.default {
            arguments.push("--no-default-features");
        }
        if let Some(feature) = &self.feature {
            arguments.extend(["--features", feature]);
        }
        arguments
    }
}

impl fmt::Display for FeatureSet {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.arguments().join(" "))
    }
}

/// Runs cargo in the workspace and gives what it printed.
///
/// # Errors
/// When it can't be run, or fails; then with its own words.
pub fn cargo(arguments: &[&str]) -> io::Result<String> {
    let program = std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into());
    output(Command::new(program).args(arguments).current_dir(root()))
}

/// The files that git keeps, relative to the root, without those that are deleted in the work tree.
///
/// # Errors
/// When git can't be run or the workspace is in no repository.
pub fn tracked_files() -> io::Result<Vec<String>> {
    let list = output(Command::new("git").args(["ls-files", "-z"]).current_dir(root()))?;
    let files = list.split('\0').filter(|file| !file.is_empty() && root().join(file).is_file());
    Ok(files.map(str::to_owned).collect())
}

/// Every line that was ever added to a file that git keeps in the repository of a folder, as far back as this clone
/// goes, also by a merge. Lock files apart.
///
/// # Errors
/// When git can't be run or the folder is in no repository.
pub fn history(folder: &Path) -> io::Result<String> {
    let mut git = Command::new("git");
    git.args(["log", "--patch", "--text", "--no-color", "--no-ext-diff", "--unified=0", "--format="]);
    // Of a merge, what is in none of the merged: such a line has a sign for each of them.
    git.args(["-c", "--", ".", ":(exclude,glob)**/Cargo.lock", ":(exclude,glob)**/go.sum"]);
    let patches = output(git.current_dir(folder))?;
    let added = patches.lines().filter(|line| line.starts_with('+'));
    Ok(added.map(|line| line.trim_start_matches('+')).collect::<Vec<_>>().join("\n"))
}

fn output(command: &mut Command) -> io::Result<String> {
    let output = command.output()?;
    if output.status.success() {
        Ok(String::from_utf8_lossy(&output.stdout).into_owned())
    } else {
        let words = String::from_utf8_lossy(&output.stderr);
        Err(io::Error::other(format!("{command:?} failed ({}): {words}", output.status)))
    }
}
