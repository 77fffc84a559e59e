//! Connections of a listener: how many there are at most, and how long one may take nothing of its answer.
//!
//! A connection is *busy* from when the whole head of a request is there until something of the answer is sent, and *idle* else: also when it
//! waits for its next event, when its answer waits for its reader, since something of it was taken, and when half a head was sent, which anybody can
//! do before it is known who they are. Where there is no place left, the one that has been idle longest is closed for the new one, so that connections which are only held lock nobody out. Where none is idle, the
//! new one is closed at once: it would wait for as long as the others please.
//!
//! Of these places one remote address has a share, within which the same holds: it makes room for itself, and takes none of another's. Loopback
//! addresses have no share of their own: they are whatever is before this server on its machine, and whoever is behind that.

mod asked;
mod places;

use std::io;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};
use std::time::Duration;

use axum_server::accept::Accept;
use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};
use tokio_io_timeout::TimeoutWriter;

use crate::limits::Limits;
use crate::network::Network;
use crate::socket::Stream;
use asked::Asked;
use places::{Place, Places};

/// Takes the connections of a listener.
#[derive(Clone)]
pub(crate) struct Connections {
    places: Arc<Places>,
    /// How long an answer may wait for the other end to take some of it.
    answer_timeout: Duration,
}

impl Connections {
    pub(crate) fn new(limits: Limits) -> Self {
        let places = Places::new(limits.connections_max, limits.connections_per_address());
        Self { places: Arc::new(places), answer_timeout: limits.answer_timeout }
    }

    fn take(&self, stream: &Stream) -> io::Result<Place> {
        let address = stream.peer()?.map(|address| address.ip().to_canonical());
        let from = address.filter(|address| !address.is_loopback()).map(Network::of);
        self.places.take(from).ok_or_else(|| io::Error::other("there are too many"))
    }
}

impl<S> Accept<Stream, S> for Connections {
    type Stream = Connection<Stream>;
    type Service = Asked<S>;
    type Future = std::future::Ready<io::Result<(Self::Stream, Asked<S>)>>;

    fn accept(&self, stream: Stream, service: S) -> Self::Future {
        std::future::ready(self.take(&stream).map(|place| {
            let mut stream = TimeoutWriter::new(stream);
            stream.set_timeout(Some(self.answer_timeout));
            let service = Asked { service, state: place.state.clone() };
            (Connection { stream: Box::pin(stream), place }, service)
        }))
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

    fn sent(&self, polled: Poll<io::Result<usize>>) -> Poll<io::Result<usize>> {
        match polled {
            Poll::Ready(Ok(bytes)) if bytes > 0 => self.place.sent(),
            Poll::Pending => self.place.waits_for_reader(),
            Poll::Ready(_) => {}
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
        self.stream.as_mut().poll_read(context, buffer)
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
