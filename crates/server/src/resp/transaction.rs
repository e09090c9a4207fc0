//! What a connection has said since `MULTI`, kept until `EXEC`.
//!
//! Source: Redis 7.0 `multi.c` and `server.c` (`processCommand`).

use std::ops::Range;
use std::sync::Arc;

use super::commands::CommandRow;
use super::frame::Args;
use crate::held::{Held, Total};

/// The requests of a transaction, one behind the other in one buffer.
#[derive(Debug, Default)]
pub(crate) struct Queue {
    /// All arguments of all requests.
    bytes: Vec<u8>,
    /// Where each argument lies in `bytes`.
    arguments: Vec<Range<u32>>,
    /// Each request's command, and which of `arguments` are its own.
    requests: Vec<(&'static CommandRow, Range<usize>)>,
    spoiled: bool,
    /// Counted among what all connections hold.
    held: Option<Held>,
}

impl Queue {
    /// How many requests there are.
    pub(crate) fn len(&self) -> usize {
        self.requests.len()
    }

    /// How many bytes their arguments have.
    pub(crate) fn bytes(&self) -> usize {
        self.bytes.len()
    }

    /// Counts the memory that a request takes among that of all connections, which is then so much.
    pub(crate) fn hold(&mut self, args: Args<'_>, queued: &Arc<Total>) -> u64 {
        let argument = |argument: &[u8]| argument.len() + size_of::<Range<u32>>();
        let bytes: usize = args.from(0).map(argument).sum();
        let held = self.held.get_or_insert_with(|| queued.hold(0));
        held.add(bytes + size_of::<(&CommandRow, Range<usize>)>());
        queued.bytes()
    }

    /// Keeps a request. Who calls this has made sure that all of them have less than 4 GiB.
    pub(crate) fn keep(&mut self, row: &'static CommandRow, args: Args<'_>) {
        let first = self.arguments.len();
        for argument in args.from(0) {
            let start = self.bytes.len() as u32;
            self.bytes.extend_from_slice(argument);
            self.arguments.push(start..self.bytes.len() as u32);
        }
        self.requests.push((row, first..self.arguments.len()));
    }

    /// Notes that a request was refused: nothing of all this will be run.
    #[cold]
    pub(crate) fn spoil(&mut self) {
        *self = Queue {
            spoiled: true,
            ..Queue::default()
        };
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
