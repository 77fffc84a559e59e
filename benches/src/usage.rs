//! What this process, or another one, has used.

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

/// CPU time of all threads of another process since its start.
///
/// # Errors
/// Where there is no `/proc` that says it.
pub fn cpu_of(process: u32) -> Result<Duration> {
    let stat = std::fs::read_to_string(format!("/proc/{process}/stat"))
        .context("the CPU time of a process is read from /proc")?;
    // The second field is a name in parentheses; the times are the 14th and the 15th.
    let (_, fields) = stat.rsplit_once(')').context("a name in parentheses")?;
    let ticks: Vec<u64> =
        fields.split_whitespace().skip(11).take(2).map(str::parse).collect::<Result<_, _>>()?;
    let seconds = Duration::from_secs(ticks.iter().sum());
    Ok(seconds / u32::try_from(rustix::param::clock_ticks_per_second())?)
}

/// Resident memory now, in bytes.
///
/// # Errors
/// Where there is no `/proc` that says it.
pub fn resident_bytes() -> Result<u64> {
    resident_bytes_of(std::process::id())
}

/// Resident memory of another process now, in bytes.
///
/// # Errors
/// Where there is no `/proc` that says it.
pub fn resident_bytes_of(process: u32) -> Result<u64> {
    status_of(process, "VmRSS:")
}

/// The most resident memory that this process ever had, in bytes.
///
/// # Errors
/// Where there is no `/proc` that says it.
pub fn peak_resident_bytes() -> Result<u64> {
    status_of(std::process::id(), "VmHWM:")
}

fn status_of(process: u32, name: &str) -> Result<u64> {
    let file = format!("/proc/{process}/status");
    let status = std::fs::read_to_string(&file).context("the memory of a process is read from /proc")?;
    let line = status
        .lines()
        .find_map(|line| line.strip_prefix(name))
        .with_context(|| format!("no {name} in {file}"))?;
    let kibibytes: u64 = line.trim().trim_end_matches("kB").trim().parse()?;
    Ok(kibibytes * 1024)
}
