//! Random histories of everything that changes a sequence, against the set of the numbers that were given out: no number
//! comes twice, unless somebody has allowed it or the sequence cycles.

use std::collections::{BTreeSet, VecDeque};

use mintage::{Base, SequenceDef, SequenceOptions};
use mintage_testing::invariant;
use proptest::prelude::*;
use proptest::test_runner::RngAlgorithm;

use super::State;
use crate::moves::Definition;
use crate::name::Name;
use crate::sequence::passage::{Origin, Pass, Passage, PassageIs};
use crate::sequence::spec::{RestartAt, SequencePatch, SequenceSpec};
use crate::source::MoveId;
use crate::store::{Version, Versioned};

/// Something that happens to a name.
#[derive(Clone, Debug)]
enum Step {
    /// So many are reserved, and so many of what is in stock given out.
    Take(u64, usize),
    Alter(SequencePatch),
    /// SET, which makes the name too; or a restart.
    Move {
        to: Base,
        allow_repeat: bool,
    },
    Drop,
    Create(SequenceOptions),
    /// The store is lost, and a copy of so many steps ago restored, raised by what was reserved since.
    Restore(usize),
    /// The next step of a move of a counter elsewhere, which gives out so many of its own before.
    Bring(i64),
    /// The move is taken back, and the counter elsewhere goes on.
    GiveBack,
}

fn number() -> impl Strategy<Value = i64> {
    prop_oneof![8 => -30i64..=60, 1 => Just(i64::MAX), 1 => Just(i64::MIN), 1 => Just(i64::MAX - 1)]
}

fn options() -> impl Strategy<Value = SequenceOptions> {
    let increment =
        prop_oneof![4 => Just(1i64), 2 => Just(-1), 1 => Just(3), 1 => Just(-7), 1 => Just(i64::MIN)];
    let maybe = || prop::option::weighted(0.3, number());
    let of = (maybe(), prop::option::weighted(0.4, increment), maybe(), maybe());
    (of, prop::option::weighted(0.3, any::<bool>())).prop_map(|((start, increment, min, max), cycle)| {
        SequenceOptions {
            start,
            increment,
            min,
            max,
            cycle,
        }
    })
}

fn step() -> impl Strategy<Value = Step> {
    let base = || (number(), any::<bool>()).prop_map(|(value, is_called)| Base { value, is_called });
    let rarely = || prop::bool::weighted(0.1);
    let restart = prop::option::weighted(
        0.3,
        prop_oneof![Just(RestartAt::Start), number().prop_map(RestartAt::With)],
    );
    let patch = (options(), rarely(), restart).prop_map(|(options, allow_repeat, restart)| SequencePatch {
        options,
        allow_repeat,
        restart,
        ..SequencePatch::default()
    });
    prop_oneof![
        8 => (1u64..20, 0usize..20).prop_map(|(n, issued)| Step::Take(n, issued)),
        4 => patch.prop_map(Step::Alter),
        3 => (base(), rarely()).prop_map(|(to, allow_repeat)| Step::Move { to, allow_repeat }),
        2 => Just(Step::Drop),
        3 => options().prop_map(Step::Create),
        1 => (1..REMEMBERED).prop_map(Step::Restore),
        2 => (0i64..5).prop_map(Step::Bring),
        1 => Just(Step::GiveBack),
    ]
}

/// How many steps back a copy of the store may be.
const REMEMBERED: usize = 12;

/// A name, its counter elsewhere, and what both gave out.
struct World {
    name: Name,
    state: State,
    /// Reserved and not given out.
    stock: Vec<i64>,
    given_out: BTreeSet<i64>,
    /// As it was before each of the last steps, with what the move's record said; since somebody has changed it last.
    before: VecDeque<(State, Option<Move>)>,
    moves: u64,
    /// The move that is under way, or over.
    under_way: Option<Move>,
    /// What the counter elsewhere gives out next, and whether a fence keeps it from that, whatever our store says.
    elsewhere: i64,
    is_fenced: bool,
}

/// A move as far as its record tells.
#[derive(Clone, Debug)]
struct Move {
    id: MoveId,
    step: u64,
    phase: usize,
    /// What the fence has read.
    first: Option<i64>,
}

/// What a sequence does at each phase of a move.
const BESIDE: usize = 0;
const FENCED: usize = 2;
const OPEN: usize = 3;

impl World {
    fn new() -> World {
        let name = Name::new("orders").unwrap();
        let spec = SequenceSpec::default();
        World {
            state: State {
                version: Some(Version::of(1)),
                ..State::fresh(&spec, 0).unwrap()
            },
            name,
            stock: Vec::new(),
            given_out: BTreeSet::new(),
            before: VecDeque::new(),
            moves: 0,
            under_way: None,
            elsewhere: 1,
            is_fenced: false,
        }
    }

    fn does(&mut self, step: &Step) {
        if self.before.len() == REMEMBERED {
            self.before.pop_front();
        }
        self.before
            .push_back((self.state.clone(), self.under_way.clone()));
        match step {
            Step::Take(n, issued) => self.take(*n, *issued),
            Step::Alter(patch) => self.change(patch.allow_repeat, |world, issued| {
                let altered = world.state.altered(&world.name, issued, patch);
                altered.ok().filter(|_| world.is_free())
            }),
            Step::Move { to, allow_repeat } => self.change(*allow_repeat, |world, issued| {
                let of = match world.state.dropped {
                    true => {
                        let spec = SequenceSpec::of_first_set(*to);
                        world.state.recreated(&world.name, &spec, 0).ok()?
                    }
                    false => world.state.clone(),
                };
                let moved = of.moved(&world.name, issued, *to, *allow_repeat);
                moved.ok().filter(|_| world.is_free())
            }),
            Step::Drop => self.change(false, |world, issued| {
                (world.is_free() && !world.state.dropped).then(|| world.state.tombstone(issued))
            }),
            Step::Create(options) => self.change(false, |world, _| {
                let spec = SequenceSpec {
                    options: *options,
                    ..SequenceSpec::default()
                };
                let made = || world.state.recreated(&world.name, &spec, 0);
                world.state.dropped.then(made)?.ok()
            }),
            Step::Restore(ago) => self.restore(*ago),
            Step::Bring(count) => self.bring(*count),
            Step::GiveBack => self.give_back(),
        }
        self.is_stored();
    }

    /// Nothing but its move changes a sequence that is moved.
    fn is_free(&self) -> bool {
        self.state.dropped || self.state.check_unmoved(&self.name).is_ok()
    }

    fn gives_out(&mut self, number: i64, state: &State) {
        let is_new = self.given_out.insert(number);
        // Its numbers repeat by definition.
        invariant!(is_new || state.def.cycle, "{number} came again: {state:?}");
    }

    fn take(&mut self, n: u64, issued: usize) {
        if self.state.dropped || !self.is_free() {
            return;
        }
        if self.stock.is_empty()
            && let Ok(range) = self.state.peek(n)
        {
            self.state.ordinal += range.run.count;
            self.stock = range.run.iter().collect();
        }
        let state = self.state.clone();
        for number in self
            .stock
            .drain(..issued.min(self.stock.len()))
            .collect::<Vec<_>>()
        {
            self.gives_out(number, &state);
        }
    }

    /// A change, which spends what is in stock. What it goes over with leave may come again.
    fn change(&mut self, allow_repeat: bool, make: impl Fn(&World, u64) -> Option<State>) {
        let issued = self.state.ordinal - self.stock.len() as u64;
        let Some(next) = make(self, issued) else { return };
        if allow_repeat {
            let (def, base) = (next.def, next.base);
            let is_ahead = |number: i64| {
                super::beyond(&def, base.value, number) || !base.is_called && number == base.value
            };
            self.given_out.retain(|number| !is_ahead(*number));
        }
        self.stock.clear();
        self.before.clear();
        self.state = next;
    }

    /// Whoever restores says how many numbers may have been given out since. Of a change that is lost with the store nobody
    /// knows.
    fn restore(&mut self, ago: usize) {
        let Some(at) = self.before.len().checked_sub(ago) else {
            return;
        };
        let (state, under_way) = self.before[at].clone();
        let spent = self.state.ordinal - state.ordinal;
        self.stock.clear();
        self.state = State {
            ordinal: state.ordinal + spent,
            ..state
        };
        self.under_way = under_way;
        self.before.clear();
    }

    fn pass(&self, now: &Move, is: PassageIs) -> Pass {
        let SequenceDef {
            start,
            increment,
            min,
            max,
            cycle,
        } = SequenceDef::new(SequenceOptions::default()).unwrap();
        Pass {
            passage: Passage {
                id: now.id,
                step: now.step,
                is,
            },
            former: Vec::new(),
            definition: Definition {
                start,
                increment,
                min,
                max,
                cycle,
            },
            first: now.first.filter(|_| now.phase >= FENCED),
            into_used: true,
        }
    }

    fn bring(&mut self, count: i64) {
        let place = || "elsewhere".to_string();
        let mut now = match self.under_way.clone() {
            Some(now) if now.phase < OPEN => Move {
                phase: now.phase + 1,
                ..now
            },
            Some(_) => return,
            None => {
                self.moves += 1;
                // Another counter, whose numbers are its own business until they are brought here.
                let highest = self.given_out.range(0..1 << 40).last();
                self.elsewhere = highest.map_or(1, |highest| highest + 1);
                Move {
                    id: format!("{:032x}", self.moves).parse().unwrap(),
                    step: self.state.passage.as_ref().map_or(0, |passage| passage.step),
                    phase: BESIDE,
                    first: None,
                }
            }
        };
        now.step += 1;
        let before = self.elsewhere;
        if !self.is_fenced {
            self.elsewhere += count;
        }
        if now.phase == FENCED {
            // A second fence of the same move reads the same mark.
            (self.is_fenced, now.first) = (true, Some(self.elsewhere));
        }
        let is = match now.phase {
            BESIDE => PassageIs::Beside(Origin {
                source: place(),
                kind: "own".to_string(),
                key: "orders".to_string(),
                table: None,
                take: None,
            }),
            OPEN => PassageIs::Here,
            _ => PassageIs::Moving { source: place() },
        };
        let pass = self.pass(&now, is);
        let passed = self.state.passed(&self.name, &pass, None, 0);
        if passed.is_ok() || now.phase > BESIDE {
            // What a counter gives out that may not come here is its own business.
            let state = self.state.clone();
            (before..self.elsewhere).for_each(|number| self.gives_out(number, &state));
        }
        if let Ok(Some(next)) = passed {
            if now.phase == BESIDE {
                // A copy of a store that had not heard of it would give out what the other one gave.
                self.before.clear();
            }
            self.stock.clear();
            self.state = State {
                version: Some(Version::of(1)),
                ..next
            };
            self.under_way = Some(now);
        }
    }

    fn give_back(&mut self) {
        let Some(now) = self.under_way.clone().filter(|now| now.phase == OPEN) else {
            return;
        };
        let (step, first) = (now.step + 1, None);
        let is = PassageIs::MovedBack {
            source: "elsewhere".to_string(),
        };
        let pass = self.pass(&Move { step, first, ..now }, is);
        // One that was dropped meanwhile, and has no number left, cannot be made again.
        if let Ok(Some(next)) = self.state.passed(&self.name, &pass, None, 0) {
            self.stock.clear();
            // It is dropped here, so that the name may be made again.
            self.state = next.tombstone(next.ordinal);
            (self.under_way, self.is_fenced) = (None, false);
            self.before.clear();
        }
    }

    /// What the store keeps is all there is.
    fn is_stored(&self) {
        let found = Versioned {
            value: self.state.write(1),
            version: Version::of(1),
        };
        assert_eq!(State::read(&self.name, &found).unwrap(), self.state);
    }
}

proptest! {
    // Most of a million steps' time went into random bits that nobody need guess.
    #![proptest_config(ProptestConfig { rng_algorithm: RngAlgorithm::XorShift, ..ProptestConfig::default() })]

    // claim: P7
    #[test]
    fn no_history_of_changes_gives_out_a_number_twice(steps in prop::collection::vec(step(), 1..8000)) {
        let mut world = World::new();
        for step in &steps {
            world.does(step);
        }
    }
}
