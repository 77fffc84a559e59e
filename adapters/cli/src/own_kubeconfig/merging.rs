//! The user's own kubeconfig, written as `kubectl config` writes it.
//!
//! - The files of `KUBECONFIG` count together. An entry that is there stays in its file; new ones go to the first file that is there, else
//!   to the last of the list.
//! - Each file is locked by `FILE.lock`, in the order of their names, as kubectl locks it.
//! - A file is written in its place: it keeps its owner, its mode and its links. When that fails, it gets its old content again.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

use dcm_core::kubeconfig::{
    self, Access, CurrentContext, Given, Invalid, MergeError, NotMerged, merge_files,
};
use dcm_core::secret::Secret;

use super::{bytes_of, default_files};
use crate::in_place::{self, Lock};
use crate::output;

/// The files that an access is merged into.
pub(crate) struct OwnFiles {
    /// Without a second name of one file: written twice, it would lose what the first write put in.
    paths: Vec<PathBuf>,
    /// Those that are locked: every name of a file.
    names: Vec<PathBuf>,
}

/// What a merge did.
pub(crate) struct Merged {
    /// The files that were changed.
    pub(crate) changed: Vec<PathBuf>,
    /// The current context, which is removed.
    pub(crate) removed_current: Option<String>,
}

impl OwnFiles {
    /// The file that is named, or those that kubectl uses.
    pub(crate) fn of(file: Option<PathBuf>) -> anyhow::Result<Self> {
        let mut names = file.map_or_else(default_files, |file| Ok(vec![file]))?;
        let mut spellings = BTreeSet::new();
        names.retain(|name| spellings.insert(in_place::spelled(name)));
        let mut places = BTreeSet::new();
        let paths = names.iter().filter(|name| places.insert(in_place::identity(name))).cloned().collect();
        Ok(Self { paths, names })
    }

    /// Merges a user's access into the files.
    pub(crate) async fn merge(&self, access: &Access, current: CurrentContext) -> anyhow::Result<Merged> {
        in_place::let_large_writes_fail()?;
        let _locks = self.lock().await?;
        let for_new = self.for_new();
        let before = self.read()?;
        let texts = self.texts(&before)?;
        let merged = merge_files(&texts, for_new, access, current)
            .map_err(|NotMerged { file, cause }| self.left(file, cause))?;
        let mut written: Vec<usize> = Vec::new();
        for (place, new) in
            merged.texts.iter().enumerate().filter_map(|(place, text)| Some((place, text.as_ref()?)))
        {
            self.warn(place, &texts[place]);
            if let Err(error) = in_place::write(&self.paths[place], new, before[place].as_deref()) {
                let put_back =
                    |place: usize| in_place::put_back(&self.paths[place], before[place].as_deref());
                // All are tried before the first failure counts.
                let tried: Vec<_> = written.into_iter().map(put_back).collect();
                tried.into_iter().collect::<anyhow::Result<()>>()?;
                return Err(error);
            }
            written.push(place);
        }
        Ok(Merged {
            changed: written.into_iter().map(|place| self.paths[place].clone()).collect(),
            removed_current: merged.removed_current,
        })
    }

    async fn lock(&self) -> anyhow::Result<Vec<Lock>> {
        let mut names: Vec<&Path> = self.names.iter().map(PathBuf::as_path).collect();
        // By their bytes, and not by their components.
        names.sort_unstable_by_key(|name| name.as_os_str());
        let mut locks = Vec::with_capacity(names.len());
        for name in names {
            locks.push(Lock::take(name).await?);
        }
        Ok(locks)
    }

    /// Where new entries go.
    fn for_new(&self) -> usize {
        self.paths.iter().position(|path| path.exists()).unwrap_or(self.paths.len() - 1)
    }

    /// What the files have; none for those that are not there.
    fn read(&self) -> anyhow::Result<Vec<Option<Vec<u8>>>> {
        self.paths.iter().map(|path| bytes_of(path, false)).collect()
    }

    /// The texts of the files; an empty one for those that are not there.
    fn texts(&self, before: &[Option<Vec<u8>>]) -> anyhow::Result<Vec<Secret>> {
        let text = |(file, bytes): (usize, &Option<Vec<u8>>)| {
            let broken = |invalid: Invalid| self.left(file, MergeError::Existing(invalid));
            kubeconfig::decode(bytes.clone().unwrap_or_default()).map_err(broken)
        };
        before.iter().enumerate().map(text).collect()
    }

    /// Warns of what a file has and loses when it is written.
    fn warn(&self, file: usize, text: &Secret) {
        for warning in Given::read(text).iter().flat_map(Given::warnings) {
            output::note(format_args!("kubeconfig {}: warning: {warning}", self.paths[file].display()));
        }
    }

    fn left(&self, file: usize, cause: MergeError) -> anyhow::Error {
        anyhow::Error::new(cause).context(format!("{} was not changed", self.paths[file].display()))
    }
}
