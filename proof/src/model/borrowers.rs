//! A lent window's renewals (rules W10 and R6): a borrower that asks again until it hears, a copy of it that draws other
//! attempts, servers that read and write by turns, a store whose standby may be away, and whoever takes the worker next.

use super::Rule;
use super::explore::Model;

/// Ticks that there are.
const TICKS: usize = 4;
/// Renewals that all borrowers together may begin.
const RENEWALS: u8 = 2;
/// What noted a tick for whoever took the worker next.
const SUCCESSOR: u8 = u8::MAX;

/// The model.
pub(super) struct Borrowers {
    pub(super) without: Option<Rule>,
}

/// One renewal: what its borrower calls it over all its tries, if it does, and the version that it is made from.
#[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Debug)]
struct Renewal {
    attempt: u8,
    is_named: bool,
    from: u8,
}

/// The window's record.
#[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Debug)]
struct Record {
    /// Which copy of the store has it.
    copy: u8,
    version: u8,
    until: u8,
    is_lent: bool,
    /// The renewal that wrote it last, or the write after that which confirmed it.
    renewed: Option<Renewal>,
}

/// The borrower, or the copy of it.
#[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Debug)]
struct Borrower {
    /// The version that it was told last; `None` once it was refused.
    told: Option<u8>,
    /// By tick that it may use: the renewal that gave it, and 0 for what was lent.
    given: [Option<u8>; TICKS],
    next: u8,
    waiting: Option<Renewal>,
}

/// A server that has read the record for a renewal and is about to write it.
#[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Debug)]
struct Asked {
    by: u8,
    renewal: Renewal,
    found: Record,
}

/// What a borrower is to hear: the version and the end, or that it has lost the window.
#[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Debug)]
struct Answer {
    to: u8,
    attempt: u8,
    granted: Option<(u8, u8)>,
}

#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub(super) struct State {
    record: Record,
    /// What the standby has while it is away: what is written meanwhile is shown, and not acknowledged.
    standby: Option<Record>,
    borrowers: [Option<Borrower>; 2],
    asked: Vec<Asked>,
    answers: Vec<Answer>,
    /// By renewal: its first answer.
    granted: [Option<(u8, u8)>; RENEWALS as usize + 1],
    /// By tick: the renewal under which it was used, or the successor.
    used: [Option<u8>; TICKS],
    renewals: u8,
    retries: u8,
    outages: u8,
}

#[derive(Clone, Copy, Debug)]
pub(super) enum Action {
    /// Begins a renewal: a server reads the record for it.
    Renew {
        by: u8,
        is_named: bool,
    },
    /// The same once more, because no answer came, or the request was delivered twice.
    Repeat {
        by: u8,
    },
    /// A server acts on what it has read; `more` ticks are added if it extends the window.
    Write {
        at: u8,
        more: u8,
    },
    /// An answer arrives; one that is lost never does.
    Hear {
        at: u8,
    },
    Mint {
        by: u8,
    },
    /// The borrower's machine is copied.
    Copy,
    /// Somebody else takes the worker, whatever its clock says, and uses a tick.
    Succeed,
    StandbyTurns,
    Promote,
}

impl Model for Borrowers {
    type State = State;
    type Action = Action;

    fn start(&self) -> State {
        let mut borrower = Borrower {
            told: Some(1),
            given: [None; TICKS],
            next: 0,
            waiting: None,
        };
        borrower.given[0] = Some(0);
        State {
            record: Record {
                copy: 0,
                version: 1,
                until: 1,
                is_lent: true,
                renewed: None,
            },
            standby: None,
            borrowers: [Some(borrower), None],
            asked: Vec::new(),
            answers: Vec::new(),
            granted: [None; RENEWALS as usize + 1],
            used: [None; TICKS],
            renewals: 0,
            retries: 2,
            outages: 1,
        }
    }

    fn actions(&self, state: &State, into: &mut Vec<Action>) {
        for (by, borrower) in (0u8..).zip(&state.borrowers) {
            let Some(borrower) = borrower else { continue };
            match borrower.waiting {
                None if borrower.told.is_some() && state.renewals < RENEWALS => {
                    into.extend([true, false].map(|is_named| Action::Renew { by, is_named }));
                }
                Some(_) if state.retries > 0 => into.push(Action::Repeat { by }),
                _ => {}
            }
            into.push(Action::Mint { by });
        }
        for at in 0..state.asked.len() as u8 {
            into.extend([0, 1].map(|more| Action::Write { at, more }));
        }
        into.extend((0..state.answers.len() as u8).map(|at| Action::Hear { at }));
        into.extend([Action::Copy, Action::Succeed, Action::Promote]);
        if state.outages > 0 || state.standby.is_some() {
            into.push(Action::StandbyTurns);
        }
    }

    fn apply(&self, state: &State, action: &Action) -> Result<Option<State>, String> {
        let mut next = state.clone();
        match *action {
            Action::Renew { by, is_named } => next.renew(by, is_named),
            Action::Repeat { by } => {
                next.retries -= 1;
                next.ask(by);
            }
            Action::Write { at, more } => next.write(at, more, self)?,
            Action::Hear { at } => next.hear(at),
            Action::Mint { by } => next.mint(by)?,
            Action::Copy => next.borrowers[1] = next.borrowers[1].or(next.borrowers[0]),
            Action::Succeed => next.succeed()?,
            Action::StandbyTurns => match next.standby.take() {
                Some(_) => {}
                None => {
                    next.outages -= 1;
                    next.standby = Some(next.record);
                }
            },
            Action::Promote => {
                if let Some(kept) = next.standby.take() {
                    let copy = kept.copy + 1;
                    next.record = Record { copy, ..kept };
                }
            }
        }
        next.forget(self);
        Ok((next != *state).then_some(next))
    }
}

impl Borrowers {
    fn has(&self, rule: Rule) -> bool {
        self.without != Some(rule)
    }

    /// The version that the borrower of a record was told.
    fn told(&self, record: &Record) -> u8 {
        match record.renewed {
            Some(renewal) if self.has(Rule::Told) => renewal.from + 1,
            _ => record.version,
        }
    }

    /// Whether somebody else has the window, or has renewed it from this version.
    fn refuses(&self, renewal: Renewal, found: &Record) -> bool {
        !found.is_lent || !self.has_landed(renewal, found) && self.told(found) != renewal.from
    }

    /// Whether this record says that the renewal has landed.
    fn has_landed(&self, renewal: Renewal, found: &Record) -> bool {
        let same = |landed: Renewal| landed.attempt == renewal.attempt || !self.has(Rule::Attempt);
        renewal.is_named
            && found
                .renewed
                .is_some_and(|landed| landed.from == renewal.from && same(landed))
    }
}

impl State {
    fn renew(&mut self, by: u8, is_named: bool) {
        self.renewals += 1;
        let attempt = self.renewals;
        let borrower = self.borrowers[by as usize].as_mut().expect("it has asked");
        let from = borrower.told.expect("it has not been refused");
        borrower.waiting = Some(Renewal {
            attempt,
            is_named,
            from,
        });
        self.ask(by);
    }

    /// A server reads the record for what this borrower waits for.
    fn ask(&mut self, by: u8) {
        let renewal = self.borrowers[by as usize].and_then(|it| it.waiting);
        self.asked.push(Asked {
            by,
            renewal: renewal.expect("it waits for a renewal"),
            found: self.record,
        });
        self.asked.sort_unstable();
    }

    fn write(&mut self, at: u8, more: u8, model: &Borrowers) -> Result<(), String> {
        let asked = self.asked.remove(at as usize);
        let Asked { by, renewal, found } = asked;
        if model.refuses(renewal, &found) {
            return self.refuse(by, renewal);
        }
        let landed = model.has_landed(renewal, &found);
        let until = found.until + if landed { 0 } else { more };
        let told = match renewal.is_named {
            true if model.has(Rule::Told) => renewal.from + 1,
            _ => found.version + 1,
        };
        if landed && !model.has(Rule::Kept) {
            return self.grant(by, renewal, (told, until));
        }
        if until as usize > TICKS {
            return Ok(());
        }
        if (found.copy, found.version) != (self.record.copy, self.record.version) {
            // Somebody was quicker: it looks again.
            let found = self.record;
            self.asked.push(Asked { found, ..asked });
            self.asked.sort_unstable();
            return Ok(());
        }
        self.record = Record {
            version: found.version + 1,
            until,
            renewed: renewal.is_named.then_some(renewal),
            ..found
        };
        match self.standby {
            None => self.grant(by, renewal, (told, until)),
            Some(_) => Ok(()),
        }
    }

    fn grant(&mut self, to: u8, renewal: Renewal, granted: (u8, u8)) -> Result<(), String> {
        let first = *self.granted[renewal.attempt as usize].get_or_insert(granted);
        if first != granted {
            return Err(format!("one renewal was answered {first:?} and {granted:?}"));
        }
        self.answer(to, renewal, Some(granted));
        Ok(())
    }

    /// A borrower that has no copy, waits still and is the holder is never refused, unless somebody's write was shown that
    /// was not kept.
    fn refuse(&mut self, to: u8, renewal: Renewal) -> Result<(), String> {
        let waits = self.borrowers[to as usize].is_some_and(|it| it.waiting == Some(renewal));
        let is_alone = self.borrowers[1].is_none() && self.record.copy == 0;
        if renewal.is_named && waits && self.record.is_lent && is_alone {
            return Err("the holder was refused, and nobody else had asked".into());
        }
        self.answer(to, renewal, None);
        Ok(())
    }

    fn answer(&mut self, to: u8, renewal: Renewal, granted: Option<(u8, u8)>) {
        let attempt = renewal.attempt;
        let answer = Answer { to, attempt, granted };
        if !self.answers.contains(&answer) {
            self.answers.push(answer);
            self.answers.sort_unstable();
        }
    }

    fn hear(&mut self, at: u8) {
        let answer = self.answers.remove(at as usize);
        let borrower = self.borrowers[answer.to as usize].as_mut().expect("it has asked");
        borrower.waiting = None;
        borrower.told = answer.granted.map(|(told, _)| told);
        if let Some((_, until)) = answer.granted {
            for given in &mut borrower.given[..until as usize] {
                given.get_or_insert(answer.attempt);
            }
        }
    }

    /// Uses the next tick. Copies may share what was lent or asked for before there were two of them, and nothing else.
    fn mint(&mut self, by: u8) -> Result<(), String> {
        let borrower = self.borrowers[by as usize].as_mut().expect("it mints");
        let tick = borrower.next;
        let given = borrower.given.get(tick as usize).copied().flatten();
        let (Some(under), Some(_)) = (given, borrower.told) else {
            return Ok(());
        };
        borrower.next += 1;
        self.note(tick, under)
    }

    fn note(&mut self, tick: u8, under: u8) -> Result<(), String> {
        let before = *self.used[tick as usize].get_or_insert(under);
        match before == under {
            true => Ok(()),
            false => Err(format!(
                "tick {tick} was used under renewals {before} and {under}"
            )),
        }
    }

    /// It begins at the stored end (W2), and uses a tick once its write was acknowledged.
    fn succeed(&mut self) -> Result<(), String> {
        let from = self.record.until;
        if !self.record.is_lent || from as usize >= TICKS {
            return Ok(());
        }
        self.record = Record {
            version: self.record.version + 1,
            until: from + 1,
            is_lent: false,
            renewed: None,
            ..self.record
        };
        match self.standby {
            None => self.note(from, SUCCESSOR),
            Some(_) => Ok(()),
        }
    }

    /// Drops what can make no difference any more: answers and refusals that nobody waits for.
    fn forget(&mut self, model: &Borrowers) {
        let borrowers = self.borrowers;
        let waits = |by: u8, attempt: u8| {
            let waiting = borrowers[by as usize].and_then(|it| it.waiting);
            waiting.is_some_and(|renewal| renewal.attempt == attempt)
        };
        self.answers.retain(|answer| waits(answer.to, answer.attempt));
        self.asked
            .retain(|it| waits(it.by, it.renewal.attempt) || !model.refuses(it.renewal, &it.found));
    }
}
