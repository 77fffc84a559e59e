//! Work on large texts and objects, on threads of their own. An engine awaits requests to thousands of clusters in one future; what
//! takes long there would hold up all of them.

use std::panic;

use tokio::task;

/// A text of this many bytes, or more, is read on a thread of its own: that takes some 0.1 ms.
const APART_BYTES: usize = 32 * 1024;

/// An object of more values than this is worked on there.
pub(crate) const APART_VALUES: usize = 1000;

/// Works on a text of this many bytes.
pub(crate) async fn reading<T: Send + 'static>(bytes: usize, work: impl FnOnce() -> T + Send + 'static) -> T {
    working(bytes < APART_BYTES, work).await
}

/// Works here, when that does not take long, or on a thread of its own.
pub(crate) async fn working<T: Send + 'static>(
    is_short: bool,
    work: impl FnOnce() -> T + Send + 'static,
) -> T {
    if is_short {
        return work();
    }
    match task::spawn_blocking(work).await {
        Ok(done) => done,
        Err(error) => match error.try_into_panic() {
            Ok(panicked) => panic::resume_unwind(panicked),
            // The runtime ends, and with it the task that waits here.
            Err(_) => std::future::pending().await,
        },
    }
}

#[cfg(test)]
mod tests {
    use std::thread;

    use super::*;

    #[tokio::test]
    async fn what_is_large_is_read_on_another_thread() {
        let here = thread::current().id();
        let reader = async |bytes| reading(bytes, || thread::current().id()).await;
        assert_eq!(reader(APART_BYTES - 1).await, here);
        assert_ne!(reader(APART_BYTES).await, here);
    }
}
