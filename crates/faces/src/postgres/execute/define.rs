//! CREATE, ALTER and DROP SEQUENCE. They take effect at once: a rollback does not undo them.

use mintage::Base;
use mintage_ledger::{Name, RestartAt, SequencePatch, SequenceSpec};

use super::definition::{check, options_of};
use super::numbers::followed;
use super::{Client, Result, SqlError};
use crate::postgres::plan::{Alter, Create, Drop, OUR_SCHEMAS, Restart, Target};
use mintage_server::chassis::audit::audited_answer;
use mintage_server::chassis::error::Code;

impl Client {
    pub(super) async fn create(&mut self, create: &Create, out: &mut Vec<u8>) -> Result<()> {
        let target = &create.target;
        if let Some(schema) = create
            .schema
            .as_deref()
            .filter(|schema| OUR_SCHEMAS.contains(schema))
        {
            return Err(SqlError::new(
                "42501",
                format!("permission denied for schema {schema}"),
            ));
        }
        self.needs_admin("create", target, "permission denied to create sequence")
            .await?;
        self.told("create", target, self.needs_write("CREATE SEQUENCE"))
            .await?;
        let name = self.told("create", target, self.name_of(target)).await?;
        if self.find(target).await?.is_some() {
            let there = self.exists_already(create, out);
            return self.told("create", target, there).await;
        }
        let checked = self.told("create", target, check(&create.options, None)).await?;
        let spec = SequenceSpec {
            options: options_of(&checked.def),
            gap: create.options.gap.unwrap_or_default(),
            max_gap: create.options.max_gap,
        };
        let service = self.thread.service().clone();
        let repeats = self.allows_repeat();
        let first = checked.restart.unwrap_or(checked.def.start);
        let making = async {
            let (info, made) = service.create(&name, &spec).await?;
            let moves = made && info.last.is_none() && info.first != first;
            // A name that was dropped goes on above its numbers, unless repeats are allowed.
            if moves && (repeats || checked.restart.is_some()) {
                let to = Base {
                    value: first,
                    is_called: false,
                };
                service.restart(&name, to, repeats).await?;
            }
            Ok(made)
        };
        match audited_answer(&service, self.act("create", target), making).await {
            Ok(true) => {}
            Ok(false) => return self.exists_already(create, out),
            Err(error) if error.code == Code::Exists => return self.exists_already(create, out),
            Err(error) => return Err(error.into()),
        }
        self.tell("create", target);
        self.warn_of_block("CREATE SEQUENCE", out);
        Ok(())
    }

    fn exists_already(&self, create: &Create, out: &mut Vec<u8>) -> Result<()> {
        let message = format!("relation \"{}\" already exists", create.target.relation);
        match create.if_not_exists {
            true => {
                self.say(out, &SqlError::notice("42P07", format!("{message}, skipping")));
                Ok(())
            }
            false => Err(SqlError::new("42P07", message)),
        }
    }

    pub(super) async fn alter(&mut self, alter: &Alter, out: &mut Vec<u8>) -> Result<()> {
        let target = &alter.target;
        let Some(info) = self.find(target).await? else {
            let message = format!("relation \"{}\" does not exist", target.shown);
            return match alter.if_exists {
                true => {
                    self.say(out, &SqlError::notice("00000", format!("{message}, skipping")));
                    Ok(())
                }
                false => Err(SqlError::new("42P01", message)),
            };
        };
        self.needs_admin("alter", target, "must be owner of sequence")
            .await?;
        self.told("alter", target, self.needs_write("ALTER SEQUENCE"))
            .await?;
        let checked = check(&alter.options, Some((info.def, info.last.unwrap_or(info.first))));
        let checked = self.told("alter", target, checked).await?;
        let mut options = options_of(&checked.def);
        // A start that stays is not said: said, it would move a sequence that was never used.
        options.start = alter.options.start;
        let patch = SequencePatch {
            options,
            gap: alter.options.gap,
            max_gap: alter.options.max_gap,
            allow_repeat: self.allows_repeat(),
            restart: alter.options.restart.map(|restart| match restart {
                Restart::Start => RestartAt::Start,
                Restart::With(value) => RestartAt::With(value),
            }),
        };
        let service = self.thread.service().clone();
        let changing = service.alter(&info.name, &patch);
        let changed = match audited_answer(&service, self.act("alter", target), changing).await {
            Ok(changed) => changed,
            Err(error) => return Err(self.not_moved("ALTER SEQUENCE", target, error).await),
        };
        self.tell("alter", target);
        self.warn_of_block("ALTER SEQUENCE", out);
        followed(&changed.pending)
    }

    pub(super) async fn drop_all(&mut self, drop: &Drop, out: &mut Vec<u8>) -> Result<()> {
        let mut found = Vec::new();
        for target in &drop.targets {
            match self.find(target).await? {
                Some(info) => found.push((target, info.name)),
                None => {
                    let message = format!("sequence \"{}\" does not exist", target.shown);
                    if !drop.if_exists {
                        return Err(SqlError::new("42P01", message));
                    }
                    self.say(out, &SqlError::notice("00000", format!("{message}, skipping")));
                }
            }
        }
        // All of them, or none.
        for (target, _) in &found {
            self.needs_admin("drop", target, "must be owner of sequence")
                .await?;
        }
        for (target, _) in &found {
            self.told("drop", target, self.needs_write("DROP SEQUENCE"))
                .await?;
        }
        let mut pending = Vec::new();
        for (target, name) in &found {
            pending.extend(self.drop_one(target, name).await?);
        }
        if !found.is_empty() {
            self.warn_of_block("DROP SEQUENCE", out);
        }
        followed(&pending)
    }

    async fn drop_one(&mut self, target: &Target, name: &Name) -> Result<Vec<String>> {
        let service = self.thread.service().clone();
        let dropping = service.drop_sequence(name);
        let dropped = audited_answer(&service, self.act("drop", target), dropping).await?;
        if dropped.is_some() {
            self.tell("drop", target);
            self.session.numbers.forget(target.key.as_bytes());
        }
        Ok(dropped.unwrap_or_default())
    }

    fn name_of(&self, target: &Target) -> Result<Name> {
        Ok(self.thread.service().name(target.key.as_bytes())?)
    }

    /// Clients that begin a transaction expect its rollback to undo this.
    fn warn_of_block(&self, what: &str, out: &mut Vec<u8>) {
        if self.session.block.is_some() {
            let message = format!("{what} takes effect at once: a rollback does not undo it");
            self.say(out, &SqlError::warning("01000", message));
        }
    }
}
