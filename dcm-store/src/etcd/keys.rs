//! Paths as keys, and ranges of them.

use std::sync::Arc;

use dcm_core::port::store::{Document, Entry, Error, Path, Prefix, Version};

use super::api::KeyValue;

/// Keys that begin with a prefix and a slash.
#[derive(Clone)]
pub(super) struct Keys(Arc<str>);

/// Keys from the first one on, and before the end.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Range {
    pub first: Vec<u8>,
    pub end: Vec<u8>,
}

impl Range {
    /// The part of it after a key; none when there can be nothing in it.
    pub(super) fn after(self, mut key: Vec<u8>) -> Option<Self> {
        key.push(0);
        let first = self.first.max(key);
        (first < self.end).then_some(Self { first, ..self })
    }
}

impl Keys {
    pub(super) fn new(prefix: &str) -> Self {
        Self(format!("{prefix}/").into())
    }

    pub(super) fn key(&self, path: &Path) -> Vec<u8> {
        [self.0.as_bytes(), path.as_str().as_bytes()].concat()
    }

    /// The keys of the paths below a prefix.
    pub(super) fn below(&self, prefix: &Prefix) -> Range {
        let first = [self.0.as_bytes(), prefix.as_str().as_bytes()].concat();
        // It ends in a slash: what comes behind all that begin so ends in the byte behind that.
        let mut end = first.clone();
        end.last_mut().into_iter().for_each(|slash| *slash += 1);
        Range { first, end }
    }

    pub(super) fn path(&self, key: &[u8]) -> Result<Path, Error> {
        let text = key.strip_prefix(self.0.as_bytes()).and_then(|rest| std::str::from_utf8(rest).ok());
        text.and_then(|text| Path::new(text).ok()).ok_or_else(|| Error::Failed {
            reason: format!("key {:?} is none of ours", String::from_utf8_lossy(key)),
            source: None,
        })
    }

    pub(super) fn entry(&self, kv: KeyValue) -> Result<Entry, Error> {
        let path = self.path(&kv.key)?;
        let corrupt = |_| Error::Corrupt { what: "document".into(), line: 0, column: 0 };
        let text = String::from_utf8(kv.value).map_err(corrupt)?;
        Ok(Entry { path, version: version(kv.mod_revision), document: Document::from_stored(text) })
    }
}

/// Revisions of keys that are there begin with 2.
pub(super) fn version(revision: i64) -> Version {
    Version(revision.unsigned_abs())
}
