//! Seeing all that arrives at simulated servers.

use dcm_core::name::ClusterId;
use dcm_core::port::cluster::{Error, Object};
use jiff::Timestamp;

use super::request::{Reply, Request};

/// A request that was handled.
#[derive(Debug, Clone, Copy)]
pub struct Arrival<'a> {
    /// Where.
    pub cluster: &'a ClusterId,
    /// When.
    pub at: Timestamp,
    /// What was asked for.
    pub request: &'a Request,
    /// The object that a write is about, as it was until then; none where there was none.
    pub before: Option<&'a Object>,
    /// What was answered. It may get lost on the way back.
    pub answer: &'a Result<Reply, Error>,
}

/// Sees all that arrives at simulated servers, each request as often as it arrives and in its order.
pub trait Witness: Send + Sync + 'static {
    /// A request was handled. The server can't be looked at from within this call.
    fn handled(&self, arrival: &Arrival<'_>);
}
