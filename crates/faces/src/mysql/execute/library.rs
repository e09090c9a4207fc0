//! The tables of libraries: numbers are reserved by `UPDATE`, told by `SELECT`, and sequences made by `INSERT`.

use std::sync::Arc;

use mintage::SequenceOptions;
use mintage_ledger::{Name, SequenceInfo, SequenceSpec};

use super::query::counts;
use super::{Done, Execution, Outcome, Rows};
use crate::mysql::claims::Told;
use crate::mysql::plan::{Change, LibraryChange, NewRow};
use crate::mysql::plan::{Condition, Expression, Select};
use crate::mysql::refusal::{Refusal, Verb};
use crate::mysql::tables::Library;
use crate::mysql::value::Value;
use crate::sql::names::SqlName;
use mintage_server::chassis::auth::{Right, What};
use mintage_server::chassis::error::{Answer, Code, ServiceError};
use mintage_server::chassis::keyed::{Keyed, NameBuffer, joined};
use mintage_server::chassis::service::Service;

/// How many characters of a key are shown.
const SHOWN_CHARS: usize = 80;

/// A row of a library's table.
type LibraryRow = Vec<(&'static str, Value)>;

impl Execution<'_> {
    /// `UPDATE` and `INSERT`.
    pub(super) async fn library_change(&mut self, asked: &LibraryChange) -> Outcome<Done> {
        let affected = match &asked.change {
            Change::Take { key, count } => self.reserve(asked.table, key, count.as_ref()).await?,
            Change::Guard {
                namespace,
                instance,
                number,
            } => self.guard_machine(namespace, instance, number).await?,
            Change::GiveBack {
                namespace,
                instance,
                left,
            } => self.give_machine_back(namespace, instance, left).await?,
            Change::Insert { rows, ignores } => {
                self.check_writes("INSERT")?;
                let max = self.thread.config().max_count;
                if rows.len() as u64 > max {
                    return Err(Refusal::too_many_rows(max));
                }
                let mut made = 0;
                for row in rows {
                    made += self.make_row(asked.table, row, *ignores).await?;
                }
                made
            }
        };
        self.session.touches();
        Ok(Done::Ok {
            affected,
            insert_id: 0,
        })
    }

    /// Reserves numbers of a key's sequence; 0 rows where there is none, which the library tells in its own words.
    async fn reserve(
        &mut self,
        table: Library,
        key: &Expression,
        count: Option<&Expression>,
    ) -> Outcome<u64> {
        self.check_writes("UPDATE")?;
        let config = self.thread.config();
        let step = config.faces.get::<crate::mysql::Settings>().leaf_step;
        let count = match count {
            Some(count) => self.number(count, "UPDATE").await?,
            None => step.into(),
        };
        let count = u64::try_from(count).ok().filter(|count| *count > 0);
        let Some(count) = count else {
            let text = format!("{} only grows: what is added must be 1 or more", table.counts());
            return Err(Refusal::arguments(text));
        };
        let key = self.library_key(key).await?;
        let mut buffer = NameBuffer::default();
        let keyed = Keyed {
            thread: self.thread,
            keys: table.keys(&config),
            who: &self.session.identity,
            peer: self.peer,
        };
        let Ok(name) = keyed.name(&key, &mut buffer) else {
            return Ok(0);
        };
        if self.session.in_transaction {
            self.session.claims.check(name)?;
        }
        let run = match keyed.take_counted(&key, count).await {
            Ok((run, _)) => run,
            Err(error) if error.code == Code::NotFound => return Ok(0),
            Err(error) => return Err(self.library_refusal(&error, table, "UPDATE")),
        };
        let told = Told {
            last: run.last(),
            step,
        };
        self.session.claims.add(name, told);
        Ok(1)
    }

    pub(super) async fn library_key(&mut self, key: &Expression) -> Outcome<Vec<u8>> {
        let key = self.value(key, &[]).await?;
        Ok(key.to_text().map(|text| text.to_vec()).unwrap_or_default())
    }

    pub(super) fn library_refusal(&self, error: &ServiceError, table: Library, command: &str) -> Refusal {
        self.refusal(error, Verb::Id, &SqlName::bare(table.table()), command)
    }

    /// Makes the sequence of a new row.
    async fn make_row(&mut self, table: Library, row: &NewRow, ignores: bool) -> Outcome<u64> {
        let key = self.library_key(&row.key).await?;
        let shown = String::from_utf8_lossy(&key).into_owned();
        let at = match &row.at {
            Some(at) => self.number(at, "INSERT").await?,
            None => table.beyond_last().into(),
        };
        let first = at + 1 - i128::from(table.beyond_last());
        let first = i64::try_from(first)
            .ok()
            .filter(|first| at >= 0 && *first < i64::MAX);
        let first = first.ok_or_else(|| Refusal::out_of_range(&format!("{} of this row", table.counts())))?;
        let config = self.thread.config();
        let mut buffer = NameBuffer::default();
        let name = joined(table.keys(&config), &key, &mut buffer);
        let service = self.thread.service();
        let name = service.name(name.unwrap_or_default()).map_err(|error| {
            let shown: String = shown.chars().take(SHOWN_CHARS).collect();
            Refusal::arguments(format!(
                "{} {shown:?} is no key of a sequence: {}",
                table.key(),
                error.message
            ))
        })?;
        let spec = SequenceSpec {
            options: SequenceOptions {
                start: Some(first),
                min: (first < 1).then_some(first),
                ..SequenceOptions::default()
            },
            ..SequenceSpec::default()
        };
        let making = async {
            if service.find(&name).await?.is_some() {
                return Ok(false);
            }
            match service.create_by_use(&name, &spec).await {
                // Somebody else made it in the same moment.
                Err(error) if error.code == Code::Exists => Ok(false),
                made => made.map(|(_, is_new)| is_new),
            }
        };
        let of = (name.as_str(), &SqlName::bare(table.table()));
        let made = self
            .administrate("create", of, (Verb::Id, "INSERT"), making)
            .await?;
        match made || ignores {
            true => Ok(made.into()),
            false => Err(Refusal::duplicate(&shown)),
        }
    }

    /// The rows of a library's table: what this session has reserved, else how far each sequence is.
    pub(super) async fn library_rows(
        &mut self,
        select: &Select,
        table: Library,
        limit: (u128, u128),
    ) -> Outcome<Rows> {
        let is_other = |condition: &Condition| matches!(condition, Condition::Above(..) | Condition::Other);
        if select.conditions.iter().any(is_other) {
            return Err(Refusal::not_here(&format!(
                "these conditions on {}: its rows are found by {} = …",
                table.table(),
                table.key()
            )));
        }
        let found = match self.keys_asked_for(select, table).await? {
            Some(keys) => {
                let mut rows = Vec::new();
                for key in keys {
                    rows.extend(self.library_row(table, &key).await?);
                }
                rows
            }
            None => self.all_library_rows(table).await?,
        };
        self.session.touches();
        let mut rows = Vec::new();
        for row in found {
            if self.fits(select, &row).await? {
                rows.push(row);
            }
        }
        if counts(select) {
            return Ok(Rows {
                columns: self.columns(select),
                values: vec![Value::Integer(rows.len() as i64)],
            });
        }
        if select.order == Some(true) {
            rows.reverse();
        }
        self.check_size(select.items.len(), (rows.len() * select.items.len()) as u128)?;
        self.rows_of(select, rows, limit).await
    }

    /// The keys that a query names, each once; `None`: all.
    async fn keys_asked_for(&mut self, select: &Select, table: Library) -> Outcome<Option<Vec<Vec<u8>>>> {
        for condition in &select.conditions {
            if let Condition::OneOf(column, values) = condition
                && **column == *table.key()
            {
                let mut keys = Vec::new();
                for value in values {
                    let key = self.library_key(value).await?;
                    if !keys.contains(&key) {
                        keys.push(key);
                    }
                }
                return Ok(Some(keys));
            }
        }
        Ok(None)
    }

    async fn library_row(&mut self, table: Library, key: &[u8]) -> Outcome<Option<LibraryRow>> {
        let config = self.thread.config();
        let shown = String::from_utf8_lossy(key).into_owned();
        let step = config.faces.get::<crate::mysql::Settings>().leaf_step;
        let mut buffer = NameBuffer::default();
        let Some(name) = joined(table.keys(&config), key, &mut buffer) else {
            return Ok(None);
        };
        if let Some(told) = self.session.claims.tell(name) {
            return Ok(Some(row(table, &shown, told)));
        }
        let keyed = Keyed {
            thread: self.thread,
            keys: table.keys(&config),
            who: &self.session.identity,
            peer: self.peer,
        };
        match keyed.find(key).await {
            Ok(info) => Ok(Some(row(table, &shown, Told::of(&info, step)))),
            Err(error) if error.code == Code::NotFound => Ok(None),
            Err(error) => Err(self.library_refusal(&error, table, "SELECT")),
        }
    }

    /// A row for every sequence that may be seen.
    async fn all_library_rows(&mut self, table: Library) -> Outcome<Vec<LibraryRow>> {
        let config = self.thread.config();
        let (max, step) = (
            config.max_count,
            config.faces.get::<crate::mysql::Settings>().leaf_step,
        );
        let keys = table.keys(&config).clone();
        let who = self.session.identity.clone();
        let list = |service: Arc<Service>| async move {
            let sees = |name: &Name| who.may(Right::Read, What::Named(name.as_str().as_bytes()));
            let mut found: Vec<(String, SequenceInfo)> = Vec::new();
            for (key, name) in keys.names.0.iter().filter(|(_, name)| sees(name)) {
                if let Some(info) = service.find(name).await? {
                    found.push((key.clone(), info));
                }
            }
            let others = |info: &SequenceInfo| {
                sees(&info.name) && !keys.names.0.values().any(|name| *name == info.name)
            };
            let prefix = keys.prefix.0.as_str();
            for info in service.sequences_matching(max, prefix, others).await? {
                if let Some(key) = info.name.as_str().strip_prefix(prefix) {
                    found.push((key.to_string(), info));
                }
            }
            found.sort_by(|one, other| one.0.cmp(&other.0));
            Ok(found)
        };
        let listed: Answer<Vec<_>> = self.thread.service().aside(list).await;
        let listed = listed.map_err(|error| self.library_refusal(&error, table, "SELECT"))?;
        let rows = listed.iter();
        Ok(rows
            .map(|(key, info)| row(table, key, Told::of(info, step)))
            .collect())
    }
}

impl Told {
    /// Where a sequence stands that this session has reserved nothing of.
    fn of(info: &SequenceInfo, step: u64) -> Told {
        Told {
            last: info.last.unwrap_or(info.first.saturating_sub(1)),
            step,
        }
    }
}

fn row(table: Library, key: &str, told: Told) -> LibraryRow {
    let (key, last) = (Value::text(key), told.last.saturating_add(table.beyond_last()));
    let step = i64::try_from(told.step).unwrap_or(i64::MAX);
    let values = match table {
        Library::Cosid => vec![
            key,
            Value::Unsigned(u64::try_from(last).unwrap_or(0)),
            Value::Unsigned(0),
        ],
        // Its rows are machines, and no sequences.
        Library::Machines => Vec::new(),
        Library::Leaf => vec![
            key,
            Value::Integer(last),
            Value::Integer(step),
            Value::Null,
            Value::Null,
        ],
    };
    table
        .columns()
        .iter()
        .map(|(name, _)| *name)
        .zip(values)
        .collect()
}
