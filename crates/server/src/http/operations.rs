//! `/livez`, `/readyz`, `/metrics`: for those who run the server.

use std::rc::Rc;
use std::sync::atomic::Ordering;

use hyper::StatusCode;
use mintage_ledger::{Class, RESERVE_BUCKETS_US};
use serde_json::json;

use super::answer::Response;
use crate::desk::Found;
use crate::error::CODES;
use crate::metrics::{Exposition, Face, IdKind};
use crate::render;
use crate::service::{Answer, Worker};

/// `GET /livez`: the process answers.
pub(super) fn livez() -> Response {
    Response::json(StatusCode::OK, &json!({ "live": true }))
}

/// `GET /readyz`: ids can be given out, or why not; and how long, while the store does not answer.
///
/// What is in use is as it was found at most a second ago; that the process stopped is told at once.
pub(super) async fn readyz(worker: &Rc<Worker>) -> Answer<Response> {
    let found = worker.service().found().await?;
    let ledger = worker.service().ledger();
    let (ready, store) = (
        ledger.ready_as_of(&found.survey),
        ledger.status_as_of(&found.survey),
    );
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
    Ok(Response::json(status, &document))
}

/// `GET /metrics`
pub(super) async fn metrics(worker: &Rc<Worker>) -> Answer<Response> {
    let found = worker.service().found().await?;
    let mut out = Exposition::default();
    count_requests(worker, &mut out);
    describe_ledger(worker, &found, &mut out);
    let mut text = out.finish();
    text.push_str(&found.metrics);
    Ok(Response::new(
        StatusCode::OK,
        "text/plain; version=0.0.4; charset=utf-8",
        text,
    ))
}

/// What is left while the store does not answer.
fn describe_budgets(worker: &Rc<Worker>, found: &Found, out: &mut Exposition) {
    let ledger = worker.service().ledger();
    let status = ledger.status_as_of(&found.survey);
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
    out.metric("mint_connections", "gauge", "Open connections.");
    for face in Face::ALL {
        out.sample(
            "mint_connections",
            &[("face", face.as_str())],
            metrics.connections(face) as f64,
        );
    }
    out.metric(
        "mint_unread_bytes",
        "gauge",
        "Answers that clients have not read yet, of those that do not keep up.",
    );
    out.sample("mint_unread_bytes", &[], worker.service().unread().bytes() as f64);
}

fn describe_ledger(worker: &Rc<Worker>, found: &Found, out: &mut Exposition) {
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

    describe_budgets(worker, found, out);
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
