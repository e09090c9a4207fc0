//! The store is lost, and an old backup restored, by the very functions that `mint store backup` and `restore` call.

use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use mintage::Timestamp;
use mintage_ledger::tools::{Accept, Advance, Backup, back_up, raise_in_place, restore_into};
use mintage_ledger::{BoxFuture, MemoryStore, Runtime};

use super::fault::Fault;
use super::server::{Tended, now};
use super::subject::{self, SEQUENCES, TRUE_WALL_NS};
use super::world::{Event, Kept, SECOND_NS, Step, World};
use crate::dice::Dice;

/// The operator's machine: nothing else happens while its tools work.
#[derive(Debug)]
pub(super) struct Desk {
    wall: Timestamp,
    slept: Mutex<Duration>,
    random: Mutex<Dice>,
}

impl Runtime for Desk {
    fn wall(&self) -> Timestamp {
        self.wall
    }

    fn boottime(&self) -> Duration {
        *self.slept.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn sleep(&self, duration: Duration) -> BoxFuture<'static, ()> {
        *self.slept.lock().unwrap_or_else(PoisonError::into_inner) += duration;
        Box::pin(std::future::ready(()))
    }

    fn spawn(&self, _: BoxFuture<'static, ()>) {}

    fn spawn_thread(&self, name: &str, _: Box<dyn FnOnce() + Send>) -> std::io::Result<()> {
        Err(std::io::Error::other(format!(
            "a simulated desk starts no thread: {name}"
        )))
    }

    fn fill_random(&self, out: &mut [u8]) {
        let mut random = self.random.lock().unwrap_or_else(PoisonError::into_inner);
        for chunk in out.chunks_mut(8) {
            chunk.copy_from_slice(&random.next().to_be_bytes()[..chunk.len()]);
        }
    }

    fn clock_synchronised(&self) -> Option<bool> {
        None
    }
}

/// The longest window of pools that do not say, as the command has it.
pub(super) const WINDOW: Duration = Duration::from_secs(600);

impl World {
    /// Where an operator's commands run: its clock is right.
    pub(super) fn desk(&mut self) -> Desk {
        Desk {
            wall: Timestamp::from_unix_nanos(TRUE_WALL_NS + i128::from(self.now_ns)),
            slept: Mutex::default(),
            random: Mutex::new(Dice::new(self.dice.next())),
        }
    }

    pub(super) fn back_up(&mut self) -> Step {
        let registers = self.servers[0].dump();
        let marked = registers.iter().any(|(_, found)| found.value.mark > 0);
        if !marked {
            self.at(SECOND_NS, Event::Backup);
            return Ok(());
        }
        self.note(16, &[registers.len() as u64], || {
            format!("a backup of {} registers", registers.len())
        });
        let desk = self.desk();
        let mut file = Vec::new();
        let done = now(back_up(&self.servers[0].tended(self.exclusive), &mut file, &desk));
        done.map_err(|error| format!("a backup was refused: {error}"))?;
        self.backup.push(Kept { file, registers });
        let registers = self.backup.len() - 1;
        let after = self
            .dice
            .length(Duration::from_millis(100), Duration::from_secs(60));
        self.at(after.as_nanos() as u64, Event::Restore { registers });
        Ok(())
    }

    /// The store is lost; an operator restores it as documented: all processes stopped, and more numbers skipped than
    /// any sequence has reserved since, those that the backup does not know included. Either its backup is written
    /// into an empty store, or its own files are put back and raised in place.
    pub(super) fn restore(&mut self, backup: usize) -> Step {
        for node in 0..self.nodes.len() {
            self.kill(node, "for the store is lost")?;
        }
        self.events
            .retain(|_, event| !matches!(event, Event::Arrive { .. } | Event::Answer { .. }));
        let kept = &self.backup[backup];
        let known = |key: &mintage_ledger::Key| {
            let found = kept.registers.iter().find(|(known, _)| known == key);
            found.map_or(0, |(_, found)| found.value.mark)
        };
        let numbers = self.servers[0]
            .dump()
            .iter()
            .filter(|(key, _)| key.as_str().starts_with("seq/"))
            .map(|(key, found)| found.value.mark.saturating_sub(known(key)))
            .max()
            .unwrap_or(0);
        let in_place = self.dice.chance(500);
        let desk = self.desk();
        let (kept, cluster_id) = (&self.backup[backup], self.servers[0].cluster_id());
        let exclusive = self.exclusive;
        let tended = |store: &Arc<MemoryStore>| Tended {
            store: Arc::clone(store),
            exclusive,
        };
        let (store, done) = if in_place {
            let store = MemoryStore::with_registers(cluster_id, kept.registers.iter().cloned());
            let tended = tended(&store);
            let done = now(raise_in_place(&tended, Advance::By(numbers), WINDOW, &desk));
            (store, done)
        } else {
            let store = MemoryStore::with_cluster_id(cluster_id);
            let read =
                Backup::read(&kept.file[..]).map_err(|error| format!("a backup is damaged: {error}"))?;
            let advance = Advance::By(numbers);
            let done = now(restore_into(
                &tended(&store),
                &read,
                advance,
                WINDOW,
                Accept::default(),
                &desk,
            ));
            (store, done)
        };
        let report = done.map_err(|error| format!("a restore was refused: {error}"))?;
        self.note(17, &[numbers], || {
            format!("restored, every mark raised by {numbers}: {report:?}")
        });
        self.tally.faults.note(Fault::Restored);
        let registers = store.dump();
        let known = |key: String| registers.iter().any(|(k, _)| k.as_str() == key);
        for (made, row) in self.made.iter_mut().zip(SEQUENCES) {
            *made &= known(format!("seq/{}", row.name));
        }
        for (made, name) in self.pools_made.iter_mut().zip(subject::POOLS) {
            *made &= known(format!("pool/{name}"));
        }
        self.servers[0].replace(store);
        self.check.restored();
        Ok(())
    }
}
