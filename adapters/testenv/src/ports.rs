//! Free ports on loopback, so that test processes that run side by side do not meet.

use std::io;
use std::net::{Ipv4Addr, SocketAddr, TcpListener};
use std::ops::Range;

/// Below the range that kernels take the ports of outgoing connections from (32768 and up on Linux, 49152 and up
/// elsewhere): while a server is stopped, no passing connection gets the port that it must have back. A proxy that is cut keeps its port.
const PORTS: Range<u16> = 15_000..30_000;

/// Tries before the kernel is asked for any port at all.
const TRIES_MAX: usize = 50;

/// A listening socket on a free port. Whoever gets the port closes the socket at the last moment, or uses it.
pub(crate) fn reserve() -> io::Result<TcpListener> {
    let span = u32::from(PORTS.end - PORTS.start);
    for _ in 0..TRIES_MAX {
        let offset = u16::try_from(getrandom::u32()? % span).map_err(io::Error::other)?;
        if let Ok(listener) = TcpListener::bind((Ipv4Addr::LOCALHOST, PORTS.start + offset)) {
            return Ok(listener);
        }
    }
    TcpListener::bind((Ipv4Addr::LOCALHOST, 0))
}

/// Ports that are free, and different ones.
pub(crate) fn free<const N: usize>() -> io::Result<[SocketAddr; N]> {
    let reserved = [(); N].map(|()| reserve());
    let mut addresses = [SocketAddr::from((Ipv4Addr::LOCALHOST, 0)); N];
    for (address, listener) in addresses.iter_mut().zip(reserved) {
        *address = hand_over(listener?)?;
    }
    Ok(addresses)
}

/// The address of a reserved port, which is free again from now on.
pub(crate) fn hand_over(listener: TcpListener) -> io::Result<SocketAddr> {
    let address = listener.local_addr();
    drop(listener);
    address
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn two_reserved_ports_differ_and_a_handed_over_port_can_be_bound_again() {
        let (first, second) = (reserve().unwrap(), reserve().unwrap());
        assert_ne!(first.local_addr().unwrap(), second.local_addr().unwrap());
        drop((first, second));
        // Another process may take a port meanwhile, and one that is being started holds all sockets of this one for a moment.
        let is_free = |_| hand_over(reserve().unwrap()).and_then(TcpListener::bind).is_ok();
        assert!((0..TRIES_MAX).any(is_free));
    }
}
