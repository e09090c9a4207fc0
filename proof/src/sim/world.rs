//! One run: machines, a network, a store, users, and whatever goes wrong, in virtual time, all from one seed.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use mintage_ledger::{Class, LedgerSettings};
use tempfile::TempDir;

use super::borrowed::{Borrowed, Renewals};
use super::check::Check;
use super::elsewhere::Elsewhere;
use super::fault::{Fault, FaultCounts, Plan};
use super::machine::{ClockChange, NodeClock};
use super::op::Op;
use super::process::{Boot, Input, Process, Registers};
use super::server::{Server, make_set};
use super::standby::Standby;
use super::subject::{self, SEQUENCES, TRUE_WALL_NS};
use super::wire::{Ask, LineSettings, Told};
use crate::dice::Dice;

/// What a run came to.
#[derive(Clone, Debug, Default)]
pub struct Tally {
    /// The hash of everything that happened.
    pub hash: u64,
    /// What went wrong, by kind.
    pub faults: FaultCounts,
    /// Ids that became visible.
    pub ids: u64,
    /// Writes that raised a mark.
    pub reservations: u64,
    /// Steps: polls of tasks, and events.
    pub steps: u64,
    /// Virtual time, in nanoseconds.
    pub virtual_ns: u64,
    /// Ids that copies of one process repeated before they could know of each other.
    pub clone_repeats: u64,
    /// The longest time after a copy at which such an id was asked for, with an untroubled store.
    pub longest_exposure_ns: u64,
}

/// What happens at a time.
#[derive(Clone, Debug)]
pub(super) enum Event {
    /// A request reaches the store.
    Arrive {
        from: Sender,
        id: u64,
        ask: Ask,
        reply: Reply,
        second: bool,
    },
    /// An answer reaches its asker.
    Answer {
        to: Sender,
        id: u64,
        ask: Ask,
        told: Told,
    },
    Users,
    /// Somebody takes numbers from this node at a steady rate.
    Steady {
        node: usize,
    },
    Nemesis,
    Start {
        node: usize,
    },
    Resume {
        node: usize,
    },
    Thaw {
        node: usize,
    },
    /// A clock that ran ahead by so much is set right.
    Unspike {
        node: usize,
        by: i128,
    },
    StoreUp,
    /// An operator mends a store that was set back.
    Mend,
    Backup,
    Restore {
        registers: usize,
    },
    /// The standby is back, or promoted.
    Standby,
    /// The counter elsewhere answers again.
    ElsewhereUp,
    /// A process that was told to close is killed, if it still closes.
    KillClosing {
        node: usize,
        process: usize,
    },
}

/// A node and the process on it that sent something.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct Sender {
    pub(super) node: usize,
    pub(super) process: usize,
}

/// What becomes of the answer.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Reply {
    After(u64),
    Lost,
    /// Done, but the asker hears of an error.
    Unknown(u64),
}

pub(super) struct Pause {
    pub(super) since_ns: u64,
    /// The clocks stand still too.
    pub(super) stands: bool,
}

/// A machine and what runs on it.
pub(super) struct Node {
    pub(super) process: Option<Running>,
    pub(super) clock: NodeClock,
    pub(super) settings: LedgerSettings,
    pub(super) pause: Option<Pause>,
    /// Answers that arrived while it was paused.
    pub(super) held_back: Vec<(u64, Ask, Told)>,
    pub(super) cut_off_until_ns: u64,
    /// Somebody will start it.
    pub(super) starting: bool,
    pub(super) lent: Vec<Borrowed>,
    /// Whether its process is a copy: never started again.
    pub(super) copy: bool,
    /// What is on its own disk, if processes on it keep a journal.
    pub(super) journal: Option<Registers>,
    /// The process before, whose journal the next one goes on with.
    pub(super) heir_of: Option<usize>,
    /// The disk as it was at some time.
    pub(super) old_journal: Option<Registers>,
    /// The folder where processes on it remember what they saw of the store, if they do.
    pub(super) state: Option<Arc<TempDir>>,
}

pub(super) struct Running {
    pub(super) number: usize,
    pub(super) inner: Process,
    pub(super) open: bool,
    pub(super) closing: bool,
}

#[derive(Clone)]
pub(super) struct UnderWay {
    pub(super) op: Op,
    pub(super) began_ns: u64,
    /// Asked after everything was healed.
    pub(super) goal: bool,
}

/// A backup as its file, and the registers that it was made of.
pub(super) struct Kept {
    pub(super) file: Vec<u8>,
    pub(super) registers: Vec<(mintage_ledger::Key, mintage_ledger::Versioned)>,
}

/// A run under way.
pub(crate) struct World {
    pub(super) dice: Dice,
    pub(super) plan: Plan,
    pub(super) now_ns: u64,
    pub(super) next_event: u64,
    pub(super) events: BTreeMap<(u64, u64), Event>,
    /// The store, or the stores of a set.
    pub(super) servers: Vec<Server>,
    pub(super) down_until_ns: Vec<u64>,
    pub(super) nodes: Vec<Node>,
    pub(super) check: Check,
    pub(super) tally: Tally,
    /// By process and number of the request.
    pub(super) under_way: BTreeMap<(usize, u64), UnderWay>,
    pub(super) renewals: Renewals,
    pub(super) next_op: u64,
    pub(super) ops_left: u64,
    pub(super) made: Vec<bool>,
    pub(super) pools_made: Vec<bool>,
    pub(super) exclusive: bool,
    /// Whether machines remember what they saw of the store.
    pub(super) remembers: bool,
    /// Whether a process lets names go as soon as others are asked for.
    pub(super) lets_go: bool,
    /// Whether processes keep a journal on their node's disk.
    pub(super) journals: bool,
    /// Whether somebody takes numbers all the time, so that rates are steady and budgets are kept.
    pub(super) steady: bool,
    pub(super) cloned: bool,
    pub(super) backup: Vec<Kept>,
    /// The store as it was at some time.
    pub(super) saved: Option<Registers>,
    /// The store's standby, while it is away.
    pub(super) standby: Option<Standby>,
    /// The store was set back, and a restore must skip so many numbers.
    pub(super) owed: Option<u64>,
    pub(super) operator_called: bool,
    /// Whether clocks that were far ahead once must do no harm for long.
    pub(super) spikes: bool,
    /// Whether the store has no clock.
    pub(super) clockless: bool,
    pub(super) healing: bool,
    pub(super) ending: bool,
    /// What each node must still serve, after everything was healed.
    pub(super) goals: Vec<Vec<Op>>,
    pub(super) trace: bool,
    pub(super) pools_in_use: Vec<usize>,
    /// The counter elsewhere that a sequence takes from, if the run has one.
    pub(super) elsewhere: Option<Elsewhere>,
}

/// How much a run may do before it counts as stuck.
const STEPS_MAX: u64 = 3_000_000;
pub(super) const SECOND_NS: u64 = 1_000_000_000;

pub(super) type Step = Result<(), String>;

/// A folder of a machine's own, in memory where that can be.
fn state_folder() -> Arc<TempDir> {
    let folder = tempfile::tempdir_in("/dev/shm").or_else(|_| tempfile::tempdir());
    Arc::new(folder.expect("a folder for what a machine remembers"))
}

impl World {
    pub(crate) fn new(seed: u64, trace: bool) -> World {
        let mut dice = Dice::new(seed);
        let mut plan = Plan::draw(&mut dice);
        let exclusive = dice.chance(150);
        if exclusive {
            plan.without(&[Fault::Cloned, Fault::Partition]);
        }
        if plan.has(Fault::Restored) {
            plan.without(&[Fault::SteppedFar, Fault::Jumped, Fault::Frozen]);
        }
        let elsewhere = World::draw_elsewhere(&mut plan, &mut dice);
        let stores = match plan.has(Fault::MemberDown) && !exclusive {
            true => 2 + dice.index(2),
            false => 1,
        };
        if stores > 1 {
            plan.only_of_sets();
        } else if exclusive || plan.has(Fault::Restored) {
            plan.without(&[Fault::SetBack, Fault::SetBackLive]);
        }
        if !plan.has(Fault::SetBack) && !plan.has(Fault::SetBackLive) {
            // What it leaves out would be left out of most runs.
            plan.without(&[Fault::Lowered]);
        }
        if plan.has(Fault::SetBack) || plan.has(Fault::SetBackLive) {
            // What a SET skipped no restore can know; and of copies each has a store of its own, which is another tale.
            plan.without(&[
                Fault::Moved,
                Fault::SteppedFar,
                Fault::Jumped,
                Fault::Frozen,
                Fault::Cloned,
            ]);
            plan.without(&[Fault::JournalOld, Fault::Spiked]);
        }
        World::leave_room_for_standby(&mut plan, !exclusive && stores == 1);
        let nodes = if exclusive { 1 } else { 1 + dice.index(3) };
        // Between two renewals a process asks for changes, the store's progress, the clock and the others, one after the other.
        let asks = if plan.base_delay > Duration::from_millis(100) {
            4
        } else {
            2
        };
        let exposure = Duration::from_secs(2) + plan.timeout * asks + Duration::from_secs(1);
        // What is let go is lost: at most max_gap each time.
        let lets_go = dice.chance(100);
        // Copies of a process would need copies of the folder.
        // A machine that is the only one may know by its journal alone that the store was set back.
        let by_journal = plan.has(Fault::SetBack) && nodes == 1 && dice.chance(500);
        if by_journal {
            plan.without(&[Fault::JournalLost]);
        }
        let remembers = !exclusive
            && !plan.has(Fault::Cloned)
            && !by_journal
            && (plan.has(Fault::SetBack)
                // Else nobody may know, and the store is left as it is.
                || dice.chance(if plan.has(Fault::SetBackLive) { 900 } else { 400 }));
        let settings = subject::settings(&mut dice);
        let mut check = Check::new(subject::layouts(), settings.max_ahead, exclusive, exposure);
        check.of_set = stores > 1;
        check.lets_go = lets_go;
        check.remembers = remembers;
        // Of a name that was let go nobody remembers how far another store of a set had got.
        check.in_order = plan.has(Fault::Mixed) && (stores == 1 || !lets_go);
        let mut pools: Vec<usize> = (0..subject::POOLS.len()).collect();
        while pools.len() > 2 {
            pools.swap_remove(dice.index(pools.len()));
        }
        let mut world = World {
            now_ns: 0,
            next_event: 0,
            events: BTreeMap::new(),
            servers: (0..stores)
                .map(|number| Server::new(u128::from(seed) + 1 + ((number as u128) << 64)))
                .collect(),
            down_until_ns: vec![0; stores],
            nodes: Vec::new(),
            check,
            tally: Tally::default(),
            under_way: BTreeMap::new(),
            renewals: Renewals::new(),
            next_op: 0,
            ops_left: 40 + dice.below(160),
            made: vec![false; SEQUENCES.len()],
            pools_made: vec![false; subject::POOLS.len()],
            exclusive,
            journals: !exclusive && stores == 1 && (by_journal || dice.chance(400)),
            steady: dice.chance(250),
            remembers,
            lets_go,
            cloned: false,
            backup: Vec::new(),
            saved: None,
            standby: None,
            owed: None,
            operator_called: false,
            spikes: plan.has(Fault::Spiked),
            clockless: plan.has(Fault::Clockless),
            healing: false,
            ending: false,
            goals: Vec::new(),
            trace,
            pools_in_use: pools,
            elsewhere,
            plan,
            dice,
        };
        if let Some(elsewhere) = world.elsewhere.clone() {
            let runtime = world.operators_machine();
            elsewhere.make(&world.servers[0], &runtime);
            world.made[subject::BESIDE] = true;
        }
        if stores > 1 {
            let runtime = world.operators_machine();
            make_set(&world.servers, &runtime);
        }
        for _ in 0..nodes {
            world.add_node(settings.clone());
        }
        world.note(1, &[seed], || {
            format!("seed {seed}, {nodes} nodes, {stores} stores, exclusive: {exclusive}")
        });
        world
    }

    pub(super) fn add_node(&mut self, settings: LedgerSettings) {
        let boot_ns = self.dice.below(1_000_000 * SECOND_NS);
        let error = self.dice.below(SECOND_NS) as i128 - i128::from(SECOND_NS / 2);
        let node = self.nodes.len();
        let drift = if self.plan.has(Fault::Drifting) {
            self.dice.below(1_000) as i64 - 500
        } else {
            0
        };
        if drift != 0 {
            self.tally.faults.note(Fault::Drifting);
        }
        self.nodes.push(Node {
            process: None,
            clock: NodeClock {
                boot: 1,
                anchor_ns: self.now_ns,
                boot_ns,
                drift_ppm: drift,
                wall_offset_ns: TRUE_WALL_NS + i128::from(self.now_ns) + error - i128::from(boot_ns),
                frozen_ns: None,
                synchronised: *self.dice.pick(&[None, Some(true), Some(false)]),
            },
            settings,
            pause: None,
            held_back: Vec::new(),
            cut_off_until_ns: 0,
            starting: true,
            lent: Vec::new(),
            copy: false,
            journal: self.journals.then(Vec::new),
            heir_of: None,
            old_journal: None,
            state: self.remembers.then(state_folder),
        });
        self.at(0, Event::Start { node });
    }

    /// Runs to the end.
    pub(crate) fn run(mut self) -> Result<Tally, String> {
        let outcome = self.run_all();
        let hash = self.tally.hash;
        self.tally.ids = self.check.ids;
        self.tally.reservations = self.check.reservations;
        self.tally.virtual_ns = self.now_ns;
        self.tally.clone_repeats = self.check.clone_repeats;
        self.tally.longest_exposure_ns = self.check.longest_exposure_ns;
        if let Err(why) = &outcome {
            let at = self.now_ns;
            self.note(99, &[], || {
                format!("VIOLATION at {at} ns (hash {hash:016x}): {why}")
            });
        }
        outcome.map(|()| self.tally)
    }

    pub(super) fn run_all(&mut self) -> Step {
        self.at(0, Event::Users);
        self.at(SECOND_NS / 10, Event::Nemesis);
        for node in 0..self.nodes.len() {
            if self.steady {
                self.at(SECOND_NS, Event::Steady { node });
            }
        }
        if self.spikes && self.dice.chance(500) {
            // A machine that boots with its clock hours ahead, until somebody sets it.
            let node = self.dice.index(self.nodes.len());
            self.spike_for(node, Duration::from_secs(60));
        }
        if self.plan.has(Fault::Restored) {
            let when = self.dice.below(20 * SECOND_NS);
            self.at(when, Event::Backup);
        }
        let end_ns = 300 * SECOND_NS;
        while self.ops_left > 0 && self.now_ns < end_ns {
            self.step()?;
        }
        self.heal()?;
        self.serve_everybody()?;
        self.settle()
    }

    // Time.

    pub(super) fn at(&mut self, after_ns: u64, event: Event) {
        let key = (self.now_ns + after_ns, self.next_event);
        self.next_event += 1;
        self.events.insert(key, event);
    }

    /// One task runs to its next wait, or time goes on to the next event.
    pub(super) fn step(&mut self) -> Step {
        self.tally.steps += 1;
        if self.tally.steps > STEPS_MAX {
            return Err(format!("{STEPS_MAX} steps, and no end"));
        }
        let mut busy = [0usize; 16];
        let mut count = 0;
        for (at, node) in self.nodes.iter().enumerate() {
            let ready = node.process.as_ref().map_or(0, |p| p.inner.machine.ready());
            if node.pause.is_none() && ready > 0 && count < busy.len() {
                busy[count] = at;
                count += 1;
            }
        }
        if count > 0 {
            let node = *self.dice.pick(&busy[..count]);
            if self.plan.has(Fault::CrashReady)
                && self.dice.below(100_000) < u64::from(self.plan.crash_per_100k)
                && !self.nodes[node].copy
            {
                self.tally.faults.note(Fault::CrashReady);
                return self.kill(node, "between an answer and its use");
            }
            let ready = self.nodes[node]
                .process
                .as_ref()
                .map_or(0, |p| p.inner.machine.ready());
            let at = self.dice.index(ready);
            self.feed(node, Input::Poll(at));
            return self.collect(node);
        }
        self.go_on()
    }

    /// The next event, or the next timer.
    pub(super) fn go_on(&mut self) -> Step {
        let timer = |node: &Node| {
            let process = node.process.as_ref().filter(|_| node.pause.is_none())?;
            process.inner.machine.next_timer()
        };
        let timers = self.nodes.iter().enumerate();
        let first = timers.filter_map(|(at, node)| Some((timer(node)?, at))).min();
        let event = self.events.first_key_value().map(|(key, _)| *key);
        match (event, first) {
            (Some(key), timer) if timer.is_none_or(|(at_ns, _)| key.0 <= at_ns) => {
                self.now_ns = self.now_ns.max(key.0);
                self.check.now_ns = self.now_ns;
                let event = self.events.remove(&key).expect("just seen");
                self.happen(event)
            }
            (_, Some((at_ns, node))) => {
                self.now_ns = self.now_ns.max(at_ns);
                self.check.now_ns = self.now_ns;
                self.feed(node, Input::Fire);
                Ok(())
            }
            _ => Err("nothing will ever happen again".into()),
        }
    }

    pub(super) fn happen(&mut self, event: Event) -> Step {
        match event {
            Event::Arrive {
                from,
                id,
                ask,
                reply,
                second,
            } => return self.arrive(from, id, ask, reply, second),
            Event::Answer { to, id, ask, told } => return self.answer(to, id, ask, told),
            Event::Users => {
                self.users();
                return self.clients_elsewhere();
            }
            Event::Steady { node } => self.take_steadily(node),
            Event::Nemesis => return self.nemesis(),
            Event::Start { node } => self.start(node),
            Event::Resume { node } => self.resume(node),
            Event::Standby => return self.standby_turns(),
            Event::Thaw { node } => self.change_clock(node, ClockChange::Thaw),
            Event::Unspike { node, by } => self.change_clock(node, ClockChange::Step(-by)),
            Event::StoreUp => {}
            Event::ElsewhereUp => self.elsewhere_is_up(),
            Event::Mend => return self.mend(),
            Event::Backup => return self.back_up(),
            Event::Restore { registers } => return self.restore(registers),
            Event::KillClosing { node, process } => {
                let closing = self.nodes[node].process.as_ref();
                if closing.is_some_and(|p| p.number == process) {
                    self.tally.faults.note(Fault::CrashClosing);
                    return self.kill(node, "while it closed");
                }
            }
        }
        Ok(())
    }

    // Processes.

    pub(super) fn start(&mut self, node: usize) {
        let line = |number: usize| LineSettings {
            // As in the product, one store of a set gives up before the ledger does, which may still ask the others.
            timeout: match self.servers.len() {
                1 => self.plan.timeout,
                _ => self.plan.timeout / 2,
            },
            exclusive: self.exclusive,
            class: Class::Durable,
            has_wall: !self.clockless,
            cluster_id: 7 + number as u128,
        };
        let lines = (0..self.servers.len()).map(line).collect();
        for fault in [Fault::Clockless, Fault::SlowStore] {
            if self.plan.has(fault) {
                self.tally.faults.note(fault);
            }
        }
        let journal = self.nodes[node].journal.clone();
        let boot = Boot {
            elsewhere: self.elsewhere.clone(),
            state: self.nodes[node].state.clone(),
            journal: journal.clone(),
            seed: self.dice.next(),
            world_ns: self.now_ns,
            clock: self.nodes[node].clock.clone(),
            begins_away: !self.cloned && self.servers.len() == 1,
            lines,
        };
        let copyable = self.plan.has(Fault::Cloned) && !self.cloned;
        let number = self.check.start(
            self.nodes[node].heir_of.filter(|_| journal.is_some()),
            self.now_ns,
        );
        if journal.is_some() {
            self.check.has_journal(number);
        }
        let mut settings = self.nodes[node].settings.clone();
        if self.lets_go {
            settings.max_loaded = 2;
        }
        self.nodes[node].starting = false;
        self.nodes[node].process = Some(Running {
            number,
            inner: Process::start(boot, copyable),
            open: false,
            closing: false,
        });
        self.note(2, &[node as u64, number as u64], || {
            format!("node {node}: process {number} starts")
        });
        self.ask(node, Op::Open(settings));
    }

    pub(super) fn start_again(&mut self, node: usize, most: Duration) {
        if !self.nodes[node].starting && !self.nodes[node].copy && !self.ending {
            self.nodes[node].starting = true;
            let after = self.dice.length(Duration::from_millis(10), most);
            self.at(after.as_nanos() as u64, Event::Start { node });
        }
    }

    /// The process on this node is gone, with all that it held.
    pub(super) fn kill(&mut self, node: usize, how: &str) -> Step {
        self.kill_for(node, how, Duration::from_secs(10))
    }

    /// The same; another one starts within this time.
    pub(super) fn kill_for(&mut self, node: usize, how: &str, most: Duration) -> Step {
        let Some(process) = self.nodes[node].process.take() else {
            return Ok(());
        };
        let number = process.number;
        self.note(3, &[node as u64, number as u64], || {
            format!("node {node}: process {number} is killed {how}")
        });
        self.nodes[node].clock = process.inner.machine.clock();
        self.nodes[node].journal = process.inner.journal();
        self.nodes[node].heir_of = Some(number);
        if let Some(pause) = self.nodes[node].pause.take() {
            self.stood_still(node, &pause);
        }
        self.nodes[node].held_back.clear();
        drop(process);
        if self.nodes[node].copy
            && let Some(goals) = self.goals.get_mut(node)
        {
            // Nobody starts a copy again.
            goals.clear();
        }
        let asked = self.asked(number);
        self.under_way.retain(|(process, _), _| *process != number);
        self.check.broken(number);
        self.check.end(number, &asked)?;
        self.start_again(node, most);
        Ok(())
    }

    /// How many numbers of each sequence a process is being asked for.
    pub(super) fn asked(&self, process: usize) -> Vec<u64> {
        let mut asked = vec![0; SEQUENCES.len()];
        for (_, op) in self.under_way.range((process, 0)..=(process, u64::MAX)) {
            if let Op::Take { sequence, n, .. } = op.op {
                asked[sequence] += n;
            }
        }
        asked
    }

    pub(super) fn feed(&mut self, node: usize, input: Input) -> bool {
        let now_ns = self.now_ns;
        match &mut self.nodes[node].process {
            Some(process) => process.inner.feed(now_ns, input),
            None => false,
        }
    }

    /// Takes what the process on this node did since the last look.
    pub(super) fn collect(&mut self, node: usize) -> Step {
        let Some(process) = &self.nodes[node].process else {
            return Ok(());
        };
        let sender = Sender {
            node,
            process: process.number,
        };
        let deeds = process.inner.deeds();
        self.look_elsewhere()?;
        for (id, ask) in deeds.asked {
            self.send(sender, id, ask);
        }
        for (number, came) in deeds.came {
            self.came(sender, number, came)?;
        }
        Ok(())
    }

    /// Makes what happens part of the hash, and of the trace if there is one.
    pub(super) fn note(&mut self, kind: u64, numbers: &[u64], text: impl FnOnce() -> String) {
        for number in [kind, self.now_ns].iter().chain(numbers) {
            self.tally.hash = (self.tally.hash ^ number)
                .wrapping_mul(0x0000_0100_0000_01b3)
                .rotate_left(23);
        }
        if self.trace {
            let (s, us) = (self.now_ns / SECOND_NS, self.now_ns % SECOND_NS / 1_000);
            // Straight out, so that it ends where a panic does.
            println!("{s:4}.{us:06} {}", text());
        }
    }
}
