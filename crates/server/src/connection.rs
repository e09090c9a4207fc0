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
pub(crate) struct Connection {
    pub(crate) stream: Stream,
    pub(crate) peer: Peer,
    /// What it shows by itself.
    pub(crate) presented: Rc<Presented>,
    /// Its address is one of TLS: where that begins within the protocol, nothing else is served.
    pub(crate) wants_tls: bool,
    /// The face that it belongs to, for the counters.
    pub(crate) face: FaceId,
    pub(crate) thread: Rc<ServingThread>,
    pub(crate) watch: WatchedConnection,
    /// Counts and holds its place until dropped.
    pub(crate) counted: Counted,
}

/// What counts a connection as open.
#[derive(Debug)]
pub(crate) struct Counted {
    pub(crate) place: ConnectionPlace,
    pub(crate) _open: OpenConnection,
}
