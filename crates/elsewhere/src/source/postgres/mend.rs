//! The statements that mend sequences. Names are quoted already where they must be.

use crate::source::{Counter, Mend};

/// The statement for a mending; `None`: there is none.
pub(super) fn mend(counter: &Counter, mend: Mend) -> Option<String> {
    let sequence = &counter.key;
    let ascends = counter.increment > 0;
    match mend {
        Mend::PastColumns => Some(past_columns(counter, sequence)),
        Mend::Widen => widen(counter, sequence),
        Mend::Unbound => {
            let bound = if ascends { "MAXVALUE" } else { "MINVALUE" };
            Some(format!("ALTER SEQUENCE {sequence} NO {bound}"))
        }
        Mend::NoCycle => Some(format!("ALTER SEQUENCE {sequence} NO CYCLE")),
        Mend::OneAtATime => Some(format!("ALTER SEQUENCE {sequence} CACHE 1")),
        Mend::Own => {
            let [column] = counter.columns.as_slice() else {
                return None;
            };
            let (table, column) = (&column.table, &column.column);
            Some(format!("ALTER SEQUENCE {sequence} OWNED BY {table}.{column}"))
        }
        _ => None,
    }
}

/// Inserts wait from the reading of the largest number until the sequence stands behind it. It is never set back: it may
/// have gone on since the statement was printed.
fn past_columns(counter: &Counter, sequence: &str) -> String {
    let (furthest, of_all) = match counter.increment > 0 {
        true => ("max", "GREATEST"),
        false => ("min", "LEAST"),
    };
    let mut tables: Vec<&str> = Vec::new();
    let mut numbers = Vec::new();
    for column in &counter.columns {
        let (table, name) = (&*column.table, &column.column);
        numbers.push(format!("(SELECT {furthest}({name}) FROM {table})"));
        if !tables.contains(&table) {
            tables.push(table);
        }
    }
    numbers.push(format!("(SELECT last_value FROM {sequence})"));
    format!(
        "BEGIN; LOCK TABLE {} IN SHARE ROW EXCLUSIVE MODE; SELECT setval('{}', {of_all}({})); COMMIT;",
        tables.join(", "),
        sequence.replace('\'', "''"),
        numbers.join(", ")
    )
}

fn widen(counter: &Counter, sequence: &str) -> Option<String> {
    let is_narrow = |type_name: &str| matches!(type_name, "int2" | "int4");
    let mut statements = Vec::new();
    for column in &counter.columns {
        if is_narrow(&column.type_name) {
            let (table, name) = (&column.table, &column.column);
            statements.push(format!("ALTER TABLE {table} ALTER {name} TYPE bigint;"));
        }
    }
    let rewrites = if statements.is_empty() {
        ""
    } else {
        "  -- rewrites the table"
    };
    if is_narrow(&counter.type_name) {
        statements.push(format!("ALTER SEQUENCE {sequence} AS bigint;"));
    }
    (!statements.is_empty()).then(|| format!("{}{rewrites}", statements.join(" ")))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::source::{ColumnUse, How};

    fn column(table: &str, column: &str, type_name: &str) -> ColumnUse {
        ColumnUse {
            table: table.into(),
            column: column.into(),
            type_name: type_name.into(),
            min: i64::MIN.into(),
            max: i64::MAX.into(),
            highest: None,
            unique: true,
            how: How::Owned,
        }
    }

    fn sequence(columns: Vec<ColumnUse>) -> Counter {
        Counter {
            columns,
            type_name: "int8".into(),
            ..Counter::new("postgres", "public.\"It's_s\"")
        }
    }

    #[track_caller]
    fn check(counter: &Counter, how: Mend, sql: &str) {
        assert_eq!(mend(counter, how).as_deref(), Some(sql));
    }

    #[test]
    fn a_sequence_is_set_behind_all_of_its_columns() {
        let two = vec![
            column("public.\"A\"", "\"i\"\"d\"", "int8"),
            column("shop.b", "n", "int8"),
        ];
        let mut one = sequence(two);
        check(
            &one,
            Mend::PastColumns,
            "BEGIN; LOCK TABLE public.\"A\", shop.b IN SHARE ROW EXCLUSIVE MODE; SELECT \
             setval('public.\"It''s_s\"', GREATEST((SELECT max(\"i\"\"d\") FROM public.\"A\"), \
             (SELECT max(n) FROM shop.b), (SELECT last_value FROM public.\"It's_s\"))); COMMIT;",
        );
        one.columns.truncate(1);
        one.increment = -1;
        check(
            &one,
            Mend::PastColumns,
            "BEGIN; LOCK TABLE public.\"A\" IN SHARE ROW EXCLUSIVE MODE; SELECT \
             setval('public.\"It''s_s\"', LEAST((SELECT min(\"i\"\"d\") FROM public.\"A\"), \
             (SELECT last_value FROM public.\"It's_s\"))); COMMIT;",
        );
    }

    #[test]
    fn what_is_narrow_is_widened_and_nothing_else() {
        let mut one = sequence(vec![
            column("public.a", "id", "int4"),
            column("public.b", "id", "int8"),
        ]);
        let table = "ALTER TABLE public.a ALTER id TYPE bigint;";
        check(&one, Mend::Widen, &format!("{table}  -- rewrites the table"));
        one.type_name = "int4".into();
        let both = format!("{table} ALTER SEQUENCE public.\"It's_s\" AS bigint;  -- rewrites the table");
        check(&one, Mend::Widen, &both);
        one.columns.clear();
        check(&one, Mend::Widen, "ALTER SEQUENCE public.\"It's_s\" AS bigint;");
        one.type_name = "int8".into();
        assert_eq!(mend(&one, Mend::Widen), None);
    }

    #[test]
    fn definitions_are_changed_in_place() {
        let mut one = sequence(vec![column("public.a", "id", "int8")]);
        let sql = |change: &str| format!("ALTER SEQUENCE public.\"It's_s\" {change}");
        check(&one, Mend::Unbound, &sql("NO MAXVALUE"));
        check(&one, Mend::NoCycle, &sql("NO CYCLE"));
        check(&one, Mend::OneAtATime, &sql("CACHE 1"));
        check(&one, Mend::Own, &sql("OWNED BY public.a.id"));
        one.increment = -1;
        check(&one, Mend::Unbound, &sql("NO MINVALUE"));
    }
}
