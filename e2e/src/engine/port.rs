//! Ports for servers that cannot choose one themselves.

use std::hash::{BuildHasher, RandomState};
use std::net::{SocketAddr, TcpListener};

/// A free loopback port below those that the kernel gives to clients. From among those, a client that asks whether
/// the server is there already may be given the server's own port, talk to itself, and keep the server from it.
///
/// # Panics
/// When every port is taken.
pub fn free() -> SocketAddr {
    let any = RandomState::new();
    let (lowest, below) = (15_000u64, 32_000u64);
    for n in 0..1_000u32 {
        let port = (lowest + any.hash_one(n) % (below - lowest)) as u16;
        if let Ok(listener) = TcpListener::bind(("127.0.0.1", port)) {
            return listener.local_addr().expect("a bound socket has an address");
        }
    }
    panic!("no free port from {lowest} to {below}");
}
