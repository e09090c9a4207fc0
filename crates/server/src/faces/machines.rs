//! Numbers of machines: windows of the pool `cosid:NAMESPACE`, leased by instance (`mintage_ledger::MachineInstance`).
//!
//! The pool is made when its first machine asks, with the layout of CosId's milliseconds and that machine's number of
//! bits, so that whoever leaves CosId can take windows of the same pool and repeat nothing. Whoever asks for another
//! number of bits is refused, since machine 8 of 8 bits makes the ids of machines 32 to 35 of 10 bits where the sequence has
//! two bits less for it; where an operator says that it has as many (`faces.cosid.grows`), only the time stands higher, and
//! fewer bits than the pool's are fine.

use std::borrow::Cow;
use std::ops::RangeInclusive;
use std::sync::Arc;
use std::time::Duration;

use mintage::Layout;
use mintage_ledger::{
    LedgerError, MachineError, MachineInstance, MachineNumber, Name, Pool, PoolKind, PoolSpec,
};

use crate::audit::{self, Act, audited_answer};
use crate::auth::{Identity, Right, What};
use crate::config::Sha1Digest;
use crate::error::{Answer, Code, ServiceError};
use crate::service::{Service, from_ledger};

/// The face whose keys and settings namespaces of machines follow.
pub(crate) const FACE: &str = "cosid";
/// A lease lasts at least this long, so that its program has time to ask again.
pub const GUARD_MIN: Duration = Duration::from_secs(10);
/// The windows of a pool that is made here: as long as the first lease, within these bounds. Clients guard for five
/// minutes unless told otherwise; a restored backup waits as long as a window lasts.
const WINDOW: RangeInclusive<Duration> = Duration::from_secs(600)..=Duration::from_secs(86_400);

/// How long windows are for the first lease. One that is longer than any window is kept beside it.
fn window(lasting: Duration) -> Duration {
    match lasting > *WINDOW.end() {
        true => *WINDOW.start(),
        false => lasting.max(*WINDOW.start()),
    }
}
/// How many bits the numbers of a pool have at most.
const POOL_BITS_MAX: u32 = 20;
/// How many bits a namespace has at least that may grow: what CosId has unless told otherwise, and the most that its
/// milliseconds leave beside its sequence.
const GROWN_BITS: u32 = 10;
/// The longest name of an instance that is kept as it is.
const INSTANCE_BYTES_MAX: usize = 128;

/// The machines of a namespace, for one client.
pub struct Machines<'a> {
    /// Where pools are kept.
    pub service: &'a Service,
    /// Who asks.
    pub who: &'a Identity,
    /// The pool, of which the client may take.
    pub name: Name,
    /// That it makes the pool, for the audit trail.
    pub making: Act,
}

impl Machines<'_> {
    /// Leases a number of so many bits for so long; the first lease of a namespace makes its pool.
    pub async fn lease(
        &self,
        machine: MachineInstance<'_>,
        bits: u32,
        lasting: Duration,
    ) -> Answer<MachineNumber> {
        let lasting = lasting.max(GUARD_MIN);
        let grows = self.service.config().faces.machines_grow(FACE);
        let wanted = if grows { bits.max(GROWN_BITS) } else { bits };
        let pool = self.pool_or_made(wanted, lasting).await?;
        let made_with = pool.layout().worker_bits();
        let asked = bits.min(POOL_BITS_MAX);
        if made_with != asked && !(grows && asked < made_with) {
            let own = match asked < made_with {
                true => "; or set faces.cosid.grows, where sequence-bit is the same",
                false => "",
            };
            return Err(out_of_range(
                "machineBit",
                &format!(
                    "the machines of {} have {made_with} bits, and with {bits} their ids could be the same: let those \
                     with {bits} bits have a namespace of their own{own}",
                    self.name
                ),
            ));
        }
        let leased = pool.lease_machine(machine, 1 << bits, lasting).await;
        leased.map_err(refusal)
    }

    /// The pool of a namespace that machines have asked in before.
    pub async fn pool(&self) -> Answer<Arc<Pool>> {
        let ledger = self.service.ledger();
        ledger.pool_or_default(&self.name).await.map_err(from_ledger)
    }

    async fn pool_or_made(&self, bits: u32, lasting: Duration) -> Answer<Arc<Pool>> {
        let (ledger, name, act) = (self.service.ledger(), &self.name, &self.making);
        match ledger.existing_pool(name).await {
            Err(LedgerError::NoPool { .. }) => {}
            found => return found.map_err(from_ledger),
        }
        check_may_make(self.service, self.who, "pool", act.clone(), name).await?;
        let making = async {
            let made = ledger.create_pool_by_use(name, definition(bits, lasting)).await;
            made.map_err(from_ledger)
        };
        match audited_answer(self.service, act.clone(), making).await {
            Ok(pool) => {
                tracing::info!(pool = %name, bits, "made for machines of CosId");
                Ok(pool)
            }
            // Somebody else made it in the same moment, with another number of bits.
            Err(error) if error.code == Code::Exists => ledger.existing_pool(name).await.map_err(from_ledger),
            Err(error) => Err(error),
        }
    }
}

/// The name of an instance as it is kept: a longer one stands for itself by its digest.
pub fn kept_name(instance: &str) -> Cow<'_, str> {
    match instance.len() > INSTANCE_BYTES_MAX {
        true => {
            let begin: String = instance.chars().take(SHOWN_CHARS).collect();
            Cow::Owned(format!("{begin}…{}", Sha1Digest::of(instance.as_bytes())))
        }
        false => Cow::Borrowed(instance),
    }
}

/// How many characters of a long name people see.
const SHOWN_CHARS: usize = 20;

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
        window: Some(window(lasting)),
        ..PoolKind::Snowflake(Arc::new(layout)).into()
    }
}

/// What the ledger says of machines, in codes that `super::refusal` turns into the original's.
pub fn refusal(error: MachineError) -> ServiceError {
    let message = error.to_string();
    match error {
        MachineError::NoneFree(_) => ServiceError::new(Code::TooMany, message),
        MachineError::Unknown(_) => ServiceError::new(Code::NotFound, message),
        MachineError::Lost { .. } => ServiceError::new(Code::Conflict, message),
        MachineError::Name(_, why) => out_of_range("instanceId", &why),
        MachineError::Ledger(error) => from_ledger(error),
    }
}

/// Refuses to make a `what` for who may only take.
///
/// # Errors
/// [`Code::Forbidden`], which stands in the audit trail.
pub async fn check_may_make(
    service: &Service,
    who: &Identity,
    what: &str,
    act: Act,
    name: &Name,
) -> Answer<()> {
    if who.may(Right::Admin, What::Named(name.as_str().as_bytes())) {
        return Ok(());
    }
    audit::refused(service, act).await;
    let why = format!("{what} {name} does not exist, and making it needs a token that may admin");
    Err(ServiceError::new(Code::Forbidden, why))
}

/// A parameter that is out of its range: its name stands before the colon.
pub fn out_of_range(name: &str, why: &str) -> ServiceError {
    ServiceError::new(Code::InvalidCount, format!("{name}: {why}"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ten_bits_are_the_layout_that_cosid_has() {
        let PoolKind::Snowflake(ten) = definition(10, *WINDOW.start()).kind else {
            panic!("it makes snowflakes");
        };
        let preset = mintage::preset("cosid").unwrap().layout();
        assert_eq!(ten.fingerprint(), preset.fingerprint());
        assert_eq!(ten.sequence_start(), preset.sequence_start());
        for bits in 1..=31_u32 {
            definition(bits, *WINDOW.start());
        }
    }
}
