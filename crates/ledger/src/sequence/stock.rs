//! Numbers in memory: the hot path of a sequence.
//!
//! ```text
//!   current: Arc<Block> ── used ──▶│◀── limit          spare: ranges that do not touch the current block
//!            [ issued … | stock … ]                      (other nodes claimed between)
//! ```
//!
//! A take reads `used`, refuses without adding when the block has not that many left, adds, and checks the
//! result again (protocol W4's order, S2's counters from 0). One task per sequence installs, extends and
//! closes blocks; any number of threads take.

use std::collections::VecDeque;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex};

use arc_swap::ArcSwap;
use mintage::Run;

use super::counter::{Counter, Take};
use super::range::{Ask, HeldBlock, Range, lined_up, push, shorten, take_from, total};

/// A reserved run of numbers that threads take from.
#[derive(Debug)]
struct Block {
    first: i64,
    step: i64,
    /// The ordinal of `first`.
    ordinal: u64,
    counter: Counter,
    /// The last number issued before this block.
    before: Option<i64>,
}

/// The most numbers that one take without the lock may add to a block's counter.
pub(crate) const TAKE_MAX: u64 = 1 << 40;
/// The longest run: all that the mark of a record may count. Those above [`TAKE_MAX`] are taken under the lock.
pub(crate) const RUN_MAX: u64 = i64::MAX as u64;
/// The largest block; what is left of a longer range is the next block. A counter stays far below its closing mark.
const BLOCK_MAX: u64 = 1 << 61;

impl Block {
    fn new(range: Option<Range>, before: Option<i64>, low_water: u64) -> Block {
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

    /// What is left from offset `used` on, before `limit`.
    fn rest(&self, used: u64, limit: u64) -> Option<Range> {
        (used < limit).then(|| Range {
            ordinal: self.ordinal + used,
            run: self.run(used, limit - used),
        })
    }

    fn last_issued(&self) -> Option<i64> {
        match self.counter.used() {
            0 => self.before,
            used => Some(self.value(used - 1)),
        }
    }
}

/// Takes the first range out of a line, as far as it is one block.
fn next_block(line: &mut VecDeque<Range>) -> Option<Range> {
    let (head, tail) = line.pop_front()?.split(BLOCK_MAX);
    if let Some(tail) = tail {
        line.push_front(tail);
    }
    Some(head)
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

/// What [`Stock::serve`] came to.
#[derive(Debug, Default, PartialEq, Eq)]
pub(crate) struct Served {
    /// What the caller has.
    pub(crate) run: Option<Run>,
    /// How many numbers were passed over for it; nobody gets them.
    pub(crate) passed: u64,
    /// The stock is now low: refill.
    pub(crate) low: bool,
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
}

impl Stock {
    /// Nothing in stock; `last` is the last number known to be issued.
    pub(crate) fn empty(last: Option<i64>) -> Stock {
        Stock {
            current: ArcSwap::from_pointee(Block::new(None, last, 0)),
            spare: Mutex::new(VecDeque::new()),
            taken_before: AtomicU64::new(0),
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
                // A block is closed for a moment, too, while its rest goes into the next.
                Take::Exhausted | Take::Closed if self.advance() => {}
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
        let Some(range) = next_block(&mut spare) else {
            return false;
        };
        self.taken_before
            .fetch_add(block.counter.used(), Ordering::Relaxed);
        let next = Block::new(Some(range), block.last_issued(), block.counter.low_water());
        self.current.store(Arc::new(next));
        true
    }

    /// Closes the block by one swap and hands back everything unused, in order; takes find nothing until the
    /// next [`Stock::install`]. The task only.
    pub(crate) fn close(&self) -> Vec<Range> {
        let mut spare = self.spare.lock().expect("no panic while held");
        let block = self.current.load();
        let Some((used, limit)) = block.counter.close() else {
            return Vec::new();
        };
        self.taken_before.fetch_add(used, Ordering::Relaxed);
        block
            .rest(used, limit)
            .into_iter()
            .chain(spare.drain(..))
            .collect()
    }

    /// Opens the stock again with these ranges; `last` is the last number issued meanwhile, if any. The task only.
    pub(crate) fn install(&self, mut ranges: VecDeque<Range>, last: Option<i64>, low_water: u64) {
        let mut spare = self.spare.lock().expect("no panic while held");
        debug_assert!(self.current.load().counter.is_closed() || spare.is_empty());
        let before = last.or(self.current.load().last_issued());
        let block = Block::new(next_block(&mut ranges), before, low_water);
        *spare = ranges;
        self.current.store(Arc::new(block));
    }

    /// Opens an empty stock of which `last` is the last number issued. After [`Stock::close`].
    pub(crate) fn restart(&self, last: Option<i64>) {
        let mut spare = self.spare.lock().expect("no panic while held");
        spare.clear();
        let block = Block::new(None, last, 0);
        self.current.store(Arc::new(block));
    }

    /// Puts `more` behind what is in stock and takes what is asked for from the front of it all; for a run, what lies
    /// before the first place that has it is passed over. Numbers rise, whoever asks for singles and who for runs
    /// (protocol S2): nothing that lies below a number that was answered is given out later. Where nothing fits, `more`
    /// stays in stock.
    pub(crate) fn serve(&self, ask: Ask, more: Option<Range>, low_water: Option<u64>) -> Served {
        let mut spare = self.spare.lock().expect("no panic while held");
        let block = self.current.load();
        let fits = |range: &Range| ask.fits(range);
        let left = block.rest(block.counter.used(), block.counter.limit());
        if block.counter.is_closed() && more.is_none() {
            return Served::default();
        }
        if more.is_none()
            && !lined_up(left.into_iter().chain(spare.iter().copied()))
                .iter()
                .any(fits)
        {
            return Served::default();
        }
        self.line_up(&mut spare, Some(ask), more, low_water, u64::MAX)
    }

    /// As [`Stock::serve`], of what came in several runs: it goes behind what is in stock, as far as no more than `most`
    /// numbers are left once `ask` is served; the last ones are passed over.
    pub(crate) fn put(&self, ask: Option<Ask>, more: Vec<Range>, low_water: u64, most: u64) -> Served {
        let mut spare = self.spare.lock().expect("no panic while held");
        self.line_up(&mut spare, ask, more, Some(low_water), most)
    }

    /// Puts `more` behind all that is in stock and takes from the front; with the lock on the spare ranges.
    fn line_up(
        &self,
        spare: &mut VecDeque<Range>,
        ask: Option<Ask>,
        more: impl IntoIterator<Item = Range>,
        low_water: Option<u64>,
        most: u64,
    ) -> Served {
        let block = self.current.load();
        // Whoever takes now waits for what is stored below.
        let rest = block.counter.close().and_then(|(used, limit)| {
            self.taken_before.fetch_add(used, Ordering::Relaxed);
            block.rest(used, limit)
        });
        let mut line = lined_up(rest.into_iter().chain(spare.drain(..)).chain(more));
        let mut served = Served::default();
        let mut last = block.last_issued();
        if let Some((passed, run)) = ask.and_then(|ask| take_from(&mut line, ask)) {
            self.taken_before.fetch_add(run.count, Ordering::Relaxed);
            last = Some(run.last());
            (served.passed, served.run) = (total(&passed), Some(run));
        }
        served.passed += shorten(&mut line, most);
        let low_water = low_water.unwrap_or(block.counter.low_water());
        served.low = total(&line) <= low_water;
        let next = Block::new(next_block(&mut line), last, low_water);
        *spare = line;
        self.current.store(Arc::new(next));
        served
    }

    /// What is in stock and goes on with `next`: its end, if `next` touches that.
    pub(crate) fn touching(&self, next: &Range) -> u64 {
        let spare = self.spare.lock().expect("no panic while held");
        let block = self.current.load();
        let left = block.rest(block.counter.used(), block.counter.limit());
        let end = lined_up(left.into_iter().chain(spare.iter().copied())).pop_back();
        end.filter(|end| !block.counter.is_closed() && end.touches(next))
            .map_or(0, |end| end.run.count)
    }

    /// Adds a range behind what is in stock, without disturbing takers. The task only.
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
        let fits = limit.saturating_add(range.run.count) <= BLOCK_MAX;
        let continues = spare.is_empty() && limit > 0 && fits && held.touches(&range);
        if continues && block.counter.extend(range.run.count) {
            // In place: a single server never jumps.
        } else {
            push(&mut spare, range);
        }
    }

    /// How many numbers are in stock.
    pub(crate) fn unused(&self) -> u64 {
        let spare = self.spare.lock().expect("no panic while held");
        let block = self.current.load();
        block.counter.left() + total(&*spare)
    }

    /// What is in stock, in the order in which it leaves.
    pub(crate) fn ranges(&self) -> Vec<Range> {
        let spare = self.spare.lock().expect("no panic while held");
        let block = self.current.load();
        let left = match block.counter.is_closed() {
            true => None,
            false => block.rest(block.counter.used(), block.counter.limit()),
        };
        left.into_iter().chain(spare.iter().copied()).collect()
    }

    /// The blocks in stock, in the order in which they leave.
    pub(crate) fn blocks(&self) -> Vec<HeldBlock> {
        let spare = self.spare.lock().expect("no panic while held");
        let block = self.current.load();
        let (used, left) = (block.counter.used(), block.counter.left());
        let current = (used + left > 0).then(|| HeldBlock {
            left: block.run(used, left),
            size: used + left,
        });
        current
            .into_iter()
            .chain(spare.iter().map(HeldBlock::from))
            .collect()
    }

    /// How many numbers were ever taken from this stock.
    pub(crate) fn taken(&self) -> u64 {
        let block = self.current.load();
        let live = match block.counter.is_closed() {
            true => 0,
            false => block.counter.used(),
        };
        self.taken_before.load(Ordering::Relaxed).saturating_add(live)
    }

    /// The last number known to be issued.
    pub(crate) fn last_issued(&self) -> Option<i64> {
        self.current.load().last_issued()
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::disallowed_methods)]

    use std::sync::atomic::AtomicBool;

    use mintage_testing::{distinct, invariant};

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

    fn run(n: u64) -> Ask {
        Ask { n, contiguous: true }
    }

    fn single(n: u64) -> Ask {
        Ask { n, contiguous: false }
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
    fn a_run_comes_from_the_first_place_that_has_it_and_what_lies_before_is_passed_over() {
        let stock = Stock::empty(Some(7));
        stock.append(range(7, 3), 0);
        assert_eq!(taken(&stock, 1).map(|run| run.first), Some(8));
        assert_eq!(stock.serve(run(3), None, None), Served::default());
        // What touches is one run.
        let served = stock.serve(run(4), Some(range(10, 4)), Some(1));
        assert_eq!(served.run.map(|run| (run.first, run.count)), Some((9, 4)));
        assert_eq!((served.passed, served.low), (0, false));
        let served = stock.serve(run(3), Some(range(100, 5)), None);
        assert_eq!(served.run.map(|run| (run.first, run.count)), Some((101, 3)));
        assert_eq!(served.passed, 2, "13 and 14");
        assert_eq!(stock.last_issued(), Some(103));
        assert_eq!(taken(&stock, 1).map(|run| run.first), Some(104));
        // Singles come from the front; a run that fits nowhere leaves everything where it is.
        let served = stock.serve(single(1), Some(range(200, 2)), None);
        assert_eq!(served.run.map(|run| run.first), Some(105));
        assert_eq!(stock.serve(run(9), Some(range(300, 2)), None).run, None);
        assert_eq!(stock.touching(&range(302, 1)), 2);
        assert_eq!(stock.touching(&range(303, 1)), 0);
        assert_eq!((stock.unused(), stock.taken()), (4, 10));
        stock.close();
        assert_eq!(stock.serve(single(1), None, None), Served::default());
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
        for n in [5, 6, TAKE_MAX + 1, RUN_MAX, u64::MAX] {
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
    fn runs_are_as_long_as_there_are_numbers() {
        let stock = Stock::empty(None);
        let long = RUN_MAX - 10;
        stock.append(range(0, 5), 0);
        // Other servers took what lies between, so that the five are passed over.
        let served = stock.serve(run(long), Some(range(7, long + 2)), None);
        assert_eq!(served.run.map(|run| (run.first, run.count)), Some((8, long)));
        assert_eq!((served.passed, stock.unused()), (5, 2));
        assert_eq!(taken(&stock, 9).map(|run| run.count), Some(2));
        // What is left of such a range is several blocks, and a run that spans them is one.
        let stock = Stock::empty(None);
        stock.append(range(0, 1), 0);
        assert_eq!(taken(&stock, 1).map(|run| (run.first, run.count)), Some((1, 1)));
        stock.append(range(1, RUN_MAX - 1), 0);
        assert_eq!(taken(&stock, 3).map(|run| (run.first, run.count)), Some((2, 3)));
        assert_eq!(stock.unused(), RUN_MAX - 4);
        assert_eq!(
            stock.take_exactly(BLOCK_MAX),
            Taken::Empty,
            "not without the lock"
        );
        let served = stock.serve(run(RUN_MAX - 5), None, None);
        assert_eq!(
            served.run.map(|run| (run.first, run.last())),
            Some((5, i64::MAX - 1))
        );
        assert_eq!(
            taken(&stock, 2).map(|run| (run.first, run.count)),
            Some((i64::MAX, 1))
        );
        assert_eq!(stock.take(1), Taken::Empty);
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
    fn takers_and_the_task_neither_repeat_nor_lose_much() {
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
                    stock.install(rest.into(), None, 5);
                }
                1 => given_back += stock.close().iter().map(|range| range.run.count).sum::<u64>(),
                2 => stock.install([range(reserved, count)].into(), None, 5),
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
        let all: Vec<i64> = runs.into_iter().flatten().collect();
        let (count, last) = (all.len() as u64, *all.iter().max().unwrap());
        distinct("numbers", all);
        invariant!(
            count + given_back <= reserved && last <= reserved as i64,
            "{count} + {given_back}, up to {last}, of {reserved}"
        );
        // A take that races with an extension may lose a few.
        invariant!(
            count + given_back + 20_000 >= reserved,
            "{count} + {given_back} of {reserved}"
        );
    }
}
