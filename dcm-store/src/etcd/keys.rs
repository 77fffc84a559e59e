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

    /// The path that a key stands for; none for a key that is none of ours.
    pub(super) fn path(&self, key: &[u8]) -> Option<Path> {
        let text = std::str::from_utf8(key.strip_prefix(self.0.as_bytes())?).ok()?;
        Path::new(text).ok()
    }

    /// The document of a key; none for a key that is none of ours.
    pub(super) fn entry(&self, kv: KeyValue) -> Option<Entry> {
        let path = self.path(&kv.key)?;
        let document = match String::from_utf8(kv.value) {
            Ok(text) => Document::from_stored(text),
            Err(_) => Document::unreadable(Error::Failed {
                reason: format!("the value of {path} is no UTF-8"),
                source: None,
            }),
        };
        Some(Entry { path, version: version(kv.mod_revision), document })
    }
}

/// Revisions of keys that are there begin with 2.
pub(super) fn version(revision: i64) -> Version {
    Version(revision.unsigned_abs())
}
