//! What stands at the ports of a program under test (feature `sim`): at each call it decides whether, when and how often
//! the call happens, and what the caller hears of it.
//!
//! A [`Tap`] has one function. [`Tapped`] puts it before a store or before clusters, simulated or real ones:
//!
//! ```
//! use std::sync::Arc;
//! use std::sync::atomic::{AtomicBool, Ordering};
//! use dcm_core::port::store::Store;
//! use dcm_sync::tap::{Crossing, PortError, Tap, Tapped};
//!
//! /// While the switch is on, nothing is written.
//! struct ReadOnly(AtomicBool);
//!
//! impl Tap for ReadOnly {
//!     async fn pass<T: Send, E: PortError>(
//!         &self,
//!         crossing: Crossing<'_>,
//!         call: impl Future<Output = Result<T, E>> + Send,
//!     ) -> Result<T, E> {
//!         if crossing.changes() && self.0.load(Ordering::Relaxed) { Err(E::lost()) } else { call.await }
//!     }
//! }
//!
//! fn guarded(store: Arc<dyn Store>, switch: Arc<ReadOnly>) -> Arc<dyn Store> {
//!     Arc::new(Tapped::new(store, switch))
//! }
//! ```

mod tapped;

use std::sync::Arc;

use dcm_core::app_context::TokenRequest;
use dcm_core::manifest::{GroupVersionKind, ObjectKey};
use dcm_core::port::cluster::{self, Call, IssuedToken, Stamped};
use dcm_core::port::store::{self, BatchError, Path, Write};

pub use tapped::Tapped;

/// A call that crosses a port.
#[derive(Debug, Clone, Copy)]
pub enum Crossing<'a> {
    /// Reads a document.
    Get(&'a Path),
    /// Writes documents.
    Commit(&'a [Write]),
    /// Changes a cluster, on somebody's behalf.
    Change(&'a Call, ClusterChange<'a>),
    /// Any other call; none of them changes anything.
    Read,
}

/// A call that changes a cluster.
#[derive(Debug, Clone, Copy)]
pub enum ClusterChange<'a> {
    /// Makes an object.
    Create(&'a Stamped),
    /// Brings an object to another state.
    Update(&'a Stamped),
    /// Takes our marks off an object.
    Release(&'a GroupVersionKind, &'a ObjectKey),
    /// Replaces a part of an object of another client.
    SetPart(&'a GroupVersionKind, &'a ObjectKey),
    /// Deletes an object.
    Delete(&'a GroupVersionKind, &'a ObjectKey),
    /// Approves a CertificateSigningRequest.
    Approve(&'a ObjectKey),
    /// Asks for a ServiceAccount's token.
    IssueToken(&'a TokenRequest),
}

impl Crossing<'_> {
    /// True when the call changes the store or the cluster, unless it fails.
    #[must_use]
    pub fn changes(&self) -> bool {
        !matches!(self, Self::Get(_) | Self::Read)
    }
}

/// Decides what becomes of calls.
pub trait Tap: Send + Sync + 'static {
    /// A call crosses: it happens when, and if, `call` is awaited. What this gives is what the caller hears; if it
    /// never ends, neither does the call for the caller.
    fn pass<T: Send, E: PortError>(
        &self,
        crossing: Crossing<'_>,
        call: impl Future<Output = Result<T, E>> + Send,
    ) -> impl Future<Output = Result<T, E>> + Send;

    /// A token was issued, whether the caller hears of it or not.
    fn token_issued(&self, token: &IssuedToken) {
        let _ = token;
    }
}

/// An error of a port.
pub trait PortError: Send {
    /// What a caller hears when the other side can't be reached: whether the call happened is not known.
    fn lost() -> Self;
}

fn broken() -> Arc<std::io::Error> {
    Arc::new(std::io::Error::other("broken on purpose"))
}

impl PortError for cluster::Error {
    fn lost() -> Self {
        Self::Unreachable { source: broken() }
    }
}

impl PortError for store::Error {
    fn lost() -> Self {
        Self::Unavailable { source: broken() }
    }
}

impl PortError for BatchError {
    fn lost() -> Self {
        Self { applied: 0, source: store::Error::lost() }
    }
}
