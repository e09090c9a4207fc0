//! The one door to every check, for people and for CI. Needs nothing but cargo.

mod bench;
mod check;
mod circles;
mod claims;
mod fresh;
mod layering;
mod mutants;
mod originals;
mod pages;
mod parts;
mod production;
mod programs;
mod proof;
mod provision;
mod rules;
mod shape;
mod sql_clients;
mod step;
mod test;
mod toys;
mod tree;

use std::process::ExitCode;

const HELP: &str = "\
cargo xtask COMMAND

  check            formatting, lints, docs, dependency direction, unsafe fences, licences, a test for every promise
  test [--deep] [--changed [REV]] [WORD...]
                   installs what the tests need where it can, then runs the tests, each in a process of its own, and
                   says which it ran, which it left and what took longest; with --deep also what takes minutes (the
                   matrix of stores and faults, kills, outages, soak), in full size, the short proof, and the lints of
                   each feature and target alone; with --changed those that a change since REV (HEAD) can break; with a
                   WORD (`kill::`, `face_mysql`) those whose name holds it, also such as --deep alone runs.
                   A test that fails is run again alone when all have run: if it passes then, it is told as flaky and
                   fails nothing, unless it saw an invariant violated
  loom [--no-run]  every interleaving of threads on the generators' atomics
  e2e [WORD...]    only the end-to-end tests (the built binary, stock clients)
  e2e --matrix [ROUNDS]
                   every store x fault with three servers, ROUNDS times (default 5): the table of
                   ids checked, repeats and refused requests
  fuzz [TARGET...] [--runs N] [--seed N] [--list]
                   random inputs for every reader of text and bytes
  proof [--short|--long] [--save] [--only G1,G5] [--allow-missing G4]
                   evidence that nothing is ever repeated: simulation, crash images, power cuts,
                   planted bugs; 20 minutes once built, or 5, or a night
  toys [NAME...]   one more of everything that is to be one file and a few rows (xtask/toys), each in a copy of the tree
  originals FOLDER answers of servers of Leaf, tinyid, CosId and idgo that you have built, beside those of our faces;
                   --help says what FOLDER holds
  fresh-root [--bare]
                   README's second command in a new root of Debian 12 that has only Rust and a C compiler (needs root);
                   --bare: without apt-get too, so that nothing can be installed
  sql              writes the extension's script from sql/postgres/src, and the library's presets into sql/*/src
  bench [core|command|server|bulk|stores|sqlwire|cosid|sql] [--save] [ARGS]
                   side by side with peers, ratios in one run; --save puts the tables
                   into docs/performance.md, docs/bulk.md and docs/cosid.md (sql: always, into docs/sql.md)

Environment
  MINT_TEST_REQUIRE=redis,redis-py,php-redis,curl,strace,root,postgres,mariadb,etcd,zookeeper,faketime,netns,nftables
                   an absent one fails the run; otherwise its tests print `skipped: NAME`
  MINT_TEST_LIMIT  seconds after which a test counts as hung (default 900)
  MINT_TEST_KILLS  how many times the kill loop kills (default 200)
  MINT_TEST_BACKFILL_ROWS, MINT_TEST_AUDIT_IDS
                   how long the files of the bulk tests are (10 and 100 million in the long form)
  MINT_TEST_IDS, MINT_TEST_FAILOVERS, MINT_TEST_SLOW, MINT_TEST_SOAK
                   ids in bulk, servers killed on each store, slow connections, seconds of soak
                   (small unless set; `proof` sets them)
  MINT_TEST_OUTAGE, MINT_TEST_OUTAGE_ON
                   how many seconds the stores are away (default 60), and which (default all)
  MINT_TEST_MATRIX how often each fault of the cluster tests is repeated (default 1)
  MINT_BIN         test this binary instead of building one
";

fn main() -> ExitCode {
    let args: Vec<String> = std::env::args().skip(1).collect();
    let rest = args.get(1..).unwrap_or_default();
    let outcome = match args.first().map(String::as_str) {
        Some("check") => check::run(),
        Some("test") => test::run(rest),
        Some("loom") => test::loom(rest),
        Some("e2e") if rest.first().is_some_and(|arg| arg == "--matrix") => test::matrix(&rest[1..]),
        Some("e2e") => test::e2e(rest),
        Some("fuzz") => test::fuzz(rest),
        Some("proof") => proof::run(rest),
        Some("toys") => toys::run(rest),
        Some("originals") => originals::run(rest),
        Some("fresh-root") => fresh::run(rest),
        Some("sql") => step::run(&mut step::cargo("run --quiet -p mintage-sql-packs")),
        Some("bench") => bench::run(rest),
        None | Some("help" | "--help" | "-h") => {
            print!("{HELP}");
            Ok(())
        }
        Some(other) => {
            eprintln!("error: no such command: {other}\nhint: cargo xtask --help lists them");
            return ExitCode::from(2);
        }
    };
    match outcome {
        Ok(()) => ExitCode::SUCCESS,
        Err(why) => {
            eprintln!("error: {why}");
            ExitCode::FAILURE
        }
    }
}
