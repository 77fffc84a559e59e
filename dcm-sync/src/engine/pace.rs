//! How long the engine's loop is held at a time.

use std::pin::Pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::task::{Context, Poll};
use std::time::Duration;

use dcm_core::port::clock::Clock;
use futures::stream::Stream;

/// Measures steps of the loop. Clones measure together. One pointer, as each watch has a clone: some for each cluster.
#[derive(Clone)]
pub(super) struct Pace(Arc<Measured>);

struct Measured {
    clock: Arc<dyn Clock>,
    /// The longest step, in microseconds.
    longest: AtomicU64,
}

impl Pace {
    pub(super) fn new(clock: Arc<dyn Clock>) -> Self {
        Self(Arc::new(Measured { clock, longest: AtomicU64::default() }))
    }

    /// The longest step until now.
    pub(super) fn longest(&self) -> Duration {
        Duration::from_micros(self.0.longest.load(Ordering::Relaxed))
    }

    /// Takes a step.
    pub(super) fn step<T>(&self, step: impl FnOnce() -> T) -> T {
        let Measured { clock, longest } = &*self.0;
        let begun = clock.now();
        let done = step();
        let took = clock.now().duration_since(begun).as_micros();
        longest.fetch_max(u64::try_from(took).unwrap_or_default(), Ordering::Relaxed);
        done
    }

    /// A future or stream each poll of which is a step.
    pub(super) fn timed<T>(&self, inner: T) -> Timed<T> {
        Timed { inner, pace: self.clone() }
    }
}

/// A future or stream each poll of which is a step.
pub(super) struct Timed<T> {
    inner: T,
    pace: Pace,
}

impl<T: Future + Unpin> Future for Timed<T> {
    type Output = T::Output;

    fn poll(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<T::Output> {
        let Self { inner, pace } = &mut *self;
        pace.step(|| Pin::new(inner).poll(context))
    }
}

impl<T: Stream + Unpin> Stream for Timed<T> {
    type Item = T::Item;

    fn poll_next(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Option<T::Item>> {
        let Self { inner, pace } = &mut *self;
        pace.step(|| Pin::new(inner).poll_next(context))
    }
}
