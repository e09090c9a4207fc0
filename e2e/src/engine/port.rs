//! Ports for servers that cannot choose one themselves.

use std::hash::{BuildHasher, RandomState};
use std::net::{Shutdown, SocketAddr, TcpListener};

use socket2::SockRef;

use crate::reserve::reserve;

/// A free loopback port below those that the kernel gives to clients. From among those, a client that asks whether
/// the server is there already may be given the server's own port, talk to itself, and keep the server from it.
///
/// No process is given it while this one lives: a server that is about to start, or was killed, has it to itself.
///
/// # Panics
/// When every port is taken.
pub fn free() -> SocketAddr {
    let any = RandomState::new();
    let (lowest, below) = (15_000u64, 32_000u64);
    for n in 0..100_000u32 {
        let port = (lowest + any.hash_one(n) % (below - lowest)) as u16;
        if !reserve("port", port.into()) {
            continue;
        }
        if let Ok(listener) = TcpListener::bind(("127.0.0.1", port)) {
            let address = listener.local_addr().expect("a bound socket has an address");
            close(listener);
            return address;
        }
    }
    panic!("no free port from {lowest} to {below}");
}

/// Ends the listening at once. Closed alone it goes on while a child that another thread is starting has a copy.
pub fn close(listener: TcpListener) {
    SockRef::from(&listener).shutdown(Shutdown::Both).ok();
}
