//! The statements that mend counters of MySQL and MariaDB.

use super::shared::{Table, name, splits};
use crate::source::{Counter, Mend};

/// For a column of AUTO_INCREMENT.
pub(super) fn generated(counter: &Counter, mend: Mend) -> Option<String> {
    match mend {
        Mend::Widen => {
            let column = counter.columns.first()?;
            let type_name = column.type_name.to_ascii_lowercase();
            // Wider there is nothing.
            let is_widest = type_name.starts_with("bigint") || !type_name.contains("int");
            let sign = if type_name.contains("unsigned") {
                " unsigned"
            } else {
                ""
            };
            let table = table(&column.table)?;
            (!is_widest).then(|| {
                format!(
                    "ALTER TABLE {} MODIFY {} bigint{sign} NOT NULL AUTO_INCREMENT;  -- rewrites the table",
                    table.quoted(),
                    name(&column.column)
                )
            })
        }
        Mend::Stripe { of, servers } => Some(format!(
            "SET GLOBAL auto_increment_increment = {servers}; SET GLOBAL auto_increment_offset = {of}"
        )),
        _ => None,
    }
}

/// For a SEQUENCE of MariaDB.
pub(super) fn sequence(counter: &Counter, mend: Mend) -> Option<String> {
    let table = table(&counter.key)?;
    let change = match mend {
        Mend::NoCycle => "NOCYCLE",
        Mend::Unbound if counter.increment > 0 => "MAXVALUE = 9223372036854775806",
        Mend::Unbound => "MINVALUE = -9223372036854775807",
        _ => return None,
    };
    Some(format!("ALTER SEQUENCE {} {change}", table.quoted()))
}

/// The table of a text; `None`: names in it hold full stops, so that several may be meant.
fn table(text: &str) -> Option<Table> {
    match splits(text, 2).as_slice() {
        [names] => Some(Table::new(&names[0], &names[1])),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::source::{ColumnUse, How};

    fn column(table: &str, type_name: &str) -> Counter {
        let column = ColumnUse {
            table: table.into(),
            column: "i`d".into(),
            type_name: type_name.into(),
            min: 0,
            max: 255,
            highest: None,
            unique: true,
            how: How::AutoIncrement,
        };
        Counter {
            columns: vec![column],
            ..Counter::new("auto_increment", format!("{table}.id"))
        }
    }

    #[test]
    fn columns_are_widened_with_their_sign() {
        let widened = |type_name| generated(&column("shop.orders", type_name), Mend::Widen);
        let sql = |bigint: &str| {
            let change = format!("MODIFY `i``d` {bigint} NOT NULL AUTO_INCREMENT;  -- rewrites the table");
            Some(format!("ALTER TABLE `shop`.`orders` {change}"))
        };
        assert_eq!(widened("int(11)"), sql("bigint"));
        assert_eq!(widened("tinyint(3) unsigned"), sql("bigint unsigned"));
        assert_eq!(widened("bigint(20)"), None);
        assert_eq!(widened("double"), None);
        // `a.b`.`c` or `a`.`b.c`: nobody knows.
        assert_eq!(generated(&column("a.b.c", "int"), Mend::Widen), None);
    }

    #[test]
    fn servers_get_their_stripes() {
        let stripe = Mend::Stripe { of: 2, servers: 3 };
        assert_eq!(
            generated(&column("s.t", "int"), stripe).as_deref(),
            Some("SET GLOBAL auto_increment_increment = 3; SET GLOBAL auto_increment_offset = 2")
        );
    }

    #[test]
    fn sequences_are_unbound_in_their_direction() {
        let mut one = Counter::new("mariadb", "shop.s`1");
        let mended = |one: &Counter, mend| sequence(one, mend);
        let sql = |change: &str| Some(format!("ALTER SEQUENCE `shop`.`s``1` {change}"));
        assert_eq!(mended(&one, Mend::NoCycle), sql("NOCYCLE"));
        assert_eq!(mended(&one, Mend::Unbound), sql("MAXVALUE = 9223372036854775806"));
        one.increment = -1;
        assert_eq!(
            mended(&one, Mend::Unbound),
            sql("MINVALUE = -9223372036854775807")
        );
        assert_eq!(mended(&one, Mend::Own), None);
    }
}
