//! What whoever asks a server may take of it, on the command line.

use std::time::Duration;

use dcm_server::{LimitSettings, Limits, duration_text};
use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};

use crate::{duration, output};

#[derive(Debug, clap::Args)]
#[command(next_help_heading = "Limits of each listener for the API")]
pub(crate) struct Limited {
    /// Maximum number of connections. Beyond it, the connection that has been idle longest is closed for a new one; if none is idle, the new
    /// one is closed. Default: 16384, or three quarters of the files that the process may open.
    #[arg(long, env = "DCM_CONNECTIONS_MAX", value_parser = positive, value_name = "NUMBER")]
    connections_max: Option<usize>,
    /// Maximum number of connections of one remote address (IPv6: of one /64 network), loopback excepted; beyond it, one of its own is
    /// closed. Default: an eighth of all, and at least 64.
    #[arg(long, env = "DCM_CONNECTIONS_PER_ADDRESS_MAX", value_parser = positive, value_name = "NUMBER")]
    connections_per_address_max: Option<usize>,
    /// Maximum number of requests in flight; further ones are answered with 503. Default: 4096.
    #[arg(long, env = "DCM_REQUESTS_MAX", value_parser = positive, value_name = "NUMBER")]
    requests_max: Option<usize>,
    /// Maximum size of all request bodies in flight, beyond the first 64 KiB of each; a body without room is answered with 503. Each
    /// authenticated caller has a quarter of it, and at least 8 MiB; more is answered with 429. Default: 67108864 (64 MiB), at least
    /// 8388608.
    #[arg(long, env = "DCM_BODY_BYTES_MAX", value_parser = positive, value_name = "BYTES")]
    body_bytes_max: Option<usize>,
    /// Maximum number of callers that follow events; further ones are answered with 503. Default: 1024.
    #[arg(long, env = "DCM_FOLLOWERS_MAX", value_parser = positive, value_name = "NUMBER")]
    followers_max: Option<usize>,
    /// Maximum number of event streams of one authenticated caller; further ones are answered with 429. Default: 128.
    #[arg(long, env = "DCM_FOLLOWERS_PER_CALLER_MAX", value_parser = positive, value_name = "NUMBER")]
    followers_per_caller_max: Option<usize>,
    /// Time for the body of a request to arrive; a slower one is answered with 408. Default: 60s.
    #[arg(long, env = "DCM_BODY_TIMEOUT", value_parser = duration::parse, value_name = "DURATION")]
    body_timeout: Option<Duration>,
    /// Time for the head of a request, and idle time between two requests; then the connection is closed. Default: 30s.
    #[arg(long, env = "DCM_IDLE_TIMEOUT", value_parser = duration::parse, value_name = "DURATION")]
    idle_timeout: Option<Duration>,
    /// Time that an answer waits for the client to read some of it; then the connection is closed. Default: 30s.
    #[arg(long, env = "DCM_ANSWER_TIMEOUT", value_parser = duration::parse, value_name = "DURATION")]
    answer_timeout: Option<Duration>,
}

impl Limited {
    /// What is said of them.
    pub(crate) fn said(&self) -> LimitSettings {
        LimitSettings {
            connections_max: self.connections_max,
            connections_per_address_max: self.connections_per_address_max,
            requests_max: self.requests_max,
            body_bytes_max: self.body_bytes_max,
            followers_max: self.followers_max,
            followers_per_caller_max: self.followers_per_caller_max,
            body_timeout: self.body_timeout.map(duration_text),
            idle_timeout: self.idle_timeout.map(duration_text),
            answer_timeout: self.answer_timeout.map(duration_text),
        }
    }
}

/// The limits of so many listeners. Raises the limit of open files to the highest that the system allows, and has fewer connections where
/// that is not enough.
pub(crate) fn possible(mut limits: Limits, listeners: usize) -> Limits {
    if listeners == 0 {
        return limits;
    }
    let Some(files) = raised() else { return limits };
    let share = share_of(files, listeners);
    if share < limits.connections_max {
        output::note(format_args!(
            "at most {share} connections for each API: a process may open {files} files here (`ulimit -Hn`)"
        ));
        limits.connections_max = share;
    }
    limits
}

/// A quarter of the files is left for the store, for clusters, and for connections that are about to end.
fn share_of(files: u64, listeners: usize) -> usize {
    let share = files / 4 * 3 / listeners as u64;
    usize::try_from(share).unwrap_or(usize::MAX).max(1)
}

/// Has as many files open as the system allows; none where it sets no limit.
fn raised() -> Option<u64> {
    let Rlimit { current, maximum } = getrlimit(Resource::Nofile);
    let raised = setrlimit(Resource::Nofile, Rlimit { current: maximum, maximum });
    if raised.is_ok() { maximum } else { current }
}

fn positive(text: &str) -> Result<usize, String> {
    text.parse().ok().filter(|number| *number > 0).ok_or_else(|| "must be a number greater than 0".to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn listeners_share_three_quarters_of_the_files() {
        for (files, listeners, share) in
            [(1024, 1, 768), (20_000, 2, 7500), (3, 1, 1), (1_048_576, 1, 786_432)]
        {
            assert_eq!(share_of(files, listeners), share, "{files} {listeners}");
        }
    }
}
