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
    ("flickr", Original::MariaDb),
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
            mariadb.admin("", "CREATE DATABASE shop; CREATE USER shop@'%' IDENTIFIED BY 'secret'; GRANT ALL ON shop.* TO shop@'%'");
            let given = [
                ("MYSQL_HOST", "127.0.0.1".to_string()),
                ("MYSQL_TCP_PORT", mariadb.address().port().to_string()),
                ("MYSQL_PWD", "secret".to_string()),
            ];
            console::run_page_among(&page, &around(&mariadb, 3306, &given))
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

#[test]
fn every_page_of_another_system_can_be_followed() {
    for (name, original) in PAGES {
        check(name, original);
    }
}
