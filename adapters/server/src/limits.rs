//! What whoever asks may take of a server.

use std::time::Duration;

/// Limits of each listener for the API.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Limits {
    /// How many connections there may be. Beyond that the one that has been idle longest is closed for a new one, and where none is idle, the new
    /// one is closed.
    pub connections_max: usize,
    /// How long the head of a request may take, and how long a connection may be silent between two.
    pub idle_timeout: Duration,
    /// How long an answer may wait for the other end to take some of it.
    pub answer_timeout: Duration,
    /// Those of requests.
    pub requests: dcm_rest::Limits,
}

impl Default for Limits {
    fn default() -> Self {
        Self {
            connections_max: 16_384,
            idle_timeout: Duration::from_secs(30),
            answer_timeout: Duration::from_secs(30),
            requests: dcm_rest::Limits::default(),
        }
    }
}
