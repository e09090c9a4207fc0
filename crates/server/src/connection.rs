//! A connection that was accepted, as its face is given it.

use std::rc::Rc;

use crate::auth::Presented;
use crate::metrics::{FaceId, OpenConnection};
use crate::places::ConnectionPlace;
use crate::thread::ServingThread;
use crate::transport::{Peer, Stream};
use crate::watch::WatchedConnection;

/// A connection and all that is needed to serve it.
#[derive(Debug)]
pub struct Connection {
    /// What it reads from and writes to.
    pub stream: Stream,
    /// Who is at the other end.
    pub peer: Peer,
    /// What it shows by itself.
    pub presented: Rc<Presented>,
    /// Its address is one of TLS: where that begins within the protocol, nothing else is served.
    pub wants_tls: bool,
    /// The face that it belongs to, for the counters.
    pub face: FaceId,
    /// The thread that serves it.
    pub thread: Rc<ServingThread>,
    /// Its deadlines.
    pub watch: WatchedConnection,
    /// Counts and holds its place until dropped.
    pub counted: Counted,
}

/// What counts a connection as open.
#[derive(Debug)]
pub struct Counted {
    pub(crate) place: ConnectionPlace,
    pub(crate) _open: OpenConnection,
}
