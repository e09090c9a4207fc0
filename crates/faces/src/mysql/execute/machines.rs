//! CosId's table of machines: its library finds a number by four statements of its own, of which the first is all
//! that is needed here.
//!
//! ```text
//!   SELECT … WHERE namespace=? AND instance_id=? AND last_timestamp>?     leases: the row is the machine's number
//!   UPDATE … SET last_timestamp=? WHERE … AND machine_id=?                goes on with it
//!   SELECT … WHERE namespace=? AND (instance_id='' OR …)                  every number is held: no row to take over,
//!   SELECT MAX(machine_id)+1 …                                            and the next is beyond any, which it refuses
//! ```

use std::time::Duration;

use mintage::{Clock, Timestamp};
use mintage_ledger::MachineInstance;

use super::{Execution, Outcome, Rows};
use crate::mysql::library::only;
use crate::mysql::plan::{Condition, Expression, Item, Select};
use crate::mysql::refusal::Refusal;
use crate::mysql::tables::{Library, MAX_MACHINE};
use crate::mysql::value::Value;
use mintage_server::chassis::auth::{Right, What};
use mintage_server::chassis::error::{Answer, Code, ServiceError};
use mintage_server::chassis::keyed::{NameBuffer, joined};
use mintage_server::chassis::machines::{Machines, kept_name, refusal};

/// How long a lease lasts at least, whatever the clocks of client and server say: the length of those that do not say.
const LEASE_MIN: Duration = Duration::from_secs(300);
/// The bits of the numbers of a pool that is made here: what CosId has unless told otherwise, and no statement says.
const BITS: u32 = 10;
/// What is told where every number is held: beyond the largest that an int of Java can be.
const NO_NUMBER: i64 = i32::MAX as i64 - 1;

impl Execution<'_> {
    /// A SELECT on the machines.
    pub(super) async fn machine_rows(&mut self, select: &Select, limit: (u128, u128)) -> Outcome<Rows> {
        let namespace = only(&select.conditions, "namespace");
        let instance = only(&select.conditions, "instance_id");
        let since = select.conditions.iter().find_map(|condition| match condition {
            Condition::Above(column, since) if **column == *"last_timestamp" => Some(since),
            _ => None,
        });
        let asks_next = select.items.iter().any(|item| match item {
            Item::One { expression, .. } => expression.column(&|name| name == MAX_MACHINE).is_some(),
            Item::All => false,
        });
        let rows = match (&select.conditions[..], namespace, instance, since) {
            ([_, _, _], Some(namespace), Some(instance), Some(since)) => {
                let leased = self.lease_machine(&namespace, &instance, since).await?;
                leased.into_iter().collect()
            }
            ([_], Some(_), ..) if asks_next => vec![vec![(MAX_MACHINE, Value::Integer(NO_NUMBER))]],
            // Numbers to take over: whichever may be was leased already.
            ([_, Condition::Other], Some(_), ..) => Vec::new(),
            _ => {
                return Err(Refusal::not_here(
                    "this query of cosid_machine: mint pool workers shows who has which number",
                ));
            }
        };
        self.session.touches();
        self.rows_of(select, rows, limit).await
    }

    /// The row of an instance's number; `None`: every number is held.
    async fn lease_machine(
        &mut self,
        namespace: &Expression,
        instance: &Expression,
        since: &Expression,
    ) -> Outcome<Option<Vec<(&'static str, Value)>>> {
        self.check_writes("SELECT")?;
        let since = self.number(since, "last_timestamp").await?;
        let instance = self.instance(instance).await?;
        let namespace = self.library_key(namespace).await?;
        let lasting = lease_length(since, self.thread.service().ledger().clock().now());
        let machine = MachineInstance {
            instance: &kept_name(&instance),
            stable: false,
        };
        let leased = async {
            let machines = self.machines(&namespace)?;
            let bits = match machines.pool().await {
                Ok(pool) => pool.layout().worker_bits(),
                Err(error) if error.code == Code::NotFound => {
                    self.acting.set(true);
                    BITS
                }
                Err(error) => return Err(error),
            };
            machines.lease(machine, bits, lasting).await
        };
        let leased = leased.await;
        self.acting.set(false);
        match leased {
            Ok(leased) => Ok(Some(vec![
                ("machine_id", Value::Unsigned(leased.number)),
                (
                    "last_timestamp",
                    Value::Integer(leased.used_until.map_or(0, Timestamp::unix_millis)),
                ),
                ("instance_id", Value::text(instance)),
            ])),
            Err(error) if error.code == Code::TooMany => Ok(None),
            Err(error) => Err(self.library_refusal(&error, Library::Machines, "SELECT")),
        }
    }

    /// A machine goes on with its number, for as long as it was leased; 0 rows where that is not its own any more.
    pub(super) async fn guard_machine(
        &mut self,
        namespace: &Expression,
        instance: &Expression,
        number: &Expression,
    ) -> Outcome<u64> {
        self.check_writes("UPDATE")?;
        let number = self.number(number, "machine_id").await?;
        let instance = self.instance(instance).await?;
        let namespace = self.library_key(namespace).await?;
        let guarded = async {
            let pool = self.machines(&namespace)?.pool().await?;
            let guarded = pool.guard_machine_again(&kept_name(&instance)).await;
            guarded
                .map(|own| i128::from(own.number) == number)
                .map_err(refusal)
        };
        self.affected(guarded.await)
    }

    /// A machine has stopped; a stable one, whose name is `left` in its row, keeps its number.
    pub(super) async fn give_machine_back(
        &mut self,
        namespace: &Expression,
        instance: &Expression,
        left: &Expression,
    ) -> Outcome<u64> {
        self.check_writes("UPDATE")?;
        let stable = !self.library_key(left).await?.is_empty();
        let instance = self.instance(instance).await?;
        let namespace = self.library_key(namespace).await?;
        let machine = MachineInstance {
            instance: &kept_name(&instance),
            stable,
        };
        let returned = async {
            let pool = self.machines(&namespace)?.pool().await?;
            pool.return_machine(machine).await.map(|()| true).map_err(refusal)
        };
        self.affected(returned.await)
    }

    /// How many rows a change of a machine counts.
    fn affected(&self, changed: Answer<bool>) -> Outcome<u64> {
        match changed {
            Ok(changed) => Ok(changed.into()),
            // The instance has no number, or not this one any more.
            Err(error) if matches!(error.code, Code::NotFound | Code::Conflict) => Ok(0),
            Err(error) => Err(self.library_refusal(&error, Library::Machines, "UPDATE")),
        }
    }

    async fn instance(&mut self, instance: &Expression) -> Outcome<String> {
        let instance = self.library_key(instance).await?;
        match String::from_utf8(instance) {
            Ok(instance) if !instance.is_empty() => Ok(instance),
            _ => Err(Refusal::arguments(
                "instance_id of cosid_machine must be a text that is not empty",
            )),
        }
    }

    /// The machines of a namespace, of which this session may take numbers.
    fn machines(&self, namespace: &[u8]) -> Answer<Machines<'_>> {
        let config = self.thread.config();
        let mut buffer = NameBuffer::default();
        let name = joined(config.faces.keys_of("cosid"), namespace, &mut buffer);
        let name = name.ok_or_else(|| {
            ServiceError::new(
                Code::InvalidArgument,
                "namespace of cosid_machine is empty or too long",
            )
        })?;
        self.session.identity.check(Right::Allocate, What::Named(name))?;
        let name = self.thread.service().name(name)?;
        let mut making = self.act("create pool");
        making.names = vec![name.to_string()];
        Ok(Machines {
            service: self.thread.service(),
            who: &self.session.identity,
            name,
            making,
        })
    }
}

/// How long a lease lasts whose client takes over those that were not guarded since then, in milliseconds of its clock.
fn lease_length(since: i128, now: Timestamp) -> Duration {
    match since {
        ..=0 => Duration::MAX,
        since => {
            let length = i128::from(now.unix_millis()).saturating_sub(since);
            Duration::from_millis(u64::try_from(length).unwrap_or(0)).max(LEASE_MIN)
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_lease_is_as_long_as_the_client_guards_it() {
        let now = Timestamp::from_unix_millis(10_000_000);
        let length = |since| lease_length(since, now);
        assert_eq!(length(10_000_000 - 600_000), Duration::from_secs(600));
        // Five minutes are the least, also where the client's clock is ahead.
        assert_eq!(length(10_000_000 - 1), LEASE_MIN);
        assert_eq!(length(20_000_000), LEASE_MIN);
        // Stable machines, and those that are not guarded.
        assert_eq!((length(0), length(-5)), (Duration::MAX, Duration::MAX));
        assert_eq!(length(i128::MIN), Duration::MAX);
        assert_eq!(length(i128::MAX), LEASE_MIN);
    }
}
