//! Our side of moves, where the ledger is in this process.

use crate::error::LedgerError;
use crate::kept::Tokens;
use crate::ledger::Ledger;
use crate::moves::{MOVE_PREFIX, Move, Ours, OursError, OursResult, Phase, Stepped, VersionedMove};
use crate::name::Name;
use crate::runtime::fresh_token;
use crate::sequence::{Origin, Pass, Passage, PassageIs, State};
use crate::store::{BODY_MAX_BYTES, Cas, Key, Marks, Outcome, SCAN_LIMIT_MAX, Value, Versioned};
use crate::striped::AsStriped;

/// How often the register is written again after an answer that did not come.
const TRIES: usize = 8;

impl Ours for Ledger {
    fn read<'a>(&'a self, name: &'a Name) -> OursResult<'a, Option<VersionedMove>> {
        Box::pin(async move { Ok(self.read_move(name).await?.map(|(_, now)| now)) })
    }

    fn list(&self) -> OursResult<'_, Vec<(Name, VersionedMove)>> {
        Box::pin(async move {
            let mut moves = Vec::new();
            let take = |name: Name, found: Versioned| {
                let now = understood(&name, &found)?;
                moves.push((name, now));
                Ok(true)
            };
            self.walk(MOVE_PREFIX, move_key, (None, None), SCAN_LIMIT_MAX, take)
                .await?;
            Ok(moves)
        })
    }

    fn step<'a>(
        &'a self,
        name: &'a Name,
        expected: Option<u64>,
        next: &'a Move,
        into_used: bool,
    ) -> OursResult<'a, Stepped> {
        Box::pin(async move {
            // Protocol M1: the phase first, then its deed.
            let now = self.write_phase(name, expected, next, into_used).await?;
            let Some(pass) = pass_of(&now, into_used) else {
                let pending = Vec::new();
                let reserved = self.furthest_reserved(name).await?;
                return Ok(Stepped {
                    now,
                    pending,
                    reserved,
                });
            };
            if let Err(error) = self.pass(name, pass).await {
                return Err(self.refused(name, error).await);
            }
            let pending = self.followed_by_all(name).await;
            // Protocol M4: once it is sealed nothing more is reserved.
            let reserved = self.furthest_reserved(name).await?;
            Ok(Stepped {
                now,
                pending,
                reserved,
            })
        })
    }
}

impl Ledger {
    /// The register as the store has it, and what it says.
    async fn read_move(&self, name: &Name) -> Result<Option<(Versioned, VersionedMove)>, LedgerError> {
        if let Some(error) = self.stopped() {
            return Err(LedgerError::Stopped(error));
        }
        let found = self.context.store.get(&move_key(name)).await?;
        found
            .map(|found| Ok((found.clone(), understood(name, &found)?)))
            .transpose()
    }

    /// Writes the next phase by compare-and-set; nothing, where the register says it already.
    async fn write_phase(
        &self,
        name: &Name,
        expected: Option<u64>,
        next: &Move,
        into_used: bool,
    ) -> Result<VersionedMove, OursError> {
        let found = self.read_move(name).await?;
        let now = found.as_ref().map(|(_, now)| now);
        if now.map(|now| now.version) != expected {
            return Err(OursError::Lost(now.cloned().map(Box::new)));
        }
        let refused = |message: String| OursError::Refused {
            message: format!("{name}: {message}"),
            hint: None,
        };
        next.check_follows(now.map(|now| &now.record)).map_err(refused)?;
        if let Some(now) = now.filter(|now| next.is_as(&now.record)) {
            return Ok(now.clone());
        }
        let version = expected.unwrap_or(0) + 1;
        let wanted = VersionedMove {
            record: next.clone(),
            version,
        };
        self.check_free(name, &wanted, into_used).await?;
        let body = serde_json::to_string(next).expect("plain fields always serialise");
        if body.len() > BODY_MAX_BYTES {
            return Err(refused(format!(
                "the record of the move has {} bytes, largest is {BODY_MAX_BYTES}",
                body.len()
            )));
        }
        let value = Value {
            mark: version,
            token: fresh_token(&*self.context.runtime),
            body,
        };
        let (key, before) = (move_key(name), found.map(|(found, _)| found.version));
        let register = self.context.attempts(&key);
        let mut tokens = Tokens::new(value.token);
        for _ in 0..TRIES {
            // The same token each time: what landed unheard is found again.
            let written = register.write(before, value.clone(), Marks::NeverLower, &mut tokens);
            match written.await {
                Ok(Cas::Done(_)) => return Ok(wanted),
                Ok(Cas::Lost(Some(found))) => {
                    let now = understood(name, &found)?;
                    return Err(OursError::Lost(Some(Box::new(now))));
                }
                Ok(Cas::Lost(None)) => return Err(OursError::Lost(None)),
                Err(error) if error.outcome == Outcome::Unknown => {}
                Err(error) => return Err(LedgerError::from(error).into()),
            }
        }
        Err(run_again(format!(
            "whether the phase of {name} was written is not known"
        )))
    }

    /// A name with a definition or mark of its own is refused before anything is written.
    async fn check_free(
        &self,
        name: &Name,
        wanted: &VersionedMove,
        into_used: bool,
    ) -> Result<(), OursError> {
        let begins = matches!(
            wanted.record.phase,
            Phase::Planned | Phase::Beside | Phase::Fencing
        );
        let mut asked = wanted.clone();
        asked.record.phase = Phase::Fencing;
        let Some(pass) = pass_of(&asked, into_used).filter(|_| begins) else {
            return Ok(());
        };
        let max_gap = self.context.settings.max_gap;
        let state = match self.read(name).await? {
            Some((state, _)) => state,
            None => State::fresh(&pass.spec(), max_gap)?,
        };
        state.check_free_for(name, &pass, max_gap)?;
        match wanted.record.phase {
            Phase::Beside => Ok(state.check_beside(name, self.context.store.striped().is_some())?),
            _ => Ok(()),
        }
    }

    /// What a deed's refusal is called: one that came too late learns what the move is now.
    async fn refused(&self, name: &Name, error: LedgerError) -> OursError {
        match error {
            LedgerError::StepLost { .. } => match self.read_move(name).await {
                Ok(now) => OursError::Lost(now.map(|(_, now)| Box::new(now))),
                Err(error) => error.into(),
            },
            error => error.into(),
        }
    }
}

fn move_key(name: &Name) -> Key {
    Key::new(format!("{MOVE_PREFIX}{}", name.to_key())).expect("names are within the key grammar")
}

/// The version is the register's mark: it goes along into backups and other stores, where a store's own versions begin
/// again, and the stamps of sequences are compared with it.
fn understood(name: &Name, found: &Versioned) -> Result<VersionedMove, LedgerError> {
    let record = serde_json::from_str(&found.value.body);
    let record = record.map_err(|error| {
        LedgerError::Invalid(format!(
            "the record of the move of {name} cannot be understood: {error}"
        ))
    })?;
    Ok(VersionedMove {
        record,
        version: found.value.mark,
    })
}

/// What a phase means for our sequence; `None`: nothing.
fn pass_of(now: &VersionedMove, into_used: bool) -> Option<Pass> {
    let record = &now.record;
    let source = || record.source.clone();
    // Beside several ours takes out of the first one, whose numbers it keeps to.
    let taken_from = || record.counters().swap_remove(0);
    let is = match record.phase {
        Phase::Planned => return None,
        Phase::Beside => PassageIs::Beside(Origin {
            source: taken_from().source,
            kind: record.kind.clone(),
            key: taken_from().key,
            table: record.table.clone(),
            take: record.take,
        }),
        Phase::Fencing | Phase::Fenced | Phase::Returning => PassageIs::Moving { source: source() },
        Phase::Open => PassageIs::Here,
        Phase::Returned => PassageIs::MovedBack {
            source: record.back_to.clone().unwrap_or_else(source),
        },
    };
    let is_cut = matches!(record.phase, Phase::Fenced | Phase::Open);
    Some(Pass {
        passage: Passage {
            id: record.id,
            step: now.version,
            is,
        },
        former: record.former.clone(),
        definition: record.definition,
        first: record.first.filter(|_| is_cut),
        into_used,
    })
}

fn run_again(message: String) -> OursError {
    OursError::Refused {
        message,
        hint: Some("run the same command again: what is done already is found".to_string()),
    }
}

impl From<LedgerError> for OursError {
    fn from(error: LedgerError) -> OursError {
        match error {
            LedgerError::NameUsed { .. } => OursError::InUse(error.to_string()),
            LedgerError::StepLost { .. } => OursError::Lost(None),
            LedgerError::Unavailable { .. } | LedgerError::Closing => run_again(error.to_string()),
            error => OursError::Refused {
                message: error.to_string(),
                hint: None,
            },
        }
    }
}
