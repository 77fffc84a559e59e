//! Documents: where state is kept.
//!
//! A [`Store`] holds JSON documents under paths. It is small and object safe, so that anyone can write a backend; the
//! `conformance` suite of `dcm-store` holds each backend to this contract.
//!
//! # Contract
//! - **Paths** are compared bytewise. A document is read as it was written.
//! - **Versions**: each write of a document gives it a version that was never used before for that path, also over
//!   deletion and re-creation. Versions of one path grow.
//! - **No blind writes**: a [`Write`] says what it expects. When the expectation does not hold, nothing of that write
//!   happens and the error is [`Error::Conflict`].
//! - **Batches** are applied in order. With [`Capabilities::atomic_batches`] all or none is applied. Without, the
//!   writes before the failed one stay, and [`BatchError::applied`] says how many they are.
//! - **Reads** see every write whose call had returned before the read began.
//! - **Lists** come in bytewise order of their paths, in pages. With [`Capabilities::atomic_batches`] a page shows one moment;
//!   without, each of its documents is as it was at some moment of the call. A list over several pages may miss what is written
//!   meanwhile, and never misses or repeats what is not.
//! - **Watches** are level-triggered: after [`Store::watch`] returned, each later change of a document below the
//!   prefix is followed by an event that shows this or a later state of it. Changes may be joined. Versions of one
//!   path never go back. A watch that lost something, or whose backend went away, says [`Change::Lost`] and ends:
//!   list again. To follow from a known state, watch first and list then.
//! - **Unknown outcome**: when a write fails with [`Error::Unavailable`], it may have happened, or may yet; without atomic batches
//!   so may any number of those behind it in its batch, in order. Read before deciding: what was sent and comes late finds the
//!   version that it expects, or changes nothing.
//! - **Reconnecting**: a store whose backend was away is the same store when it is back. What it had acknowledged is there; watches
//!   that were lost are not.
//! - **Crashes**: whoever writes more than one batch, or batches that are not atomic, writes what counts last. A crash between
//!   any two writes leaves what nobody reads, and whoever comes next finishes or clears it ([`in_order`](super::in_order)).
//! - **Damage**: a document that is there and can't be read hides no other one. Reads, lists and watches show it with a content that
//!   gives an error which names it ([`Document::unreadable`]); no write takes such a content. A write of it that names the version
//!   which is shown replaces or deletes it. Where the version can't be read either, [`Version::UNREADABLE`] is shown, and each write of
//!   it is refused with an [`Error::Failed`] that names it: whoever runs the backend removes it with the backend's own tools. Writes
//!   of other documents succeed all the while.
//! - **Limits**: [`PATH_BYTES_MAX`], [`DOCUMENT_BYTES_MAX`], [`BATCH_WRITES_MAX`], [`BATCH_BYTES_MAX`]. What breaks one is refused whole,
//!   as [`Error::Invalid`]. A page has at most [`PAGE_MAX`] documents, also where more are asked for.
//! - **Capabilities** hold as they are declared: what is durable is there when the store is opened again; what is shared is read,
//!   watched and written through several handles alike, so that of many who take a lease one has it; where secrets in clear have no
//!   place, they are refused.

use std::borrow::Borrow;
use std::fmt;
use std::sync::Arc;

use async_trait::async_trait;
use futures::stream::{self, BoxStream, Stream, TryStreamExt as _};
use serde::{Deserialize, Deserializer, Serialize, Serializer, de::DeserializeOwned};

use crate::secret;

/// Longest path, in bytes.
pub const PATH_BYTES_MAX: usize = 1024;

/// Largest document, in bytes of JSON as it is kept, with its secrets sealed and without the MAC that a wrapper may add: etcd refuses
/// requests over 1.5 MiB by default.
pub const DOCUMENT_BYTES_MAX: usize = 1024 * 1024;

/// Most writes in one batch: etcd's default limit of operations in a transaction.
pub const BATCH_WRITES_MAX: usize = 128;

/// Largest batch, in bytes of its documents: etcd limits a whole request, which has each path three times, too.
pub const BATCH_BYTES_MAX: usize = DOCUMENT_BYTES_MAX;

/// Most documents in one page.
pub const PAGE_MAX: usize = 500;

/// Where a document lies: non-empty segments joined by `/`, such as `projects/p1`.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Path(Arc<str>);

/// A text that is not a path.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{0:?} is not a path: segments joined by '/', none empty, no control characters, at most 1024 bytes")]
pub struct InvalidPath(pub String);

impl Path {
    /// Parses a path.
    ///
    /// # Errors
    /// [`InvalidPath`] when a segment is empty or holds a control character, or the whole is over [`PATH_BYTES_MAX`].
    pub fn new(text: impl AsRef<str>) -> Result<Self, InvalidPath> {
        let text = text.as_ref();
        let legal = text.len() <= PATH_BYTES_MAX
            && text.split('/').all(|segment| !segment.is_empty())
            && !text.chars().any(char::is_control);
        if legal {
            Ok(Self(text.into()))
        } else {
            Err(InvalidPath(text.chars().take(PATH_BYTES_MAX).collect()))
        }
    }

    /// The path as text.
    #[must_use]
    pub fn as_str(&self) -> &str {
        &self.0
    }

    /// The segments.
    pub fn segments(&self) -> impl DoubleEndedIterator<Item = &str> {
        self.0.split('/')
    }
}

impl Borrow<str> for Path {
    /// Ordered as its text, so that a map of paths can be asked from a [`Prefix`] on, which is no path.
    fn borrow(&self) -> &str {
        &self.0
    }
}

impl fmt::Display for Path {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl fmt::Debug for Path {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Debug::fmt(&*self.0, f)
    }
}

impl Serialize for Path {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(&self.0)
    }
}

impl<'de> Deserialize<'de> for Path {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        Self::new(String::deserialize(deserializer)?).map_err(serde::de::Error::custom)
    }
}

/// All paths below a folder: `projects` holds `projects/p1` and `projects/p1/x`, not `projects` nor `projects2`.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Prefix(Arc<str>);

impl Prefix {
    /// Everything below `folder`.
    #[must_use]
    pub fn below(folder: &Path) -> Self {
        Self(format!("{folder}/").into())
    }

    /// Everything there is.
    #[must_use]
    pub fn everything() -> Self {
        Self("".into())
    }

    /// The text that all its paths begin with: empty, or ending in `/`.
    #[must_use]
    pub fn as_str(&self) -> &str {
        &self.0
    }

    /// True for the paths below it.
    #[must_use]
    pub fn contains(&self, path: &Path) -> bool {
        path.as_str().starts_with(&*self.0)
    }
}

impl fmt::Display for Prefix {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl fmt::Debug for Prefix {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Debug::fmt(&*self.0, f)
    }
}

/// Identifies one state of one document.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub struct Version(pub u64);

impl Version {
    /// Stands for the version of a damaged document that can't be read. No document is given it, and no write finds it.
    pub const UNREADABLE: Self = Self(0);
}

/// A JSON document, kept as its text: compact in memory, and read as it was written.
#[derive(Clone)]
pub struct Document(Content);

#[derive(Clone)]
enum Content {
    Text(Arc<str>),
    Unreadable(Arc<Error>),
}

impl Document {
    /// Serialises a value.
    ///
    /// # Errors
    /// [`Error::Invalid`] when the value has no JSON form or is over [`DOCUMENT_BYTES_MAX`].
    pub fn from_value<T: Serialize + ?Sized>(value: &T) -> Result<Self, Error> {
        let text =
            serde_json::to_string(value).map_err(|source| Error::Invalid { reason: source.to_string() })?;
        if text.len() > DOCUMENT_BYTES_MAX {
            let reason = format!("the document has {} bytes, more than {DOCUMENT_BYTES_MAX}", text.len());
            return Err(Error::Invalid { reason });
        }
        Ok(Self::from_stored(text))
    }

    /// Takes JSON text that a backend kept. The text is not parsed here; reading it does.
    #[must_use]
    pub fn from_stored(text: impl Into<Arc<str>>) -> Self {
        Self(Content::Text(text.into()))
    }

    /// Stands for what a backend found where a document should be, and could not read.
    #[must_use]
    pub fn unreadable(error: Error) -> Self {
        Self(Content::Unreadable(Arc::new(error)))
    }

    /// The JSON text; empty, and so none, when it can't be read.
    #[must_use]
    pub fn as_str(&self) -> &str {
        match &self.0 {
            Content::Text(text) => text,
            Content::Unreadable(_) => "",
        }
    }

    /// The JSON text.
    ///
    /// # Errors
    /// Why the backend could not read it.
    pub fn text(&self) -> Result<&str, Error> {
        match &self.0 {
            Content::Text(text) => Ok(text),
            Content::Unreadable(error) => Err(Error::clone(error)),
        }
    }

    /// Reads the value.
    ///
    /// # Errors
    /// That of [`Document::text`]; [`Error::Corrupt`] when the text is not JSON or not of this type. The text is not in the error: it
    /// may be secret.
    pub fn read<T: DeserializeOwned>(&self) -> Result<T, Error> {
        serde_json::from_str(self.text()?).map_err(|source| Error::Corrupt {
            what: std::any::type_name::<T>().to_owned(),
            line: source.line(),
            column: source.column(),
        })
    }
}

impl PartialEq for Document {
    /// Equal texts, or the same words about what could not be read.
    fn eq(&self, other: &Self) -> bool {
        match (&self.0, &other.0) {
            (Content::Text(one), Content::Text(other)) => one == other,
            (Content::Unreadable(one), Content::Unreadable(other)) => one.to_string() == other.to_string(),
            _ => false,
        }
    }
}

impl Eq for Document {}

impl fmt::Debug for Document {
    /// The size alone: a document may hold secrets.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.0 {
            Content::Text(text) => write!(f, "Document({} bytes)", text.len()),
            Content::Unreadable(error) => write!(f, "Document({error})"),
        }
    }
}

/// A document with its path and version.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Entry {
    /// Where it lies.
    pub path: Path,
    /// Its version.
    pub version: Version,
    /// Its content.
    pub document: Document,
}

/// One write, with what it expects.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Write {
    /// Makes a document; there must be none.
    Create {
        /// Where.
        path: Path,
        /// The content.
        document: Document,
    },
    /// Replaces a document; it must have this version.
    Update {
        /// Where.
        path: Path,
        /// The version it must have.
        version: Version,
        /// The new content.
        document: Document,
    },
    /// Removes a document; it must have this version.
    Delete {
        /// Where.
        path: Path,
        /// The version it must have.
        version: Version,
    },
}

impl Write {
    /// How large the document is that it writes, in bytes.
    #[must_use]
    pub fn bytes(&self) -> usize {
        self.document().map_or(0, |document| document.as_str().len())
    }

    /// How large it is at the most where its secrets are kept as ciphertext, in bytes.
    #[must_use]
    pub fn sealed_bytes_max(&self) -> usize {
        self.document().map_or(0, |document| secret::sealed_bytes_max(document.as_str()))
    }

    /// The document that it writes; none for a deletion.
    #[must_use]
    pub fn document(&self) -> Option<&Document> {
        match self {
            Self::Create { document, .. } | Self::Update { document, .. } => Some(document),
            Self::Delete { .. } => None,
        }
    }

    /// Where it writes.
    #[must_use]
    pub fn path(&self) -> &Path {
        match self {
            Self::Create { path, .. } | Self::Update { path, .. } | Self::Delete { path, .. } => path,
        }
    }
}

/// What a list asks for.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct PageRequest {
    /// Only paths after this one; none: from the beginning.
    pub after: Option<Path>,
    /// At most so many documents; none, or more than [`PAGE_MAX`]: [`PAGE_MAX`]. Zero is refused: such pages never end.
    pub limit: Option<usize>,
}

/// One page of a list.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Page {
    /// The documents, in order.
    pub entries: Vec<Entry>,
    /// Where to go on; none when this was the last page.
    pub next: Option<Path>,
}

/// What a backend can do beyond the least that the contract asks.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[allow(clippy::struct_excessive_bools)]
pub struct Capabilities {
    /// A batch is applied as a whole or not at all.
    pub atomic_batches: bool,
    /// What is written outlives the process.
    pub durable: bool,
    /// Watches and writes of several processes on one store see one another.
    pub shared: bool,
    /// Documents may hold clear secrets (`{"$secret": …}`): only where nothing reaches a disk, or below which they are
    /// encrypted. A backend without it refuses them.
    pub holds_secrets: bool,
}

/// What a watch tells.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Change {
    /// The document is now so.
    Put(Entry),
    /// The document is gone.
    Deleted(Path),
    /// Something may have been missed, and nothing more comes: list again.
    Lost,
}

/// Follows the changes below a prefix. Its end means the same as [`Change::Lost`].
pub type Watch = BoxStream<'static, Change>;

/// Why a store refused or failed.
#[derive(Debug, Clone, thiserror::Error)]
pub enum Error {
    /// The document is not as the write expected.
    #[error("{path} was changed by another client meanwhile")]
    Conflict {
        /// Which document.
        path: Path,
        /// The version it has; none when there is no such document.
        found: Option<Version>,
    },
    /// The request breaks a rule of the contract; the same request fails again.
    #[error("the store refuses this: {reason}")]
    Invalid {
        /// The rule.
        reason: String,
    },
    /// A stored document can't be read.
    #[error("a stored document is no {what} (line {line}, column {column})")]
    Corrupt {
        /// What was expected.
        what: String,
        /// Line of the first fault.
        line: usize,
        /// Column of the first fault.
        column: usize,
    },
    /// The store could not be asked, or did not answer in time: a write may have happened.
    #[error("the store is not available")]
    Unavailable {
        /// What happened below.
        #[source]
        source: Arc<dyn std::error::Error + Send + Sync>,
    },
    /// The store failed in a way that asking again will not mend, such as a full or read-only disk or a wrong key.
    #[error("the store failed: {reason}")]
    Failed {
        /// What happened, without secrets.
        reason: String,
        /// What happened below.
        #[source]
        source: Option<Arc<dyn std::error::Error + Send + Sync>>,
    },
}

impl Error {
    /// True when the same call may succeed later.
    #[must_use]
    pub fn is_retryable(&self) -> bool {
        matches!(self, Self::Unavailable { .. })
    }
}

/// Why a batch failed.
#[derive(Debug, Clone, thiserror::Error)]
#[error("write {applied} of the batch failed")]
pub struct BatchError {
    /// How many writes before the failed one stay: 0 with atomic batches.
    pub applied: usize,
    /// Why it failed.
    #[source]
    pub source: Error,
}

/// Where state is kept. The contract is in the [module's documentation](self).
#[async_trait]
pub trait Store: Send + Sync + 'static {
    /// What this backend can do.
    fn capabilities(&self) -> Capabilities;

    /// Reads one document.
    ///
    /// # Errors
    /// [`Error`]; a missing document is `None`.
    async fn get(&self, path: &Path) -> Result<Option<Entry>, Error>;

    /// Reads one page of the documents below a prefix.
    ///
    /// # Errors
    /// [`Error`]; [`Error::Invalid`] for pages of no documents. Nothing below the prefix is an empty page.
    async fn list(&self, prefix: &Prefix, page: &PageRequest) -> Result<Page, Error>;

    /// Applies writes in order and gives the version of each (of a deleted document: the version it had).
    ///
    /// # Errors
    /// [`BatchError`]; [`Error::Invalid`] for more than [`BATCH_WRITES_MAX`] writes, more than [`BATCH_BYTES_MAX`] bytes, or two
    /// writes of one path.
    async fn write(&self, batch: &[Write]) -> Result<Vec<Version>, BatchError>;

    /// Follows the changes below a prefix from now on.
    ///
    /// # Errors
    /// [`Error`].
    async fn watch(&self, prefix: &Prefix) -> Result<Watch, Error>;
}

/// Conveniences over any [`Store`]; not to be implemented.
#[async_trait]
pub trait StoreExt: Store {
    /// Applies one write.
    ///
    /// # Errors
    /// [`Error`].
    async fn write_one(&self, write: Write) -> Result<Version, Error> {
        let versions = self.write(std::slice::from_ref(&write)).await.map_err(|error| error.source)?;
        versions.first().copied().ok_or_else(|| Error::Failed {
            reason: "the backend gave no version for a write".into(),
            source: None,
        })
    }

    /// The documents below a prefix, page by page, from the one that is asked for to the last; an error ends it.
    fn pages(
        &self,
        prefix: Prefix,
        first: PageRequest,
    ) -> impl Stream<Item = Result<Vec<Entry>, Error>> + Send + '_ {
        stream::try_unfold((prefix, Some(first)), async |(prefix, request)| {
            let Some(request) = request else { return Ok(None) };
            let Page { entries, next } = self.list(&prefix, &request).await?;
            let following = next.map(|next| PageRequest { after: Some(next), ..request });
            Ok(Some((entries, (prefix, following))))
        })
    }

    /// Reads all documents below a prefix, page by page.
    ///
    /// # Errors
    /// [`Error`].
    async fn list_all(&self, prefix: &Prefix) -> Result<Vec<Entry>, Error> {
        self.pages(prefix.clone(), PageRequest::default()).try_concat().await
    }
}

impl<S: Store + ?Sized> StoreExt for S {}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn paths_are_checked_once() {
        assert!(Path::new("a/b.c/d e").is_ok());
        for bad in ["", "/a", "a/", "a//b", "a\nb", &"x".repeat(PATH_BYTES_MAX + 1)] {
            assert!(Path::new(bad).is_err(), "{bad:?}");
        }
    }

    #[test]
    fn a_path_is_text_in_json_and_checked_there_too() {
        let path = Path::new("a/b").unwrap();
        assert_eq!(serde_json::to_string(&path).unwrap(), r#""a/b""#);
        assert_eq!(serde_json::from_str::<Path>(r#""a/b""#).unwrap(), path);
        assert!(serde_json::from_str::<Path>(r#""a//b""#).is_err());
    }

    #[test]
    fn a_prefix_holds_what_is_below_its_folder_only() {
        let prefix = Prefix::below(&Path::new("projects").unwrap());
        assert!(prefix.contains(&Path::new("projects/p").unwrap()));
        assert!(!prefix.contains(&Path::new("projects").unwrap()));
        assert!(!prefix.contains(&Path::new("projects2/p").unwrap()));
    }

    #[test]
    fn a_document_never_shows_its_content() {
        let document = Document::from_value(&serde_json::json!({"password": "hunter2"})).unwrap();
        assert!(!format!("{document:?}").contains("hunter2"));
        let error = document.read::<Vec<u8>>().unwrap_err();
        assert!(!format!("{error:?} {error}").contains("hunter2"));
    }
}
