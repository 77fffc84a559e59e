//! Making connections, also when the way there swallows what is sent.

use std::pin::pin;
use std::task::{Context, Poll};
use std::time::Duration;

use futures::future::{BoxFuture, Either, FutureExt as _, select};
use http::Uri;
use tokio::time::{sleep, timeout};
use tower::{BoxError, Service, ServiceExt as _};

/// When a connection is not there after this time, another one is tried beside it, and so on: what was sent while the
/// cluster was away may be lost for good, and then only a new connection tells that it is back. The first one goes on, as
/// some ways are just slow.
const FRESH_WAIT: Duration = Duration::from_secs(3);

/// There was no connection in time.
#[derive(Debug, thiserror::Error)]
#[error("there was no connection within {0:?}")]
struct NotEstablished(Duration);

/// A connector whose connections are there within a limit, with all that belongs to them: names, proxies, TLS.
#[derive(Debug, Clone)]
pub(crate) struct Establish<C> {
    connector: C,
    time_limit: Duration,
}

impl<C> Establish<C> {
    pub(crate) fn new(connector: C, time_limit: Duration) -> Self {
        Self { connector, time_limit }
    }
}

impl<C> Service<Uri> for Establish<C>
where
    C: Service<Uri> + Clone + Send + Sync + 'static,
    C::Response: Send,
    C::Error: Into<BoxError> + Send,
    C::Future: Send,
{
    type Response = C::Response;
    type Error = BoxError;
    type Future = BoxFuture<'static, Result<C::Response, BoxError>>;

    fn poll_ready(&mut self, _: &mut Context<'_>) -> Poll<Result<(), BoxError>> {
        // Each connection is made by a connector of its own, which is waited for then.
        Poll::Ready(Ok(()))
    }

    fn call(&mut self, uri: Uri) -> Self::Future {
        let Self { connector, time_limit } = self.clone();
        let connect = move || connector.clone().oneshot(uri.clone()).map(|made| made.map_err(Into::into));
        establish(connect, time_limit).boxed()
    }
}

/// Whichever connection is there first, or fails first.
async fn establish<T, F>(connect: impl Fn() -> F, time_limit: Duration) -> Result<T, BoxError>
where
    F: Future<Output = Result<T, BoxError>>,
{
    let first = pin!(connect());
    let fresh = pin!(async {
        sleep(FRESH_WAIT).await;
        loop {
            if let Ok(made) = timeout(FRESH_WAIT, connect()).await {
                return made;
            }
        }
    });
    match timeout(time_limit, select(first, fresh)).await {
        Ok(Either::Left((made, _)) | Either::Right((made, _))) => made,
        Err(_) => Err(NotEstablished(time_limit).into()),
    }
}

#[cfg(test)]
mod tests {
    use std::cell::Cell;

    use tokio::time::Instant;

    use super::*;

    const LIMIT: Duration = Duration::from_secs(10);

    /// Connects where the first connections are as slow as given, and all later ones at once. Tells which one was taken,
    /// and after how many seconds.
    async fn seconds_until(slow: &[u64]) -> (Result<usize, String>, u64) {
        let (started, count) = (Instant::now(), Cell::new(0));
        let connect = || {
            let number = count.replace(count.get() + 1);
            let takes = slow.get(number).copied().unwrap_or_default();
            async move {
                sleep(Duration::from_secs(takes)).await;
                Ok(number)
            }
        };
        let made = establish(connect, LIMIT).await.map_err(|error| error.to_string());
        (made, started.elapsed().as_secs())
    }

    #[tokio::test(start_paused = true)]
    async fn a_connection_that_is_swallowed_is_replaced_and_one_that_is_only_slow_is_not() {
        const NEVER: u64 = u32::MAX as u64;
        assert_eq!(seconds_until(&[]).await, (Ok(0), 0));
        assert_eq!(seconds_until(&[NEVER]).await, (Ok(1), 3));
        assert_eq!(seconds_until(&[NEVER, NEVER]).await, (Ok(2), 6));
        assert_eq!(seconds_until(&[8, 8, 8, 8]).await, (Ok(0), 8));
        let late = Err("there was no connection within 10s".to_owned());
        assert_eq!(seconds_until(&[NEVER; 4]).await, (late, 10));
    }

    #[tokio::test(start_paused = true)]
    async fn a_refusal_is_told_at_once() {
        let refused = || std::future::ready(Err::<(), BoxError>("refused".into()));
        let started = Instant::now();
        assert_eq!(establish(refused, LIMIT).await.unwrap_err().to_string(), "refused");
        assert_eq!(started.elapsed(), Duration::ZERO);
    }
}
