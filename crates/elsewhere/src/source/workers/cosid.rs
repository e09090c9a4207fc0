//! CosId, in the three stores that it keeps its machines in.
//!
//! | store | a machine | one that was given back | how many were given |
//! | --- | --- | --- | --- |
//! | MySQL | `cosid_machine`: `machine_id`, `last_timestamp`, `instance_id` | the same row, without an instance | the highest |
//! | Redis | hash `cosid:{NAMESPACE}:itc_idx`, `ID\|TIME` by instance | hash `cosid:{NAMESPACE}:revert`, TIME by id | `cosid:{NAMESPACE}:adder`, the last |
//! | ZooKeeper | `__itc_idx/INSTANCE`, `ID\|TIME` | `__revert/ID`, `ID\|TIME` | `__counter`, four bytes |
//!
//! Times are milliseconds, written once a minute; 0 in the first. Numbers that were given back are given out again first,
//! so that every number that was ever given may be in use by the next minute.

use super::found::{HeldNumber, WorkersFound, check_count, last_sign, strange};
use super::kind::{Asked, Place};
#[cfg(any(feature = "redis", feature = "zookeeper"))]
use crate::source::SourceError;
use crate::source::SourceResult;
use crate::workers::WorkerRanges;

#[cfg(feature = "mysql")]
pub(super) fn read_mysql<'a>(place: &'a Place, asked: &'a Asked) -> SourceResult<'a, Vec<WorkersFound>> {
    use super::found::HELD_MAX;
    use crate::store::sql::row::{Arg, Column};
    Box::pin(async move {
        #[allow(irrefutable_let_patterns, reason = "a build may have this engine alone")]
        let Place::MySql(link) = place else {
            return Ok(Vec::new());
        };
        let mut session = link.hold("cosid_machine").await?;
        let of = asked.option.as_deref();
        let condition = if of.is_some() { " WHERE namespace = ?" } else { "" };
        let sql = format!(
            "SELECT namespace, CAST(machine_id AS SIGNED), CAST(last_timestamp AS SIGNED), instance_id \
             FROM cosid_machine{condition} ORDER BY namespace, machine_id LIMIT {}",
            HELD_MAX + 1
        );
        let args: Vec<Arg<'_>> = of.map(Arg::Text).into_iter().collect();
        let shape = [Column::Text, Column::Int, Column::Int, Column::Text];
        let rows = session.rows(&sql, &args, &shape).await?;
        session.done();
        let shown = link.place();
        check_count(&shown, rows.len())?;
        let mut all: Vec<(String, Vec<HeldNumber>)> = Vec::new();
        for row in &rows {
            let namespace = row[0].text().unwrap_or_default();
            let number = row[1].int().and_then(|number| u64::try_from(number).ok());
            let what = format!("a row of cosid_machine of {namespace}");
            let held = HeldNumber {
                number: number.ok_or_else(|| strange(&shown, &what, "machine_id is no number from 0 on"))?,
                name: row[3].text().unwrap_or_default().to_string(),
                last: row[2].int().and_then(last_sign),
            };
            match all.last_mut() {
                Some((known, helds)) if known == namespace => helds.push(held),
                _ => all.push((namespace.to_string(), vec![held])),
            }
        }
        if let (Some(namespace), true) = (of, all.is_empty()) {
            // Nobody has started there yet, or it is mistyped: then those that live would not be avoided.
            return Err(asked.gone(
                &shown,
                &format!("row of namespace {namespace:?} in cosid_machine"),
            ));
        }
        let found = |(namespace, held): (String, Vec<HeldNumber>)| {
            let given = held.iter().map(|held| held.number + 1).max().unwrap_or(0);
            found(asked, asked.url(&shown, Some(&namespace)), held, given)
        };
        Ok(all.into_iter().map(found).collect())
    })
}

#[cfg(feature = "redis")]
pub(super) fn read_redis<'a>(place: &'a Place, asked: &'a Asked) -> SourceResult<'a, Vec<WorkersFound>> {
    Box::pin(async move {
        #[allow(irrefutable_let_patterns, reason = "a build may have this engine alone")]
        let Place::Redis(keys) = place else {
            return Ok(Vec::new());
        };
        let (shown, mut look) = (keys.place(), keys.look().await?);
        let namespaces: Vec<String> = match &asked.option {
            Some(namespace) => vec![namespace.clone()],
            None => {
                let found = look.matching("cosid:{*}:itc_idx").await?;
                let inner = |key: &String| {
                    let inner = key.strip_prefix("cosid:{")?.strip_suffix("}:itc_idx")?;
                    Some(inner.to_string())
                };
                found.iter().filter_map(inner).collect()
            }
        };
        if namespaces.is_empty() {
            return Err(asked.gone(&shown, "key cosid:{…}:itc_idx"));
        }
        let mut all = Vec::new();
        for namespace in namespaces {
            let key = |what: &str| format!("cosid:{{{namespace}}}:{what}");
            let mut held = Vec::new();
            let machines: Vec<(String, String)> = look.ask(redis::cmd("HGETALL").arg(key("itc_idx"))).await?;
            let reverted: Vec<(String, String)> = look.ask(redis::cmd("HGETALL").arg(key("revert"))).await?;
            let last: Option<String> = look.ask(redis::cmd("GET").arg(key("adder"))).await?;
            if machines.is_empty() && reverted.is_empty() && last.is_none() {
                return Err(asked.gone(&shown, &format!("key {}", key("itc_idx"))));
            }
            check_count(&shown, machines.len() + reverted.len())?;
            for (instance, state) in &machines {
                let what = format!("field {instance:?} of {}", key("itc_idx"));
                held.push(machine(&shown, &what, state, instance)?);
            }
            for (id, time) in &reverted {
                let what = format!("field {id:?} of {}", key("revert"));
                held.push(machine(&shown, &what, &format!("{id}|{time}"), "")?);
            }
            let given = match last {
                None => 0,
                Some(last) => last
                    .parse::<u64>()
                    .map_err(|_| strange(&shown, &key("adder"), "it is a number there"))?
                    .saturating_add(1),
            };
            all.push(found(asked, asked.url(&shown, Some(&namespace)), held, given));
        }
        Ok(all)
    })
}

#[cfg(feature = "zookeeper")]
pub(super) fn read_zookeeper<'a>(place: &'a Place, asked: &'a Asked) -> SourceResult<'a, Vec<WorkersFound>> {
    Box::pin(async move {
        #[allow(irrefutable_let_patterns, reason = "a build may have this engine alone")]
        let Place::ZooKeeper(nodes) = place else {
            return Ok(Vec::new());
        };
        let (shown, root) = (nodes.place(), nodes.path());
        let look = nodes.look().await?;
        let counter = format!("{root}/__counter");
        let machines = look.children(&format!("{root}/__itc_idx")).await?;
        let given = look.data(std::slice::from_ref(&counter)).await?.pop().flatten();
        if machines.is_none() && given.is_none() {
            return Err(asked.gone(&shown, &format!("node {root}/__itc_idx")));
        }
        let mut held = Vec::new();
        for folder in ["__itc_idx", "__revert"] {
            let path = format!("{root}/{folder}");
            let names = look.children(&path).await?.map_or(Vec::new(), |(names, _)| names);
            check_count(&shown, names.len())?;
            let paths: Vec<String> = names.iter().map(|name| format!("{path}/{name}")).collect();
            for (name, data) in names.iter().zip(look.data(&paths).await?) {
                // Given back, or taken again, since it was listed: below the counter in any case.
                let Some(data) = data else { continue };
                let state = String::from_utf8_lossy(&data);
                let holder = if folder == "__revert" { "" } else { name.as_str() };
                held.push(machine(&shown, &format!("node {path}/{name}"), &state, holder)?);
            }
        }
        let given = match given.as_deref().map(<[u8; 4]>::try_from) {
            None => 0,
            Some(Ok(four)) => u64::from(u32::from_be_bytes(four)),
            Some(Err(_)) => {
                return Err(strange(
                    &shown,
                    &format!("node {counter}"),
                    "it has four bytes there",
                ));
            }
        };
        Ok(vec![found(asked, asked.url(&shown, None), held, given)])
    })
}

/// What `ID|TIME` says.
#[cfg(any(feature = "redis", feature = "zookeeper"))]
fn machine(place: &str, what: &str, state: &str, name: &str) -> Result<HeldNumber, SourceError> {
    let read = state.split_once('|').and_then(|(id, time)| {
        let (id, time) = (id.trim().parse().ok()?, time.trim().parse().ok()?);
        Some((id, time))
    });
    let Some((number, time)) = read else {
        return Err(strange(
            place,
            what,
            "a machine and its time are written 3|1577203200000",
        ));
    };
    Ok(HeldNumber {
        number,
        name: name.to_string(),
        last: last_sign(time),
    })
}

#[allow(dead_code, reason = "a build may have no engine at all")]
fn found(asked: &Asked, place: String, mut held: Vec<HeldNumber>, given: u64) -> WorkersFound {
    held.sort_by_key(|held| held.number);
    let next = held
        .iter()
        .map(|held| held.number.saturating_add(1))
        .fold(given, u64::max);
    WorkersFound {
        system: asked.system.name,
        place,
        bits: asked.system.bits,
        // Every number that was ever given: one that nobody shows may be about to be given again.
        taken: match next.checked_sub(1) {
            Some(last) => WorkerRanges::span(0, last),
            None => WorkerRanges::NONE,
        },
        held,
        next: Some(next),
        spare: asked.system.spare,
    }
}
