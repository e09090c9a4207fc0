//! Runs the `console` blocks of a Markdown page: every `$ ` line as a command, the lines below it as the output
//! it must give.
//!
//! What differs from run to run is compared by kind: UUIDs, times and numbers of 15 digits or more match any
//! other of their kind, `…` matches anything, and `/home/ada` is the home. The default ports stand for those of a private server, which a
//! `serve` line starts and the end of the page ends.

use std::fs;
use std::io::{BufRead, BufReader};
use std::os::unix::fs::symlink;
use std::path::Path;
use std::process::{Child, Command, Stdio};

use tempfile::NamedTempFile;

use crate::guard::ends_with_us;
use crate::server::NoPanic;
use crate::{binary, need, run};

/// One command of a page and the output it promises.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Step {
    /// The line in the page, from 1.
    pub line: usize,
    /// What follows `$ `.
    pub command: String,
    /// The lines below it.
    pub output: Vec<String>,
}

/// The steps of a page, in order.
pub fn steps(page: &str) -> Vec<Step> {
    let mut steps: Vec<Step> = Vec::new();
    let mut inside = false;
    for (at, line) in page.lines().enumerate() {
        if line.starts_with("```") {
            inside = !inside && line == "```console";
        } else if let Some(command) = line.strip_prefix("$ ").filter(|_| inside) {
            steps.push(Step {
                line: at + 1,
                command: command.into(),
                output: Vec::new(),
            });
        } else if let (true, Some(step)) = (inside, steps.last_mut()) {
            step.output.push(line.into());
        }
    }
    steps
}

/// A step that gave something else than the page shows.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Difference {
    /// The step.
    pub step: Step,
    /// What it gave.
    pub given: Vec<String>,
}

/// Runs a page's steps in a fresh folder, and gives those that differ.
///
/// # Panics
/// When something cannot be started.
pub fn run_page(page: &str) -> Vec<Difference> {
    run_page_among(page, &Around::default())
}

/// What else there is around a page's commands.
#[derive(Clone, Debug, Default)]
pub struct Around {
    /// Variables of the shell.
    pub variables: Vec<(String, String)>,
    /// The usual ports of servers on the page, and the ports of private ones that they stand for.
    pub instead: Vec<(u16, u16)>,
}

/// The same among other servers; `mint serve` with options is started like that without.
///
/// # Panics
/// When something cannot be started.
pub fn run_page_among(page: &str, around: &Around) -> Vec<Difference> {
    let folder = tempfile::tempdir().expect("a temporary folder can be made");
    let bin = folder.path().join("bin");
    fs::create_dir(&bin).expect("the folder is ours");
    symlink(binary::mint(), bin.join("mint")).expect("the folder is ours");
    let mut server: Option<Serving> = None;
    let mut differences = Vec::new();
    for step in steps(page) {
        let given: Vec<String> = if is_serve(&step.command) {
            drop(server.take());
            let options = to_machine(step.command.trim_start_matches("mint serve"), &around.instead);
            let options = options
                .strip_prefix("cargo run --release -- serve")
                .unwrap_or(&options);
            let started = Serving::start(folder.path(), options);
            let ports = started.ports.beside(around);
            let banner = started.banner.iter();
            let banner = banner
                .map(|line| to_page(&in_home(line, folder.path()), &ports))
                .collect();
            server = Some(started);
            banner
        } else {
            let ports = server.as_ref().map_or(
                Ports {
                    http: 7600,
                    resp: 7601,
                },
                |s| s.ports,
            );
            let all = ports.beside(around);
            let command = to_machine(&step.command, &all);
            let said = shell(folder.path(), &bin, &command, ports, around);
            let said = in_home(&format!("{}{}", said.out, said.err), folder.path());
            said.lines().map(|line| to_page(line, &all)).collect()
        };
        if !same(&step.output, &given) {
            differences.push(Difference { step, given });
        }
    }
    differences
}

/// The page with the outputs that were given in place of those that differ.
pub fn corrected(page: &str, differences: &[Difference]) -> String {
    let mut lines: Vec<&str> = page.lines().collect();
    // From the end, so that the places before stay as they are.
    for Difference { step, given } in differences.iter().rev() {
        let after = step.line;
        lines.splice(after..after + step.output.len(), given.iter().map(String::as_str));
    }
    lines.join("\n") + "\n"
}

/// The home of whoever types what a page shows.
const HOME: &str = "/home/ada";

/// As for any other test, with the data where it is in a home.
fn at_home<'c>(command: &'c mut Command, folder: &Path) -> &'c mut Command {
    run::at_home(command, folder).env("XDG_DATA_HOME", folder.join(".local/share"))
}

/// An output with the home that the page names.
fn in_home(output: &str, folder: &Path) -> String {
    output.replace(&*folder.to_string_lossy(), HOME)
}

fn is_serve(command: &str) -> bool {
    let is_ours = command == "mint serve" || command.starts_with("mint serve --face ");
    is_ours || command == "cargo run --release -- serve"
}

fn shell(folder: &Path, bin: &Path, script: &str, ports: Ports, around: &Around) -> run::Said {
    let path = std::env::var("PATH").unwrap_or_default();
    let mut command = Command::new("bash");
    run::isolate(&mut command);
    at_home(&mut command, folder)
        .args(["-c", script])
        .env("PATH", format!("{}:{path}", bin.display()))
        .env("MINT_SERVER", format!("http://127.0.0.1:{}", ports.http))
        .envs(around.variables.iter().cloned())
        .stdin(Stdio::null());
    command.output().expect("bash can be started").into()
}

fn same(want: &[String], got: &[String]) -> bool {
    let plain = |line: &String| kinds(line.trim_end());
    want.len() == got.len() && want.iter().zip(got).all(|(w, g)| matches(&plain(w), &plain(g)))
}

/// Whether a line has the form of another in which `…` stands for anything.
pub(crate) fn matches(want: &str, got: &str) -> bool {
    let mut parts = want.split('…');
    let first = parts.next().unwrap_or_default();
    let Some(mut rest) = got.strip_prefix(first) else {
        return false;
    };
    let mut last = None;
    for part in parts {
        let Some(found) = rest.find(part) else {
            return false;
        };
        rest = &rest[found + part.len()..];
        last = Some(part);
    }
    match last {
        None => rest.is_empty(),
        Some(part) => part.is_empty() || rest.is_empty() || got.ends_with(part),
    }
}

/// The line with everything that differs from run to run replaced by its kind, and columns that such values
/// widen by two spaces.
fn kinds(line: &str) -> String {
    let mut out = String::new();
    let mut word = String::new();
    for c in line.chars().chain(['\n']) {
        if c.is_ascii_alphanumeric() || "-:.".contains(c) {
            word.push(c);
            continue;
        }
        out.push_str(kind(&word).unwrap_or(&word));
        word.clear();
        out.push(c);
    }
    out.pop();
    let indent = out.len() - out.trim_start().len();
    let columns: Vec<&str> = out
        .split("  ")
        .map(str::trim)
        .filter(|column| !column.is_empty())
        .collect();
    " ".repeat(indent) + &columns.join("  ")
}

fn kind(word: &str) -> Option<&'static str> {
    let shape: String = word
        .chars()
        .map(|c| match c {
            '0'..='9' => '0',
            'a'..='f' => 'a',
            c => c,
        })
        .collect();
    let hex = |s: &str| s.chars().all(|c| matches!(c, '0' | 'a'));
    let groups: Vec<usize> = shape.split('-').filter(|g| hex(g)).map(str::len).collect();
    if groups == [8, 4, 4, 4, 12] {
        Some("<uuid>")
    } else if shape.starts_with("0000-00-00T00:00:00") {
        Some("<time>")
    } else if shape.len() >= 15 && shape.chars().all(|c| c == '0') {
        Some("<id>")
    } else {
        None
    }
}

#[derive(Clone, Copy, Debug)]
struct Ports {
    http: u16,
    resp: u16,
}

impl Ports {
    /// These and all others, each after the usual one that stands on the page for it.
    fn beside(self, around: &Around) -> Vec<(u16, u16)> {
        [&[(7600, self.http), (7601, self.resp)], &around.instead[..]].concat()
    }
}

/// A page's text with the ports of this machine, each of `ports` after the usual one that the page names.
pub fn to_machine(text: &str, ports: &[(u16, u16)]) -> String {
    let here = |port: &str| ports.iter().find(|(usual, _)| usual.to_string() == port);
    numbers_replaced(text, |port, _| Some(here(port)?.1.to_string()))
}

/// A line of this machine with the ports of the page. A column keeps its width.
fn to_page(line: &str, ports: &[(u16, u16)]) -> String {
    let usual = |port: &str| ports.iter().find(|(_, here)| here.to_string() == port);
    numbers_replaced(line, |port, after| {
        let text = usual(port)?.0.to_string();
        let width = if after.starts_with("  ") { port.len() } else { 0 };
        Some(format!("{text:width$}"))
    })
}

/// The text with other numbers, each replaced at most once: `other` is given all digits of one and what follows it. One
/// port may hold the digits of another.
fn numbers_replaced(text: &str, other: impl Fn(&str, &str) -> Option<String>) -> String {
    let (mut out, mut rest) = (String::new(), text);
    while let Some(start) = rest.find(|c: char| c.is_ascii_digit()) {
        let (before, number) = rest.split_at(start);
        let end = number.find(|c: char| !c.is_ascii_digit()).unwrap_or(number.len());
        let (number, after) = number.split_at(end);
        out += before;
        out += other(number, after).as_deref().unwrap_or(number);
        rest = after;
    }
    out + rest
}

/// The last line that `mint serve` prints before it serves starts like this.
const BANNER_ENDS: &str = "  store ";

/// The server of a page.
#[derive(Debug)]
struct Serving {
    child: Child,
    _no_panic: NoPanic,
    ports: Ports,
    banner: Vec<String>,
}

impl Serving {
    fn start(folder: &Path, options: &str) -> Serving {
        need::boots("mint serve");
        let mut command = run::command(["serve", "--http", "127.0.0.1:0", "--resp", "127.0.0.1:0"]);
        let log = NamedTempFile::new().expect("a temporary file can be made");
        let no_panic = NoPanic::after_now_in(log.path());
        let mut child = at_home(&mut command, folder)
            .args(options.split_whitespace())
            .stdout(Stdio::piped())
            .stderr(Stdio::from(log.reopen().expect("a file can be opened twice")))
            .spawn()
            .expect("mint can be started");
        ends_with_us(&child, "KILL");
        let stdout = BufReader::new(child.stdout.take().expect("was piped"));
        let mut banner: Vec<String> = Vec::new();
        let ended = |banner: &[String]| banner.last().is_some_and(|line| line.starts_with(BANNER_ENDS));
        let mut lines = stdout.lines().map_while(Result::ok);
        while !ended(&banner) {
            banner.push(lines.next().expect("it serves"));
        }
        let mut ports = banner
            .iter()
            .flat_map(|line| line.split("127.0.0.1:").skip(1))
            .filter_map(|rest| rest.split(|c: char| !c.is_ascii_digit()).next()?.parse().ok());
        let mut port = || ports.next().unwrap_or_else(|| panic!("no address in {banner:?}"));
        let http = port();
        let resp = loop {
            let next = port();
            if next != http {
                break next;
            }
        };
        Serving {
            child,
            _no_panic: no_panic,
            ports: Ports { http, resp },
            banner,
        }
    }
}

impl Drop for Serving {
    fn drop(&mut self) {
        self.child.kill().ok();
        self.child.wait().ok();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_page_is_taken_apart_into_commands_and_outputs() {
        let page = "x\n```console\n$ a b\none\n\n$ c\n```\n```sh\n$ not\n```\n";
        let step = |line, command: &str, output: &[&str]| Step {
            line,
            command: command.into(),
            output: output.iter().map(|s| s.to_string()).collect(),
        };
        assert_eq!(steps(page), [step(3, "a b", &["one", ""]), step(6, "c", &[])]);
    }

    #[test]
    fn a_page_is_corrected_where_it_differs_and_nowhere_else() {
        let page = "```console\n$ a\nold\nold\n$ b\nsame\n$ c\n```\nend\n";
        let all = steps(page);
        let given = |at: usize, lines: &[&str]| Difference {
            step: all[at].clone(),
            given: lines.iter().map(|s| s.to_string()).collect(),
        };
        let fixed = corrected(page, &[given(0, &["new"]), given(2, &["more", "lines"])]);
        assert_eq!(
            fixed,
            "```console\n$ a\nnew\n$ b\nsame\n$ c\nmore\nlines\n```\nend\n"
        );
    }

    #[test]
    fn ports_that_hold_the_digits_of_others_are_told_apart() {
        let ports = [(7600, 33060), (7601, 17600), (3306, 40001)];
        let page = "127.0.0.1:7600  x :3306/shop 7601, 76001";
        let here = to_machine(page, &ports);
        assert_eq!(here, "127.0.0.1:33060  x :40001/shop 17600, 76001");
        assert_eq!(
            to_page(&here, &ports),
            "127.0.0.1:7600   x :3306/shop 7601, 76001"
        );
    }

    #[test]
    fn lines_are_compared_by_kind() {
        for (want, got, same) in [
            (
                "id 01890a5d-ac96-774b-bcce-b302099a8057",
                "id 01990a5d-ac96-774b-bcce-b302099a8050",
                true,
            ),
            (
                "id 01890a5d-ac96-774b-bcce-b302099a8057",
                "id 01890a5dac96774bbcceb302099a8057",
                false,
            ),
            ("1541815603606036480", "2541815603606036481", true),
            ("1", "2", false),
            ("took … ms", "took 7 ms", true),
            ("took … ms", "took 7 s", false),
            ("a … b … c", "a x b y c", true),
            ("at 2022-02-22T19:22:22.000Z", "at 2026-01-01T00:00:00.123Z", true),
            ("plain", "plain text", false),
        ] {
            assert_eq!(matches(&kinds(want), &kinds(got)), same, "{want} / {got}");
        }
    }
}
