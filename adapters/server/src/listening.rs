//! Addresses that are listened on.

use std::net::SocketAddr;

use tokio::net::TcpListener;

/// Why an address is not listened on.
#[derive(Debug, thiserror::Error)]
pub enum ListenError {
    /// It could be reached from other machines.
    #[error(
        "{address} is no loopback address: what is served there has no TLS, and answers anybody who asks"
    )]
    NotLoopback {
        /// The address.
        address: SocketAddr,
    },
    /// It can't be listened on.
    #[error("{address} can't be listened on")]
    Listen {
        /// The address.
        address: SocketAddr,
        /// What happened.
        #[source]
        source: std::io::Error,
    },
}

/// A loopback address that is listened on: it is asked from this machine alone.
#[derive(Debug)]
pub struct LoopbackListener {
    pub(crate) listener: TcpListener,
    address: SocketAddr,
}

impl LoopbackListener {
    /// Listens on an address; port 0 is any that is free.
    ///
    /// # Errors
    /// [`ListenError`].
    pub async fn bind(address: SocketAddr) -> Result<Self, ListenError> {
        if !address.ip().is_loopback() {
            return Err(ListenError::NotLoopback { address });
        }
        let failed = |source| ListenError::Listen { address, source };
        let listener = TcpListener::bind(address).await.map_err(failed)?;
        let address = listener.local_addr().map_err(failed)?;
        Ok(Self { listener, address })
    }

    /// Where it is.
    #[must_use]
    pub fn address(&self) -> SocketAddr {
        self.address
    }
}
