//! What a serving thread has beside its door to the service: buffers, deadlines, turns, numbers of connections; and
//! what the threads share for the sake of connections.

use std::any::{Any, TypeId};
use std::cell::{Cell, RefCell};
use std::collections::HashMap;
use std::ops::Deref;
use std::rc::Rc;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use tokio::sync::Semaphore;

use crate::config::{Config, Reloaded};
use crate::error::{Answer, Code, ServiceError};
use crate::held::{HeldBytes, Room, TotalBytes};
use crate::notify::Beats;
use crate::places::Places;
use crate::service::{Door, Service};
use crate::tls;
use crate::watch::{Watch, Watches};

/// What all threads share.
#[derive(Debug)]
pub struct Shared {
    /// Every operation.
    pub service: Arc<Service>,
    /// The places for connections.
    pub(crate) places: Arc<Places>,
    /// Answers that are made and have not left.
    pub(crate) unread: Arc<TotalBytes>,
    /// The same for clients that have shown no token, where one is needed.
    pub(crate) unread_of_unknown: Arc<TotalBytes>,
    /// What requests over HTTP/2 take until they are answered.
    pub(crate) requests: Arc<TotalBytes>,
    /// The certificates that are shown.
    pub tls: tls::Current,
    /// The threads, as they are seen at work.
    pub(crate) beats: Beats,
    /// What a face keeps for all of its connections, one value of each type.
    of_faces: Mutex<HashMap<TypeId, Arc<dyn Any + Send + Sync>>>,
}

impl Shared {
    pub(crate) fn new(service: Arc<Service>) -> Arc<Shared> {
        Arc::new(Shared {
            places: Places::new(&service.config()),
            service,
            unread: Arc::default(),
            unread_of_unknown: Arc::default(),
            requests: Arc::default(),
            tls: tls::Current::default(),
            beats: Beats::default(),
            of_faces: Mutex::default(),
        })
    }

    /// Runs with what another configuration says, as far as a running server can.
    pub(crate) fn reload(&self, new: &Config) -> Reloaded {
        let reloaded = self.service.reload(new);
        let config = self.service.config();
        self.places.limit(&config);
        // The paths may be the same, and the files others.
        let loaded = tls::Files::of(&config).and_then(|files| self.tls.load(files));
        if let Err(why) = self.service.open_audit() {
            tracing::error!(
                why,
                "the audit trail cannot be opened: the one from before goes on"
            );
        }
        tls::tell(loaded.map_or_else(tls::Looked::Wrong, |warnings| tls::Looked::New { warnings }));
        reloaded
    }

    /// The one value of a type that a face keeps, made when it is first asked for. Takes a lock: not for every request.
    pub fn of_face<T: Any + Send + Sync + Default>(&self) -> Arc<T> {
        let mut all = self.of_faces.lock().expect("no panic while held");
        let one = all
            .entry(TypeId::of::<T>())
            .or_insert_with(|| Arc::new(T::default()));
        Arc::clone(one).downcast().expect("it is found by its type")
    }
}

/// What one thread needs to serve connections. Not shared between threads: no lock, no contended line.
#[derive(Debug)]
pub struct ServingThread {
    door: Door,
    shared: Arc<Shared>,
    watches: Rc<Watches>,
    lane: Semaphore,
    /// Somebody has been cut off since the last tick.
    has_cut_off: Cell<bool>,
    next_connection: Cell<u64>,
    connection_step: u64,
    input_bytes: usize,
    inputs: RefCell<Vec<Box<[u8]>>>,
    outputs: RefCell<Vec<Vec<u8>>>,
}

impl Deref for ServingThread {
    type Target = Door;

    #[inline]
    fn deref(&self) -> &Door {
        &self.door
    }
}

impl ServingThread {
    /// Thread `index` out of `threads`; the largest request of any face takes `input_bytes`.
    pub(crate) fn new(
        shared: Arc<Shared>,
        index: u64,
        threads: u64,
        input_bytes: usize,
    ) -> Rc<ServingThread> {
        Rc::new(ServingThread {
            door: Door::new(Arc::clone(&shared.service), threads),
            shared,
            watches: Rc::default(),
            lane: Semaphore::new(1),
            has_cut_off: Cell::new(false),
            next_connection: Cell::new(index + 1),
            connection_step: threads,
            input_bytes,
            inputs: RefCell::default(),
            outputs: RefCell::default(),
        })
    }

    /// What all threads share.
    pub fn shared(&self) -> &Arc<Shared> {
        &self.shared
    }

    /// This thread's connections.
    pub fn watches(&self) -> &Rc<Watches> {
        &self.watches
    }

    /// Where those of this thread's connections stand that have had their turn and want another one.
    pub(crate) fn lane(&self) -> &Semaphore {
        &self.lane
    }

    /// A number for a connection that no other connection of this server has.
    pub fn connection_id(&self) -> u64 {
        let id = self.next_connection.get();
        self.next_connection.set(id + self.connection_step);
        id
    }

    /// A buffer to read into, large enough for a request of any face. Connections share them: only those
    /// that are just being served hold one.
    #[inline]
    pub(crate) fn borrow_input(&self) -> Box<[u8]> {
        let free = self.inputs.borrow_mut().pop();
        free.unwrap_or_else(|| vec![0; self.input_bytes].into())
    }

    /// Gives a buffer back.
    #[inline]
    pub fn return_input(&self, buffer: Box<[u8]>) {
        let mut inputs = self.inputs.borrow_mut();
        if inputs.len() < BUFFERS_MAX {
            inputs.push(buffer);
        }
    }

    /// Counts an answer that is made, or that a client does not read. If these are too many, of all clients together, one of
    /// this thread that has waited longest is cut off.
    pub(crate) fn hold_unread(&self, bytes: usize, watch: &Watch) -> HeldBytes {
        let (total, max) = self.unread(self.is_known(watch));
        let held = total.hold(bytes);
        // Otherwise with the next tick: whom it hits may hold less than is too much.
        if total.bytes() > max && !self.has_cut_off.replace(true) {
            self.cut_off_slowest(self.is_known(watch));
        }
        held
    }

    /// Counts a large answer before it is made: waits until there is room for it among those of all clients.
    ///
    /// # Errors
    /// [`Code::Unavailable`]: there has been none for as long as a client may leave an answer unread.
    pub(crate) async fn room_of_all(&self, bytes: u64, watch: &Watch) -> Answer<HeldBytes> {
        let (total, max) = self.unread(self.is_known(watch));
        // What is said to be huge may be refused yet, and must not keep others until all are gone.
        let room = total.room(usize::try_from(bytes.min(max / 4)).unwrap_or(usize::MAX), max);
        let waited = tokio::time::timeout(self.config().write_timeout, room).await;
        waited.map_err(|_| {
            let why = format!("answers that others do not read take all {max} bytes that there are for them");
            ServiceError::new(Code::Unavailable, why)
                .with_retry_after_s(1)
                .with_hint("server.max_unread")
        })
    }

    /// The same for one of several answers of a connection, which together have room of their own.
    ///
    /// # Errors
    /// As [`ServingThread::room_of_all`].
    pub(crate) async fn room(&self, bytes: u64, own: &Arc<TotalBytes>, watch: &Watch) -> Answer<Room> {
        let of_own = own.room(usize::try_from(bytes).unwrap_or(usize::MAX), UNREAD_OF_ONE_BYTES);
        let of_own = of_own.await;
        Ok(Room([self.room_of_all(bytes, watch).await?, of_own]))
    }

    /// Whether there is room for more, of a connection that may ask for several answers at a time and of all.
    pub(crate) fn has_room(&self, own: &TotalBytes, watch: &Watch) -> bool {
        let (total, max) = self.unread(self.is_known(watch));
        own.bytes() < UNREAD_OF_ONE_BYTES && total.bytes() < max
    }

    /// With every tick: cuts off the clients that have waited longest if more is held than may be, and all that have left
    /// answers unread for long while others wait for room.
    pub(crate) fn bound_unread(&self) {
        self.has_cut_off.set(false);
        for known in [true, false] {
            let (total, max) = self.unread(known);
            if total.bytes() > max {
                self.cut_off_slowest(known);
            } else if total.is_awaited() {
                let meant = |watch: &Watch| self.is_known(watch) == known;
                self.watches.cut_off_slow(PATIENCE, meant);
            }
        }
    }

    fn cut_off_slowest(&self, known: bool) {
        self.watches
            .cut_off_slowest(1, |watch| self.is_known(watch) == known);
    }

    /// Whether a client has what is needed to ask for anything.
    pub(crate) fn is_known(&self, watch: &Watch) -> bool {
        watch.is_authenticated() || !self.config().wants_tokens()
    }

    /// What such clients hold together, and what they may.
    fn unread(&self, known: bool) -> (&Arc<TotalBytes>, u64) {
        let (shared, max) = (&self.shared, self.config().max_unread.0 as u64);
        match known {
            true => (&shared.unread, max),
            false => (&shared.unread_of_unknown, max / UNKNOWN_PART),
        }
    }

    /// An empty buffer to collect answers in.
    #[inline]
    pub fn borrow_output(&self) -> Vec<u8> {
        self.outputs.borrow_mut().pop().unwrap_or_default()
    }

    /// Gives a buffer back.
    #[inline]
    pub fn return_output(&self, mut buffer: Vec<u8>) {
        let mut outputs = self.outputs.borrow_mut();
        if outputs.len() < BUFFERS_MAX && buffer.capacity() <= OUTPUT_KEPT_BYTES {
            buffer.clear();
            outputs.push(buffer);
        }
    }
}

/// What the answers of one connection have room for before further ones are begun, where it may ask for several at a time.
pub(crate) const UNREAD_OF_ONE_BYTES: u64 = 256 * 1024;

/// Clients that have shown no token have room for one part in so many.
const UNKNOWN_PART: u64 = 16;

/// How long an answer may be left unread while others wait for room.
const PATIENCE: Duration = Duration::from_secs(1);

/// How many buffers of each kind a thread keeps.
const BUFFERS_MAX: usize = 64;

/// The largest answer buffer that is kept.
pub(crate) const OUTPUT_KEPT_BYTES: usize = 128 * 1024;
