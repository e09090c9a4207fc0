//! How a column of AUTO_INCREMENT stands: its table's counter, the trigger that fences it, and which tables give tickets.

use std::collections::BTreeMap;

use super::shared::{
    Host, ITS_OWN, MyHeld, MyLink, Table, TextRow, error, limits, literal, name_for, number, texts, word,
};
use crate::source::fence::{Fence, MoveId};
use crate::source::{ColumnUse, Counter, Finding, FindingCode, How, Severity, SourceError, SourceErrorKind};
use crate::store::sql::row::Arg;

/// What the text of a fence's trigger says before the id of its move.
const COME_FROM: &str = " come from mint: ";

/// What stands between the id and the mark.
const FROM: &str = " from ";

/// How much of a table's name the message of a trigger repeats: the server allows 128 characters.
const NAMED_CHARS: usize = 44;

/// A fence: an insert that asks for a generated number fails.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(super) struct Trigger {
    pub(super) name: String,
    pub(super) id: MoveId,
    pub(super) mark: i128,
}

/// A column whose numbers the server generates.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(super) struct Generated {
    pub(super) table: Table,
    pub(super) column: String,
    pub(super) column_type: String,
    pub(super) column_key: String,
    pub(super) engine: String,
    /// The table's counter: the next number at the earliest.
    pub(super) counter: Option<i128>,
    /// The largest number in the column.
    pub(super) highest: Option<i128>,
    pub(super) fence: Option<Trigger>,
}

const COLUMNS: &str = "SELECT c.table_schema, c.table_name, c.column_name, c.column_type, c.column_key, t.engine, \
     CAST(t.auto_increment AS CHAR) FROM information_schema.columns c JOIN information_schema.tables t \
     ON t.table_schema = c.table_schema AND t.table_name = c.table_name \
     WHERE c.extra LIKE '%auto_increment%' AND t.table_type = 'BASE TABLE'";

const TRIGGERS: &str = "SELECT event_object_schema, event_object_table, trigger_name, action_statement \
     FROM information_schema.triggers WHERE action_statement LIKE '%come from mint: %'";

impl Generated {
    fn of_row(row: &TextRow) -> Generated {
        Generated {
            table: Table::new(word(row, 0), word(row, 1)),
            column: word(row, 2).to_string(),
            column_type: word(row, 3).to_string(),
            column_key: word(row, 4).to_string(),
            engine: word(row, 5).to_string(),
            counter: number(row, 6),
            highest: None,
            fence: None,
        }
    }

    /// Every one that the account sees, without the largest numbers.
    pub(super) async fn all(held: &mut MyHeld<'_>) -> Result<Vec<Generated>, SourceError> {
        // Not as one statement: of ten thousand tables the server takes 10 s to join what each half gives in 1 s.
        let sql = format!(
            "SELECT table_schema, table_name, column_name, column_type, column_key FROM information_schema.columns \
             WHERE extra LIKE '%auto_increment%' AND table_schema NOT IN {ITS_OWN}"
        );
        let columns = texts(held, &sql, &[], 5).await?;
        let sql = format!(
            "SELECT table_schema, table_name, engine, CAST(auto_increment AS CHAR) FROM information_schema.tables \
             WHERE table_type = 'BASE TABLE' AND table_schema NOT IN {ITS_OWN}"
        );
        let tables = texts(held, &sql, &[], 4).await?;
        let tables: BTreeMap<(&str, &str), &TextRow> = tables
            .iter()
            .map(|row| ((word(row, 0), word(row, 1)), row))
            .collect();
        // The view of a table shows its columns, too; one that was made in between is of the next look.
        let rows: Vec<TextRow> = columns
            .into_iter()
            .filter_map(|mut row| {
                let table = tables.get(&(word(&row, 0), word(&row, 1)))?;
                row.extend([table[2].clone(), table[3].clone()]);
                Some(row)
            })
            .collect();
        let fences = texts(held, TRIGGERS, &[], 4).await?;
        let fences: BTreeMap<Table, Trigger> = fences
            .iter()
            .filter_map(|row| Some((Table::new(word(row, 0), word(row, 1)), Trigger::of_row(row, 2)?)))
            .collect();
        let with_fence = |row| {
            let found = Generated::of_row(row);
            let fence = fences.get(&found.table).cloned();
            Generated { fence, ..found }
        };
        Ok(rows.iter().map(with_fence).collect())
    }

    /// The one of a table, with its largest number; `None`: there is no such table, or it generates nothing.
    pub(super) async fn of_table(
        held: &mut MyHeld<'_>,
        table: &Table,
    ) -> Result<Option<Generated>, SourceError> {
        let args = [Arg::Text(&table.schema), Arg::Text(&table.name)];
        let sql = format!(
            "{COLUMNS} AND c.table_schema = ? AND c.table_name = ? AND t.table_schema = ? AND t.table_name = ?"
        );
        let rows = texts(held, &sql, &[args[0], args[1], args[0], args[1]], 7).await?;
        let Some(mut found) = rows.first().map(Generated::of_row) else {
            return Ok(None);
        };
        let sql = format!(
            "SELECT CAST(MAX({}) AS CHAR) FROM {}",
            super::shared::name(&found.column),
            table.quoted()
        );
        let rows = texts(held, &sql, &[], 1).await?;
        found.highest = rows.first().and_then(|row| number(row, 0));
        let sql = format!("{TRIGGERS} AND event_object_schema = ? AND event_object_table = ?");
        let rows = texts(held, &sql, &args, 4).await?;
        found.fence = rows.iter().find_map(|row| Trigger::of_row(row, 2));
        Ok(Some(found))
    }

    /// The first number that was certainly not given out; `None`: the server does not show its counter.
    pub(super) fn mark(&self, host: &Host) -> Option<i128> {
        let next = self.counter.max(self.highest.map(|highest| highest + 1))?;
        Some(host.align(next))
    }

    /// The same, where it must be known.
    pub(super) fn known_mark(&self, link: &MyLink, host: &Host) -> Result<i128, SourceError> {
        self.mark(host).ok_or_else(|| {
            let why = format!("{}: the server does not show its counter", self.table.plain());
            error(link, SourceErrorKind::Refused, &why)
        })
    }

    /// Whether it goes on behind what was issued, though no fence of the move stands there any more.
    pub(super) fn is_behind(
        &self,
        link: &MyLink,
        host: &Host,
        key: &str,
        issued: Option<i64>,
    ) -> Result<(), SourceError> {
        let issued = issued.map_or(i128::MIN, i128::from);
        let next = self.known_mark(link, host)?;
        if next > issued {
            return Ok(());
        }
        let why =
            format!("no fence stands at {key}, and it would give out {next} again, which was given out here");
        Err(error(link, SourceErrorKind::Foreign, &why).with_fix(self.set(issued + 1)))
    }

    pub(super) fn limits(&self) -> (i128, i128) {
        limits(&self.column_type).unwrap_or((0, i64::MAX.into()))
    }

    /// How the counter is set; InnoDB can do so in place.
    pub(super) fn set(&self, next: i128) -> String {
        let in_place = if self.engine == "InnoDB" {
            ", ALGORITHM=INPLACE, LOCK=NONE"
        } else {
            ""
        };
        format!(
            "ALTER TABLE {} AUTO_INCREMENT = {next}{in_place}",
            self.table.quoted()
        )
    }

    /// What a list shows.
    pub(super) fn shown(&self, kind: &'static str, key: &str, host: &Host) -> Counter {
        let (min, max) = self.limits();
        let unique = matches!(self.column_key.as_str(), "PRI" | "UNI");
        let column = ColumnUse {
            table: self.table.plain(),
            column: self.column.clone(),
            type_name: self.column_type.clone(),
            min,
            max,
            highest: self.highest,
            unique,
            how: How::AutoIncrement,
        };
        let details = [
            ("increment", host.increment.to_string()),
            ("offset", host.offset.to_string()),
            ("server", host.identity.clone()),
            ("version", host.version.clone()),
            ("engine", self.engine.clone()),
        ];
        Counter {
            mark: self.mark(host),
            increment: host.increment,
            min: 1,
            max,
            type_name: self.column_type.clone(),
            columns: vec![column],
            details: details.map(|(name, value)| (name.to_string(), value)).into(),
            findings: self.findings(host),
            ..Counter::new(kind, key)
        }
    }

    fn findings(&self, host: &Host) -> Vec<Finding> {
        let mut findings = Vec::new();
        if self.engine != "InnoDB" {
            findings.push(Finding {
                code: FindingCode::Lossy,
                severity: Severity::Error,
                text: format!(
                    "its engine is {}: only InnoDB keeps what it acknowledges",
                    self.engine
                ),
                fix: Some(format!("ALTER TABLE {} ENGINE = InnoDB", self.table.quoted())),
            });
        } else if host.forgets_counters() {
            findings.push(Finding {
                code: FindingCode::Reuse,
                severity: Severity::Warn,
                text: format!(
                    "InnoDB of {} begins at the largest number + 1 after a restart: deleted numbers come again",
                    host.version
                ),
                fix: None,
            });
        }
        findings
    }

    /// The fence that stands there.
    pub(super) fn fence(&self) -> Fence {
        match &self.fence {
            None => Fence::None,
            Some(trigger) => Fence::Ours {
                id: Some(trigger.id),
                mark: trigger.mark,
            },
        }
    }

    /// The statement that makes inserts without a number fail. An explicit NULL is no 0, but generates one, too.
    pub(super) fn create_trigger(&self, id: &str, mark: &str) -> String {
        let table: String = self.table.plain().chars().take(NAMED_CHARS).collect();
        let message = format!("ids of {table}{COME_FROM}{id}{FROM}{mark}");
        format!(
            "CREATE TRIGGER {}.{} BEFORE INSERT ON {} FOR EACH ROW BEGIN IF COALESCE(NEW.{}, 0) = 0 THEN \
             SIGNAL SQLSTATE '45000' SET MESSAGE_TEXT = {}; END IF; END",
            super::shared::name(&self.table.schema),
            super::shared::name(&name_for("mint_fence_", &self.table.name)),
            self.table.quoted(),
            super::shared::name(&self.column),
            literal(&message)
        )
    }
}

impl Trigger {
    /// Reads a trigger's name and text; `None`: it is somebody's own.
    fn of_row(row: &TextRow, at: usize) -> Option<Trigger> {
        let (_, said) = word(row, at + 1).rsplit_once(COME_FROM)?;
        let (id, rest) = said.split_once(FROM)?;
        let digits = rest.split('\'').next()?;
        Some(Trigger {
            name: word(row, at).to_string(),
            id: id.parse().ok()?,
            mark: digits.parse().ok()?,
        })
    }
}

/// The tables that give tickets: two columns, a generated number and a unique `stub`.
pub(super) async fn ticket_tables(
    held: &mut MyHeld<'_>,
    of: Option<&Table>,
) -> Result<Vec<Table>, SourceError> {
    let only = if of.is_some() {
        "AND table_schema = ? AND table_name = ?"
    } else {
        ""
    };
    let sql = format!(
        "SELECT table_schema, table_name FROM information_schema.columns WHERE table_schema NOT IN {ITS_OWN} {only} \
         GROUP BY table_schema, table_name HAVING COUNT(*) = 2 AND SUM(extra LIKE '%auto_increment%') = 1 \
         AND SUM(column_name = 'stub' AND column_key = 'UNI') = 1"
    );
    let args: Vec<Arg<'_>> = of
        .map(|table| vec![Arg::Text(&table.schema), Arg::Text(&table.name)])
        .unwrap_or_default();
    let rows = texts(held, &sql, &args, 2).await?;
    Ok(rows
        .iter()
        .map(|row| Table::new(word(row, 0), word(row, 1)))
        .collect())
}

/// The tables that uid-generator's servers write a row into at every start.
pub(super) async fn worker_nodes(held: &mut MyHeld<'_>) -> Result<Vec<Table>, SourceError> {
    let sql = "SELECT table_schema, table_name FROM information_schema.columns WHERE table_name = 'WORKER_NODE' \
               AND column_name IN ('HOST_NAME', 'PORT', 'TYPE', 'LAUNCH_DATE') \
               GROUP BY table_schema, table_name HAVING COUNT(*) = 4";
    let rows = texts(held, sql, &[], 2).await?;
    let table = |row: &TextRow| Table::new(word(row, 0), word(row, 1));
    Ok(rows.iter().map(table).collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_trigger_is_known_by_its_text() {
        let table = Table::new("it's", &"t`".repeat(30));
        let row = [
            Some("it's"),
            Some(table.name.as_str()),
            Some("id"),
            Some("int(11)"),
            Some("PRI"),
            Some("InnoDB"),
        ]
        .map(|field| field.map(String::from))
        .to_vec();
        let generated = Generated::of_row(&row);
        let id = "0123456789abcdef0123456789abcdef";
        let sql = generated.create_trigger(id, "18446744073709551615");
        assert!(sql.contains("IF COALESCE(NEW.`id`, 0) = 0 THEN"), "{sql}");
        let body = sql.split_once("FOR EACH ROW ").map(|(_, body)| body.to_string());
        let found = Trigger::of_row(&vec![Some("f".into()), body], 0).expect("it is ours");
        assert_eq!((found.id.to_string().as_str(), found.mark), (id, u64::MAX.into()));
        let message = sql
            .split("MESSAGE_TEXT = ")
            .nth(1)
            .and_then(|text| text.split("; END").next());
        assert!(
            message.is_some_and(|text| text.chars().count() <= 128 + 3),
            "{message:?}"
        );
        assert_eq!(
            Trigger::of_row(&vec![Some("f".into()), Some("SET NEW.a = 1".into())], 0),
            None
        );
    }
}
