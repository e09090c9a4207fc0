//! A counter elsewhere, out of which one sequence of a run takes its numbers while its own clients go on.
//!
//! Its registers are those of the source for tests; what becomes of each call is drawn from the run's seed, whichever
//! process makes it.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use mintage_ledger::source::{Fate, FaultySource, MemorySource, MoveId, Source};
use mintage_ledger::{Origin, Origins, Passage, PassageIs, Runtime};

use super::machine::lock;
use super::server::Server;
use super::subject::{BESIDE, SEQUENCES};
use crate::dice::Dice;

const SOURCE: &str = "elsewhere";
const KEY: &str = "counter";
const FIRST: i64 = 1_000;

/// The counter, and what becomes of calls.
#[derive(Clone, Debug)]
pub(crate) struct Elsewhere {
    memory: Arc<MemorySource>,
    weather: Arc<Mutex<Weather>>,
    /// What its clients took in the middle of takes, since the last look.
    clients: Arc<Mutex<Vec<i64>>>,
}

#[derive(Debug)]
struct Weather {
    dice: Dice,
    /// How often something befalls a call, per thousand.
    rate: u32,
    delay: Duration,
    is_down: bool,
    /// What befell calls since the last look.
    befallen: u64,
}

impl Weather {
    fn fate(&mut self) -> Fate {
        let mut fate = Fate {
            there: self.dice.length(Duration::from_micros(20), self.delay),
            back: self.dice.length(Duration::from_micros(20), self.delay),
            is_lost: self.is_down,
            ..Fate::default()
        };
        if self.dice.chance(self.rate) {
            fate.is_lost |= self.dice.chance(200);
            fate.is_unheard = self.dice.chance(500);
            fate.hangs = self.dice.chance(300);
            fate.clients = self.dice.below(4);
            self.befallen += 1;
        }
        fate
    }
}

impl Elsewhere {
    pub(crate) fn new(dice: &mut Dice, delay: Duration) -> Elsewhere {
        let memory = MemorySource::new();
        memory.put(KEY, FIRST);
        let weather = Weather {
            dice: Dice::new(dice.next()),
            rate: *dice.pick(&[100, 400, 800]),
            delay,
            is_down: false,
            befallen: 0,
        };
        Elsewhere {
            memory,
            weather: Arc::new(Mutex::new(weather)),
            clients: Arc::default(),
        }
    }

    /// The way to it from one process.
    pub(crate) fn origins(&self, runtime: &Arc<dyn Runtime>) -> Arc<dyn Origins> {
        let (memory, clients) = (Arc::clone(&self.memory), Arc::clone(&self.clients));
        let source = FaultySource::with_others(memory, Arc::clone(runtime), clients);
        let weather = Arc::clone(&self.weather);
        source.set_fates(move || lock(&weather).fate());
        let all: BTreeMap<String, Arc<dyn Source>> = [(SOURCE.to_string(), source as _)].into();
        Arc::new(all)
    }

    /// It does not answer from now on, or does again; whether that is new.
    pub(crate) fn set_down(&self, is_down: bool) -> bool {
        std::mem::replace(&mut lock(&self.weather).is_down, is_down) != is_down
    }

    /// Gives one of its clients a number.
    pub(crate) fn serve_client(&self) {
        lock(&self.clients).extend(self.memory.next(KEY));
    }

    /// How many calls something befell since the last look, and which numbers its clients have.
    pub(crate) fn look(&self) -> (u64, Vec<i64>) {
        let befallen = std::mem::take(&mut lock(&self.weather).befallen);
        (befallen, std::mem::take(&mut *lock(&self.clients)))
    }

    /// Nothing befalls calls any more.
    pub(crate) fn heal(&self) {
        let mut weather = lock(&self.weather);
        (weather.rate, weather.is_down) = (0, false);
    }

    /// Writes the record of the sequence as a move leaves it.
    pub(crate) fn make(&self, server: &Server, runtime: &dyn Runtime) {
        let origin = Origin {
            source: SOURCE.to_string(),
            kind: self.memory.kind().name.to_string(),
            key: KEY.to_string(),
            table: None,
            take: None,
        };
        let passage = Passage {
            id: MoveId::fresh(runtime),
            step: 1,
            is: PassageIs::Beside(origin),
        };
        let body = serde_json::json!({
            "start": 1, "increment": 1, "min": 1, "max": i64::MAX, "cycle": false, "gap": "bounded", "max_gap": 500,
            "base": {"value": 1, "is_called": false, "ordinal": 0}, "generation": 2, "incarnation": 1,
            "passage": passage,
        });
        server.put(&format!("seq/{}", SEQUENCES[BESIDE].name), body.to_string());
    }
}
