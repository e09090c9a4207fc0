//! What must hold after every step, told from outside: the store's registers as they change, the answers as they
//! arrive, the ids as they become visible. Nothing here uses the ledger's own bookkeeping.

use std::collections::{BTreeMap, HashMap};
use std::time::Duration;

use mintage::{Layout, Run};
use mintage_ledger::{Cas, Key, Marks, Versioned};
use serde_json::Value as Json;

use super::lines::{Intervals, Lines};
use super::op::Times;
use super::subject::{BESIDE, POOLS, Rules, SEQUENCES, sequence_of};
use super::wire::{Ask, Told};

/// One process from its start to its end.
#[derive(Clone, Debug, Default)]
struct Process {
    /// The process it is a copy of, at the root.
    lineage: usize,
    cloned_at_ns: Option<u64>,
    /// Its requests did not all get through since it was copied.
    troubled: bool,
    /// When they did not the last time, or took long.
    last_trouble_ns: Option<u64>,
    /// It waits for how far the store has come, and how often it was told so without a failure since it was set back.
    looks: (bool, u32),
    /// When it must have noticed that the store was set back under it.
    noticed_ns: Option<u64>,
    /// Sequences of which it said that minting has ended for good, and when.
    stopped_ns: BTreeMap<usize, u64>,
    /// Numbers whose reservation by this process it has been told of.
    numbers: Vec<Lines<()>>,
    /// Of those, what the answer to the claim itself has told it of.
    answered: Vec<Lines<()>>,
    /// Ticks likewise, by pool and worker.
    windows: BTreeMap<(usize, u64), Intervals<()>>,
    issued: Vec<u64>,
    /// The longest contiguous run it was asked for: one that lost a race leaves as many in stock.
    longest_run: Vec<u64>,
    /// Reservations that it learned of late, or that an event made it give up: not counted as a gap.
    excused: Vec<u64>,
    /// Of what it was told of, what a run passed over: nobody gets it (protocol S2).
    passed: Vec<Lines<()>>,
    started_ns: u64,
    instance: Option<Key>,
    /// The name that it last asked to be registered by.
    asked_name: Option<Key>,
    /// When it took another name, since its register was lost: by then it had dropped all it shared with a copy of it.
    renamed_ns: Option<u64>,
    /// Times it may have lost its stock: its register was lost, or a task of it was cut.
    losses: u64,
    /// It was killed, closed or cut: numbers under way may be lost.
    broken: bool,
    ended: bool,
    /// It keeps a journal, and goes on with what the process before it owned.
    has_journal: bool,
    /// When its id clock was seen, in which epoch, and what it read.
    clock: Option<(u64, u64, i128)>,
    /// The last place it minted at once, by pool and worker.
    last_place: BTreeMap<(usize, u64), u64>,
    /// By sequence: when an answer went further than all before it, how far (higher is further, or lower where the
    /// sequence descends), and whether the last answer was a whole run.
    furthest: Vec<(Vec<(u64, i128)>, bool)>,
}

/// Whose number it is, and whether it was issued while a copy could not yet know that it is one.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
struct Owner {
    process: usize,
    exposed: bool,
    /// It still went by the name that a copy of it may bear.
    shares: bool,
    /// The store was set back under it so lately that no look at it can have told.
    unaware: bool,
}

#[derive(Clone, Debug)]
enum Effect {
    None,
    Numbers {
        sequence: usize,
        run: Run,
    },
    Window {
        pool: usize,
        worker: u64,
        from: u64,
        until: u64,
    },
}

impl Process {
    /// It knows what a write of its own came to.
    fn learned(&mut self, effect: Effect, late: bool) {
        match effect {
            Effect::None => {}
            Effect::Numbers { sequence, run } => {
                if late && !self.numbers[sequence].covers(run) {
                    self.excused[sequence] += run.count;
                }
                if !late {
                    self.answered[sequence].add(run, ());
                }
                self.numbers[sequence].add(run, ());
            }
            Effect::Window {
                pool,
                worker,
                from,
                until,
            } => {
                let held = self.windows.entry((pool, worker)).or_default();
                held.add(i128::from(from), i128::from(until), ());
            }
        }
    }
}

#[derive(Clone, Debug)]
struct Write {
    author: usize,
    effect: Effect,
}

/// When a batch of ids was asked for and visible, and which times it bears, in nanoseconds of true time.
#[derive(Clone, Copy, Debug)]
struct Sighting {
    began: i128,
    ended: i128,
    oldest: i128,
    newest: i128,
}

/// Ids of a pool as they became visible.
#[derive(Clone, Debug)]
pub(crate) struct Minted {
    pub process: usize,
    pub pool: usize,
    /// (worker, place), in the order of the answer.
    pub places: Vec<(u64, u64)>,
    pub began_ns: u64,
    pub now_ns: u64,
    /// The process's id clock before and after, as true wall time minus the clock's reading.
    pub error_ns: (i128, i128),
    /// Minted by one call, so later calls lie above.
    pub at_once: bool,
    /// The id clock's epoch and reading, in nanoseconds.
    pub clock: (u64, i128),
}

/// A run of numbers as it became visible.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Numbers {
    pub process: usize,
    pub sequence: usize,
    pub run: Run,
    pub began_ns: u64,
    pub now_ns: u64,
    /// Of how many that were asked for.
    pub asked: u64,
    /// As one run, whole.
    pub contiguous: bool,
}

#[derive(Clone, Debug)]
pub(crate) struct Check {
    processes: Vec<Process>,
    /// By sequence: reserved by whom.
    reserved: Vec<Lines<usize>>,
    issued: Vec<Lines<Owner>>,
    /// Gap-free, by sequence and the name that a record notes its last claim under: whose claim it is.
    noted: HashMap<(usize, String), (usize, Run)>,
    /// By sequence: reserved by a process whose claim was not answered when a copy of it, by the same name, had its own
    /// claim noted in that place.
    overwritten: Vec<Lines<()>>,
    /// Numbers of a gap-free name that was made anew without that, by its first use after a restore: a stock is kept.
    stocked: Vec<Lines<()>>,
    /// What the clients of the counter elsewhere have.
    elsewhere: Lines<()>,
    max_gap: Vec<u64>,
    /// The mark that somebody has lowered by hand, by sequence, until the store is restored; else 0.
    by_hand: Vec<u64>,
    places: BTreeMap<(usize, u64), Intervals<Owner>>,
    pub now_ns: u64,
    /// By store, key and version.
    /// More than one where the store was set back in between.
    writes: HashMap<(usize, Key, u64), Vec<Write>>,
    pub layouts: Vec<Layout>,
    sightings: Vec<Vec<Sighting>>,
    worst_error_ns: i128,
    pub max_ahead: Duration,
    /// How long a copy may not know that it is one while the store answers.
    pub exposure: Duration,
    pub exclusive: bool,
    /// Of several stores each issues its share: which numbers a record reserves is not looked at.
    pub of_set: bool,
    /// Whether processes let names go, and what they held, as soon as others are asked for.
    pub lets_go: bool,
    /// Whether machines remember what they saw of the store.
    pub remembers: bool,
    /// Whether numbers must rise from answer to answer of one process.
    pub in_order: bool,
    /// How often a whole run and single numbers followed each other.
    pub mixed: u64,
    /// The store was set back, and no operator has mended it yet.
    is_set_back: bool,
    /// When that happened, if it was under running processes.
    set_back_at_ns: Option<u64>,
    pub ids: u64,
    pub reservations: u64,
    pub clone_repeats: u64,
    pub longest_exposure_ns: u64,
}

/// Where a store says how far it has come.
const PROGRESS: &str = "cluster/progress";
/// After so many looks at it a process has noticed that it was set back.
const LOOKS_TO_NOTICE: u32 = 6;

type Verdict = Result<(), String>;

impl Check {
    pub(crate) fn new(
        layouts: Vec<Layout>,
        max_ahead: Duration,
        exclusive: bool,
        exposure: Duration,
    ) -> Check {
        Check {
            processes: Vec::new(),
            reserved: vec![Lines::default(); SEQUENCES.len()],
            issued: vec![Lines::default(); SEQUENCES.len()],
            noted: HashMap::new(),
            overwritten: vec![Lines::default(); SEQUENCES.len()],
            stocked: vec![Lines::default(); SEQUENCES.len()],
            elsewhere: Lines::default(),
            max_gap: vec![0; SEQUENCES.len()],
            by_hand: vec![0; SEQUENCES.len()],
            places: BTreeMap::new(),
            now_ns: 0,
            writes: HashMap::new(),
            sightings: vec![Vec::new(); layouts.len()],
            layouts,
            worst_error_ns: 0,
            max_ahead,
            exposure,
            exclusive,
            of_set: false,
            lets_go: false,
            remembers: false,
            in_order: false,
            mixed: 0,
            is_set_back: false,
            set_back_at_ns: None,
            ids: 0,
            reservations: 0,
            clone_repeats: 0,
            longest_exposure_ns: 0,
        }
    }

    /// A process starts; its number. One with a journal owns what `heir_of` left.
    pub(crate) fn start(&mut self, heir_of: Option<usize>, now_ns: u64) -> usize {
        let number = self.processes.len();
        if let Some(before) = heir_of {
            let heir = Process {
                has_journal: true,
                broken: false,
                ended: false,
                losses: self.processes[before].losses + 1,
                started_ns: now_ns,
                windows: BTreeMap::new(),
                clock: None,
                instance: None,
                last_trouble_ns: None,
                looks: (false, 0),
                noticed_ns: None,
                stopped_ns: BTreeMap::new(),
                last_place: BTreeMap::new(),
                furthest: vec![Default::default(); SEQUENCES.len()],
                ..self.processes[before].clone()
            };
            self.processes.push(heir);
            return number;
        }
        self.processes.push(Process {
            lineage: number,
            numbers: vec![Lines::default(); SEQUENCES.len()],
            answered: vec![Lines::default(); SEQUENCES.len()],
            issued: vec![0; SEQUENCES.len()],
            longest_run: vec![0; SEQUENCES.len()],
            excused: vec![0; SEQUENCES.len()],
            passed: vec![Lines::default(); SEQUENCES.len()],
            started_ns: now_ns,
            furthest: vec![Default::default(); SEQUENCES.len()],
            ..Process::default()
        });
        number
    }

    /// A running process is copied; the copy's number.
    pub(crate) fn copy(&mut self, of: usize, now_ns: u64) -> usize {
        self.processes[of].cloned_at_ns = Some(now_ns);
        self.processes[of].troubled = false;
        // What it lost before is not what it shares now.
        self.processes[of].renamed_ns = None;
        let copy = self.processes[of].clone();
        self.processes.push(copy);
        self.processes.len() - 1
    }

    /// The process keeps a journal.
    pub(crate) fn has_journal(&mut self, process: usize) {
        self.processes[process].has_journal = true;
    }

    pub(crate) fn broken(&mut self, process: usize) {
        self.processes[process].broken = true;
    }

    /// A task of the process was dropped: what it held is lost.
    pub(crate) fn cut(&mut self, process: usize, asked: &[u64]) {
        let process = &mut self.processes[process];
        process.broken = true;
        process.losses += 1;
        for (excused, asked) in process.excused.iter_mut().zip(asked) {
            *excused += asked;
        }
    }

    /// A process asks something of the store.
    pub(crate) fn asks(&mut self, process: usize, ask: &Ask) {
        let now_ns = self.now_ns;
        let process = &mut self.processes[process];
        let key = match ask {
            Ask::Set { key, .. } => key,
            Ask::Get(key) if key.as_str() == PROGRESS => {
                if std::mem::replace(&mut process.looks.0, true) {
                    // The one before failed.
                    process.looks.1 = 0;
                }
                return;
            }
            _ => return,
        };
        if !key.as_str().starts_with("instance/") || process.asked_name.as_ref() == Some(key) {
            return;
        }
        if process.asked_name.replace(key.clone()).is_some() {
            process.renamed_ns = Some(now_ns);
        }
    }

    pub(crate) fn trouble(&mut self, process: usize) {
        self.processes[process].troubled = true;
        self.delayed(process);
    }

    /// A request of the process, or its answer, takes long.
    pub(crate) fn delayed(&mut self, process: usize) {
        self.processes[process].last_trouble_ns = Some(self.now_ns);
    }

    /// The process said that this sequence has ended for good.
    pub(crate) fn stopped(&mut self, process: usize, sequence: usize) {
        let stopped = &mut self.processes[process].stopped_ns;
        stopped.entry(sequence).or_insert(self.now_ns);
    }

    /// A process ends; `asked` numbers per sequence were being waited for. No more than `max_gap` are lost
    /// (protocol S3).
    pub(crate) fn end(&mut self, process: usize, asked: &[u64]) -> Verdict {
        if std::mem::replace(&mut self.processes[process].ended, true) {
            return Ok(());
        }
        if self.is_set_back {
            // Who raises a mark from where it was set back to has reserved what others had reserved before.
            return Ok(());
        }
        let copied = self.processes[process].cloned_at_ns.is_some();
        let process = &self.processes[process];
        for (sequence, row) in SEQUENCES.iter().enumerate() {
            if row.rules != Rules::Counted || copied || process.has_journal || self.lets_go {
                continue;
            }
            let told = process.numbers[sequence].count();
            let unused = told.saturating_sub(process.issued[sequence]);
            let bound = self.max_gap[sequence] * (1 + process.losses)
                + process.excused[sequence]
                + process.longest_run[sequence]
                + asked[sequence];
            if unused > bound {
                return Err(format!(
                    "process ended with {unused} numbers of {} unused; at most {bound} may be (max_gap {}, losses {}, \
                     learned late {}, asked for {})",
                    row.name,
                    self.max_gap[sequence],
                    process.losses,
                    process.excused[sequence],
                    asked[sequence]
                ));
            }
        }
        Ok(())
    }

    /// The store was replaced by an old backup: versions begin anew; what was issued stays issued.
    pub(crate) fn restored(&mut self) {
        self.writes.clear();
        self.is_set_back = false;
        self.by_hand.fill(0);
        self.set_back_at_ns = None;
    }

    /// The store was set back to an earlier state; under processes that run since then, if they do.
    pub(crate) fn set_back(&mut self, live_at_ns: Option<u64>) {
        self.is_set_back = true;
        self.by_hand.fill(0);
        self.set_back_at_ns = live_at_ns;
        for process in &mut self.processes {
            process.looks.1 = 0;
            process.noticed_ns = None;
        }
    }

    /// Somebody lowers the mark of a sequence by hand: what is below it stays reserved.
    pub(crate) fn lowered_by_hand(&mut self, sequence: usize, mark: u64) {
        self.set_back(None);
        self.by_hand[sequence] = mark;
    }

    /// A register changed.
    pub(crate) fn changed(
        &mut self,
        author: usize,
        member: usize,
        ask: &Ask,
        key: &Key,
        before: Option<&Versioned>,
        after: Option<&Versioned>,
    ) -> Verdict {
        let mark = |v: Option<&Versioned>| v.map_or(0, |v| v.value.mark);
        let Some(after) = after else {
            return match mark(before) {
                0 => Ok(()),
                mark => Err(format!("{key} was removed with mark {mark}: rule R2")),
            };
        };
        let version = before.map_or(0, |v| v.version.number());
        if after.version.number() != version + 1 {
            return Err(format!(
                "{key} went from version {version} to {}: rule R3",
                after.version.number()
            ));
        }
        let gives_back = matches!(
            ask,
            Ask::Set {
                marks: Marks::GiveBack,
                ..
            }
        );
        if after.value.mark < mark(before) && !(gives_back && self.exclusive) {
            return Err(format!(
                "the mark of {key} went back from {} to {}",
                mark(before),
                after.value.mark
            ));
        }
        if after.value.mark > mark(before) {
            self.reservations += 1;
        }
        if before.is_some_and(|b| b.value.token == after.value.token) {
            return Err(format!("{key} was written twice with one token: rule R1"));
        }
        let effect = self.effect(author, key, before, after)?;
        let writes = self.writes.entry((member, key.clone(), after.version.number()));
        writes.or_default().push(Write { author, effect });
        if key.as_str().starts_with("instance/") {
            // Of copies one takes another name, and drops what was under way: also before it registered the first.
            let lineage = self.processes[author].lineage;
            let copied = self.processes.iter().filter(|p| p.lineage == lineage).count() > 1;
            let process = &mut self.processes[author];
            if process.instance.as_ref() != Some(key) {
                if process.instance.is_some() || copied {
                    process.losses += 1;
                    process.broken = true;
                }
                process.instance = Some(key.clone());
            }
        }
        Ok(())
    }

    fn effect(
        &mut self,
        author: usize,
        key: &Key,
        before: Option<&Versioned>,
        after: &Versioned,
    ) -> Result<Effect, String> {
        if let Some(sequence) = sequence_of(key) {
            if self.of_set {
                return Ok(Effect::None);
            }
            return self.numbers_reserved(author, sequence, before, after);
        }
        let Some((pool, worker)) = window_of(key) else {
            return Ok(Effect::None);
        };
        let body: Json = serde_json::from_str(&after.value.body).map_err(|e| format!("{key}: {e}"))?;
        let from = body["from"]
            .as_u64()
            .ok_or_else(|| format!("{key} has no `from`"))?;
        let until = after.value.mark;
        let old: Json = before.map_or(Json::Null, |b| {
            serde_json::from_str(&b.value.body).unwrap_or(Json::Null)
        });
        let stored_until = before.map_or(0, |b| b.value.mark);
        let same_holder = old["owner"] == body["owner"] && old["from"] == body["from"];
        // A record that was set back under those who run may be at a version that somebody has met as his own: then it
        // is what becomes visible that counts.
        if !same_holder && from < stored_until && !self.may_not_know(author, self.now_ns) {
            return Err(format!(
                "{key}: a successor starts at {from}, before the stored end {stored_until}: rule W2"
            ));
        }
        if until < stored_until {
            // Given back: nothing at or above may have been minted, and whoever comes next may mint there.
            let bits = self.layouts[pool].sequence_bits();
            let places = self.places.entry((pool, worker)).or_default();
            let minted = places.overlaps(i128::from(until) << bits, i128::from(stored_until) << bits);
            if let Some((place, _, _)) = minted.first() {
                return Err(format!(
                    "{key}: tick {} was minted in and given back: rule W7",
                    place >> bits
                ));
            }
            for process in &mut self.processes {
                if let Some(held) = process.windows.get_mut(&(pool, worker)) {
                    held.remove(i128::from(until), i128::from(stored_until));
                }
            }
        }
        Ok(Effect::Window {
            pool,
            worker,
            from,
            until,
        })
    }

    fn numbers_reserved(
        &mut self,
        author: usize,
        sequence: usize,
        before: Option<&Versioned>,
        after: &Versioned,
    ) -> Result<Effect, String> {
        if after.value.body == mintage_ledger::TOMBSTONE_BODY {
            // A name that may have been lost is made over its mark; nothing is issued of that.
            return Ok(Effect::None);
        }
        let name = SEQUENCES[sequence].name;
        let body: Json = serde_json::from_str(&after.value.body).map_err(|e| format!("{name}: {e}"))?;
        if body["tombstone"] == true && body["increment"].is_null() {
            // Where a name begins that may have been there before a restore.
            return Ok(Effect::None);
        }
        let field = |value: &Json, what: &str| value.as_i64().ok_or_else(|| format!("{name} has no {what}"));
        self.max_gap[sequence] = self.max_gap[sequence].max(body["max_gap"].as_u64().unwrap_or(0));
        let increment = field(&body["increment"], "increment")?;
        let base = &body["base"];
        let base_ordinal = field(&base["ordinal"], "base")? as u64;
        let called = i128::from(base["is_called"] == true);
        let value = |ordinal: u64| {
            let steps = i128::from(ordinal) - i128::from(base_ordinal) + called;
            i128::from(field(&base["value"], "value").unwrap_or(0)) + steps * i128::from(increment)
        };
        let run = |from: u64, to: u64| Run {
            first: value(from) as i64,
            step: increment,
            count: to.saturating_sub(from),
        };
        if SEQUENCES[sequence].rules == Rules::Repeating {
            return Ok(Effect::None);
        }
        let old_mark = before.map_or(0, |b| b.value.mark);
        if after.value.mark < old_mark {
            let back = run(after.value.mark, old_mark);
            if let Some((number, _, _)) = self.issued[sequence].overlaps(back).first() {
                return Err(format!("{name}: {number} was issued and given back: rule S4"));
            }
            self.reserved[sequence].remove(back);
            for process in &mut self.processes {
                process.numbers[sequence].remove(back);
            }
            return Ok(Effect::None);
        }
        if SEQUENCES[sequence].rules == Rules::Changing && self.exclusive {
            self.take_back_unissued(author, sequence, before, base_ordinal);
        }
        // What somebody has lowered by hand stands in the record still, and is not reserved again by whoever writes over it.
        let written = before
            .and_then(|before| reserved_in(&before.value.body))
            .unwrap_or(0);
        // Nor is it a hole, where a restore had raised the mark without a word in the record.
        let lowered = run(old_mark, self.by_hand[sequence].min(after.value.mark));
        if lowered.count > 0 {
            self.overwritten[sequence].add(lowered, ());
        }
        let run = run(old_mark.max(written).max(base_ordinal), after.value.mark);
        if run.count == 0 {
            return Ok(Effect::None);
        }
        if SEQUENCES[sequence].rules == Rules::Beside {
            return Err(format!(
                "{name}: {} numbers were claimed from the record of a sequence that takes them elsewhere",
                run.count
            ));
        }
        // On a store that was set back it is what becomes visible that counts.
        if let Some((number, _, _)) = self.reserved[sequence].overlaps(run).first()
            && !self.is_set_back
        {
            return Err(format!("{name}: {number} was reserved twice"));
        }
        self.reserved[sequence].add(run, author);
        if body["gap"] != "none" {
            self.stocked[sequence].add(run, ());
        }
        if let Some(name) = body["landed"][0][0].as_str() {
            self.note_claim(author, sequence, name, run);
        }
        Ok(Effect::Numbers { sequence, run })
    }

    /// The record of a gap-free sequence tells each name of its last claim only: of two that copies made under one
    /// name, the first stays unknown to whom its own answer has not told of it.
    fn note_claim(&mut self, author: usize, sequence: usize, name: &str, run: Run) {
        let before = self.noted.insert((sequence, name.to_string()), (author, run));
        if let Some((other, run)) = before.filter(|(other, _)| *other != author)
            && !self.processes[other].answered[sequence].covers(run)
        {
            self.overwritten[sequence].add(run, ());
        }
    }

    /// A new base begins behind what was issued: what its author had reserved and not issued is nobody's.
    fn take_back_unissued(
        &mut self,
        author: usize,
        sequence: usize,
        before: Option<&Versioned>,
        base_ordinal: u64,
    ) {
        let old: Json = before.map_or(Json::Null, |b| {
            serde_json::from_str(&b.value.body).unwrap_or(Json::Null)
        });
        if old["base"]["ordinal"].as_u64() == Some(base_ordinal) {
            return;
        }
        for (run, owner) in self.reserved[sequence].without(&self.issued[sequence]) {
            let lineage = |process: usize| self.processes[process].lineage;
            if lineage(owner) == lineage(author) {
                self.reserved[sequence].remove(run);
                self.processes[author].numbers[sequence].remove(run);
            }
        }
    }

    /// An answer arrives at a process that waits for it.
    pub(crate) fn told(&mut self, process: usize, member: usize, ask: &Ask, told: &Told) {
        let ours = |found: &Versioned| found.version.number();
        let process = (process, member);
        match (ask, told) {
            (Ask::Set { key, .. }, Told::Wrote(Cas::Done(version))) => {
                self.learned(process, key, version.number(), false)
            }
            (Ask::Claim(claim), Told::Wrote(Cas::Done(version))) => {
                self.learned(process, &claim.key, version.number(), false);
            }
            (Ask::Set { key, .. }, Told::Wrote(Cas::Lost(Some(found)))) => {
                self.learned(process, key, ours(found), true);
            }
            (Ask::Claim(claim), Told::Wrote(Cas::Lost(Some(found)))) => {
                self.learned(process, &claim.key, ours(found), true);
            }
            (Ask::Get(key), Told::Read(_)) if key.as_str() == PROGRESS => self.looked(process.0),
            (Ask::Get(key), Told::Read(Some(found))) => self.learned(process, key, ours(found), true),
            // Nobody looks for tokens in pages.
            _ => {}
        }
    }

    /// A process knows that this write of its own was done; of a gap-free sequence the record tells it of earlier ones
    /// too.
    fn learned(&mut self, process: (usize, usize), key: &Key, version: u64, late: bool) {
        let tells_more = sequence_of(key).is_some_and(|at| SEQUENCES[at].rules == Rules::GapFree);
        let first = if late && tells_more { 1 } else { version };
        for version in first..=version {
            self.learned_one(process, key, version, late);
        }
    }

    fn learned_one(&mut self, (process, member): (usize, usize), key: &Key, version: u64, late: bool) {
        let Some(writes) = self.writes.get(&(member, key.clone(), version)) else {
            return;
        };
        let lineage = |process: usize| self.processes[process].lineage;
        let ours: Vec<Effect> = writes
            .iter()
            .filter(|write| lineage(write.author) == lineage(process))
            .map(|write| write.effect.clone())
            .collect();
        for effect in ours {
            self.processes[process].learned(effect, late);
        }
    }

    /// A write that was shown is kept now: whoever made it may have seen it, and finds it out.
    pub(crate) fn confirmed(&mut self, process: usize, member: usize, key: &Key, after: Option<&Versioned>) {
        if let Some(after) = after {
            self.learned_one((process, member), key, after.version.number(), true);
        }
    }

    fn owner(&self, process: usize, began_ns: u64) -> Owner {
        let Process {
            cloned_at_ns,
            troubled,
            renamed_ns,
            ..
        } = &self.processes[process];
        let exposed = cloned_at_ns
            .is_some_and(|at| *troubled || began_ns <= at.saturating_add(self.exposure.as_nanos() as u64));
        let shares = renamed_ns.is_none_or(|renamed| began_ns <= renamed);
        let unaware = self.may_not_know(process, began_ns);
        Owner {
            process,
            exposed,
            shares,
            unaware,
        }
    }

    /// The process was told how far the store has come. One that was set back says less than before; asked again a few
    /// times, in case that an answer was overtaken on its way, and the first may be older than the set-back.
    fn looked(&mut self, process: usize) {
        let process = &mut self.processes[process];
        process.looks = (false, process.looks.1 + 1);
        if process.looks.1 == LOOKS_TO_NOTICE {
            process.noticed_ns = Some(self.now_ns);
        }
    }

    /// Whether the store was set back under this process, and it need not have noticed when something began: too
    /// little time had passed, or its requests did not all get through since, and none has shown it.
    fn may_not_know(&self, process: usize, began_ns: u64) -> bool {
        let process = &self.processes[process];
        let Some(at_ns) = self.set_back_at_ns.filter(|at_ns| process.started_ns < *at_ns) else {
            return false;
        };
        let soon = began_ns <= at_ns.saturating_add(self.exposure.as_nanos() as u64);
        let troubled = process.last_trouble_ns.is_some_and(|last| last >= at_ns);
        let noticed = process.noticed_ns.is_some_and(|noticed| began_ns > noticed);
        (soon || troubled) && !noticed
    }

    /// Whether two owners of one number could not know of each other: copies of one process, neither of which has lost
    /// its name to the other, or the store has just been set back under them.
    fn excused(&self, a: Owner, b: Owner) -> bool {
        if a.unaware || b.unaware || self.unwarned(a) || self.unwarned(b) {
            return true;
        }
        let lineage = |owner: Owner| self.processes[owner.process].lineage;
        let shared = a.shares && b.shares && (a.exposed || b.exposed);
        a.process != b.process && lineage(a) == lineage(b) && shared
    }

    /// Whether a process came to a store that had been set back, on a machine that remembers nothing, while nobody lived
    /// who knew and could tell.
    fn unwarned(&self, owner: Owner) -> bool {
        let Some(at_ns) = self.set_back_at_ns.filter(|_| !self.remembers) else {
            return false;
        };
        let troubled = |other: &Process| other.last_trouble_ns.is_some_and(|last| last >= at_ns);
        let warns = |other: &Process| other.started_ns < at_ns && !other.ended && !troubled(other);
        self.processes[owner.process].started_ns >= at_ns && !self.processes.iter().any(warns)
    }

    /// Numbers become visible.
    pub(crate) fn numbers(&mut self, seen: Numbers) -> Verdict {
        let Numbers {
            process,
            sequence,
            run,
            began_ns,
            now_ns,
            asked,
            contiguous,
        } = seen;
        let name = SEQUENCES[sequence].name;
        if let Some(stopped) = self.processes[process].stopped_ns.get(&sequence)
            && began_ns > *stopped
        {
            return Err(format!(
                "{name}: process {process} goes on after it has stopped for good: rule E3"
            ));
        }
        self.ids += run.count;
        if run.count == 0 || run.count > asked || contiguous && run.count != asked {
            return Err(format!("{name}: {} numbers answer {asked} asked for", run.count));
        }
        if contiguous {
            self.long_run(process, sequence, asked);
        }
        if SEQUENCES[sequence].rules == Rules::Repeating {
            return Ok(());
        }
        self.rises(&seen, now_ns)?;
        let owner = self.owner(process, began_ns);
        for (low, high, other) in self.issued[sequence].overlaps(run) {
            if !self.excused(owner, other) {
                return Err(format!(
                    "{name}: {low}..={high} twice, by process {} and by process {process}",
                    other.process
                ));
            }
            self.clone_repeats += (high - low + 1) as u64;
            self.note_exposure(owner.exposed, process, began_ns);
        }
        self.issued[sequence].add(run, owner);
        if SEQUENCES[sequence].rules == Rules::Beside {
            return match self.elsewhere.overlaps(run).first() {
                None => Ok(()),
                Some((number, ..)) => Err(format!(
                    "{name}: {number} twice, by a client elsewhere and by process {process}"
                )),
            };
        }
        let who = &mut self.processes[process];
        who.issued[sequence] += run.count;
        if contiguous {
            self.pass_over(process, sequence, run);
        }
        let who = &self.processes[process];
        // Before a set-back is noticed, a version tells nothing either.
        let is_told = owner.unaware || who.numbers[sequence].covers(run);
        if !self.of_set && !is_told {
            return Err(format!(
                "{name}: process {process} issued {} numbers from {} on without having been told that they are \
                 reserved by it",
                run.count, run.first
            ));
        }
        Ok(())
    }

    /// A client of the counter elsewhere has a number.
    pub(crate) fn client_elsewhere(&mut self, number: i64) -> Verdict {
        let run = Run {
            first: number,
            step: 1,
            count: 1,
        };
        if let Some((_, _, owner)) = self.issued[BESIDE].overlaps(run).first() {
            let (name, process) = (SEQUENCES[BESIDE].name, owner.process);
            return Err(format!(
                "{name}: {number} twice, by process {process} and by a client elsewhere"
            ));
        }
        self.elsewhere.add(run, ());
        Ok(())
    }

    /// A run was answered: what its process held before it and nobody was given is given up, so that numbers rise. One
    /// that is alone on its store loses nothing for it.
    fn pass_over(&mut self, process: usize, sequence: usize, run: Run) {
        let rules = SEQUENCES[sequence].rules;
        if self.exclusive || !matches!(rules, Rules::Counted | Rules::GapFree) {
            return;
        }
        let far = |number: i64| i128::from(number) * i128::from(run.step.signum());
        let held = self.processes[process].numbers[sequence].without(&self.issued[sequence]);
        for (hole, ()) in held {
            let (low, high) = (i128::from(hole.first), i128::from(hole.last()));
            let (first, last) = (run.first.min(run.last()), run.first.max(run.last()));
            let before = match run.step > 0 {
                true => high < i128::from(first),
                false => low > i128::from(last),
            };
            let who = &self.processes[process];
            if !before || who.passed[sequence].covers(hole) {
                continue;
            }
            // Of a gap-free sequence only what others' numbers part from the run; a copy is another one, too.
            let parted = self.reserved[sequence].iter().into_iter().any(|(others, owner)| {
                owner != process
                    && !who.answered[sequence].covers(others)
                    && far(others.first) > far(hole.first)
                    && far(others.first) < far(run.first)
            });
            if rules == Rules::GapFree && !parted {
                continue;
            }
            let who = &mut self.processes[process];
            who.passed[sequence].add(hole, ());
            who.excused[sequence] += hole.count;
        }
    }

    /// A take that began after another one's answer, in the same process, goes further: runs, ranges and single
    /// numbers alike.
    fn rises(&mut self, seen: &Numbers, now_ns: u64) -> Verdict {
        if !self.in_order || SEQUENCES[seen.sequence].rules == Rules::Changing {
            return Ok(());
        }
        let far = |number: i64| i128::from(number) * i128::from(seen.run.step.signum());
        let (answers, was_run) = &mut self.processes[seen.process].furthest[seen.sequence];
        let before = answers.partition_point(|(answered_ns, _)| *answered_ns < seen.began_ns);
        if let Some((_, before)) = before.checked_sub(1).map(|at| answers[at])
            && far(seen.run.first) <= before
        {
            return Err(format!(
                "{}: process {} answered {} to who asked after it had answered {}: numbers rise on one server",
                SEQUENCES[seen.sequence].name,
                seen.process,
                seen.run.first,
                before.abs()
            ));
        }
        let furthest = answers.last().map_or(i128::MIN, |(_, furthest)| *furthest);
        answers.push((now_ns, furthest.max(far(seen.run.last()))));
        self.mixed += u64::from(*was_run != seen.contiguous);
        *was_run = seen.contiguous;
        Ok(())
    }

    /// A contiguous run was asked for: if it lost a race, what was reserved for it is in stock.
    pub(crate) fn long_run(&mut self, process: usize, sequence: usize, asked: u64) {
        let longest = &mut self.processes[process].longest_run[sequence];
        *longest = (*longest).max(asked);
    }

    fn note_exposure(&mut self, exposed: bool, process: usize, began_ns: u64) {
        let Process {
            cloned_at_ns,
            troubled,
            ..
        } = &self.processes[process];
        if let (true, false, Some(at)) = (exposed, *troubled, *cloned_at_ns) {
            self.longest_exposure_ns = self.longest_exposure_ns.max(began_ns.saturating_sub(at));
        }
    }

    /// Ids of a pool become visible. `true_wall_ns` is the wall time at world time 0.
    pub(crate) fn minted(&mut self, seen: &Minted, true_wall_ns: i128) -> Verdict {
        let Minted {
            process,
            pool,
            places,
            ..
        } = seen;
        let (process, pool) = (*process, *pool);
        let name = POOLS[pool];
        let bits = self.layouts[pool].sequence_bits();
        self.ids += places.len() as u64;
        let owner = self.owner(process, seen.began_ns);
        let mut at = 0;
        while at < places.len() {
            let (worker, first) = places[at];
            let mut end = at + 1;
            while end < places.len() && places[end] == (worker, first + (end - at) as u64) {
                end += 1;
            }
            let last = first + (end - at) as u64;
            self.place_run(owner, pool, worker, first, last)?;
            let later = places.get(end).filter(|next| next.0 == worker && next.1 < last);
            if later.is_some() {
                return Err(format!("{name}: ids of one answer do not increase"));
            }
            at = end;
        }
        let (Some(first), Some(last)) = (places.first(), places.last()) else {
            return Err(format!("{name}: an answer without ids"));
        };
        if seen.at_once {
            let known = self.processes[process]
                .last_place
                .entry((pool, first.0))
                .or_insert(0);
            if first.1 < *known {
                return Err(format!(
                    "{name}: worker {} went back within process {process}",
                    first.0
                ));
            }
            if last.0 == first.0 {
                *known = last.1 + 1;
            }
        }
        self.clock(seen)?;
        self.order(seen, bits, true_wall_ns)
    }

    /// Once every clock is right and was so for a while, ids bear the right time, whatever clocks said before.
    pub(crate) fn right_time(&self, seen: &Minted, true_wall_ns: i128) -> Verdict {
        let layout = &self.layouts[seen.pool];
        let now = true_wall_ns + i128::from(seen.now_ns);
        let times = seen
            .places
            .iter()
            .map(|(_, place)| layout.time_of(place >> layout.sequence_bits()).unix_nanos());
        // What is slewed away at 1 per mille, and what ids may run ahead.
        let most = self.max_ahead.as_nanos() as i128 + 6_000_000_000;
        match times.map(|time| time - now).find(|off| off.abs() > most) {
            Some(off) => Err(format!(
                "{}: an id bears a time {off} ns off, though every clock is right again",
                POOLS[seen.pool]
            )),
            None => Ok(()),
        }
    }

    fn place_run(&mut self, owner: Owner, pool: usize, worker: u64, first: u64, last: u64) -> Verdict {
        let name = POOLS[pool];
        let bits = self.layouts[pool].sequence_bits();
        let (from, to) = (i128::from(first), i128::from(last));
        let known = self.places.entry((pool, worker)).or_default().overlaps(from, to);
        for (low, high, other) in known {
            if !self.excused(owner, other) {
                return Err(format!(
                    "{name}: worker {worker} tick {} sequence {} twice, by process {} and by process {}",
                    low >> bits,
                    low & ((1 << bits) - 1),
                    other.process,
                    owner.process
                ));
            }
            self.clone_repeats += (high - low) as u64;
        }
        self.places
            .entry((pool, worker))
            .or_default()
            .add(from, to, owner);
        let held = self.processes[owner.process].windows.get(&(pool, worker));
        let (from_tick, to_tick) = (from >> bits, ((to - 1) >> bits) + 1);
        if !held.is_some_and(|held| held.covers(from_tick, to_tick)) {
            return Err(format!(
                "{name}: process {} minted for worker {worker} in ticks {from_tick}..{to_tick} without having been \
                 told that they are reserved by it",
                owner.process
            ));
        }
        Ok(())
    }

    /// Within an epoch the id clock neither goes back nor runs faster than it may slew (rule C1).
    fn clock(&mut self, seen: &Minted) -> Verdict {
        let (epoch, reading) = seen.clock;
        let process = &mut self.processes[seen.process];
        let before = process.clock.replace((seen.now_ns, epoch, reading));
        let Some((then_ns, _, read)) = before.filter(|before| before.1 == epoch) else {
            return Ok(());
        };
        let elapsed = i128::from(seen.now_ns - then_ns);
        // 1 per mille of slew, 500 millionths of drift, and rounding.
        let most = elapsed + elapsed / 500 + 1_000_000;
        match reading - read {
            went if went < 0 => Err(format!(
                "the id clock of process {} went back by {} ns",
                seen.process, -went
            )),
            went if went > most => Err(format!(
                "the id clock of process {} went on by {went} ns in {elapsed} ns",
                seen.process
            )),
            _ => Ok(()),
        }
    }

    /// No id bears a time further ahead of its maker's clock than `max_ahead`; and remembers it for the order
    /// across processes.
    fn order(&mut self, seen: &Minted, bits: u32, true_wall_ns: i128) -> Verdict {
        let layout = &self.layouts[seen.pool];
        let time = |place: u64| layout.time_of(place >> bits).unix_nanos();
        let oldest = seen.places.iter().map(|p| time(p.1)).min().unwrap_or(0);
        let newest = seen.places.iter().map(|p| time(p.1)).max().unwrap_or(0);
        let clock = true_wall_ns + i128::from(seen.now_ns) - seen.error_ns.1;
        let ahead = self.max_ahead.max(layout.tick() * 2).as_nanos() as i128;
        let tick = layout.tick().as_nanos() as i128;
        if newest > clock + ahead + tick {
            return Err(format!(
                "{}: an id bears a time {} ns ahead of its maker's clock; at most {ahead} are allowed",
                POOLS[seen.pool],
                newest - clock
            ));
        }
        let error = seen.error_ns.0.abs().max(seen.error_ns.1.abs());
        self.worst_error_ns = self.worst_error_ns.max(error);
        self.sightings[seen.pool].push(Sighting {
            began: i128::from(seen.began_ns),
            ended: i128::from(seen.now_ns),
            oldest,
            newest,
        });
        Ok(())
    }

    /// At the end of a run: ids minted further apart than skew plus `max_ahead` sort by time, and gap-free
    /// sequences have no holes but those of processes that were killed with answers under way.
    pub(crate) fn finish(&mut self) -> Verdict {
        for sightings in &mut self.sightings {
            // Errors of two clocks, the lead of one, and the ticks that times are rounded to.
            let slack = 2 * self.worst_error_ns + self.max_ahead.as_nanos() as i128 + 100_000_000;
            sightings.sort_by_key(|s| s.ended);
            let mut newest = Vec::with_capacity(sightings.len());
            for seen in sightings.iter() {
                let before: Option<&i128> = newest.last();
                newest.push(before.map_or(seen.newest, |n| (*n).max(seen.newest)));
            }
            for seen in sightings.iter() {
                let settled = sightings.partition_point(|s| s.ended < seen.began - slack);
                if let Some(before) = settled.checked_sub(1).map(|at| newest[at])
                    && before >= seen.oldest
                {
                    return Err(format!(
                        "an id minted more than {slack} ns after another one bears a time {} ns earlier",
                        before - seen.oldest
                    ));
                }
            }
        }
        for (sequence, row) in SEQUENCES
            .iter()
            .enumerate()
            .filter(|(_, row)| row.rules == Rules::GapFree)
        {
            for (hole, author) in self.reserved[sequence].without(&self.issued[sequence]) {
                let process = &self.processes[author];
                let excused = self.overwritten[sequence].covers(hole) || self.stocked[sequence].covers(hole);
                if !process.broken && !excused && !process.passed[sequence].covers(hole) {
                    return Err(format!(
                        "{}: {} numbers from {} on were reserved by process {author}, which lives, and never issued",
                        row.name, hole.count, hole.first
                    ));
                }
            }
        }
        Ok(())
    }
}

/// Ids of a format bear the time of the clock that ids read, and the right one (`true_wall`) once every clock is.
pub(crate) fn times(seen: &Times, true_wall: Option<i128>) -> Verdict {
    // Most formats' times are whole seconds at worst; a counter that is full borrows from the next tick.
    const BEHIND_NS: i128 = 1_001_000_000;
    const AHEAD_NS: i128 = 10_000_000;
    let name = seen.format;
    let behind = seen.before.unix_nanos() - seen.oldest.unix_nanos();
    let ahead = seen.newest.unix_nanos() - seen.after.unix_nanos();
    if behind > BEHIND_NS || ahead > AHEAD_NS {
        return Err(format!(
            "{name}: an id bears a time {behind} ns behind, or {ahead} ns ahead of, the clock that ids read"
        ));
    }
    if !seen.rising {
        return Err(format!("{name}: ids of one answer do not increase"));
    }
    match true_wall.map(|wall| seen.newest.unix_nanos() - wall) {
        Some(off) if off.abs() > 7_000_000_000 => Err(format!(
            "{name}: an id bears a time {off} ns off, though every clock is right again"
        )),
        _ => Ok(()),
    }
}

fn window_of(key: &Key) -> Option<(usize, u64)> {
    let (pool, worker) = key.as_str().strip_prefix("window/")?.split_once('/')?;
    let pool = POOLS.iter().position(|name| *name == pool)?;
    Some((pool, worker.parse().ok()?))
}

/// The mark that a sequence's record says it was written with.
fn reserved_in(body: &str) -> Option<u64> {
    serde_json::from_str::<Json>(body).ok()?["reserved"].as_u64()
}
