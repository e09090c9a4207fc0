//! Bulk inserts with each kind of id as primary key, in private servers, beside the database's own functions.
//!
//! `cargo xtask bench sql [ROWS]` measures, and writes the table into docs/sql.md and the
//! picture docs/sql-bench.svg. Needs PostgreSQL and MariaDB; the figures are of the machine they name.

use std::fmt::Write as _;
use std::fs;
use std::process::Command;
use std::time::Instant;

use mintage_e2e::binary::root;
use mintage_e2e::sql::mariadb::Mariadb;
use mintage_e2e::sql::postgres::Postgres;

/// What is inserted: a name, the key's type, the expression, and whether it is the database's own.
type Kind = (&'static str, &'static str, &'static str, bool);

const POSTGRES: &[Kind] = &[
    ("sequence, nextval()", "bigint", "nextval('public.numbers')", true),
    ("gen_random_uuid(), version 4", "uuid", "gen_random_uuid()", true),
    (
        "uuid_generate_v1() of uuid-ossp",
        "uuid",
        "uuid_generate_v1()",
        true,
    ),
    ("uuid_v7()", "uuid", "mintage.uuid_v7()", false),
    ("uuid_v6()", "uuid", "mintage.uuid_v6()", false),
    ("uuid_v1()", "uuid", "mintage.uuid_v1()", false),
    ("ulid()", "text COLLATE \"C\"", "mintage.ulid()", false),
    (
        "snowflake()",
        "bigint",
        "mintage.snowflake('twitter', 1, 'public.flakes')",
        false,
    ),
];

const MARIADB: &[Kind] = &[
    ("AUTO_INCREMENT", "BIGINT AUTO_INCREMENT", "NULL", true),
    ("UUID(), version 1", "UUID", "UUID()", true),
    ("UUID() as text", "CHAR(36) CHARACTER SET ascii", "UUID()", true),
    ("mintage_uuid_v7()", "UUID", "mintage_uuid_v7()", false),
    (
        "mintage_uuid_v7() packed",
        "BINARY(16)",
        "mintage_uuid_to_bin(mintage_uuid_v7(), 0)",
        false,
    ),
    ("mintage_uuid_v4()", "UUID", "mintage_uuid_v4()", false),
    (
        "mintage_snowflake()",
        "BIGINT",
        "mintage_snowflake('twitter', 1)",
        false,
    ),
];

struct Row {
    name: &'static str,
    own: bool,
    rows_per_s: f64,
    index_mb: f64,
}

fn main() {
    let rows: u64 = std::env::args()
        .nth(1)
        .map_or(1_000_000, |n| n.parse().expect("a number of rows"));
    let tables = [("PostgreSQL", postgres(rows)), ("MariaDB", mariadb(rows))];
    let note = format!(
        "{} rows in one statement into an empty table whose only column is the key; index size afterwards (MariaDB: the clustered table). {}, {}. Servers without sync, one run each, on a machine that others used too.",
        grouped(rows),
        machine(),
        today()
    );
    let mut text = String::new();
    for (engine, rows) in &tables {
        let _ = writeln!(
            text,
            "| {engine}: key | rows per second | index, MB |\n| --- | ---: | ---: |"
        );
        for row in rows {
            let own = if row.own { " (its own)" } else { "" };
            let _ = writeln!(
                text,
                "| {}{own} | {} | {:.1} |",
                row.name,
                grouped(row.rows_per_s as u64),
                row.index_mb
            );
        }
        text.push('\n');
    }
    print!("{text}{note}\n");
    let page = root().join("docs/sql.md");
    let old = fs::read_to_string(&page).expect("the page is in the tree");
    let (head, rest) = old
        .split_once("<!-- begin bench -->\n")
        .expect("the page has the place");
    let (_, tail) = rest
        .split_once("<!-- end bench -->")
        .expect("the page has the place");
    fs::write(
        &page,
        format!("{head}<!-- begin bench -->\n{text}{note}\n<!-- end bench -->{tail}"),
    )
    .expect("the tree can be written");
    fs::write(root().join("docs/sql-bench.svg"), picture(&tables, &note)).expect("the tree can be written");
}

fn postgres(rows: u64) -> Vec<Row> {
    let Some(server) = Postgres::with_pack() else {
        return Vec::new();
    };
    let sql = |text: &str| server.psql("postgres", text).ok();
    sql("CREATE EXTENSION \"uuid-ossp\"; CREATE SEQUENCE numbers; CREATE SEQUENCE flakes;");
    let measure = |&(name, kind, make, own): &Kind| {
        sql(&format!("CREATE TABLE t (id {kind} PRIMARY KEY); CHECKPOINT;"));
        let began = Instant::now();
        sql(&format!(
            "INSERT INTO t SELECT {make} FROM generate_series(1, {rows});"
        ));
        let took = began.elapsed().as_secs_f64();
        let size = sql("SELECT pg_relation_size('t_pkey'); DROP TABLE t;");
        row(name, own, rows, took, &size)
    };
    POSTGRES.iter().map(measure).collect()
}

fn mariadb(rows: u64) -> Vec<Row> {
    let Some(server) = Mariadb::with_pack() else {
        return Vec::new();
    };
    let measure = |&(name, kind, make, own): &Kind| {
        server.lines(&format!("CREATE TABLE t (id {kind} PRIMARY KEY) ENGINE=InnoDB;"));
        let began = Instant::now();
        server.lines(&format!("INSERT INTO t SELECT {make} FROM seq_1_to_{rows};"));
        let took = began.elapsed().as_secs_f64();
        let size = server.lines(
            "FLUSH TABLES t; SELECT file_size FROM information_schema.innodb_sys_tablespaces WHERE name = 'ids/t'; DROP TABLE t;",
        );
        row(name, own, rows, took, &size.concat())
    };
    MARIADB.iter().map(measure).collect()
}

fn row(name: &'static str, own: bool, rows: u64, took: f64, size: &str) -> Row {
    let bytes: f64 = size.trim().parse().expect("the server says how many bytes");
    let row = Row {
        name,
        own,
        rows_per_s: rows as f64 / took,
        index_mb: bytes / 1e6,
    };
    eprintln!("{name}: {:.0} rows/s, {:.1} MB", row.rows_per_s, row.index_mb);
    row
}

/// Two panels of bars for each engine: the longer the faster, and the longer the larger.
fn picture(tables: &[(&str, Vec<Row>)], note: &str) -> String {
    let (mut y, mut body) = (16.0, String::new());
    for (engine, rows) in tables {
        y += 18.0;
        let _ = writeln!(
            body,
            "<text x=\"12\" y=\"{y}\" class=\"h\">{engine}</text><text x=\"260\" y=\"{y}\">rows per second</text><text x=\"610\" y=\"{y}\">index, MB</text>"
        );
        let fastest = rows.iter().fold(1.0, |most: f64, row| most.max(row.rows_per_s));
        let largest = rows.iter().fold(1.0, |most: f64, row| most.max(row.index_mb));
        for row in rows {
            y += 22.0;
            let class = if row.own { "own" } else { "ours" };
            let (speed, size) = (240.0 * row.rows_per_s / fastest, 120.0 * row.index_mb / largest);
            let _ = writeln!(
                body,
                "<text x=\"12\" y=\"{y}\">{}</text><rect class=\"{class}\" x=\"260\" y=\"{}\" width=\"{speed:.1}\" height=\"14\"/><text x=\"{:.1}\" y=\"{y}\">{}</text>\
                 <rect class=\"{class}\" x=\"610\" y=\"{}\" width=\"{size:.1}\" height=\"14\"/><text x=\"{:.1}\" y=\"{y}\">{:.1}</text>",
                row.name,
                y - 11.0,
                266.0 + speed,
                grouped(row.rows_per_s as u64),
                y - 11.0,
                616.0 + size,
                row.index_mb
            );
        }
        y += 14.0;
    }
    let (first, second) = note.split_at(note.find(". ").map_or(0, |at| at + 2));
    let _ = writeln!(
        body,
        "<text x=\"12\" y=\"{}\" class=\"n\">{first}</text>",
        y + 14.0
    );
    let _ = writeln!(
        body,
        "<text x=\"12\" y=\"{}\" class=\"n\">{second} Grey: the database's own.</text>",
        y + 30.0
    );
    format!(
        "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 800 {h}\" width=\"800\" height=\"{h}\" font-family=\"sans-serif\" font-size=\"12\">\n\
         <style>.h{{font-weight:bold;font-size:14px}}.own{{fill:#9aa5b1}}.ours{{fill:#2f7ed8}}.n{{font-size:10px;fill:#555}}</style>\n\
         <rect width=\"800\" height=\"{h}\" fill=\"#fff\"/>\n{body}</svg>\n",
        h = y + 44.0
    )
}

fn grouped(number: u64) -> String {
    let digits = number.to_string();
    let mut out = String::new();
    for (at, digit) in digits.chars().enumerate() {
        if at > 0 && (digits.len() - at) % 3 == 0 {
            out.push(',');
        }
        out.push(digit);
    }
    out
}

fn machine() -> String {
    let info = fs::read_to_string("/proc/cpuinfo").unwrap_or_default();
    let model = info
        .lines()
        .find_map(|line| line.strip_prefix("model name")?.split_once(": "));
    let count = std::thread::available_parallelism().map_or(1, usize::from);
    format!(
        "{count} x {}",
        model.map_or("unknown processor", |(_, name)| name)
    )
}

fn today() -> String {
    let out = Command::new("date")
        .arg("+%Y-%m-%d")
        .output()
        .expect("date is everywhere");
    String::from_utf8_lossy(&out.stdout).trim().into()
}
