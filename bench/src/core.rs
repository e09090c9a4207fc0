//! The library against the crates people use today.
//!
//! Every row is measured in rounds; a round runs our side and the peer's one after the other, in an order
//! that alternates, and gives one ratio. The table shows the median of the ratios and of both sides.

use std::cell::Cell;
use std::hint::black_box;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::{Arc, Barrier};
use std::time::{Duration, Instant};

use crate::machine;

/// Nanoseconds per id.
pub(crate) type Measured = f64;

pub(crate) struct Row {
    what: &'static str,
    peer: &'static str,
    goal: f64,
    ours: Box<dyn Fn() -> Measured>,
    theirs: Box<dyn Fn() -> Measured>,
}

/// Runs every row whose name contains one of the words in `wanted` (all, if there is none).
pub fn run(wanted: &[String]) {
    let rows: Vec<Row> = rows()
        .into_iter()
        .filter(|row| wanted.is_empty() || wanted.iter().any(|word| row.what.contains(word.as_str())))
        .collect();
    println!("Measured on {}; median of {ROUNDS} rounds.\n", machine::line());
    println!("| what | ours, ns/id | peer | peer, ns/id | ratio (least, most) |");
    println!("| --- | ---: | --- | ---: | ---: |");
    for row in rows {
        // One row that fails does not take the others along.
        if catch_unwind(AssertUnwindSafe(|| measure(&row))).is_err() {
            println!("| {} | failed | {} | | |", row.what, row.peer);
        }
    }
}

/// Measures a row in rounds and prints its line.
fn measure(row: &Row) {
    let (mut ours, mut theirs, mut ratios) = (Vec::new(), Vec::new(), Vec::new());
    for round in 0..ROUNDS {
        let (a, b) = if round % 2 == 0 {
            let a = (row.ours)();
            (a, (row.theirs)())
        } else {
            let b = (row.theirs)();
            ((row.ours)(), b)
        };
        ours.push(a);
        theirs.push(b);
        ratios.push(b / a);
    }
    let ratio = median(&mut ratios);
    println!(
        "| {} | {:.2} | {} | {:.2} | {ratio:.2}x ({:.2}, {:.2}) |",
        row.what,
        median(&mut ours),
        row.peer,
        median(&mut theirs),
        ratios[0],
        ratios[ratios.len() - 1],
    );
    machine::beside_goal(&format!("{} beside {}", row.what, row.peer), ratio, row.goal);
}

const ROUNDS: usize = 21;
/// How long one side of one round runs.
const SIDE: Duration = Duration::from_millis(8);

fn median(values: &mut [f64]) -> f64 {
    values.sort_by(f64::total_cmp);
    values[values.len() / 2]
}

/// A loop of single calls.
pub(crate) fn single<T>(mut call: impl FnMut() -> T) -> Measured {
    per_id(1, || {
        black_box(call());
    })
}

/// A loop of calls that make `ids` ids each.
pub(crate) fn per_id(ids: u32, mut call: impl FnMut()) -> Measured {
    // Enough calls between two clock readings that these do not count.
    let calls = (2000 / ids).max(4);
    let start = Instant::now();
    let waited_before = WAITED.get();
    let mut made = 0u64;
    loop {
        for _ in 0..calls {
            call();
        }
        made += u64::from(calls * ids);
        let elapsed = start.elapsed();
        let waited = WAITED.get() - waited_before;
        let busy = elapsed.saturating_sub(waited);
        // Where nearly all is waiting, a shorter measurement must do.
        if busy >= SIDE || elapsed >= SIDE * 20 {
            return busy.as_nanos() as f64 / made as f64;
        }
    }
}

thread_local! {
    /// How long this thread has waited for the clock, which is no work.
    static WAITED: Cell<Duration> = const { Cell::new(Duration::ZERO) };
}

/// An error that passes as soon as the clock has come nearer.
pub(crate) trait RunAhead: std::fmt::Display {
    fn is_ahead(&self) -> bool;
}

impl RunAhead for mintage::MintError {
    fn is_ahead(&self) -> bool {
        matches!(self, mintage::MintError::TooFarAhead { .. })
    }
}

impl RunAhead for mintage::FormatError {
    fn is_ahead(&self) -> bool {
        matches!(self, mintage::FormatError::Mint(error) if error.is_ahead())
    }
}

/// What `make` makes, as soon as the clock allows it: formats that count within a second or tick have fewer places
/// than a fast machine fills, and a bench must end on any machine.
pub(crate) fn in_time<T, E: RunAhead>(mut make: impl FnMut() -> Result<T, E>) -> T {
    loop {
        match make() {
            Ok(made) => return made,
            Err(error) if error.is_ahead() => {
                let start = Instant::now();
                std::thread::sleep(Duration::from_millis(1));
                WAITED.set(WAITED.get() + start.elapsed());
            }
            Err(error) => panic!("{error}"),
        }
    }
}

/// Bursts below a Snowflake's 4096 a millisecond: wait for a fresh millisecond, then time 2000 calls.
fn burst(call: impl Fn() -> u64) -> Measured {
    let mut spent = Vec::new();
    for _ in 0..5 {
        let millis = || {
            std::time::SystemTime::UNIX_EPOCH
                .elapsed()
                .map_or(0, |d| d.as_millis())
        };
        let seen = millis();
        while millis() == seen {}
        let start = Instant::now();
        for _ in 0..2000 {
            black_box(call());
        }
        spent.push(start.elapsed().as_nanos() as f64 / 2000.0);
    }
    median(&mut spent)
}

/// Two threads on one generator: wall time over all ids, so perfect scaling halves the one-thread figure.
fn two_threads<T>(calls: u32, call: impl Fn() -> T + Sync) -> Measured {
    let barrier = Arc::new(Barrier::new(2));
    let spans: Vec<(Instant, Instant)> = std::thread::scope(|scope| {
        let threads: Vec<_> = (0..2)
            .map(|_| {
                let (barrier, call) = (barrier.clone(), &call);
                scope.spawn(move || {
                    barrier.wait();
                    let start = Instant::now();
                    for _ in 0..calls {
                        black_box(call());
                    }
                    (start, Instant::now())
                })
            })
            .collect();
        threads.into_iter().map(|t| t.join().expect("no panic")).collect()
    });
    let start = spans.iter().map(|s| s.0).min().expect("two threads");
    let end = spans.iter().map(|s| s.1).max().expect("two threads");
    (end - start).as_nanos() as f64 / f64::from(2 * calls)
}

fn rows() -> Vec<Row> {
    let mut rows = uuid_rows();
    rows.extend(text_rows());
    rows.extend(snowflake_rows());
    rows.extend(crate::formats::rows());
    rows
}

pub(crate) fn row(
    what: &'static str,
    peer: &'static str,
    goal: f64,
    ours: impl Fn() -> Measured + 'static,
    theirs: impl Fn() -> Measured + 'static,
) -> Row {
    Row {
        what,
        peer,
        goal,
        ours: Box::new(ours),
        theirs: Box::new(theirs),
    }
}

fn uuid_rows() -> Vec<Row> {
    const BATCH: usize = 1024;
    let many = |fill: fn(&mut [uuid::Uuid])| {
        move || {
            let mut ids = vec![uuid::Uuid::nil(); BATCH];
            per_id(BATCH as u32, || {
                fill(&mut ids);
                black_box(&ids);
            })
        }
    };
    const FAST: &str = "uuid, fast-rng";
    vec![
        row(
            "v4",
            FAST,
            2.7,
            || single(mintage::uuid4),
            || single(uuid::Uuid::new_v4),
        ),
        row(
            "v4, two threads",
            FAST,
            2.7,
            || two_threads(200_000, mintage::uuid4),
            || two_threads(200_000, uuid::Uuid::new_v4),
        ),
        row("v4 in bulk", FAST, 8.0, many(mintage::uuid4_many), || {
            single(uuid::Uuid::new_v4)
        }),
        row(
            "v7, one order",
            FAST,
            4.0,
            || single(mintage::uuid7),
            || single(uuid::Uuid::now_v7),
        ),
        row(
            "v7, one order, two threads",
            FAST,
            7.0,
            || two_threads(100_000, mintage::uuid7),
            || two_threads(100_000, uuid::Uuid::now_v7),
        ),
        row("v7 in bulk", FAST, 60.0, many(mintage::uuid7_many), || {
            single(uuid::Uuid::now_v7)
        }),
        row("v7, own generator", FAST, 3.0, own_v7, their_own_v7),
        row(
            "v1",
            FAST,
            2.0,
            || single(|| in_time(mintage::uuid1)),
            || single(|| uuid::Uuid::now_v1(&[1, 2, 3, 4, 5, 6])),
        ),
        row(
            "v6",
            FAST,
            2.0,
            || single(|| in_time(mintage::uuid6)),
            || single(|| uuid::Uuid::now_v6(&[1, 2, 3, 4, 5, 6])),
        ),
        row(
            "v5, name of 11 bytes",
            FAST,
            2.3,
            || single(|| mintage::uuid5(&uuid::Uuid::NAMESPACE_DNS, black_box(NAME))),
            || single(|| uuid::Uuid::new_v5(&uuid::Uuid::NAMESPACE_DNS, black_box(NAME))),
        ),
        row(
            "v3, name of 11 bytes",
            FAST,
            1.2,
            || single(|| mintage::uuid3(&uuid::Uuid::NAMESPACE_DNS, black_box(NAME))),
            || single(|| uuid::Uuid::new_v3(&uuid::Uuid::NAMESPACE_DNS, black_box(NAME))),
        ),
    ]
}

/// Text of ids that differ, from memory to memory.
fn text_rows() -> Vec<Row> {
    use uuid_simd::UuidExt;
    const SIMD: &str = "uuid-simd";
    const UUID: &str = "uuid";
    const IDS: usize = 256;
    let ids = || -> Vec<uuid::Uuid> { (0..IDS).map(|_| uuid::Uuid::new_v4()).collect() };
    let texts = || -> Vec<[u8; 36]> { ids().iter().map(mintage::uuid_text).collect() };
    let format = |call: fn(&uuid::Uuid) -> [u8; 36]| {
        let ids = ids();
        move || {
            per_id(IDS as u32, || {
                for id in &ids {
                    black_box(call(black_box(id)));
                }
            })
        }
    };
    let parse = |call: fn(&[u8; 36]) -> uuid::Uuid| {
        let texts = texts();
        move || {
            per_id(IDS as u32, || {
                for text in &texts {
                    black_box(call(black_box(text)));
                }
            })
        }
    };
    let lines = |write: fn(&[uuid::Uuid], &mut Vec<u8>)| {
        let ids = ids();
        move || {
            let mut out = Vec::with_capacity(64 * IDS);
            per_id(IDS as u32, || {
                out.clear();
                write(black_box(&ids), &mut out);
                black_box(&out);
            })
        }
    };
    let our_parse = |text: &[u8; 36]| mintage::parse_uuid(text).expect("an id");
    let our_lines =
        |ids: &[uuid::Uuid], out: &mut Vec<u8>| mintage::UuidText::Hyphenated.write_lines(ids, out);
    vec![
        row("format", SIMD, 1.0, format(mintage::uuid_text), format(simd_text)),
        row(
            "format",
            UUID,
            3.9,
            format(mintage::uuid_text),
            format(|id| {
                let mut text = [0; 36];
                id.hyphenated().encode_lower(&mut text);
                text
            }),
        ),
        row(
            "parse",
            SIMD,
            1.0,
            parse(our_parse),
            parse(|text| uuid::Uuid::parse_hyphenated(text).expect("an id")),
        ),
        row(
            "parse",
            UUID,
            5.0,
            parse(our_parse),
            parse(|text| uuid::Uuid::try_parse_ascii(text).expect("an id")),
        ),
        row(
            "format, lines in bulk",
            SIMD,
            1.7,
            lines(our_lines),
            lines(|ids, out| {
                for id in ids {
                    out.extend_from_slice(&simd_text(id));
                    out.push(b'\n');
                }
            }),
        ),
        row(
            "format, lines in bulk",
            UUID,
            6.0,
            lines(our_lines),
            lines(|ids, out| {
                let mut text = [0; 36];
                for id in ids {
                    out.extend_from_slice(id.hyphenated().encode_lower(&mut text).as_bytes());
                    out.push(b'\n');
                }
            }),
        ),
    ]
}

fn simd_text(id: &uuid::Uuid) -> [u8; 36] {
    use uuid_simd::AsOut;
    let mut text = [0; 36];
    let _ = uuid_simd::format_hyphenated(id.as_bytes(), text.as_out(), uuid_simd::AsciiCase::Lower);
    text
}

const NAME: &[u8] = b"example.com";

fn own_v7() -> Measured {
    let mut generator = mintage::V7Generator::new(mintage::SystemClock, mintage::SystemEntropy);
    single(|| in_time(|| generator.next_id()))
}

fn their_own_v7() -> Measured {
    let context = uuid::ContextV7::new();
    single(|| uuid::Uuid::new_v7(uuid::Timestamp::now(&context)))
}

fn snowflake_rows() -> Vec<Row> {
    const PEER: &str = "snowflake_me";
    let layout = || Arc::new(mintage::preset("twitter").expect("a preset").layout());
    let ours = move || mintage::Snowflake::unguarded(layout(), 1).expect("worker 1 fits");
    let theirs = || {
        snowflake_me::Snowflake::builder()
            .start_time(1_288_834_974_657)
            .machine_id(&|| Ok(1))
            .data_center_id(&|| Ok(0))
            .finalize()
            .expect("machine 1 fits")
    };
    let shared = (ours(), theirs());
    let shared_by_two = (ours(), theirs());
    let in_batches = (ours(), theirs());
    vec![
        row(
            "Snowflake, shared",
            PEER,
            2.2,
            move || burst(|| in_time(|| shared.0.mint_now())),
            move || burst(|| shared.1.next_id().expect("an id").as_u64()),
        ),
        row(
            "Snowflake, shared, two threads",
            PEER,
            4.0,
            move || two_threads_burst(|| in_time(|| shared_by_two.0.mint_now())),
            move || two_threads_burst(|| shared_by_two.1.next_id().expect("an id").as_u64()),
        ),
        row(
            "Snowflake, batch of 1000",
            PEER,
            3.0,
            move || {
                let buffer = std::cell::RefCell::new([0; 1000]);
                burst_of(|| {
                    let mut buffer = buffer.borrow_mut();
                    in_time(|| in_batches.0.mint_many_now(&mut *buffer));
                    black_box(&*buffer);
                })
            },
            move || {
                let buffer = std::cell::RefCell::new(Vec::with_capacity(1000));
                burst_of(|| {
                    let mut buffer = buffer.borrow_mut();
                    buffer.clear();
                    in_batches.1.next_ids_into(1000, &mut buffer).expect("ids");
                    black_box(&*buffer);
                })
            },
        ),
    ]
}

/// Three batches of 1000 in a fresh millisecond.
fn burst_of(call: impl Fn()) -> Measured {
    let mut spent = Vec::new();
    for _ in 0..9 {
        let millis = || {
            std::time::SystemTime::UNIX_EPOCH
                .elapsed()
                .map_or(0, |d| d.as_millis())
        };
        let seen = millis();
        while millis() == seen {}
        let start = Instant::now();
        for _ in 0..3 {
            call();
        }
        spent.push(start.elapsed().as_nanos() as f64 / 3000.0);
    }
    median(&mut spent)
}

/// Two threads, each 1500 calls from the same fresh millisecond.
fn two_threads_burst(call: impl Fn() -> u64 + Sync) -> Measured {
    let mut spent: Vec<f64> = (0..9)
        .map(|_| {
            let start_ms = std::time::SystemTime::UNIX_EPOCH
                .elapsed()
                .map_or(0, |d| d.as_millis())
                + 2;
            let spans: Vec<(Instant, Instant)> = std::thread::scope(|scope| {
                let threads: Vec<_> = (0..2)
                    .map(|_| {
                        scope.spawn(|| {
                            let millis = || {
                                std::time::SystemTime::UNIX_EPOCH
                                    .elapsed()
                                    .map_or(0, |d| d.as_millis())
                            };
                            while millis() < start_ms {}
                            let start = Instant::now();
                            for _ in 0..1500 {
                                black_box(call());
                            }
                            (start, Instant::now())
                        })
                    })
                    .collect();
                threads.into_iter().map(|t| t.join().expect("no panic")).collect()
            });
            let start = spans.iter().map(|s| s.0).min().expect("two threads");
            let end = spans.iter().map(|s| s.1).max().expect("two threads");
            (end - start).as_nanos() as f64 / 3000.0
        })
        .collect();
    median(&mut spent)
}
