//! Blocks of one sequence: claim, give back (rules R1, R3, S3, S4).

use super::Rule;
use super::explore::Model;

/// Numbers that there are.
const NUMBERS: u8 = 4;
const NODES: usize = 3;

/// The model; `exclusive`: one process at a time, which may give back.
pub(super) struct Blocks {
    pub(super) without: Option<Rule>,
    pub(super) exclusive: bool,
}

#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, Default)]
struct Register {
    version: u8,
    mark: u8,
    owner: u8,
    token: u8,
}

#[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Debug)]
struct Attempt {
    token: u8,
    owner: u8,
    expected: u8,
    /// What the record said, for guards that compare that.
    expected_mark: u8,
    /// The mark to write.
    mark: u8,
    /// The first number of the block; for a give-back, its mark.
    first: u8,
    gives_back: bool,
}

#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, Default)]
struct Node {
    up: bool,
    instance: u8,
    /// The record as last seen.
    known: Register,
    /// The version that this process's own last claim made.
    claimed: u8,
    /// Numbers in stock: from, to.
    stock: Option<(u8, u8)>,
    waiting: Option<Attempt>,
    unknown: Option<Attempt>,
    /// What it has in stock or under way was there when it was copied: both copies use it, which only a register
    /// for each process ends (R4, not part of this model).
    shared: bool,
}

#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub(super) struct State {
    register: Register,
    nodes: [Node; NODES],
    requests: Vec<(u8, Attempt)>,
    /// To whom, for which attempt, whether it was done, and the record afterwards.
    answers: Vec<(u8, u8, bool, u8, u8, u8)>,
    issued: [u8; NUMBERS as usize],
    tokens: u8,
    instances: u8,
    duplicates: u8,
    crashes: u8,
    copies: u8,
}

#[derive(Clone, Debug)]
pub(super) enum Action {
    Claim { node: u8, count: u8 },
    GiveBack { node: u8 },
    Arrive { at: u8, again: bool },
    Answer { at: u8 },
    TimeOut { node: u8 },
    Resolve { node: u8 },
    Issue { node: u8 },
    Crash { node: u8 },
    Copy,
}

impl Blocks {
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

impl Model for Blocks {
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
            issued: [0; NUMBERS as usize],
            tokens: 0,
            instances: 2,
            duplicates: 1,
            crashes: 1,
            copies: u8::from(!self.exclusive),
        }
    }

    fn actions(&self, state: &State, into: &mut Vec<Action>) {
        for (at, node) in (0u8..).zip(&state.nodes).filter(|(_, node)| node.up) {
            let may_ask = node.waiting.is_none() && node.unknown.is_none() && state.tokens < self.attempts();
            match node.stock {
                None if may_ask => into.extend([1, 2].map(|count| Action::Claim { node: at, count })),
                Some((_, to)) => {
                    into.push(Action::Issue { node: at });
                    let topmost = to == node.known.mark && node.claimed == node.known.version;
                    if may_ask && self.may_give_back() && (topmost || !self.has(Rule::Topmost)) {
                        into.push(Action::GiveBack { node: at });
                    }
                    // More than the stock has is asked for at once: the stock is not the topmost any more.
                    if may_ask && self.exclusive {
                        into.push(Action::Claim { node: at, count: 1 });
                    }
                }
                None => {}
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
    }

    fn apply(&self, state: &State, action: &Action) -> Result<Option<State>, String> {
        let mut next = state.clone();
        match *action {
            Action::Claim { node, count } => {
                let known = state.nodes[node as usize].known;
                if known.mark + count > NUMBERS {
                    return Ok(None);
                }
                if state.nodes[node as usize].stock.is_none() {
                    next.nodes[node as usize].shared = false;
                }
                next.send(node, known.mark, known.mark + count, false);
            }
            Action::GiveBack { node } => {
                let (from, _) = state.nodes[node as usize]
                    .stock
                    .expect("there is something to give back");
                next.send(node, from, from, true);
                next.nodes[node as usize].stock = None;
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
                    here.mark == attempt.expected_mark
                };
                if matches {
                    next.register = Register {
                        version: here.version + 1,
                        mark: attempt.mark,
                        owner: attempt.owner,
                        token: attempt.token,
                    };
                }
                let now = next.register;
                next.answers
                    .push((node, attempt.token, matches, now.version, now.mark, now.token));
                next.answers.sort_unstable();
            }
            Action::Answer { at } => {
                let answer = next.answers.remove(at as usize);
                next.answered(answer)?;
            }
            Action::TimeOut { node } => {
                let node = &mut next.nodes[node as usize];
                let attempt = node.waiting.take().expect("somebody waits");
                node.unknown = Some(attempt);
                if !self.has(Rule::Unknown) && !attempt.gives_back && node.stock.is_none() {
                    node.stock = Some((attempt.first, attempt.mark));
                }
            }
            Action::Resolve { node } => next.resolve(node, self),
            Action::Issue { node } => return next.issue(node).map(|()| Some(next)),
            Action::Crash { node } => {
                next.crashes -= 1;
                next.instances += 1;
                next.nodes[node as usize] = Node {
                    up: true,
                    instance: next.instances,
                    known: next.register,
                    ..Node::default()
                };
            }
            Action::Copy => {
                next.copies = 0;
                let node = &mut next.nodes[0];
                node.shared = node.stock.is_some() || node.waiting.is_some() || node.unknown.is_some();
                next.nodes[2] = next.nodes[0];
            }
        }
        next.forget(self);
        Ok((next != *state).then_some(next))
    }
}

impl State {
    /// Drops what can make no difference any more: answers that nobody waits for, and requests that are refused
    /// whenever they arrive, unless somebody waits to hear it. (A message that is lost is one that never arrives.)
    fn forget(&mut self, model: &Blocks) {
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

    fn send(&mut self, node: u8, first: u8, mark: u8, gives_back: bool) {
        self.tokens += 1;
        let Node { instance, known, .. } = self.nodes[node as usize];
        let attempt = Attempt {
            token: self.tokens,
            owner: instance,
            expected: known.version,
            expected_mark: known.mark,
            mark,
            first,
            gives_back,
        };
        self.nodes[node as usize].waiting = Some(attempt);
        self.requests.push((node, attempt));
        self.requests.sort_unstable();
    }

    fn answered(
        &mut self,
        (node, token, done, version, mark, _): (u8, u8, bool, u8, u8, u8),
    ) -> Result<(), String> {
        let node = &mut self.nodes[node as usize];
        let Some(attempt) = node.waiting.filter(|attempt| attempt.token == token) else {
            return Ok(());
        };
        node.waiting = None;
        node.known.version = version;
        node.known.mark = mark;
        if !done || attempt.gives_back {
            return Ok(());
        }
        node.claimed = version;
        if node.stock.is_none() {
            node.stock = Some((attempt.first, attempt.mark));
            return Ok(());
        }
        // Whoever waits for more than the stock has gets the block as it is.
        let (instance, shared) = (node.instance, node.shared);
        (attempt.first..attempt.mark).try_for_each(|number| self.issued_by(instance, number, shared))
    }

    fn resolve(&mut self, node: u8, model: &Blocks) {
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
        node.known = here;
        if landed && !attempt.gives_back && node.stock.is_none() {
            node.claimed = here.version;
            node.stock = Some((attempt.first, attempt.mark));
        }
    }

    /// Issues the next number of the stock.
    fn issue(&mut self, node: u8) -> Result<(), String> {
        let Node {
            instance,
            stock,
            shared,
            ..
        } = &mut self.nodes[node as usize];
        let (from, to) = stock.expect("there is a stock");
        *stock = (from + 1 < to).then_some((from + 1, to));
        let (instance, shared) = (*instance, *shared);
        self.issued_by(instance, from, shared)
    }

    /// `Err` if anybody issued the number before.
    fn issued_by(&mut self, instance: u8, number: u8, shared: bool) -> Result<(), String> {
        let by = &mut self.issued[number as usize];
        let mask = 1u8 << instance.min(7);
        if *by & !mask != 0 {
            return Err(format!("number {number} was issued by two processes"));
        }
        if *by & mask != 0 && !shared {
            return Err(format!("number {number} was issued twice under one name"));
        }
        *by |= mask;
        Ok(())
    }
}
