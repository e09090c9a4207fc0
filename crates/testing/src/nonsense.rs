//! A client that nobody asked for.

use std::io::{Read, Write};
use std::net::{SocketAddr, TcpStream};
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::Duration;

use crate::ways::{Dice, WAYS};

/// Does something while such a client connects to one of these faces after another, sends a request that is cut off, changed
/// in a byte or nonsense altogether, reads an answer or not, and goes. How often it has.
///
/// # Panics
/// When what is done panics, or nobody sent nonsense beside it.
pub fn beside(faces: &[SocketAddr], seed: u64, work: impl FnOnce()) -> u64 {
    let (done, sent) = (AtomicBool::new(false), AtomicU64::new(0));
    std::thread::scope(|scope| {
        scope.spawn(|| send(faces, seed, &done, &sent));
        let _end = End(&done);
        work();
    });
    let sent = sent.into_inner();
    assert!(sent > 0, "seed {seed}: nobody sent nonsense beside it");
    sent
}

fn send(faces: &[SocketAddr], seed: u64, done: &AtomicBool, sent: &AtomicU64) {
    let mut dice = Dice(seed);
    while !done.load(Ordering::SeqCst) {
        let (_, request, _, _) = dice.pick(WAYS);
        let mut bytes = format!("{request} HTTP/1.1\r\nhost: localhost\r\n\r\n").into_bytes();
        match dice.below(3) {
            0 => bytes.truncate(dice.below(bytes.len() as u64) as usize),
            1 => {
                let at = dice.below(bytes.len() as u64) as usize;
                bytes[at] = dice.below(256) as u8;
            }
            _ => bytes = (0..dice.below(300)).map(|_| dice.below(256) as u8).collect(),
        }
        // Refused, closed while it sends, or not answered: what is to be seen is the others' numbers.
        let Ok(mut stream) = TcpStream::connect(dice.pick(faces)) else {
            continue;
        };
        let waits = stream.set_read_timeout(Some(Duration::from_millis(20)));
        if waits.is_ok() && stream.write_all(&bytes).is_ok() && dice.below(2) == 0 {
            let _ = stream.read(&mut [0; 512]);
        }
        sent.fetch_add(1, Ordering::SeqCst);
        // The others are to be served meanwhile, on the same two processors.
        std::thread::sleep(Duration::from_millis(2));
    }
}

/// Ends the client beside what is done, also where that fails.
struct End<'a>(&'a AtomicBool);

impl Drop for End<'_> {
    fn drop(&mut self) {
        self.0.store(true, Ordering::SeqCst);
    }
}
