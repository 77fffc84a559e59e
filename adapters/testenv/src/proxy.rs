//! A TCP proxy in front of a server that can be made to fail, at run time.
//!
//! It knows nothing of what it carries; the TLS of the server goes through it untouched.
//! A change has taken place when the call that asks for it returns: after [`Proxy::cut`] no connection is left.

mod connection;

use std::io;
use std::net::{Shutdown, SocketAddr, TcpListener as BlockingListener, TcpStream as BlockingStream};
use std::os::fd::OwnedFd;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use tokio::net::{TcpListener, TcpSocket};
use tokio::runtime::Handle;
use tokio::sync::watch;
use tokio::task::JoinHandle;

use crate::runtime;

/// Connections that may wait to be accepted, as many as for a listener of the standard library.
const BACKLOG: u32 = 128;

/// What a proxy does with its connections.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Fault {
    /// None: everything is forwarded.
    None,
    /// No connection is accepted (they are refused), and none is left.
    Cut,
    /// Connections are accepted and kept, and nothing is forwarded on them, as when packets are lost on the way. What
    /// was sent meanwhile is forwarded when the fault ends.
    Hang,
    /// Connections are accepted and kept, and what is sent on them is lost for good, as when packets vanish, or something on
    /// the way accepts connections for a server that is gone. A connection that has met this stays dead when the fault ends.
    Swallow,
    /// Whatever is forwarded arrives this much later, in both directions.
    Delay(Duration),
}

/// Why a proxy could not change its ways.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// The port of the proxy is not available.
    #[error("the proxy could not listen on {address}")]
    Listen {
        /// The address of the proxy, which stays the same for its whole life.
        address: SocketAddr,
        /// What the system said.
        source: io::Error,
    },
}

impl Error {
    /// Whether the same call can succeed later: the port may become free.
    pub fn is_retryable(&self) -> bool {
        match self {
            Self::Listen { .. } => true,
        }
    }
}

/// A proxy on a port of its own.
///
/// It belongs to an environment and runs in the background, whatever runtime the test has.
#[derive(Debug)]
pub struct Proxy {
    runtime: Handle,
    shared: Arc<Shared>,
}

/// What the tasks of a proxy see of it.
#[derive(Debug)]
struct Shared {
    address: SocketAddr,
    target: Mutex<SocketAddr>,
    fault: watch::Sender<Fault>,
    /// Every connection holds a receiver for as long as it lives; `true` tells it to end at once.
    reset: Mutex<watch::Sender<bool>>,
    /// The socket that has the port. Changes take turns here.
    port: tokio::sync::Mutex<Port>,
}

/// The socket of a proxy. It has the port for the whole life of the proxy: another process can't take it while the proxy is cut.
#[derive(Debug)]
enum Port {
    /// Connections are accepted by the task.
    Open { listener: Arc<TcpListener>, accepting: JoinHandle<()> },
    /// Connections are refused, and the port is kept.
    Closed(TcpSocket),
    /// Connections are refused. The system can't keep the port of a socket that does not listen any more.
    Released,
}

impl Proxy {
    /// Starts a proxy on a port that was reserved for it; must run on the runtime that is given.
    pub(crate) fn start(
        runtime: &Handle,
        listener: BlockingListener,
        target: SocketAddr,
    ) -> Result<Self, io::Error> {
        let address = listener.local_addr()?;
        listener.set_nonblocking(true)?;
        let _context = runtime.enter();
        let listener = TcpListener::from_std(listener)?;
        let shared = Arc::new(Shared {
            address,
            target: Mutex::new(target),
            fault: watch::Sender::new(Fault::None),
            reset: Mutex::new(watch::Sender::new(false)),
            port: tokio::sync::Mutex::new(Port::Released),
        });
        // No other task knows the lock yet.
        if let Ok(mut port) = shared.port.try_lock() {
            *port = Port::open(listener, &shared);
        }
        Ok(Self { runtime: runtime.clone(), shared })
    }

    /// Where the proxy listens; the port stays the same, whatever happens.
    pub fn address(&self) -> SocketAddr {
        self.shared.address
    }

    /// What the proxy does at present.
    pub fn fault(&self) -> Fault {
        *self.shared.fault.borrow()
    }

    /// Forwards everything; the end of every fault.
    ///
    /// # Errors
    /// When the proxy was cut and its port has been taken by another process, on a system where it can't be kept.
    pub async fn pass(&self) -> Result<(), Error> {
        self.set(Fault::None).await
    }

    /// Refuses new connections and resets those that there are.
    ///
    /// # Errors
    /// Never, at present.
    pub async fn cut(&self) -> Result<(), Error> {
        self.set(Fault::Cut).await
    }

    /// Accepts and keeps connections, and forwards nothing.
    ///
    /// # Errors
    /// When the proxy was cut and its port has been taken by another process, on a system where it can't be kept.
    pub async fn hang(&self) -> Result<(), Error> {
        self.set(Fault::Hang).await
    }

    /// Accepts and keeps connections, and loses what is sent on them, for good.
    ///
    /// # Errors
    /// When the proxy was cut and its port has been taken by another process, on a system where it can't be kept.
    pub async fn swallow(&self) -> Result<(), Error> {
        self.set(Fault::Swallow).await
    }

    /// Forwards everything this much later, in both directions.
    ///
    /// # Errors
    /// When the proxy was cut and its port has been taken by another process, on a system where it can't be kept.
    pub async fn delay(&self, delay: Duration) -> Result<(), Error> {
        self.set(Fault::Delay(delay)).await
    }

    /// Resets the connections that there are; new ones meet the present fault, or none.
    pub async fn reset(&self) {
        let shared = Arc::clone(&self.shared);
        runtime::run(&self.runtime, async move { shared.reset_connections().await }).await;
    }

    /// Leads to another server from now on, and resets the connections that there are.
    pub async fn lead_to(&self, server: SocketAddr) {
        let shared = Arc::clone(&self.shared);
        runtime::run(&self.runtime, async move {
            // Before the reset: a connection that is accepted after it leads to the other server.
            *shared.target.lock().unwrap_or_else(PoisonError::into_inner) = server;
            shared.reset_connections().await;
        })
        .await;
    }

    /// Changes to a fault. A change that was begun is finished, also when nobody waits for it any more.
    ///
    /// # Errors
    /// When the proxy was cut and its port has been taken by another process, on a system where it can't be kept.
    pub async fn set(&self, fault: Fault) -> Result<(), Error> {
        let shared = Arc::clone(&self.shared);
        runtime::run(&self.runtime, async move { shared.set(fault).await }).await
    }
}

impl Drop for Proxy {
    fn drop(&mut self) {
        let shared = Arc::clone(&self.shared);
        self.runtime.spawn(async move {
            let mut port = shared.port.lock().await;
            shared.cut(&mut port).await;
            // Nothing comes after this: the port is free.
            *port = Port::Released;
        });
    }
}

impl Port {
    /// Accepts connections from now on.
    fn open(listener: TcpListener, shared: &Arc<Shared>) -> Self {
        let listener = Arc::new(listener);
        let accepting = tokio::spawn(accept(Arc::clone(&listener), Arc::clone(shared)));
        Self::Open { listener, accepting }
    }

    /// Refuses connections from now on, and keeps the port.
    async fn close(self) -> Self {
        let Self::Open { listener, accepting } = self else { return self };
        accepting.abort();
        // The task's share of the socket is gone when the task is.
        let _ = accepting.await;
        let kept = Arc::into_inner(listener).and_then(|listener| keep(listener).ok());
        kept.map_or(Self::Released, Self::Closed)
    }

    /// A listening socket on the port.
    async fn listen(self, address: SocketAddr) -> io::Result<TcpListener> {
        let Self::Closed(socket) = self.close().await else { return TcpListener::bind(address).await };
        // Connections that ended in order are remembered by the system for a while, and don't matter.
        socket.set_reuseaddr(true)?;
        socket.listen(BACKLOG)
    }
}

/// Makes a socket listen no more, and have its port all the same. Linux does so; elsewhere this fails.
fn keep(listener: TcpListener) -> io::Result<TcpSocket> {
    let socket = BlockingStream::from(OwnedFd::from(listener.into_std()?));
    socket.shutdown(Shutdown::Both)?;
    let socket = TcpSocket::from_std_stream(socket);
    // With it, a socket of another process that has it, too, would get the port.
    socket.set_reuseaddr(false)?;
    Ok(socket)
}

impl Shared {
    async fn set(self: Arc<Self>, fault: Fault) -> Result<(), Error> {
        let mut port = self.port.lock().await;
        if fault == Fault::Cut {
            self.cut(&mut port).await;
            return Ok(());
        }
        // Before the first connection comes in, so that none meets another fault.
        let before = self.fault.send_replace(fault);
        if !matches!(*port, Port::Open { .. }) {
            let closed = std::mem::replace(&mut *port, Port::Released);
            let listener = closed.listen(self.address).await.map_err(|source| {
                self.fault.send_replace(before);
                Error::Listen { address: self.address, source }
            })?;
            *port = Port::open(listener, &self);
        }
        Ok(())
    }

    async fn cut(&self, port: &mut Port) {
        *port = std::mem::replace(port, Port::Released).close().await;
        self.fault.send_replace(Fault::Cut);
        self.reset_connections().await;
    }

    fn connections(&self) -> MutexGuard<'_, watch::Sender<bool>> {
        self.reset.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Ends the connections that there are and waits until they are gone.
    fn target(&self) -> SocketAddr {
        *self.target.lock().unwrap_or_else(PoisonError::into_inner)
    }

    async fn reset_connections(&self) {
        let present = std::mem::replace(&mut *self.connections(), watch::Sender::new(false));
        present.send_replace(true);
        present.closed().await;
    }
}

async fn accept(listener: Arc<TcpListener>, shared: Arc<Shared>) {
    loop {
        match listener.accept().await {
            Ok((client, _)) => {
                let reset = shared.connections().subscribe();
                let fault = shared.fault.subscribe();
                tokio::spawn(connection::carry(reset, client, shared.target(), fault));
            }
            // Out of file descriptors, most likely; some will come back.
            Err(_) => tokio::time::sleep(Duration::from_millis(50)).await,
        }
    }
}

#[cfg(test)]
mod tests {
    use tokio::io::{AsyncReadExt, AsyncWriteExt};
    use tokio::net::TcpStream;
    use tokio::time::{Instant, timeout};

    use super::*;
    use crate::ports;

    /// Long enough for loopback, short enough to wait for in vain.
    const SHORT: Duration = Duration::from_millis(200);

    /// So many that a delay of each is many times as long as all else, on a busy machine, too.
    const CHUNKS: u32 = 100;

    /// A proxy in front of a server that sends everything back.
    async fn echo() -> Proxy {
        let server = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let target = server.local_addr().unwrap();
        tokio::spawn(async move {
            while let Ok((mut stream, _)) = server.accept().await {
                tokio::spawn(async move {
                    let (mut read, mut write) = stream.split();
                    tokio::io::copy(&mut read, &mut write).await
                });
            }
        });
        Proxy::start(&Handle::current(), ports::reserve().unwrap(), target).unwrap()
    }

    async fn say(stream: &mut TcpStream, text: &str) -> io::Result<String> {
        stream.write_all(text.as_bytes()).await?;
        let mut answer = vec![0; text.len()];
        stream.read_exact(&mut answer).await?;
        Ok(String::from_utf8(answer).unwrap())
    }

    #[tokio::test]
    async fn a_proxy_without_a_fault_carries_bytes_both_ways_and_the_end_too() {
        let proxy = echo().await;
        let mut stream = TcpStream::connect(proxy.address()).await.unwrap();
        assert_eq!(say(&mut stream, "hello").await.unwrap(), "hello");
        stream.shutdown().await.unwrap();
        assert_eq!(stream.read(&mut [0; 1]).await.unwrap(), 0);
    }

    #[tokio::test]
    async fn a_cut_proxy_resets_and_refuses_and_comes_back_on_the_same_port() {
        let proxy = echo().await;
        let mut stream = TcpStream::connect(proxy.address()).await.unwrap();
        say(&mut stream, "hello").await.unwrap();
        proxy.cut().await.unwrap();
        let error = stream.read(&mut [0; 1]).await.unwrap_err();
        assert_eq!(error.kind(), io::ErrorKind::ConnectionReset);
        let refused = TcpStream::connect(proxy.address()).await.unwrap_err();
        assert_eq!(refused.kind(), io::ErrorKind::ConnectionRefused);
        proxy.pass().await.unwrap();
        let mut stream = TcpStream::connect(proxy.address()).await.unwrap();
        assert_eq!(say(&mut stream, "again").await.unwrap(), "again");
    }

    #[tokio::test]
    async fn a_hanging_proxy_keeps_connections_and_forwards_later_what_was_sent_meanwhile() {
        let proxy = echo().await;
        let mut old = TcpStream::connect(proxy.address()).await.unwrap();
        say(&mut old, "hello").await.unwrap();
        proxy.hang().await.unwrap();
        let mut new = TcpStream::connect(proxy.address()).await.unwrap();
        for stream in [&mut old, &mut new] {
            stream.write_all(b"x").await.unwrap();
            assert!(timeout(SHORT, stream.read(&mut [0; 1])).await.is_err());
        }
        proxy.pass().await.unwrap();
        for stream in [&mut old, &mut new] {
            let mut answer = [0; 1];
            stream.read_exact(&mut answer).await.unwrap();
            assert_eq!(&answer, b"x");
        }
    }

    #[tokio::test]
    async fn a_swallowing_proxy_keeps_connections_that_stay_dead_when_it_ends() {
        let proxy = echo().await;
        let mut old = TcpStream::connect(proxy.address()).await.unwrap();
        say(&mut old, "hello").await.unwrap();
        proxy.swallow().await.unwrap();
        let mut new = TcpStream::connect(proxy.address()).await.unwrap();
        new.write_all(b"x").await.unwrap();
        assert!(timeout(SHORT, new.read(&mut [0; 1])).await.is_err());
        proxy.pass().await.unwrap();
        for stream in [&mut old, &mut new] {
            stream.write_all(b"x").await.unwrap();
            assert!(timeout(SHORT, stream.read(&mut [0; 1])).await.is_err());
        }
        let mut later = TcpStream::connect(proxy.address()).await.unwrap();
        assert_eq!(say(&mut later, "again").await.unwrap(), "again");
    }

    #[tokio::test]
    async fn a_delay_is_added_in_both_directions_once_not_for_every_chunk() {
        let proxy = echo().await;
        proxy.delay(SHORT).await.unwrap();
        let mut stream = TcpStream::connect(proxy.address()).await.unwrap();
        let start = Instant::now();
        for _ in 0..CHUNKS {
            stream.write_all(b"x").await.unwrap();
            tokio::time::sleep(Duration::from_millis(1)).await;
        }
        stream.read_exact(&mut [0; CHUNKS as usize]).await.unwrap();
        let elapsed = start.elapsed();
        assert!(elapsed >= SHORT * 2 && elapsed < SHORT * CHUNKS / 2, "{elapsed:?}");
    }

    #[tokio::test]
    async fn a_reset_ends_the_connections_that_there_are_and_no_later_one() {
        let proxy = echo().await;
        let mut stream = TcpStream::connect(proxy.address()).await.unwrap();
        say(&mut stream, "hello").await.unwrap();
        proxy.reset().await;
        assert!(say(&mut stream, "hello").await.is_err());
        let mut stream = TcpStream::connect(proxy.address()).await.unwrap();
        assert_eq!(say(&mut stream, "again").await.unwrap(), "again");
    }

    /// Elsewhere a cut proxy has no port that could be kept.
    #[cfg(target_os = "linux")]
    #[tokio::test]
    async fn the_port_of_a_cut_proxy_is_kept_from_others_also_after_connections_that_ended_in_order() {
        let server = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let target = server.local_addr().unwrap();
        // It ends each connection first: the system remembers that at the port of the proxy.
        tokio::spawn(async move { while server.accept().await.is_ok() {} });
        let proxy = Proxy::start(&Handle::current(), ports::reserve().unwrap(), target).unwrap();
        for _ in 0..2 {
            let mut stream = TcpStream::connect(proxy.address()).await.unwrap();
            assert_eq!(stream.read(&mut [0; 1]).await.unwrap(), 0);
            drop(stream);
            proxy.cut().await.unwrap();
            let taken = TcpListener::bind(proxy.address()).await.unwrap_err();
            assert_eq!((taken.kind(), proxy.fault()), (io::ErrorKind::AddrInUse, Fault::Cut));
            proxy.pass().await.unwrap();
            assert_eq!(proxy.fault(), Fault::None);
        }
    }

    #[tokio::test]
    async fn a_proxy_leads_to_another_server_and_ends_the_connections_to_the_first() {
        let proxy = echo().await;
        let mut first = TcpStream::connect(proxy.address()).await.unwrap();
        first.write_all(b"a").await.unwrap();
        assert_eq!(first.read(&mut [0; 1]).await.unwrap(), 1);
        let other = TcpListener::bind("127.0.0.1:0").await.unwrap();
        proxy.lead_to(other.local_addr().unwrap()).await;
        assert!(first.read(&mut [0; 1]).await.is_err());
        let mut second = TcpStream::connect(proxy.address()).await.unwrap();
        let (mut accepted, _) = other.accept().await.unwrap();
        accepted.write_all(b"other").await.unwrap();
        let mut bytes = [0; 5];
        second.read_exact(&mut bytes).await.unwrap();
        assert_eq!(&bytes, b"other");
    }

    #[tokio::test]
    async fn the_port_of_a_dropped_proxy_is_free() {
        let proxy = echo().await;
        let address = proxy.address();
        drop(proxy);
        while TcpListener::bind(address).await.is_err() {
            tokio::task::yield_now().await;
        }
    }

    #[tokio::test]
    async fn a_port_that_was_taken_while_it_could_not_be_kept_is_an_error_and_the_proxy_stays_cut() {
        let proxy = echo().await;
        proxy.cut().await.unwrap();
        *proxy.shared.port.lock().await = Port::Released;
        let taken = TcpListener::bind(proxy.address()).await.unwrap();
        let error = proxy.pass().await.unwrap_err();
        assert!(error.is_retryable() && proxy.fault() == Fault::Cut);
        drop(taken);
        proxy.pass().await.unwrap();
        assert_eq!(proxy.fault(), Fault::None);
    }
}
