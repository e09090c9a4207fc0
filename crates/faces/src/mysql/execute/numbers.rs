//! Numbers and ids.

use std::cell::Cell;

use mintage::{Base, GenOptions, Run, Uuid};
use mintage_ledger::{DEFAULT_POOL, Name, UUID1_POOL};

use super::value::Row;
use super::{Done, Execution, Outcome};
use crate::mysql::plan::{Advance, Expression, SetValue, Ticket};
use crate::mysql::refusal::{Refusal, Verb};
use crate::mysql::value::Value;
use crate::pooled;
use crate::sql::names::SqlName;
use mintage_server::chassis::auth::{Right, What};
use mintage_server::chassis::error::{Code, ServiceError};
use mintage_server::chassis::formats::{Make, format, no_time};

impl Execution<'_> {
    /// `NEXTVAL`.
    pub(super) async fn next(&mut self, name: &SqlName) -> Outcome<i64> {
        let key = self.key(name);
        let taken = self.take(&key, name, 1, (Verb::Sequence, "INSERT")).await;
        match &taken {
            Ok(run) => self.session.numbers.took(key.as_bytes(), run.first),
            // The original forgets it then, too.
            Err(refusal) if refusal.code == Code::Exhausted => self.session.numbers.forget(key.as_bytes()),
            Err(_) => {}
        }
        Ok(taken?.first)
    }

    /// Takes one run of exactly `n` numbers.
    async fn take(
        &mut self,
        key: &str,
        name: &SqlName,
        n: u64,
        (verb, command): (Verb, &'static str),
    ) -> Outcome<Run> {
        self.check_writes(command)?;
        let who = &self.session.identity;
        let refused = |error: ServiceError| self.refusal(&error, verb, name, command);
        who.check(Right::Allocate, What::Named(key.as_bytes()))
            .map_err(|denied| refused(denied.into()))?;
        self.thread.service().spend(who, self.peer, n);
        let at_once = match n {
            1 => self.thread.try_take(key.as_bytes(), 1),
            n => self.thread.try_take_counted(key.as_bytes(), n),
        };
        let run = match at_once {
            Some(run) => run,
            None => self.take_later(key, n).await.map_err(refused)?,
        };
        self.session.touches();
        Ok(run)
    }

    #[cold]
    async fn take_later(&self, key: &str, n: u64) -> Result<Run, ServiceError> {
        self.must_exist(key).await?;
        let by = self.asker();
        if n > 1 {
            let taken = self.thread.take_counted(key.as_bytes(), n, &by).await?;
            return Ok(taken.0);
        }
        let taken = Cell::new(None);
        self.thread
            .take(key.as_bytes(), 1, &by, |run| taken.set(Some(run)))
            .await?;
        let internal = || ServiceError::new(Code::Internal, "a number was taken and not told");
        taken.get().ok_or_else(internal)
    }

    /// Refuses a sequence that is not there.
    pub(super) async fn check_exists(&self, name: &SqlName) -> Outcome<()> {
        let key = self.key(name);
        let found = match self.thread.service().name(key.as_bytes()) {
            Ok(_) => self.thread.exists(key.as_bytes()).await,
            Err(error) => Err(error),
        };
        let unknown = || ServiceError::new(Code::NotFound, "there is no such sequence");
        let found = found.and_then(|found| found.then_some(()).ok_or_else(unknown));
        found.map_err(|error| self.refusal(&error, Verb::Sequence, name, "SELECT"))
    }

    /// Refuses a sequence that is not there, unless a first use may make it.
    async fn must_exist(&self, key: &str) -> Result<(), ServiceError> {
        let name = self.thread.service().name(key.as_bytes())?;
        if self.thread.exists(key.as_bytes()).await? {
            return Ok(());
        }
        if !self
            .thread
            .config()
            .faces
            .get::<crate::mysql::Settings>()
            .keys
            .create
        {
            return Err(ServiceError::new(
                Code::NotFound,
                format!("there is no sequence {name}"),
            ));
        }
        // An import of a whole server has called it by its database, too.
        let full = format!("{}.{name}", self.session.database);
        match Name::new(&full).is_ok() && self.thread.exists(full.as_bytes()).await? {
            false => Ok(()),
            true => Err(ServiceError::new(
                Code::Exists,
                format!("there is a sequence {full}, and {name} would begin at 1 beside it"),
            )
            .with_hint(format!(
                "faces.mysql.names = {{ \"{name}\" = \"{full}\" }} says that it is meant"
            ))),
        }
    }

    /// Nothing is taken or changed in a transaction that only reads.
    pub(super) fn check_writes(&self, _command: &str) -> Outcome<()> {
        match self.session.in_transaction && self.session.is_read_only {
            true => Err(Refusal {
                errno: 1792,
                ..Refusal::arguments("Cannot execute statement in a READ ONLY transaction")
            }
            .with_state("25006")),
            false => Ok(()),
        }
    }

    /// `REPLACE` and `INSERT`.
    pub(super) async fn ticket(&mut self, ticket: &Ticket) -> Outcome<Done> {
        let max = self.thread.config().max_count;
        if ticket.rows > max {
            return Err(Refusal::too_many_rows(max));
        }
        let command = if ticket.replaces { "REPLACE" } else { "INSERT" };
        let key = self.key(&ticket.table);
        let explicit = self.explicit(&ticket.ids, &ticket.table).await?;
        if let Some(ids) = explicit {
            return self.keep(&key, ticket, &ids).await;
        }
        if ticket.rows > 1 {
            self.check_steps(&key, &ticket.table).await?;
        }
        let run = self
            .take(&key, &ticket.table, ticket.rows, (Verb::Table, command))
            .await?;
        let insert_id = run.first.cast_unsigned();
        self.session.last_insert_id = insert_id;
        if !ticket.returning.is_empty() {
            let ids: Vec<i64> = run.iter().collect();
            return self.returned(&ticket.returning, &ids).await;
        }
        Ok(Done::Ok {
            // A row that is replaced counts twice.
            affected: ticket.rows * if ticket.replaces { 2 } else { 1 },
            insert_id,
        })
    }

    /// The ids that rows bring; `None`: they are made.
    async fn explicit(&mut self, ids: &[Expression], table: &SqlName) -> Outcome<Option<Vec<i64>>> {
        let (mut given, mut made) = (Vec::new(), 0);
        for id in ids {
            match self.value(id, &[]).await? {
                Value::Null => made += 1,
                value => match value.as_integer() {
                    Some(0) => made += 1,
                    Some(number) => given.push(i64::try_from(number).map_err(|_| out_of_range())?),
                    None => {
                        let text = String::from_utf8_lossy(&value.to_text().unwrap_or_default()).into_owned();
                        let text: String = text.chars().take(40).collect();
                        let table = self.shown(table).replace('.', "`.`");
                        let text =
                            format!("Incorrect integer value: '{text}' for column `{table}`.`id` at row 1");
                        return Err(Refusal {
                            errno: 1366,
                            ..Refusal::arguments(text)
                        }
                        .with_state("22007"));
                    }
                },
            }
        }
        match (given.len(), made) {
            (0, _) => Ok(None),
            (_, 0) => Ok(Some(given)),
            _ => Err(Refusal::not_here("rows with an id beside rows without one")),
        }
    }

    /// Rows that bring their ids: the sequence goes on behind the furthest, if it is not beyond that already.
    async fn keep(&mut self, key: &str, ticket: &Ticket, ids: &[i64]) -> Outcome<Done> {
        let command = if ticket.replaces { "REPLACE" } else { "INSERT" };
        self.check_writes(command)?;
        let name = self.as_name(key, &ticket.table)?;
        let service = self.thread.service();
        let moved = async {
            let down = service.show(&name).await?.def.increment < 0;
            let furthest = if down { ids.iter().min() } else { ids.iter().max() };
            let to = Base {
                value: furthest.copied().unwrap_or_default(),
                is_called: true,
            };
            match service.restart(&name, to, false).await {
                Err(error) if is_behind(&error) => Ok(false),
                Err(error) if error.code == Code::InvalidArgument => {
                    Err(ServiceError::new(Code::Exhausted, ""))
                }
                moved => moved.map(|_| true),
            }
        };
        self.administrate("set", (key, &ticket.table), (Verb::Table, command), moved)
            .await?;
        self.session.touches();
        if !ticket.returning.is_empty() {
            return self.returned(&ticket.returning, ids).await;
        }
        Ok(Done::Ok {
            affected: ids.len() as u64 * if ticket.replaces { 2 } else { 1 },
            insert_id: ids.last().copied().unwrap_or_default().cast_unsigned(),
        })
    }

    /// Clients reckon the ids of rows from the first: one after the other.
    async fn check_steps(&self, key: &str, name: &SqlName) -> Outcome<()> {
        let loaded = self.thread.service().ledger().sequence(key);
        let step = match loaded.filter(|sequence| sequence.exists()) {
            Some(sequence) => sequence.info().def.increment,
            None => {
                let name_of = self.as_name(key, name)?;
                match self.thread.service().find(&name_of).await {
                    Ok(found) => found.map_or(1, |info| info.def.increment),
                    Err(error) => return Err(self.refusal(&error, Verb::Table, name, "INSERT")),
                }
            }
        };
        match step {
            1 => Ok(()),
            step => Err(Refusal::not_here(&format!(
                "several rows of a sequence whose increment is {step}"
            ))),
        }
    }

    /// `LAST_INSERT_ID(id + n)`.
    pub(super) async fn advance(&mut self, advance: &Advance) -> Outcome<Done> {
        let by = self.number(&advance.by, "LAST_INSERT_ID").await?;
        let max = self.thread.config().resp_max_increment;
        let n = u64::try_from(by).ok().filter(|n| (1..=max).contains(n));
        let Some(n) = n else {
            let text = format!("LAST_INSERT_ID(id + n) takes 1 to {max} numbers (server.resp.max_increment)");
            return Err(Refusal::arguments(text));
        };
        let key = self.key(&advance.table);
        if n > 1 {
            self.check_steps(&key, &advance.table).await?;
        }
        let run = self
            .take(&key, &advance.table, n, (Verb::Table, "UPDATE"))
            .await?;
        let insert_id = run.last().cast_unsigned();
        self.session.last_insert_id = insert_id;
        Ok(Done::Ok {
            affected: advance.affected,
            insert_id,
        })
    }

    /// `SETVAL`: the number it was set to, or NULL where that does not lie beyond the last one.
    pub(super) async fn set_value(&mut self, asked: &SetValue, row: Row<'_>) -> Outcome<Value> {
        self.check_writes("SETVAL")?;
        let to = self.value(&asked.to, row).await?;
        let is_called = match &asked.used {
            Some(used) => self.value(used, row).await?.is_true(),
            None => true,
        };
        let round = match &asked.round {
            Some(round) => self.value(round, row).await?.as_integer().unwrap_or(0),
            None => 0,
        };
        let Some(value) = to.as_integer().and_then(|to| i64::try_from(to).ok()) else {
            return Ok(Value::Null);
        };
        let key = self.key(&asked.name);
        let name = self.as_name(&key, &asked.name)?;
        let is_beyond = Cell::new(false);
        let moved = async {
            let moved = self.move_to(&name, Base { value, is_called }).await?;
            is_beyond.set(moved.is_some());
            Ok(moved.unwrap_or(false))
        };
        // A sequence goes through its numbers once, or for ever: rounds are not counted.
        if round == 0 {
            let of = (Verb::Sequence, "INSERT");
            self.administrate("restart", (&key, &asked.name), of, moved)
                .await?;
        }
        Ok(match is_beyond.get() {
            true => Value::Integer(value),
            false => Value::Null,
        })
    }

    /// Moves a sequence forward; whether that changed anything, or `None` where `to` does not lie beyond its last number. One
    /// beyond its last bound has it run out, or begin anew, as in the original.
    async fn move_to(&self, name: &Name, to: Base) -> Result<Option<bool>, ServiceError> {
        let service = self.thread.service();
        match service.restart(name, to, false).await {
            Err(error) if is_behind(&error) => return Ok(None),
            Err(error) if error.code == Code::InvalidArgument => {}
            moved => return moved.map(|_| Some(true)),
        }
        let def = service.show(name).await?.def;
        let (is_beyond, value) = match def.increment < 0 {
            true => (to.value < def.min, def.min),
            false => (to.value > def.max, def.max),
        };
        if !is_beyond {
            return Ok(None);
        }
        let end = Base {
            value,
            is_called: true,
        };
        match service.restart(name, end, false).await {
            Err(error) if is_behind(&error) => Ok(Some(false)),
            moved => moved.map(|_| Some(true)),
        }
    }

    /// Whether it must be waited for, or is refused, that ids get the time.
    pub(super) fn waits_for_time(&self) -> bool {
        self.thread.service().ledger().clock().refusal().is_some()
    }

    /// A UUID that is made in memory.
    pub(super) fn uuid(&mut self, make: Make) -> Outcome<Value> {
        self.check_mint()?;
        let mut ids = [Uuid::nil()];
        if !self.thread.mint_uuids(make, &mut ids) {
            // The gate was shut a moment ago.
            let refusal = self.thread.service().ledger().clock().refusal();
            let error = no_time("uuid7", &refusal.unwrap_or_default());
            return Err(Refusal::of(&error, Verb::Id, ""));
        }
        Ok(uuid_text(&ids[0]))
    }

    /// The same, once it is known whether ids get the time.
    pub(super) async fn uuid_later(&mut self, make: Make) -> Outcome<Value> {
        self.check_mint()?;
        let mut ids = [Uuid::nil()];
        let made = self.thread.mint_timed(make, &[], &mut ids).await;
        made.map_err(|error| Refusal::of(&error, Verb::Id, ""))?;
        Ok(uuid_text(&ids[0]))
    }

    /// `mint_id('ulid')`.
    pub(super) async fn mint_id(&mut self, name: &Value) -> Outcome<Value> {
        let name = name.to_text().unwrap_or_default();
        let refused = |error: ServiceError| Refusal::of(&error, Verb::Id, "");
        let row = format(&name.to_ascii_lowercase()).map_err(refused)?;
        match row.make {
            Make::Snowflake => return self.mint_snowflake(None).await,
            Make::Core => {}
            make => {
                self.check_mint()?;
                let mut ids = [Uuid::nil()];
                let made = self.thread.mint_timed(make, UUID1_POOL.as_bytes(), &mut ids);
                made.await.map_err(refused)?;
                return Ok(uuid_text(&ids[0]));
            }
        }
        self.check_mint()?;
        let ids = self
            .thread
            .make(&row, &GenOptions::default(), 1)
            .await
            .map_err(refused)?;
        let mut text = Vec::new();
        for id in &ids {
            row.format.write(id, &mut text).expect("made by this format");
        }
        Ok(Value::Text(text.into()))
    }

    /// `mint_snowflake('pool')`.
    pub(super) async fn mint_snowflake(&mut self, pool: Option<&Value>) -> Outcome<Value> {
        let pool = pool.and_then(Value::to_text);
        let pool = match &pool {
            Some(pool) => String::from_utf8_lossy(pool),
            None => DEFAULT_POOL.into(),
        };
        let minted = pooled::mint_one(self.thread, &self.session.identity, self.peer, &pool).await;
        match minted {
            Ok(id) => Ok(i64::try_from(id).map_or(Value::Unsigned(id), Value::Integer)),
            Err(error) => Err(Refusal::of(&error, Verb::Id, &pool)),
        }
    }

    /// Whether ids without a name may be made.
    fn check_mint(&self) -> Outcome<()> {
        let who = &self.session.identity;
        if let Err(denied) = who.check(Right::Allocate, What::Nothing) {
            return Err(Refusal::of(&denied.into(), Verb::Id, ""));
        }
        self.thread.service().spend(who, self.peer, 1);
        Ok(())
    }
}

fn uuid_text(id: &Uuid) -> Value {
    Value::text(
        id.hyphenated()
            .encode_lower(&mut Uuid::encode_buffer())
            .as_bytes(),
    )
}

/// Whether a number was refused because it does not lie beyond the last one.
pub(super) fn is_behind(error: &ServiceError) -> bool {
    matches!(error.code, Code::OnlyForward | Code::NeedsAllowRepeat)
}

fn out_of_range() -> Refusal {
    Refusal {
        errno: 1264,
        ..Refusal::arguments("Out of range value for column 'id' at row 1")
    }
    .with_state("22003")
}
