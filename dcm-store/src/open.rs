//! Opens a store by its URL.

use std::fmt;
use std::sync::Arc;

use dcm_core::port::room::Room;
use dcm_core::port::store::{Error, Store};

/// What can be opened, by scheme; none when its feature is off.
const SCHEMES: [(&str, &str, bool); 4] = [
    ("memory", "memory", cfg!(feature = "memory")),
    ("sqlite", "sqlite", cfg!(feature = "sqlite")),
    ("etcd", "etcd", cfg!(feature = "etcd")),
    ("mongodb", "mongodb", cfg!(feature = "mongodb")),
];

/// The URL of a store, as [`open`] takes it. It may hold a password: `Debug` shows its scheme alone.
#[derive(Clone, PartialEq, Eq)]
pub struct StoreUrl(String);

impl StoreUrl {
    /// The whole, with a password where there is one.
    #[must_use]
    pub fn as_str(&self) -> &str {
        &self.0
    }

    /// What stands before the first colon; nothing where there is none.
    #[must_use]
    pub fn scheme(&self) -> &str {
        self.0.split_once(':').map_or("", |(scheme, _)| scheme)
    }

    /// Refuses a URL by which documents and passwords would go to another machine in clear, as [`open`] does. Any other URL that
    /// can't be opened is not refused here.
    ///
    /// # Errors
    /// The rule, with the member, and what to set instead.
    pub fn check_transport(&self) -> Result<(), String> {
        match self.0.split_once(':') {
            #[cfg(feature = "etcd")]
            Some(("etcd", rest)) => crate::etcd::Location::check_transport(rest),
            #[cfg(feature = "mongodb")]
            Some(("mongodb", rest)) => crate::mongodb::Location::check_transport(rest),
            _ => Ok(()),
        }
    }
}

impl From<String> for StoreUrl {
    fn from(url: String) -> Self {
        Self(url)
    }
}

impl From<&str> for StoreUrl {
    fn from(url: &str) -> Self {
        Self(url.to_owned())
    }
}

impl fmt::Debug for StoreUrl {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "StoreUrl({}:…)", self.scheme())
    }
}

/// Why a store could not be opened. The URL is not in it but for its scheme: it may hold a password.
#[derive(Debug, Clone, thiserror::Error)]
pub enum OpenError {
    /// There is no store by this scheme.
    #[error("{scheme:?} is no kind of store; these are: {}", supported())]
    UnknownScheme {
        /// What stands before the first colon, or the whole where there is none.
        scheme: String,
    },
    /// There is one, but this build is without it.
    #[error("this build has no {scheme} store (feature `{feature}` is off); it has: {}", supported())]
    FeatureOff {
        /// The scheme.
        scheme: String,
        /// The feature of this crate that is off.
        feature: &'static str,
    },
    /// What follows the scheme is not as it should be.
    #[error("{expected}")]
    Malformed {
        /// What is wrong with it, or how it should look.
        expected: String,
    },
    /// The store itself can't be opened.
    #[error(transparent)]
    Store(#[from] Error),
}

fn supported() -> String {
    let names: Vec<&str> = SCHEMES.iter().filter(|(.., on)| *on).map(|(scheme, ..)| *scheme).collect();
    if names.is_empty() { "none".into() } else { names.join(", ") }
}

/// Opens the store that a URL names:
///
/// | URL | Store |
/// |---|---|
/// | `memory:` | a new, empty one |
/// | `sqlite:PATH` | a file, made when there is none |
/// | `etcd://[USER[:PASSWORD]@]HOST[:PORT][,…][/PREFIX][?OPTIONS]` | etcd; keys begin with `PREFIX/` (`dcm/`). Options: `ca`, `cert`, `key` (files in PEM), `tls=true`, `timeout` (seconds), `insecure=true` |
/// | `mongodb://[USER[:PASSWORD]@]HOST[:PORT][,…][/DATABASE][?OPTIONS]` | MongoDB; the database is `dcm` by default. Options: `collection` (`DCM`), `timeout` (seconds), `insecure=true`, and those of MongoDB's own connection strings, such as `tls=true`, `tlsCAFile`, `authSource` |
///
/// A member of etcd or MongoDB on another machine is spoken to over TLS, or, with `insecure=true`, in clear.
///
/// # Errors
/// [`OpenError`].
pub async fn open(url: &str) -> Result<Arc<dyn Store>, OpenError> {
    open_with_rooms(url, &[]).await
}

/// The same, where it is known what lies where: a backend that people look into names the keys of each document.
///
/// # Errors
/// [`OpenError`].
pub async fn open_with_rooms(url: &str, rooms: &[Room]) -> Result<Arc<dyn Store>, OpenError> {
    open_as(url, rooms, Absent::Made).await
}

/// The same for a store that somebody has used before: where there is no file, none is made. Of a server nobody knows.
///
/// # Errors
/// [`OpenError`].
pub async fn open_existing(url: &str, rooms: &[Room]) -> Result<Arc<dyn Store>, OpenError> {
    open_as(url, rooms, Absent::Refused).await
}

/// What is done where there is no store yet.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Absent {
    Made,
    Refused,
}

#[cfg_attr(not(any(feature = "sqlite", feature = "etcd", feature = "mongodb")), allow(clippy::unused_async))]
#[cfg_attr(not(all(feature = "sqlite", feature = "mongodb")), allow(unused_variables))]
async fn open_as(url: &str, rooms: &[Room], absent: Absent) -> Result<Arc<dyn Store>, OpenError> {
    let (scheme, rest) = url.split_once(':').unwrap_or((url, ""));
    match (scheme, rest) {
        #[cfg(feature = "memory")]
        ("memory", "") => Ok(Arc::new(crate::MemoryStore::new())),
        #[cfg(feature = "memory")]
        ("memory", _) => Err(malformed("nothing follows `memory:`")),
        #[cfg(feature = "sqlite")]
        ("sqlite", "") => Err(malformed("a file's path follows `sqlite:`")),
        #[cfg(feature = "sqlite")]
        ("sqlite", file) => Ok(Arc::new(match absent {
            Absent::Made => crate::SqliteStore::open(file).await?,
            Absent::Refused => crate::SqliteStore::open_existing(file).await?,
        })),
        #[cfg(feature = "etcd")]
        ("etcd", place) => {
            let location = crate::etcd::Location::parse(place).map_err(malformed)?;
            Ok(Arc::new(crate::EtcdStore::open(&location).await?))
        }
        #[cfg(feature = "mongodb")]
        ("mongodb", place) => {
            let location = crate::mongodb::Location::parse(place).map_err(malformed)?;
            let location = crate::mongodb::Location { rooms: rooms.to_vec(), ..location };
            Ok(Arc::new(crate::MongoDbStore::open(&location).await?))
        }
        _ => Err(unknown(scheme)),
    }
}

#[cfg(any(feature = "memory", feature = "sqlite", feature = "etcd", feature = "mongodb"))]
fn malformed(expected: impl Into<String>) -> OpenError {
    OpenError::Malformed { expected: expected.into() }
}

fn unknown(scheme: &str) -> OpenError {
    let scheme = scheme.to_owned();
    match SCHEMES.iter().find(|(known, ..)| *known == scheme) {
        Some((_, feature, _)) => OpenError::FeatureOff { scheme, feature },
        None => OpenError::UnknownScheme { scheme },
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn what_is_unknown_says_what_is_known_and_keeps_passwords_to_itself() {
        let error = open("mysql://root:hunter2@db/x").await.err().unwrap().to_string();
        assert!(
            error.contains("mysql") && error.contains(&supported()) && !error.contains("hunter2"),
            "{error}"
        );
    }

    #[test]
    fn a_url_shows_its_scheme_alone() {
        let url = StoreUrl::from("etcd://me:hunter2@one/ours");
        assert_eq!((format!("{url:?}").as_str(), url.as_str().len()), ("StoreUrl(etcd:…)", 26));
        assert_eq!(StoreUrl::from("me@hunter2").scheme(), "");
    }

    #[tokio::test]
    async fn a_scheme_whose_feature_is_off_says_so() {
        for (scheme, feature, on) in SCHEMES {
            let error = open(&format!("{scheme}:")).await.err();
            let off = matches!(error, Some(OpenError::FeatureOff { feature: named, .. }) if named == feature);
            assert_eq!(off, !on, "{scheme}");
        }
    }

    #[cfg(feature = "memory")]
    #[tokio::test]
    async fn memory_opens_and_takes_no_path() {
        assert!(!open("memory:").await.unwrap().capabilities().durable);
        assert!(matches!(open("memory:x").await, Err(OpenError::Malformed { .. })));
    }

    #[cfg(feature = "sqlite")]
    #[tokio::test]
    async fn sqlite_opens_the_file_that_is_named() {
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("store.db");
        let store = open(&format!("sqlite:{}", file.display())).await.unwrap();
        assert!(store.capabilities().durable && file.exists());
        assert!(matches!(open("sqlite:").await, Err(OpenError::Malformed { .. })));
        assert!(open_existing(&format!("sqlite:{}", file.display()), &[]).await.is_ok());
        let other = folder.path().join("other.db");
        let refused = open_existing(&format!("sqlite:{}", other.display()), &[]).await.err().unwrap();
        assert_eq!(
            refused.to_string(),
            format!("the store failed: {}: there is no such file", other.display())
        );
        assert!(!other.exists());
    }
}
