//! `docs/coming-from-*.md`: whoever comes from another system does what the page shows, against a private server of that
//! kind, command after command.
#![allow(clippy::unwrap_used)]

use std::fs;

use mintage_e2e::console::{self, Around, Difference};
use mintage_e2e::engine::mariadb::Mariadb;
use mintage_e2e::engine::postgres::Postgres;
use mintage_e2e::engine::redis::Redis;
use mintage_e2e::store_suite::Engine;
use mintage_e2e::{binary, need};

/// What a page runs against.
#[derive(Clone, Copy)]
enum Original {
    Redis,
    Postgres,
    MariaDb,
    /// One with odd and one with even numbers, at the usual port and the one behind it.
    TwoMariaDbs,
}

/// Every page, and what it runs against.
const PAGES: [(&str, Original); 10] = [
    ("redis", Original::Redis),
    ("postgresql", Original::Postgres),
    ("mysql", Original::MariaDb),
    ("leaf", Original::MariaDb),
    ("tinyid", Original::MariaDb),
    ("cosid", Original::MariaDb),
    ("idgo", Original::MariaDb),
    ("vitess", Original::MariaDb),
    ("flickr", Original::TwoMariaDbs),
    ("uid-generator", Original::MariaDb),
];

const LINES_MAX: usize = 60;

/// The usual ports, and the clients of each told where the private server is.
fn around(engine: &dyn Engine, usual_port: u16, variables: &[(&str, String)]) -> Around {
    let idgo = mintage_e2e::engine::port::free().port();
    Around {
        variables: variables
            .iter()
            .map(|(name, value)| (name.to_string(), value.clone()))
            .collect(),
        instead: vec![(usual_port, engine.address().port()), (6389, idgo)],
    }
}

/// The page without what is another every time: how long nobody was served, and the ids of moves.
fn timeless(page: &str) -> String {
    let parts = page.split("refused for ").enumerate().map(|(at, part)| match at {
        0 => part.to_string(),
        _ => format!(
            "…{}",
            part.trim_start_matches(|c: char| c.is_ascii_digit() || c == '…')
        ),
    });
    let page = parts.collect::<Vec<_>>().join("refused for ");
    let is_id = |word: &str| word.len() == 32 && word.bytes().all(|b| b.is_ascii_hexdigit());
    let words = page.split(' ').map(|word| if is_id(word) { "…" } else { word });
    words.collect::<Vec<_>>().join(" ")
}

/// The account of the pages, and what its clients are told.
fn with_shop(mariadb: &Mariadb) -> [(&'static str, String); 3] {
    mariadb.admin(
        "",
        "CREATE DATABASE shop; CREATE USER shop@'%' IDENTIFIED BY 'secret'; GRANT ALL ON shop.* TO shop@'%'",
    );
    [
        ("MYSQL_HOST", "127.0.0.1".to_string()),
        ("MYSQL_TCP_PORT", mariadb.address().port().to_string()),
        ("MYSQL_PWD", "secret".to_string()),
    ]
}

fn check(name: &str, original: Original) {
    if !need::curl() {
        return;
    }
    let path = binary::root().join(format!("docs/coming-from-{name}.md"));
    let page = fs::read_to_string(&path).unwrap();
    assert!(!console::steps(&page).is_empty(), "{name}: no commands");
    let differences = match original {
        Original::Redis => {
            let Some(redis) = Redis::run() else { return };
            console::run_page_among(&page, &around(&redis, 6379, &[]))
        }
        Original::Postgres => {
            let Some(postgres) = Postgres::borrow() else {
                return;
            };
            postgres.admin("postgres", "CREATE ROLE shop LOGIN PASSWORD 'secret'");
            postgres.admin("postgres", "CREATE DATABASE shop OWNER shop");
            let given = [
                ("PGHOST", "127.0.0.1".to_string()),
                ("PGPORT", postgres.address().port().to_string()),
                ("PGUSER", "shop".to_string()),
                ("PGPASSWORD", "secret".to_string()),
                ("PGDATABASE", "shop".to_string()),
            ];
            console::run_page_among(&page, &around(&postgres, 5432, &given))
        }
        Original::MariaDb => {
            let Some(mariadb) = Mariadb::borrow() else { return };
            console::run_page_among(&page, &around(&mariadb, 3306, &with_shop(&mariadb)))
        }
        Original::TwoMariaDbs => {
            let run = |offset| Mariadb::with_settings(&["--auto-increment-increment=2", offset]);
            let (Some(odd), Some(even)) =
                (run("--auto-increment-offset=1"), run("--auto-increment-offset=2"))
            else {
                return;
            };
            with_shop(&even);
            let mut around = around(&odd, 3306, &with_shop(&odd));
            around.instead.push((3307, even.address().port()));
            console::run_page_among(&page, &around)
        }
    };
    if std::env::var_os("MINT_TEST_UPDATE").is_some() && !differences.is_empty() {
        let text = console::corrected(&page, &differences);
        fs::write(&path, timeless(&text)).unwrap();
        return;
    }
    assert!(
        page.lines().count() <= LINES_MAX,
        "{name}: at most {LINES_MAX} lines"
    );
    let shown = |Difference { step, given }: &Difference| {
        format!(
            "{}: $ {}\n--- shown\n{}\n--- given\n{}",
            step.line,
            step.command,
            step.output.join("\n"),
            given.join("\n")
        )
    };
    let wrong: Vec<String> = differences.iter().map(shown).collect();
    assert!(
        wrong.is_empty(),
        "{}:{}\nMINT_TEST_UPDATE=1 rewrites it",
        path.display(),
        wrong.join("\n\n")
    );
}

/// The N of "numbers from N on".
fn promised(line: &str) -> Option<&str> {
    let (_, rest) = line.split_once("numbers from ")?;
    Some(rest.split_once(" on")?.0)
}

/// Where a page's next number after "numbers from N on" is not N. The last line that comes next is that number and
/// nothing else, so that no error and no other counter passes for it.
fn broken_promises(page: &str) -> Vec<String> {
    let steps = console::steps(page);
    let promises = steps.iter().enumerate().flat_map(|(at, step)| {
        let numbers = step.output.iter().filter_map(|line| promised(line));
        numbers.map(move |number| (at, number))
    });
    let broken = promises.filter_map(|(at, number)| {
        let next = steps.get(at + 1);
        let taken = next.and_then(|step| step.output.last());
        let is_kept = taken.is_some_and(|taken| taken == number);
        (!is_kept).then(|| format!("{}: numbers from {number} on, and then {next:?}", steps[at].line))
    });
    broken.collect()
}

#[test]
fn the_number_after_a_move_is_the_promised_one_on_every_page() {
    let mut promises = 0;
    for entry in fs::read_dir(binary::root().join("docs")).unwrap() {
        let path = entry.unwrap().path();
        if path.extension().is_none_or(|extension| extension != "md") {
            continue;
        }
        let page = fs::read_to_string(&path).unwrap();
        let broken = broken_promises(&page);
        assert!(broken.is_empty(), "{}:{}", path.display(), broken.join("\n"));
        promises += page.lines().filter_map(promised).count();
        // What is looked for in an answer may stand in an error.
        let is_of_a_move = path
            .file_name()
            .unwrap()
            .to_string_lossy()
            .starts_with("coming-from-");
        let picks = |step: &console::Step| is_of_a_move && step.command.contains("grep");
        assert!(
            !console::steps(&page).iter().any(picks),
            "{}: whole answers, no grep",
            path.display()
        );
    }
    assert!(promises >= PAGES.len(), "{promises} numbers are promised");
}

#[test]
fn another_number_than_the_promised_one_is_told() {
    let page = |then: &str| {
        format!(
            "```console\n$ mint import old --apply\norders is cut: numbers from 5017 on come from here\n{then}```\n"
        )
    };
    for kept in [
        "$ redis-cli INCR orders\n5017\n",
        "$ psql && mint seq next orders\n1\n5017\n",
    ] {
        assert_eq!(broken_promises(&page(kept)), Vec::<String>::new(), "{kept}");
    }
    for broken in [
        "$ redis-cli INCR shop.orders\n1\n",
        "$ redis-cli INCR orders\n50170\n",
        "$ redis-cli INCR orders\nERR orders is at 5017\n",
        "$ redis-cli PING\nPONG\n$ redis-cli INCR orders\n5017\n",
        "$ mint seq next orders\n",
        "",
    ] {
        assert_eq!(broken_promises(&page(broken)).len(), 1, "{broken}");
    }
}

#[test]
fn every_page_of_another_system_can_be_followed() {
    for (name, original) in PAGES {
        check(name, original);
    }
}
