//! Windows of one worker: acquire, renew, give back (rules R1, R3, W1, W2, W5, W7).

use super::Rule;
use super::explore::Model;

/// Ticks that there are.
const TICKS: u8 = 4;
/// Two machines, and room for a copy.
const NODES: usize = 3;

/// The model; `exclusive`: one process at a time, which may give back.
pub(super) struct Windows {
    pub(super) without: Option<Rule>,
    pub(super) exclusive: bool,
}

#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, Default)]
struct Register {
    version: u8,
    until: u8,
    owner: u8,
    token: u8,
}

#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
enum Kind {
    Acquire,
    Renew,
    GiveBack,
}

#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
struct Attempt {
    kind: Kind,
    token: u8,
    owner: u8,
    /// What the guard compares: the version, and what the record said.
    expected: u8,
    expected_owner: u8,
    expected_until: u8,
    from: u8,
    until: u8,
}

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
    register: Register,
    nodes: [Node; NODES],
    /// Requests under way, with who sent them.
    requests: Vec<(u8, Attempt)>,
    /// Answers under way: to whom, for which attempt, and the new version or none.
    answers: Vec<(u8, u8, Option<u8>)>,
    /// By tick: the instances that minted in it.
    minted: [u8; TICKS as usize],
    tokens: u8,
    instances: u8,
    duplicates: u8,
    crashes: u8,
    copies: u8,
}

#[derive(Clone, Debug)]
pub(super) enum Action {
    Acquire { node: u8, now: u8 },
    Renew { node: u8 },
    GiveBack { node: u8 },
    Arrive { at: u8, again: bool },
    Answer { at: u8 },
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
            register: Register::default(),
            nodes: [
                node(1),
                if self.exclusive { Node::default() } else { node(2) },
                Node::default(),
            ],
            requests: Vec::new(),
            answers: Vec::new(),
            minted: [0; TICKS as usize],
            tokens: 0,
            instances: 2,
            duplicates: 1,
            crashes: 1,
            copies: u8::from(!self.exclusive),
        }
    }

    fn actions(&self, state: &State, into: &mut Vec<Action>) {
        for (at, node) in (0u8..).zip(&state.nodes).filter(|(_, node)| node.up) {
            let may_ask = node.waiting.is_none() && state.tokens < self.attempts();
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
        for at in 0..state.requests.len() as u8 {
            into.push(Action::Arrive { at, again: false });
            if state.duplicates > 0 {
                into.push(Action::Arrive { at, again: true });
            }
        }
        for at in 0..state.answers.len() as u8 {
            into.push(Action::Answer { at });
        }
        if state.copies > 0 && state.nodes[0].up {
            into.push(Action::Copy);
        }
        if !self.has(Rule::Stranger) && state.register.version > 0 {
            into.extend((0..state.register.until).map(|now| Action::Release { now }));
        }
    }

    fn apply(&self, state: &State, action: &Action) -> Result<Option<State>, String> {
        let mut next = state.clone();
        match *action {
            Action::Acquire { node, now } => {
                let stored = state.register.until;
                let from = if self.has(Rule::Successor) {
                    stored.max(now)
                } else {
                    now
                };
                if from >= TICKS {
                    return Ok(None);
                }
                next.nodes[node as usize].shared = false;
                next.send(node, Kind::Acquire, from, (from + 2).min(TICKS), state.register);
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
            Action::Arrive { at, again } => {
                let (node, attempt) = state.requests[at as usize];
                if again {
                    next.duplicates -= 1;
                } else {
                    next.requests.remove(at as usize);
                }
                let here = state.register;
                let matches = if self.has(Rule::Version) {
                    here.version == attempt.expected
                } else {
                    (here.owner, here.until) == (attempt.expected_owner, attempt.expected_until)
                };
                let version = matches.then(|| here.version + 1);
                if let Some(version) = version {
                    next.register = Register {
                        version,
                        until: attempt.until,
                        owner: attempt.owner,
                        token: attempt.token,
                    };
                }
                next.answers.push((node, attempt.token, version));
                next.answers.sort_unstable();
            }
            Action::Answer { at } => {
                let (node, token, version) = next.answers.remove(at as usize);
                next.answered(node, token, version, self);
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
                        version: attempt.expected + 1,
                        until: attempt.until,
                        next: node.held.map_or(attempt.from, |held| held.next),
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
                next.register.version += 1;
                next.register.until = now;
                next.register.owner = 0;
                next.register.token = 0;
            }
        }
        next.forget(self);
        Ok((next != *state).then_some(next))
    }
}

impl State {
    /// Drops what can make no difference any more: answers that nobody waits for, and requests that are refused
    /// whenever they arrive, unless somebody waits to hear it. (A message that is lost is one that never arrives.)
    fn forget(&mut self, model: &Windows) {
        let nodes = &self.nodes;
        let awaited = |node: u8, token: u8| {
            nodes[node as usize]
                .waiting
                .is_some_and(|attempt| attempt.token == token)
        };
        let version = self.register.version;
        self.answers.retain(|answer| awaited(answer.0, answer.1));
        self.requests.retain(|(node, attempt)| {
            !model.has(Rule::Version) || attempt.expected >= version || awaited(*node, attempt.token)
        });
    }

    /// What a holder knows of the record it holds.
    fn known(&self, node: u8, held: Held) -> Register {
        Register {
            version: held.version,
            until: held.until,
            owner: self.nodes[node as usize].instance,
            token: 0,
        }
    }

    fn send(&mut self, node: u8, kind: Kind, from: u8, until: u8, known: Register) {
        self.tokens += 1;
        let attempt = Attempt {
            kind,
            token: self.tokens,
            owner: self.nodes[node as usize].instance,
            expected: known.version,
            expected_owner: known.owner,
            expected_until: known.until,
            from,
            until,
        };
        self.nodes[node as usize].waiting = Some(attempt);
        self.requests.push((node, attempt));
        self.requests
            .sort_unstable_by_key(|(node, attempt)| (*node, attempt.token));
    }

    fn answered(&mut self, node: u8, token: u8, version: Option<u8>, model: &Windows) {
        let node = &mut self.nodes[node as usize];
        let Some(attempt) = node.waiting.filter(|attempt| attempt.token == token) else {
            return;
        };
        node.waiting = None;
        match (attempt.kind, version) {
            (Kind::Acquire, Some(version)) => {
                node.held = Some(Held {
                    version,
                    until: attempt.until,
                    next: attempt.from,
                });
            }
            (Kind::Renew, Some(version)) => {
                if let Some(held) = &mut node.held {
                    (held.version, held.until) = (version, attempt.until);
                    node.unknown = None;
                }
            }
            // Lost: the next look at the record says whether an attempt of one's own had landed.
            (Kind::Renew, None) if node.unknown.is_some() => {}
            (Kind::Renew, None) => node.held = None,
            (Kind::GiveBack, Some(_)) => node.held = None,
            (Kind::GiveBack, None) if model.has(Rule::GaveBack) => node.held = None,
            (Kind::Acquire | Kind::GiveBack, None) => {}
        }
    }

    fn resolve(&mut self, node: u8, model: &Windows) {
        let here = self.register;
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
                    _ => attempt.from,
                };
                node.held = Some(Held {
                    version: here.version,
                    until: here.until,
                    next,
                });
            }
            // Still at the known version: nothing has happened yet.
            Kind::Renew if here.version == attempt.expected => {}
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
        let by = &mut self.minted[tick as usize];
        let mask = 1u8 << (*instance).min(7);
        if *by & !mask != 0 {
            return Err(format!("tick {tick} was minted in by two processes"));
        }
        if *by & mask != 0 && !*shared {
            return Err(format!("tick {tick} was minted in twice under one name"));
        }
        *by |= mask;
        Ok(true)
    }
}
