//! `SELECT`: from nothing, a series, a ticket's table, a sequence, the catalogue.

use std::sync::Arc;

use mintage::Series;
use mintage_ledger::{Name, SequenceInfo};

use super::columns::{SEQUENCE_COLUMNS, all_columns, column_kind, sequence_row};
use super::like::{like, literal};
use super::value::{ANY_OTHER, Row};
use super::{Done, Execution, Outcome, Rows};
use crate::mysql::answer::Column;
use crate::mysql::plan::{Condition, Expression, From, Item, Select};
use crate::mysql::refusal::{Refusal, Verb};
use crate::mysql::tables::Library;
use crate::mysql::value::{Kind, Value};
use crate::sql::names::SqlName;
use mintage_server::chassis::auth::{Right, What};
use mintage_server::chassis::error::{Answer, Code};
use mintage_server::chassis::service::Service;
use mintage_server::chassis::turn::{SLICE, Turn};

impl Execution<'_> {
    /// One query, or several whose rows follow each other under the columns of the first.
    pub(super) async fn select(&mut self, selects: &[Select]) -> Outcome<Done> {
        let mut all = Rows::default();
        for select in selects {
            let rows = self.one(select).await?;
            match all.columns.is_empty() {
                true => all = rows,
                false if rows.columns.len() == all.columns.len() => all.values.extend(rows.values),
                false => return Err(Refusal::not_here("UNION of different columns")),
            }
            self.check_size(all.columns.len(), all.values.len() as u128)?;
        }
        Ok(Done::Rows(all))
    }

    /// The columns of a query, as far as they are known before it runs.
    pub(in crate::mysql) fn columns(&self, select: &Select) -> Vec<Column> {
        let mut columns = Vec::new();
        for item in &select.items {
            match item {
                Item::All => columns.extend(all_columns(&select.from)),
                Item::One { expression, name } => {
                    let kind = match (expression, &select.from) {
                        (Expression::Column(_), From::Series(_)) => Kind::Unsigned,
                        (Expression::Column(column), From::Table(_)) => column_kind(column),
                        (Expression::Column(column), From::Library(library)) => {
                            library.kind(column).unwrap_or(Kind::Text)
                        }
                        _ => self.kind(expression),
                    };
                    columns.push(Column::new(name.as_bytes(), kind));
                }
            }
        }
        columns
    }

    /// The columns of `RETURNING`.
    pub(in crate::mysql) fn returned_columns(&self, items: &[Item]) -> Vec<Column> {
        let column = |item: &Item| match item {
            Item::All => Column::new("id", Kind::Integer),
            Item::One { expression, name } => {
                let kind = match expression {
                    Expression::Column(column) => column_kind(column),
                    expression => self.kind(expression),
                };
                Column::new(name.as_bytes(), kind)
            }
        };
        items.iter().map(column).collect()
    }

    /// `RETURNING`: of each row its id, and of other columns nothing, since their values were dropped.
    pub(super) async fn returned(&mut self, items: &[Item], ids: &[i64]) -> Outcome<Done> {
        let mut all = Rows {
            columns: self.returned_columns(items),
            values: Vec::new(),
        };
        self.check_size(items.len(), (ids.len() * items.len()) as u128)?;
        for id in ids {
            for item in items {
                let value = match item {
                    Item::All => Value::Integer(*id),
                    Item::One { expression, .. } => match expression {
                        Expression::Column(column) if column.eq_ignore_ascii_case("id") => {
                            Value::Integer(*id)
                        }
                        Expression::Column(_) => Value::Null,
                        expression => self.value(expression, &[]).await?,
                    },
                };
                all.values.push(value);
            }
        }
        Ok(Done::Rows(all))
    }

    async fn one(&mut self, select: &Select) -> Outcome<Rows> {
        let limit = self.limit(select).await?;
        match &select.from {
            From::Nothing if select.items.contains(&Item::All) => Err(no_tables()),
            From::Nothing => self.rows_of(select, vec![Vec::new()], limit).await,
            From::Series(series) => self.series(select, *series, limit).await,
            From::Table(name) if self.is_next(name) => {
                let rows = match select.conditions.is_empty() {
                    true => vec![Vec::new()],
                    false => Vec::new(),
                };
                self.rows_of(&next_of(select, name), rows, limit).await
            }
            From::Table(name) => self.table(select, name, limit).await,
            From::Library(Library::Machines) => self.machine_rows(select, limit).await,
            From::Library(library) => self.library_rows(select, *library, limit).await,
            From::Catalogue(table) => {
                let rows = self.catalogue(select, table).await?;
                self.rows_of(select, rows, limit).await
            }
        }
    }

    /// Whether a table is one whose `id` is a new number each time it is read: the database `next` holds such, as the
    /// schema `next` of the PostgreSQL protocol does, for tables of engines that read others (FEDERATED, CONNECT).
    fn is_next(&self, name: &SqlName) -> bool {
        name.schema.as_deref().unwrap_or(&self.session.database) == NEXT
    }

    /// How many rows are left out, and how many are shown at most.
    async fn limit(&mut self, select: &Select) -> Outcome<(u128, u128)> {
        let Some((offset, count)) = &select.limit else {
            return Ok((0, u128::MAX));
        };
        let offset = self.number(offset, "LIMIT").await?;
        let count = self.number(count, "LIMIT").await?;
        match (u128::try_from(offset), u128::try_from(count)) {
            (Ok(offset), Ok(count)) => Ok((offset, count)),
            _ => Err(Refusal::arguments("Incorrect arguments to LIMIT")),
        }
    }

    pub(super) fn check_size(&self, columns: usize, values: u128) -> Outcome<()> {
        let max = self.thread.config().max_count;
        let rows = values / columns.max(1) as u128;
        // A row of many columns is as much to write as many rows of one.
        match rows > max.into() || values > u128::from(max.max(COLUMNS_MAX)) * 4 {
            true => Err(Refusal::too_many_rows(max)),
            false => Ok(()),
        }
    }

    /// Rows out of the columns that each has.
    pub(super) async fn rows_of(
        &mut self,
        select: &Select,
        rows: Vec<Vec<(&'static str, Value)>>,
        (offset, count): (u128, u128),
    ) -> Outcome<Rows> {
        let mut all = Rows {
            columns: self.columns(select),
            values: Vec::new(),
        };
        let offset = usize::try_from(offset).unwrap_or(usize::MAX);
        let count = usize::try_from(count).unwrap_or(usize::MAX);
        for row in rows.iter().skip(offset).take(count) {
            self.push_row(select, row, &mut all).await?;
        }
        Ok(all)
    }

    async fn push_row(&mut self, select: &Select, row: Row<'_>, all: &mut Rows) -> Outcome<()> {
        for item in &select.items {
            match item {
                Item::All => {
                    let told = row.iter().filter(|(name, _)| *name != ANY_OTHER);
                    all.values.extend(told.map(|(_, value)| value.clone()));
                }
                Item::One { expression, .. } => {
                    let value = self.value(expression, row).await?;
                    all.values.push(value);
                }
            }
        }
        Ok(())
    }

    /// The numbers of a series, or what is asked for with each of them.
    async fn series(
        &mut self,
        select: &Select,
        series: Series,
        (offset, count): (u128, u128),
    ) -> Outcome<Rows> {
        let mut all = Rows {
            columns: self.columns(select),
            values: Vec::new(),
        };
        let length = match select.conditions.is_empty() {
            true => series.count(),
            false => return self.some_of_series(select, series, all).await,
        };
        if counts(select) {
            all.values
                .push(Value::Unsigned(u64::try_from(length).unwrap_or(u64::MAX)));
            return Ok(all);
        }
        let places = length.saturating_sub(offset).min(count);
        self.check_size(all.columns.len(), places * all.columns.len() as u128)?;
        let is_falling = series.first() > series.last();
        let mut turn = Turn::begin(self.thread);
        for at in 0..places {
            // In the order of the name, unless the other one is asked for.
            let place = match select.order.is_some_and(|falling| falling != is_falling) {
                true => length - 1 - offset - at,
                false => offset + at,
            };
            self.push_row(select, &[("seq", number_of(series, place))], &mut all)
                .await?;
            if at % SLICE as u128 == SLICE as u128 - 1 {
                turn.give_way_if_over().await;
            }
        }
        Ok(all)
    }

    /// Those numbers of a series that are asked for one by one.
    async fn some_of_series(&mut self, select: &Select, series: Series, mut all: Rows) -> Outcome<Rows> {
        let [Condition::OneOf(column, values)] = &select.conditions[..] else {
            return Err(Refusal::not_here("these conditions on a series"));
        };
        if &**column != "seq" {
            return Err(Refusal::no_column(column, "WHERE"));
        }
        let mut found = 0;
        for value in values {
            let value = self.value(value, &[]).await?;
            let place = value.as_integer().and_then(|number| series.place_of(number));
            let Some(place) = place else { continue };
            found += 1;
            if !counts(select) {
                self.push_row(select, &[("seq", number_of(series, place))], &mut all)
                    .await?;
            }
        }
        if counts(select) {
            all.values.push(Value::Integer(found));
        }
        Ok(all)
    }

    /// A ticket's table, whose one row has the last number; or a sequence, whose one row is its definition.
    async fn table(&mut self, select: &Select, name: &SqlName, limit: (u128, u128)) -> Outcome<Rows> {
        let key = self.key(name);
        self.check_read(&key, name)?;
        let found = match self.thread.service().name(key.as_bytes()) {
            Ok(known) => self.thread.service().show(&known).await,
            Err(error) => Err(error),
        };
        let info = found.map_err(|error| self.refusal(&error, Verb::Table, name, "SELECT"))?;
        self.session.touches();
        let row = match is_of_sequence(select) {
            true if has_only(select, &[]) => Some(sequence_row(&info)),
            true => None,
            false => self.ticket_row(select, &info).await?,
        };
        self.rows_of(select, row.into_iter().collect(), limit).await
    }

    /// The row of a ticket's table; `None`: nothing was taken yet, or another row is asked for.
    async fn ticket_row(
        &mut self,
        select: &Select,
        info: &SequenceInfo,
    ) -> Outcome<Option<Vec<(&'static str, Value)>>> {
        let Some(last) = info.last.filter(|_| has_only(select, &["id", "stub"])) else {
            return Ok(None);
        };
        let mut stub = Value::text("a");
        for condition in &select.conditions {
            let Condition::OneOf(column, values) = condition else {
                return Ok(None);
            };
            let mut fits = false;
            for value in values {
                let value = self.value(value, &[]).await?;
                if &**column == "stub" {
                    // Whatever its one row is called, it is that one.
                    (stub, fits) = (value, true);
                    break;
                }
                fits |= value.as_integer() == Some(last.into());
            }
            if !fits {
                return Ok(None);
            }
        }
        Ok(Some(vec![("id", Value::Integer(last)), ("stub", stub)]))
    }

    /// The rows of a table of `information_schema`: sequences are told of, and there is nothing else.
    async fn catalogue(&mut self, select: &Select, table: &str) -> Outcome<Vec<Vec<(&'static str, Value)>>> {
        if table != "tables" {
            return Ok(Vec::new());
        }
        let database = self.session.database.to_string();
        let mut rows = Vec::new();
        let asked = self.names_asked_for(select).await?;
        for name in self.sequence_names(asked).await? {
            let row = vec![
                ("table_catalog", Value::text("def")),
                ("table_schema", Value::text(&database)),
                ("table_name", Value::text(name)),
                ("table_type", Value::text("SEQUENCE")),
                ("engine", Value::text("SEQUENCE")),
                (ANY_OTHER, Value::Null),
            ];
            if self.fits(select, &row).await? {
                rows.push(row);
            }
        }
        self.check_size(1, rows.len() as u128)?;
        Ok(rows)
    }

    pub(super) async fn fits(&mut self, select: &Select, row: Row<'_>) -> Outcome<bool> {
        for condition in &select.conditions {
            let of = |column: &str| {
                row.iter()
                    .find(|(name, _)| *name == column)
                    .map(|(_, value)| value)
            };
            let fits = match condition {
                // Databases select nothing.
                Condition::OneOf(column, _) if &**column == "table_schema" => true,
                Condition::OneOf(column, values) => {
                    let mut fits = false;
                    for value in values {
                        let value = self.value(value, &[]).await?.to_text().unwrap_or_default();
                        let known = of(column).and_then(Value::to_text);
                        fits |= known.is_some_and(|known| known.eq_ignore_ascii_case(&value));
                    }
                    fits
                }
                Condition::Like(column, pattern) => {
                    let pattern = self.value(pattern, &[]).await?.to_text().unwrap_or_default();
                    let known = of(column).and_then(Value::to_text);
                    known.is_some_and(|known| like(&pattern, &known))
                }
                Condition::Above(..) | Condition::Other => false,
            };
            if !fits {
                return Ok(false);
            }
        }
        Ok(true)
    }

    /// What a query says of the names of tables.
    async fn names_asked_for(&mut self, select: &Select) -> Outcome<Vec<OfNames>> {
        let mut all = Vec::new();
        for condition in &select.conditions {
            all.push(match condition {
                Condition::OneOf(column, values) if &**column == "table_name" => {
                    let mut names = Vec::new();
                    for value in values {
                        names.push(self.value(value, &[]).await?.to_text().unwrap_or_default());
                    }
                    OfNames::OneOf(names)
                }
                Condition::Like(column, pattern) if &**column == "table_name" => {
                    let pattern = self.value(pattern, &[]).await?.to_text();
                    OfNames::Like(pattern.unwrap_or_default())
                }
                _ => continue,
            });
        }
        Ok(all)
    }

    /// The names of the sequences that may be seen and are asked for, as they are called on this face.
    pub(super) async fn sequence_names(&mut self, asked: Vec<OfNames>) -> Outcome<Vec<String>> {
        let config = self.thread.config();
        let max = config.resp_max_keys.min(config.max_count);
        let prefix = config.faces.get::<crate::mysql::Settings>().keys.prefix.0.clone();
        let who = self.session.identity.clone();
        let list = |service: Arc<Service>| async move {
            let sees = |name: &Name| who.may(Right::Read, What::Named(name.as_str().as_bytes()));
            let names = match asked.iter().find_map(OfNames::literal) {
                Some(literals) => named(&service, &prefix, &literals).await?,
                None => None,
            };
            let fits = |name: &Name| {
                let of_face = name.as_str().strip_prefix(prefix.as_str());
                of_face.is_some_and(|own| asked.iter().all(|asked| asked.fits(own.as_bytes()))) && sees(name)
            };
            let names = match names {
                Some(mut names) => {
                    names.retain(fits);
                    names
                }
                None => service.names_matching(max, &prefix, fits).await?,
            };
            let shown = |name: &Name| name.as_str()[prefix.len()..].to_string();
            Ok(names.iter().map(shown).collect())
        };
        let listed = self.thread.service().aside(list).await;
        listed.map_err(|error| {
            let fewer = "ask for fewer of them, such as those LIKE 'orders%'";
            let error = match error.code {
                Code::TooMany => error.with_hint(fewer),
                _ => error,
            };
            Refusal::of(&error, Verb::Id, "")
        })
    }
}

/// The database whose tables have a new number in each row.
const NEXT: &str = "next";

/// A query of such a table, as one that takes the number; other columns are NULL, as those of a ticket's table.
fn next_of(select: &Select, name: &SqlName) -> Select {
    let next = Expression::Next(SqlName::bare(name.name.as_str()));
    let item = |item: &Item| match item {
        Item::All => Item::One {
            expression: next.clone(),
            name: "id".into(),
        },
        Item::One { expression, name } => Item::One {
            expression: match expression {
                Expression::Column(column) if column.eq_ignore_ascii_case("id") => next.clone(),
                Expression::Column(_) => Expression::Null,
                other => other.clone(),
            },
            name: name.clone(),
        },
    };
    Select {
        items: select.items.iter().map(item).collect(),
        from: From::Nothing,
        ..select.clone()
    }
}

/// What names a query wants.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(super) enum OfNames {
    OneOf(Vec<Vec<u8>>),
    Like(Vec<u8>),
}

impl OfNames {
    fn fits(&self, name: &[u8]) -> bool {
        match self {
            OfNames::OneOf(names) => names.iter().any(|wanted| wanted.eq_ignore_ascii_case(name)),
            OfNames::Like(pattern) => like(pattern, name),
        }
    }

    /// The names themselves, where it says them and no pattern.
    fn literal(&self) -> Option<Vec<Vec<u8>>> {
        match self {
            OfNames::OneOf(names) => Some(names.clone()),
            OfNames::Like(pattern) => literal(pattern).map(|name| vec![name]),
        }
    }
}

/// The sequences of these very names; `None` if one is not there: it may be there in other letters, since a comparison
/// makes no difference between large and small ones.
async fn named(service: &Service, prefix: &str, names: &[Vec<u8>]) -> Answer<Option<Vec<Name>>> {
    let mut found = Vec::new();
    for name in names {
        let key = [prefix.as_bytes(), name].concat();
        let Ok(key) = Name::from_bytes(&key) else { continue };
        if service.find(&key).await?.is_none() {
            return Ok(None);
        }
        if !found.contains(&key) {
            found.push(key);
        }
    }
    found.sort();
    Ok(Some(found))
}

/// Whether a query asks a sequence for its definition: by `*`, or by one of the columns.
fn is_of_sequence(select: &Select) -> bool {
    select.items.iter().any(|item| match item {
        Item::All => true,
        Item::One {
            expression: Expression::Column(column),
            ..
        } => SEQUENCE_COLUMNS
            .iter()
            .any(|known| column.eq_ignore_ascii_case(known)),
        Item::One { .. } => false,
    })
}

/// Whether a query names no columns but these, beside those of a sequence, and no conditions on others.
fn has_only(select: &Select, names: &[&str]) -> bool {
    let is_one = |column: &str, of_sequence: bool| {
        names.iter().any(|name| column.eq_ignore_ascii_case(name))
            || of_sequence
                && SEQUENCE_COLUMNS
                    .iter()
                    .any(|known| column.eq_ignore_ascii_case(known))
    };
    let items = select.items.iter().all(|item| match item {
        Item::One {
            expression: Expression::Column(column),
            ..
        } => is_one(column, names.is_empty()),
        _ => true,
    });
    items
        && select.conditions.iter().all(|condition| match condition {
            Condition::OneOf(column, _) => is_one(column, false),
            _ => false,
        })
}

fn number_of(series: Series, place: u128) -> Value {
    let number = series.at(place);
    match u64::try_from(number) {
        Ok(number) => Value::Unsigned(number),
        Err(_) => Value::Integer(number as i64),
    }
}

pub(super) fn counts(select: &Select) -> bool {
    matches!(
        &select.items[..],
        [Item::One {
            expression: Expression::Count,
            ..
        }]
    )
}

fn no_tables() -> Refusal {
    Refusal {
        errno: 1096,
        ..Refusal::arguments("No tables used")
    }
    .with_state("HY000")
}

/// How many columns a query has at most.
const COLUMNS_MAX: u64 = 1024;
