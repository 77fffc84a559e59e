//! The file of static tokens.

use std::collections::{BTreeMap, BTreeSet};
use std::fs::Metadata;
use std::io;
use std::path::PathBuf;

use dcm_core::refusal::{Checks, Path, Refusals};
use dcm_core::yaml::{self, Unreadable};
use jiff::Timestamp;
use serde::{Deserialize, Serialize};

use super::token::{digest_of, is_id};
use crate::live::{Source, is_writable_beyond_its_owner, read_file};
use crate::name::{self, Kind};

/// What the hash of a token begins with: the algorithm.
pub(super) const HASH_PREFIX: &str = "sha256:";

/// Most tokens in one file. More people than this have an issuer.
pub const FILE_TOKENS_MAX: usize = 2_000;

/// Why a file of static tokens can't be used.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum FileError {
    /// It can't be read.
    #[error("{} can't be read", file.display())]
    Read {
        /// The file.
        file: PathBuf,
        /// What the system said.
        source: io::Error,
    },
    /// Its group or others may write it, and with it make themselves a platform admin.
    #[error("{0} is writable by its group or by others; only its owner may write it: run `chmod go-w {0}`", file.display())]
    Writable {
        /// The file.
        file: PathBuf,
    },
    /// It is no file of tokens. The reader's own message would quote what it does not like, which may be a token.
    #[error("{} is no file of tokens: what is at line {line}, column {column} is not known", file.display())]
    Syntax {
        /// The file.
        file: PathBuf,
        /// The line, from 1.
        line: u64,
        /// The column, from 1.
        column: u64,
    },
    /// It breaks a limit or rule of the [reader](dcm_core::yaml).
    #[error("{} is no file of tokens", file.display())]
    Limit {
        /// The file.
        file: PathBuf,
        /// The limit or rule, with its place.
        source: Unreadable,
    },
    /// Its entries break rules.
    #[error("{} has entries that are not taken", file.display())]
    Entries {
        /// The file.
        file: PathBuf,
        /// All of them.
        source: Refusals,
    },
}

impl FileError {
    /// Whether the same file can be used later without anybody doing something about it: never.
    #[must_use]
    pub fn is_retryable(&self) -> bool {
        false
    }
}

/// A file of static tokens, in YAML or JSON.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct TokenFile {
    /// The tokens. An empty list is a file, too: no token is taken.
    pub tokens: Vec<Entry>,
}

/// A token in the file: not its text, but what it is recognised by.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct Entry {
    /// What it is called in logs; no two are called the same.
    pub name: String,
    /// Its id: the 16 hexadecimal digits after `dcm_`.
    pub id: String,
    /// Who has it.
    pub user: String,
    /// The groups that they are in. Default: none.
    #[serde(default, skip_serializing_if = "BTreeSet::is_empty")]
    pub groups: BTreeSet<String>,
    /// `sha256:` and the SHA-256 of the whole token, in hexadecimal digits.
    pub hash: String,
    /// When it ends. Default: when the entry is taken out.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub until: Option<Timestamp>,
}

impl Entry {
    /// Checks what it says.
    ///
    /// # Errors
    /// All fields that break a rule.
    pub fn check(&self) -> Result<(), Refusals> {
        let mut checks = Checks::default();
        self.check_at(&Path::root(), &mut checks);
        checks.finish(Some(()))
    }

    fn check_at(&self, path: &Path, checks: &mut Checks) {
        let mut named = |field: &str, kind, name: &str| {
            if let Err(invalid) = name::check(kind, name) {
                checks.refuse(&path.field(field), name, invalid.to_string());
            }
        };
        named("user", Kind::User, &self.user);
        for group in &self.groups {
            named("groups", Kind::Group, group);
        }
        if self.groups.len() > name::GROUPS_MAX {
            checks.refuse(&path.field("groups"), "", name::Invalid::Groups.to_string());
        }
        if self.name.is_empty() || name::check(Kind::User, &self.name).is_err() {
            checks.refuse(
                &path.field("name"),
                &self.name,
                "the name of a token follows the rules for those of users",
            );
        }
        // What is not as it should be may be the token itself, by mistake.
        if !is_id(&self.id) {
            checks.refuse(&path.field("id"), "", "an id has 16 hexadecimal digits in lower case");
        }
        if self.digest().is_none() {
            let rule = "a hash is `sha256:` and 64 hexadecimal digits in lower case";
            checks.refuse(&path.field("hash"), "", rule);
        }
    }

    fn digest(&self) -> Option<[u8; 32]> {
        digest_of(self.hash.strip_prefix(HASH_PREFIX)?)
    }
}

impl TokenFile {
    /// Reads a file, as a server does.
    ///
    /// # Errors
    /// As for a server: it can't be read, its group or others may write it, or it breaks rules.
    pub fn read(file: impl Into<PathBuf>) -> Result<Self, FileError> {
        let tokens = Tokens { file: file.into() };
        tokens.parse(&tokens.bytes()?)
    }

    /// The file's text, as YAML.
    #[must_use]
    pub fn to_yaml(&self) -> String {
        // Texts, lists and times: nothing that can't be written.
        serde_saphyr::to_string(self).unwrap_or_default()
    }

    /// Checks what all its entries say.
    ///
    /// # Errors
    /// All fields that break a rule.
    pub fn check(&self) -> Result<(), Refusals> {
        let (mut checks, tokens) = (Checks::default(), Path::root().field("tokens"));
        let (mut ids, mut names) = (BTreeSet::new(), BTreeSet::new());
        if self.tokens.len() > FILE_TOKENS_MAX {
            checks.refuse(&tokens, "", format!("a file has at most {FILE_TOKENS_MAX} tokens"));
        }
        for (index, entry) in self.tokens.iter().enumerate().take(FILE_TOKENS_MAX) {
            let path = tokens.item(index);
            entry.check_at(&path, &mut checks);
            if !ids.insert(&entry.id) {
                checks.refuse(&path.field("id"), "", "no two tokens have the same id");
            }
            if !names.insert(&entry.name) {
                checks.refuse(&path.field("name"), &entry.name, "no two tokens have the same name");
            }
        }
        checks.finish(Some(()))
    }
}

/// A token that is taken.
pub(super) struct Known {
    pub(super) name: String,
    pub(super) user: String,
    pub(super) groups: BTreeSet<String>,
    pub(super) digest: [u8; 32],
    pub(super) until: Option<Timestamp>,
}

/// The tokens of a file, by their ids.
pub(super) struct Tokens {
    pub(super) file: PathBuf,
}

impl Source for Tokens {
    type Made = BTreeMap<String, Known>;
    type Error = FileError;

    fn what(&self) -> String {
        format!("the static tokens in {}", self.file.display())
    }

    fn read(&self) -> Result<Vec<Vec<u8>>, FileError> {
        Ok(vec![self.bytes()?])
    }

    fn make(&self, contents: &[Vec<u8>]) -> Result<Self::Made, FileError> {
        let bytes = contents.first().map_or(&[][..], Vec::as_slice);
        let tokens = self.parse(bytes)?;
        let known = tokens.tokens.into_iter().filter_map(|entry| {
            let digest = entry.digest()?;
            let Entry { name, id, user, groups, until, .. } = entry;
            Some((id, Known { name, user, groups, digest, until }))
        });
        Ok(known.collect())
    }
}

impl Tokens {
    fn bytes(&self) -> Result<Vec<u8>, FileError> {
        let file = &self.file;
        let check = |metadata: &Metadata| match is_writable_beyond_its_owner(metadata) {
            false => Ok(()),
            true => Err(FileError::Writable { file: file.clone() }),
        };
        read_file(file, check, |source| FileError::Read { file: file.clone(), source })
    }

    fn parse(&self, bytes: &[u8]) -> Result<TokenFile, FileError> {
        let syntax = |line: u64, column: u64| FileError::Syntax {
            file: self.file.clone(),
            line: line.max(1),
            column: column.max(1),
        };
        let text = std::str::from_utf8(bytes).map_err(|_| syntax(1, 1))?;
        let tokens: TokenFile = yaml::read(text).map_err(|source| match &source.rule {
            Some(_) => FileError::Limit { file: self.file.clone(), source },
            None => syntax(source.place.line, source.place.column),
        })?;
        match tokens.check() {
            Ok(()) => Ok(tokens),
            Err(source) => Err(FileError::Entries { file: self.file.clone(), source }),
        }
    }
}

#[cfg(test)]
mod tests {
    use std::fs;

    use super::*;
    use crate::live::Live;

    fn entry(name: &str, id: &str) -> Entry {
        let hash = format!("sha256:{}", "0f".repeat(32));
        Entry {
            name: name.to_owned(),
            id: id.repeat(8),
            user: "robot".to_owned(),
            groups: [].into(),
            hash,
            until: None,
        }
    }

    fn open(text: &str) -> Result<usize, String> {
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("tokens");
        fs::write(&file, text).unwrap();
        let opened = Live::open(Tokens { file }, Timestamp::UNIX_EPOCH);
        let place = folder.path().display().to_string();
        opened
            .map(|live| live.current(Timestamp::UNIX_EPOCH).made.len())
            .map_err(|error| dcm_core::causes::told(&error).replace(&place, ""))
    }

    #[test]
    fn a_file_is_yaml_or_json() {
        let two = TokenFile { tokens: vec![entry("one", "01"), entry("two", "02")] };
        assert_eq!(open(&two.to_yaml()), Ok(2));
        assert_eq!(open(&serde_json::to_string(&two).unwrap()), Ok(2));
        assert_eq!(open("tokens: []\n"), Ok(0));
        let text = "# for the build\ntokens:\n- name: ci\n  id: 0123456789abcdef\n  user: robot\n  groups: [builders]\n  \
            hash: sha256:0f0f0f0f0f0f0f0f0f0f0f0f0f0f0f0f0f0f0f0f0f0f0f0f0f0f0f0f0f0f0f0f\n  until: 2027-01-01T00:00:00Z\n";
        assert_eq!(open(text), Ok(1));
    }

    #[test]
    fn what_is_wrong_with_a_file_is_told_without_what_is_in_it() {
        let secret = "dcm_0123456789abcdef_0123456789";
        for text in
            [format!("tokens: {secret}"), format!("{secret}: []"), format!("tokens: [{{{secret}: 1}}]")]
        {
            let error = open(&text).unwrap_err();
            assert!(error.starts_with("/tokens is no file of tokens: what is at line 1, column "), "{error}");
            assert!(!error.contains("0123"), "{error}");
        }
        let wrong = Entry { hash: secret.to_owned(), id: secret.to_owned(), ..entry("one", "01") };
        let error = open(&TokenFile { tokens: vec![wrong] }.to_yaml()).unwrap_err();
        assert!(error.contains("tokens[0].id: an id has 16 hexadecimal digits in lower case"), "{error}");
        assert!(!error.contains("0123"), "{error}");
    }

    #[test]
    fn a_file_that_costs_more_than_its_size_is_refused_by_the_limit() {
        let first = entry("one", "01");
        let more = |id: u32| {
            format!("- {{name: n{id}, id: '{id:016}', user: u, hash: '{}', groups: *g}}\n", first.hash)
        };
        let groups = format!("&g [{}]", (0..4000).map(|group| format!("g{group},")).collect::<String>());
        let tokens: String = (1..5).map(more).collect();
        let (id, hash) = (&first.id, &first.hash);
        let aliases = format!(
            "tokens:\n- {{name: one, id: '{id}', user: u, hash: '{hash}', groups: {groups}}}\n{tokens}"
        );
        let merged = format!(
            "tokens:\n- &a {{name: one, id: '{id}', user: u, hash: '{hash}'}}\n- {{<<: *a, id: b}}\n"
        );
        let many = format!("tokens: [{{groups: [{}]}}]", "g,".repeat(260_000));
        for (text, limit) in [
            (aliases, "it must have aliases (*…) for at most 10000 nodes in all"),
            (many, "it must have at most 250000 nodes"),
            ("tokens: []\ntokens: []\n".to_owned(), "line 2, column 1: it has a key twice"),
            (merged, "it must not have merge keys (<<): write the fields out"),
        ] {
            let error = open(&text).unwrap_err();
            assert!(
                error.starts_with("/tokens is no file of tokens: line ") && error.ends_with(limit),
                "{error}"
            );
        }
    }

    #[test]
    fn two_tokens_are_never_called_the_same() {
        let tokens = vec![
            entry("one", "01"),
            entry("one", "01"),
            Entry { user: "system:x".to_owned(), ..entry("", "02") },
        ];
        let refused = TokenFile { tokens }.check().unwrap_err();
        let paths: Vec<_> = refused.as_slice().iter().map(|refusal| refusal.path.as_str()).collect();
        assert_eq!(paths, ["tokens[1].id", "tokens[1].name", "tokens[2].user", "tokens[2].name"]);
    }

    #[cfg(unix)]
    #[test]
    fn a_file_that_its_group_or_others_may_write_is_refused_with_what_helps() {
        use std::os::unix::fs::PermissionsExt as _;
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("tokens");
        fs::write(&file, "tokens: []").unwrap();
        for (mode, is_taken) in
            [(0o600, true), (0o640, true), (0o644, true), (0o664, false), (0o666, false), (0o602, false)]
        {
            fs::set_permissions(&file, fs::Permissions::from_mode(mode)).unwrap();
            let read = TokenFile::read(&file);
            assert_eq!(read.is_ok(), is_taken, "{mode:o}");
            if let Err(error) = read {
                let help = format!(
                    "{0} is writable by its group or by others; only its owner may write it: run `chmod go-w {0}`",
                    file.display()
                );
                assert_eq!(error.to_string(), help);
            }
        }
    }
}
