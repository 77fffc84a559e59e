//! What the API is asked over: TCP, or a Unix socket that only its owner can connect to.
//!
//! A Unix socket is made in a folder of its own, gets mode 0600 there, and is then renamed to its place: no other user can connect to
//! it at any time. A socket that is left over from an earlier server is replaced, but only where no process answers at it. The file is
//! removed when the listener ends.

use std::fmt;
use std::io;
use std::net::SocketAddr;
use std::path::PathBuf;
use std::pin::Pin;
use std::str::FromStr;
use std::task::{Context, Poll};

use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};
use tokio::net::{TcpListener, TcpStream};
#[cfg(unix)]
use tokio::net::{UnixListener, UnixStream};

use crate::accepting::Origin;

/// What the address of a Unix socket begins with.
const UNIX: &str = "unix:";

/// Where the API is asked: an address and port, or a Unix socket as `unix:PATH`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum ListenAddress {
    /// An address and port.
    Tcp(SocketAddr),
    /// The path of a Unix socket.
    Unix(PathBuf),
}

impl FromStr for ListenAddress {
    type Err = InvalidListenAddress;

    fn from_str(text: &str) -> Result<Self, InvalidListenAddress> {
        match text.strip_prefix(UNIX) {
            Some("") => Err(InvalidListenAddress),
            Some(path) => Ok(Self::Unix(path.into())),
            None => text.parse().map(Self::Tcp).map_err(|_| InvalidListenAddress),
        }
    }
}

/// A text that is no address to listen at.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error(
    "must be an address with a port, such as 127.0.0.1:9077, or a socket, such as unix:/run/dcm/api.sock"
)]
pub struct InvalidListenAddress;

impl From<SocketAddr> for ListenAddress {
    fn from(address: SocketAddr) -> Self {
        Self::Tcp(address)
    }
}

impl fmt::Display for ListenAddress {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Tcp(address) => address.fmt(f),
            Self::Unix(path) => write!(f, "{UNIX}{}", path.display()),
        }
    }
}

/// A connection.
pub(crate) enum Stream {
    Tcp(TcpStream),
    #[cfg(unix)]
    Unix(UnixStream),
}

impl Stream {
    /// The address of the other end; none for a process of this machine that is connected by a Unix socket.
    pub(crate) fn peer(&self) -> io::Result<Option<SocketAddr>> {
        match self {
            Self::Tcp(stream) => stream.peer_addr().map(Some),
            #[cfg(unix)]
            Self::Unix(_) => Ok(None),
        }
    }
}

/// Passes a call on to the stream that it is.
macro_rules! stream {
    ($self:ident, $stream:ident => $call:expr) => {
        match $self.get_mut() {
            Stream::Tcp(stream) => {
                let $stream = Pin::new(stream);
                $call
            }
            #[cfg(unix)]
            Stream::Unix(stream) => {
                let $stream = Pin::new(stream);
                $call
            }
        }
    };
}

impl AsyncRead for Stream {
    fn poll_read(
        self: Pin<&mut Self>,
        context: &mut Context<'_>,
        buffer: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        stream!(self, stream => stream.poll_read(context, buffer))
    }
}

impl AsyncWrite for Stream {
    fn poll_write(self: Pin<&mut Self>, context: &mut Context<'_>, bytes: &[u8]) -> Poll<io::Result<usize>> {
        stream!(self, stream => stream.poll_write(context, bytes))
    }

    fn poll_write_vectored(
        self: Pin<&mut Self>,
        context: &mut Context<'_>,
        slices: &[io::IoSlice<'_>],
    ) -> Poll<io::Result<usize>> {
        stream!(self, stream => stream.poll_write_vectored(context, slices))
    }

    fn is_write_vectored(&self) -> bool {
        // All of them are.
        true
    }

    fn poll_flush(self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        stream!(self, stream => stream.poll_flush(context))
    }

    fn poll_shutdown(self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        stream!(self, stream => stream.poll_shutdown(context))
    }
}

/// What connections come from.
#[derive(Debug)]
pub(crate) enum Listener {
    Tcp(TcpListener),
    /// The file goes with the listener.
    #[cfg(unix)]
    Unix(UnixListener, #[expect(dead_code, reason = "it is removed when it is dropped")] file::SocketFile),
}

impl Listener {
    /// Listens at an address; gives where that is, as port 0 is any that is free.
    pub(crate) async fn bind(address: &ListenAddress) -> io::Result<(Self, ListenAddress)> {
        match address {
            ListenAddress::Tcp(address) => {
                let listener = TcpListener::bind(address).await?;
                let address = listener.local_addr()?;
                Ok((Self::Tcp(listener), address.into()))
            }
            #[cfg(unix)]
            ListenAddress::Unix(path) => {
                let (listener, file) = file::bind(path)?;
                Ok((Self::Unix(listener, file), address.clone()))
            }
            #[cfg(not(unix))]
            ListenAddress::Unix(_) => Err(io::ErrorKind::Unsupported.into()),
        }
    }

    pub(crate) async fn accept(&self) -> io::Result<(Stream, Origin)> {
        match self {
            Self::Tcp(listener) => {
                let (stream, origin) = listener.accept().await?;
                Ok((Stream::Tcp(stream), Origin(Some(origin))))
            }
            #[cfg(unix)]
            Self::Unix(listener, _) => {
                let (stream, _) = listener.accept().await?;
                Ok((Stream::Unix(stream), Origin(None)))
            }
        }
    }

    pub(crate) fn local(&self) -> io::Result<Origin> {
        match self {
            Self::Tcp(listener) => listener.local_addr().map(|address| Origin(Some(address))),
            #[cfg(unix)]
            Self::Unix(..) => Ok(Origin(None)),
        }
    }
}

#[cfg(unix)]
mod file {
    use std::fs::{self, DirBuilder, Permissions};
    use std::io;
    use std::os::unix::fs::{DirBuilderExt as _, FileTypeExt as _, MetadataExt as _, PermissionsExt as _};
    use std::os::unix::net::UnixStream;
    use std::path::{Path, PathBuf};

    use tokio::net::UnixListener;

    /// Only the owner connects.
    const MODE: u32 = 0o600;

    /// Only the owner sees what is in the folder.
    const FOLDER_MODE: u32 = 0o700;

    /// The file of a socket, which is removed when this is dropped, unless another one took its place.
    #[derive(Debug)]
    pub(crate) struct SocketFile {
        path: PathBuf,
        device: u64,
        inode: u64,
    }

    impl Drop for SocketFile {
        fn drop(&mut self) {
            let is_ours = fs::symlink_metadata(&self.path)
                .is_ok_and(|found| (found.dev(), found.ino()) == (self.device, self.inode));
            if is_ours && let Err(error) = fs::remove_file(&self.path) {
                tracing::warn!(path = %self.path.display(), %error, "the socket could not be removed");
            }
        }
    }

    /// Listens at a path. A socket that is there is replaced where no process answers at it.
    pub(super) fn bind(path: &Path) -> io::Result<(UnixListener, SocketFile)> {
        must_be_free(path)?;
        let mut folder = path.as_os_str().to_owned();
        folder.push(".new");
        let folder = PathBuf::from(folder);
        // What a server left there that was cut off while it began; anything but a folder is an error.
        match fs::remove_dir_all(&folder) {
            Err(error) if error.kind() != io::ErrorKind::NotFound => return Err(error),
            Ok(()) | Err(_) => {}
        }
        DirBuilder::new().mode(FOLDER_MODE).create(&folder)?;
        let made = make(&folder, path);
        let removed = fs::remove_dir_all(&folder);
        let made = made?;
        removed?;
        Ok(made)
    }

    fn make(folder: &Path, path: &Path) -> io::Result<(UnixListener, SocketFile)> {
        let new = folder.join("s");
        let listener = UnixListener::bind(&new)?;
        fs::set_permissions(&new, Permissions::from_mode(MODE))?;
        let metadata = fs::symlink_metadata(&new)?;
        fs::rename(&new, path)?;
        let file = SocketFile { path: path.to_owned(), device: metadata.dev(), inode: metadata.ino() };
        Ok((listener, file))
    }

    /// Refuses a path with a file that is no socket, or with a socket at which a process answers.
    fn must_be_free(path: &Path) -> io::Result<()> {
        let found = match fs::symlink_metadata(path) {
            Ok(found) => found,
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(()),
            Err(error) => return Err(error),
        };
        if !found.file_type().is_socket() {
            return Err(io::Error::new(io::ErrorKind::AlreadyExists, "a file is there that is no socket"));
        }
        match UnixStream::connect(path) {
            Ok(_) => Err(io::Error::new(io::ErrorKind::AddrInUse, "another process answers there")),
            Err(error) if error.kind() == io::ErrorKind::ConnectionRefused => Ok(()),
            Err(error) => Err(error),
        }
    }

    #[cfg(test)]
    mod tests {
        use super::*;

        fn mode(path: &Path) -> u32 {
            fs::symlink_metadata(path).unwrap().permissions().mode() & 0o777
        }

        #[tokio::test]
        async fn a_socket_is_for_its_owner_alone_and_goes_with_its_listener() {
            let folder = tempfile::tempdir().unwrap();
            let path = folder.path().join("api.sock");
            let (listener, file) = bind(&path).unwrap();
            assert_eq!(mode(&path), 0o600);
            assert!(UnixStream::connect(&path).is_ok());
            assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 1);
            drop((listener, file));
            assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 0);
        }

        #[tokio::test]
        async fn a_socket_that_no_process_answers_at_is_replaced_and_no_other_file() {
            let folder = tempfile::tempdir().unwrap();
            let path = folder.path().join("api.sock");
            let first = bind(&path).unwrap();
            let refused = bind(&path).unwrap_err();
            assert_eq!(refused.kind(), io::ErrorKind::AddrInUse, "{refused}");
            // The process is gone, and its file is left.
            let (listener, file) = first;
            drop(listener);
            std::mem::forget(file);
            assert!(path.exists());
            let second = bind(&path).unwrap();
            assert!(UnixStream::connect(&path).is_ok());
            drop(second);
            fs::write(&path, "mine").unwrap();
            assert_eq!(bind(&path).unwrap_err().kind(), io::ErrorKind::AlreadyExists);
            assert_eq!(fs::read_to_string(&path).unwrap(), "mine");
        }

        #[tokio::test]
        async fn the_socket_of_a_later_server_stays_when_an_earlier_one_ends() {
            let folder = tempfile::tempdir().unwrap();
            let path = folder.path().join("api.sock");
            let (listener, earlier) = bind(&path).unwrap();
            drop(listener);
            let later = bind(&path).unwrap();
            drop(earlier);
            assert!(UnixStream::connect(&path).is_ok());
            drop(later);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_address_is_one_of_tcp_or_the_path_of_a_socket() {
        for text in ["127.0.0.1:9077", "[::1]:0", "unix:/run/dcm/api.sock", "unix:api.sock"] {
            assert_eq!(text.parse::<ListenAddress>().unwrap().to_string(), text);
        }
        for text in ["", "unix:", "localhost:1", "/run/dcm/api.sock"] {
            assert_eq!(text.parse::<ListenAddress>(), Err(InvalidListenAddress), "{text}");
        }
    }
}
