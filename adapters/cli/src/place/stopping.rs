//! Pausing work by way of a server, which waits a few seconds at once.

use std::time::Duration;

use dcm_core::port::synchronizer::Error as Failure;
use tokio::time::Instant;

use super::Error;

/// Shortest time that a server waits.
const WAIT_MIN: Duration = Duration::from_secs(1);

/// Asks until nothing is under way, for as long as may be. It ends where somebody else has resumed the work meanwhile.
pub(super) async fn until_idle(
    limit: Duration,
    ask: impl AsyncFn(Duration) -> Result<Option<String>, dcm_client::Error>,
    is_stopped: impl AsyncFn() -> Result<bool, dcm_client::Error>,
) -> Result<(), Error> {
    let begun = Instant::now();
    loop {
        let left = limit.saturating_sub(begun.elapsed());
        let Some(untold) = ask(left).await? else { return Ok(()) };
        if limit.saturating_sub(begun.elapsed()) < WAIT_MIN {
            return Err(Error::StillUnderWay { limit, untold });
        }
        // Whoever asks again pauses again.
        if !is_stopped().await? {
            return Err(Failure::Resumed.into());
        }
    }
}

#[cfg(test)]
mod tests {
    use std::cell::Cell;

    use dcm_core::causes;

    use super::*;

    /// Asks a server that waits a second at once, and is idle after so many; somebody resumes the work after others.
    async fn asked(limit: u64, idle_after: u32, resumed_after: u32) -> (Result<(), Error>, u32) {
        let asked = Cell::new(0);
        let ask = async |_| {
            tokio::time::sleep(WAIT_MIN).await;
            asked.set(asked.get() + 1);
            Ok((asked.get() < idle_after).then(|| "one is at work".to_owned()))
        };
        let is_stopped = async || Ok(asked.get() < resumed_after);
        let ended = until_idle(Duration::from_secs(limit), ask, is_stopped).await;
        (ended, asked.get())
    }

    #[tokio::test(start_paused = true)]
    async fn it_is_asked_until_nothing_is_under_way_or_the_time_is_over_or_somebody_resumes() {
        assert!(matches!(asked(9, 3, 99).await, (Ok(()), 3)));
        let (late, times) = asked(4, 99, 99).await;
        assert_eq!(
            (late.unwrap_err().to_string(), times),
            ("paused, but after 4 s one is at work".to_owned(), 4)
        );
        let (resumed, times) = asked(9, 99, 2).await;
        assert_eq!(
            (causes::told(&resumed.unwrap_err()), times),
            ("another client resumed the work meanwhile".to_owned(), 2)
        );
    }
}
