//! Connections by their numbers, for `KILL`, on whichever thread each is.

use std::collections::HashMap;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex};

use tokio::sync::Notify;

use mintage_server::chassis::thread::Shared;

/// Every connection that has logged in.
#[derive(Debug, Default)]
struct All(Mutex<HashMap<u32, Arc<Killable>>>);

/// A connection, as others see it.
#[derive(Debug)]
pub(super) struct Killable {
    /// The name of its token.
    pub(super) token: Box<str>,
    statement: AtomicBool,
    connection: AtomicBool,
    told: Notify,
}

/// A connection's place among all, until dropped.
#[derive(Debug)]
pub(super) struct Registered {
    all: Arc<All>,
    id: u32,
    one: Arc<Killable>,
}

impl Registered {
    /// Enters a connection.
    pub(super) fn new(shared: &Shared, id: u32, token: &str) -> Registered {
        let all = shared.of_face::<All>();
        let one = Arc::new(Killable {
            token: token.into(),
            statement: AtomicBool::new(false),
            connection: AtomicBool::new(false),
            told: Notify::new(),
        });
        let mut map = all.0.lock().expect("no panic while held");
        map.insert(id, Arc::clone(&one));
        drop(map);
        Registered { all, id, one }
    }

    /// A statement begins: what was meant for the one before does not end it.
    pub(super) fn begin_statement(&self) {
        self.one.statement.store(false, Ordering::Release);
    }

    /// Completes when somebody ends the statement; whether the connection ends with it.
    pub(super) async fn ended(&self) -> bool {
        loop {
            let told = self.one.told.notified();
            if self.one.connection.load(Ordering::Acquire) {
                return true;
            }
            if self.one.statement.swap(false, Ordering::AcqRel) {
                return false;
            }
            told.await;
        }
    }

    /// Completes when somebody ends the connection.
    pub(super) async fn connection_ended(&self) {
        loop {
            let told = self.one.told.notified();
            if self.one.connection.load(Ordering::Acquire) {
                return;
            }
            told.await;
        }
    }
}

impl Drop for Registered {
    fn drop(&mut self) {
        let mut map = self.all.0.lock().expect("no panic while held");
        // A later connection may have the number.
        if map.get(&self.id).is_some_and(|one| Arc::ptr_eq(one, &self.one)) {
            map.remove(&self.id);
        }
    }
}

/// The connection of this number.
pub(super) fn find(shared: &Shared, id: u32) -> Option<Arc<Killable>> {
    let all = shared.of_face::<All>();
    let map = all.0.lock().expect("no panic while held");
    map.get(&id).cloned()
}

impl Killable {
    /// Ends what it waits for, or all of it.
    pub(super) fn kill(&self, whole_connection: bool) {
        match whole_connection {
            true => self.connection.store(true, Ordering::Release),
            false => self.statement.store(true, Ordering::Release),
        }
        // Both who waits now and who waits next: each looks at what was meant.
        self.told.notify_waiters();
        self.told.notify_one();
    }
}
