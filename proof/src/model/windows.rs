//! Windows of one worker: acquire, renew, give back (rules R1, R3, W1, W2, W5, W7).

use super::Rule;
use super::explore::Model;
use super::network::{Answer, Message, NODES, Network, Register, Used};

/// Ticks that there are.
const TICKS: u8 = 4;

/// The model; `exclusive`: one process at a time, which may give back.
pub(super) struct Windows {
    pub(super) without: Option<Rule>,
    pub(super) exclusive: bool,
}

#[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Debug)]
enum Kind {
    Acquire,
    Renew,
    GiveBack,
}

type Attempt = super::network::Attempt<Kind>;

#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
struct Held {
    version: u8,
    until: u8,
    next: u8,
}

#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, Default)]
struct Node {
    up: bool,
    /// The process: new at every start, shared by copies.
    instance: u8,
    held: Option<Held>,
    waiting: Option<Attempt>,
    /// The last attempt of unknown outcome.
    unknown: Option<Attempt>,
    /// What it holds or has under way was there when it was copied: both copies use it, which only a register
    /// for each process ends (R4, not part of this model).
    shared: bool,
}

#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub(super) struct State {
    network: Network<Kind>,
    nodes: [Node; NODES],
    minted: Used<{ TICKS as usize }>,
    instances: u8,
    crashes: u8,
    copies: u8,
}

#[derive(Clone, Debug)]
pub(super) enum Action {
    Acquire { node: u8, now: u8 },
    Renew { node: u8 },
    GiveBack { node: u8 },
    Arrive(Message),
    TimeOut { node: u8 },
    Resolve { node: u8 },
    Mint { node: u8 },
    Crash { node: u8 },
    Copy,
    Release { now: u8 },
}

impl Windows {
    fn has(&self, rule: Rule) -> bool {
        self.without != Some(rule)
    }

    /// How many attempts all processes together may make: more where there are fewer processes.
    fn attempts(&self) -> u8 {
        if self.exclusive { 4 } else { 3 }
    }

    fn may_give_back(&self) -> bool {
        self.exclusive || !self.has(Rule::GiveBack)
    }
}

impl Model for Windows {
    type State = State;
    type Action = Action;

    fn start(&self) -> State {
        let node = |instance| Node {
            up: true,
            instance,
            ..Node::default()
        };
        State {
            network: Network::new(),
            nodes: [
                node(1),
                if self.exclusive { Node::default() } else { node(2) },
                Node::default(),
            ],
            minted: Used::nothing(),
            instances: 2,
            crashes: 1,
            copies: u8::from(!self.exclusive),
        }
    }

    fn actions(&self, state: &State, into: &mut Vec<Action>) {
        for (at, node) in (0u8..).zip(&state.nodes).filter(|(_, node)| node.up) {
            let may_ask = node.waiting.is_none() && state.network.tokens < self.attempts();
            match node.held {
                None if may_ask && node.unknown.is_none() => {
                    into.extend((0..TICKS - 1).map(|now| Action::Acquire { node: at, now }));
                }
                Some(_) if may_ask => {
                    into.push(Action::Renew { node: at });
                    if self.may_give_back() {
                        into.push(Action::GiveBack { node: at });
                    }
                }
                _ => {}
            }
            if node.held.is_some() {
                into.push(Action::Mint { node: at });
            }
            if node.waiting.is_some() {
                into.push(Action::TimeOut { node: at });
            }
            if node.unknown.is_some() && node.waiting.is_none() {
                into.push(Action::Resolve { node: at });
            }
            if state.crashes > 0 {
                into.push(Action::Crash { node: at });
            }
        }
        into.extend(state.network.messages().map(Action::Arrive));
        if state.copies > 0 && state.nodes[0].up {
            into.push(Action::Copy);
        }
        if !self.has(Rule::Stranger) && state.network.register.version > 0 {
            into.extend((0..state.network.register.mark).map(|now| Action::Release { now }));
        }
    }

    fn apply(&self, state: &State, action: &Action) -> Result<Option<State>, String> {
        let mut next = state.clone();
        match *action {
            Action::Acquire { node, now } => {
                let stored = state.network.register;
                let from = if self.has(Rule::Successor) {
                    stored.mark.max(now)
                } else {
                    now
                };
                if from >= TICKS {
                    return Ok(None);
                }
                next.nodes[node as usize].shared = false;
                next.send(node, Kind::Acquire, from, (from + 2).min(TICKS), stored);
            }
            Action::Renew { node } => {
                let held = state.nodes[node as usize].held.expect("only holders renew");
                if held.until >= TICKS {
                    return Ok(None);
                }
                let known = state.known(node, held);
                next.send(node, Kind::Renew, held.next, held.until + 1, known);
            }
            Action::GiveBack { node } => {
                let held = state.nodes[node as usize].held.expect("only holders give back");
                let known = state.known(node, held);
                next.send(node, Kind::GiveBack, held.next, held.next, known);
                if self.has(Rule::GaveBack) {
                    next.nodes[node as usize].held = None;
                }
            }
            Action::Arrive(Message::Request { at, again }) => {
                let by_version = self.has(Rule::Version);
                let matches = |here: Register, attempt: &Attempt| match by_version {
                    true => here.version == attempt.expected.version,
                    false => (here.owner, here.mark) == (attempt.expected.owner, attempt.expected.mark),
                };
                next.network.arrive((at, again), matches, false);
            }
            Action::Arrive(Message::Answer { at }) => {
                let answer = next.network.take_answer(at);
                next.answered(answer, self);
            }
            Action::TimeOut { node } => {
                let node = &mut next.nodes[node as usize];
                let attempt = node.waiting.take().expect("somebody waits");
                if attempt.kind == Kind::GiveBack && self.has(Rule::GaveBack) {
                    // Never used again, and never asked about.
                } else {
                    node.unknown = Some(attempt);
                }
                if !self.has(Rule::Unknown) {
                    node.held = Some(Held {
                        version: attempt.expected.version + 1,
                        until: attempt.mark,
                        next: node.held.map_or(attempt.first, |held| held.next),
                    });
                }
            }
            Action::Resolve { node } => next.resolve(node, self),
            Action::Mint { node } => return next.mint(node).map(|minted| minted.then_some(next)),
            Action::Crash { node } => {
                next.crashes -= 1;
                next.instances += 1;
                next.nodes[node as usize] = Node {
                    up: true,
                    instance: next.instances,
                    ..Node::default()
                };
            }
            Action::Copy => {
                next.copies = 0;
                let node = &mut next.nodes[0];
                node.shared = node.held.is_some() || node.waiting.is_some() || node.unknown.is_some();
                next.nodes[2] = next.nodes[0];
            }
            Action::Release { now } => {
                next.network.register = Register {
                    version: state.network.register.version + 1,
                    mark: now,
                    ..Register::default()
                };
            }
        }
        next.network
            .forget(self.has(Rule::Version), next.nodes.map(|node| node.waiting));
        Ok((next != *state).then_some(next))
    }
}

impl State {
    /// What a holder knows of the record it holds.
    fn known(&self, node: u8, held: Held) -> Register {
        Register {
            version: held.version,
            mark: held.until,
            owner: self.nodes[node as usize].instance,
            token: 0,
            ..Register::default()
        }
    }

    fn send(&mut self, node: u8, kind: Kind, first: u8, mark: u8, known: Register) {
        let attempt = Attempt {
            token: 0,
            kind,
            owner: self.nodes[node as usize].instance,
            expected: Register { token: 0, ..known },
            first,
            mark,
        };
        self.nodes[node as usize].waiting = Some(self.network.send(node, attempt));
    }

    fn answered(&mut self, answer: Answer, model: &Windows) {
        let node = &mut self.nodes[answer.node as usize];
        let Some(attempt) = node.waiting.filter(|attempt| attempt.token == answer.token) else {
            return;
        };
        node.waiting = None;
        match (attempt.kind, answer.done) {
            (Kind::Acquire, true) => {
                node.held = Some(Held {
                    version: answer.version,
                    until: attempt.mark,
                    next: attempt.first,
                });
            }
            (Kind::Renew, true) => {
                if let Some(held) = &mut node.held {
                    (held.version, held.until) = (answer.version, attempt.mark);
                    node.unknown = None;
                }
            }
            // Lost: the next look at the record says whether an attempt of one's own had landed.
            (Kind::Renew, false) if node.unknown.is_some() => {}
            (Kind::Renew, false) => node.held = None,
            (Kind::GiveBack, true) => node.held = None,
            (Kind::GiveBack, false) if model.has(Rule::GaveBack) => node.held = None,
            (Kind::Acquire | Kind::GiveBack, false) => {}
        }
    }

    fn resolve(&mut self, node: u8, model: &Windows) {
        let here = self.network.register;
        let node = &mut self.nodes[node as usize];
        let attempt = node
            .unknown
            .take()
            .expect("there is an attempt of unknown outcome");
        let landed = match model.has(Rule::Token) {
            true => here.token == attempt.token,
            false => here.owner == node.instance,
        };
        match attempt.kind {
            Kind::Acquire | Kind::Renew if landed => {
                let next = match (attempt.kind, node.held) {
                    (Kind::Renew, Some(held)) => held.next,
                    (Kind::Renew, None) => return,
                    _ => attempt.first,
                };
                node.held = Some(Held {
                    version: here.version,
                    until: here.mark,
                    next,
                });
            }
            // Still at the known version: nothing has happened yet.
            Kind::Renew if here.version == attempt.expected.version => {}
            Kind::Renew => node.held = None,
            _ => {}
        }
    }

    /// Mints in the next tick; `Err` if anybody did before.
    fn mint(&mut self, node: u8) -> Result<bool, String> {
        let Node {
            instance,
            held,
            shared,
            ..
        } = &mut self.nodes[node as usize];
        let held = held.as_mut().expect("only holders mint");
        if held.next >= held.until {
            return Ok(false);
        }
        let tick = held.next;
        held.next += 1;
        self.minted.note("tick", tick, *instance, *shared)?;
        Ok(true)
    }
}
