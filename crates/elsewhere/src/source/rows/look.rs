//! Reading rows: what a counter looks like, and which there are.

use std::collections::BTreeMap;

use sha2::{Digest, Sha256};

use super::RowSource;
use super::find::{Spot, Table, missing_is_none, text};
use super::row::{MOVED, Meta, Row, Stand, Useless, hex, moved_key, stand};
use super::shapes::{Form, Keyed, Means};
use super::speech::{Speech, Sql};
use crate::source::link::Held;
use crate::source::{
    Counter, Fence, Finding, FindingCode, Listed, Severity, SourceError, SourceErrorKind, Wanted,
};
use crate::store::sql::row::{Arg, Column, Row as Fields};

/// tinyid multiplies its step by this in 32 bits.
const TINYID_LOADING: i128 = 20;

/// Whether a row that is read is kept from changing until the transaction ends.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Lock {
    Yes,
    No,
}

impl<D: Speech> RowSource<D> {
    /// The columns that a row is read with: the key, the number, the shape's further ones.
    fn select(&self, table: &Table) -> String {
        let as_text = |column: &str| format!("CAST({} AS {})", D::name(column), D::TEXT);
        let key = match &self.shape.keyed {
            Keyed::Column(key) => as_text(key),
            _ => "''".to_string(),
        };
        let columns = [&*self.shape.number]
            .into_iter()
            .chain(self.shape.extra.iter().copied());
        let columns: Vec<String> = columns.map(as_text).collect();
        format!(
            "SELECT {key}, {} FROM {}",
            columns.join(", "),
            table.quoted::<D>()
        )
    }

    /// The condition that a row is found by.
    pub(super) fn push_where(&self, sql: &mut Sql, key: &str) {
        match &self.shape.keyed {
            Keyed::Column(column) => {
                sql.push(&format!(" WHERE {} = ", D::name(column)));
                sql.bind::<D>(key);
            }
            Keyed::Zero => sql.push(" WHERE id = 0"),
            Keyed::Listed(_) => sql.push(" WHERE 1 = 1"),
        }
        if let Some(condition) = &self.shape.condition {
            sql.push(&format!(" AND ({condition})"));
        }
    }

    fn row(&self, fields: &Fields) -> Row {
        let extra = self.shape.extra.iter().enumerate();
        let extra = extra.filter_map(|(at, name)| Some((*name, text(fields, at + 2)?.to_string())));
        Row {
            key: text(fields, 0).unwrap_or_default().to_string(),
            number: text(fields, 1).and_then(|number| number.parse().ok()),
            extra: extra.collect(),
        }
    }

    fn shape_of_rows(&self) -> Vec<Column> {
        vec![Column::Text; 2 + self.shape.extra.len()]
    }

    /// One row; `None`: there is none, or no such table.
    pub(super) async fn read(
        &self,
        held: &mut Held<'_, D>,
        table: &Table,
        key: &str,
        lock: Lock,
    ) -> Result<Option<Row>, SourceError> {
        let mut sql = Sql::default();
        sql.push(&self.select(table));
        self.push_where(&mut sql, key);
        // A second row is enough to know that there are several.
        sql.push(" LIMIT 2");
        if lock == Lock::Yes {
            sql.push(" FOR UPDATE");
        }
        let found = held.rows(&sql.text, &sql.args(), &self.shape_of_rows()).await;
        let rows = missing_is_none(found)?.unwrap_or_default();
        match rows.as_slice() {
            [] => Ok(None),
            [one] => {
                let row = self.row(one);
                // A column may compare without case: that is another counter's name, and none of ours.
                let is_it = !matches!(self.shape.keyed, Keyed::Column(_)) || row.key == key;
                Ok(is_it.then_some(row))
            }
            _ => Err(self.error(
                SourceErrorKind::Refused,
                &format!(
                    "{} has several rows for {key:?}: one is a counter",
                    table.quoted::<D>()
                ),
            )),
        }
    }

    /// How a counter stands.
    pub(super) async fn stand(
        &self,
        held: &mut Held<'_, D>,
        spot: &Spot,
        meta: &Meta,
        lock: Lock,
    ) -> Result<Stand, SourceError> {
        let live = self.read(held, &spot.home(&self.shape), &spot.key, lock).await?;
        let moved = match spot.moved(&self.shape, meta) {
            Some((table, key)) => self.read(held, &table, &key, Lock::No).await?,
            None => None,
        };
        Ok(stand(&self.shape, meta, live, moved))
    }

    pub(super) async fn look_now(&self, key: &str) -> Result<Option<Counter>, SourceError> {
        let mut held = self.link.hold(&format!("look at {key}")).await?;
        let spot = self.spot(&mut held, key).await?;
        let Some(meta) = self.meta(&mut held, &spot).await? else {
            held.done();
            return Ok(None);
        };
        let stand = self.stand(&mut held, &spot, &meta, Lock::No).await?;
        let mut counter = self.show(key.to_string(), &meta, &stand);
        if let Some(counter) = &mut counter {
            self.call(counter, &spot);
            let mut digests = self.tokens(&mut held, &spot.table, Some(&spot.key)).await?;
            add_tokens(counter, digests.remove(&spot.key));
        }
        held.done();
        Ok(counter)
    }

    pub(super) async fn check_now(&self, key: &str) -> Result<Fence, SourceError> {
        let mut held = self.link.hold(&format!("check of {key}")).await?;
        let spot = self.spot(&mut held, key).await?;
        let fence = match self.meta(&mut held, &spot).await? {
            None => Fence::None,
            Some(meta) => self
                .stand(&mut held, &spot, &meta, Lock::No)
                .await?
                .fence(&self.shape),
        };
        held.done();
        Ok(fence)
    }

    /// What callers see of a counter.
    fn show(&self, key: String, meta: &Meta, stand: &Stand) -> Option<Counter> {
        let mut counter = Counter {
            face: self.shape.face,
            min: meta.number.min.max(1),
            max: meta.number.max - i128::from(self.shape.means == Means::Next),
            type_name: meta.number.name.clone(),
            fence: stand.fence(&self.shape),
            ..Counter::new(self.shape.kind, key)
        };
        let (row, number) = match stand {
            Stand::Absent => return None,
            Stand::Broken { .. } => return Some(counter),
            Stand::Serves(row) => (row, row.number),
            Stand::Fenced { row, number, .. } => (row, Some(*number)),
        };
        counter.increment = row.increment();
        counter.details = row
            .extra
            .iter()
            .map(|(name, value)| (name.to_string(), value.clone()))
            .collect();
        let step: Option<i128> = self
            .shape
            .step
            .and_then(|column| row.extra.get(column)?.parse().ok());
        counter.cache = step.and_then(|step| u64::try_from(step.unsigned_abs()).ok());
        if let (Form::EndWithNote(column), Stand::Serves(_)) = (self.shape.form, stand) {
            counter.comment = row.extra.get(column).cloned();
            let before = row
                .extra
                .get(column)
                .map(|text| (column.to_string(), text.clone()));
            counter.before = before.into_iter().collect();
        }
        match row.misaligned(&self.shape) {
            Some(Useless::Misaligned(why, mend)) if matches!(stand, Stand::Serves(_)) => {
                counter.findings.push(self.misaligned(&counter.key, why, &mend));
            }
            _ => {}
        }
        if let (Some(step), "tinyid") = (step, self.shape.kind)
            && step * TINYID_LOADING > i32::MAX.into()
        {
            counter.findings.push(Finding {
                code: FindingCode::SmallStep,
                severity: Severity::Warn,
                text: format!(
                    "step is {step}, and tinyid computes step × 20 in 32 bits: above {} it wraps",
                    i128::from(i32::MAX) / TINYID_LOADING
                ),
                fix: self.mending(&counter.key, &[("step", "107374182")]),
            });
        }
        counter.mark = number.map(|number| row.mark(&self.shape, number));
        Some(counter)
    }

    /// Says what clients call a counter: they know no schema and no table, where a column holds its key.
    fn call(&self, counter: &mut Counter, spot: &Spot) {
        if self.shape.keyed != Keyed::Zero && counter.key != spot.key {
            counter.called = Some(spot.key.clone());
        }
    }

    fn misaligned(&self, key: &str, why: String, mend: &[(&str, &str)]) -> Finding {
        Finding {
            code: FindingCode::Misaligned,
            severity: Severity::Error,
            text: why,
            fix: self.mending(key, mend),
        }
    }

    /// The statement that mends a row.
    pub(super) fn mending(&self, key: &str, mend: &[(&str, &str)]) -> Option<String> {
        let home = self.home.get().cloned().flatten();
        let spot = super::find::parse(&self.shape, home.as_deref(), key).ok()?;
        let sets: Vec<String> = mend
            .iter()
            .map(|(column, value)| format!("{} = {value}", D::name(column)))
            .collect();
        let mut sql = Sql::shown();
        sql.push(&format!(
            "UPDATE {} SET {}",
            spot.home(&self.shape).quoted::<D>(),
            sets.join(", ")
        ));
        self.push_where(&mut sql, &spot.key);
        (!sets.is_empty()).then_some(sql.text)
    }

    pub(super) async fn list_now(&self, wanted: &Wanted) -> Result<Listed, SourceError> {
        let mut held = self.link.hold("list of counters").await?;
        let mut listed = Listed::default();
        let home = self.home(&mut held).await?;
        let mut tables = self.tables(&mut held).await?;
        if let (true, Some(home), false) = (wanted.at_home, &home, self.shape.is_own()) {
            tables.retain(|table| table.schema == *home);
        }
        for table in tables {
            let added = match self.shape.keyed {
                Keyed::Column(_) => self.list_table(&mut held, &table, wanted, &mut listed).await,
                Keyed::Zero => {
                    let key = Spot {
                        table: table.clone(),
                        key: String::new(),
                    };
                    let key = key.text(&self.shape, home.as_deref());
                    self.list_one(&mut held, key, wanted, &mut listed).await
                }
                Keyed::Listed(column) => {
                    self.list_listed(&mut held, &table, column, wanted, &mut listed)
                        .await
                }
            };
            match added {
                Err(error) if error.kind == SourceErrorKind::Unavailable => return Err(error),
                Err(error) => listed.failed.push(error.message),
                Ok(()) => {}
            }
        }
        held.done();
        listed.counters.sort_by(|a, b| a.key.cmp(&b.key));
        Ok(listed)
    }

    /// Every counter of a table that holds one a row.
    async fn list_table(
        &self,
        held: &mut Held<'_, D>,
        table: &Table,
        wanted: &Wanted,
        listed: &mut Listed,
    ) -> Result<(), SourceError> {
        let at = |key: &str| Spot {
            table: table.clone(),
            key: key.to_string(),
        };
        let home = self.home(held).await?;
        let Some(meta) = self.meta(held, &at("")).await? else {
            return Err(self.error(
                SourceErrorKind::Gone,
                &format!("no table {}.{}, or no right to read it", table.schema, table.name),
            ));
        };
        let condition = match &self.shape.condition {
            Some(condition) => format!(" WHERE ({condition})"),
            None => String::new(),
        };
        let sql = format!(
            "{}{condition} LIMIT {}",
            self.select(table),
            self.keys_max.saturating_add(1)
        );
        let rows = held.rows(&sql, &[], &self.shape_of_rows()).await?;
        self.note_limit(table, rows.len(), listed);
        let kept = usize::try_from(self.keys_max).unwrap_or(usize::MAX);
        let (named, nameless): (Vec<Row>, Vec<Row>) = rows
            .iter()
            .take(kept)
            .map(|fields| self.row(fields))
            .partition(|row| !row.key.is_empty());
        if !nameless.is_empty() {
            listed.failed.push(format!(
                "{} rows of {}.{} have a key that is empty or no text",
                nameless.len(),
                table.schema,
                table.name
            ));
        }
        let (mut moved, mut live) = (BTreeMap::new(), Vec::new());
        for row in named {
            match self.shape.form == Form::RenamedKey && row.key.starts_with(MOVED) {
                true => {
                    moved.insert(row.key.clone(), row);
                }
                false => live.push(row),
            }
        }
        let mut tokens = self.tokens(held, table, None).await?;
        let mut add = |key: &str, stand: Stand| {
            let name = at(key).text(&self.shape, home.as_deref());
            if let Some(mut counter) = self
                .show(name, &meta, &stand)
                .filter(|found| wanted.is_of(&found.key))
            {
                add_tokens(&mut counter, tokens.remove(key));
                self.call(&mut counter, &at(key));
                listed.counters.push(counter);
            }
        };
        for row in live {
            let beside = moved_key(&row.key, meta.key_chars_max).and_then(|key| moved.remove(&key));
            let key = row.key.clone();
            add(&key, stand(&self.shape, &meta, Some(row), beside));
        }
        // One that was moved by its digest is listed by that: only its move knows its key.
        for (key, row) in moved {
            add(&key[MOVED.len()..], stand(&self.shape, &meta, None, Some(row)));
        }
        Ok(())
    }

    fn note_limit(&self, table: &Table, found: usize, listed: &mut Listed) {
        if found as u64 > self.keys_max {
            listed.failed.push(format!(
                "{}.{} has more than {} rows: the others were not looked at",
                table.schema, table.name, self.keys_max
            ));
        }
    }

    /// One counter that has a table of its own. What is wrong with that is a finding, since others may be sound.
    async fn list_one(
        &self,
        held: &mut Held<'_, D>,
        key: String,
        wanted: &Wanted,
        listed: &mut Listed,
    ) -> Result<(), SourceError> {
        if !wanted.is_of(&key) {
            return Ok(());
        }
        let spot = self.spot(held, &key).await?;
        let Some(meta) = self.meta(held, &spot).await? else {
            return Ok(());
        };
        let mut counter = match self.stand(held, &spot, &meta, Lock::No).await {
            Ok(stand) => match self.show(key.clone(), &meta, &stand) {
                Some(counter) => counter,
                None => self.without_row(key, &meta, "it has no row".to_string()),
            },
            Err(error) if error.kind == SourceErrorKind::Refused => {
                self.without_row(key, &meta, error.message)
            }
            Err(error) => return Err(error),
        };
        self.call(&mut counter, &spot);
        listed.counters.push(counter);
        Ok(())
    }

    fn without_row(&self, key: String, meta: &Meta, why: String) -> Counter {
        Counter {
            type_name: meta.number.name.clone(),
            findings: vec![self.misaligned(&key, why, &[])],
            face: self.shape.face,
            ..Counter::new(self.shape.kind, key)
        }
    }

    /// The counters of idgo. It leaves a row for every SET that failed: of those only the server knows why there is no
    /// table, and none of them keeps the others from being seen.
    async fn list_listed(
        &self,
        held: &mut Held<'_, D>,
        table: &Table,
        column: &str,
        wanted: &Wanted,
        listed: &mut Listed,
    ) -> Result<(), SourceError> {
        let keys = self.listed(held, table, column).await?;
        self.note_limit(table, keys.len(), listed);
        let home = self.home(held).await?;
        let kept = usize::try_from(self.keys_max).unwrap_or(usize::MAX);
        for key in keys.into_iter().take(kept) {
            let spot = Spot {
                table: table.clone(),
                key,
            };
            let name = spot.text(&self.shape, home.as_deref());
            if !wanted.is_of(&name) {
                continue;
            }
            let why = match self.meta(held, &spot).await {
                Ok(Some(_)) => match self.list_one(held, name, wanted, listed).await {
                    Ok(()) => continue,
                    Err(error) => error,
                },
                Ok(None) => self.error(SourceErrorKind::Gone, "it has no table"),
                Err(error) => error,
            };
            // A name that no table can have fails like a server that is away, which answers nothing else either.
            if why.kind == SourceErrorKind::Unavailable && held.rows("SELECT 1", &[], &[]).await.is_err() {
                return Err(why);
            }
            listed.failed.push(format!(
                "{} lists {}: {}",
                table.name,
                crate::source::brief(&spot.key),
                why.message
            ));
        }
        Ok(())
    }

    /// The keys that a table lists.
    pub(super) async fn listed(
        &self,
        held: &mut Held<'_, D>,
        table: &Table,
        column: &str,
    ) -> Result<Vec<String>, SourceError> {
        let sql = format!(
            "SELECT CAST({} AS {}) FROM {} LIMIT {}",
            D::name(column),
            D::TEXT,
            table.quoted::<D>(),
            self.keys_max.saturating_add(1)
        );
        let rows = held.rows(&sql, &[], &[Column::Text]).await?;
        Ok(rows
            .iter()
            .filter_map(|row| text(row, 0).map(str::to_string))
            .collect())
    }

    /// What a crash empties or spoils, in words.
    pub(super) async fn forgetful(
        &self,
        held: &mut Held<'_, D>,
        schema: &str,
        name: &str,
    ) -> Result<Vec<String>, SourceError> {
        let args = [Arg::Text(schema), Arg::Text(name)];
        let rows = held.rows(D::FORGETFUL, &args, &[Column::Text]).await?;
        Ok(rows
            .iter()
            .filter_map(|row| text(row, 0).map(str::to_string))
            .collect())
    }

    /// The digests of tinyid's tokens, by key. Never the tokens: what is shown of a counter is printed.
    async fn tokens(
        &self,
        held: &mut Held<'_, D>,
        table: &Table,
        key: Option<&str>,
    ) -> Result<BTreeMap<String, Vec<String>>, SourceError> {
        let mut digests = BTreeMap::<String, Vec<String>>::new();
        if self.shape.kind != "tinyid" {
            return Ok(digests);
        }
        let of = Table {
            schema: table.schema.clone(),
            name: "tiny_id_token".into(),
        };
        let mut sql = Sql::default();
        sql.push(&format!("SELECT biz_type, token FROM {}", of.quoted::<D>()));
        if let Some(key) = key {
            sql.push(" WHERE biz_type = ");
            sql.bind::<D>(key);
        }
        sql.push(&format!(" LIMIT {}", self.keys_max));
        let rows = match held.rows(&sql.text, &sql.args(), &[Column::Text; 2]).await {
            // Who has no right to read them, or has none, moves without them.
            Err(error) if matches!(error.kind, SourceErrorKind::Gone | SourceErrorKind::Denied) => Vec::new(),
            rows => rows?,
        };
        for row in &rows {
            if let (Some(key), Some(token)) = (text(row, 0), text(row, 1)) {
                let digest = hex(&Sha256::digest(token.as_bytes()));
                digests.entry(key.to_string()).or_default().push(digest);
            }
        }
        Ok(digests)
    }
}

fn add_tokens(counter: &mut Counter, digests: Option<Vec<String>>) {
    if let Some(digests) = digests {
        counter
            .details
            .insert("token_sha256".to_string(), digests.join(","));
    }
}
