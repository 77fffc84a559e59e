//! What whoever asks may take of a server.

use std::time::Duration;

/// One address has an eighth of the connections: so many have to work together to have them all.
const ADDRESS_SHARE: usize = 8;

/// Even of few connections one address has so many: as many as a browser and some programs behind one router.
const ADDRESS_CONNECTIONS_MIN: usize = 64;

/// Limits of each listener for the API.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Limits {
    /// How many connections there may be. Beyond that the one that has been idle longest is closed for a new one, and where none is idle, the new
    /// one is closed.
    pub connections_max: usize,
    /// How many of them may be of one remote address (of IPv6: one network of 64 bits), loopback addresses excepted; beyond that one of its own makes
    /// room. None: an eighth of all, and at least 64.
    pub connections_per_address_max: Option<usize>,
    /// How long the head of a request may take, and how long a connection may be silent between two.
    pub idle_timeout: Duration,
    /// How long an answer may wait for the other end to take some of it.
    pub answer_timeout: Duration,
    /// Those of requests.
    pub requests: dcm_rest::Limits,
}

impl Limits {
    /// How many connections may be of one remote address.
    pub(crate) fn connections_per_address(&self) -> usize {
        let share = (self.connections_max / ADDRESS_SHARE).max(ADDRESS_CONNECTIONS_MIN);
        self.connections_per_address_max.unwrap_or(share)
    }
}

impl Default for Limits {
    fn default() -> Self {
        Self {
            connections_max: 16_384,
            connections_per_address_max: None,
            idle_timeout: Duration::from_secs(30),
            answer_timeout: Duration::from_secs(30),
            requests: dcm_rest::Limits::default(),
        }
    }
}
