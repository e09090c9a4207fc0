//! The driver of phases: takes one move from where it stands to where it shall be.
//!
//! A phase is written before its deeds (protocol M1), and the deeds of the phase that was found are done again on every
//! run. So the driver keeps nothing in memory that a later run would need: dropped anywhere, it is called again and goes on.

use std::time::Duration;

use super::drive_error::DriveError;
use super::goal::Goal;
use super::ours::{Ours, OursError, Stepped, VersionedMove};
use super::plan::first_number;
use super::record::{FORMER_MAX, Move, Phase};
use crate::name::Name;
use crate::runtime::Runtime;
use crate::source::{Counter, Fence, Fenced, MoveId, Note, Source, SourceError, SourceErrorKind, Way};
use crate::store::{Class, Outcome};

/// How often a call to the source whose answer was lost is made again.
const TRIES: u32 = 5;
/// Between two tries, and between two looks at servers that do not follow yet.
const PAUSE: Duration = Duration::from_millis(20);

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

/// Drives the move of one counter.
#[derive(Clone, Copy)]
pub struct Driver<'a> {
    /// Where the counter is.
    pub source: &'a dyn Source,
    /// What the configuration calls that: the record of a move beside has this instead of its place.
    pub called: Option<&'a str>,
    /// Where it goes.
    pub ours: &'a dyn Ours,
    /// Clocks and randomness.
    pub runtime: &'a dyn Runtime,
    /// Its settings.
    pub settings: DriveSettings,
}

impl Driver<'_> {
    /// Brings the move of `name` to `goal`. `planned` is the record that a new move begins with (its phase is not looked
    /// at); a move that is under way goes on with its own record.
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
                (Phase::Beside, Goal::Beside) => self.same(name, &now).await?.now,
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
                    // A ceiling ends in a cut: the source is stopped where it stands, ours serves above the ceiling anyhow.
                    self.end_ceiling(name, &now).await?
                }
                (Phase::Open, Goal::Open { .. }) => {
                    if !self.stands(record).await? {
                        return Err(DriveError::unfenced(name));
                    }
                    self.same(name, &now).await?.now
                }
                (Phase::Returning, Goal::Back) => self.give_back(name, &now).await?,
                (Phase::Returned, Goal::Back) => self.stay_back(name, &now).await?,
                (_, Goal::Back) => {
                    self.check_fits(name, &now).await?;
                    refusing.begin(self.runtime);
                    self.write_phase(name, &now, Phase::Returning).await?.now
                }
                (phase, goal) => return Err(DriveError::not_from(name, phase, goal)),
            };
            if goal.is_reached(&now.record) {
                let refused_for = refusing.end(self.runtime);
                return Ok(Driven { now, refused_for });
            }
        }
    }

    /// A move that was taken back begins anew, with an id of its own; so does one whose ceiling is chosen again before the
    /// fence stands. The old id is remembered: an import that stood still may build its fence yet.
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
            (
                Phase::Fencing,
                Goal::Open {
                    ceiling: Some(ceiling),
                },
            ) => {
                found.record.ceiling.is_some_and(|was| was != ceiling) && !self.stands(&found.record).await?
            }
            _ => false,
        };
        if !is_anew {
            return Ok(found);
        }
        let mut next = self.fresh(planned);
        next.former = found.record.former.clone();
        next.former.push(found.record.id);
        let surplus = next.former.len().saturating_sub(FORMER_MAX);
        next.former.drain(..surplus);
        // A late fence of the old id may stand already: then the source shows the fence's bounds, not its own.
        if self.look(&found.record.key).await?.fence != Fence::None {
            next.before = found.record.before.clone();
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
        if is_before_fence && !(opens && advance > 0) && self.fence_of(record).await? == Some(record.id) {
            return Err(DriveError::set_back(name, record.phase));
        }
        if !opens || record.phase > Phase::Fenced || advance <= record.advance {
            return Ok(found);
        }
        let mut next = self.at_phase(record, record.phase);
        next.advance = advance;
        if let Some(mark) = record.mark.filter(|_| record.phase == Phase::Fenced) {
            let first = first_number(&record.definition, mark, record.highest, advance);
            next.first = Some(first.map_err(|why| DriveError::refused(name, &found, why))?);
        }
        Ok(self.write(name, Some(found.version), &next).await?.now)
    }

    /// The record of a move that has not begun.
    fn fresh(&self, planned: &Move) -> Move {
        Move {
            phase: Phase::Planned,
            mark: None,
            first: None,
            highest: None,
            issued: None,
            former: Vec::new(),
            at_ms: self.at_ms(),
            ..planned.clone()
        }
    }

    async fn go_beside(&self, name: &Name, now: &VersionedMove) -> Result<VersionedMove, DriveError> {
        let durability = self
            .source
            .durability()
            .await
            .map_err(|e| DriveError::source(name, now, e))?;
        if durability.class == Class::Lossy {
            return Err(DriveError::lossy(name, &durability));
        }
        Ok(self.write_phase(name, now, Phase::Beside).await?.now)
    }

    /// Writes that the source is being fenced, with what lifting will put back, before anything is done (protocol M1).
    async fn begin_fencing(
        &self,
        name: &Name,
        now: &VersionedMove,
        ceiling: Option<i64>,
    ) -> Result<VersionedMove, DriveError> {
        let key = &now.record.key;
        let counter = self.look(key).await?;
        // From the next line on ours is refused: what the account may not do is said before.
        let way = ceiling.map_or(Way::Cut, |ceiling| Way::Ceiling(ceiling.into()));
        let lacking = self.source.rights(key, way).await.map_err(DriveError::look)?;
        if !lacking.is_empty() {
            return Err(DriveError::lacking(name, &lacking));
        }
        let mut next = self.at_phase(&now.record, Phase::Fencing);
        next.ceiling = ceiling;
        if counter.fence == Fence::None {
            next.before = counter.before;
        }
        Ok(self.write(name, Some(now.version), &next).await?.now)
    }

    /// The deeds of `fencing`: ours is sealed everywhere, then the source is fenced; what is written next is the mark that
    /// the fence's own transaction read (protocol M2).
    async fn fence(&self, name: &Name, now: &VersionedMove) -> Result<VersionedMove, DriveError> {
        let now = self.sealed(name, now).await?.now;
        let record = &now.record;
        let fenced = self.fence_source(name, &now).await?;
        let mark = DriveError::in_range(name, fenced.mark)?;
        // Rows below the mark that commit later cannot raise this; explicit numbers above the mark do.
        let highest = self.look(&record.key).await?.highest();
        let highest = highest
            .map(|highest| DriveError::in_range(name, highest))
            .transpose()?;
        let first = first_number(&record.definition, mark, highest, record.advance)
            .map_err(|why| DriveError::refused(name, &now, why))?;
        let mut next = self.at_phase(record, Phase::Fenced);
        (next.mark, next.first, next.highest) = (Some(mark), Some(first), highest);
        Ok(self.write(name, Some(now.version), &next).await?.now)
    }

    async fn open(&self, name: &Name, now: &VersionedMove) -> Result<VersionedMove, DriveError> {
        let done = self.same(name, now).await?.now;
        Ok(self.write_phase(name, &done, Phase::Open).await?.now)
    }

    /// The way and the note stay those of the ceiling: the same move, so the fence knows it again.
    async fn end_ceiling(&self, name: &Name, now: &VersionedMove) -> Result<VersionedMove, DriveError> {
        let note = note_of(&now.record, now.record.id);
        let fenced = self
            .fence_once(&now.record.key, Way::Cut, &note)
            .await
            .map_err(|e| DriveError::source(name, now, e))?;
        let mut next = self.at_phase(&now.record, Phase::Open);
        (next.ceiling, next.mark) = (None, Some(DriveError::in_range(name, fenced.mark)?));
        Ok(self.write(name, Some(now.version), &next).await?.now)
    }

    /// Before anything is sealed: whether the source answers, and can go on above what was given out here. What is given
    /// out until it is sealed may still pass its end; then the lift says so.
    async fn check_fits(&self, name: &Name, now: &VersionedMove) -> Result<(), DriveError> {
        self.look(&now.record.key).await?;
        if matches!(now.record.phase, Phase::Fenced | Phase::Open) {
            // What built the fence takes it away. A source that cannot tell is asked by the lift itself.
            let lacking = self.source.rights(&now.record.key, Way::Cut).await;
            if let Ok(lacking) = lacking
                && !lacking.is_empty()
            {
                return Err(DriveError::lacking(name, &lacking));
            }
        }
        let of = &now.record.definition;
        let reserved = given_out(&now.record, self.same(name, now).await?.reserved);
        match reserved.filter(|number| !(of.min..=of.max).contains(number)) {
            None => Ok(()),
            Some(number) => Err(DriveError::beyond(name, number, of)),
        }
    }

    /// The deeds of `returning`: ours is sealed everywhere; then what it ever reserved is read and written down, and only
    /// then the source goes on above that (protocol M4).
    async fn give_back(&self, name: &Name, now: &VersionedMove) -> Result<VersionedMove, DriveError> {
        let sealed = self.sealed(name, now).await?;
        let mut now = sealed.now;
        let issued = given_out(&now.record, sealed.reserved);
        if now.record.issued != issued {
            let mut next = self.at_phase(&now.record, Phase::Returning);
            next.issued = issued;
            now = self.write(name, Some(now.version), &next).await?.now;
        }
        self.lift(name, &now).await?;
        Ok(self.write_phase(name, &now, Phase::Returned).await?.now)
    }

    /// An import that stood still may have built its fence after the move was taken back: it is lifted again.
    async fn stay_back(&self, name: &Name, now: &VersionedMove) -> Result<VersionedMove, DriveError> {
        if self.stands(&now.record).await? {
            self.lift(name, now).await?;
        }
        Ok(self.same(name, now).await?.now)
    }

    async fn lift(&self, name: &Name, now: &VersionedMove) -> Result<(), DriveError> {
        let record = &now.record;
        let note = note_of(record, record.id);
        let mut tries = 0;
        loop {
            match self.source.lift(&record.key, &note, record.issued).await {
                Ok(()) => return Ok(()),
                Err(error) if is_again(&error, tries) => tries += 1,
                // A late fence of an earlier move of this name: that is lifted, above the same number.
                Err(error) if error.kind == SourceErrorKind::Foreign && tries < TRIES => {
                    let Some(of) = self.former_fence(record).await? else {
                        return Err(DriveError::source(name, now, error));
                    };
                    let late = note_of(record, of);
                    self.source
                        .lift(&record.key, &late, record.issued)
                        .await
                        .map_err(|e| DriveError::source(name, now, e))?;
                    tries += 1;
                }
                Err(error) => return Err(DriveError::source(name, now, error)),
            }
            self.runtime.sleep(PAUSE).await;
        }
    }

    /// Fences the source for this move. A fence of an earlier move of the same name, built by an import that stood still,
    /// is taken over.
    async fn fence_source(&self, name: &Name, now: &VersionedMove) -> Result<Fenced, DriveError> {
        let record = &now.record;
        let way = record
            .ceiling
            .map_or(Way::Cut, |ceiling| Way::Ceiling(ceiling.into()));
        let note = note_of(record, record.id);
        for _ in 0..TRIES {
            let error = match self.fence_once(&record.key, way, &note).await {
                Ok(fenced) => return Ok(fenced),
                Err(error) => error,
            };
            let former = match error.kind {
                SourceErrorKind::Foreign => self.former_fence(record).await?,
                _ => None,
            };
            let Some(of) = former else {
                return Err(DriveError::source(name, now, error));
            };
            let late = note_of(record, of);
            let lifted = self.source.lift(&record.key, &late, None).await;
            lifted.map_err(|e| DriveError::source(name, now, e))?;
        }
        let kept = SourceError::new(
            SourceErrorKind::Foreign,
            "other imports keep building their fences there",
        );
        Err(DriveError::source(name, now, kept))
    }

    /// A lost answer is resolved by asking again: a second fence of the same move answers the same mark.
    async fn fence_once(&self, key: &str, way: Way, note: &Note) -> Result<Fenced, SourceError> {
        let (begun, mut tries) = (self.runtime.boottime(), 0);
        loop {
            match self.source.fence(key, way, note).await {
                // Who has waited for locks until its time was over has held up the source's own clients for as long: that
                // is not done again and again.
                Err(error) if is_again(&error, tries) && self.runtime.boottime() - begun < FENCE_PATIENCE => {
                    tries += 1;
                }
                answer => return answer,
            }
            self.runtime.sleep(PAUSE).await;
        }
    }

    async fn former_fence(&self, record: &Move) -> Result<Option<MoveId>, DriveError> {
        let of = self.fence_of(record).await?;
        Ok(of.filter(|of| record.former.contains(of)))
    }

    /// The move whose fence stands at the source.
    async fn fence_of(&self, record: &Move) -> Result<Option<MoveId>, DriveError> {
        let check = self.source.check(&record.key, &note_of(record, record.id)).await;
        Ok(match check.map_err(DriveError::look)? {
            Fence::Ours { id, .. } | Fence::Broken { id, .. } => id,
            Fence::None => None,
        })
    }

    /// Whether any fence of ours stands at the source.
    async fn stands(&self, record: &Move) -> Result<bool, DriveError> {
        let check = self.source.check(&record.key, &note_of(record, record.id)).await;
        Ok(check.map_err(DriveError::look)? != Fence::None)
    }

    async fn look(&self, key: &str) -> Result<Counter, DriveError> {
        let found = self.source.look(key).await.map_err(DriveError::look)?;
        found.ok_or_else(|| DriveError::gone(key, &self.source.place()))
    }

    /// Does the deeds again until no server is behind: before that the source is not touched.
    async fn sealed(&self, name: &Name, now: &VersionedMove) -> Result<Stepped, DriveError> {
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
    async fn same(&self, name: &Name, now: &VersionedMove) -> Result<Stepped, DriveError> {
        self.write(name, Some(now.version), &now.record).await
    }

    async fn write_phase(
        &self,
        name: &Name,
        now: &VersionedMove,
        phase: Phase,
    ) -> Result<Stepped, DriveError> {
        self.write(name, Some(now.version), &self.at_phase(&now.record, phase))
            .await
    }

    fn at_phase(&self, record: &Move, phase: Phase) -> Move {
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
    async fn write(&self, name: &Name, expected: Option<u64>, next: &Move) -> Result<Stepped, DriveError> {
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

    /// A name that belongs to another counter is not touched.
    fn check_is_of(&self, name: &Name, found: &Move, planned: &Move) -> Result<(), DriveError> {
        let is_there = found.source == planned.source
            || found.source == self.source.place()
            || self.called == Some(found.source.as_str());
        match is_there && (&found.kind, &found.key) == (&planned.kind, &planned.key) {
            true => Ok(()),
            false => Err(DriveError::other_counter(name, found)),
        }
    }
}

/// The furthest number that may have been given out here. An advance is for numbers that nobody has a record of: who goes
/// back does not come to them either.
fn given_out(record: &Move, reserved: Option<i64>) -> Option<i64> {
    let up = record.definition.increment > 0;
    let before = |first: i64| {
        if up {
            first.saturating_sub(1)
        } else {
            first.saturating_add(1)
        }
    };
    let advanced = record.first.filter(|_| record.advance > 0).map(before);
    let both = [reserved, advanced].into_iter().flatten();
    both.reduce(|a, b| if up { a.max(b) } else { a.min(b) })
}

/// Whether the call may be made again at once: every call of the driver is one that may.
fn is_again(error: &SourceError, tries: u32) -> bool {
    let may_pass = error.kind == SourceErrorKind::Unavailable || error.outcome == Outcome::Unknown;
    may_pass && tries < TRIES
}

fn note_of(record: &Move, id: MoveId) -> Note {
    Note {
        id,
        before: record.before.clone(),
        mark: record.mark.map(i128::from),
    }
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
