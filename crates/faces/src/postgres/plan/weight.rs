//! How much memory a plan takes.

use super::question::{Asked, Beside, Condition, Pick, Query, Question, Table};
use super::{
    Alter, Bound, Create, Declare, Drop, Expr, Fetch, From, Function, IntegerKind, Names, Options, Plan,
    Restart, Select, Set, Statement, Target, Transaction,
};
use crate::postgres::backend::Column;
use crate::postgres::types::{Type, Value};
use mintage_server::chassis::kept::{Heap, allocated, plain};

plain!(Function, Table, Beside, Type, IntegerKind, Bound, Restart);

impl Statement {
    /// The statement, with its own size noted.
    pub(in crate::postgres) fn weighed(mut self) -> Statement {
        // It stands behind two counts of its owners.
        self.bytes = allocated(size_of::<Statement>() + 16) + self.heap();
        self
    }
}

impl Heap for Statement {
    fn heap(&self) -> usize {
        let Statement {
            plan,
            columns,
            parameters,
            first_parameter: _,
            names,
            next,
            bytes: _,
        } = self;
        // A name that is named again shares its texts with the one before: they count once, where it is noted.
        let names_bytes: usize = names.iter().map(|(target, _)| target.texts()).sum();
        plan.heap()
            + columns.heap()
            + allocated(size_of_val::<[u32]>(parameters) + 16)
            + allocated(names.capacity() * size_of::<(Target, usize)>())
            + names_bytes
            + next.heap()
    }
}

impl Target {
    fn texts(&self) -> usize {
        let Names { key, shown, relation } = &*self.0;
        allocated(size_of::<Names>() + 16) + key.heap() + shown.heap() + relation.heap()
    }
}

/// What names it is counted where it is noted.
impl Heap for Target {
    fn heap(&self) -> usize {
        0
    }
}

impl Heap for Column {
    fn heap(&self) -> usize {
        let Column { name, kind: _ } = self;
        name.heap()
    }
}

impl Heap for Plan {
    fn heap(&self) -> usize {
        match self {
            Plan::Select(Select { items, from, limit }) => items.heap() + from.heap() + limit.heap(),
            Plan::Create(create) => create.heap(),
            Plan::Alter(alter) => alter.heap(),
            Plan::Drop(Drop {
                targets,
                if_exists: _,
            }) => targets.heap() + targets.iter().map(Target::texts).sum::<usize>(),
            Plan::ChangeRows(target, _) => target.texts(),
            Plan::Transaction(transaction) => transaction.heap(),
            Plan::Declare(Declare { name, hold: _, query }) => {
                name.heap() + allocated(size_of::<Statement>() + 16) + Statement::heap(query)
            }
            Plan::Fetch(Fetch {
                cursor,
                count: _,
                moves: _,
            }) => cursor.heap(),
            Plan::Close(name) | Plan::Reset(name) | Plan::Deallocate(name) => name.heap(),
            Plan::Set(Set {
                name,
                value,
                local: _,
            }) => name.heap() + value.heap(),
            Plan::Show(name) => name.heap(),
            Plan::SetTransaction { session: _, modes: _ }
            | Plan::ShowAll
            | Plan::Discard(_)
            | Plan::Nothing(_) => 0,
        }
    }
}

impl Heap for From {
    fn heap(&self) -> usize {
        match self {
            From::Nothing => 0,
            From::Series { first, last, step } => first.heap() + last.heap() + step.heap(),
            From::Next { sequence, count } | From::Run { sequence, count } => sequence.heap() + count.heap(),
            From::Value(value) => value.heap(),
            From::State(target) | From::NextOf(target) => target.texts(),
            From::Catalogue(query) => query.heap(),
        }
    }
}

impl Heap for Expr {
    fn heap(&self) -> usize {
        match self {
            Expr::Constant(value) => value.heap(),
            Expr::Sequence(target) => target.heap(),
            Expr::Parameter(_) | Expr::Column(_) => 0,
            Expr::Cast(inner, _) => inner.heap(),
            Expr::Call(_, arguments) => arguments.heap(),
            Expr::Calculate(left, _, right) => left.heap() + right.heap(),
        }
    }
}

impl Heap for Value {
    fn heap(&self) -> usize {
        match self {
            Value::Text(text) => text.heap(),
            Value::Null | Value::Int(_) | Value::Bool(_) | Value::Uuid(_) => 0,
        }
    }
}

impl Heap for Create {
    fn heap(&self) -> usize {
        let Create {
            target,
            schema,
            if_not_exists: _,
            options,
        } = self;
        target.texts() + schema.heap() + options.heap()
    }
}

impl Heap for Alter {
    fn heap(&self) -> usize {
        let Alter {
            target,
            if_exists: _,
            options,
        } = self;
        target.texts() + options.heap()
    }
}

impl Heap for Options {
    fn heap(&self) -> usize {
        let Options {
            kind,
            increment,
            min,
            max,
            start,
            restart,
            cache,
            cycle,
            gap: _,
            max_gap,
            owned,
        } = self;
        let numbers = increment.heap() + start.heap() + cache.heap() + max_gap.heap();
        numbers + kind.heap() + min.heap() + max.heap() + restart.heap() + cycle.heap() + owned.heap()
    }
}

impl Heap for Transaction {
    fn heap(&self) -> usize {
        match self {
            Transaction::Savepoint(name) | Transaction::Release(name) | Transaction::RollbackTo(name) => {
                name.heap()
            }
            Transaction::Begin { tag: _, modes: _ }
            | Transaction::Commit { chain: _ }
            | Transaction::Rollback { chain: _ } => 0,
        }
    }
}

impl Heap for Query {
    fn heap(&self) -> usize {
        match self {
            Query::Tables(question) => question.heap(),
            Query::Psql(asked) => asked.heap(),
            Query::Unknown(text) => text.heap(),
        }
    }
}

impl Heap for Question {
    fn heap(&self) -> usize {
        let Question {
            table,
            about,
            beside,
            picks,
            conditions,
            order,
            limit,
        } = self;
        let asked = table.heap() + about.heap() + beside.heap();
        asked + picks.heap() + conditions.heap() + order.heap() + limit.heap()
    }
}

impl Heap for Pick {
    fn heap(&self) -> usize {
        match self {
            Pick::Column(_) | Pick::Count => 0,
            Pick::Value(value) => value.heap(),
        }
    }
}

impl Heap for Condition {
    fn heap(&self) -> usize {
        let Condition {
            column: _,
            is: _,
            like: _,
            values,
        } = self;
        values.heap()
    }
}

impl Heap for Asked {
    fn heap(&self) -> usize {
        match self {
            Asked::Relations(pattern, _) | Asked::Named(pattern) => pattern.heap(),
            Asked::Kind | Asked::Sequence(_) | Asked::Schemas | Asked::Databases => 0,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::super::grammar;
    use mintage_server::chassis::config::Keys;

    fn bytes_of(text: &str) -> usize {
        let all = grammar::parse(text, &Keys::default()).unwrap();
        all.iter().map(|statement| statement.bytes).sum()
    }

    /// 256 such statements were 26 MiB of a connection, for 1 MiB of text.
    #[test]
    fn the_same_sequence_many_times_is_a_small_plan() {
        let calls = vec!["nextval('o')"; 280].join(", ");
        let text = format!("SELECT {calls}");
        assert!(
            bytes_of(&text) < 9 * text.len(),
            "{} of {}",
            bytes_of(&text),
            text.len()
        );
        // One constant more is so much, and no less.
        let (few, many) = ("SELECT 1", format!("SELECT 1{}", ",1".repeat(1000)));
        let each = (bytes_of(&many) - bytes_of(few)) / 1000;
        assert!((40..80).contains(&each), "{each}");
    }

    #[test]
    fn a_statement_weighs_what_its_texts_do() {
        let long = "x".repeat(10_000);
        for text in [
            format!("SELECT '{long}'"),
            format!("SELECT 1 AS \"{long}\""),
            format!("SELECT nextval('{long}')"),
            format!("SELECT '{long}'::text"),
            format!("DECLARE c CURSOR FOR SELECT '{long}'"),
            format!("CREATE SEQUENCE \"{long}\""),
            format!("ALTER SEQUENCE \"{long}\" RESTART"),
            format!("DROP SEQUENCE \"{long}\""),
            format!("DELETE FROM \"{long}\""),
            format!("SELECT * FROM \"{long}\""),
            format!("SET application_name = '{long}'"),
            format!("SELECT sequencename FROM pg_sequences WHERE sequencename = '{long}'"),
        ] {
            let shown: String = text.chars().take(40).collect();
            assert!(
                (10_000..70_000).contains(&bytes_of(&text)),
                "{shown}: {}",
                bytes_of(&text)
            );
        }
        assert!(bytes_of("SELECT nextval('orders')") < 1024);
    }
}
