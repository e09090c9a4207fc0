//! Many who watch: connections that read `/v1/live`, as a page of the console does.

use std::io::{ErrorKind, Read, Write};
use std::net::{Shutdown, TcpStream};
use std::thread::{self, JoinHandle};
use std::time::Duration;

/// Connections that read until they are dropped.
pub(super) struct Readers(Vec<(TcpStream, JoinHandle<()>)>);

impl Readers {
    /// Opens so many, and waits until each has had an event.
    pub(super) fn open(port: u16, many: usize) -> Readers {
        let open = |_| {
            let mut stream = TcpStream::connect(("127.0.0.1", port)).expect("mint accepts");
            let wait = Some(Duration::from_secs(10));
            stream.set_read_timeout(wait).expect("a socket has a time limit");
            let asked = write!(stream, "GET /v1/live HTTP/1.1\r\nhost: localhost\r\n\r\n");
            asked.expect("mint reads");
            let mut seen = Vec::new();
            let mut part = [0; 1 << 14];
            while !seen.windows(5).any(|part| part == b"data:") {
                stream.read_exact(&mut part[..1]).expect("mint sends events");
                seen.push(part[0]);
            }
            let mut reader = stream.try_clone().expect("a socket can be shared");
            let thread = thread::spawn(move || {
                loop {
                    match reader.read(&mut part) {
                        Ok(0) => return,
                        Ok(_) => {}
                        Err(why) if why.kind() == ErrorKind::Interrupted => {}
                        Err(_) => return,
                    }
                }
            });
            (stream, thread)
        };
        Readers((0..many).map(open).collect())
    }
}

impl Drop for Readers {
    fn drop(&mut self) {
        for (stream, thread) in self.0.drain(..) {
            stream.shutdown(Shutdown::Both).ok();
            thread.join().ok();
        }
    }
}
