//! Journeys: what operators and developers do one after the other, as data. One checker sees every id of a journey.
//!
//! A machine is a folder with a home of its own, named in a step; commands are run there by a shell, with `mint`,
//! `$HTTP`, `$RESP` (a port) and `$MINT_SERVER` of the machine's server at hand. The store is what `mint.toml` of every
//! machine says, or each machine's own `./mint`.

use std::collections::{BTreeMap, HashSet};
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::{Duration, Instant};

use mintage_testing::MARK;
use tempfile::TempDir;

use crate::need;
use crate::proxy::{Fault, Proxy};
use crate::resp::{Reply, Resp};
use crate::run::{self, Said};
use crate::server::{Server, Start};

/// What somebody does, and what must come of it. The first word of each is the machine.
#[derive(Clone, Copy, Debug)]
pub enum Step {
    /// `mint serve`, which must be ready; with more arguments.
    Serve(&'static str, &'static str),
    /// The same where it must refuse, or minting must: nothing of what it gives out may repeat, and it must say this.
    Refused(&'static str, &'static str),
    /// SIGTERM, and its end.
    Stop(&'static str),
    /// SIGKILL.
    Kill(&'static str),
    /// A command that must succeed.
    Run(&'static str, &'static str),
    /// A command that must fail, saying this.
    Fails(&'static str, &'static str, &'static str),
    /// A command whose output is ids of this kind, one per line or with words around them.
    Ids(&'static str, Of, &'static str),
    /// So many commands over one connection of the Redis protocol, each of which must be answered in the end.
    Take(&'static str, Of, &'static [&'static str], u32),
    /// The same until the server refuses for good; what it gives out before must not repeat.
    TakeUntilRefused(&'static str, Of, &'static [&'static str], &'static str),
    /// An id of a format, whose time must be right within so many seconds.
    RightTime(&'static str, &'static str, u64),
    /// The same, once the server has found out what time it is.
    RightTimeSoon(&'static str, &'static str, u64),
    /// The command that the last refusal, or the server's log, names: as printed, but for its `N`.
    Follow(&'static str, &'static str),
    /// Nothing at this path.
    Absent(&'static str, &'static str),
    /// The store's server is stopped, and its data copied.
    Save,
    /// The store's server is stopped, its data replaced by the copy, and started again.
    PutBack,
    /// The machine's clock is this much off from now on: `+3h`; `+0` is right.
    Clock(&'static str, &'static str),
    /// A store of the set goes away, by number.
    Down(usize),
    /// It is back.
    Up(usize),
    /// Every answer of the store arrives this many milliseconds later.
    Slow(u64),
    /// `mint serve` as often as said, two at once on one pair of ports: one of both must not be ready.
    Race(&'static str, u32),
}

/// What ids are of, which says what is checked.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub enum Of {
    /// Numbers of this sequence: no repeats, rising on one server.
    Sequence(&'static str),
    /// The last number of whole runs of this length.
    Runs(&'static str, i64),
    /// First, last and increment of a range.
    Range(&'static str),
    /// Other ids, under this name: no repeats.
    Any(&'static str),
    /// Other ids that rise on one server.
    Rising(&'static str),
}

/// Which stores a journey is walked on.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum On {
    /// Every one, sets included.
    All,
    /// All but sets.
    Single,
    /// The folder.
    Folder,
    /// Databases and the like, one at a time.
    Shared,
    /// What several servers share: databases and the like, and sets of them.
    Several,
    /// Sets of stores.
    Sets,
    /// These.
    These(&'static [&'static str]),
}

impl On {
    /// Whether the store called `store` is among them.
    pub fn has(self, store: &str) -> bool {
        match self {
            On::All => true,
            On::Single => store != "set",
            On::Folder => store == "folder",
            On::Shared => !matches!(store, "folder" | "set"),
            On::Several => store != "folder",
            On::Sets => store == "set",
            On::These(stores) => stores.contains(&store),
        }
    }
}

/// One journey.
#[derive(Clone, Copy, Debug)]
pub struct Journey {
    /// What it is about, in words.
    pub name: &'static str,
    /// Where it is walked.
    pub on: On,
    /// What is done.
    pub steps: &'static [Step],
}

/// The stores under a journey, whose servers other journeys use before and after.
pub trait Ground {
    /// What the store is called in tables.
    fn name(&self) -> &'static str;

    /// Makes room for a journey: the URLs of the store or of the set, fresh, and not initialised; none for folders.
    fn urls(&mut self, journey: usize) -> Vec<String>;

    /// Stops the store's server, copies its data, and starts it.
    fn save(&mut self) {}

    /// Stops the store's server, puts the copy back, and starts it.
    fn put_back(&mut self) {}

    /// One store of a set goes away.
    fn down(&mut self, _number: usize) {}

    /// It is back.
    fn up(&mut self, _number: usize) {}

    /// In front of the store, where there is one.
    fn proxy(&self) -> Option<&Proxy> {
        None
    }
}

/// Everything that a journey's clients were given.
#[derive(Debug, Default)]
pub struct Seen {
    ids: HashSet<(String, String)>,
    /// The last of each kind that each start of a server gave out.
    last: BTreeMap<(String, String), i128>,
    /// A set of stores gives no order.
    unordered: bool,
}

impl Seen {
    /// A checker; `unordered`: numbers need not rise.
    pub fn new(unordered: bool) -> Seen {
        Seen {
            unordered,
            ..Seen::default()
        }
    }

    /// Takes in what a server (or a command: empty) answered; `raw` is a number, three of a range, or an id.
    ///
    /// # Errors
    /// It was given out before, or does not rise.
    pub fn note(&mut self, server: &str, of: Of, raw: &str) -> Result<(), String> {
        let number = |text: &str| {
            text.parse::<i128>()
                .map_err(|_| format!("{of:?}: no number: {text:?}"))
        };
        match of {
            Of::Sequence(name) => self.numbers(server, name, number(raw)?, number(raw)?, 1),
            Of::Runs(name, length) => {
                let last = number(raw)?;
                self.numbers(server, name, last - i128::from(length) + 1, last, 1)
            }
            Of::Range(name) => {
                let three: Vec<&str> = raw.split_whitespace().collect();
                let [first, last, step] = three[..] else {
                    return Err(format!("{of:?}: no range: {raw:?}"));
                };
                self.numbers(server, name, number(first)?, number(last)?, number(step)?)
            }
            Of::Any(name) => self.one(name, raw),
            Of::Rising(name) => {
                self.one(name, raw)?;
                self.rises(server, name, number(raw)?, number(raw)?)
            }
        }
    }

    fn numbers(
        &mut self,
        server: &str,
        name: &str,
        first: i128,
        last: i128,
        step: i128,
    ) -> Result<(), String> {
        let mut at = first;
        while at <= last {
            self.one(name, &at.to_string())?;
            at += step;
        }
        self.rises(server, name, first, last)
    }

    fn one(&mut self, name: &str, id: &str) -> Result<(), String> {
        match self.ids.insert((name.to_string(), id.to_string())) {
            true => Ok(()),
            false => Err(format!("REPEAT: {MARK}{name} {id} was given out twice")),
        }
    }

    fn rises(&mut self, server: &str, name: &str, first: i128, last: i128) -> Result<(), String> {
        if server.is_empty() || self.unordered {
            return Ok(());
        }
        let before = self.last.insert((server.to_string(), name.to_string()), last);
        match before.filter(|before| *before >= first) {
            None => Ok(()),
            Some(before) => Err(format!(
                "ORDER: {MARK}{server} answered {first} of {name} after {before}"
            )),
        }
    }

    /// How many ids were given out.
    pub fn count(&self) -> usize {
        self.ids.len()
    }
}

struct Machine {
    folder: PathBuf,
    server: Option<Server>,
    client: Option<Resp>,
    /// How often it was started: each start is a server of its own.
    starts: u32,
    /// What the last refusal said.
    said: String,
    /// What commands said beside their results.
    erred: String,
}

/// A journey under way.
pub struct Walk<'a> {
    ground: &'a mut dyn Ground,
    root: TempDir,
    machines: BTreeMap<&'static str, Machine>,
    urls: Vec<String>,
    seen: Seen,
    faketime: bool,
    told_of_bug: bool,
    patient: bool,
}

/// How long somebody tries again what is refused for the moment.
const PATIENCE: Duration = Duration::from_secs(20);
/// The pause between two tries of a patient client.
const PACE: Duration = Duration::from_millis(20);

impl Walk<'_> {
    /// Walks one journey; how many ids it saw. `None`: a program that it needs is absent.
    ///
    /// # Errors
    /// Which step came to something else than it must, and to what.
    pub fn through(
        journey: &Journey,
        number: usize,
        ground: &mut dyn Ground,
    ) -> Result<Option<usize>, String> {
        let faketime = journey.steps.iter().any(|step| matches!(step, Step::Clock(..)));
        if !need::redis() || !need::curl() || faketime && need::faketime().is_none() {
            return Ok(None);
        }
        let urls = ground.urls(number);
        let mut walk = Walk {
            root: tempfile::tempdir().expect("a temporary folder can be made"),
            machines: BTreeMap::new(),
            seen: Seen::new(ground.name() == "set"),
            urls,
            ground,
            faketime,
            told_of_bug: false,
            // Where no store hangs, a busy machine must not look as if one did.
            patient: !journey.steps.iter().any(|step| matches!(step, Step::Down(_))),
        };
        walk.initialise()?;
        for (at, step) in journey.steps.iter().enumerate() {
            let came = walk.step(*step);
            walk.tell_of_bugs();
            if let Err(why) = came {
                let logs: Vec<String> = walk.machines.keys().map(|name| walk.log_of(name)).collect();
                return Err(format!("step {} {step:?}: {why}\n{}", at + 1, logs.concat()));
            }
        }
        Ok(Some(walk.seen.count()))
    }

    fn initialise(&mut self) -> Result<(), String> {
        for url in self.urls.clone() {
            run::mint(self.root.path(), ["init", "--store", &url]).done()?;
        }
        if self.urls.len() > 1 {
            let words = ["store", "stripes", "make"].map(str::to_string);
            run::mint(self.root.path(), words.iter().chain(&self.urls)).done()?;
        }
        Ok(())
    }

    fn machine(&mut self, name: &'static str) -> &mut Machine {
        let (root, urls) = (self.root.path(), &self.urls);
        self.machines.entry(name).or_insert_with(|| {
            let folder = root.join(name);
            fs::create_dir(&folder).expect("the folder is ours");
            let store = match &urls[..] {
                [] => String::new(),
                [url] => format!("[store]\nurl = {url:?}\n"),
                urls => format!("[store]\nurls = {urls:?}\n"),
            };
            fs::write(folder.join("mint.toml"), store).expect("the folder is ours");
            fs::write(folder.join("clock"), "+0").expect("the folder is ours");
            Machine {
                folder,
                server: None,
                client: None,
                starts: 0,
                said: String::new(),
                erred: String::new(),
            }
        })
    }

    fn start(&mut self, name: &'static str, args: &str) -> Start {
        let faketime = if self.faketime { need::faketime() } else { None };
        let patient = self.patient;
        let machine = self.machine(name);
        machine.starts += 1;
        let start = Start::in_folder(&machine.folder).args(args.split_whitespace());
        let start = if patient { start.patient() } else { start };
        match faketime {
            Some(faketime) => {
                let environment = faketime.environment(&machine.folder.join("clock"));
                start.under(["env".to_string()].into_iter().chain(environment))
            }
            None => start,
        }
    }

    fn step(&mut self, step: Step) -> Result<(), String> {
        match step {
            Step::Serve(name, args) => {
                let ready = self.start(name, args).spawn().ready();
                let server = ready.map_err(|said| format!("it refused: {said:?}"))?;
                self.machine(name).server = Some(server);
            }
            Step::Refused(name, text) => return self.refused(name, text),
            Step::Stop(name) => {
                let machine = self.machine(name);
                machine.client = None;
                if let Some(server) = machine.server.take() {
                    let code = server.stop();
                    if code != 0 {
                        return Err(format!("it ended with {code}"));
                    }
                }
            }
            Step::Kill(name) => {
                let machine = self.machine(name);
                machine.client = None;
                if let Some(server) = machine.server.take() {
                    server.kill();
                }
            }
            Step::Run(name, line) => drop(self.shell(name, line).done()?),
            Step::Fails(name, line, text) => {
                let said = self.shell(name, line);
                if said.code == 0 || !said.err.contains(text) {
                    return Err(format!("it must fail with {text:?}: {said:?}"));
                }
                self.machine(name).said = said.err;
            }
            Step::Ids(name, of, line) => return self.ids(name, of, line),
            Step::Take(name, of, words, times) => {
                for _ in 0..times {
                    self.take_one(name, of, words)?;
                }
            }
            Step::TakeUntilRefused(name, of, words, text) => {
                return self.take_until_refused(name, of, words, text);
            }
            Step::RightTime(name, format, within_s) => return self.right_time(name, format, within_s),
            Step::RightTimeSoon(name, format, within_s) => {
                let begun = Instant::now();
                while let Err(why) = self.right_time(name, format, within_s) {
                    if begun.elapsed() > PATIENCE || why.starts_with("REPEAT") {
                        return Err(why);
                    }
                    std::thread::sleep(PACE);
                }
            }
            Step::Follow(name, number) => return self.follow(name, number),
            Step::Absent(name, path) => {
                if self.machine(name).folder.join(path).exists() {
                    return Err(format!("{path} was made"));
                }
            }
            Step::Save => self.ground.save(),
            Step::PutBack => self.ground.put_back(),
            Step::Clock(name, offset) => {
                let clock = self.machine(name).folder.join("clock");
                fs::write(clock, offset).expect("the folder is ours");
            }
            Step::Down(number) => self.ground.down(number),
            Step::Up(number) => self.ground.up(number),
            Step::Slow(ms) => {
                let proxy = self.ground.proxy().ok_or("nothing in front of this store")?;
                proxy.set(match ms {
                    0 => Fault::Pass,
                    ms => Fault::DelayAnswers(Duration::from_millis(ms)),
                });
            }
            Step::Race(name, rounds) => return self.race(name, rounds),
        }
        Ok(())
    }

    /// Runs a command line on a machine, as somebody types it.
    fn shell(&mut self, name: &'static str, line: &str) -> Said {
        let clock = if self.faketime { need::faketime() } else { None };
        let machine = self.machine(name);
        let mint = crate::binary::mint()
            .parent()
            .expect("a file is in a folder")
            .display()
            .to_string();
        let path = std::env::var("PATH").unwrap_or_default();
        let mut command = Command::new("sh");
        run::isolate(&mut command);
        run::at_home(&mut command, &machine.folder)
            .args(["-c", line])
            .env("PATH", format!("{mint}:{path}"));
        if let Some(server) = &machine.server {
            command
                .env("MINT_SERVER", server.url())
                .env("HTTP", server.url())
                .env("RESP", server.resp.port().to_string());
        }
        if let Some(clock) = clock {
            let file = machine.folder.join("clock");
            let environment = clock.environment(&file);
            command.envs(environment.iter().filter_map(|word| word.split_once('=')));
        }
        let said = run::with_input(command, b"");
        self.machine(name).erred.push_str(&said.err);
        said
    }

    /// The name under which the server's order is checked.
    fn server_name(&mut self, name: &'static str) -> String {
        let machine = self.machine(name);
        match machine.server {
            Some(_) => format!("{name}#{}", machine.starts),
            None => String::new(),
        }
    }

    fn ids(&mut self, name: &'static str, of: Of, line: &str) -> Result<(), String> {
        let out = self.shell(name, line).done()?;
        let server = self.server_name(name);
        let words: Vec<&str> = out
            .split(|c: char| !(c.is_alphanumeric() || "-_.".contains(c)))
            .collect();
        let ids: Vec<&str> = words
            .into_iter()
            .filter(|word| word.contains(|c: char| c.is_ascii_digit()))
            .collect();
        if ids.is_empty() {
            return Err(format!("no ids: {out:?}"));
        }
        match of {
            Of::Range(_) => self.seen.note(&server, of, &ids.join(" ")),
            _ => ids.into_iter().try_for_each(|id| self.seen.note(&server, of, id)),
        }
    }

    /// One command, tried again while the server says that it cannot serve it for the moment.
    fn take_one(&mut self, name: &'static str, of: Of, words: &[&str]) -> Result<(), String> {
        let begun = Instant::now();
        let server = self.server_name(name);
        loop {
            let reply = self.ask(name, words)?;
            match reply {
                // Workers that a backup may not know are taken 70 s after a restore.
                Reply::Error(why)
                    if why.starts_with("TRYAGAIN")
                        && (begun.elapsed() < PATIENCE
                            || why.contains("may have lost windows") && begun.elapsed() < 5 * PATIENCE) =>
                {
                    std::thread::sleep(PACE);
                }
                Reply::Error(why) => return Err(format!("{words:?} was refused: {why}")),
                Reply::Array(all) => {
                    let texts = all.iter().map(|one| one.text().unwrap_or_default());
                    for text in texts.collect::<Vec<_>>() {
                        self.seen.note(&server, of, &text)?;
                    }
                    return Ok(());
                }
                one => return self.seen.note(&server, of, &one.text().unwrap_or_default()),
            }
        }
    }

    fn ask(&mut self, name: &'static str, words: &[&str]) -> Result<Reply, String> {
        let machine = self.machine(name);
        let server = machine.server.as_ref().ok_or("no server runs here")?;
        let client = machine.client.get_or_insert_with(|| server.redis());
        client.ask(words).map_err(|error| format!("{words:?}: {error}"))
    }

    fn take_until_refused(
        &mut self,
        name: &'static str,
        of: Of,
        words: &[&str],
        text: &str,
    ) -> Result<(), String> {
        let begun = Instant::now();
        let server = self.server_name(name);
        while begun.elapsed() < 2 * PATIENCE {
            match self.ask(name, words)? {
                Reply::Error(why) if why.contains(text) => {
                    self.machine(name).said = why;
                    return Ok(());
                }
                Reply::Error(_) => std::thread::sleep(PACE),
                one => self.seen.note(&server, of, &one.text().unwrap_or_default())?,
            }
        }
        Err(format!("it never said {text:?}"))
    }

    fn refused(&mut self, name: &'static str, text: &str) -> Result<(), String> {
        let said = match self.start(name, "").spawn().ready() {
            Err(said) => said.err,
            Ok(server) => {
                // What a first client is given shows what the refusal would have kept from it.
                let repeat = server.redis().ask(&["INCR", "orders"]);
                server.kill();
                let number = repeat.ok().and_then(|reply| reply.text()).unwrap_or_default();
                let twice = self
                    .seen
                    .note("", Of::Sequence("orders"), &number)
                    .err()
                    .unwrap_or_default();
                return Err(format!("it started; INCR orders answered {number}. {twice}"));
            }
        };
        let said_text = said.contains(text);
        self.machine(name).said = said;
        match said_text {
            true => Ok(()),
            false => Err(format!("it does not say {text:?}: {}", self.machine(name).said)),
        }
    }

    fn right_time(&mut self, name: &'static str, format: &str, within_s: u64) -> Result<(), String> {
        let words = ["MINT.ID", format];
        let begun = Instant::now();
        let id = loop {
            match self.ask(name, &words)? {
                Reply::Error(why) if begun.elapsed() > PATIENCE => {
                    return Err(format!("{format} is refused: {why}"));
                }
                Reply::Error(_) => std::thread::sleep(PACE),
                one => break one.text().unwrap_or_default(),
            }
        };
        self.seen.note("", Of::Any("ids"), &id)?;
        let listed = run::mint(self.root.path(), ["inspect", "--json", "--as", format, "--", &id]);
        let read: serde_json::Value = serde_json::from_str(listed.out.lines().next().unwrap_or_default())
            .map_err(|error| format!("inspect {id}: {error}: {listed:?}"))?;
        let time = find_time(&read).ok_or_else(|| format!("inspect {id} tells no time: {read}"))?;
        let now = std::time::SystemTime::now()
            .duration_since(std::time::UNIX_EPOCH)
            .map_or(0, |now| now.as_secs());
        match time.abs_diff(now) {
            off if off <= within_s => Ok(()),
            off => Err(format!("{format} {id} bears a time {off} s off the right one")),
        }
    }

    /// Runs the `mint` command that a refusal names, word for word.
    fn follow(&mut self, name: &'static str, number: &str) -> Result<(), String> {
        let url = self.urls.first().cloned().unwrap_or_default();
        let machine = self.machine(name);
        let log = machine.server.as_ref().map(Server::log).unwrap_or_default();
        let said = format!("{}\n{log}", machine.said);
        let line = hinted(&said, number).ok_or_else(|| format!("no command is named: {said}"))?;
        // Who types it knows the store's password, which is never shown.
        let known = |word: &str| match word.contains("***") {
            true => format!("'{url}'"),
            false => word.to_string(),
        };
        let line = line.split(' ').map(known).collect::<Vec<_>>().join(" ");
        self.shell(name, &line)
            .done()
            .map_err(|why| format!("{line:?}, as told: {why}"))?;
        Ok(())
    }

    fn race(&mut self, name: &'static str, rounds: u32) -> Result<(), String> {
        for round in 0..rounds {
            let (http, resp) = (crate::engine::port::free(), crate::engine::port::free());
            let args = format!("--http {http} --resp {resp}");
            let folders = [
                self.machine(name).folder.clone(),
                self.root.path().join(format!("rival-{round}")),
            ];
            fs::create_dir(&folders[1]).expect("the folder is ours");
            let starting = folders.map(|folder| Start::bare(&folder, &args).spawn());
            let ready = starting.map(|starting| std::thread::spawn(|| starting.ready()));
            let running: Vec<Server> = ready
                .into_iter()
                .filter_map(|thread| thread.join().expect("it ends in words").ok())
                .collect();
            if running.len() > 1 {
                return Err(format!(
                    "{MARK}both serve {http} and {resp}, in round {}",
                    round + 1
                ));
            }
        }
        Ok(())
    }

    /// Passes on what a program says of the bug that is planted in it, once.
    fn tell_of_bugs(&mut self) {
        if std::env::var_os("MINT_PLANTED").is_none() || self.told_of_bug {
            return;
        }
        let logs = self.machines.values().map(|machine| {
            let log = fs::read_to_string(machine.folder.join("mint.log")).unwrap_or_default();
            format!("{log}\n{}", machine.erred)
        });
        if let Some(line) = logs
            .collect::<Vec<_>>()
            .iter()
            .flat_map(|log| log.lines())
            .find(|line| line.starts_with("planted bug "))
        {
            need::say(line);
            self.told_of_bug = true;
        }
    }

    fn log_of(&self, name: &str) -> String {
        let log = self.machines[name].folder.join("mint.log");
        let text = fs::read_to_string(log).unwrap_or_default();
        let lines: Vec<&str> = text.lines().collect();
        let last = lines[lines.len().saturating_sub(4)..].join("\n    ");
        format!("  {name}'s log ends:\n    {last}\n")
    }
}

trait Done {
    fn done(self) -> Result<String, String>;
}

impl Done for Said {
    fn done(self) -> Result<String, String> {
        match self.code {
            0 => Ok(self.out),
            _ => Err(format!("{self:?}")),
        }
    }
}

/// The first `mint` command in a text that is more than a name of one, with its `N` replaced.
pub fn hinted(text: &str, number: &str) -> Option<String> {
    let (mut rest, mut first) = (text, None);
    while let Some(at) = rest.find("mint store ") {
        rest = &rest[at..];
        let mut words: Vec<&str> = Vec::new();
        for (place, raw) in rest.split_whitespace().enumerate() {
            let word = raw.trim_end_matches([';', ',', ':', '.', ')', '"', '\\', '`']);
            let verb = place == 2 && word.chars().all(|c| c.is_ascii_lowercase());
            let value = words.last().is_some_and(|last| last.starts_with("--"));
            let operand = word.contains([':', '/']) || word.chars().all(|c| c.is_ascii_uppercase());
            if !(place < 2 || verb || word.starts_with("--") || value || operand) {
                break;
            }
            words.push(if word == "N" { number } else { word });
            if word.len() < raw.len() {
                break;
            }
        }
        if words.len() > 2 {
            let line = words.join(" ");
            // Where numbers were given out since, what only adopts is not what was meant.
            if words.contains(&number) {
                return Some(line);
            }
            first.get_or_insert(line);
        }
        rest = &rest["mint store ".len()..];
    }
    first
}

/// Seconds since 1970 of the first time in what `mint inspect` says.
fn find_time(value: &serde_json::Value) -> Option<u64> {
    let ns: u128 = value["readings"][0]["unix_ns"].as_str()?.parse().ok()?;
    u64::try_from(ns / 1_000_000_000).ok()
}

/// Copies a folder with owners and modes, over whatever is there.
///
/// # Panics
/// When it cannot.
pub fn replace(from: &Path, to: &Path) {
    fs::remove_dir_all(to).ok();
    crate::sql::template::copy(from, to);
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_command_that_a_hint_names_is_read_as_a_person_would() {
        for (text, line) in [
            (
                "a replica promoted? mint store restore --advance N raises every mark above",
                "mint store restore --advance 7",
            ),
            (
                "if it is gone: mint store adopt --store file:./x; then",
                "mint store adopt --store file:./x",
            ),
            ("say mint store adopt PATH, or", "mint store adopt PATH"),
        ] {
            assert_eq!(hinted(text, "7").as_deref(), Some(line));
        }
        assert_eq!(hinted("nothing of the kind", "7"), None);
    }

    #[test]
    fn repeats_and_disorder_are_found() {
        let mut seen = Seen::new(false);
        let name = "orders";
        seen.note("a#1", Of::Sequence(name), "1").unwrap();
        seen.note("a#1", Of::Runs(name, 10), "12").unwrap();
        assert!(
            seen.note("a#1", Of::Sequence(name), "2")
                .unwrap_err()
                .starts_with("ORDER")
        );
        assert!(
            seen.note("b#1", Of::Range(name), "12 20 1")
                .unwrap_err()
                .starts_with("REPEAT")
        );
        assert!(seen.note("", Of::Any("ids"), "x").is_ok());
    }
}
