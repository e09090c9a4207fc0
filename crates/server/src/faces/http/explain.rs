//! `/v1/explain/{id}`, `…/blocks`, `…/map`: where ids come from, as far as the records tell.

use std::rc::Rc;
use std::sync::Arc;

use hyper::StatusCode;
use mintage::{Clock, Reading};
use mintage_ledger::{
    MappedWindow, Name, NumberOrigin, PoolIdOrigin, PoolKind, ReservedBlock, Verdict, WindowInfo, WindowIs,
};
use mintage_wire::{
    Block, Blocks, ClockStep, Explained, MapWindow, Origin, PoolMap, Quoted, known_and_guessed, shown,
};

use super::request::Query;
use crate::auth::{Identity, Right, What};
use crate::faces::web::answer::Response;
use crate::render;
use crate::service::{Answer, Service, from_ledger};
use crate::thread::ServingThread;

/// How many sequences, and how many pools, are looked at where none is named.
const LOOKED_AT_MAX: u16 = 1000;
/// How many origins an answer has at most.
const ORIGINS_MAX: usize = 100;

/// `GET /v1/explain/{id}?sequence=NAME&pool=NAME`
pub(super) async fn explain(
    thread: &Rc<ServingThread>,
    who: &Identity,
    query: &Query<'_>,
    id: &[u8],
) -> Answer<Response> {
    let (sequence, pool) = (query.name("sequence", thread)?, query.name("pool", thread)?);
    for name in [&sequence, &pool].into_iter().flatten() {
        who.check(Right::Read, What::Named(name.as_str().as_bytes()))?;
    }
    let input = String::from_utf8_lossy(id).into_owned();
    let who = who.clone();
    let explain = |service: Arc<Service>| async move {
        let asked = Asked { sequence, pool, who };
        let explained = asked.explain(&service, input).await?;
        Ok(Response::json(StatusCode::OK, &explained))
    };
    thread.service().aside(explain).await
}

/// Who asks about what.
struct Asked {
    sequence: Option<Name>,
    pool: Option<Name>,
    who: Identity,
}

/// An id as sequences and pools have it.
struct Parts {
    number: Option<i64>,
    snowflakes: Vec<u128>,
    uuid: Option<u128>,
}

impl Parts {
    fn of(text: &str, readings: &[Reading]) -> Parts {
        let text = text.trim();
        let whole = |reading: &Reading| {
            let octets = reading.id.bytes();
            let fits = octets.len() <= 16;
            fits.then(|| {
                octets
                    .iter()
                    .fold(0_u128, |whole, octet| whole << 8 | u128::from(*octet))
            })
        };
        // In decimal it is an id of any layout, not only of those that are known by name.
        let mut snowflakes: Vec<u128> = text.parse().into_iter().collect();
        let known = readings.iter().filter(|reading| reading.format == "snowflake");
        snowflakes.extend(known.filter_map(whole));
        snowflakes.sort_unstable();
        snowflakes.dedup();
        let of_node = |reading: &&Reading| reading.format == "uuid" && matches!(reading.version, Some(1 | 6));
        Parts {
            number: text.parse().ok(),
            snowflakes,
            uuid: readings.iter().find(of_node).and_then(whole),
        }
    }

    fn is_empty(&self) -> bool {
        self.number.is_none() && self.snowflakes.is_empty() && self.uuid.is_none()
    }

    /// Those that a pool may have made.
    fn of_pool(&self, kind: &PoolKind) -> Vec<u128> {
        match kind {
            PoolKind::Snowflake(_) => self.snowflakes.clone(),
            PoolKind::Uuid1 { .. } => self.uuid.into_iter().collect(),
        }
    }
}

impl Asked {
    async fn explain(&self, service: &Arc<Service>, input: String) -> Answer<Explained> {
        let readings = service.inspect(&input);
        let (known, guesses) = known_and_guessed(&readings);
        let parts = Parts::of(&input, &readings);
        let mut explained = Explained {
            reading: known.first().or(guesses.first()).map(in_words),
            origins: Vec::new(),
            notes: Vec::new(),
            input,
        };
        if parts.is_empty() {
            explained.notes.push(no_record(&explained.input, known));
            return Ok(explained);
        }
        // Whoever names a sequence does not ask about pools.
        if let Some(number) = parts.number
            && (self.sequence.is_some() || self.pool.is_none())
        {
            self.add_sequences(service, number, &mut explained).await?;
        }
        if self.pool.is_some() || self.sequence.is_none() {
            self.add_pools(service, &parts, &mut explained).await?;
        }
        if self.sequence.is_some() && parts.number.is_none() {
            let note = "a sequence gives numbers of 64 bits, and this is none";
            explained.notes.push(note.to_string());
        }
        if self.sequence.is_none() && self.pool.is_none() {
            leave_out_what_has_not_come(&mut explained);
        }
        explained.origins.sort_by_key(|origin| rank(&origin.verdict));
        let all = explained.origins.len();
        if all > ORIGINS_MAX {
            explained.origins.truncate(ORIGINS_MAX);
            explained.notes.push(format!(
                "{} more that may have given it out are not shown",
                all - ORIGINS_MAX
            ));
        }
        if explained.origins.is_empty() {
            explained
                .notes
                .push("no sequence and no pool here can have given it out".to_string());
        }
        Ok(explained)
    }

    fn may(&self, name: &Name) -> bool {
        self.who.may(Right::Read, What::Named(name.as_str().as_bytes()))
    }

    async fn add_sequences(
        &self,
        service: &Arc<Service>,
        number: i64,
        explained: &mut Explained,
    ) -> Answer<()> {
        let ledger = service.ledger();
        let origins = match &self.sequence {
            Some(name) => {
                let found = ledger.explain_number(name, number).await.map_err(from_ledger)?;
                vec![found]
            }
            None => {
                let may = |name: &Name| self.may(name);
                let found = ledger.explain_number_of_all(number, LOOKED_AT_MAX, may).await;
                let (mut found, more) = found.map_err(from_ledger)?;
                if more {
                    let note = format!(
                        "only the first {LOOKED_AT_MAX} sequences were looked at: name the one that it may be of"
                    );
                    explained.notes.push(note);
                }
                let all = found.len();
                found.retain(|origin| origin.verdict != Verdict::Never);
                if found.len() < all {
                    let sequences = match all - found.len() {
                        1 => "1 more sequence".to_string(),
                        more => format!("{more} more sequences"),
                    };
                    explained
                        .notes
                        .push(format!("{sequences} cannot have given it out"));
                }
                found
            }
        };
        let shown = origins
            .iter()
            .map(|origin| of_sequence(origin, ledger.instance_name()));
        explained.origins.extend(shown);
        Ok(())
    }

    async fn add_pools(
        &self,
        service: &Arc<Service>,
        parts: &Parts,
        explained: &mut Explained,
    ) -> Answer<()> {
        let ledger = service.ledger();
        let names = match &self.pool {
            Some(name) => vec![name.clone()],
            None => {
                let page = ledger.pools(None, LOOKED_AT_MAX).await.map_err(from_ledger)?;
                if page.len() == usize::from(LOOKED_AT_MAX) {
                    let note = format!(
                        "only the first {LOOKED_AT_MAX} pools were looked at: name the one that it may be of"
                    );
                    explained.notes.push(note);
                }
                let seen = page
                    .into_iter()
                    .filter(|info| !parts.of_pool(&info.kind).is_empty());
                seen.map(|info| info.name).filter(|name| self.may(name)).collect()
            }
        };
        for name in names {
            let pool = ledger.existing_pool(&name).await.map_err(from_ledger)?;
            let ids = parts.of_pool(pool.kind());
            if ids.is_empty() {
                let makes = pool.kind().as_str();
                explained
                    .notes
                    .push(format!("pool {name} makes ids of another kind: {makes}"));
            }
            for id in ids {
                let origin = pool.explain_id(id).await.map_err(from_ledger)?;
                if origin.verdict != Verdict::Never || self.pool.is_some() {
                    explained.origins.push(of_pool(&name, &origin));
                }
            }
        }
        Ok(())
    }
}

/// Where somebody may have given it out, those that have not come so far are only counted.
fn leave_out_what_has_not_come(explained: &mut Explained) {
    let may_be = |origin: &Origin| rank(&origin.verdict) <= rank("possible");
    let all = explained.origins.len();
    if !explained.origins.iter().any(may_be) {
        return;
    }
    explained.origins.retain(may_be);
    match all - explained.origins.len() {
        0 => {}
        1 => explained.notes.push("1 more has not come so far".to_string()),
        more => explained.notes.push(format!("{more} more have not come so far")),
    }
}

/// What is told of ids of which no record is kept.
fn no_record(input: &str, known: &[Reading]) -> String {
    let Some(reading) = known.first() else {
        return format!("it is {}", mintage::fault(input));
    };
    let kept = "no record is kept of ids of this kind, which are made without a store";
    match reading.time {
        Some(time) => format!("{kept}: the id itself says that it was made at {time}"),
        None => format!("{kept}, and the id itself does not say when it was made"),
    }
}

/// What an id is, in a few words.
fn in_words(reading: &Reading) -> String {
    let mut words = reading.format.to_string();
    if let Some(version) = reading.version {
        words.push_str(&format!(" version {version}"));
    }
    if let Some(preset) = &reading.preset {
        words.push_str(&format!(" of preset {preset}"));
    }
    if let Some(form) = reading.form {
        words.push_str(&format!(", written in {form}"));
    }
    if let Some(time) = reading.time {
        words.push_str(&format!(", of {time}"));
    }
    words
}

/// The words of the verdicts, the surest first.
const VERDICTS: [(Verdict, &str); 5] = [
    (Verdict::Issued, "issued"),
    (Verdict::Reserved, "reserved"),
    (Verdict::Possible, "possible"),
    (Verdict::NotYet, "not_yet"),
    (Verdict::Never, "never"),
];

fn word(verdict: Verdict) -> String {
    let found = VERDICTS.iter().find(|(known, _)| *known == verdict);
    found.map_or("possible", |(_, word)| word).to_string()
}

fn rank(word: &str) -> usize {
    VERDICTS
        .iter()
        .position(|(_, known)| *known == word)
        .unwrap_or(VERDICTS.len())
}

fn of_sequence(origin: &NumberOrigin, us: &str) -> Origin {
    Origin {
        of: "sequence".to_string(),
        name: origin.name.to_string(),
        verdict: word(origin.verdict),
        says: origin.why.clone(),
        server: origin.ours.then(|| us.to_string()),
        block: origin.block.as_ref().map(block),
        window: None,
    }
}

fn of_pool(name: &Name, origin: &PoolIdOrigin) -> Origin {
    let holder = origin.window.as_ref().filter(|_| origin.by_holder);
    let called = |name: &str, owner: &str| match name {
        "" => owner.to_string(),
        name => name.to_string(),
    };
    Origin {
        of: "pool".to_string(),
        name: name.to_string(),
        verdict: word(origin.verdict),
        says: origin.why.clone(),
        server: holder.map(|window| called(&window.name, &window.owner)),
        block: None,
        window: origin.window.as_ref().map(render::window),
    }
}

fn block(block: &ReservedBlock) -> Block {
    Block {
        at: shown(block.at),
        took_us: u64::try_from(block.took.as_micros()).unwrap_or(u64::MAX),
        first: Quoted(block.numbers.first),
        last: Quoted(block.numbers.last()),
        count: block.numbers.count,
        used: block.used,
        lost: block.lost,
        given_back: block.given_back,
    }
}

/// `GET /v1/sequences/{name}/blocks`
pub(super) async fn blocks(thread: &Rc<ServingThread>, name: &[u8]) -> Answer<Response> {
    let name = thread.service().name(name)?;
    let list = |service: Arc<Service>| async move {
        let ledger = service.ledger();
        let found = ledger.reserved_blocks(&name).await.map_err(from_ledger)?;
        let blocks = Blocks {
            name: name.to_string(),
            server: ledger.instance_name().to_string(),
            blocks: found.iter().map(block).collect(),
        };
        Ok(Response::json(StatusCode::OK, &blocks))
    };
    thread.service().aside(list).await
}

/// `GET /v1/pools/{name}/map?from=WORKER&limit=N`
pub(super) async fn map(thread: &Rc<ServingThread>, query: &Query<'_>, name: &[u8]) -> Answer<Response> {
    let (from, limit) = (query.first_worker()?, query.limit()?);
    let name = thread.service().name(name)?;
    let list = |service: Arc<Service>| async move {
        let ledger = service.ledger();
        let pool = ledger.existing_pool(&name).await.map_err(from_ledger)?;
        let mapped = pool.map(from, limit).await.map_err(from_ledger)?;
        let info = pool.info();
        // A worker has one window that is not an earlier one.
        let is_now = |mapped: &&MappedWindow| mapped.is != WindowIs::Earlier;
        let full = mapped.iter().filter(is_now).count() == usize::from(limit);
        let steps = ledger.clock().steps().into_iter().map(|step| ClockStep {
            at_ms: step.at.unix_millis(),
            by_s: step.by_ms as f64 / 1000.0,
        });
        let map = PoolMap {
            name: name.to_string(),
            now_ms: ledger.clock().now().unix_millis(),
            workers: info.workers,
            window_ms: u64::try_from(info.window.as_millis()).unwrap_or(u64::MAX),
            next_from: mapped.last().filter(|_| full).map(|last| last.window.worker + 1),
            windows: mapped
                .iter()
                .map(|mapped| map_window(mapped, &info.kind))
                .collect(),
            steps: steps.collect(),
        };
        Ok(Response::json(StatusCode::OK, &map))
    };
    thread.service().aside(list).await
}

/// The smallest and the largest id that can be made in a window.
fn ids_within(window: &WindowInfo, kind: &PoolKind) -> Option<[String; 2]> {
    let PoolKind::Snowflake(layout) = kind else {
        return None;
    };
    let (from, until) = (
        layout.tick_at(window.from).ok()?,
        layout.tick_at(window.until).ok()?,
    );
    let last_of_tick = (1 << layout.sequence_bits()) - 1;
    let first = layout.pack_wide(from, window.worker, 0).ok()?;
    let last = layout
        .pack_wide(until.checked_sub(1)?, window.worker, last_of_tick)
        .ok()?;
    Some([first, last].map(|id| id.to_string()))
}

fn map_window(mapped: &MappedWindow, kind: &PoolKind) -> MapWindow {
    let window = &mapped.window;
    let [first_id, last_id] = ids_within(window, kind).map_or([None, None], |ids| ids.map(Some));
    MapWindow {
        worker: window.worker,
        owner: window.owner.clone(),
        name: window.name.clone(),
        from_ms: window.from.unix_millis(),
        until_ms: window.until.unix_millis(),
        written_ms: window.written.unix_millis(),
        is: match mapped.is {
            WindowIs::Held => "held",
            WindowIs::Passed => "passed",
            WindowIs::Released => "released",
            WindowIs::Parked => "parked",
            WindowIs::Earlier => "earlier",
        }
        .to_string(),
        ours: window.ours,
        version: mapped.version.map(Quoted),
        first_id,
        last_id,
    }
}
