//! Writing rows: takes, fences, lifts, and the statements and rights for them.

use std::sync::PoisonError;

use mintage::Run;

use super::find::{Spot, Table, text};
use super::look::Lock;
use super::row::{Meta, Row, Stand, Useless, moved_table, note};
use super::shapes::{Form, Keyed, Means};
use super::speech::{NumberType, Speech, Sql};
use super::{METAS_MAX, RowSource};
use crate::source::link::Held;
use crate::source::{Counter, Engine, Fenced, MoveId, Note, SourceError, SourceErrorKind, Way};
use crate::store::sql::row::{Arg, Column};

/// What renaming a table and its way back ask of an account, on both names.
const RENAME_RIGHTS: [&str; 6] = ["SELECT", "UPDATE", "ALTER", "DROP", "CREATE", "INSERT"];

/// What a column is set to.
enum Set {
    Text(String),
    /// A number or an expression.
    Raw(String),
    Null,
}

type Sets = Vec<(String, Set)>;

impl<D: Speech> RowSource<D> {
    pub(super) async fn take_now(&self, key: &str, n: u64) -> Result<Vec<Run>, SourceError> {
        let mut held = self.link.begin(&format!("take from {key}")).await?;
        let taken = self.take_in(&mut held, key, n).await;
        held.end(taken).await
    }

    async fn take_in(&self, held: &mut Held<'_, D>, key: &str, n: u64) -> Result<Vec<Run>, SourceError> {
        let (spot, meta) = self.known(held, key).await?;
        let table = spot.home(&self.shape);
        let row = match self.stand(held, &spot, &meta, Lock::Yes).await? {
            Stand::Serves(row) => row,
            Stand::Absent => {
                self.forget(key);
                return Err(self.gone(key));
            }
            Stand::Fenced { .. } => {
                return Err(self.error(
                    SourceErrorKind::Refused,
                    &format!("{key} was moved: a fence stands there, and nothing can be taken"),
                ));
            }
            Stand::Broken { why, .. } => return Err(self.broken(key, &why)),
        };
        let take = row
            .take(&self.shape, &meta, n)
            .map_err(|why| self.useless(key, why))?;
        let sets = self.taking(&take.number.to_string());
        let sql = self.update(Sql::default(), &table, sets, &spot.key, row.number);
        self.execute_one(held, &sql, key).await?;
        Ok(vec![take.run])
    }

    /// What a take needs to know of the table, read once: takes are many.
    async fn known(&self, held: &mut Held<'_, D>, key: &str) -> Result<(Spot, Meta), SourceError> {
        let metas = || self.metas.lock().unwrap_or_else(PoisonError::into_inner);
        let kept = metas().get(key).cloned();
        if let Some(kept) = kept {
            return Ok(kept);
        }
        let found = self.found(held, key).await?;
        let mut metas = metas();
        if metas.len() >= METAS_MAX {
            metas.clear();
        }
        metas.insert(key.to_string(), found.clone());
        Ok(found)
    }

    fn forget(&self, key: &str) {
        let mut metas = self.metas.lock().unwrap_or_else(PoisonError::into_inner);
        metas.remove(key);
    }

    async fn found(&self, held: &mut Held<'_, D>, key: &str) -> Result<(Spot, Meta), SourceError> {
        let spot = self.spot(held, key).await?;
        match self.meta(held, &spot).await? {
            Some(meta) => Ok((spot, meta)),
            None => Err(self.gone(key)),
        }
    }

    pub(super) async fn fence_now(&self, key: &str, way: Way, note: &Note) -> Result<Fenced, SourceError> {
        if let Way::Ceiling(_) = way {
            let why = "a row takes no ceiling: cut it, or take beside it and cut later";
            return Err(self.error(SourceErrorKind::Refused, why));
        }
        if self.shape.form == Form::RenamedTable {
            return self.fence_table(key).await;
        }
        let mut held = self.link.begin(&format!("fence of {key}")).await?;
        let fenced = self.fence_in(&mut held, key, note).await;
        held.end(fenced).await
    }

    async fn fence_in(&self, held: &mut Held<'_, D>, key: &str, note: &Note) -> Result<Fenced, SourceError> {
        let (spot, meta) = self.found(held, key).await?;
        let stand = self.stand(held, &spot, &meta, Lock::Yes).await?;
        let row = match stand {
            Stand::Serves(row) => row,
            other => return self.standing(key, &other, note),
        };
        let number = row.number(&self.shape).map_err(|why| self.useless(key, why))?;
        let sets = self.fencing(key, &spot, &meta, &note.id.to_string(), number)?;
        let sql = self.update(Sql::default(), &spot.table, sets, &spot.key, row.number);
        self.execute_one(held, &sql, key).await?;
        Ok(Fenced {
            mark: row.mark(&self.shape, number),
        })
    }

    /// The answer of a fence that finds one, or no counter.
    fn standing(&self, key: &str, stand: &Stand, note: &Note) -> Result<Fenced, SourceError> {
        match stand {
            Stand::Fenced { row, id, number } if id.is_none_or(|id| id == note.id) => Ok(Fenced {
                mark: row.mark(&self.shape, *number),
            }),
            Stand::Fenced { id, .. } => Err(self.foreign(key, *id)),
            Stand::Broken { why, .. } => Err(self.broken(key, why)),
            Stand::Absent | Stand::Serves(_) => Err(self.gone(key)),
        }
    }

    async fn fence_table(&self, key: &str) -> Result<Fenced, SourceError> {
        let mut held = self.link.hold(&format!("fence of {key}")).await?;
        let (spot, meta) = self.found(&mut held, key).await?;
        let row = match self.stand(&mut held, &spot, &meta, Lock::No).await? {
            Stand::Serves(row) => row,
            Stand::Fenced { row, number, .. } => {
                held.done();
                return Ok(Fenced {
                    mark: row.mark(&self.shape, number),
                });
            }
            Stand::Absent => return Err(self.gone(key)),
            Stand::Broken { why, .. } => return Err(self.broken(key, &why)),
        };
        row.number(&self.shape).map_err(|why| self.useless(key, why))?;
        let (table, _) = spot.moved(&self.shape, &meta).expect("a table can be renamed");
        self.rename(&mut held, &spot.home(&self.shape), &table).await?;
        // Read behind the fence: the RENAME waited for every transaction that had touched the table.
        let row = self.read(&mut held, &table, &spot.key, Lock::No).await;
        let row = row.map_err(SourceError::unknown)?;
        held.done();
        match row.as_ref().and_then(|row| Some((row, row.number?))) {
            Some((row, number)) => Ok(Fenced {
                mark: row.mark(&self.shape, number),
            }),
            None => Err(self.gone(key).unknown()),
        }
    }

    async fn rename(&self, held: &mut Held<'_, D>, from: &Table, to: &Table) -> Result<(), SourceError> {
        // Writers queue behind a RENAME that waits: it gives up before we do.
        let patience_s = (self.link.settings.request_timeout.as_secs() / 2).max(1);
        held.script(&format!("SET SESSION lock_wait_timeout = {patience_s}"))
            .await?;
        held.script(&format!(
            "RENAME TABLE {} TO {}",
            from.quoted::<D>(),
            to.quoted::<D>()
        ))
        .await
    }

    pub(super) async fn lift_now(
        &self,
        key: &str,
        note: &Note,
        issued: Option<i64>,
    ) -> Result<(), SourceError> {
        let mut held = self.link.begin(&format!("lift of the fence of {key}")).await?;
        let lifted = self.lift_in(&mut held, key, note, issued).await;
        let renames = held.end(lifted).await?;
        if let Some((from, to)) = renames {
            let mut held = self.link.hold(&format!("lift of the fence of {key}")).await?;
            self.rename(&mut held, &from, &to).await?;
            held.done();
        }
        Ok(())
    }

    /// Lifts all but a table's name; that is answered.
    async fn lift_in(
        &self,
        held: &mut Held<'_, D>,
        key: &str,
        note: &Note,
        issued: Option<i64>,
    ) -> Result<Option<(Table, Table)>, SourceError> {
        let (spot, meta) = self.found(held, key).await?;
        let (row, number) = match self.stand(held, &spot, &meta, Lock::Yes).await? {
            Stand::Fenced { row, id, number } if self.is_of(note, issued, &row, id, number) => (row, number),
            Stand::Fenced { id, .. } => return Err(self.foreign(key, id)),
            Stand::Serves(row) => return self.already_lifted(key, &row, issued).map(|()| None),
            Stand::Absent => return Err(self.gone(key)),
            Stand::Broken { why, .. } => return Err(self.broken(key, &why)),
        };
        let target = row.above(&self.shape, number, issued);
        if target > meta.number.max {
            return Err(self.error(
                SourceErrorKind::Refused,
                &format!(
                    "{key} cannot go on above {}: {} is {}, which ends at {}",
                    issued.unwrap_or_default(),
                    self.shape.number,
                    meta.number.name,
                    meta.number.max
                ),
            ));
        }
        let home = spot.home(&self.shape);
        let (table, row_key) = spot
            .moved(&self.shape, &meta)
            .unwrap_or((home.clone(), spot.key.clone()));
        let sets = self.lifting(&spot, note, target);
        let sql = self.update(Sql::default(), &table, sets, &row_key, row.number);
        self.execute_one(held, &sql, key).await?;
        Ok((self.shape.form == Form::RenamedTable).then_some((table, home)))
    }

    /// Whether a fence is the one of this move: by its id, or, known by its form, by where it lies.
    fn is_of(&self, note: &Note, issued: Option<i64>, row: &Row, id: Option<MoveId>, number: i128) -> bool {
        let Some(mark) = note.mark.filter(|_| id.is_none()) else {
            return id.is_none_or(|id| id == note.id);
        };
        // A table's number is set before its name: a lift that broke off in between goes on.
        let is_half_lifted = issued.is_some() && row.above(&self.shape, i128::MIN, issued) == number;
        row.mark(&self.shape, number) == mark || is_half_lifted
    }

    /// A lift that finds no fence: right if the counter stands above what was issued.
    fn already_lifted(&self, key: &str, row: &Row, issued: Option<i64>) -> Result<(), SourceError> {
        let Some(issued) = issued else {
            return Ok(());
        };
        let mark = row.number.map(|number| row.mark(&self.shape, number));
        if mark.is_some_and(|mark| mark > issued.into()) {
            return Ok(());
        }
        let number = match self.shape.means {
            Means::Next => i128::from(issued) + 1,
            Means::Last => issued.into(),
        };
        let error = self.error(
            SourceErrorKind::Foreign,
            &format!(
                "no fence stands at {key}, and it would give out {issued} again, which was given out here"
            ),
        );
        let mend = [(&*self.shape.number, number.to_string())];
        let mend: Vec<_> = mend
            .iter()
            .map(|(column, value)| (*column, value.as_str()))
            .collect();
        match self.mending(key, &mend) {
            Some(fix) => Err(error.with_fix(fix)),
            None => Err(error),
        }
    }

    /// What a take sets.
    fn taking(&self, number: &str) -> Sets {
        let mut sets = vec![(self.shape.number.to_string(), Set::Raw(number.to_string()))];
        sets.extend(self.touching());
        sets
    }

    fn touching(&self) -> impl Iterator<Item = (String, Set)> {
        let touch = self.shape.touch.iter();
        touch.map(|(column, value)| (column.to_string(), Set::Raw(value.to_string())))
    }

    /// What a fence sets, of all forms but a table's name.
    fn fencing(
        &self,
        key: &str,
        spot: &Spot,
        meta: &Meta,
        id: &str,
        number: i128,
    ) -> Result<Sets, SourceError> {
        let end = (
            self.shape.number.to_string(),
            Set::Raw(meta.number.max.to_string()),
        );
        match self.shape.form {
            Form::EndWithNote(_) | Form::EndWithMark(_) if meta.number.max < i64::MAX.into() => {
                let why = format!(
                    "{key} cannot be ended: {} is {}, where a server that is not strict goes on at the end; only a bigint \
                     fails whatever sql_mode",
                    self.shape.number, meta.number.name
                );
                let fix = format!(
                    "ALTER TABLE {} MODIFY {} BIGINT NOT NULL",
                    spot.table.quoted::<D>(),
                    D::name(&self.shape.number)
                );
                Err(self.error(SourceErrorKind::Refused, &why).with_fix(fix))
            }
            Form::EndWithNote(column) => {
                let text = match id.parse() {
                    Ok(id) => note(id, number),
                    // Only for show.
                    Err(_) => format!("mint {id}: the number was {number}"),
                };
                Ok(vec![end, (column.to_string(), Set::Text(text))])
            }
            Form::EndWithMark(column) => Ok(vec![end, (column.to_string(), Set::Raw(number.to_string()))]),
            Form::Negated(column) => Ok(vec![(
                column.to_string(),
                Set::Raw(format!("-{}", D::name(column))),
            )]),
            Form::RenamedKey => match (&self.shape.keyed, spot.moved(&self.shape, meta)) {
                (Keyed::Column(column), Some((_, moved))) => Ok(vec![(column.to_string(), Set::Text(moved))]),
                _ => Err(self.error(
                    SourceErrorKind::Refused,
                    &format!(
                        "{key} cannot be renamed: its column holds {} characters, and a moved key needs 27",
                        meta.key_chars_max
                    ),
                )),
            },
            Form::RenamedTable => Ok(Vec::new()),
        }
    }

    /// What a lift sets, of all forms but a table's name.
    fn lifting(&self, spot: &Spot, note: &Note, number: i128) -> Sets {
        let mut sets = vec![(self.shape.number.to_string(), Set::Raw(number.to_string()))];
        sets.extend(self.touching());
        match self.shape.form {
            Form::EndWithNote(column) => {
                let before = match note.before.get(column) {
                    Some(text) => Set::Text(text.clone()),
                    None => Set::Null,
                };
                sets.push((column.to_string(), before));
            }
            Form::Negated(column) => {
                sets.push((column.to_string(), Set::Raw(format!("-{}", D::name(column)))));
            }
            Form::RenamedKey => {
                if let Keyed::Column(column) = &self.shape.keyed {
                    sets.push((column.to_string(), Set::Text(spot.key.clone())));
                }
            }
            Form::EndWithMark(_) | Form::RenamedTable => {}
        }
        sets
    }

    /// An UPDATE of one row, if it still says `number`.
    fn update(&self, mut sql: Sql, table: &Table, sets: Sets, key: &str, number: Option<i128>) -> Sql {
        sql.push(&format!("UPDATE {} SET ", table.quoted::<D>()));
        for (at, (column, set)) in sets.into_iter().enumerate() {
            let comma = if at == 0 { "" } else { ", " };
            sql.push(&format!("{comma}{} = ", D::name(&column)));
            match set {
                Set::Text(text) => sql.bind::<D>(&text),
                Set::Raw(raw) => sql.push(&raw),
                Set::Null => sql.push("NULL"),
            }
        }
        self.push_where(&mut sql, key);
        if let Some(number) = number {
            sql.push(&format!(" AND {} = {number}", D::name(&self.shape.number)));
        }
        sql
    }

    async fn execute_one(&self, held: &mut Held<'_, D>, sql: &Sql, key: &str) -> Result<(), SourceError> {
        match held.execute(&sql.text, &sql.args()).await? {
            1 => Ok(()),
            0 => Err(self.error(
                SourceErrorKind::Unavailable,
                &format!("{key} changed while it was looked at: try again"),
            )),
            several => Err(self.error(
                SourceErrorKind::Refused,
                &format!("{several} rows have the key of {key}: one is a counter"),
            )),
        }
    }

    fn gone(&self, key: &str) -> SourceError {
        self.error(
            SourceErrorKind::Gone,
            &format!("no counter {key}: its row or table is not there"),
        )
    }

    fn broken(&self, key: &str, why: &str) -> SourceError {
        self.error(
            SourceErrorKind::Foreign,
            &format!("the fence of {key} does not hold: {why}"),
        )
    }

    fn foreign(&self, key: &str, id: Option<MoveId>) -> SourceError {
        let id = id.map_or(String::new(), |id| format!(" {id}"));
        self.error(
            SourceErrorKind::Foreign,
            &format!("{key} was fenced by another move{id}: that one has to end it or take it back"),
        )
    }

    fn useless(&self, key: &str, why: Useless) -> SourceError {
        match why {
            Useless::Ended => self.error(
                SourceErrorKind::Exhausted,
                &format!("{key} has no further number"),
            ),
            Useless::Misaligned(why, mend) => {
                let error = self.error(SourceErrorKind::Refused, &format!("{key} makes no sense: {why}"));
                match self.mending(key, &mend) {
                    Some(fix) => error.with_fix(fix),
                    None => error,
                }
            }
        }
    }

    pub(super) fn statements_of(&self, counter: &Counter, way: Way) -> Vec<String> {
        let home = self.home.get().cloned().flatten();
        let Ok(spot) = super::find::parse(&self.shape, home.as_deref(), &counter.key) else {
            return Vec::new();
        };
        let table = spot.home(&self.shape);
        let number = D::name(&self.shape.number);
        if way == Way::Beside {
            let step = match counter.increment {
                1 => String::new(),
                increment => format!(" × {increment}"),
            };
            let sets = self.taking(&format!("{number} + n{step}"));
            return vec![self.update(Sql::shown(), &table, sets, &spot.key, None).text];
        }
        let meta = Meta {
            number: NumberType::parse(&counter.type_name).unwrap_or(NumberType {
                name: counter.type_name.clone(),
                min: i64::MIN.into(),
                max: i64::MAX.into(),
            }),
            key_chars_max: u64::MAX,
        };
        if let (Form::RenamedTable, Some((to, _))) = (self.shape.form, spot.moved(&self.shape, &meta)) {
            return vec![format!(
                "RENAME TABLE {} TO {}",
                table.quoted::<D>(),
                to.quoted::<D>()
            )];
        }
        let last = counter.mark.unwrap_or_default() - i128::from(self.shape.means == Means::Last);
        match self.fencing(&counter.key, &spot, &meta, "MOVE-ID", last) {
            Ok(sets) => vec![self.update(Sql::shown(), &table, sets, &spot.key, None).text],
            Err(error) => vec![format!("-- {error}")],
        }
    }

    pub(super) async fn rights_now(&self, key: &str, way: Way) -> Result<Vec<String>, SourceError> {
        let mut held = self.link.hold(&format!("rights on {key}")).await?;
        let (spot, meta) = self.found(&mut held, key).await?;
        let lacking = if self.shape.form == Form::RenamedTable && way != Way::Beside {
            self.lacks_rename(&mut held, &spot).await?
        } else {
            let sets = match way {
                Way::Beside => self.taking(&D::name(&self.shape.number)),
                _ => self.fencing(key, &spot, &meta, "MOVE-ID", 0)?,
            };
            let sql = self.update(Sql::default(), &spot.home(&self.shape), sets, &spot.key, None);
            // The server asks for the rights of the statement that it explains, and does not run it.
            let explained = held
                .rows(&format!("EXPLAIN {}", sql.text), &sql.args(), &[])
                .await;
            match explained {
                Err(error) if error.kind == SourceErrorKind::Denied => true,
                other => other.map(|_| false)?,
            }
        };
        match lacking {
            false => {
                held.done();
                Ok(Vec::new())
            }
            true => {
                drop(held);
                self.grants(&spot).await
            }
        }
    }

    /// Whether the account may not rename the table of a key there and back.
    async fn lacks_rename(&self, held: &mut Held<'_, D>, spot: &Spot) -> Result<bool, SourceError> {
        let grantee = self.account(held).await?;
        let sql = "SELECT privilege_type FROM information_schema.user_privileges WHERE grantee = ? \
                   UNION SELECT privilege_type FROM information_schema.schema_privileges \
                   WHERE grantee = ? AND ? LIKE table_schema \
                   UNION SELECT privilege_type FROM information_schema.table_privileges \
                   WHERE grantee = ? AND table_schema = ? AND table_name = ?";
        for name in [spot.key.clone(), moved_table(&spot.key)] {
            let schema = Arg::Text(&spot.table.schema);
            let who = Arg::Text(&grantee);
            let args = [who, who, schema, who, schema, Arg::Text(&name)];
            let rows = held.rows(sql, &args, &[Column::Text]).await?;
            let has = |right: &&str| rows.iter().any(|row| text(row, 0) == Some(right));
            if !RENAME_RIGHTS.iter().all(has) {
                return Ok(true);
            }
        }
        Ok(false)
    }

    async fn account(&self, held: &mut Held<'_, D>) -> Result<String, SourceError> {
        let rows = held.rows(D::ACCOUNT, &[], &[Column::Text]).await?;
        let account = rows.first().and_then(|row| text(row, 0)).unwrap_or_default();
        Ok(D::account(account))
    }

    /// What lets the account move a counter there and back.
    async fn grants(&self, spot: &Spot) -> Result<Vec<String>, SourceError> {
        let mut held = self.link.hold("the account's name").await?;
        let account = self.account(&mut held).await?;
        held.done();
        let on =
            |rights: &str, table: &Table| format!("GRANT {rights} ON {} TO {account}", table.quoted::<D>());
        let home = spot.home(&self.shape);
        Ok(match (self.shape.form, D::ENGINE) {
            (Form::RenamedTable, _) => {
                let rights = RENAME_RIGHTS.join(", ");
                let moved = Table {
                    name: moved_table(&spot.key),
                    ..home.clone()
                };
                vec![on("SELECT", &spot.table), on(&rights, &home), on(&rights, &moved)]
            }
            (_, Engine::Postgres) => vec![
                format!("GRANT USAGE ON SCHEMA {} TO {account}", D::name(&home.schema)),
                on("SELECT, UPDATE", &home),
            ],
            _ => vec![on("SELECT, UPDATE", &home)],
        })
    }

    /// Adds to a refusal for want of rights what would allow it.
    pub(super) async fn advised<T>(
        &self,
        key: &str,
        answer: Result<T, SourceError>,
    ) -> Result<T, SourceError> {
        let error = match answer {
            Err(error) if error.kind == SourceErrorKind::Denied && error.fix.is_none() => error,
            other => return other,
        };
        let home = self.home.get().cloned().flatten();
        let Ok(spot) = super::find::parse(&self.shape, home.as_deref(), key) else {
            return Err(error);
        };
        // Who may not even connect has no account to grant anything to.
        match self.grants(&spot).await {
            Ok(grants) => Err(error.with_fix(grants.join("; "))),
            Err(_) => Err(error),
        }
    }
}
