//! `/livez`, `/readyz`, `/metrics`: for those who run the server.

use std::rc::Rc;
use std::sync::atomic::Ordering;
use std::sync::{Arc, LazyLock};

use hyper::StatusCode;
use mintage_ledger::{
    Class, Ledger, Limited, Name, NameReadiness, OriginStatus, PartReadiness, RESERVE_BUCKETS_US, Readiness,
    StoreStatus, TAKE_BUCKETS_US,
};
use mintage_wire::{Live, NotReady, OneReady, PartReady, Ready};

use super::request::Query;
use super::{Guest, may_ask_for_a_name};
use crate::auth::{Identity, Right, What};
use crate::desk::Found;
use crate::error::{CODES, Code, ServiceError};
use crate::faces;
use crate::faces::web::answer::{Response, line};
use crate::faces::web::head::{Head, Media};
use crate::metrics::{Exposition, IdKind, REQUEST_BUCKETS_US};
use crate::service::{Answer, Service};
use crate::thread::ServingThread;
use crate::{kept, process, render, unnamed};

/// `GET /livez`: the process answers.
pub(super) fn livez() -> Response {
    Response::json(StatusCode::OK, &Live { live: true })
}

/// `GET /openapi.json`: made once, since it never changes.
pub(super) fn openapi() -> Response {
    static TEXT: LazyLock<Vec<u8>> = LazyLock::new(|| line(&mintage_wire::openapi()));
    Response::new(StatusCode::OK, Media::Json.as_str(), TEXT.as_slice())
}

/// `GET /readyz?for=sequences|pools|NAME`: ids can be given out, or why not; and how long, while the store does not
/// answer. Without `for`: anything at all.
///
/// What is in use is as it was found at most a second ago; that the process stopped is told at once.
pub(super) async fn readyz(
    thread: &Rc<ServingThread>,
    guest: &Guest,
    head: &Head<'_>,
    query: &Query<'_>,
) -> Answer<Response> {
    let wanted = query.get("for")?;
    let found = thread.service().found().await?;
    let ledger = thread.service().ledger();
    let (mut ready, store) = (
        ledger.ready_as_of(&found.survey),
        ledger.status_as_of(&found.survey),
    );
    let eyes = Eyes::of(guest, thread, head, &ready, &store).await;
    let degraded = store.degraded().filter(|_| ready.ready);
    ready.notes.splice(0..0, degraded);
    let parts = [&mut ready.sequences.reasons, &mut ready.pools.reasons];
    for texts in parts.into_iter().chain([&mut ready.reasons, &mut ready.notes]) {
        eyes.narrow(texts);
    }
    let limited = store.limited.map(|why| {
        let why = match why {
            Limited::NoJournal => "no state folder",
            Limited::JournalFails => "the journal cannot be written",
        };
        format!("{why}: the outage budget of a sequence is limited by its max_gap")
    });
    let mut document = match wanted.as_deref() {
        None => Ready {
            ready: ready.ready,
            reasons: ready.reasons,
            sequences: Some(part(&ready.sequences, &eyes)),
            pools: Some(part(&ready.pools, &eyes)),
            ..Ready::default()
        },
        Some(b"sequences") => of_part(&ready.sequences, &eyes),
        Some(b"pools") => of_part(&ready.pools, &eyes),
        Some(name) => {
            may_ask_for_a_name(guest, thread, head, name).await?;
            named(thread.service(), name).await?
        }
    };
    document.notes = ready.notes.into_iter().chain(limited).collect();
    document.store = render::store_status(&store);
    if let Some(first) = &mut document.store.first_to_end
        && !eyes.see(&first.name)
    {
        first.name.clear();
    }
    let status = match document.ready {
        true => StatusCode::OK,
        false => StatusCode::SERVICE_UNAVAILABLE,
    };
    Ok(Response::json(status, &document))
}

/// Which names are told: those that whoever asks may read. A probe shows no token, and may know how many there are.
struct Eyes(Option<Identity>);

impl Eyes {
    async fn of(
        guest: &Guest,
        thread: &Rc<ServingThread>,
        head: &Head<'_>,
        ready: &Readiness,
        store: &StoreStatus,
    ) -> Eyes {
        if !thread.service().tokens().required() {
            return Eyes(Some(Identity::ANYBODY));
        }
        let names = [&ready.sequences, &ready.pools].into_iter();
        let has_names = names
            .map(|part| part.not_ready.len() + part.reasons.len())
            .sum::<usize>()
            > 0
            || !ready.notes.is_empty()
            || store.first_to_end.is_some();
        match has_names && !guest.for_health {
            // A token that is no good any more is none, so that probes that show it find out how the server is.
            true => Eyes(guest.identify(thread, head, guest.face).await.ok()),
            false => Eyes(None),
        }
    }

    fn see(&self, name: &str) -> bool {
        let named = What::Named(name.as_bytes());
        self.0.as_ref().is_some_and(|who| who.may(Right::Read, named))
    }

    /// Takes names out of texts, for who may not read them all.
    fn narrow(&self, texts: &mut Vec<String>) {
        let sees_all = self
            .0
            .as_ref()
            .is_some_and(|who| who.may(Right::Read, What::Everything));
        if !sees_all {
            texts.iter_mut().for_each(|text| *text = unnamed(text));
            texts.dedup();
        }
    }
}

fn part(part: &PartReadiness, eyes: &Eyes) -> PartReady {
    let not_ready = part
        .not_ready
        .iter()
        .map(|(name, reason)| match eyes.see(name.as_str()) {
            true => NotReady {
                name: name.to_string(),
                reason: reason.clone(),
            },
            false => NotReady {
                name: String::new(),
                reason: "it gives nothing out".into(),
            },
        });
    PartReady {
        ready: part.ready,
        reasons: part.reasons.clone(),
        not_ready: not_ready.collect(),
    }
}

fn of_part(asked: &PartReadiness, eyes: &Eyes) -> Ready {
    let part = part(asked, eyes);
    Ready {
        ready: part.ready,
        reasons: part.reasons,
        not_ready: Some(part.not_ready),
        ..Ready::default()
    }
}

/// Whether the sequence of a name, or the pool, can give something out; both, if there are both.
async fn named(service: &Arc<Service>, name: &[u8]) -> Answer<Ready> {
    let name = service.name(name)?;
    let mut known = service.ledger().name_ready(&name);
    if known.sequence.is_none() && known.pool.is_none() {
        // What nobody has used here must be reserved for first.
        let unused = || service.ledger().reserves_nothing().map_or(Ok(()), Err);
        match what_is_there(service, &name).await {
            Ok((sequence, pool)) => {
                known.sequence = sequence.then(unused);
                known.pool = pool.then(unused);
            }
            // Nobody knows whether it is there, so it gives nothing out.
            Err(error) if error.code == Code::Unavailable => {
                return Ok(Ready {
                    name: Some(name.to_string()),
                    reasons: vec![error.message.into_owned()],
                    ..Ready::default()
                });
            }
            Err(error) => return Err(error),
        }
    }
    let NameReadiness { sequence, pool } = known;
    if sequence.is_none() && pool.is_none() {
        let message = format!("there is no sequence and no pool {name}");
        return Err(ServiceError::new(Code::NotFound, message));
    }
    let reasons: Vec<String> = [&sequence, &pool]
        .into_iter()
        .filter_map(|ready| ready.clone()?.err())
        .collect();
    let one = |of: Result<(), String>| OneReady { ready: of.is_ok() };
    Ok(Ready {
        name: Some(name.to_string()),
        ready: reasons.is_empty(),
        reasons,
        sequence: sequence.map(one),
        pool: pool.map(one),
        ..Ready::default()
    })
}

/// Whether there is a sequence, and whether there is a pool, of a name.
async fn what_is_there(service: &Arc<Service>, name: &Name) -> Answer<(bool, bool)> {
    Ok((service.find(name).await?.is_some(), service.has_pool(name).await?))
}

/// `GET /metrics`
pub(super) async fn metrics(thread: &Rc<ServingThread>) -> Answer<Response> {
    let found = thread.service().found().await?;
    let mut out = Exposition::default();
    count_requests(thread, &mut out);
    process::describe(&mut out);
    describe_ledger(thread, &found, &mut out);
    let mut text = out.finish();
    text.push_str(&found.metrics);
    Ok(Response::new(
        StatusCode::OK,
        "text/plain; version=0.0.4; charset=utf-8",
        text,
    ))
}

/// What is left while the store does not answer.
fn describe_budgets(thread: &Rc<ServingThread>, found: &Found, out: &mut Exposition) {
    let ledger = thread.service().ledger();
    let status = ledger.status_as_of(&found.survey);
    if let Some(first) = &status.first_to_end {
        out.metric(
            "mint_budget_left_seconds",
            "gauge",
            "How long everything in use continues without the store.",
        );
        out.sample("mint_budget_left_seconds", &[], first.left.as_secs_f64());
    }
    out.metric("mint_store_up", "gauge", "Whether the store answers.");
    let up = status.down_for.is_none() && ledger.stopped().is_none();
    out.sample("mint_store_up", &[], f64::from(u8::from(up)));
    out.metric(
        "mint_store_down_seconds",
        "gauge",
        "For how long the store has not answered.",
    );
    let down = status.down_for.unwrap_or_default();
    out.sample("mint_store_down_seconds", &[], down.as_secs_f64());
}

fn count_requests(thread: &Rc<ServingThread>, out: &mut Exposition) {
    let metrics = thread.service().metrics();
    out.metric("mint_build_info", "gauge", "The version that runs.");
    out.sample("mint_build_info", &[("version", env!("CARGO_PKG_VERSION"))], 1.0);
    out.metric("mint_uptime_seconds", "gauge", "How long the server has run.");
    out.sample(
        "mint_uptime_seconds",
        &[],
        thread.service().uptime().as_secs_f64(),
    );
    let ids = IdKind::ALL.iter().map(|kind| (kind.as_str(), metrics.ids(*kind)));
    out.counts("mint_ids_total", "counter", "Ids given out.", "kind", ids);
    let config = thread.config();
    let requests = faces::serving(&config).map(|(id, face)| (face.name, metrics.requests(id)));
    let words = "Requests, refused ones included.";
    out.counts("mint_requests_total", "counter", words, "face", requests);
    out.metric(
        "mint_request_seconds",
        "histogram",
        "How long requests took from their arrival; those that arrived together count alike.",
    );
    for (id, face) in faces::serving(&config) {
        let (buckets, sum_us) = metrics.durations(id);
        let labels = [("face", face.name)];
        out.histogram(
            "mint_request_seconds",
            &labels,
            &REQUEST_BUCKETS_US,
            &buckets,
            sum_us,
        );
    }
    count_connections(thread, out);
}

fn count_connections(thread: &Rc<ServingThread>, out: &mut Exposition) {
    let metrics = thread.service().metrics();
    let refused = CODES.iter().map(|row| (row.name, metrics.refused(row.code)));
    let words = "Requests and connections that were refused, by error code.";
    out.counts("mint_refused_total", "counter", words, "code", refused);
    let config = thread.config();
    let open = faces::serving(&config).map(|(id, face)| (face.name, metrics.connections(id)));
    out.counts("mint_connections", "gauge", "Open connections.", "face", open);
    out.metric(
        "mint_face_requests_total",
        "counter",
        "Requests of other systems' clients, by how they were answered: ok, or the code of the refusal.",
    );
    for (id, face) in faces::serving(&config).filter(|(_, face)| face.is_foreign()) {
        let codes = CODES
            .iter()
            .map(|row| (row.name, metrics.face_answers(id, Some(row.code))));
        let refused = codes.filter(|(_, count)| *count > 0);
        for (answer, count) in [("ok", metrics.face_answers(id, None))]
            .into_iter()
            .chain(refused)
        {
            let labels = [("face", face.name), ("answer", answer)];
            out.sample("mint_face_requests_total", &labels, count as f64);
        }
    }
    faces::tell(thread.shared(), out);
    out.metric(
        "mint_unread_bytes",
        "gauge",
        "Answers that are made and have not been read, and room for those that are being made.",
    );
    let shared = thread.shared();
    let unread = shared.unread.bytes() + shared.unread_of_unknown.bytes();
    out.sample("mint_unread_bytes", &[], unread as f64);
    kept::describe(thread.shared(), out);
}

/// The sources out of which sequences take numbers, those that were used.
fn describe_origins(ledger: &Ledger, out: &mut Exposition) {
    let origins = ledger.origins();
    let each = |of: fn(&OriginStatus) -> u64| origins.iter().map(move |o| (o.source.as_str(), of(o)));
    let up = each(|origin| u64::from(origin.down_for.is_none()));
    let words = "Whether a source out of which sequences take numbers answers.";
    out.counts("mint_origin_up", "gauge", words, "source", up);
    let words = "How long takes out of a source took, failed ones included.";
    out.metric("mint_origin_take_seconds", "histogram", words);
    for origin in &origins {
        let labels = [("source", origin.source.as_str())];
        let (buckets, sum_us) = (&origin.take_buckets, origin.take_us);
        out.histogram(
            "mint_origin_take_seconds",
            &labels,
            &TAKE_BUCKETS_US,
            buckets,
            sum_us,
        );
    }
    let failed = each(|origin| origin.failed);
    let words = "Takes out of a source that failed, or whose answer did not come.";
    out.counts("mint_origin_failed_total", "counter", words, "source", failed);
    let words = "Numbers that were taken out of a source.";
    out.counts(
        "mint_origin_numbers_total",
        "counter",
        words,
        "source",
        each(|origin| origin.numbers),
    );
    let words = "Numbers asked of a source whose answer did not come: they may be gone there, and nobody is given them.";
    out.counts(
        "mint_origin_spent_total",
        "counter",
        words,
        "source",
        each(|origin| origin.spent),
    );
}

fn describe_ledger(thread: &Rc<ServingThread>, found: &Found, out: &mut Exposition) {
    let ledger = thread.service().ledger();
    let counters = ledger.counters();
    out.metric("mint_sequences", "gauge", "Sequences that exist.");
    out.sample("mint_sequences", &[], ledger.sequence_count() as f64);

    out.metric(
        "mint_near_names_total",
        "counter",
        "Sequences made by their first use under a name that is nearly another one.",
    );
    out.sample("mint_near_names_total", &[], thread.service().near_names() as f64);

    out.metric("mint_reserve_seconds", "histogram", "How long reservations took.");
    let buckets = counters
        .reserve_buckets
        .each_ref()
        .map(|bucket| bucket.load(Ordering::Relaxed));
    let sum_us = counters.reserve_us.load(Ordering::Relaxed);
    out.histogram("mint_reserve_seconds", &[], &RESERVE_BUCKETS_US, &buckets, sum_us);

    out.metric(
        "mint_gap_ids_total",
        "counter",
        "Numbers reserved and known to be lost.",
    );
    out.sample(
        "mint_gap_ids_total",
        &[],
        counters.gap_ids.load(Ordering::Relaxed) as f64,
    );

    describe_origins(ledger, out);
    let clock = ledger.clock();
    let report = clock.report();
    out.metric(
        "mint_clock_offset_seconds",
        "gauge",
        "Wall clock minus the clock that ids read.",
    );
    out.sample("mint_clock_offset_seconds", &[], report.offset_ns as f64 / 1e9);
    out.metric(
        "mint_clock_steps_total",
        "counter",
        "How often the wall clock was stepped.",
    );
    out.sample("mint_clock_steps_total", &[], report.steps as f64);
    out.metric(
        "mint_clock_refused",
        "gauge",
        "1 while ids that carry the time are refused, since the clocks disagree.",
    );
    out.sample(
        "mint_clock_refused",
        &[],
        f64::from(u8::from(clock.refusal().is_some())),
    );

    describe_budgets(thread, found, out);
    out.metric(
        "mint_store_class",
        "gauge",
        "What the store may forget: 1 at its class.",
    );
    for class in [Class::Survives, Class::Durable, Class::Lossy] {
        out.sample(
            "mint_store_class",
            &[("class", class.letter())],
            f64::from(u8::from(ledger.store_class() == class)),
        );
    }
}
