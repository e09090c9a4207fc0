//! Numbers of CosId's machines, as its Redis distributor asks for them by scripts: those of the face `cosid`, out of the
//! same pools.

use std::time::Duration;

use mintage_ledger::MachineInstance;

use super::{Call, Flow};
use crate::audit::Act;
use crate::auth::Identity;
use crate::config::Machine;
use crate::error::{Answer, Code, ServiceError};
use crate::faces::keyed::{NameBuffer, joined};
use crate::faces::machines::{FACE, Machines, kept_name, refusal};
use crate::faces::resp::frame::strict_integer;
use crate::faces::resp::reply::Reply;

/// Does what a script does with the machine `ARGV[1]` of the namespace `KEYS[1]`.
pub(super) fn act_on(
    call: &mut Call<'_>,
    what: Machine,
    namespace: Option<&[u8]>,
    arguments: [Option<&[u8]>; 4],
) -> Flow {
    let asked = match read(call, what, namespace, arguments) {
        Ok(asked) => asked,
        Err(error) => {
            call.reply.refuse(&error);
            return Flow::Done;
        }
    };
    if !call.may_take(asked.pool.as_bytes()) {
        return Flow::Done;
    }
    let who = call.session.identity.clone().unwrap_or(Identity::ANYBODY);
    let making = making(call, &asked.pool);
    call.later(move |thread, mut reply| async move {
        let service = thread.service();
        let done = async {
            let machines = Machines {
                service,
                who: &who,
                name: service.name(asked.pool.as_bytes())?,
                making,
            };
            asked.act(&machines, &mut reply).await
        };
        if let Err(error) = done.await {
            reply.refuse(&error);
        }
        reply
    })
}

/// What is asked of a machine.
struct Asked {
    what: Machine,
    pool: String,
    instance: String,
    /// Of a lease: how many bits the number has, for how long it is, and what the machine's clock shows.
    lease: (u32, Duration, i64),
}

fn read(
    call: &Call<'_>,
    what: Machine,
    namespace: Option<&[u8]>,
    arguments: [Option<&[u8]>; 4],
) -> Answer<Asked> {
    let invalid = |message: &'static str| ServiceError::new(Code::InvalidArgument, message);
    let config = call.thread.config();
    let namespace = namespace.ok_or_else(|| invalid("KEYS[1] is the namespace, and is missing"))?;
    // Clients put it into braces, so that a cluster of Redis keeps all that is of it together.
    let bare = namespace
        .strip_prefix(b"{")
        .and_then(|rest| rest.strip_suffix(b"}"));
    let mut buffer = NameBuffer::default();
    let pool = joined(config.faces.keys_of(FACE), bare.unwrap_or(namespace), &mut buffer);
    let pool = pool.and_then(|pool| String::from_utf8(pool.to_vec()).ok());
    let instance = arguments[0].and_then(|name| std::str::from_utf8(name).ok());
    let instance = instance.filter(|name| !name.is_empty());
    Ok(Asked {
        what,
        pool: pool.ok_or_else(|| invalid("KEYS[1] is no namespace: it is empty, too long or no UTF-8"))?,
        instance: kept_name(instance.ok_or_else(|| invalid("ARGV[1] is no name of an instance"))?)
            .into_owned(),
        lease: match what {
            Machine::Distribute => lease(arguments).ok_or_else(|| {
                invalid("ARGV[2] must be a machine number that is all ones, ARGV[3] and ARGV[4] milliseconds")
            })?,
            _ => (0, Duration::ZERO, 0),
        },
    })
}

/// The largest number, the clock, and since when a machine must have been silent to lose its number: 0 is for ever, and
/// clients of old releases say nothing of it, nor guard.
fn lease([_, largest, now, silent_since]: [Option<&[u8]>; 4]) -> Option<(u32, Duration, i64)> {
    let largest = strict_integer(largest?).and_then(|largest| u32::try_from(largest).ok())?;
    let bits = largest
        .checked_add(1)
        .filter(|numbers| numbers.is_power_of_two())?
        .ilog2();
    if !(1..=31).contains(&bits) {
        return None;
    }
    let number = |text: Option<&[u8]>| text.map_or(Some(0), strict_integer);
    let (now, silent_since) = (number(now)?, number(silent_since)?);
    let lasting = match silent_since {
        ..=0 => Duration::MAX,
        since => Duration::from_millis(u64::try_from(now.saturating_sub(since)).unwrap_or(0)),
    };
    Some((bits, lasting, now))
}

/// That it makes a pool, for the audit trail.
fn making(call: &Call<'_>, pool: &str) -> Act {
    let asker = call.asker();
    Act {
        what: "create pool",
        names: vec![pool.to_string()],
        token: asker.token.into_owned(),
        peer: asker.peer.to_string(),
        face: crate::faces::name(call.session.face),
        with: None,
    }
}

impl Asked {
    async fn act(&self, machines: &Machines<'_>, reply: &mut Reply) -> Answer<()> {
        let machine = MachineInstance {
            instance: &self.instance,
            stable: self.what == Machine::RevertStable,
        };
        if self.what == Machine::Distribute {
            let (bits, lasting, now) = self.lease;
            let (number, last) = match machines.lease(machine, bits, lasting).await {
                Ok(leased) => {
                    let used_until = leased.used_until.map_or(now, |last| last.unix_millis());
                    (leased.number.cast_signed(), used_until.max(now))
                }
                // All are held.
                Err(error) if error.code == Code::TooMany => (-1, -1),
                Err(error) => return Err(error),
            };
            reply.array(2);
            reply.integer(number);
            reply.integer(last);
            return Ok(());
        }
        let done = async {
            let pool = machines.pool().await?;
            match self.what {
                Machine::Guard => pool.guard_machine_again(&self.instance).await.map(drop),
                _ => pool.return_machine(machine).await,
            }
            .map_err(refusal)
        };
        match done.await {
            Ok(()) => reply.integer(1),
            // The instance has no number, or not this one any more.
            Err(error) if matches!(error.code, Code::NotFound | Code::Conflict) => reply.integer(0),
            Err(error) => return Err(error),
        }
        Ok(())
    }
}
