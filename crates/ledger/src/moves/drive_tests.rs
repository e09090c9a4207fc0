//! The driver against a source and two servers in memory, stopped at every await in turn, while clients of both sides take
//! numbers all the time.

use std::collections::{BTreeMap, BTreeSet};
use std::future::Future;
use std::pin::{Pin, pin};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex};
use std::task::{Context, Poll, Waker};
use std::time::Duration;

use mintage::Timestamp;
use mintage_testing::Distinct;

use super::drive::{DriveSettings, Driven, Driver};
use super::drive_error::{DriveError, DriveErrorKind};
use super::goal::Goal;
use super::ours::{Ours, OursError, OursResult, Stepped, VersionedMove};
use super::record::{Definition, Move, Phase};
use crate::name::Name;
use crate::runtime::{BoxFuture, Runtime};
use crate::source::{
    Counter, Fence, Listed, MemorySource, MoveId, Note, Source, SourceKind, SourceResult, Wanted, Way,
};
use crate::store::Durability;

const KEY: &str = "orders";

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
struct Ticks(AtomicU64);

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
struct Stopping(Arc<MemorySource>);

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
enum Does {
    Absent,
    Sealed,
    Beside,
    Serves,
}

/// What the store holds, and the two servers that follow it late.
#[derive(Clone, Debug)]
struct Held {
    register: Option<VersionedMove>,
    does: Does,
    next: i64,
    stamp: u64,
    reserved: Option<i64>,
    servers: [Server; 2],
    fails: u32,
}

#[derive(Clone, Debug)]
struct Server {
    /// The stamp that it follows.
    stamp: u64,
    does: Does,
    stock: Vec<i64>,
}

#[derive(Debug)]
struct MemoryOurs {
    held: Mutex<Held>,
    source: Arc<MemorySource>,
}

impl MemoryOurs {
    fn new(source: Arc<MemorySource>) -> MemoryOurs {
        let server = Server {
            stamp: 0,
            does: Does::Absent,
            stock: Vec::new(),
        };
        MemoryOurs {
            source,
            held: Mutex::new(Held {
                register: None,
                does: Does::Absent,
                next: 1,
                stamp: 0,
                reserved: None,
                servers: [server.clone(), server],
                fails: 0,
            }),
        }
    }

    /// One server reads the record; what it held lies below the mark, so nobody else has it, but a seal ends its use.
    fn follow(&self, which: usize) {
        let held = &mut *self.held.lock().unwrap();
        let server = &mut held.servers[which];
        (server.stamp, server.does) = (held.stamp, held.does);
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
                    server.stock = (held.next..held.next + 3).rev().collect();
                    held.next += 3;
                }
                Does::Beside => {
                    let mut took = pin!(self.source.take(KEY, 3));
                    let mut context = Context::from_waker(Waker::noop());
                    if let Poll::Ready(Ok(runs)) = took.as_mut().poll(&mut context) {
                        server.stock = runs.iter().flat_map(mintage::Run::iter).collect();
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
        if of.record.phase == Phase::Fenced {
            held.next = held.next.max(of.record.first.expect("known from here on"));
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

struct World {
    memory: Arc<MemorySource>,
    source: Stopping,
    ours: MemoryOurs,
    runtime: Ticks,
    seen: Mutex<Seen>,
}

/// What clients of either side were given.
#[derive(Default)]
struct Seen {
    numbers: Distinct<i64>,
    turns: usize,
}

fn driver(world: &World) -> Driver<'_> {
    Driver {
        source: &world.source,
        called: None,
        ours: &world.ours,
        runtime: &world.runtime,
        settings: DriveSettings::default(),
    }
}

type Run<'a> = Pin<Box<dyn Future<Output = Result<Driven, DriveError>> + 'a>>;

/// A run of the command: with an id of its own, should the move begin with it.
fn command(world: &World, goal: Goal) -> Run<'_> {
    advanced(world, goal, 0)
}

/// The same with `--advance`.
fn advanced(world: &World, goal: Goal, advance: u64) -> Run<'_> {
    Box::pin(async move {
        let planned = Move {
            id: MoveId::fresh(&world.runtime),
            former: Vec::new(),
            phase: Phase::Planned,
            ceiling: None,
            source: "memory:".into(),
            kind: world.source.kind().name.into(),
            key: KEY.into(),
            table: None,
            definition: Definition {
                start: 1,
                increment: 1,
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
        let name = Name::new("orders").unwrap();
        driver(world).run(&name, &planned, goal).await
    })
}

fn poll(run: &mut Run<'_>) -> Poll<Result<Driven, DriveError>> {
    run.as_mut().poll(&mut Context::from_waker(Waker::noop()))
}

impl World {
    fn new() -> World {
        let memory = MemorySource::new();
        memory.put(KEY, 1);
        World {
            source: Stopping(memory.clone()),
            ours: MemoryOurs::new(memory.clone()),
            memory,
            runtime: Ticks::default(),
            seen: Mutex::default(),
        }
    }

    /// Clients of both sides take a number each; one server follows, the other one does later.
    fn turn(&self) -> [Option<i64>; 3] {
        let numbers = [self.memory.next(KEY), self.ours.number(0), self.ours.number(1)];
        let seen = &mut *self.seen.lock().unwrap();
        seen.numbers.extend(numbers.into_iter().flatten());
        seen.turns += 1;
        if seen.turns.is_multiple_of(3) {
            self.ours.follow(0);
        }
        if seen.turns.is_multiple_of(5) {
            self.ours.follow(1);
        }
        numbers
    }

    /// Runs to the goal, or is stopped at the await of this number: then nothing comes of it.
    fn run(&self, goal: Goal, stop_at: usize) -> Option<Result<Driven, DriveError>> {
        let mut run = command(self, goal);
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
        for _ in 0..30 {
            self.turn();
        }
        let [source, a, b] = self.turn();
        let serves = match goal {
            Goal::Open { ceiling: None } => [false, true, true],
            // The ceiling was reached long ago.
            Goal::Open { .. } => [false, true, true],
            Goal::Beside => [true, true, true],
            Goal::Back => [true, false, false],
        };
        assert_eq!([source, a, b].map(|number| number.is_some()), serves, "{goal}");
    }
}

const CUT: Goal = Goal::Open { ceiling: None };
const CEILING: Goal = Goal::Open { ceiling: Some(40) };

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

fn world_at(before: &[Goal]) -> World {
    let world = World::new();
    for goal in before {
        // The first may be a way back from nowhere.
        let done = world.run(*goal, usize::MAX).expect("it is not stopped");
        assert!(done.is_ok() || *goal == Goal::Back, "{goal}: {done:?}");
    }
    world
}

/// Calls `stopped` with every place of every journey: what came before, the goal, and the number of the await.
fn at_every_await(mut stopped: impl FnMut(&[Goal], Goal, usize)) {
    let mut stops = 0;
    for journey in JOURNEYS {
        for (at, goal) in journey.iter().enumerate() {
            if *goal == Goal::Back && at == 0 {
                continue;
            }
            for stop in 0..=awaits(&world_at(&journey[..at]), *goal) {
                stopped(&journey[..at], *goal, stop);
                stops += 1;
            }
        }
    }
    assert!(stops > 200, "{stops}");
}

#[test]
fn every_journey_comes_to_its_end() {
    for journey in JOURNEYS {
        let world = World::new();
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
    at_every_await(|before, goal, stop| {
        let world = world_at(before);
        world.run(goal, stop);
        world.reach(goal);
        world.check(goal);
    });
}

#[test]
fn a_run_that_is_stopped_twice_is_too() {
    at_every_await(|before, goal, stop| {
        for second in 0..=stop {
            let world = world_at(before);
            world.run(goal, stop);
            world.run(goal, second);
            world.reach(goal);
            world.check(goal);
        }
    });
}

#[test]
fn a_run_that_is_stopped_can_be_taken_back() {
    at_every_await(|before, goal, stop| {
        let world = world_at(before);
        world.run(goal, stop);
        let back = world.run(Goal::Back, usize::MAX).unwrap();
        if let Err(error) = back {
            assert_eq!(error.kind, DriveErrorKind::Refused, "{error}");
            let register = world.ours.held.lock().unwrap().register.clone();
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
    for lost in 1..=4 {
        for goal in [CUT, CEILING, Goal::Beside] {
            let world = World::new();
            world.ours.held.lock().unwrap().fails = lost;
            if lost % 2 == 1 {
                world.memory.fail_after();
            }
            world.reach(goal);
            world.check(goal);
        }
    }
}

/// A ceiling that the source passes before its fence stands is chosen again; whoever stood still meanwhile harms nothing.
#[test]
fn a_ceiling_is_chosen_again_before_its_fence_stands() {
    let mut chosen = BTreeSet::new();
    for stop in 0..=awaits(&World::new(), CEILING) {
        let world = World::new();
        let mut stalled = command(&world, CEILING);
        let mut is_done = (0..stop).any(|_| {
            world.turn();
            poll(&mut stalled).is_ready()
        });
        for _ in 0..50 {
            world.turn();
        }
        world.reach(Goal::Open { ceiling: Some(200) });
        chosen.insert(
            world
                .ours
                .held
                .lock()
                .unwrap()
                .register
                .clone()
                .unwrap()
                .record
                .ceiling,
        );
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
    assert_eq!(chosen, [Some(40), Some(200)].into(), "both ways were walked");
}

/// Our store is lost after the cut, and a copy of before put in its place: the fence of this very move shows it. What was
/// given out since is said by whoever goes on, and the source does not come to it either.
// claim: P60
#[test]
fn a_store_that_is_older_than_its_cut_goes_on_with_an_advance_alone() {
    let world = world_at(&[Goal::Beside]);
    let copy = world.ours.held.lock().unwrap().clone();
    world.reach(CUT);
    for _ in 0..30 {
        world.turn();
    }
    *world.ours.held.lock().unwrap() = copy;
    let to_its_end = |goal, advance| {
        let mut run = advanced(&world, goal, advance);
        loop {
            if let Poll::Ready(done) = poll(&mut run) {
                return done;
            }
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

/// An import that stands still anywhere while others go on, and then ends as it can, changes nothing that it should not.
// claim: P57
#[test]
fn an_import_that_stood_still_ends_without_harm() {
    let others: &[&[Goal]] = &[
        &[CUT],
        &[CUT, Goal::Back],
        &[CUT, Goal::Back, CUT],
        &[Goal::Beside],
    ];
    at_every_await(|before, goal, stop| {
        for others in others {
            let world = world_at(before);
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
    let world = World::new();
    world.reach(CUT);
    let mut planned = world.ours.held.lock().unwrap().register.clone().unwrap().record;
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
        let mut run: Run<'_> = Box::pin(async { driver(&world).run(&name, &planned, goal).await });
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
    let world = World::new();
    world.reach(Goal::Beside);
    let settings = DriveSettings {
        follow: Duration::from_secs(1),
        ..DriveSettings::default()
    };
    world.ours.follow(0);
    world.ours.follow(1);
    let impatient = Driver {
        settings,
        ..driver(&world)
    };
    let planned = world.ours.held.lock().unwrap().register.clone().unwrap().record;
    let name = Name::new("orders").unwrap();
    let mut run: Run<'_> = Box::pin(async { impatient.run(&name, &planned, CUT).await });
    // Nobody follows while it waits.
    let error = loop {
        if let Poll::Ready(done) = poll(&mut run) {
            break done.unwrap_err();
        }
    };
    assert_eq!(error.kind, DriveErrorKind::Behind, "{error}");
    assert!(world.memory.next(KEY).is_some(), "the source is not fenced");
    drop(run);
    world.reach(CUT);
    world.check(CUT);
}
