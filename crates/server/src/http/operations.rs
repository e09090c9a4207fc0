//! `/livez`, `/readyz`, `/metrics`: for those who run the server.

use std::rc::Rc;
use std::sync::atomic::Ordering;

use hyper::StatusCode;
use mintage_ledger::{Class, Forecast, RESERVE_BUCKETS_US};
use serde_json::json;

use super::answer::Response;
use crate::error::CODES;
use crate::metrics::{Exposition, Face, IdKind};
use crate::render;
use crate::service::Worker;

/// `GET /livez`: the process answers.
pub(super) fn livez() -> Response {
    Response::json(StatusCode::OK, &json!({ "live": true }))
}

/// `GET /readyz`: ids can be given out, or why not; and how long, while the store does not answer.
pub(super) fn readyz(worker: &Rc<Worker>) -> Response {
    let ledger = worker.service().ledger();
    let (ready, store) = (ledger.ready(), ledger.store_status());
    let status = if ready.ready {
        StatusCode::OK
    } else {
        StatusCode::SERVICE_UNAVAILABLE
    };
    let notes: Vec<String> = store
        .degraded()
        .into_iter()
        .chain(store.limited.map(String::from))
        .chain(ready.notes)
        .collect();
    let document = json!({
        "ready": ready.ready,
        "reasons": ready.reasons,
        "notes": notes,
        "store": render::store_status(&store),
    });
    Response::json(status, &document)
}

/// `GET /metrics`
pub(super) fn metrics(worker: &Rc<Worker>) -> Response {
    let mut out = Exposition::default();
    count_requests(worker, &mut out);
    describe_ledger(worker, &mut out);
    Response::new(
        StatusCode::OK,
        "text/plain; version=0.0.4; charset=utf-8",
        out.finish(),
    )
}

/// When things end at today's rate: those in use, the busiest first.
fn describe_ends(worker: &Rc<Worker>, out: &mut Exposition) {
    let ledger = worker.service().ledger();
    let names = usize::try_from(worker.config().metrics_names).unwrap_or(usize::MAX);
    out.metric(
        "mint_ends_seconds",
        "gauge",
        "When a sequence or pool reaches a limit at today's rate; 0: it has.",
    );
    let mut put = |kind: &str, name: &str, forecast: &Forecast| {
        for ending in &forecast.endings {
            let labels = [("kind", kind), ("name", name), ("limit", ending.limit.as_str())];
            out.sample("mint_ends_seconds", &labels, ending.left.as_secs_f64());
        }
    };
    for stock in ledger.stocks().iter().take(names) {
        if let Some(sequence) = ledger.sequence(stock.name.as_str()) {
            put("sequence", stock.name.as_str(), &sequence.forecast());
        }
    }
    for pool in ledger.pools_held().iter().take(names) {
        put("pool", pool.name.as_str(), &pool.forecast);
    }
}

/// What is left while the store does not answer.
fn describe_budgets(worker: &Rc<Worker>, out: &mut Exposition) {
    let ledger = worker.service().ledger();
    let names = usize::try_from(worker.config().metrics_names).unwrap_or(usize::MAX);
    out.metric(
        "mint_stock_seconds",
        "gauge",
        "How long a sequence in use goes on without its store at its present rate; the busiest sequences.",
    );
    for stock in ledger.stocks().iter().take(names) {
        out.sample(
            "mint_stock_seconds",
            &[("name", stock.name.as_str())],
            stock.seconds,
        );
    }
    out.metric(
        "mint_window_until_seconds",
        "gauge",
        "How long a pool can mint without its store.",
    );
    for pool in ledger.windows_left().iter().take(names) {
        let left = pool.left.as_secs_f64();
        out.sample("mint_window_until_seconds", &[("pool", pool.name.as_str())], left);
    }
    let status = ledger.store_status();
    if let Some(first) = &status.first_to_end {
        out.metric(
            "mint_budget_left_seconds",
            "gauge",
            "How long everything in use goes on without the store.",
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

fn count_requests(worker: &Rc<Worker>, out: &mut Exposition) {
    let metrics = worker.service().metrics();
    out.metric("mint_build_info", "gauge", "The version that runs.");
    out.sample("mint_build_info", &[("version", env!("CARGO_PKG_VERSION"))], 1.0);
    out.metric("mint_uptime_seconds", "gauge", "How long the server has run.");
    out.sample(
        "mint_uptime_seconds",
        &[],
        worker.service().uptime().as_secs_f64(),
    );
    out.metric("mint_ids_total", "counter", "Ids given out.");
    for kind in IdKind::ALL {
        out.sample(
            "mint_ids_total",
            &[("kind", kind.as_str())],
            metrics.ids(kind) as f64,
        );
    }
    out.metric(
        "mint_requests_total",
        "counter",
        "Requests, refused ones included.",
    );
    for face in Face::ALL {
        out.sample(
            "mint_requests_total",
            &[("face", face.as_str())],
            metrics.requests(face) as f64,
        );
    }
    out.metric(
        "mint_refused_total",
        "counter",
        "Requests and connections that were refused, by error code.",
    );
    for row in CODES {
        out.sample(
            "mint_refused_total",
            &[("code", row.name)],
            metrics.refused(row.code) as f64,
        );
    }
    let (by_face, _) = metrics.connections();
    out.metric("mint_connections", "gauge", "Open connections.");
    for face in Face::ALL {
        out.sample(
            "mint_connections",
            &[("face", face.as_str())],
            by_face[face as usize] as f64,
        );
    }
}

fn describe_ledger(worker: &Rc<Worker>, out: &mut Exposition) {
    let ledger = worker.service().ledger();
    let counters = ledger.counters();
    out.metric("mint_sequences", "gauge", "Sequences that exist.");
    out.sample("mint_sequences", &[], ledger.sequence_count() as f64);

    out.metric("mint_reserve_seconds", "histogram", "How long reservations took.");
    let mut below = 0;
    for (bucket, bound_us) in counters.reserve_buckets.iter().zip(RESERVE_BUCKETS_US) {
        below += bucket.load(Ordering::Relaxed);
        let bound = format!("{}", bound_us as f64 / 1e6);
        out.sample("mint_reserve_seconds_bucket", &[("le", &bound)], below as f64);
    }
    let all: u64 = counters
        .reserve_buckets
        .iter()
        .map(|bucket| bucket.load(Ordering::Relaxed))
        .sum();
    out.sample("mint_reserve_seconds_bucket", &[("le", "+Inf")], all as f64);
    out.sample(
        "mint_reserve_seconds_sum",
        &[],
        counters.reserve_us.load(Ordering::Relaxed) as f64 / 1e6,
    );
    out.sample("mint_reserve_seconds_count", &[], all as f64);

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

    describe_budgets(worker, out);
    describe_ends(worker, out);
    out.metric(
        "mint_store_class",
        "gauge",
        "What the store may forget: 1 at its class.",
    );
    for (class, name) in [(Class::Survives, "S"), (Class::Durable, "D"), (Class::Lossy, "L")] {
        out.sample(
            "mint_store_class",
            &[("class", name)],
            f64::from(u8::from(ledger.store_class() == class)),
        );
    }
}
