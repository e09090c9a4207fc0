//! Sequences are made, changed and dropped.

use mintage::{Base, SequenceOptions};
use mintage_ledger::{Gap, Name, RestartAt, SequenceInfo, SequencePatch, SequenceSpec};

use super::columns::bounds;
use super::numbers::is_behind;
use super::{Done, Execution, Outcome, Rows};
use crate::mysql::answer::Column;
use crate::mysql::plan::{AlterSequence, Create, Drop, Expression, IfExists, Options};
use crate::mysql::refusal::{Refusal, Verb};
use crate::mysql::value::{Kind, Value};
use crate::sql::names::SqlName;
use mintage_server::chassis::error::{Answer, Code, ServiceError};
use mintage_server::chassis::service::Service;

impl Execution<'_> {
    /// `CREATE SEQUENCE`, and `CREATE TABLE` with AUTO_INCREMENT.
    pub(super) async fn create(&mut self, create: &Create) -> Outcome<Done> {
        self.check_writes("CREATE")?;
        let key = self.key(&create.name);
        let name = self.as_name(&key, &create.name)?;
        if create.options.is_out_of_range || create.options.cache.is_some_and(|cache| cache < 0) {
            return Err(Refusal::options(&self.shown(&create.name)));
        }
        let spec = spec(&create.options);
        let service = self.thread.service();
        let made = make(service, &name, &spec, create.if_exists);
        let done = self
            .administrate("create", (&key, &create.name), (Verb::Sequence, "CREATE"), made)
            .await;
        self.defined(&create.name, done)
    }

    /// `ALTER SEQUENCE`.
    pub(super) async fn alter_sequence(&mut self, alter: &AlterSequence) -> Outcome<Done> {
        self.check_writes("ALTER")?;
        let key = self.key(&alter.name);
        let name = self.as_name(&key, &alter.name)?;
        if alter.options.is_out_of_range || alter.options.cache.is_some_and(|cache| cache < 0) {
            return Err(Refusal::options(&self.shown(&alter.name)));
        }
        let service = self.thread.service();
        let changed = async {
            let info = service.show(&name).await?;
            let changed = service.alter(&name, &patch(&alter.options, &info)).await;
            changed.map(|_| true)
        };
        let done = self
            .administrate("alter", (&key, &alter.name), (Verb::Sequence, "ALTER"), changed)
            .await;
        match done {
            Err(refusal) if refusal.code == Code::NotFound && alter.if_exists => Ok(Done::NOTHING),
            done => self.defined(&alter.name, done),
        }
    }

    /// `ALTER TABLE t AUTO_INCREMENT = n`: forward; a number that is behind changes nothing, as in the original.
    pub(super) async fn alter_table(&mut self, name: &SqlName, next: Option<&Expression>) -> Outcome<Done> {
        let Some(next) = next else {
            return Ok(Done::NOTHING);
        };
        self.check_writes("ALTER")?;
        let next = self.number(next, "AUTO_INCREMENT").await?;
        let key = self.key(name);
        let named = self.as_name(&key, name)?;
        let Ok(value) = i64::try_from(next) else {
            return Err(Refusal::options(&self.shown(name)));
        };
        let service = self.thread.service();
        let to = Base {
            value,
            is_called: false,
        };
        let moved = async {
            match service.restart(&named, to, false).await {
                Err(error) if is_behind(&error) => Ok(false),
                // Below the minimum is behind, too.
                Err(error) if error.code == Code::InvalidArgument && value < 1 => Ok(false),
                moved => moved.map(|_| true),
            }
        };
        let done = self
            .administrate("restart", (&key, name), (Verb::Table, "ALTER"), moved)
            .await;
        self.defined(name, done)
    }

    /// What came of a definition: OK, and a transaction ends.
    fn defined(&mut self, name: &SqlName, done: Outcome<bool>) -> Outcome<Done> {
        match done {
            Ok(_) => {
                self.session.end_transaction();
                Ok(Done::NOTHING)
            }
            Err(refusal) if refusal.code == Code::InvalidArgument => Err(Refusal::options(&self.shown(name))),
            Err(refusal) => Err(refusal),
        }
    }

    /// `DROP SEQUENCE`, `DROP TABLE`: those that are there are dropped, and the others told of.
    pub(super) async fn drop(&mut self, drop: &Drop) -> Outcome<Done> {
        self.check_writes("DROP")?;
        let mut unknown = Vec::new();
        for name in &drop.names {
            // A series is there again at once.
            if name.name.parse::<mintage::Series>().is_ok() {
                continue;
            }
            let key = self.key(name);
            let named = self.as_name(&key, name)?;
            let service = self.thread.service();
            let dropped = async {
                match service.drop_sequence(&named).await? {
                    Some(_) => Ok(true),
                    None => Err(ServiceError::new(Code::NotFound, "there is none")),
                }
            };
            let done = self
                .administrate("drop", (&key, name), (Verb::Sequence, "DROP"), dropped)
                .await;
            match done {
                Ok(_) => self.session.numbers.forget(key.as_bytes()),
                Err(refusal) if refusal.code == Code::NotFound => unknown.push(self.shown(name)),
                Err(refusal) => return Err(refusal),
            }
        }
        self.session.end_transaction();
        if unknown.is_empty() || drop.if_exists {
            return Ok(Done::NOTHING);
        }
        let names = unknown.join(",");
        Err(match drop.is_sequence {
            true => Refusal::of(&ServiceError::new(Code::NotFound, ""), Verb::Sequence, &names),
            false => Refusal {
                errno: 1051,
                ..Refusal::arguments(format!("Unknown table '{names}'"))
            }
            .with_state("42S02"),
        })
    }

    /// `SHOW CREATE SEQUENCE`.
    pub(super) async fn show_create(&mut self, name: &SqlName) -> Outcome<Done> {
        let key = self.key(name);
        self.check_read(&key, name)?;
        let named = self.as_name(&key, name)?;
        let found = self.thread.service().show(&named).await;
        let info = found.map_err(|error| self.refusal(&error, Verb::Table, name, "SHOW"))?;
        Ok(Done::Rows(Rows {
            columns: vec![
                Column::new("Table", Kind::Text),
                Column::new("Create Table", Kind::Text),
            ],
            values: vec![Value::text(&name.name), Value::text(statement(&name.name, &info))],
        }))
    }
}

/// Makes a sequence; one that is there is what `if_exists` says. Whether one was made.
async fn make(service: &Service, name: &Name, spec: &SequenceSpec, if_exists: IfExists) -> Answer<bool> {
    let exists = || ServiceError::new(Code::Exists, format!("sequence {name} exists"));
    match (service.find(name).await?, if_exists) {
        (Some(_), IfExists::Skip) => return Ok(false),
        (Some(_), IfExists::Refuse) => return Err(exists()),
        // What has given out numbers does not begin again.
        (Some(info), IfExists::Replace) if info.last.is_some() => return Err(exists()),
        (Some(_), IfExists::Replace) => drop(service.drop_sequence(name).await?),
        (None, _) => {}
    }
    match service.create(name, spec).await? {
        (_, true) => Ok(true),
        // Somebody else has made it meanwhile.
        (_, false) if if_exists == IfExists::Skip => Ok(false),
        (_, false) => Err(exists()),
    }
}

fn spec(options: &Options) -> SequenceSpec {
    let (gap, max_gap) = gap(options);
    SequenceSpec {
        options: SequenceOptions {
            start: options.start,
            increment: options.increment,
            min: options.min.flatten(),
            max: options.max.flatten(),
            cycle: options.cycle,
        },
        gap: gap.unwrap_or_default(),
        max_gap,
    }
}

fn gap(options: &Options) -> (Option<Gap>, Option<u64>) {
    match options.gap {
        None => (None, None),
        Some(0) => (Some(Gap::None), None),
        Some(max_gap) => (Some(Gap::Bounded), Some(max_gap)),
    }
}

fn patch(options: &Options, info: &SequenceInfo) -> SequencePatch {
    let (gap, max_gap) = gap(options);
    let rises = options.increment.unwrap_or(info.def.increment) > 0;
    let (least, most) = if rises { (1, i64::MAX) } else { (i64::MIN, -1) };
    SequencePatch {
        options: SequenceOptions {
            start: options.start,
            increment: options.increment,
            min: options.min.map(|min| min.unwrap_or(least)),
            max: options.max.map(|max| max.unwrap_or(most)),
            cycle: options.cycle,
        },
        gap,
        max_gap,
        allow_repeat: false,
        restart: options
            .restart
            .map(|to| to.map_or(RestartAt::Start, RestartAt::With)),
    }
}

/// The statement that makes a sequence, as MariaDB writes and takes it: without the bounds that it keeps for itself.
fn statement(name: &str, info: &SequenceInfo) -> String {
    let def = &info.def;
    let (min, max) = bounds(def);
    let cycle = if def.cycle { "cycle" } else { "nocycle" };
    format!(
        "CREATE SEQUENCE `{}` start with {} minvalue {min} maxvalue {max} increment by {} nocache {cycle} ENGINE=InnoDB",
        name.replace('`', "``"),
        def.start,
        def.increment
    )
}
