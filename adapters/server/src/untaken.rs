//! Connections that could not be taken: in the log, without anybody who connects being able to fill it.

use std::io;
use std::sync::Arc;

use dcm_core::port::clock::Clock;
use dcm_core::tally::Tally;
use jiff::SignedDuration;

use crate::accepting::Origin;

/// How often it is said at most how many there were.
const TOLD_EVERY: SignedDuration = SignedDuration::from_mins(1);

/// Tells of connections of a listener that could not be taken: of each for whoever looks for a fault, and how many there were as a warning.
pub(crate) struct Untaken {
    clock: Arc<dyn Clock>,
    tally: Tally,
}

impl Untaken {
    pub(crate) fn new(clock: Arc<dyn Clock>) -> Self {
        Self { clock, tally: Tally::told_every(TOLD_EVERY) }
    }

    /// Tells of another one: a handshake that failed, or one too many.
    pub(crate) fn tell(&self, origin: Option<&Origin>, error: &io::Error) {
        let origin = origin.map(tracing::field::display);
        tracing::debug!(origin, %error, "a connection could not be taken");
        if let Some(count) = self.tally.add(1, self.clock.now()) {
            tracing::warn!(count, origin, %error, "connections could not be taken: this is the last one");
        }
    }
}
