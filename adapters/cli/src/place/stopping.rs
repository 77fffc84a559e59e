//! Pausing work by way of a server, which waits a few seconds at once.

use std::time::Duration;

use tokio::time::Instant;

use super::Error;

/// Shortest time that a server waits.
const WAIT_MIN: Duration = Duration::from_secs(1);

/// Asks until nothing is under way, for as long as may be.
pub(super) async fn until_idle<E>(
    limit: Duration,
    ask: impl AsyncFn(Duration) -> Result<Option<String>, E>,
) -> Result<(), Error>
where
    Error: From<E>,
{
    let begun = Instant::now();
    loop {
        let left = limit.saturating_sub(begun.elapsed());
        match ask(left).await? {
            None => return Ok(()),
            Some(_) if limit.saturating_sub(begun.elapsed()) >= WAIT_MIN => {}
            Some(untold) => return Err(Error::StillUnderWay { limit, untold }),
        }
    }
}
