//! The background runtime: what must outlive a single test runs here.
//!
//! A `#[tokio::test]` has a runtime of its own that ends with the test, and takes everything spawned on it along. An
//! environment that several tests share, and its proxies, can't live there.

use std::future::Future;
use std::io;
use std::sync::{Mutex, OnceLock, PoisonError};

use tokio::runtime::{Builder, Handle, Runtime};

static RUNTIME: OnceLock<Runtime> = OnceLock::new();
static STARTING: Mutex<()> = Mutex::new(());

/// The runtime of this process, started at the first call; it is never stopped.
pub(crate) fn handle() -> io::Result<&'static Handle> {
    let _one_at_a_time = STARTING.lock().unwrap_or_else(PoisonError::into_inner);
    if let Some(runtime) = RUNTIME.get() {
        return Ok(runtime.handle());
    }
    let runtime =
        Builder::new_multi_thread().worker_threads(2).thread_name("testenv").enable_all().build()?;
    Ok(RUNTIME.get_or_init(|| runtime).handle())
}

/// Runs a future on the background runtime; works under any executor. A panic inside is passed on.
pub(crate) async fn run<F>(handle: &Handle, future: F) -> F::Output
where
    F: Future + Send + 'static,
    F::Output: Send,
{
    match handle.spawn(future).await {
        Ok(output) => output,
        Err(error) if error.is_panic() => std::panic::resume_unwind(error.into_panic()),
        // Nothing aborts these tasks and the runtime is never stopped.
        Err(error) => unreachable!("a task of the background runtime was cancelled: {error}"),
    }
}
