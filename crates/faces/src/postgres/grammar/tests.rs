use proptest::prelude::*;

use super::*;
use crate::postgres::plan::{Expr, From};

fn one(text: &str) -> Rc<Statement> {
    let all = parse(text, &Keys::default()).unwrap();
    assert_eq!(all.len(), 1, "{text}");
    Rc::clone(&all[0])
}

#[test]
fn nextval_alone_is_told_from_all_others() {
    for (text, key) in [
        ("SELECT nextval('orders')", Some("orders")),
        (
            " select pg_catalog . nextval ( 'Shop.Orders'::regclass ) as n ; ",
            Some("shop.orders"),
        ),
        ("SELECT nextval(('orders'))", Some("orders")),
        ("SELECT nextval('orders'), 1", None),
        ("SELECT nextval('orders') FROM generate_series(1, 2)", None),
        ("SELECT nextval('orders')::text", None),
        ("SELECT nextval($1)", None),
        ("SELECT currval('orders')", None),
    ] {
        let next = one(text).next.clone();
        assert_eq!(next.as_ref().map(|target| &*target.key), key, "{text}");
    }
}

#[test]
fn columns_are_called_as_postgresql_calls_them() {
    for (text, names) in [
        (
            "SELECT nextval('s'), currval('s') AS c, 1 one, 'x'::text",
            &["nextval", "c", "one", "text"][..],
        ),
        (
            "SELECT nextval('s')::int, CURRENT_USER, NULL",
            &["nextval", "current_user", "?column?"],
        ),
        ("SELECT * FROM generate_series(1, 2)", &["generate_series"]),
        ("SELECT * FROM generate_series(1, 2) AS g(i)", &["i"]),
        ("SELECT mint_next('s', 2)", &["mint_next"]),
        ("SELECT * FROM mint_run('s', 2)", &["first", "last", "increment"]),
        ("SELECT * FROM s", &["last_value", "log_cnt", "is_called"]),
        ("SELECT x.* FROM next.s x", &["id"]),
    ] {
        let statement = one(text);
        let columns = statement.columns.as_deref().unwrap();
        let given: Vec<&str> = columns.iter().map(|column| &*column.name).collect();
        assert_eq!(given, names, "{text}");
    }
}

#[test]
fn what_from_gives_is_read_before_the_list() {
    let statement = one("SELECT nextval('s'), i FROM generate_series(1, 3) AS i LIMIT 2");
    let Plan::Select(select) = &statement.plan else {
        panic!("{statement:?}")
    };
    assert!(matches!(select.from, From::Series { .. }) && select.limit.is_some());
    assert_eq!(select.items[1], Expr::Column(0));
    assert_eq!(statement.names.len(), 1);
}

#[test]
fn parameters_have_the_types_of_their_places() {
    for (text, types) in [
        ("SELECT setval($2, $1)", &[20, 25][..]),
        ("SELECT $1, $1::int2", &[21]),
        ("SELECT $3", &[0, 0, 25]),
        ("DECLARE c CURSOR FOR SELECT nextval($1)", &[25]),
    ] {
        assert_eq!(&*one(text).parameters, types, "{text}");
    }
    let refused = parse("SELECT $129", &Keys::default()).unwrap_err();
    assert_eq!(refused.state, "54000");
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(4000))]

    /// Texts that are put together of what statements are made of.
    #[test]
    fn any_text_is_read_or_refused_at_a_place_in_it(parts in prop::collection::vec(0usize..PARTS.len(), 0..24)) {
        let text: String = parts.iter().map(|at| PARTS[*at]).collect();
        if let Err(refused) = parse(&text, &Keys::default()) {
            prop_assert_eq!(refused.state.len(), 5);
            prop_assert!(refused.at.is_none_or(|at| text.is_char_boundary(at)), "{:?} in {:?}", refused.at, text);
        }
    }
}

const PARTS: &[&str] = &[
    "SELECT ",
    "nextval(",
    "'s'",
    ")",
    "(",
    ", ",
    "::int8 ",
    "$1 ",
    "$2",
    " FROM ",
    "pg_type ",
    "pg_class c ",
    "pg_catalog.",
    "information_schema.sequences ",
    "generate_series(1, 2) ",
    "mint_next('s', 2) ",
    " AS ",
    "x",
    "x.",
    "* ",
    "+ ",
    "- ",
    "1 ",
    "9223372036854775808 ",
    "'a",
    "\"b\" ",
    "E'\\x4' ",
    "$$c$$ ",
    "-- d\n",
    "/* e */ ",
    "/*",
    "; ",
    "CREATE SEQUENCE ",
    "ALTER SEQUENCE ",
    "DROP SEQUENCE ",
    "IF EXISTS ",
    "START WITH ",
    "RESTART ",
    "NO MINVALUE ",
    "OWNED BY NONE ",
    "GAP ",
    "BEGIN ",
    "COMMIT ",
    "ROLLBACK TO ",
    "DECLARE c CURSOR FOR ",
    "FETCH 2 ",
    "SET ",
    "LOCAL ",
    "TIME ZONE ",
    "= ",
    "TO ",
    "SHOW ",
    "WHERE ",
    "ORDER BY ",
    "LIMIT ",
    "IN ",
    "LIKE ",
    "AND ",
    "JOIN pg_namespace n ON ",
    "= ANY (ARRAY[",
    "]",
    "NOT ",
    "NULL ",
    "CAST(",
    "\u{e9}",
    "INSERT INTO ",
];
