//! Numbers of sequences: one, many, and where a sequence is.

use mintage::{Base, Run};
use mintage_ledger::SequenceInfo;

use super::{Client, Result, SqlError};
use crate::postgres::plan::Target;
use mintage_server::chassis::audit::audited_answer;
use mintage_server::chassis::auth::{Right, What};
use mintage_server::chassis::error::{Code, ServiceError};

impl Client {
    /// One number that is in stock, without waiting. `None`: it must be waited for, or may not be taken.
    #[inline]
    pub(in crate::postgres) fn try_next(&mut self, target: &Target, count: u64) -> Option<Run> {
        let name = target.key.as_bytes();
        if !self.who.may(Right::Allocate, What::Named(name)) || self.session.is_read_only() {
            return None;
        }
        let run = self.thread.try_take(name, count)?;
        self.thread.service().spend(&self.who, self.peer, run.count);
        self.session.numbers.took(name, run.last());
        Some(run)
    }

    /// `nextval`.
    pub(in crate::postgres) async fn next(&mut self, target: &Target) -> Result<i64> {
        if let Some(run) = self.try_next(target, 1) {
            return Ok(run.first);
        }
        self.take(target, 1, "nextval()").await.map(|run| run.first)
    }

    /// Takes 1 to `count` numbers, whatever it takes.
    pub(super) async fn take(&mut self, target: &Target, count: u64, what: &str) -> Result<Run> {
        self.needs(Right::Allocate, target)?;
        self.needs_write(what)?;
        if let Some(run) = self.try_next(target, count) {
            return Ok(run);
        }
        let name = target.key.as_bytes();
        if !self.config.faces.get::<crate::postgres::Settings>().keys.create && !self.exists(target).await? {
            return Err(SqlError::no_relation(&target.shown));
        }
        self.thread.service().spend(&self.who, self.peer, 1);
        let by = self.asker();
        let mut taken = None;
        // A number is sure to come; how many more there are shows next time.
        let taking = self.thread.take(name, 1, &by, |run| taken = Some(run));
        let outcome = self.key.cancel.unless(self.deadline, taking).await?;
        match (outcome, taken) {
            (Ok(_), Some(run)) => {
                self.session.numbers.took(name, run.last());
                Ok(run)
            }
            (Ok(_), None) => Err(SqlError::new("XX000", "nothing was taken").counted_as(Code::Internal)),
            (Err(error), _) => Err(self.not_taken(target, error).await),
        }
    }

    /// One run of exactly `count` numbers.
    pub(super) async fn take_run(&mut self, target: &Target, count: u64) -> Result<Run> {
        self.needs(Right::Allocate, target)?;
        self.needs_write("mint_run()")?;
        let name = target.key.as_bytes();
        if !self.config.faces.get::<crate::postgres::Settings>().keys.create && !self.exists(target).await? {
            return Err(SqlError::no_relation(&target.shown));
        }
        self.thread.service().spend(&self.who, self.peer, count);
        let by = self.asker();
        let taking = self.thread.take_contiguous(name, count, &by);
        match self.key.cancel.unless(self.deadline, taking).await? {
            Ok((run, _)) => {
                self.session.numbers.took(name, run.last());
                Ok(run)
            }
            Err(error) => Err(self.not_taken(target, error).await),
        }
    }

    async fn not_taken(&self, target: &Target, error: ServiceError) -> SqlError {
        match error.code {
            Code::NotFound => SqlError::no_relation(&target.shown),
            Code::Exhausted => {
                let Ok(Some(info)) = self.find(target).await else {
                    return error.into();
                };
                let (which, bound) = match info.def.increment > 0 {
                    true => ("maximum", info.def.max),
                    false => ("minimum", info.def.min),
                };
                let name = &target.relation;
                let message = format!("nextval: reached {which} value of sequence \"{name}\" ({bound})");
                SqlError::new("2200H", message)
            }
            _ => error.into(),
        }
    }

    /// What a sequence is, where it is one.
    pub(in crate::postgres) async fn find(&self, target: &Target) -> Result<Option<SequenceInfo>> {
        let service = self.thread.service();
        // What can be no name is none.
        let Ok(name) = service.name(target.key.as_bytes()) else {
            return Ok(None);
        };
        let found = service.find(&name);
        Ok(self.key.cancel.unless(self.deadline, found).await??)
    }

    /// The same of one that must be there.
    pub(super) async fn show(&self, target: &Target) -> Result<SequenceInfo> {
        let found = self.find(target).await?;
        found.ok_or_else(|| SqlError::no_relation(&target.shown))
    }

    /// `currval`.
    pub(super) async fn current(&mut self, target: &Target) -> Result<i64> {
        self.needs(Right::Read, target)?;
        if let Some(number) = self.session.numbers.current(target.key.as_bytes()) {
            return Ok(number);
        }
        if !self.exists(target).await? {
            return Err(SqlError::no_relation(&target.shown));
        }
        let name = &target.relation;
        let message = format!("currval of sequence \"{name}\" is not yet defined in this session");
        Err(SqlError::new("55000", message))
    }

    /// `lastval`. A sequence that was dropped since has none.
    pub(super) async fn last(&mut self) -> Result<i64> {
        let unset = || SqlError::new("55000", "lastval is not yet defined in this session");
        let Some((name, number)) = self.session.numbers.last() else {
            return Err(unset());
        };
        if self.who.check(Right::Read, What::Named(name)).is_err() {
            let message = format!("permission denied for sequence {}", String::from_utf8_lossy(name));
            return Err(SqlError::new("42501", message));
        }
        if self.thread.knows(name) {
            return Ok(number);
        }
        let name = name.to_vec();
        let found = self.thread.exists(&name);
        match self.key.cancel.unless(self.deadline, found).await?? {
            true => Ok(number),
            false => Err(unset()),
        }
    }

    /// `setval`: forward alone, unless an administrator has said otherwise.
    pub(super) async fn set_to(&mut self, target: &Target, to: Base) -> Result<i64> {
        self.needs_admin("setval", target, "permission denied for sequence")
            .await?;
        self.told("setval", target, self.needs_write("setval()")).await?;
        let shown = self.show(target).await;
        let info = self.told("setval", target, shown).await?;
        let (min, max) = (info.def.min, info.def.max);
        if !(min..=max).contains(&to.value) {
            let (value, name) = (to.value, &target.relation);
            let message =
                format!("setval: value {value} is out of bounds for sequence \"{name}\" ({min}..{max})");
            let refusal = Err(SqlError::new("22003", message));
            return self.told("setval", target, refusal).await;
        }
        let service = self.thread.service().clone();
        let moving = service.restart(&info.name, to, self.allows_repeat());
        let moved = audited_answer(&service, self.act("setval", target), moving).await;
        let moved = match moved {
            Ok(moved) => moved,
            Err(error) => return Err(self.not_moved("setval", target, error).await),
        };
        self.tell("setval", target);
        if to.is_called {
            self.session.numbers.set(target.key.as_bytes(), to.value);
        }
        followed(&moved.pending)?;
        Ok(to.value)
    }

    /// The refusal of a move.
    pub(super) async fn not_moved(&self, what: &str, target: &Target, error: ServiceError) -> SqlError {
        match error.code {
            Code::NotFound => SqlError::no_relation(&target.shown),
            Code::OnlyForward | Code::NeedsAllowRepeat => {
                let at = match self.find(target).await {
                    Ok(Some(info)) => info.last.unwrap_or(info.first).to_string(),
                    _ => "another place".into(),
                };
                let name = &target.relation;
                let message =
                    format!("{what}: sequence \"{name}\" is at {at}, and numbers only move forward");
                let refusal = SqlError::new("55000", message).with_detail(error.message);
                refusal
                    .counted_as(error.code)
                    .with_hint("SET mint.allow_repeat = on turns it back, for administrators, and numbers may repeat then")
            }
            _ => error.into(),
        }
    }
}

/// Servers of the cluster that do not follow yet may give out older numbers: no client may think otherwise.
pub(super) fn followed(pending: &[String]) -> Result<()> {
    if pending.is_empty() {
        return Ok(());
    }
    let pending = pending.join(", ");
    let message = format!("it was changed, and {pending} may still give out numbers of before");
    Err(SqlError::new("53000", message)
        .with_hint("ask again until it is answered")
        .counted_as(Code::Unavailable))
}
