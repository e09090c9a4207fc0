//! What only a connection that lasts can be asked: commands of the Redis protocol that no request of HTTP does.

use crate::operations::operation::Right;

/// A command about what its own connection did before.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct SessionCommand {
    /// How it is written.
    pub command: &'static str,
    /// What a token must be good for.
    pub right: Right,
    /// What it does, a phrase.
    pub says: &'static str,
}

/// Every one of them.
pub static SESSION_COMMANDS: &[SessionCommand] = &[
    SessionCommand {
        command: "MINT.CURRVAL seq",
        right: Right::Read,
        says: "the last number that this connection took of a sequence, as SQL's `currval`",
    },
    SessionCommand {
        command: "MINT.LASTVAL",
        right: Right::Read,
        says: "the last number that this connection took of any, as PostgreSQL's `lastval`",
    },
];
