//! All sequences, sorted: read once for all who page through them, and kept for some seconds.

use std::collections::HashMap;
use std::sync::{Arc, OnceLock};
use std::time::Duration;

use mintage::Clock;
use mintage_ledger::{Forecast, Ledger, Limit, Name, Passage, SequenceInfo};
use mintage_wire::{LIMIT_MAX, TopSequence};
use tokio::sync::Mutex;

use crate::error::{Answer, Code, ServiceError};
use crate::history::frame::rounded;
use crate::history::says::until_int;
use crate::render::{self, Shape};
use crate::service::from_ledger;

/// What comes first.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum By {
    /// The most numbers a second.
    Rate,
    /// The soonest end at today's rate.
    Ends,
    /// The most numbers lost.
    Lost,
    /// The highest last number.
    Last,
    /// The name.
    Name,
}

/// The sequences as they were some seconds ago at most.
#[derive(Debug, Default)]
pub(crate) struct Ranking {
    latest: std::sync::Mutex<Option<Arc<Ranked>>>,
    /// Held by the one who reads them.
    reading: Mutex<()>,
}

/// For how long it is used again.
const FRESH: Duration = Duration::from_secs(5);
/// For how long it is used while it is read anew, so that whoever pages through it never waits.
const STALE: Duration = Duration::from_secs(15);
/// For how long it is kept where nobody asks.
const KEPT: Duration = Duration::from_secs(60);
/// So many are sorted; each takes about 100 bytes, and as much again where it is in use here.
const SEQUENCES_MAX: usize = 1_000_000;

impl Ranking {
    /// The sequences; of several who ask at a time one reads them. Runs where work of any length may.
    ///
    /// # Errors
    /// [`Code::TooMany`], and what the store says.
    pub(crate) async fn now(self: &Arc<Self>, ledger: &Arc<Ledger>) -> Answer<Arc<Ranked>> {
        if let Some(ranked) = self.younger_than(FRESH) {
            return Ok(ranked);
        }
        if let Some(ranked) = self.younger_than(STALE) {
            let (ranking, ledger) = (Arc::clone(self), Arc::clone(ledger));
            tokio::spawn(async move {
                if let Ok(alone) = ranking.reading.try_lock() {
                    // Who asks when this is too old is told why it could not be read.
                    let _ = ranking.read(&ledger).await;
                    drop(alone);
                }
            });
            return Ok(ranked);
        }
        let _alone = self.reading.lock().await;
        match self.younger_than(FRESH) {
            Some(ranked) => Ok(ranked),
            None => self.read(ledger).await,
        }
    }

    fn younger_than(&self, age: Duration) -> Option<Arc<Ranked>> {
        let latest = self.latest.lock().expect("no panic while held");
        let is_young = |ranked: &&Arc<Ranked>| mintage::boottime().saturating_sub(ranked.at) < age;
        latest.as_ref().filter(is_young).cloned()
    }

    async fn read(self: &Arc<Self>, ledger: &Ledger) -> Answer<Arc<Ranked>> {
        let ranked = Arc::new(Ranked::read(ledger, SEQUENCES_MAX).await?);
        *self.latest.lock().expect("no panic while held") = Some(Arc::clone(&ranked));
        let (ranking, at) = (Arc::clone(self), ranked.at);
        tokio::spawn(async move {
            tokio::time::sleep(KEPT).await;
            let mut latest = ranking.latest.lock().expect("no panic while held");
            latest.take_if(|kept| kept.at == at);
        });
        Ok(ranked)
    }
}

/// All sequences at one moment.
#[derive(Debug, Default)]
pub(crate) struct Ranked {
    /// When they had been read, in boot time.
    at: Duration,
    /// The same in milliseconds since 1970.
    at_ms: i64,
    shapes: Vec<Shape>,
    /// In the order of names.
    rows: Vec<Row>,
    /// The other orders, each made when it is first asked for.
    orders: [OnceLock<Box<[u32]>>; 4],
}

/// A sequence, in little room: there may be a million.
#[derive(Debug)]
struct Row {
    name: Name,
    shape: u32,
    last: Option<i64>,
    /// What is known of those that are in use here, or come to something.
    known: Option<Box<Known>>,
}

#[derive(Debug)]
struct Known {
    forecast: Forecast,
    /// Few are moved.
    passage: Option<Box<Passage>>,
    here: Option<Here>,
}

/// What this process has of a sequence.
#[derive(Clone, Copy, Debug)]
struct Here {
    per_second: Option<f64>,
    stock: u64,
    stock_s: Option<f64>,
    lost: u64,
}

impl Ranked {
    async fn read(ledger: &Ledger, max: usize) -> Answer<Ranked> {
        let (mut ranked, mut shapes) = (Ranked::default(), HashMap::new());
        let mut after: Option<Name> = None;
        loop {
            let page = ledger
                .list(after.as_ref(), LIMIT_MAX)
                .await
                .map_err(from_ledger)?;
            let is_last = page.len() < usize::from(LIMIT_MAX);
            after = page.last().map(|info| info.name.clone());
            if ranked.rows.len() + page.len() > max {
                let message =
                    format!("there are more than {max} sequences, and no more than that are sorted");
                let error = ServiceError::new(Code::TooMany, message);
                return Err(error.with_hint("ask for them in the order of their names: GET /v1/sequences"));
            }
            for info in page {
                let shape = Shape::of(&info);
                let number = *shapes.entry(shape).or_insert_with(|| {
                    ranked.shapes.push(shape);
                    ranked.shapes.len() as u32 - 1
                });
                ranked.rows.push(Row::of(ledger, info, number));
            }
            if is_last {
                break;
            }
            // Others have lists to make, too.
            tokio::task::yield_now().await;
        }
        ranked.rows.shrink_to_fit();
        ranked.at = mintage::boottime();
        ranked.at_ms = ledger.clock().now().unix_millis();
        Ok(ranked)
    }

    /// When they had been read, in milliseconds since 1970.
    pub(crate) fn at_ms(&self) -> i64 {
        self.at_ms
    }

    /// A page of those that `fit`, `offset` of them passed over; and how many fit in all.
    pub(crate) fn page(
        &self,
        by: By,
        fits: impl Fn(&Name) -> bool,
        offset: u64,
        limit: u16,
    ) -> (u64, Vec<TopSequence>) {
        let (mut total, mut page) = (0, Vec::new());
        for row in self.in_order(by).filter(|row| fits(&row.name)) {
            if total >= offset && page.len() < usize::from(limit) {
                page.push(self.shown(row));
            }
            total += 1;
        }
        (total, page)
    }

    fn in_order(&self, by: By) -> Box<dyn Iterator<Item = &Row> + '_> {
        let order = match by {
            By::Name => return Box::new(self.rows.iter()),
            By::Rate => self.order(0, |row| -row.per_second()),
            By::Ends => self.order(1, |row| row.ends_s(&self.shapes[row.shape as usize])),
            By::Lost => self.order(2, |row| -(row.here().map_or(0, |here| here.lost) as f64)),
            // Whole numbers beyond 2^53 are no doubles.
            By::Last => self.order(3, |row| row.last.map_or(i128::MAX, |last| -i128::from(last))),
        };
        Box::new(order.iter().map(|at| &self.rows[*at as usize]))
    }

    /// The rows by what `first` makes of them, the least first; then by name.
    fn order<K: PartialOrd>(&self, which: usize, first: impl Fn(&Row) -> K) -> &[u32] {
        self.orders[which].get_or_init(|| {
            let mut order: Box<[u32]> = (0..self.rows.len() as u32).collect();
            let key = |at: &u32| first(&self.rows[*at as usize]);
            order.sort_by(|a, b| key(a).partial_cmp(&key(b)).unwrap_or(std::cmp::Ordering::Equal));
            order
        })
    }

    fn shown(&self, row: &Row) -> TopSequence {
        let known = row.known.as_deref();
        let (forecast, passage) = (
            known.map(|k| &k.forecast),
            known.and_then(|k| k.passage.as_deref()),
        );
        let here = row.here();
        TopSequence {
            sequence: render::sequence_of(
                &row.name,
                &self.shapes[row.shape as usize],
                row.last,
                forecast,
                passage,
            ),
            per_second: here.and_then(|here| here.per_second),
            recent: Vec::new(),
            stock: here.map(|here| here.stock),
            stock_s: here.and_then(|here| here.stock_s),
            lost: here.map(|here| here.lost),
        }
    }
}

impl Row {
    fn of(ledger: &Ledger, info: SequenceInfo, shape: u32) -> Row {
        let sequence = ledger.sequence(info.name.as_str());
        let here = sequence.map(|sequence| {
            let stock = sequence.left_in_stock();
            Here {
                per_second: sequence.is_active().then_some(rounded(stock.rate)),
                stock: stock.unused,
                stock_s: Some(stock.seconds)
                    .filter(|seconds| seconds.is_finite())
                    .map(rounded),
                lost: sequence.known_lost(),
            }
        });
        let SequenceInfo {
            name,
            last,
            forecast,
            passage,
            ..
        } = info;
        let is_known = here.is_some() || passage.is_some() || !forecast.endings.is_empty();
        let known = is_known.then(|| {
            Box::new(Known {
                forecast,
                passage: passage.map(Box::new),
                here,
            })
        });
        Row {
            name,
            shape,
            last,
            known,
        }
    }

    fn here(&self) -> Option<Here> {
        self.known.as_ref()?.here
    }

    fn per_second(&self) -> f64 {
        self.here().and_then(|here| here.per_second).unwrap_or(-1.0)
    }

    /// In how many seconds it comes to an end. Whoever has passed 2^53 long ago is meant to.
    fn ends_s(&self, shape: &Shape) -> f64 {
        let Some(known) = &self.known else {
            return f64::INFINITY;
        };
        let endings = known.forecast.endings.iter();
        let ahead = endings.filter(|end| end.limit != Limit::Double || !end.left.is_zero());
        let rate = known
            .forecast
            .rate
            .or(known.here.and_then(|here| here.per_second));
        let of_int = self.last.zip(rate);
        let of_int = of_int.and_then(|(last, rate)| until_int(last, shape.def.increment, rate));
        ahead
            .map(|end| end.left)
            .chain(of_int)
            .map(|left| left.as_secs_f64())
            .fold(f64::INFINITY, f64::min)
    }
}

#[cfg(test)]
mod tests {
    use mintage_ledger::{LedgerSettings, SequenceSpec, StoreSettings, SystemRuntime, open_store};

    use super::*;

    async fn ledger(names: &[&str]) -> Arc<Ledger> {
        let runtime = SystemRuntime::new(tokio::runtime::Handle::current());
        let store = open_store("memory:", &StoreSettings::default(), runtime.clone())
            .await
            .unwrap();
        let ledger = Ledger::open(store, LedgerSettings::default(), runtime)
            .await
            .unwrap();
        for name in names {
            ledger
                .create(&Name::new(name).unwrap(), &SequenceSpec::default())
                .await
                .unwrap();
        }
        ledger
    }

    fn names((total, page): (u64, Vec<TopSequence>)) -> (u64, Vec<String>) {
        (total, page.into_iter().map(|row| row.sequence.name).collect())
    }

    #[tokio::test]
    async fn pages_are_cut_from_one_order() {
        let ledger = ledger(&["a1", "a2", "b1", "b2", "c"]).await;
        for (name, count) in [("b1", 500), ("c", 20)] {
            ledger
                .sequence(name)
                .unwrap()
                .take_contiguous(count)
                .await
                .unwrap();
        }
        let ranked = Ranked::read(&ledger, 10).await.unwrap();
        assert_eq!(ranked.shapes.len(), 1);
        let page = |by, offset, limit| names(ranked.page(by, |_| true, offset, limit));
        let of = |names: &[&str]| (5, names.iter().map(ToString::to_string).collect());
        assert_eq!(page(By::Last, 0, 3), of(&["b1", "c", "a1"]));
        assert_eq!(page(By::Last, 3, 3), of(&["a2", "b2"]));
        assert_eq!(page(By::Name, 1, 2), of(&["a2", "b1"]));
        assert_eq!(page(By::Ends, 9, 2), of(&[]));
        let some = |name: &Name| name.as_str().starts_with('b');
        assert_eq!(names(ranked.page(By::Rate, some, 0, 1)).0, 2);
    }

    #[tokio::test]
    async fn what_has_ended_comes_first_and_what_nobody_knows_last() {
        let ledger = ledger(&["a", "z"]).await;
        let short = Name::new("short").unwrap();
        let mut spec = SequenceSpec::default();
        spec.options.max = Some(2);
        ledger.create(&short, &spec).await.unwrap();
        ledger
            .sequence("short")
            .unwrap()
            .take_contiguous(2)
            .await
            .unwrap();
        let ranked = Ranked::read(&ledger, 10).await.unwrap();
        assert_eq!(names(ranked.page(By::Ends, |_| true, 0, 2)).1, ["short", "a"]);
    }

    #[tokio::test]
    async fn more_than_can_be_sorted_are_refused_in_words() {
        let refused = Ranked::read(&*ledger(&["a", "b"]).await, 1).await.unwrap_err();
        assert_eq!(refused.code, Code::TooMany);
        assert!(refused.message.contains("more than 1 sequences"), "{refused}");
    }

    #[test]
    fn a_million_of_them_take_little() {
        let of_system = 2 * 16;
        assert!(size_of::<Row>() + 4 * size_of::<u32>() + 16 + of_system <= 112);
        assert!(size_of::<Known>() <= 144);
    }

    #[tokio::test]
    async fn whoever_asks_again_gets_what_was_read() {
        let (ledger, ranking) = (ledger(&["a"]).await, Arc::new(Ranking::default()));
        let (first, second) = tokio::join!(ranking.now(&ledger), ranking.now(&ledger));
        assert!(Arc::ptr_eq(&first.unwrap(), &second.unwrap()));
    }
}
