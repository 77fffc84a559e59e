//! Addresses that are listened on.

use std::io::ErrorKind;
use std::net::SocketAddr;

use tokio::net::TcpListener;

use crate::access::Access;
use crate::socket::{ListenAddress, Listener};

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
    /// It could be reached from other machines, and too little is set for that.
    #[error("{address} is no loopback address: others can reach it, so {}; or listen on 127.0.0.1 or [::1]", lacking(*.has_tls, *.asks_who))]
    Open {
        /// The address.
        address: SocketAddr,
        /// Whether TLS is spoken.
        has_tls: bool,
        /// Whether callers prove who they are.
        asks_who: bool,
    },
    /// It can't be listened on.
    #[error("{address} can't be listened on")]
    Listen {
        /// The address.
        address: ListenAddress,
        /// What happened.
        #[source]
        source: std::io::Error,
    },
}

impl ListenError {
    /// True when the same call may succeed later without anybody changing anything: an address
    /// may be that of a process which is about to end, or of an interface that is not up yet.
    #[must_use]
    pub fn is_retryable(&self) -> bool {
        match self {
            Self::NotLoopback { .. } | Self::Open { .. } => false,
            Self::Listen { source, .. } => {
                matches!(source.kind(), ErrorKind::AddrInUse | ErrorKind::AddrNotAvailable)
            }
        }
    }
}

fn lacking(has_tls: bool, asks_who: bool) -> String {
    let tls = (!has_tls).then_some("set tls.certificate and tls.key");
    let authentication = (!asks_who).then_some("set authentication, and bind roles");
    let lacking: Vec<&str> = tls.into_iter().chain(authentication).collect();
    lacking.join(", and ")
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
        let (listener, address) = listen(address).await?;
        Ok(Self { listener, address })
    }

    /// Where it is.
    #[must_use]
    pub fn address(&self) -> SocketAddr {
        self.address
    }
}

/// An address that the API is asked at.
#[derive(Debug)]
pub struct ApiListener {
    pub(crate) listener: Listener,
    pub(crate) access: Access,
    address: ListenAddress,
}

impl ApiListener {
    /// Listens at an address; port 0 is any that is free. One that other machines can reach needs TLS and callers who prove who they
    /// are. A Unix socket is for its owner alone, and speaks no TLS.
    ///
    /// # Errors
    /// [`ListenError`].
    pub async fn bind(address: ListenAddress, access: &Access) -> Result<Self, ListenError> {
        let access = match address {
            ListenAddress::Tcp(address) if !address.ip().is_loopback() && !access.is_for_others() => {
                let (has_tls, asks_who) = (access.tls().is_some(), access.asks_who());
                return Err(ListenError::Open { address, has_tls, asks_who });
            }
            ListenAddress::Tcp(_) => access.clone(),
            ListenAddress::Unix(_) => access.without_tls(),
        };
        let bound = Listener::bind(&address).await;
        let (listener, address) = bound.map_err(|source| ListenError::Listen { address, source })?;
        Ok(Self { listener, access, address })
    }

    /// Where it listens.
    #[must_use]
    pub fn address(&self) -> &ListenAddress {
        &self.address
    }

    /// The beginning of the URLs that are asked there: `https`, its address and its port. Of a Unix socket, `unix:` and its path.
    #[must_use]
    pub fn url(&self) -> String {
        match &self.address {
            ListenAddress::Tcp(address) if self.access.tls().is_some() => format!("https://{address}"),
            ListenAddress::Tcp(address) => format!("http://{address}"),
            ListenAddress::Unix(_) => self.address.to_string(),
        }
    }

    /// What a process of this machine may do where callers prove nothing, and the way out; none where they prove who they are. A
    /// program that serves logs it at its start.
    #[must_use]
    pub fn open_access(&self) -> Option<&'static str> {
        match self.address {
            _ if self.access.asks_who() => None,
            ListenAddress::Tcp(_) => Some(
                "no authentication: any process on this machine may do everything here, take the kubeconfigs of all users, and \
                 register clusters; set authentication, or listen at unix:PATH, which is for one user alone",
            ),
            ListenAddress::Unix(_) => Some(
                "no authentication: any process of the user that owns this socket may do everything here, take the kubeconfigs of all \
                 users, and register clusters",
            ),
        }
    }
}

async fn listen(address: SocketAddr) -> Result<(TcpListener, SocketAddr), ListenError> {
    let failed = |source| ListenError::Listen { address: address.into(), source };
    let listener = TcpListener::bind(address).await.map_err(failed)?;
    let address = listener.local_addr().map_err(failed)?;
    Ok((listener, address))
}
