//! Columns of MariaDB that go on filling themselves: a trigger asks our face through a FEDERATED table.
//!
//! The trigger stands before the fence, which then sees a number. It reads, rather than inserts into, the FEDERATED
//! table: what a trigger inserts there stands in the binary log, and stops replicas. `LIMIT` makes the statement one
//! that is logged by rows where the format is MIXED; a replica runs no trigger for rows.

use super::shared::{Table, literal, name, name_for, splits};
use crate::source::fill::{LOGIN, short};
use crate::source::{Counter, Fill, FillFrom};

/// The port of the face unless configured otherwise.
const PORT: u16 = 7606;
/// The longest name, in bytes: 64 characters are as many or more.
const NAME_MAX: usize = 64;

/// For a column of AUTO_INCREMENT. What it draws from stays: it is fenced.
pub(super) fn generated(counter: &Counter, called: &str, from: &FillFrom) -> Fill {
    let version = counter.details.get("version").map_or("", String::as_str);
    match (counter.columns.as_slice(), of_key(counter)) {
        _ if !version.contains("MariaDB") => named("of MySQL no statements are known that were tried"),
        _ if called.contains('/') => {
            named("FEDERATED reads no name that holds a slash: give it another one with --name")
        }
        ([column], Some(table)) => match from.asked(called) {
            Ok(asked) => Fill::ByItself(statements(&table, &column.column, (called, asked), from)),
            Err(named) => named,
        },
        _ => named("its name holds full stops, so that several tables may be meant"),
    }
}

/// For the columns whose default is a SEQUENCE; `None`: there are none.
pub(super) fn sequence(counter: &Counter) -> Option<Fill> {
    let why = "a default that draws from a sequence is evaluated before any trigger is run";
    (!counter.columns.is_empty()).then(|| named(why))
}

/// What takes that back.
pub(super) fn unfill(counter: &Counter, called: &str) -> Vec<String> {
    let Some(table) = of_key(counter) else {
        return Vec::new();
    };
    vec![
        UNLOGGED.into(),
        format!("DROP TRIGGER IF EXISTS {}", trigger(&table)),
        format!("DROP TABLE IF EXISTS {}", next(called)),
    ]
}

/// Replicas have none of it: whoever makes one of them the primary runs it there.
const UNLOGGED: &str = "SET SESSION sql_log_bin = 0";

fn named(why: &str) -> Fill {
    Fill::Named {
        why: why.into(),
        before: Vec::new(),
    }
}

/// `called` is what the sequence is called here, and what our face is asked for then.
fn statements(table: &Table, column: &str, called: (&str, &str), from: &FillFrom) -> Vec<String> {
    let (called, asked) = called;
    let next = next(called);
    let (host, port) = (&from.host, from.port.unwrap_or(PORT));
    // Two servers of ours may fill tables of one database.
    let server = short(
        &format!("mint_{host}_{port}").replace(':', "_"),
        NAME_MAX - "_look".len(),
    );
    let (user, password) = LOGIN;
    let made = |server: &str, database: &str| {
        format!(
            "CREATE OR REPLACE SERVER {} FOREIGN DATA WRAPPER mysql OPTIONS (HOST {}, PORT {port}, USER '{user}', \
             PASSWORD '{password}', DATABASE '{database}')",
            name(server),
            literal(host)
        )
    };
    let federated = |table: &str, server: &str| {
        let to = literal(&format!("{server}/{asked}"));
        format!("CREATE OR REPLACE TABLE {table} (id bigint NOT NULL) ENGINE = FEDERATED CONNECTION = {to}")
    };
    // In every other database of our face a table of that name is the sequence itself, and has to be there.
    let look = self::next(&format!("{called}?"));
    let fence = name(&name_for("mint_fence_", &table.name));
    let column = format!("NEW.{}", name(column));
    let mut all = vec![UNLOGGED.to_string()];
    all.extend(refused_if(
        "@@log_bin AND @@GLOBAL.binlog_format = 'STATEMENT'",
        "binlog_format is STATEMENT: replicas would run inserts that name no id, and have no trigger; set it to \
         MIXED or ROW",
    ));
    all.extend([
        "INSTALL PLUGIN IF NOT EXISTS federated SONAME 'ha_federatedx'".to_string(),
        "CREATE DATABASE IF NOT EXISTS mint".into(),
    ]);
    all.extend(refused_if(
        &format!(
            "EXISTS (SELECT 1 FROM information_schema.tables WHERE table_schema = 'mint' AND table_name = {} \
             AND COALESCE(engine, 'FEDERATED') <> 'FEDERATED')",
            literal(&short(called, NAME_MAX))
        ),
        "the database mint has a table of that name which is not ours: give the counter another name with --name",
    ));
    all.extend([
        // Fails where the way there is not open, or leads to no sequence; takes no number.
        made(&format!("{server}_look"), "sequences"),
        federated(&look, &format!("{server}_look")),
        format!("DROP TABLE {look}"),
        // Made anew, so that another address or token of before does not stay.
        made(&server, "next"),
        federated(&next, &server),
        format!(
            "CREATE OR REPLACE TRIGGER {} BEFORE INSERT ON {} FOR EACH ROW PRECEDES {fence} SET {column} = \
             IF(COALESCE({column}, 0) = 0, (SELECT id FROM {next} LIMIT 1), {column})",
            trigger(table),
            table.quoted()
        ),
    ]);
    all
}

/// Ends the script with these words where that is so.
fn refused_if(condition: &str, why: &str) -> [String; 2] {
    let signal = format!("SIGNAL SQLSTATE '45000' SET MESSAGE_TEXT = {}", literal(why));
    [
        format!("SET @mint_refuses = ({condition})"),
        format!(
            "EXECUTE IMMEDIATE IF(@mint_refuses, {}, 'DO 0')",
            literal(&signal)
        ),
    ]
}

/// The table that gives numbers.
fn next(called: &str) -> String {
    format!("mint.{}", name(&short(called, NAME_MAX)))
}

/// The trigger that gives a row its number, unless it brings one.
fn trigger(table: &Table) -> String {
    Table::new(&table.schema, &name_for("mint_fill_", &table.name)).quoted()
}

/// The table of a counter's column; `None`: names hold full stops, so that several may be meant.
fn of_key(counter: &Counter) -> Option<Table> {
    match (splits(&counter.key, 3).as_slice(), counter.columns.as_slice()) {
        ([names], _) => Some(Table::new(&names[0], &names[1])),
        (_, [column]) => match splits(&column.table, 2).as_slice() {
            [names] => Some(Table::new(&names[0], &names[1])),
            _ => None,
        },
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::source::{ColumnUse, How};

    fn counter(table: &str, version: &str) -> Counter {
        let column = ColumnUse {
            table: table.into(),
            column: "i`d".into(),
            type_name: "int".into(),
            min: 0,
            max: 255,
            highest: None,
            unique: true,
            how: How::AutoIncrement,
        };
        Counter {
            columns: vec![column],
            details: [("version".to_string(), version.to_string())].into(),
            ..Counter::new("auto_increment", format!("{table}.i`d"))
        }
    }

    fn filled(table: &str, version: &str, called: &str) -> Result<String, String> {
        match generated(&counter(table, version), called, &FillFrom::default()) {
            Fill::ByItself(statements) => Ok(statements.join(";\n")),
            Fill::Named { why, .. } => Err(why),
        }
    }

    #[test]
    fn the_trigger_stands_before_the_fence() {
        let sql = filled("shop.o`s", "10.11.6-MariaDB-log", "it's").unwrap();
        assert!(
            sql.contains("CREATE OR REPLACE TRIGGER `shop`.`mint_fill_o``s` BEFORE INSERT ON `shop`.`o``s`"),
            "{sql}"
        );
        assert!(
            sql.contains("PRECEDES `mint_fence_o``s` SET NEW.`i``d` ="),
            "{sql}"
        );
        assert!(sql.contains("CONNECTION = 'mint_127.0.0.1_7606/it''s'"), "{sql}");
    }

    #[test]
    fn what_is_not_known_to_work_is_said() {
        let refused = |table, version, called| filled(table, version, called).unwrap_err();
        assert!(refused("shop.orders", "8.0.36", "orders").contains("MySQL"));
        assert!(refused("shop.orders", "11.4.2-MariaDB", "eu/orders").contains("slash"));
        // `a.b`.`c` or `a`.`b.c`: nobody knows.
        assert!(refused("a.b.c", "11.4.2-MariaDB", "orders").contains("full stops"));
    }
}
