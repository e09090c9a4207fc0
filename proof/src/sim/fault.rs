//! The kinds of fault, and which of them a run has.

use std::sync::OnceLock;
use std::time::Duration;

use crate::dice::Dice;

macro_rules! faults {
    ($($name:ident $word:literal $what:literal,)*) => {
        /// What can go wrong in a run. Each counts when it really happened, not when it was meant to.
        #[derive(Clone, Copy, PartialEq, Eq, Debug)]
        pub enum Fault {
            $(#[doc = $what] $name,)*
        }

        impl Fault {
            /// All kinds, their words, and what happened.
            pub const ALL: &'static [(Fault, &'static str, &'static str)] =
                &[$((Fault::$name, $word, $what),)*];
        }
    };
}

faults! {
    Refused "refused" "a request was refused at once, not done",
    RequestLost "request-lost" "a request never arrived; its sender waited in vain",
    AnswerLost "answer-lost" "a write was done and its answer lost",
    UnknownDone "unknown-done" "a write was done and answered with an error of unknown outcome",
    UnknownNotDone "unknown-not-done" "a write was not done and answered with an error of unknown outcome",
    LateLanding "late-landing" "a write was done after its sender had given up, or had died",
    LateAnswer "late-answer" "an answer arrived after its asker had given up",
    Duplicated "duplicated" "a request was delivered twice",
    Overtaken "overtaken" "the second delivery's answer came first",
    Slow "slow" "a request or an answer took longer than half a second",
    StoreDown "store-down" "the store was down for a while",
    Partition "partition" "one machine was cut off from the store",
    Crash "crash" "a process was killed where its tasks waited",
    CrashReady "crash-ready" "a process was killed between an answer's arrival and its use",
    Reboot "reboot" "a machine restarted: its boot time began anew",
    CleanStop "clean-stop" "a process closed its ledger and ended",
    CrashClosing "crash-closing" "a process was killed while it closed",
    Cut "cut" "a task was dropped where it waited, as when its thread ends",
    Paused "paused" "a process was stopped for a while and resumed",
    Stood "stood" "a machine stood still, its clocks too, and went on",
    Cloned "cloned" "a running process was copied and both went on",
    CloneSameRandom "clone-same-random" "and the copy drew the same random numbers",
    Stepped "stepped" "a wall clock was stepped by up to 5 s",
    SteppedFar "stepped-far" "a wall clock was stepped by 5 s to an hour",
    Jumped "jumped" "a wall clock jumped by days to ten years",
    Frozen "frozen" "a wall clock stood still for a while",
    Drifting "drifting" "a clock ran fast or slow by up to 500 millionths",
    Reconfigured "reconfigured" "a process restarted with other settings",
    Moved "moved" "a sequence was set forward, altered, or dropped and made anew",
    Released "released" "an operator released a worker",
    JournalLost "journal-lost" "a node's own disk was replaced by an empty one",
    JournalOld "journal-old" "a node's own disk was put back to an earlier state",
    Restored "restored" "the store was replaced by an old backup, its marks raised as documented",
    SetBack "set-back" "the store was set back to an earlier state while no process ran, and all were started again",
    SetBackLive "set-back-live" "the store was set back to an earlier state under running processes",
    Lowered "lowered" "a mark of a shared store was lowered by hand, at the same version",
    MemberDown "member-down" "one store of a set was away for a while, or for good",
    NotKept "not-kept" "a standby was promoted that lacked writes which the primary had shown and not acknowledged",
    Mixed "mixed" "a connection took single numbers and whole runs of one name by turns, whose order was looked at",
    Spiked "spiked" "a wall clock ran hours ahead for a moment and then was right again",
    Clockless "clockless" "a process started on a store that has no clock",
    SlowStore "slow-store" "every answer of a store took most of the deadline, from the first to the last",
    BegunAway "begun-away" "a process began on its journal while the store was away",
    Beside "beside" "a take out of a counter elsewhere was lost or its answer was, its own clients took from the middle, or it was down",
}

/// The kinds that every run of this process has, by `--with`.
static FOCUS: OnceLock<Vec<Fault>> = OnceLock::new();

/// Every run of this process has these kinds, unless it is a run in which they make no sense, and they come oftener
/// than others; the rest is drawn as ever. `false`: one has no such word, or it was said before.
pub fn focus(words: &str) -> bool {
    let of = |word: &str| {
        Fault::ALL
            .iter()
            .find(|(_, known, _)| *known == word)
            .map(|(fault, ..)| *fault)
    };
    let wanted: Option<Vec<Fault>> = words.split(',').map(of).collect();
    wanted.is_some_and(|wanted| FOCUS.set(wanted).is_ok())
}

/// The kinds that every run has.
pub(crate) fn focused() -> &'static [Fault] {
    FOCUS.get().map_or(&[], Vec::as_slice)
}

/// How often each kind of fault happens in one run.
#[derive(Clone, Debug)]
pub(crate) struct Plan {
    on: Vec<bool>,
    /// Per thousand requests, for each kind that befalls requests.
    pub request_rate: u32,
    /// The longest gap between two things done to machines, stores and clocks.
    pub nemesis_gap: Duration,
    /// One-way delay of an untroubled request.
    pub base_delay: Duration,
    pub timeout: Duration,
    /// Crashes between two polls, per 100,000.
    pub crash_per_100k: u32,
}

impl Plan {
    /// A random subset, so that faults do not hide each other (swarm testing: Groce et al. 2012).
    pub(crate) fn draw(dice: &mut Dice) -> Plan {
        let density = *dice.pick(&[0, 100, 300, 500, 500, 700, 900]);
        let on = Fault::ALL
            .iter()
            .map(|(fault, ..)| dice.chance(density) || focused().contains(fault))
            .collect();
        let mut plan = Plan {
            on,
            request_rate: *dice.pick(&[5, 20, 50, 100]),
            nemesis_gap: dice.length(Duration::from_millis(100), Duration::from_secs(4)),
            base_delay: dice.length(Duration::from_micros(20), Duration::from_millis(20)),
            timeout: dice.length(Duration::from_millis(200), Duration::from_secs(2)),
            crash_per_100k: *dice.pick(&[0, 20, 300]),
        };
        if plan.has(Fault::SlowStore) {
            plan.timeout = Duration::from_secs(4);
            // There and back takes from one to three times as long.
            plan.base_delay = Duration::from_millis(500 + dice.below(700));
        }
        plan
    }

    pub(crate) fn has(&self, fault: Fault) -> bool {
        self.on[fault as usize]
    }

    /// Some kinds only make sense in some kinds of run.
    pub(crate) fn without(&mut self, faults: &[Fault]) {
        for fault in faults {
            self.on[*fault as usize] = false;
        }
    }

    /// What a set of stores is put through: requests, processes, machines, and one store or another.
    pub(crate) fn only_of_sets(&mut self) {
        self.base_delay = self.base_delay.min(Duration::from_millis(20));
        self.without(&[
            Fault::Cloned,
            Fault::Moved,
            Fault::Released,
            Fault::JournalLost,
            Fault::JournalOld,
            Fault::Restored,
            Fault::SetBack,
            Fault::SetBackLive,
            Fault::Lowered,
            Fault::NotKept,
            Fault::StoreDown,
        ]);
    }

    /// Nothing goes wrong any more.
    pub(crate) fn heal(&mut self) {
        self.on.fill(false);
        self.crash_per_100k = 0;
    }
}

/// How often each kind really happened.
#[derive(Clone, Debug)]
pub struct FaultCounts(Vec<u64>);

impl Default for FaultCounts {
    fn default() -> Self {
        FaultCounts(vec![0; Fault::ALL.len()])
    }
}

impl FaultCounts {
    pub(crate) fn note(&mut self, fault: Fault) {
        self.0[fault as usize] += 1;
    }

    pub(crate) fn add(&mut self, other: &FaultCounts) {
        for (mine, theirs) in self.0.iter_mut().zip(&other.0) {
            *mine += theirs;
        }
    }

    /// How often this kind happened.
    pub fn of(&self, fault: Fault) -> u64 {
        self.0[fault as usize]
    }

    /// How often any kind happened.
    pub fn total(&self) -> u64 {
        self.0.iter().sum()
    }
}
