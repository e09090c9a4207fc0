//! Numbers that one process of this machine has to itself, such as ports: also against the tests of other runs.

use std::io::ErrorKind;
use std::os::linux::net::SocketAddrExt;
use std::os::unix::net::{SocketAddr, UnixDatagram};
use std::sync::{Mutex, PoisonError};

/// What this process holds: it goes with it, however it ends.
static HELD: Mutex<Vec<UnixDatagram>> = Mutex::new(Vec::new());

/// Whether this number of such things is ours from now on, which it is once.
///
/// A socket with an abstract name holds it: nobody else can have the name, no file is left, and it counts where ports and
/// interfaces do, in one network namespace.
///
/// # Panics
/// When no socket can be had.
pub fn reserve(what: &str, number: u32) -> bool {
    let name = SocketAddr::from_abstract_name(format!("mintage-test-{what}-{number}"));
    let name = name.expect("it is short and without zeros");
    match UnixDatagram::bind_addr(&name) {
        Ok(socket) => {
            HELD.lock().unwrap_or_else(PoisonError::into_inner).push(socket);
            true
        }
        Err(why) if why.kind() == ErrorKind::AddrInUse => false,
        Err(why) => panic!("{what} {number}: {why}"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_number_is_reserved_once() {
        let number = std::process::id();
        assert!(reserve("number", number));
        assert!(!reserve("number", number));
        assert!(reserve("other-number", number));
    }
}
