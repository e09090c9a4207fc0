//! Tests of the tests: bugs that are planted on purpose, one at a time, and the checks that must find them.
//!
//! Each is a file in `proof/mutants`; a build of the tree in which they are planted has them all, and `MINT_PLANTED` turns
//! one on. The table below is also the one in
//! docs/planted.md.

use std::path::Path;
use std::process::{Command, Stdio};

/// What finds a bug.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Finder {
    /// The simulator.
    Simulator,
    /// The simulator on runs that all have these kinds of fault, and draw the others.
    Focused(&'static str),
    /// Crash images of the embedded store.
    Images,
    /// Damage to every byte, and files of different ages.
    Damage,
    /// Every call killed or failed.
    Calls,
    /// Copies of folders and second processes.
    Folders,
    /// Forked children of the library.
    Forks,
    /// The server's answers.
    Server,
    /// Journeys of ordinary commands with this in their name, over a folder, Redis and a set of stores.
    Journeys(&'static str),
    /// One end-to-end test, on real servers.
    EndToEnd(&'static str),
}

impl Finder {
    /// Its name, for people.
    pub fn name(self) -> &'static str {
        match self {
            Finder::Simulator | Finder::Focused(_) => "simulator",
            Finder::Images => "crash images",
            Finder::Damage => "damage",
            Finder::Calls => "killed and failed calls",
            Finder::Folders => "copied folders",
            Finder::Forks => "forks",
            Finder::Server => "the server's answers",
            Finder::Journeys(_) => "journeys",
            Finder::EndToEnd(_) => "an end-to-end test",
        }
    }

    /// The arguments of the program that looks for it.
    fn arguments(self) -> Vec<&'static str> {
        let words: &[&str] = match self {
            Finder::Simulator => &["sim", "--seeds", "12000"],
            Finder::Images => &["images", "--images", "6000"],
            Finder::Damage => &["flips"],
            Finder::Calls => &["inject", "--turns", "40"],
            Finder::Folders => &["folders"],
            Finder::Forks => &["forks", "--forks", "300"],
            Finder::Server => &["answers"],
            Finder::Focused(kinds) => return vec!["sim", "--seeds", "2000", "--with", kinds],
            Finder::Journeys(named) => return vec!["journeys", named],
            Finder::EndToEnd(test) => return vec!["end-to-end", test],
        };
        words.to_vec()
    }

    /// Whether it looks at a server, which is a build of its own.
    pub fn needs_server(self) -> bool {
        matches!(self, Finder::Server | Finder::Journeys(_) | Finder::EndToEnd(_))
    }

    /// The same for a look without a bug, but in a night: the other goals look long.
    fn glance(self) -> Vec<&'static str> {
        let words: &[&str] = match self {
            Finder::Simulator => &["sim", "--seeds", "600"],
            Finder::Focused(kinds) => return vec!["sim", "--seeds", "200", "--with", kinds],
            Finder::Images => &["images", "--images", "600"],
            Finder::Calls => &["inject", "--turns", "40", "--stride", "19"],
            other => return other.arguments(),
        };
        words.to_vec()
    }

    /// Whether it is more than a test of the line that is wrong.
    pub fn is_whole_system(self) -> bool {
        matches!(
            self,
            Finder::Simulator
                | Finder::Focused(_)
                | Finder::Images
                | Finder::Calls
                | Finder::Journeys(_)
                | Finder::EndToEnd(_)
        )
    }
}

/// A bug that can be planted.
#[derive(Clone, Copy, Debug)]
pub struct Bug {
    /// Its name: the value of `MINT_PLANTED`.
    pub name: &'static str,
    /// What the program does with it.
    pub what: &'static str,
    /// What must find it.
    pub finder: Finder,
}

const fn bug(name: &'static str, finder: Finder, what: &'static str) -> Bug {
    Bug { name, what, finder }
}

/// Every bug.
pub const BUGS: &[Bug] = &[
    // Reservation.
    bug(
        "lost-race-ignored",
        Finder::Simulator,
        "a compare-and-set that lost counts as won",
    ),
    bug(
        "unknown-used",
        Finder::Simulator,
        "a reservation of unknown outcome is used (rule W5, S3)",
    ),
    bug(
        "origin-unknown-used",
        Finder::Focused("beside"),
        "a take out of a counter elsewhere whose answer did not come is used (S3)",
    ),
    bug(
        "origin-not-flushed",
        Finder::EndToEnd("origin::numbers_of_a_sequence_do_not_come_again_though_its_server_is_killed"),
        "numbers taken out of a sequence of PostgreSQL are used before its log is on disk (S10)",
    ),
    bug(
        "published-before-commit",
        Finder::Simulator,
        "numbers go out before their reservation is acknowledged",
    ),
    bug(
        "own-write-not-known",
        Finder::Simulator,
        "a write that was delivered twice is taken for a lost race (R1)",
    ),
    bug(
        "one-token-for-all",
        Finder::Simulator,
        "every attempt carries the same token (R1)",
    ),
    bug(
        "token-without-clock",
        Finder::Simulator,
        "tokens are random only, and a copy draws the same (R1)",
    ),
    bug(
        "adopts-by-nonce",
        Finder::Simulator,
        "a record with one's own name is adopted (R1)",
    ),
    bug(
        "attempt-outlives-its-name",
        Finder::Focused("cloned,unknown-done"),
        "a process that lost its register adopts what its copy may have asked for, too (R1, R4)",
    ),
    bug(
        "marked-register-removed",
        Finder::Simulator,
        "dropping removes the register with its mark (R2)",
    ),
    bug(
        "claim-keeps-version",
        Finder::Simulator,
        "a claim does not raise the version (R3)",
    ),
    bug(
        "lost-register-ignored",
        Finder::Simulator,
        "a process whose register was lost goes on (R4)",
    ),
    bug(
        "shown-is-kept",
        Finder::Focused("not-kept"),
        "an attempt that a read shows is used, though no standby has it (R6)",
    ),
    bug(
        "read-is-remembered",
        Finder::Focused("not-kept"),
        "a promoted standby is refused for what was shown and never acknowledged (R6)",
    ),
    bug(
        "version-of-another-copy",
        Finder::Focused("not-kept"),
        "a version that the lost primary has shown guards a write on the promoted standby (R6)",
    ),
    // Windows.
    bug(
        "successor-at-its-now",
        Finder::Simulator,
        "a window begins at the successor's now (W2)",
    ),
    bug(
        "window-end-inclusive",
        Finder::Simulator,
        "ids are minted in the tick after the window",
    ),
    bug(
        "gt-for-ge",
        Finder::Simulator,
        "the limit of a generator is compared with > for >=",
    ),
    bug(
        "counter-wraps",
        Finder::Simulator,
        "a full counter begins at 0 in the same tick",
    ),
    bug(
        "ahead-without-bound",
        Finder::Simulator,
        "ids run ahead of the clock up to the window's end (W4)",
    ),
    bug(
        "unacknowledged-window-used",
        Finder::Simulator,
        "a renewal of unknown outcome is minted in (W5)",
    ),
    bug(
        "lost-window-kept",
        Finder::Simulator,
        "a window that was lost is minted in until it ends (W5)",
    ),
    bug(
        "attempt-not-compared",
        Finder::Focused("cloned"),
        "a lent window is renewed from one version by two copies of its borrower (W10)",
    ),
    bug(
        "shared-window-given-back",
        Finder::Simulator,
        "a stop lowers the end of a window on a shared store (W7)",
    ),
    bug(
        "gives-back-what-was-minted",
        Finder::Simulator,
        "a stop gives the whole window back (W7)",
    ),
    bug(
        "closed-a-tick-early",
        Finder::Simulator,
        "a closed generator tells the tick it was in as unused (W7)",
    ),
    bug(
        "released-by-a-stranger",
        Finder::Simulator,
        "an operator's release shortens a window that lasts (W7)",
    ),
    bug(
        "wall-clock-trusted",
        Finder::Simulator,
        "ids read the wall clock (C1)",
    ),
    // Sequences.
    bug(
        "block-end-plus-one",
        Finder::Simulator,
        "a block hands out one number more than it has",
    ),
    bug(
        "past-forgotten",
        Finder::Simulator,
        "a name made anew begins at its start (R2)",
    ),
    bug(
        "set-goes-back",
        Finder::Simulator,
        "SET moves a sequence backwards",
    ),
    bug(
        "change-takes-back",
        Finder::Simulator,
        "a changed definition takes back stock on a shared store (S5)",
    ),
    bug(
        "gives-back-an-issued-number",
        Finder::Simulator,
        "a stop gives one number too many back (S4)",
    ),
    bug(
        "gap-free-keeps-stock",
        Finder::Simulator,
        "a gap-free sequence claims more than is asked (S6)",
    ),
    bug(
        "max-gap-ignored",
        Finder::Simulator,
        "a block is larger than max_gap (S3)",
    ),
    bug(
        "kept-across-owners",
        Finder::Simulator,
        "stock is kept when the definition or the owner changed (S5, R4)",
    ),
    bug(
        "journal-behind",
        Finder::Simulator,
        "the journal says one number less than was handed out (S7)",
    ),
    bug(
        "old-journal-trusted",
        Finder::Simulator,
        "a journal older than the register says is resumed (S7)",
    ),
    bug(
        "other-boot-trusted",
        Finder::Focused("begun-away"),
        "a server begins without its store on a journal of another boot of the machine (S11)",
    ),
    bug(
        "run-keeps-what-lies-before",
        Finder::Simulator,
        "what a run passed over is given out after it (S2)",
    ),
    // Stores that are set back or restored, and sets of stores.
    bug(
        "set-back-store-taken",
        Finder::Focused("set-back"),
        "a store with a lower change counter than this machine has met is taken (E3)",
    ),
    bug(
        "restored-names-fresh",
        Finder::Simulator,
        "a name that a restored backup does not know begins at its start",
    ),
    bug(
        "lowered-mark-taken",
        Finder::Simulator,
        "a record that says more was reserved than its mark is taken (E3)",
    ),
    bug(
        "journal-not-compared",
        Finder::Focused("set-back"),
        "a start does not compare the store with what its journal owns (E3, S7)",
    ),
    bug(
        "restored-tombstone-forgotten",
        Finder::Simulator,
        "a dropped name of a restored backup is made anew as if nothing had followed",
    ),
    bug(
        "stripe-ignored",
        Finder::Simulator,
        "every store of a set gives out all numbers, not its share (S9)",
    ),
    bug(
        "set-order-ignored",
        Finder::Simulator,
        "a server that goes on with another store of a set gives lower numbers",
    ),
    // Clocks that were wrong once.
    bug(
        "formats-read-the-wall",
        Finder::Simulator,
        "formats without a window read the wall clock (C1)",
    ),
    bug(
        "answer-not-compared",
        Finder::EndToEnd("answers::redis::an_answer_that_comes_twice_grants_nothing_a_second_time"),
        "an answer that comes twice counts for the next call (R1)",
    ),
    bug(
        "disputed-clock-tells-time",
        Finder::EndToEnd("clocks::a_clock_that_the_store_does_not_share_is_refused_on_redis"),
        "ids get the time of a clock that others speak against (C2)",
    ),
    bug(
        "wrong-clock-parks-all",
        Finder::Simulator,
        "a pool is refused until the newest time that it was told of has come (W6)",
    ),
    // The embedded store.
    bug(
        "witness-not-synced",
        Finder::Images,
        "an append to the witness is not synced (E1)",
    ),
    bug(
        "database-not-synced",
        Finder::Images,
        "SQLite does not sync its log",
    ),
    bug(
        "new-witness-not-synced",
        Finder::Images,
        "a new witness takes its place before it is synced",
    ),
    bug(
        "folder-not-synced",
        Finder::Images,
        "the folder is not synced after a rename (E2)",
    ),
    bug(
        "claims-forgotten-at-start",
        Finder::Images,
        "a start does not take over what only the witness has (E1)",
    ),
    bug(
        "failed-sync-forgotten",
        Finder::Calls,
        "a failed sync of the witness is answered with done (E3)",
    ),
    bug(
        "witness-not-compared",
        Finder::Damage,
        "a start does not compare the database with its witness (E1)",
    ),
    bug(
        "row-checksum-ignored",
        Finder::Damage,
        "a row that does not match its checksum is read (E1)",
    ),
    bug(
        "lock-not-taken",
        Finder::Folders,
        "a second process may open the folder (E2)",
    ),
    bug(
        "copy-not-noticed",
        Finder::Folders,
        "a copied folder is taken for one that was put back",
    ),
    bug(
        "reached-not-noted",
        Finder::Folders,
        "the folder's own mark of how far it got does not move",
    ),
    bug(
        "set-back-not-noticed",
        Finder::Folders,
        "a start does not look whether its folder was put back",
    ),
    bug(
        "repair-launders",
        Finder::Journeys("the witness and the log are removed"),
        "a repair without witness and log makes a store that begins anew",
    ),
    bug(
        "tools-make-stores",
        Finder::Journeys("a folder that is not there"),
        "a backup, a move or a list of a folder that is not there makes it",
    ),
    // Changes of a sequence.
    bug(
        "alter-goes-back",
        Finder::Journeys("redefined while nothing was taken"),
        "a changed definition goes on among numbers that were given out (S5)",
    ),
    bug(
        "round-forgotten",
        Finder::Journeys("redefined while nothing was taken"),
        "a sequence that has gone round is measured from where it stands (S5)",
    ),
    bug(
        "run-of-a-set",
        Finder::Journeys("no run out of a set"),
        "a store of a set gives whole runs out of its stock (S9)",
    ),
    // The library and the server.
    bug(
        "fork-unnoticed",
        Finder::Forks,
        "a forked child goes on with its parent's state (W4)",
    ),
    bug(
        "shared-before-it-listens",
        Finder::Journeys("two servers are started at once"),
        "a port may be shared before it is bound, so that two servers have it",
    ),
    bug(
        "answers-may-be-cached",
        Finder::Server,
        "answers do not say no-store",
    ),
];

/// What came of one bug.
#[derive(Clone, Debug)]
pub struct Hunt {
    /// The bug.
    pub bug: Bug,
    /// Whether the program ran into it at all.
    pub reached: bool,
    /// What its finder said, if it found it.
    pub found: Option<String>,
}

/// Passes on what a process of ours said of the bug that is planted in it.
pub(crate) fn pass_on(stderr: &[u8]) {
    for line in String::from_utf8_lossy(stderr).lines() {
        if line.starts_with("planted bug ") {
            eprintln!("{line}");
        }
    }
}

/// Plants one bug in `program` (a build of the tree in which all are planted) and lets its finder look for it.
///
/// # Errors
/// The program cannot be started.
pub fn hunt(program: &Path, mint: Option<&Path>, bug: Bug) -> Result<Hunt, String> {
    let (ok, out, err) = search(program, mint, &bug.finder.arguments(), Some(bug.name))?;
    let reached = err.contains(&format!("planted bug {} was reached", bug.name));
    let failure = out
        .lines()
        .chain(err.lines())
        .find(|line| line.contains("failed: ") || line.contains("panicked"));
    Ok(Hunt {
        bug,
        reached,
        found: (!ok).then(|| failure.unwrap_or("it failed").to_string()),
    })
}

/// The same search without a bug (`long`), or a shorter one; what it said if it found one all the same.
///
/// # Errors
/// The program cannot be started.
pub fn control(
    program: &Path,
    mint: Option<&Path>,
    finder: Finder,
    long: bool,
) -> Result<Option<String>, String> {
    let arguments = match long {
        true => finder.arguments(),
        false => finder.glance(),
    };
    let (ok, out, err) = search(program, mint, &arguments, None)?;
    Ok((!ok).then(|| format!("{out}{err}")))
}

fn search(
    program: &Path,
    mint: Option<&Path>,
    arguments: &[&str],
    planted: Option<&str>,
) -> Result<(bool, String, String), String> {
    let mut command = Command::new(program);
    if let Some(mint) = mint {
        command.env("MINT_BIN", mint);
    }
    let output = command
        .args(arguments)
        .env("MINT_PLANTED", planted.unwrap_or_default())
        .stdin(Stdio::null())
        .output()
        .map_err(|e| format!("cannot start {}: {e}", program.display()))?;
    let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
    Ok((
        output.status.success(),
        text(&output.stdout),
        text(&output.stderr),
    ))
}

/// The table of docs/planted.md.
///
/// ```
/// let table = mintage_proof::planted::table();
/// assert!(table.contains("| `successor-at-its-now` | a window begins at the successor's now (W2) | simulator |"));
/// ```
pub fn table() -> String {
    let mut text =
        String::from("| planted bug | what the program does with it | found by |\n| --- | --- | --- |\n");
    for bug in BUGS {
        let focus = match bug.finder {
            Finder::Focused(kinds) => format!(", each run with `{}`", kinds.replace(',', "`, `")),
            _ => String::new(),
        };
        text.push_str(&format!(
            "| `{}` | {} | {}{focus} |\n",
            bug.name,
            bug.what,
            bug.finder.name()
        ));
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn there_are_thirty_bugs_with_names_of_their_own() {
        let mut names: Vec<&str> = BUGS.iter().map(|bug| bug.name).collect();
        names.sort_unstable();
        names.dedup();
        assert!(names.len() == BUGS.len() && names.len() >= 30);
        assert!(BUGS.iter().filter(|bug| bug.finder.is_whole_system()).count() >= 15);
    }
}
