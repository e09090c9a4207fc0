//! Measures once a second how the server fares, in a thread of its own beside those that serve.

use std::collections::VecDeque;
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::Duration;

use mintage::Clock;
use mintage_ledger::{Forecast, Limited, Name, SequenceStock, StoreStatus, Survey};
use mintage_wire::{Busy, Frame, StoreNow};
use tokio::sync::oneshot;
use tokio::task::JoinHandle;
use tokio::time::MissedTickBehavior;

use crate::error::Answer;
use crate::faces;
use crate::history::counts::{Counts, Gauges, NamedFace};
use crate::history::frame::{BUSIEST, event, rounded};
use crate::history::says::{self, Facts};
use crate::history::series::{Fold, Key, What};
use crate::history::{RECENT_NAMES, RECENT_STEP_S};
use crate::render;
use crate::service::Service;
use crate::transport::Endpoint;

/// The thread; it ends when this is dropped.
#[derive(Debug)]
pub(crate) struct Sampling {
    _end: oneshot::Sender<()>,
}

/// Begins to measure a server that speaks the Redis protocol there. Without a thread for it the server serves all the same.
pub(crate) fn start(service: Arc<Service>, resp: Option<Endpoint>) -> Option<Sampling> {
    let (end, ended) = oneshot::channel::<()>();
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_time()
        .build();
    let thread = std::thread::Builder::new().name("history".into());
    let begun = runtime.and_then(|runtime| {
        thread.spawn(move || {
            runtime.block_on(async {
                tokio::select! {
                    _ = ended => {}
                    () = follow(service, resp) => {}
                }
            });
        })
    });
    match begun {
        Ok(_) => Some(Sampling { _end: end }),
        Err(error) => {
            tracing::error!(%error, "cannot start the thread that keeps the history");
            None
        }
    }
}

async fn follow(service: Arc<Service>, resp: Option<Endpoint>) {
    let mut sampler = Sampler::new(Arc::clone(&service), mintage::boottime());
    sampler.resp = resp.map(|at| at.to_string());
    let mut looks = Looks::default();
    let learning = Arc::clone(&service);
    // Beside the seconds: where there are many names, it takes longer than one. A store that does not answer has lines of
    // its own.
    tokio::spawn(async move { learning.learn_names().await });
    let mut seconds = tokio::time::interval(SECOND);
    seconds.set_missed_tick_behavior(MissedTickBehavior::Skip);
    loop {
        seconds.tick().await;
        looks.go_on(&service, &mut sampler).await;
        sampler.tick(mintage::boottime(), service.ledger().clock().now().unix_millis());
    }
}

const SECOND: Duration = Duration::from_secs(1);
/// A rate is known once it has been seen for so long.
const A_MINUTE: Duration = Duration::from_secs(60);

/// Looks at everything in use, which may take longer than a second where that is much: one at a time.
#[derive(Default)]
struct Looks {
    seconds: u64,
    survey: Option<JoinHandle<Answer<Survey>>>,
    busiest: Option<JoinHandle<Answer<Vec<SequenceStock>>>>,
}

impl Looks {
    /// Hands over what was found, and begins to look where that is due: each second while somebody watches.
    async fn go_on(&mut self, service: &Arc<Service>, sampler: &mut Sampler) {
        if let Some(Ok(survey)) = finished(&mut self.survey).await {
            sampler.survey = Some(survey);
        }
        if let Some(Ok(busiest)) = finished(&mut self.busiest).await {
            let rates = busiest.iter().map(|stock| (stock.name.as_str(), stock.rate));
            service.history().keep_rates(rates);
        }
        let is_tenth = self.seconds.is_multiple_of(RECENT_STEP_S);
        self.seconds += 1;
        if self.survey.is_none() && (is_tenth || service.history().is_watched()) {
            let service = Arc::clone(service);
            // One of its own: what `/readyz` says is not older for being watched.
            let look = async move |service: Arc<Service>| Ok(service.ledger().survey(service.names_shown()));
            self.survey = Some(tokio::spawn(async move { service.aside(look).await }));
        }
        if self.busiest.is_none() && is_tenth {
            let service = Arc::clone(service);
            let look = async move |service: Arc<Service>| Ok(service.ledger().busiest(RECENT_NAMES));
            self.busiest = Some(tokio::spawn(async move { service.aside(look).await }));
        }
    }
}

/// What a task has answered, if it is done.
async fn finished<T>(task: &mut Option<JoinHandle<T>>) -> Option<T> {
    let done = task.take_if(|task| task.is_finished())?;
    done.await.ok()
}

/// What is remembered from one second to the next.
pub(crate) struct Sampler {
    service: Arc<Service>,
    faces: Vec<NamedFace>,
    server: String,
    resp: Option<String>,
    /// When it began, in boot time: seconds are counted from here.
    began: Duration,
    /// How many seconds have passed.
    seconds: u64,
    counts: Counts,
    /// The last minute, for refusals in it.
    minute: VecDeque<Counts>,
    /// How quick the store was when it was last asked.
    reserve_us: Option<f64>,
    /// What was found about everything in use.
    survey: Option<Survey>,
}

impl Sampler {
    pub(crate) fn new(service: Arc<Service>, now: Duration) -> Sampler {
        let faces: Vec<NamedFace> = faces::numbered().map(|(id, face)| (id, face.name)).collect();
        // Requests are answered before this thread runs for the first time: they are of the first second, too.
        let counts = Counts::at_the_start(&faces);
        Sampler {
            server: crate::opening::node_name(&service.config()),
            resp: None,
            faces,
            began: now,
            seconds: 0,
            counts,
            minute: VecDeque::new(),
            reserve_us: None,
            survey: None,
            service,
        }
    }

    /// Measures what came since the last time, keeps it and tells it. `now` is in boot time.
    pub(crate) fn tick(&mut self, now: Duration, at_ms: i64) {
        let second = now.saturating_sub(self.began).as_secs_f64().round() as u64;
        let seconds = second.saturating_sub(self.seconds);
        if seconds == 0 {
            // The first second, which nobody need wait for; else this comes late, and the next is near.
            if self.seconds == 0 {
                self.tell(at_ms, 0.0, &self.gauges().values());
            }
            return;
        }
        let counts = Counts::now(
            self.service.metrics(),
            self.service.ledger().counters(),
            &self.faces,
        );
        // By whole seconds, so that what is kept adds up to what was counted: what came a little late here is missing next.
        let span_s = seconds as f64;
        let mut values = counts.since(&self.counts, span_s);
        values.extend(self.gauges().values());
        if self.minute.len() == 60 {
            self.minute.pop_front();
        }
        self.minute.push_back(std::mem::replace(&mut self.counts, counts));
        self.seconds = second;
        self.service.history().keep(seconds, at_ms, &values);
        self.tell(at_ms, span_s, &values);
    }

    fn status(&self) -> StoreStatus {
        let ledger = self.service.ledger();
        match &self.survey {
            Some(survey) => ledger.status_as_of(survey),
            None => ledger.status_as_of(&Default::default()),
        }
    }

    fn gauges(&self) -> Gauges {
        let (metrics, ledger) = (self.service.metrics(), self.service.ledger());
        let (status, clock) = (self.status(), ledger.clock().report());
        let open = |(id, name): &NamedFace| (*name, metrics.connections(*id));
        Gauges {
            connections: self.faces.iter().map(open).collect(),
            budget_left_s: status.first_to_end.as_ref().map(|first| first.left.as_secs_f64()),
            // What is less than a millisecond is how long the two take to be read.
            clock_offset_s: (clock.offset_ns as f64 / 1e6).round() / 1e3,
            clock_steps: clock.steps,
            lost: ledger.counters().gap_ids.load(Ordering::Relaxed),
            store_up: status.down_for.is_none() && ledger.stopped().is_none(),
        }
    }

    fn tell(&mut self, at_ms: i64, span_s: f64, values: &[(Key, f64)]) {
        let of = |what| values.iter().find(|(key, _)| *key == Key::one(what));
        let reserve_us = of(What::ReserveP50).map(|(_, us)| *us);
        self.reserve_us = reserve_us.or(self.reserve_us);
        let shown = |(key, value): &(Key, f64)| {
            let exact = key.what.fold() == Fold::Last;
            (key.name(), if exact { *value } else { rounded(*value) })
        };
        let frame = Frame {
            at_ms,
            span_s,
            server: self.server.clone(),
            version: env!("CARGO_PKG_VERSION").into(),
            resp: self.resp.clone(),
            started_ms: self.service.history().started_ms(),
            series: values.iter().map(shown).collect(),
            store: self.store(),
            says: says::says(&self.facts(values)),
            busiest: self.busiest(),
            rehearsal_left_s: self.service.rehearsal_left().map(|left| left.as_secs()),
        };
        self.service.history().tell(event(frame));
    }

    fn store(&self) -> StoreNow {
        let ledger = self.service.ledger();
        let durability = ledger.store_durability();
        StoreNow {
            status: render::store_status(&self.status()),
            scheme: ledger.store_scheme().into(),
            class: durability.class.letter().into(),
            why: match durability.why.is_empty() {
                true => durability.class.meaning().into(),
                false => durability.why,
            },
            stopped: ledger.stopped().map(|error| error.to_string()),
        }
    }

    fn busiest(&self) -> Vec<Busy> {
        let stocks = self.survey.iter().flat_map(|survey| &survey.stocks);
        let busy = |stock: &SequenceStock| Busy {
            name: stock.name.to_string(),
            per_second: rounded(stock.rate),
            left_s: Some(stock.seconds).filter(|left| left.is_finite()).map(rounded),
        };
        stocks
            .filter(|stock| stock.rate > 0.0)
            .take(BUSIEST)
            .map(busy)
            .collect()
    }

    fn facts(&self, values: &[(Key, f64)]) -> Facts {
        let ledger = self.service.ledger();
        let ids = values.iter().filter(|(key, _)| key.what == What::Ids);
        let status = self.status();
        let refused = self
            .minute
            .front()
            .map(|before| self.counts.refused_since(before));
        Facts {
            ids: ids.map(|(_, rate)| rate).sum(),
            reserve_us: self.reserve_us,
            stopped: ledger.stopped().map(|error| error.to_string()),
            reserves_nothing: ledger.reserves_nothing(),
            journal_fails: status.limited == Some(Limited::JournalFails),
            down_for: status.down_for,
            first_to_end: status.first_to_end,
            rehearsal_left: self.service.rehearsal_left(),
            clock_offset_s: ledger.clock().report().offset_ns as f64 / 1e9,
            refused: refused.unwrap_or_default(),
            ends: self.ends(),
            is_young: self.service.uptime() < A_MINUTE,
        }
    }

    /// What ends at today's rate: the sequences and pools that the survey names.
    fn ends(&self) -> Vec<says::End> {
        let Some(survey) = &self.survey else {
            return Vec::new();
        };
        let all = survey.sequence_ends.iter().chain(&survey.pool_ends);
        let warned = all.flat_map(|(name, forecast)| says::ends(name.as_str(), forecast));
        let of_int = |(name, forecast): &(Name, Forecast)| {
            let sequence = self.service.ledger().sequence(name.as_str())?;
            let increment = sequence.info().def.increment;
            says::end_of_int(name.as_str(), sequence.last_issued()?, increment, forecast.rate?)
        };
        warned
            .chain(survey.sequence_ends.iter().filter_map(of_int))
            .collect()
    }
}

#[cfg(test)]
mod tests {
    use mintage_ledger::{Ledger, LedgerSettings, StoreSettings, SystemRuntime, open_store};

    use super::*;
    use crate::config::Config;
    use crate::error::Code;
    use crate::metrics::IdKind;

    async fn service() -> Arc<Service> {
        let runtime = SystemRuntime::new(tokio::runtime::Handle::current());
        let store = open_store("memory:", &StoreSettings::default(), runtime.clone())
            .await
            .unwrap();
        let ledger = Ledger::open(store, LedgerSettings::default(), runtime).await;
        Service::new(ledger.unwrap(), Arc::new(Config::default()))
    }

    fn told(service: &Service) -> Frame {
        let event = service.history().watch().borrow().clone();
        serde_json::from_slice(event.strip_prefix(b"data: ").unwrap()).unwrap()
    }

    #[tokio::test]
    async fn a_frame_says_what_the_second_brought_and_the_history_keeps_it() {
        let service = service().await;
        let began = Duration::from_secs(100);
        let mut sampler = Sampler::new(Arc::clone(&service), began);
        let thread = service.metrics().thread();
        sampler.tick(began, 1000);
        assert_eq!((told(&service).span_s, told(&service).at_ms), (0.0, 1000));
        thread.ids(IdKind::Sequence, 30);
        thread.refused(Code::NotFound);
        sampler.tick(began + SECOND, 2000);
        let frame = told(&service);
        assert_eq!((frame.span_s, frame.series["ids/sequence"]), (1.0, 30.0));
        assert_eq!(frame.says.well, "30 ids a second; the store answers.");
        assert_eq!(
            frame.says.wrong,
            "1 request was refused in the last minute (not_found)."
        );
        assert_eq!((frame.store.status.up, frame.store.class.len()), (true, 1));
        let (step_s, until_ms, series) = service.history().shown("10m").unwrap();
        assert_eq!((step_s, until_ms), (1, 2000));
        assert_eq!(series["ids/sequence"], [Some(30.0)]);
    }

    #[tokio::test]
    async fn what_was_given_out_before_the_first_look_is_of_the_first_second() {
        let service = service().await;
        service.metrics().thread().ids(IdKind::Sequence, 7);
        let mut sampler = Sampler::new(Arc::clone(&service), Duration::ZERO);
        sampler.tick(SECOND, 1000);
        assert_eq!(told(&service).series["ids/sequence"], 7.0);
    }

    #[tokio::test]
    async fn of_a_process_that_was_kept_from_running_the_time_between_is_not_known() {
        let service = service().await;
        let mut sampler = Sampler::new(Arc::clone(&service), Duration::ZERO);
        let thread = service.metrics().thread();
        sampler.tick(SECOND, 1000);
        thread.ids(IdKind::Uuid4, 60);
        sampler.tick(4 * SECOND, 4000);
        assert_eq!(
            (told(&service).span_s, told(&service).series["ids/uuid4"]),
            (3.0, 20.0)
        );
        let (_, _, series) = service.history().shown("10m").unwrap();
        assert_eq!(series["ids/uuid4"], [Some(0.0), None, None, Some(20.0)]);
    }

    #[tokio::test]
    async fn what_comes_late_is_not_followed_at_once() {
        let service = service().await;
        let mut sampler = Sampler::new(Arc::clone(&service), Duration::ZERO);
        let thread = service.metrics().thread();
        for ms in [1600, 2000, 3000] {
            thread.ids(IdKind::Uuid4, 6);
            sampler.tick(Duration::from_millis(ms), ms as i64);
        }
        let (_, _, series) = service.history().shown("10m").unwrap();
        assert_eq!(series["ids/uuid4"], [None, Some(3.0), Some(12.0)]);
    }

    #[tokio::test]
    async fn refusals_are_forgotten_after_a_minute() {
        let service = service().await;
        let mut sampler = Sampler::new(Arc::clone(&service), Duration::ZERO);
        service.metrics().thread().refused(Code::NotFound);
        let wrongs: Vec<String> = (1..=62u32)
            .map(|second| {
                sampler.tick(second * SECOND, 0);
                told(&service).says.wrong
            })
            .collect();
        assert!(wrongs[59].starts_with("1 request was refused"));
        assert_eq!(wrongs[60], "Nothing is wrong.");
    }
}
