//! Numbers of machines: windows of the pool `cosid:NAMESPACE`, leased by instance (`mintage_ledger::MachineInstance`).
//!
//! The pool is made when its first machine asks, with the layout of CosId's milliseconds and that machine's number of
//! bits, so that whoever leaves CosId can take windows of the same pool and repeat nothing. Whoever asks for another
//! number of bits is refused: machine 8 of 8 bits makes the ids of machines 32 to 35 of 10 bits.

use std::ops::RangeInclusive;
use std::sync::Arc;
use std::time::Duration;

use hyper::StatusCode;
use mintage::Layout;
use mintage_ledger::{LedgerError, MachineError, MachineInstance, Name, Pool, PoolKind, PoolSpec};

use super::parameters::Parameters;
use super::refusal::out_of_range;
use super::{JSON, check_may_make, duration, keyed};
use crate::audit::audited_answer;
use crate::auth::{Right, What};
use crate::error::{Answer, Code, ServiceError};
use crate::faces::keyed::NameBuffer;
use crate::faces::web::answer::Response;
use crate::faces::web::foreign::Asked;
use crate::service::from_ledger;

/// How long a lease may last.
const GUARD: RangeInclusive<Duration> = Duration::from_secs(10)..=Duration::from_secs(86_400);
/// The windows of a pool that is made here are at least this long: clients guard for five minutes unless told
/// otherwise, and some may be told so.
const WINDOW_MIN: Duration = Duration::from_secs(600);
/// How many bits a machine number may be asked for with: an int of Java.
const BITS: RangeInclusive<i64> = 1..=31;
/// How many bits the numbers of a pool have at most.
const POOL_BITS_MAX: u32 = 20;
/// The longest name of an instance.
const INSTANCE_BYTES_MAX: usize = 128;

/// `POST /machines/{namespace}?machineBit&instanceId&stable&safeGuardDuration`
pub(super) async fn lease(asked: &Asked<'_>, namespace: &str) -> Answer<Response> {
    let parameters = Parameters::of(asked.head);
    let bits = parameters.number("machineBit", BITS)?;
    let bits = u32::try_from(bits).expect("within its range");
    let instance = parameters.text("instanceId", INSTANCE_BYTES_MAX)?;
    let stable = parameters.yes("stable")?;
    let lasting = parameters.length("safeGuardDuration", GUARD)?;
    let pool = pool_or_made(asked, namespace, bits, lasting).await?;
    let made_with = pool.layout().worker_bits();
    if made_with != bits.min(POOL_BITS_MAX) {
        return Err(out_of_range(
            "machineBit",
            &format!(
                "the machines of {namespace} have {made_with} bits: with {bits} their ids could be the same"
            ),
        ));
    }
    let machine = MachineInstance {
        instance: &instance,
        stable,
    };
    let leased = pool
        .lease_machine(machine, 1 << bits, lasting)
        .await
        .map_err(refusal)?;
    let last_ms = leased.used_until.map_or(0, |last| last.unix_millis());
    let body = format!(r#"{{"machineId":{},"lastTimeStamp":{last_ms}}}"#, leased.number);
    Ok(Response::new(StatusCode::OK, JSON, body))
}

/// `PATCH /machines/{namespace}?instanceId&stable&safeGuardDuration`
pub(super) async fn guard(asked: &Asked<'_>, namespace: &str) -> Answer<Response> {
    let parameters = Parameters::of(asked.head);
    let instance = parameters.text("instanceId", INSTANCE_BYTES_MAX)?;
    let stable = parameters.yes("stable")?;
    let lasting = parameters.length("safeGuardDuration", GUARD)?;
    let machine = MachineInstance {
        instance: &instance,
        stable,
    };
    let pool = pool(asked, namespace).await?;
    pool.guard_machine(machine, lasting).await.map_err(refusal)?;
    Ok(Response::empty(StatusCode::OK))
}

/// `DELETE /machines/{namespace}?instanceId&stable`
pub(super) async fn give_back(asked: &Asked<'_>, namespace: &str) -> Answer<Response> {
    let parameters = Parameters::of(asked.head);
    let instance = parameters.text("instanceId", INSTANCE_BYTES_MAX)?;
    let machine = MachineInstance {
        instance: &instance,
        stable: parameters.yes("stable")?,
    };
    let pool = pool(asked, namespace).await?;
    pool.return_machine(machine).await.map_err(refusal)?;
    Ok(Response::empty(StatusCode::OK))
}

fn pool_name(asked: &Asked<'_>, namespace: &str) -> Answer<Name> {
    let config = asked.thread.config();
    let mut buffer = NameBuffer::default();
    let name = keyed(asked, &config).name(namespace.as_bytes(), &mut buffer)?;
    asked.who.check(Right::Allocate, What::Named(name))?;
    asked.thread.service().name(name)
}

async fn pool(asked: &Asked<'_>, namespace: &str) -> Answer<Arc<Pool>> {
    let name = pool_name(asked, namespace)?;
    let ledger = asked.thread.service().ledger();
    ledger.pool_or_default(&name).await.map_err(from_ledger)
}

async fn pool_or_made(asked: &Asked<'_>, namespace: &str, bits: u32, lasting: Duration) -> Answer<Arc<Pool>> {
    let name = pool_name(asked, namespace)?;
    let service = asked.thread.service();
    let ledger = service.ledger();
    match ledger.existing_pool(&name).await {
        Err(LedgerError::NoPool { .. }) => {}
        found => return found.map_err(from_ledger),
    }
    let act = asked.act("create pool", &name);
    check_may_make(asked, "pool", act.clone(), &name).await?;
    let making = async {
        let made = ledger.create_pool(&name, definition(bits, lasting)).await;
        made.map_err(from_ledger)
    };
    match audited_answer(service, act, making).await {
        Ok(pool) => {
            tracing::info!(pool = %name, bits, "made for machines of CosId");
            Ok(pool)
        }
        // Somebody else made it in the same moment, with another number of bits.
        Err(error) if error.code == Code::Exists => ledger.existing_pool(&name).await.map_err(from_ledger),
        Err(error) => Err(error),
    }
}

/// CosId's milliseconds with so many bits for the machine.
fn definition(bits: u32, lasting: Duration) -> PoolSpec {
    let original = mintage::preset("cosid").expect("a row of PRESETS").layout();
    let bits = bits.min(POOL_BITS_MAX);
    let layout = Layout::builder("cosid")
        .epoch(original.epoch())
        .tick(original.tick())
        .sequence_start(original.sequence_start())
        .time("timestamp_ms", 41)
        .worker("machine", bits)
        .sequence("sequence", 22 - bits)
        .build()
        .expect("63 bits with every field");
    PoolSpec {
        window: Some(lasting.max(WINDOW_MIN)),
        ..PoolKind::Snowflake(Arc::new(layout)).into()
    }
}

/// What the ledger says of machines, in codes that `super::refusal` turns into the original's.
fn refusal(error: MachineError) -> ServiceError {
    let message = error.to_string();
    match error {
        MachineError::NoneFree(_) => ServiceError::new(Code::TooMany, message),
        MachineError::Unknown(_) => ServiceError::new(Code::NotFound, message),
        MachineError::Lost { .. } => ServiceError::new(Code::Conflict, message),
        MachineError::TooLong(most) => out_of_range(
            "safeGuardDuration",
            &format!(
                "must be at most {}, the window of the namespace's pool",
                duration::write(most)
            ),
        ),
        MachineError::Name(_, why) => out_of_range("instanceId", &why),
        MachineError::Ledger(error) => from_ledger(error),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ten_bits_are_the_layout_that_cosid_has() {
        let PoolKind::Snowflake(ten) = definition(10, WINDOW_MIN).kind else {
            panic!("it makes snowflakes");
        };
        let preset = mintage::preset("cosid").unwrap().layout();
        assert_eq!(ten.fingerprint(), preset.fingerprint());
        assert_eq!(ten.sequence_start(), preset.sequence_start());
        for bits in BITS {
            definition(u32::try_from(bits).unwrap(), WINDOW_MIN);
        }
    }
}
