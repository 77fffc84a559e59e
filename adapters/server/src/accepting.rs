//! A listener that ends before its connections do.
//!
//! Whoever connected by then, and has asked or does so at once, is answered: the connections that wait in the system are taken before
//! the listener is closed, and connections are closed only a moment later ([`STOP_PAUSE`]), when what was sent has been read.

use std::fmt;
use std::io;
use std::net::SocketAddr;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use axum::extract::connect_info::Connected;
use axum_server::{AddrListener, Address};
use dcm_rest::Stop;

use crate::socket::{Listener, Stream};

/// How long connections go on when nobody can connect any more.
pub(crate) const STOP_PAUSE: Duration = Duration::from_millis(250);

/// The address of a connection's other end; none for a process of this machine that is connected by a Unix socket.
#[derive(Debug, Clone)]
pub(crate) struct Origin(pub(crate) Option<SocketAddr>);

impl fmt::Display for Origin {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.0 {
            Some(address) => address.fmt(f),
            None => f.write_str("unix"),
        }
    }
}

impl Connected<Self> for Origin {
    fn connect_info(origin: Self) -> Self {
        origin
    }
}

impl Address for Origin {
    type Stream = Stream;
    type Listener = Accepting;
}

/// Takes connections until it is to stop.
pub(crate) struct Accepting {
    /// None once it has stopped.
    listener: Mutex<Option<Arc<Listener>>>,
    stop: Stop,
}

impl Accepting {
    pub(crate) fn until(stop: Stop, listener: Listener) -> Self {
        Self { listener: Mutex::new(Some(Arc::new(listener))), stop }
    }

    fn listener(&self) -> Option<Arc<Listener>> {
        self.listener.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    fn close(&self) {
        self.listener.lock().unwrap_or_else(PoisonError::into_inner).take();
    }
}

impl AddrListener<Stream, Origin> for Accepting {
    async fn bind_to(_: Origin) -> io::Result<Self> {
        Err(io::ErrorKind::Unsupported.into())
    }

    async fn accept_stream(&self) -> io::Result<(Stream, Origin)> {
        if let Some(listener) = self.listener() {
            tokio::select! {
                // What waits in the system comes first.
                biased;
                taken = listener.accept() => return taken,
                () = self.stop.clone() => {}
            }
        }
        self.close();
        std::future::pending().await
    }

    fn get_local_addr(&self) -> io::Result<Origin> {
        let listener = self.listener().ok_or(io::ErrorKind::NotConnected)?;
        listener.local()
    }
}
