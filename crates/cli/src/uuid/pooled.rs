//! Versions 1 and 6 of a pool: its node, and a clock sequence that nobody else holds.

use mintage_ledger::{Name, UUID1_POOL};
use mintage_wire::{Ids, Op};

use super::{Args, Sink, Version};
use crate::connect::{Ask, Client, server_url};
use crate::errors::Failure;
use crate::local::{Absent, Local};

/// Ids asked of a server at once: what it allows unless configured otherwise.
const REQUEST_MAX: usize = 10_000;

pub(super) fn run(args: &Args, sink: &mut Sink<'_>) -> Result<(), Failure> {
    let pool = Name::new(args.pool.as_deref().unwrap_or(UUID1_POOL)).map_err(Failure::usage)?;
    let count = args.count.unwrap_or(1);
    match &args.store {
        Some(url) => from_store(url, &pool, args.version, count, sink),
        None => {
            let client = Client::new(&server_url(args.server.as_deref()), &args.tls)?;
            from_server(&client, &pool, args.version, count, sink)
        }
    }
}

fn from_store(
    url: &str,
    pool: &Name,
    version: Version,
    count: u64,
    sink: &mut Sink<'_>,
) -> Result<(), Failure> {
    let local = Local::open(url, Absent::Make)?;
    let pool = local.run(async |ledger| ledger.pool_or_default(pool).await)?;
    let done = sink.many(count, |ids| {
        local.run(async |_| pool.mint_uuid1(ids).await)?;
        if version == Version::V6 {
            for id in ids {
                *id = mintage::uuid1_to_6(id).expect("made as version 1 just now");
            }
        }
        Ok(())
    });
    // What was printed stands even if closing fails; the failure is still one.
    let closed = local.close();
    done.and(closed)
}

fn from_server(
    client: &Client,
    pool: &Name,
    version: Version,
    count: u64,
    sink: &mut Sink<'_>,
) -> Result<(), Failure> {
    let format = format!("uuid{}", version.number());
    sink.many_of(REQUEST_MAX, count, |ids| {
        let ask = Ask::new(Op::MakeIds, &[&format]).with("count", ids.len());
        let given = client.call::<Ids>(&ask.with("pool", pool))?.ids;
        if given.len() != ids.len() {
            return Err(Failure::cannot(format_args!(
                "the server answered {} ids for {}",
                given.len(),
                ids.len()
            )));
        }
        for (id, given) in ids.iter_mut().zip(given) {
            *id = given
                .parse()
                .map_err(|_| Failure::cannot(format_args!("the server answered {given:?}, no UUID")))?;
        }
        Ok(())
    })
}
