//! The way back: who goes on, beyond what, and the lifting of fences.

use super::drive::{Driver, PAUSE, TRIES, is_again};
use super::drive_error::DriveError;
use super::masters::{Master, that_meet};
use super::ours::VersionedMove;
use super::record::{Move, Phase};
use crate::name::Name;
use crate::source::{Fence, Note, SourceErrorKind, Way};

impl Driver<'_> {
    /// The record of the way back that was asked for, with what is known by now to have been given out. Of masters
    /// whose numbers meet one alone can go on.
    pub(super) async fn returning(
        &self,
        name: &Name,
        now: &VersionedMove,
        planned: &Move,
    ) -> Result<Move, DriveError> {
        let record = &now.record;
        let mut next = self.at_phase(record, Phase::Returning);
        next.back_to = self.asked_back_to(name, record, planned)?;
        let is_fenced = record.phase >= Phase::Fencing;
        match (&next.back_to, that_meet(&record.masters)) {
            (Some(_), _) if !is_fenced => return Err(DriveError::all_serve(name, record)),
            (None, Some((one, other))) if is_fenced => return Err(DriveError::meet(name, one, other)),
            _ => {}
        }
        self.mark_those_that_stay(name, &mut next, planned.advance > 0)
            .await?;
        next.issued = next.given_out(self.same(name, now).await?.reserved);
        if planned.advance > 0 {
            next.issued = Some(self.advanced_beyond(name, &next, planned.advance).await?);
        }
        Ok(next)
    }

    /// Notes where those are fenced that do not go on, and refuses where one of them serves numbers of the one that
    /// does: who brings an advance vouches for that.
    async fn mark_those_that_stay(
        &self,
        name: &Name,
        next: &mut Move,
        is_vouched_for: bool,
    ) -> Result<(), DriveError> {
        let all = next.counters();
        let Some(to) = all.iter().find(|one| next.back_to.is_some() && next.goes_on(one)) else {
            return Ok(());
        };
        for (at, other) in all.iter().enumerate() {
            if next.goes_on(other) {
                continue;
            }
            let why = match self.check(other, next.id).await {
                Ok(Fence::Ours { id, mark }) if id.is_none_or(|id| next.is_id_of(other, id)) => {
                    let mark = DriveError::in_range(name, mark)?;
                    let furthest = next.furthest([Some(mark), other.mark].into_iter().flatten());
                    next.set_mark(at, furthest.unwrap_or(mark));
                    // Built by an earlier import that stood still: it is known again by its id alone.
                    if let Some(id) = id.filter(|id| *id != next.id) {
                        next.set_fenced_by(at, id);
                    }
                    continue;
                }
                Ok(Fence::None) => "no fence stands there".to_string(),
                Ok(Fence::Ours { .. }) => "another move has fenced it".to_string(),
                Ok(Fence::Broken { why, .. }) => why,
                // It was fenced, and is away now.
                Err(_) if other.mark.is_some() => continue,
                Err(error) => error.message,
            };
            if other.meets(to) && !is_vouched_for {
                return Err(DriveError::serves_too(name, to, other, &why));
            }
        }
        Ok(())
    }

    /// So far beyond all that is known to have been given out, also by whoever goes on.
    async fn advanced_beyond(&self, name: &Name, next: &Move, advance: u64) -> Result<i64, DriveError> {
        let mut known = next.given_out(None);
        for counter in next.going_back() {
            if let Some(mark) = self.look(&counter).await?.mark {
                let mark = next.before(DriveError::in_range(name, mark)?);
                known = next.furthest(known.into_iter().chain([mark]));
            }
        }
        let sign = i128::from(next.definition.increment.signum());
        let known = i128::from(known.unwrap_or(next.definition.start));
        DriveError::in_range(name, known + sign * i128::from(advance))
    }

    /// The master that shall go on alone, as the record calls it.
    fn asked_back_to(
        &self,
        name: &Name,
        record: &Move,
        planned: &Move,
    ) -> Result<Option<String>, DriveError> {
        let Some(to) = &planned.back_to else {
            return Ok(None);
        };
        let is_it = |master: &&Master| {
            master.source == *to || self.there.iter().any(|at| at.is(to) && at.is(&master.source))
        };
        match record.masters.iter().find(is_it) {
            Some(master) => Ok(Some(master.source.clone())),
            None => Err(DriveError::no_master(name, record, to)),
        }
    }

    /// A way back that has begun goes where it was going.
    pub(super) fn check_same_way(
        &self,
        name: &Name,
        record: &Move,
        planned: &Move,
    ) -> Result<(), DriveError> {
        let asked = self.asked_back_to(name, record, planned)?;
        match asked.is_none() || asked == record.back_to {
            true => Ok(()),
            false => Err(DriveError::other_way(name, record)),
        }
    }

    /// Before anything is sealed: whether the source answers, and can go on above what was given out here. What is
    /// given out until it is sealed may still pass its end; then the lift says so.
    pub(super) async fn check_fits(
        &self,
        name: &Name,
        now: &VersionedMove,
        next: &Move,
    ) -> Result<(), DriveError> {
        for counter in next.going_back() {
            let looked = self.look(&counter).await;
            looked.map_err(|error| error.with_way_without(next))?;
            if matches!(now.record.phase, Phase::Fenced | Phase::Open) {
                // What built the fence takes it away. A source that cannot tell is asked by the lift itself.
                let lacking = self.source(&counter)?.rights(&counter.key, Way::Cut).await;
                if let Ok(lacking) = lacking
                    && !lacking.is_empty()
                {
                    return Err(DriveError::lacking(name, &lacking));
                }
            }
        }
        let of = &now.record.definition;
        match next.issued.filter(|number| !(of.min..=of.max).contains(number)) {
            None => Ok(()),
            Some(number) => Err(DriveError::beyond(name, number, of)),
        }
    }

    /// The deeds of `returning`: ours is sealed everywhere; then what it ever reserved is read and written down, and
    /// only then the source goes on above that (protocol M4).
    pub(super) async fn give_back(
        &self,
        name: &Name,
        now: &VersionedMove,
    ) -> Result<VersionedMove, DriveError> {
        let sealed = self.sealed(name, now).await?;
        let mut now = sealed.now;
        let issued = now.record.given_out(sealed.reserved);
        if now.record.issued != issued {
            let mut next = self.at_phase(&now.record, Phase::Returning);
            next.issued = issued;
            now = self.write(name, Some(now.version), &next).await?.now;
        }
        for counter in now.record.going_back() {
            // Beside several ours gave out numbers of one of them alone: the others have gone on, wherever they stand.
            if now.record.gives_numbers_of(&counter) || self.stands(&now.record, &counter).await? {
                self.lift(name, &now, &counter).await?;
            }
        }
        Ok(self.write_phase(name, &now, Phase::Returned).await?.now)
    }

    /// An import that stood still may have built its fence after the move was taken back: it is lifted again.
    pub(super) async fn stay_back(
        &self,
        name: &Name,
        now: &VersionedMove,
    ) -> Result<VersionedMove, DriveError> {
        for counter in self.standing(&now.record, &now.record.going_back()).await? {
            self.lift(name, now, &counter).await?;
        }
        Ok(self.same(name, now).await?.now)
    }

    async fn lift(&self, name: &Name, now: &VersionedMove, counter: &Master) -> Result<(), DriveError> {
        let (record, source) = (&now.record, self.source(counter)?);
        let note = counter.note(record.id);
        // It goes on in its own numbers.
        let issued = record.issued.map(|issued| counter.told(issued, record.counts()));
        let mut tries = 0;
        loop {
            match source.lift(&counter.key, &note, issued).await {
                Ok(()) => return Ok(()),
                Err(error) if is_again(&error, tries) => tries += 1,
                // A late fence of an earlier move of this name: that is lifted, above the same number.
                Err(error) if error.kind == SourceErrorKind::Foreign && tries < TRIES => {
                    let Some(of) = self.former_fence(record, counter).await? else {
                        return Err(DriveError::source(name, now, error));
                    };
                    let late = Note {
                        id: of,
                        ..counter.note(of)
                    };
                    let lifted = source.lift(&counter.key, &late, issued).await;
                    lifted.map_err(|e| DriveError::source(name, now, e))?;
                    tries += 1;
                }
                Err(error) => return Err(DriveError::source(name, now, error)),
            }
            self.runtime.sleep(PAUSE).await;
        }
    }
}
