//! One run: machines, a network, a store, users, and whatever goes wrong, in virtual time, all from one seed.

use std::collections::BTreeMap;
use std::time::Duration;

use mintage::Timestamp;
use mintage_ledger::{Class, LedgerError, LedgerSettings, LentWindow};

use super::check::{Check, Minted, Numbers};
use super::dice::Dice;
use super::fault::{Fault, FaultCounts, Plan};
use super::machine::{ClockChange, NodeClock};
use super::op::{Came, Op};
use super::process::{Boot, Input, Process};
use super::server::Server;
use super::subject::{self, SEQUENCES, TRUE_WALL_NS};
use super::wire::{Ask, LineSettings, Told, failed};

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
enum Event {
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
    StoreUp,
    Backup,
    Restore {
        registers: usize,
    },
    /// A process that was told to close is killed, if it still closes.
    KillClosing {
        node: usize,
        process: usize,
    },
}

/// A node and the process on it that sent something.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
struct Sender {
    node: usize,
    process: usize,
}

/// What becomes of the answer.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Reply {
    After(u64),
    Lost,
    /// Done, but the asker hears of an error.
    Unknown(u64),
}

struct Pause {
    since_ns: u64,
    /// The clocks stand still too.
    stands: bool,
}

/// A machine and what runs on it.
struct Node {
    process: Option<Running>,
    clock: NodeClock,
    settings: LedgerSettings,
    pause: Option<Pause>,
    /// Answers that arrived while it was paused.
    held_back: Vec<(u64, Ask, Told)>,
    cut_off_until_ns: u64,
    /// Somebody will start it.
    starting: bool,
    lent: Vec<(usize, LentWindow)>,
    /// Whether its process is a copy: never started again.
    copy: bool,
}

struct Running {
    number: usize,
    inner: Process,
    open: bool,
    closing: bool,
}

#[derive(Clone)]
struct UnderWay {
    op: Op,
    began_ns: u64,
    /// Asked after everything was healed.
    goal: bool,
}

/// A run under way.
pub(crate) struct World {
    dice: Dice,
    plan: Plan,
    now_ns: u64,
    next_event: u64,
    events: BTreeMap<(u64, u64), Event>,
    server: Server,
    down_until_ns: u64,
    nodes: Vec<Node>,
    check: Check,
    tally: Tally,
    /// By process and number of the request.
    under_way: BTreeMap<(usize, u64), UnderWay>,
    next_op: u64,
    ops_left: u64,
    made: Vec<bool>,
    pools_made: Vec<bool>,
    exclusive: bool,
    cloned: bool,
    backup: Vec<Vec<(mintage_ledger::Key, mintage_ledger::Versioned)>>,
    healing: bool,
    ending: bool,
    /// What each node must still serve, after everything was healed.
    goals: Vec<Vec<Op>>,
    trace: bool,
    pools_in_use: Vec<usize>,
}

/// How much a run may do before it counts as stuck.
const STEPS_MAX: u64 = 3_000_000;
const SECOND_NS: u64 = 1_000_000_000;

type Step = Result<(), String>;

impl World {
    pub(crate) fn new(seed: u64, trace: bool) -> World {
        let mut dice = Dice::new(seed);
        let mut plan = Plan::draw(&mut dice);
        let exclusive = dice.chance(150);
        if exclusive {
            plan.without(&[Fault::Cloned, Fault::Partition]);
        }
        if plan.has(Fault::Restored) {
            plan.without(&[Fault::Moved, Fault::SteppedFar, Fault::Jumped, Fault::Frozen]);
        }
        let nodes = if exclusive { 1 } else { 1 + dice.index(3) };
        let exposure = Duration::from_secs(2) + plan.timeout * 2 + Duration::from_secs(1);
        let settings = subject::settings(&mut dice);
        let check = Check::new(subject::layouts(), settings.max_ahead, exclusive, exposure);
        let mut pools: Vec<usize> = (0..subject::POOLS.len()).collect();
        while pools.len() > 2 {
            pools.swap_remove(dice.index(pools.len()));
        }
        let mut world = World {
            now_ns: 0,
            next_event: 0,
            events: BTreeMap::new(),
            server: Server::new(u128::from(seed) + 1),
            down_until_ns: 0,
            nodes: Vec::new(),
            check,
            tally: Tally::default(),
            under_way: BTreeMap::new(),
            next_op: 0,
            ops_left: 40 + dice.below(160),
            made: vec![false; SEQUENCES.len()],
            pools_made: vec![false; subject::POOLS.len()],
            exclusive,
            cloned: false,
            backup: Vec::new(),
            healing: false,
            ending: false,
            goals: Vec::new(),
            trace,
            pools_in_use: pools,
            plan,
            dice,
        };
        for _ in 0..nodes {
            world.add_node(settings.clone());
        }
        world.note(1, &[seed], || {
            format!("seed {seed}, {nodes} nodes, exclusive: {exclusive}")
        });
        world
    }

    fn add_node(&mut self, settings: LedgerSettings) {
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

    fn run_all(&mut self) -> Step {
        self.at(0, Event::Users);
        self.at(SECOND_NS / 10, Event::Nemesis);
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

    fn at(&mut self, after_ns: u64, event: Event) {
        let key = (self.now_ns + after_ns, self.next_event);
        self.next_event += 1;
        self.events.insert(key, event);
    }

    /// One task runs to its next wait, or time goes on to the next event.
    fn step(&mut self) -> Step {
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
    fn go_on(&mut self) -> Step {
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
                let event = self.events.remove(&key).expect("just seen");
                self.happen(event)
            }
            (_, Some((at_ns, node))) => {
                self.now_ns = self.now_ns.max(at_ns);
                self.feed(node, Input::Fire);
                Ok(())
            }
            _ => Err("nothing will ever happen again".into()),
        }
    }

    fn happen(&mut self, event: Event) -> Step {
        match event {
            Event::Arrive {
                from,
                id,
                ask,
                reply,
                second,
            } => return self.arrive(from, id, ask, reply, second),
            Event::Answer { to, id, ask, told } => return self.answer(to, id, ask, told),
            Event::Users => self.users(),
            Event::Nemesis => return self.nemesis(),
            Event::Start { node } => self.start(node),
            Event::Resume { node } => self.resume(node),
            Event::Thaw { node } => self.change_clock(node, ClockChange::Thaw),
            Event::StoreUp => {}
            Event::Backup => self.back_up(),
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

    fn start(&mut self, node: usize) {
        let line = LineSettings {
            timeout: self.plan.timeout,
            exclusive: self.exclusive,
            class: Class::Durable,
            has_wall: true,
            cluster_id: 7,
        };
        let boot = Boot {
            seed: self.dice.next(),
            world_ns: self.now_ns,
            clock: self.nodes[node].clock.clone(),
            line,
        };
        let copyable = self.plan.has(Fault::Cloned) && !self.cloned;
        let number = self.check.start();
        let settings = self.nodes[node].settings.clone();
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

    fn start_again(&mut self, node: usize, most: Duration) {
        if !self.nodes[node].starting && !self.nodes[node].copy && !self.ending {
            self.nodes[node].starting = true;
            let after = self.dice.length(Duration::from_millis(10), most);
            self.at(after.as_nanos() as u64, Event::Start { node });
        }
    }

    /// The process on this node is gone, with all that it held.
    fn kill(&mut self, node: usize, how: &str) -> Step {
        let Some(process) = self.nodes[node].process.take() else {
            return Ok(());
        };
        let number = process.number;
        self.note(3, &[node as u64, number as u64], || {
            format!("node {node}: process {number} is killed {how}")
        });
        self.nodes[node].clock = process.inner.machine.clock();
        if let Some(pause) = self.nodes[node].pause.take() {
            self.stood_still(node, &pause);
        }
        self.nodes[node].held_back.clear();
        drop(process);
        let asked = self.asked(number);
        self.under_way.retain(|(process, _), _| *process != number);
        self.check.broken(number);
        self.check.end(number, &asked)?;
        self.start_again(node, Duration::from_secs(10));
        Ok(())
    }

    /// How many numbers of each sequence a process is being asked for.
    fn asked(&self, process: usize) -> Vec<u64> {
        let mut asked = vec![0; SEQUENCES.len()];
        for (_, op) in self.under_way.range((process, 0)..=(process, u64::MAX)) {
            if let Op::Take { sequence, n, .. } = op.op {
                asked[sequence] += n;
            }
        }
        asked
    }

    fn feed(&mut self, node: usize, input: Input) -> bool {
        let now_ns = self.now_ns;
        match &mut self.nodes[node].process {
            Some(process) => process.inner.feed(now_ns, input),
            None => false,
        }
    }

    /// Takes what the process on this node did since the last look.
    fn collect(&mut self, node: usize) -> Step {
        let Some(process) = &self.nodes[node].process else {
            return Ok(());
        };
        let sender = Sender {
            node,
            process: process.number,
        };
        let deeds = process.inner.deeds();
        for (id, ask) in deeds.asked {
            self.send(sender, id, ask);
        }
        for (number, came) in deeds.came {
            self.came(sender, number, came)?;
        }
        Ok(())
    }

    // The network.

    fn delay(&mut self) -> u64 {
        if self.plan.has(Fault::Slow) && self.dice.chance(self.plan.request_rate) {
            self.tally.faults.note(Fault::Slow);
            let long = self
                .dice
                .length(Duration::from_millis(500), Duration::from_secs(5));
            return long.as_nanos() as u64;
        }
        let base = self.plan.base_delay.as_nanos() as u64;
        base / 2 + self.dice.below(base)
    }

    /// Whether this kind of fault befalls this request.
    fn befalls(&mut self, fault: Fault) -> bool {
        self.plan.has(fault) && self.dice.chance(self.plan.request_rate)
    }

    fn unreachable(&self, node: usize) -> bool {
        self.now_ns < self.down_until_ns || self.now_ns < self.nodes[node].cut_off_until_ns
    }

    fn send(&mut self, from: Sender, id: u64, ask: Ask) {
        let name = ask.name();
        self.note(4, &[from.process as u64, id, name.len() as u64], || {
            format!("process {} asks {id}: {}", from.process, show(&ask))
        });
        let there = self.delay();
        let back = self.delay();
        let write = ask.is_write();
        let fail = |outcome_unknown: bool, why: &str| Told::Failed(failed(name, outcome_unknown, why));
        if self.unreachable(from.node) {
            self.check.trouble(from.process);
            // Refused at once; or held by the network until it is whole again; or lost.
            let healed = self.down_until_ns.max(self.nodes[from.node].cut_off_until_ns) - self.now_ns;
            match self.dice.below(4) {
                0 | 1 => self.at(
                    back,
                    Event::Answer {
                        to: from,
                        id,
                        ask,
                        told: fail(false, "unreachable"),
                    },
                ),
                2 => {
                    let reply = Reply::After(back);
                    self.at(
                        healed + there,
                        Event::Arrive {
                            from,
                            id,
                            ask,
                            reply,
                            second: false,
                        },
                    );
                }
                _ => {}
            }
            return;
        }
        if self.befalls(Fault::Refused) {
            self.happened(Fault::Refused, from);
            return self.at(
                back,
                Event::Answer {
                    to: from,
                    id,
                    ask,
                    told: fail(false, "refused"),
                },
            );
        }
        if self.befalls(Fault::UnknownNotDone) {
            self.happened(Fault::UnknownNotDone, from);
            return self.at(
                back,
                Event::Answer {
                    to: from,
                    id,
                    ask,
                    told: fail(write, "connection lost"),
                },
            );
        }
        if self.befalls(Fault::RequestLost) {
            return self.happened(Fault::RequestLost, from);
        }
        let reply = if self.befalls(Fault::AnswerLost) {
            Reply::Lost
        } else if self.befalls(Fault::UnknownDone) {
            Reply::Unknown(back)
        } else if self.befalls(Fault::LateAnswer) {
            Reply::After(back + self.plan.timeout.as_nanos() as u64)
        } else {
            Reply::After(back)
        };
        let late = self.befalls(Fault::LateLanding);
        let there = if late {
            there + self.plan.timeout.as_nanos() as u64 / 2 + self.dice.below(6 * SECOND_NS)
        } else {
            there
        };
        if self.befalls(Fault::Duplicated) {
            self.happened(Fault::Duplicated, from);
            // The first answer may be the one that stays behind.
            let gap = self.delay();
            let overtaken = self.plan.has(Fault::Overtaken) && self.dice.chance(500);
            let (first, second) = match overtaken {
                true => (Reply::Lost, reply),
                false => (reply, Reply::Lost),
            };
            if overtaken {
                self.happened(Fault::Overtaken, from);
            }
            let again = ask.clone();
            self.at(
                there,
                Event::Arrive {
                    from,
                    id,
                    ask,
                    reply: first,
                    second: false,
                },
            );
            return self.at(
                there + gap,
                Event::Arrive {
                    from,
                    id,
                    ask: again,
                    reply: second,
                    second: true,
                },
            );
        }
        self.at(
            there,
            Event::Arrive {
                from,
                id,
                ask,
                reply,
                second: false,
            },
        );
    }

    fn happened(&mut self, fault: Fault, to: Sender) {
        self.tally.faults.note(fault);
        self.check.trouble(to.process);
        self.note(5, &[fault as u64], || format!("  {fault:?}"));
    }

    fn arrive(&mut self, from: Sender, id: u64, ask: Ask, reply: Reply, second: bool) -> Step {
        if self.unreachable(from.node) {
            self.check.trouble(from.process);
            return Ok(());
        }
        let wall = Timestamp::from_unix_nanos(TRUE_WALL_NS + i128::from(self.now_ns));
        let (told, change) = self.server.serve(&ask, wall);
        let alive = self.process(from).is_some();
        let waits = alive && self.process(from).is_some_and(|p| p.inner.waits(id));
        self.note(6, &[from.process as u64, id, told_number(&told)], || {
            let late = if waits { "" } else { " (nobody waits)" };
            format!(
                "store: {id} of process {}{late}: {}",
                from.process,
                show_told(&told)
            )
        });
        if let Some(change) = change {
            if !waits && !second {
                self.happened(Fault::LateLanding, from);
            }
            match reply {
                Reply::Lost if !second => self.happened(Fault::AnswerLost, from),
                Reply::Unknown(_) => self.happened(Fault::UnknownDone, from),
                _ => {}
            }
            self.check.changed(
                from.process,
                &ask,
                &change.key,
                change.before.as_ref(),
                change.after.as_ref(),
            )?;
        }
        match reply {
            Reply::After(back) => self.at(
                back,
                Event::Answer {
                    to: from,
                    id,
                    ask,
                    told,
                },
            ),
            Reply::Unknown(back) => {
                let told = Told::Failed(failed(ask.name(), ask.is_write(), "connection lost"));
                self.at(
                    back,
                    Event::Answer {
                        to: from,
                        id,
                        ask,
                        told,
                    },
                );
            }
            Reply::Lost => {}
        }
        Ok(())
    }

    fn process(&self, sender: Sender) -> Option<&Running> {
        let process = self.nodes[sender.node].process.as_ref()?;
        (process.number == sender.process).then_some(process)
    }

    fn answer(&mut self, to: Sender, id: u64, ask: Ask, told: Told) -> Step {
        if self.process(to).is_none() {
            return Ok(());
        }
        if self.now_ns < self.nodes[to.node].cut_off_until_ns {
            self.check.trouble(to.process);
            return Ok(());
        }
        if self.nodes[to.node].pause.is_some() {
            self.nodes[to.node].held_back.push((id, ask, told));
            return Ok(());
        }
        self.hand_over(to, id, &ask, told);
        Ok(())
    }

    fn hand_over(&mut self, to: Sender, id: u64, ask: &Ask, told: Told) {
        let told_too = told.clone();
        self.note(7, &[to.process as u64, id], || {
            format!("process {} is answered {id}", to.process)
        });
        if self.feed(to.node, Input::Answer(id, told)) {
            self.check.told(to.process, ask, &told_too);
        } else {
            self.happened(Fault::LateAnswer, to);
        }
    }

    // Users and what they get.

    fn ask(&mut self, node: usize, op: Op) {
        let Some(process) = &self.nodes[node].process else {
            return;
        };
        let sender = Sender {
            node,
            process: process.number,
        };
        let number = self.next_op;
        self.next_op += 1;
        self.note(8, &[number, node as u64], || {
            format!("process {}: op {number} {op:?}", sender.process)
        });
        let under_way = UnderWay {
            op: op.clone(),
            began_ns: self.now_ns,
            goal: self.healing,
        };
        self.under_way.insert((sender.process, number), under_way);
        self.feed(node, Input::Ask(number, op));
    }

    /// A few requests, and when the next come.
    fn users(&mut self) {
        if self.healing {
            return;
        }
        let gap = self
            .dice
            .length(Duration::from_micros(50), Duration::from_secs(2));
        self.at(gap.as_nanos() as u64, Event::Users);
        for _ in 0..1 + self.dice.below(4) {
            let node = self.dice.index(self.nodes.len());
            let open = self.nodes[node]
                .process
                .as_ref()
                .is_some_and(|p| p.open && !p.closing);
            if !open || self.nodes[node].pause.is_some() {
                continue;
            }
            self.ops_left = self.ops_left.saturating_sub(1);
            let op = self.choose(node);
            self.ask(node, op);
        }
    }

    fn choose(&mut self, node: usize) -> Op {
        let total: u64 = SEQUENCES.iter().map(|row| row.weight).sum();
        let mut at = self.dice.below(total);
        let chosen = SEQUENCES.iter().position(|row| {
            let here = at < row.weight;
            at = at.wrapping_sub(row.weight);
            here
        });
        let sequence = chosen.unwrap_or(0);
        let pool = *self.dice.pick(&self.pools_in_use.clone());
        if SEQUENCES[sequence].spec().is_some() && !self.made[sequence] {
            return Op::Create { sequence };
        }
        if subject::pool_spec(pool, None).is_some() && !self.pools_made[pool] {
            return Op::CreatePool { pool };
        }
        let n = self.dice.size(SEQUENCES[sequence].most);
        match self.dice.below(20) {
            0..6 => Op::Take {
                sequence,
                n,
                contiguous: false,
            },
            6..8 => Op::Take {
                sequence,
                n,
                contiguous: true,
            },
            8..10 => Op::TryTake { sequence, n },
            10..14 => Op::Mint {
                pool,
                n: self.dice.size(600) as usize,
            },
            14..17 => Op::TryMint {
                pool,
                n: self.dice.size(600) as usize,
            },
            17 => self.choose_lent(node, pool),
            18 if self.plan.has(Fault::Moved) => self.choose_move(),
            _ => Op::Look { sequence },
        }
    }

    fn choose_lent(&mut self, node: usize, pool: usize) -> Op {
        let known = self.nodes[node].lent.len();
        if known == 0 || self.dice.chance(300) {
            return Op::Lend { pool };
        }
        let (pool, window) = self.nodes[node].lent[self.dice.index(known)].clone();
        match self.dice.chance(800) {
            true => Op::RenewLent { pool, window },
            false => Op::EndLent { pool, window },
        }
    }

    fn choose_move(&mut self) -> Op {
        self.tally.faults.note(Fault::Moved);
        let sequence = subject::MOVED;
        let to = 1 + self.dice.size(100_000) as i64;
        match self.dice.below(6) {
            0 | 1 => Op::Set { sequence, to },
            2 => Op::Alter {
                sequence,
                max_gap: self.dice.size(200),
                increment: 1 + self.dice.below(3) as i64,
            },
            3 if self.made[subject::LOOSE] => Op::Restart {
                sequence: subject::LOOSE,
                to,
            },
            _ => Op::Drop { sequence },
        }
    }

    fn came(&mut self, sender: Sender, number: u64, came: Came) -> Step {
        let Some(asked) = self.under_way.remove(&(sender.process, number)) else {
            return Err(format!("op {number} was answered twice"));
        };
        let (node, process) = (sender.node, sender.process);
        self.note(9, &[number, came_number(&came)], || {
            format!("process {process}: op {number} came to {}", show_came(&came))
        });
        if asked.goal && matches!(came, Came::Numbers(_) | Came::Ids(_)) {
            self.goals[node].pop();
        }
        match (came, asked.op) {
            (Came::Opened, _) => {
                if let Some(running) = &mut self.nodes[node].process {
                    running.open = true;
                }
            }
            (Came::Numbers(run), Op::Take { sequence, n, .. } | Op::TryTake { sequence, n }) => {
                return self.check.numbers(Numbers {
                    process,
                    sequence,
                    run,
                    began_ns: asked.began_ns,
                    asked: n,
                });
            }
            (Came::Ids(ids), Op::Mint { pool, .. } | Op::TryMint { pool, .. }) => {
                let clock_error =
                    |at_ns: u64, clock: Timestamp| TRUE_WALL_NS + i128::from(at_ns) - clock.unix_nanos();
                let minted = Minted {
                    process,
                    pool,
                    places: ids.places,
                    began_ns: asked.began_ns,
                    now_ns: self.now_ns,
                    error_ns: (
                        clock_error(asked.began_ns, ids.before),
                        clock_error(self.now_ns, ids.after),
                    ),
                    at_once: ids.at_once,
                };
                return self.check.minted(&minted, TRUE_WALL_NS);
            }
            (Came::Lent(window), Op::Lend { pool } | Op::RenewLent { pool, .. }) => {
                self.nodes[node]
                    .lent
                    .retain(|(_, known)| known.owner != window.owner);
                self.nodes[node].lent.push((pool, window));
            }
            (Came::Done, Op::Create { sequence }) => self.made[sequence] = true,
            (Came::Done, Op::CreatePool { pool }) => self.pools_made[pool] = true,
            (Came::Done, _) => {}
            (Came::Closed, _) => return self.closed(node),
            (Came::Refused(error), op) => return self.refused(sender, op, error),
            (came, op) => return Err(format!("{op:?} came to {came:?}")),
        }
        Ok(())
    }

    fn closed(&mut self, node: usize) -> Step {
        self.tally.faults.note(Fault::CleanStop);
        self.kill(node, "after it closed")
    }

    /// An error that the ledger may answer in these circumstances, or not.
    fn refused(&mut self, sender: Sender, op: Op, error: LedgerError) -> Step {
        use LedgerError as E;
        let expected = match &error {
            E::Unavailable { .. } | E::Closing => true,
            E::OnlyForward { .. } | E::NeedsAllowRepeat { .. } | E::NotFound { .. } => {
                matches!(
                    op,
                    Op::Set { .. }
                        | Op::Alter { .. }
                        | Op::Drop { .. }
                        | Op::Restart { .. }
                        | Op::Look { .. }
                )
            }
            E::Exhausted { .. } | E::RunTooLong { .. } => {
                matches!(op, Op::Take { sequence, .. } if matches!(SEQUENCES[sequence].name, "tight" | "ring"))
            }
            E::WindowLost { .. } | E::NoWindow { .. } => {
                matches!(op, Op::RenewLent { .. } | Op::EndLent { .. } | Op::Release { .. })
            }
            E::Invalid(_) => matches!(op, Op::Release { .. }),
            _ => false,
        };
        if !expected {
            return Err(format!("{op:?} was refused: {error}"));
        }
        if matches!(op, Op::Open(_)) {
            return self.kill(sender.node, "for it could not open");
        }
        if matches!(op, Op::Close) {
            return self.closed(sender.node);
        }
        if let Op::RenewLent { window, .. } | Op::EndLent { window, .. } = op {
            // The borrower stops.
            self.nodes[sender.node]
                .lent
                .retain(|(_, known)| known.owner != window.owner);
        }
        Ok(())
    }

    // What goes wrong with machines.

    fn nemesis(&mut self) -> Step {
        if self.healing {
            return Ok(());
        }
        let gap = self.dice.length(Duration::from_millis(20), self.plan.nemesis_gap);
        self.at(gap.as_nanos() as u64, Event::Nemesis);
        let (fault, _, _) = *self.dice.pick(Fault::ALL);
        if !self.plan.has(fault) {
            return Ok(());
        }
        let node = self.dice.index(self.nodes.len());
        if fault == Fault::StoreDown {
            let length = self
                .dice
                .length(Duration::from_millis(10), Duration::from_secs(15));
            self.down_until_ns = self.now_ns + length.as_nanos() as u64;
            self.tally.faults.note(fault);
            self.note(10, &[self.down_until_ns], || {
                format!("the store is down for {length:?}")
            });
            self.at(length.as_nanos() as u64, Event::StoreUp);
            for node in &self.nodes {
                if let Some(process) = &node.process {
                    self.check.trouble(process.number);
                }
            }
            return Ok(());
        }
        let Some(process) = &self.nodes[node].process else {
            return Ok(());
        };
        let number = process.number;
        let (paused, closing, copy) = (
            self.nodes[node].pause.is_some(),
            process.closing,
            self.nodes[node].copy,
        );
        match fault {
            Fault::Partition => {
                let length = self
                    .dice
                    .length(Duration::from_millis(10), Duration::from_secs(20));
                self.nodes[node].cut_off_until_ns = self.now_ns + length.as_nanos() as u64;
                self.happened(
                    fault,
                    Sender {
                        node,
                        process: number,
                    },
                );
                self.note(11, &[node as u64], || {
                    format!("node {node} is cut off for {length:?}")
                });
            }
            Fault::Crash if !copy => {
                self.tally.faults.note(fault);
                return self.kill(node, "");
            }
            Fault::Reboot if !copy => {
                self.tally.faults.note(fault);
                self.kill(node, "by a reboot")?;
                let clock = &mut self.nodes[node].clock;
                let wall = clock.wall_offset_ns + i128::from(clock.boot_ns);
                clock.boot_ns = self.dice.below(10 * SECOND_NS);
                clock.wall_offset_ns = wall - i128::from(clock.boot_ns);
            }
            Fault::Reconfigured if !copy => {
                self.tally.faults.note(fault);
                self.kill(node, "to be reconfigured")?;
                self.nodes[node].settings = subject::settings(&mut self.dice);
            }
            Fault::CleanStop | Fault::CrashClosing if !closing && !paused && process.open && !copy => {
                return self.close(node, fault == Fault::CrashClosing);
            }
            Fault::Cut => return self.cut(node),
            Fault::Paused | Fault::Stood if !paused => self.pause(node, fault == Fault::Stood),
            Fault::Cloned if !self.cloned && process.inner.copyable() && process.open && !paused => {
                self.clone_process(node);
            }
            Fault::Stepped | Fault::SteppedFar | Fault::Jumped | Fault::Frozen => {
                self.disturb_clock(node, fault)
            }
            Fault::Released => {
                let pool = *self.dice.pick(&self.pools_in_use.clone());
                if subject::pool_spec(pool, None).is_none() || self.pools_made[pool] {
                    let worker = self.dice.below(4);
                    self.tally.faults.note(fault);
                    self.ask(node, Op::Release { pool, worker });
                }
            }
            _ => {}
        }
        Ok(())
    }

    fn close(&mut self, node: usize, and_kill: bool) -> Step {
        let Some(process) = &mut self.nodes[node].process else {
            return Ok(());
        };
        process.closing = true;
        let number = process.number;
        self.ask(node, Op::Close);
        // A close that hangs is killed in the end, as a supervisor does.
        let patience = if and_kill {
            self.dice
                .length(Duration::from_micros(100), Duration::from_millis(500))
        } else {
            Duration::from_secs(60)
        };
        let process = number;
        self.at(patience.as_nanos() as u64, Event::KillClosing { node, process });
        Ok(())
    }

    fn cut(&mut self, node: usize) -> Step {
        let Some(process) = &self.nodes[node].process else {
            return Ok(());
        };
        let number = process.number;
        let near = process.inner.machine.near_tasks();
        if near.is_empty() {
            return Ok(());
        }
        let id = *self.dice.pick(&near);
        let asked = self.asked(number);
        self.happened(
            Fault::Cut,
            Sender {
                node,
                process: number,
            },
        );
        self.check.cut(number, &asked);
        self.feed(node, Input::Cut(id));
        self.collect(node)
    }

    fn pause(&mut self, node: usize, stands: bool) {
        let length = self
            .dice
            .length(Duration::from_millis(50), Duration::from_secs(30));
        self.tally
            .faults
            .note(if stands { Fault::Stood } else { Fault::Paused });
        self.note(12, &[node as u64], || {
            format!("node {node} stops for {length:?}, clocks too: {stands}")
        });
        self.nodes[node].pause = Some(Pause {
            since_ns: self.now_ns,
            stands,
        });
        if let Some(process) = &self.nodes[node].process {
            self.check.trouble(process.number);
        }
        self.at(length.as_nanos() as u64, Event::Resume { node });
    }

    fn stood_still(&mut self, node: usize, pause: &Pause) {
        if pause.stands {
            let length = Duration::from_nanos(self.now_ns - pause.since_ns);
            self.change_clock(node, ClockChange::Stood(length));
        }
    }

    fn resume(&mut self, node: usize) {
        let Some(pause) = self.nodes[node].pause.take() else {
            return;
        };
        self.note(13, &[node as u64], || format!("node {node} goes on"));
        self.stood_still(node, &pause);
        let held_back = std::mem::take(&mut self.nodes[node].held_back);
        let Some(process) = &self.nodes[node].process else {
            return;
        };
        let to = Sender {
            node,
            process: process.number,
        };
        // What arrived meanwhile lies in the socket; timers may be seen first.
        if self.dice.chance(500) {
            self.feed(node, Input::Fire);
        }
        for (id, ask, told) in held_back {
            self.hand_over(to, id, &ask, told);
        }
    }

    fn change_clock(&mut self, node: usize, change: ClockChange) {
        let true_wall_ns = TRUE_WALL_NS + i128::from(self.now_ns);
        let now_ns = self.now_ns;
        self.note(14, &[node as u64], || format!("node {node}'s clock: {change:?}"));
        match &mut self.nodes[node].process {
            Some(process) => {
                process.inner.feed(now_ns, Input::Clock(change, true_wall_ns));
            }
            None => self.nodes[node].clock.change(&change, now_ns, true_wall_ns),
        }
    }

    fn disturb_clock(&mut self, node: usize, fault: Fault) {
        let back = self.dice.chance(500);
        let by = match fault {
            Fault::Frozen => {
                let length = self
                    .dice
                    .length(Duration::from_millis(100), Duration::from_secs(60));
                self.tally.faults.note(fault);
                self.change_clock(node, ClockChange::Freeze);
                return self.at(length.as_nanos() as u64, Event::Thaw { node });
            }
            Fault::Stepped => self.dice.length(Duration::from_millis(1), Duration::from_secs(5)),
            Fault::SteppedFar => self
                .dice
                .length(Duration::from_secs(5), Duration::from_secs(3_600)),
            _ => self.dice.length(
                Duration::from_secs(86_400),
                Duration::from_secs(10 * 365 * 86_400),
            ),
        };
        self.tally.faults.note(fault);
        let by = by.as_nanos() as i128;
        self.change_clock(node, ClockChange::Step(if back { -by } else { by }));
        if self.dice.chance(300) {
            let said = *self.dice.pick(&[None, Some(true), Some(false)]);
            self.change_clock(node, ClockChange::Synchronised(said));
        }
    }

    /// A resumed snapshot of a running machine beside the original.
    fn clone_process(&mut self, node: usize) {
        let Some(process) = &self.nodes[node].process else {
            return;
        };
        let number = process.number;
        let mut inner = process.inner.copy();
        let copy = self.check.copy(number, self.now_ns);
        self.cloned = true;
        self.tally.faults.note(Fault::Cloned);
        self.note(15, &[node as u64], || {
            format!("node {node}: process {copy} is a copy of process {number}")
        });
        if self.dice.chance(500) {
            inner.machine.reseed(self.dice.next());
        } else {
            self.tally.faults.note(Fault::CloneSameRandom);
        }
        let settings = self.nodes[node].settings.clone();
        let lent = self.nodes[node].lent.clone();
        // No two machines read their clocks in the same nanosecond.
        let apart = Duration::from_nanos(1 + self.dice.below(1_000_000));
        inner.feed(self.now_ns, Input::Clock(ClockChange::Stood(apart), 0));
        self.nodes.push(Node {
            process: Some(Running {
                number: copy,
                inner,
                open: true,
                closing: false,
            }),
            clock: self.nodes[node].clock.clone(),
            settings,
            pause: None,
            held_back: Vec::new(),
            cut_off_until_ns: 0,
            starting: false,
            lent,
            copy: true,
        });
        // The copy goes on with the same requests; what it answers counts as issued.
        let same: Vec<_> = self.under_way.range((number, 0)..=(number, u64::MAX)).collect();
        let same: Vec<_> = same
            .into_iter()
            .map(|((_, n), op)| ((copy, *n), op.clone()))
            .collect();
        self.under_way.extend(same);
    }

    // Backups.

    fn back_up(&mut self) {
        let all = self.server.dump();
        let marked = all.iter().any(|(_, found)| found.value.mark > 0);
        if !marked {
            return self.at(SECOND_NS, Event::Backup);
        }
        self.note(16, &[all.len() as u64], || {
            format!("a backup of {} registers", all.len())
        });
        self.backup.push(all);
        let registers = self.backup.len() - 1;
        let after = self
            .dice
            .length(Duration::from_millis(100), Duration::from_secs(60));
        self.at(after.as_nanos() as u64, Event::Restore { registers });
    }

    /// The store is lost; an operator restores the backup as documented: all processes stopped, every mark raised
    /// above what was issued since.
    fn restore(&mut self, backup: usize) -> Step {
        let known = |key: &mintage_ledger::Key| self.backup[backup].iter().any(|(k, _)| k == key);
        let since = self.server.dump();
        if since
            .iter()
            .any(|(key, found)| found.value.mark > 0 && !known(key))
        {
            // A backup that does not know a name cannot protect it; the page says so.
            return Ok(());
        }
        for node in 0..self.nodes.len() {
            self.kill(node, "for the store is lost")?;
        }
        self.nodes.retain(|node| !node.copy);
        self.events
            .retain(|_, event| !matches!(event, Event::Arrive { .. } | Event::Answer { .. }));
        let mark = |key: &mintage_ledger::Key| {
            since
                .iter()
                .find(|(k, _)| k == key)
                .map_or(0, |(_, found)| found.value.mark)
        };
        let numbers = self.backup[backup]
            .iter()
            .filter(|(key, _)| key.as_str().starts_with("seq/"))
            .map(|(key, found)| mark(key).saturating_sub(found.value.mark))
            .max()
            .unwrap_or(0);
        let now = Timestamp::from_unix_nanos(TRUE_WALL_NS + i128::from(self.now_ns));
        let window = Duration::from_secs(600);
        let mut registers = self.backup[backup].clone();
        for (key, found) in &mut registers {
            if found.value.mark == 0 {
                continue;
            }
            let raised = mintage_ledger::advanced_mark(key, &found.value, numbers, now, window);
            found.value.mark = match raised {
                // Layouts of one's own are not known to the command: the rule with the layout at hand.
                u64::MAX => self.raised(key, found.value.mark, now.saturating_add(window)),
                raised => raised,
            };
            found.version.0 += 1;
            found.value.token = u128::from(self.dice.next()) + 1;
        }
        self.note(17, &[numbers], || {
            format!("restored, every mark raised by {numbers}")
        });
        self.tally.faults.note(Fault::Restored);
        self.server.load(registers);
        self.check.restored();
        Ok(())
    }

    fn raised(&self, key: &mintage_ledger::Key, mark: u64, until: Timestamp) -> u64 {
        let pool = subject::POOLS
            .iter()
            .position(|name| key.as_str().starts_with(&format!("window/{name}/")));
        let tick = pool.and_then(|pool| self.check.layouts[pool].tick_at(until).ok());
        mark.max(tick.map_or(mark, |tick| tick + 1))
    }

    // The end.

    /// Everything works again.
    fn heal(&mut self) -> Step {
        self.note(18, &[], || "everything works again".into());
        self.healing = true;
        self.plan.heal();
        self.down_until_ns = 0;
        self.events
            .retain(|_, event| !matches!(event, Event::Backup | Event::Restore { .. }));
        for node in 0..self.nodes.len() {
            self.nodes[node].cut_off_until_ns = 0;
            self.resume(node);
            self.change_clock(node, ClockChange::Drift(0));
            self.change_clock(node, ClockChange::Correct(0));
            self.change_clock(node, ClockChange::Synchronised(Some(true)));
            if self.nodes[node].process.is_none() {
                self.start_again(node, Duration::from_secs(1));
            }
        }
        Ok(())
    }

    /// Whoever asks is served within a few minutes, by every process.
    fn serve_everybody(&mut self) -> Step {
        let deadline_ns = self.now_ns + 240 * SECOND_NS;
        self.goals = (0..self.nodes.len()).map(|_| self.everything()).collect();
        let mut next_ask = vec![0u64; self.nodes.len()];
        while self.goals.iter().any(|goals| !goals.is_empty()) {
            for node in 0..self.nodes.len() {
                let running = self.nodes[node].process.as_ref();
                let Some(number) = running.filter(|p| p.open && !p.closing).map(|p| p.number) else {
                    continue;
                };
                let waits = self
                    .under_way
                    .range((number, 0)..=(number, u64::MAX))
                    .any(|(_, op)| op.goal);
                if waits || self.now_ns < next_ask[node] {
                    continue;
                }
                next_ask[node] = self.now_ns + SECOND_NS / 2;
                if let Some(goal) = self.goals[node].last().cloned() {
                    self.ask(node, goal);
                }
            }
            self.step()?;
            if self.now_ns > deadline_ns {
                return Err(format!(
                    "not served within four minutes of untroubled work: {:?}",
                    self.goals
                ));
            }
        }
        Ok(())
    }

    /// One of each kind of request that must succeed.
    fn everything(&self) -> Vec<Op> {
        let mut goals = Vec::new();
        for (sequence, row) in SEQUENCES.iter().enumerate() {
            // Bounds may be used up.
            if row.name != "tight" && (row.spec().is_none() || self.made[sequence]) {
                goals.push(Op::Take {
                    sequence,
                    n: 1,
                    contiguous: false,
                });
            }
        }
        // Windows reserved by a clock that was far ahead park their workers for as long.
        let far = [Fault::SteppedFar, Fault::Jumped]
            .iter()
            .any(|fault| self.tally.faults.of(*fault) > 0);
        for pool in self.pools_in_use.iter().copied().filter(|_| !far) {
            if subject::pool_spec(pool, None).is_none() || self.pools_made[pool] {
                goals.push(Op::Mint { pool, n: 3 });
            }
        }
        goals
    }

    /// Answers that are under way arrive, everything is looked at once more, and all processes close.
    fn settle(&mut self) -> Step {
        let deadline_ns = self.now_ns + 120 * SECOND_NS;
        while !self.under_way.is_empty() {
            self.step()?;
            if self.now_ns > deadline_ns {
                let left: Vec<_> = self.under_way.values().map(|op| &op.op).collect();
                return Err(format!(
                    "not answered within two minutes of untroubled work: {left:?}"
                ));
            }
        }
        self.check.finish()?;
        self.ending = true;
        for node in 0..self.nodes.len() {
            if self.nodes[node].process.as_ref().is_some_and(|p| !p.closing) {
                self.close(node, false)?;
            }
        }
        while self.nodes.iter().any(|node| node.process.is_some()) {
            self.step()?;
        }
        Ok(())
    }

    /// Makes what happens part of the hash, and of the trace if there is one.
    fn note(&mut self, kind: u64, numbers: &[u64], text: impl FnOnce() -> String) {
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

// What traces show, and what hashes are made of.

fn show(ask: &Ask) -> String {
    match ask {
        Ask::Get(key) => format!("get {key}"),
        Ask::Set {
            key,
            expected,
            value,
            marks,
        } => {
            let at = expected.map_or("absent".into(), |v| format!("version {}", v.0));
            format!(
                "set {key} at {at} to mark {} {} ({marks:?})",
                value.mark, value.body
            )
        }
        Ask::Scan { prefix, .. } => format!("scan {prefix}"),
        Ask::Remove { key, expected } => format!("remove {key} at version {}", expected.0),
        Ask::Claim(claim) => format!(
            "claim {} of {} at version {}",
            claim.add, claim.key, claim.expected.0
        ),
        Ask::Wall => "time".into(),
    }
}

fn show_told(told: &Told) -> String {
    use mintage_ledger::Cas;
    match told {
        Told::Read(None) => "absent".into(),
        Told::Read(Some(found)) => format!("version {} mark {}", found.version.0, found.value.mark),
        Told::Wrote(Cas::Done(version)) => format!("done, version {}", version.0),
        Told::Wrote(Cas::Lost(None)) => "lost, absent".into(),
        Told::Wrote(Cas::Lost(Some(found))) => format!("lost, version {}", found.version.0),
        Told::Page(page) => format!("{} registers", page.len()),
        Told::Wall(_) => "the time".into(),
        Told::Failed(error) => format!("{error} ({:?})", error.outcome),
    }
}

fn told_number(told: &Told) -> u64 {
    use mintage_ledger::Cas;
    match told {
        Told::Read(found) | Told::Wrote(Cas::Lost(found)) => {
            found.as_ref().map_or(1, |f| f.version.0 << 8 | 2)
        }
        Told::Wrote(Cas::Done(version)) => version.0 << 8 | 3,
        Told::Page(page) => (page.len() as u64) << 8 | 4,
        Told::Wall(_) => 5,
        Told::Failed(_) => 6,
    }
}

fn show_came(came: &Came) -> String {
    match came {
        Came::Numbers(run) => format!("{} numbers from {} by {}", run.count, run.first, run.step),
        Came::Ids(ids) => format!("{} ids from {:?}", ids.places.len(), ids.places.first()),
        Came::Lent(window) => format!(
            "worker {} {}..{}",
            window.worker, window.from_tick, window.until_tick
        ),
        Came::Refused(error) => format!("a refusal: {error}"),
        other => format!("{other:?}"),
    }
}

fn came_number(came: &Came) -> u64 {
    match came {
        Came::Numbers(run) => (run.first as u64).wrapping_mul(31).wrapping_add(run.count),
        Came::Ids(ids) => ids.places.iter().fold(7, |hash, place| {
            hash.wrapping_mul(31)
                .wrapping_add(place.0)
                .wrapping_mul(31)
                .wrapping_add(place.1)
        }),
        Came::Lent(window) => window.until_tick,
        Came::Opened => 1,
        Came::Closed => 2,
        Came::Done => 3,
        Came::Refused(_) => 4,
    }
}
