//! Threads for work that takes long.

use futures::channel::oneshot;
use futures::future::BoxFuture;

/// Threads for work that takes long, so that nothing else waits for it.
///
/// # Contract
/// The future that is returned is ready once the work has ended or panicked. When it is dropped before that, the work may end or not.
pub trait Threads: Send + Sync + 'static {
    /// Does work on a thread of its own.
    fn compute(&self, work: Box<dyn FnOnce() + Send>) -> BoxFuture<'static, ()>;

    /// Polls a future on another thread, if there are several.
    fn run(&self, task: BoxFuture<'static, ()>) -> BoxFuture<'static, ()>;
}

/// Gives the result of work that takes long; none where it panicked.
pub async fn computed<T: Send + 'static>(
    threads: &dyn Threads,
    work: impl FnOnce() -> T + Send + 'static,
) -> Option<T> {
    let (sender, mut receiver) = oneshot::channel();
    // A receiver that is gone waits for nothing.
    let work = move || drop(sender.send(work()));
    threads.compute(Box::new(work)).await;
    receiver.try_recv().ok().flatten()
}

/// Gives the result of a future that is polled on another thread; none where it panicked.
pub async fn run<T: Send + 'static>(
    threads: &dyn Threads,
    task: impl Future<Output = T> + Send + 'static,
) -> Option<T> {
    let (sender, mut receiver) = oneshot::channel();
    let task = async move { drop(sender.send(task.await)) };
    threads.run(Box::pin(task)).await;
    receiver.try_recv().ok().flatten()
}

/// No threads: work is done where it is asked for, as soon as its future is polled. For runtimes that have none, and for simulations.
#[derive(Debug, Default, Clone, Copy)]
pub struct InPlace;

impl Threads for InPlace {
    fn compute(&self, work: Box<dyn FnOnce() + Send>) -> BoxFuture<'static, ()> {
        Box::pin(async move { work() })
    }

    fn run(&self, task: BoxFuture<'static, ()>) -> BoxFuture<'static, ()> {
        task
    }
}
