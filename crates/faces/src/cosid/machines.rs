//! `/machines`: numbers of machines, leased by instance. What they are and how they are kept is the chassis's `machines`.

use std::ops::RangeInclusive;

use hyper::StatusCode;
use mintage_ledger::MachineInstance;

use super::parameters::Parameters;
use super::{JSON, keyed};
use mintage_server::chassis::auth::{Right, What};
use mintage_server::chassis::error::Answer;
use mintage_server::chassis::keyed::NameBuffer;
use mintage_server::chassis::machines::{GUARD_MIN, Machines, kept_name, refusal};
use mintage_server::chassis::web::answer::Response;
use mintage_server::chassis::web::foreign::Asked;

/// How many bits a machine number may be asked for with: an int of Java.
const BITS: RangeInclusive<i64> = 1..=31;

/// `POST /machines/{namespace}?machineBit&instanceId&stable&safeGuardDuration`
pub(super) async fn lease(asked: &Asked<'_>, namespace: &str) -> Answer<Response> {
    let parameters = Parameters::of(asked.head);
    let bits = parameters.number("machineBit", BITS)?;
    let bits = u32::try_from(bits).expect("within its range");
    let instance = parameters.text("instanceId")?;
    let machine = MachineInstance {
        instance: &kept_name(&instance),
        stable: parameters.yes("stable")?,
    };
    let lasting = parameters.length("safeGuardDuration")?;
    let leased = machines(asked, namespace)?.lease(machine, bits, lasting).await?;
    let last_ms = leased.used_until.map_or(0, |last| last.unix_millis());
    let body = format!(r#"{{"machineId":{},"lastTimeStamp":{last_ms}}}"#, leased.number);
    Ok(Response::new(StatusCode::OK, JSON, body))
}

/// `PATCH /machines/{namespace}?instanceId&stable&safeGuardDuration`
pub(super) async fn guard(asked: &Asked<'_>, namespace: &str) -> Answer<Response> {
    let parameters = Parameters::of(asked.head);
    let instance = parameters.text("instanceId")?;
    let machine = MachineInstance {
        instance: &kept_name(&instance),
        stable: parameters.yes("stable")?,
    };
    let lasting = parameters.length("safeGuardDuration")?.max(GUARD_MIN);
    let pool = machines(asked, namespace)?.pool().await?;
    pool.guard_machine(machine, lasting).await.map_err(refusal)?;
    Ok(Response::empty(StatusCode::OK))
}

/// `DELETE /machines/{namespace}?instanceId&stable`
pub(super) async fn give_back(asked: &Asked<'_>, namespace: &str) -> Answer<Response> {
    let parameters = Parameters::of(asked.head);
    let instance = parameters.text("instanceId")?;
    let machine = MachineInstance {
        instance: &kept_name(&instance),
        stable: parameters.yes("stable")?,
    };
    let pool = machines(asked, namespace)?.pool().await?;
    pool.return_machine(machine).await.map_err(refusal)?;
    Ok(Response::empty(StatusCode::OK))
}

fn machines<'a>(asked: &'a Asked<'_>, namespace: &str) -> Answer<Machines<'a>> {
    let config = asked.thread.config();
    let mut buffer = NameBuffer::default();
    let name = keyed(asked, &config).name(namespace.as_bytes(), &mut buffer)?;
    asked.who.check(Right::Allocate, What::Named(name))?;
    let name = asked.thread.service().name(name)?;
    Ok(Machines {
        service: asked.thread.service(),
        who: &asked.who,
        making: asked.act("create pool", &name),
        name,
    })
}
