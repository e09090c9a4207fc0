//! Which step of a move may follow which.

use super::record::{FORMER_MAX, Move, Phase};

impl Move {
    /// Whether this may be written over `before`; in words, if not. The same phase may be written again.
    pub fn check_follows(&self, before: Option<&Move>) -> Result<(), String> {
        self.check_whole()?;
        let Some(before) = before else {
            return match self.phase {
                Phase::Planned | Phase::Beside | Phase::Fencing => Ok(()),
                phase => Err(format!("no move begins with {}", phase.as_str())),
            };
        };
        if before.id != self.id {
            // What was fencing may have a fence built yet, and what was taken back too, by an import that stood still: who
            // comes after knows the id.
            let is_over = match before.phase {
                Phase::Planned => true,
                Phase::Fencing | Phase::Returned => self.former.contains(&before.id),
                _ => false,
            };
            let begins = matches!(self.phase, Phase::Planned | Phase::Beside | Phase::Fencing);
            return match is_over && begins {
                true => Ok(()),
                false => Err(format!(
                    "move {} of the name is {}, and another one begins over one that is planned, or over one that it names \
                     and that is fencing or returned",
                    before.id,
                    before.phase.as_str()
                )),
            };
        }
        let may_follow: &[Phase] = match before.phase {
            Phase::Planned => &[Phase::Beside, Phase::Fencing],
            Phase::Beside => &[Phase::Fencing, Phase::Returning],
            Phase::Fencing => &[Phase::Fenced, Phase::Returning],
            Phase::Fenced => &[Phase::Open, Phase::Returning],
            Phase::Open => &[Phase::Returning],
            Phase::Returning => &[Phase::Returned],
            Phase::Returned => &[],
        };
        match before.phase == self.phase || may_follow.contains(&self.phase) {
            true => Ok(()),
            false => Err(format!(
                "the move is {}, and {} does not follow that",
                before.phase.as_str(),
                self.phase.as_str()
            )),
        }
    }

    /// Whether the record has what its phase needs.
    fn check_whole(&self) -> Result<(), String> {
        if self.former.len() > FORMER_MAX {
            return Err(format!(
                "{} earlier moves are named, {FORMER_MAX} at most",
                self.former.len()
            ));
        }
        let is_cut = matches!(self.phase, Phase::Fenced | Phase::Open);
        self.check_masters(is_cut)?;
        match is_cut && self.first.is_none() {
            true => Err(format!(
                "a move that is {} says the first number",
                self.phase.as_str()
            )),
            false => Ok(()),
        }
    }

    /// Whether both say the same, whenever they were written.
    pub fn is_as(&self, other: &Move) -> bool {
        let at_ms = other.at_ms;
        Move {
            at_ms,
            ..self.clone()
        } == *other
    }
}
