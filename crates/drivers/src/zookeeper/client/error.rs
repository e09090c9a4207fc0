//! What a request may come to but an answer: a server's word, or none.

use std::fmt;

/// Why a request failed.
#[derive(Clone, PartialEq, Eq, Debug, thiserror::Error)]
pub enum Error {
    /// A server answered so.
    #[error("{0}")]
    Answered(Code),
    /// It was not sent: the session has no connection.
    #[error("{0}")]
    NotSent(String),
    /// No server took the session up.
    #[error("{0}")]
    Unreachable(String),
    /// It was not sent: no server takes one of so many bytes.
    #[error("a request of {0} bytes, {REQUEST_BYTES_MAX} at most can be sent")]
    TooLong(usize),
    /// It may have been sent, and no answer came that can be trusted: a write may have been done, or be done yet.
    #[error("{0}")]
    Lost(String),
}

/// The largest request: `jute.maxbuffer` of a server that was told nothing else. A server ends the connection at a
/// larger one, and whoever asked would not know what came of it.
pub const REQUEST_BYTES_MAX: usize = 0xfffff;

/// A server's word for a request that it did not serve (ZooKeeper's `KeeperException.Code`).
#[derive(Clone, Copy, PartialEq, Eq, Hash)]
pub struct Code(pub i32);

macro_rules! codes {
    ($($(#[doc = $doc:literal])+ $name:ident = $number:literal, $word:literal;)+) => {
        impl Code {
            $($(#[doc = $doc])+ pub const $name: Code = Code($number);)+

            /// ZooKeeper's name for it; empty for a code that is not among those above.
            const fn word(self) -> &'static str {
                match self.0 {
                    $($number => $word,)+
                    _ => "",
                }
            }
        }
    };
}

codes! {
    /// Another request of the same multi failed.
    RUNTIME_INCONSISTENCY = -2, "RuntimeInconsistency";
    /// The server does not know the request.
    UNIMPLEMENTED = -6, "Unimplemented";
    /// A time-out between servers: the outcome is open.
    OPERATION_TIMEOUT = -7, "OperationTimeout";
    /// A path or another part of the request makes no sense.
    BAD_ARGUMENTS = -8, "BadArguments";
    /// The node is not there.
    NO_NODE = -101, "NoNode";
    /// This account has no right to it.
    NO_AUTH = -102, "NoAuth";
    /// The node has another version.
    BAD_VERSION = -103, "BadVersion";
    /// An ephemeral node has no children.
    NO_CHILDREN_FOR_EPHEMERALS = -108, "NoChildrenForEphemerals";
    /// The node is there already.
    NODE_EXISTS = -110, "NodeExists";
    /// The node has children.
    NOT_EMPTY = -111, "NotEmpty";
    /// The session is over.
    SESSION_EXPIRED = -112, "SessionExpired";
    /// The access list makes no sense, or the account of its own it speaks of is not there.
    INVALID_ACL = -114, "InvalidACL";
    /// The account was refused.
    AUTH_FAILED = -115, "AuthFailed";
    /// The session is another server's by now.
    SESSION_MOVED = -118, "SessionMoved";
    /// A server without its majority was asked to write.
    NOT_READ_ONLY = -119, "NotReadOnly";
    /// A server asks for SASL, which this client does not speak.
    SASL_REQUIRED = -124, "SessionClosedRequireSaslAuth";
    /// More nodes or bytes than the quota.
    QUOTA_EXCEEDED = -125, "QuotaExceeded";
    /// The server has too much to do.
    THROTTLED = -127, "ThrottledOp";
}

impl fmt::Display for Code {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.word() {
            "" => write!(f, "error {}", self.0),
            word => write!(f, "{word} (error {})", self.0),
        }
    }
}

impl fmt::Debug for Code {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}
