//! Numbers in memory: the hot path of a sequence.
//!
//! ```text
//!   current: Arc<Block> ── used ──▶│◀── limit          spare: ranges that do not touch the current block
//!            [ issued … | stock … ]                      (other nodes claimed between)
//! ```
//!
//! A take reads `used`, refuses without adding when the block has not that many left, adds, and checks the
//! result again (protocol W4's order, S2's counters from 0). One worker per sequence installs, extends and
//! closes blocks; any number of threads take.

use std::collections::VecDeque;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex};

use arc_swap::{ArcSwap, ArcSwapOption};
use mintage::Run;

use super::counter::{Counter, Take};
use super::state::Range;

/// A reserved run of numbers that threads take from.
#[derive(Debug)]
struct Block {
    first: i64,
    step: i64,
    /// The ordinal of `first`.
    ordinal: u64,
    counter: Counter,
    /// The last number issued before this block.
    before: Option<Issued>,
}

/// A number that was issued.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
struct Issued {
    /// Its ordinal; 0 where it is not known, which is before every other.
    ordinal: u64,
    value: i64,
}

/// The most numbers one take may ask for.
pub(crate) const TAKE_MAX: u64 = 1 << 40;

impl Block {
    fn new(range: Option<Range>, before: Option<Issued>, low_water: u64) -> Block {
        let empty = Range {
            ordinal: 0,
            run: Run {
                first: 0,
                step: 1,
                count: 0,
            },
        };
        let Range { ordinal, run } = range.unwrap_or(empty);
        Block {
            first: run.first,
            step: run.step,
            ordinal,
            counter: Counter::new(run.count, low_water),
            before,
        }
    }

    fn value(&self, offset: u64) -> i64 {
        // Within the run every value fits i64 (checked when it was reserved), so wrapping arithmetic on the
        // way there is exact.
        self.first.wrapping_add((offset as i64).wrapping_mul(self.step))
    }

    /// `count` numbers from offset `at` on.
    fn run(&self, at: u64, count: u64) -> Run {
        Run {
            first: self.value(at),
            step: self.step,
            count,
        }
    }

    fn last_issued(&self) -> Option<Issued> {
        match self.counter.used() {
            0 => self.before,
            used => Some(Issued {
                ordinal: self.ordinal + used - 1,
                value: self.value(used - 1),
            }),
        }
    }
}

/// A number of which only the value is known.
fn somewhere(value: i64) -> Issued {
    Issued { ordinal: 0, value }
}

/// What a take found.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum Taken {
    /// Numbers.
    Run(Run),
    /// Numbers, and the stock is now low: refill.
    RunLow(Run),
    /// Nothing in stock.
    Empty,
}

impl Taken {
    fn of(run: Run, low: bool) -> Taken {
        match low {
            true => Taken::RunLow(run),
            false => Taken::Run(run),
        }
    }
}

/// The current block and what lies behind it.
#[derive(Debug)]
pub(crate) struct Stock {
    current: ArcSwap<Block>,
    /// Held while the current block is replaced.
    spare: Mutex<VecDeque<Range>>,
    /// How many were taken from closed and exhausted blocks; the live one counts for itself.
    taken_before: AtomicU64,
    /// The last of the numbers that were issued past the stock, straight from what was reserved.
    past: ArcSwapOption<Issued>,
}

impl Stock {
    /// Nothing in stock; `last` is the last number known to be issued.
    pub(crate) fn empty(last: Option<i64>) -> Stock {
        Stock {
            current: ArcSwap::from_pointee(Block::new(None, last.map(somewhere), 0)),
            spare: Mutex::new(VecDeque::new()),
            taken_before: AtomicU64::new(0),
            past: ArcSwapOption::empty(),
        }
    }

    /// Takes a run of 1 to `n` numbers.
    pub(crate) fn take(&self, n: u64) -> Taken {
        let n = n.min(TAKE_MAX);
        loop {
            let block = self.current.load();
            match block.counter.take(n) {
                Take::Got { at, count, low } => return Taken::of(block.run(at, count), low),
                Take::Again => {}
                Take::Exhausted if self.advance() => {}
                Take::Exhausted | Take::Closed => return Taken::Empty,
            }
        }
    }

    /// Takes exactly `n` numbers from the current block, or from the next where that is used up, if it has that many
    /// left; nothing moves otherwise (protocol S2). A take that loses a race after its check gives up what it had
    /// added: a gap.
    pub(crate) fn take_exactly(&self, n: u64) -> Taken {
        if n > TAKE_MAX {
            return Taken::Empty;
        }
        loop {
            let block = self.current.load();
            match block.counter.take_exactly(n) {
                Take::Got { at, count, low } => return Taken::of(block.run(at, count), low),
                _ if block.counter.left() == 0 && self.advance() => {}
                _ => return Taken::Empty,
            }
        }
    }

    /// Puts the next spare range in the place of an exhausted block. Whether there is anything to take now.
    fn advance(&self) -> bool {
        let mut spare = self.spare.lock().expect("no panic while held");
        let block = self.current.load();
        if block.counter.is_closed() {
            return false;
        }
        if block.counter.left() > 0 {
            return true;
        }
        let Some(range) = spare.pop_front() else {
            return false;
        };
        self.taken_before
            .fetch_add(block.counter.used(), Ordering::Relaxed);
        let next = Block::new(Some(range), block.last_issued(), block.counter.low_water());
        self.current.store(Arc::new(next));
        true
    }

    /// Closes the block by one swap and hands back everything unused, in order; takes find nothing until the
    /// next [`Stock::install`]. Worker only.
    pub(crate) fn close(&self) -> Vec<Range> {
        let mut spare = self.spare.lock().expect("no panic while held");
        let block = self.current.load();
        let Some((used, limit)) = block.counter.close() else {
            return Vec::new();
        };
        self.taken_before.fetch_add(used, Ordering::Relaxed);
        let mut rest = Vec::with_capacity(1 + spare.len());
        if used < limit {
            rest.push(Range {
                ordinal: block.ordinal + used,
                run: block.run(used, limit - used),
            });
        }
        rest.extend(spare.drain(..));
        rest
    }

    /// Opens the stock again with these ranges; `last` is the last number issued meanwhile, if any. Worker only.
    pub(crate) fn install(&self, ranges: Vec<Range>, last: Option<i64>, low_water: u64) {
        let mut spare = self.spare.lock().expect("no panic while held");
        debug_assert!(self.current.load().counter.is_closed() || spare.is_empty());
        let before = last.map(somewhere).or(self.current.load().last_issued());
        let mut ranges = VecDeque::from(ranges);
        let block = Block::new(ranges.pop_front(), before, low_water);
        *spare = ranges;
        self.current.store(Arc::new(block));
    }

    /// Opens an empty stock of which `last` is the last number issued. After [`Stock::close`].
    pub(crate) fn restart(&self, last: Option<i64>) {
        let mut spare = self.spare.lock().expect("no panic while held");
        spare.clear();
        self.past.store(None);
        let block = Block::new(None, last.map(somewhere), 0);
        self.current.store(Arc::new(block));
    }

    /// Notes that `range` was issued without going through the stock.
    pub(crate) fn issued_past(&self, range: &Range) {
        if range.run.count == 0 {
            return;
        }
        let last = Issued {
            ordinal: range.ordinal + range.run.count - 1,
            value: range.run.last(),
        };
        self.past.rcu(|known| match known {
            Some(known) if known.ordinal > last.ordinal => Some(Arc::clone(known)),
            _ => Some(Arc::new(last)),
        });
    }

    /// Adds a range behind what is in stock, without disturbing takers. Worker only.
    pub(crate) fn append(&self, range: Range, low_water: u64) {
        let mut spare = self.spare.lock().expect("no panic while held");
        let block = self.current.load();
        let limit = block.counter.limit();
        block.counter.set_low_water(low_water);
        let held = Range {
            ordinal: block.ordinal,
            run: Run {
                first: block.first,
                step: block.step,
                count: limit,
            },
        };
        let continues = spare.is_empty() && limit > 0 && held.touches(&range);
        if continues && block.counter.extend(range.run.count) {
            // In place: a single server never jumps.
        } else if let Some(last) = spare.back_mut().filter(|last| last.touches(&range)) {
            last.run.count += range.run.count;
        } else {
            spare.push_back(range);
        }
    }

    /// How many numbers are in stock.
    pub(crate) fn unused(&self) -> u64 {
        let spare = self.spare.lock().expect("no panic while held");
        let block = self.current.load();
        block.counter.left() + spare.iter().map(|range| range.run.count).sum::<u64>()
    }

    /// How many numbers were ever taken from this stock.
    pub(crate) fn taken(&self) -> u64 {
        let block = self.current.load();
        let live = match block.counter.is_closed() {
            true => 0,
            false => block.counter.used(),
        };
        self.taken_before.load(Ordering::Relaxed) + live
    }

    /// The last number known to be issued.
    pub(crate) fn last_issued(&self) -> Option<i64> {
        let of_block = self.current.load().last_issued();
        let past = self.past.load().as_deref().copied();
        let last = match (of_block, past) {
            (Some(a), Some(b)) if a.ordinal >= b.ordinal => Some(a),
            (a, b) => b.or(a),
        };
        last.map(|issued| issued.value)
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::disallowed_methods)]

    use std::sync::atomic::AtomicBool;

    use super::*;

    fn range(ordinal: u64, count: u64) -> Range {
        Range {
            ordinal,
            run: Run {
                first: ordinal as i64 + 1,
                step: 1,
                count,
            },
        }
    }

    fn taken(stock: &Stock, n: u64) -> Option<Run> {
        match stock.take(n) {
            Taken::Run(run) | Taken::RunLow(run) => Some(run),
            Taken::Empty => None,
        }
    }

    #[test]
    fn a_take_gets_what_there_is() {
        let stock = Stock::empty(Some(7));
        assert_eq!(stock.take(1), Taken::Empty);
        assert_eq!(stock.last_issued(), Some(7));
        stock.append(range(7, 10), 3);
        assert_eq!(
            stock.take(6),
            Taken::Run(Run {
                first: 8,
                step: 1,
                count: 6
            })
        );
        assert_eq!(
            stock.take(1),
            Taken::RunLow(Run {
                first: 14,
                step: 1,
                count: 1
            })
        );
        assert_eq!(
            stock.take(100),
            Taken::RunLow(Run {
                first: 15,
                step: 1,
                count: 3
            })
        );
        assert_eq!(stock.take(1), Taken::Empty);
        assert_eq!(
            (stock.last_issued(), stock.taken(), stock.unused()),
            (Some(17), 10, 0)
        );
    }

    #[test]
    fn a_range_that_touches_extends_the_block() {
        let stock = Stock::empty(None);
        stock.append(range(0, 2), 0);
        stock.append(range(2, 3), 0);
        assert_eq!(
            taken(&stock, 10),
            Some(Run {
                first: 1,
                step: 1,
                count: 5
            })
        );
    }

    #[test]
    fn a_range_that_does_not_touch_waits_its_turn() {
        let stock = Stock::empty(None);
        stock.append(range(0, 2), 0);
        stock.append(range(10, 3), 0);
        assert_eq!(
            taken(&stock, 10),
            Some(Run {
                first: 1,
                step: 1,
                count: 2
            })
        );
        assert_eq!(
            taken(&stock, 2),
            Some(Run {
                first: 11,
                step: 1,
                count: 2
            })
        );
        assert_eq!(stock.unused(), 1);
        assert_eq!(stock.close(), [range(12, 1)]);
        assert_eq!(stock.take(1), Taken::Empty);
        assert_eq!(stock.last_issued(), Some(12));
        assert_eq!(stock.close(), []);
    }

    #[test]
    fn the_last_number_is_the_one_with_the_highest_ordinal() {
        let stock = Stock::empty(Some(7));
        stock.append(range(7, 3), 0);
        stock.issued_past(&range(100, 5));
        assert_eq!(stock.last_issued(), Some(105));
        assert_eq!(taken(&stock, 1).map(|run| run.first), Some(8));
        stock.issued_past(&range(50, 5));
        assert_eq!(stock.last_issued(), Some(105));
        assert_eq!(taken(&stock, 2).map(|run| run.first), Some(9));
        stock.append(range(200, 2), 0);
        assert_eq!(taken(&stock, 1).map(|run| run.first), Some(201));
        assert_eq!(stock.last_issued(), Some(201));
        stock.close();
        stock.restart(Some(3));
        assert_eq!(stock.last_issued(), Some(3));
    }

    /// What was reserved for a run stayed in stock, since the block before it was used up and in the way: the run was
    /// reserved once more, and more than `max_gap` could be lost.
    #[test]
    fn an_exact_take_finds_the_range_behind_a_block_that_is_used_up() {
        let stock = Stock::empty(None);
        assert_eq!(stock.take_exactly(1), Taken::Empty);
        stock.append(range(1, 8), 0);
        assert!(matches!(stock.take_exactly(5), Taken::Run(run) if run.first == 2));
        stock.append(range(20, 4), 0);
        assert_eq!(stock.take_exactly(4), Taken::Empty, "three are left before it");
        assert!(matches!(stock.take_exactly(3), Taken::RunLow(run) if run.first == 7));
        assert!(matches!(stock.take_exactly(4), Taken::RunLow(run) if run.first == 21));
        assert_eq!(stock.take_exactly(1), Taken::Empty);
    }

    #[test]
    fn an_exact_take_moves_nothing_unless_it_fits() {
        let stock = Stock::empty(None);
        stock.append(range(0, 5), 0);
        assert_eq!(taken(&stock, 1).map(|run| run.first), Some(1));
        for n in [5, 6, u64::MAX] {
            assert_eq!(stock.take_exactly(n), Taken::Empty);
        }
        assert_eq!(
            stock.take_exactly(4),
            Taken::RunLow(Run {
                first: 2,
                step: 1,
                count: 4
            })
        );
        assert_eq!(stock.take_exactly(1), Taken::Empty);
    }

    #[test]
    fn refused_takes_of_any_size_move_nothing() {
        let stock = Stock::empty(None);
        stock.append(range(0, 5), 0);
        assert_eq!(taken(&stock, u64::MAX).map(|run| run.count), Some(5));
        for _ in 0..100 {
            assert_eq!(stock.take(u64::MAX), Taken::Empty);
        }
        stock.append(range(5, 5), 0);
        assert_eq!(taken(&stock, 1).map(|run| run.first), Some(6));
    }

    #[test]
    fn takers_and_the_worker_neither_repeat_nor_lose_much() {
        let stock = Arc::new(Stock::empty(None));
        let done = Arc::new(AtomicBool::new(false));
        let takers: Vec<_> = (0..3)
            .map(|at| {
                let (stock, done) = (stock.clone(), done.clone());
                std::thread::spawn(move || {
                    let mut got = Vec::new();
                    while !done.load(Ordering::Relaxed) {
                        match taken(&stock, 1 + (got.len() as u64 + at) % 7) {
                            Some(run) => got.push(run),
                            None => std::thread::yield_now(),
                        }
                    }
                    got
                })
            })
            .collect();
        let mut reserved = 0;
        let mut given_back = 0;
        for round in 0..20_000u64 {
            let count = 1 + round % 50;
            match round % 10 {
                // As a take that waits does: close, claim, serve, install.
                0 => {
                    let mut rest = stock.close();
                    rest.push(range(reserved, count));
                    stock.install(rest, None, 5);
                }
                1 => given_back += stock.close().iter().map(|range| range.run.count).sum::<u64>(),
                2 => stock.install(vec![range(reserved, count)], None, 5),
                _ => stock.append(range(reserved, count), 5),
            }
            if round % 10 != 1 {
                reserved += count;
            }
            while stock.unused() > 500 {
                std::thread::yield_now();
            }
        }
        while stock.unused() > 0 {
            std::thread::yield_now();
        }
        done.store(true, Ordering::Relaxed);
        let runs: Vec<Run> = takers
            .into_iter()
            .flat_map(|taker| taker.join().unwrap())
            .collect();
        let mut all: Vec<i64> = runs.into_iter().flatten().collect();
        let count = all.len() as u64;
        all.sort_unstable();
        all.dedup();
        assert_eq!(all.len() as u64, count, "repeats");
        assert!(count + given_back <= reserved && *all.last().unwrap() <= reserved as i64);
        // A take that races with an extension may lose a few.
        assert!(
            count + given_back + 20_000 >= reserved,
            "{count} + {given_back} of {reserved}"
        );
    }
}
