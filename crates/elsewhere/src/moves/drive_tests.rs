//! The driver against a source and two servers in memory, stopped at every await in turn, while clients of both sides
//! take numbers all the time. Everything is done with one counter, and with two masters of one name: one of them
//! counts 1, 3, 5 and the other one 2, 4, 6.

use std::collections::{BTreeMap, BTreeSet};
use std::future::Future;
use std::pin::{Pin, pin};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex};
use std::task::{Context, Poll, Waker};
use std::time::Duration;

use mintage::Timestamp;
use mintage_testing::Distinct;

use super::drive::{At, DriveSettings, Driven, Driver};
use super::drive_error::{DriveError, DriveErrorKind};
use super::goal::Goal;
use super::masters::{Master, increment_of, is_counted_by_clients, of_class};
use super::ours::{Ours, OursError, OursResult, Stepped, VersionedMove};
use super::record::{Definition, Move, Phase};
use crate::name::Name;
use crate::runtime::{BoxFuture, Runtime};
use crate::source::{
    Counter, Fence, Keeps, Listed, MemorySource, MoveId, Note, Source, SourceKind, SourceResult, Wanted, Way,
};
use crate::store::Durability;

pub(super) const KEY: &str = "orders";

/// Ready at the second poll: where a run can be stopped.
#[derive(Default)]
struct Once(bool);

impl Future for Once {
    type Output = ();

    fn poll(mut self: Pin<&mut Self>, _: &mut Context<'_>) -> Poll<()> {
        match std::mem::replace(&mut self.0, true) {
            true => Poll::Ready(()),
            false => Poll::Pending,
        }
    }
}

/// Time goes on by sleeping; random bytes are counted.
#[derive(Debug, Default)]
pub(super) struct Ticks(AtomicU64);

impl Runtime for Ticks {
    fn wall(&self) -> Timestamp {
        Timestamp::from_unix_millis(self.0.fetch_add(1, Ordering::Relaxed).try_into().unwrap())
    }

    fn boottime(&self) -> Duration {
        Duration::from_millis(self.0.load(Ordering::Relaxed))
    }

    fn sleep(&self, duration: Duration) -> BoxFuture<'static, ()> {
        self.0
            .fetch_add(duration.as_millis().try_into().unwrap(), Ordering::Relaxed);
        Box::pin(Once::default())
    }

    fn spawn(&self, _: BoxFuture<'static, ()>) {
        unreachable!("the driver spawns nothing")
    }

    fn spawn_thread(&self, _: &str, _: Box<dyn FnOnce() + Send>) -> std::io::Result<()> {
        unreachable!("the driver has no threads")
    }

    fn fill_random(&self, out: &mut [u8]) {
        out.fill(0);
        let counted = self.0.fetch_add(1, Ordering::Relaxed).to_be_bytes();
        out[..8].copy_from_slice(&counted);
    }

    fn clock_synchronised(&self) -> Option<bool> {
        None
    }
}

/// A source whose calls can be stopped before and after what they do.
#[derive(Debug)]
pub(super) struct Stopping(pub(super) Arc<MemorySource>);

fn around<'a, T: Send + 'a>(call: impl FnOnce() -> BoxFuture<'a, T> + Send + 'a) -> BoxFuture<'a, T> {
    Box::pin(async move {
        Once::default().await;
        let done = call().await;
        Once::default().await;
        done
    })
}

impl Source for Stopping {
    fn kind(&self) -> &'static SourceKind {
        self.0.kind()
    }

    fn place(&self) -> String {
        self.0.place()
    }

    fn durability(&self) -> SourceResult<'_, Durability> {
        self.0.durability()
    }

    fn list<'a>(&'a self, wanted: &'a Wanted) -> SourceResult<'a, Listed> {
        self.0.list(wanted)
    }

    fn look<'a>(&'a self, key: &'a str) -> SourceResult<'a, Option<Counter>> {
        around(move || self.0.look(key))
    }

    fn take<'a>(&'a self, key: &'a str, n: u64) -> SourceResult<'a, Vec<mintage::Run>> {
        self.0.take(key, n)
    }

    fn fence<'a>(
        &'a self,
        key: &'a str,
        way: Way,
        note: &'a Note,
    ) -> SourceResult<'a, crate::source::Fenced> {
        around(move || self.0.fence(key, way, note))
    }

    fn lift<'a>(&'a self, key: &'a str, note: &'a Note, issued: Option<i64>) -> SourceResult<'a, ()> {
        around(move || self.0.lift(key, note, issued))
    }

    fn check<'a>(&'a self, key: &'a str, note: &'a Note) -> SourceResult<'a, Fence> {
        around(move || self.0.check(key, note))
    }

    fn statements(&self, counter: &Counter, way: Way) -> Vec<String> {
        self.0.statements(counter, way)
    }

    fn rights<'a>(&'a self, key: &'a str, way: Way) -> SourceResult<'a, Vec<String>> {
        self.0.rights(key, way)
    }
}

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Does {
    Absent,
    Sealed,
    Beside,
    Serves,
}

/// What the store holds, and the two servers that follow it late.
#[derive(Clone, Debug)]
pub(super) struct Held {
    pub(super) register: Option<VersionedMove>,
    pub(super) does: Does,
    pub(super) next: i64,
    step: i64,
    stamp: u64,
    pub(super) reserved: Option<i64>,
    /// Beside: one of the numbers of ours, and how many of the source's each stands for.
    class: (i64, u64),
    pub(super) servers: [Server; 2],
    fails: u32,
}

#[derive(Clone, Debug)]
pub(super) struct Server {
    /// The stamp that it follows.
    stamp: u64,
    pub(super) does: Does,
    class: (i64, u64),
    stock: Vec<i64>,
}

#[derive(Debug)]
pub(super) struct MemoryOurs {
    pub(super) held: Mutex<Held>,
    source: Arc<MemorySource>,
}

impl MemoryOurs {
    fn new(source: Arc<MemorySource>) -> MemoryOurs {
        let server = Server {
            stamp: 0,
            does: Does::Absent,
            class: (1, 1),
            stock: Vec::new(),
        };
        MemoryOurs {
            source,
            held: Mutex::new(Held {
                register: None,
                does: Does::Absent,
                next: 1,
                step: 1,
                stamp: 0,
                reserved: None,
                class: (1, 1),
                servers: [server.clone(), server],
                fails: 0,
            }),
        }
    }

    /// One server reads the record; what it held lies below the mark, so nobody else has it, but a seal ends its use.
    fn follow(&self, which: usize) {
        let held = &mut *self.held.lock().unwrap();
        let server = &mut held.servers[which];
        (server.stamp, server.does, server.class) = (held.stamp, held.does, held.class);
        if held.does == Does::Sealed {
            server.stock.clear();
        }
    }

    /// What a client of one server gets.
    fn number(&self, which: usize) -> Option<i64> {
        let held = &mut *self.held.lock().unwrap();
        let server = &mut held.servers[which];
        if server.stock.is_empty() {
            match server.does {
                // A store refuses a reservation of one who does not follow.
                Does::Serves if held.stamp == server.stamp => {
                    server.stock = (0..3).map(|at| held.next + at * held.step).rev().collect();
                    held.next += 3 * held.step;
                }
                Does::Beside => {
                    // What clients count in steps of their own is taken in such steps, and kept to them.
                    let (one, each) = server.class;
                    let mut took = pin!(self.source.take(KEY, 3 * each));
                    let mut context = Context::from_waker(Waker::noop());
                    if let Poll::Ready(Ok(runs)) = took.as_mut().poll(&mut context) {
                        let ours = |run: &mintage::Run| of_class(*run, one, each as i64);
                        server.stock = runs.iter().flat_map(|run| ours(run).iter()).collect();
                        server.stock.reverse();
                    }
                }
                _ => {}
            }
            held.reserved = held.reserved.max(server.stock.first().copied());
        }
        matches!(server.does, Does::Serves | Does::Beside)
            .then(|| server.stock.pop())
            .flatten()
    }

    fn write(&self, expected: Option<u64>, next: &Move) -> Result<VersionedMove, OursError> {
        let held = &mut *self.held.lock().unwrap();
        if held.register.as_ref().map(|found| found.version) != expected {
            return Err(OursError::Lost(held.register.clone().map(Box::new)));
        }
        let before = held.register.as_ref().map(|found| &found.record);
        next.check_follows(before)
            .map_err(|message| OursError::Refused { message, hint: None })?;
        if held.register.as_ref().is_none_or(|found| found.record != *next) {
            held.register = Some(VersionedMove {
                record: next.clone(),
                version: expected.unwrap_or(0) + 1,
            });
        }
        Ok(held.register.clone().expect("written above"))
    }

    fn deeds(&self, of: &VersionedMove) -> Result<Stepped, OursError> {
        let held = &mut *self.held.lock().unwrap();
        if held.stamp > of.version {
            return Err(OursError::Lost(held.register.clone().map(Box::new)));
        }
        held.does = match of.record.phase {
            Phase::Planned => held.does,
            Phase::Beside => Does::Beside,
            Phase::Open => Does::Serves,
            Phase::Fencing | Phase::Fenced | Phase::Returning | Phase::Returned => Does::Sealed,
        };
        held.stamp = of.version;
        let definition = &of.record.definition;
        if of.record.phase == Phase::Beside {
            let each = match is_counted_by_clients(&of.record.kind) {
                true => definition.increment.unsigned_abs(),
                false => 1,
            };
            held.class = (definition.start, each);
        }
        if of.record.phase == Phase::Fenced {
            held.next = held.next.max(of.record.first.expect("known from here on"));
            held.step = definition.increment;
        }
        let pending = held
            .servers
            .iter()
            .filter(|server| server.stamp != held.stamp && server.does != Does::Absent);
        Ok(Stepped {
            now: of.clone(),
            pending: pending.map(|_| "a server".to_string()).collect(),
            reserved: held.reserved,
        })
    }
}

impl Ours for MemoryOurs {
    fn read<'a>(&'a self, _: &'a Name) -> OursResult<'a, Option<VersionedMove>> {
        around(move || Box::pin(std::future::ready(Ok(self.held.lock().unwrap().register.clone()))))
    }

    fn list(&self) -> OursResult<'_, Vec<(Name, VersionedMove)>> {
        unreachable!("the driver reads one name")
    }

    fn step<'a>(
        &'a self,
        _: &'a Name,
        expected: Option<u64>,
        next: &'a Move,
        _: bool,
    ) -> OursResult<'a, Stepped> {
        Box::pin(async move {
            Once::default().await;
            let written = self.write(expected, next)?;
            Once::default().await;
            let stepped = self.deeds(&written);
            Once::default().await;
            let mut held = self.held.lock().unwrap();
            if held.fails > 0 {
                held.fails -= 1;
                return Err(OursError::Refused {
                    message: "the answer was lost".into(),
                    hint: None,
                });
            }
            drop(held);
            stepped
        })
    }
}

/// Next number and step of each counter that a name has elsewhere.
type Setup = &'static [(i64, i64)];

const ONE: Setup = &[(1, 1)];
const TWO: Setup = &[(1, 2), (2, 2)];
const SETUPS: [Setup; 2] = [ONE, TWO];

pub(super) struct World {
    pub(super) memories: Vec<Arc<MemorySource>>,
    pub(super) sources: Vec<Stopping>,
    masters: Vec<Master>,
    pub(super) ours: MemoryOurs,
    pub(super) runtime: Ticks,
    seen: Mutex<Seen>,
}

/// What clients of either side were given.
#[derive(Clone, Default)]
struct Seen {
    numbers: Distinct<i64>,
    turns: usize,
}

pub(super) fn there(world: &World) -> Vec<At<'_>> {
    let all = world.sources.iter().map(|source| At { source, called: None });
    all.collect()
}

pub(super) fn driver<'a>(world: &'a World, there: &'a [At<'a>]) -> Driver<'a> {
    Driver {
        there,
        ours: &world.ours,
        runtime: &world.runtime,
        settings: DriveSettings::default(),
    }
}

pub(super) type Run<'a> = Pin<Box<dyn Future<Output = Result<Driven, DriveError>> + 'a>>;

/// A run of the command: with an id of its own, should the move begin with it.
fn command(world: &World, goal: Goal) -> Run<'_> {
    told(world, goal, 0, None)
}

/// The same with `--advance`.
fn advanced(world: &World, goal: Goal, advance: u64) -> Run<'_> {
    told(world, goal, advance, None)
}

/// The same with `--to`, the place of one of several.
fn told(world: &World, goal: Goal, advance: u64, back_to: Option<String>) -> Run<'_> {
    Box::pin(async move {
        // Beside several ours keeps to the numbers of the first.
        let increment = match goal {
            Goal::Beside => world.masters[0].increment,
            _ => increment_of(&world.masters),
        };
        let planned = Move {
            id: MoveId::fresh(&world.runtime),
            former: Vec::new(),
            phase: Phase::Planned,
            ceiling: None,
            source: world.masters[0].source.clone(),
            kind: world.sources[0].kind().name.into(),
            key: KEY.into(),
            table: None,
            masters: Vec::new(),
            back_to,
            definition: Definition {
                start: 1,
                increment,
                min: 1,
                max: i64::MAX,
                cycle: false,
            },
            before: BTreeMap::new(),
            advance,
            take: None,
            mark: None,
            first: None,
            highest: None,
            issued: None,
            at_ms: 0,
        };
        let planned = planned.with_masters(world.masters.clone());
        let name = Name::new("orders").unwrap();
        driver(world, &there(world)).run(&name, &planned, goal).await
    })
}

pub(super) fn poll(run: &mut Run<'_>) -> Poll<Result<Driven, DriveError>> {
    run.as_mut().poll(&mut Context::from_waker(Waker::noop()))
}

impl World {
    fn new(setup: Setup) -> World {
        let setup: Vec<_> = setup
            .iter()
            .map(|(next, step)| (*next, *step, Keeps::Steps))
            .collect();
        World::of(&setup)
    }

    /// The next number and the steps of each counter, and what its source keeps.
    pub(super) fn of(setup: &[(i64, i64, Keeps)]) -> World {
        let named = |at: usize| if at == 0 { String::new() } else { at.to_string() };
        let memories: Vec<_> = (0..setup.len())
            .map(|at| MemorySource::called(&named(at)))
            .collect();
        for (memory, (next, step, keeps)) in memories.iter().zip(setup) {
            memory.put_as(KEY, *next, *step, *keeps);
        }
        let master = |(memory, (one, increment, _)): (&Arc<MemorySource>, &(i64, i64, Keeps))| Master {
            source: memory.place(),
            key: KEY.into(),
            increment: *increment,
            one: *one,
            before: BTreeMap::new(),
            mark: None,
            fenced_by: None,
        };
        World {
            sources: memories.iter().cloned().map(Stopping).collect(),
            masters: memories.iter().zip(setup).map(master).collect(),
            ours: MemoryOurs::new(memories[0].clone()),
            memories,
            runtime: Ticks::default(),
            seen: Mutex::default(),
        }
    }

    /// The same world, in which something else may happen.
    pub(super) fn copy(&self) -> World {
        let memories: Vec<_> = self.memories.iter().map(|memory| memory.copy()).collect();
        World {
            sources: memories.iter().cloned().map(Stopping).collect(),
            masters: self.masters.clone(),
            ours: MemoryOurs {
                held: Mutex::new(self.ours.held.lock().unwrap().clone()),
                source: memories[0].clone(),
            },
            memories,
            runtime: Ticks(self.runtime.0.load(Ordering::Relaxed).into()),
            seen: Mutex::new(self.seen.lock().unwrap().clone()),
        }
    }

    /// Clients of all sides take a number each; one server follows, the other one does later. What each source gave,
    /// and each server.
    pub(super) fn turn(&self) -> (Vec<bool>, [bool; 2]) {
        let theirs: Vec<_> = self.memories.iter().map(|memory| memory.next(KEY)).collect();
        for (number, master) in theirs.iter().zip(&self.masters) {
            let apart = number.map_or(0, |number| number - master.one);
            assert_eq!(
                apart % master.increment,
                0,
                "{number:?} is none of {}",
                master.source
            );
        }
        let ours = [self.ours.number(0), self.ours.number(1)];
        let seen = &mut *self.seen.lock().unwrap();
        let all = theirs.iter().chain(&ours).copied();
        seen.numbers.extend(all.flatten());
        seen.turns += 1;
        if seen.turns.is_multiple_of(3) {
            self.ours.follow(0);
        }
        if seen.turns.is_multiple_of(5) {
            self.ours.follow(1);
        }
        (
            theirs.iter().map(Option::is_some).collect(),
            ours.map(|number| number.is_some()),
        )
    }

    /// Runs to the goal, or is stopped at the await of this number: then nothing comes of it.
    fn run(&self, goal: Goal, stop_at: usize) -> Option<Result<Driven, DriveError>> {
        self.stopped(command(self, goal), stop_at)
    }

    fn stopped(&self, mut run: Run<'_>, stop_at: usize) -> Option<Result<Driven, DriveError>> {
        for _ in 0..stop_at {
            if let Poll::Ready(done) = poll(&mut run) {
                return Some(done);
            }
            self.turn();
        }
        None
    }

    fn reach(&self, goal: Goal) {
        let done = self.run(goal, usize::MAX).expect("it is not stopped");
        done.unwrap_or_else(|error| panic!("{goal}: {error} ({:?})", error.hint));
    }

    /// Whether each side serves, as the goal says.
    fn check(&self, goal: Goal) {
        if matches!(goal, Goal::Open { ceiling: Some(_) }) {
            // Until it is reached.
            (0..150).for_each(|_| drop(self.turn()));
        }
        let (theirs, ours) = match goal {
            Goal::Open { .. } => (false, true),
            Goal::Beside => (true, true),
            Goal::Back => (true, false),
        };
        self.check_serve(&vec![theirs; self.memories.len()], ours);
    }

    fn check_serve(&self, theirs: &[bool], ours: bool) {
        for _ in 0..30 {
            self.turn();
        }
        assert_eq!(self.turn(), (theirs.to_vec(), [ours; 2]));
    }

    /// At which of the sources a fence stands.
    fn check_fenced(&self) -> Vec<bool> {
        let at = |memory: &Arc<MemorySource>| match pin!(memory.look(KEY))
            .poll(&mut Context::from_waker(Waker::noop()))
        {
            Poll::Ready(Ok(Some(counter))) => counter.fence != Fence::None,
            other => panic!("{other:?}"),
        };
        self.memories.iter().map(at).collect()
    }

    pub(super) fn register(&self) -> Option<VersionedMove> {
        self.ours.held.lock().unwrap().register.clone()
    }
}

const CUT: Goal = Goal::Open { ceiling: None };
const CEILING: Goal = Goal::Open { ceiling: Some(150) };

/// Journeys of one counter: each goal follows the one before it.
const JOURNEYS: &[&[Goal]] = &[
    &[CUT],
    &[CUT, Goal::Back, CUT, Goal::Back],
    &[CEILING, CUT],
    &[CEILING, Goal::Back],
    &[Goal::Beside, CUT, Goal::Back],
    &[Goal::Beside, Goal::Back, Goal::Beside],
    &[Goal::Back, CUT],
];

/// How many awaits a run has that goes on from here.
fn awaits(world: &World, goal: Goal) -> usize {
    let mut count = 0;
    let mut run = command(world, goal);
    while poll(&mut run).is_pending() {
        world.turn();
        count += 1;
    }
    count
}

fn world_at(setup: Setup, before: &[Goal]) -> World {
    let world = World::new(setup);
    for goal in before {
        // The first may be a way back from nowhere.
        let done = world.run(*goal, usize::MAX).expect("it is not stopped");
        assert!(done.is_ok() || *goal == Goal::Back, "{goal}: {done:?}");
    }
    world
}

/// Calls `stopped` with every place of every journey: a world as it is after what came before, the goal, and the
/// number of the await.
fn at_every_await(mut stopped: impl FnMut(&dyn Fn() -> World, Goal, usize)) {
    let mut stops = 0;
    let journeys = SETUPS
        .iter()
        .flat_map(|setup| JOURNEYS.iter().map(move |journey| (*setup, journey)));
    for (setup, journey) in journeys {
        for (at, goal) in journey.iter().enumerate() {
            if *goal == Goal::Back && at == 0 {
                continue;
            }
            let world = || world_at(setup, &journey[..at]);
            for stop in 0..=awaits(&world(), *goal) {
                stopped(&world, *goal, stop);
                stops += 1;
            }
        }
    }
    assert!(stops > 200, "{stops}");
}

#[test]
fn every_journey_comes_to_its_end() {
    for (setup, journey) in SETUPS
        .iter()
        .flat_map(|setup| JOURNEYS.iter().map(move |journey| (*setup, journey)))
    {
        let world = World::new(setup);
        for goal in *journey {
            if *goal == Goal::Back && journey[0] == Goal::Back {
                let error = world.run(*goal, usize::MAX).unwrap().unwrap_err();
                assert_eq!(error.kind, DriveErrorKind::Refused);
                continue;
            }
            world.reach(*goal);
            world.check(*goal);
        }
    }
}

// claim: P57
#[test]
fn a_run_that_is_stopped_anywhere_is_ended_by_the_same_command() {
    at_every_await(|world_before, goal, stop| {
        let world = world_before();
        world.run(goal, stop);
        world.reach(goal);
        world.check(goal);
    });
}

#[test]
fn a_run_that_is_stopped_twice_is_too() {
    at_every_await(|world_before, goal, stop| {
        for second in 0..=stop {
            let world = world_before();
            world.run(goal, stop);
            world.run(goal, second);
            world.reach(goal);
            world.check(goal);
        }
    });
}

#[test]
fn a_run_that_is_stopped_can_be_taken_back() {
    at_every_await(|world_before, goal, stop| {
        let world = world_before();
        world.run(goal, stop);
        let back = world.run(Goal::Back, usize::MAX).unwrap();
        if let Err(error) = back {
            assert_eq!(error.kind, DriveErrorKind::Refused, "{error}");
            let register = world.register();
            let phase = register.map(|found| found.record.phase);
            assert!(
                matches!(phase, None | Some(Phase::Planned)),
                "{goal} {stop}: {error}"
            );
            return;
        }
        world.check(Goal::Back);
    });
}

#[test]
fn lost_answers_change_nothing() {
    for (lost, setup) in (1..=4).flat_map(|lost| SETUPS.map(|setup| (lost, setup))) {
        for goal in [CUT, CEILING, Goal::Beside] {
            let world = World::new(setup);
            world.ours.held.lock().unwrap().fails = lost;
            if lost % 2 == 1 {
                world.memories.iter().for_each(|memory| memory.fail_after());
            }
            world.reach(goal);
            world.check(goal);
        }
    }
}

/// A ceiling that the source passes before its fence stands is chosen again; whoever stood still meanwhile harms
/// nothing.
#[test]
fn a_ceiling_is_chosen_again_before_its_fence_stands() {
    let mut chosen = BTreeSet::new();
    let stops = |setup| (0..=awaits(&World::new(setup), CEILING)).map(move |stop| (setup, stop));
    for (setup, stop) in SETUPS.into_iter().flat_map(stops) {
        let world = World::new(setup);
        let mut stalled = command(&world, CEILING);
        let mut is_done = (0..stop).any(|_| {
            world.turn();
            poll(&mut stalled).is_ready()
        });
        for _ in 0..160 {
            world.turn();
        }
        world.reach(Goal::Open { ceiling: Some(600) });
        chosen.insert(world.register().unwrap().record.ceiling);
        while !is_done {
            world.turn();
            is_done = poll(&mut stalled).is_ready();
        }
        drop(stalled);
        world.reach(CUT);
        world.check(CUT);
        world.reach(Goal::Back);
        world.check(Goal::Back);
    }
    assert_eq!(chosen, [Some(150), Some(600)].into(), "both ways were walked");
}

/// Our store is lost after the cut, and a copy of before put in its place: the fence of this very move shows it. What
/// was given out since is said by whoever goes on, and the source does not come to it either.
// claim: P60
#[test]
fn a_store_that_is_older_than_its_cut_goes_on_with_an_advance_alone() {
    for world in SETUPS.map(|setup| world_at(setup, &[Goal::Beside])) {
        goes_on_with_an_advance_alone(&world);
    }
}

fn goes_on_with_an_advance_alone(world: &World) {
    let copy = world.ours.held.lock().unwrap().clone();
    world.reach(CUT);
    for _ in 0..30 {
        world.turn();
    }
    *world.ours.held.lock().unwrap() = copy;
    let to_its_end = |goal, advance| {
        let mut run = advanced(world, goal, advance);
        loop {
            if let Poll::Ready(done) = poll(&mut run) {
                return done;
            }
            // Servers follow, and nobody takes numbers yet.
            (0..2).for_each(|server| world.ours.follow(server));
        }
    };
    for goal in [CUT, Goal::Back] {
        let refused = to_its_end(goal, 0).unwrap_err();
        let hint = refused.hint.unwrap_or_default();
        assert!(hint.contains("--advance N"), "{goal}: {hint}");
    }
    to_its_end(CUT, 1000).unwrap();
    world.check(CUT);
    world.reach(Goal::Back);
    world.check(Goal::Back);
}

/// An import that stands still anywhere while others go on, and then ends as it can, changes nothing that it should
/// not.
// claim: P57
#[test]
fn an_import_that_stood_still_ends_without_harm() {
    let others: &[&[Goal]] = &[
        &[CUT],
        &[CUT, Goal::Back],
        &[CUT, Goal::Back, CUT],
        &[Goal::Beside],
    ];
    at_every_await(|world_before, goal, stop| {
        for others in others {
            let world = world_before();
            let mut stalled = command(&world, goal);
            let mut done = None;
            for _ in 0..stop {
                if let Poll::Ready(result) = poll(&mut stalled) {
                    done = Some(result);
                    break;
                }
                world.turn();
            }
            for other in *others {
                // Refused, where the move is not in a place to go there from.
                world.run(*other, usize::MAX);
            }
            while done.is_none() {
                if let Poll::Ready(result) = poll(&mut stalled) {
                    done = Some(result);
                }
                world.turn();
            }
            drop(stalled);
            // Whatever it came to, the next command is obeyed.
            for last in [CUT, Goal::Back] {
                if world.run(last, usize::MAX).unwrap().is_err() {
                    // A move on its way back is ended first.
                    world.reach(Goal::Back);
                    world.reach(last);
                }
                world.check(last);
            }
        }
    });
}

#[test]
fn a_counter_of_the_same_key_elsewhere_is_another_one() {
    let world = World::new(ONE);
    world.reach(CUT);
    let mut planned = world.register().unwrap().record;
    planned.source = "memory:elsewhere".into();
    world
        .ours
        .held
        .lock()
        .unwrap()
        .register
        .as_mut()
        .unwrap()
        .record
        .source = "memory:there".into();
    let name = Name::new("orders").unwrap();
    for goal in [CUT, CEILING, Goal::Beside, Goal::Back] {
        let mut run: Run<'_> =
            Box::pin(async { driver(&world, &there(&world)).run(&name, &planned, goal).await });
        let error = loop {
            if let Poll::Ready(done) = poll(&mut run) {
                break done.unwrap_err();
            }
        };
        assert_eq!(error.kind, DriveErrorKind::InUse, "{error}");
    }
}

#[test]
fn servers_that_do_not_follow_are_named_and_nothing_is_fenced() {
    let world = World::new(ONE);
    world.reach(Goal::Beside);
    let settings = DriveSettings {
        follow: Duration::from_secs(1),
        ..DriveSettings::default()
    };
    world.ours.follow(0);
    world.ours.follow(1);
    let there = there(&world);
    let impatient = Driver {
        settings,
        ..driver(&world, &there)
    };
    let planned = world.register().unwrap().record;
    let name = Name::new("orders").unwrap();
    let mut run: Run<'_> = Box::pin(async { impatient.run(&name, &planned, CUT).await });
    // Nobody follows while it waits.
    let error = loop {
        if let Poll::Ready(done) = poll(&mut run) {
            break done.unwrap_err();
        }
    };
    assert_eq!(error.kind, DriveErrorKind::Behind, "{error}");
    assert!(world.memories[0].next(KEY).is_some(), "the source is not fenced");
    drop(run);
    world.reach(CUT);
    world.check(CUT);
}

fn to_its_end(world: &World, mut run: Run<'_>) -> Result<Driven, DriveError> {
    loop {
        if let Poll::Ready(done) = poll(&mut run) {
            return done;
        }
        world.turn();
    }
}

/// One of two masters goes away anywhere in a run: nothing repeats, and the same command goes on when it is back.
// claim: P57
#[test]
fn a_master_that_goes_away_anywhere_is_waited_for() {
    let mut refused = 0;
    at_every_await(|world_before, goal, stop| {
        for lost in 0..world_before().memories.len() {
            let world = world_before();
            let mut run = command(&world, goal);
            let is_done = (0..stop).any(|_| {
                world.turn();
                poll(&mut run).is_ready()
            });
            world.memories[lost].set_away(true);
            if !is_done {
                let done = to_its_end(&world, run);
                refused += u64::from(done.is_err());
                if let Err(error) = done {
                    assert!(error.hint.is_some(), "{error}");
                }
            }
            for _ in 0..9 {
                world.turn();
            }
            world.memories[lost].set_away(false);
            world.reach(goal);
            world.check(goal);
        }
    });
    assert!(refused > 100, "{refused}");
}

/// One of two masters never comes back: the other one is given its numbers again, wherever the cut stands.
#[test]
fn a_master_that_never_comes_back_does_not_keep_the_other_one() {
    for stop in 0..=awaits(&World::new(TWO), CUT) {
        let world = World::new(TWO);
        world.run(CUT, stop);
        world.memories[1].set_away(true);
        let error = match to_its_end(&world, command(&world, CUT)) {
            Ok(_) => continue,
            Err(error) => error,
        };
        let phase = world.register().map(|now| now.record.phase);
        if matches!(phase, None | Some(Phase::Planned)) {
            world.check_serve(&[true, false], false);
            continue;
        }
        if phase == Some(Phase::Fencing) {
            let hint = error.hint.unwrap_or_default();
            assert!(hint.contains("--back --to SOURCE"), "{stop}: {hint}");
        }
        let back = told(&world, Goal::Back, 0, Some(world.masters[0].source.clone()));
        to_its_end(&world, back).unwrap_or_else(|error| panic!("{stop}: {error}"));
        world.check_serve(&[true, false], false);
    }
}

/// Two copies of one counter, kept apart by ranges: above what was given out here they would meet.
#[test]
fn masters_that_would_meet_go_back_one_alone() {
    const COPIES: Setup = &[(1, 1), (1_000_000, 1)];
    for (to, serves) in [(0, [true, false]), (1, [false, true])] {
        let world = World::new(COPIES);
        world.reach(CUT);
        world.check(CUT);
        let error = to_its_end(&world, command(&world, Goal::Back)).unwrap_err();
        assert_eq!(error.kind, DriveErrorKind::Refused);
        assert!(error.message.contains("would give out the same"), "{error}");
        let hint = error.hint.unwrap();
        assert!(
            hint.contains(&format!("--back --to {}", world.masters[0].source)),
            "{hint}"
        );
        // Nothing is sealed by that.
        world.check(CUT);
        let back_to = |at: usize| told(&world, Goal::Back, 0, Some(world.masters[at].source.clone()));
        for stop in 0.. {
            if world.stopped(back_to(to), stop).is_some() {
                break;
            }
        }
        world.check_serve(&serves, false);
        // Another way than the one that was gone is refused; without a word it is the same.
        let error = to_its_end(&world, back_to(1 - to)).unwrap_err();
        assert!(error.message.contains("is returned to"), "{error}");
        to_its_end(&world, command(&world, Goal::Back)).unwrap();
        world.check_serve(&serves, false);
        world.reach(CUT);
        world.check(CUT);
    }
}

/// The same of two copies of one counter, which one alone goes back to: whoever stood still does not let the other
/// one out.
// claim: P57
#[test]
fn an_import_that_stood_still_lets_out_nothing_of_who_stays_fenced() {
    const COPIES: Setup = &[(1, 1), (1_000_000, 1)];
    // A cut, or the way back to one of them.
    let goal_of = |world: &World, to: Option<usize>| -> (Goal, Option<String>) {
        match to {
            None => (CUT, None),
            Some(to) => (Goal::Back, Some(world.masters[to].source.clone())),
        }
    };
    let cases = [
        (&[][..], None),
        (&[None], Some(0)),
        (&[None], Some(1)),
        (&[None, Some(0)], None),
    ];
    let others = [
        &[None][..],
        &[None, Some(0)],
        &[Some(0)],
        &[None, Some(1), None],
        &[None, Some(0), None, Some(1)],
    ];
    let mut stops = 0;
    for (before, command) in cases {
        for (others, stop) in others
            .iter()
            .flat_map(|others| (0..70).map(move |stop| (others, stop)))
        {
            let world = World::new(COPIES);
            let run = |to: Option<usize>| {
                let (goal, back_to) = goal_of(&world, to);
                told(&world, goal, 0, back_to)
            };
            for to in before {
                to_its_end(&world, run(*to)).unwrap();
            }
            let mut stalled = run(command);
            let is_over = (0..stop).any(|_| {
                world.turn();
                poll(&mut stalled).is_ready()
            });
            if is_over {
                continue;
            }
            stops += 1;
            for to in *others {
                // Refused, where the move is not in a place to go there from.
                let _ = to_its_end(&world, run(*to));
            }
            let _ = to_its_end(&world, stalled);
            for to in [None, Some(0), None, Some(1)] {
                let _ = to_its_end(&world, run(to));
                (0..9).for_each(|_| drop(world.turn()));
            }
        }
    }
    assert!(stops > 300, "{stops}");
}

/// One of two copies never comes back, and was not fenced yet: whether it serves nobody knows. Who has stopped it for
/// good says how far it may have come.
#[test]
fn who_goes_on_alone_while_another_one_may_serve_its_numbers_is_asked_for_an_advance() {
    let world = World::new(&[(1, 1), (1_000_000, 1)]);
    // The first is fenced, the second is not.
    let stop = (0..)
        .find(|stop| {
            let world = World::new(&[(1, 1), (1_000_000, 1)]);
            world.run(CUT, *stop);
            world.check_fenced() == [true, false]
        })
        .unwrap();
    world.run(CUT, stop);
    world.memories[1].set_away(true);
    let to = |advance| told(&world, Goal::Back, advance, Some(world.masters[0].source.clone()));
    let error = to_its_end(&world, to(0)).unwrap_err();
    assert_eq!(error.kind, DriveErrorKind::Refused, "{error}");
    assert!(
        error.message.contains("could give out the same numbers"),
        "{error}"
    );
    assert!(error.hint.is_some_and(|hint| hint.contains("--advance N")));
    assert_eq!(world.register().unwrap().record.phase, Phase::Fencing);
    to_its_end(&world, to(2_000_000)).unwrap();
    world.check_serve(&[true, false], false);
    assert!(world.memories[0].next(KEY) > Some(2_000_000));
}

/// A master whose fence somebody takes away after the cut is told, and named.
#[test]
fn every_fence_is_looked_at_again() {
    let world = World::new(TWO);
    world.reach(CUT);
    world.memories[1].put_in_steps(KEY, 1_000_002, 2);
    let error = to_its_end(&world, command(&world, CUT)).unwrap_err();
    assert!(error.message.contains("no fence stands at memory:1"), "{error}");
}

/// Who has moved one alone finds the other one later: given back, both come together.
#[test]
fn a_name_that_was_taken_back_comes_again_with_more_masters() {
    let mut world = World::new(TWO);
    let both = std::mem::take(&mut world.masters);
    world.masters = both[..1].to_vec();
    world.reach(CUT);
    world.check_serve(&[false, true], true);
    world.masters = both;
    let error = to_its_end(&world, command(&world, CUT)).unwrap_err();
    assert_eq!(error.kind, DriveErrorKind::InUse, "{error}");
    world.masters.truncate(1);
    world.reach(Goal::Back);
    let second = world.memories[1].place();
    world.masters.push(Master {
        source: second,
        one: 2,
        ..world.masters[0].clone()
    });
    world.reach(CUT);
    world.check(CUT);
    world.reach(Goal::Back);
    world.check(Goal::Back);
}
