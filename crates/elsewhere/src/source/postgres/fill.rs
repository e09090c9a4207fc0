//! Columns of PostgreSQL that go on filling themselves: their default asks our face through `postgres_fdw`.
//!
//! Each row is one question, `SELECT id FROM next.NAME`, in a transaction at our side that ends with theirs; what was
//! taken before a rollback is a gap. Names of tables, columns and sequences are quoted already where they must be.
//!
//! What stands there already is compared or made anew, never taken as it is: another server of ours has other
//! numbers, and whoever may make things in our schema would say what a column is filled with.

use super::key;
use crate::source::fill::{LOGIN, short};
use crate::source::{ColumnUse, Counter, Fence, Fill, FillFrom, How};

/// The port of the face unless configured otherwise.
const PORT: u16 = 7632;
/// The longest name, in bytes.
const NAME_MAX: usize = 63;

/// How the columns of a sequence that is called `name` here go on; `None`: no column draws from it.
pub(super) fn fill(counter: &Counter, name: &str, from: &FillFrom) -> Option<Fill> {
    let identity = counter
        .columns
        .iter()
        .find(|column| matches!(column.how, How::Identity | How::IdentityAlways));
    Some(match (identity, counter.columns.is_empty()) {
        (_, true) => return None,
        (Some(column), _) => Fill::Named {
            why: format!(
                "{}.{} is an identity column, which draws from its own sequence alone",
                column.table, column.column
            ),
            before: match counter.fence {
                Fence::None => serial(counter, column),
                _ => Vec::new(),
            },
        },
        (None, _) => by_itself(counter, name, from),
    })
}

/// The foreign table and the function that stand for a sequence of ours.
fn ours(name: &str) -> String {
    format!("mint.{}", quoted(&short(name, NAME_MAX)))
}

fn by_itself(counter: &Counter, name: &str, from: &FillFrom) -> Fill {
    let asked = match from.asked(name) {
        Ok(asked) => literal(asked),
        Err(named) => return named,
    };
    let (ours, state) = (ours(name), ours_to_look_at(name));
    let (host, port) = (&from.host, from.port.unwrap_or(PORT));
    // Two servers of ours may fill tables of one database.
    let server = quoted(&short(&format!("mint {host}:{port}"), NAME_MAX));
    let (user, password) = LOGIN;
    let foreign = |table: &str, column: &str, schema: &str| {
        format!(
            "CREATE FOREIGN TABLE {table} ({column} bigint) SERVER {server} OPTIONS (schema_name '{schema}', \
             table_name {asked})"
        )
    };
    let mut statements = vec![
        "BEGIN".to_string(),
        // Readers queue behind whoever waits for a lock.
        "SET LOCAL lock_timeout = '5s'".into(),
        is_moved(&counter.key),
        is_own_schema(),
        "CREATE SCHEMA IF NOT EXISTS mint".into(),
        "CREATE EXTENSION IF NOT EXISTS postgres_fdw".into(),
        format!(
            "CREATE SERVER IF NOT EXISTS {server} FOREIGN DATA WRAPPER postgres_fdw OPTIONS (host {}, port '{port}')",
            literal(host)
        ),
        is_that_server(&server, host, port),
        format!("DROP USER MAPPING IF EXISTS FOR CURRENT_USER SERVER {server}"),
        format!(
            "CREATE USER MAPPING FOR CURRENT_USER SERVER {server} OPTIONS (user '{user}', password '{password}')"
        ),
        format!("DROP FOREIGN TABLE IF EXISTS {ours}"),
        foreign(&ours, "id", "next"),
        // As its owner, so that accounts that insert need no right of their own.
        format!(
            "CREATE OR REPLACE FUNCTION {ours}() RETURNS bigint LANGUAGE sql VOLATILE SECURITY DEFINER \
             SET search_path = pg_catalog, pg_temp AS {}",
            literal(&format!("SELECT id FROM {ours}"))
        ),
        // Whether the way there is open, and leads to a sequence that is there; takes no number.
        foreign(&state, "last_value", "public"),
        run(&format!(
            "BEGIN PERFORM last_value FROM {state}; PERFORM id FROM {ours} LIMIT 0; END"
        )),
        format!("DROP FOREIGN TABLE {state}"),
    ];
    statements.push(swap(&Call::sequence(&counter.key), &Call::function(&ours)));
    statements.push("COMMIT".into());
    Fill::ByItself(statements)
}

/// The foreign table that shows whether a sequence of ours is there.
fn ours_to_look_at(name: &str) -> String {
    ours(&format!("{name}?"))
}

/// The condition, as SQL, that a fence of ours stands at a sequence: its comment says so.
fn is_fenced(key: &str) -> String {
    let key = literal(key);
    format!("(coalesce(obj_description(to_regclass({key}), 'pg_class'), '') LIKE 'mint %: ends at %')")
}

/// Fails unless a move has fenced the sequence: before that, numbers of both sides would be in one column.
fn is_moved(key: &str) -> String {
    let (fenced, key) = (is_fenced(key), literal(key));
    run(&format!(
        "BEGIN IF NOT {fenced} THEN RAISE EXCEPTION \
         'the counter of % is not here: no fence of mint import stands at it; move it first', {key}; END IF; END"
    ))
}

/// Fails where a move has fenced the sequence: it would be made anew without its fence.
fn is_not_moved(key: &str) -> String {
    let (fenced, key) = (is_fenced(key), literal(key));
    run(&format!(
        "BEGIN IF {fenced} THEN RAISE EXCEPTION \
         'the counter of % has moved: this was printed before that; run what --fill prints now', {key}; END IF; END"
    ))
}

/// Fails where somebody else has a say in our schema.
fn is_own_schema() -> String {
    run(
        "DECLARE owner text; BEGIN SELECT nspowner::regrole::text INTO owner FROM pg_namespace WHERE nspname = 'mint' \
         AND (nspowner <> current_user::regrole OR EXISTS (SELECT FROM aclexplode(nspacl) a \
         WHERE a.privilege_type = 'CREATE' AND a.grantee <> nspowner)); IF FOUND THEN RAISE EXCEPTION \
         'the schema mint is there and is that of %, or others may make things in it: run this as %, after REVOKE \
         CREATE ON \
         SCHEMA mint FROM all others', owner, owner; END IF; END",
    )
}

/// Fails where a server of that name leads elsewhere, or belongs to somebody else.
fn is_that_server(server: &str, host: &str, port: u16) -> String {
    let name = literal(&server[1..server.len() - 1].replace("\"\"", "\""));
    let options = format!(
        "ARRAY[{}, {}]",
        literal(&format!("host={host}")),
        literal(&format!("port={port}"))
    );
    run(&format!(
        "BEGIN IF NOT EXISTS (SELECT FROM pg_foreign_server s JOIN pg_foreign_data_wrapper w ON w.oid = s.srvfdw \
         WHERE s.srvname = {name} AND w.fdwname = 'postgres_fdw' AND s.srvowner = current_user::regrole \
         AND s.srvoptions @> {options} AND s.srvoptions <@ {options}) THEN RAISE EXCEPTION \
         'the foreign server % is there and is another one: DROP SERVER it, or run this as its owner', {name}; \
         END IF; END"
    ))
}

/// A block that is run: a text with its own escapes, since no tag is certain not to occur in a name.
fn run(block: &str) -> String {
    format!("DO {}", literal(block))
}

/// What takes that back, whatever columns there are by then.
pub(super) fn unfill(counter: &Counter, name: &str) -> Vec<String> {
    let ours = ours(name);
    vec![
        "BEGIN".into(),
        "SET LOCAL lock_timeout = '5s'".into(),
        swap(&Call::function(&ours), &Call::sequence(&counter.key)),
        format!("DROP FUNCTION IF EXISTS {ours}()"),
        format!("DROP FOREIGN TABLE IF EXISTS {ours}"),
        "COMMIT".into(),
    ]
}

/// What gives numbers in a default: expressions for its identity, its catalogue, and the text that PostgreSQL shows
/// of it.
struct Call {
    oid: String,
    catalogue: &'static str,
    text: String,
}

impl Call {
    fn sequence(key: &str) -> Call {
        let of = format!("to_regclass({})", literal(key));
        Call {
            text: format!("format('nextval(%L::regclass)', {of})"),
            oid: of,
            catalogue: "pg_class",
        }
    }

    fn function(ours: &str) -> Call {
        Call {
            oid: format!("to_regprocedure({})", literal(&format!("{ours}()"))),
            catalogue: "pg_proc",
            text: format!("to_regproc({})::text || '()'", literal(ours)),
        }
    }
}

/// Puts one call in the place of another in every default that draws from it, whatever else that says. A second time
/// nothing is found. Each partition and each child has a default of its own, which is found by itself: one that draws
/// from elsewhere stays.
fn swap(from: &Call, to: &Call) -> String {
    run(&format!(
        "DECLARE d record; old text := {}; new text := {}; BEGIN FOR d IN SELECT f.adrelid::regclass::text AS tab, \
         quote_ident(a.attname) AS col, pg_get_expr(f.adbin, f.adrelid) AS was FROM pg_depend p JOIN pg_attrdef f \
         ON f.oid = p.objid JOIN pg_attribute a ON a.attrelid = f.adrelid AND a.attnum = f.adnum \
         WHERE p.classid = 'pg_attrdef'::regclass AND p.refclassid = '{}'::regclass AND p.refobjid = {} LOOP \
         IF strpos(d.was, old) = 0 THEN RAISE EXCEPTION 'the default of %.% is %, not %', d.tab, d.col, d.was, \
         old; END IF; \
         EXECUTE format('ALTER TABLE ONLY %s ALTER %s SET DEFAULT %s', d.tab, d.col, replace(d.was, old, new)); \
         END LOOP; \
         END",
        from.text, to.text, from.catalogue, from.oid
    ))
}

/// Makes an identity column one of `serial`, at the same number: its default can be changed.
fn serial(counter: &Counter, column: &ColumnUse) -> Vec<String> {
    let Some((schema, name)) = key::parse(&counter.key) else {
        return Vec::new();
    };
    let schema = schema.map_or(String::new(), |schema| format!("{}.", quoted(&schema)));
    let (sequence, fresh) = (&counter.key, format!("{schema}mint_serial"));
    let (table, column) = (&column.table, &column.column);
    let Counter {
        type_name,
        increment,
        min,
        max,
        ..
    } = counter;
    let start = counter.start.unwrap_or(*min);
    let cycle = if counter.cycle { " CYCLE" } else { "" };
    vec![
        "BEGIN".to_string(),
        "SET LOCAL lock_timeout = '5s'".into(),
        format!("LOCK TABLE {table} IN ACCESS EXCLUSIVE MODE"),
        is_not_moved(sequence),
        // Changes nothing, and lets nobody draw until the end.
        format!("ALTER SEQUENCE {sequence} INCREMENT {increment}"),
        format!(
            "CREATE SEQUENCE {fresh} AS {type_name} INCREMENT {increment} MINVALUE {min} MAXVALUE {max} START {start} \
             CACHE {}{cycle}",
            counter.cache.unwrap_or(1)
        ),
        format!(
            "SELECT setval({}, last_value, is_called) FROM {sequence}",
            literal(&fresh)
        ),
        run(&format!(
            "BEGIN EXECUTE format('ALTER SEQUENCE %s OWNER TO %s', {}, \
             (SELECT relowner::regrole FROM pg_class WHERE oid = {}::regclass)); END",
            literal(&fresh),
            literal(table)
        )),
        format!("ALTER TABLE {table} ALTER {column} DROP IDENTITY"),
        format!("ALTER SEQUENCE {fresh} RENAME TO {}", quoted(&name)),
        format!("ALTER SEQUENCE {sequence} OWNED BY {table}.{column}"),
        // The partitions of a table share its identity, children that inherit from it do not.
        run(&format!(
            "BEGIN EXECUTE format('ALTER TABLE %s %s ALTER %s SET DEFAULT nextval(%L)', (SELECT CASE relkind WHEN \
             'p' THEN '' \
             ELSE 'ONLY' END FROM pg_class WHERE oid = {table}::regclass), {table}, {column}, {sequence}); END",
            table = literal(table),
            column = literal(column),
            sequence = literal(sequence)
        )),
        // An identity column asks for no right on its sequence.
        run(&format!(
            "DECLARE may record; BEGIN FOR may IN SELECT DISTINCT CASE a.grantee WHEN 0 THEN 'PUBLIC' ELSE \
             a.grantee::regrole::text END AS who FROM (SELECT relacl AS acl FROM pg_class WHERE oid = \
             {table}::regclass \
             UNION ALL SELECT attacl FROM pg_attribute WHERE attrelid = {table}::regclass) x, aclexplode(x.acl) a \
             WHERE a.privilege_type = 'INSERT' LOOP EXECUTE format('GRANT USAGE ON SEQUENCE %s TO %s', {sequence}, \
             may.who); END LOOP; END",
            table = literal(table),
            sequence = literal(sequence)
        )),
        "COMMIT".into(),
    ]
}

fn quoted(name: &str) -> String {
    format!("\"{}\"", name.replace('"', "\"\""))
}

/// A text with its own escapes, whatever the server's settings.
fn literal(text: &str) -> String {
    match text.contains('\\') {
        true => format!("E'{}'", text.replace('\\', "\\\\").replace('\'', "''")),
        false => format!("'{}'", text.replace('\'', "''")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn counter(how: How) -> Counter {
        let column = ColumnUse {
            table: "public.\"It's\"".into(),
            column: "id".into(),
            type_name: "int8".into(),
            min: i64::MIN.into(),
            max: i64::MAX.into(),
            highest: None,
            unique: true,
            how,
        };
        Counter {
            columns: vec![column],
            type_name: "int8".into(),
            ..Counter::new("postgres", "public.\"It's_s\"")
        }
    }

    #[test]
    fn names_stay_whole_in_every_statement() {
        let name = format!("{}'s \"x\"", "long".repeat(20));
        let from = FillFrom {
            host: "ids".into(),
            port: Some(1),
            prefix: "long".into(),
        };
        let Some(Fill::ByItself(statements)) = fill(&counter(How::Owned), &name, &from) else {
            panic!("a serial column fills itself");
        };
        let all = statements.join(";\n");
        assert!(all.contains("host 'ids', port '1'"), "{all}");
        assert!(
            all.contains(&format!("table_name '{}''s \"x\"'", "long".repeat(19))),
            "{all}"
        );
        let ours = ours(&name);
        assert!(ours.len() <= "mint.\"\"".len() + NAME_MAX, "{ours}");
        assert_ne!(ours, super::ours(&format!("{name}y")));
        // Within a block that is a text itself.
        assert!(all.contains("to_regclass(''public.\"It''''s_s\"'')"), "{all}");
        let elsewhere = FillFrom {
            prefix: "web:".into(),
            ..from
        };
        let named = fill(&counter(How::Owned), &name, &elsewhere);
        assert!(matches!(named, Some(Fill::Named { why, .. }) if why.contains("web:")));
        assert_eq!(
            (statements[0].as_str(), statements.last().unwrap().as_str()),
            ("BEGIN", "COMMIT")
        );
    }

    #[test]
    fn an_identity_column_is_made_serial_before_the_move_alone() {
        let mut identity = counter(How::IdentityAlways);
        let before = |counter: &Counter| match fill(counter, "orders", &FillFrom::default()) {
            Some(Fill::Named { before, .. }) => before,
            other => panic!("{other:?}"),
        };
        let statements = before(&identity);
        assert!(
            statements.contains(&"ALTER SEQUENCE \"public\".mint_serial RENAME TO \"It's_s\"".to_string()),
            "{statements:?}"
        );
        identity.fence = Fence::Ours { id: None, mark: 1 };
        assert_eq!(before(&identity), Vec::<String>::new());
        identity.columns.clear();
        assert_eq!(fill(&identity, "orders", &FillFrom::default()), None);
    }
}
