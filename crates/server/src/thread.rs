//! What a serving thread has beside its door to the service: buffers, deadlines, turns, numbers of connections; and
//! what the threads share for the sake of connections.

use std::any::{Any, TypeId};
use std::cell::{Cell, RefCell};
use std::collections::HashMap;
use std::ops::Deref;
use std::rc::Rc;
use std::sync::{Arc, Mutex};

use tokio::sync::Semaphore;

use crate::config::{Config, Reloaded};
use crate::held::{HeldBytes, TotalBytes};
use crate::notify::Beats;
use crate::places::Places;
use crate::service::{Door, Service};
use crate::tls;
use crate::watch::Watches;

/// What all threads share.
#[derive(Debug)]
pub(crate) struct Shared {
    pub(crate) service: Arc<Service>,
    /// The places for connections.
    pub(crate) places: Arc<Places>,
    /// Answers that clients have not read yet.
    pub(crate) unread: Arc<TotalBytes>,
    /// The certificates that are shown.
    pub(crate) tls: tls::Current,
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
    pub(crate) fn of_face<T: Any + Send + Sync + Default>(&self) -> Arc<T> {
        let mut all = self.of_faces.lock().expect("no panic while held");
        let one = all
            .entry(TypeId::of::<T>())
            .or_insert_with(|| Arc::new(T::default()));
        Arc::clone(one).downcast().expect("it is found by its type")
    }
}

/// What one thread needs to serve connections. Not shared between threads: no lock, no contended line.
#[derive(Debug)]
pub(crate) struct ServingThread {
    door: Door,
    shared: Arc<Shared>,
    watches: Rc<Watches>,
    lane: Semaphore,
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
            next_connection: Cell::new(index + 1),
            connection_step: threads,
            input_bytes,
            inputs: RefCell::default(),
            outputs: RefCell::default(),
        })
    }

    /// What all threads share.
    pub(crate) fn shared(&self) -> &Arc<Shared> {
        &self.shared
    }

    /// This thread's connections.
    pub(crate) fn watches(&self) -> &Rc<Watches> {
        &self.watches
    }

    /// Where those of this thread's connections stand that have had their turn and want another one.
    pub(crate) fn lane(&self) -> &Semaphore {
        &self.lane
    }

    /// A number for a connection that no other connection of this server has.
    pub(crate) fn connection_id(&self) -> u64 {
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
    pub(crate) fn return_input(&self, buffer: Box<[u8]>) {
        let mut inputs = self.inputs.borrow_mut();
        if inputs.len() < BUFFERS_MAX {
            inputs.push(buffer);
        }
    }

    /// Counts answers that a client does not read. Where these are too many, of all clients together, the one of this
    /// thread that has waited longest is cut off.
    pub(crate) fn hold_unread(&self, bytes: usize) -> HeldBytes {
        let held = self.shared.unread.hold(bytes);
        self.bound_unread();
        held
    }

    /// Cuts off the client that has waited longest if more is held than may be. Called with every tick too: whom it hits may
    /// hold less than was too much.
    pub(crate) fn bound_unread(&self) {
        if self.shared.unread.bytes() > self.config().max_unread.0 as u64 {
            self.watches.cut_off_slowest();
        }
    }

    /// An empty buffer to collect answers in.
    #[inline]
    pub(crate) fn borrow_output(&self) -> Vec<u8> {
        self.outputs.borrow_mut().pop().unwrap_or_default()
    }

    /// Gives a buffer back.
    #[inline]
    pub(crate) fn return_output(&self, mut buffer: Vec<u8>) {
        let mut outputs = self.outputs.borrow_mut();
        if outputs.len() < BUFFERS_MAX && buffer.capacity() <= OUTPUT_KEPT_BYTES {
            buffer.clear();
            outputs.push(buffer);
        }
    }
}

/// How many buffers of each kind a thread keeps.
const BUFFERS_MAX: usize = 64;

/// The largest answer buffer that is kept.
const OUTPUT_KEPT_BYTES: usize = 128 * 1024;
