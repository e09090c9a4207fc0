//! A counter that is moved here and back (rules M1 to M4): one source, our record, two servers and two imports, each of
//! which may stop between any two of its deeds, for good or for as long as it likes.

use super::Rule;
use super::explore::Model;

/// Numbers that there are.
const NUMBERS: u8 = 4;
/// Imports that run at the same time.
const IMPORTS: usize = 2;
/// One shows what several do: what is in stock lies below the mark, whoever has it.
const SERVERS: usize = 1;

/// The model; `beside`: our servers take out of the source before the cut.
pub(super) struct Moves {
    pub(super) without: Option<Rule>,
    pub(super) beside: bool,
}

/// How far a move has come, as its record says.
#[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Debug)]
enum Phase {
    None,
    Beside,
    Fencing,
    Fenced,
    Open,
    Returning,
    Returned,
}

/// The register of the move.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
struct Record {
    phase: Phase,
    version: u8,
    /// The move's id.
    id: u8,
    /// A bit for the id of each move of this name before: an import that stood still may fence for one of them yet.
    former: u8,
    /// What the fence said.
    mark: u8,
}

/// What our sequence does.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
enum Ours {
    Sealed,
    Beside,
    Serves,
}

/// One import: what it has read, and how many of that phase's deeds it has done.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
struct Import {
    wants_back: bool,
    read: Record,
    deeds: u8,
    /// What the last deed said: the source's mark, or what ours had reserved.
    heard: u8,
}

/// One thing that an import does, at once or not at all.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Deed {
    TakeBeside,
    Seal,
    FenceAndReadMark,
    ReadMark,
    Fence,
    SetForward,
    Open,
    SealAndReadReserved,
    ReadReserved,
    Lift,
}

#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub(super) struct State {
    /// The next number of the source, and where its fence stands and whose it is.
    source: u8,
    fence: Option<(u8, u8)>,
    record: Record,
    ours: Ours,
    /// The next number of ours, and the version of the move that last wrote it.
    next: u8,
    stamp: u8,
    /// Numbers in stock: from, to.
    stocks: [Option<(u8, u8)>; SERVERS],
    imports: [Option<Import>; IMPORTS],
    /// A bit for each number that somebody was given.
    issued: u8,
    /// Ids of moves so far.
    ids: u8,
    /// How often an import may still begin.
    begins: u8,
}

#[derive(Clone, Debug)]
pub(super) enum Action {
    /// A client of the source asks it.
    SourceGives,
    /// A server reserves what our record or, beside, the source has.
    Reserve { server: u8, count: u8 },
    /// A server gives out the first number of its stock.
    Issue { server: u8 },
    /// A server follows, or ends: its stock is gone.
    Forget { server: u8 },
    /// Somebody runs the command.
    Begin { import: u8, back: bool },
    /// It does the next thing.
    Step { import: u8 },
    /// It is killed.
    Kill { import: u8 },
}

impl Moves {
    fn has(&self, rule: Rule) -> bool {
        self.without != Some(rule)
    }

    /// The phase that follows one whose deeds are done; `None`: the command is at its end.
    fn follows(&self, import: &Import) -> Option<Phase> {
        match (import.read.phase, import.wants_back) {
            (Phase::None | Phase::Returned, false) if self.beside => Some(Phase::Beside),
            (Phase::None | Phase::Returned | Phase::Beside, false) => Some(Phase::Fencing),
            (Phase::Fencing, false) => Some(Phase::Fenced),
            (Phase::Fenced, false) => Some(Phase::Open),
            (Phase::Fencing | Phase::Fenced | Phase::Open, true) => Some(Phase::Returning),
            (Phase::Returning, true) => Some(Phase::Returned),
            _ => None,
        }
    }

    /// What a phase means, in order.
    fn deeds(&self, phase: Phase) -> &'static [Deed] {
        match phase {
            Phase::None => &[],
            Phase::Beside => &[Deed::TakeBeside],
            Phase::Fencing if self.has(Rule::MoveMarkBehindFence) => &[Deed::Seal, Deed::FenceAndReadMark],
            Phase::Fencing => &[Deed::Seal, Deed::ReadMark, Deed::Fence],
            Phase::Fenced => &[Deed::SetForward],
            Phase::Open => &[Deed::Open],
            Phase::Returning if self.has(Rule::MoveSealedFirst) => &[Deed::SealAndReadReserved, Deed::Lift],
            Phase::Returning => &[Deed::ReadReserved, Deed::Seal, Deed::Lift],
            Phase::Returned => &[Deed::Seal],
        }
    }

    /// Whether the deeds of this phase are done before it is written.
    fn is_late(&self, phase: Phase) -> bool {
        match phase {
            Phase::Fencing => !self.has(Rule::MoveFencingFirst),
            Phase::Returning => !self.has(Rule::MoveReturningFirst),
            _ => false,
        }
    }

    /// The next deed of an import; `None`: the next phase is written, if there is one (rule M1).
    fn next_deed(&self, import: &Import) -> Option<Deed> {
        let own = match self.is_late(import.read.phase) {
            true => &[],
            false => self.deeds(import.read.phase),
        };
        let early = self.follows(import).filter(|phase| self.is_late(*phase));
        let early = early.map_or(&[][..], |phase| self.deeds(phase));
        own.iter().chain(early).nth(usize::from(import.deeds)).copied()
    }
}

impl Model for Moves {
    type State = State;
    type Action = Action;

    fn start(&self) -> State {
        State {
            source: 0,
            fence: None,
            record: Record {
                phase: Phase::None,
                version: 0,
                id: 0,
                former: 0,
                mark: 0,
            },
            ours: Ours::Sealed,
            next: 0,
            stamp: 0,
            stocks: [None; SERVERS],
            imports: [None; IMPORTS],
            issued: 0,
            ids: 0,
            begins: if self.beside { 3 } else { 4 },
        }
    }

    fn actions(&self, state: &State, into: &mut Vec<Action>) {
        into.push(Action::SourceGives);
        for (server, stock) in (0u8..).zip(&state.stocks) {
            match stock {
                Some(_) => into.extend([Action::Issue { server }, Action::Forget { server }]),
                None if state.ours != Ours::Sealed => {
                    into.extend([1, 2].map(|count| Action::Reserve { server, count }));
                }
                None => {}
            }
        }
        for (import, running) in (0u8..).zip(&state.imports) {
            match running {
                Some(_) => into.extend([Action::Step { import }, Action::Kill { import }]),
                None if state.begins > 0 => {
                    into.extend([false, true].map(|back| Action::Begin { import, back }));
                }
                None => {}
            }
        }
    }

    fn apply(&self, state: &State, action: &Action) -> Result<Option<State>, String> {
        let mut next = state.clone();
        match *action {
            Action::SourceGives => {
                if state.fence.is_some_and(|(end, _)| state.source >= end) || state.source == NUMBERS {
                    return Ok(None);
                }
                next.source += 1;
                next.give(state.source)?;
            }
            Action::Reserve { server, count } => {
                let at = match state.ours {
                    Ours::Beside => {
                        let end = state.fence.map_or(NUMBERS, |(end, _)| end);
                        if state.source + count > end.min(NUMBERS) {
                            return Ok(None);
                        }
                        &mut next.source
                    }
                    _ => &mut next.next,
                };
                if *at + count > NUMBERS {
                    return Ok(None);
                }
                let stock = (*at, *at + count);
                *at += count;
                next.stocks[usize::from(server)] = Some(stock);
            }
            Action::Issue { server } => {
                let stock = &mut next.stocks[usize::from(server)];
                let (from, to) = stock.expect("there is a stock");
                *stock = (from + 1 < to).then_some((from + 1, to));
                next.give(from)?;
            }
            Action::Forget { server } => next.stocks[usize::from(server)] = None,
            Action::Begin { import, back } => {
                next.begins -= 1;
                let mut read = state.record;
                if matches!(read.phase, Phase::None | Phase::Returned) && !back {
                    // A new move has an id of its own.
                    next.ids += 1;
                    read.former |= 1 << read.id;
                    read.id = next.ids;
                }
                next.imports[usize::from(import)] = Some(Import {
                    wants_back: back,
                    read,
                    deeds: 0,
                    heard: 0,
                });
            }
            Action::Step { import } => next.step(usize::from(import), self)?,
            Action::Kill { import } => next.imports[usize::from(import)] = None,
        }
        Ok((next != *state).then_some(next))
    }
}

impl State {
    fn give(&mut self, number: u8) -> Result<(), String> {
        let bit = 1 << number;
        if self.issued & bit != 0 {
            return Err(format!("number {number} twice"));
        }
        self.issued |= bit;
        Ok(())
    }

    /// The next deed of an import, or the writing of the next phase.
    fn step(&mut self, at: usize, model: &Moves) -> Result<(), String> {
        let import = self.imports[at].expect("it runs");
        match (model.next_deed(&import), model.follows(&import)) {
            (Some(deed), _) => self.deed(at, deed, model)?,
            (None, Some(phase)) => self.write(at, phase),
            (None, None) => self.imports[at] = None,
        }
        Ok(())
    }

    /// Writes the next phase by compare-and-set (rule M1).
    fn write(&mut self, at: usize, phase: Phase) {
        let import = self.imports[at].as_mut().expect("it runs");
        if self.record.version != import.read.version {
            // Another import was quicker.
            self.imports[at] = None;
            return;
        }
        self.record = Record {
            phase,
            version: self.record.version + 1,
            id: import.read.id,
            former: import.read.former,
            mark: import.heard,
        };
        *import = Import {
            read: self.record,
            deeds: 0,
            ..*import
        };
    }

    fn deed(&mut self, at: usize, deed: Deed, model: &Moves) -> Result<(), String> {
        let Import { read, heard, .. } = self.imports[at].expect("it runs");
        let version = read.version;
        let mut hears = heard;
        match deed {
            Deed::TakeBeside => self.change_ours(version, Ours::Beside, 0, model),
            Deed::Seal => self.change_ours(version, Ours::Sealed, 0, model),
            Deed::SetForward => self.change_ours(version, Ours::Sealed, read.mark, model),
            Deed::Open => self.change_ours(version, Ours::Serves, 0, model),
            Deed::SealAndReadReserved => {
                self.change_ours(version, Ours::Sealed, 0, model);
                hears = self.next;
            }
            Deed::ReadReserved => hears = self.next,
            Deed::ReadMark => hears = self.source,
            Deed::Fence => self.build_fence(read, heard)?,
            Deed::FenceAndReadMark => {
                self.build_fence(read, self.source)?;
                hears = self.fence.map_or(heard, |(end, _)| end);
            }
            Deed::Lift => self.lift_fence(read.id, heard),
        }
        let import = self.imports[at].as_mut().expect("it runs");
        (import.deeds, import.heard) = (import.deeds + 1, hears);
        Ok(())
    }

    /// Our record is written only by a move that is not older than the one that wrote it last (rule M3), and only forward.
    fn change_ours(&mut self, version: u8, ours: Ours, mark: u8, model: &Moves) {
        if version < self.stamp && model.has(Rule::MoveStamp) {
            return;
        }
        self.stamp = self.stamp.max(version);
        self.ours = ours;
        self.next = self.next.max(mark);
    }

    /// The fence of an earlier move of this name is taken over, somebody else's is left alone; one that no record and no
    /// import knows can never be lifted.
    fn build_fence(&mut self, read: Record, end: u8) -> Result<(), String> {
        match self.fence {
            None => self.fence = Some((end, read.id)),
            Some((_, of)) if of == read.id => {}
            Some((end, of)) if read.former & 1 << of != 0 => self.fence = Some((end, read.id)),
            Some((_, of)) => {
                let known = |record: Record| record.id == of || record.former & 1 << of != 0;
                let mut running = self.imports.iter().flatten();
                if !known(self.record) && !running.any(|import| known(import.read)) {
                    return Err("a fence stands that no record knows".into());
                }
            }
        }
        Ok(())
    }

    /// The source goes on above all that was reserved here (rule M4).
    fn lift_fence(&mut self, id: u8, reserved: u8) {
        if self.fence.is_some_and(|(_, of)| of == id) {
            self.source = self.source.max(reserved);
            self.fence = None;
        }
    }
}
