//! What the screen is told of.

use crossterm::event::KeyEvent;
use mintage_wire::{Frame, History, MapWindow, Top};

/// Something that changes the screen; of servers, by their place on the command line.
pub(super) enum Event {
    /// A second of a server.
    Frame(usize, Box<Frame>),
    /// Its last minutes.
    History(usize, History),
    /// A page of its sequences.
    Sequences(usize, Page),
    /// Its pools.
    Pools(usize, Vec<PoolNow>),
    /// It does not tell.
    Trouble(usize, Trouble),
    /// Somebody pressed a key.
    Key(KeyEvent),
    /// The terminal has another size.
    Resized,
    /// The terminal has gone.
    Gone,
}

/// Why a server does not tell how it is.
#[derive(Clone, PartialEq, Debug)]
pub(super) struct Trouble {
    pub(super) message: String,
    pub(super) hint: Option<String>,
    /// It answers, but with a refusal: waiting does not help.
    pub(super) is_refusal: bool,
}

impl Trouble {
    /// What was sent is no document of a server's second.
    pub(super) fn not_a_frame() -> Trouble {
        Trouble {
            message: "what it sends cannot be read".into(),
            hint: Some("is this a mint server? its HTTP port is 7600 unless configured".into()),
            is_refusal: false,
        }
    }
}

/// Some of the sequences, in the order asked for.
#[derive(Clone, Debug, Default)]
pub(super) struct Page {
    /// How many come before it.
    pub(super) offset: usize,
    pub(super) top: Top,
}

/// A pool, and windows of its workers.
#[derive(Clone, Debug)]
pub(super) struct PoolNow {
    pub(super) name: String,
    pub(super) now_ms: i64,
    pub(super) window_ms: u64,
    /// Those that last.
    pub(super) windows: Vec<MapWindow>,
}
