//! Blocks of one sequence: claim, give back (rules R1, R3, R6, S3, S4).

use super::Rule;
use super::explore::Model;
use super::network::{Answer, Message, NODES, Network, Register, Used};

/// Numbers that there are.
const NUMBERS: u8 = 4;

/// The model; `exclusive`: one process at a time, which may give back.
pub(super) struct Blocks {
    pub(super) without: Option<Rule>,
    pub(super) exclusive: bool,
    /// The store has a standby, which confirms what is acknowledged.
    pub(super) standby: bool,
}

#[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Debug)]
enum Kind {
    Claim,
    /// Writes what was found of a claim once more (R6).
    Confirm,
    GiveBack,
}

type Attempt = super::network::Attempt<Kind>;

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
    network: Network<Kind>,
    nodes: [Node; NODES],
    issued: Used<{ NUMBERS as usize }>,
    instances: u8,
    crashes: u8,
    copies: u8,
    /// How often the standby may still go away.
    outages: u8,
}

#[derive(Clone, Debug)]
pub(super) enum Action {
    /// The standby goes away, or is back.
    StandbyTurns,
    Promote,
    Claim {
        node: u8,
        count: u8,
    },
    GiveBack {
        node: u8,
    },
    Arrive(Message),
    TimeOut {
        node: u8,
    },
    Resolve {
        node: u8,
    },
    Issue {
        node: u8,
    },
    Crash {
        node: u8,
    },
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
            network: Network::new(),
            nodes: [
                node(1),
                if self.exclusive { Node::default() } else { node(2) },
                Node::default(),
            ],
            issued: Used::nothing(),
            instances: 2,
            crashes: 1,
            copies: u8::from(!self.exclusive && !self.standby),
            outages: u8::from(self.standby),
        }
    }

    fn actions(&self, state: &State, into: &mut Vec<Action>) {
        for (at, node) in (0u8..).zip(&state.nodes).filter(|(_, node)| node.up) {
            let may_ask =
                node.waiting.is_none() && node.unknown.is_none() && state.network.tokens < self.attempts();
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
        into.extend(state.network.messages().map(Action::Arrive));
        if state.copies > 0 && state.nodes[0].up {
            into.push(Action::Copy);
        }
        if state.network.standby_is_away() {
            into.extend([Action::StandbyTurns, Action::Promote]);
        } else if state.outages > 0 {
            into.push(Action::StandbyTurns);
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
                next.send(node, known.mark, known.mark + count, Kind::Claim);
            }
            Action::GiveBack { node } => {
                let (from, _) = state.nodes[node as usize]
                    .stock
                    .expect("there is something to give back");
                next.send(node, from, from, Kind::GiveBack);
                next.nodes[node as usize].stock = None;
            }
            Action::Arrive(Message::Request { at, again }) => {
                let by_version = self.has(Rule::Version);
                let matches = |here: Register, attempt: &Attempt| match by_version {
                    true => (here.copy, here.version) == (attempt.expected.copy, attempt.expected.version),
                    false => here.mark == attempt.expected.mark,
                };
                next.network.arrive((at, again), matches, true);
            }
            Action::Arrive(Message::Answer { at }) => {
                let answer = next.network.take_answer(at);
                next.answered(answer)?;
            }
            Action::TimeOut { node } => {
                let node = &mut next.nodes[node as usize];
                let attempt = node.waiting.take().expect("somebody waits");
                node.unknown = Some(attempt);
                if attempt.kind == Kind::Confirm {
                    // Its numbers are spent: the code remembers both tokens, which costs fewer of them.
                    node.unknown = None;
                }
                if !self.has(Rule::Unknown) && attempt.kind == Kind::Claim && node.stock.is_none() {
                    node.stock = Some((attempt.first, attempt.mark));
                }
            }
            Action::Resolve { node } => next.resolve(node, self),
            Action::Issue { node } => return next.issue(node).map(|()| Some(next)),
            Action::StandbyTurns => {
                next.outages -= u8::from(!next.network.standby_is_away());
                next.network.standby_turns();
            }
            Action::Promote => next.network.promote(),
            Action::Crash { node } => {
                next.crashes -= 1;
                next.instances += 1;
                next.nodes[node as usize] = Node {
                    up: true,
                    instance: next.instances,
                    known: next.network.register,
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
        next.network
            .forget(self.has(Rule::Version), next.nodes.map(|node| node.waiting));
        Ok((next != *state).then_some(next))
    }
}

impl State {
    fn send(&mut self, node: u8, first: u8, mark: u8, kind: Kind) {
        let Node { instance, known, .. } = self.nodes[node as usize];
        let attempt = Attempt {
            token: 0,
            kind,
            owner: instance,
            expected: Register {
                version: known.version,
                copy: known.copy,
                mark: known.mark,
                ..Register::default()
            },
            first,
            mark,
        };
        self.nodes[node as usize].waiting = Some(self.network.send(node, attempt));
    }

    fn answered(&mut self, answer: Answer) -> Result<(), String> {
        let node = &mut self.nodes[answer.node as usize];
        let Some(attempt) = node.waiting.filter(|attempt| attempt.token == answer.token) else {
            return Ok(());
        };
        node.waiting = None;
        node.known.version = answer.version;
        node.known.copy = answer.copy;
        node.known.mark = answer.mark;
        if !answer.done || attempt.kind == Kind::GiveBack {
            return Ok(());
        }
        node.claimed = answer.version;
        if node.stock.is_none() {
            node.stock = Some((attempt.first, attempt.mark));
            return Ok(());
        }
        // Whoever waits for more than the stock has gets the block as it is.
        let (instance, shared) = (node.instance, node.shared);
        (attempt.first..attempt.mark)
            .try_for_each(|number| self.issued.note("number", number, instance, shared))
    }

    fn resolve(&mut self, node_at: u8, model: &Blocks) {
        let here = self.network.register;
        let node = &mut self.nodes[node_at as usize];
        let attempt = node
            .unknown
            .take()
            .expect("there is an attempt of unknown outcome");
        let landed = match model.has(Rule::Token) {
            true => here.token == attempt.token,
            false => here.owner == node.instance,
        };
        node.known = here;
        if !landed || attempt.kind != Kind::Claim || node.stock.is_some() {
            return;
        }
        if model.standby && model.has(Rule::Kept) {
            return self.send(node_at, attempt.first, here.mark, Kind::Confirm);
        }
        node.claimed = here.version;
        node.stock = Some((attempt.first, attempt.mark));
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
        self.issued.note("number", from, instance, shared)
    }
}
