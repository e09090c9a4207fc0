//! The driver of phases: takes one move from where it stands to where it shall be.
//!
//! A phase is written before its deeds (protocol M1), and the deeds of the phase that was found are done again on
//! every run. So the driver keeps nothing in memory that a later run would need: dropped anywhere, it is called again
//! and goes on.

use std::time::Duration;

use super::drive_error::DriveError;
use super::goal::Goal;
use super::masters::{Master, that_meet};
use super::ours::{Ours, OursError, Stepped, VersionedMove};
use super::plan::first_number;
use super::record::{FORMER_MAX, Move, Phase};
use crate::name::Name;
use crate::runtime::Runtime;
use crate::source::{Counter, Fence, Fenced, MoveId, Note, Source, SourceError, SourceErrorKind, Way};
use crate::store::{Class, Outcome};

/// How often a call to the source whose answer was lost is made again.
pub(super) const TRIES: u32 = 5;
/// Between two tries, and between two looks at servers that do not follow yet.
pub(super) const PAUSE: Duration = Duration::from_millis(20);

/// After so long a fence that failed is not tried again in the same run.
const FENCE_PATIENCE: Duration = Duration::from_secs(1);

/// What a driver may be told.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct DriveSettings {
    /// How long servers may take to follow before the driver gives up; the move then stands where it is.
    pub follow: Duration,
    /// Whether a name that is used here already is taken over, if the definition fits.
    pub into_used: bool,
}

impl Default for DriveSettings {
    /// Half a minute, and no name that is in use.
    fn default() -> DriveSettings {
        DriveSettings {
            follow: Duration::from_secs(30),
            into_used: false,
        }
    }
}

/// What a run came to.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Driven {
    /// The move as it stands.
    pub now: VersionedMove,
    /// From the moment that clients were refused to the moment that one side served again, in this run; `None`: nothing
    /// was refused.
    pub refused_for: Option<Duration>,
}

/// Where a counter is.
#[derive(Clone, Copy)]
pub struct At<'a> {
    /// The source that has it.
    pub source: &'a dyn Source,
    /// What the configuration calls that: the record of a move beside has this instead of its place.
    pub called: Option<&'a str>,
}

impl At<'_> {
    /// Whether a record means this place.
    pub(super) fn is(&self, source: &str) -> bool {
        self.source.place() == source || self.called == Some(source)
    }
}

/// Drives the move of one counter, or of several that gave out the numbers together.
#[derive(Clone, Copy)]
pub struct Driver<'a> {
    /// Where the counters are.
    pub there: &'a [At<'a>],
    /// Where it goes.
    pub ours: &'a dyn Ours,
    /// Clocks and randomness.
    pub runtime: &'a dyn Runtime,
    /// Its settings.
    pub settings: DriveSettings,
}

impl Driver<'_> {
    /// Brings the move of `name` to `goal`. `planned` is the record that a new move begins with (its phase is not
    /// looked at); a move that is under way goes on with its own record.
    ///
    /// # Errors
    /// [`DriveError`]: what stands, and what the same command does when it is run again.
    pub async fn run(&self, name: &Name, planned: &Move, goal: Goal) -> Result<Driven, DriveError> {
        let mut refusing = Refusing::default();
        let mut now = match self.read(name).await? {
            Some(found) => {
                let found = self.begin_again(name, found, planned, goal).await?;
                self.advanced(name, found, planned.advance, goal).await?
            }
            None if goal == Goal::Back => return Err(DriveError::nothing(name)),
            None => self.write(name, None, &self.fresh(planned)).await?.now,
        };
        loop {
            let record = &now.record;
            self.check_is_of(name, record, planned)?;
            now = match (record.phase, goal) {
                (Phase::Planned, Goal::Back) => return Err(DriveError::nothing(name)),
                (Phase::Planned, Goal::Beside) => self.go_beside(name, &now).await?,
                (Phase::Beside, Goal::Beside) => {
                    self.let_serve(name, &now).await?;
                    self.same(name, &now).await?.now
                }
                (Phase::Planned | Phase::Beside, Goal::Open { ceiling }) => {
                    refusing.begin(self.runtime);
                    self.begin_fencing(name, &now, ceiling).await?
                }
                (Phase::Fencing, Goal::Open { .. }) => {
                    refusing.begin(self.runtime);
                    self.fence(name, &now).await?
                }
                (Phase::Fenced, Goal::Open { .. }) => self.open(name, &now).await?,
                (Phase::Open, Goal::Open { ceiling: None }) if record.ceiling.is_some() => {
                    // A ceiling ends in a cut: the source is stopped where it stands, ours serves above the ceiling
                    // anyhow.
                    self.end_ceiling(name, &now).await?
                }
                (Phase::Open, Goal::Open { .. }) => {
                    self.check_stand(name, record).await?;
                    self.same(name, &now).await?.now
                }
                (Phase::Returning | Phase::Returned, Goal::Back) => {
                    self.check_same_way(name, record, planned)?;
                    match record.phase {
                        Phase::Returning => self.give_back(name, &now).await?,
                        _ => self.stay_back(name, &now).await?,
                    }
                }
                (_, Goal::Back) => {
                    let next = self.returning(name, &now, planned).await?;
                    self.check_fits(name, &now, &next).await?;
                    refusing.begin(self.runtime);
                    self.write(name, Some(now.version), &next).await?.now
                }
                (phase, goal) => return Err(DriveError::not_from(name, phase, goal)),
            };
            if goal.is_reached(&now.record) {
                let refused_for = refusing.end(self.runtime);
                return Ok(Driven { now, refused_for });
            }
        }
    }

    /// A move that was taken back begins anew, with an id of its own; so does one whose ceiling is chosen again
    /// before the fence stands. One that nothing was done of yet is planned again. The old id is remembered: an
    /// import that stood still may build its fence yet.
    async fn begin_again(
        &self,
        name: &Name,
        found: VersionedMove,
        planned: &Move,
        goal: Goal,
    ) -> Result<VersionedMove, DriveError> {
        self.check_is_of(name, &found.record, planned)?;
        let is_anew = match (found.record.phase, goal) {
            (Phase::Returned, Goal::Beside | Goal::Open { .. }) => true,
            // Nothing is done yet: what it counts like is of the way that was meant then.
            (Phase::Planned, Goal::Beside | Goal::Open { .. }) => {
                found.record.definition != planned.definition
            }
            (
                Phase::Fencing,
                Goal::Open {
                    ceiling: Some(ceiling),
                },
            ) => {
                // Of several one may have passed it, and others may stop there yet: their fences are taken over.
                let counters = found.record.counters();
                found.record.ceiling.is_some_and(|was| was != ceiling)
                    && self.standing(&found.record, &counters).await?.len() < counters.len()
            }
            _ => false,
        };
        if !is_anew {
            return Ok(found);
        }
        let mut next = self.fresh(planned);
        next.former = found.record.former.clone();
        match found.record.phase {
            Phase::Planned => next.id = found.record.id,
            _ => next.former.push(found.record.id),
        }
        let surplus = next.former.len().saturating_sub(FORMER_MAX);
        next.former.drain(..surplus);
        // A late fence of the old id may stand already: then the source shows the fence's bounds, not its own.
        let known = found.record.counters();
        let mut is_any_fenced = false;
        for (at, counter) in next.counters().iter().enumerate() {
            let Some(known) = known.iter().find(|known| self.is_same(known, counter)) else {
                continue;
            };
            let fence = self.look(counter).await?.fence;
            if fence == Fence::None {
                continue;
            }
            is_any_fenced = true;
            let kept = found.record.fence_kept(known);
            if let Some(id) = kept.filter(|id| fence.may_be_of(*id)) {
                next.set_fenced_by(at, id);
            }
            next.set_as_known(at, known);
        }
        if goal == Goal::Beside {
            self.check_may_stand_beside(name, &next)?;
        }
        if is_any_fenced {
            let (before, own) = (&found.record.definition, &mut next.definition);
            (own.min, own.max) = (before.min, before.max);
            next.count_as_masters(goal == Goal::Beside);
        }
        Ok(self.write(name, Some(found.version), &next).await?.now)
    }

    /// The move with as large an advance as this command gives. Before it is fenced a fence of its own shows that this
    /// store was set back: what was given out since then is nowhere but in the command.
    async fn advanced(
        &self,
        name: &Name,
        found: VersionedMove,
        advance: u64,
        goal: Goal,
    ) -> Result<VersionedMove, DriveError> {
        let (record, opens) = (&found.record, matches!(goal, Goal::Open { .. }));
        let is_before_fence = record.phase < Phase::Fencing && goal != Goal::Beside;
        if is_before_fence && !(opens && advance > 0) {
            for counter in record.counters() {
                // A fence that names no move is taken for its own: at worst an advance is asked for that is not needed.
                let fence = self.check(&counter, record.id).await?;
                let is_own = match fence {
                    Fence::Ours { id, .. } => id.is_none_or(|id| id == record.id),
                    Fence::Broken { id, .. } => id == Some(record.id),
                    Fence::None => false,
                };
                if is_own && counter.fenced_by.is_none() {
                    return Err(DriveError::set_back(name, record.phase));
                }
            }
        }
        if !opens || record.phase > Phase::Fenced || advance <= record.advance {
            return Ok(found);
        }
        let mut next = self.at_phase(record, record.phase);
        next.advance = advance;
        if let Some(mark) = record.mark.filter(|_| record.phase == Phase::Fenced) {
            let first = first_number(&record.definition, mark, record.highest, advance);
            let first = first.map_err(|why| DriveError::refused(name, &found, why))?;
            next.first = record.furthest([Some(first), record.first].into_iter().flatten());
        }
        Ok(self.write(name, Some(found.version), &next).await?.now)
    }

    /// The record of a move that has not begun.
    fn fresh(&self, planned: &Move) -> Move {
        let mut masters = planned.masters.clone();
        masters.iter_mut().for_each(|master| master.mark = None);
        Move {
            phase: Phase::Planned,
            masters,
            back_to: None,
            mark: None,
            first: None,
            highest: None,
            issued: None,
            former: Vec::new(),
            at_ms: self.at_ms(),
            ..planned.clone()
        }
    }

    /// Beside, all of them serve: not those that could give out the same numbers, nor one whose fence keeps it from
    /// that.
    fn check_may_stand_beside(&self, name: &Name, record: &Move) -> Result<(), DriveError> {
        if let Some((one, other)) = that_meet(&record.masters) {
            return Err(DriveError::not_beside(name, one, other));
        }
        match record.masters.iter().find(|master| master.fenced_by.is_some()) {
            Some(kept) => Err(DriveError::kept(name, kept)),
            None => Ok(()),
        }
    }

    async fn go_beside(&self, name: &Name, now: &VersionedMove) -> Result<VersionedMove, DriveError> {
        self.check_may_stand_beside(name, &now.record)?;
        for counter in now.record.counters() {
            let durability = self.source(&counter)?.durability().await;
            let durability = durability.map_err(|e| DriveError::source(name, now, e))?;
            if durability.class == Class::Lossy {
                return Err(DriveError::lossy(name, &durability));
            }
        }
        self.let_serve(name, now).await?;
        Ok(self.write_phase(name, now, Phase::Beside).await?.now)
    }

    /// Takes away what imports that stood still have built for earlier moves: beside, every source serves.
    async fn let_serve(&self, name: &Name, now: &VersionedMove) -> Result<(), DriveError> {
        for counter in now.record.counters() {
            if let Some(of) = self.former_fence(&now.record, &counter).await? {
                self.lift_late(name, now, &counter, of).await?;
            }
        }
        Ok(())
    }

    /// Writes that the source is being fenced, with what lifting will put back, before anything is done (protocol M1).
    async fn begin_fencing(
        &self,
        name: &Name,
        now: &VersionedMove,
        ceiling: Option<i64>,
    ) -> Result<VersionedMove, DriveError> {
        let way = ceiling.map_or(Way::Cut, |ceiling| Way::Ceiling(ceiling.into()));
        let mut next = self.at_phase(&now.record, Phase::Fencing);
        next.ceiling = ceiling;
        // From the last line on ours is refused: what an account may not do, and who is away, is said before.
        for (at, counter) in now.record.counters().iter().enumerate() {
            let shown = self.look(counter).await?;
            let lacking = self.source(counter)?.rights(&counter.key, way).await;
            let lacking = lacking.map_err(DriveError::look)?;
            if !lacking.is_empty() {
                return Err(DriveError::lacking(name, &lacking));
            }
            if shown.fence == Fence::None {
                next.set_before(at, shown.before);
            }
        }
        Ok(self.write(name, Some(now.version), &next).await?.now)
    }

    /// The deeds of `fencing`: ours is sealed everywhere, then the sources are fenced, one after the other; what is
    /// written next are the marks that the fences' own transactions read (protocol M2). Killed between two of them,
    /// ours is sealed: the same command finds the fences that stand.
    async fn fence(&self, name: &Name, now: &VersionedMove) -> Result<VersionedMove, DriveError> {
        let sealed = self.sealed(name, now).await?;
        let now = sealed.now;
        let record = &now.record;
        let mut next = self.at_phase(record, Phase::Fenced);
        next.highest = None;
        for (at, counter) in record.counters().iter().enumerate() {
            let fenced = self.fence_source(name, &now, counter).await?;
            next.set_mark(at, DriveError::in_range(name, fenced.mark)?);
            // Rows below the mark that commit later cannot raise this; explicit numbers above the mark do.
            if let Some(highest) = self.look(counter).await?.highest() {
                let highest = DriveError::in_range(name, highest)?;
                next.highest = record.furthest([next.highest, Some(highest)].into_iter().flatten());
            }
        }
        let mark = next.mark.expect("a move has a counter");
        let first = first_number(
            &record.definition,
            mark,
            next.given_out(sealed.reserved),
            record.advance,
        );
        next.first = Some(first.map_err(|why| DriveError::refused(name, &now, why))?);
        Ok(self.write(name, Some(now.version), &next).await?.now)
    }

    async fn open(&self, name: &Name, now: &VersionedMove) -> Result<VersionedMove, DriveError> {
        let done = self.same(name, now).await?.now;
        Ok(self.write_phase(name, &done, Phase::Open).await?.now)
    }

    /// The way and the note stay those of the ceiling: the same move, so the fence knows it again.
    async fn end_ceiling(&self, name: &Name, now: &VersionedMove) -> Result<VersionedMove, DriveError> {
        let mut next = self.at_phase(&now.record, Phase::Open);
        next.ceiling = None;
        for (at, counter) in now.record.counters().iter().enumerate() {
            let note = counter.note(now.record.id);
            let fenced = self.fence_once(counter, Way::Cut, &note).await;
            let fenced = fenced.map_err(|e| DriveError::source(name, now, e))?;
            next.set_mark(at, DriveError::in_range(name, fenced.mark)?);
        }
        Ok(self.write(name, Some(now.version), &next).await?.now)
    }

    /// Fences one source for this move. A fence of an earlier move of the same name, built by an import that stood
    /// still, is taken over.
    async fn fence_source(
        &self,
        name: &Name,
        now: &VersionedMove,
        counter: &Master,
    ) -> Result<Fenced, DriveError> {
        let record = &now.record;
        let way = record
            .ceiling
            .map_or(Way::Cut, |ceiling| Way::Ceiling(ceiling.into()));
        let note = counter.note(record.id);
        for _ in 0..TRIES {
            let error = match self.fence_once(counter, way, &note).await {
                Ok(fenced) => return Ok(fenced),
                Err(error) => error,
            };
            let former = match error.kind {
                SourceErrorKind::Foreign => self.former_fence(record, counter).await?,
                _ => None,
            };
            let Some(of) = former else {
                return Err(DriveError::source(name, now, error).with_way_without(record));
            };
            self.lift_late(name, now, counter, of).await?;
        }
        let kept = SourceError::new(
            SourceErrorKind::Foreign,
            "other imports keep building their fences there",
        );
        Err(DriveError::source(name, now, kept))
    }

    /// Lifts the fence that an earlier move of the name has left, where that counter was.
    async fn lift_late(
        &self,
        name: &Name,
        now: &VersionedMove,
        counter: &Master,
        of: MoveId,
    ) -> Result<(), DriveError> {
        let late = Note {
            id: of,
            ..counter.note(of)
        };
        let lifted = self.source(counter)?.lift(&counter.key, &late, None).await;
        lifted.map_err(|e| DriveError::source(name, now, e))
    }

    /// A lost answer is resolved by asking again: a second fence of the same move answers the same mark.
    async fn fence_once(&self, counter: &Master, way: Way, note: &Note) -> Result<Fenced, SourceError> {
        let source = self.source(counter).map_err(|error| {
            // Whoever comes here has looked at it before.
            SourceError::new(SourceErrorKind::Invalid, error.message)
        })?;
        let (begun, mut tries) = (self.runtime.boottime(), 0);
        loop {
            match source.fence(&counter.key, way, note).await {
                // Who has waited for locks until its time was over has held up the source's own clients for as long:
                // that is not done again and again.
                Err(error) if is_again(&error, tries) && self.runtime.boottime() - begun < FENCE_PATIENCE => {
                    tries += 1;
                }
                answer => return answer,
            }
            self.runtime.sleep(PAUSE).await;
        }
    }

    pub(super) async fn former_fence(
        &self,
        record: &Move,
        counter: &Master,
    ) -> Result<Option<MoveId>, DriveError> {
        let of = self.fence_of(record, counter).await?;
        Ok(of.filter(|of| record.former.contains(of)))
    }

    /// The move whose fence stands at a source.
    async fn fence_of(&self, record: &Move, counter: &Master) -> Result<Option<MoveId>, DriveError> {
        Ok(match self.check(counter, record.id).await? {
            Fence::Ours { id, .. } | Fence::Broken { id, .. } => id,
            Fence::None => None,
        })
    }

    /// Whether any fence of ours stands at a source.
    pub(super) async fn stands(&self, record: &Move, counter: &Master) -> Result<bool, DriveError> {
        Ok(self.check(counter, record.id).await? != Fence::None)
    }

    pub(super) async fn check(&self, counter: &Master, id: MoveId) -> Result<Fence, DriveError> {
        let note = counter.note(id);
        let check = self.source(counter)?.check(&counter.key, &note).await;
        check.map_err(DriveError::look)
    }

    /// Those of the counters at which a fence stands.
    pub(super) async fn standing(
        &self,
        record: &Move,
        counters: &[Master],
    ) -> Result<Vec<Master>, DriveError> {
        let mut standing = Vec::new();
        for counter in counters {
            if self.stands(record, counter).await? {
                standing.push(counter.clone());
            }
        }
        Ok(standing)
    }

    /// Every one of them, once ours serves: one that was taken away lets a source give out our numbers.
    async fn check_stand(&self, name: &Name, record: &Move) -> Result<(), DriveError> {
        for counter in record.counters() {
            if !self.stands(record, &counter).await? {
                let at = (!record.masters.is_empty()).then_some(counter.source.as_str());
                return Err(DriveError::unfenced(name, at));
            }
        }
        Ok(())
    }

    pub(super) async fn look(&self, counter: &Master) -> Result<Counter, DriveError> {
        let source = self.source(counter)?;
        let found = source.look(&counter.key).await.map_err(DriveError::look)?;
        found.ok_or_else(|| DriveError::gone(&counter.key, &source.place()))
    }

    /// Where a counter is.
    pub(super) fn source(&self, counter: &Master) -> Result<&dyn Source, DriveError> {
        let at = self.there.iter().find(|at| at.is(&counter.source));
        at.map(|at| at.source)
            .ok_or_else(|| DriveError::not_named(&counter.key, &counter.source))
    }

    /// Does the deeds again until no server is behind: before that the source is not touched.
    pub(super) async fn sealed(&self, name: &Name, now: &VersionedMove) -> Result<Stepped, DriveError> {
        let until = self.runtime.boottime() + self.settings.follow;
        loop {
            let stepped = self.same(name, now).await?;
            if stepped.pending.is_empty() {
                return Ok(stepped);
            }
            if self.runtime.boottime() >= until {
                return Err(DriveError::behind(name, &stepped, self.settings.follow));
            }
            self.runtime.sleep(PAUSE).await;
        }
    }

    /// The deeds of the phase that stands, again.
    pub(super) async fn same(&self, name: &Name, now: &VersionedMove) -> Result<Stepped, DriveError> {
        self.write(name, Some(now.version), &now.record).await
    }

    pub(super) async fn write_phase(
        &self,
        name: &Name,
        now: &VersionedMove,
        phase: Phase,
    ) -> Result<Stepped, DriveError> {
        self.write(name, Some(now.version), &self.at_phase(&now.record, phase))
            .await
    }

    pub(super) fn at_phase(&self, record: &Move, phase: Phase) -> Move {
        Move {
            phase,
            at_ms: self.at_ms(),
            ..record.clone()
        }
    }

    fn at_ms(&self) -> u64 {
        u64::try_from(self.runtime.wall().unix_millis()).unwrap_or(0)
    }

    /// One step on our side. Where the answer was lost, the register tells what happened: if it holds what was to be
    /// written, the step's deeds are done again from there.
    pub(super) async fn write(
        &self,
        name: &Name,
        expected: Option<u64>,
        next: &Move,
    ) -> Result<Stepped, DriveError> {
        let into_used = self.settings.into_used;
        let (mut expected, mut tries) = (expected, 0);
        loop {
            let error = match self.ours.step(name, expected, next, into_used).await {
                Ok(stepped) => return Ok(stepped),
                Err(error) => error,
            };
            let found = match error {
                OursError::Lost(found) => found.map(|found| *found),
                OursError::InUse(why) => return Err(DriveError::in_use(name, why)),
                // Whether it was written is not known: look, and let compare-and-set decide again.
                OursError::Refused { .. } if tries < TRIES => {
                    tries += 1;
                    self.runtime.sleep(PAUSE).await;
                    match self.ours.read(name).await {
                        Ok(found) if found.as_ref().map(|found| found.version) == expected => continue,
                        Ok(found) => found,
                        Err(_) => continue,
                    }
                }
                OursError::Refused { message, hint } => return Err(DriveError::ours(name, message, hint)),
            };
            match found {
                Some(found) if found.record == *next && expected != Some(found.version) => {
                    expected = Some(found.version);
                }
                found => return Err(DriveError::lost(name, found.as_ref())),
            }
        }
    }

    async fn read(&self, name: &Name) -> Result<Option<VersionedMove>, DriveError> {
        let mut tries = 0;
        loop {
            match self.ours.read(name).await {
                Ok(found) => return Ok(found),
                Err(_) if tries < TRIES => tries += 1,
                Err(OursError::Refused { message, hint }) => {
                    return Err(DriveError::ours(name, message, hint));
                }
                Err(error) => return Err(DriveError::ours(name, error.to_string(), None)),
            }
            self.runtime.sleep(PAUSE).await;
        }
    }

    /// A name that belongs to another counter is not touched. One that was taken back may come again with more masters.
    fn check_is_of(&self, name: &Name, found: &Move, planned: &Move) -> Result<(), DriveError> {
        let (known, asked) = (found.counters(), planned.counters());
        let is_asked = |one: &Master| asked.iter().any(|other| self.is_same(one, other));
        let may_grow = found.phase == Phase::Returned && known.len() <= asked.len();
        let is_whole = known.len() == asked.len() || may_grow;
        match is_whole && found.kind == planned.kind && known.iter().all(is_asked) {
            true => Ok(()),
            false => Err(DriveError::other_counter(name, found)),
        }
    }

    /// Whether both are the same counter, however their source is named.
    fn is_same(&self, one: &Master, other: &Master) -> bool {
        let is_there =
            |at: &At<'_>| at.is(&one.source) && (at.is(&other.source) || one.source == other.source);
        one.key == other.key && (one.source == other.source || self.there.iter().any(is_there))
    }
}

/// Whether the call may be made again at once: every call of the driver is one that may.
pub(super) fn is_again(error: &SourceError, tries: u32) -> bool {
    let may_pass = error.kind == SourceErrorKind::Unavailable || error.outcome == Outcome::Unknown;
    may_pass && tries < TRIES
}

/// Measures how long clients are refused.
#[derive(Default)]
struct Refusing(Option<Duration>);

impl Refusing {
    fn begin(&mut self, runtime: &dyn Runtime) {
        self.0.get_or_insert_with(|| runtime.boottime());
    }

    fn end(self, runtime: &dyn Runtime) -> Option<Duration> {
        self.0.map(|since| runtime.boottime().saturating_sub(since))
    }
}
