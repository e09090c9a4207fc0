//! Where a counter's row is: the tables of a shape, the key's text, the columns' types.
//!
//! A counter in the shape's usual table of the URL's own database is called by its bare key. Any other is
//! `SCHEMA.TABLE:KEY`, or `SCHEMA.TABLE` where the table itself is the key; so is a bare key that reads like that.

use super::RowSource;
use super::row::{MOVED, Meta, moved_key, moved_table};
use super::shapes::{Form, Keyed, Shape};
use super::speech::{NumberType, Speech, Sql};
use crate::source::link::Held;
use crate::source::registry::is_no_home;
use crate::source::{SourceError, SourceErrorKind};
use crate::store::sql::row::{Arg, Column, Field, Row as Fields};

/// A table with its schema.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub(super) struct Table {
    pub(super) schema: String,
    pub(super) name: String,
}

/// Where one counter is.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(super) struct Spot {
    /// The table that holds it; of a shape that has one per key, the one that lists them.
    pub(super) table: Table,
    pub(super) key: String,
}

impl Table {
    pub(super) fn quoted<D: Speech>(&self) -> String {
        format!("{}.{}", D::name(&self.schema), D::name(&self.name))
    }
}

impl Spot {
    /// The table that holds its row.
    pub(super) fn home(&self, shape: &Shape) -> Table {
        match shape.keyed {
            Keyed::Listed(_) => self.beside(self.key.clone()),
            _ => self.table.clone(),
        }
    }

    /// Where a fence puts it, table and key; `None`: it stays where it is, or nothing fits.
    pub(super) fn moved(&self, shape: &Shape, meta: &Meta) -> Option<(Table, String)> {
        match shape.form {
            Form::RenamedKey => Some((self.table.clone(), moved_key(&self.key, meta.key_chars_max)?)),
            Form::RenamedTable => Some((self.beside(moved_table(&self.key)), self.key.clone())),
            _ => None,
        }
    }

    fn beside(&self, name: String) -> Table {
        Table {
            schema: self.table.schema.clone(),
            name,
        }
    }

    /// What callers call it.
    pub(super) fn text(&self, shape: &Shape, home: Option<&str>) -> String {
        let Table { schema, name } = &self.table;
        let is_home = shape.is_own() || home == Some(schema);
        match shape.keyed {
            Keyed::Zero if is_home && !name.contains('.') => name.clone(),
            Keyed::Zero => format!("{schema}.{name}"),
            _ if shape.is_own() => self.key.clone(),
            _ if is_home && *name == *shape.table && qualified(&self.key).is_none() => self.key.clone(),
            _ => format!("{schema}.{name}:{}", self.key),
        }
    }
}

/// Reads `SCHEMA.TABLE:KEY`.
fn qualified(text: &str) -> Option<(&str, &str, &str)> {
    let (table, key) = text.split_once(':')?;
    let (schema, name) = table.split_once('.')?;
    (!schema.is_empty() && !name.is_empty() && !name.contains('.')).then_some((schema, name, key))
}

/// Reads what callers call a counter.
pub(super) fn parse(shape: &Shape, home: Option<&str>, text: &str) -> Result<Spot, String> {
    let spot = |schema: &str, name: &str, key: &str| Spot {
        table: Table {
            schema: schema.to_string(),
            name: name.to_string(),
        },
        key: key.to_string(),
    };
    let home = shape.schema.as_deref().or(home);
    let bare = |name: &str, key: &str| match home {
        Some(home) => Ok(spot(home, name, key)),
        None => Err(format!(
            "{text:?} names no database, and neither does the URL: write SCHEMA.TABLE:KEY, or the database into the URL"
        )),
    };
    let found = match shape.keyed {
        Keyed::Zero => match text.split_once('.') {
            Some((schema, name)) => spot(schema, name, ""),
            None => bare(text, "")?,
        },
        _ => match qualified(text) {
            Some((schema, name, key)) if !shape.is_own() => spot(schema, name, key),
            _ => bare(&shape.table, text)?,
        },
    };
    match shape.form {
        Form::RenamedKey if found.key.starts_with(MOVED) => Err(format!(
            "{:?} is the row of a counter that was moved: name the counter, without {MOVED}",
            found.key
        )),
        _ => Ok(found),
    }
}

pub(super) fn text(row: &Fields, at: usize) -> Option<&str> {
    row.get(at).and_then(Field::text)
}

impl<D: Speech> RowSource<D> {
    /// The schema that the URL names.
    pub(super) async fn home(&self, held: &mut Held<'_, D>) -> Result<Option<String>, SourceError> {
        if let Some(home) = self.home.get() {
            return Ok(home.clone());
        }
        let rows = held.rows(D::HOME, &[], &[Column::Text]).await?;
        let home = rows.first().and_then(|row| text(row, 0));
        let home = home.filter(|home| !is_no_home(home)).map(str::to_string);
        Ok(self.home.get_or_init(|| home).clone())
    }

    /// Where the counter of this key is.
    pub(super) async fn spot(&self, held: &mut Held<'_, D>, key: &str) -> Result<Spot, SourceError> {
        let home = self.home(held).await?;
        parse(&self.shape, home.as_deref(), key).map_err(|why| self.error(SourceErrorKind::Invalid, &why))
    }

    /// The tables of this shape that the account can see.
    pub(super) async fn tables(&self, held: &mut Held<'_, D>) -> Result<Vec<Table>, SourceError> {
        if self.shape.is_own() {
            return Ok(vec![self.spot(held, "").await?.table]);
        }
        let names: Vec<String> = self.shape.columns.iter().map(|name| D::literal(name)).collect();
        let comment = match self.shape.comment {
            Some(text) => format!(" AND t.table_comment LIKE '{text}%'"),
            None => String::new(),
        };
        // The list of idgo's keys is known by its name: any table may have a column `k`.
        let name = match self.shape.keyed {
            Keyed::Listed(_) => format!(" AND t.table_name = {}", D::literal(&self.shape.table)),
            _ => String::new(),
        };
        let sql = format!(
            "SELECT c.table_schema, c.table_name FROM information_schema.columns c \
             JOIN information_schema.tables t ON t.table_schema = c.table_schema AND t.table_name = c.table_name \
             WHERE t.table_type = 'BASE TABLE' AND c.column_name IN ({}) AND c.table_schema NOT IN {}{comment}{name} \
             GROUP BY c.table_schema, c.table_name HAVING COUNT(*) = {} ORDER BY 1, 2",
            names.join(", "),
            D::ITS_OWN,
            names.len(),
        );
        let rows = held.rows(&sql, &[], &[Column::Text; 2]).await?;
        let table = |row: &Fields| {
            Some(Table {
                schema: text(row, 0)?.to_string(),
                name: text(row, 1)?.to_string(),
            })
        };
        Ok(rows.iter().filter_map(table).collect())
    }

    /// The types of a counter's columns; `None`: there is no such table, or idgo does not list it.
    pub(super) async fn meta(
        &self,
        held: &mut Held<'_, D>,
        spot: &Spot,
    ) -> Result<Option<Meta>, SourceError> {
        let mut tables = vec![spot.home(&self.shape)];
        if let Keyed::Listed(column) = self.shape.keyed {
            let mut sql = Sql::default();
            sql.push(&format!(
                "SELECT 1 FROM {} WHERE {} = ",
                spot.table.quoted::<D>(),
                D::name(column)
            ));
            sql.bind::<D>(&spot.key);
            let listed = missing_is_none(held.rows(&sql.text, &sql.args(), &[]).await)?;
            if listed.is_none_or(|rows| rows.is_empty()) {
                return Ok(None);
            }
            tables.push(Table {
                schema: spot.table.schema.clone(),
                name: moved_table(&spot.key),
            });
        }
        for table in &tables {
            let columns = self.columns(held, table).await?;
            if let Some(meta) = self.judge_columns(table, &columns)? {
                return Ok(Some(meta));
            }
        }
        // A table that is not there and one that the account may not see look alike so far.
        let home = tables[0].quoted::<D>();
        missing_is_none(
            held.rows(&format!("SELECT 1 FROM {home} LIMIT 1"), &[], &[])
                .await,
        )?;
        Ok(None)
    }

    /// Name, type and how many characters it holds, of each column.
    async fn columns(&self, held: &mut Held<'_, D>, table: &Table) -> Result<Vec<Fields>, SourceError> {
        let as_text = |expression: &str| format!("CAST({expression} AS {})", D::TEXT);
        let sql = format!(
            "SELECT {}, {}, {} FROM information_schema.columns WHERE table_schema = {} AND table_name = {}",
            as_text("column_name"),
            as_text(D::TYPE_COLUMN),
            as_text("character_maximum_length"),
            D::place(1),
            D::place(2),
        );
        let args = [Arg::Text(&table.schema), Arg::Text(&table.name)];
        held.rows(&sql, &args, &[Column::Text; 3]).await
    }

    fn judge_columns(&self, table: &Table, columns: &[Fields]) -> Result<Option<Meta>, SourceError> {
        let find = |name: &str| {
            let is = |row: &&Fields| text(row, 0).is_some_and(|found| found.eq_ignore_ascii_case(name));
            columns.iter().find(is)
        };
        let refused = |why: String| Err(self.error(SourceErrorKind::Refused, &why));
        if columns.is_empty() {
            return Ok(None);
        }
        let absent = |name: &str| format!("table {}.{} has no column {name}", table.schema, table.name);
        let Some(number) = find(&self.shape.number) else {
            return refused(absent(&self.shape.number));
        };
        let name = text(number, 1).unwrap_or_default();
        let Some(number) = NumberType::parse(name) else {
            return refused(format!(
                "column {} of {}.{} is {name}: only whole numbers can be counted with",
                self.shape.number, table.schema, table.name
            ));
        };
        let mut key_chars_max = u64::MAX;
        if let Keyed::Column(key) = &self.shape.keyed {
            let Some(found) = find(key) else {
                return refused(absent(key));
            };
            let type_name = text(found, 1).unwrap_or_default();
            match text(found, 2).and_then(|length| length.parse().ok()) {
                Some(length) => key_chars_max = length,
                None if type_name == "text" => {}
                None => {
                    return refused(format!(
                        "column {key} of {}.{} is {type_name}: only texts can be renamed",
                        table.schema, table.name
                    ));
                }
            }
        }
        Ok(Some(Meta {
            number,
            key_chars_max,
        }))
    }
}

/// What is not there is no failure of a look.
pub(super) fn missing_is_none<T>(answer: Result<T, SourceError>) -> Result<Option<T>, SourceError> {
    match answer {
        Ok(found) => Ok(Some(found)),
        Err(error) if error.kind == SourceErrorKind::Gone => Ok(None),
        Err(error) => Err(error),
    }
}

#[cfg(test)]
#[cfg(feature = "mysql")]
mod tests {
    use super::*;
    use crate::source::rows::shapes::SHAPES;

    fn shape(kind: &str) -> &'static Shape {
        let found = SHAPES.iter().find(|shape| shape.kind == kind);
        found.expect("it is in the table")
    }

    #[test]
    fn keys_are_read_as_they_are_written() {
        for (kind, home, schema, table, key, written) in [
            ("leaf", Some("ids"), "ids", "leaf_alloc", "orders", "orders"),
            ("leaf", Some("ids"), "ids", "leaf_alloc", "a.b", "a.b"),
            ("leaf", Some("ids"), "ids", "leaf_alloc", "a:b", "a:b"),
            (
                "leaf",
                Some("ids"),
                "ids",
                "leaf_alloc",
                "a.b:c",
                "ids.leaf_alloc:a.b:c",
            ),
            (
                "leaf",
                Some("ids"),
                "old",
                "leaf_alloc",
                "orders",
                "old.leaf_alloc:orders",
            ),
            (
                "leaf",
                Some("ids"),
                "ids",
                "leaf_2",
                "orders",
                "ids.leaf_2:orders",
            ),
            (
                "leaf",
                None,
                "ids",
                "leaf_alloc",
                "orders",
                "ids.leaf_alloc:orders",
            ),
            ("vitess", Some("ids"), "ids", "orders_seq", "", "orders_seq"),
            ("vitess", Some("ids"), "old", "orders_seq", "", "old.orders_seq"),
            ("vitess", Some("ids"), "ids", "a.b", "", "ids.a.b"),
            ("idgo", Some("ids"), "ids", "__idgo__", "user.id", "user.id"),
            ("idgo", None, "ids", "__idgo__", "abc", "ids.__idgo__:abc"),
        ] {
            let spot = Spot {
                table: Table {
                    schema: schema.into(),
                    name: table.into(),
                },
                key: key.into(),
            };
            assert_eq!(spot.text(shape(kind), home), written);
            assert_eq!(parse(shape(kind), home, written), Ok(spot), "{written}");
        }
    }

    #[test]
    fn keys_that_lead_nowhere_are_refused() {
        let error = parse(shape("leaf"), None, "orders").unwrap_err();
        assert!(error.contains("names no database"), "{error}");
        let error = parse(shape("tinyid"), Some("ids"), "mint-moved:orders").unwrap_err();
        assert!(error.contains("without mint-moved:"), "{error}");
    }
}
