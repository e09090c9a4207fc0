//! `docs/traps.md` and `docs/traps-numbers.md`: every wrong statement stands with a check, and every check gives exactly
//! what the page shows.
#![allow(clippy::unwrap_used)]

use std::fs;
use std::os::unix::fs::symlink;
use std::path::PathBuf;
use std::process::{Command, Stdio};

use mintage_e2e::console::{self, Difference, Step};
use mintage_e2e::engine::postgres::LOG_IS_LEFT;
use mintage_e2e::sql::mariadb::Mariadb;
use mintage_e2e::sql::postgres::Postgres;
use mintage_e2e::{binary, need, run};

/// The pages of statements.
const PAGES: [&str; 2] = ["traps.md", "traps-numbers.md"];
/// The pages of programs.
const PROGRAMS: [&str; 2] = ["traps.md", "traps-guess.md"];

fn path(page: &str) -> PathBuf {
    binary::root().join("docs").join(page)
}

fn read(page: &str) -> String {
    fs::read_to_string(path(page)).unwrap()
}

/// A folder with `mint` in it, the programs that the pages list, and what the engines' clients are told.
struct Place {
    folder: tempfile::TempDir,
    postgres: Option<Postgres>,
    _mariadb: Option<Mariadb>,
    absent: Vec<&'static str>,
}

impl Place {
    fn new() -> Place {
        let folder = tempfile::tempdir().unwrap();
        fs::create_dir(folder.path().join("bin")).unwrap();
        symlink(binary::mint(), folder.path().join("bin/mint")).unwrap();
        for (name, text) in PROGRAMS.iter().flat_map(|page| programs(&read(page))) {
            fs::write(folder.path().join(name), text).unwrap();
        }
        let postgres = Postgres::with_settings(&LOG_IS_LEFT);
        let mariadb = Mariadb::with_pack();
        if let Some(mariadb) = &mariadb {
            let given: Vec<String> = words(&mariadb.client("mariadb"));
            let socket = given.iter().skip_while(|word| *word != "-S").nth(1).unwrap();
            let options = format!("[client]\nsocket={socket}\nuser=root\ndatabase=ids\n");
            fs::write(folder.path().join(".my.cnf"), options).unwrap();
        }
        let there = [
            ("psql", postgres.is_some()),
            ("mariadb", mariadb.is_some()),
            ("node", need::program("node")),
        ];
        Place {
            folder,
            postgres,
            _mariadb: mariadb,
            absent: there
                .iter()
                .filter(|(_, there)| !there)
                .map(|(name, _)| *name)
                .collect(),
        }
    }

    /// Whether a step needs what is not there, which was said or is a failure by now.
    fn cannot(&self, step: &Step) -> bool {
        self.absent.iter().any(|name| step.command.starts_with(name))
    }

    /// What a step gives, in a shell of its own and no server of ours around.
    fn given(&self, step: &Step) -> String {
        let folder = self.folder.path();
        let path = std::env::var("PATH").unwrap_or_default();
        let mut command = Command::new("bash");
        run::isolate(&mut command);
        if let Some(postgres) = &self.postgres {
            let given = words(&postgres.client("psql"));
            for (option, name) in [("-h", "PGHOST"), ("-U", "PGUSER"), ("-p", "PGPORT")] {
                let value = given.iter().skip_while(|word| *word != option).nth(1).unwrap();
                command.env(name, value);
            }
        }
        let out = run::at_home(&mut command, folder)
            .args(["-c", &format!("{{ {}\n}} 2>&1", step.command)])
            .env("PATH", format!("{}:{path}", folder.join("bin").display()))
            .stdin(Stdio::null())
            .output()
            .unwrap();
        String::from_utf8(out.stdout).unwrap()
    }
}

/// A command's arguments.
fn words(command: &Command) -> Vec<String> {
    command
        .get_args()
        .map(|word| word.to_str().unwrap().to_string())
        .collect()
}

/// The programs of a page by their names, which stand in their first lines.
fn programs(page: &str) -> Vec<(String, String)> {
    let blocks = page.split("```js\n").skip(1);
    let text = blocks.map(|block| block.split("\n```").next().unwrap());
    text.map(|text| {
        let name = text.strip_prefix("// ").and_then(|text| text.split(':').next());
        (name.unwrap().to_string(), format!("{text}\n"))
    })
    .collect()
}

#[test]
fn every_check_gives_what_the_page_shows_digit_for_digit() {
    let place = Place::new();
    for name in PAGES {
        let page = read(name);
        let steps = console::steps(&page)
            .into_iter()
            .filter(|step| !place.cannot(step));
        let differences = steps.filter_map(|step| {
            let given: Vec<String> = place.given(&step).lines().map(String::from).collect();
            (given != step.output).then_some(Difference { step, given })
        });
        let differences: Vec<Difference> = differences.collect();
        if std::env::var_os("MINT_TEST_UPDATE").is_some() && !differences.is_empty() {
            fs::write(path(name), console::corrected(&page, &differences)).unwrap();
            continue;
        }
        assert!(
            differences.is_empty(),
            "docs/{name}: {differences:#?}\nMINT_TEST_UPDATE=1 rewrites it"
        );
    }
}

/// A guess that is right by luck or always "the same" would show nothing: of other ids it guesses nothing.
#[test]
fn ids_of_a_real_source_are_not_guessed() {
    if !need::program("node") {
        return;
    }
    let place = Place::new();
    let made = |line: &str| {
        let step = Step {
            line: 0,
            command: line.into(),
            output: Vec::new(),
        };
        place.given(&step)
    };
    // Ten starts of the program, each somewhere in V8's run of 64 numbers.
    for skipped in 1..11 {
        let line = format!(
            "node make.mjs {} > made; tail -19 made | head -16 | node guess.mjs | diff - <(tail -3 made) && echo guessed",
            skipped + 19
        );
        assert_eq!(made(&line), "guessed\n", "{skipped} ids before");
    }
    assert_eq!(made("mint uuid v4 -n 16 | node guess.mjs"), "");
    assert_eq!(
        made("node -e 'for (let n = 0; n < 16; n++) console.log(crypto.randomUUID())' | node guess.mjs"),
        ""
    );
}

#[test]
fn every_statement_has_a_check() {
    let pages = PAGES.map(read);
    let traps: Vec<&str> = pages
        .iter()
        .flat_map(|page| page.split("\n## ").skip(1))
        .collect();
    assert!(traps.len() >= 24);
    for trap in traps {
        let title = trap.lines().next().unwrap();
        assert!(title.starts_with('"'), "{title}: a statement in quotes");
        assert!(!console::steps(trap).is_empty(), "{title}: no check");
    }
}
