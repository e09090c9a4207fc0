//! A process of the simulation: the real ledger on a machine, with a line to the store. All that reaches it goes
//! through [`Process::feed`], so that a copy can be made by feeding a fresh one the same.

use std::sync::{Arc, Mutex};

use mintage_ledger::{Key, MemoryStore, Runtime, Store, Versioned};
use tempfile::TempDir;

use super::elsewhere::Elsewhere;
use super::machine::{ArcMachine, ClockChange, Machine, NodeClock, lock};
use super::op::{Came, Desk, Op};
use super::wire::{Ask, Line, LineSettings, Told, member_of};

/// What reaches a process.
#[derive(Clone, Debug)]
pub(crate) enum Input {
    /// The task at this place of those that could go on runs to its next wait.
    Poll(usize),
    /// The store's answer to a request.
    Answer(u64, Told),
    /// The clock changes; with the true wall time.
    Clock(ClockChange, i128),
    /// Somebody asks for something.
    Ask(u64, Op),
    /// Another copy of the store answers from now on.
    FailedOver,
    /// A task is dropped where it waits.
    Cut(u32),
    /// Timers that are due go off.
    Fire,
}

/// How a process began.
#[derive(Clone, Debug)]
pub(crate) struct Boot {
    pub seed: u64,
    pub world_ns: u64,
    pub clock: NodeClock,
    /// The store, or the stores of a set.
    pub lines: Vec<LineSettings>,
    /// It may begin on its journal while the store is away.
    pub begins_away: bool,
    /// The node's own disk, if it keeps a journal.
    pub journal: Option<Registers>,
    /// The counter elsewhere that a sequence takes from, if the run has one.
    pub elsewhere: Option<Elsewhere>,
    /// The folder where the node remembers what it saw of the store, if it does.
    pub state: Option<Arc<TempDir>>,
}

/// What a store holds.
pub(crate) type Registers = Vec<(Key, Versioned)>;

const JOURNAL_CLUSTER: u128 = 11;

/// What a process did since the last look.
#[derive(Default)]
pub(crate) struct Deeds {
    pub asked: Vec<(u64, Ask)>,
    pub came: Vec<(u64, Came)>,
}

pub(crate) struct Process {
    boot: Boot,
    pub machine: Arc<Machine>,
    lines: Vec<Arc<Line>>,
    journal: Option<Arc<MemoryStore>>,
    desk: Desk,
    /// Everything it was fed, if it may be copied.
    log: Option<Vec<(u64, Input)>>,
}

impl Process {
    pub(crate) fn start(boot: Boot, copyable: bool) -> Process {
        let machine = Machine::new(boot.seed, boot.world_ns, boot.clock.clone());
        let runtime: Arc<dyn Runtime> = Arc::new(ArcMachine(Arc::clone(&machine)));
        let line = |(member, settings): (usize, &LineSettings)| {
            Line::new(Arc::clone(&runtime), settings.clone(), member)
        };
        let lines: Vec<Arc<Line>> = boot.lines.iter().enumerate().map(line).collect();
        let journal = boot
            .journal
            .clone()
            .map(|registers| MemoryStore::with_registers(JOURNAL_CLUSTER, registers));
        let desk = Desk {
            journal: journal.clone().map(|journal| journal as Arc<dyn Store>),
            stores: lines
                .iter()
                .map(|line| Arc::clone(line) as Arc<dyn Store>)
                .collect(),
            origins: boot
                .elsewhere
                .as_ref()
                .map(|elsewhere| elsewhere.origins(&runtime)),
            runtime,
            begins_away: boot.begins_away,
            state: boot.state.clone(),
            seen: Arc::default(),
            ledger: Arc::default(),
            came: Arc::new(Mutex::default()),
        };
        Process {
            boot,
            machine,
            lines,
            journal,
            desk,
            log: copyable.then(Vec::new),
        }
    }

    /// Feeds it one input at this world time; `false`: nobody waited for the answer.
    pub(crate) fn feed(&mut self, world_ns: u64, input: Input) -> bool {
        if let Some(log) = &mut self.log {
            log.push((world_ns, input.clone()));
        }
        self.machine.advance(world_ns);
        match input {
            Input::Poll(at) => self.machine.poll(at),
            Input::Answer(id, told) => return self.lines[member_of(id)].answer(id, told),
            Input::Clock(change, true_wall_ns) => self.machine.change_clock(&change, true_wall_ns),
            Input::Ask(number, op) => {
                let task = self.desk.task(number, op);
                self.desk.runtime.spawn(task);
                self.machine.take_in();
            }
            Input::FailedOver => self.lines.iter().for_each(|line| line.failed_over()),
            Input::Cut(id) => self.machine.cut(id),
            Input::Fire => self.machine.fire(),
        }
        true
    }

    pub(crate) fn deeds(&self) -> Deeds {
        Deeds {
            asked: self.lines.iter().flat_map(|line| line.drain()).collect(),
            came: std::mem::take(&mut *lock(&self.desk.came)),
        }
    }

    /// Whether the answer to this request is waited for.
    pub(crate) fn waits(&self, id: u64) -> bool {
        self.lines[member_of(id)].waits(id)
    }

    /// What is on the node's own disk.
    pub(crate) fn journal(&self) -> Option<Registers> {
        self.journal.as_ref().map(|journal| journal.dump())
    }

    /// Whether it may be copied.
    pub(crate) fn copyable(&self) -> bool {
        self.log.is_some()
    }

    /// An exact copy, mid-flight: memory, tasks, timers, random numbers to come.
    pub(crate) fn copy(&self) -> Process {
        let log = self.log.clone().unwrap_or_default();
        let mut copy = Process::start(self.boot.clone(), false);
        for (world_ns, input) in log {
            copy.feed(world_ns, input);
            // Its deeds are the original's.
            drop(copy.deeds());
        }
        copy
    }
}

impl Drop for Process {
    fn drop(&mut self) {
        self.machine.crash();
        // The ledger holds its tasks' machine.
        *lock(&self.desk.ledger) = None;
        // And what its end has spawned.
        self.machine.crash();
        lock(&self.desk.seen).drain(..).for_each(|seen| seen.let_go());
    }
}
