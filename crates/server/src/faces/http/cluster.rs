//! `/v1/cluster`, `/v1/rehearsal`: the servers of one store, and an outage to be watched.

use std::rc::Rc;
use std::sync::Arc;
use std::time::Duration;

use hyper::StatusCode;
use mintage::{Clock, Timestamp};
use mintage_ledger::{Class, Ledger, Name, REHEARSAL_MAX, ServerInfo};
use mintage_wire::{Cluster, Rehearsal, Server, shown};

use super::document::parse;
use crate::auth::{Identity, Right, What};
use crate::error::{Code, ServiceError};
use crate::faces::web::answer::Response;
use crate::service::{Answer, Service, from_ledger};
use crate::thread::ServingThread;

/// `GET /v1/cluster`
pub(super) async fn show(thread: &Rc<ServingThread>, who: &Identity) -> Answer<Response> {
    let who = who.clone();
    let show = |service: Arc<Service>| async move {
        let ledger = service.ledger();
        let may = |name: &Name| who.may(Right::Read, What::Named(name.as_str().as_bytes()));
        let servers = ledger.servers(may).await.map_err(from_ledger)?;
        let cluster = Cluster {
            servers: servers.iter().map(server).collect(),
            scheme: ledger.store_scheme().to_string(),
            class: ledger.store_class().letter().to_string(),
            evidence: evidence(ledger),
            last_failover: last_failover(ledger),
            rehearsal_left_s: service
                .rehearsal_left()
                .map(|left| left.as_secs() + u64::from(left.subsec_nanos() > 0)),
        };
        Ok(Response::json(StatusCode::OK, &cluster))
    };
    thread.service().aside(show).await
}

fn server(info: &ServerInfo) -> Server {
    let seconds = |offset: i128| offset as f64 / 1e9;
    let worker = |(pool, worker): &(Name, u64)| format!("{pool}:{worker}");
    Server {
        name: info.name.clone(),
        instance: info.instance.clone(),
        version: info.version.clone(),
        ours: info.ours,
        lives: info.lives,
        heard_s: info.silent.as_secs_f64(),
        offset_s: info.offset_ns.map(|(offset, _)| seconds(offset)),
        offset_error_s: info.offset_ns.map(|(_, error)| error.as_secs_f64()),
        workers: info
            .workers
            .as_ref()
            .map(|workers| workers.iter().map(worker).collect()),
    }
}

/// What the store's class rests on, line by line.
fn evidence(ledger: &Ledger) -> Vec<String> {
    let durability = ledger.store_durability();
    let meaning = match durability.class {
        Class::Survives => "class S: what it has acknowledged survives a failover",
        Class::Durable => "class D: what it has acknowledged is durable in one copy",
        Class::Lossy => "class L: it may lose what it has acknowledged",
    };
    let found = durability.why.split("; ").filter(|line| !line.is_empty());
    let fix = durability.fix.map(|fix| format!("to change that: {fix}"));
    let copy = ledger
        .store_incarnation()
        .map(|copy| format!("the copy that answers: {copy}"));
    let stopped = ledger.stopped().map(|error| format!("stopped for good: {error}"));
    [meaning.to_string()]
        .into_iter()
        .chain(found.map(String::from))
        .chain(fix)
        .chain(copy)
        .chain(stopped)
        .collect()
}

/// The last time that the store was away, as far as this process has seen.
fn last_failover(ledger: &Ledger) -> Option<String> {
    if let Some(down) = ledger.store_status().down_for {
        return Some(format!("the store is away for {} s", down.as_secs()));
    }
    let (outage, ago) = ledger.last_outage()?;
    let ended = ledger.clock().now().saturating_sub(ago);
    let ended = shown(Timestamp::from_unix_millis(ended.unix_millis()));
    Some(format!(
        "the store was away for {} s, until {ended}",
        outage.lasted.as_secs()
    ))
}

/// `PUT /v1/rehearsal`
pub(super) fn rehearse(thread: &Rc<ServingThread>, body: &[u8]) -> Answer<Response> {
    let Rehearsal { seconds } = parse(body)?;
    let most = REHEARSAL_MAX.as_secs();
    if seconds > most {
        let why = format!("seconds is {seconds}, an outage is rehearsed for 1 to {most}; 0 ends it");
        return Err(ServiceError::new(Code::InvalidBody, why));
    }
    let ledger = thread.service().ledger();
    ledger.rehearse_outage(Duration::from_secs(seconds));
    Ok(Response::empty(StatusCode::NO_CONTENT))
}
