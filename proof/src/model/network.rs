//! One record in a store, and what is under way to and from it: requests that may be late, lost (they never arrive) or
//! delivered twice, and answers that may be late or lost.

use std::hash::Hash;

/// Two machines, and room for a copy.
pub(super) const NODES: usize = 3;

/// The record: a window's or a sequence's.
#[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Debug, Default)]
pub(super) struct Register {
    pub(super) version: u8,
    /// Which copy of the store has it: a version is one of the copy that has shown it.
    pub(super) copy: u8,
    /// The end of a window, or the first number that nobody reserved.
    pub(super) mark: u8,
    pub(super) owner: u8,
    pub(super) token: u8,
}

/// One try to write the record.
#[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Debug)]
pub(super) struct Attempt<Kind> {
    pub(super) token: u8,
    pub(super) kind: Kind,
    pub(super) owner: u8,
    /// What the guard compares.
    pub(super) expected: Register,
    /// The first tick or number that it reserves; for a give-back, its mark.
    pub(super) first: u8,
    /// The mark to write.
    pub(super) mark: u8,
}

/// What the store says to an attempt: whether it was done, and the record afterwards.
#[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Debug)]
pub(super) struct Answer {
    pub(super) node: u8,
    pub(super) token: u8,
    pub(super) done: bool,
    pub(super) version: u8,
    pub(super) copy: u8,
    pub(super) mark: u8,
}

/// A message that arrives.
#[derive(Clone, Copy, Debug)]
pub(super) enum Message {
    Request { at: u8, again: bool },
    Answer { at: u8 },
}

/// The store and the messages.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub(super) struct Network<Kind> {
    pub(super) register: Register,
    /// Attempts so far: each has a token of its own.
    pub(super) tokens: u8,
    /// With who sent them.
    requests: Vec<(u8, Attempt<Kind>)>,
    answers: Vec<Answer>,
    /// How many requests may still be delivered twice.
    duplicates: u8,
    /// What the standby has, while it is away: what is written meanwhile is shown, and not acknowledged.
    standby: Option<Register>,
}

impl<Kind: Copy + Ord + Hash> Network<Kind> {
    pub(super) fn new() -> Network<Kind> {
        Network {
            register: Register::default(),
            tokens: 0,
            requests: Vec::new(),
            answers: Vec::new(),
            duplicates: 1,
            standby: None,
        }
    }

    pub(super) fn standby_is_away(&self) -> bool {
        self.standby.is_some()
    }

    /// The standby goes away, or is back.
    pub(super) fn standby_turns(&mut self) {
        self.standby = match self.standby {
            None => Some(self.register),
            Some(_) => None,
        };
    }

    /// The primary is lost with all that was on its way to it, and the standby takes its place.
    pub(super) fn promote(&mut self) {
        if let Some(kept) = self.standby.take() {
            self.register = Register {
                copy: kept.copy + 1,
                ..kept
            };
            self.requests.clear();
        }
    }

    /// What can arrive now.
    pub(super) fn messages(&self) -> impl Iterator<Item = Message> {
        let twice: &[bool] = if self.duplicates > 0 {
            &[false, true]
        } else {
            &[false]
        };
        let requests = (0..self.requests.len() as u8).flat_map(|at| {
            twice
                .iter()
                .map(move |again| Message::Request { at, again: *again })
        });
        requests.chain((0..self.answers.len() as u8).map(|at| Message::Answer { at }))
    }

    /// Sends an attempt; gives it with the token it carries.
    pub(super) fn send(&mut self, node: u8, attempt: Attempt<Kind>) -> Attempt<Kind> {
        self.tokens += 1;
        let attempt = Attempt {
            token: self.tokens,
            ..attempt
        };
        self.requests.push((node, attempt));
        self.requests.sort_unstable();
        attempt
    }

    /// A request reaches the store, which does it if it `matches`, and answers: with the record, or, to one that was
    /// refused, without it if that is not `told`.
    pub(super) fn arrive(
        &mut self,
        (at, again): (u8, bool),
        matches: impl Fn(Register, &Attempt<Kind>) -> bool,
        told: bool,
    ) {
        let (node, attempt) = self.requests[at as usize];
        if again {
            self.duplicates -= 1;
        } else {
            self.requests.remove(at as usize);
        }
        let done = matches(self.register, &attempt);
        if done {
            self.register = Register {
                version: self.register.version + 1,
                copy: self.register.copy,
                mark: attempt.mark,
                owner: attempt.owner,
                token: attempt.token,
            };
        }
        if done && self.standby.is_some() {
            return;
        }
        let Register {
            version, copy, mark, ..
        } = self.register;
        let (version, mark) = if done || told { (version, mark) } else { (0, 0) };
        self.answers.push(Answer {
            node,
            token: attempt.token,
            done,
            version,
            copy,
            mark,
        });
        self.answers.sort_unstable();
    }

    /// Takes an answer that arrives.
    pub(super) fn take_answer(&mut self, at: u8) -> Answer {
        self.answers.remove(at as usize)
    }

    /// Drops what can make no difference any more: answers that nobody waits for, and requests that are refused
    /// whenever they arrive, unless somebody waits to hear it. (A message that is lost is one that never arrives.)
    pub(super) fn forget(&mut self, guards_compare_versions: bool, waiting: [Option<Attempt<Kind>>; NODES]) {
        let awaited =
            |node: u8, token: u8| waiting[node as usize].is_some_and(|attempt| attempt.token == token);
        let Register { version, copy, .. } = self.register;
        self.answers.retain(|answer| awaited(answer.node, answer.token));
        self.requests.retain(|(node, attempt)| {
            let may_match = attempt.expected.copy == copy && attempt.expected.version >= version;
            !guards_compare_versions || may_match || awaited(*node, attempt.token)
        });
    }
}

/// By tick or number: the instances that used it.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub(super) struct Used<const COUNT: usize>([u8; COUNT]);

impl<const COUNT: usize> Used<COUNT> {
    pub(super) fn nothing() -> Used<COUNT> {
        Used([0; COUNT])
    }

    /// `Err` if anybody used it before, but for copies of one process that cannot know each other yet (`shared`).
    pub(super) fn note(&mut self, what: &str, at: u8, instance: u8, shared: bool) -> Result<(), String> {
        let by = &mut self.0[at as usize];
        let mask = 1u8 << instance.min(7);
        if *by & !mask != 0 {
            return Err(format!("{what} {at} was used by two processes"));
        }
        if *by & mask != 0 && !shared {
            return Err(format!("{what} {at} was used twice under one name"));
        }
        *by |= mask;
        Ok(())
    }
}
