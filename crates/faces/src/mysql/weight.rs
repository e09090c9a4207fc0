//! How much memory a plan takes.

use super::plan::{
    Advance, AlterSequence, Assignment, Comparison, Condition, Create, Drop, Expression, From, Function,
    IfExists, Item, Operator, Options, Parsed, Select, SetValue, Setting, Show, Statement, Ticket,
    Transaction,
};
use super::plan::{Change, LibraryChange, NewRow};
use super::refusal::Refusal;
use super::tables::Library;
use super::value::Value;
use crate::sql::names::SqlName;
use mintage_server::chassis::kept::{Heap, allocated, plain};

plain!(
    Comparison,
    Function,
    IfExists,
    Library,
    Operator,
    Options,
    Transaction
);

impl Parsed {
    /// How much memory it takes.
    pub(super) fn weigh(&self) -> usize {
        let Parsed {
            statements,
            parameters: _,
            bytes: _,
            head: _,
        } = self;
        // The packets in `head` are written later, of one column alone.
        let head = match statements.as_slice() {
            [Ok(Statement::Select(selects))] => match &*selects[0].items {
                [Item::One { name, .. }] => allocated(HEAD_BYTES + 2 * name.len()),
                _ => 0,
            },
            _ => 0,
        };
        allocated(size_of::<Parsed>() + 16) + statements.heap() + head
    }
}

/// The packets before a row, without the name in them.
const HEAD_BYTES: usize = 96;

impl Heap for Statement {
    fn heap(&self) -> usize {
        match self {
            Statement::Select(selects) => selects.heap(),
            Statement::Do(expressions) => expressions.heap(),
            Statement::Ticket(Ticket {
                table,
                replaces: _,
                rows: _,
                ids,
                returning,
            }) => table.heap() + ids.heap() + returning.heap(),
            Statement::Advance(Advance {
                table,
                by,
                affected: _,
            }) => table.heap() + by.heap(),
            Statement::Library(LibraryChange { table: _, change }) => change.heap(),
            Statement::Create(Create {
                name,
                if_exists: _,
                options: _,
                is_sequence: _,
            }) => name.heap(),
            Statement::AlterTable(name, number) => name.heap() + number.heap(),
            Statement::AlterSequence(AlterSequence {
                name,
                if_exists: _,
                options: _,
            }) => name.heap(),
            Statement::Drop(Drop {
                names,
                if_exists: _,
                is_sequence: _,
            }) => names.heap(),
            Statement::ShowCreate(name) => name.heap(),
            Statement::Show(show) => show.heap(),
            Statement::Set(assignments) => assignments.heap(),
            Statement::Use(database) => database.heap(),
            Statement::Kill {
                id,
                whole_connection: _,
            } => id.heap(),
            Statement::Transaction(_) | Statement::Nothing => 0,
        }
    }
}

impl Heap for Select {
    fn heap(&self) -> usize {
        let Select {
            items,
            from,
            conditions,
            order: _,
            limit,
        } = self;
        items.heap() + from.heap() + conditions.heap() + limit.heap()
    }
}

impl Heap for From {
    fn heap(&self) -> usize {
        match self {
            From::Nothing | From::Series(_) | From::Library(_) => 0,
            From::Table(name) => name.heap(),
            From::Catalogue(name) => name.heap(),
        }
    }
}

impl Heap for Change {
    fn heap(&self) -> usize {
        match self {
            Change::Take { key, count } => key.heap() + count.heap(),
            Change::Insert { rows, ignores: _ } => rows.heap(),
            Change::Guard {
                namespace,
                instance,
                number,
            } => namespace.heap() + instance.heap() + number.heap(),
            Change::GiveBack {
                namespace,
                instance,
                left,
            } => namespace.heap() + instance.heap() + left.heap(),
        }
    }
}

impl Heap for NewRow {
    fn heap(&self) -> usize {
        let NewRow { key, at } = self;
        key.heap() + at.heap()
    }
}

impl Heap for Item {
    fn heap(&self) -> usize {
        match self {
            Item::All => 0,
            Item::One { expression, name } => expression.heap() + name.heap(),
        }
    }
}

impl Heap for Condition {
    fn heap(&self) -> usize {
        match self {
            Condition::OneOf(column, values) => column.heap() + values.heap(),
            Condition::Above(column, other) | Condition::Like(column, other) => column.heap() + other.heap(),
            Condition::Other => 0,
        }
    }
}

impl Heap for Expression {
    fn heap(&self) -> usize {
        match self {
            Expression::Null
            | Expression::Integer(_)
            | Expression::Unsigned(_)
            | Expression::Parameter(_)
            | Expression::Function(_)
            | Expression::Count => 0,
            Expression::Decimal(text)
            | Expression::Text(text)
            | Expression::Column(text)
            | Expression::Variable(text, _)
            | Expression::UserVariable(text) => text.heap(),
            Expression::Next(name) | Expression::Previous(name) => name.heap(),
            Expression::SetValue(asked) => asked.heap(),
            Expression::LastInsertId(inner) | Expression::MintSnowflake(inner) => inner.heap(),
            Expression::MintId(inner)
            | Expression::Negative(inner)
            | Expression::IsNull(inner, _)
            | Expression::AsText(inner)
            | Expression::AsInteger(inner) => inner.heap(),
            Expression::Concat(parts) | Expression::Coalesce(parts) => parts.heap(),
            Expression::Arithmetic(_, left, right) | Expression::Compare(_, left, right) => {
                left.heap() + right.heap()
            }
        }
    }
}

impl Heap for SetValue {
    fn heap(&self) -> usize {
        let SetValue {
            name,
            to,
            used,
            round,
        } = self;
        name.heap() + to.heap() + used.heap() + round.heap()
    }
}

impl Heap for Show {
    fn heap(&self) -> usize {
        match self {
            Show::Tables { like, full: _ } | Show::TableStatus { like } | Show::Databases { like } => {
                like.heap()
            }
            Show::Variables { like, names } => like.heap() + names.heap(),
            Show::Empty(_) => 0,
        }
    }
}

impl Heap for Assignment {
    fn heap(&self) -> usize {
        match self {
            Assignment::Variable {
                name,
                value,
                is_global: _,
            } => name.heap() + value.heap(),
            Assignment::UserVariable(name, value) => name.heap() + value.heap(),
            Assignment::Names(charset, collation) => charset.heap() + collation.heap(),
            Assignment::Isolation(level, read_only) => level.heap() + read_only.heap(),
        }
    }
}

impl Heap for Setting {
    fn heap(&self) -> usize {
        match self {
            Setting::Default => 0,
            Setting::Word(word) => word.heap(),
            Setting::Value(value) => value.heap(),
        }
    }
}

impl Heap for SqlName {
    fn heap(&self) -> usize {
        let SqlName { schema, name } = self;
        schema.heap() + name.heap()
    }
}

impl Heap for Refusal {
    fn heap(&self) -> usize {
        let Refusal {
            errno: _,
            state: _,
            text,
            code: _,
            ends_connection: _,
            database_at: _,
        } = self;
        text.heap()
    }
}

impl Heap for Value {
    fn heap(&self) -> usize {
        match self {
            Value::Null | Value::Integer(_) | Value::Unsigned(_) => 0,
            Value::Decimal(text) | Value::Text(text) => text.heap(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::grammar::parse;

    #[test]
    fn a_statement_weighs_what_its_texts_do() {
        let long = "x".repeat(10_000);
        for text in [
            format!("SELECT '{long}'"),
            format!("SELECT 1 AS `{long}`"),
            format!("SELECT NEXTVAL(`{long}`)"),
            format!("SELECT CONCAT('a', '{long}')"),
            format!("SELECT SETVAL(`{long}`, 5)"),
            format!("SELECT * FROM `{long}`"),
            format!("INSERT INTO `{long}` VALUES (NULL)"),
            format!("CREATE SEQUENCE `{long}`"),
            format!("ALTER SEQUENCE `{long}` RESTART"),
            format!("DROP SEQUENCE a, `{long}`"),
            format!("SET @a = '{long}'"),
            format!("SHOW VARIABLES LIKE '{long}'"),
            format!("USE `{long}`"),
        ] {
            let (parsed, shown) = (parse(&text), &text[..30]);
            assert!(parsed.statements[0].is_ok(), "{shown}");
            assert!(
                (10_000..90_000).contains(&parsed.bytes),
                "{shown}: {}",
                parsed.bytes
            );
        }
        assert!(parse("SELECT NEXTVAL(orders)").bytes < 1024);
        // One column more is so much, and no less.
        let many = parse(&format!("SELECT 1{}", ",1".repeat(1000))).bytes;
        assert!((70_000..400_000).contains(&many), "{many}");
    }
}
