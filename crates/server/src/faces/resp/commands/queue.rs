//! What a connection has said since `MULTI`, kept until `EXEC`.
//!
//! Source: Redis 7.0 `multi.c` and `server.c` (`processCommand`).

use std::ops::Range;

use super::CommandRow;
use crate::faces::resp::frame::Args;
use crate::kept::{Full, Keeping, KeptBytes};

/// The requests of a transaction, one behind the other in one buffer.
#[derive(Debug)]
pub struct Queue {
    /// All arguments of all requests.
    bytes: Vec<u8>,
    /// Where each argument lies in `bytes`.
    arguments: Vec<Range<u32>>,
    /// Each request's command, and which of `arguments` are its own.
    requests: Vec<(&'static CommandRow, Range<usize>)>,
    spoiled: bool,
    kept: KeptBytes,
}

impl Queue {
    /// An empty one.
    pub(crate) fn new(keeping: &Keeping) -> Queue {
        Queue {
            bytes: Vec::new(),
            arguments: Vec::new(),
            requests: Vec::new(),
            spoiled: false,
            kept: keeping.nothing(),
        }
    }

    /// How many requests there are.
    pub(crate) fn len(&self) -> usize {
        self.requests.len()
    }

    /// How many bytes their arguments have.
    pub(crate) fn bytes(&self) -> usize {
        self.bytes.len()
    }

    /// Keeps a request. Who calls this has made sure that all of them have less than 4 GiB.
    ///
    /// # Errors
    /// It is more than is kept for a connection, or for all of them.
    pub(crate) fn keep(&mut self, row: &'static CommandRow, args: Args<'_>) -> Result<(), Full> {
        let argument = |argument: &[u8]| argument.len() + size_of::<Range<u32>>();
        let bytes: usize = args.from(0).map(argument).sum();
        // Lists grow by doubling.
        self.kept
            .grow(2 * (bytes + size_of::<(&CommandRow, Range<usize>)>()))?;
        let first = self.arguments.len();
        for argument in args.from(0) {
            let start = self.bytes.len() as u32;
            self.bytes.extend_from_slice(argument);
            self.arguments.push(start..self.bytes.len() as u32);
        }
        self.requests.push((row, first..self.arguments.len()));
        Ok(())
    }

    /// Notes that a request was refused: nothing of all this will be run.
    #[cold]
    pub(crate) fn spoil(&mut self) {
        // Its memory is free at once, and what it held of the shared bound.
        (self.bytes, self.arguments, self.requests) = Default::default();
        self.kept.shrink(usize::MAX);
        self.spoiled = true;
    }

    /// Whether a request was refused.
    pub(crate) fn is_spoiled(&self) -> bool {
        self.spoiled
    }

    /// The requests, in the order in which they came.
    pub(crate) fn requests(&self) -> impl Iterator<Item = (&'static CommandRow, Args<'_>)> {
        self.requests
            .iter()
            .map(|(row, arguments)| (*row, Args::new(&self.bytes, &self.arguments[arguments.clone()])))
    }
}

#[cfg(test)]
mod tests {
    use super::super::OURS;
    use super::*;

    /// Whoever sends MULTI, a large request and a wrong one could otherwise keep everybody else from theirs.
    #[test]
    fn a_refused_transaction_keeps_nothing_of_the_shared_bound() {
        let keeping = Keeping::default();
        let mut queue = Queue::new(&keeping);
        let ends = [0..3, 3..7];
        queue
            .keep(OURS.find(b"get").unwrap(), Args::new(b"getname", &ends))
            .unwrap();
        assert!(keeping.bytes() > 7 && queue.len() == 1);
        queue.spoil();
        assert_eq!((keeping.bytes(), queue.len(), queue.bytes()), (0, 0, 0));
        assert!(queue.is_spoiled());
    }
}
