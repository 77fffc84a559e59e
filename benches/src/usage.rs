//! What this process has used.

use std::time::Duration;

use anyhow::{Context as _, Result};
use rustix::time::{ClockId, clock_gettime};

/// CPU time of all threads since the start.
///
/// # Errors
/// When the system gives a time below zero.
pub fn cpu() -> Result<Duration> {
    let time = clock_gettime(ClockId::ProcessCPUTime);
    Ok(Duration::new(time.tv_sec.try_into()?, time.tv_nsec.try_into()?))
}

/// Resident memory now, in bytes.
///
/// # Errors
/// Where there is no `/proc` that says it.
pub fn resident_bytes() -> Result<u64> {
    let status =
        std::fs::read_to_string("/proc/self/status").context("the memory of a process is read from /proc")?;
    let line = status
        .lines()
        .find_map(|line| line.strip_prefix("VmRSS:"))
        .context("no VmRSS in /proc/self/status")?;
    let kibibytes: u64 = line.trim().trim_end_matches("kB").trim().parse()?;
    Ok(kibibytes * 1024)
}
