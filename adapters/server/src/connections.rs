//! Connections of a listener: how many there are at most, and how long one may take nothing of its answer.
//!
//! A connection on which nothing is asked is *idle*; one that waits for its next event is, too, and one whose answer waits for its reader, since
//! something of it was taken. Where there is no place left, the one that has been idle longest is closed for the new one, so that
//! connections which are only held lock nobody out. Where none is idle, the new one is closed at once: it would wait for as long as the
//! others please.

use std::collections::BTreeMap;
use std::io;
use std::pin::Pin;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::task::{Context, Poll};
use std::time::Duration;

use axum_server::accept::Accept;
use futures::task::AtomicWaker;
use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};
use tokio_io_timeout::TimeoutWriter;

/// Takes the connections of a listener.
#[derive(Clone)]
pub(crate) struct Connections {
    places: Arc<Places>,
    /// How long an answer may wait for the other end to take some of it.
    answer_timeout: Duration,
}

impl Connections {
    pub(crate) fn new(connections_max: usize, answer_timeout: Duration) -> Self {
        let places = Places { max: connections_max, taken: Mutex::default(), moment: AtomicU64::new(0) };
        Self { places: Arc::new(places), answer_timeout }
    }
}

impl<I: AsyncRead + AsyncWrite, S> Accept<I, S> for Connections {
    type Stream = Connection<I>;
    type Service = S;
    type Future = std::future::Ready<io::Result<(Connection<I>, S)>>;

    fn accept(&self, stream: I, service: S) -> Self::Future {
        let place = Places::take(&self.places).ok_or_else(|| io::Error::other("there are too many"));
        std::future::ready(place.map(|place| {
            let mut stream = TimeoutWriter::new(stream);
            stream.set_timeout(Some(self.answer_timeout));
            (Connection { stream: Box::pin(stream), place }, service)
        }))
    }
}

/// The places of a listener's connections.
struct Places {
    max: usize,
    /// By the moment at which each was taken.
    taken: Mutex<BTreeMap<u64, Arc<State>>>,
    /// Counts what happens: a later moment is a greater number.
    moment: AtomicU64,
}

/// What a connection does.
struct State {
    /// Since which moment it has been idle, or one of the words below.
    idle_since: AtomicU64,
    /// Who waits for what is asked on it.
    asked: AtomicWaker,
}

/// Something is asked.
const BUSY: u64 = u64::MAX;

/// Its place is another's: it is to end.
const ENDED: u64 = u64::MAX - 1;

impl Places {
    fn take(self: &Arc<Self>) -> Option<Place> {
        let mut taken = self.taken();
        while taken.len() >= self.max {
            let idle = taken.iter().filter_map(|(number, state)| Some((state.idle_since()?, *number)));
            let (since, number) = idle.min()?;
            // One that is asked just now is not ended: the next one is.
            if taken.get(&number).is_some_and(|state| state.end(since)) {
                taken.remove(&number);
            }
        }
        let number = self.next_moment();
        let state = Arc::new(State { idle_since: AtomicU64::new(number), asked: AtomicWaker::new() });
        taken.insert(number, state.clone());
        Some(Place { places: self.clone(), number, state })
    }

    fn next_moment(&self) -> u64 {
        self.moment.fetch_add(1, Ordering::Relaxed)
    }

    fn taken(&self) -> MutexGuard<'_, BTreeMap<u64, Arc<State>>> {
        self.taken.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl State {
    fn idle_since(&self) -> Option<u64> {
        Some(self.idle_since.load(Ordering::Acquire)).filter(|since| !matches!(*since, BUSY | ENDED))
    }

    /// Ends it, if it is still idle since then.
    fn end(&self, since: u64) -> bool {
        let ended = self.idle_since.compare_exchange(since, ENDED, Ordering::AcqRel, Ordering::Acquire);
        if ended.is_ok() {
            self.asked.wake();
        }
        ended.is_ok()
    }

    fn is_ended(&self) -> bool {
        self.idle_since.load(Ordering::Acquire) == ENDED
    }

    /// Goes on; false where it has ended.
    fn becomes(&self, now: u64) -> bool {
        let becomes = |before| (before != ENDED).then_some(now);
        self.idle_since.fetch_update(Ordering::AcqRel, Ordering::Acquire, becomes).is_ok()
    }
}

/// A place that is taken; given back when it is dropped.
struct Place {
    places: Arc<Places>,
    number: u64,
    state: Arc<State>,
}

impl Drop for Place {
    fn drop(&mut self) {
        // Another's since it was ended.
        self.places.taken().remove(&self.number);
    }
}

/// A connection that has a place.
pub(crate) struct Connection<I> {
    stream: Pin<Box<TimeoutWriter<I>>>,
    place: Place,
}

impl<I: AsyncRead + AsyncWrite> Connection<I> {
    /// Fails once it is ended: what nobody reads would hold its file for as long as an answer may wait.
    fn must_go_on(&self, context: &Context<'_>) -> io::Result<()> {
        self.place.state.asked.register(context.waker());
        if self.place.state.is_ended() {
            return Err(io::Error::new(io::ErrorKind::ConnectionAborted, "its place is another's"));
        }
        Ok(())
    }

    /// Idle again once something was sent.
    fn sent(&self, polled: Poll<io::Result<usize>>) -> Poll<io::Result<usize>> {
        if matches!(polled, Poll::Ready(Ok(bytes)) if bytes > 0) {
            self.place.state.becomes(self.place.places.next_moment());
        }
        polled
    }
}

impl<I: AsyncRead + AsyncWrite> AsyncRead for Connection<I> {
    /// One that is ended looks as if the other end had ended it: that is the way in which a connection ends when nothing is asked.
    fn poll_read(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        buffer: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        self.place.state.asked.register(context.waker());
        if self.place.state.is_ended() {
            return Poll::Ready(Ok(()));
        }
        let before = buffer.filled().len();
        let polled = self.stream.as_mut().poll_read(context, buffer);
        if buffer.filled().len() > before && !self.place.state.becomes(BUSY) {
            // It was ended before it was asked.
            buffer.set_filled(before);
        }
        polled
    }
}

impl<I: AsyncRead + AsyncWrite> AsyncWrite for Connection<I> {
    fn poll_write(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        bytes: &[u8],
    ) -> Poll<io::Result<usize>> {
        self.must_go_on(context)?;
        let polled = self.stream.as_mut().poll_write(context, bytes);
        self.sent(polled)
    }

    fn poll_write_vectored(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        slices: &[io::IoSlice<'_>],
    ) -> Poll<io::Result<usize>> {
        self.must_go_on(context)?;
        let polled = self.stream.as_mut().poll_write_vectored(context, slices);
        self.sent(polled)
    }

    fn is_write_vectored(&self) -> bool {
        self.stream.is_write_vectored()
    }

    fn poll_flush(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        self.stream.as_mut().poll_flush(context)
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        self.stream.as_mut().poll_shutdown(context)
    }
}
