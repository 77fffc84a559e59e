//! One connection through a proxy.

use std::io;
use std::net::SocketAddr;
use std::time::Duration;

use tokio::io::{AsyncRead, AsyncReadExt, AsyncWrite, AsyncWriteExt};
use tokio::net::TcpStream;
use tokio::sync::{mpsc, watch};
use tokio::time::Instant;

use super::Fault;

/// The most that is read at once.
const CHUNK_BYTES: usize = 16 * 1024;

/// How many chunks may be on their way; a full way makes the sender wait, as a real one does.
const CHUNKS_UNDER_WAY_MAX: usize = 256;

/// Bytes, and when they may arrive.
struct Chunk {
    due: Instant,
    bytes: Vec<u8>,
}

/// Carries a connection until one side ends it, or it is told to end.
///
/// The end of `reset` tells the proxy that the sockets are closed. So it comes first: arguments go in reverse order.
pub(super) async fn carry(
    mut reset: watch::Receiver<bool>,
    mut client: TcpStream,
    target: SocketAddr,
    fault: watch::Receiver<Fault>,
) {
    let ended = tokio::select! {
        biased;
        _ = reset.wait_for(|reset| *reset) => Err(io::ErrorKind::ConnectionReset.into()),
        result = until_swallowed(&mut client, target, fault) => result,
    };
    if ended.is_err() {
        // The client sees a reset, not an orderly end.
        let _ = client.set_zero_linger();
    }
}

/// Carries a connection until it is swallowed; from then on nothing comes out of it.
async fn until_swallowed(
    client: &mut TcpStream,
    target: SocketAddr,
    fault: watch::Receiver<Fault>,
) -> io::Result<()> {
    let mut seen = fault.clone();
    tokio::select! {
        biased;
        Ok(_) = seen.wait_for(|fault| *fault == Fault::Swallow) => {}
        result = forward(client, target, fault) => return result,
    }
    tokio::io::copy(client, &mut tokio::io::sink()).await.map(drop)
}

async fn forward(
    client: &mut TcpStream,
    target: SocketAddr,
    mut fault: watch::Receiver<Fault>,
) -> io::Result<()> {
    while_hanging(&mut fault).await;
    let mut server = TcpStream::connect(target).await?;
    client.set_nodelay(true)?;
    server.set_nodelay(true)?;
    let (client_read, client_write) = client.split();
    let (server_read, server_write) = server.split();
    tokio::try_join!(
        one_way(client_read, server_write, fault.clone()),
        one_way(server_read, client_write, fault)
    )?;
    Ok(())
}

/// Forwards one direction, to its end.
async fn one_way(
    from: impl AsyncRead + Unpin,
    to: impl AsyncWrite + Unpin,
    fault: watch::Receiver<Fault>,
) -> io::Result<()> {
    let (sender, receiver) = mpsc::channel(CHUNKS_UNDER_WAY_MAX);
    tokio::try_join!(take_in(from, sender, fault.clone()), give_out(receiver, to, fault))?;
    Ok(())
}

async fn take_in(
    mut from: impl AsyncRead + Unpin,
    sender: mpsc::Sender<Chunk>,
    fault: watch::Receiver<Fault>,
) -> io::Result<()> {
    let mut buffer = vec![0; CHUNK_BYTES];
    loop {
        let length = from.read(&mut buffer).await?;
        if length == 0 {
            return Ok(());
        }
        let due = Instant::now() + delay(*fault.borrow());
        // Nobody takes it when the other side is closed; that ends this direction.
        if sender.send(Chunk { due, bytes: buffer[..length].to_vec() }).await.is_err() {
            return Ok(());
        }
    }
}

async fn give_out(
    mut receiver: mpsc::Receiver<Chunk>,
    mut to: impl AsyncWrite + Unpin,
    mut fault: watch::Receiver<Fault>,
) -> io::Result<()> {
    while let Some(chunk) = receiver.recv().await {
        tokio::time::sleep_until(chunk.due).await;
        while_hanging(&mut fault).await;
        to.write_all(&chunk.bytes).await?;
    }
    while_hanging(&mut fault).await;
    to.shutdown().await
}

fn delay(fault: Fault) -> Duration {
    match fault {
        Fault::Delay(delay) => delay,
        Fault::None | Fault::Cut | Fault::Hang | Fault::Swallow => Duration::ZERO,
    }
}

async fn while_hanging(fault: &mut watch::Receiver<Fault>) {
    // It ends with an error when the proxy is gone; then the connection is told to end, too.
    let _ = fault.wait_for(|fault| *fault != Fault::Hang).await;
}
