//! Free loopback ports that stay free while their server is down.

use std::hash::{BuildHasher, Hasher, RandomState};
use std::io;
use std::net::{Ipv4Addr, TcpListener};

/// Ports are drawn from here: below 32768, where Linux begins to hand out ports to outgoing connections
/// (`ip_local_port_range`). Inside that range a client that reconnects while its server is down could be given
/// the server's own port, and hold it.
const FIRST_PORT: u16 = 20_000;
const PORT_COUNT: u16 = 12_000;

/// Returns `N` different ports on 127.0.0.1 that nobody listens on.
///
/// They are free at that moment only: another process may take one before its server does, so the caller tries
/// again with others.
pub(crate) fn free_ports<const N: usize>() -> io::Result<[u16; N]> {
    let start = random() % u64::from(PORT_COUNT);
    // The listeners are held until all ports are found, so that none is found twice.
    let mut held = Vec::new();
    let mut ports = [0; N];
    for step in 0..u64::from(PORT_COUNT) {
        if held.len() == N {
            break;
        }
        let port = FIRST_PORT + ((start + step) % u64::from(PORT_COUNT)) as u16;
        if let Ok(listener) = TcpListener::bind((Ipv4Addr::LOCALHOST, port)) {
            ports[held.len()] = port;
            held.push(listener);
        }
    }
    if held.len() < N {
        return Err(io::Error::new(io::ErrorKind::AddrInUse, "no free port on 127.0.0.1"));
    }
    Ok(ports)
}

/// 64 bits that differ from call to call and from process to process: the standard library's only source of
/// randomness are the keys of its hasher.
pub(crate) fn random() -> u64 {
    RandomState::new().build_hasher().finish()
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::BTreeSet;

    #[test]
    fn ports_differ_and_can_be_listened_on() {
        let ports = free_ports::<8>().unwrap();
        assert_eq!(ports.iter().collect::<BTreeSet<_>>().len(), ports.len());
        for port in ports {
            assert!((FIRST_PORT..FIRST_PORT + PORT_COUNT).contains(&port), "{port}");
        }
    }

    #[test]
    fn a_port_in_use_is_not_free() {
        let [port] = free_ports::<1>().unwrap();
        // If somebody else took the port in between, it is in use all the same.
        let _held = TcpListener::bind((Ipv4Addr::LOCALHOST, port));
        for _ in 0..20 {
            assert!(!free_ports::<4>().unwrap().contains(&port));
        }
    }

    #[test]
    fn random_numbers_differ() {
        assert_ne!(random(), random());
    }
}
